"""Results against what they may be: within a derived bound of the exact value, or bit for bit.

There are three verdicts: right, wrong, and undecided, where the bound says nothing. That is an infinite bound (a rounding may tip a
branch, a divisor may be 0), and one not below the largest magnitude of the whole result, within which noise would pass.

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
    undecided: bool = False  # the bound says nothing: neither right nor wrong

    def __str__(self) -> str:
        place = f"{self.result}[{', '.join(map(str, self.index))}]" if self.index else self.result
        if self.undecided:
            bound = "has no finite bound" if not np.isfinite(self.bound) else f"has the bound {self.bound:.3g}, no less than the largest result"
            return f"{place} is {_number(self.got)}, exactly {_number(self.expected)}, and {bound}; {self.count} of {self.size} elements"
        known = self.bound is not None and np.isfinite(self.got) and np.isfinite(self.expected)
        off = "" if not known else f", off by {float(abs(self.got - self.expected)):.3g}, bound {self.bound:.3g}"
        return f"{place} is {_number(self.got)}, expected {_number(self.expected)}{off}; {self.count} of {self.size} elements"


def _number(value) -> str:
    return f"{value:.9g}" if isinstance(value, (float, np.floating)) else str(value)


def _first(result: str, got, expected, agree, bounds=None, undecided: bool = False) -> Difference | None:
    if agree.all():
        return None
    bad = np.argwhere(~agree)
    at = tuple(int(i) for i in bad[0])
    bound = None if bounds is None else float(bounds[at])
    return Difference(result, at, got[at].item(), expected[at].item(), bound, len(bad), int(got.size), undecided)


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


def says_nothing(exact: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Where a bound decides nothing: it is infinite, or not below the largest magnitude of the result."""
    if exact.dtype.kind in "biu":
        return np.isinf(bounds)
    sizes = np.abs(np.where(np.isfinite(exact), exact, 0.0))
    return ~((bounds < sizes.max(initial=0.0)) | (bounds == 0))


def _distance(got: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """As floats. Of ints it is taken before they are rounded: 2^62 and 2^62 + 1 are one float, and two results."""
    if got.dtype.kind in "iu" and exact.dtype.kind in "iu":
        upper, lower = np.maximum(got, exact), np.minimum(got, exact)
        with np.errstate(over="ignore"):
            return (upper.astype(np.uint64) - lower.astype(np.uint64)).astype(np.float64)
    with np.errstate(invalid="ignore"):
        return np.abs(got.astype(np.float64) - exact.astype(np.float64))


def within(result: str, got: np.ndarray, exact: np.ndarray, bounds: np.ndarray) -> Difference | None:
    """Not further from the exact value than its bound; infinities and NaN must be met. None if every element is right; else the first that
    is wrong, or, if none is, the first that is undecided."""
    wrong = _shapes(result, got, exact)
    if wrong:
        return wrong
    if got.dtype.kind not in "biu" or exact.dtype.kind not in "biu":
        got, exact = got.astype(np.float64), exact.astype(np.float64)
    agree = got == exact
    if got.dtype.kind == "f":
        agree |= np.isnan(got) & np.isnan(exact)
    near = agree | (_distance(got, exact) <= bounds)
    unknown = np.isinf(bounds) | np.isnan(bounds)
    return (_first(result, got, exact, near | unknown, bounds)
            or _first(result, got, exact, agree | ~says_nothing(exact, bounds), bounds, undecided=True))


def share_undecided(got: np.ndarray, exact: np.ndarray, bounds: np.ndarray) -> float:
    """The share of elements whose bound decides nothing, or is over 10,000 times the largest measured error, if that is not 0."""
    if not got.size:
        return 0.0
    error = largest_error(got, exact)
    agree = (got == exact) | (np.isnan(got.astype(np.float64)) & np.isnan(exact.astype(np.float64)))
    return float(np.mean(~agree & (says_nothing(exact, bounds) | ((error > 0) & (bounds > 10_000 * error)))))


def largest_error(got: np.ndarray, exact: np.ndarray) -> float:
    """The largest distance of finite elements."""
    if got.size == 0:
        return 0.0
    off = _distance(got, exact)
    finite = np.isfinite(off)
    return float(off[finite].max()) if finite.any() else 0.0
