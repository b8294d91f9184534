"""A function under one configuration: compiled, run on private copies of the arguments, and timed against the default.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import time
import warnings

import numpy

from . import arguments, arrays, machines, options
from .arguments import NewKey, Spec
from .dtypes import by_storage
from .function import Function


class Trial(Function):
    """The same program under one configuration."""

    def __init__(self, fn: Function, config: dict):
        chosen: options.Options = fn.options.copy()
        chosen.tuned, chosen.tuning = dict(config), None
        super().__init__(fn._fn, fn.kind, chosen, fn._source, fn._names)
        self.__name__ = fn.__name__
        self.config = dict(config)

    def compiled(self, bound: dict, target: str):
        """The version for these arguments."""
        while True:
            specs, _, _ = arguments.argument_specs(self, bound, target)
            try:
                return self._version(Spec(specs, self.capture()[0], target, self.options.tuned))
            except NewKey:
                continue


def trial(fn: Function, config: dict) -> Trial:
    key = tuple(sorted(config.items()))
    with fn._lock:
        if key not in fn._trials:
            fn._trials[key] = Trial(fn, config)
        return fn._trials[key]


def numerics_of(candidate: Trial, bound: dict, target: str) -> list[str]:
    """The orders of summation that the schedule states; "as_written" for kernels, whose text states them."""
    def start():
        specs, _, _ = arguments.argument_specs(candidate, bound, target)
        return candidate._start(Spec(specs, candidate.capture()[0], target, candidate.options.tuned))

    compilation = candidate._with_key(start)
    compilation.lower("sched")
    return compilation.facts()["numerics"]


def scratch(version) -> int:
    """Bytes of scratch memory per program, or shared memory per block."""
    resources = version.resources
    if isinstance(resources, dict) and "kernels" in resources:
        return version.executable.scratch
    shared = [known.get("shared", known.get("shared_bytes", 0)) for known in resources.values() if isinstance(known, dict)]
    return max(shared, default=0)


# ---- arguments nobody else has ------------------------------------------------------------------


def copy_of(value):
    """A private copy with the same strides, as far as they matter."""
    if hasattr(value, "data_ptr"):
        return value.detach().clone()
    if isinstance(value, numpy.ndarray):
        return numpy.array(value, copy=True, order="K")
    return numpy.array(numpy.from_dlpack(value), copy=True, order="K") if not arrays.is_on_gpu(value) else value.copy()


def private(bound: dict) -> dict:
    return {name: copy_of(value) if arrays.is_array(value) else value for name, value in bound.items()}


def random_like(bound: dict, seed: int = 0) -> dict:
    """Normal floats of the same kinds of arrays; integers and booleans as they are, because they may be indices."""
    rng = numpy.random.default_rng(seed)
    made = {}
    for name, value in bound.items():
        made[name] = value
        if not arrays.is_array(value) or arrays.is_on_gpu(value):
            continue
        described = arrays.describe(value)
        if by_storage(described.dtype.storage).name not in ("fp64", "fp32", "fp16", "bf16"):
            made[name] = copy_of(value)
            continue
        made[name] = copy_of(value)
        values = rng.standard_normal(tuple(described.sizes), numpy.float32)
        if described.library == "torch":
            import torch

            made[name].copy_(torch.from_numpy(values))
        else:
            made[name][...] = values.astype(made[name].dtype)
    return made


def results_of(candidate: Trial, given: dict, target: str) -> list:
    """What a run on a private copy returns and writes, in the order of the oracle; what is never written shows as NaN."""
    mine = private(given)
    with arrays.filled(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = candidate._call_slowly(**mine, **({} if machines.of(target).is_this else {"target": target}))
    returned = iter(() if result is None else result if isinstance(result, tuple) else (result,))
    found = []
    for parameter in candidate.parameters:
        if parameter.is_written:
            value = mine.get(parameter.name)
            found.append(value if arrays.is_array(value) else next(returned))
    return found + list(returned)


def bits(value) -> numpy.ndarray:
    """The bytes of an array."""
    if hasattr(value, "data_ptr"):
        import torch

        return value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
    if hasattr(value, "__cuda_array_interface__"):
        value = value.numpy() if hasattr(value, "numpy") else value.get()
    return numpy.ascontiguousarray(value).reshape(-1).view(numpy.uint8)


def same_bits(left: list, right: list) -> bool:
    return len(left) == len(right) and all(numpy.array_equal(bits(a), bits(b)) for a, b in zip(left, right))


# ---- time ---------------------------------------------------------------------------------------


class Race:
    """Runs on one set of private arguments; what a kernel updates in place is set back before each run, outside of the clock."""

    def __init__(self, fn: Function, bound: dict):
        self.given = private(bound)
        self._saved = {p.name: copy_of(self.given[p.name]) for p in fn.parameters
                       if p.is_written and p.kind != "out" and arrays.is_array(self.given.get(p.name))}
        self._gpus = [a.gpu for a in (arrays.describe(v, True) for v in bound.values() if arrays.is_array(v)) if a is not None and a.gpu is not None]

    def restore(self) -> None:
        for name, value in self._saved.items():
            target = self.given[name]
            target.copy_(value) if hasattr(target, "copy_") else numpy.copyto(target, value)

    def _once(self, candidate: Trial, repeat: int) -> float:
        self.restore()
        start = time.perf_counter()
        for _ in range(repeat):
            candidate(**self.given)
        for gpu in self._gpus:
            gpu.synchronize(0)
        return (time.perf_counter() - start) / repeat

    def compare(self, candidate: Trial, default: Trial, seconds: float = 0.15, least: int = 5, most: int = 60) -> tuple[float, float]:
        """Seconds of the candidate, and how much of the default's time it takes: the least of interleaved runs, because what
        disturbs a run never makes it quicker."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            first = min(self._once(candidate, 1) for _ in range(2))
            other = min(self._once(default, 1) for _ in range(2))
            if first > 3 * other:  # no need to know how slow exactly
                return first, first / other
            repeat = 1 if self._saved else max(1, min(100, int(5e-5 / max(first, 1e-9))))
            end, pairs = time.perf_counter() + seconds, []
            while len(pairs) < least or (time.perf_counter() < end and len(pairs) < most):
                pairs.append((self._once(candidate, repeat), self._once(default, repeat)))
        mine, theirs = (min(column) for column in zip(*pairs))
        return mine, 1.0 if candidate is default else mine / theirs
