# Triton kernels with tensor descriptors: TMA, checked, under several seeds.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""On sm_100 a dot is tcgen05, so it runs what has none; on sm_90 it is wgmma."""

import os

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
triton = pytest.importorskip("triton", reason="triton is not installed")
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
import triton.language as tl  # noqa: E402
from triton.tools.tensor_descriptor import TensorDescriptor  # noqa: E402

import tessera.sim.triton as sim_triton  # noqa: E402

SEEDS = range(4)
ALL = ["sm_90", "sm_100", "sm_120"]
DOT = ["sm_90", "sm_120"]


def on(*archs):
    return pytest.mark.parametrize("arch", archs)


def drivers(arch):
    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8))
    torch.manual_seed(3)
    for seed in SEEDS:
        driver = sim_triton.activate(arch, check=True, adversarial=seed > 0, seed=seed)
        yield driver
        spellings = driver.last_report.ptx
        assert "cp.async.bulk.tensor" in spellings or "cp.reduce.async.bulk.tensor" in spellings


@triton.jit
def scale(x, y, BM: tl.constexpr, BN: tl.constexpr):
    i, j = tl.program_id(0) * BM, tl.program_id(1) * BN
    y.store([i, j], x.load([i, j]) * 2)


@triton.jit
def scale_device(X, Y, M, N, BM: tl.constexpr, BN: tl.constexpr):
    x = tl.make_tensor_descriptor(X, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    y = tl.make_tensor_descriptor(Y, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    i, j = tl.program_id(0) * BM, tl.program_id(1) * BN
    y.store([i, j], x.load([i, j]) * 2)


@triton.jit
def planes(x, y, B0: tl.constexpr, B1: tl.constexpr, B2: tl.constexpr):
    i, j, k = tl.program_id(0) * B0, tl.program_id(1) * B1, tl.program_id(2) * B2
    y.store([i, j, k], x.load([i, j, k]) + 1)


@triton.jit
def row_sums(x, Y, M, N, BM: tl.constexpr, BN: tl.constexpr):
    i = tl.program_id(0) * BM
    total = tl.zeros((BM,), tl.float32)
    for j in range(0, N, BN):
        total += tl.sum(x.load([i, j]).to(tl.float32), 1)
    rows = i + tl.arange(0, BM)
    tl.store(Y + rows, total, rows < M)


@triton.jit
def accumulate(x, y, BM: tl.constexpr, BN: tl.constexpr):
    i = tl.program_id(0) * BM
    y.atomic_add([0, 0], x.load([i, 0]))


@triton.jit
def matmul(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i, j = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        total = tl.dot(a.load([i, k]), b.load([k, j]), total)
    c.store([i, j], total.to(tl.float16))


@triton.jit
def matmul_persistent(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, P: tl.constexpr):
    a = tl.make_tensor_descriptor(A, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b = tl.make_tensor_descriptor(B, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    c = tl.make_tensor_descriptor(C, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    across = tl.cdiv(N, BN)
    for tile in range(tl.program_id(0), tl.cdiv(M, BM) * across, P):
        i, j = tile // across * BM, tile % across * BN
        total = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            total = tl.dot(a.load([i, k]), b.load([j, k]).T, total)
        c.store([i, j], total.to(tl.float16))


@triton.jit
def attention(q, k, v, o, S, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    i = tl.program_id(0) * BM
    qs = q.load([i, 0])
    largest = tl.full((BM,), -float("inf"), tl.float32)
    total, out = tl.zeros((BM,), tl.float32), tl.zeros((BM, D), tl.float32)
    for j in range(0, S, BN):
        s = tl.dot(qs, k.load([j, 0]).T) * scale
        new = tl.maximum(largest, tl.max(s, 1))
        p = tl.exp(s - new[:, None])
        factor = tl.exp(largest - new)
        total = total * factor + tl.sum(p, 1)
        out = tl.dot(p.to(tl.float16), v.load([j, 0]), out * factor[:, None])
        largest = new
    o.store([i, 0], (out / total[:, None]).to(tl.float16))


def describe(tensor, *block):
    return TensorDescriptor.from_tensor(tensor, list(block))


@on(*ALL)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int8])
def test_scale(arch, dtype):
    for _ in drivers(arch):
        x = (torch.rand(100, 96) * 50).to(dtype)
        y = torch.zeros_like(x)
        scale[(4, 3)](describe(x, 32, 32), describe(y, 32, 32), BM=32, BN=32)
        assert torch.equal(y, 2 * x)


@on(*ALL)
def test_descriptors_made_by_the_kernel(arch):
    for _ in drivers(arch):
        x, y = torch.rand(70, 64), torch.zeros(70, 64)
        scale_device[(3, 2)](x, y, 70, 64, BM=32, BN=32)
        assert torch.equal(y, 2 * x)


@on(*ALL)
def test_three_dimensions(arch):
    for _ in drivers(arch):
        x, y = torch.rand(5, 20, 32), torch.zeros(5, 20, 32)
        planes[(3, 3, 1)](describe(x, 2, 8, 32), describe(y, 2, 8, 32), B0=2, B1=8, B2=32)
        assert torch.equal(y, x + 1)


@on(*ALL)
def test_loop_of_loads(arch):
    for _ in drivers(arch):
        x, y = torch.randn(50, 320).bfloat16(), torch.zeros(50)
        row_sums[(2,)](describe(x, 32, 64), y, 50, 320, BM=32, BN=64)
        assert (y.double() - x.double().sum(1)).abs().max() <= 320 * 2.0**-24 * x.double().abs().sum(1).max()


@on(*ALL)
def test_reduction_on_the_way_out(arch):
    for _ in drivers(arch):
        x, y = torch.randint(0, 9, (64, 32)).float(), torch.ones(16, 32)
        accumulate[(4,)](describe(x, 16, 32), describe(y, 16, 32), BM=16, BN=32)
        assert torch.equal(y, 1 + x.reshape(4, 16, 32).sum(0))


@on(*DOT)
def test_matmul(arch):
    for _ in drivers(arch):
        a, b, c = torch.randn(100, 96).half(), torch.randn(96, 72).half(), torch.zeros(100, 72).half()
        matmul[(2, 2)](describe(a, 64, 32), describe(b, 32, 64), describe(c, 64, 64), 96, BM=64, BN=64, BK=32)
        want = a.double() @ b.double()
        assert (c.double() - want).abs().max() <= 2.0**-10 * want.abs().max()


@on(*DOT)
def test_matmul_persistent(arch):
    for _ in drivers(arch):
        a, b, c = torch.randn(128, 64).half(), torch.randn(128, 64).half(), torch.zeros(128, 128).half()
        matmul_persistent[(3,)](a, b, c, 128, 128, 64, BM=64, BN=64, BK=32, P=3)
        want = a.double() @ b.double().T
        assert (c.double() - want).abs().max() <= 2.0**-10 * want.abs().max()


@on(*DOT)
def test_attention(arch):
    for _ in drivers(arch):
        q, k, v = (torch.randn(128, 64).half() for _ in range(3))
        o = torch.zeros(128, 64).half()
        attention[(2,)](describe(q, 64, 64), describe(k, 64, 64), describe(v, 64, 64), describe(o, 64, 64), 128, .125,
                        BM=64, BN=64, D=64)
        want = torch.softmax(q.double() @ k.double().T * .125, 1) @ v.double()
        # weights rounded to f16, and the result
        assert (o.double() - want).abs().max() <= 2.0**-9 * v.double().abs().max()


def test_a_map_beyond_its_tensor():
    """The bytes a map may reach are those of the tensor."""
    sim_triton.activate("sm_90", check=True)
    x, y = torch.zeros(64, 32), torch.zeros(64, 32)
    wrong = TensorDescriptor(x, [80, 32], [32, 1], [32, 32])
    with pytest.raises(sim_triton.SimulationError, match="past the end"):
        scale[(3, 1)](wrong, describe(y, 32, 32), BM=32, BN=32)
