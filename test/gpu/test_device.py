"""The CUDA device of the runtime, on the simulator's driver posing as this machine's GPU.

Everything here goes through the code that a GPU would: TESSERA_CUDA_DRIVER names the driver library, arrays are in its memory.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import concurrent.futures
import ctypes
import os
import subprocess
import sys
import textwrap
import threading
import types

import numpy as np
import pytest

import tessera as tsr
from tessera import cuda, kernels
from tessera.sim import driver

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "numerics"))
import bounds  # noqa: E402


pytestmark = pytest.mark.usefixtures("machine")


def test_what_the_device_says(machine):
    assert cuda.count() >= 1
    assert machine.name == "Tessera simulator (sm_80)" and machine.capability == (8, 0)
    assert cuda.target_of(machine) == "sm_80"
    assert cuda.target_of(driver.device("sm_120a")) == "sm_120a"
    assert machine.total_memory > 2**30 and machine.shared_per_block > 48 * 1024


def test_arrays_go_there_and_back(machine, inputs):
    for values in (inputs.normal(3, 5), inputs.normal(7, dtype="fp16"), np.float32(3), np.empty((0, 4), np.int64)):
        there = cuda.array(values)
        assert there.shape == np.shape(values) and np.array_equal(there.numpy(), values)


@pytest.mark.parametrize("dtype", ("fp16", "fp32"))
def test_gemm_of_arrays_on_the_gpu(machine, inputs, dtype):
    a, b = inputs.normal(65, 70, dtype=dtype), inputs.normal(70, 33, dtype=dtype)
    got = kernels.gemm(cuda.array(a), cuda.array(b))
    assert isinstance(got, cuda.DeviceArray) and got.gpu == machine
    # The simulator is the same machine: bit for bit what `sim:` computes.
    assert np.array_equal(got.numpy(), kernels.gemm(a, b, target="sim:sm_80"))


def test_foreign_arrays(machine, inputs):
    """CuPy's and Numba's arrays say where they are by `__cuda_array_interface__`."""
    class Foreign:
        def __init__(self, owner):
            self.owner, self.__cuda_array_interface__ = owner, owner.__cuda_array_interface__

    x = inputs.normal(9, 33)
    got = kernels.softmax(Foreign(cuda.array(x)))
    assert np.array_equal(got.numpy(), kernels.softmax(x, target="sim:sm_80"))


class OnlyDLPack:
    """An array that says where it is by DLPack only."""

    class Tensor(ctypes.Structure):
        _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                    ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64),
                    ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]

    def __init__(self, owner):
        self.owner = owner
        self.shape = (ctypes.c_int64 * len(owner.shape))(*owner.shape)
        code, bits = (4, 16) if owner.dtype.name == "bfloat16" else (2, owner.dtype.itemsize * 8)
        self.tensor = self.Tensor(owner.address, (2, 0), len(owner.shape), code, bits, 1, self.shape, None, 0, None, None)

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, **_):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), b"dltensor", None)


@pytest.mark.parametrize("dtype", ("fp32", "bf16"))
def test_arrays_by_dlpack(machine, inputs, dtype):
    x = inputs.normal(9, 33, dtype=dtype)
    got = kernels.softmax(OnlyDLPack(cuda.array(x)))
    assert np.array_equal(got.numpy(), kernels.softmax(x, target="sim:sm_80"))


def test_streams_of_other_libraries():
    handle = cuda.stream_handle
    assert handle(None, "cuda", 0) == 0 and handle(7, "cuda", 0) == 7
    assert handle(types.SimpleNamespace(cuda_stream=11), "torch", 0) == 11 and handle(types.SimpleNamespace(ptr=13), "cupy", 0) == 13
    with pytest.raises(tsr.ArgumentError, match="stream= is str, not a CUDA stream"):
        handle("main", "cuda", 0)


def test_out_and_temporaries(machine, inputs):
    @tsr.function
    def f(x, y):
        return tsr.softmax(x + y, dim=-1) * 2.0

    x, y = inputs.normal(9, 77), inputs.normal(9, 77)
    out = cuda.empty((9, 77), "float32")
    before = machine.memory_stats["bytes_in_use"]
    assert f(cuda.array(x), cuda.array(y), out=out) is out
    assert machine.memory_stats["bytes_in_use"] == before, "temporaries are given back"
    assert np.array_equal(out.numpy(), f(x, y, target="sim:sm_80"))


def test_the_pool_keeps_blocks_by_stream(machine):
    machine.release_cached_memory()
    machine.set_memory_cache_limit(2**30)
    try:
        one, two = cuda.Stream(), cuda.Stream()
        first = machine.allocate(5000, one.handle)
        machine.deallocate(first, one.handle)
        other = machine.allocate(5000, two.handle)
        again = machine.allocate(4990, one.handle)
        assert again == first and other != first, "a block is used again on its own stream only"
        stats = machine.memory_stats
        assert stats["pool_hits"] >= 1
        machine.deallocate(other, two.handle)
        machine.deallocate(again, one.handle)
        machine.release_cached_memory()
        assert machine.memory_stats["bytes_cached"] == 0
    finally:
        machine.set_memory_cache_limit(0)
    exact = machine.allocate(33, 0)
    assert machine.memory_stats["bytes_in_use"] >= 33
    machine.deallocate(exact, 0)


def test_mixed_places_are_refused(machine, inputs):
    x, y = inputs.normal(8, 8), inputs.normal(8, 8)
    with pytest.raises(tsr.ArgumentError, match=r"B is on the CPU, but other arguments are on Tessera simulator"):
        kernels.gemm(cuda.array(x), y)
    with pytest.raises(tsr.ArgumentError, match="A is an array on a GPU, but this version runs on the CPU"):
        kernels.gemm(cuda.array(x), cuda.array(y), target="cpu")
    with pytest.raises(tsr.ArgumentError, match="A is an array on a GPU, but this version runs on the CPU"):
        kernels.gemm(cuda.array(x), cuda.array(y), target="sim:sm_80")
    with pytest.raises(tsr.ArgumentError, match=r"out= is on the CPU, but the result is on Tessera simulator|out="):
        kernels.gemm(cuda.array(x), cuda.array(y), out=np.empty((8, 8), "float32"))


def test_another_architecture_is_refused(machine, inputs):
    x = cuda.array(inputs.normal(8, 8))
    with pytest.raises(tsr.DeviceError, match=r"softmax has no kernels for Tessera simulator \(sm_80\) \(sm_80\); it has sm_120"):
        kernels.softmax(x, target="sm_120a")


def test_streams_and_events(machine, inputs):
    stream = cuda.Stream()
    x = inputs.normal(5, 100)
    with cuda.Timer(machine, stream.handle) as timer:
        got = kernels.softmax(cuda.array(x, stream=stream.handle), stream=stream)
    stream.synchronize()
    assert timer.milliseconds > 0 and got.stream == stream.handle
    assert np.array_equal(got.numpy(), kernels.softmax(x, target="sim:sm_80"))


def in_threads(count: int, work) -> None:
    """work(0) ... work(count - 1), each in a thread of its own; what any of them raises is raised."""
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        started = threading.Barrier(count)
        for done in [pool.submit(lambda i=i: (started.wait(), work(i))) for i in range(count)]:
            done.result()


def test_threads_and_streams(machine, inputs):
    """Launches of several threads, each on its own stream, of versions that are compiled at the same time."""
    x = [inputs.normal(3 + i, 40 + i) for i in range(6)]
    expected = [kernels.softmax(v, target="sim:sm_80") for v in x]

    def work(i):
        stream = cuda.Stream()
        for _ in range(3):
            got = kernels.softmax(cuda.array(x[i], stream=stream.handle), stream=stream).numpy()
            assert np.array_equal(got, expected[i])

    in_threads(len(x), work)


def test_simulators_of_several_threads(inputs):
    """`sim:` sessions are per thread: exposed arrays and reports do not mix."""
    x = [inputs.normal(3 + i, 40) for i in range(4)]

    def work(i):
        got = kernels.softmax(x[i], target="sim:sm_80" if i % 2 else "sim:sm_89")
        bounds.check(got, bounds.softmax(bounds.exact(x[i], "fp32")), f"softmax {i}")

    in_threads(len(x), work)


def test_a_loop_between_kernels(inputs):
    """Plans with loops run on a GPU as on the CPU."""
    @tsr.function
    def smooth(x, steps: int):
        i = 0
        while i < steps:
            x = tsr.softmax(x, dim=-1)
            i += 1
        return x

    x = inputs.normal(4, 16)
    got = smooth(x, 3, target="sim:sm_80")
    assert smooth._versions[smooth.last_spec.key].plan.count("loop") == 1
    bounds.check(got, bounds.softmax(bounds.softmax(bounds.softmax(bounds.exact(x, "fp32")))), "three times")


def without_driver(code: str, **variables) -> str:
    environment = {**os.environ, "TESSERA_CUDA_DRIVER": "/nowhere/libcuda.so.1", **variables}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, env=environment)
    return done.stdout + done.stderr


def test_without_a_driver():
    said = without_driver("""
        from tessera import cuda
        print(cuda.count())
        cuda.device()
    """)
    assert said.startswith("0\n")
    assert "DeviceError: there is no CUDA driver: /nowhere/libcuda.so.1: cannot open shared object file" in said
