"""`@tsr.kernel.autotune`: measures configurations at the first call of a new key, and remembers.

Every candidate runs on copies of the arguments, so nothing of the caller's is touched while
measuring; a candidate that gives other bits than the default configuration cannot win under
numerics="fixed".

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ast
import hashlib
import itertools
import json
import operator
import os
import pathlib
import random
import sys
import tempfile
import time

import numpy

from . import arguments, arrays, options, source
from .arguments import Spec
from .errors import CompileError
from .function import Function
from .knobs import knobs

_operators = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Div: operator.truediv, ast.Pow: operator.pow,
}


class TuningMistake(CompileError):
    """Something of @tsr.kernel.autotune, found when it is used: the keyword, the message, the fix."""

    def __init__(self, keyword: str, message: str, fix: str):
        super().__init__(f"error: {message}\n fix:  {fix}\n")
        self.keyword, self.message, self.fix = keyword, message, fix


def _placed(fn, mistake: TuningMistake) -> CompileError:
    """The mistake at its keyword in the decorator, if it can be found there."""
    found = source.find_keyword(fn.source, "autotune", mistake.keyword)
    if found is None:
        return mistake
    return CompileError(source.render(fn.source.file, *found, mistake.message, mistake.fix))


def holds(where: str | None, config: dict) -> bool:
    """Evaluates a constraint such as "BLOCK_M * BLOCK_N <= 32768"; only names, numbers and arithmetic."""
    if where is None:
        return True

    def value(node):
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float, bool)):
            return node.value
        if isinstance(node, ast.Name):
            if node.id not in config:
                raise TuningMistake("where", f"where={where!r} names {node.id}, which is not in the space: {', '.join(config)}",
                                    f'where="{where.replace(node.id, source.nearest(node.id, config, next(iter(config))))}"')
            return config[node.id]
        if isinstance(node, ast.BinOp) and type(node.op) in _operators:
            return _operators[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -value(node.operand)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return not value(node.operand)
        if isinstance(node, ast.BoolOp):
            results = (value(v) for v in node.values)
            return all(results) if isinstance(node.op, ast.And) else any(results)
        if isinstance(node, ast.Compare):
            left = value(node.left)
            for op, right in zip(node.ops, node.comparators):
                right = value(right)
                if type(op) not in _operators or not _operators[type(op)](left, right):
                    return False
                left = right
            return True
        raise TuningMistake("where", f"where={where!r} may use names, numbers, arithmetic and comparisons only", f'where="{next(iter(config))} <= 128"')

    try:
        tree = ast.parse(where, mode="eval").body
    except SyntaxError:
        raise TuningMistake("where", f"where={where!r} is no expression", f'where="{next(iter(config))} <= 128"') from None
    return bool(value(tree))


def candidates(tuning: options.Tuning, seed: int) -> list[dict]:
    """The configurations to try: all of them, or a random sample of `budget`."""
    names = list(tuning.space)
    every = [dict(zip(names, point)) for point in itertools.product(*tuning.space.values())]
    legal = [config for config in every if holds(tuning.where, config)]
    if not legal:
        raise TuningMistake("where", f"where={tuning.where!r} leaves no point of the space", "a weaker where, or more values in space")
    if len(legal) > tuning.budget:
        first, rest = legal[0], legal[1:]
        legal = [first, *random.Random(seed).sample(rest, tuning.budget - 1)]
    return legal


class Cache:
    """One JSON file per function and key, published by rename; a damaged one is a miss."""

    def __init__(self, folder: str):
        self.folder = pathlib.Path(folder).expanduser()

    def path(self, identity: str) -> pathlib.Path:
        return self.folder / (hashlib.sha256(identity.encode()).hexdigest()[:32] + ".json")

    def read(self, identity: str) -> dict | None:
        try:
            info = self.folder.stat()
            if info.st_uid != os.getuid() or info.st_mode & 0o022:
                return None  # not ours alone: somebody else may have written it
            found = json.loads(self.path(identity).read_text())
            return found if found.get("identity") == identity and isinstance(found.get("times"), dict) else None
        except (OSError, ValueError, AttributeError):
            return None

    def write(self, identity: str, times: dict, best: dict) -> None:
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=self.folder, suffix=".tmp", delete=False) as file:
                json.dump({"identity": identity, "times": times, "best": best}, file, indent=1)
            os.replace(file.name, self.path(identity))
        except OSError:
            pass  # a full or read-only disk costs tuning again, nothing else


class Progress:
    """A bar on stderr, if that is a terminal."""

    def __init__(self, name: str, total: int):
        self.name, self.total, self.shown = name, total, sys.stderr.isatty()

    def update(self, done: int, best: float) -> None:
        if self.shown:
            filled = 30 * done // self.total
            text = f"{best * 1e3:.3f} ms" if best < float("inf") else "-"
            print(f"\rtuning {self.name} [{'#' * filled}{'.' * (30 - filled)}] {done}/{self.total}  best {text} ", end="", file=sys.stderr)

    def close(self) -> None:
        if self.shown:
            print(file=sys.stderr)


def _copy(array: arrays.Array) -> arrays.Array:
    """A private copy with the same strides class, so that the caller's data stays as it is."""
    owner = array.owner
    return arrays.describe(owner.clone() if array.library == "torch" else numpy.array(owner, copy=True, order="K"))


def _bits(result) -> list[bytes]:
    results = result if isinstance(result, tuple) else () if result is None else (result,)
    return [numpy.ascontiguousarray(r.view(dtype=__import__("torch").uint8).numpy() if hasattr(r, "data_ptr") else r).tobytes() for r in results]


