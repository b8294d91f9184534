"""The stages of a Fourier transform along the first axis of a matrix, each element-wise along the second.

A stage takes one factor R of the N points: row (k * M + p) * S + q of N = R * M * S holds point k of an R-point transform, of which
S have been begun by earlier stages; its result k goes to row (p * R + k) * S + q, times e^(-2 pi i p k / (R * M)).

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import functools

import numpy as np

import tessera as tsr

from .fourier_points import eight, five, four, three, times, two

STAGES = 6  # at most


@tsr.function
def point(X, b, t, j, c, row, place):
    """A row of complex numbers: of columns, of a row that is taken as a matrix, or of memory to work in, where parts are rows."""
    if place == "columns":
        return X[b, row, t, j, c, 0], X[b, row, t, j, c, 1]
    if place == "row":
        return X[b, t, j, row, c, 0], X[b, t, j, row, c, 1]
    return X[b, t, row, 0, c], X[b, t, row, 1, c]


@tsr.function
def put(Y, b, t, j, c, row, place, r, i):
    if place == "columns":
        Y[b, row, t, j, c, 0] = r
        Y[b, row, t, j, c, 1] = i
    elif place == "row":
        Y[b, t, j, row, c, 0] = r
        Y[b, t, j, row, c, 1] = i
    else:
        Y[b, t, row, 0, c] = r
        Y[b, t, row, 1, c] = i


@tsr.function
def put_turned(T, Y, b, t, j, c, root, row, place, r, i, last):
    """Times the root; in the last stage all are 1."""
    if not last:
        r, i = times(r, i, T[root, 0], T[root, 1])
    put(Y, b, t, j, c, row, place, r, i)


@tsr.function
def step(X, T, Y, b, t, j, c, source, goal, R, row, apart, to, by, root, last):
    """One transform of R points, from rows `row + k * apart` to rows `to + k * by`."""
    ar, ai = point(X, b, t, j, c, row, source)
    br, bi = point(X, b, t, j, c, row + apart, source)
    if R > 2:
        cr, ci = point(X, b, t, j, c, row + 2 * apart, source)
    if R > 3:
        dr, di = point(X, b, t, j, c, row + 3 * apart, source)
    if R > 4:
        er, ei = point(X, b, t, j, c, row + 4 * apart, source)
    if R > 5:
        fr, fi = point(X, b, t, j, c, row + 5 * apart, source)
        gr, gi = point(X, b, t, j, c, row + 6 * apart, source)
        hr, hi = point(X, b, t, j, c, row + 7 * apart, source)
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
    put(Y, b, t, j, c, to, goal, ar, ai)
    put_turned(T, Y, b, t, j, c, root + 1, to + by, goal, br, bi, last)
    if R > 2:
        put_turned(T, Y, b, t, j, c, root + 2, to + 2 * by, goal, cr, ci, last)
    if R > 3:
        put_turned(T, Y, b, t, j, c, root + 3, to + 3 * by, goal, dr, di, last)
    if R > 4:
        put_turned(T, Y, b, t, j, c, root + 4, to + 4 * by, goal, er, ei, last)
    if R > 5:
        put_turned(T, Y, b, t, j, c, root + 5, to + 5 * by, goal, fr, fi, last)
        put_turned(T, Y, b, t, j, c, root + 6, to + 6 * by, goal, gr, gi, last)
        put_turned(T, Y, b, t, j, c, root + 7, to + 7 * by, goal, hr, hi, last)


@tsr.function
def pair(X, T, U, Y, b, t, j, c, source, goal, at, R, Q, M, S):
    """Two stages, of R and of Q points: what they have in common is little, and in U between them."""
    for up in tsr.tile(M, 1):
        for along in tsr.tile(S, 1):
            p, q = up.start, along.start
            if Q == 1:
                step(X, T, Y, b, t, j, c, source, goal, R, p * S + q, M * S, p * (R * S) + q, S, at + p * R, M == 1)
            else:
                for one in tsr.tile(Q, 1):
                    k = one.start
                    step(X, T, U, b, t, j, c, source, "near", R, (k * M + p) * S + q, Q * M * S, k * R, 1, at + (k * M + p) * R, False)
                for one in tsr.tile(R, 1):
                    k = one.start
                    step(U, T, Y, b, t, j, c, "near", goal, Q, k, R, p * (Q * R * S) + k * S + q, R * S, at + R * Q * M + p * Q, M == 1)


@tsr.function
def stages(X, T, U, V, W, Y, b, t, j, c, source, goal, r1, r2, r3, r4, r5, r6):
    """All of them, in pairs, with V and W between; X may be Y."""
    m1, m2, s1 = r3 * r4 * r5 * r6, r5 * r6, r1 * r2
    a2, a3 = (s1 + r2) * m1, (s1 + r2 + 1) * m1 + r4 * m2
    if m1 == 1:
        pair(X, T, U, Y, b, t, j, c, source, goal, 0, r1, r2, 1, 1)
    else:
        pair(X, T, U, V, b, t, j, c, source, "near", 0, r1, r2, m1, 1)
        if m2 == 1:
            pair(V, T, U, Y, b, t, j, c, "near", goal, a2, r3, r4, 1, s1)
        else:
            pair(V, T, U, W, b, t, j, c, "near", "near", a2, r3, r4, m2, s1)
            pair(W, T, U, Y, b, t, j, c, "near", goal, a3, r5, r6, 1, s1 * r3 * r4)


def padded(radices: tuple) -> tuple:
    """A radix for every stage: 1 for those that there are not."""
    return (*radices, *(1,) * STAGES)[:STAGES]


def near(radices: tuple) -> int:
    """The rows of U."""
    pairs = padded(radices)
    return max(a * b for a, b in zip(pairs[::2], pairs[1::2]))


@functools.lru_cache(maxsize=64)
def roots(radices: tuple, dtype: str) -> np.ndarray:
    """Those of all stages, one after the other, computed in float64."""
    parts, left = [], int(np.prod(radices))
    for r in padded(radices):
        angle = -2 * np.pi * np.outer(np.arange(left // r), np.arange(r)).ravel() / left
        parts.append(np.stack([np.cos(angle), np.sin(angle)], -1))
        left //= r
    return np.concatenate(parts).astype(dtype)
