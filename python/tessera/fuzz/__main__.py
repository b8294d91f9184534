"""The oracle's command.

    python -m tessera.fuzz run  --seeds 0:20000 --jobs 2 --log run.jsonl     resumes where the log ends
    python -m tessera.fuzz run  --seconds 60                                  from a fresh seed, which is printed
    python -m tessera.fuzz run  --seeds 0:2000 --target sim:sm_80             the PTX, too, on the simulator
    python -m tessera.fuzz run  --seeds 0:2000 --target cpu:avx2              machine code for x86-64-v3, too (cpu:avx512: -v4)
    python -m tessera.fuzz show 17                                            the program of a seed
    python -m tessera.fuzz check 17                                           runs it, says what differs
    python -m tessera.fuzz shrink 17 --to bug.py                              a small reproducer
    python -m tessera.fuzz histogram run.jsonl                                what ran
    python -m tessera.fuzz mistakes --seeds 0:1000 --poor 20                  mistakes of users, and how good the messages are

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tessera.fuzz", description="Random programs, run at every stage and compared.")
    commands = parser.add_subparsers(dest="command", required=True)
    fuzz_ = commands.add_parser("run", help="run many programs")
    fuzz_.add_argument("--seeds", help="first:last, the last not included")
    fuzz_.add_argument("--count", type=int, help="so many from a fresh seed")
    fuzz_.add_argument("--seconds", type=float)
    fuzz_.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    fuzz_.add_argument("--log", "--resume", help="JSON lines; seeds that are in it already are not run again")
    fuzz_.add_argument("--shrink", metavar="FOLDER", help="a small reproducer of each bad program goes there")
    fuzz_.add_argument("--target", action="append", default=[], help="another machine, too: sim:sm_80, cpu:avx2 (x86-64-v3), cpu:avx512 (-v4); may be given again")
    for name, text in (("show", "print the program of a seed"), ("check", "run one seed"), ("shrink", "reduce a bad one")):
        command = commands.add_parser(name, help=text)
        command.add_argument("seed", type=int)
        if name == "shrink":
            command.add_argument("--to", default="")
        if name != "show":
            command.add_argument("--target", action="append", default=[], help="another machine, too")
            command.add_argument("--stages", default="all", help="as for run")
    commands.add_parser("histogram", help="what a log holds").add_argument("log")
    fuzz_.add_argument("--stages", default="all", help="those the interpreter runs: graph,sched,tile-value,tile; none: machine code alone")
    work = commands.add_parser("worker")
    work.add_argument("folder")
    work.add_argument("stages")
    work.add_argument("targets")
    from . import campaign
    from .mistakes import command as mistakes

    mistakes.add_arguments(commands)
    given = parser.parse_args(arguments)
    if given.command == "mistakes":
        return mistakes.main(given)

    if given.command == "worker":
        return campaign.worker(given.folder, *(tuple(s for s in text.split(",") if s) for text in (given.stages, given.targets)))
    if given.command == "histogram":
        print(campaign.histogram(campaign.read_log(given.log)))
        return 0
    if given.command == "show":
        from .generate import generate

        print(generate(given.seed).text(), end="")
        return 0
    if given.command == "check":
        return check(given.seed, stages_of(given.stages), tuple(given.target))
    if given.command == "shrink":
        from .shrink import shrink_seed

        return shrink_seed(given.seed, given.to or f"reproducer_{given.seed}.py", tuple(given.target))
    return run_fuzz(given)


def stages_of(text: str) -> tuple:
    from .runner import STAGES

    return STAGES if text == "all" else tuple(s for s in text.split(",") if s in STAGES)


def check(seed: int, stages: tuple, targets: tuple) -> int:
    from .generate import generate
    from .runner import NOT_BAD, check_program

    with tempfile.TemporaryDirectory(prefix="tessera-fuzz-") as folder:
        outcome = check_program(generate(seed), folder, stages, targets)
    columns = ", ".join(name if text == "ok" else f"{name} {text}" for name, text in outcome.columns.items())
    print(f"seed {seed}: {outcome.status}" + (f" at {outcome.where}: {outcome.detail}" if outcome.status != "ok" else f" ({columns})"))
    return int(outcome.status not in NOT_BAD)


def run_fuzz(given) -> int:
    from . import campaign
    from .runner import NOT_BAD

    if given.seeds:
        first, _, last = given.seeds.partition(":")
        seeds = range(int(first), int(last or int(first) + 1))
    else:
        first = int(time.time() * 1000) % 10**9 * 1000
        seeds = range(first, first + (given.count or 10**6))
        print(f"fresh seed {first}: again with --seeds {first}:{first + (given.count or 1000)}")
    path = given.log or os.path.join(tempfile.gettempdir(), f"tessera-fuzz-{os.getpid()}.jsonl")
    known = {o["seed"]: o for o in campaign.read_log(path)}
    with open(path, "a") as log:
        campaign.fuzz([s for s in seeds if s not in known], given.jobs, given.seconds, log, sys.stderr.isatty(), stages_of(given.stages), tuple(given.target))
    outcomes = [o for o in campaign.read_log(path) if o["seed"] in seeds]
    print(campaign.histogram(outcomes))
    bad = [o for o in outcomes if o["status"] not in NOT_BAD]
    for o in bad[:20]:
        print(f"\nseed {o['seed']}: {o['status']} at {o['where']}: {o['detail'][:600]}")
    if given.shrink and bad:
        from .shrink import shrink_seed

        os.makedirs(given.shrink, exist_ok=True)
        for o in bad[:20]:
            shrink_seed(o["seed"], os.path.join(given.shrink, f"reproducer_{o['seed']}.py"), tuple(given.target))
    print(f"\nlog: {path}")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
