"""`@tsr.kernel.autotune` and `fn.tune()`: measures configurations, and remembers.

Every candidate runs on copies of the arguments, and wins only if the oracle accepts its results (tessera/judge.py). What came of each
configuration is kept per key (tessera/records.py), so that a new configuration is measured alone and processes share their findings.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ast
import concurrent.futures
import dataclasses
import hashlib
import json
import math
import sys
import textwrap
import time

from . import _runtime, arguments, capture, keys, machines, options, search, source
from .arguments import NewKey, Spec
from .candidates import Race, Trial, scratch, trial
from .errors import CompileError, TesseraError
from .function import Function
from .judge import Judge
from .knobs import knobs
from .records import Records
from .space import STRATEGIES, Axis, Space, TuningMistake, check_names, name_of, of_attributes, of_schedule, placed
from .wording import remind

CACHE = "~/.tessera/autotune_cache"


class Progress:
    """A bar on stderr if that is a terminal; a line per configuration if it is asked for elsewhere."""

    def __init__(self, name: str, total: int, asked: bool | None = None):
        self.name, self.total = name, max(total, 1)
        self.bar = sys.stderr.isatty() and asked is not False
        self.lines = bool(asked) and not self.bar

    def update(self, done: int, config: dict | None, best: float, what: str = "") -> None:
        shown = f"{best * 1e3:.3f} ms" if best < math.inf else "-"
        if self.bar:
            filled = min(30 * done // self.total, 30)
            print(f"\rtuning {self.name} [{'#' * filled}{'.' * (30 - filled)}] {done}/{self.total}  best {shown} ", end="", file=sys.stderr, flush=True)
        elif self.lines and config is not None:
            print(f"tuning {self.name} {done}/{self.total}: {name_of(config)} {what}; best {shown}", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self.bar:
            print(file=sys.stderr)


@dataclasses.dataclass
class Choice:
    """What a key gets, and who decided: default or tuner."""

    config: dict
    by: str


class Tuned:
    """What `fn.tune` found: `best`, its `seconds`, `speedup` over the default, and `tried`: a row per configuration."""

    def __init__(self, name: str, best: dict, by: str, tried: list, default: dict, measured: int, interrupted: bool):
        self.name, self.best, self.by, self.tried, self.default = name, best, by, tried, default
        self.measured, self.interrupted = measured, interrupted  # in this call; the others were known

    def _entry(self, config: dict) -> dict | None:
        return next((row for row in self.tried if row["config"] == config and row["state"] == "ok"), None)

    @property
    def seconds(self) -> float | None:
        entry = self._entry(self.best)
        return entry and entry["seconds"]

    @property
    def speedup(self) -> float | None:
        """Over the default, both measured in turns."""
        entry = self._entry(self.best)
        return entry and 1.0 / entry["ratio"]

    @property
    def rejected(self) -> list:
        return [row for row in self.tried if row["state"] != "ok"]

    def __str__(self) -> str:
        order = sorted(self.tried, key=lambda row: row.get("ratio", math.inf))
        lines = [f"{self.name}: {len(self.tried)} configurations known, {self.measured} measured now" + (", interrupted" if self.interrupted else ""),
                 f"best: {self.best}" + (f", {self.seconds * 1e3:.3f} ms, {self.speedup:.2f}x the default" if self.seconds is not None else "") + f" (decided by {self.by})"]
        lines += [f"  {row['ratio']:6.2f}  {row['seconds'] * 1e3:10.3f} ms  {name_of(row['config'])}" for row in order if row["state"] == "ok"][:10]
        lines += [f"  {row['state']:>6}  {row.get('why', '')[:90]}  {name_of(row['config'])}" for row in self.rejected[:10]]
        return "\n".join(lines)

    __repr__ = __str__


# ---- keys ---------------------------------------------------------------------------------------


def _sizes(fn: Function, given: dict) -> dict:
    sizes = {}
    for parameter in fn.parameters:
        array = given.get(parameter.name)
        for axis, dim in enumerate(parameter.dims or ()):
            if array is not None:
                sizes.setdefault(dim, array.sizes[axis])
    return sizes


def _program(fn: Function) -> str:
    """The text of a function without its decorators and comments: another space is no other program."""
    try:
        tree = ast.parse(textwrap.dedent(fn.source.text))
        tree.body[0].decorator_list = []
        return ast.unparse(tree)
    except (SyntaxError, IndexError, AttributeError):
        return fn.source.text


def _build() -> str:
    try:
        return repr(keys.build())
    except keys.NoKey:
        from . import __version__

        return __version__


def _identity(fn: Function, tuning: options.Tuning, bound: dict, given: dict, captured: dict, target: str) -> str:
    """All that a measurement depends on, but for the configuration."""
    sizes = _sizes(fn, given)
    for name in tuning.key:
        if name not in sizes and name not in bound:
            free = [one for one in sizes if one not in tuning.key]
            known = [one for one in tuning.key if one in sizes or one in bound]
            near = {one: source.nearest(one, free, free[0] if len(free) == 1 else "") for one in tuning.key if one not in known}
            right = list(dict.fromkeys(near.get(one, one) for one in tuning.key))
            raise placed(fn, TuningMistake("key", f"key names {' and '.join(map(repr, near))}, which {'is' if len(near) == 1 else 'are'} no dim or parameter of "
                                           f"{fn.__name__}: {', '.join(sizes)}", "key=[" + ", ".join(f'"{one}"' for one in right) + "]" if all(right) else ""))
    key = [(name, sizes.get(name, bound.get(name))) for name in tuning.key]
    tensors = [(name, array.dtype.name, array.unit_axis, len(array.sizes)) for name, array in given.items()]
    consts = [(p.name, repr(bound[p.name])) for p in fn.parameters if p.kind == "const" and p.name in bound]
    try:
        outside = repr([keys.program(entry[1], entry[1].capture()[0]) if entry[0] == "function" else (name, entry)
                        for name, entry in captured.items()])
    except keys.NoKey:
        outside = repr(capture.key_of(captured))
    opts = fn.options
    return json.dumps([_program(fn), outside, target, repr(key), repr(tensors), consts, tuning.numerics, opts.policy, repr(opts.accum), opts.precision,
                       repr([(s.target, s.dtype, s.values) for s in opts.schedules]), keys.machine(target), _runtime.num_threads(), _build()])


def _space(fn: Function, tuning: options.Tuning) -> Space:
    space = Space(tuning.axes or Space.of_dict(tuning.space).axes, tuning.where)
    check_names(fn, space)
    return space


# ---- search -------------------------------------------------------------------------------------


class Search:
    """One key: its records, and what is left to try."""

    def __init__(self, fn: Function, tuning: options.Tuning, space: Space, bound: dict, target: str, records: Records, identity: str):
        self.fn, self.tuning, self.space, self.bound, self.target, self.records = fn, tuning, space, bound, target, records
        self.seed = int(hashlib.sha256(identity.encode()).hexdigest()[:8], 16)
        self.measured, self.interrupted = 0, False
        self.error: TesseraError | None = None

        self.whole = space
        self._narrow()

    @property
    def signature(self) -> str:
        return hashlib.sha256(repr((self.whole.axes, self.whole.where, self.tuning.budget)).encode()).hexdigest()[:16]

    def _narrow(self) -> None:
        """Values that change the default's bits by themselves need not be tried with others."""
        if self.tuning.numerics != "fixed":
            return
        default = self.whole.choices_of(self.whole.default)
        out: dict = {}
        for entry in self.records.known.values():
            choices = self.whole.choices_of(entry["config"]) if entry["state"] == "bits" else None
            moved = [k for k in range(len(default)) if choices is not None and choices[k] != default[k]]
            if len(moved) == 1:
                out.setdefault(moved[0], set()).add(choices[moved[0]])
        self.space = self.whole.without(out) if out else self.whole

    def _probe(self) -> None:
        """A schedule says which of its values are another order of summation, without a run."""
        if self.tuning.numerics != "fixed" or self.fn.kind != "function":
            return
        default = self.whole.choices_of(self.whole.default)
        for number, axis in enumerate(self.whole.axes):
            for choice in range(len(axis.values)):
                config = self.whole.at((*default[:number], choice, *default[number + 1:]))
                if choice == default[number] or name_of(config) in self.records.known or not self.whole.allows(config):
                    continue
                try:
                    if self.judge.is_other_order(trial(self.fn, config)):
                        self.records.publish(config, "bits", why="another order of summation")
                except CompileError as error:
                    self.records.publish(config, "error", why=str(error).partition("\n")[0])
        self._narrow()

    def known(self) -> list[dict]:
        """What is recorded of this space's points."""
        return [entry for entry in self.records.known.values()
                if self.space.choices_of(entry["config"]) is not None and self.space.allows(entry["config"])]

    def best(self) -> dict | None:
        """The quickest that may win."""
        limit = self.tuning.memory
        good = [entry for entry in self.known() if entry["state"] == "ok" and (limit is None or entry.get("memory", 0) <= limit)]
        return min(good, key=lambda entry: (entry["ratio"], name_of(entry["config"])))["config"] if good else None

    def is_done(self) -> bool:
        legal, known = self.space.legal(), self.known()
        enough = len(known) >= len(legal) or (self.tuning.strategy != "exhaustive" and len(legal) > self.tuning.budget and len(known) >= self.tuning.budget)
        return enough or self.records.spent.get(self.signature, 0.0) >= self.tuning.seconds

    def run(self, progress: bool | None = None) -> None:
        """Until budget or time are used up. Ctrl-C ends it early; what was found stands."""
        start = time.monotonic()
        try:
            self._run(start, progress)
        except KeyboardInterrupt:
            self.interrupted = True
        else:
            self.records.add_time(self.signature, time.monotonic() - start)

    def _run(self, start: float, progress: bool | None) -> None:
        self.judge = judge = self._judge()
        if judge is None:
            return
        self._probe()
        legal = self.space.legal()
        total = len(legal) if self.tuning.strategy == "exhaustive" else min(len(legal), self.tuning.budget)
        shown = Progress(self.fn.__name__, total - len(self.known()), progress)
        asked = search.sampler(self.tuning.strategy, self.space, self.records, self.tuning.budget, self.seed)
        try:
            self.race = Race(self.fn, self.bound)
            allowed = self.tuning.seconds - self.records.spent.get(self.signature, 0.0)  # `seconds` are of all searches of this space
            while time.monotonic() - start < allowed:
                left = total - len(self.known())  # other processes do their part
                batch = self._next(asked, min(self.tuning.parallel, left))
                if not batch:
                    break
                self._compile(batch)
                for config in batch:
                    try:
                        state, more = self._evaluate(config, judge)
                    except BaseException:
                        for rest in batch[batch.index(config):]:
                            self.records.give_up(rest)
                        raise
                    self.records.publish(config, state, **more)
                    asked.tell(config, more.get("ratio") if state == "ok" else None)
                    self.measured += 1
                    best = min((e["seconds"] for e in self.known() if e["state"] == "ok"), default=math.inf)
                    shown.update(self.measured, config, best, f"{more['seconds'] * 1e3:.3f} ms" if state == "ok" else f"{state}: {more.get('why', '')}")
            self.records.wait([name_of(config) for config in legal[:1000]])
        finally:
            shown.close()

    def _next(self, asked, count: int) -> list[dict]:
        """Points that nobody has measured, or is measuring."""
        batch: list = []
        while len(batch) < count:
            config = asked.ask()
            if config is None:
                break
            if self.records.claim(config):
                batch.append(config)
        return batch

    def _judge(self) -> Judge | None:
        """With the first configuration that compiles as the default."""
        for config in self.space.legal():
            default = trial(self.fn, config)
            try:
                default.compiled(self.bound, self.target)
                self.default = default
                judge = Judge(default, self.bound, self.target, self.tuning.numerics)
            except CompileError as error:
                self.error = self.error or error
                self.records.publish(config, "error", why=str(error).partition("\n")[0])
                continue
            if judge.rejected:
                remind(f"tuning {self.fn.__name__}: the oracle rejects the default configuration {config} ({judge.rejected}), so only its own bits may win")
            return judge
        return None

    def _compile(self, batch: list) -> None:
        """Several at a time; what cannot be compiled says so when it is measured."""
        def one(config):
            try:
                trial(self.fn, config).compiled(self.bound, self.target)
            except TesseraError:
                pass

        if len(batch) > 1:
            with concurrent.futures.ThreadPoolExecutor(len(batch)) as pool:
                list(pool.map(one, batch))

    def _evaluate(self, config: dict, judge: Judge) -> tuple[str, dict]:
        candidate = trial(self.fn, config)
        try:
            version = candidate.compiled(self.bound, self.target)
            memory = scratch(version)
            if self.tuning.memory is not None and memory > self.tuning.memory:
                return "memory", {"why": f"{memory} bytes of memory", "memory": memory}
            state, why = judge.verdict(candidate)
            if state != "ok":
                return state, {"why": why}
            seconds, ratio = _measure(self.race, candidate, self.default)
        except TesseraError as error:
            return "error", {"why": str(error).partition("\n")[0]}
        return "ok", {"seconds": seconds, "ratio": ratio, "memory": memory}


