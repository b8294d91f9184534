"""A generator of users' mistakes, and a judge of the messages about them. `python -m tessera.fuzz mistakes --help`.

A seed takes a right program, makes one mistake in its text, runs it and reads the message: the line, the caret, and whether the printed fix,
pasted into the text, gives the right program's result. docs/numerics.md says what the verdicts mean.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from .operators import OPERATORS as OPERATORS
