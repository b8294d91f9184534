# Triton kernels with num_ctas > 1 (sm_90): clusters, checked, under seeds.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton spreads a tensor over the blocks of a cluster and moves values between them through distributed shared memory."""

import os
import re

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
triton = pytest.importorskip("triton", reason="triton is not installed")
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
import triton.language as tl  # noqa: E402

import tessera.sim as sim  # noqa: E402
import tessera.sim.triton as sim_triton  # noqa: E402
import triton_kernels as k  # noqa: E402
from test_triton_tma import describe, matmul  # noqa: E402


def drivers(words, seeds=3):
    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8))
    for seed in range(seeds):
        torch.manual_seed(5)
        driver = sim_triton.activate("sm_90", check=True, adversarial=seed > 0, seed=seed)
        yield driver
        assert all(word in driver.last_report.ptx for word in words)
        assert not [e for e in driver.last_report.errors if e["kind"] != "remark"]


def close(got, want, bound):
    worst = (got.double() - want).abs().max()
    assert worst <= bound, f"error {worst:.3g} exceeds {bound:.3g}"


@triton.jit
def softmax(X, Y, n, B: tl.constexpr):
    i = tl.program_id(0) * n + tl.arange(0, B)
    inside = tl.arange(0, B) < n
    x = tl.load(X + i, inside, float("-inf"))
    e = tl.exp(x - tl.max(x, 0))
    tl.store(Y + i, e / tl.sum(e, 0), inside)


@triton.jit
def two_products(X, Y, Z, O, B: tl.constexpr):
    i = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    xy = tl.dot(tl.load(X + i), tl.load(Y + i)).to(tl.float16)
    tl.store(O + i, tl.dot(xy, tl.load(Z + i)))


REMOTE = ("mapa.shared::cluster", "ld.shared::cluster", "barrier.cluster.arrive", "barrier.cluster.wait")


@pytest.mark.parametrize("ctas", [2, 4, 8])
def test_softmax(ctas):
    for _ in drivers(REMOTE):
        x, y = torch.randn(3, 3000), torch.zeros(3, 3000)
        softmax[(3,)](x, y, 3000, B=4096, num_ctas=ctas)
        close(y, torch.softmax(x.double(), 1), 2.0**-24)


@pytest.mark.parametrize("ctas", [2, 4])
def test_two_products(ctas):
    """The first product's rows and columns are in several blocks."""
    for _ in drivers((*REMOTE, "wgmma.mma_async")):
        x, y, z = (torch.randn(128, 128).half() for _ in range(3))
        o = torch.zeros(128, 128)
        two_products[(1,)](x, y, z, o, B=128, num_ctas=ctas)
        xy = (x.double() @ y.double())
        close(o, xy.half().double() @ z.double(), 2.0**-10 * (xy.abs() @ z.double().abs()).max())


@pytest.mark.parametrize("ctas", [2, 4])
@pytest.mark.parametrize("descriptors", [False, True])
def test_matmul(ctas, descriptors):
    for _ in drivers(("wgmma.mma_async", "barrier.cluster")):
        a, b, c = torch.randn(256, 192).half(), torch.randn(192, 256).half(), torch.zeros(256, 256).half()
        if descriptors:
            matmul[(2, 2)](describe(a, 128, 64), describe(b, 64, 128), describe(c, 128, 128), 192, BM=128, BN=128, BK=64,
                           num_warps=4, num_stages=3, num_ctas=ctas)
        else:
            k.matmul[(4,)](a, b, c, 256, 256, 192, 192, 1, 256, 1, 256, 1, BM=128, BN=128, BK=64, GM=8, ACC=tl.float32,
                           PREC="tf32", num_warps=4, num_stages=3, num_ctas=ctas)
        close(c, a.double() @ b.double(), 2.0**-10 * (a.double().abs() @ b.double().abs()).max())


def test_missing_barriers_are_found():
    """Triton's softmax without any one of its cluster barriers is reported, whatever the schedule."""
    for driver in drivers(REMOTE, 1):
        x, y = torch.randn(2, 1000), torch.zeros(2, 1000)
        compiled = softmax[(2,)](x, y, 1000, B=1024, num_ctas=2)
    ptx = driver.last_report.ptx
    arrivals = [m.span() for m in re.finditer(r"barrier\.cluster\.arrive\S*;", ptx)]
    waits = [m.span() for m in re.finditer(r"barrier\.cluster\.wait\S*;", ptx)]
    assert len(arrivals) == len(waits) > 2
    found = []
    for arrive, wait in zip(arrivals, waits):
        text = ptx[:arrive[0]] + ptx[arrive[1]:wait[0]] + ptx[wait[1]:]
        kinds = set()
        for seed in range(4):
            device = sim.Device()
            for tensor in (x, y):
                device.expose(tensor.data_ptr(), tensor.nbytes, "tensor")
            module = device.load(text)
            report = module.launch("softmax", 4, 32 * compiled.metadata.num_warps, sim.device.pack(module, "softmax", [x, y, 1000, None, None]),
                                   arch="sm_90a", cluster=2, shared=compiled.metadata.shared, seed=seed, adversarial=seed > 0)
            kinds |= {e["kind"] for e in report.errors}
            assert kinds, f"without the barrier at {text[:arrive[0]].count(chr(10)) + 1}, seed {seed}"
        found.append(kinds)
    assert "exited-block" in found[-1], found
