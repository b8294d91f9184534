"""Results against what they may be: within a derived bound of the exact value, or bit for bit.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import dataclasses

import numpy as np


@dataclasses.dataclass
class Difference:
    """The first element, in row-major order, that is not what it may be."""

    result: str
    index: tuple
    got: object
    expected: object
    bound: float | None  # None: they had to be equal
    count: int
    size: int

    def __str__(self) -> str:
        place = f"{self.result}[{', '.join(map(str, self.index))}]" if self.index else self.result
        known = self.bound is not None and np.isfinite(self.got) and np.isfinite(self.expected)
        off = "" if not known else f", off by {abs(float(self.got) - float(self.expected)):.3g}, bound {self.bound:.3g}"
        return f"{place} is {_number(self.got)}, expected {_number(self.expected)}{off}; {self.count} of {self.size} elements"


def _number(value) -> str:
    return f"{value:.9g}" if isinstance(value, (float, np.floating)) else str(value)


def _first(result: str, got, expected, agree, bounds=None) -> Difference | None:
    if agree.all():
        return None
    bad = np.argwhere(~agree)
    at = tuple(int(i) for i in bad[0])
    bound = None if bounds is None else float(bounds[at])
    return Difference(result, at, got[at].item(), expected[at].item(), bound, len(bad), int(got.size))


def _shapes(result: str, got, expected) -> Difference | None:
    return None if got.shape == expected.shape else Difference(f"shape of {result}", (), list(got.shape), list(expected.shape), None, 1, 1)


def equal(result: str, got: np.ndarray, expected: np.ndarray) -> Difference | None:
    """Equal, NaN with NaN."""
    wrong = _shapes(result, got, expected)
    if wrong:
        return wrong
    agree = got == expected
    if got.dtype.kind not in "biu":
        agree |= np.isnan(got.astype(np.float64)) & np.isnan(expected.astype(np.float64))
    return _first(result, got, expected, agree)


def within(result: str, got: np.ndarray, exact: np.ndarray, bounds: np.ndarray) -> Difference | None:
    """Not further from the exact value than its bound; infinities and NaN must be met. An integer is exact, or, where a rounding may
    tip it, of infinite bound."""
    wrong = _shapes(result, got, exact)
    if wrong:
        return wrong
    if got.dtype.kind in "biu" and exact.dtype.kind in "biu":
        return _first(result, got, exact, (got == exact) | np.isinf(bounds), bounds)
    got, exact = got.astype(np.float64), exact.astype(np.float64)
    with np.errstate(invalid="ignore"):
        agree = (np.abs(got - exact) <= bounds) | (got == exact) | (np.isnan(got) & np.isnan(exact)) | np.isinf(bounds)
    return _first(result, got, exact, agree, bounds)


def largest_error(got: np.ndarray, exact: np.ndarray) -> float:
    """The largest distance of finite elements."""
    if got.size == 0:
        return 0.0
    with np.errstate(invalid="ignore"):
        off = np.abs(got.astype(np.float64) - exact.astype(np.float64))
    finite = np.isfinite(off)
    return float(off[finite].max()) if finite.any() else 0.0
