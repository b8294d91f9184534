"""`check(reference=f)`: what the user's own function gives, as arrays that the results can be compared with.

A reference that cannot be called with these inputs, or gives other arrays than the function, is a mistake of that argument: it is said
before a stage runs, at `reference=` of the user's call.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ast
import inspect
import sys

import numpy as np

from . import comparison, oracle, source
from .errors import ArgumentError, TesseraError


def to_numpy(value):
    if type(value).__module__.partition(".")[0] == "torch":
        import torch

        value = value.detach().cpu()
        unknown = value.dtype == torch.bfloat16 or str(value.dtype).startswith("torch.float8")  # to NumPy
        return value.float().numpy() if unknown else value.numpy()
    return value


def as_list(results) -> list:
    return [] if results is None else [np.asarray(to_numpy(r)) for r in (results if isinstance(results, (tuple, list)) else (results,))]


def expected(fn, reference, given: dict, names: list, exact: list, bounds: list) -> list:
    """The reference's results, of the shapes that the function's have."""
    inputs = _inputs_of(reference, given)
    _check_arity(fn, reference, inputs)
    found = _call(reference, inputs)
    for result in found:
        if result.dtype.kind not in "biuf" and not result.dtype.name.startswith(("bfloat", "float")):  # ml_dtypes' are of kind V
            fix = _around(reference, inputs, ".real") if result.dtype.kind == "c" and len(found) == 1 else ""
            _fail(f"the reference gives {_kind_of(result)}, not numbers to compare with", fix or "a reference that returns real numbers")
    if [r.shape for r in found] != [e.shape for e in exact]:
        _refuse_shapes(fn, reference, inputs, found, names, exact, bounds)
    for at, (got, want, bound) in enumerate(zip(found, exact, bounds)):
        if got.ndim == 2 and got.shape == got.T.shape and not _agree(got, want, bound) and _agree(got.T, want, bound):
            _refuse_shape(fn, reference, inputs, found, at, names[at], want, ".T")
    return found


def _fail(message: str, fix: str = ""):
    raise ArgumentError(source.at_user(message, fix, "reference")) from None


def _name(reference) -> str:
    name = getattr(reference, "__name__", "reference")
    return "the lambda" if name == "<lambda>" else name


def _kind_of(result) -> str:
    return "Python objects" if result.dtype.kind == "O" else str(result.dtype)


def _inputs_of(reference, given: dict) -> dict:
    """What the reference has names for, if it has them for all that it needs; else all, by position."""
    if hasattr(reference, "inspect_ir"):
        names, needed = {p.name for p in reference.parameters}, set()  # given by name
    else:
        try:
            parameters = inspect.signature(reference).parameters.values()
        except (TypeError, ValueError):
            return given
        names = {p.name for p in parameters}
        needed = {p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_POSITIONAL}
    named = {k: v for k, v in given.items() if k in names}
    return named if named and needed <= set(given) else given


def _check_arity(fn, reference, inputs: dict) -> None:
    """An error if the reference cannot be called with what the function is given."""
    if hasattr(reference, "inspect_ir"):  # one of ours: it says so itself
        return
    try:
        signature = inspect.signature(reference)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*inputs.values())
    except TypeError:
        name, names = getattr(reference, "__name__", "reference"), ", ".join(inputs)
        fix = f"def {name}({names}):" if name != "<lambda>" else _with_parameters(source.call_of_user(), list(inputs))
        _fail(f"reference is {name}{signature}, but it is called with what {fn.__name__} is: {names}", fix)


def _with_parameters(call, names: list[str]) -> str:
    """The user's `reference=lambda x: ...` with the parameters that it lacks."""
    given = call.argument("reference") if call else None
    own = [each.arg for each in given.value.args.args] if given is not None and isinstance(given.value, ast.Lambda) else names
    return f"reference=lambda {', '.join([*own, *names[len(own):]])}: {call.text(given.value.body)}" if len(own) < len(names) else ""


def _call(reference, inputs: dict) -> list:
    """Its results, computed with floats of 64 bits or more."""
    if hasattr(reference, "inspect_ir"):  # one of ours: not rounded at all
        program, given = oracle.prepare(reference, (), inputs, "graph")
        return [result.of("reference") for result in program.run(given, "reference").results]
    wide = {}
    for name, value in inputs.items():
        value = to_numpy(value)
        if isinstance(value, np.ndarray):  # a copy: the stages run after the reference, which may write to what it is given
            value = value.copy() if value.dtype.kind in "biu" else value.astype(np.float64)
        wide[name] = value
    try:
        return as_list(reference(*wide.values()))
    except TesseraError:
        raise
    except Exception as error:
        if not _takes_torch(reference, wide):
            raise
        names = ", ".join(inputs)
        module = source.module_of_user("torch", "torch")
        tensors = ", ".join(f"{module}.from_numpy({name})" if isinstance(value, np.ndarray) else name for name, value in wide.items())
        reason = str(error).partition("\n")[0]
        _fail(f"{_name(reference)} is called with NumPy arrays of float64, which it does not take: {reason}", _lambda(names, reference, tensors))


