# Triton kernels of Hopper, Blackwell and RTX 50 with descriptors, checked, with a seed and without.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results against float64. A product's bound is that of its terms: each of K products is cut or rounded to 24 bits of the largest
when it is added (13 bits for eight-bit operands on sm_90), the result is rounded to its type."""

import os

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
triton = pytest.importorskip("triton", reason="triton is not installed")
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
from triton.tools.tensor_descriptor import TensorDescriptor  # noqa: E402

import tessera.sim.triton as sim_triton  # noqa: E402
import triton_tma_kernels as k  # noqa: E402
from test_triton import mx_values  # noqa: E402

F16, BF16, F32, E4M3, E5M2 = torch.float16, torch.bfloat16, torch.float32, torch.float8_e4m3fn, torch.float8_e5m2
HALF = {F32: 2.0**-24, F16: 2.0**-11, BF16: 2.0**-8}
DOT = {"sm_90": "wgmma.mma_async", "sm_100": "tcgen05.mma", "sm_120": "mma.sync"}
TMA = "cp.async.bulk.tensor"


def on(*archs):
    return pytest.mark.parametrize("arch", archs)


ALL = on("sm_90", "sm_100", "sm_120")
# Triton specialises warps for two of them.
ROLES = pytest.mark.parametrize("arch, special", [("sm_90", False), ("sm_90", True), ("sm_100", False), ("sm_100", True),
                                                  ("sm_120", False)])


def drivers(arch, *words, seeds=2):
    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8))
    for seed in range(seeds):
        torch.manual_seed(7)
        driver = sim_triton.activate(arch, check=True, adversarial=seed > 0, seed=seed)
        yield driver
        missing = [word for word in (TMA, *words) if word not in driver.last_report.ptx]
        assert not missing, f"{missing} is not in the kernel"
        assert not [e for e in driver.last_report.errors if e["kind"] != "remark"]


def describe(tensor, *block):
    return TensorDescriptor.from_tensor(tensor, list(block))


def normal(*shape, dtype=F16):
    return torch.randn(*shape).to(dtype)


def within(got, want, bound):
    """`bound` for each element."""
    over = (got.double() - want).abs() - bound
    assert (over <= 0).all(), f"an element is {over.max():.3g} beyond its bound; {int((over > 0).sum())} of {over.numel()} are"


def product(a, b, out=F16, cut=2.0**-24):
    """a b, and how far from it a tensor core's result may be."""
    want = a.double() @ b.double()
    return want, a.shape[-1] * cut * (a.double().abs() @ b.double().abs()) + HALF[out] * want.abs() + 2.0**-25


@ROLES
@pytest.mark.parametrize("halves", [1, 2])
def test_matmul_flat(arch, halves, special):
    """Four tiles for three programs, the last tile of each row outside of the matrix."""
    for _ in drivers(arch, DOT[arch]):
        a, b, c = normal(192, 192), normal(200, 192), torch.zeros(192, 200).half()
        k.matmul_flat[(3,)](a, b, c, 192, 200, 192, BM=128, BN=128, BK=64, P=3, HALVES=halves, SPECIAL=special, num_warps=4,
                            num_stages=2 if arch == "sm_120" else 3)
        within(c, *product(a, b.T))


@ALL
@pytest.mark.parametrize("dtype", [E4M3, E5M2], ids=["e4m3", "e5m2"])
def test_matmul_eight_bits(arch, dtype):
    for _ in drivers(arch, DOT[arch]):
        a, b, c = normal(128, 256, dtype=dtype), normal(128, 256, dtype=dtype), torch.zeros(128, 128)
        k.matmul_flat[(1,)](a, b, c, 128, 128, 256, BM=128, BN=128, BK=128, P=1, HALVES=1, SPECIAL=False, num_warps=8, num_stages=2)
        within(c, *product(a, b.T, F32, 2.0**-13 if arch == "sm_90" else 2.0**-24))


@ALL
def test_gated(arch):
    for _ in drivers(arch, DOT[arch]):
        x, up, gate, y = normal(128, 128), normal(128, 128) / 8, normal(128, 128) / 8, torch.zeros(128, 128).half()
        k.gated[(1, 2)](describe(x, 128, 64), describe(up, 64, 64), describe(gate, 64, 64), describe(y, 128, 64), 128, BM=128,
                        BN=64, BK=64, num_warps=4, num_stages=2)
        (u, eu), (g, eg) = product(x, up, F32), product(x, gate, F32)
        silu = g * torch.sigmoid(g)
        want = u * silu
        # The derivative of silu is at most 1.1; its own error is a few units of f32.
        within(y, want, eu * silu.abs() + 1.1 * eg * u.abs() + (HALF[F16] + 2.0**-20) * want.abs() + 2.0**-25)


