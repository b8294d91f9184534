"""A matrix product, and a look at what the compiler made of it.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import numpy as np

import tessera as tsr
from tessera import Out, Tensor, const


@tsr.kernel
def gemm(A: Tensor["M", "K"], B: Tensor["K", "N"], C: Out["M", "N"], BM: const = 128, BN: const = 128, BK: const = 64):
    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN), group=8):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, BK):
            acc += A[m, k] @ B[k, n]
        C[m, n] = acc


rng = np.random.default_rng(0)
A, B = rng.standard_normal((1000, 513)).astype(np.float32), rng.standard_normal((513, 777)).astype(np.float32)
print("largest difference to NumPy:", np.abs(gemm(A, B) - A @ B).max())
print(gemm.inspect_ir("tile-value"))
print(gemm.explain())
