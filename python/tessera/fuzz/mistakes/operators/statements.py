"""Statements of Python that the language has not, or not there.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ast
import re

from ..text import mistake
from .registry import operator, pick


def _plain(text, random):
    """An assignment of the body, alone on its line."""
    return pick(random, text.assignments())


def _block(text, statement, head: str, tail: str = "") -> str:
    """The statement in a block."""
    indent = text.indent(statement)
    return f"{head}\n{indent}    {text.get(statement)}" + (f"\n{indent}{tail}".replace("\n    ", f"\n{indent}    ") if tail else "")


@operator("try")
def of_try(text, random):
    node = _plain(text, random)
    if node is None:
        return None
    indent = text.indent(node)
    return mistake(text, (node, f"try:\n{indent}    {text.get(node)}\n{indent}except ValueError:\n{indent}    pass"))


@operator("with")
def of_with(text, random):
    node = _plain(text, random)
    return mistake(text, (node, _block(text, node, random.pick(("with tsr.grid(1):", "with torch.no_grad():", "with np.errstate(all='ignore'):"))))) if node else None


@operator("a lambda")
def of_lambda(text, random):
    node = pick(random, text.assignments(ast.Name, lambda n: isinstance(n.value, (ast.BinOp, ast.Call))))
    if node is None:
        return None
    operand = pick(random, [n for n in ast.walk(node.value) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and _is_array(text, n)])
    if operand is None:
        return None
    begin, end = text.span(node.value)
    first, last = text.span(operand)
    body = text.source[begin:first] + "t" + text.source[last:end]
    if re.search(r"\bt\b", text.source):
        return None
    indent = text.indent(node)
    return mistake(text, (node, f"act = lambda t: {body}\n{indent}{text.get(node.targets[0])} = act({operand.id})"))


def _is_array(text, name) -> bool:
    parent = text.parents[name]
    if isinstance(parent, (ast.Attribute, ast.Subscript)) or isinstance(text.parents.get(parent), ast.Attribute):
        return False
    return any(isinstance(n.ctx, ast.Store) for n in text.uses(name.id)) and not any(name.id in ast.unparse(loop.target) for loop in text.inside(ast.For))


@operator("an f-string")
def of_f_string(text, random):
    node = pick(random, text.assignments(ast.Name))
    if node is None:
        return None
    name = node.targets[0].id
    return mistake(text, (node, f'{text.get(node)}\n{text.indent(node)}print(f"{name} is {{{name}}}")'), places=lambda wrong, spans: [(wrong.source.index("print(f", spans[0][0]), spans[0][1])])


@operator("a list comprehension")
def of_comprehension(text, random):
    call = pick(random, [c for c in text.calls_of("cat", "stack") if isinstance(c.args[0], (ast.List, ast.Tuple)) and all(isinstance(e, ast.Name) for e in c.args[0].elts)])
    return mistake(text, (call.args[0], f"[part for part in ({text.get(call.args[0])[1:-1]},)]")) if call else None


@operator("while on a tensor or tile", fix="any")
def of_while(text, random):
    node = pick(random, text.assignments(ast.Name, lambda n: isinstance(n.value, ast.BinOp) and isinstance(n.value.op, (ast.Add, ast.Mult)) and _is_tile_value(text, n)))
    if node is None:
        return None
    name = node.targets[0].id
    return mistake(text, (node, f"{text.get(node)}\n{text.indent(node)}while {name} > 100.0:\n{text.indent(node)}    {name} = {name} * 0.5"),
                   places=lambda wrong, spans: [(wrong.source.index("while", spans[0][0]), spans[0][1])])


def _is_tile_value(text, node) -> bool:
    return any(isinstance(n, ast.Name) and text.parameter(n.id) is not None and (text.dims(text.parameter(n.id)) or not text.parameter(n.id).annotation) for n in ast.walk(node.value))


@operator("if on a tensor or tile")
def of_if(text, random):
    call = pick(random, text.assigned_choices())
    if call is None:
        return None
    node = text.parents[call]
    name, indent = node.targets[0].id, text.indent(node)
    condition, then, other = (text.get(a) for a in call.args)
    return mistake(text, (node, f"if {condition}:\n{indent}    {name} = {then}\n{indent}else:\n{indent}    {name} = {other}"))


@operator("x if condition else y of tensors or tiles")
def of_ternary(text, random):
    call = pick(random, [c for c in text.calls_of("where") if len(c.args) == 3])
    if call is None:
        return None
    condition, then, other = (text.get(a) for a in call.args)
    return mistake(text, (call, f"({then} if {condition} else {other})"))


@operator("and, or, not of tensors or tiles")
def of_and(text, random):
    node = pick(random, text.inside(ast.BinOp, where=lambda n: isinstance(n.op, (ast.BitAnd, ast.BitOr)) and isinstance(n.left, ast.Compare) and isinstance(n.right, ast.Compare)))
    if node is None:
        return None
    return mistake(text, (node, f"{text.get(node.left)} {'and' if isinstance(node.op, ast.BitAnd) else 'or'} {text.get(node.right)}"))


@operator("return in a kernel")
def of_return(text, random):
    if not text.is_kernel:
        return None
    node = pick(random, text.assignments(ast.Subscript))
    if node is None:
        return None
    return mistake(text, (node, f"return {text.get(node.value)}"))


@operator("return in a loop", fix="any")
def of_return_in_loop(text, random):
    loop = None if text.is_kernel else pick(random, text.inside(ast.For))
    if loop is None:
        return None
    last = loop.body[-1]
    name = next((n.id for n in ast.walk(last) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)), None)
    return mistake(text, ((text.span(last)[1],) * 2, f"\n{text.indent(last)}if {name}.shape[0] > 1:\n{text.indent(last)}    return {name}")) if name else None


@operator("return missing")
def of_no_return(text, random):
    last = text.main.body[-1]
    if text.is_kernel or not isinstance(last, ast.Return) or isinstance(last.value, (ast.Name, ast.Tuple)):
        return None
    return mistake(text, (last, f"answer = {text.get(last.value)}"), places=lambda wrong, spans: [wrong.header(wrong.main), *spans])


@operator("continue or break", fix="any")
def of_break(text, random):
    loop = pick(random, text.inside(ast.For))
    if loop is None or (text.is_kernel and loop is text.grid()):
        return None
    last = loop.body[-1]
    return mistake(text, ((text.span(last)[1],) * 2, f"\n{text.indent(last)}if {ast.unparse(loop.target)}{'.id' if 'tile' in text.get(loop.iter) else ''} > 1:\n{text.indent(last)}    {random.pick(('break', 'continue'))}"))


@operator("an import in the body")
def of_import(text, random):
    first = text.main.body[0]
    line = random.pick(("import math", "import numpy as np", "from tessera import fp32"))
    begin, _ = text.line_span(first)
    return mistake(text, ((begin, begin), f"{text.indent(first)}{line}\n"))


@operator("a definition in the body", fix="any")
def of_definition(text, random):
    first = text.main.body[0]
    begin, _ = text.line_span(first)
    indent = text.indent(first)
    return mistake(text, ((begin, begin), f"{indent}def helper(t):\n{indent}    return t * 2.0\n"))


@operator("del, global, yield, walrus")
def of_others(text, random):
    node = pick(random, text.assignments(ast.Name))
    if node is None:
        return None
    name, indent = node.targets[0].id, text.indent(node)
    forms = (f"{text.get(node)}\n{indent}yield {name}", f"global {name}\n{indent}{text.get(node)}", f"({name} := {text.get(node.value)})", f"{text.get(node)}\n{indent}del {name}_old")
    form = random.pick(forms[:3])
    return mistake(text, (node, form))


@operator("a list that grows", fix="any")
def of_append(text, random):
    node = _plain(text, random)
    if node is None or not isinstance(node.targets[0], ast.Name):
        return None
    name, indent = node.targets[0].id, text.indent(node)
    return mistake(text, (node, f"parts = []\n{indent}{text.get(node)}\n{indent}parts.append({name})"))


@operator("a comparison chain")
def of_chain(text, random):
    node = pick(random, text.inside(ast.Compare, where=lambda n: len(n.ops) == 1 and isinstance(n.ops[0], ast.Eq)))
    return mistake(text, (node, f"{text.get(node.left)} is {text.get(node.comparators[0])}")) if node else None


@operator("async, class and decorators of Python", fix="any")
def of_class(text, random):
    first = text.main.body[0]
    begin, _ = text.line_span(first)
    indent = text.indent(first)
    return mistake(text, ((begin, begin), f"{indent}class Options:\n{indent}    size = 3\n"))


@operator("a dict or a set", fix="any")
def of_dict(text, random):
    node = pick(random, text.assignments(ast.Name))
    if node is None:
        return None
    name, indent = node.targets[0].id, text.indent(node)
    return mistake(text, (node, f"values = {{'{name}': {text.get(node.value)}}}\n{indent}{name} = values['{name}']"))
