"""Notes of a call that went well, so that the next one like it is direct (python/bindings/guards.h).

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import weakref

from . import arguments, capture
from .dtypes import to_numpy, to_torch


_functions: weakref.WeakSet = weakref.WeakSet()  # with direct calls


def forget() -> None:
    """The next call of every function goes the long way."""
    for fn in list(_functions):
        fn._forget()


def _sizes(parameter, array) -> tuple:
    """What the key says of each size: itself, any, or any but 1; as `Array.key_sizes` has it."""
    return tuple(
        size if axis in parameter.whole_axes or (size == 1 and axis not in parameter.named_axes)
        else capture.ANY if axis in parameter.named_axes
        else capture.NOT_ONE
        for axis, size in enumerate(array.sizes)
    )


def remember(fn, spec, version, given: dict, args: tuple, kwargs: dict, exact: bool = False) -> None:
    """`given`: the arrays by parameter, those of outside names too; the library of the first makes the results.

    `exact`: the version was chosen by all sizes, as a tuned one is.
    """
    tensors = {name: i for i, (name, _, _, mode, _) in enumerate(version.tensors) if mode != "result"}
    scalars = {name: i for i, (name, _) in enumerate(version.scalars)}
    found = fn.guards(tensors)
    if found is None or capture.key_of(found[0]) != spec.key[2]:
        return  # an outside name changed under our feet
    absent = [i for i, (name, _, _, mode, _) in enumerate(version.tensors) if mode == "result" or name not in given]
    known = {p.name: (p, entry) for p, entry in zip(fn.parameters, spec.arguments)}
    positional = [p.name for p in fn.parameters if not p.keyword_only]
    guards, out = [], -1
    for name, value in [*zip(positional, args), *kwargs.items()]:
        if value is None:
            guards.append(("same",))
        elif name == "out":
            if not absent:
                return
            out = absent.pop(0)
            anything = (capture.ANY,) * version.tensors[out][2]
            guards.append(("tensor", (anything, capture.LAST_AXIS, out, True)))
        else:
            parameter, entry = known[name]
            if entry[0] == "tensor":
                slot = tensors.get(name, -1)
                written = slot >= 0 and version.tensors[slot][3] != "in"
                sizes = tuple(given[name].sizes) if exact else _sizes(parameter, given[name])
                guards.append(("tensor", (sizes, entry[3], slot, written)))
            else:
                guards.append(("scalar", scalars.get(name, -1), arguments.LIMITS.get(parameter.dtype, 0.0)) if entry[0] == "scalar" else ("const",))
    torch = bool(given) and next(iter(given.values())).library == "torch"
    to_library = to_torch if torch else to_numpy
    fn._direct[version.executable] = spec
    _functions.add(fn)
    fn._remember(args + tuple(kwargs.values()), {
        "executable": version.executable,
        "positional": len(args),
        "keywords": tuple(kwargs) or None,
        "arguments": guards,
        "names": list(found[1].values()),
        "out": out,
        "torch": torch,
        "results": [to_library(t[1]) if i in absent else None for i, t in enumerate(version.tensors)],
    })
