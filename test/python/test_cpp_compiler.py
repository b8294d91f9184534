"""The installed compiler package: the usage guide's C++ program compiles a module; its launcher and kernels run.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("TESSERA_BIN", ROOT / "build/release/bin"))
CLANG = shutil.which("clang-22")

MAIN = r"""
#include "tessera-c/runtime.h"
#include <stdio.h>
tsr_status tessera_launch_rms_norm(const tsr_tensor *, int32_t, const int64_t *, int32_t);
int main(void) {
  float x[6] = {3, 3, 3, 3, 3, 3}, w[3] = {1, 2, 4}, y[6];
  int64_t matrix[] = {2, 3}, row[] = {3};
  tsr_tensor tensors[] = {{x, matrix, 0, TSR_F32, 2}, {w, row, 0, TSR_F32, 1}, {y, matrix, 0, TSR_F32, 2}};
  tsr_status status = tessera_launch_rms_norm(tensors, 3, 0, 0);
  if (status) { puts(tsr_status_message(status)); return 1; }
  printf("%.3f %.3f %.3f\n", (double)y[3], (double)y[4], (double)y[5]);
  return 0;
}
"""


def run(*command):
    result = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def embed(tmp_path_factory):
    """(the stranger's program, the prefix)."""
    folder = tmp_path_factory.mktemp("compiler")
    prefix = folder / "prefix"
    for component in ("runtime", "compiler"):
        run("cmake", "--install", BIN.parent, "--prefix", prefix, "--component", component)
    llvm = run("llvm-config-22", "--prefix").strip()
    run("cmake", "-S", ROOT / "test/install/compiler", "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={prefix};{llvm}",
        "-DCMAKE_CXX_COMPILER=clang++-22", "-DCMAKE_C_COMPILER=clang-22")
    run("cmake", "--build", folder / "build")
    return folder / "build/embed", prefix


def graph_text(tmp_path):
    path = tmp_path / "rms_norm.mlir"
    run(BIN / "tesserac", ROOT / "examples/05-rms-norm.tessera", "--compile-to", "graph", "-o", path)
    return path


def test_kernel_and_launcher_run(embed, tmp_path):
    program, prefix = embed
    report = run(program, graph_text(tmp_path), "cpu", "avx2", tmp_path)
    assert "kernel run time     not measured" in report and re.search(r"compile time +\d+\.\d+ ms", report)
    (tmp_path / "main.c").write_text(MAIN)
    os.rename(tmp_path / "kernel", tmp_path / "kernel.ll")
    run(CLANG, "-O2", "-mavx2", "-mfma", "-c", tmp_path / "kernel.ll", "-o", tmp_path / "kernel.o", "-Wno-override-module")
    for source in ("host", "main"):
        run(CLANG, "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{prefix}/include", "-c", tmp_path / f"{source}.c", "-o", tmp_path / f"{source}.o")
    run("clang++-22", *(tmp_path / f"{part}.o" for part in ("kernel", "host", "main")), prefix / "lib/libTesseraRuntime.a",
        *os.environ.get("LDFLAGS", "").split(), "-o", tmp_path / "app")
    assert run(tmp_path / "app") == "1.000 2.000 4.000\n"


GPU_MAIN = r"""
#include "tessera-c/device.h"
#include <stdio.h>
#include <stdlib.h>
tsr_status tessera_launch_flash_attention(tsr_device *, void *, const tsr_tensor *, int32_t, const int64_t *, int32_t);
int main(int argc, char **argv) { /* q, k and v one behind the other, then the result; sizes */
  int64_t sizes[] = {1, 2, atoi(argv[2]), 64}, bytes = 2 * sizes[2] * 64 * 2;
  char *host = malloc(4 * bytes);
  FILE *file = fopen(argv[1], "rb");
  if (argc != 3 || !file || fread(host, 1, 3 * bytes, file) != (size_t)(3 * bytes)) return 2;
  tsr_device *gpu;
  void *memory;
  tsr_status status = tsr_cuda_device(0, 0, &gpu);
  if (!status) status = tsr_device_allocate(gpu, 4 * bytes, 0, &memory);
  if (!status) status = tsr_device_copy(gpu, memory, host, 3 * bytes, 0);
  tsr_tensor tensors[4] = {{0}};
  for (int i = 0; i < 4; ++i) tensors[i] = (tsr_tensor){(char *)memory + i * bytes, sizes, 0, TSR_F16, 4};
  if (!status) status = tessera_launch_flash_attention(gpu, 0, tensors, 4, 0, 0);
  if (!status) status = tsr_device_copy(gpu, host, (char *)memory + 3 * bytes, bytes, 0);
  if (!status) status = tsr_stream_synchronize(gpu, 0);
  if (status) { puts(tsr_status_message(status)); return 1; }
  return fwrite(host, 1, bytes, stdout) != (size_t)bytes;
}
"""


def test_the_guides_program_on_a_gpu(embed, tmp_path):
    """Lines 27-76 of the usage guide: its attention (word for word, a program file needs no import) through its C++ program, with "sm_80"
    for "sm_90"; what is printed there, kernel_code and host_code, runs on the simulator's driver, which poses as the GPU."""
    np = pytest.importorskip("numpy")
    import tessera
    from tessera.sim import driver

    program, prefix = embed
    run(BIN / "tesserac", ROOT / "test/numerics/attention.tessera", "--compile-to", "graph", "--types", "q=fp16,k=fp16,v=fp16", "-o", tmp_path / "attention.mlir")
    report = run(program, tmp_path / "attention.mlir", "cuda", "sm_80", tmp_path)
    assert "kernel run time     not measured" in report
    assert re.search(r"flash_attention_0_d64: \d+ threads, \d+ bytes of shared memory; registers not measured", report)
    ptx = (tmp_path / "kernel").read_text()
    assert ".target sm_80" in ptx and "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" in ptx and "cp.async.cg.shared.global" in ptx
    (tmp_path / "main.c").write_text(GPU_MAIN)
    for source in ("host", "main"):
        run(CLANG, "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{prefix}/include", "-c", tmp_path / f"{source}.c", "-o", tmp_path / f"{source}.o")
    run("clang++-22", tmp_path / "host.o", tmp_path / "main.o", prefix / "lib/libTesseraRuntime.a", *os.environ.get("LDFLAGS", "").split(), "-o", tmp_path / "app")
    q, k, v = (np.random.default_rng(i).standard_normal((1, 2, 67, 64)).astype(np.float16) for i in range(3))
    (tmp_path / "inputs").write_bytes(q.tobytes() + k.tobytes() + v.tobytes())
    environment = {**os.environ, "TESSERA_CUDA_DRIVER": driver.library().path, "TESSERA_SIM_ARCH": "sm_80"}
    done = subprocess.run([tmp_path / "app", tmp_path / "inputs", "67"], env=environment, capture_output=True)
    assert done.returncode == 0, done.stdout[:2000] + done.stderr
    # The same kernels through Python; test/gpu/test_seed_examples.py holds those against the bound.
    attention = tessera.load_file(ROOT / "test/numerics/attention.tessera").flash_attention
    expected = attention(q, k, v, target="sim:sm_80")
    assert np.array_equal(np.frombuffer(done.stdout, np.float16).reshape(q.shape), expected)


def test_a_platform_that_is_not_there(embed, tmp_path):
    result = subprocess.run([embed[0], graph_text(tmp_path), "metal", "", tmp_path], capture_output=True, text=True)
    assert result.returncode == 1
    assert "no platform is called 'metal'; there are cpu and cuda" in result.stderr
