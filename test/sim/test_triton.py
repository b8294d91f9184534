# Unmodified Triton kernels on the simulator against float64 references.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""On sm_90 dots are wgmma; test_triton_tma.py has tensor descriptors. Options: TESSERA_SIM_CHECK=1 turns the
checker on, TESSERA_SIM_SEED=n makes the schedules adversarial."""

import os

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
triton = pytest.importorskip("triton", reason="triton is not installed")
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
import triton.language as tl  # noqa: E402

import tessera.sim.triton as sim_triton  # noqa: E402
import triton_kernels as k  # noqa: E402

ALL = ["sm_80", "sm_90", "sm_120"]
MMA = ["sm_80", "sm_90", "sm_120"]


def on(*archs):
    return pytest.mark.parametrize("sim", archs, indirect=True)


@pytest.fixture
def sim(request):
    seed = os.environ.get("TESSERA_SIM_SEED")
    torch.manual_seed(7)
    return sim_triton.activate(
        request.param, check=os.environ.get("TESSERA_SIM_CHECK") == "1",
        adversarial=seed is not None, seed=int(seed or 0))


def close(got, want, relative, absolute=0.0):
    """|got - want| <= absolute + relative * max|want|, elementwise in f64."""
    got, want = got.double(), want.double()
    assert got.shape == want.shape
    bound = absolute + relative * want.abs().max()
    worst = (got - want).abs().max()
    assert worst <= bound, f"error {worst:.3g} exceeds {bound:.3g}"


@on(*ALL)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_vec_add(sim, dtype):
    n = 3000
    x, y, z = torch.randn(n).to(dtype), torch.randn(n).to(dtype), torch.zeros(n, dtype=dtype)
    k.vec_add[(triton.cdiv(n, 1024),)](x, y, z, n, B=1024)
    assert torch.equal(z, x + y)


@on(*ALL)
def test_softmax(sim):
    x = torch.randn(7, 1000).half()
    y = torch.zeros_like(x)
    k.softmax_row[(7,)](x, y, 1000, 1000, B=1024, num_warps=8)
    close(y, torch.softmax(x.double(), 1), 2**-10)


# unit roundoff of the product's inputs, times sqrt-free bound K * u per sum
def run_matmul(dtype, out, acc, precision, size=(128, 128, 128), block=(64, 64, 32), warps=4):
    M, N, K = size
    if dtype == torch.int8:
        a = torch.randint(-20, 20, (M, K), dtype=dtype)
        b = torch.randint(-20, 20, (K, N), dtype=dtype)
    else:
        a, b = torch.randn(M, K).to(dtype), torch.randn(K, N).to(dtype)
    c = torch.zeros(M, N, dtype=out)
    BM, BN, BK = block
    grid = (triton.cdiv(M, BM) * triton.cdiv(N, BN),)
    k.matmul[grid](a, b, c, M, N, K, K, 1, N, 1, N, 1, BM=BM, BN=BN, BK=BK, GM=8,
                   ACC=acc, PREC=precision, num_warps=warps, num_stages=3)
    return c, a.double() @ b.double(), (a.double().abs() @ b.double().abs()).max()


@on(*ALL)
@pytest.mark.parametrize("dtype,out,acc,precision,unit", [
    (torch.float16, torch.float16, tl.float32, "tf32", 2**-11),
    (torch.float16, torch.float16, tl.float16, "tf32", 2**-10),
    (torch.bfloat16, torch.bfloat16, tl.float32, "tf32", 2**-8),
    (torch.float32, torch.float32, tl.float32, "tf32", 2**-10),
    (torch.float32, torch.float32, tl.float32, "tf32x3", 2**-20),
    (torch.float32, torch.float32, tl.float32, "ieee", 2**-22),
    (torch.float64, torch.float64, tl.float64, "ieee", 2**-50),
], ids=["f16", "f16acc", "bf16", "tf32", "tf32x3", "ieee", "f64"])
def test_matmul(sim, dtype, out, acc, precision, unit):
    block = (32, 32, 16) if dtype == torch.float64 else (64, 64, 32)
    c, want, magnitude = run_matmul(dtype, out, acc, precision, block=block)
    close(c, want, 0, 2 * unit * magnitude)


@on(*ALL)
def test_matmul_s8(sim):
    c, want, _ = run_matmul(torch.int8, torch.int32, tl.int32, "tf32", block=(64, 64, 64))
    assert torch.equal(c.double(), want)


@on(*ALL)
def test_matmul_fp8e5(sim):
    c, want, magnitude = run_matmul(torch.float8_e5m2, torch.float16, tl.float32, "tf32",
                                    block=(64, 64, 64))
    close(c, want, 2**-10, 2**-12 * magnitude)


@on("sm_90", "sm_120")
def test_matmul_fp8e4(sim):
    c, want, magnitude = run_matmul(torch.float8_e4m3fn, torch.float16, tl.float32, "tf32",
                                    block=(64, 64, 64))
    close(c, want, 2**-10, 2**-12 * magnitude)


@on(*ALL)
def test_matmul_splitk(sim):
    M = N = K = 128
    a, b = torch.randn(M, K).half(), torch.randn(K, N).half()
    c = torch.zeros(M, N)
    k.matmul_splitk[(2, 2, 1)](a, b, c, M, N, K, BM=64, BN=64, BK=32, SK=1)
    want = a.double() @ b.double()
    close(c, torch.where(want >= 0, want, 0.01 * want), 2**-12)


def mx_values(bits, formats):
    table = {"e2m1": [0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6]}[formats]
    return torch.tensor(table, dtype=torch.float64)[bits.long()]


@on("sm_120")
@pytest.mark.parametrize("kind", ["mxfp8", "mxfp4", "nvfp4", "fp8_fp4"])
def test_matmul_block_scaled(sim, kind):
    M = N = 128
    K = 256
    vector = 16 if kind == "nvfp4" else 32

    def scales(rows):
        if kind == "nvfp4":
            raw = torch.randint(0x30, 0x40, (rows, K // vector), dtype=torch.uint8)
            return raw.view(torch.float8_e4m3fn), raw.view(torch.float8_e4m3fn).double()
        raw = torch.randint(124, 131, (rows, K // vector), dtype=torch.uint8)
        return raw, torch.exp2(raw.double() - 127)

    def matrix(rows, fp4, kind8):
        if fp4:
            raw = torch.randint(0, 256, (rows, K // 2), dtype=torch.uint8)
            low, high = mx_values(raw & 15, "e2m1"), mx_values(raw >> 4, "e2m1")
            return raw, torch.stack([low, high], 2).reshape(rows, K)
        x = torch.randn(rows, K).to(kind8)
        return x, x.double()

    fp4a, fp4b = kind in ("mxfp4", "nvfp4"), kind != "mxfp8"
    kind8 = torch.float8_e5m2 if kind == "fp8_fp4" else torch.float8_e4m3fn
    a, av = matrix(M, fp4a, kind8)
    b, bv = matrix(N, fp4b, kind8)
    sa, sav = scales(M)
    sb, sbv = scales(N)
    c = torch.zeros(M, N, dtype=torch.float16)
    fa = "e2m1" if fp4a else "e5m2" if kind == "fp8_fp4" else "e4m3"
    fb = "e2m1" if fp4b else "e4m3"
    k.matmul_block_scaled[(1, 1)](a, sa, b, sb, c, M, N, K, BM=128, BN=128, BK=128, FA=fa, FB=fb,
                                  PA=2 if fp4a else 1, PB=2 if fp4b else 1, V=vector,
                                  num_warps=4, num_stages=2)
    want = (av * sav.repeat_interleave(vector, 1)) @ (bv * sbv.repeat_interleave(vector, 1)).T
    close(c, want, 2**-10)


@on(*ALL)
def test_grouped_gemm(sim):
    sizes = [(64, 128, 64), (128, 64, 96)]
    As = [torch.randn(m, kk).half() for m, n, kk in sizes]
    Bs = [torch.randn(kk, n).half() for m, n, kk in sizes]
    Cs = [torch.zeros(m, n, dtype=torch.half) for m, n, kk in sizes]
    address = lambda ts: torch.tensor([t.data_ptr() for t in ts])
    sz = torch.tensor(sizes, dtype=torch.int32)
    ld = torch.tensor([[kk, n, n] for m, n, kk in sizes], dtype=torch.int32)
    k.grouped_gemm[(3,)](address(As), address(Bs), address(Cs), sz, ld, 2, NSM=3, BM=64, BN=64, BK=32)
    for a, b, c in zip(As, Bs, Cs):
        close(c, a.double() @ b.double(), 2**-10)


def attention_inputs(heads, S, D, dtype=torch.float16):
    return [torch.randn(heads, S, D).to(dtype) for _ in range(3)]


def attention(q, kk, v, scale, causal):
    s = q.double() @ kk.double().transpose(1, 2) * scale
    if causal:
        S = s.shape[-1]
        s = s.masked_fill(~torch.ones(S, S, dtype=torch.bool).tril(), -float("inf"))
    return torch.softmax(s, -1), s


@on(*ALL)
@pytest.mark.parametrize("causal,D,dtype", [(True, 64, torch.float16), (False, 128, torch.bfloat16)])
def test_attention_forward(sim, causal, D, dtype):
    S = 128
    q, kk, v = attention_inputs(2, S, D, dtype)
    o, lse = torch.zeros_like(q), torch.zeros(2, S)
    scale = D**-0.5
    k.attn_fwd[(1, 2)](q, kk, v, o, lse, S, scale, S * D, D=D, BM=128, BN=64, CAUSAL=causal,
                       num_warps=4, num_stages=2)
    p, s = attention(q, kk, v, scale, causal)
    close(o, p @ v.double(), 2**-8 if dtype == torch.bfloat16 else 2**-10)
    close(lse, torch.logsumexp(s, -1) / np.log(2), 2**-12)


@on(*ALL)
def test_attention_backward(sim):
    S, D, heads = 128, 64, 1
    q, kk, v = attention_inputs(heads, S, D)
    do = torch.randn(heads, S, D).half()
    scale = D**-0.5
    # The kernels expect q scaled by log2(e) * scale.
    qs = (q.float() * scale * 1.44269504).half()
    s2 = qs.double() @ kk.double().transpose(1, 2)
    mask = torch.ones(S, S, dtype=torch.bool).tril()
    masked = s2.masked_fill(~mask, -float("inf"))
    lse = torch.logsumexp(masked * np.log(2), -1) / np.log(2)
    p = torch.exp2(masked - lse[..., None])
    dp = do.double() @ v.double().transpose(1, 2)
    delta = (p * dp).sum(-1)
    ds = p * (dp - delta[..., None])
    dk, dv = torch.zeros_like(q), torch.zeros_like(q)
    k.attn_bwd_dkdv[(1, heads)](qs, kk, v, do, dk, dv, lse.float(), delta.float(), S, scale, S * D,
                                D=D, BM=32, BN=128, num_warps=4, num_stages=2)
    close(dv, p.transpose(1, 2) @ do.double(), 2**-8)
    close(dk, ds.transpose(1, 2) @ qs.double() * scale, 2**-8)
    # dq has no mask in this kernel.
    lse = torch.logsumexp(s2 * np.log(2), -1) / np.log(2)
    p = torch.exp2(s2 - lse[..., None])
    delta = (p * dp).sum(-1)
    ds = p * (dp - delta[..., None])
    dq = torch.zeros(heads, S, D)
    k.attn_bwd_dq[(1, heads)](qs, kk, v, do, dq, lse.float(), delta.float(), S, S * D, D=D, BM=128,
                              BN=32, num_warps=4, num_stages=2)
    close(dq, ds @ kk.double() * np.log(2), 2**-8)


@on(*ALL)
def test_layer_norm(sim):
    rows, n = 6, 500
    x, w, b = torch.randn(rows, n).half(), torch.rand(n).half(), torch.rand(n).half()
    y, mean, rstd = torch.zeros_like(x), torch.zeros(rows), torch.zeros(rows)
    k.layer_norm_fwd[(rows,)](x, y, w, b, mean, rstd, n, n, 1e-5, BL=512)
    xd = x.double()
    m, v = xd.mean(1, keepdim=True), xd.var(1, unbiased=False, keepdim=True)
    xh = (xd - m) / torch.sqrt(v + 1e-5)
    close(y, xh * w.double() + b.double(), 2**-10)
    close(rstd, 1 / torch.sqrt(v + 1e-5)[:, 0], 2**-20)
    G = 2
    dy = torch.randn(rows, n).half()
    dx = torch.zeros_like(x)
    dw, db = torch.zeros(G, n).half(), torch.zeros(G, n).half()
    lock = torch.zeros(2 * G, dtype=torch.int32)
    k.layer_norm_bwd[(rows,)](dx, dy, dw, db, x, w, mean, rstd, lock, n, n, G=G, BL=512, num_warps=8)
    wdy = dy.double() * w.double()
    c1, c2 = (xh * wdy).mean(1, keepdim=True), wdy.mean(1, keepdim=True)
    close(dx, (wdy - (xh * c1 + c2)) / torch.sqrt(v + 1e-5), 2**-9)
    close(dw.double().sum(0), (dy.double() * xh).sum(0), 2**-8)
    close(db.double().sum(0), dy.double().sum(0), 2**-8)


@on(*ALL)
def test_dropout(sim):
    n = 2000
    x, y, z = torch.rand(n) + 1, torch.zeros(n), torch.zeros(n)
    k.dropout[(2,)](x, y, n, 0.5, 123, B=1024)
    k.dropout[(2,)](x, z, n, 0.5, 123, B=1024)
    assert torch.equal(y, z)
    kept = y != 0
    assert torch.equal(y[kept], x[kept] * 2)
    assert abs(kept.double().mean() - 0.5) < 0.05


@on(*ALL)
def test_reductions(sim):
    x = torch.randn(4, 900)
    i, v = torch.zeros(4, 3, dtype=torch.int32), torch.zeros(4, 2)
    k.reductions[(4,)](x, i, v, 900, B=1024)
    assert torch.equal(i[:, 0].long(), x.argmax(1))
    assert torch.equal(v[:, 0], x.max(1).values)
    assert torch.equal(i[:, 2].long(), x.argmax(1))
    assert torch.equal(v[:, 1].long(), (x > 0).sum(1) % 2)


@on(*ALL)
@pytest.mark.parametrize("dtype", [torch.int32, torch.float32])
def test_sorting(sim, dtype):
    x = torch.randint(-1000, 1000, (1, 256)).to(dtype)
    y, z = torch.zeros_like(x), torch.zeros(8, dtype=dtype)
    k.sorting[(1,)](x, y, z, B=256)
    assert torch.equal(y[0], x[0].flip(0))  # the last store of the kernel
    assert torch.equal(z, x[0].topk(8).values)


@on(*ALL)
def test_scans(sim):
    B = 512
    x, a = torch.rand(B) - 0.5, torch.rand(B) * 0.2 + 0.9
    original = a.clone()
    y, z = torch.zeros(B), torch.zeros(B)
    k.scans[(1,)](x, a, y, z, B=B)
    close(y, x.double().cumsum(0), 2**-18)
    h, want = 0.0, []
    for xi, ai in zip(x.double().tolist(), original.double().tolist()):
        h = h * ai + xi
        want.append(h)
    close(z, torch.tensor(want), 2**-16)
    close(a, original.double().flip(0).cumprod(0).flip(0), 2**-16)


@on(*ALL)
def test_atomics(sim):
    B = 256
    p = torch.zeros(2048, dtype=torch.int32)
    q, f = torch.zeros(8, dtype=torch.int64), torch.zeros(16)
    h, r = torch.zeros(B).half(), torch.zeros(B, dtype=torch.int32)
    k.atomics[(1,)](p, q, f, h, r, B=B)
    i = torch.arange(B)
    assert torch.equal(p[:7], torch.bincount(i % 7).int())
    assert p[8:11].tolist() == [255, 253, 254]
    assert q[:3].tolist() == [int(i[i % 3 == j].sum()) for j in range(3)]
    close(f[:5], torch.bincount(i % 5).double() * 1.5, 2**-20)
    assert torch.equal(h, i.half())
    assert torch.equal(p[512:512 + B], i.int())
    # Element 40 is also incremented by program 3, which does not run.
    assert torch.equal(p[32:32 + B], i.int())


@on(*ALL)
def test_histogram(sim):
    x = torch.randint(0, 64, (2000,), dtype=torch.int32)
    h = torch.zeros(64, dtype=torch.int32)
    k.histogram[(2,)](x, h, 2000, B=1024, NB=64)
    assert torch.equal(h, torch.bincount(x, minlength=64).int())


@on(*ALL)
def test_elementwise(sim):
    n = 512
    x = torch.rand(n) * 3 + 0.01
    y, f8 = torch.zeros(n), torch.zeros(n, dtype=torch.float8_e5m2)
    i = torch.randint(0, 10000, (n,), dtype=torch.int32)
    before = i.clone()
    k.elementwise[(1,)](x, y, f8, i, n, B=512)
    X = x.double()
    base = (torch.sigmoid(X) + torch.erf(X) + torch.sin(X) * torch.cos(X) + torch.sqrt(X)
            + torch.rsqrt(X + 1) + torch.log(X + 1) + X.floor() + X.ceil() + torch.tanh(X) + X**1.5
            + torch.exp(X) + X / 3 + X * X + 1 + X.clamp(-1, 1) + X / 7 + X)
    ki = before.long()
    ki = (ki // 7) * 3 + ki % 5 + (ki >> 2) + ((ki * 12345) >> 32) + x.int().long() + 1
    assert torch.equal(i.long(), ki)
    close(f8, base, 2**-3)
    want = base + ki.double() + x.bfloat16().double() + x.half().double() + f8.double()
    close(y, want, 2**-20)


@on(*ALL)
def test_inline_asm(sim):
    x = torch.randint(0, 2**30, (256,), dtype=torch.int32)
    y = torch.zeros_like(x)
    k.inline_asm[(1,)](x, y, B=256)
    a, b, c = (x.long() << 3) & 0xFFFFFFFF, x.long(), 0x0F0F0F0F
    want = 0
    for bit in range(8):  # lop3 table 0x6a
        if 0x6A >> bit & 1:
            term = a if bit & 4 else ~a
            term = term & (b if bit & 2 else ~b)
            term = term & (c if bit & 1 else ~c)
            want = want | (term & 0xFFFFFFFF)
    assert torch.equal(y.long() & 0xFFFFFFFF, want)


@on(*ALL)
def test_print_and_assert(sim, capsys):
    x = torch.arange(4).float()
    k.print_assert[(1,)](x, 4, B=128, debug=True)
    assert torch.equal(x, torch.arange(4) + 1.0)
    assert "3.000000" in capsys.readouterr().out
    x = torch.tensor([1.0, -1.0])
    with pytest.raises(sim_triton.SimulationError, match="negative value"):
        k.print_assert[(1,)](x, 2, B=128, debug=True)


@on(*ALL)
def test_gather2d(sim):
    R, C = 32, 64
    x = torch.randn(R, C)
    i = torch.randint(0, C, (R, C), dtype=torch.int32)
    y = torch.zeros(R, C)
    k.gather2d[(1,)](x, i, y, R=R, C=C)
    X = x.double()
    a, b = X.reshape(R, C // 2, 2).unbind(2)
    want = (X.gather(1, i.long()) + X.T.reshape(R, C) + torch.stack([b, a], 2).reshape(R, C)
            + X.sum(0)[None] + torch.stack([a, b], 2).reshape(R, C))
    close(y, want, 2**-20)


@on(*ALL)
def test_cross_entropy(sim):
    x = torch.randn(3, 2000).bfloat16()
    t = torch.tensor([5, 1999, 77])
    loss = torch.zeros(3)
    k.cross_entropy[(3,)](x, t, loss, 2000, B=1024)
    close(loss, torch.nn.functional.cross_entropy(x.double(), t, reduction="none"), 2**-20)


@on(*ALL)
def test_conv2d(sim):
    H = W = 8
    x, w = torch.randn(H, W, 32).half(), torch.randn(3, 3, 32, 64).half()
    y = torch.zeros(H, W, 64).half()
    k.conv2d[(1,)](x, w, y, H, W, C=32, CO=64, BP=64)
    want = torch.nn.functional.conv2d(x.double().permute(2, 0, 1)[None], w.double().permute(3, 2, 0, 1),
                                      padding=1)[0].permute(1, 2, 0)
    close(y, want, 2**-10)


@on(*ALL)
def test_bisect(sim):
    x = torch.rand(1000).sort().values
    keys = torch.rand(256)
    o = torch.zeros(256, dtype=torch.int32)
    k.while_bisect[(2,)](x, keys, o, 1000, B=128)
    assert torch.equal(o.long(), torch.searchsorted(x, keys))


@on("sm_80")
def test_autotuned(sim):
    tuned = triton.autotune(configs=[triton.Config({"B": 256}), triton.Config({"B": 512})],
                            key=["n"])(k.vec_add)
    x, y, z = torch.rand(2000), torch.rand(2000), torch.zeros(2000)
    tuned[lambda meta: (triton.cdiv(2000, meta["B"]),)](x, y, z, 2000)
    assert torch.equal(z, x + y)


@on("sm_80")
def test_out_of_bounds_is_raised(sim):
    x, z = torch.rand(1000), torch.zeros(500)
    with pytest.raises(sim_triton.SimulationError, match="out-of-bounds"):
        k.vec_add[(1,)](x, x, z, 1000, B=1024)