def _measure(race: Race, candidate: Trial, default: Trial) -> tuple[float, float]:
    return race.compare(candidate, default)


# ---- calls --------------------------------------------------------------------------------------


def _tuning_of(fn: Function, target: str) -> options.Tuning:
    """The function's own; the documents' dictionary is translated for the target."""
    tuning = fn.options.tuning
    if tuning.attributes is None or tuning.axes:
        return tuning
    try:
        axes, more = of_attributes(fn, tuning.attributes, target)
        axes += Space.of_dict(tuning.space).axes
        if not axes:
            raise TuningMistake("autotuning", "autotuning leaves nothing to choose here", "autotuning=dict(tile_sizes=[[64, 64], [128, 64]])")
    except TuningMistake as mistake:
        raise placed(fn, mistake) from None
    made = dataclasses.replace(tuning, axes=axes, **more)
    made.space = Space(axes).values()
    made.key = tuning.key or list(dict.fromkeys(d for p in fn.parameters for d in p.dims or () if d.isidentifier()))
    fn.options.tuning = made
    return made


def choose(fn: Function, bound: dict, given: dict, captured: dict, target: str) -> Choice:
    """The configuration for this call's key."""
    tuning = _tuning_of(fn, target)
    identity = _identity(fn, tuning, bound, given, captured, target)
    known = fn._choices.get(identity)
    if known is not None:
        return known
    try:
        space = _space(fn, tuning)
        default = space.default
    except TuningMistake as mistake:
        raise placed(fn, mistake) from None
    if knobs.tune == "off" or machines.of(target).simulated:  # how long the simulator takes says nothing of a GPU
        return Choice(default, "default")
    with fn._tuning_lock:  # threads with the same new key search once
        known = fn._choices.get(identity)
        if known is not None:
            return known
        work = Search(fn, tuning, space, bound, target, Records(tuning.cache, identity), identity)
        if knobs.tune == "on" and tuning.on_call and not work.is_done():
            work.run()
        best = work.best()
        if best is None and work.error is not None:
            raise work.error
        fn._choices[identity] = Choice(best or default, "tuner" if best else "default")
        return fn._choices[identity]


