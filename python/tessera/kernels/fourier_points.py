"""Transforms of 2 to 8 points, each a real and an imaginary part; they are inlined into kernels.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import tessera as tsr


@tsr.function
def times(ar, ai, br, bi):
    return tsr.fma(ar, br, -(ai * bi)), tsr.fma(ar, bi, ai * br)


@tsr.function
def two(ar, ai, br, bi):
    return ar + br, ai + bi, ar - br, ai - bi


@tsr.function
def three(ar, ai, br, bi, cr, ci):
    sr, si, dr, di = br + cr, bi + ci, 0.8660254037844386 * (br - cr), 0.8660254037844386 * (bi - ci)
    mr, mi = ar - 0.5 * sr, ai - 0.5 * si
    return ar + sr, ai + si, mr + di, mi - dr, mr - di, mi + dr


@tsr.function
def four(ar, ai, br, bi, cr, ci, dr, di):
    sr, si, tr, ti = ar + cr, ai + ci, ar - cr, ai - ci
    ur, ui, vr, vi = br + dr, bi + di, br - dr, bi - di
    return sr + ur, si + ui, tr + vi, ti - vr, sr - ur, si - ui, tr - vi, ti + vr


@tsr.function
def five(ar, ai, br, bi, cr, ci, dr, di, er, ei):
    pr, pi, qr, qi = br + er, bi + ei, cr + dr, ci + di
    mr, mi, nr, ni = br - er, bi - ei, cr - dr, ci - di
    ur, ui = ar + 0.30901699437494745 * pr - 0.8090169943749475 * qr, ai + 0.30901699437494745 * pi - 0.8090169943749475 * qi
    vr, vi = ar - 0.8090169943749475 * pr + 0.30901699437494745 * qr, ai - 0.8090169943749475 * pi + 0.30901699437494745 * qi
    wr, wi = 0.9510565162951535 * mr + 0.5877852522924731 * nr, 0.9510565162951535 * mi + 0.5877852522924731 * ni
    zr, zi = 0.5877852522924731 * mr - 0.9510565162951535 * nr, 0.5877852522924731 * mi - 0.9510565162951535 * ni
    return ar + pr + qr, ai + pi + qi, ur + wi, ui - wr, vr + zi, vi - zr, vr - zi, vi + zr, ur - wi, ui + wr


@tsr.function
def eighth(r, i):
    """Times e^(-2 pi i / 8)."""
    return 0.7071067811865476 * (r + i), 0.7071067811865476 * (i - r)


@tsr.function
def eight(ar, ai, br, bi, cr, ci, dr, di, er, ei, fr, fi, gr, gi, hr, hi):
    ar, ai, cr, ci, er, ei, gr, gi = four(ar, ai, cr, ci, er, ei, gr, gi)
    br, bi, dr, di, fr, fi, hr, hi = four(br, bi, dr, di, fr, fi, hr, hi)
    dr, di = eighth(dr, di)
    hr, hi = eighth(hi, -hr)
    return (ar + br, ai + bi, cr + dr, ci + di, er + fi, ei - fr, gr + hr, gi + hi,
            ar - br, ai - bi, cr - dr, ci - di, er - fi, ei + fr, gr - hr, gi - hi)
