"""Arguments that are given in another order than the parameters have.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ast
import itertools

from . import arrays, source
from .dtypes import by_name

MOST = 5  # of whose orders all are tried


def in_another_order(fn, bound: dict, by_name_only: bool = False):
    """The user's call with its arguments in the one order that fits the parameters; "" if none or several do. `by_name_only`: where something
    else would fit, too, so that the names of the arguments have to say it."""
    call = source.call_of_user()
    if call is None or not fn._is_called_by(call):
        return ""
    positional = [p for p in fn.parameters if not p.keyword_only]
    given = call.positional(len(positional))
    places = [place for place, p in enumerate(positional[: len(given)]) if p.name in bound]
    if not 2 <= len(places) <= MOST or len(given) != len(call.positional()) or any(isinstance(each, ast.Starred) for each in given):
        return ""
    found: dict = {}  # by how many pairs change their order
    for order in itertools.permutations(places):
        moved = {positional[place].name: at for place, at in zip(places, order) if place != at}
        if moved and _fits(fn, {**bound, **{name: bound[positional[at].name] for name, at in moved.items()}}):
            found.setdefault(sum(a > b for a, b in itertools.combinations(order, 2)), []).append(moved)
    fewest = found[min(found)] if found else []
    if len(fewest) != 1:
        return ""
    (moved,) = fewest
    texts = [call.text(given[moved.get(p.name, place)]) for place, p in zip(range(len(given)), positional)]
    is_named = any(texts[place].lower() == p.name.lower() for place, p in zip(range(len(given)), positional) if p.name in moved)
    return call.written([*call.before(), *texts, *map(call.text, call.keywords)]) if is_named or not by_name_only else ""


def _fits(fn, bound: dict) -> bool:
    """Whether arrays are where arrays go, numbers where numbers do, and ranks, dtypes and sizes agree."""
    sizes: dict = {}
    for p in sorted((p for p in fn.parameters if p.name in bound), key=lambda p: p.kind == "out"):
        value = bound[p.name]
        array = value if isinstance(value, arrays.Array) else arrays.describe(value, True) if arrays.is_array(value) else None
        if array is None:
            if p.takes_array and value is not None or p.kind == "scalar" and not isinstance(value, (int, float)):
                return False
            if p.dtype in ("i64", "i32") and isinstance(value, float):
                return False
            continue
        if p.kind == "const" or p.kind == "scalar" and array.sizes or p.dtype is not None and array.dtype is not by_name(p.dtype):
            return False
        if p.dims is None:
            continue
        if len(p.dims) != len(array.sizes):
            return False
        for dim, size in zip(p.dims, array.sizes):
            if dim.isdigit() and int(dim) != size or dim.isidentifier() and sizes.setdefault(dim, size) != size:
                return False
    return True
