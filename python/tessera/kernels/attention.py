"""Attention that never writes the scores to memory, forward and backward.

A query at position i of S stands at i + T - S among the T keys. `causal` hides later keys, `window` (0: none) all but that many
before and with the query's own.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math

import tessera as tsr
from tessera import Out, Tensor, const, i64


@tsr.function
def with_keys(s, v, n, scale, top, den, acc):
    """The keys n, with scores s and values v, after those before: maximum, sum and weighted sum of each row."""
    new = tsr.maximum(top, tsr.max(s, n) * scale)
    fix, p = tsr.exp2(top - new), tsr.exp2(tsr.fma(s, scale, -new))
    return new, den * fix + tsr.sum(p, n), acc * fix + p.to(v.dtype) @ v


@tsr.kernel.schedule(target="cpu", BLOCK_M=64, BLOCK_N=1024)
def flash_attention(Q: Tensor["B", "H", "S", "D"], K: Tensor["B", "HK", "T", "D"], V: Tensor["B", "HK", "T", "D"],
                    O: Out["B", "H", "S", "D"], causal: const = False, window: const = 0, BLOCK_M: const = 128, BLOCK_N: const = 64):
    """softmax(Q K^T / sqrt(D)) V with grouped heads."""
    assert H % HK == 0, "H is no multiple of HK"
    scale = math.log2(math.e) / math.sqrt(D)
    for b, h, m in tsr.grid(B, H, tsr.tile(S, BLOCK_M)):
        hk = h // (H // HK)                                   # grouped heads share a key/value head
        q = Q[b, h, m, :]                                     # [m, D]
        top, den, acc = tsr.full(tsr.lowest, m), tsr.zeros(m), tsr.zeros(m, D)
        first = tsr.maximum(m.start + T - S - window + 1, 0) // BLOCK_N * BLOCK_N if window else 0
        if causal and not window and BLOCK_N > BLOCK_M:       # keys that all rows see, in large blocks
            first = tsr.maximum(m.start + T - S, 0) // BLOCK_M * BLOCK_M
            for n in tsr.tile(T, BLOCK_N, stop=first):
                top, den, acc = with_keys(q @ K[b, hk, n, :].T, V[b, hk, n, :], n, scale, top, den, acc)
        for n in tsr.tile(T, BLOCK_M if causal and not window and BLOCK_N > BLOCK_M else BLOCK_N, start=first, stop=m.stop + T - S if causal else T):
            s = q @ K[b, hk, n, :].T                          # fp32 [m, n]
            if causal:
                s = tsr.where(m.index + (T - S) >= n.index, s, -tsr.inf)
            if window:
                s = tsr.where(m.index + (T - S) < n.index + window, s, -tsr.inf)
            top, den, acc = with_keys(s, V[b, hk, n, :], n, scale, top, den, acc)
        O[b, h, m, :] = acc * tsr.where(den > 0, 1 / den, 0)  # a row without keys is 0


@tsr.kernel
def attention_variable(Q: Tensor["S", "H", "D"], K: Tensor["T", "HK", "D"], V: Tensor["T", "HK", "D"], start_q: Tensor["P", i64],
                       start_k: Tensor["P", i64], O: Out["S", "H", "D"], causal: const = False, BLOCK_M: const = 64, BLOCK_N: const = 64):
    """Attention of P - 1 sequences of any lengths, one after the other in Q and in K and V: sequence b has the queries start_q[b] up to
    start_q[b + 1], and the keys likewise."""
    assert H % HK == 0, "H is no multiple of HK"
    scale = math.log2(math.e) / math.sqrt(D)
    for b, h, t in tsr.grid(P - 1, H, tsr.tile(S, BLOCK_M)):
        hk = h // (H // HK)
        first, last, begin, end = start_q[b] + t.start, start_q[b + 1], start_k[b], start_k[b + 1]
        for m in tsr.tile(S, BLOCK_M, start=first, stop=tsr.minimum(first + BLOCK_M, last)):  # once, or not at all
            q = Q[m, h, :]
            top, den, acc = tsr.full(tsr.lowest, m), tsr.zeros(m), tsr.zeros(m, D)
            for n in tsr.tile(T, BLOCK_N, start=begin, stop=end):
                s = q @ K[n, hk, :].T * scale
                if causal:
                    s = tsr.where(m.index - last >= n.index - end, s, -tsr.inf)
                new = tsr.maximum(top, tsr.max(s, n))
                fix, p = tsr.exp2(top - new), tsr.exp2(s - new)
                den = den * fix + tsr.sum(p, n)
                acc = acc * fix + p.to(V.dtype) @ V[n, hk, :]
                top = new
            O[m, h, :] = acc * tsr.where(den > 0, 1 / den, 0)
