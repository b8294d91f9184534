# Triton kernels of our own that work as real ones do on Hopper and Blackwell: descriptors, pipelines, roles of warps.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`triton_kernels.py` has those that use pointers. The descriptors are made by the kernel unless a name begins with a small
letter, in which case the host makes them."""

import triton
import triton.language as tl


@triton.jit
def matmul_flat(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, P: tl.constexpr, HALVES: tl.constexpr,
                SPECIAL: tl.constexpr):
    """Persistent over tiles, the two loops made one, the result stored in one or two pieces."""
    a = tl.make_tensor_descriptor(A, [M, K], [K, 1], [BM, BK])
    b = tl.make_tensor_descriptor(B, [N, K], [K, 1], [BN, BK])
    c = tl.make_tensor_descriptor(C, [M, N], [N, 1], [BM, BN // HALVES])
    across = tl.cdiv(N, BN)
    for t in tl.range(tl.program_id(0), tl.cdiv(M, BM) * across, P, flatten=True, warp_specialize=SPECIAL):
        i, j = t // across * BM, t % across * BN
        total = tl.zeros((BM, BN), tl.float32)
        for k in range(0, K, BK):
            total = tl.dot(a.load([i, k]), b.load([j, k]).T, total)
        if HALVES == 2:
            left, right = tl.split(tl.permute(tl.reshape(total, (BM, 2, BN // 2)), (0, 2, 1)))
            c.store([i, j], left.to(C.dtype.element_ty))
            c.store([i, j + BN // 2], right.to(C.dtype.element_ty))
        else:
            c.store([i, j], total.to(C.dtype.element_ty))


@triton.jit
def gated(x, up, gate, y, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """x up * silu(x gate): two accumulators in one loop."""
    i, j = tl.program_id(0) * BM, tl.program_id(1) * BN
    u, g = tl.zeros((BM, BN), tl.float32), tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rows = x.load([i, k])
        u = tl.dot(rows, up.load([k, j]), u)
        g = tl.dot(rows, gate.load([k, j]), g)
    y.store([i, j], (u * g * tl.sigmoid(g)).to(tl.float16))


@triton.jit
def batched(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    z, i, j = tl.program_id(2), tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        total = tl.dot(a.load([z, i, k]).reshape(BM, BK), b.load([z, k, j]).reshape(BK, BN), total)
    c.store([z, i, j], total.to(tl.float16).reshape(1, BM, BN))


@triton.jit
def grouped(PA, PB, PC, SIZES, G, P: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Descriptors for each product of a group, made from tables of pointers."""
    t, done = tl.program_id(0), 0
    for g in range(G):
        M, N, K = tl.load(SIZES + 3 * g), tl.load(SIZES + 3 * g + 1), tl.load(SIZES + 3 * g + 2)
        across = tl.cdiv(N, BN)
        tiles = tl.cdiv(M, BM) * across
        if t < done + tiles:
            a = tl.make_tensor_descriptor(tl.load(PA + g).to(tl.pointer_type(tl.float16)), [M, K], [K, 1], [BM, BK])
            b = tl.make_tensor_descriptor(tl.load(PB + g).to(tl.pointer_type(tl.float16)), [N, K], [K, 1], [BN, BK])
            c = tl.make_tensor_descriptor(tl.load(PC + g).to(tl.pointer_type(tl.float16)), [M, N], [N, 1], [BM, BN])
            while t < done + tiles:
                i, j = (t - done) // across * BM, (t - done) % across * BN
                total = tl.zeros((BM, BN), tl.float32)
                for k in range(0, K, BK):
                    total = tl.dot(a.load([i, k]), b.load([j, k]).T, total)
                c.store([i, j], total.to(tl.float16))
                t += P
        done += tiles


@triton.jit
def attended(q, k, v, largest, total, out, row, start, end, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, S, head,
             MASK: tl.constexpr, SPECIAL: tl.constexpr):
    for j in tl.range(start, end, BN, warp_specialize=SPECIAL):
        s = tl.dot(q, k.load([head * S + j, 0]).T) * (scale * 1.44269504)
        if MASK:
            s = tl.where(row[:, None] >= j + tl.arange(0, BN)[None, :], s, -1.0e6)
        new = tl.maximum(largest, tl.max(s, 1))
        p = tl.math.exp2(s - new[:, None])
        factor = tl.math.exp2(largest - new)
        total = total * factor + tl.sum(p, 1)
        out = tl.dot(p.to(v.dtype), v.load([head * S + j, 0]), out * factor[:, None])
        largest = new
    return largest, total, out


