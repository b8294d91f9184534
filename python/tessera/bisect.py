"""`tessera-bisect`: runs a program after each pass and names the first pass whose result differs.

    print(fn.bisect(x, y))                                   # from Python
    tessera-bisect file.py:fn --dims M=65,N=127 --seed 1     # inputs are made

After each pass the program is executed by the interpreter: its result must be within the bound derived before the first pass,
and equal in the ring. Target IR and what LLVM makes of it run as machine code.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import dataclasses
import difflib
import os
import pathlib
import signal
import sys
import tempfile
import warnings

import numpy as np

from . import arguments, arrays, comparison, inputs, machines, oracle
from .check import result_names
from .errors import RunError, TesseraError
from .references import to_numpy
from .version import make_version


@dataclasses.dataclass
class Step:
    """The program after one pass."""

    number: int
    stage: str  # that the pass leads to
    name: str  # of the pass
    text: str
    planted: str = ""  # what a test made wrong
    verdict: str = ""  # equal, or what differs, or why it was not run
    wrong: bool = False


class Report:
    """All steps; `culprit` is the first that is wrong, `before` the one before it."""

    def __init__(self, function: str, steps: list[Step], reproducer: str = ""):
        self.function, self.steps, self.reproducer = function, steps, reproducer

    @property
    def culprit(self) -> Step | None:
        return next((step for step in self.steps if step.wrong), None)

    @property
    def before(self) -> Step | None:
        """The last step before the culprit that was executed."""
        good = None
        for step in self.steps:
            if step.wrong:
                return good
            good = step
        return None

    @property
    def changes(self) -> str:
        """What the culprit changed, as a diff."""
        if self.culprit is None or self.before is None:
            return ""
        old, new = self.before.text.splitlines(), self.culprit.text.splitlines()
        changes = list(difflib.unified_diff(old, new, "before", "after", n=1, lineterm=""))
        if len(changes) > 60:
            return f"({len(old)} lines became {len(new)}; `before.text` and `culprit.text` have them)"
        return "\n".join(changes)

    def __bool__(self) -> bool:
        return self.culprit is None

    def __str__(self) -> str:
        width = max(len(step.name) for step in self.steps)
        lines = [f"{self.function} after each pass that changed it", ""]
        lines += [f"{step.stage:10}  {step.name:{width}}  {'WRONG  ' if step.wrong else ''}{step.verdict.splitlines()[0] if step.verdict else ''}" for step in self.steps]
        if self.culprit is None:
            return "\n".join([*lines, "", "no pass changes the result"])
        lines += ["", f"the first pass whose result differs: {self.culprit.name}", self.culprit.verdict, "", self.changes]
        if self.reproducer:
            lines += ["", f"reproducer: {self.reproducer}"]
        return "\n".join(lines)

    __repr__ = __str__


class _Bisection:
    def __init__(self, fn, args: tuple, kwargs: dict, target: str, plant: tuple | None):
        self.fn, self.target, self.plant = fn, target, plant
        self.spec, self.compilation, self.values = oracle.specialise(fn, args, kwargs, target, asserts=False)

    def run(self) -> list[Step]:
        first = oracle.Stage(self.compilation)
        bounds = first.run(self.values, "bound").results
        self.names = result_names(self.fn, bounds)
        self.exact = [r.of("bound") for r in bounds]
        self.bounds = [r.bounds for r in bounds]
        self.ring = self._in_ring(first)
        steps = [Step(-1, "graph", "(the front end)", self.compilation.print(), "", "equal")]
        self.facts = self.compilation.facts()  # after the pass before
        made = self.compilation.lower_by_pass("target", *(self.plant or (-1, 0)))
        for number, stage, name, text, planted in made:
            step = Step(number, stage, name, text, planted)
            if stage != "target":
                self._interpret(step)
            steps.append(step)
            if step.wrong:
                return steps
        self._execute(steps)
        return steps

    def _in_ring(self, program: oracle.Stage):
        try:
            return [r.of("ring") for r in program.run(self.values, "ring").results]
        except RunError:
            return None

    def _judge(self, step: Step, got: list) -> None:
        undecided = None
        for name, g, exact, bound in zip(self.names, got, self.exact, self.bounds):
            wrong = comparison.within(name, g, exact, bound)
            if wrong and not wrong.undecided:
                step.wrong, step.verdict = True, str(wrong)
                return
            undecided = undecided or wrong
        step.verdict = "within the bound" if undecided is None else f"undecided: {undecided}"

    def _interpret(self, step: Step) -> None:
        try:
            program = oracle.Stage.of_text(step.text, f"<after {step.name}>", self.fn.__name__, self.target, checked=False)
            before, self.facts = self.facts, program.compilation.facts()
            outcome = program.run(self.values, "exact")
        except TesseraError as error:
            step.wrong, step.verdict = True, str(error).strip()
            return
        for result in outcome.results:
            if result.poison:
                step.wrong, step.verdict = True, f"{result.name}: {len(result.poison)} elements were never written"
                return
        self.found = [r.of("exact") for r in outcome.results]
        self._judge(step, self.found)
        if step.wrong or self.ring is None:
            return
        ring = self._in_ring(program)
        moved = oracle.moves_roundings(before, self.facts)
        if moved:
            self.ring = ring
        for name, mine, first in zip(self.names, ring or [], self.ring or []):
            wrong = comparison.equal(name, mine, first)
            if wrong:
                step.wrong, step.verdict = True, f"in the ring, {wrong}"
                return
        step.verdict += ("" if ring is None or moved else ", equal in the ring")

    def _execute(self, steps: list[Step]) -> None:
        """Target IR as machine code: all its passes at once, then LLVM's."""
        last = steps[-1]
        if not machines.of(self.target).in_process:
            last.verdict = "machine code of a GPU: see fn.check"
            return
        try:
            got = _in_child(self._machine_results)
        except RunError as error:
            last.wrong, last.verdict = True, f"as machine code {error}"
            return
        self._judge(last, got)
        if not last.wrong and self.facts["exact"]:
            for name, g, exact in zip(self.names, got, self.found):
                wrong = comparison.within(name, g, exact, np.zeros(exact.shape))
                if wrong and not last.wrong:
                    last.wrong, last.verdict = True, f"{wrong}; it has one right value"
        last.verdict = f"as machine code {last.verdict}"

    def _machine_results(self) -> list:
        version = make_version(self.fn, self.target, self.compilation, self.spec)
        given = {name: arrays.describe(value) for name, value in self.values.items() if arrays.is_array(value)}
        written = [name for name, _, _, mode, _ in version.tensors if mode not in ("in", "result") and name in given]
        copies = {name: np.array(to_numpy(self.values[name]), copy=True) for name in written}
        given |= {name: arrays.describe(copy) for name, copy in copies.items()}
        scalars = {name: value for name, value in self.values.items() if name not in given}
        with arrays.filled():
            result = version.run(given, scalars, ())
        returned = iter(() if result is None else result if isinstance(result, tuple) else (result,))
        return [np.asarray(to_numpy(copies[name])) if name in copies else np.asarray(to_numpy(next(returned))) for name in self.names]


