"""The dtype that an argument should have had: what the front end takes in its place.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ast
import re
import textwrap

import numpy

from . import arguments, arrays, capture, source
from .arguments import INSTEAD, NewKey
from .dtypes import as_dtype, by_name, to_numpy
from .errors import TesseraError


def computed_with(fn, bound: dict, target: str, integer: str) -> str:
    """What arrays of integers that no kernel computes with are converted to: these integers, or fp32 if the body takes only that."""
    odd = [name for name, value in bound.items() if arrays.is_array(value) and getattr(as_dtype(value.dtype), "name", "") in INSTEAD]
    for dtype in (integer, "fp32"):
        one = numpy.zeros((), to_numpy(by_name(dtype).storage))
        made = {**bound, **{name: numpy.broadcast_to(one, tuple(bound[name].shape)) for name in odd}}
        try:
            fn._start(arguments.Spec(arguments.argument_specs(fn, made, target)[0], fn.capture()[0], target, fn.options.tuned))
            return dtype
        except (TesseraError, NewKey):
            continue
    return "fp32" if re.search(r"\b\d+\.\d|\b(?:fp|bf)\d", fn.source.text) else integer  # something else is wrong, too


def _annotated(fn, name: str, dtype: str):
    """The function with another dtype as the annotation of a number, and how its module writes that; None if it cannot."""
    scope, place = capture.Scope(fn._fn, fn._names), fn.source
    written = next((each for each in (dtype, *(f"{alias}.{dtype}" for alias in ("tsr", *scope.globals))) if _is_dtype(scope, each, dtype)), "")
    node = next((each.annotation for each in ast.walk(ast.parse(textwrap.dedent(place.text))) if isinstance(each, ast.arg) and each.arg == name), None)
    if not written or node is None or node.lineno != node.end_lineno:
        return None
    rows = place.text.splitlines(keepends=True)
    indent, row = len(rows[0]) - len(rows[0].lstrip()), rows[node.lineno - 1]
    rows[node.lineno - 1] = row[:node.col_offset + indent] + written + row[node.end_col_offset + indent:]
    return type(fn)(fn._fn, fn.kind, fn.options, source.Source("".join(rows), place.file, place.first_line, place.column_offset), fn._names), written


def _is_dtype(scope, written: str, dtype: str) -> bool:
    first, _, rest = written.partition(".")
    found = scope.find(first)
    return (vars(found).get(rest) if rest and getattr(found, "__name__", "") == "tessera" else found) is by_name(dtype)


def annotation_for(fn, p, bound: dict, target: str) -> str:
    """`alpha: fp32` where the body takes a float for what is annotated as an int; "" if it needs an int."""
    for dtype in ("fp32", "fp64"):
        try:
            made, written = _annotated(fn, p.name, dtype) or (None, "")
            if made is not None:
                made._start(arguments.Spec(arguments.argument_specs(made, bound, target)[0], made.capture()[0], target, made.options.tuned))
                return f"{p.name}: {written}"
        except (TesseraError, NewKey, SyntaxError):
            continue
    return ""
