# Triton kernels whose dots are wgmma (sm_90), checked, under several seeds.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tiles and warps of real gemms, so that products overlap with copies; small ones are in test_triton.py and
test_triton_tma.py."""

import os

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
triton = pytest.importorskip("triton", reason="triton is not installed")
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
import triton.language as tl  # noqa: E402

import tessera.sim.triton as sim_triton  # noqa: E402
import triton_kernels as k  # noqa: E402
from test_triton_tma import attention, describe, matmul, matmul_persistent  # noqa: E402


def drivers(seeds=2):
    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8))
    for seed in range(seeds):
        torch.manual_seed(5)
        driver = sim_triton.activate("sm_90", check=True, adversarial=seed > 0, seed=seed)
        yield driver
        assert "wgmma.mma_async" in driver.last_report.ptx
        assert not [e for e in driver.last_report.errors if e["kind"] != "remark"]


def close(got, want, bound):
    worst = (got.double() - want).abs().max()
    assert worst <= bound, f"error {worst:.3g} exceeds {bound:.3g}"


def magnitude(a, b):
    return (a.double().abs() @ b.double().abs()).max()


@pytest.mark.parametrize("dtype, acc, unit", [
    (torch.float16, tl.float32, 2**-19), (torch.float16, tl.float16, 2**-10), (torch.bfloat16, tl.float32, 2**-19),
    (torch.float32, tl.float32, 2**-10), (torch.float8_e4m3fn, tl.float32, 2**-12),
    (torch.float8_e5m2, tl.float32, 2**-12), (torch.int8, tl.int32, 0)], ids=lambda x: str(x).split(".")[-1])
def test_matmul_with_pointers(dtype, acc, unit):
    M, N, K = 128, 128, 256
    for _ in drivers():
        if dtype == torch.int8:
            a, b = (torch.randint(-20, 20, s, dtype=dtype) for s in ((M, K), (K, N)))
        else:
            a, b = torch.randn(M, K).to(dtype), torch.randn(K, N).to(dtype)
        c = torch.zeros(M, N, dtype=torch.int32 if dtype == torch.int8 else torch.float32)
        k.matmul[(1,)](a, b, c, M, N, K, K, 1, N, 1, N, 1, BM=128, BN=128, BK=64, GM=8, ACC=acc, PREC="tf32",
                       num_warps=4, num_stages=3)
        close(c, a.double() @ b.double(), unit * magnitude(a, b))


def test_two_warp_groups():
    for _ in drivers():
        a, b, c = torch.randn(128, 192).half(), torch.randn(192, 256).half(), torch.zeros(128, 256)
        k.matmul[(1,)](a, b, c, 128, 256, 192, 192, 1, 256, 1, 256, 1, BM=128, BN=256, BK=64, GM=8, ACC=tl.float32,
                       PREC="tf32", num_warps=8, num_stages=3)
        close(c, a.double() @ b.double(), 2.0**-19 * magnitude(a, b))


def test_matmul_with_descriptors():
    for _ in drivers(4):
        a, b, c = torch.randn(128, 256).half(), torch.randn(256, 128).half(), torch.zeros(128, 128).half()
        matmul[(1, 1)](describe(a, 128, 64), describe(b, 64, 128), describe(c, 128, 128), 256, BM=128, BN=128, BK=64,
                       num_warps=4, num_stages=3)
        close(c, a.double() @ b.double(), 2.0**-10 * magnitude(a, b))


def test_matmul_persistent():
    for _ in drivers():
        a, b, c = torch.randn(256, 128).half(), torch.randn(256, 128).half(), torch.zeros(256, 256).half()
        matmul_persistent[(2,)](a, b, c, 256, 256, 128, BM=128, BN=128, BK=64, P=2, num_warps=8, num_stages=3)
        close(c, a.double() @ b.double().T, 2.0**-10 * magnitude(a, b.T))


@pytest.mark.parametrize("warps, rows", [(4, 64), (8, 128)])
def test_attention(warps, rows):
    """A of the second product comes from registers."""
    for driver in drivers():
        q, key, v = (torch.randn(128, 64).half() for _ in range(3))
        o = torch.zeros(128, 64).half()
        attention[(128 // rows,)](describe(q, rows, 64), describe(key, 64, 64), describe(v, 64, 64),
                                  describe(o, rows, 64), 128, .125, BM=rows, BN=64, D=64, num_warps=warps)
        want = torch.softmax(q.double() @ key.double().T * .125, 1) @ v.double()
        # weights rounded to f16, and the result
        close(o, want, 2.0**-9 * v.double().abs().max())
        assert "}, {%r" in driver.last_report.ptx or "},{%r" in driver.last_report.ptx.replace(" ", "")


# Triton 3.9 splits the rows of a specialised loop over two warp groups. It cannot do so to descriptors that the
# host made, and gets pointers of the result wrong (docs/simulator.md, "Real defects").
@triton.jit
def matmul_specialised(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    a = tl.make_tensor_descriptor(A, [M, K], [K, 1], [BM, BK])
    b = tl.make_tensor_descriptor(B, [N, K], [K, 1], [BN, BK])
    c = tl.make_tensor_descriptor(C, [M, N], [N, 1], [BM, BN])
    i, j = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for x in tl.range(0, K, BK, warp_specialize=True):
        total = tl.dot(a.load([i, x]), b.load([j, x]).T, total)
    c.store([i, j], total)


def test_matmul_warp_specialised():
    """A warp that copies, two warp groups that multiply, setmaxnreg."""
    for driver in drivers(3):
        a, b, c = torch.randn(128, 320).half(), torch.randn(128, 320).half(), torch.zeros(128, 128)
        matmul_specialised[(1, 1)](a, b, c, 128, 128, 320, BM=128, BN=128, BK=64, num_warps=4, num_stages=3)
        close(c, a.double() @ b.double().T, 2.0**-19 * magnitude(a, b.T))
        assert "setmaxnreg" in driver.last_report.ptx


@triton.jit
def attention_specialised(Q, K, V, O, S, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    q = tl.make_tensor_descriptor(Q, [S, D], [D, 1], [BM, D])
    k = tl.make_tensor_descriptor(K, [S, D], [D, 1], [BN, D])
    v = tl.make_tensor_descriptor(V, [S, D], [D, 1], [BN, D])
    o = tl.make_tensor_descriptor(O, [S, D], [D, 1], [BM, D])
    i = tl.program_id(0) * BM
    qs = q.load([i, 0])
    largest = tl.full((BM,), -float("inf"), tl.float32)
    total, out = tl.zeros((BM,), tl.float32), tl.zeros((BM, D), tl.float32)
    for j in tl.range(0, S, BN, warp_specialize=True):
        s = tl.dot(qs, k.load([j, 0]).T) * scale
        new = tl.maximum(largest, tl.max(s, 1))
        p = tl.exp(s - new[:, None])
        factor = tl.exp(largest - new)
        total = total * factor + tl.sum(p, 1)
        out = tl.dot(p.to(tl.float16), v.load([j, 0]), out * factor[:, None])
        largest = new
    o.store([i, 0], (out / total[:, None]).to(tl.float16))


def test_attention_warp_specialised():
    for driver in drivers(3):
        q, key, v = (torch.randn(256, 64).half() for _ in range(3))
        o = torch.zeros(256, 64).half()
        attention_specialised[(2,)](q, key, v, o, 256, .125, BM=128, BN=64, D=64, num_warps=4, num_stages=2)
        want = torch.softmax(q.double() @ key.double().T * .125, 1) @ v.double()
        close(o, want, 2.0**-9 * v.double().abs().max())
        assert "setmaxnreg" in driver.last_report.ptx
