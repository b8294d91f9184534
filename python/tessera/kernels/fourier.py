"""Fourier transforms of one axis and of two.

Of one axis, as matrix products: a transform of N = P * Q points is P-point transforms of Q columns, a twiddle factor per
element, and Q-point transforms of P rows: products, which matrix units do, and any N is welcome. The factors of N decide the
work: 2 * N * (P + Q) complex multiply-adds; a prime N is one N-point product.

Of two axes on the CPU, where both sizes are products of 2, 3 and 5: in stages of 2 to 8 points (`fourier_stages`), each
element-wise along the rows, and once more after a transpose. The last transpose puts real and imaginary parts beside each other.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import functools
import math

import numpy as np

import tessera as tsr
from tessera import Out, Tensor
from tessera.kernels import fourier_first, fourier_stages


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


COSTS = {8: 21, 5: 18, 4: 17, 3: 15, 2: 14}  # of a stage, measured: memory counts for more than arithmetic


@functools.lru_cache(maxsize=None)
def _radices(n: int) -> tuple | None:
    """n as the product that costs the least; None if stages of 2 to 8 points can't."""
    if n == 1:
        return ()
    ways = [(r, *rest) for r in COSTS if n % r == 0 and (rest := _radices(n // r)) is not None]
    return min(ways, key=lambda way: sum(COSTS[r] for r in way), default=None)


@functools.lru_cache(maxsize=64)
def _stages(n: int, dtype: str) -> tuple:
    """Of n points: per stage R, M, S, T (computed in float64), the kernel, and that for parts of complex numbers."""
    stages, left, done = [], n, 1
    for r in _radices(n):
        angle = -2 * np.pi * (np.arange(left // r)[:, None] * np.arange(r)) / left
        left //= r
        roots = np.stack([np.cos(angle), np.sin(angle)], -1).astype(dtype)
        stages.append((r, left, done, roots, getattr(fourier_stages, f"next{r}"), getattr(fourier_first, f"first{r}")))
        done *= r
    return tuple(stages)


POINTS = 1 << 16  # as many as fit a core's cache twice, before and after a stage


def _down(x: np.ndarray, dtype: str, width: int, turned: np.ndarray) -> None:
    """Transforms the columns, a block of them at a time, and transposes. `x`: complex [B, height, width], or numbers [B, 2 * height, width]."""
    batch, parts = len(x), x.dtype != dtype
    height = x.shape[1] if parts else x.shape[1] // 2
    first, *later = _stages(height, dtype)
    r, m, _, roots, kernel, of_parts = first
    threads = tsr.num_threads()
    # Threads meet after every stage of a block: with several, larger ones.
    points = POINTS if threads == 1 else 8 * POINTS * threads
    block = max(64, points // (batch * height) // 32 * 32)
    source = (x.real.reshape(batch, r, m, width), x.imag.reshape(batch, r, m, width)) if parts else (x.reshape(batch, r, m, 1, 2, width),)
    for begin in range(0, width, block):
        columns = slice(begin, min(begin + block, width))
        size = columns.stop - begin
        y = (of_parts if parts else kernel)(*(source if size == width else (part[..., columns] for part in source)), roots)
        for r, m, s, t, stage, _ in later:
            y = stage(y.reshape(batch, r, m, s, 2, size), t)
        y = y.reshape((batch, height, 2, size) if parts else (batch, 2 * height, 1, size))
        fourier_stages.transpose(y, turned if size == width else turned[:, columns])


def _in_stages(x: np.ndarray) -> np.ndarray:
    """Of [B, height, width], complex. The last transpose puts the parts of a number beside each other."""
    batch, height, width = x.shape
    dtype = "float64" if x.dtype == np.complex128 else "float32"
    turned = fourier_stages.room(x.view(dtype).reshape(batch, height, width, 2).transpose(0, 1, 3, 2))
    _down(x, dtype, width, turned)
    turned = turned.reshape(batch, 2 * width, height)
    result = fourier_stages.room(turned.reshape(batch, 2 * width, 1, height))
    _down(turned, dtype, height, result)
    return result.view(x.dtype)


def fft2(x: np.ndarray, inverse: bool = False, target=None) -> np.ndarray:
    """numpy.fft.fft2 (ifft2) of the last two axes."""
    x = np.asarray(x)
    radices = [_radices(n) for n in x.shape[-2:]] if target is None and x.size and x.ndim > 1 else []
    if not radices or not all(radices):
        return fft(fft(x, -1, inverse, target), -2, inverse, target)
    x = x.astype(np.complex128 if x.dtype in (np.float64, np.complex128) else np.complex64, copy=False)
    shape, x = x.shape, np.ascontiguousarray(x).reshape(-1, *x.shape[-2:])
    if not inverse:
        return _in_stages(x).reshape(shape)
    y = _in_stages(x.conj())
    np.conj(y, out=y)
    y /= shape[-1] * shape[-2]
    return y.reshape(shape)
