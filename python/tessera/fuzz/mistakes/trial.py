"""One seed: an operator, a program that it has a place in, and the verdict about the message.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ast
import dataclasses

from ..randomness import Random
from . import programs
from .judge import Runner, Verdict, judge
from .operators import OPERATORS
from .text import Mistake, Text

TRIES = 400  # programs that are looked at for a place


def find(seed: int, only: str = "") -> tuple:
    """(the operator, its mistake): operators take turns, so that any seeds in a row meet all of them alike."""
    random = Random(seed)
    names = [name for name in OPERATORS if only in name]
    operator = OPERATORS[names[seed % len(names)]]
    for _ in range(TRIES):
        source = programs.program(random)
        found = operator.make(Text(source), random)
        if found is not None and found.places and found.wrong != found.right and _is_python(found.wrong):
            return operator, found
    return operator, None


def _is_python(source: str) -> bool:
    try:
        ast.parse(source)
        return True
    except SyntaxError:
        return False


def trial(seed: int, folder: str, only: str = "") -> dict:
    operator, found = find(seed, only)
    verdict = judge(Runner(folder, seed), operator, found) if found is not None else Verdict("skipped", "no program has a place for it")
    return {"seed": seed, "operator": operator.name, "wants": operator.fix, **dataclasses.asdict(verdict)}


def show(seed: int, only: str = "") -> str:
    """The right program, with the mistake marked, as a difference."""
    import difflib

    operator, found = find(seed, only)
    found = found or Mistake("", "", [])
    rows = difflib.unified_diff(found.right.splitlines(), found.wrong.splitlines(), "right", "wrong", lineterm="", n=30)
    return "\n".join([f"{operator.name} (fix: {operator.fix})", *rows])
