"""The usage guide's C++ profiler (lines 231 to 252), on a library built ahead of time.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import pathlib
import re
import subprocess

import pytest
import tessera as tsr

ROOT = pathlib.Path(__file__).resolve().parents[2]

# The part between the markers is the document's.
PROGRAM = r"""
#include "rms_norm.h"
#include <cstdio>
#include <iostream>
#include <vector>

// Automatic performance profiling and analysis
#include "Tessera/Target/TesseraPerformanceProfiler.h"

int main() {
  std::vector<float> x(512 * 1000, 2.0f), w(1000, 1.0f), y(512 * 1000);
  rms_norm::rms_norm_args input_args{tessera::view(x.data(), {512, 1000}), tessera::view(w.data(), {1000}), tessera::view(y.data(), {512, 1000})};
  int calls = 0;
  auto kernel_function = [&](const rms_norm::rms_norm_args &args) { ++calls; return rms_norm::rms_norm(args); };

TesseraPerformanceProfiler profiler;

// Profile kernel execution
auto profile_data = profiler.profileKernel(
    kernel_function,
    input_args,
    {
        .enable_occupancy_analysis = true,
        .enable_memory_analysis = true,
        .enable_instruction_analysis = true,
        .sample_count = 100
    }
);

std::cout << "Performance Analysis:\n";
std::cout << "- Kernel Runtime: " << profile_data.average_runtime_ms << " ms\n";
std::cout << "- Occupancy: " << profile_data.occupancy_percentage << "%\n";
std::cout << "- Memory Bandwidth: " << profile_data.memory_bandwidth_gb_s << " GB/s\n";
std::cout << "- Tensor Core Utilization: " << profile_data.tensor_core_utilization << "%\n";
std::cout << "- Bottleneck: " << profile_data.bottleneck_analysis << "\n";

  std::cout << "calls " << calls << ", " << profile_data.kernels.size() << " kernels, "
            << (profile_data.min_runtime_ms <= profile_data.median_runtime_ms && profile_data.median_runtime_ms <= profile_data.max_runtime_ms) << "\n";
  std::cout << "moved " << profile_data.memory_bandwidth_gb_s.value * profile_data.median_runtime_ms * 1e6 << "\n";
  tessera::ProfileOptions known;
  known.flops = 4.0 * 512 * 1000, known.sample_count = 10;
  auto counted = profiler.profileKernel(kernel_function, input_args, known);
  std::cout << "compute " << counted.compute_gflop_s << " of " << counted.compute_roof_gflop_s << "\n";
  // A call that is wrong is an error value, as everywhere.
  input_args.W = tessera::view(w.data(), {999});
  std::cout << "error: " << profiler.profileKernel(kernel_function, input_args, {}).error << "\n";
}
"""

CMAKE = """cmake_minimum_required(VERSION 3.20)
project(app CXX)
set(CMAKE_CXX_STANDARD 20)
add_compile_options(-Wall -Wextra -Werror -fno-exceptions -fno-rtti)
find_package(rms_norm REQUIRED)
add_executable(app app.cpp)
target_link_libraries(app PRIVATE rms_norm)
"""


def run(*command):
    result = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_the_documents_profiler(tmp_path):
    prefix, kernels = tmp_path / "prefix", tmp_path / "kernels"
    run("cmake", "-S", ROOT / "runtime", "-B", tmp_path / "runtime", "-DBUILD_TESTING=OFF", "-DTESSERA_RUNTIME_BENCH=OFF", "-DCMAKE_BUILD_TYPE=Release")
    run("cmake", "--build", tmp_path / "runtime", "-j2")
    run("cmake", "--install", tmp_path / "runtime", "--prefix", prefix)
    tsr.load_file(ROOT / "examples/05-rms-norm.tessera").rms_norm.aot(kernels)
    (tmp_path / "app.cpp").write_text(PROGRAM)
    (tmp_path / "CMakeLists.txt").write_text(CMAKE)
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix};{kernels}", "-DCMAKE_BUILD_TYPE=Release")
    run("cmake", "--build", tmp_path / "build")
    text = run(tmp_path / "build/app")
    figures = dict(re.findall(r"- ([\w ]+): (\S+)", text))
    assert float(figures["Kernel Runtime"]) > 0
    assert 0 < float(figures["Occupancy"].rstrip("%")) <= 100
    assert re.search(r"moved ([\d.e+]+)", text)[1] == f"{4 * (2 * 512 * 1000 + 1000):g}"  # read, written and the weights
    assert "- Tensor Core Utilization: not measured%" in text  # nobody said how many operations
    assert re.search(r"- Bottleneck: (memory|synchronization)_bound: .* of .* GB/s \(streaming copies\)", text)
    # 5 warm-ups, 100 runs, 1 with a trace, 3 with counters.
    assert "calls 109, 1 kernels, 1" in text
    assert re.search(r"compute [\d.]+ of [\d.]+", text)
    assert "error: X (512 x 1000) and W (999) disagree on N" in text


def test_the_program_is_the_documents():
    seed = ROOT.parent / "shared/seeds"
    pages = sorted(seed.glob("001*")) if seed.exists() else []
    if not pages:
        pytest.skip("the usage guide is not beside the repository")
    text = pages[0].read_text()
    shown = text[text.index("TesseraPerformanceProfiler profiler;"):]
    assert shown[: shown.index("```")].strip() in PROGRAM
