"""Fourier transforms of columns: all stages of a block of them in one program, which then writes it transposed.

A stage takes one factor R of the N points: row (k * M + p) * S + q of N = R * M * S holds point k of an R-point transform, of which
S have been begun by earlier stages; its result k goes to row (p * R + k) * S + q, times e^(-2 pi i p k / (R * M)). Everything is
element-wise along the columns. Between the stages a block is in memory of the program's own, which is written again for the
next block and so stays near; real and imaginary parts are rows beside each other.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import functools

import numpy as np

import tessera as tsr
from tessera import InOut, Out, Tensor

from .fourier_points import eight, five, four, three, times, two

STAGES = 6  # at most


@tsr.function
def point(X, b, t, j, c, row, first):
    if first:
        return X[b, row, t, j, c, 0], X[b, row, t, j, c, 1]
    return X[b, t, 2 * row, c], X[b, t, 2 * row + 1, c]


@tsr.function
def put(Y, b, t, c, row, r, i):
    Y[b, t, 2 * row, c] = r
    Y[b, t, 2 * row + 1, c] = i


@tsr.function
def put_turned(T, Y, b, t, c, root, row, r, i, last):
    """Times the root; in the last stage all are 1."""
    if not last:
        r, i = times(r, i, T[root, 0], T[root, 1])
    put(Y, b, t, c, row, r, i)


@tsr.function
def step(X, T, Y, b, t, j, c, first, R, row, apart, to, by, root, last):
    """One transform of R points, from rows `row + k * apart` to rows `to + k * by`."""
    ar, ai = point(X, b, t, j, c, row, first)
    br, bi = point(X, b, t, j, c, row + apart, first)
    if R > 2:
        cr, ci = point(X, b, t, j, c, row + 2 * apart, first)
    if R > 3:
        dr, di = point(X, b, t, j, c, row + 3 * apart, first)
    if R > 4:
        er, ei = point(X, b, t, j, c, row + 4 * apart, first)
    if R > 5:
        fr, fi = point(X, b, t, j, c, row + 5 * apart, first)
        gr, gi = point(X, b, t, j, c, row + 6 * apart, first)
        hr, hi = point(X, b, t, j, c, row + 7 * apart, first)
    if R == 2:
        ar, ai, br, bi = two(ar, ai, br, bi)
    elif R == 3:
        ar, ai, br, bi, cr, ci = three(ar, ai, br, bi, cr, ci)
    elif R == 4:
        ar, ai, br, bi, cr, ci, dr, di = four(ar, ai, br, bi, cr, ci, dr, di)
    elif R == 5:
        ar, ai, br, bi, cr, ci, dr, di, er, ei = five(ar, ai, br, bi, cr, ci, dr, di, er, ei)
    else:
        ar, ai, br, bi, cr, ci, dr, di, er, ei, fr, fi, gr, gi, hr, hi = eight(ar, ai, br, bi, cr, ci, dr, di, er, ei, fr, fi, gr, gi, hr, hi)
    put(Y, b, t, c, to, ar, ai)
    put_turned(T, Y, b, t, c, root + 1, to + by, br, bi, last)
    if R > 2:
        put_turned(T, Y, b, t, c, root + 2, to + 2 * by, cr, ci, last)
    if R > 3:
        put_turned(T, Y, b, t, c, root + 3, to + 3 * by, dr, di, last)
    if R > 4:
        put_turned(T, Y, b, t, c, root + 4, to + 4 * by, er, ei, last)
    if R > 5:
        put_turned(T, Y, b, t, c, root + 5, to + 5 * by, fr, fi, last)
        put_turned(T, Y, b, t, c, root + 6, to + 6 * by, gr, gi, last)
        put_turned(T, Y, b, t, c, root + 7, to + 7 * by, hr, hi, last)


@tsr.function
def stages(X, T, U, Y, b, t, j, c, first, at, R, Q, M, S):
    """Two stages, of R and of Q points: what they have in common is little, and in U between them."""
    for up in tsr.tile(M, 1):
        for along in tsr.tile(S, 1):
            p, q = up.start, along.start
            if Q == 1:
                step(X, T, Y, b, t, j, c, first, R, p * S + q, M * S, p * (R * S) + q, S, at + p * R, M == 1)
            else:
                for one in tsr.tile(Q, 1):
                    k = one.start
                    step(X, T, U, b, t, j, c, first, R, (k * M + p) * S + q, Q * M * S, k * R, 1, at + (k * M + p) * R, False)
                for one in tsr.tile(R, 1):
                    k = one.start
                    step(U, T, Y, b, t, j, c, False, Q, k, R, p * (Q * R * S) + k * S + q, R * S, at + R * Q * M + p * Q, M == 1)


def padded(radices: tuple) -> tuple:
    """A radix for every stage: 1 for those that there are not."""
    return (*radices, *(1,) * STAGES)[:STAGES]


def near(radices: tuple) -> int:
    """The rows of U."""
    pairs = padded(radices)
    return 2 * max(a * b for a, b in zip(pairs[::2], pairs[1::2]))


@functools.lru_cache(maxsize=64)
def columns(radices: tuple, Q: int):
    """The kernel for columns of as many points as the product of `radices`, at most six, Q blocks to a program."""
    r1, r2, r3, r4, r5, r6 = padded(radices)
    m1, m2 = r3 * r4 * r5 * r6, r5 * r6
    n, s2, s3 = r1 * r2 * m1, r1 * r2, r1 * r2 * r3 * r4
    a2, rows = n + r2 * m1, n + r2 * m1 + m1 + r4 * m2 + m2 + r6
    most, odd = near(radices), (len(radices) + 1) // 2 % 2 == 1

    @tsr.kernel
    def transform_columns(X: Tensor["B", n, "T", Q, "C", 2], R: Tensor[rows, 2], U: InOut["B", "T", most, "C"],
                          V: InOut["B", "T", "P", "C"], W: InOut["B", "T", "P", "C"], Y: Out["B", "T", Q, "C", "P"]):
        for b, t in tsr.grid(B, T):  # noqa: F821
            for block in tsr.tile(Q, 1):
                j = block.start
                assert most >= 2 * r1 * r2, "U has too few rows"
                for c in tsr.tile(C, 64):  # noqa: F821
                    stages(X, R, U, V, b, t, j, c, True, 0, r1, r2, n // (r1 * r2), 1)
                    if r3 > 1:
                        stages(V, R, U, W, b, t, j, c, False, a2, r3, r4, m2, s2)
                    if r5 > 1:
                        stages(W, R, U, V, b, t, j, c, False, rows - m2 - r6, r5, r6, 1, s3)
                    Y[b, t, j, c, :] = V[b, t, :, c].T if odd else W[b, t, :, c].T

    return transform_columns


@functools.lru_cache(maxsize=64)
def roots(radices: tuple, dtype: str) -> np.ndarray:
    """Those of all stages, one after the other, computed in float64."""
    parts, left = [], int(np.prod(radices))
    for r in padded(radices):
        angle = -2 * np.pi * np.outer(np.arange(left // r), np.arange(r)).ravel() / left
        parts.append(np.stack([np.cos(angle), np.sin(angle)], -1))
        left //= r
    return np.concatenate(parts).astype(dtype)
