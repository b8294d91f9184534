"""Words that errors share.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import sys
import warnings

from . import source
from .errors import ArgumentError, ScheduleWarning


def remind(text: str) -> None:
    """A remark: nothing is wrong, but the user should know. Shown at the user's line."""
    depth, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "tessera":
        depth, frame = depth + 1, frame.f_back
    warnings.warn(text.strip(), ScheduleWarning, stacklevel=depth)


def called_at() -> str:
    """", called at app.py:40": the user's line that called us."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "tessera":
        frame = frame.f_back
    return f", called at {source.relative(frame.f_code.co_filename)}:{frame.f_lineno}" if frame else ""


def a_kind(value) -> str:
    name = type(value).__name__
    return f"a{'n' if name[0] in 'aeiou' else ''} {name}"


def refuse(message: str, fix: str):
    """An ArgumentError that `Function._run` shows at the function, with the call."""
    error = ArgumentError(message)
    error.fix = fix
    raise error