@triton.jit
def attention(Q, K, V, O, L, H, S, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr,
              SPECIAL: tl.constexpr):
    """Tiles below the diagonal without a mask, those on it with one."""
    q = tl.make_tensor_descriptor(Q, [H * S, D], [D, 1], [BM, D])
    k = tl.make_tensor_descriptor(K, [H * S, D], [D, 1], [BN, D])
    v = tl.make_tensor_descriptor(V, [H * S, D], [D, 1], [BN, D])
    o = tl.make_tensor_descriptor(O, [H * S, D], [D, 1], [BM, D])
    i, head = tl.program_id(0) * BM, tl.program_id(1)
    row = i + tl.arange(0, BM)
    qs = q.load([head * S + i, 0])
    largest = tl.full((BM,), -float("inf"), tl.float32)
    total, out = tl.zeros((BM,), tl.float32), tl.zeros((BM, D), tl.float32)
    end = i if CAUSAL else S
    largest, total, out = attended(qs, k, v, largest, total, out, row, 0, end, scale, BM, BN, D, S, head, False, SPECIAL)
    if CAUSAL:
        largest, total, out = attended(qs, k, v, largest, total, out, row, i, i + BM, scale, BM, BN, D, S, head, True, SPECIAL)
    tl.store(L + head * S + row, largest + tl.math.log2(total))
    o.store([head * S + i, 0], (out / total[:, None]).to(O.dtype.element_ty))