@ALL
def test_batched(arch):
    for _ in drivers(arch, DOT[arch]):
        a, b, c = normal(3, 128, 128), normal(3, 128, 64), torch.zeros(3, 128, 64).half()
        k.batched[(1, 1, 3)](describe(a, 1, 128, 64), describe(b, 1, 64, 64), describe(c, 1, 128, 64), 128, BM=128, BN=64, BK=64,
                             num_warps=4, num_stages=2)
        within(c, *product(a, b))


@ALL
def test_grouped(arch):
    """The maps of a product are made while those of the product before may still be in use."""
    sizes = [(128, 64, 128), (64, 192, 64), (256, 64, 64)]
    for _ in drivers(arch, DOT[arch], "tensormap.replace"):
        As, Bs = [normal(m, kk) for m, _, kk in sizes], [normal(n, kk) for _, n, kk in sizes]
        Cs = [torch.zeros(m, n).half() for m, n, _ in sizes]
        table = lambda ts: torch.tensor([t.data_ptr() for t in ts])  # noqa: E731
        k.grouped[(2,)](table(As), table(Bs), table(Cs), torch.tensor(sizes, dtype=torch.int32), 3, P=2, BM=64, BN=64, BK=64,
                        num_warps=4, num_stages=2)
        for a, b, c in zip(As, Bs, Cs):
            within(c, *product(a, b.T))


def softmax_bound(p, v, cut, weights):
    """Of p v: weights rounded to the type of `weights`, products cut, exponentials and their sum in f32."""
    return (weights + p.shape[-1] * cut + 2.0**-16) * 2 * (p @ v.double().abs()) + HALF[F16] * (p @ v.double()).abs() + 2.0**-24


# Two specialised loops in one kernel: Triton's compiler gives up on sm_90.
@pytest.mark.parametrize("arch, special, causal", [
    ("sm_90", False, False), ("sm_90", True, False), ("sm_90", False, True), ("sm_100", False, False), ("sm_100", True, False),
    ("sm_100", False, True), ("sm_100", True, True), ("sm_120", False, False), ("sm_120", False, True)])
