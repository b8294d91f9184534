"""The first function and the first kernel.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import numpy as np

import tessera as tsr
from tessera import Out, Tensor, const


@tsr.function
def add(x, y):
    return x + y


@tsr.kernel
def add_tiles(X: Tensor["N"], Y: Tensor["N"], Z: Out["N"], BLOCK: const = 1024):
    for n in tsr.grid(tsr.tile(N, BLOCK)):
        Z[n] = X[n] + Y[n]


x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
assert (add(x, y) == x + y).all()
assert (add_tiles(x, y) == x + y).all()
print("function and kernel agree with NumPy:", add(x, y)[:4], "...")
