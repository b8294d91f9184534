"""`fn.check(*args, target=..., reference=...)`: every stage and the machine code on one set of arguments, in one table.

Each stage is executed by the interpreter. Its result must be within the bound that follows from the program, the dims, the types
and these inputs; in the ring (docs/simulator.md) all stages must agree bit for bit. `reference` is a function in float64: stages
agree with each other even where the algorithm is wrong. Where a bound says nothing, the verdict is "undecided", which is no pass.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import dataclasses
import re
import warnings

import numpy as np

from . import comparison, machines, oracle, references, source
from .errors import ArgumentError, CheckError, RunError, TesseraError, UndecidedError
from .knobs import colour
from .references import as_list
from .targets import check_target

_COLUMNS = ("stage", "max error", "bound", "ring", "races", "barriers", "conflicts", "registers", "spills")


@dataclasses.dataclass
class Row:
    """One line of the table. A cell that was not looked at is "-"."""

    stage: str
    error: float | None = None
    bound: float | None = None
    ring: str = "-"
    races: str = "-"
    barriers: str = "-"
    conflicts: str = "-"
    registers: str = "-"
    spills: str = "-"
    wrong: str = ""  # what is not as it should be
    undecided: str = ""  # what could not be judged, though nothing is known to be wrong
    notes: list = dataclasses.field(default_factory=list)  # why something was not looked at, what else was seen

    def cells(self) -> tuple:
        error = "-" if self.error is None else f"{self.error:.3g}"
        bound = "-" if self.bound is None else "none" if np.isinf(self.bound) else f"{self.bound:.3g}"
        return (self.stage, error, bound, self.ring, self.races, self.barriers, self.conflicts, self.registers, self.spills)


class Report:
    """The table; true if everything was judged and nothing is wrong."""

    def __init__(self, title: str, place: str, rows: list[Row]):
        self.title, self.place, self.rows = title, place, rows

    @property
    def first_wrong(self) -> Row | None:
        return next((row for row in self.rows if row.wrong), None)

    @property
    def first_undecided(self) -> Row | None:
        return next((row for row in self.rows if row.undecided), None)

    def __bool__(self) -> bool:
        return self.first_wrong is None and self.first_undecided is None

    def __str__(self) -> str:
        table = [_COLUMNS, *(row.cells() for row in self.rows)]
        widths = [max(len(row[i]) for row in table) for i in range(len(_COLUMNS))]
        lines = [self.title, ""]
        for number, cells in enumerate(table):
            row = self.rows[number - 1]
            mark = "" if number == 0 else "  WRONG" if row.wrong else "  UNDECIDED" if row.undecided else ""
            lines.append("  ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip() + mark)
        lines += [f"{row.stage}: {text}" for row in self.rows for text in (row.wrong, row.undecided and f"undecided: {row.undecided}", *row.notes) if text]
        return "\n".join(lines)

    def __repr__(self) -> str:
        """One line: `check` has printed the table, and a notebook shows what a cell returns."""
        verdict = "right" if self else "wrong" if self.first_wrong else "undecided"
        return f"<check of {self.title}: {verdict}; print it for the table>"


def result_names(fn, results: list) -> list[str]:
    """What the user calls the results: their own names, else the parameters a kernel writes."""
    written = [p.name for p in fn.parameters if p.is_written]
    return [result.name or (written[i] if i < len(written) else "result") for i, result in enumerate(results)]


class Checker:
    """One call, looked at from all sides."""

    def __init__(self, fn, args: tuple, kwargs: dict, target: str):
        self.fn, self.args, self.kwargs, self.target = fn, args, kwargs, target
        # What the front end made of the user's lines, before any pass: what the passes of stage graph do is looked at too.
        program, self.given = oracle.prepare(fn, args, kwargs, None, target)
        self.compilation = program.compilation  # lowered from stage to stage
        bounds = program.run(self.given, "bound").results
        self.names = result_names(fn, bounds)
        self.exact = [result.of("bound") for result in bounds]
        self.bounds = [result.bounds for result in bounds]
        self.facts = self.compilation.facts()
        self.values: list = []  # of the last stage
        self.expected: list = []  # what the reference gives
        self.found: list = []  # each row, and what it computed
        self.outside: set = set()  # indices outside their axis, by place
        self.machine_bounds = self.bounds  # of the mapped stage: tensor cores keep fewer bits than the accumulate type
        try:
            self.ring: list | None = [result.of("ring") for result in program.run(self.given, "ring").results]
        except RunError:
            self.ring = None

    def place_of(self, name: str) -> str:
        """Where the user computes a result."""
        program, given = oracle.prepare(self.fn, self.args, self.kwargs, "graph", self.target)
        places = [place for _, place, results in program.run(given, "exact", trace=True).trace for r in results if r.name == name and place]
        return places[-1] if places else f"{self.fn.source.file}:{self.fn.source.first_line}"

    def lost_at(self) -> str:
        """The first of the user's lines after which a bound says nothing, and how its op is called; "" if it is not known."""
        program, given = oracle.prepare(self.fn, self.args, self.kwargs, None, self.target)
        for op, place, results in program.run(given, "bound", trace=True).trace:
            if place and any(r.values is not None and comparison.says_nothing(r.values, r.bounds).any() for r in results):
                return f"; the bound is lost at {place} ({op})"
        return ""

    def note(self, row: Row, found: comparison.Difference | None, more: str = "; ") -> None:
        """Writes the first of each kind into the row."""
        if found is None:
            return
        if found.undecided and not row.undecided:
            row.undecided = f"{found}{self.lost_at()}"
        if not found.undecided and not row.wrong:
            row.wrong = f"{found}{more}{self.place_of(found.result)}"

    def judge(self, row: Row, got: list, bounds: list | None = None) -> Row:
        """Fills in the errors of a row, and what is wrong with it."""
        bounds = self.bounds if bounds is None else bounds
        row.error = max((comparison.largest_error(g, e) for g, e in zip(got, self.exact) if g.shape == e.shape), default=0.0)
        row.bound = max((float(b.max()) for b in bounds if b.size), default=0.0)
        self.found.append((row, got))
        if len(got) != len(self.exact):
            row.wrong = f"{len(got)} results instead of {len(self.exact)}"
        for name, g, exact, bound in zip(self.names, got, self.exact, bounds):
            self.note(row, comparison.within(name, g, exact, bound))
        return row

    def settle(self) -> None:
        """Where each op rounds once and no order of summation is left open, there is one right value, which the first stage computed: the
        bound need not decide."""
        if not self.facts["exact"]:
            return
        first = self.found[0][1]
        for row, got in self.found:
            if len(got) == len(first) and all(comparison.equal("", mine, right) is None for mine, right in zip(got, first)):
                row.undecided = ""

    def remark(self, row: Row, remarks: list) -> None:
        """Races are wrong. A kernel may index outside an axis (it reads 0 and writes nothing), which is seldom meant; functions have refused it."""
        row.races = "race" if any(kind == "race" for kind, *_ in remarks) else "none"
        for kind, place, text, count in remarks:
            often = f" ({count} times)" if count > 1 else ""
            if kind == "race":
                row.wrong = row.wrong or f"a race: {place}: {text}{often}"
            elif self.fn.kind == "kernel" and (place, text) not in self.outside:
                self.outside.add((place, text))
                row.notes.append(f"{place}: {text}, reads 0 or writes nothing{often}")

    def stage(self, name: str) -> Row:
        row = Row(name)
        try:
            self.compilation.lower(name)
            program = oracle.Stage(self.compilation)
            outcome = program.run(self.given, "exact")
        except RunError as error:
            row.wrong = str(error).strip()
            return row
        self.remark(row, outcome.remarks)
        if row.wrong:
            return row
        for name, result in zip(self.names, outcome.results):
            if result.poison:
                row.wrong = f"{name} has {len(result.poison)} elements that were never written; {self.place_of(name)}"
                return row
        self.values = [result.of("exact") for result in outcome.results]
        self.judge(row, self.values)
        before, self.facts = self.facts, self.compilation.facts()
        if row.stage == "tile" and self.facts["tensor_cores"]:
            mapped = [result.bounds for result in program.run(self.given, "bound").results]
            self.machine_bounds = [np.maximum(mine, machine) for mine, machine in zip(self.bounds, mapped)]
        if oracle.moves_roundings(before, self.facts):
            self.ring = None
        try:
            ring = [result.of("ring") for result in program.run(self.given, "ring").results]
        except RunError as error:
            row.ring = "excluded"
            row.notes.append(f"not in the ring: {str(error).strip().splitlines()[0].replace(' error:', '')}")
            return row
        row.ring = "equal"
        for result, mine, first in zip(self.names, ring, self.ring or ring):
            wrong = comparison.equal(result, mine, first)
            if wrong:
                row.ring = "differs"
                row.wrong = row.wrong or f"in the ring {wrong}; {self.place_of(result)}"
        self.ring = self.ring or ring
        return row

    def machine(self) -> Row:
        """The compiled code on this machine."""
        target = self.target if machines.of(self.target).in_process else "cpu"
        self.computed = as_list(oracle._compiled(self.fn, self.args, self.kwargs, target))
        row = self.judge(Row(f"{target} (compiled)"), self.computed)
        if machines.of(self.target).in_process and self.facts["exact"]:
            for name, g, exact in zip(self.names, self.computed, self.values):
                wrong = comparison.within(name, g, exact, np.zeros(exact.shape))
                row.wrong = row.wrong or (f"{wrong}; it has one right value; {self.place_of(name)}" if wrong else "")
        return row

    def simulated(self) -> Row:
        """PTX on the simulator, with its checks; registers and spills by ptxas."""
        chip = machines.of(self.target).arch
        # Compiling for a GPU includes the barrier proof: a kernel that it does not accept is an error there.
        row = Row(f"{chip} (simulated)", races="none", barriers="proved")
        try:
            got = as_list(oracle._compiled(self.fn, self.args, self.kwargs, f"sim:{chip}"))
        except RunError as error:
            row.races = row.barriers = "see below"
            row.wrong = str(error).strip()
            return row
        self.judge(row, got, self.machine_bounds)
        version = self.fn._version(self.fn.last_spec)
        row.conflicts = str(sum(int(conflicts) for _, conflicts, _ in version._accesses))
        launched = version.launched or list(version.resources)  # a tuned version's twin has launched none
        used = [known for name, known in version.resources.items() if name in launched]
        if any(isinstance(known, str) for known in used):
            row.registers = row.spills = next(known for known in used if isinstance(known, str))
        elif used:
            row.registers = str(max(known["registers"] for known in used))
            row.spills = str(sum(known["spill_stores"] + known["spill_loads"] for known in used))
        return row

    def against(self, reference, agree: bool) -> Row:
        """What the machine computed against another function, in float64."""
        name = getattr(reference, "__name__", "reference")
        row = Row(f"against {name}")
        expected, got = self.expected, self.computed
        row.error = max((comparison.largest_error(g, e) for g, e in zip(got, expected) if g.shape == e.shape), default=0.0)
        row.bound = max((float(b.max()) for b in self.bounds if b.size), default=0.0)
        for result, g, want, bound in zip(self.names, got, expected, self.bounds):
            # What the reference itself may be off, in float64, is far below one part in 10^12 of its size.
            known = want.dtype.kind == "f" and want.shape == bound.shape
            slack = 2.0**-40 * np.abs(np.where(np.isfinite(want), want, 0.0)) if known else 0.0
            self.note(row, comparison.within(result, g, want, bound + slack), "; all stages agree, so it is the algorithm or the reference: " if agree else "; ")
        return row


