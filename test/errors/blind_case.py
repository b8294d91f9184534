# One user mistake of the blind sets, and what a good error says about it.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the cases of blind_cases*.py are made of.

line      1-based line of `program` the error points at; None: the error must
          name the line of `call` instead ("called at app.py:2").
caret     text on that line under whose first character the first caret stands;
          a tuple lists the places the specification leaves open; None: any.
mentions  what the error and its notes say, apart from the echoed source line
          and the fix. Whole words; a tuple means any one of them; "@6" means
          a reference to line 6 of the program.
fix       what the `fix:` line contains (a tuple: any one; "": any fix at all);
          None: the specification offers none.
"""
from typing import NamedTuple, Optional, Union

Choice = Union[str, tuple]


class Case(NamedTuple):
    name: str
    program: str
    call: str
    line: Optional[int]
    caret: Optional[Choice]
    mentions: list
    fix: Optional[Choice]
