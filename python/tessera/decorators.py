"""`@tsr.function`, `@tsr.kernel` and what can stand above them, in any order.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ast
import linecache
import re
import types
import typing

from . import options, source
from .errors import CompileError, UnknownNameError
from .function import Function
from .options import ATTRIBUTES, STRATEGIES
from .targets import check_schedule_target
from .wording import entry


def _make(target, kind: str | None) -> Function:
    """The Function of `target`; `kind` None keeps what it is (a plain function becomes one provisionally)."""
    if isinstance(target, types.FunctionType) and target.__name__ == "<lambda>":
        raise CompileError(source.at_user("a lambda cannot be compiled; its source has no lines of its own",
                                          f"@tsr.{kind or 'function'}\ndef f(x):\n    return ..."))
    if isinstance(target, Function):
        if kind is not None and target.kind != kind:
            if not target.provisional:
                raise CompileError(source.at_user(
                    f"'{target.__name__}' is a {target.kind} already, not a {kind}", f"@tsr.{target.kind} alone"))
            target.kind = kind
        if kind is not None:
            target.provisional = False
        return target
    if not isinstance(target, types.FunctionType):
        if isinstance(target, type):
            what, fix = f"the class {target.__name__}", f"@tsr.{kind or 'function'} above a def, also inside a class"
        elif isinstance(target, (staticmethod, classmethod)):
            what, fix = f"a {type(target).__name__}", f"@{type(target).__name__} above @tsr.{kind or 'function'}, not below"
        else:
            what, fix = f"a {type(target).__name__}", f"@tsr.{kind or 'function'}\ndef f(x):\n    return x"
        raise CompileError(source.at_user(f"only a function defined with 'def' can be compiled, not {what}", fix))
    made = Function(target, kind or "function")
    made.provisional = kind is None
    return made


def _space_of_definition() -> str:
    """Values to try of the constants that the `def` below has: half of each, it and twice."""
    found = re.findall(r"(\w+): (?:\w+\.)?const = (\d+)", source.definition_of_user().partition("):")[0])
    spaces = [f"{name}=[{max(int(value) // 2, 1)}, {value}]" for name, value in found[:2] if int(value) > 1]
    return f"space=dict({', '.join(spaces) or 'num_warps=[4, 8]'})"


def _as_space(configs) -> str:
    """A list of configurations, as Triton has it, as a space: dict(BM=[32, 64])."""
    if not isinstance(configs, (list, tuple)):
        return ""
    values: dict = {}
    for config in configs:
        if not isinstance(config, dict):
            return ""
        for name, value in config.items():
            if value not in values.setdefault(name, []):
                values[name].append(value)
    return f"dict({', '.join(f'{name}={found!r}' for name, found in values.items())})" if values else ""


def _first_dim() -> str:
    """A dim of the function below the decorator: the first in quotes."""
    frame = source.user_frame()
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)[frame.f_lineno - 1:] if frame else []
    found = re.search(r"(?:Tensor|Out|InOut)\[\"(\w+)\"", "".join(lines[:20]))
    return found[1] if found else "M"


class _Maker:
    """`tsr.function` or `tsr.kernel`, with `.schedule` and `.autotune`."""

    def __init__(self, kind: str):
        self._kind = kind
        self.__name__ = kind

    @typing.overload
    def __call__(self, fn: typing.Callable, /) -> Function: ...

    @typing.overload
    def __call__(self, fn: None = None, /) -> "_Maker": ...

    @entry
    def __call__(self, fn=None, /, *more, **values):
        if values or more or not (fn is None or callable(fn) or isinstance(fn, (staticmethod, classmethod))):
            self._refuse_options(fn, values)
        return self if fn is None else _make(fn, self._kind)

    def _refuse_options(self, fn, values: dict):
        given = ", ".join(f"{name}={value!r}" for name, value in values.items())
        first = next(iter(values), "")
        meant = {"target": f"@tsr.{self._kind}.schedule({given})", "policy": f'@tsr.policy("{values.get("policy")}")',
                 "accum": "@tsr.accum(fp32)", "precision": f'@tsr.precision("{values.get("precision")}")'}
        fix = meant.get(first) or (f"@tsr.{self._kind}.schedule({given})" if first in options.SCHEDULE_KEYS else f"@tsr.{self._kind}")
        what = f"no option {first!r}" if first else f"a function defined with 'def', not {repr(fn) if isinstance(fn, (str, int)) else type(fn).__name__}"
        raise CompileError(source.at_user(f"@tsr.{self._kind} takes {what}; schedules, policies and precisions are decorators of their own",
                                          fix, first))

    @entry
    def __getattr__(self, name: str):
        if name.startswith("_"):
            raise AttributeError(name)
        near = source.nearest(name, ("schedule", "autotune"), "")
        fix = {"schedule": f"@tsr.{self._kind}.schedule(num_warps=4)",
               "autotune": f'@tsr.{self._kind}.autotune(space=dict(BLOCK_M=[64, 128]), key=["M"])'}.get(near, f"@tsr.{self._kind}")
        raise UnknownNameError(source.at_user(f"tsr.{self._kind} has no {name!r}; it has schedule and autotune", fix, name))

    @entry
    def schedule(self, target: str | None = None, dtype=None, **values) -> typing.Callable[[typing.Any], Function]:
        """`@tsr.kernel.schedule(target="cpu", BLOCK_M=128, threads=2)`; the most specific target wins. `dtype=i8`: where the first array has it."""
        if callable(target) or isinstance(target, Function):
            raise CompileError(source.at_user(f"tsr.{self._kind}.schedule takes the keys of the schedule",
                                              f"@tsr.{self._kind}.schedule(threads=2)", "schedule"))
        if target is not None:
            check_schedule_target(target)
        name = None if dtype is None else options.check_schedule_dtype(dtype)

        @entry
        def decorate(fn):
            made = _make(fn, self._kind)
            made.options.schedules.append(options.Schedule(target, values, name))
            made.changed()
            return made

        return decorate

    @entry
    def autotune(self, space: dict = None, key: list = None, cache: str = "~/.tessera/autotune_cache", budget: int = 100,
                 seconds: float = 60.0, where: str | None = None, numerics: str = "fixed", strategy: str = "auto", autotuning: dict | None = None,
                 **unknown) -> typing.Callable[[typing.Any], Function]:
        """Tunes at the first call of a new key; docs/language.md section 8."""
        self._check_tuning(space, key, numerics, budget, where, unknown, strategy, autotuning)

        @entry
        def decorate(fn):
            made = _make(fn, self._kind)
            made.options.tuning = options.Tuning(dict(space or {}), list(key or ()), cache, budget, seconds, where, numerics,
                                                 STRATEGIES[strategy], attributes=autotuning)
            made._choices.clear()
            return made

        return decorate

    def _check_tuning(self, space, key, numerics, budget, where, unknown: dict, strategy: str, autotuning) -> None:
        """An error at the decorator for what autotune cannot use."""
        names = "space, key, cache, budget, seconds, where, numerics, strategy, autotuning"

        def fail(message: str, fix: str, part: str = ""):
            raise CompileError(source.at_user(f"tsr.{self._kind}.autotune {message}", fix, part))

        example = _space_of_definition()
        for name, value in unknown.items():
            ours = source.foreign("keyword", name)
            new = (ours[0] if ours else "").partition("=")[0] or source.nearest(name, names.split(", "))
            fix = f"{new}=..." if new in names.split(", ") else f"@tsr.{self._kind}.schedule({name}={value!r})"
            if new == "space":
                fix = (f"space={_as_space(value)}" if _as_space(value) else example) + ("" if key else f', key=["{_first_dim()}"]')
            elif new == "key" and isinstance(value, (list, tuple)):
                fix = f"key={list(value)!r}".replace("'", '"')
            fail(f"has no argument {name!r}; it takes {names}", fix, name)
        if callable(space) or isinstance(space, Function):
            fail("takes space= and key=", f'@tsr.{self._kind}.autotune({example}, key=["{_first_dim()}"])')
        if strategy not in STRATEGIES:
            fail(f"knows no strategy {strategy!r}; there are {', '.join(STRATEGIES)}", f'strategy="{source.nearest(strategy, STRATEGIES, "auto")}"', "strategy")
        if autotuning is not None:
            self._check_attributes(autotuning, fail)
            space, key = space or {"any": [0]}, key or []
        if space is None:
            fail("needs space=, the values to try", example + ("" if key else f', key=["{_first_dim()}"]'), "autotune")
        if not isinstance(space, dict) or not space:
            fail(f"takes a dict of lists as space, not {type(space).__name__}",
                 (f"space={_as_space(space)}" if _as_space(space) else example) + ("" if key else f', key=["{_first_dim()}"]'), "space")
        for name, values in space.items():
            if not isinstance(values, (list, tuple)) or not values:
                shown = values if isinstance(values, (list, tuple, range)) else [values]
                fail(f"needs a list of values for {name!r}, not {values!r}", f"{name}={list(shown) or {'num_warps': [4, 8], 'num_stages': [2, 3]}.get(name, [64, 128])!r}", str(name))
        if key is None:
            fail("needs key=, the dims whose sizes ask for another choice", f'key=["{_first_dim()}"]', "autotune")
        if isinstance(key, str) or not isinstance(key, (list, tuple)) or not all(isinstance(k, str) for k in key):
            words = key.replace(",", " ").split() if isinstance(key, str) else ["M"]
            fail(f"takes a list of names as key, not {key!r}", "key=[" + ", ".join(f'"{w}"' for w in words) + "]", "key")
        if numerics not in ("fixed", "open"):
            message, fix = options.numerics_mistake(numerics)
            fail(f"cannot do this: {message}", fix, "numerics")
        if not isinstance(budget, int) or budget < 1:
            fail(f"takes a positive int as budget, not {budget!r}", "budget=100", "budget")
        if where is not None and not isinstance(where, str):
            fail(f"takes a string as where, not {type(where).__name__}", f'where="{_as_where(space)}"', "where")

    @staticmethod
    def _check_attributes(given, fail) -> None:
        """The usage guide's dictionary: its keys; the rest is looked at when the target is known."""
        if not isinstance(given, dict):
            fail(f"takes a dict as autotuning, not {type(given).__name__}", "autotuning=dict(tile_sizes=[[64, 64], [128, 64]])", "autotuning")
        for name in given:
            if name not in ATTRIBUTES:
                fail(f"knows no {name!r} in autotuning; there are {', '.join(ATTRIBUTES)}", f"{source.nearest(name, ATTRIBUTES, ATTRIBUTES[0])}=...", str(name))

    def __repr__(self) -> str:
        return f"<tsr.{self._kind}>"


