"""Matrix products.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import tessera as tsr
from tessera import Out, Tensor, const


@tsr.kernel
def gemm(A: Tensor["M", "K"], B: Tensor["K", "N"], C: Out["M", "N"], BLOCK_M: const = 128, BLOCK_N: const = 128, BLOCK_K: const = 64):
    """C = A @ B."""
    for m, n in tsr.grid(tsr.tile(M, BLOCK_M), tsr.tile(N, BLOCK_N), group=8):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, BLOCK_K):
            acc += A[m, k] @ B[k, n]
        C[m, n] = acc


@tsr.kernel
def linear_gelu(X: Tensor["M", "K"], W: Tensor["N", "K"], bias: Tensor["N"], Y: Out["M", "N"],
                BLOCK_M: const = 128, BLOCK_N: const = 128, BLOCK_K: const = 64):
    """Y = gelu(X @ W.T + bias), as a linear layer stores its weights."""
    for m, n in tsr.grid(tsr.tile(M, BLOCK_M), tsr.tile(N, BLOCK_N)):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, BLOCK_K):
            acc += X[m, k] @ W[n, k].T
        Y[m, n] = tsr.gelu(acc + bias[n].to(tsr.fp32))
