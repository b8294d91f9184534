"""A softmax that reads its row once and keeps a running maximum; with a mistake in it (docs/debugging.md).

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import numpy as np

import tessera as tsr
from tessera import Out, Tensor, const


@tsr.kernel
def softmax(X: Tensor["M", "N"], Y: Out["M", "N"], BN: const = 16):
    for m in tsr.grid(tsr.tile(M, 4)):
        top, den = tsr.full(tsr.lowest, m), tsr.zeros(m)
        for n in tsr.tile(N, BN):
            new = tsr.maximum(top, tsr.max(X[m, n], n))
            top = new
            den = den * tsr.exp(top - new) + tsr.sum(tsr.exp(X[m, n] - new), n)
        for n in tsr.tile(N, BN):
            Y[m, n] = tsr.exp(X[m, n] - top) / den


def plain(X):
    p = np.exp(X - X.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True)


x = np.random.default_rng(0).standard_normal((3, 37)).astype(np.float32)
