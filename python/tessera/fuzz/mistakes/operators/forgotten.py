"""What is left out or stands one line too far: running values, brackets, the parts of a split axis.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ast

from ..text import mistake
from .registry import around, operator, pick


def _loops(text) -> list:
    """Loops inside the grid's."""
    return [n for n in text.inside(ast.For) if text.is_kernel and n is not text.grid()]


@operator("a running maximum that is not kept")
def of_kept(text, random):
    """`top = new` is left out at the end of a loop."""
    lines = [(loop, line) for loop in _loops(text) for line in loop.body if isinstance(line, ast.Assign) and isinstance(line.value, ast.Name) and isinstance(line.targets[0], ast.Name)
             and len(loop.body) > 1]
    found = pick(random, lines)
    if found is None:
        return None
    loop, line = found
    name = line.targets[0].id
    return mistake(text, (text.line_span(line), ""), places=lambda wrong, spans: [wrong.span(wrong.statement(n)) for n in wrong.uses(name)])


@operator("a sum that is not rescaled")
def of_rescaled(text, random):
    """`total = total + p` for `total = total * fix + p`."""
    sums = text.inside(ast.Assign, where=lambda n: text.is_kernel and isinstance(n.value, ast.BinOp) and isinstance(n.value.op, ast.Add) and isinstance(n.value.left, ast.BinOp)
                       and isinstance(n.value.left.op, ast.Mult) and isinstance(n.targets[0], ast.Name) and text.get(n.value.left.left) == n.targets[0].id and text.loops_around(n))
    node = pick(random, sums)
    if node is None:
        return None
    name, added = text.get(node.targets[0]), text.get(node.value.right)
    return mistake(text, (node, random.pick((f"{name} = {name} + {added}", f"{name} += {added}"))))


@operator("an atomic in the loop of its sum")
def of_atomic(text, random):
    calls = [c for c in text.calls_of("atomic_add") if isinstance(text.parents[c], ast.Expr)]
    call = pick(random, calls)
    statement = text.statement(call) if call else None
    body = getattr(text.parents[statement], "body", []) if statement else []
    at = body.index(statement) if statement in body else 0
    if not at or not isinstance(body[at - 1], ast.For):
        return None
    return mistake(text, (statement, f"    {text.get(statement)}"))


@operator("the last line of a loop behind it")
def of_behind(text, random):
    loops = [loop for loop in _loops(text) if len(loop.body) > 1 and isinstance(loop.body[-1], ast.AugAssign)]
    loop = pick(random, loops)
    if loop is None:
        return None
    line = loop.body[-1]
    begin, end = text.line_span(line)
    return mistake(text, ((begin, end), f"{' ' * (line.col_offset - 4)}{text.get(line)}\n"), places=around)


@operator("brackets of comparisons left out")
def of_brackets(text, random):
    nodes = text.inside(ast.BinOp, where=lambda n: isinstance(n.op, (ast.BitAnd, ast.BitOr)) and isinstance(n.left, ast.Compare) and isinstance(n.right, ast.Compare))
    node = pick(random, nodes)
    if node is None:
        return None
    sign = "&" if isinstance(node.op, ast.BitAnd) else "|"
    return mistake(text, (node, f"{text.get(node.left)} {sign} {text.get(node.right)}"), places=around)


@operator("the condition of where in another place")
def of_condition(text, random):
    call = pick(random, [c for c in text.calls_of("where") if len(c.args) == 3 and not c.keywords and not isinstance(c.args[1], ast.Constant)])
    if call is None:
        return None
    first, second, third = map(text.get, call.args)
    return mistake(text, (call, f"tsr.where({second}, {first}, {third})"))


@operator("the ends of a part of an axis left out")
def of_part(text, random):
    calls = [loop.iter for loop in _loops(text) if isinstance(loop.iter, ast.Call) and {k.arg for k in loop.iter.keywords} == {"start", "stop"}]
    call = pick(random, calls)
    if call is None:
        return None
    return mistake(text, (call, f"tsr.tile({', '.join(map(text.get, call.args))})"), places=lambda wrong, spans: [*spans, wrong.span(wrong.grid().target)])


@operator("a grid over elements, whose counters are used as ranges")
def of_elements(text, random):
    grid = text.grid() if text.is_kernel else None
    tiles = [a for a in grid.iter.args if isinstance(a, ast.Call) and text.name_of(a) == "tile" and len(a.args) == 2] if grid else []
    if not tiles or not any(isinstance(n, ast.Attribute) and n.attr == "index" for n in text.inside(ast.Attribute)):
        return None
    return mistake(text, *((each, text.get(each.args[0])) for each in tiles), places=around)
