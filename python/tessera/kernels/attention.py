"""Attention that never writes the scores to memory.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math

import tessera as tsr
from tessera import Out, Tensor, const


@tsr.kernel
def flash_attention(Q: Tensor["B", "H", "S", "D"], K: Tensor["B", "HK", "T", "D"], V: Tensor["B", "HK", "T", "D"],
                    O: Out["B", "H", "S", "D"], causal: const = False, BLOCK_M: const = 128, BLOCK_N: const = 64):
    """softmax(Q K^T / sqrt(D)) V with grouped heads; a query sees the keys up to its own position if causal."""
    scale = math.log2(math.e) / math.sqrt(D)
    for b, h, m in tsr.grid(B, H, tsr.tile(S, BLOCK_M)):
        hk = h // (H // HK)                                   # grouped heads share a key/value head
        q = Q[b, h, m, :]                                     # [m, D]
        top, den, acc = tsr.full(tsr.lowest, m), tsr.zeros(m), tsr.zeros(m, D)
        for n in tsr.tile(T, BLOCK_N, stop=m.stop + T - S if causal else T):
            s = q @ K[b, hk, n, :].T * scale                  # fp32 [m, n]
            if causal:                                        # the compiler splits off the tiles where this is all true
                s = tsr.where(m.index + (T - S) >= n.index, s, -tsr.inf)
            new = tsr.maximum(top, tsr.max(s, n))
            p, fix = tsr.exp2(s - new), tsr.exp2(top - new)
            den = den * fix + tsr.sum(p, n)
            acc = acc * fix + p.to(V.dtype) @ V[b, hk, n, :]
            top = new
        O[b, h, m, :] = tsr.where(den > 0, acc / den, 0)      # a row without keys is 0