@pytest.mark.parametrize("D, dtype", [(64, F16), (128, BF16)], ids=["f16", "bf16"])
def test_attention(arch, special, causal, D, dtype):
    S, scale = 256, D**-.5
    for _ in drivers(arch, DOT[arch]):
        q, key, v = (normal(S, D, dtype=dtype) for _ in range(3))
        o, lse = torch.zeros(S, D, dtype=dtype), torch.zeros(S)
        k.attention[(S // 128, 1)](q, key, v, o, lse, 1, S, scale, BM=128, BN=64, D=D, CAUSAL=causal, SPECIAL=special,
                                   num_warps=8 if D == 128 else 4, num_stages=2)
        s = q.double() @ key.double().T * scale
        if causal:
            s = s.masked_fill(~torch.ones(S, S, dtype=torch.bool).tril(), -float("inf"))
        p = torch.softmax(s, 1)
        bound = softmax_bound(p, v, 2.0**-24, HALF[dtype]) + HALF[dtype] * (p @ v.double()).abs()
        within(o, p @ v.double(), bound)
        within(lse, torch.logsumexp(s, 1) * 1.4426950408889634, 2.0**-16 * (1 + s.nan_to_num(0, 0, 0).abs().max()))


@ALL
def test_attention_eight_bits(arch):
    S, D = 256, 64
    for _ in drivers(arch, DOT[arch]):
        q, key, v = (normal(S, D, dtype=E4M3) for _ in range(3))
        o = torch.zeros(S, D).half()
        vt = v.view(torch.uint8).T.contiguous().view(E4M3)
        k.attention_eight_bits[(2,)](describe(q, 128, D), describe(key, 64, D), describe(vt, D, 64), describe(o, 128, D), S, .125,
                                     BM=128, BN=64, D=D, num_warps=4, num_stages=2)
        p = torch.softmax(q.double() @ key.double().T * .125, 1)
        cut = 2.0**-13 if arch == "sm_90" else 2.0**-24
        # Scores of eight bits: their error moves a weight by a factor of exp(error); small weights lose their last bits.
        score = D * cut * (q.double().abs() @ key.double().abs().T).max() * .125
        within(o, p @ v.double(), softmax_bound(p, v, cut, 2.0**-4 + 2 * score) + 2.0**-9 * v.double().abs().max())


@ALL
def test_attention_backward(arch):
    S, D, scale = 128, 64, .125
    for _ in drivers(arch, DOT[arch], "cp.reduce.async.bulk.tensor"):
        q, key, v, do = (normal(S, D) for _ in range(4))
        s = q.double() @ key.double().T * scale
        p = torch.softmax(s, 1)
        dp = do.double() @ v.double().T
        delta = (p * dp).sum(1)
        dq, dk, dv = torch.zeros(S, D), torch.zeros(S, D).half(), torch.zeros(S, D).half()
        k.attention_backward[(S // 64,)](*(describe(t, 64, D) for t in (q, key, v, do, dq, dk, dv)),
                                         (torch.logsumexp(s, 1) * 1.4426950408889634).float(), delta.float(), S, scale, BM=64,
                                         BN=64, D=D, num_warps=4, num_stages=2)
        ds = p * (dp - delta[:, None]) * scale
        size = p * (dp.abs() + delta.abs()[:, None]) * scale
        unit = 2 * HALF[F16]  # p and ds rounded to f16; f32 before
        within(dv, p.T @ do.double(), unit * (p.T @ do.double().abs() + (p.T @ do.double()).abs()) + 2.0**-20)
        within(dk, ds.T @ q.double(), unit * (size.T @ q.double().abs() + (ds.T @ q.double()).abs()) + 2.0**-20)
        within(dq, ds @ key.double(), unit * (size @ key.double().abs()) + 2.0**-20)


@ALL
def test_split_k(arch):
    for _ in drivers(arch, DOT[arch], "cp.reduce.async.bulk.tensor"):
        a, b, c = normal(128, 256), normal(256, 64), torch.zeros(128, 64)
        k.split_k[(1, 1, 2)](describe(a, 128, 64), describe(b, 64, 64), describe(c, 128, 64), 256, BM=128, BN=64, BK=64, SPLITS=2,
                             num_warps=4, num_stages=2)
        within(c, *product(a, b, F32))


@on("sm_100")
def test_experts(arch):
    for _ in drivers(arch, DOT[arch], "tile::gather4", "tile::scatter4"):
        x, w, y = normal(256, 128), normal(2, 128, 64), torch.zeros(256, 64).half()
        rows = torch.randperm(256, dtype=torch.int32)
        expert = torch.tensor([1, 0], dtype=torch.int32)
        k.experts[(2, 1)](describe(x, 1, 64), w, describe(y, 1, 64), rows, expert, 128, 64, BM=128, BN=64, BK=64, num_warps=4,
                          num_stages=2)
        for program in range(2):
            mine = rows[128 * program:128 * program + 128].long()
            within(y[mine], *product(x[mine], w[expert[program]]))


@on("sm_100", "sm_120")
@pytest.mark.parametrize("kind", ["mxfp8", "mxfp4", "nvfp4", "fp8_fp4"])
def test_scaled(arch, kind):
    """Scale factors as cuBLAS lays them out, through a map of five dimensions."""
    M = N = 128
    K, V = 512, 16 if kind == "nvfp4" else 32

    def matrix(rows, four):
        if four:
            raw = torch.randint(0, 256, (rows, K // 2), dtype=torch.uint8)
            return raw, torch.stack([mx_values(raw & 15, "e2m1"), mx_values(raw >> 4, "e2m1")], 2).reshape(rows, K)
        x = normal(rows, K, dtype=E4M3)
        return x, x.double()

    def scales(rows):
        raw = torch.randint(0x30, 0x40, (rows, K // V), dtype=torch.uint8) if kind == "nvfp4" else \
            torch.randint(124, 131, (rows, K // V), dtype=torch.uint8)
        value = raw.view(E4M3).double() if kind == "nvfp4" else torch.exp2(raw.double() - 127)
        # Row r of 128, factor c of 4: r % 32, then r // 32, then c.
        order = raw.reshape(rows // 128, 4, 32, K // V // 4, 4).permute(0, 3, 2, 1, 4).contiguous()
        order = order.reshape(1, rows // 128, K // V // 4, 2, 256)
        return order.view(E4M3) if kind == "nvfp4" else order, value.repeat_interleave(V, 1)

    four = {"mxfp8": (False, False), "fp8_fp4": (False, True)}.get(kind, (True, True))
    for _ in drivers(arch, *(["tcgen05.cp", "block_scale"] if arch == "sm_100" else ["mma.sync"])):
        (a, av), (b, bv) = matrix(M, four[0]), matrix(N, four[1])
        (sa, sav), (sb, sbv) = scales(M), scales(N)
        c = torch.zeros(M, N).half()
        BK = 128 if four[0] != four[1] else 256
        k.scaled[(1, 1)](describe(a, 128, BK >> four[0]), describe(sa, 1, 1, BK // V // 4, 2, 256), describe(b, 128, BK >> four[1]),
                         describe(sb, 1, 1, BK // V // 4, 2, 256), describe(c, 128, 128), K, BM=128, BN=128, BK=BK, V=V,
                         FA="e2m1" if four[0] else "e4m3", FB="e2m1" if four[1] else "e4m3", PA=1 + four[0], PB=1 + four[1],
                         num_warps=4, num_stages=2)
        within(c, *product(av * sav, (bv * sbv).T))


@ALL
def test_softmax(arch):
    for _ in drivers(arch):
        x, y = normal(70, 256, dtype=BF16) * 3, torch.zeros(70, 256, dtype=BF16)
        k.softmax[(2,)](describe(x, 8, 256), describe(y, 8, 256), 70, BM=8, BN=256, P=2)
        want = torch.softmax(x.double(), 1)
        within(y, want, (HALF[BF16] + 2.0**-18) * want + 2.0**-133)


@ALL
def test_layer_norm(arch):
    for _ in drivers(arch):
        x, w, b, y = normal(20, 384) + 1, torch.rand(384), torch.rand(384), torch.zeros(20, 384).half()
        k.layer_norm[(3,)](describe(x, 8, 128), w, b, describe(y, 8, 128), 384, 1e-5, BM=8, BN=128)
        xd = x.double()
        n = (xd - xd.mean(1, keepdim=True)) / torch.sqrt(xd.var(1, unbiased=False, keepdim=True) + 1e-5)
        want = n * w.double() + b.double()
        within(y, want, HALF[F16] * want.abs() + 2.0**-18 * (1 + n.abs()))


@ALL
def test_dequantised(arch):
    for _ in drivers(arch, DOT[arch]):
        a, b, s = normal(128, 128), torch.randint(-128, 128, (128, 64), dtype=torch.int8), torch.rand(64) / 64
        c = torch.zeros(128, 64).half()
        k.dequantised[(1, 1)](describe(a, 128, 64), describe(b, 64, 64), s, describe(c, 128, 64), 128, BM=128, BN=64, BK=64,
                              num_warps=4, num_stages=2)
        within(c, *product(a, b.double() * s.double()))


@ALL
def test_two_layers(arch):
    for _ in drivers(arch, DOT[arch]):
        x, w, u, y = normal(128, 64), normal(64, 256) / 8, normal(256, 64), torch.zeros(128, 64).half()
        k.two_layers[(1,)](describe(x, 128, 64), describe(w, 64, 64), describe(u, 64, 64), describe(y, 128, 64), 256, BM=128, BH=64,
                           BN=64, num_warps=4, num_stages=2)
        t, et = product(x, w, F32)
        h = t * torch.sigmoid(1.702 * t)
        want = h @ u.double()
        each = 1.2 * et + (HALF[F16] + 2.0**-20) * h.abs()
        within(y, want, (each + 256 * 2.0**-24 * h.abs()) @ u.double().abs() + HALF[F16] * want.abs() + 2.0**-24)


@ALL
def test_linear_attention(arch):
    S, D = 192, 64
    for _ in drivers(arch, DOT[arch]):
        q, key, v = (normal(S, D) / 4 for _ in range(3))
        o = torch.zeros(S, D)
        k.linear_attention[(1,)](describe(q, 64, D), describe(key, 64, D), describe(v, 64, D), describe(o, 64, D), S, BM=64, D=D,
                                 num_warps=4, num_stages=2)
        mask = torch.ones(S, S, dtype=torch.float64).tril()
        want = (q.double() @ key.double().T * mask) @ v.double()
        size = (q.double().abs() @ key.double().abs().T * mask) @ v.double().abs()
        within(o, want, (HALF[F16] + S * 2.0**-23) * size + 2.0**-20)


@ALL
def test_convolution(arch):
    for _ in drivers(arch, DOT[arch]):
        x, w, y = normal(2, 10, 12, 64), normal(9, 64, 64), torch.zeros(2, 10, 12, 64).half()
        k.convolution[(1, 2, 2)](describe(x, 1, 16, 8, 64), describe(w, 1, 64, 64), describe(y, 1, 16, 8, 64), BP=16, BQ=8, C=64,
                                 CO=64, num_warps=4, num_stages=2)
        weights = w.double().reshape(3, 3, 64, 64).permute(3, 2, 0, 1)
        picture = x.double().permute(0, 3, 1, 2)
        want = torch.nn.functional.conv2d(picture, weights, padding=1).permute(0, 2, 3, 1)
        size = torch.nn.functional.conv2d(picture.abs(), weights.abs(), padding=1).permute(0, 2, 3, 1)
        within(y, want, 576 * 2.0**-24 * size + HALF[F16] * want.abs())