@triton.jit
def attention_eight_bits(q, k, vt, o, S, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """Eight-bit products need both operands K-major, so V comes transposed."""
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
        out = tl.dot(p.to(vt.dtype), vt.load([0, j]).T, out * factor[:, None])
        largest = new
    o.store([i, 0], (out / total[:, None]).to(tl.float16))


@triton.jit
def attention_backward(q, k, v, do, dq, dk, dv, L, DELTA, S, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """One program for BN keys: dk and dv in registers, dq added to memory by the copy (cp.reduce.async.bulk.tensor)."""
    j = tl.program_id(0) * BN
    ks, vs = k.load([j, 0]), v.load([j, 0])
    gk, gv = tl.zeros((BN, D), tl.float32), tl.zeros((BN, D), tl.float32)
    for i in range(0, S, BM):
        row = i + tl.arange(0, BM)
        qs, dos = q.load([i, 0]), do.load([i, 0])
        p = tl.math.exp2(tl.dot(ks, qs.T) * (scale * 1.44269504) - tl.load(L + row)[None, :])
        gv = tl.dot(p.to(tl.float16), dos, gv)
        ds = (p * (tl.dot(vs, dos.T) - tl.load(DELTA + row)[None, :]) * scale).to(tl.float16)
        gk = tl.dot(ds, qs, gk)
        dq.atomic_add([i, 0], tl.dot(ds.T, ks))
    dk.store([j, 0], gk.to(tl.float16))
    dv.store([j, 0], gv.to(tl.float16))


@triton.jit
def split_k(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLITS: tl.constexpr):
    i, j = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(tl.program_id(2) * BK, K, BK * SPLITS):
        total = tl.dot(a.load([i, k]), b.load([k, j]), total)
    c.atomic_add([i, j], total)


@triton.jit
def experts(x, W, y, ROWS, EXPERT, K, N, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Rows gathered by copies, times the expert's matrix, scattered by copies (sm_100: gather4, scatter4)."""
    w = tl.make_tensor_descriptor(W + tl.load(EXPERT + tl.program_id(0)) * K * N, [K, N], [N, 1], [BK, BN])
    rows = tl.load(ROWS + tl.program_id(0) * BM + tl.arange(0, BM))
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        total = tl.dot(x.gather(rows, k), w.load([k, tl.program_id(1) * BN]), total)
    y.scatter(total.to(tl.float16), rows, tl.program_id(1) * BN)


@triton.jit
def scaled(a, sa, b, sb, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, V: tl.constexpr, FA: tl.constexpr,
           FB: tl.constexpr, PA: tl.constexpr, PB: tl.constexpr):
    """Block-scaled; scale factors in the order of the tensor core: 128 x 4 of them are 32 x 4 x 4, one after the other."""
    i, j = tl.program_id(0), tl.program_id(1)
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K // BK):
        x, y = a.load([i * BM, k * (BK // PA)]), b.load([j * BN, k * (BK // PB)])
        u = sa.load([0, i * (BM // 128), k * (BK // V // 4), 0, 0]).reshape(BM // 128, BK // V // 4, 32, 4, 4)
        w = sb.load([0, j * (BN // 128), k * (BK // V // 4), 0, 0]).reshape(BN // 128, BK // V // 4, 32, 4, 4)
        u = u.trans(0, 3, 2, 1, 4).reshape(BM, BK // V)
        w = w.trans(0, 3, 2, 1, 4).reshape(BN, BK // V)
        total = tl.dot_scaled(x, u, FA, y.T, w, FB, total)
    c.store([i * BM, j * BN], total.to(tl.float16))


@triton.jit
def softmax(x, y, M, BM: tl.constexpr, BN: tl.constexpr, P: tl.constexpr):
    """Rows in a pipelined loop of a few programs."""
    for i in tl.range(tl.program_id(0) * BM, M, P * BM, num_stages=3):
        rows = x.load([i, 0]).to(tl.float32)
        e = tl.exp(rows - tl.max(rows, 1)[:, None])
        y.store([i, 0], (e / tl.sum(e, 1)[:, None]).to(tl.bfloat16))


@triton.jit
def layer_norm(x, W, B, y, N, eps, BM: tl.constexpr, BN: tl.constexpr):
    i = tl.program_id(0) * BM
    s, q = tl.zeros((BM,), tl.float32), tl.zeros((BM,), tl.float32)
    for j in range(0, N, BN):
        t = x.load([i, j]).to(tl.float32)
        s += tl.sum(t, 1)
        q += tl.sum(t * t, 1)
    mean = s / N
    rstd = tl.rsqrt(q / N - mean * mean + eps)
    for j in range(0, N, BN):
        col = j + tl.arange(0, BN)
        t = (x.load([i, j]).to(tl.float32) - mean[:, None]) * rstd[:, None]
        y.store([i, j], (t * tl.load(W + col)[None, :] + tl.load(B + col)[None, :]).to(tl.float16))


@triton.jit
def dequantised(a, b, S, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """f16 times int8 with a scale for each column: B becomes f16 in registers."""
    i, j = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        total = tl.dot(a.load([i, k]), b.load([k, j]).to(tl.float16), total)
    scale = tl.load(S + j + tl.arange(0, BN))
    c.store([i, j], (total * scale[None, :]).to(tl.float16))


@triton.jit
def two_layers(x, w, u, y, H, BM: tl.constexpr, BH: tl.constexpr, BN: tl.constexpr):
    """gelu-like(x w) u: the first product is an operand of the second."""
    i = tl.program_id(0) * BM
    xs = x.load([i, 0])
    total = tl.zeros((BM, BN), tl.float32)
    for h in range(0, H, BH):
        t = tl.dot(xs, w.load([0, h]))
        total = tl.dot((t * tl.sigmoid(1.702 * t)).to(tl.float16), u.load([h, 0]), total)
    y.store([i, 0], total.to(tl.float16))


@triton.jit
def linear_attention(q, k, v, o, S, BM: tl.constexpr, D: tl.constexpr):
    """Causal, without softmax, chunk by chunk: what a chunk adds to the state is a product that the next one reads."""
    state = tl.zeros((D, D), tl.float32)
    at = tl.arange(0, BM)
    for i in range(0, S, BM):
        qs, ks, vs = q.load([i, 0]), k.load([i, 0]), v.load([i, 0])
        s = tl.where(at[:, None] >= at[None, :], tl.dot(qs, ks.T), 0.0)
        out = tl.dot(qs, state.to(tl.float16))
        out = tl.dot(s.to(tl.float16), vs, out)
        o.store([i, 0], out)
        state = tl.dot(ks.T, vs, state)


@triton.jit
def convolution(x, w, y, BP: tl.constexpr, BQ: tl.constexpr, C: tl.constexpr, CO: tl.constexpr):
    """3 x 3, one copy per tap; what is outside of the picture comes as zeros."""
    n, p, q = tl.program_id(2), tl.program_id(0) * BP, tl.program_id(1) * BQ
    total = tl.zeros((BP * BQ, CO), tl.float32)
    for tap in range(9):
        pixels = x.load([n, p + tap // 3 - 1, q + tap % 3 - 1, 0]).reshape(BP * BQ, C)
        total = tl.dot(pixels, w.load([tap, 0, 0]).reshape(C, CO), total)
    y.store([n, p, q, 0], total.to(tl.float16).reshape(1, BP, BQ, CO))
