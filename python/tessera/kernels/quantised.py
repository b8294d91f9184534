"""Products with weights of 4 bits.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import tessera as tsr
from tessera import Out, Tensor, const, fp32, i32


@tsr.kernel
def gemm_w4a16(A: Tensor["M", "K"], W: Tensor["K//8", "N", i32], scale: Tensor["KG", "N"], C: Out["M", "N"], GROUP: const = 128,
               BLOCK_M: const = 64, BLOCK_N: const = 64):
    """C = A @ weights; quantise() makes W and scale. Nibble j of word i is row i + j * K/8, so that a row of words meets 8 rows of
    A that lie apart, and no element moves between threads."""
    for m, n in tsr.grid(tsr.tile(M, BLOCK_M), tsr.tile(N, BLOCK_N)):
        acc = tsr.zeros(m, n)
        for g in range(KG):
            part = tsr.zeros(m, n)
            for w in tsr.tile(K // 8, GROUP // 8, start=g * (GROUP // 8), stop=(g + 1) * (GROUP // 8)):
                words = W[w, n]
                for j in tsr.unroll(8):
                    rows = ((words >> (4 * j)) & 15) - 8
                    part += A[m, w.index + j * (K // 8)] @ rows.to(A.dtype)
            acc += part * scale[g, n].to(fp32)
        C[m, n] = acc


def quantise(weights, group: int = 128):
    """W and scale of gemm_w4a16 from weights [K, N]: the largest magnitude of `group` rows of a column becomes 7."""
    import numpy as np

    given = np.asarray(weights).astype(np.float32)
    rows, columns = given.shape
    if rows % group or group % 8:
        raise ValueError(f"K ({rows}) must be a multiple of group ({group}), and that of 8")
    # Group g of the kernel has the rows i + j * K/8 with i from g * group/8 on.
    lying = given.reshape(8, rows // group, group // 8, columns)
    scale = np.abs(lying).max(axis=(0, 2)) / 7
    scale[scale == 0] = 1
    whole = np.clip(np.rint(lying / scale[:, None, :]), -8, 7).astype(np.int64) + 8
    words = np.zeros((rows // 8, columns), np.int64)
    for j, part in enumerate(whole.reshape(8, rows // 8, columns)):
        words |= part << (4 * j)
    return words.astype(np.uint32).view(np.int32), scale.astype(np.float32)


def dequantise(words, scale, group: int = 128):
    """The weights [K, N] that gemm_w4a16 multiplies with, in fp32."""
    import numpy as np

    count, columns = words.shape
    whole = np.stack([(words.view(np.uint32) >> (4 * j) & 15).astype(np.float32) - 8 for j in range(8)])
    lying = whole.reshape(8, 8 * count // group, group // 8, columns) * scale[:, None, :]
    return lying.reshape(8 * count, columns)
