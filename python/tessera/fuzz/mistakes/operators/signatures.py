"""Parameters, annotations and dims.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ast
import re

from ..text import mistake
from .registry import operator, pick


def _tensors(text, kinds=("Tensor", "Out", "InOut")) -> list:
    return [p for p in text.parameters if text.annotation(p).startswith(tuple(f"{k}[" for k in kinds))]


def _anywhere(wrong, spans) -> list:
    """The definition: for what may be said where a name is used or where it should have come from."""
    return [wrong.span(wrong.main)]


@operator("the annotation left out", fix="any")
def of_no_annotation(text, random):
    parameter = pick(random, _tensors(text, ("Tensor",))) if text.is_kernel else None
    if parameter is None:
        return None
    dims = [d.value for d in text.dims(parameter)]
    return mistake(text, (parameter, parameter.arg), places=lambda wrong, spans: [wrong.header(wrong.main), *(n for dim in dims if isinstance(dim, str) for n in wrong.uses(dim)), *wrong.uses(parameter.arg)])


@operator("two dims in one string")
def of_one_string(text, random):
    parameter = pick(random, [p for p in _tensors(text) if len(text.dims(p)) >= 2 and all(isinstance(d.value, str) for d in text.dims(p)[:2])])
    if parameter is None:
        return None
    first, second = text.dims(parameter)[:2]
    sign = random.pick((" ", ", "))
    return mistake(text, ((text.span(first)[0], text.span(second)[1]), f'"{first.value}{sign}{second.value}"'), places=lambda wrong, spans: [*spans, wrong.parameter(parameter.arg)])


@operator("a dim of another name", fix="any")
def of_dim(text, random):
    """The name that is left has no other place: what used it says so."""
    parameter = pick(random, _tensors(text, ("Tensor",)))
    if parameter is None or not text.is_kernel:
        return None
    dim = pick(random, [d for d in text.dims(parameter) if isinstance(d.value, str) and d.value.isidentifier()])
    others = [d.value for p in _tensors(text) if p is not parameter for d in text.dims(p)]
    if dim is None or not text.uses(dim.value) and dim.value not in others:
        return None
    return mistake(text, (dim, '"Z"'), places=_anywhere)


@operator("a parameter twice, a default before others, *args, **options", fix="any")
def of_stars(text, random):
    last = text.parameters[-1]
    end = text.span(text.default_of(last) or last)[1]
    return mistake(text, ((end, end), random.pick((", **options", ", *rest"))), places=lambda wrong, spans: [wrong.header(wrong.main)]) if not text.main.args.kwonlyargs else None


@operator("an annotation of another library", fix="any")
def of_annotation(text, random):
    parameter = pick(random, [p for p in _tensors(text, ("Tensor",)) if isinstance(p.annotation, ast.Subscript)])
    if parameter is None:
        return None
    word = random.pick(("np.ndarray", "list", "object", "float", "'torch.Tensor'"))
    return mistake(text, (parameter.annotation, word), places=lambda wrong, spans: [wrong.span(wrong.main), wrong.call])


@operator("Out for a parameter that is read", fix="any")
def of_out(text, random):
    parameter = pick(random, _tensors(text, ("Tensor",))) if text.is_kernel else None
    return mistake(text, (parameter.annotation, text.get(parameter.annotation).replace("Tensor", "Out", 1)), places=_anywhere) if parameter else None


@operator("an annotated parameter of an Out as Tensor that nobody gives", fix="any")
def of_tensor(text, random):
    parameter = pick(random, _tensors(text, ("Out",)))
    if parameter is None:
        return None
    return mistake(text, (parameter.annotation, text.get(parameter.annotation).replace("Out", "Tensor", 1)), places=lambda wrong, spans: [wrong.header(wrong.main), wrong.call])


@operator("the dtype before the dims", fix="any")
def of_order(text, random):
    parameter = pick(random, [p for p in _tensors(text) if re.search(r", (fp|i|bf)\d+\]$", text.annotation(p))])
    if parameter is None:
        return None
    inside = text.get(parameter.annotation.slice)
    dims, _, dtype = inside.rpartition(", ")
    return mistake(text, (parameter.annotation.slice, f"{dtype}, {dims}"), places=lambda wrong, spans: [*spans, wrong.parameter(parameter.arg)])


@operator("a dim that is no expression", fix="any")
def of_bad_dim(text, random):
    parameter = pick(random, _tensors(text))
    dim = pick(random, text.dims(parameter)) if parameter else None
    return mistake(text, (dim, random.pick((f'"{dim.value} +"', '"?"', "-3", "2.5", "None")))) if dim else None


@operator("the decorator left out", fix="any")
def of_no_decorator(text, random):
    helper = next((d for d in text.tree.body if isinstance(d, ast.FunctionDef) and d.decorator_list and d is not text.main), None)
    if helper is None or text.is_kernel:
        return None
    return mistake(text, (text.line_span(helper.decorator_list[0]), ""), places=lambda wrong, spans: [n for n in wrong.inside(ast.Name, where=lambda n: n.id == helper.name)])


@operator("kernel for function, function for kernel", fix="any")
def of_kind(text, random):
    node = text.main.decorator_list[-1]
    if text.get(node) not in ("tsr.kernel", "tsr.function"):
        return None
    other = "tsr.function" if text.is_kernel else "tsr.kernel"
    return mistake(text, (node, other), places=lambda wrong, spans: [*spans, wrong.span(wrong.main)])
