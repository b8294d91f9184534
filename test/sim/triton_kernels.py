# Triton kernels of our own writing that the simulator must run unmodified.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import triton, triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def vec_add(X, Y, Z, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.store(Z + i, tl.load(X + i, m) + tl.load(Y + i, m), m)


@triton.jit
def softmax_row(X, Y, sx, n, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    m = c < n
    x = tl.load(X + r * sx + c, m, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, 0))
    tl.store(Y + r * sx + c, e / tl.sum(e, 0), m)


@triton.jit
def matmul(
    A,
    B,
    C,
    M,
    N,
    K,
    sam,
    sak,
    sbk,
    sbn,
    scm,
    scn,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    GM: tl.constexpr,
    ACC: tl.constexpr,
    PREC: tl.constexpr,
):
    pid = tl.program_id(0)
    nm = tl.cdiv(M, BM)
    nn = tl.cdiv(N, BN)
    g = pid // (GM * nn)
    first = g * GM
    sz = min(nm - first, GM)
    pm = first + (pid % (GM * nn)) % sz
    pn = (pid % (GM * nn)) // sz
    rm = (pm * BM + tl.arange(0, BM)) % M
    rn = (pn * BN + tl.arange(0, BN)) % N
    rk = tl.arange(0, BK)
    a = A + rm[:, None] * sam + rk[None, :] * sak
    b = B + rk[:, None] * sbk + rn[None, :] * sbn
    acc = tl.zeros((BM, BN), ACC)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(a, mask=rk[None, :] < K - k * BK, other=0.0)
        y = tl.load(b, mask=rk[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(x, y, acc, input_precision=PREC, out_dtype=ACC)
        a += BK * sak
        b += BK * sbk
    rm = pm * BM + tl.arange(0, BM)
    rn = pn * BN + tl.arange(0, BN)
    tl.store(
        C + rm[:, None] * scm + rn[None, :] * scn,
        acc.to(C.dtype.element_ty),
        (rm[:, None] < M) & (rn[None, :] < N),
    )


@triton.jit
def leaky(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.jit
def matmul_splitk(
    A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SK: tl.constexpr
):
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    pk = tl.program_id(2)
    rm = pm * BM + tl.arange(0, BM)
    rn = pn * BN + tl.arange(0, BN)
    rk = pk * BK + tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK * SK)):
        acc += tl.dot(
            tl.load(A + rm[:, None] * K + rk[None, :]), tl.load(B + rk[:, None] * N + rn[None, :])
        )
        rk += BK * SK
    tl.atomic_add(C + rm[:, None] * N + rn[None, :], leaky(acc), sem="relaxed")


@triton.jit
def matmul_block_scaled(
    A,
    SA,
    B,
    SB,
    C,
    M,
    N,
    K,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    FA: tl.constexpr,
    FB: tl.constexpr,
    PA: tl.constexpr,
    PB: tl.constexpr,
    V: tl.constexpr,
):
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    rm = pm * BM + tl.arange(0, BM)
    rn = pn * BN + tl.arange(0, BN)
    ka = tl.arange(0, BK // PA)
    kb = tl.arange(0, BK // PB)
    ks = tl.arange(0, BK // V)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a = tl.load(A + rm[:, None] * (K // PA) + ka[None, :])
        b = tl.load(B + kb[:, None] + rn[None, :] * (K // PB))
        sa = tl.load(SA + rm[:, None] * (K // V) + ks[None, :])
        sb = tl.load(SB + rn[:, None] * (K // V) + ks[None, :])
        acc = tl.dot_scaled(a, sa, FA, b, sb, FB, acc)
        ka += BK // PA
        kb += BK // PB
        ks += BK // V
    tl.store(C + rm[:, None] * N + rn[None, :], acc.to(tl.float16))


@triton.jit
def grouped_gemm(
    PA, PB, PC, SZ, LD, G, NSM: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    t = tl.program_id(0)
    last = 0
    for g in range(G):
        M = tl.load(SZ + 3 * g)
        N = tl.load(SZ + 3 * g + 1)
        K = tl.load(SZ + 3 * g + 2)
        nn = tl.cdiv(N, BN)
        nt = tl.cdiv(M, BM) * nn
        while t >= last and t < last + nt:
            lda = tl.load(LD + 3 * g)
            ldb = tl.load(LD + 3 * g + 1)
            ldc = tl.load(LD + 3 * g + 2)
            a = tl.load(PA + g).to(tl.pointer_type(tl.float16))
            b = tl.load(PB + g).to(tl.pointer_type(tl.float16))
            c = tl.load(PC + g).to(tl.pointer_type(tl.float16))
            i = t - last
            rm = (i // nn) * BM + tl.arange(0, BM)
            rn = (i % nn) * BN + tl.arange(0, BN)
            rk = tl.arange(0, BK)
            acc = tl.zeros((BM, BN), tl.float32)
            for k in range(0, tl.cdiv(K, BK)):
                acc += tl.dot(
                    tl.load(a + rm[:, None] * lda + (k * BK + rk)[None, :]),
                    tl.load(b + (k * BK + rk)[:, None] * ldb + rn[None, :]),
                )
            tl.store(c + rm[:, None] * ldc + rn[None, :], acc.to(tl.float16))
            t += NSM
        last = last + nt


@triton.jit
def attn_fwd(
    Q,
    K,
    V,
    O,
    L,
    S,
    sm_scale,
    sh,
    D: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    pm = tl.program_id(0)
    h = tl.program_id(1).to(tl.int64)
    rm = pm * BM + tl.arange(0, BM)
    rd = tl.arange(0, D)
    q = tl.load(Q + h * sh + rm[:, None] * D + rd[None, :])
    m = tl.full((BM,), -float("inf"), tl.float32)
    l = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    qk = sm_scale * 1.44269504
    hi = (pm + 1) * BM if CAUSAL else S
    for j in range(0, hi, BN):
        rn = j + tl.arange(0, BN)
        k = tl.load(K + h * sh + rn[None, :] * D + rd[:, None])
        s = tl.dot(q, k) * qk
        if CAUSAL:
            s = tl.where(rm[:, None] >= rn[None, :], s, -1.0e6)
        mn = tl.maximum(m, tl.max(s, 1))
        p = tl.math.exp2(s - mn[:, None])
        al = tl.math.exp2(m - mn)
        l = l * al + tl.sum(p, 1)
        v = tl.load(V + h * sh + rn[:, None] * D + rd[None, :])
        acc = tl.dot(p.to(v.dtype), v, acc * al[:, None])
        m = mn
    tl.store(L + h * S + rm, m + tl.math.log2(l))
    tl.store(O + h * sh + rm[:, None] * D + rd[None, :], (acc / l[:, None]).to(O.dtype.element_ty))


@triton.jit
def attn_bwd_dkdv(
    Q, K, V, DO, DK, DV, L, DL, S, sm_scale, sh, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr
):
    pn = tl.program_id(0)
    h = tl.program_id(1)
    o = h * sh
    rn = pn * BN + tl.arange(0, BN)
    rd = tl.arange(0, D)
    k = tl.load(K + o + rn[:, None] * D + rd[None, :])
    v = tl.load(V + o + rn[:, None] * D + rd[None, :])
    dk = tl.zeros((BN, D), tl.float32)
    dv = tl.zeros((BN, D), tl.float32)
    for i in range(0, S, BM):
        rm = i + tl.arange(0, BM)
        qT = tl.load(Q + o + rm[None, :] * D + rd[:, None])
        l = tl.load(L + h * S + rm)
        p = tl.math.exp2(tl.dot(k, qT) - l[None, :])
        p = tl.where(rm[None, :] >= rn[:, None], p, 0.0)
        do = tl.load(DO + o + rm[:, None] * D + rd[None, :])
        dv += tl.dot(p.to(tl.float16), do)
        dp = tl.dot(v, tl.trans(do)).to(tl.float32)
        dl = tl.load(DL + h * S + rm)
        ds = (p * (dp - dl[None, :])).to(tl.float16)
        dk += tl.dot(ds, tl.trans(qT))
    tl.store(DV + o + rn[:, None] * D + rd[None, :], dv.to(tl.float16))
    tl.store(DK + o + rn[:, None] * D + rd[None, :], (dk * sm_scale).to(tl.float16))


@triton.jit
def attn_bwd_dq(Q, K, V, DO, DQ, L, DL, S, sh, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    pm = tl.program_id(0)
    h = tl.program_id(1)
    o = h * sh
    rm = pm * BM + tl.arange(0, BM)
    rd = tl.arange(0, D)
    q = tl.load(Q + o + rm[:, None] * D + rd[None, :])
    do = tl.load(DO + o + rm[:, None] * D + rd[None, :])
    l = tl.load(L + h * S + rm)
    dl = tl.load(DL + h * S + rm)
    dq = tl.zeros((BM, D), tl.float32)
    for j in range(0, S, BN):
        rn = j + tl.arange(0, BN)
        kT = tl.load(K + o + rn[None, :] * D + rd[:, None])
        vT = tl.load(V + o + rn[None, :] * D + rd[:, None])
        p = tl.math.exp2(tl.dot(q, kT) - l[:, None])
        ds = (p * (tl.dot(do, vT) - dl[:, None])).to(tl.float16)
        dq += tl.dot(ds, tl.trans(kT))
    tl.store(DQ + o + rm[:, None] * D + rd[None, :], dq * 0.6931471824645996)


@triton.jit
def layer_norm_fwd(X, Y, W, B, MEAN, RSTD, st, n, eps, BL: tl.constexpr):
    r = tl.program_id(0)
    s = tl.zeros([BL], tl.float32)
    for o in range(0, n, BL):
        c = o + tl.arange(0, BL)
        s += tl.load(X + r * st + c, c < n, other=0.0).to(tl.float32)
    mean = tl.sum(s, 0) / n
    q = tl.zeros([BL], tl.float32)
    for o in range(0, n, BL):
        c = o + tl.arange(0, BL)
        x = tl.load(X + r * st + c, c < n, other=0.0).to(tl.float32)
        x = tl.where(c < n, x - mean, 0.0)
        q += x * x
    rstd = 1 / tl.sqrt(tl.sum(q, 0) / n + eps)
    tl.store(MEAN + r, mean)
    tl.store(RSTD + r, rstd)
    for o in range(0, n, BL):
        c = o + tl.arange(0, BL)
        k = c < n
        x = tl.load(X + r * st + c, k, other=0.0).to(tl.float32)
        tl.store(Y + r * st + c, (x - mean) * rstd * tl.load(W + c, k) + tl.load(B + c, k), k)


@triton.jit
def layer_norm_bwd(
    DX, DY, DW, DB, X, W, MEAN, RSTD, LOCK, st, n, G: tl.constexpr, BL: tl.constexpr
):
    r = tl.program_id(0)
    c = tl.arange(0, BL)
    k = c < n
    x = tl.load(X + r * st + c, k, other=0).to(tl.float32)
    dy = tl.load(DY + r * st + c, k, other=0).to(tl.float32)
    w = tl.load(W + c, k).to(tl.float32)
    mean = tl.load(MEAN + r)
    rstd = tl.load(RSTD + r)
    xh = tl.where(k, (x - mean) * rstd, 0.0)
    wdy = tl.where(k, w * dy, 0.0)
    c1 = tl.sum(xh * wdy, 0) / n
    c2 = tl.sum(wdy, 0) / n
    tl.store(DX + r * st + c, ((wdy - (xh * c1 + c2)) * rstd).to(tl.float16), k)
    pw = (dy * xh).to(tl.float16)
    pb = dy.to(tl.float16)
    lid = r % G
    DWp = DW + lid * n + c
    DBp = DB + lid * n + c
    while tl.atomic_cas(LOCK + lid, 0, 1) == 1:
        pass
    if tl.load(LOCK + G + lid) == 0:
        tl.atomic_xchg(LOCK + G + lid, 1)
    else:
        pw += tl.load(DWp, k)
        pb += tl.load(DBp, k)
    tl.store(DWp, pw, k)
    tl.store(DBp, pb, k)
    tl.debug_barrier()
    tl.atomic_xchg(LOCK + lid, 0)


@triton.jit
def dropout(X, Y, n, p, seed, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(X + i, i < n)
    r = tl.rand(seed, i)
    g = tl.randn(seed, i)
    tl.store(Y + i, tl.where(r > p, x / (1 - p), 0.0) + g * 0, i < n)


@triton.jit
def reductions(X, I, V, n, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    x = tl.load(X + r * n + c, c < n, other=-float("inf"))
    tl.store(I + 3 * r, tl.argmax(x, 0))
    tl.store(I + 3 * r + 1, tl.argmin(x, 0))
    v, i = tl.max(x, 0, return_indices=True)
    tl.store(V + 2 * r, v)
    tl.store(I + 3 * r + 2, i)
    tl.store(V + 2 * r + 1, tl.xor_sum((x > 0).to(tl.int32), 0).to(tl.float32))


@triton.jit
def sorting(X, Y, Z, B: tl.constexpr):
    c = tl.arange(0, B)
    x = tl.load(X + tl.program_id(0) * B + c)
    tl.store(Y + tl.program_id(0) * B + c, tl.sort(x))
    tl.store(Z + tl.program_id(0) * 8 + tl.arange(0, 8), tl.topk(x, 8))
    tl.store(Y + c, tl.flip(x))


@triton.jit
def combine(a0, b0, a1, b1):
    return a0 * a1, b0 * a1 + b1


@triton.jit
def scans(X, A, Y, Z, B: tl.constexpr):
    c = tl.arange(0, B)
    o = tl.program_id(0) * B
    x = tl.load(X + o + c)
    tl.store(Y + o + c, tl.cumsum(x, 0))
    a = tl.load(A + o + c)
    h, y = tl.associative_scan((a, x), 0, combine)
    tl.store(Z + o + c, y)
    tl.store(A + o + c, tl.cumprod(a, 0, reverse=True))


@triton.jit
def atomics(P, Q, F, H, R, B: tl.constexpr):
    i = tl.arange(0, B)
    r = (
        tl.atomic_add(P + i % 7, 1)
        + tl.atomic_max(P + 8 + i % 3, i)
        + tl.atomic_min(P + 16 + i * 0, i)
        + tl.atomic_and(P + 17 + i % 2, i, sem="acquire")
        + tl.atomic_or(P + 20 + i * 0, i, sem="release")
        + tl.atomic_xor(P + 21 + i * 0, i, scope="cta")
    )
    r += tl.atomic_cas(P + 32 + i, i * 0, i)
    r += tl.atomic_xchg(P + 512 + i, i, scope="sys")
    tl.store(R + i, r)
    tl.atomic_add(F + i % 5, 1.5, sem="relaxed")
    tl.atomic_max(F + 8 + i % 5, i.to(tl.float32))
    tl.atomic_add(H + i, i.to(tl.float16))
    tl.atomic_add(Q + i % 3, i.to(tl.int64))
    tl.atomic_add(P + 40, 1, mask=tl.program_id(0) == 3)


@triton.jit
def histogram(X, H, n, B: tl.constexpr, NB: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    h = tl.histogram(tl.load(X + i, i < n, other=0), NB, mask=i < n)
    tl.atomic_add(H + tl.arange(0, NB), h)


@triton.jit
def elementwise(X, Y, F8, I, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    x = tl.load(X + i, m, eviction_policy="evict_last")
    y = (
        tl.sigmoid(x)
        + tl.erf(x)
        + tl.sin(x) * tl.cos(x)
        + tl.sqrt(tl.abs(x))
        + tl.rsqrt(tl.abs(x) + 1)
        + tl.log(tl.abs(x) + 1)
        + tl.floor(x)
        + tl.ceil(x)
        + libdevice.tanh(x)
        + libdevice.pow(x, 1.5)
        + libdevice.exp(x)
        + libdevice.fast_dividef(x, 3.0)
        + tl.fma(x, x, 1.0)
        + tl.clamp(x, -1.0, 1.0)
        + tl.div_rn(x, 7.0)
        + tl.sqrt_rn(x * x)
    )
    tl.store(F8 + i, y.to(F8.dtype.element_ty), m)
    k = tl.load(I + i, m, cache_modifier=".cg")
    k = (
        (k // 7) * 3
        + k % 5
        + (k >> 2)
        + tl.umulhi(k.to(tl.uint32), 12345).to(tl.int32)
        + x.to(tl.int32)
        + (x > 0).to(tl.int32)
    )
    tl.store(I + i, k, m, cache_modifier=".wt")
    y += (
        k.to(tl.float32)
        + x.to(tl.bfloat16).to(tl.float32)
        + x.to(tl.float16).to(tl.float32)
        + tl.load(F8 + i, m).to(tl.float32)
    )
    tl.store(Y + i, y, m, eviction_policy="evict_first")


@triton.jit
def inline_asm(X, Y, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(X + i)
    y = tl.inline_asm_elementwise(
        "{ .reg .b32 t; shl.b32 t, $1, 3; lop3.b32 $0, t, $1, 0x0f0f0f0f, 0x6a; }",
        "=r,r",
        [x],
        dtype=tl.int32,
        is_pure=True,
        pack=1,
    )
    tl.store(Y + i, y)


@triton.jit
def print_assert(X, n, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(X + i, i < n)
    tl.device_print("x", x, i)
    tl.device_assert(x >= 0, "negative value")
    tl.store(X + i, x + 1, i < n)


@triton.jit
def gather2d(X, I, Y, R: tl.constexpr, C: tl.constexpr):
    r = tl.arange(0, R)
    c = tl.arange(0, C)
    x = tl.load(X + r[:, None] * C + c[None, :])
    i = tl.load(I + r[:, None] * C + c[None, :])
    y = tl.gather(x, i, 1) + tl.trans(tl.reshape(tl.trans(x), (R, C)), (0, 1))
    a, b = tl.split(tl.reshape(x, (R, C // 2, 2)))
    y += (
        tl.reshape(tl.join(b, a), (R, C))
        + tl.broadcast_to(tl.sum(x, 0)[None, :], (R, C))
        + tl.interleave(a, b)
    )
    tl.store(Y + r[:, None] * C + c[None, :], y)


@triton.jit
def cross_entropy(X, T, LOSS, n, B: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    m = -float("inf")
    s = 0.0
    t = tl.load(T + r)
    xt = tl.load(X + r * n + t).to(tl.float32)
    for o in range(0, n, B):
        c = o + tl.arange(0, B)
        x = tl.load(X + r * n + c, c < n, other=-float("inf")).to(tl.float32)
        mb = tl.maximum(m, tl.max(x, 0))
        s = s * tl.exp(m - mb) + tl.sum(tl.exp(x - mb), 0)
        m = mb
    tl.store(LOSS + r, tl.log(s) + m - xt)


@triton.jit
def conv2d(X, W, Y, H, Wd, C: tl.constexpr, CO: tl.constexpr, BP: tl.constexpr):
    p = tl.program_id(0) * BP + tl.arange(0, BP)
    oh = p // Wd
    ow = p % Wd
    rc = tl.arange(0, C)
    ro = tl.arange(0, CO)
    acc = tl.zeros((BP, CO), tl.float32)
    for kh in tl.static_range(3):
        for kw in tl.static_range(3):
            ih = oh + kh - 1
            iw = ow + kw - 1
            ok = (ih >= 0) & (ih < H) & (iw >= 0) & (iw < Wd)
            x = tl.load(X + (ih * Wd + iw)[:, None] * C + rc[None, :], ok[:, None], other=0.0)
            w = tl.load(W + (kh * 3 + kw) * C * CO + rc[:, None] * CO + ro[None, :])
            acc = tl.dot(x, w, acc)
    tl.store(Y + p[:, None] * CO + ro[None, :], acc.to(tl.float16))


@triton.jit
def while_bisect(X, K, O, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    k = tl.load(K + i)
    lo = tl.zeros((B,), tl.int32)
    hi = tl.zeros((B,), tl.int32) + n
    while tl.max((hi - lo), 0) > 0:
        mid = (lo + hi) // 2
        v = tl.load(X + mid, lo < hi, other=0.0)
        right = (v < k) & (lo < hi)
        lo = tl.where(right, mid + 1, lo)
        hi = tl.where(right | (lo >= hi), hi, mid)
    tl.store(O + i, lo)
