"""A message as a user reads it: its place, what the carets underline, its fix.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import dataclasses
import os
import re

from ...source import without_colour

_HEAD = re.compile(r"^(?P<file>[^:\n]+):(?P<line>\d+):(?P<column>\d+): (?:error|remark): (?P<text>.*)$", re.MULTILINE)
_CARETS = re.compile(r"^ +\| ( *)(\^~*)$")
_FIX = " fix:  "


@dataclasses.dataclass
class Message:
    """`line` from 1, `begin` and `end` columns from 0; line 0: the message has no place in the program."""

    line: int
    begin: int
    end: int
    text: str
    fix: str


def read(text: str, path: str) -> Message:
    """The first error of a message about the program at `path`."""
    text = without_colour(text)
    head = _HEAD.search(text)
    if head is None or os.path.basename(head["file"]) != os.path.basename(path):
        return Message(0, 0, 0, text.partition("\n")[0], _fix_of(text.splitlines()))
    rows = text[head.end() :].lstrip("\n").splitlines()
    until = next((i for i, row in enumerate(rows) if _HEAD.match(row)), len(rows))
    begin = end = int(head["column"]) - 1
    for row in rows[:until]:
        if carets := _CARETS.match(row):
            begin, end = len(carets[1]), len(carets[1]) + len(carets[2])
            break
    return Message(int(head["line"]), begin, end, head["text"], _fix_of(rows[:until]))


def _fix_of(rows: list) -> str:
    """The fix, its lines without the indentation that they have in the message."""
    begin = next((i for i, row in enumerate(rows) if row.startswith(_FIX)), None)
    if begin is None:
        return ""
    lines = [rows[begin].removeprefix(_FIX)]
    for row in rows[begin + 1 :]:
        if not row.startswith(" " * len(_FIX)):
            break
        lines.append(row[len(_FIX) :])
    return "\n".join(lines).rstrip()