def call(fn: Function, bound, given, scalars, captured, target, out):
    """The result; and if the next call with these sizes will choose the same, what ran: Spec, Version, arrays."""
    choice = choose(fn, bound, given, captured, target)
    chosen = trial(fn, choice.config)
    specs, given_again, scalars = arguments.argument_specs(chosen, bound, target)
    spec = Spec(specs, captured, target, chosen.options.tuned, choice.by)
    version = chosen._version(spec)
    given = {**given, **given_again}
    fn.note_call(spec, given)
    result = fn._run(version, given, scalars, out)
    sizes = _sizes(fn, given)
    settled = knobs.tune != "off" and all(name in sizes for name in fn.options.tuning.key)
    return result, (spec, version, given) if settled else None


def _open_space(fn: Function, bound: dict, target: str) -> Space:
    """What the schedule leaves open for these arguments."""
    while True:
        specs, _, _ = arguments.argument_specs(fn, bound, target)
        spec = Spec(specs, fn.capture()[0], target, fn.options.tuned)
        try:
            return of_schedule(fn, spec, fn._start(spec))
        except NewKey:
            continue


def _declared(fn: Function, space, where, numerics, strategy, attributes, cache, seconds, budget, bound, target) -> options.Tuning:
    """What `fn.tune` was asked for; what it does not say is the decorator's, or the schedule's."""
    own = fn.options.tuning
    dims = list(dict.fromkeys(d for p in fn.parameters for d in p.dims or () if d.isidentifier()))
    made = dataclasses.replace(own) if own is not None else options.Tuning({}, dims, CACHE, on_call=False)
    if strategy is not None and strategy not in STRATEGIES:
        raise TuningMistake("strategy", f"no search strategy is called {strategy!r}; there are {', '.join(STRATEGIES)}",
                            f'strategy="{source.nearest(strategy, STRATEGIES, "auto")}"')
    for name, value, kinds, kind in (("seconds", seconds, (int, float), "a number"), ("budget", budget, int, "an int")):
        if value is not None and (not isinstance(value, kinds) or isinstance(value, bool)):
            number = source.number_in(value)
            raise TuningMistake(name, f"{name} is {kind}, not {value!r}", f"{name}={number}" if number is not None else "")
    changes = {"where": where, "numerics": numerics, "strategy": strategy and STRATEGIES[strategy], "cache": cache, "seconds": seconds, "budget": budget}
    for name, value in changes.items():
        if value is not None:
            setattr(made, name, value)
    if made.numerics not in ("fixed", "open"):
        raise TuningMistake("numerics", *options.numerics_mistake(made.numerics))
    if attributes is not None:
        axes, more = of_attributes(fn, attributes, target)
        axes += [axis for axis in Space.of_dict(space or {}).axes]
        made = dataclasses.replace(made, axes=axes, **more)
        for name in ("budget",):
            if changes[name] is not None:
                setattr(made, name, changes[name])
    elif space is not None:
        single = [name for name, values in space.items() if isinstance(values, (int, float, str))] if isinstance(space, dict) else []
        if single:
            raise TuningMistake("space", f"{single[0]} in space is a list of values, not {space[single[0]]!r}", f"{single[0]}=[{space[single[0]]!r}]")
        if not isinstance(space, dict) or not all(isinstance(values, (list, tuple)) and values for values in space.values()):
            raise TuningMistake("space", f"space is a dict of lists, not {space!r}",
                                f"space=dict({next((p.name for p in fn.parameters if p.kind == 'const'), 'num_warps')}=[64, 128])")
        made.axes = Space.of_dict(space).axes
    elif own is not None:
        made = dataclasses.replace(_tuning_of(fn, target), **{n: v for n, v in changes.items() if v is not None})
        made.axes = made.axes or Space.of_dict(made.space).axes
    else:
        made.axes = _open_space(fn, bound, target).axes
    made.space = Space(made.axes).values()
    if not made.axes:
        made.axes = [Axis((), ((),))]
    return made


