"""Outside names of a function: found in its globals and closure, checked at every call.

A captured value is a tuple (kind, ...) as python/bindings/program.cpp reads it; it is
also part of the key of a compiled version, so it must be hashable.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ast
import builtins
import linecache
import math
import re
import types

from . import arrays, source
from .annotations import DimName, _Family, _Privilege, const
from .dtypes import as_dtype, dtype
from .errors import ArgumentError, CompileError

_missing = object()
# Sizes of arrays in guards: any, any but 1 (python/bindings/guards.h).
ANY, NOT_ONE, LAST_AXIS = -1, -2, -2
# Builtins of Python that mean something in the language.
_known_builtins = {"range", "print", "len", "min", "max", "abs", "int", "float", "bool", "round", "sum", "pow", "tuple", "slice"}


class Scope:
    """Resolves names as the function itself would."""

    def __init__(self, fn: types.FunctionType | None, module_names: dict | None = None):
        self.globals = fn.__globals__ if fn is not None else (module_names or {})
        self.locals = fn.__code__.co_varnames if fn is not None else ()  # names of its own, which mean nothing of ours
        self.cells = {}
        if fn is not None and fn.__closure__:
            self.cells = dict(zip(fn.__code__.co_freevars, fn.__closure__))

    def find(self, name: str):
        cell = self.cells.get(name)
        if cell is not None:
            try:
                return cell.cell_contents
            except ValueError:  # not filled yet
                return _missing
        value = self.globals.get(name, _missing)
        if value is _missing and name not in _known_builtins:
            value = getattr(builtins, name, _missing)
        return value

    def place(self, name: str) -> dict:
        """Where `find` looks, for python/bindings/guards.h."""
        fallback = None if name in _known_builtins else vars(builtins)
        if name in self.cells:
            return {"place": "cell", "holder": self.cells[name], "builtins": None, "name": name}
        found = "globals" if name in self.globals else "builtins" if fallback and name in fallback else "nowhere"
        return {"place": found, "holder": self.globals, "builtins": fallback, "name": name}


def _is_tessera_module(value) -> bool:
    return isinstance(value, types.ModuleType) and value.__name__ == "tessera"


def _builtin_name(value) -> str | None:
    """The name of something that `from tessera import ...` gives."""
    if isinstance(value, (_Family, _Privilege)):
        return getattr(value, "_name", None) or value.name
    if value is const:
        return "const"
    return getattr(value, "__tessera_name__", None)


def is_plain(value) -> bool:
    return value is None or isinstance(value, (bool, int, float, str, dtype)) or (
        isinstance(value, tuple) and all(is_plain(v) for v in value)
    )


def _classify(value, name: str, hidden: dict):
    """The tuple for `value`; arrays are noted in `hidden`, functions described."""
    from .function import Function

    if isinstance(value, Function):
        return ("function", value)
    builtin = _builtin_name(value)
    if builtin is not None:
        return ("builtin", builtin)
    if type(value) is int and not -(2**63) <= value < 2**63:
        return ("other", "int of more than 64 bits")
    if is_plain(value):
        return ("const", value)
    if isinstance(value, DimName):
        return ("dim", value.name)
    known = as_dtype(value)
    if known is not None:
        return ("const", known)
    if _is_tessera_module(value):
        return ("module", "tessera")
    if value is math:
        return ("module", "math")
    if hasattr(value, "item") and getattr(value, "shape", None) == () and not hasattr(value, "data_ptr"):
        return ("const", value.item())  # a NumPy scalar
    try:
        array = arrays.describe(value)
    except ArgumentError as error:
        return ("other", f"array that {error}")
    if array is not None:
        hidden[name] = value
        return ("array", name, array.dtype.name, array.key_sizes(()), array.unit_axis)
    if isinstance(value, list) and value and all(arrays.is_array(each) for each in value):
        return ("other", "list of arrays")
    if isinstance(value, types.FunctionType) and (package := (value.__module__ or "").partition(".")[0]) in ("triton", "torch", "numpy", "jax"):
        return ("other", f"function of {package}")
    if isinstance(value, types.FunctionType) and "grid" in value.__code__.co_names:
        return ("other", "function of tiles")
    return ("other", type(value).__name__)


def _follow(dotted: str, scope: Scope, hidden: dict):
    """A dotted name is followed until it has a value that the language knows: its entry, and the objects on the way."""
    first, *rest = dotted.split(".")
    value = scope.find(first)
    if value is _missing:
        return None
    path, values = first, [value]
    entry = _classify(value, path, hidden)
    while rest and entry[0] == "other":
        part = rest.pop(0)
        value = getattr(value, part, _missing)
        if value is _missing:
            values = []  # what is missing now may be there later: not for the guards
            break
        path += "." + part
        values.append(value)
        entry = _classify(value, path, hidden)
    return path, entry, values


def capture(names: list[str], scope: Scope, hidden: dict) -> dict:
    """Resolves dotted names."""
    captured = {}
    for dotted in names:
        found = _follow(dotted, scope, hidden)
        if found is not None:
            captured[found[0]] = found[1]
    return captured


def guards(names: list[str], scope: Scope, slots: dict) -> tuple[dict, list[dict]] | None:
    """`capture`, with a note on each name for python/bindings/guards.cpp; None if some name can't be guarded.

    `slots`: the place of a captured array among the tensors of the plan, by its hidden name.
    """
    captured, notes = {}, {}
    for dotted in names:
        hidden: dict = {}
        found = _follow(dotted, scope, hidden)
        first = dotted.partition(".")[0]
        note = scope.place(first) | {"attributes": (), "values": (), "constant": False, "tensor": None}
        if found is None:
            notes[first] = note
            continue
        path, entry, values = found
        if not values:
            return None
        captured[path] = entry
        note["attributes"], note["values"] = tuple(path.split(".")[1:]), tuple(values)
        note["constant"] = entry[0] == "const"
        if entry[0] == "array":
            sizes = tuple(size if size == 1 else NOT_ONE for size in arrays.describe(values[-1]).sizes)
            note["tensor"] = (sizes, entry[4], slots.get(path, -1), False)
        notes[path] = note
        if entry[0] == "function":
            inner = entry[1].guards({})
            if inner is None:
                return None
            notes.update({(path, key): value for key, value in inner[1].items()})
    return captured, notes


def refuse_recursion(fn, callers: tuple = (), known: set | None = None) -> None:
    """Raises if a function calls itself, also through others."""
    known = set() if known is None else known  # those that do not, by id: each is looked at once
    for entry in fn.capture()[0].values():
        if entry[0] != "function":
            continue
        if any(entry[1] is caller for caller in (*callers, fn)):
            name, place = entry[1].__name__, fn._source
            message, fix = f"'{name}' calls itself; recursion is not part of the language", "a loop, for i in range(n):, or a function for each step"
            if place is None:
                raise CompileError(f"error: {message}\n fix:  {fix}\n")
            calls = [(row, line.find(name + "(")) for row, line in enumerate(place.text.splitlines()) if name + "(" in line and f"def {name}" not in line]
            row, column = calls[0] if calls else (0, 0)
            raise CompileError(source.at_place(place.file, place.first_line + row, column, message, fix))
        if id(entry[1]) not in known:
            refuse_recursion(entry[1], (*callers, fn), known)
    known.add(id(fn))


def with_tuple(message: str, scope: Scope, file: str) -> str:
    """The message that a list is none of the language's values, with the tuple that holds the same as the fix."""
    head, fix, said = message.rpartition("fix:")
    named = re.search(r"(?:\s|\dm)([A-Za-z_]\w*) = \(\.\.\.\), a tuple", said)  # behind a space or a colour
    value = scope.find(named[1]) if fix and named else None
    if type(value) is not list or not is_plain(_as_tuple(value)):
        return message
    name, line = named[1], _line_of_list(named[1], value, file)
    return head + fix + said[:named.start(1)] + (line or f"{name} = tuple({name})  # before the def") + said[named.end():]


