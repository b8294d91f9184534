"""Matrix products: one, a batch, and groups of rows that each have their own weights.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import tessera as tsr
from tessera import Out, Tensor, const, fp32, i64


@tsr.kernel
def gemm(A: Tensor["M", "K"], B: Tensor["K", "N"], C: Out["M", "N"], BLOCK_M: const = 128, BLOCK_N: const = 128, BLOCK_K: const = 64, ACC: const = fp32,
         PRECISION: const = "ieee"):
    """C = A @ B; ACC is i32 for i8, fp64 for fp64; PRECISION "tf32" lets fp32 be multiplied with 11 significant bits."""
    for m, n in tsr.grid(tsr.tile(M, BLOCK_M), tsr.tile(N, BLOCK_N), group=8):
        acc = tsr.zeros(m, n, dtype=ACC)
        for k in tsr.tile(K, BLOCK_K):
            acc = tsr.mma(A[m, k], B[k, n], acc, precision=PRECISION)
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


@tsr.kernel
def batched_gemm(A: Tensor["B", "M", "K"], W: Tensor["B", "K", "N"], C: Out["B", "M", "N"],
                 BLOCK_M: const = 128, BLOCK_N: const = 128, BLOCK_K: const = 64):
    """C[b] = A[b] @ W[b]."""
    for b, m, n in tsr.grid(B, tsr.tile(M, BLOCK_M), tsr.tile(N, BLOCK_N)):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, BLOCK_K):
            acc += A[b, m, k] @ W[b, k, n]
        C[b, m, n] = acc


@tsr.kernel
def grouped_gemm(A: Tensor["M", "K"], W: Tensor["G", "K", "N"], start: Tensor["G+1", i64], C: Out["M", "N"],
                 BLOCK_M: const = 64, BLOCK_N: const = 128, BLOCK_K: const = 64):
    """C[r] = A[r] @ W[g] for the rows r of group g: start[g] up to start[g + 1], as tokens are sorted by expert."""
    for g, t, n in tsr.grid(G, tsr.tile(M, BLOCK_M), tsr.tile(N, BLOCK_N)):
        first, last = start[g] + t.start, start[g + 1]
        m = tsr.range_at(M, first, BLOCK_M)
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, BLOCK_K, stop=K if first < last else 0):
            acc += A[m, k] @ W[g, k, n]
        tsr.store(C, (m, n), acc, mask=m.index < last)
