"""Random numbers that are the same in every version of Python and NumPy: SplitMix64.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import numpy as np

_MASK = (1 << 64) - 1
_STEP = 0x9E3779B97F4A7C15


def _mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


class Random:
    """A stream of choices."""

    def __init__(self, seed: int):
        self.state = _mix((seed * 0xD1342543DE82EF95 + 1) & _MASK)

    def bits(self) -> int:
        self.state = (self.state + _STEP) & _MASK
        return _mix(self.state)

    def below(self, n: int) -> int:
        return self.bits() % n

    def between(self, low: int, high: int) -> int:
        """Both ends included."""
        return low + self.below(high - low + 1)

    def chance(self, percent: float) -> bool:
        return self.below(10000) < percent * 100

    def pick(self, items):
        return items[self.below(len(items))]

    def weighted(self, table: dict):
        """A key, as often as its weight says."""
        at = self.below(sum(table.values()))
        for key, weight in table.items():
            at -= weight
            if at < 0:
                return key
        raise AssertionError("weights are positive")

    def sample(self, items, count: int) -> list:
        rest, taken = list(items), []
        while rest and len(taken) < count:
            taken.append(rest.pop(self.below(len(rest))))
        return taken


def bits_array(seed: int, count: int) -> np.ndarray:
    """`count` words of 64 bits."""
    with np.errstate(over="ignore"):
        z = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(_STEP) + np.uint64(_mix(seed & _MASK))
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))
