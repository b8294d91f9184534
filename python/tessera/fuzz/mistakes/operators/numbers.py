"""Dtypes that do not meet, and numbers that fit none.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ast
import re

from ..text import mistake
from .registry import around, around_uses, operator, pick


def _dtype_of(text, name: str) -> str:
    """Of a parameter, as its annotation says; "" if it does not."""
    parameter = text.parameter(name)
    found = re.search(r"\b(fp\d+|bf16|i\d+)\b", text.annotation(parameter)) if parameter is not None else None
    return found[1] if found else ""


@operator("a conversion left out", legal=True)
def of_no_conversion(text, random):
    call = pick(random, text.inside(ast.Call, where=lambda c: isinstance(c.func, ast.Attribute) and c.func.attr == "to" and len(c.args) == 1))
    if call is None:
        return None
    return mistake(text, (call, text.get(call.func.value)), places=around_uses(text, call))


@operator("a number that fits no dtype", fix="any")
def of_huge(text, random):
    node = pick(random, text.inside(ast.Constant, where=lambda n: type(n.value) is int and isinstance(text.parents[n], (ast.BinOp, ast.Compare)) and abs(n.value) < 100 and _meets_ints(text, n)))
    return mistake(text, (node, random.pick(("3000000000", "10**20", "99999999999999999999")))) if node else None


def _meets_ints(text, node) -> bool:
    names = {n.id for n in ast.walk(text.statement(node)) if isinstance(n, ast.Name)}
    return any(_dtype_of(text, name) in ("i32",) for name in names)


@operator("a constant of the file that fits no dtype", fix="any")
def of_global(text, random):
    node = pick(random, text.inside(ast.Constant, where=lambda n: type(n.value) is int and isinstance(text.parents[n], (ast.BinOp, ast.Compare)) and abs(n.value) < 100 and _meets_ints(text, n)))
    if node is None:
        return None
    begin = text.line_span(text.tree.body[next(i for i, s in enumerate(text.tree.body) if isinstance(s, ast.FunctionDef))].decorator_list[0])[0]
    return mistake(text, ((begin, begin), "BIG = 10**20\n\n\n"), (node, "BIG"), places=lambda wrong, spans: around(wrong, spans))


@operator("a float for ints", fix="any")
def of_float(text, random):
    node = pick(random, text.inside(ast.Constant, where=lambda n: type(n.value) is int and isinstance(text.parents[n], ast.BinOp) and _meets_ints(text, n) and abs(n.value) < 100))
    return mistake(text, (node, f"{node.value}.5"), places=around) if node else None


@operator("a number larger than the dtype's largest", fix="any")
def of_half(text, random):
    halves = any(_dtype_of(text, p.arg) == "fp16" for p in text.parameters)
    node = pick(random, text.inside(ast.BinOp, where=lambda n: halves and isinstance(n.op, ast.Mult) and isinstance(n.right, ast.Constant) and text.get(n).startswith("tile")))
    return mistake(text, (node.right, "1e6")) if node else None


@operator("a dtype that is a string or another library's")
def of_string(text, random):
    node = pick(random, [n for n in text.inside(ast.Name) if n.id in ("fp32", "fp16", "i32", "i64", "fp64") and not isinstance(text.parents[n], ast.AnnAssign)])
    if node is None:
        return None
    other = {"fp32": ('"f32"', "tl.float32", "jnp.float32", "float32"), "fp16": ("tl.float16", "half"), "i32": ("tl.int32", "int32"), "i64": ("tl.int64", "int64"), "fp64": ("tl.float64", "float64")}
    return mistake(text, (node, random.pick(other[node.id])))


@operator("a product of two dtypes")
def of_product(text, random):
    node = pick(random, text.inside(ast.BinOp, where=lambda n: isinstance(n.op, ast.MatMult) and isinstance(n.left, (ast.Subscript, ast.Name))))
    if node is None:
        return None
    name = node.left.value.id if isinstance(node.left, ast.Subscript) and isinstance(node.left.value, ast.Name) else getattr(node.left, "id", "")
    parameter = text.parameter(name)
    if parameter is None or _dtype_of(text, name) not in ("fp16", "fp32"):
        return None
    other = {"fp16": "fp32", "fp32": "fp16"}[_dtype_of(text, name)]
    return mistake(text, (node.left, f"{text.get(node.left)}.to({other})"), places=around)


@operator("/ of whole numbers where // is meant")
def of_division(text, random):
    node = pick(random, text.inside(ast.BinOp, where=lambda n: isinstance(n.op, ast.FloorDiv) and isinstance(n.right, ast.Constant) and isinstance(n.right.value, int)))
    return mistake(text, (node, f"{text.get(node.left)} / {text.get(node.right)}"), places=around) if node else None


@operator("arithmetic of truth values")
def of_truth(text, random):
    call = pick(random, text.inside(ast.Call, where=lambda c: isinstance(c.func, ast.Attribute) and c.func.attr == "to" and isinstance(c.func.value, ast.Name) and text.get(c).endswith("to(i32)")
                                    and isinstance(text.parents[c], ast.Call)))
    return mistake(text, (call, f"({text.get(call.func.value)} + {text.get(call.func.value)})"), places=around) if call else None
