"""`python -m tessera.fuzz mistakes`: over processes, since a crash or a hang is an outcome, too.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import json
import os
import sys
import tempfile

from ...knobs import knobs
from .. import campaign
from . import table
from .trial import find, show, trial


def add_arguments(commands) -> None:
    parser = commands.add_parser("mistakes", help="mistakes in right programs, and how good the messages are")
    parser.add_argument("--seeds", default="0:200", help="first:last, the last not included")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, help="stop after so long")
    parser.add_argument("--operator", default="", help="only those with this in their name")
    parser.add_argument("--log", help="JSON lines; seeds that are in it already are not run again")
    parser.add_argument("--poor", type=int, default=0, metavar="COUNT", help="print so many messages that are not good")
    parser.add_argument("--show", type=int, metavar="SEED", help="print the mistake of a seed and what is said about it")
    parser.add_argument("--worker", metavar="FOLDER", help="read seeds, write outcomes (what the command starts)")


def main(given) -> int:
    if given.worker:
        return _worker(given.worker, given.operator)
    if given.show is not None:
        return _show(given.show, given.operator)
    first, _, last = given.seeds.partition(":")
    seeds = range(int(first), int(last or int(first) + 1))
    path = given.log or os.path.join(tempfile.gettempdir(), f"tessera-mistakes-{os.getpid()}.jsonl")
    known = {o["seed"] for o in campaign.read_log(path)}
    with open(path, "a") as log:
        run = campaign.Run(lambda folder: ["mistakes", "--worker", folder, "--operator", given.operator], lambda seed: {"operator": find(seed, given.operator)[0].name}, ("good", "harmless", "legal"))
        campaign.fuzz([s for s in seeds if s not in known], given.jobs, given.seconds, log, sys.stderr.isatty(), run=run)
    outcomes = [o for o in campaign.read_log(path) if o["seed"] in seeds]
    print(table.table(outcomes))
    print(table.details(outcomes, given.poor))
    print(f"log: {path}")
    return int(not table.passes(outcomes))


def _worker(folder: str, only: str) -> int:
    knobs.cache = os.path.join(folder, "cache")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # programs print, too
    for line in sys.stdin:
        seed = int(line)
        try:
            outcome = trial(seed, folder, only)
        except Exception as error:
            outcome = {"seed": seed, "operator": "", "status": "failed", "lacks": repr(error)}
        print(json.dumps(outcome), file=answers, flush=True)
    return 0


def _show(seed: int, only: str) -> int:
    print(show(seed, only))
    with tempfile.TemporaryDirectory(prefix="tessera-mistakes-") as folder:
        outcome = trial(seed, folder, only)
    print(f"\n{outcome['message'].rstrip()}\n\n{outcome['status']}" + (f", lacks {outcome['lacks']}" if outcome["lacks"] else ""))
    return int(outcome["status"] not in ("good", "harmless", "legal"))
