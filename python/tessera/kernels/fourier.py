"""Fourier transforms of one axis and of two.

Of one axis, as matrix products: a transform of N = P * Q points is P-point transforms of Q columns, a twiddle factor per
element, and Q-point transforms of P rows: products, which matrix units do, and any N is welcome. The factors of N decide the
work: 2 * N * (P + Q) complex multiply-adds; a prime N is one N-point product.

Of two axes on the CPU, where both sizes are products of 2, 3 and 5: in stages of 2 to 8 points (`fourier_plan`), first of the
rows, then of the columns of that, where they are.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import functools
import math
import threading

import numpy as np

import tessera as tsr
from tessera import Out, Tensor
from tessera.kernels.fourier_plan import halves, plan, radices


@tsr.kernel
def transform(XR: Tensor["B", "P", "Q"], XI: Tensor["B", "P", "Q"], FR: Tensor["A", "P"], FI: Tensor["A", "P"],
              TR: Tensor["A", "Q"], TI: Tensor["A", "Q"], GR: Tensor["Q", "C"], GI: Tensor["Q", "C"],
              YR: Out["B", "C", "A"], YI: Out["B", "C", "A"]):
    """Y = ((F @ X) * T @ G).T, complex numbers as two planes; one program per row."""
    for b in tsr.grid(B):
        xr, xi, fr, fi = XR[b, :, :], XI[b, :, :], FR[:, :], FI[:, :]
        yr, yi = fr @ xr - fi @ xi, fr @ xi + fi @ xr
        tr, ti, gr, gi = TR[:, :], TI[:, :], GR[:, :], GI[:, :]
        zr, zi = yr * tr - yi * ti, yr * ti + yi * tr
        YR[b, :, :] = (zr @ gr - zi @ gi).T
        YI[b, :, :] = (zr @ gi + zi @ gr).T


@functools.lru_cache(maxsize=64)
def _tables(n: int, sign: int, dtype: str) -> tuple:
    """P, Q, and F, T, G of the kernel, computed in float64."""
    p = max(d for d in range(1, math.isqrt(n) + 1) if n % d == 0)
    q = n // p

    def roots(rows, columns, turn):
        angle = sign * 2 * np.pi * ((np.arange(rows)[:, None] * np.arange(columns)) % turn) / turn
        return np.cos(angle).astype(dtype), np.sin(angle).astype(dtype)

    return p, q, (*roots(p, p, p), *roots(p, q, n), *roots(q, q, q))


def fft(x: np.ndarray, axis: int = -1, inverse: bool = False, target=None) -> np.ndarray:
    """numpy.fft.fft (ifft) of complex64 or complex128; real input becomes complex."""
    x = np.asarray(x)
    wide = x.dtype in (np.float64, np.complex128)
    x = np.moveaxis(x.astype(np.complex128 if wide else np.complex64, copy=False), axis, -1)
    n = x.shape[-1]
    if n == 0:
        raise ValueError("a Fourier transform of no points")
    p, q, tables = _tables(n, 1 if inverse else -1, "float64" if wide else "float32")
    rows = x.reshape(-1, p, q)  # n = Q * n1 + n2
    result = np.empty((len(rows), q, p), x.dtype)  # k = k1 + P * k2
    transform(rows.real, rows.imag, *tables, result.real, result.imag, target=target)
    if inverse:
        result /= n
    return np.moveaxis(result.reshape(x.shape), -1, axis)


def _stages(x: np.ndarray) -> np.ndarray:
    """Transforms the rows of [B, height, width], then the columns of the result."""
    dtype = "float64" if x.dtype == np.complex128 else "float32"
    (shape, rows, others), (place, columns, more) = plan(*x.shape, dtype, tsr.num_threads(), threading.get_ident())
    y = rows(x.view(dtype).reshape(shape), *others).reshape(place)
    columns(y, *more)
    return y.view(x.dtype)


def fft2(x: np.ndarray, inverse: bool = False, target=None) -> np.ndarray:
    """numpy.fft.fft2 (ifft2) of the last two axes."""
    x = np.asarray(x)
    if target is not None or not x.size or x.ndim < 2 or not radices(x.shape[-2]) or not halves(x.shape[-1]):
        return fft(fft(x, -1, inverse, target), -2, inverse, target)
    x = x.astype(np.complex128 if x.dtype in (np.float64, np.complex128) else np.complex64, copy=False)
    shape, x = x.shape, np.ascontiguousarray(x).reshape(-1, *x.shape[-2:])
    if not inverse:
        return _stages(x).reshape(shape)
    y = _stages(x.conj())
    np.conj(y, out=y)
    y /= shape[-1] * shape[-2]
    return y.reshape(shape)
