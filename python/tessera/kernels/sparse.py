"""Products with a matrix that has two of every four elements of a row (2:4), as tensor cores from sm_80 on multiply them.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import tessera as tsr
from tessera import Out, Tensor, const, i32


@tsr.kernel
def gemm_sparse(A: Tensor["M", "16*W"], meta: Tensor["M", "W", i32], B: Tensor["32*W", "N"], C: Out["M", "N"],
                BLOCK_M: const = 128, BLOCK_N: const = 128, BLOCK_K: const = 64):
    """C = (A spread out by meta) @ B; sparsify() makes A and meta. K is 32 W."""
    for m, n in tsr.grid(tsr.tile(M, BLOCK_M), tsr.tile(N, BLOCK_N), group=8):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(32 * W, BLOCK_K):
            h = tsr.range_at(16 * W, k.start // 2, BLOCK_K // 2)
            w = tsr.range_at(W, k.start // 32, BLOCK_K // 32)
            acc = tsr.mma_sparse(A[m, h], meta[m, w], B[k, n], acc)
        C[m, n] = acc


def sparsify(dense):
    """The two largest magnitudes of every four elements of a row, and where they stood: two bits each, 16 in an i32."""
    import numpy as np

    given = np.asarray(dense)
    rows, k = given.shape
    if k % 32:
        raise ValueError(f"K ({k}) must be a multiple of 32")
    fours = given.reshape(rows, k // 4, 4)
    places = np.sort(np.argsort(-np.abs(fours.astype(np.float64)), axis=2, kind="stable")[:, :, :2], axis=2)
    kept = np.take_along_axis(fours, places, axis=2).reshape(rows, k // 2)
    shifts = 2 * np.arange(16, dtype=np.uint32)
    words = (places.reshape(rows, k // 32, 16).astype(np.uint32) << shifts).sum(axis=2, dtype=np.uint32)
    return np.ascontiguousarray(kept), words.view(np.int32)


def densify(kept, meta):
    """The matrix [M, K] that gemm_sparse multiplies with."""
    import numpy as np

    rows, half = kept.shape
    places = (meta.view(np.uint32)[:, :, None] >> (2 * np.arange(16, dtype=np.uint32)) & 3).reshape(rows, half // 2, 2).astype(np.int64)
    fours = np.zeros((rows, half // 2, 4), kept.dtype)
    np.put_along_axis(fours, places, kept.reshape(rows, half // 2, 2), axis=2)
    return fours.reshape(rows, 2 * half)
