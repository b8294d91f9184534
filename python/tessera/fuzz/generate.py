"""Random programs of the language: a seed gives a program, the same in every version of Python.

A program is made line by line. Every value carries an interval that holds all its elements and whether roundings happened on
its way; so domains are respected (no log of a negative number), values stay small, whole-number programs stay exact in
their dtypes, and decisions (comparisons, argmax, floor) are mostly taken on values that no rounding can tip.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from .program import FLOATS, INTS, VIEWS, Dim, Input, Line, Program, Value
from .randomness import Random

EXTENTS = {1: 3, 2: 3, 3: 4, 5: 4, 7: 6, 8: 3, 16: 3, 17: 4, 31: 3, 33: 4, 63: 4, 64: 2, 65: 5, 127: 3, 130: 2}
MAX_ELEMENTS = 20_000
MAX_PRODUCTS = 600_000
# Whole numbers up to here are exact in the dtype, and sums of them in its accumulate type.
WHOLE = {"fp64": 2**40, "fp32": 2**24, "fp16": 2**11, "bf16": 2**8, "i32": 2**31 - 1, "i64": 2**60, "bool": 1}
SUMS = {"fp64": 2**40, "fp32": 2**24, "fp16": 2**24, "bf16": 2**24, "i32": 2**31 - 1, "i64": 2**60, "bool": 2**60}
REAL = {"fp64": 1e6, "fp32": 1e6, "fp16": 2e3, "bf16": 1e5}
DTYPES = {"fp32": 10, "fp16": 4, "bf16": 4, "fp64": 2, "i32": 3, "i64": 2}


class Refused(Exception):
    """A rule found nothing to work on; another is tried."""


class Generator:
    """What functions and kernels share: names, parameters, scopes."""

    def __init__(self, seed: int, kind: str):
        self.seed = seed
        self.random = Random(seed)
        self.exact = self.random.chance(50)
        self.program = Program(seed, kind, self.exact, [], [], [])
        self.lines = self.program.lines
        self.values: list[Value] = []
        self.names = 0
        self.trips = 1

    def fresh(self, prefix="v") -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def limit(self, dtype: str) -> float:
        return WHOLE[dtype] if self.exact or dtype not in FLOATS else REAL[dtype]

    def need(self, condition) -> None:
        if not condition:
            raise Refused

    def emit(self, text: str, dtype: str, dims, low, high, exact, uses, ops) -> Value:
        low, high = (low, high) if low <= high else (high, low)
        self.need(max(abs(low), abs(high)) <= self.limit(dtype))
        count = 1
        for d in dims:
            count *= d.extent
        self.need(count <= MAX_ELEMENTS)
        name = self.fresh()
        for value in uses:
            value.used += 1
        self.lines.append(Line(f"{name} = {text}", (name,), tuple(v.name for v in uses), tuple(ops)))
        value = Value(name, dtype, tuple(dims), low, high, exact)
        self.values.append(value)
        self.known(value)
        return value

    def reduces(self, count: int) -> None:
        self.program.length = max(self.program.length, count)

    def known(self, value: Value) -> None:
        self.program.types[value.name] = (value.dtype, tuple(d.key for d in value.dims), value.shape)

    def value(self, test=lambda v: True) -> Value:
        """A value that passes the test; new and unused ones more often."""
        fits = [v for v in self.values if test(v)]
        self.need(fits)
        fresh = [v for v in fits if not v.used] or fits
        if self.random.chance(55):
            return fresh[-1 - self.random.below(min(len(fresh), 3))]
        return self.random.pick(fits)

    def float_value(self, test=lambda v: True) -> Value:
        return self.value(lambda v: v.dtype in FLOATS and test(v))

    def parameter(self, dtype: str, dims, low=None, high=None, name=None) -> Value:
        """A new tensor parameter."""
        self.need(sum(1 for i in self.program.inputs if i.scalar is None) < 7)
        count = 1
        for d in dims:
            count *= d.extent
        self.need(count <= MAX_ELEMENTS)
        real = not self.exact and dtype in FLOATS
        if low is None:
            low, high = (0, 1) if dtype == "bool" else self.random.pick(((-4, 4), (-2, 2), (-1, 1), (0, 3), (-1, 2), (-3, 5)))
        view = self.random.pick(VIEWS[1:]) if dims and self.random.chance(35) else "contiguous"
        name = name or self.fresh("x")
        self.program.inputs.append(Input(name, dtype, tuple(d.extent for d in dims), self.annotation(dtype, dims), low, high, real, view, self.random.bits(), keys=tuple(d.key for d in dims)))
        value = Value(name, dtype, tuple(dims), low, high, True)
        self.known(value)
        return value

    def annotation(self, dtype: str, dims) -> str:
        raise NotImplementedError

    def dtype(self) -> str:
        return self.random.weighted(DTYPES)

    def interval(self, kind: str, a: Value, b_low: float, b_high: float):
        if kind == "+":
            return a.low + b_low, a.high + b_high
        if kind == "-":
            return a.low - b_high, a.high - b_low
        ends = [x * y for x in (a.low, a.high) for y in (b_low, b_high)]
        return min(ends), max(ends)


def extents(random: Random) -> int:
    return random.weighted(EXTENTS)


def generate(seed: int) -> Program:
    """The program of this seed: three functions for two kernels."""
    if Random(seed ^ 0x5EED).below(5) < 3:
        from .functions import FunctionGenerator

        return FunctionGenerator(seed).run()
    from .kernels import KernelGenerator

    return KernelGenerator(seed).run()
