"""Runs generated programs at every stage, as machine code and as PTX on the simulator, and compares.

An exact program (small whole numbers, nothing rounds) must give the same bits everywhere. Any other must stay within the bound
that the interpreter's `bound` domain derives from the program, its dims, types and inputs; in the ring every stage must agree
bit for bit.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import dataclasses
import re
import time
import warnings

import numpy as np

from .. import comparison, oracle
from ..errors import CompileError, DeviceError, RunError
from .program import Program

_OP = re.compile(r"\b((?:gir|sched|tile|arith|math|scf)\.[a-z_0-9]+)\b(?! *=)")
RING_WORK = 1 << 22
STAGES = oracle.INTERPRETED
NOT_BAD = ("ok", "undecided")


@dataclasses.dataclass
class Outcome:
    """What became of one program. `status`: ok, undecided (nothing differs, but a bound says nothing), mismatch, refused (by the compiler), failed
    (at run time), crashed, late."""

    seed: int
    status: str = "ok"
    where: str = ""  # the column that disagrees, or the step that failed
    detail: str = ""
    seconds: float = 0.0
    columns: dict = dataclasses.field(default_factory=dict)  # column -> ok, or why it was not run
    bounded: bool = False  # all bounds are finite
    undecided: str = ""  # the first element that could not be judged
    ratio: float | None = None  # median of bound / measured error, of the elements that are off at all
    reached: list = dataclasses.field(default_factory=list)  # ops of the IR, at any stage


def as_list(results) -> list:
    if results is None:
        return []
    return [np.asarray(r) for r in (results if isinstance(results, tuple) else (results,))]


class Mismatch(Exception):
    def __init__(self, column: str, detail: str):
        super().__init__(f"{column}: {detail}")
        self.column, self.detail = column, detail


def compare_exact(column: str, got: list, want: list, against: str) -> None:
    if len(got) != len(want):
        raise Mismatch(column, f"{len(got)} results, {against} has {len(want)}")
    for index, (g, w) in enumerate(zip(got, want)):
        if g.dtype != w.dtype:
            raise Mismatch(column, f"result {index} is {g.dtype}, {against} has {w.dtype}")
        difference = comparison.equal(f"result {index}", g, w)
        if difference:
            raise Mismatch(column, f"unlike {against}: {difference}")


def compare_bound(column: str, got: list, values: list, errors: list, outcome: Outcome) -> list:
    """Raises at an element outside its bound, notes one that cannot be judged; returns bound / measured of those that are off."""
    ratios = []
    for index, (g, value, error) in enumerate(zip(got, values, errors)):
        difference = comparison.within(f"result {index}", g, value, error)
        if difference and not difference.undecided:
            raise Mismatch(column, str(difference))
        if difference and not outcome.undecided:
            outcome.undecided = f"{column}: {difference}"
        with np.errstate(invalid="ignore"):
            off = np.abs(g.astype(np.float64) - value.astype(np.float64))
        measured = (off > 0) & np.isfinite(off) & np.isfinite(error)
        ratios.append(error[measured] / off[measured])
    return [r for r in ratios if r.size]


def interpreted(outcome, domain: str, column: str) -> list:
    """The arrays of a run; poison in a result is a mismatch of its own."""
    for result in outcome.results:
        if result.poison:
            raise Mismatch(column, f"{len(result.poison)} elements of {result.name or 'a result'} were never written; first at {result.poison[0]}")
    return [r.raw if domain == "ring" else r.array for r in outcome.results]


def check_program(program: Program, folder: str, stages=STAGES, targets=()) -> Outcome:
    """One program through every column; `targets` are further machines: GPUs of the simulator (`sim:sm_80`), older CPUs (`cpu:avx2`)."""
    started = time.monotonic()
    outcome = Outcome(program.seed)
    try:
        fn = program.load(folder)
        check_call(fn, program.arguments(), program.exact, outcome, stages, ring_of(program), targets)
        if outcome.undecided and not program.exact:  # an exact one was compared bit for bit
            outcome.status, outcome.where, outcome.detail = "undecided", outcome.undecided.partition(":")[0], outcome.undecided
    except Mismatch as error:
        outcome.status, outcome.where, outcome.detail = "mismatch", error.column, error.detail
    except Exception as error:  # the compiler's own errors, of any kind, are what we look for
        outcome.status = "refused" if isinstance(error, CompileError) else "failed"
        outcome.where = outcome.where or type(error).__name__
        outcome.detail = str(error)[:2000]
    outcome.seconds = time.monotonic() - started
    return outcome


def ring_of(program: Program) -> tuple:
    """The stages that must agree in the ring: all, but casts are opaque there, and `fast` drops those of 16-bit types."""
    narrow = {"fp16", "bf16"} & {kind[0] for kind in program.types.values()} or any(i.dtype in ("fp16", "bf16") for i in program.inputs)
    return () if narrow and any("fast" in d for d in program.decorators) else STAGES


def check_call(fn, arguments: dict, exact: bool, outcome: Outcome, stages=STAGES, ring=STAGES, targets=()) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcome.where = "cpu"
        machine = as_list(oracle._compiled(fn, (), dict(arguments), "cpu"))
        outcome.columns["cpu"] = "ok"
        if stages or targets:
            _check_stages(fn, arguments, exact, outcome, stages, machine, ring, targets)
        outcome.where = ""


def _check_target(fn, arguments: dict, exact: bool, outcome: Outcome, target: str, machine: list, values: list, errors: list) -> None:
    """The code for another machine: PTX on the simulator, with races, uninitialised reads and accesses out of bounds as errors, or machine
    code for less than this CPU has. What the compiler refuses as not there yet is a column of its own, by reason: so a histogram says what
    to lift next."""
    outcome.where = target
    try:
        got = as_list(oracle._compiled(fn, (), dict(arguments), target))
    except (CompileError, DeviceError) as error:
        reason = re.search(r"not yet: ([^\n]*)|needs \d+ bytes of (shared memory)", str(error))
        if reason is None:
            raise
        outcome.columns[target] = "refused: not yet: " + (reason[1] or "more shared memory than there is").partition("; use ")[0]
        return
    if exact:
        compare_exact(target, got, machine, "the CPU's machine code")
    compare_bound(target, got, values, errors, outcome)
    outcome.columns[target] = "ok"


def _check_stages(fn, arguments: dict, exact: bool, outcome: Outcome, stages, machine: list, ring_stages, targets) -> None:
    """One compilation, lowered from stage to stage."""
    first = stages[0] if stages else STAGES[0]
    outcome.where = first
    program, given = oracle.prepare(fn, (), arguments, first)
    outcome.where = "bound"
    bounded = program.run(given, "bound")
    values = [r.values if r.values is not None else r.array for r in bounded.results]
    errors = [np.zeros(v.shape) if r.errors is None else r.errors for r, v in zip(bounded.results, values)]
    interpreted(bounded, "bound", "bound")
    outcome.bounded = all(np.isfinite(e).all() for e in errors)
    ratios = compare_bound("cpu", machine, values, errors, outcome)
    for target in targets:
        _check_target(fn, arguments, exact, outcome, target, machine, values, errors)
    ring = None
    reached: set = set()
    for stage in stages:
        outcome.where = stage
        if stage != first:
            program.compilation.lower(stage)
            program = oracle.Stage(program.compilation)
        text = program.compilation.print()
        reached.update(_OP.findall(text))
        got = interpreted(program.run(given), "exact", stage)
        if exact:
            compare_exact(stage, got, machine, "the machine code")
        ratios += compare_bound(stage, got, values, errors, outcome)
        outcome.columns[stage] = "ok"
        if stage not in ring_stages:
            continue
        outcome.where = f"{stage}, ring"
        try:
            in_ring = interpreted(program.run(given, "ring", max_work=RING_WORK), "ring", outcome.where)
        except RunError as error:
            # A loop on a float need not end there.
            if "excluded from ring mode" not in str(error) and "steps" not in str(error):
                raise
            outcome.columns[outcome.where] = "excluded"
            continue
        if ring is not None:
            compare_exact(outcome.where, in_ring, ring, "an earlier stage in the ring")
        ring = in_ring
        outcome.columns[outcome.where] = "ok"
    outcome.reached = sorted(reached)
    if ratios:
        outcome.ratio = float(np.median(np.concatenate(ratios)))


def compare_call(fn, arguments: dict, exact: bool, targets=()) -> None:
    """What a reproducer calls: says what differs."""
    outcome = Outcome(0)
    check_call(fn, arguments, exact, outcome, targets=targets)
    print(f"undecided, {outcome.undecided}" if outcome.undecided else f"all columns agree: {', '.join(outcome.columns)}")