def _in_child(make, seconds: float = 60) -> list:
    """The arrays that `make` gives, from a forked process: wrong machine code may write anywhere."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "results.npz"
        child = os.fork()
        if child == 0:
            try:
                signal.alarm(int(seconds))
                # bf16 is no dtype of NumPy's file format; its values fit float32.
                made = [a.astype(np.float32) if a.dtype.kind == "V" or a.dtype.name == "bfloat16" else a for a in make()]
                np.savez(path, *made)
                os._exit(0)
            except BaseException as error:
                print(error, file=sys.stderr)
            finally:
                os._exit(1)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            raise RunError(f"runs for more than {seconds:.0f} s" if number == signal.SIGALRM else f"ends by signal {signal.Signals(number).name}")
        if status != 0:
            raise RunError("fails")
        with np.load(path) as found:
            return [found[name] for name in found.files]


def bisect(fn, args: tuple, kwargs: dict, target: str, folder: str | None = None, plant: tuple | None = None) -> Report:
    """`plant`: a miscompile on purpose after the pass of that number, by that seed, and whether only in what that pass made (compiler/Testing/Mutate.h)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = Report(fn.__name__, _Bisection(fn, args, kwargs, target, plant).run())
        if report.culprit is not None and folder is not None:
            report.reproducer = _reproduce(report, fn, args, kwargs, target, plant, pathlib.Path(folder))
    return report


def _reproduce(report: Report, fn, args: tuple, kwargs: dict, target: str, plant, folder: pathlib.Path) -> str:
    """The smallest made inputs on which the same pass is wrong, and the program before and after it."""
    folder.mkdir(parents=True, exist_ok=True)
    best, dims = report, {}
    sizes = inputs.dims_of(fn, args, kwargs)
    for seed in (1, 2, 3):
        for scale in (0.125, 0.25, 0.5, 1.0):
            wanted = {name: max(1, int(size * scale)) for name, size in sizes.items()}
            try:
                made = inputs.make(fn, wanted, seed, like=arguments.bind(fn, args, kwargs))
                found = Report(fn.__name__, _Bisection(fn, (), made, target, plant).run())
            except TesseraError:
                continue
            if found.culprit is not None and found.culprit.name == report.culprit.name:
                best, dims = found, dict(wanted, seed=seed)
                break
        if dims:
            break
    before, after = folder / "before.mlir", folder / "after.mlir"
    before.write_text(best.before.text)
    after.write_text(best.culprit.text)
    lines = [f"{fn.kind} {fn.__name__}: {report.culprit.name} changes the result", report.culprit.verdict, ""]
    words = "--input x=x.npy"
    if dims:
        given = ",".join(f"{name}={size}" for name, size in dims.items() if name != "seed")
        words = f"--dims {given} --seed {dims['seed']}"
        lines += ["smallest made inputs: " + given + f", seed {dims['seed']}", str(best.culprit.verdict)]
    else:
        lines.append("made inputs do not show it; the inputs are in inputs.npz")
        np.savez(folder / "inputs.npz", **{name: to_numpy(v) for name, v in oracle.specialise(fn, args, kwargs, target)[2].items() if arrays.is_array(v)})
    lines += ["", f"tessera-opt --{best.culprit.name} before.mlir    # the pass alone", f"tessera-run before.mlir {words}; tessera-run after.mlir {words}   # also with --domain=ring"]
    (folder / "README.txt").write_text("\n".join(lines) + "\n")
    return str(folder)


def main(words: list[str] | None = None) -> int:
    """The command `tessera-bisect`."""
    import argparse

    parser = argparse.ArgumentParser("tessera-bisect", description="Names the first pass whose result differs.")
    parser.add_argument("function", help="file.py:name, or a .tessera file:name")
    inputs.add_arguments(parser)
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--folder", default="bisect", help="for the reproducer")
    given = inputs.parsed(parser, words)
    bad = 0
    try:
        functions = inputs.load(given.function)
        inputs.check_dims(given.dims, functions)
        for fn in functions:
            report = bisect(fn, (), inputs.make(fn, given.dims, given.seed, given.dtype), given.target, given.folder)
            print(report)
            bad += not report
    except (TesseraError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
