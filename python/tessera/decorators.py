"""`@tsr.function`, `@tsr.kernel` and what can stand above them, in any order.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import types
import typing

from . import options, source
from .errors import CompileError
from .function import Function


def _make(target, kind: str | None) -> Function:
    """The Function of `target`; `kind` None keeps what it is (a plain function becomes one provisionally)."""
    if isinstance(target, Function):
        if kind is not None and target.kind != kind:
            if not target.provisional:
                raise CompileError(source.at_user(
                    f"'{target.__name__}' is a {target.kind} already, not a {kind}", f"one of @tsr.{target.kind} and @tsr.{kind}"))
            target.kind = kind
        if kind is not None:
            target.provisional = False
        return target
    if not isinstance(target, types.FunctionType):
        raise CompileError(source.at_user(f"only a function defined with 'def' can be compiled, not {type(target).__name__}"))
    made = Function(target, kind or "function")
    made.provisional = kind is None
    return made


class _Maker:
    """`tsr.function` or `tsr.kernel`, with `.schedule` and `.autotune`."""

    def __init__(self, kind: str):
        self._kind = kind
        self.__name__ = kind

    @typing.overload
    def __call__(self, fn: typing.Callable, /) -> Function: ...

    @typing.overload
    def __call__(self, fn: None = None, /) -> "_Maker": ...

    def __call__(self, fn=None, /):
        return self if fn is None else _make(fn, self._kind)

    def schedule(self, target: str | None = None, **values) -> typing.Callable[[typing.Any], Function]:
        """`@tsr.kernel.schedule(target="cpu", BLOCK_M=128, threads=2)`; the most specific target wins."""

        def decorate(fn):
            made = _make(fn, self._kind)
            made.options.schedules.append(options.Schedule(target, values))
            return made

        return decorate

    def autotune(self, space: dict, key: list, cache: str = "~/.tessera/autotune_cache", budget: int = 100,
                 seconds: float = 60.0, where: str | None = None, numerics: str = "fixed") -> typing.Callable[[typing.Any], Function]:
        """Tunes at the first call of a new key; docs/language.md section 8."""
        if numerics not in ("fixed", "open"):
            raise CompileError(source.at_user(f"numerics is 'fixed' or 'open', not {numerics!r}", 'numerics="fixed"', "numerics"))
        for name, values in space.items():
            if not isinstance(values, (list, tuple)) or not values:
                raise CompileError(source.at_user(f"space[{name!r}] must be a list of values, not {values!r}", f"{name}=[{values!r}]", name))

        def decorate(fn):
            made = _make(fn, self._kind)
            made.options.tuning = options.Tuning(dict(space), list(key), cache, budget, seconds, where, numerics)
            return made

        return decorate

    def __repr__(self) -> str:
        return f"<tsr.{self._kind}>"


function = _Maker("function")
kernel = _Maker("kernel")


def accum(dtype):
    """`@tsr.accum(fp32)`: the type reductions and products sum in."""
    found = options.check_accum(dtype)

    def decorate(fn):
        made = _make(fn, None)
        made.options.accum = found
        return made

    return decorate


def policy(name: str):
    """`@tsr.policy("deterministic" | "strict" | "fast")`."""
    checked = options.check_policy(name)

    def decorate(fn):
        made = _make(fn, None)
        made.options.policy = checked
        return made

    return decorate


def precision(name: str):
    """`@tsr.precision("tf32")`: how fp32 products are computed."""
    if name not in options.PRECISIONS:
        raise CompileError(source.at_user(f"no precision is called {name!r}; there are {', '.join(options.PRECISIONS)}"))
    if name != "ieee":
        raise CompileError(source.at_user(
            f"not yet: precision {name!r} comes with the GPU targets; fp32 means fp32 here", "drop the line"))
    return lambda fn: _make(fn, None)