def check(fn, args: tuple, kwargs: dict, target: str, reference, show: bool) -> Report:
    target = check_target(target)
    if machines.of(target).in_bytecode:
        raise ArgumentError(source.at_user(f"{target} cannot be executed here", 'target="sm_80"', target))
    if reference is not None and not callable(reference):
        call = source.call_of_user()
        given = call.argument("reference") if call else None
        fix = f"reference=lambda *inputs: {call.text(given.value)}" if given is not None and given.arg else ""
        raise ArgumentError(source.at_user(f"reference is a function, not {type(reference).__name__}", fix, "reference"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checker = Checker(fn, args, kwargs, machines.of(target).compiled_as)
        if reference is not None:
            checker.expected = references.expected(fn, reference, checker.given, checker.names, checker.exact, checker.bounds)
        rows = [checker.stage(name) for name in oracle.INTERPRETED]
        rows.append(checker.machine())
        if not machines.of(target).in_process:
            rows.append(checker.simulated())
        checker.settle()
        if reference is not None:
            rows.append(checker.against(reference, not any(row.wrong for row in rows)))
    report = Report(f"{fn.kind} {fn.__name__} for {target}", f"{fn.source.file}:{fn.source.first_line}", rows)
    if show:
        print(report)
    wrong, undecided = report.first_wrong, report.first_undecided
    table = "" if show else f"\n{report}\n"
    if wrong is not None:
        place = re.fullmatch(r"(.*?(?:; all stages agree, so it is the algorithm or the reference)?)[;:] ([^;:\n]+):(\d+):(\d+)", wrong.wrong)
        of = wrong.stage.removeprefix("against ")
        said = f"{fn.__name__} is wrong at {wrong.stage}: " if of == wrong.stage else f"{fn.__name__} differs from {of}, its reference: "
        text = source.at_place(place[2], int(place[3]), int(place[4]) - 1, said + place[1]) if place else f"{report.place}: error: {said}{wrong.wrong}\n"
        code = getattr(reference, "__code__", None)
        if of != wrong.stage and code is not None:
            text = source.before_fix(text, source.note(f"{source.relative(code.co_filename)}:{code.co_firstlineno}: the reference", colour()))
        error = CheckError(text + table)
    elif undecided is not None:
        error = UndecidedError(f"{report.place}: error: {fn.__name__} could not be judged at {undecided.stage}: {undecided.undecided}\n{table}")
    else:
        return report
    error.report = report
    raise error


def main(words: list[str]) -> int:
    """`tessera check file.py`: every function and kernel of a file on made inputs; 1 if one is wrong."""
    import argparse
    import sys

    from . import inputs

    parser = argparse.ArgumentParser("tessera check", description="Executes every stage of each function of a file, and compares.")
    parser.add_argument("file", help="file.py, file.tessera, or file.py:name")
    inputs.add_arguments(parser)
    parser.add_argument("--target", default="cpu")
    given = inputs.parsed(parser, words)
    bad = 0
    try:
        functions = inputs.load(given.file)
        inputs.check_dims(given.dims, functions)
        for fn in functions:
            try:
                fn.check(target=given.target, **inputs.make(fn, given.dims, given.seed, given.dtype))
            except TesseraError as error:
                print(str(error).partition("\n\n")[0], file=sys.stderr)
                bad += 1
            print()
    except (TesseraError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{len(functions) - bad} of {len(functions)}: all stages and the machine code agree. What they should compute is not known here: fn.check(..., reference=f)")
    return 1 if bad else 0
