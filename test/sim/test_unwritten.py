# Reads of global memory that nobody has written, on every way to launch.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

import tessera.sim as sim
from conftest import ROOT, TOOL
from test_limits import drive

COPY = """.version 8.5
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x) { .reg .b64 %p; .reg .b32 %i; ld.param.u64 %p, [x];
ld.global.u32 %i, [%p]; st.global.u32 [%p+8], %i; ret; }"""
HERE = "import sys; sys.path.insert(0, {!r}); import conftest\n".format(str(ROOT / "test/sim"))
TRITON = HERE + """
import torch, triton, triton.language as tl, tessera.sim.triton as t
driver = t.activate("sm_80", check=True)
@triton.jit
def copy(X, Y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(Y + i, tl.load(X + i, i < n), i < n)
def found(x, y, n=64):
    try:
        copy[(1,)](x, y, n, B=64)
    except t.SimulationError as error:
        (e,) = error.report.errors
        assert e["kind"] == "uninitialised" and "which nobody has written" in e["message"], e
        return True
    return False
def empty():
    return torch.empty(64)
"""



def test_torch_empty(tmp_path):
    pytest.importorskip("triton", reason="triton is not installed")
    path = tmp_path / "script.py"  # Triton reads the source of its kernels
    path.write_text(TRITON + """
assert found(empty(), empty())
assert found(torch.empty_like(empty()).view(8, 8), empty())
assert found(empty().new_empty(64), empty())
assert found(torch.empty(128)[64:], empty())
# What is written once is written: by torch, through a view, by NumPy, by a kernel.
x, y, z = torch.zeros(64), empty(), empty()
assert not found(x, y) and not found(y, z) and not found(z, x)
assert not found(empty().fill_(1), y) and not found(torch.ones(64), y)
x = empty(); x.view(8, 8)[:] = 1; assert not found(x, y)
x = empty(); x.numpy()[:] = 1; assert not found(x, y)
x = empty(); torch.add(y, y, out=x); assert not found(x, y)
x = torch.empty(128); x[:64].zero_(); assert not found(x[:64], y) and found(x[64:], y)
x, y = torch.zeros(64), empty()
assert not found(x, y, 32) and found(y, empty())
# Memory that is used again is not what it was.
for _ in range(20):
    x = empty(); del x
    x = torch.zeros(64); assert not found(x, y)
x = empty(); driver.unwritten.mark(x); assert not found(x, y)
# Kernels that nobody watches may write anything.
x = empty()
t.activate("sm_80", check=False); assert not found(x, y)
t.activate("sm_80", check=True); assert not found(x, y) and found(empty(), x)
""")
    done = subprocess.run([sys.executable, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_device_memory():
    code = """
q = ctypes.c_uint64()
assert cuda.cuMemAlloc_v2(ctypes.byref(q), ctypes.c_size_t(4096)) == 0
WRITE
assert launch() == 0
"""
    at_five = "uninitialised: block (0,0,0) thread (0,0,0) reads global address"
    for write, reported in (("", True), ("cuda.cuMemsetD32_v2(p, 0, ctypes.c_size_t(1))", False),
                            ("cuda.cuMemsetD8_v2(p, 0, ctypes.c_size_t(3))", True),
                            ("cuda.cuMemcpyHtoD_v2(p, bytes(4), ctypes.c_size_t(4))", False),
                            ("cuda.cuMemcpyDtoD_v2(p, q, ctypes.c_size_t(4096))", True),  # copied is not written
                            ("cuda.cuMemsetD8_v2(p, 0, ctypes.c_size_t(4096)); cuda.cuMemcpyDtoD_v2(p, q, ctypes.c_size_t(8))", True),
                            ("cuda.cuMemsetD8_v2(q, 0, ctypes.c_size_t(8)); cuda.cuMemcpyDtoD_v2(p, q, ctypes.c_size_t(8))", False)):
        said = drive(COPY, code.replace("WRITE", write), TESSERA_SIM_CHECK="1")
        assert (at_five in said) == reported, (write, said)


def test_an_unchecked_launch_may_have_written():
    device = sim.Device()
    module = device.load(COPY, COPY.replace("entry k", "entry write").replace("ld.global.u32 %i, [%p]", "st.global.u32 [%p], 1"))
    p = device.allocate(64)
    params = int(p).to_bytes(8, "little")
    assert not module.launch("k", 1, 1, params).ok
    p = device.allocate(64)
    params = int(p).to_bytes(8, "little")
    assert module.launch("write", 1, 1, params, check=False).ok
    assert module.launch("k", 1, 1, params).ok


def test_exposed_arrays_count_as_written():
    assert sim.launch(COPY, "k", 1, 1, [np.empty(4, np.uint32)]).ok


@pytest.mark.skipif(not shutil.which("nvcc"), reason="nvcc is not on PATH")
def test_a_cuda_program(tmp_path):
    if not TOOL.exists():
        pytest.skip(f"{TOOL} is not built")
    (tmp_path / "p.cu").write_text("""#include <cstdio>
__global__ void k(int *x) { x[1] = x[0]; }
__global__ void big() { extern __shared__ int s[]; s[0] = 1; }
int main() {
  int *x;
  cudaMalloc(&x, 64);
  k<<<1, 1>>>(x);
  printf("%d", int(cudaDeviceSynchronize()));
  k<<<1, dim3(32, 64)>>>(x);
  printf(" %d", int(cudaGetLastError()));
  k<<<dim3(1, 65536), 1>>>(x);
  printf(" %d", int(cudaGetLastError()));
  big<<<1, 1, 64 << 10>>>();
  printf(" %d", int(cudaGetLastError()));
  printf(" %d", int(cudaFuncSetAttribute(big, cudaFuncAttributeMaxDynamicSharedMemorySize, 164 << 10)));
  cudaFuncSetAttribute(big, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10);
  big<<<1, 1, 64 << 10>>>();
  printf(" %d\\n", int(cudaDeviceSynchronize()));
}
""")
    subprocess.run(["nvcc", "-cudart", "shared", "-lineinfo", "-arch=sm_80", "p.cu", "-o", "p"], check=True, cwd=tmp_path)
    done = subprocess.run([TOOL, "exec", "--check", "--arch", "sm_80", tmp_path / "p"], capture_output=True, text=True)
    assert "uninitialised: " in done.stderr and "p.cu:2" in done.stderr and "which nobody has written" in done.stderr, done.stderr
    assert done.stdout == "0 9 9 1 1 0\n", done.stdout + done.stderr
