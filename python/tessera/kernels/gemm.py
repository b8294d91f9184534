"""Matrix products: one, a batch, and groups of rows that each have their own weights.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import numpy as np
import tessera as tsr
from tessera import Out, Tensor, const, fp32, i8, i64


# Of i8, 64 columns are one line of the cache, few for who packs them from memory; the sums of 256, 64 KB, are more than the first-level cache holds.
@tsr.kernel.schedule(target="cpu", dtype=i8, BLOCK_M=64, BLOCK_N=128)
@tsr.kernel.schedule(target="cpu", BLOCK_M=96, BLOCK_N=64, BLOCK_K=1024, group=4)
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


@tsr.kernel.schedule(target="cpu", dtype=i8, BLOCK_M=64, BLOCK_N=128)
@tsr.kernel.schedule(target="cpu", BLOCK_M=96, BLOCK_N=64, BLOCK_K=1024)
def batched_gemm(A: Tensor["B", "M", "K"], W: Tensor["B", "K", "N"], C: Out["B", "M", "N"],
                 BLOCK_M: const = 128, BLOCK_N: const = 128, BLOCK_K: const = 64, ACC: const = fp32):
    """C[b] = A[b] @ W[b]; ACC as for gemm."""
    for b, m, n in tsr.grid(B, tsr.tile(M, BLOCK_M), tsr.tile(N, BLOCK_N)):
        acc = tsr.zeros(m, n, dtype=ACC)
        for k in tsr.tile(K, BLOCK_K):
            acc = tsr.mma(A[b, m, k], W[b, k, n], acc)
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


@tsr.kernel
def partial_products(A: Tensor["M", "K"], B: Tensor["K", "N"], P: Out["S", "M", "N", fp32], PART: const = 1024,
                     BLOCK_M: const = 128, BLOCK_N: const = 128, BLOCK_K: const = 64):
    """P[s] = the product over PART positions of k from s * PART on."""
    for s, m, n in tsr.grid(S, tsr.tile(M, BLOCK_M), tsr.tile(N, BLOCK_N)):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, BLOCK_K, start=s * PART, stop=tsr.minimum((s + 1) * PART, K)):
            acc += A[m, k] @ B[k, n]
        P[s, m, n] = acc


@tsr.kernel
def sum_of_parts(P: Tensor["S", "M", "N", fp32], C: Out["M", "N"], BLOCK_M: const = 8, BLOCK_N: const = 128):
    """C = the sum of P over its first axis, in order: the same bits every time."""
    for m, n in tsr.grid(tsr.tile(M, BLOCK_M), tsr.tile(N, BLOCK_N)):
        acc = tsr.zeros(m, n)
        for s in range(S):
            acc += P[s, m, n]
        C[m, n] = acc


def gemm_split_k(A, B, C=None, PART: int = 1024, target: str | None = None, **blocks):
    """C = A @ B, with K cut into parts of PART that are multiplied beside each other: for few rows and columns and a long K. Without
    atomics; `C` is made like A if it is not given."""
    if PART < 1:
        raise ValueError(f"PART is at least 1, not {PART}")
    m, n, parts = A.shape[0], B.shape[1], -(-A.shape[1] // PART)
    if hasattr(A, "new_empty"):  # torch
        P, made = A.new_empty((parts, m, n), dtype=__import__("torch").float32), lambda: A.new_empty((m, n))
    else:
        P, made = np.empty((parts, m, n), np.float32), lambda: np.empty((m, n), A.dtype)
    C = made() if C is None else C
    partial_products(A, B, P, PART=PART, target=target, **blocks)
    sum_of_parts(P, C, target=target)
    return C
