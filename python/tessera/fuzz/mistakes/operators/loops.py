"""Sums over loops, comprehensions, shifted reads, products with a transpose, and what programs write together.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ast
import re

from ..text import mistake
from .registry import around, operator, pick


def _sums(text) -> list:
    """(the start, the loop, what it adds): `acc = tsr.zeros(m)` right before a loop whose only statement is `acc += x`."""
    found = []
    for loop in text.inside(ast.For):
        parent = text.parents[loop]
        body = getattr(parent, "body", [])
        at = body.index(loop) if loop in body else 0
        start = body[at - 1] if at else None
        is_start = isinstance(start, ast.Assign) and isinstance(start.targets[0], ast.Name) and isinstance(start.value, ast.Call) and text.name_of(start.value) == "zeros"
        step = loop.body[-1]
        if is_start and len(loop.body) == 1 and isinstance(step, ast.AugAssign) and isinstance(step.op, ast.Add) and text.get(step.target) == start.targets[0].id:
            found.append((start, loop, step.value))
    return found


def _starts(text) -> list:
    """(the start, the loop) of variables that a loop below changes, where nothing else stands between."""
    found = []
    for start in text.inside(ast.Assign, where=lambda n: isinstance(n.targets[0], ast.Name) and isinstance(n.value, ast.Call) and text.name_of(n.value) in ("zeros", "full")):
        body = getattr(text.parents[start], "body", [])
        after = body[body.index(start) + 1:] if start in body else []
        loop = next((n for n in after if isinstance(n, ast.For)), None)
        name = start.targets[0].id
        if loop is not None and any(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) for n in ast.walk(loop)):
            found.append((start, loop))
    return found


def _in_loop(text, start, loop) -> tuple:
    first = loop.body[0]
    begin, _ = text.line_span(first)
    return (begin, begin), f"{text.indent(first)}{text.get(start)}\n"


def _uses(name: str):
    return lambda wrong, spans: [*(s for s in spans if s[0] < s[1]), *around(wrong, [s for s in spans if s[0] < s[1]]), *(wrong.span(wrong.statement(n)) for n in wrong.uses(name))]


@operator("the start of a sum inside its loop")
def of_inside(text, random):
    found = pick(random, _starts(text))
    if found is None:
        return None
    start, loop = found
    return mistake(text, (text.line_span(start), ""), _in_loop(text, start, loop), places=_uses(start.targets[0].id))


@operator("the start of a sum in its loop, too")
def of_again(text, random):
    found = pick(random, _starts(text))
    return mistake(text, _in_loop(text, *found), places=_uses(found[0].targets[0].id)) if found else None


@operator("= for += in a loop")
def of_assigned(text, random):
    """`acc = x` where `acc += x` or `acc = acc * fix + x` is meant."""
    updates = [(n, n.value) for n in text.inside(ast.AugAssign, where=lambda n: isinstance(n.target, ast.Name) and isinstance(n.op, ast.Add))]
    for n in text.inside(ast.Assign, where=lambda n: isinstance(n.targets[0], ast.Name) and isinstance(n.value, ast.BinOp) and isinstance(n.value.op, ast.Add)):
        left = [m.id for m in ast.walk(n.value.left) if isinstance(m, ast.Name)]
        updates += [(n, n.value.right)] if n.targets[0].id in left and text.loops_around(n) else []
    # A counter that a test reads ends its loop.
    updates = [(n, added) for n, added in updates if not any(isinstance(loop, ast.While) for loop in text.loops_around(n))]
    found = pick(random, updates) if text.is_kernel else None
    if found is None:
        return None
    node, added = found
    name = text.get(node.target if isinstance(node, ast.AugAssign) else node.targets[0])
    return mistake(text, (node, f"{name} = {text.get(added)}"))


@operator("a total that is kept and not added")
def of_unread(text, random):
    """`tsr.cumsum(x, n)` for `tsr.cumsum(x, n) + carry`."""
    sums = text.inside(ast.BinOp, where=lambda n: text.is_kernel and isinstance(n.op, ast.Add) and isinstance(n.left, ast.Call) and text.name_of(n.left) in ("cumsum", "cumprod"))
    node = pick(random, sums)
    return mistake(text, (node, text.get(node.left))) if node else None


@operator("a store inside the loop of its sum", fix="any")
def of_early(text, random):
    """The store behind a loop goes into it: what the last turn stores is right, unless there is no turn."""
    found = pick(random, _starts(text)) if text.is_kernel else None
    body = getattr(text.parents[found[1]], "body", []) if found else []
    store = next((n for n in body[body.index(found[1]) + 1:] if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Subscript)), None) if found else None
    if store is None:
        return None
    return mistake(text, (store, f"    {text.get(store)}"))


@operator("sum() of a comprehension over tiles")
def of_generator(text, random):
    found = pick(random, _sums(text)) if text.is_kernel else None
    if found is None:
        return None
    start, loop, value = found
    element, name = text.get(value), start.targets[0].id
    over, variable = text.get(loop.iter), text.get(loop.target)
    if isinstance(value, ast.Call) and text.name_of(value) == "sum" and random.below(2):
        element = text.get(value.args[0])
    form = random.pick(("sum({e} for {v} in {o})", "sum([{e} for {v} in {o}])", "tsr.sum([{e} for {v} in {o}])"))
    return mistake(text, ((text.span(start)[0], text.span(loop)[1]), f"{name} = {form.format(e=element, v=variable, o=over)}"))


@operator("sum() of a comprehension over a dim")
def of_dim(text, random):
    if text.is_generated:
        return None
    forms = ("sum({e} for {v} in range({d}))", "sum([{e} for {v} in range({d})])", "sum({e} for {v} in {d})", "tsr.sum([{e} for {v} in range({d})])")
    calls = []
    for call in text.calls_of("sum"):
        if text.is_kernel and len(call.args) == 2 and isinstance(call.args[0], ast.Subscript) and text.get(call.args[0]).endswith(", :]"):
            calls.append((call, text.get(call.args[0])[:-2] + "q]", text.get(call.args[1])))
        dims = text.dims(text.parameter(text.get(call.args[0]))) if call.args and isinstance(call.args[0], ast.Name) and text.parameter(text.get(call.args[0])) else []
        if not text.is_kernel and dims and isinstance(dims[0].value, str) and [text.get(k) for k in call.keywords] == ["dim=0"]:
            calls.append((call, f"{text.get(call.args[0])}[q]", dims[0].value))
    found = pick(random, calls)
    if found is None:
        return None
    call, element, dim = found
    return mistake(text, (call, random.pick(forms).format(e=element, v="q", d=dim)))


@operator("a list comprehension over a dim")
def of_list(text, random):
    last = text.main.body[-1]
    if text.is_generated or text.is_kernel or not isinstance(last, ast.Return) or not isinstance(last.value, (ast.BinOp, ast.Call)):
        return None
    operand = pick(random, [n for n in ast.walk(last.value) if isinstance(n, ast.Name) and text.parameter(n.id) and len(text.dims(text.parameter(n.id))) == 2])
    if operand is None or not isinstance(last.value, ast.BinOp) or sum(isinstance(n, ast.Name) for n in ast.walk(last.value)) != 1:
        return None
    dim = text.dims(text.parameter(operand.id))[0].value
    element = re.sub(rf"\b{operand.id}\b", f"{operand.id}[q]", text.get(last.value))
    form = random.pick(("tsr.stack([{e} for q in range({d})])", "[{e} for q in {d}]", "np.array([{e} for q in range({d})])", "tsr.stack([{e} for q in range({x}.shape[0])], dim=0)"))
    return mistake(text, (last.value, form.format(e=element, d=dim, x=operand.id)))


# ---- what programs write together ---------------------------------------------------------------


@operator("InOut and += for a Region")
def of_region(text, random):
    parameter = pick(random, [p for p in text.parameters if text.annotation(p).startswith("Region[reduce_sum, ")])
    call = pick(random, text.calls_of("atomic_add"))
    if parameter is None or call is None or text.get(call.args[0]) != parameter.arg:
        return None
    inner = text.annotation(parameter).removeprefix("Region[reduce_sum, Tensor[")[:-2].replace("'", '"')
    index = text.get(call.args[1]).strip("()").rstrip(",")
    return mistake(text, (parameter.annotation, f"InOut[{inner}]"), (call, f"{parameter.arg}[{index}] += {text.get(call.args[2])}"), places=lambda wrong, spans: [*spans, wrong.span(wrong.parameter(parameter.arg))])


@operator("+= for an atomic of a Region")
def of_plain_update(text, random):
    call = pick(random, text.calls_of("atomic_add"))
    if call is None:
        return None
    index = text.get(call.args[1]).strip("()").rstrip(",")
    return mistake(text, (call, f"{text.get(call.args[0])}[{index}] {random.pick(('+=', '='))} {text.get(call.args[2])}"))


@operator("a Region for an InOut", fix="any")
def of_inout(text, random):
    parameter = pick(random, [p for p in text.parameters if text.annotation(p).startswith("InOut[")])
    if parameter is None:
        return None
    inner = text.get(parameter.annotation).removeprefix("InOut[")[:-1]
    return mistake(text, (parameter.annotation, random.pick((f"Region[reduce_sum, Tensor[{inner}]]", f"Region[{inner}]", f"Out[{inner}]", f"Tensor[{inner}]"))),
                   places=lambda wrong, spans: [*spans, wrong.span(wrong.parameter(parameter.arg)), *(wrong.span(wrong.statement(n)) for n in wrong.uses(parameter.arg))])


@operator("an atomic into an InOut or Out", fix="any")
def of_atomic(text, random):
    parameter = pick(random, [p for p in text.parameters if text.annotation(p).startswith("Region[reduce_sum, ")])
    if parameter is None:
        return None
    inner = text.annotation(parameter).removeprefix("Region[reduce_sum, Tensor[")[:-2].replace("'", '"')
    return mistake(text, (parameter.annotation, f"InOut[{inner}]"), places=lambda wrong, spans: [*spans, wrong.span(wrong.parameter(parameter.arg)), *(wrong.span(wrong.statement(n)) for n in wrong.uses(parameter.arg))])


# ---- shifted reads and products -----------------------------------------------------------------


@operator("a slice for a shifted read")
def of_shift(text, random):
    node = pick(random, text.inside(ast.BinOp, where=lambda n: text.is_kernel and isinstance(n.left, ast.Attribute) and n.left.attr == "index" and isinstance(n.right, ast.Constant)
                                    and isinstance(n.op, (ast.Add, ast.Sub))))
    if node is None or not any(isinstance(n, ast.Subscript) for n in (text.parents[node], text.parents[text.parents[node]])):
        return None
    name, sign, by = text.get(node.left.value), "+" if isinstance(node.op, ast.Add) else "-", text.get(node.right)
    forms = (f"{name}.start {sign} {by}:{name}.stop {sign} {by}", f"{name} {sign} {by}", f"{name}.start {sign} {by}:{name}.start {sign} {by} + {name}.size")
    return mistake(text, (node, random.pick(forms)), places=around)


@operator("a slice before a shifted index")
def of_sliced(text, random):
    node = pick(random, text.inside(ast.Subscript, where=lambda n: text.is_kernel and re.fullmatch(r"\w+\[\w+\.index \+ \d+\]", text.get(n)) is not None))
    if node is None:
        return None
    name, by = node.slice.left.value.id, text.get(node.slice.right)
    return mistake(text, (node, f"{text.get(node.value)}[{by}:][{name}]"))


@operator("the second operand of a product lies the other way")
def of_lies(text, random):
    node = pick(random, text.inside(ast.Attribute, where=lambda n: text.is_kernel and n.attr == "T" and isinstance(n.value, ast.Subscript) and isinstance(text.parents[n], ast.BinOp)
                                    and isinstance(text.parents[n].op, ast.MatMult) and text.parents[n].right is n and isinstance(n.value.slice, ast.Tuple) and len(n.value.slice.elts) == 2))
    if node is None:
        return None
    array, (first, last) = text.get(node.value.value), (text.get(e) for e in node.value.slice.elts)
    forms = (f"{array}[{last}, {first}]", f"{array}[{first}, {last}]", f"{array}.T[{last}, {first}]", f"tl.trans({array}[{first}, {last}])", f"{array}[{first}, {last}].transpose()",
             f"{array}[{first}, {last}].t()", f"np.transpose({array}[{first}, {last}])", f"{array}[{first}, {last}].transpose(0, 1)")
    return mistake(text, (node, random.pick(forms)), places=around)


@operator("a broadcast axis in the wrong place", legal=True)
def of_broadcast(text, random):
    if text.is_kernel or text.is_generated:
        return None
    columns = text.inside(ast.Subscript, where=lambda n: text.get(n).endswith("[:, None]"))
    rows = text.inside(ast.Name, where=lambda n: isinstance(n.ctx, ast.Load) and text.parameter(n.id) is not None and len(text.dims(text.parameter(n.id))) == 1
                       and isinstance(text.parents[n], ast.BinOp) and not isinstance(text.parents[n].op, ast.MatMult))
    node = pick(random, columns + rows)
    if node is None:
        return None
    if isinstance(node, ast.Name):
        return mistake(text, (node, random.pick((f"{node.id}[:, None]", f"{node.id}.unsqueeze(1)", f"{node.id}.reshape(-1, 1)"))), places=around)
    value = text.get(node.value)
    return mistake(text, (node, random.pick((f"{value}[None, :]", f"{value}.unsqueeze(0)", value))), places=around)
