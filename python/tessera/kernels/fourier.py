"""Fourier transforms of one axis and of two.

Of one axis, as matrix products: a transform of N = P * Q points is P-point transforms of Q columns, a twiddle factor per
element, and Q-point transforms of P rows: products, which matrix units do, and any N is welcome. The factors of N decide the
work: 2 * N * (P + Q) complex multiply-adds; a prime N is one N-point product.

Of two axes on the CPU, where both sizes are products of 2, 3 and 5: in stages of 2 to 8 points (`fourier_columns`), each
element-wise along the rows, with the result transposed; and the same once more.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import functools
import math
import threading

import numpy as np

import tessera as tsr
from tessera import Out, Tensor
from tessera.kernels import fourier_columns


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
    ways = [(r, *rest) for r in COSTS if n % r == 0 and (rest := _radices(n // r)) is not None and len(rest) < fourier_columns.STAGES]
    return min(ways, key=lambda way: sum(COSTS[r] for r in way), default=None)


POINTS = 1 << 16  # of a block: as many as fit a core's cache twice, before and after a stage


@functools.lru_cache(maxsize=256)
def _blocks(batch: int, height: int, width: int, threads: int) -> tuple:
    """How many programs share the columns, how many blocks each has, and how many columns are a block."""
    programs = max(t for t in range(1, max(1, threads // batch) + 1) if width % t == 0)
    each = width // programs
    most = min(64, max(16, POINTS // height))
    # The fewest vectors of 16.
    size = min((d for d in range(1, most + 1) if each % d == 0), key=lambda d: (each // d * -(-d // 16), -d))
    return programs, each // size, size


@functools.lru_cache(maxsize=16)
def _plan(batch: int, height: int, width: int, dtype: str, threads: int, caller: int) -> tuple:
    """The shape of the parts, the kernel, and what else it takes: its memory is the caller's own."""
    radices = _radices(height)
    programs, blocks, size = _blocks(batch, height, width, threads)
    roots = fourier_columns.roots(radices, dtype)
    rows = (fourier_columns.near(radices), 2 * height, 2 * height)
    # Rows begin at lines, and not at a few places of the cache only.
    line = 64 // roots.itemsize
    pitch = -(-size // line) * line
    pitch += line if pitch * roots.itemsize % 128 == 0 else 0
    room = np.empty(sum(rows) * batch * programs * pitch + line, dtype)
    room = room[-(room.ctypes.data // roots.itemsize) % line :]
    kept, at = [], 0
    for count in rows:
        end = at + count * batch * programs * pitch
        kept.append(room[at:end].reshape(batch, programs, count, pitch)[..., :size])
        at = end
    return (batch, height, programs, blocks, size, 2), fourier_columns.columns(radices, blocks), (roots, *kept)


def _down(x: np.ndarray) -> np.ndarray:
    """Transforms the columns of [B, height, width] and transposes."""
    batch, height, width = x.shape
    dtype = "float64" if x.dtype == np.complex128 else "float32"
    shape, kernel, others = _plan(batch, height, width, dtype, tsr.num_threads(), threading.get_ident())
    return kernel(x.view(dtype).reshape(shape), *others).view(x.dtype).reshape(batch, width, height)


def fft2(x: np.ndarray, inverse: bool = False, target=None) -> np.ndarray:
    """numpy.fft.fft2 (ifft2) of the last two axes."""
    x = np.asarray(x)
    radices = [_radices(n) for n in x.shape[-2:]] if target is None and x.size and x.ndim > 1 else []
    if not radices or not all(radices):
        return fft(fft(x, -1, inverse, target), -2, inverse, target)
    x = x.astype(np.complex128 if x.dtype in (np.float64, np.complex128) else np.complex64, copy=False)
    shape, x = x.shape, np.ascontiguousarray(x).reshape(-1, *x.shape[-2:])
    if not inverse:
        return _down(_down(x)).reshape(shape)
    y = _down(_down(x.conj()))
    np.conj(y, out=y)
    y /= shape[-1] * shape[-2]
    return y.reshape(shape)
