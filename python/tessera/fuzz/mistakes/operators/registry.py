"""What an operator is, and the table that they are in.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ast
import dataclasses
from typing import Callable

from ..text import Mistake, Text


@dataclasses.dataclass
class Operator:
    """`make(text, random)` gives a mistake, or None where the program has no place for it.

    `fix`: "right", one is expected and gives the right program's result; "any", the right text cannot be known from the wrong one, so none
    is expected, and one that is printed as code must run. `legal`: some of its programs are others by the language's rules, which nobody can
    tell from what was meant.
    """

    name: str
    make: Callable
    fix: str
    legal: bool = False


OPERATORS: dict = {}


def operator(name: str, fix: str = "right", legal: bool = False):
    def register(make):
        assert name not in OPERATORS and fix in ("right", "any"), name
        OPERATORS[name] = Operator(name, make, fix, legal)
        return make

    return register


def pick(random, items):
    """One of them; None if there is none."""
    items = list(items)
    return random.pick(items) if items else None


def around(text: Text, spans: list) -> list:
    """The whole statements that the new texts are in: for mistakes whose caret may stand at either side."""
    lines = text.source.splitlines()
    found = []
    for begin, _ in spans:
        line = text.line_of(begin)
        row = lines[line - 1]
        found.append((text.offset(line, len(row) - len(row.lstrip())), text.offset(line, len(row))))
    return found


def around_uses(text: Text, node):
    """`around`, and the statements that use what the node's statement assigns: for mistakes that only they show."""
    names = [n.id for n in ast.walk(text.statement(node)) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return lambda wrong, spans: around(wrong, spans) + [wrong.span(wrong.statement(n)) for name in names for n in wrong.uses(name)]


__all__ = ["Mistake", "OPERATORS", "Operator", "Text", "around", "around_uses", "operator", "pick"]
