"""Names that are written wrong.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ast
import re

from ..text import mistake
from .registry import operator, pick


def misspelt(name: str, random) -> str:
    """With two letters swapped, one twice or one missing; not the first."""
    at = random.between(1, len(name) - 2)
    forms = [name[:at] + name[at + 1] + name[at] + name[at + 2 :], name[:at] + name[at] + name[at:], name[:at] + name[at + 1 :]]
    return pick(random, [form for form in forms if form != name]) or name + name[-1]


def _exists(name: str) -> bool:
    import tessera
    from tessera.source import is_foreign

    return hasattr(tessera, name) or is_foreign(name)


@operator("a name of tsr, misspelt")
def of_tsr(text, random):
    node = pick(random, text.inside(ast.Attribute, where=lambda n: isinstance(n.value, ast.Name) and n.value.id == "tsr" and len(n.attr) > 3))
    new = node and misspelt(node.attr, random)
    return mistake(text, (node, f"tsr.{new}")) if node and not _exists(new) else None


@operator("a method, misspelt")
def of_method(text, random):
    node = pick(random, text.inside(ast.Attribute, where=lambda n: isinstance(text.parents[n], ast.Call) and not ast.unparse(n).startswith(("tsr.", "math.")) and len(n.attr) > 3))
    new = node and misspelt(node.attr, random)
    return mistake(text, (node, f"{text.get(node.value)}.{new}")) if node and not _exists(new) else None


@operator("a local name, misspelt")
def of_local(text, random):
    stored = {n.id for n in text.inside(ast.Name) if isinstance(n.ctx, ast.Store)} | {p.arg for p in text.parameters}
    node = pick(random, text.inside(ast.Name, where=lambda n: isinstance(n.ctx, ast.Load) and n.id in stored and len(n.id) > 3 and n.id.isalpha()))
    new = node and misspelt(node.id, random)
    return mistake(text, (node, new)) if node and new not in stored else None


@operator("a keyword of a call, misspelt")
def of_keyword(text, random):
    node = pick(random, text.inside(ast.keyword, where=lambda k: k.arg and len(k.arg) > 2))
    return mistake(text, (node, f"{misspelt(node.arg, random)}={text.get(node.value)}")) if node else None


@operator("a dtype, misspelt")
def of_dtype(text, random):
    names = [n for n in ast.walk(text.main) if isinstance(n, ast.Name) and re.fullmatch(r"(fp|bf|i)\d+", n.id)]
    node = pick(random, [n for n in names if text.span(n)[0] > text.span(text.main.body[0])[0]])
    wrong = {"fp32": "f32", "fp16": "f16", "fp64": "f64", "i32": "int32", "i64": "int64", "bf16": "bfloat16"}
    return mistake(text, (node, wrong[node.id])) if node and node.id in wrong else None


@operator("the decorator, misspelt")
def of_decorator(text, random):
    node = text.main.decorator_list[-1]
    name = "kernel" if text.is_kernel else "function"
    return mistake(text, (node, text.get(node).replace(name, misspelt(name, random), 1))) if text.get(node).startswith(f"tsr.{name}") else None


@operator("a range's attribute, misspelt")
def of_range(text, random):
    node = pick(random, text.inside(ast.Attribute, where=lambda n: n.attr in ("index", "start", "stop") and isinstance(n.value, ast.Name)))
    if node is None:
        return None
    wrong = random.pick({"index": ("indices", "idx", "offsets"), "start": ("begin", "strat", "offset"), "stop": ("end", "stpo")}[node.attr])
    return mistake(text, (node, f"{node.value.id}.{wrong}"))


@operator("a dim in the body that the signature lacks", fix="any")
def of_dim(text, random):
    node = pick(random, (n for call in text.calls_of("tile") for n in call.args[:1] if isinstance(n, ast.Name)))
    return mistake(text, (node, random.pick(("SIZE", "LENGTH", "Q")))) if node else None


@operator("the case of a name")
def of_case(text, random):
    names = {p.arg for p in text.parameters}
    used = {n.id for n in ast.walk(text.tree) if isinstance(n, ast.Name)} | {each.value for each in ast.walk(text.main.args) if isinstance(each, ast.Constant)}
    node = pick(random, text.inside(ast.Name, where=lambda n: isinstance(n.ctx, ast.Load) and n.id in names and n.id.swapcase() not in used and len(n.id) > 1 and n.id.isalpha()))
    return mistake(text, (node, node.id.swapcase())) if node else None
