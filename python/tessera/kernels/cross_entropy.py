"""Cross entropy of logits with class numbers, rows of any length.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import tessera as tsr
from tessera import Out, Tensor, const, fp32, i64


@tsr.kernel
def cross_entropy(X: Tensor["M", "N"], label: Tensor["M", i64], loss: Out["M", fp32], total: Out["M", fp32],
                  IGNORED: const = -100, BLOCK_M: const = 4, BLOCK_N: const = 1024):
    """loss = total - x[label] with total = log(sum(exp(x))), which the gradient needs again; 0 where the label is IGNORED, NaN where it is no class."""
    for m in tsr.grid(tsr.tile(M, BLOCK_M)):
        wanted = label[m]
        top, den, picked = tsr.full(tsr.lowest, m), tsr.zeros(m), tsr.zeros(m)
        for n in tsr.tile(N, BLOCK_N):
            x = X[m, n].to(fp32)
            new = tsr.maximum(top, tsr.max(x, n))
            den = den * tsr.exp(top - new) + tsr.sum(tsr.exp(x - new), n)
            picked += tsr.sum(tsr.where(n.index == wanted, x, 0.0), n)
            top = new
        sums = top + tsr.log(den)
        known = (wanted >= 0) & (wanted < N)
        loss[m] = tsr.where(wanted == IGNORED, 0.0, tsr.where(known, sums - picked, tsr.nan))
        total[m] = sums


@tsr.kernel
def cross_entropy_gradient(X: Tensor["M", "N"], label: Tensor["M", i64], total: Tensor["M", fp32], dLoss: Tensor["M", fp32],
                           dX: Out["M", "N"], IGNORED: const = -100, BLOCK_M: const = 4, BLOCK_N: const = 1024):
    for m, n in tsr.grid(tsr.tile(M, BLOCK_M), tsr.tile(N, BLOCK_N)):
        p = tsr.exp(X[m, n].to(fp32) - total[m])
        gradient = (p - tsr.where(n.index == label[m], 1.0, 0.0)) * dLoss[m]
        dX[m, n] = tsr.where(label[m] == IGNORED, 0.0, gradient)
