"""Axes, shapes and indices of tensor functions.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ast

from ..text import Mistake, edited, mistake
from .registry import around, operator, pick

REDUCTIONS = ("sum", "mean", "max", "min", "softmax", "cumsum", "argmax", "var", "cat")


def _calls_with_dim(text) -> list:
    """Calls in a function that say `dim=`."""
    return [] if text.is_kernel else text.inside(ast.Call, where=lambda c: any(k.arg == "dim" for k in c.keywords))


def _dim(call) -> ast.keyword:
    return next(k for k in call.keywords if k.arg == "dim")


@operator("a dim beyond the rank", fix="any")
def of_dim(text, random):
    call = pick(random, _calls_with_dim(text))
    return mistake(text, (_dim(call).value, random.pick(("7", "-6")))) if call else None


@operator("a dim that is no number", fix="any")
def of_dim_name(text, random):
    call = pick(random, _calls_with_dim(text))
    return mistake(text, (_dim(call).value, random.pick(('"rows"', "1.0", "None, 1"[:4])))) if call and "softmax" in text.get(call) else None


@operator("softmax or a scan without its dim", fix="any")
def of_no_dim(text, random):
    call = pick(random, [c for c in _calls_with_dim(text) if isinstance(c.func, ast.Attribute) and c.func.attr in ("softmax", "cumsum")])
    if call is None:
        return None
    kept = [text.get(a) for a in (*call.args, *(k for k in call.keywords if k.arg != "dim"))]
    return mistake(text, (call, f"{text.get(call.func)}({', '.join(kept)})"))


@operator("keepdim left out")
def of_keepdim(text, random):
    call = pick(random, [c for c in _calls_with_dim(text) if any(k.arg == "keepdim" for k in c.keywords) and not text.is_generated])
    if call is None:
        return None
    kept = [text.get(a) for a in (*call.args, *(k for k in call.keywords if k.arg != "keepdim"))]
    target = text.statement(call)
    name = ast.unparse(target.targets[0]) if isinstance(target, ast.Assign) else ""
    return mistake(text, (call, f"{text.get(call.func)}({', '.join(kept)})"),
                   places=lambda wrong, spans: around(wrong, spans) + [wrong.statement(n) for n in wrong.uses(name)])


@operator("ddof, unbiased, descending, reverse and other words of torch and NumPy")
def of_foreign_keyword(text, random):
    call = pick(random, [c for c in _calls_with_dim(text) if isinstance(c.func, ast.Attribute) and c.func.attr == "var"])
    if call is None:
        return None
    old = next((k for k in call.keywords if k.arg == "correction" and text.get(k.value) == "0"), None)
    return mistake(text, (old, random.pick(("ddof=0", "unbiased=False")))) if old else None


@operator("cumsum from the end")
def of_reverse(text, random):
    call = pick(random, [c for c in _calls_with_dim(text) if text.name_of(c) == "cumsum" and isinstance(c.args[0], ast.Name) and text.get(_dim(c).value) == "1"])
    if call is None:
        return None
    value = call.args[0].id
    right = edited(text.source, [(text.span(call), f"tsr.cumsum({value}[:, ::-1], dim=1)[:, ::-1]")])[0]
    found = mistake(text, (call, f"tsr.cumsum({value}, dim=1, reverse=True)"))
    return Mistake(right, found.wrong, found.places)


@operator("a broadcast axis left out")
def of_no_axis(text, random):
    node = pick(random, text.inside(ast.Subscript, where=lambda n: text.get(n).endswith("[:, None]") and not text.is_generated))
    return mistake(text, (node, text.get(node.value)), places=around) if node else None


@operator("an element assigned")
def of_element(text, random):
    if text.is_kernel or not isinstance(text.main.body[-1], ast.Return) or not isinstance(text.main.body[-1].value, ast.Name):
        return None
    name = text.main.body[-1].value.id
    begin, _ = text.line_span(text.main.body[-1])
    indent = text.indent(text.main.body[-1])
    right = text.source[:begin] + f"{indent}{name} = {name} * 2.0\n" + text.source[begin:]
    found = mistake(text, ((begin, begin), f"{indent}{name}[:] = {name} * 2.0\n"))
    return Mistake(right, found.wrong, [(first + len(indent), last) for first, last in found.places])


@operator("a method that changes its tensor")
def of_in_place(text, random):
    node = pick(random, text.inside(ast.Assign, where=lambda n: not text.is_kernel and isinstance(n.targets[0], ast.Name) and isinstance(n.value, ast.BinOp)
                                    and isinstance(n.value.left, ast.Name) and n.value.left.id == n.targets[0].id and isinstance(n.value.op, (ast.Add, ast.Mult))))
    if node is None:
        return None
    name, value = node.targets[0].id, text.get(node.value.right)
    return mistake(text, (node, f"{name}.{'add_' if isinstance(node.value.op, ast.Add) else 'mul_'}({value})"))


@operator("an index beyond a known size", fix="any")
def of_index(text, random):
    node = pick(random, text.inside(ast.Subscript, where=lambda n: not text.is_kernel and isinstance(n.slice, ast.Tuple) and isinstance(n.slice.elts[-1], ast.Constant)
                                    and isinstance(n.slice.elts[-1].value, int) and n.slice.elts[-1].value > 3))
    return mistake(text, (node.slice.elts[-1], str(node.slice.elts[-1].value + 1 + random.below(90))), places=around) if node else None


@operator("too many indices", fix="any")
def of_indices(text, random):
    node = pick(random, text.inside(ast.Subscript, where=lambda n: not text.is_kernel and isinstance(n.slice, ast.Tuple) and isinstance(n.value, ast.Name) and "None" not in text.get(n) and "..." not in text.get(n)))
    return mistake(text, (node, f"{text.get(node)[:-1]}, 0, 0]"), places=around) if node else None


@operator("reshape to another number of elements", fix="any")
def of_reshape(text, random):
    call = pick(random, text.inside(ast.Call, where=lambda c: isinstance(c.func, ast.Attribute) and c.func.attr == "reshape" and c.args and isinstance(c.args[-1], ast.Constant)
                                    and isinstance(c.args[-1].value, int) and c.args[-1].value > 1))
    return mistake(text, (call.args[-1], str(call.args[-1].value + 1)), places=around) if call else None


@operator("view, chunk, split and other methods of torch")
def of_view(text, random):
    call = pick(random, text.inside(ast.Call, where=lambda c: isinstance(c.func, ast.Attribute) and c.func.attr in ("reshape", "transpose") and not ast.unparse(c.func).startswith("tsr.")))
    if call is None:
        return None
    word = {"reshape": ("reshpe", "reshaped"), "transpose": ("transpos", "transposed")}[call.func.attr]
    return mistake(text, (call.func, f"{text.get(call.func.value)}.{random.pick(word)}"), places=around)


@operator("two shapes that do not line up", fix="any")
def of_shapes(text, random):
    node = pick(random, text.inside(ast.BinOp, where=lambda n: not text.is_kernel and not text.is_generated and isinstance(n.op, (ast.Add, ast.Sub)) and isinstance(n.right, ast.Name)
                                    and (p := text.parameter(n.right.id)) is not None and len(text.dims(p)) == 2))
    return mistake(text, (node.right, f"{node.right.id}.T"), places=around) if node else None


@operator("cat of things that are no list", fix="any")
def of_cat(text, random):
    call = pick(random, text.calls_of("cat", "stack"))
    if call is None or not isinstance(call.args[0], (ast.List, ast.Tuple)):
        return None
    return mistake(text, (call.args[0], text.get(call.args[0])[1:-1]), places=around)


@operator("a size or a tensor where a truth value is meant", fix="any")
def of_truth(text, random):
    """`flag or x.shape[0]`: the size is what is wrong, not the flag."""
    node = pick(random, text.inside(ast.If, where=lambda n: isinstance(n.test, ast.Name) and not text.is_kernel))
    array = pick(random, [p.arg for p in text.parameters if text.dims(p)])
    if node is None or array is None:
        return None
    sign, other = random.pick((("or", f"{array}.shape[0]"), ("or", array), ("or", f"tsr.sum({array}, dim=0)")))
    begin = text.span(node.test)[1]
    return mistake(text, ((begin, begin), f" {sign} {other}")) if text.annotation(text.parameter(node.test.id)) == "" else None