function = _Maker("function")
kernel = _Maker("kernel")


def _as_where(space: dict) -> str:
    """The text of the user's `where=lambda c: c["BM"] * c["BN"] <= 512`, over the names of the space."""
    call = source.call_of_user()
    given = next((each.value for each in call.keywords if each.arg == "where"), None) if call else None
    names = [str(name) for name in space or ()] or ["BLOCK_M"]
    if isinstance(given, ast.Lambda):

        class Names(ast.NodeTransformer):
            def visit_Subscript(self, node):
                key = node.slice.value if isinstance(node.slice, ast.Constant) else None
                return ast.Name(key) if isinstance(key, str) else self.generic_visit(node)

            def visit_Attribute(self, node):
                return ast.Name(node.attr) if node.attr in names else self.generic_visit(node)

        body = Names().visit(given.body)
        if all(node.id in names for node in ast.walk(body) if isinstance(node, ast.Name)):
            return ast.unparse(body).replace('"', "'")
    return f"{' * '.join(names[:2])} <= 32768"


@entry
def accum(dtype):
    """`@tsr.accum(fp32)`: the type reductions and products sum in."""
    found = options.check_accum(dtype)

    @entry
    def decorate(fn):
        made = _make(fn, None)
        made.options.accum = found
        return made

    return decorate


@entry
def policy(name: str):
    """`@tsr.policy("deterministic" | "strict" | "fast")`."""
    checked = options.check_policy(name)

    @entry
    def decorate(fn):
        made = _make(fn, None)
        made.options.policy = checked
        return made

    return decorate


@entry
def precision(name: str):
    """`@tsr.precision("tf32")`: how fp32 products are computed."""
    if name not in options.PRECISIONS:
        if callable(name):
            raise CompileError(source.at_user(f"@tsr.precision takes the name of a precision: {', '.join(options.PRECISIONS)}", '@tsr.precision("ieee")'))
        near = source.nearest(name, options.PRECISIONS, "ieee")
        raise CompileError(source.at_user(f"no precision is called {name!r}; there are {', '.join(options.PRECISIONS)}",
                                          f'@tsr.precision("{near}")', name if isinstance(name, str) else ""))
    if name in options.PRECISIONS_NOT_YET:
        raise CompileError(source.at_user(f"not yet: precision {name!r}", '@tsr.precision("tf32")', name))

    @entry
    def decorate(fn):
        made = _make(fn, None)
        made.options.precision = name
        return made

    return decorate
