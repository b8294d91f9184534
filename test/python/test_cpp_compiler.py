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


def test_ptx_comes_out(embed, tmp_path):
    run(embed[0], graph_text(tmp_path), "cuda", "sm_80", tmp_path)
    assert ".target sm_80" in (tmp_path / "kernel").read_text()


def test_a_platform_that_is_not_there(embed, tmp_path):
    result = subprocess.run([embed[0], graph_text(tmp_path), "metal", "", tmp_path], capture_output=True, text=True)
    assert result.returncode == 1
    assert "no platform is called 'metal'; there are cpu and cuda" in result.stderr
