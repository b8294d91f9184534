"""Stages of a Fourier transform: each takes one factor R of the N points, for all columns at once.

`X[k, p, q]` holds point (k * M + p) of N = R * M, for S transforms q that earlier stages have begun; the R-point transforms over k go
to `Y[p, k, q]`, times the roots `T[p, k]` = e^(-2 pi i p k / N), and N / R points are left. The last axis is that of the
columns: everything is element-wise along it. Real and imaginary parts are rows beside each other.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import tessera as tsr
from tessera import Out, Tensor, const

from .fourier_points import eight, five, four, three, times, two


@tsr.kernel
def next2(X: Tensor["B", 2, "M", "S", 2, "L"], T: Tensor["M", 2, 2], Y: Out["B", "M", 2, "S", 2, "L"], BLOCK: const = 1024):
    for b, p, q, l in tsr.grid(B, M, S, tsr.tile(L, BLOCK)):
        ar, ai, br, bi = X[b, 0, p, q, 0, l], X[b, 0, p, q, 1, l], X[b, 1, p, q, 0, l], X[b, 1, p, q, 1, l]
        ar, ai, br, bi = two(ar, ai, br, bi)
        Y[b, p, 0, q, 0, l], Y[b, p, 0, q, 1, l] = ar, ai
        Y[b, p, 1, q, 0, l], Y[b, p, 1, q, 1, l] = times(br, bi, T[p, 1, 0], T[p, 1, 1])


@tsr.kernel
def next3(X: Tensor["B", 3, "M", "S", 2, "L"], T: Tensor["M", 3, 2], Y: Out["B", "M", 3, "S", 2, "L"], BLOCK: const = 1024):
    for b, p, q, l in tsr.grid(B, M, S, tsr.tile(L, BLOCK)):
        ar, ai, br, bi, cr, ci = X[b, 0, p, q, 0, l], X[b, 0, p, q, 1, l], X[b, 1, p, q, 0, l], X[b, 1, p, q, 1, l], X[b, 2, p, q, 0, l], X[b, 2, p, q, 1, l]
        ar, ai, br, bi, cr, ci = three(ar, ai, br, bi, cr, ci)
        Y[b, p, 0, q, 0, l], Y[b, p, 0, q, 1, l] = ar, ai
        Y[b, p, 1, q, 0, l], Y[b, p, 1, q, 1, l] = times(br, bi, T[p, 1, 0], T[p, 1, 1])
        Y[b, p, 2, q, 0, l], Y[b, p, 2, q, 1, l] = times(cr, ci, T[p, 2, 0], T[p, 2, 1])


@tsr.kernel
def next4(X: Tensor["B", 4, "M", "S", 2, "L"], T: Tensor["M", 4, 2], Y: Out["B", "M", 4, "S", 2, "L"], BLOCK: const = 1024):
    for b, p, q, l in tsr.grid(B, M, S, tsr.tile(L, BLOCK)):
        ar, ai, br, bi, cr, ci, dr, di = X[b, 0, p, q, 0, l], X[b, 0, p, q, 1, l], X[b, 1, p, q, 0, l], X[b, 1, p, q, 1, l], X[b, 2, p, q, 0, l], X[b, 2, p, q, 1, l], X[b, 3, p, q, 0, l], X[b, 3, p, q, 1, l]
        ar, ai, br, bi, cr, ci, dr, di = four(ar, ai, br, bi, cr, ci, dr, di)
        Y[b, p, 0, q, 0, l], Y[b, p, 0, q, 1, l] = ar, ai
        Y[b, p, 1, q, 0, l], Y[b, p, 1, q, 1, l] = times(br, bi, T[p, 1, 0], T[p, 1, 1])
        Y[b, p, 2, q, 0, l], Y[b, p, 2, q, 1, l] = times(cr, ci, T[p, 2, 0], T[p, 2, 1])
        Y[b, p, 3, q, 0, l], Y[b, p, 3, q, 1, l] = times(dr, di, T[p, 3, 0], T[p, 3, 1])


@tsr.kernel
def next5(X: Tensor["B", 5, "M", "S", 2, "L"], T: Tensor["M", 5, 2], Y: Out["B", "M", 5, "S", 2, "L"], BLOCK: const = 1024):
    for b, p, q, l in tsr.grid(B, M, S, tsr.tile(L, BLOCK)):
        ar, ai, br, bi, cr, ci, dr, di = X[b, 0, p, q, 0, l], X[b, 0, p, q, 1, l], X[b, 1, p, q, 0, l], X[b, 1, p, q, 1, l], X[b, 2, p, q, 0, l], X[b, 2, p, q, 1, l], X[b, 3, p, q, 0, l], X[b, 3, p, q, 1, l]
        er, ei = X[b, 4, p, q, 0, l], X[b, 4, p, q, 1, l]
        ar, ai, br, bi, cr, ci, dr, di, er, ei = five(ar, ai, br, bi, cr, ci, dr, di, er, ei)
        Y[b, p, 0, q, 0, l], Y[b, p, 0, q, 1, l] = ar, ai
        Y[b, p, 1, q, 0, l], Y[b, p, 1, q, 1, l] = times(br, bi, T[p, 1, 0], T[p, 1, 1])
        Y[b, p, 2, q, 0, l], Y[b, p, 2, q, 1, l] = times(cr, ci, T[p, 2, 0], T[p, 2, 1])
        Y[b, p, 3, q, 0, l], Y[b, p, 3, q, 1, l] = times(dr, di, T[p, 3, 0], T[p, 3, 1])
        Y[b, p, 4, q, 0, l], Y[b, p, 4, q, 1, l] = times(er, ei, T[p, 4, 0], T[p, 4, 1])


@tsr.kernel
def next8(X: Tensor["B", 8, "M", "S", 2, "L"], T: Tensor["M", 8, 2], Y: Out["B", "M", 8, "S", 2, "L"], BLOCK: const = 1024):
    for b, p, q, l in tsr.grid(B, M, S, tsr.tile(L, BLOCK)):
        ar, ai, br, bi, cr, ci, dr, di = X[b, 0, p, q, 0, l], X[b, 0, p, q, 1, l], X[b, 1, p, q, 0, l], X[b, 1, p, q, 1, l], X[b, 2, p, q, 0, l], X[b, 2, p, q, 1, l], X[b, 3, p, q, 0, l], X[b, 3, p, q, 1, l]
        er, ei, fr, fi, gr, gi, hr, hi = X[b, 4, p, q, 0, l], X[b, 4, p, q, 1, l], X[b, 5, p, q, 0, l], X[b, 5, p, q, 1, l], X[b, 6, p, q, 0, l], X[b, 6, p, q, 1, l], X[b, 7, p, q, 0, l], X[b, 7, p, q, 1, l]
        ar, ai, br, bi, cr, ci, dr, di, er, ei, fr, fi, gr, gi, hr, hi = eight(ar, ai, br, bi, cr, ci, dr, di, er, ei, fr, fi, gr, gi, hr, hi)
        Y[b, p, 0, q, 0, l], Y[b, p, 0, q, 1, l] = ar, ai
        Y[b, p, 1, q, 0, l], Y[b, p, 1, q, 1, l] = times(br, bi, T[p, 1, 0], T[p, 1, 1])
        Y[b, p, 2, q, 0, l], Y[b, p, 2, q, 1, l] = times(cr, ci, T[p, 2, 0], T[p, 2, 1])
        Y[b, p, 3, q, 0, l], Y[b, p, 3, q, 1, l] = times(dr, di, T[p, 3, 0], T[p, 3, 1])
        Y[b, p, 4, q, 0, l], Y[b, p, 4, q, 1, l] = times(er, ei, T[p, 4, 0], T[p, 4, 1])
        Y[b, p, 5, q, 0, l], Y[b, p, 5, q, 1, l] = times(fr, fi, T[p, 5, 0], T[p, 5, 1])
        Y[b, p, 6, q, 0, l], Y[b, p, 6, q, 1, l] = times(gr, gi, T[p, 6, 0], T[p, 6, 1])
        Y[b, p, 7, q, 0, l], Y[b, p, 7, q, 1, l] = times(hr, hi, T[p, 7, 0], T[p, 7, 1])


@tsr.kernel
def transpose(X: Tensor["B", "M", "C", "N"], Y: Out["B", "N", "C", "M"], BM: const = 64, BN: const = 64):
    for b, c, m, n in tsr.grid(B, C, tsr.tile(M, BM), tsr.tile(N, BN)):
        Y[b, n, c, m] = X[b, m, c, n].T


@tsr.kernel
def room(X: Tensor["B", "M", "C", "N"], Y: Out["B", "N", "C", "M"]):
    """Memory of the pool for a transpose; what is in it is up to others."""
    for b in tsr.grid(B):
        Y[b, 0, 0, 0] = X[b, 0, 0, 0]