def tune(fn: Function, args: tuple, kwargs: dict, target: str, seconds, budget, space, where, numerics, strategy, attributes, cache, progress) -> Tuned:
    """What `fn.tune` returns; the next calls with these sizes run what won."""
    from . import arrays

    bound = arguments.bind(fn, args, kwargs)
    if target is None:
        target = fn._target_of(bound) if any(arrays.is_on_gpu(value) for value in bound.values()) else "cpu"
    specs, given, _ = arguments.argument_specs(fn, bound, target)
    captured, hidden = fn.capture()
    for name, value in hidden.items():
        given[name] = arrays.describe(value, gpu=machines.of(target).on_device)
    arguments.check_shapes(fn, given)
    try:
        tuning = _declared(fn, space, where, numerics, strategy, attributes, cache, seconds, budget, bound, target)
        points = _space(fn, tuning)
        default = points.default
    except TuningMistake as mistake:
        raise CompileError(source.at_user(f"{fn.__name__}.tune: {mistake.message}", mistake.fix, mistake.part)) from None
    identity = _identity(fn, tuning, bound, given, captured, target)
    work = Search(fn, tuning, points, bound, target, Records(tuning.cache, identity), identity)
    if knobs.tune == "on" and not machines.of(target).simulated and not work.is_done():
        work.run(progress)
    best = work.best()
    if best is None and work.error is not None:
        raise work.error
    if fn.options.tuning is None or space is not None or attributes is not None:
        fn.options.tuning = tuning
    choice = Choice(best or default, "tuner" if best else "default")
    fn._choices[identity] = choice
    fn._forget()
    return Tuned(fn.__name__, choice.config, choice.by, work.known(), default, work.measured, work.interrupted)


