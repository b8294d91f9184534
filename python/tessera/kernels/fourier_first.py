"""The first stage of a Fourier transform (see `fourier_stages`): real and imaginary parts come as two arrays, and go beside each other.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import tessera as tsr
from tessera import Out, Tensor, const

from .fourier_points import eight, five, four, three, times, two


@tsr.kernel
def first2(XR: Tensor["B", 2, "M", "L"], XI: Tensor["B", 2, "M", "L"], T: Tensor["M", 2, 2], Y: Out["B", "M", 2, 2, "L"], BLOCK: const = 1024):
    for b, p, l in tsr.grid(B, M, tsr.tile(L, BLOCK)):
        ar, ai, br, bi = XR[b, 0, p, l], XI[b, 0, p, l], XR[b, 1, p, l], XI[b, 1, p, l]
        ar, ai, br, bi = two(ar, ai, br, bi)
        Y[b, p, 0, 0, l], Y[b, p, 0, 1, l] = ar, ai
        Y[b, p, 1, 0, l], Y[b, p, 1, 1, l] = times(br, bi, T[p, 1, 0], T[p, 1, 1])


@tsr.kernel
def first3(XR: Tensor["B", 3, "M", "L"], XI: Tensor["B", 3, "M", "L"], T: Tensor["M", 3, 2], Y: Out["B", "M", 3, 2, "L"], BLOCK: const = 1024):
    for b, p, l in tsr.grid(B, M, tsr.tile(L, BLOCK)):
        ar, ai, br, bi, cr, ci = XR[b, 0, p, l], XI[b, 0, p, l], XR[b, 1, p, l], XI[b, 1, p, l], XR[b, 2, p, l], XI[b, 2, p, l]
        ar, ai, br, bi, cr, ci = three(ar, ai, br, bi, cr, ci)
        Y[b, p, 0, 0, l], Y[b, p, 0, 1, l] = ar, ai
        Y[b, p, 1, 0, l], Y[b, p, 1, 1, l] = times(br, bi, T[p, 1, 0], T[p, 1, 1])
        Y[b, p, 2, 0, l], Y[b, p, 2, 1, l] = times(cr, ci, T[p, 2, 0], T[p, 2, 1])


@tsr.kernel
def first4(XR: Tensor["B", 4, "M", "L"], XI: Tensor["B", 4, "M", "L"], T: Tensor["M", 4, 2], Y: Out["B", "M", 4, 2, "L"], BLOCK: const = 1024):
    for b, p, l in tsr.grid(B, M, tsr.tile(L, BLOCK)):
        ar, ai, br, bi, cr, ci, dr, di = XR[b, 0, p, l], XI[b, 0, p, l], XR[b, 1, p, l], XI[b, 1, p, l], XR[b, 2, p, l], XI[b, 2, p, l], XR[b, 3, p, l], XI[b, 3, p, l]
        ar, ai, br, bi, cr, ci, dr, di = four(ar, ai, br, bi, cr, ci, dr, di)
        Y[b, p, 0, 0, l], Y[b, p, 0, 1, l] = ar, ai
        Y[b, p, 1, 0, l], Y[b, p, 1, 1, l] = times(br, bi, T[p, 1, 0], T[p, 1, 1])
        Y[b, p, 2, 0, l], Y[b, p, 2, 1, l] = times(cr, ci, T[p, 2, 0], T[p, 2, 1])
        Y[b, p, 3, 0, l], Y[b, p, 3, 1, l] = times(dr, di, T[p, 3, 0], T[p, 3, 1])


@tsr.kernel
def first5(XR: Tensor["B", 5, "M", "L"], XI: Tensor["B", 5, "M", "L"], T: Tensor["M", 5, 2], Y: Out["B", "M", 5, 2, "L"], BLOCK: const = 1024):
    for b, p, l in tsr.grid(B, M, tsr.tile(L, BLOCK)):
        ar, ai, br, bi, cr, ci, dr, di = XR[b, 0, p, l], XI[b, 0, p, l], XR[b, 1, p, l], XI[b, 1, p, l], XR[b, 2, p, l], XI[b, 2, p, l], XR[b, 3, p, l], XI[b, 3, p, l]
        er, ei = XR[b, 4, p, l], XI[b, 4, p, l]
        ar, ai, br, bi, cr, ci, dr, di, er, ei = five(ar, ai, br, bi, cr, ci, dr, di, er, ei)
        Y[b, p, 0, 0, l], Y[b, p, 0, 1, l] = ar, ai
        Y[b, p, 1, 0, l], Y[b, p, 1, 1, l] = times(br, bi, T[p, 1, 0], T[p, 1, 1])
        Y[b, p, 2, 0, l], Y[b, p, 2, 1, l] = times(cr, ci, T[p, 2, 0], T[p, 2, 1])
        Y[b, p, 3, 0, l], Y[b, p, 3, 1, l] = times(dr, di, T[p, 3, 0], T[p, 3, 1])
        Y[b, p, 4, 0, l], Y[b, p, 4, 1, l] = times(er, ei, T[p, 4, 0], T[p, 4, 1])


@tsr.kernel
def first8(XR: Tensor["B", 8, "M", "L"], XI: Tensor["B", 8, "M", "L"], T: Tensor["M", 8, 2], Y: Out["B", "M", 8, 2, "L"], BLOCK: const = 1024):
    for b, p, l in tsr.grid(B, M, tsr.tile(L, BLOCK)):
        ar, ai, br, bi, cr, ci, dr, di = XR[b, 0, p, l], XI[b, 0, p, l], XR[b, 1, p, l], XI[b, 1, p, l], XR[b, 2, p, l], XI[b, 2, p, l], XR[b, 3, p, l], XI[b, 3, p, l]
        er, ei, fr, fi, gr, gi, hr, hi = XR[b, 4, p, l], XI[b, 4, p, l], XR[b, 5, p, l], XI[b, 5, p, l], XR[b, 6, p, l], XI[b, 6, p, l], XR[b, 7, p, l], XI[b, 7, p, l]
        ar, ai, br, bi, cr, ci, dr, di, er, ei, fr, fi, gr, gi, hr, hi = eight(ar, ai, br, bi, cr, ci, dr, di, er, ei, fr, fi, gr, gi, hr, hi)
        Y[b, p, 0, 0, l], Y[b, p, 0, 1, l] = ar, ai
        Y[b, p, 1, 0, l], Y[b, p, 1, 1, l] = times(br, bi, T[p, 1, 0], T[p, 1, 1])
        Y[b, p, 2, 0, l], Y[b, p, 2, 1, l] = times(cr, ci, T[p, 2, 0], T[p, 2, 1])
        Y[b, p, 3, 0, l], Y[b, p, 3, 1, l] = times(dr, di, T[p, 3, 0], T[p, 3, 1])
        Y[b, p, 4, 0, l], Y[b, p, 4, 1, l] = times(er, ei, T[p, 4, 0], T[p, 4, 1])
        Y[b, p, 5, 0, l], Y[b, p, 5, 1, l] = times(fr, fi, T[p, 5, 0], T[p, 5, 1])
        Y[b, p, 6, 0, l], Y[b, p, 6, 1, l] = times(gr, gi, T[p, 6, 0], T[p, 6, 1])
        Y[b, p, 7, 0, l], Y[b, p, 7, 1, l] = times(hr, hi, T[p, 7, 0], T[p, 7, 1])