def _takes_torch(reference, inputs: dict) -> bool:
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    try:
        reference(*(torch.from_numpy(value) if isinstance(value, np.ndarray) else value for value in inputs.values()))
        return True
    except Exception:
        return False


def _lambda(names: str, reference, arguments: str, more: str = "") -> str:
    """`reference=lambda x: f(x).T` of the user's `reference=f` or `reference=lambda x: ...`; "" if its text is not known."""
    call = source.call_of_user()
    given = call.argument("reference") if call else None
    if given is None or given.arg is None or hasattr(reference, "inspect_ir"):
        return ""
    if not isinstance(given.value, ast.Lambda):
        return f"reference=lambda {names}: {call.text(given.value)}({arguments}){more}"
    own, body = given.value.args, given.value.body
    if arguments != names or not more:
        return f"reference=lambda {names}: ({call.text(given.value)})({arguments})"
    is_atom = isinstance(body, (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.Tuple))
    text = call.text(body)
    return f"reference=lambda {ast.unparse(own)}: {text if is_atom else f'({text})'}{more}"


def _around(reference, inputs: dict, more: str) -> str:
    """The user's reference with something done to what it gives."""
    names = ", ".join(inputs)
    return _lambda(names, reference, names, more)


def _refuse_shapes(fn, reference, inputs: dict, found: list, names: list, exact: list, bounds: list) -> None:
    """An error that says both shapes, with what makes the one of the other, if it is that alone."""
    name = _name(reference)
    if len(found) != len(exact):
        wanted, message = ", ".join(names), f"{name} gives {_count(len(found))}, but {fn.__name__} gives {_count(len(exact))}"
        sizes = "; ".join(f"{n} {_shape(e)}" for n, e in zip(names, exact))
        if not found:
            _fail(f"{message} ({sizes}): a reference returns what it computes", f"return {wanted}, as the last line of {name}" if name != "the lambda" else "")
        at = next((i for i, each in enumerate(found) if len(exact) == 1 and each.shape == exact[0].shape), None)
        parts = [i for i, each in enumerate(exact) if len(found) == 1 and each.shape == found[0].shape]
        rest = f"; it gives {_shape(found[0])} alone" if parts else ""
        _fail(f"{message}: {sizes}{rest}", _around(reference, inputs, f"[{at}]") if at is not None else f"return {wanted}, from {name}")
    at = next(i for i, (f, e) in enumerate(zip(found, exact)) if f.shape != e.shape)
    changed = [(each, text) for each, text in _changes(found[at], exact[at]) if each.shape == exact[at].shape]
    changed.sort(key=lambda change: not _agree(change[0], exact[at], bounds[at]))
    _refuse_shape(fn, reference, inputs, found, at, names[at], exact[at], changed[0][1] if changed else "")


def _refuse_shape(fn, reference, inputs: dict, found: list, at: int, result: str, want: np.ndarray, more: str) -> None:
    said = ", its transpose" if more == ".T" else ", the same elements in another shape" if more else ""
    fix = _around(reference, inputs, more) if more and len(found) == 1 else ""
    _fail(f"{_name(reference)} gives {_shape(found[at])}{said}, but {result} of {fn.__name__} is {_shape(want)}", fix or f"a reference that gives {_shape(want)}{said}")


def _agree(got: np.ndarray, want: np.ndarray, bound: np.ndarray) -> bool:
    slack = 2.0**-40 * np.abs(np.nan_to_num(want.astype(np.float64)))
    return got.shape == want.shape and comparison.within("", got, want, bound + slack) is None


def _changes(got: np.ndarray, want: np.ndarray):
    """What a user leaves out or adds: a transpose, axes of one element."""
    if got.ndim >= 2:
        yield got.T, ".T"
    if got.size == want.size:
        if got.squeeze().shape == want.shape:
            yield got.squeeze(), ".squeeze()"
        if want.shape == (*got.shape, 1):
            yield got[..., None], "[..., None]"
        if want.shape == (1, *got.shape):
            yield got[None], "[None]"
        yield got.reshape(want.shape), f".reshape({', '.join(map(str, want.shape))})"


def _count(number: int) -> str:
    return "nothing" if not number else f"{number} result" + "s" * (number != 1)


def _shape(array: np.ndarray) -> str:
    return " x ".join(map(str, array.shape)) or "a number"
