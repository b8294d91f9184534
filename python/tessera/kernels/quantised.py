"""Products with weights of 4 bits, and of 8-bit floats with factors for blocks of them.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import tessera as tsr
from tessera import Out, Tensor, const, fp32, i8, i32


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


@tsr.kernel
def gemm_fp8_blocks(A: Tensor["M", "128*G"], SA: Tensor["M", "G", fp32], B: Tensor["128*G", "N"], SB: Tensor["G", "NB", fp32], C: Out["M", "N"],
                    BLOCK_M: const = 64, BLOCK_N: const = 128):
    """C = (A * SA) @ (B * SB) of fp8, one factor for 128 elements of a row of A and for 128 x 128 of B, applied in fp32. K is 128 G."""
    for m, n in tsr.grid(tsr.tile(M, BLOCK_M), tsr.tile(N, BLOCK_N), group=8):
        acc = tsr.zeros(m, n)
        for g in range(G):
            k = tsr.range_at(128 * G, g * 128, 128)
            acc += A[m, k] @ B[k, n] * (SA[m, g] * SB[g, n.start // 128])
        C[m, n] = acc


@tsr.kernel
def gemm_mx(A: Tensor["M", "32*S"], SA: Tensor["M", "S", i8], B: Tensor["32*S", "N"], SB: Tensor["S", "N", i8], C: Out["M", "N"],
            BLOCK_M: const = 128, BLOCK_N: const = 128, BLOCK_K: const = 64):
    """C = A @ B of fp8 in the OCP microscaling form: one factor 2^(e - 127) for 32 elements along K, e as the byte
    of an i8; quantise_mx() makes them. On
    sm_120a the tensor cores apply the factors."""
    for m, n in tsr.grid(tsr.tile(M, BLOCK_M), tsr.tile(N, BLOCK_N), group=8):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(32 * S, BLOCK_K):
            s = tsr.range_at(S, k.start // 32, BLOCK_K // 32)
            acc = tsr.mma_scaled(A[m, k], SA[m, s], B[k, n], SB[s, n], acc)
        C[m, n] = acc


def quantise_mx(x, axis: int = 1):
    """x [M, K] (axis=1) or [K, N] (axis=0) as fp8_e4m3 and the exponents of its blocks of 32 along the axis, as OCP's MX v1.0 has them."""
    import ml_dtypes
    import numpy as np

    given = np.moveaxis(np.asarray(x, dtype=np.float64), axis, -1)
    if given.shape[-1] % 32:
        raise ValueError(f"K ({given.shape[-1]}) must be a multiple of 32")
    blocks = given.reshape(*given.shape[:-1], -1, 32)
    largest = np.abs(blocks).max(axis=-1)
    exponent = np.where(largest > 0, np.floor(np.log2(np.where(largest > 0, largest, 1))) - 8, -127)  # 8: the largest exponent of e4m3
    exponent = np.clip(exponent, -127, 127)
    rounded = np.clip(blocks / np.exp2(exponent)[..., None], -448, 448).astype(ml_dtypes.float8_e4m3fn).reshape(given.shape)
    turn = lambda a: np.ascontiguousarray(np.moveaxis(a, -1, axis))  # noqa: E731
    return turn(rounded), turn((exponent + 127).astype(np.uint8).view(np.int8))


def dequantise_mx(x, exponents, axis: int = 1):
    """What quantise_mx stands for, in float64."""
    import numpy as np

    factors = np.where(exponents == -1, np.nan, np.exp2(exponents.view(np.uint8).astype(np.float64) - 127))
    return np.asarray(x, dtype=np.float64) * np.repeat(factors, 32, axis=axis)
