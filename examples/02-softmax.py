"""A row-wise kernel: no masks, any width.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import numpy as np

import tessera as tsr
from tessera import Out, Tensor, const, fp32


@tsr.kernel
def softmax(X: Tensor["M", "N"], Y: Out["M", "N"], BLOCK: const = 4):
    for m in tsr.grid(tsr.tile(M, BLOCK)):
        x = X[m, :].to(fp32)
        e = tsr.exp(x - tsr.max(x, N))
        Y[m, :] = e / tsr.sum(e, N)


x = np.random.default_rng(0).standard_normal((100, 777)).astype(np.float32)
y = softmax(x)
e = np.exp(x - x.max(-1, keepdims=True))
print("largest difference to NumPy:", np.abs(y - e / e.sum(-1, keepdims=True)).max())
