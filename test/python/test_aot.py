"""Libraries built ahead of time: a stranger's CMake project, without LLVM or Python; and the shared library by itself.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import ctypes
import os
import pathlib
import re
import shutil
import subprocess

import numpy as np
import pytest
import tessera as tsr
from tessera import Out, Tensor, const, fp32

ROOT = pathlib.Path(__file__).resolve().parents[2]


@tsr.kernel
def flash_attention(Q: Tensor["B", "H", "S", "D"], K: Tensor["B", "H", "T", "D"], V: Tensor["B", "H", "T", "D"],
                    O: Out["B", "H", "S", "D"], BM: const = 32, BN: const = 64):
    for b, h, m in tsr.grid(B, H, tsr.tile(S, BM)):
        q = Q[b, h, m, :]
        top, den, acc = tsr.full(tsr.lowest, m), tsr.zeros(m), tsr.zeros(m, D)
        for n in tsr.tile(T, BN):
            s = q @ K[b, h, n, :].T * (1.0 / 8)
            new = tsr.maximum(top, tsr.max(s, n))
            p, fix = tsr.exp(s - new), tsr.exp(top - new)
            den = den * fix + tsr.sum(p, n)
            acc = acc * fix + p.to(V.dtype) @ V[b, h, n, :]
            top = new
        O[b, h, m, :] = acc / den


@tsr.function
def scaled(x: Tensor["M", "N", fp32], bias: Tensor["N", fp32], alpha: fp32):
    return tsr.relu(x * alpha + bias)


def run(*command, **options):
    result = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """The runtime alone, installed into an empty prefix; neither LLVM nor Python is asked for."""
    folder = tmp_path_factory.mktemp("runtime")
    run("cmake", "-S", ROOT / "runtime", "-B", folder / "build", "-DBUILD_TESTING=OFF", "-DTESSERA_RUNTIME_BENCH=OFF", "-DCMAKE_BUILD_TYPE=Release",
        "-DCMAKE_DISABLE_FIND_PACKAGE_LLVM=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_MLIR=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_Python=ON")
    run("cmake", "--build", folder / "build", "-j2")
    run("cmake", "--install", folder / "build", "--prefix", folder / "prefix")
    return folder / "prefix"


def test_a_strangers_project(prefix, tmp_path):
    project = tmp_path / "stranger"
    shutil.copytree(ROOT / "test/install/library", project)
    flash_attention.aot(tmp_path / "attention", name="attention", D=[64, 128])
    run("cmake", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={prefix};{tmp_path / 'attention'}", "-DCMAKE_BUILD_TYPE=Release")
    run("cmake", "--build", project / "build")
    server = project / "build/server"
    assert "worst error" in run(server)
    needed = run("ldd", server).lower()
    assert "llvm" not in needed and "mlir" not in needed and "python" not in needed
    assert len([line for line in (project / "CMakeLists.txt").read_text().splitlines() if line.strip()]) <= 10


def test_the_page_for_cpp(prefix, tmp_path):
    """docs/cpp.md: tesserac, the CMake file and the program as they stand."""
    page = (ROOT / "docs/cpp.md").read_text()
    blocks = {kind: re.search(rf"```{kind}\n(.*?)```", page, re.S)[1] for kind in ("cmake", "cpp")}
    (tmp_path / "CMakeLists.txt").write_text(blocks["cmake"])
    (tmp_path / "app.cpp").write_text(blocks["cpp"])
    run(pathlib.Path(os.environ["TESSERA_BIN"]) / "tesserac", "aot", ROOT / "examples/05-rms-norm.tessera", "-o", tmp_path / "kernels")
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix};{tmp_path / 'kernels'}")
    run("cmake", "--build", tmp_path / "build")
    assert run(tmp_path / "build/app") == "1\n"


def test_files_are_the_same_bits_again(tmp_path):
    """The archive is reproducible."""
    for folder in ("one", "two"):
        scaled.aot(tmp_path / folder)
    for file in ("scaled.h", "libscaled.a", "scaledConfig.cmake"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_shared_library_needs_nothing(tmp_path):
    files = scaled.aot(tmp_path)
    library = tmp_path / "libscaled.so"
    assert str(library) in files, files
    needed = run("ldd", library).lower()
    assert "llvm" not in needed and "python" not in needed
    loaded = ctypes.CDLL(str(library))

    class Tensor(ctypes.Structure):
        _fields_ = [("data", ctypes.c_void_p), ("sizes", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                    ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32)]

    class Call(ctypes.Structure):
        _fields_ = [("size", ctypes.c_size_t), ("tensors", ctypes.POINTER(Tensor)), ("scalars", ctypes.POINTER(ctypes.c_int64)),
                    ("num_tensors", ctypes.c_int32), ("num_scalars", ctypes.c_int32), ("allocate", ctypes.c_void_p), ("context", ctypes.c_void_p)]

    def tensor(array):
        integers = ctypes.c_int64 * array.ndim
        return Tensor(array.ctypes.data, integers(*array.shape), integers(*(s // array.itemsize for s in array.strides)), 1, array.ndim)

    random = np.random.default_rng(0)
    wide = random.standard_normal((9, 40)).astype(np.float32)
    bias = random.standard_normal(13).astype(np.float32)
    for x in (np.ascontiguousarray(wide[:, :13]), wide[:, :39:3], np.ascontiguousarray(wide[:, :13].T).T):
        y = np.zeros((9, 13), np.float32)
        tensors = (Tensor * 3)(tensor(x), tensor(bias), tensor(y))
        scalars = (ctypes.c_int64 * 1)(int(np.float64(0.5).view(np.int64)))
        call = Call(ctypes.sizeof(Call), tensors, scalars, 3, 1, None, None)
        loaded.tsr_function_run.restype = ctypes.c_void_p
        function = ctypes.addressof(ctypes.c_char.in_dll(loaded, "tsr_scaled_scaled"))
        assert loaded.tsr_function_run(ctypes.c_void_p(function), ctypes.byref(call)) is None
        np.testing.assert_array_equal(y, np.maximum(x * np.float32(0.5) + bias, 0))


def test_a_target_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(tsr.CompileError, match="not yet: 'cudatile:sm_90', ahead of time"):
        scaled.aot(tmp_path, targets=["cudatile:sm_90"])


def test_a_strangers_project_on_a_gpu(prefix, tmp_path):
    """Several architectures in one library; the device's own is taken. The simulator's driver poses as GPUs of three of them."""
    from tessera import kernels
    from tessera.sim import driver

    project = tmp_path / "stranger"
    shutil.copytree(ROOT / "test/install/gpu", project)
    kernels.gemm.aot(tmp_path / "kernels", targets=["sm_80", "sm_89"], name="kernels", A=fp32, B=fp32, C=fp32)
    run("cmake", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={prefix};{tmp_path / 'kernels'}", "-DCMAKE_BUILD_TYPE=Release")
    run("cmake", "--build", project / "build")
    for arch, source in (("sm_80", "sm_80"), ("sm_86", "sm_80"), ("sm_89", "sm_89"), ("sm_120", "sm_89")):
        report = tmp_path / f"{arch}.json"
        environment = {**os.environ, "TESSERA_CUDA_DRIVER": driver.library().path, "TESSERA_SIM_ARCH": arch, "TESSERA_SIM_REPORT": str(report)}
        said = run(project / "build/app", env=environment)
        assert said == f"Tessera simulator ({arch})\nright\ngemm: this library has no code for the CPU; name a GPU in the call\n"
        assert report.read_text().count('"kernel"') == 1
    old = subprocess.run([project / "build/app"], env={**environment, "TESSERA_SIM_ARCH": "sm_75"}, capture_output=True, text=True)
    assert old.returncode == 1 and "no kernels for Tessera simulator (sm_75) (sm_75)" in old.stdout
    none = subprocess.run([project / "build/app"], env={**os.environ, "TESSERA_CUDA_DRIVER": "/nowhere/libcuda.so.1"}, capture_output=True, text=True)
    assert none.returncode == 1 and none.stdout.startswith("error: there is no CUDA driver: /nowhere/libcuda.so.1: cannot open")
