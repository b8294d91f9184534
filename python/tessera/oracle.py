"""`fn.run(*args, stage=...)`: a stage executed by the interpreter, in the numbers one chooses.

A `Stage` is a program at one point of the pipeline, with its inputs as bytes: `fn.run`, `trace`, `check` and
`tessera-bisect` are made of it. Arguments are never written: what a kernel writes is returned.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import dataclasses
import math

import numpy

from . import arguments, arrays, compiler, source
from .dtypes import to_numpy
from .errors import ArgumentError, RunError
from .targets import check_target

INTERPRETED = ("graph", "sched", "tile-value", "tile")  # stages with values; target is machine code
DOMAINS = ("exact", "reference", "ring", "bound")
_RAW = {"f64": "u8", "f32": "u4", "f16": "u2", "bf16": "u2", "f8e4m3": "u1", "f8e5m2": "u1"}


@dataclasses.dataclass
class Result:
    """One array of a run. `values` are the unrounded reals of a float, `errors` their bounds (domain bound)."""

    name: str
    dtype: str  # of docs/abi.md
    raw: numpy.ndarray  # floats as unsigned integers
    values: numpy.ndarray | None
    errors: numpy.ndarray | None
    poison: list[int]  # positions, in row-major order, that nobody may depend on

    @property
    def array(self) -> numpy.ndarray:
        """In its own dtype."""
        return self.raw.view(to_numpy(self.dtype)) if self.raw.ndim else self.raw.reshape(1).view(to_numpy(self.dtype)).reshape(())

    @property
    def bounds(self) -> numpy.ndarray:
        """Of domain bound; integers and booleans are exact unless a rounding may tip them."""
        return numpy.zeros(self.raw.shape) if self.errors is None else self.errors

    def of(self, domain: str) -> numpy.ndarray:
        if domain == "ring" or self.values is None:
            return self.raw if domain == "ring" else self.array
        return self.array if domain == "exact" else self.values


@dataclasses.dataclass
class Outcome:
    results: list[Result]
    printed: list[str]
    trace: list[tuple[str, str, list[Result]]]  # op, user's place, results
    remarks: list[tuple[str, str, str, int]]  # "race" or "outside", user's place, the first of them, how many
    launched: list[str]  # kernels that ran


def _result(entry) -> Result:
    name, dtype, shape, data, values, errors, poison = entry
    raw = numpy.frombuffer(data, _RAW.get(dtype) or to_numpy(dtype)).reshape(shape)
    reals = numpy.frombuffer(values, "f8").reshape(shape) if values or (dtype in _RAW and not raw.size) else None
    bounds = numpy.frombuffer(errors, "f8").reshape(shape) if errors else None
    return Result(name, dtype, raw, reals, bounds, list(poison))


def as_bytes(value) -> tuple[str, tuple, bytes]:
    """(dtype, shape, bytes in row-major order) of an array of any library and strides."""
    array = arrays.describe(value)
    if array is None:
        raise ArgumentError(f"{value!r} is no array")
    if array.library == "torch":
        import torch

        value = value.detach().contiguous()
        return array.dtype.storage, tuple(value.shape), value.reshape(-1).view(torch.uint8).numpy().tobytes() if value.numel() else b""
    return array.dtype.storage, tuple(array.sizes), numpy.ascontiguousarray(numpy.asarray(array.owner)).tobytes()


def memory_strides(value) -> tuple:
    """The array's strides; of one with wide gaps, strides of dense memory whose axes lie as its own do: the axis of stride 1, which belongs to
    the key, is the same."""
    array = arrays.describe(value)
    sizes = tuple(array.sizes)
    span = 1 + sum((size - 1) * abs(stride) for size, stride in zip(sizes, array.strides))
    if 0 not in sizes and span <= 4 * math.prod(sizes) + 64:
        return tuple(array.strides)
    unit = array.unit_axis
    order = sorted((axis for axis in range(len(sizes)) if axis != unit), key=lambda axis: (array.strides[axis] == 0, abs(array.strides[axis]), -axis))
    order = [unit, *order] if unit >= 0 else order
    result, step = [1] * len(sizes), 1 if unit >= 0 else 2
    for axis in order:
        result[axis] = step
        step *= max(sizes[axis], 1)
    return tuple(result)


class Stage:
    """A program at one point of the pipeline, ready to be run."""

    def __init__(self, compilation, function: str = ""):
        self.compilation = compilation
        self.function, self.parameters = compiler.interpret_parameters(compilation, function)

    @classmethod
    def of_text(cls, text: str, name: str = "<stage>", function: str = "", target: str = "cpu", checked: bool = True) -> "Stage":
        """From the text of a stage; `checked=False` for text between two passes."""
        options = {"target": target, "opt_level": 3, "verify": False, "dump": "", "debug": False}
        return cls(compiler.compile_text(text, name, options, checked), function)

    def _scalar(self, name: str, value):
        dtype = next((p[2] for p in self.parameters if p[0] == name), "f64")
        made = numpy.asarray(value).astype(to_numpy(dtype))
        return name, dtype, (), made.tobytes()

    def run(self, given: dict, domain: str = "exact", seed: int = 0, trace: bool = False, max_work: int = 0) -> Outcome:
        """`given`: arrays or numbers by parameter name. In domain ring a float's bits are the element."""
        packed = []
        for name, value in given.items():
            packed.append((name, *as_bytes(value), memory_strides(value)) if arrays.is_array(value) else self._scalar(name, value))
        done = compiler.interpret(self.compilation, self.function, domain, packed, seed, max_work, trace)
        return Outcome([_result(r) for r in done["results"]], done["printed"],
                       [(op, place, [_result(r) for r in made]) for op, place, made in done["trace"]], done["remarks"], done["launched"])


