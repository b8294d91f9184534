# The driver API through libcuda.so.1, as a program without the runtime uses it.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import ctypes
import pathlib

import numpy as np
import pytest

from conftest import CUDA_LIBRARY

LIBRARY = CUDA_LIBRARY / "libcuda.so.1"
pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason=f"{LIBRARY} is not built")

PTX = b"""
.version 8.5
.target sm_80
.address_size 64
.global .align 4 .u32 scale = 3;
.visible .entry times(.param .u64 x, .param .u32 n) {
.reg .b32 %r<6>; .reg .b64 %d<4>; .reg .pred %p;
mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.s32 %r1, %r1, %r2, %r3;
ld.param.u32 %r2, [n]; setp.ge.u32 %p, %r1, %r2; @%p bra END;
ld.param.u64 %d1, [x]; mul.wide.u32 %d2, %r1, 4; add.s64 %d1, %d1, %d2;
ld.global.u32 %r4, [%d1]; ld.global.u32 %r5, [scale]; mul.lo.u32 %r4, %r4, %r5; st.global.u32 [%d1], %r4;
END: ret;
}
\0"""


@pytest.fixture(scope="module")
def cuda():
    library = ctypes.CDLL(str(LIBRARY))
    assert library.cuInit(0) == 0
    context = ctypes.c_void_p()
    assert library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert library.cuCtxSetCurrent(context) == 0
    return library


def load(cuda):
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    assert cuda.cuModuleLoadData(ctypes.byref(module), PTX) == 0
    assert cuda.cuModuleGetFunction(ctypes.byref(function), module, b"times") == 0
    return module, function


def pack(address, n):
    x, count = ctypes.c_uint64(address), ctypes.c_uint32(n)
    array = (ctypes.c_void_p * 2)(ctypes.addressof(x), ctypes.addressof(count))
    return array, (x, count)


def test_launch_and_copies(cuda):
    module, function = load(cuda)
    data = np.arange(1000, dtype=np.uint32)
    p = ctypes.c_uint64()
    assert cuda.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(4000)) == 0
    assert cuda.cuMemcpyHtoD_v2(p, data.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(4000)) == 0
    params, keep = pack(p.value, 1000)
    assert cuda.cuLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, None, params, None) == 0
    out = np.zeros_like(data)
    assert cuda.cuMemcpyDtoH_v2(out.ctypes.data_as(ctypes.c_void_p), p, ctypes.c_size_t(4000)) == 0
    assert (out == data * 3).all()
    where, size = ctypes.c_uint64(), ctypes.c_size_t()
    assert cuda.cuModuleGetGlobal_v2(ctypes.byref(where), ctypes.byref(size), module, b"scale") == 0
    assert size.value == 4
    assert cuda.cuMemsetD32_v2(where, 5, ctypes.c_size_t(1)) == 0
    assert cuda.cuLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, None, params, None) == 0
    assert cuda.cuMemcpyDtoH_v2(out.ctypes.data_as(ctypes.c_void_p), p, ctypes.c_size_t(4000)) == 0
    assert (out == data * 15).all()
    assert cuda.cuMemFree_v2(p) == 0
    assert cuda.cuMemFree_v2(p) == 1  # twice
    assert cuda.cuModuleUnload(module) == 0


def test_events_streams_and_capture(cuda):
    module, function = load(cuda)
    p, stream, graph, exec_ = ctypes.c_uint64(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    assert cuda.cuMemAllocManaged(ctypes.byref(p), ctypes.c_size_t(128), 1) == 0
    values = (ctypes.c_uint32 * 32).from_address(p.value)
    for i in range(32):
        values[i] = 1
    assert cuda.cuStreamCreate(ctypes.byref(stream), 0) == 0
    assert cuda.cuStreamBeginCapture_v2(stream, 0) == 0
    params, keep = pack(p.value, 32)
    for _ in range(2):
        assert cuda.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, params, None) == 0
    assert cuda.cuStreamEndCapture(stream, ctypes.byref(graph)) == 0
    assert values[0] == 1
    assert cuda.cuGraphInstantiateWithFlags(ctypes.byref(exec_), graph, ctypes.c_uint64(0)) == 0
    assert cuda.cuGraphLaunch(exec_, stream) == 0
    assert cuda.cuStreamSynchronize(stream) == 0
    assert list(values) == [9] * 32


def test_entry_points_and_errors(cuda):
    pointer, status = ctypes.c_void_p(), ctypes.c_int()
    assert cuda.cuGetProcAddress_v2(b"cuMemAlloc", ctypes.byref(pointer), 12000, ctypes.c_uint64(0),
                                    ctypes.byref(status)) == 0
    assert pointer.value and status.value == 0
    text = ctypes.c_char_p()
    assert cuda.cuGetErrorString(700, ctypes.byref(text)) == 0
    assert b"illegal memory access" in text.value
    module = ctypes.c_void_p()
    assert cuda.cuModuleLoadData(ctypes.byref(module), b".version 8.0\n.target sm_80\nnonsense\0") == 218


def test_fault_is_sticky():
    """In a process of its own: the context does not recover from it."""
    import subprocess
    import sys
    code = f"""
import ctypes, sys
sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
from test_driver import PTX, load, pack
cuda = ctypes.CDLL({str(LIBRARY)!r})
module, function = load(cuda)
p = ctypes.c_uint64()
cuda.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(40))
params, keep = pack(p.value, 11)
assert cuda.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, None, params, None) == 0
assert cuda.cuCtxSynchronize() == 700
assert cuda.cuMemcpyDtoD_v2(p, p, ctypes.c_size_t(4)) == 700
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "thread (10,0,0)" in result.stderr
