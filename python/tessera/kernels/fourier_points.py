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
    sr, si, dr, di = br + cr, bi + ci, br - cr, bi - ci
    mr, mi = tsr.fma(sr, -0.5, ar), tsr.fma(si, -0.5, ai)
    return (ar + sr, ai + si, tsr.fma(di, 0.8660254037844386, mr), tsr.fma(dr, -0.8660254037844386, mi),
            tsr.fma(di, -0.8660254037844386, mr), tsr.fma(dr, 0.8660254037844386, mi))


@tsr.function
def four(ar, ai, br, bi, cr, ci, dr, di):
    sr, si, tr, ti = ar + cr, ai + ci, ar - cr, ai - ci
    ur, ui, vr, vi = br + dr, bi + di, br - dr, bi - di
    return sr + ur, si + ui, tr + vi, ti - vr, sr - ur, si - ui, tr - vi, ti + vr


@tsr.function
def five(ar, ai, br, bi, cr, ci, dr, di, er, ei):
    pr, pi, qr, qi = br + er, bi + ei, cr + dr, ci + di
    mr, mi, nr, ni = br - er, bi - ei, cr - dr, ci - di
    ur, ui = tsr.fma(pr, 0.30901699437494745, ar), tsr.fma(pi, 0.30901699437494745, ai)
    ur, ui = tsr.fma(qr, -0.8090169943749475, ur), tsr.fma(qi, -0.8090169943749475, ui)
    vr, vi = tsr.fma(pr, -0.8090169943749475, ar), tsr.fma(pi, -0.8090169943749475, ai)
    vr, vi = tsr.fma(qr, 0.30901699437494745, vr), tsr.fma(qi, 0.30901699437494745, vi)
    wr, wi = tsr.fma(mr, 0.9510565162951535, 0.5877852522924731 * nr), tsr.fma(mi, 0.9510565162951535, 0.5877852522924731 * ni)
    zr, zi = tsr.fma(mr, 0.5877852522924731, -0.9510565162951535 * nr), tsr.fma(mi, 0.5877852522924731, -0.9510565162951535 * ni)
    return ar + pr + qr, ai + pi + qi, ur + wi, ui - wr, vr + zi, vi - zr, vr - zi, vi + zr, ur - wi, ui + wr


@tsr.function
def eight(ar, ai, br, bi, cr, ci, dr, di, er, ei, fr, fi, gr, gi, hr, hi):
    ar, ai, cr, ci, er, ei, gr, gi = four(ar, ai, cr, ci, er, ei, gr, gi)
    br, bi, dr, di, fr, fi, hr, hi = four(br, bi, dr, di, fr, fi, hr, hi)
    dr, di, hr, hi = dr + di, di - dr, hi - hr, hr + hi  # times e^(-2 pi i / 8) and its third power, but for the factor and the sign of the last
    return (ar + br, ai + bi, tsr.fma(dr, 0.7071067811865476, cr), tsr.fma(di, 0.7071067811865476, ci), er + fi, ei - fr,
            tsr.fma(hr, 0.7071067811865476, gr), tsr.fma(hi, -0.7071067811865476, gi), ar - br, ai - bi, tsr.fma(dr, -0.7071067811865476, cr),
            tsr.fma(di, -0.7071067811865476, ci), er - fi, ei + fr, tsr.fma(hr, -0.7071067811865476, gr), tsr.fma(hi, 0.7071067811865476, gi))