def _measure(version, given: dict, scalars: dict) -> tuple[float, list[bytes]]:
    private = {name: _copy(array) for name, array in given.items()}
    result = version.run(private, scalars, ())
    written = [private[name].owner for name, _, _, mode, _ in version.tensors if mode in ("out", "inout", "reduce") and name in private]
    bits = _bits(result) + _bits(tuple(written))
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        version.run(private, scalars, ())
        best = min(best, time.perf_counter() - start)
    return best, bits


def _with(fn: Function, config: dict) -> options.Options:
    chosen = fn.options.copy()
    chosen.tuned = dict(config)
    return chosen


class _Trial(Function):
    """The same program under one configuration."""

    def __init__(self, fn: Function, config: dict):
        super().__init__(fn._fn, fn.kind, _with(fn, config), fn._source, fn._names)
        self.__name__ = fn.__name__


def trial(fn: Function, config: dict) -> _Trial:
    key = tuple(sorted(config.items()))
    with fn._lock:
        if key not in fn._tuned:
            fn._tuned[key] = _Trial(fn, config)
        return fn._tuned[key]


def _sizes(fn: Function, given: dict) -> dict:
    sizes = {}
    for parameter in fn.parameters:
        array = given.get(parameter.name)
        for axis, dim in enumerate(parameter.dims or ()):
            if array is not None:
                sizes.setdefault(dim, array.sizes[axis])
    return sizes


def choose(fn: Function, bound: dict, given: dict, scalars: dict, target: str) -> dict:
    """The configuration for this call's key; `fn._tuned["by",]` says who decided on it."""
    tuning = fn.options.tuning
    sizes = _sizes(fn, given)
    for name in tuning.key:
        if name not in sizes and name not in bound:
            near = source.nearest(name, sizes, next(iter(sizes), "M"))
            raise _placed(fn, TuningMistake("key", f"key names {name!r}, which is no dim or parameter of {fn.__name__}: {', '.join(sizes)}",
                                            f'key=["{near}"]'))
    key = [(name, sizes.get(name, bound.get(name))) for name in tuning.key]
    dtypes = [(name, array.dtype.name) for name, array in given.items()]
    identity = json.dumps([fn.source.text, target, repr(key), repr(dtypes), tuning.numerics, fn.options.policy], sort_keys=True)
    remembered = fn._tuned.get(identity)
    if remembered is not None:
        fn._tuned["by",] = fn._tuned["by", identity]
        return remembered
    seed = int(hashlib.sha256(identity.encode()).hexdigest()[:8], 16)
    try:
        legal = candidates(tuning, seed)
    except TuningMistake as mistake:
        raise _placed(fn, mistake) from None
    default = legal[0]
    fn._tuned["by",] = "default"
    if knobs.tune == "off" or target.startswith("sim:"):  # how long the simulator takes says nothing of a GPU
        return default
    cache = Cache(tuning.cache)
    found = cache.read(identity) or {"times": {}}
    times = {k: v for k, v in found["times"].items() if isinstance(v, (int, float))}
    names = {json.dumps(config, sort_keys=True): config for config in legal}
    todo = [] if knobs.tune == "cached" else [name for name in names if name not in times]
    if todo:
        _run_search(fn, tuning, names, todo, times, bound, given, scalars, target)
    ranked = sorted((seconds, name) for name, seconds in times.items() if name in names and seconds >= 0)
    best = names[ranked[0][1]] if ranked else default
    if todo:
        cache.write(identity, times, best)
    fn._tuned["by",] = fn._tuned["by", identity] = "tuner" if ranked else "default"
    fn._tuned[identity] = best
    return best


def _run_search(fn, tuning, names, todo, times, bound, given, scalars, target) -> None:
    """Fills `times`; -1 marks a configuration that may not win (an error, or other bits)."""
    progress = Progress(fn.__name__, len(todo))
    deadline = time.monotonic() + tuning.seconds
    reference = None
    if tuning.numerics == "fixed":
        first = trial(fn, next(iter(names.values())))
        specs, _, _ = arguments.argument_specs(first, bound, target)
        reference = _measure(first._version(Spec(specs, first.capture()[0], target, first.options.tuned)), given, scalars)[1]
    best = float("inf")
    try:
        for done, name in enumerate(todo):
            progress.update(done, best)
            if time.monotonic() > deadline:
                break
            candidate = trial(fn, names[name])
            try:
                specs, _, _ = arguments.argument_specs(candidate, bound, target)
                version = candidate._version(Spec(specs, candidate.capture()[0], target, candidate.options.tuned))
                seconds, bits = _measure(version, given, scalars)
            except CompileError:
                times[name] = -1
                continue
            times[name] = -1 if reference is not None and bits != reference else seconds
            if times[name] >= 0:
                best = min(best, seconds)
        else:
            progress.update(len(todo), best)
    except KeyboardInterrupt:
        pass  # the best so far stands
    finally:
        progress.close()


def call(fn: Function, bound, given, scalars, captured, target, out):
    """The result; and if the next call with these sizes will choose the same, what ran: Spec, Version, arrays."""
    config = choose(fn, bound, given, scalars, target)
    chosen = trial(fn, config)
    specs, given_again, scalars = arguments.argument_specs(chosen, bound, target)
    spec = Spec(specs, captured, target, chosen.options.tuned, fn._tuned["by",])
    version = chosen._version(spec)
    fn._called = spec
    given = {**given, **given_again}
    result = fn._run(version, given, scalars, out)
    sizes = _sizes(fn, given)
    settled = knobs.tune != "off" and all(name in sizes for name in fn.options.tuning.key)
    return result, (spec, version, given) if settled else None
