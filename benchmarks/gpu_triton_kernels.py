"""The peer's side of benchmarks/gpu_triton.py: the algorithms of Triton's tutorials, in our own words, as lean as Triton allows.

Attention takes plain pointers and no masks (the tutorial's descriptors become bounds checks before Hopper): the harder peer.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import triton
import triton.language as tl


@triton.jit
def matmul(A, B, C, M, N, K, lda, ldb, ldc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    program = tl.program_id(0)
    across = tl.cdiv(N, BN)
    first = program // (GROUP * across) * GROUP
    rows = min(tl.cdiv(M, BM) - first, GROUP)
    pm = first + program % (GROUP * across) % rows
    pn = program % (GROUP * across) // rows
    m = (pm * BM + tl.arange(0, BM)) % M
    n = (pn * BN + tl.arange(0, BN)) % N
    k = tl.arange(0, BK)
    a = A + m[:, None] * lda + k[None, :]
    b = B + k[:, None] * ldb + n[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for turn in range(0, tl.cdiv(K, BK)):
        x = tl.load(a, mask=k[None, :] < K - turn * BK, other=0.0)
        y = tl.load(b, mask=k[:, None] < K - turn * BK, other=0.0)
        acc = tl.dot(x, y, acc)
        a += BK
        b += BK * ldb
    m = pm * BM + tl.arange(0, BM)
    n = pn * BN + tl.arange(0, BN)
    tl.store(C + m[:, None] * ldc + n[None, :], acc.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def attend(acc, den, top, q, k, v, low, high, m, n, row, scale, BN: tl.constexpr, MASKED: tl.constexpr):
    for start in range(low, high, BN):
        s = tl.dot(q, tl.load(k + start * row))
        if MASKED:
            s = s * scale + tl.where(m[:, None] >= start + n[None, :], 0, -1.0e6)
            new = tl.maximum(top, tl.max(s, 1))
            s -= new[:, None]
        else:
            new = tl.maximum(top, tl.max(s, 1) * scale)
            s = s * scale - new[:, None]
        p = tl.math.exp2(s)
        fix = tl.math.exp2(top - new)
        den = den * fix + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), tl.load(v + start * row), acc * fix[:, None])
        top = new
    return acc, den, top


@triton.jit
def attention(Q, K, V, O, scale, batch, head, row, heads, S, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr):
    pm = tl.program_id(0)
    at = tl.program_id(1) // heads * batch + tl.program_id(1) % heads * head
    m, n, d = pm * BM + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    q = tl.load(Q + at + m[:, None] * row + d[None, :])
    k = K + at + n[None, :] * row + d[:, None]
    v = V + at + n[:, None] * row + d[None, :]
    top = tl.zeros((BM,), tl.float32) - float("inf")
    den = tl.zeros((BM,), tl.float32) + 1.0
    acc = tl.zeros((BM, D), tl.float32)
    scale *= 1.44269504
    if CAUSAL:
        acc, den, top = attend(acc, den, top, q, k, v, 0, pm * BM, m, n, row, scale, BN, False)
        acc, den, top = attend(acc, den, top, q, k, v, tl.multiple_of(pm * BM, BM), (pm + 1) * BM, m, n, row, scale, BN, True)
    else:
        acc, den, top = attend(acc, den, top, q, k, v, 0, S, m, n, row, scale, BN, False)
    tl.store(O + at + m[:, None] * row + d[None, :], (acc / den[:, None]).to(tl.float16))


@triton.jit
def softmax(Y, X, ldx, ldy, rows, columns, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=STAGES):
        at = tl.arange(0, BLOCK)
        there = at < columns
        x = tl.load(X + row * ldx + at, mask=there, other=-float("inf"))
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(Y + row * ldy + at, e / tl.sum(e, axis=0), mask=there)


@triton.jit
def layer_norm(X, Y, W, B, MEAN, SCALE, ld, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    X += row * ld
    Y += row * ld
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(X + at, mask=at < N, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / N
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(X + at, mask=at < N, other=0.0).to(tl.float32)
        x = tl.where(at < N, x - mean, 0.0)
        total += x * x
    scale = 1 / tl.sqrt(tl.sum(total, axis=0) / N + eps)
    tl.store(MEAN + row, mean)
    tl.store(SCALE + row, scale)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        there = at < N
        w = tl.load(W + at, mask=there)
        b = tl.load(B + at, mask=there)
        x = tl.load(X + at, mask=there, other=0.0).to(tl.float32)
        tl.store(Y + at, (x - mean) * scale * w + b, mask=there)
