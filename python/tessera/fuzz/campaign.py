"""Many programs: over processes, resumable by seed, every outcome a line of JSON.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import collections
import dataclasses
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from typing import Callable

from .generate import generate
from .runner import NOT_BAD, STAGES, Outcome, check_program

LATE = 60.0  # seconds one program may take


def worker(folder: str, stages: tuple, targets: tuple) -> int:
    """Reads seeds, writes outcomes; its own process, so that a crash is an outcome, too."""
    for line in sys.stdin:
        seed = int(line)
        try:
            program = generate(seed)
            outcome = dataclasses.asdict(check_program(program, folder, stages, targets))
            outcome.update(program.summary())
        except Exception as error:
            outcome = dataclasses.asdict(Outcome(seed, "failed", "generator", repr(error)))
        try:
            os.remove(os.path.join(folder, f"program_{seed}.py"))
        except OSError:
            pass
        print(json.dumps(outcome), flush=True)
    return 0


@dataclasses.dataclass
class Run:
    """What a campaign starts and counts: the words of a worker's command, what is known of a seed that never answered, and which outcomes are not bad."""

    words: Callable
    summary: Callable
    not_bad: tuple


def of_programs(stages: tuple, targets: tuple) -> Run:
    return Run(lambda folder: ["worker", folder, ",".join(stages), ",".join(targets)], lambda seed: generate(seed).summary(), NOT_BAD)


