"""Fourier transforms of columns and of rows: all stages of a block of columns, or of a row, in one program.

Columns are transformed where they are. A row of P * M points is a matrix [P, M]: its columns are transformed, turned by roots and
transposed, and the columns of that are transformed, so that vectors are along memory and there is one transposition. Between the
stages a block is in memory of the program's own, which is written again for the next block and so stays near; real and imaginary
parts are rows beside each other.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import functools

import numpy as np

import tessera as tsr
from tessera import InOut, Out, Tensor

from .fourier_points import times
from .fourier_stages import near, padded, roots, stages


@functools.lru_cache(maxsize=64)
def columns(radices: tuple, T: int, Q: int, C: int):
    """The kernel for columns of as many points as the product of `radices`, at most six: T programs with Q blocks of C."""
    r1, r2, r3, r4, r5, r6 = padded(radices)
    n, most, count = r1 * r2 * r3 * r4 * r5 * r6, near(radices), len(roots(radices, "float32"))

    @tsr.kernel
    def transform_columns(X: InOut["B", n, T, Q, C, 2], R: Tensor[count, 2], U: InOut["B", T, most, 2, C], V: InOut["B", T, n, 2, C],
                          W: InOut["B", T, n, 2, C]):
        for b, t in tsr.grid(B, T):  # noqa: F821
            for block in tsr.tile(Q, 1):
                assert n >= most and count >= n, "too few rows"
                for c in tsr.tile(C, C):
                    stages(X, R, U, V, W, X, b, t, block.start, c, "columns", "columns", r1, r2, r3, r4, r5, r6)

    return transform_columns


@functools.lru_cache(maxsize=64)
def rows(down: tuple, along: tuple, T: int, Q: int):
    """The kernel for rows of P * M points, the products of `down` and of `along`, at most four: T programs with Q rows."""
    r1, r2, r3, r4, _, _ = padded(down)
    s1, s2, s3, s4, _, _ = padded(along)
    p, m, most, least = r1 * r2 * r3 * r4, s1 * s2 * s3 * s4, near(down), near(along)
    before, after = len(roots(down, "float32")), len(roots(along, "float32"))

    @tsr.kernel
    def transform_rows(X: Tensor["B", T, Q, "P", "M", 2], R: Tensor[before, 2], S: Tensor[after, 2], Z: Tensor["P", 2, "M"],
                       U: InOut["B", T, most, 2, "M"], V: InOut["B", T, "P", 2, "M"], A: InOut["B", T, "P", 2, "M"],
                       F: InOut["B", T, "M", 2, "P"], W: InOut["B", T, "M", 2, "P"], E: InOut["B", T, least, 2, "P"],
                       Y: Out["B", T, Q, "M", "P", 2]):
        for b, t in tsr.grid(B, T):  # noqa: F821
            for row in tsr.tile(Q, 1):
                assert before >= most and after >= least, "too few roots"
                for c in tsr.tile(M, m):  # noqa: F821
                    stages(X, R, U, V, V, A, b, t, row.start, c, "row", "near", r1, r2, r3, r4, 1, 1)
                r, i = times(A[b, t, :, 0, :], A[b, t, :, 1, :], Z[:, 0, :], Z[:, 1, :])
                F[b, t, :, 0, :] = r.T
                F[b, t, :, 1, :] = i.T
                for c in tsr.tile(P, p):  # noqa: F821
                    stages(F, S, E, W, W, Y, b, t, row.start, c, "near", "row", s1, s2, s3, s4, 1, 1)

    return transform_rows


@functools.lru_cache(maxsize=64)
def turns(down: tuple, along: tuple, dtype: str) -> np.ndarray:
    """The roots between both halves of a row's transform, parts as rows."""
    p, m = int(np.prod(down)), int(np.prod(along))
    angle = -2 * np.pi * np.outer(np.arange(p), np.arange(m)) / (p * m)
    return np.stack([np.cos(angle), np.sin(angle)], 1).astype(dtype)
