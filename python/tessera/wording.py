"""Words that errors share.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import functools
import re
import sys
import types
import typing
import warnings

from . import _runtime, machines, source
from .errors import ArgumentError, ScheduleWarning, TesseraError, UnknownNameError
from .knobs import knobs


class _Entry(_runtime.Callable):
    """A function or method whose errors leave it without our own frames: python/bindings/call.cpp, which calls `_call_slowly`, drops the last."""

    def __init__(self, method):
        functools.update_wrapper(self, method)

    def __get__(self, instance, owner=None):
        return self if instance is None else types.MethodType(self, instance)

    def _call_slowly(entered, /, *args, **kwargs):
        method = entered.__wrapped__
        try:
            return method(*args, **kwargs)
        except TesseraError as error:
            if knobs.debug:
                raise
            short = error.with_traceback(None)
        short.ends_at_call = True
        raise short from None

    def __repr__(self) -> str:
        return repr(self.__wrapped__)


_runtime.inherit_vectorcall(_Entry)

_Method = typing.TypeVar("_Method")


def entry(method: _Method) -> _Method:
    """What users call: an error leaves it without our own frames."""
    return _Entry(method)


def remind(text: str, category=ScheduleWarning) -> None:
    """A remark: nothing is wrong, but the user should know. Shown at the user's line."""
    depth, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "tessera":
        depth, frame = depth + 1, frame.f_back
    warnings.warn(text.strip(), category, stacklevel=depth)


def called_at() -> str:
    """", called at app.py:40": the user's line that called us."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "tessera":
        frame = frame.f_back
    return f", called at {source.relative(frame.f_code.co_filename)}:{frame.f_lineno}" if frame else ""


def a_kind(value) -> str:
    name = type(value).__name__
    return f"a{'n' if name[0] in 'aeiou' else ''} {name}"


def refuse(message: str, fix: str):
    """An ArgumentError that `Function._run` shows at the function, with the call."""
    error = ArgumentError(message)
    error.fix = fix
    raise error


def no_attribute(version, name: str) -> UnknownNameError:
    """What to say of a name that a compiled version does not have, or that one for another machine has."""
    if name.startswith("_"):  # Python's own protocols
        return UnknownNameError(name)
    known = [n for n in (*dir(type(version)), *vars(version)) if not n.startswith("_")]
    of_gpus, on_cpu = ("ptx", "sass", "cubin", "bytecode", "kernels"), machines.of(version.target).in_process
    if on_cpu and name in of_gpus:
        target = "cudatile:sm_90" if name == "bytecode" else "sm_80"
        return UnknownNameError(source.at_user(f"{version.name} is compiled for {version.target}, which has no {name}",
                                               f'{version.name}.compile(target="{target}").{name}', name))
    near = {"asm": "plan" if on_cpu else "ptx", "n_regs": "resources", "n_spills": "resources", "metadata": "resources"}.get(name) or source.nearest(name, known, "report")
    return UnknownNameError(source.at_user(f"{version.name} compiled for {version.target} has no attribute {name!r}; it has {', '.join(sorted(known))}",
                                           near, name))


# Names of ours that a fix has without `tsr.`, as signatures in the documents do.
_BARE = re.compile(r"""(?<![\w."'])((?:Tensor|Out|InOut|Region)(?=\[)|reduce_\w+|[biuf][fp]?\d+(?:_e\dm\d)?|(?<=: )const|(?<=Region\[)(?:read|write|read_write))\b(?!["'=])""")


def as_imported(message: str, scope) -> str:
    """The message with a fix that uses the names under which the user's module has ours, or says what to import (`scope`: capture.Scope)."""
    head, fix, text = message.rpartition("fix:")
    if not fix:
        return message
    ours = sys.modules["tessera"]
    alias = next((name for name in ("tsr", *scope.globals, *scope.cells) if scope.find(name) is ours), None)
    missing = [name for name in dict.fromkeys(_BARE.findall(text)) if hasattr(ours, name) and name not in scope.locals and scope.find(name) is not getattr(ours, name)]
    if alias:
        text = re.sub(r"(?<![\w.])tsr\.(?=\w)", f"{alias}.", text)
        return head + fix + _BARE.sub(lambda at: f"{alias}.{at[1]}" if at[1] in missing else at[1], text)
    imports = ["import tessera as tsr"] if re.search(r"(?<![\w.])tsr\.\w", text) else []
    imports += [f"from tessera import {', '.join(missing)}"] if missing else []
    return head + fix + (text.rstrip() + f"  # {'; '.join(imports)}\n" if imports else text)