class Worker:
    def __init__(self, folder: str, run: Run):
        self.seed = None
        self.log = open(os.path.join(folder, f"stderr-{id(self)}"), "w+")
        environment = dict(os.environ, OMP_NUM_THREADS=os.environ.get("OMP_NUM_THREADS", "1"))
        self.process = subprocess.Popen([sys.executable, "-m", "tessera.fuzz", *run.words(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.log, text=True, bufsize=1, env=environment)

    def begin(self, seed: int) -> None:
        self.seed, self.since = seed, time.monotonic()
        self.process.stdin.write(f"{seed}\n")
        self.process.stdin.flush()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.log):
            stream.close()


def fuzz(seeds, jobs: int, seconds: float | None, log, show=True, stages=STAGES, targets=(), run: Run | None = None) -> list:
    """Runs the seeds; `log` gets a line of JSON for each. Returns the outcomes. `run`: of other things than generated programs."""
    run = run or of_programs(stages, targets)
    outcomes, queue, started = [], collections.deque(seeds), time.monotonic()
    total = len(queue)
    with tempfile.TemporaryDirectory(prefix="tessera-fuzz-") as folder:
        workers = [Worker(folder, run) for _ in range(min(jobs, max(total, 1)))]
        try:
            busy = []
            while True:
                late = seconds is not None and time.monotonic() - started > seconds
                for w in workers:
                    if w.seed is None and queue and not late:
                        w.begin(queue.popleft())
                busy = [w for w in workers if w.seed is not None]
                if not busy:
                    break
                ready, _, _ = select.select([w.process.stdout for w in busy], [], [], 1.0)
                for w in busy:
                    outcome = None
                    if w.process.stdout in ready:
                        line = w.process.stdout.readline()
                        outcome = json.loads(line) if line else _died(w)
                    elif time.monotonic() - w.since > LATE:
                        outcome = {"seed": w.seed, "status": "late", "where": f"after {LATE:.0f} s", "detail": ""}
                    if outcome is None:
                        continue
                    if outcome["status"] in ("crashed", "late"):
                        w.end()
                        workers[workers.index(w)] = Worker(folder, run)
                        outcome = {**run.summary(outcome["seed"]), **outcome}
                    w.seed = None
                    outcomes.append(outcome)
                    log.write(json.dumps(outcome) + "\n")
                    log.flush()
                    if show:
                        _progress(outcomes, total, started, run.not_bad)
        finally:
            for w in workers:
                w.end()
    if show:
        print(file=sys.stderr)
    return outcomes


def _died(w: Worker) -> dict:
    code = w.process.wait()
    w.log.seek(0)
    return {"seed": w.seed, "status": "crashed", "where": f"signal {-code}" if code < 0 else f"exit {code}", "detail": w.log.read()[-2000:]}


def _progress(outcomes: list, total: int, started: float, not_bad: tuple) -> None:
    bad = sum(1 for o in outcomes if o["status"] not in not_bad)
    done, width = len(outcomes), 30
    filled = width * done // max(total, 1)
    rate = done / max(time.monotonic() - started, 1e-3)
    print(f"\r[{'#' * filled}{'.' * (width - filled)}] {done}/{total} programs, {rate:.1f}/s, {bad} bad", end="", file=sys.stderr, flush=True)


def read_log(path: str) -> list:
    if not os.path.exists(path):
        return []
    outcomes = {}
    with open(path) as file:
        for line in file:
            try:
                outcome = json.loads(line)
            except ValueError:
                continue  # the last line of a killed run
            outcomes[outcome["seed"]] = outcome
    return list(outcomes.values())


def histogram(outcomes: list) -> str:
    """What the programs were made of, and what became of them."""
    count = max(len(outcomes), 1)
    rows = [f"{len(outcomes)} programs"]
    status = collections.Counter(o["status"] for o in outcomes)
    rows.append("  " + ", ".join(f"{n} {name}" for name, n in status.most_common()))
    ops = sorted(o.get("ops", 0) for o in outcomes) or [0]
    rows.append(f"  ops: median {ops[len(ops) // 2]}, from {ops[0]} to {ops[-1]}")
    tags = collections.Counter(tag for o in outcomes for tag in o.get("tags", ()))
    both = sum(1 for o in outcomes if {"contraction", "reduction"} <= set(o.get("tags", ())))
    kernels = sum(1 for o in outcomes if o.get("kind") == "kernel")
    exact = sum(1 for o in outcomes if o.get("exact"))
    for name, n in (("kernels", kernels), ("exact", exact), ("contraction and reduction", both), ("loop", tags["loop"])):
        rows.append(f"  {name:26} {n:6} {100 * n / count:5.1f} %")
    real = [o for o in outcomes if not o.get("exact") and o["status"] == "ok" and "graph" in o.get("columns", {})]
    if real:
        finite = sum(1 for o in real if o.get("bounded"))
        rows.append(f"  {'bounds finite':26} {finite:6} {100 * finite / len(real):5.1f} % of {len(real)} inexact programs")
        ratios = sorted(o["ratio"] / max(o.get("length") or 1, 1) ** 0.5 for o in real if o.get("ratio"))
        if ratios:
            rows.append(f"  median of bound / measured / sqrt(reduction length): {ratios[len(ratios) // 2]:.2f}")
    reached = {op for o in outcomes for op in o.get("reached", ())}
    for dialect in ("gir", "sched", "tile", "arith", "math", "scf"):
        names = sorted(op.partition(".")[2] for op in reached if op.startswith(dialect + "."))
        if names:
            rows.append(f"  {dialect}: {len(names)} ops reached: {' '.join(names)}")
    columns = collections.Counter(c for o in outcomes for c, text in o.get("columns", {}).items() if text == "ok")
    rows.append("  columns: " + ", ".join(f"{name} {n}" for name, n in columns.most_common()))
    refused = collections.Counter((c, text) for o in outcomes for c, text in o.get("columns", {}).items() if text.startswith("refused: "))
    for (column, reason), n in refused.most_common():
        rows.append(f"  {column} {reason}: {n}")
    for prefix in ("dtype:", "view:", "style:", "@", "op:"):
        found = [(tag.removeprefix(prefix), n) for tag, n in tags.most_common() if tag.startswith(prefix)]
        if found:
            rows.append(f"  {prefix.rstrip(':@') or 'decorators'}: " + ", ".join(f"{name} {n}" for name, n in found))
    return "\n".join(rows)
