"""Which configurations may win: those whose results the oracle accepts, on private copies of the arguments.

Right is what the default configuration's program computes, without rounding; how far from it a right program may be follows from
the program, the dims and the inputs (docs/numerics.md). A candidate is judged

* on the program at small and odd sizes, where tiles have tails,
* at the sizes of the call: through windows of the results, for which the interpreter needs a part of the inputs only,
* and under numerics="fixed" bit by bit against the default, on the caller's numbers and on random ones.

What the oracle cannot judge may win only with the default's bits.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import re
import warnings

import numpy

from . import arrays, comparison, oracle
from .candidates import Trial, numerics_of, random_like, results_of, same_bits
from .errors import ArgumentError, CompileError, RunError, TesseraError
from .references import to_numpy

MAX_WORK = 6_000_000  # steps of the interpreter per problem: about a second
_SMALL = (37, 19, 45, 23, 11)
_BATCH = (2, 3, 1)


class Problem:
    """Inputs, and what may come out: the exact values and their bounds. `window` says which part of larger results it is."""

    def __init__(self, given: dict, exact: list, bounds: list, window: list | None):
        self.given, self.exact, self.bounds, self.window = given, exact, bounds, window

    def wrong(self, results: list) -> str:
        """What is not as it may be; "" if nothing."""
        if len(results) != len(self.exact):
            return f"{len(results)} results instead of {len(self.exact)}"
        for number, (got, exact, bound) in enumerate(zip(results, self.exact, self.bounds)):
            got = numpy.asarray(to_numpy(got))
            if self.window is not None:
                got = got[self.window[number]]
            wrong = comparison.within(f"result {number}", got, exact, bound)
            if wrong:
                return str(wrong)
        return ""


class Judge:
    """Of the configurations of one key."""

    def __init__(self, default: Trial, bound: dict, target: str, numerics: str):
        self.default, self.bound, self.target, self.numerics = default, bound, target, numerics
        self.random = random_like(bound)
        self.order = self._order(default)
        self.on_given = results_of(default, bound, target)
        self.on_random = results_of(default, self.random, target)
        self.small = self._small()
        self.windows = self._windows()
        self.rejected = ""  # why the default itself is wrong
        if self.small is not None:
            self.rejected = self.small.wrong(results_of(default, self.small.given, target))

    @property
    def is_blind(self) -> bool:
        """Whether the oracle can say nothing."""
        return self.small is None and not self.windows

    def verdict(self, candidate: Trial) -> tuple[str, str]:
        """("ok", ""), or what is against it: "bits" (others than the default's) or "wrong", and why."""
        if candidate is self.default:
            return ("wrong", self.rejected) if self.rejected else ("ok", "")
        if self.is_other_order(candidate):
            return "bits", "another order of summation"
        if self.small is not None and not self.rejected:
            wrong = self.small.wrong(results_of(candidate, self.small.given, self.target))
            if wrong:
                return "wrong", wrong
        on_random = results_of(candidate, self.random, self.target)
        for window in self.windows:
            wrong = window.wrong(on_random)
            if wrong:
                return "wrong", wrong
        exactly = self.numerics == "fixed" or self.is_blind or bool(self.rejected)
        if exactly and not same_bits(on_random, self.on_random):
            return "bits", "other bits than the default on random numbers"
        on_given = results_of(candidate, self.bound, self.target)
        if exactly and not same_bits(on_given, self.on_given):
            return "bits", "other bits than the default"
        if not exactly:
            wrong = self._against_default(on_given)
            if wrong:
                return "wrong", wrong
        return "ok", ""

    def is_other_order(self, candidate: Trial) -> bool:
        """Whether its schedule says that it sums in another order, which "fixed" excludes."""
        return self.numerics == "fixed" and self._order(candidate) != self.order

    def _order(self, candidate: Trial) -> list[str]:
        return numerics_of(candidate, self.bound, self.target) if self.numerics == "fixed" else []

    def _against_default(self, results: list) -> str:
        """On the caller's own numbers: NaN, infinities and integers are where the default has them."""
        for number, (got, want) in enumerate(zip(results, self.on_given)):
            got, want = numpy.asarray(to_numpy(got)), numpy.asarray(to_numpy(want))
            if got.shape != want.shape:
                return f"result {number} has shape {got.shape} instead of {want.shape}"
            wrong = (got != want) if got.dtype.kind in "biu" else numpy.isfinite(got.astype(numpy.float64)) != numpy.isfinite(want.astype(numpy.float64))
            if wrong.any():
                return f"result {number} differs from the default's in {int(wrong.sum())} of {got.size} elements that have one right value"
        return ""

    # ---- problems --------------------------------------------------------------------------------

    def _problem(self, given: dict, window: list | None) -> Problem | None:
        """None if the interpreter cannot run it, or not in a second, or some bound says nothing."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                program, values = oracle.prepare(self.default, (), given, "graph", "cpu")
                results = program.run(values, "bound", max_work=MAX_WORK).results
        except (RunError, ArgumentError, CompileError):
            return None
        if any(result.poison for result in results):
            return None
        exact = [result.of("bound") for result in results]
        if any(comparison.says_nothing(value, result.bounds).any() for value, result in zip(exact, results)):
            return None  # undecided is not verified
        return Problem(given, exact, [result.bounds for result in results], window)

    def _dims(self) -> dict:
        """Extents of the dims that have a name of their own."""
        found: dict = {}
        for p in self.default.parameters:
            value = self.bound.get(p.name)
            if p.dims and arrays.is_array(value):
                found.update({dim: size for dim, size in zip(p.dims, value.shape) if dim.isidentifier()})
        return found

    def _whole(self) -> set:
        """Dims that are taken whole in a tile: constants of the version."""
        return {p.dims[axis] for p in self.default.parameters if p.dims for axis in p.whole_axes if axis < len(p.dims)}

    def _small(self) -> Problem | None:
        """The same program with few rows and columns."""
        dims = self._dims()
        if not dims:
            return self._problem(self.random, None) if all(not arrays.is_array(v) or numpy.prod(v.shape) < 1 << 16 for v in self.bound.values()) else None
        last = {p.dims[axis] for p in self.default.parameters if p.dims for axis in range(max(len(p.dims) - 2, 0), len(p.dims))}
        whole = self._whole()
        small: dict = {}
        for number, (dim, size) in enumerate(dims.items()):
            choices = _SMALL if dim in last else _BATCH
            small[dim] = size if dim in whole else min(size, choices[number % len(choices)])
        given = {}
        for p in self.default.parameters:
            value = self.bound.get(p.name)
            if value is None:
                continue
            given[p.name] = value
            if arrays.is_array(value) and p.dims:
                try:
                    shape = [eval(dim, {"__builtins__": {}}, small) for dim in p.dims]  # names, integers and arithmetic: parsed by the front end
                except (NameError, SyntaxError, ZeroDivisionError):
                    return None
                if any(new > old for new, old in zip(shape, value.shape)):
                    return None
                given[p.name] = value[tuple(slice(0, n) for n in shape)]
        given = random_like(given, seed=1)
        try:
            found = self._problem(given, None)
            if found is not None:
                results_of(self.default, given, self.target)
            return found
        except TesseraError:
            return None

    def _result_dims(self) -> list:
        """The names of the axes of each result."""
        written = [p.dims for p in self.default.parameters if p.is_written]
        if self.default.kind == "kernel":
            return written
        _, compilation, _ = oracle.specialise(self.default, (), self.random, "cpu")
        compilation.lower("graph")
        return written + compilation.facts()["result_dims"]

    def _windows(self) -> list:
        """Parts of the results at full size: where a dim can be cut without changing the rest, which the default shows."""
        dims = self._dims()
        try:
            axes = self._result_dims()
        except TesseraError:
            return []
        if not axes or len(axes) != len(self.on_random) or any(not names for names in axes):
            return []
        if any(arrays.is_on_gpu(value) for value in self.bound.values() if arrays.is_array(value)):
            return []
        whole = self._whole()
        common = [dim for dim in dims if dims[dim] > 4 and dim not in whole and all(dim in names for names in axes)]
        for cut in ([common] if common else []) + ([[dim] for dim in common] if len(common) > 1 else []):
            found = [window for window in (self._window(cut, dims, axes, place) for place in (0.0, 0.5, 1.0)) if window is not None]
            if found and all(not window.wrong(self.on_random) for window in found):
                return found
        return []

    def _window(self, cut: list, dims: dict, axes: list, place: float) -> Problem | None:
        at = {dim: (lambda start: slice(start, start + 3))(int(place * (dims[dim] - 3))) for dim in cut}
        given = {}
        for p in self.default.parameters:
            value = self.random.get(p.name)
            if value is None:
                continue
            cuts = arrays.is_array(value) and p.dims
            if cuts and any(set(re.findall(r"[A-Za-z_]\w*", dim)) & set(cut) and dim not in cut for dim in p.dims):
                return None  # M//2: the window has no whole number of them
            given[p.name] = value[tuple(at.get(dim, slice(None)) for dim in p.dims)] if cuts else value
        window = [tuple(at.get(dim, slice(None)) for dim in names) for names in axes]
        return self._problem(given, window)