def _as_tuple(value):
    return tuple(map(_as_tuple, value)) if isinstance(value, list) else value


def _line_of_list(name: str, value: list, file: str) -> str:
    """`NAME = (1, 2)  # line 12` where the file's only assignment of the name is this list in full; else ""."""
    text = "".join(linecache.getlines(file))
    try:
        nodes = list(ast.walk(ast.parse(text)))
        (node,) = (each for each in nodes if isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Store))
        (line,) = (each for each in nodes if isinstance(each, ast.Assign) and each.targets == [node])
        uses = [each for each in nodes if getattr(getattr(each, "value", None), "id", "") == name]
        is_changed = any(isinstance(each, ast.Attribute) or isinstance(getattr(each, "ctx", None), ast.Store) for each in uses)  # X.append(3), X[0] = 3
        if is_changed or not isinstance(line.value, ast.List) or ast.literal_eval(line.value) != value:
            return ""
    except (SyntaxError, ValueError):
        return ""
    items = ast.get_source_segment(text, line.value)[1:-1].rstrip().removesuffix(",")
    is_flat = "\n" not in items and not any(isinstance(each, list) for each in value)
    written = f"({items.strip()}{',' * (len(value) == 1)})" if is_flat else repr(_as_tuple(value))
    return f"{name} = {written}  # line {line.lineno}"


def for_compiler(captured: dict) -> dict:
    """Replaces functions by what the compiler needs of them."""
    result = {}
    for name, entry in captured.items():
        if entry[0] == "function":
            fn = entry[1]
            result[name] = (
                "function",
                fn.program,
                for_compiler(fn.capture()[0]),
                fn.options.accum,
                fn.options.precision or "ieee",
                fn.options.policy or "",
                fn.body_constants(fn.options, "cpu"),
                dict(fn.options.schedule_for("cpu")),
            )
        else:
            result[name] = entry
    return result


def exact(value) -> tuple:
    """A constant in a key. 1, 1.0 and True are equal in Python but not in the language, nor are 0.0 and -0.0; NaN is itself."""
    if isinstance(value, tuple):
        return ("tuple", *map(exact, value))
    return (type(value).__name__, value.hex() if isinstance(value, float) else value)


def key_of(captured: dict) -> tuple:
    """What of the captured names belongs to the key of a version."""
    parts = []
    for name, entry in captured.items():
        if entry[0] == "function":
            parts.append((name, id(entry[1]), key_of(entry[1].capture()[0])))
        elif entry[0] == "const":
            parts.append((name, exact(entry[1])))
        else:
            parts.append((name, entry))
    return tuple(parts)
