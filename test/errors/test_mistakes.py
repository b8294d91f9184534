"""Generated mistakes: none is silent or crashes, messages are good, and the judge sees what is wrong with a broken one.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import dataclasses

import pytest
from tessera.fuzz.mistakes import judge, table
from tessera.fuzz.mistakes.operators import OPERATORS
from tessera.fuzz.mistakes.trial import trial

FIRST = 20000  # seeds that nobody looked at while messages were mended begin here


def test_a_mistake_of_every_third_operator(tmp_path):
    outcomes = [trial(seed, str(tmp_path)) for seed in range(FIRST, FIRST + len(OPERATORS), 3)]
    assert len({o["operator"] for o in outcomes}) == len(outcomes) > 40
    assert table.passes(outcomes), table.table(outcomes) + table.details(outcomes, 20)


BROKEN = {
    "another line": (lambda m: dataclasses.replace(m, line=m.line + 1), "the line"),
    "no line": (lambda m: dataclasses.replace(m, line=0), "a line and a caret"),
    "the caret at the line's begin": (lambda m: dataclasses.replace(m, begin=0, end=1), "the caret"),
    "no fix": (lambda m: dataclasses.replace(m, fix=""), "a fix"),
    "a fix of something else": (lambda m: dataclasses.replace(m, fix="tsr.cos"), "a fix that is accepted"),
    "a fix that is cut": (lambda m: dataclasses.replace(m, fix=m.fix[: len(m.fix) // 2] + "("), "a fix that is"),
}


@pytest.mark.parametrize("breaks, lacks", BROKEN.values(), ids=BROKEN)
def test_a_broken_message_is_poor(breaks, lacks, tmp_path, monkeypatch):
    seed = list(OPERATORS).index("indices swapped")
    assert trial(seed, str(tmp_path))["status"] == "good"
    read = judge.read
    monkeypatch.setattr(judge, "read", lambda text, path: breaks(read(text, path)))
    outcome = trial(seed, str(tmp_path))
    assert outcome["status"] == "poor" and outcome["lacks"].startswith(lacks), outcome


def test_a_program_that_gives_another_result_is_silent(tmp_path):
    from tessera.fuzz.mistakes.text import Mistake

    head = "import numpy as np\nresult = np.arange(3.0)"
    found = judge.judge(judge.Runner(str(tmp_path)), OPERATORS["indices swapped"], Mistake(head, head + " + 1.0\n", [(0, 5)]))
    assert found.status == "silent"
    found = judge.judge(judge.Runner(str(tmp_path)), OPERATORS["indices swapped"], Mistake(head, head + " + 0.0\n", [(0, 5)]))
    assert found.status == "harmless"
    assert not table.passes([{"operator": "x", "status": "silent"}, *[{"operator": "x", "status": "good"}] * 99])
