"""Runs a program with a mistake, reads what it says, and pastes the fix.

Outcomes: good; poor (with what the message lacks); silent (another result, and no error); crashed (an internal error; a signal or a hang is
seen by the process that started this one); harmless (the right result after all, so there was no mistake); legal (another program by the
language's rules, and the operator says so).

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import dataclasses
import linecache
import os
import warnings

import numpy as np

from ...errors import InternalError, ScheduleWarning, TesseraError
from .message import read
from .operators import Operator
from .paste import Paste, is_code
from .text import Mistake, Text

# Of results whose order of roundings a fix may change; whole numbers agree anyway.
CLOSE = {"float16": 2e-2, "bfloat16": 1e-1, "float32": 1e-3, "float64": 1e-6}
MOST_STEPS = 3  # pasted programs whose own message is followed


@dataclasses.dataclass
class Verdict:
    status: str
    lacks: str = ""
    message: str = ""
    fix: str = ""
    wrong: str = ""


class Runner:
    """Executes programs, each as a file of its own, so that messages have places in it."""

    def __init__(self, folder: str, seed: int = 0):
        self.folder, self.seed, self.count = folder, seed, 0
        self.remarks: list = []  # of the last program that ran

    def run(self, source: str):
        """(the result, None, path) or (None, the error, path)."""
        self.count += 1
        path = os.path.join(self.folder, f"mistake_{self.seed}_{self.count}.py")
        with open(path, "w") as file:
            file.write(source)
        names = {"__name__": f"mistake_{self.seed}_{self.count}", "__file__": path}
        try:
            with warnings.catch_warnings(record=True) as said, np.errstate(all="ignore"):
                warnings.simplefilter("always")
                exec(compile(source, path, "exec"), names)  # noqa: S102
            self.remarks = [str(one.message) for one in said if issubclass(one.category, ScheduleWarning)]
            return names["result"], None, path
        except Exception as error:
            return None, error, path
        finally:
            linecache.cache.pop(path, None)
            os.remove(path)


def arrays_of(result) -> list:
    each = result if isinstance(result, (tuple, list)) else [result]
    return [np.asarray(a.detach().cpu() if hasattr(a, "detach") else a) for a in each]


def agree(got, wanted) -> bool:
    """Whether two results are the same but for roundings."""
    got, wanted = arrays_of(got), arrays_of(wanted)
    if len(got) != len(wanted):
        return False
    for a, b in zip(got, wanted):
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        if b.dtype.kind in "biu":
            if not np.array_equal(a, b):
                return False
            continue
        close = CLOSE.get(b.dtype.name, 1e-3)
        a, b = a.astype(np.float64), b.astype(np.float64)
        if not np.allclose(a, b, rtol=close, atol=close, equal_nan=True):
            return False
    return True


def judge(runner: Runner, operator: Operator, found: Mistake) -> Verdict:
    """What becomes of a mistake."""
    right, error, _ = runner.run(found.right)
    if error is not None:
        return Verdict("skipped", f"the right program fails: {type(error).__name__}: {error}"[:400], wrong=found.right)
    got, error, path = runner.run(found.wrong)
    remark = next((each for each in runner.remarks if not place_of(found, read(each, path))), None) if error is None else None
    if error is None and (agree(got, right) or remark is None):
        return Verdict("harmless" if agree(got, right) else "legal" if operator.legal else "silent", wrong=found.wrong)
    text = remark or str(error)
    if isinstance(error, InternalError):
        return Verdict("crashed", type(error).__name__, text, wrong=found.wrong)
    if remark is None and not isinstance(error, TesseraError):
        return Verdict("poor", f"an error of Python, {type(error).__name__}", f"{type(error).__name__}: {text}", wrong=found.wrong)
    message = read(text, path)
    lacks = place_of(found, message)
    verdict = Verdict("good", message=text, fix=message.fix, wrong=found.wrong)
    if lacks:
        verdict.status, verdict.lacks = "poor", lacks
        return verdict
    if not message.fix:
        if operator.fix == "right":
            verdict.status, verdict.lacks = "poor", "a fix"
        return verdict
    tried = 0
    steps = []
    for source in Paste(found.wrong, message).programs():
        tried += 1
        result, error, path = runner.run(source)
        if isinstance(error, InternalError):
            return Verdict("crashed", "the fix", str(error), message.fix, source)
        if error is None and (operator.fix != "right" or agree(result, right)):
            return verdict
        if isinstance(error, TesseraError) and operator.fix != "right" and len(steps) < MOST_STEPS and str(error) != text:
            steps.append((source, read(str(error), path)))
    # A fix of a signature may ask for another of the call.
    for source, message in steps:
        if message.line and message.fix and any(runner.run(each)[1] is None for each in Paste(source, message).programs()):
            verdict.lacks = "in two steps"
            return verdict
    if not tried and operator.fix != "right" and not is_code(message.fix):
        return verdict  # a sentence that says what to think about
    verdict.status, verdict.lacks = "poor", "a fix that is accepted" if tried else "a fix that is code"
    return verdict


def place_of(found: Mistake, message) -> str:
    """What is wrong with the place of a message; "" if it is inside the mistake."""
    if not message.line:
        return "a line and a caret"
    text = Text(found.wrong)
    begin, end = text.offset(message.line, message.begin), text.offset(message.line, message.end)
    if not any(text.line_of(first) <= message.line <= text.line_of(last) for first, last in found.places):
        return f"the line: says {message.line}, not {', '.join(str(text.line_of(first)) for first, _ in found.places)}"
    if not any(begin < last and max(end, begin + 1) > first for first, last in found.places):
        return f"the caret: under {text.source[begin:end]!r}"
    return ""