# ---- the command --------------------------------------------------------------------------------


def main(words: list[str]) -> int:
    """`tessera tune file.py[:fn]`: tunes every function and kernel of a file on made inputs."""
    import argparse

    from . import inputs

    parser = argparse.ArgumentParser("tessera tune", description="Tunes each function of a file for sizes that you say, and remembers.")
    parser.add_argument("file", help="file.py, file.tessera, or file.py:name")
    inputs.add_arguments(parser)
    parser.add_argument("--seconds", type=float, default=60.0, help="for each function")
    parser.add_argument("--budget", type=int, default=100, help="configurations to measure")
    parser.add_argument("--strategy", choices=tuple(STRATEGIES), default=None)
    parser.add_argument("--numerics", choices=("fixed", "open"), default=None, help="open: other orders of summation may win")
    parser.add_argument("--where", default=None, help='a constraint: "BLOCK_M * BLOCK_N <= 32768"')
    parser.add_argument("--cache", default=None, help=f"folder of the results; {CACHE}")
    parser.add_argument("--size", type=int, default=512, help="of dims that --dims leaves out")
    parser.add_argument("--quiet", action="store_true")
    words_given = inputs.parsed(parser, words)
    failed = 0
    try:
        functions = inputs.load(words_given.file)
        inputs.check_dims(words_given.dims, functions)
    except (TesseraError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    for fn in functions:
        dims = inputs.fill_dims(fn, words_given.dims, words_given.size)
        print(f"{fn.kind} {fn.__name__}: {', '.join(f'{n} = {v}' for n, v in dims.items())}, {words_given.dtype}")
        try:
            found = fn.tune(**inputs.make(fn, dims, words_given.seed, words_given.dtype), seconds=words_given.seconds, budget=words_given.budget,
                            strategy=words_given.strategy, numerics=words_given.numerics, where=words_given.where, cache=words_given.cache,
                            progress=not words_given.quiet)
            print(found, end="\n\n")
            if found.interrupted:
                return 130
        except TesseraError as error:
            print(error, file=sys.stderr)
            failed += 1
    return 1 if failed else 0