def moves_roundings(before: dict, after: dict) -> bool:
    """Whether a program has other roundings than before, which the ring sees, by right: attention was raised, or the policy is fast. Both are
    `Compilation.facts()`."""
    raised = after["attention"] and not before["attention"]
    return raised or (before["fast"] and not (before["fusions"] and after["tiles"]))


def specialise(fn, args: tuple, kwargs: dict, target: str, asserts: bool = True) -> tuple:
    """Of a call: what it is compiled for, its program at the front end's exit, its arguments by name."""
    bound = arguments.bind(fn, args, kwargs)
    while True:
        specs, given, scalars = arguments.argument_specs(fn, bound, target)
        captured, hidden = fn.capture()
        spec = arguments.Spec(specs, captured, target, fn.options.tuned)
        values = {name: array.owner for name, array in given.items()} | scalars | hidden
        arguments.check_shapes(fn, {**given, **{name: arrays.describe(value) for name, value in hidden.items()}})
        try:
            return spec, fn._start(spec, debug=True if asserts else None), values
        except arguments.NewKey:
            continue


def prepare(fn, args: tuple, kwargs: dict, stage: str | None, target: str = "cpu") -> tuple[Stage, dict]:
    """The program of a call at a stage (None: as the front end leaves it), and the call's arguments by name."""
    _, compilation, values = specialise(fn, args, kwargs, target)
    if stage is not None:
        compilation.lower(stage)
    return Stage(compilation), values


def check_domain(domain: str) -> None:
    if domain not in DOMAINS:
        near = source.nearest(str(domain), DOMAINS, "exact")
        raise ArgumentError(source.at_user(f"no domain is called {domain!r}; there are {', '.join(DOMAINS)}", f'domain="{near}"', str(domain)))


def run(fn, args: tuple, kwargs: dict, stage: str, domain: str, seed: int, target: str = "cpu"):
    """What `fn.run` returns."""
    stages = compiler.stages()
    if stage not in stages:
        near = source.nearest(str(stage), stages, "graph")
        raise ArgumentError(source.at_user(f"no stage is called {stage!r}; there are {', '.join(stages)}", f'stage="{near}"', str(stage)))
    check_domain(domain)
    target = check_target(target)
    if stage == "target":
        if domain != "exact":
            raise ArgumentError(source.at_user(f"stage target is machine code, which has no domain {domain!r}", 'stage="tile"', "stage"))
        return _compiled(fn, args, kwargs, target)
    program, values = prepare(fn, args, kwargs, stage, target)
    outcome = program.run(values, domain, seed)
    for line in outcome.printed:
        print(line)
    for number, result in enumerate(outcome.results):
        if result.poison:
            at = tuple(int(i) for i in numpy.unravel_index(result.poison[0], result.raw.shape))
            raise RunError(f"{fn.__name__} at stage {stage}: {len(result.poison)} of {result.raw.size} elements of result {number} are never written, "
                           f"or made of such; the first is {at}")
    made = [result.of(domain) for result in outcome.results]
    if not made:
        return None
    return made[0] if len(made) == 1 else tuple(made)


def _compiled(fn, args: tuple, kwargs: dict, target: str):
    """The compiled program, with the same convention: arguments are not written, what is written is returned."""
    bound = {name: value.detach() if arrays.drops_gradient(value) else value for name, value in arguments.bind(fn, args, kwargs).items()}
    written = [p for p in fn.parameters if p.is_written]
    copies = {}
    for p in written:
        if p.name in bound and arrays.is_array(bound[p.name]):
            value = bound[p.name]
            copies[p.name] = bound[p.name] = value.clone() if hasattr(value, "clone") else numpy.array(value, copy=True)
    with arrays.filled():
        result = fn._call_slowly(target=target, **bound)
    returned = () if result is None else result if isinstance(result, tuple) else (result,)
    rest, all_ = iter(returned), []
    for p in written:
        all_.append(copies[p.name] if p.name in copies else next(rest))
    all_ += list(rest)
    if not all_:
        return None
    return all_[0] if len(all_) == 1 else tuple(all_)


def bounds(fn, *args, **kwargs) -> list:
    """(exact value, bound) of each result: how far a right program may be from the exact value on these inputs, whatever the order
    of its sums. Integers and booleans have the bound 0, or infinity where a rounding may tip a decision."""
    program, given = prepare(fn, args, kwargs, "graph")
    return [(result.of("bound"), result.bounds) for result in program.run(given, "bound").results]


def assert_within(got, bound: tuple) -> None:
    """Fails with the first element that is further from the exact value than its bound."""
    from . import comparison

    wrong = comparison.within("result", numpy.asarray(got), *bound)
    assert wrong is None, str(wrong)
