"""The arguments of a call, or the words of `compile`: checked, and as what a version is compiled for.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ast
import math
import re
import textwrap

import numpy

from . import arrays, capture, machines, options, source
from .dtypes import as_dtype, by_name, to_numpy, to_torch
from .errors import ArgumentError
from .knobs import knobs
from .wording import a_kind


class Parameter:
    """One parameter, as the front end describes it."""

    __slots__ = ("name", "kind", "mode", "keyword_only", "dims", "dtype", "has_default", "default", "whole_axes", "named_axes")

    def __init__(self, entry: dict):
        for key, value in entry.items():
            setattr(self, key, value)
        self.whole_axes = frozenset(self.whole_axes)
        self.named_axes = frozenset(i for i, dim in enumerate(self.dims or ()) if dim)

    @property
    def takes_array(self) -> bool:
        return self.kind in ("tensor", "out", "inout", "region")

    @property
    def is_written(self) -> bool:
        return self.kind in ("out", "inout", "region") or self.mode not in (None, "", "in")


class Spec:
    """What a version is compiled for: one entry per parameter, and the key it belongs to."""

    __slots__ = ("arguments", "captured", "key", "target", "tuned", "tuned_by")

    def __init__(self, arguments, captured, target, tuned, tuned_by="tuner"):
        self.arguments, self.captured, self.target, self.tuned, self.tuned_by = arguments, captured, target, tuned, tuned_by
        known = tuple(("const", capture.exact(entry[1])) if entry and entry[0] == "const" else entry for entry in arguments)
        self.key = (target, known, capture.key_of(captured), tuple(sorted(tuned.items())), knobs.debug)

    @property
    def dtype(self) -> str | None:
        """Of the first array, by which schedules are chosen."""
        return first_dtype(self.arguments)


def first_dtype(arguments) -> str | None:
    return next((entry[1] for entry in arguments if entry and entry[0] == "tensor"), None)


class NewKey(Exception):
    """More sizes belong to the key than were known: (parameter, axis)."""

    def __init__(self, axes):
        self.axes = [tuple(axis) for axis in axes]


class _Absent:
    def __repr__(self):
        return "<absent>"


_absent = _Absent()


# Arrays that no kernel computes with yet, and what holds all their values; no real number does that for a complex one.
MAX_AXES = 8  # of a view of a kernel (compiler/Graph/IR)
INSTEAD = {"i16": "i32", "u8": "i32", "u16": "i32", "u32": "i64", "u64": "i64", "complex64": ""}


def bind(fn, args: tuple, kwargs: dict, own: tuple = ("out", "target", "stream")) -> dict:
    """Values by parameter name; what is left out is not in it. `own`: keywords of what was called itself, for the error."""
    parameters = fn.parameters
    positional = [p for p in parameters if not p.keyword_only]
    bound = {}
    if len(args) > len(positional):
        fn._fail(f"{fn.__name__} takes {len(positional)} arguments ({', '.join(p.name for p in positional)}), but {len(args)} are given",
                   fix=fn._call_text())
    for parameter, value in zip(positional, args):
        bound[parameter.name] = value
    names = {p.name for p in parameters}
    for name, value in kwargs.items():
        if name not in names:
            _unknown_keyword(fn, name, value, names, own)
        if name in bound:
            fn._fail(f"{fn.__name__} got {name} twice, by position and by name", fix=fn._call_text(), keyword=name)
        bound[name] = value
    return bound


def _unknown_keyword(fn, name: str, value, names, own: tuple) -> None:
    call = source.call_of_user()
    tool = call.tool if call and fn._is_called_by(call) else ""
    own = call.own if tool else own
    near, why = source.nearest(name, [*names, *own]), ""
    fix = f"{near}={text_given(name, value)}" if near else fn._call_text()
    if name in options.SCHEDULE_KEYS:
        fix = f"@tsr.{fn.kind}.schedule({name}={value!r}) above the {fn.kind}"
    elif name in ("device", "backend", "arch"):
        fix, why = 'target="cpu"', "; the arrays' device chooses the target"
    elif name in ("grid", "num_ctas", "warmup"):
        fix, why = fn._call_text(), "; the launch grid follows from tsr.grid"
    elif parameter := next((p.name for p in fn.parameters if name in (p.dims or ())), ""):
        fix, why = fn._call_text(), f"; the size of dim {name} follows from {parameter}"
    elif name == "dtype":
        fix, why = "", "; the arrays' dtypes choose the version: convert them before"
    listed = ", ".join(p.name for p in fn.parameters)
    fn._fail(f"{fn.__name__}{'.' + tool if hasattr(type(fn), tool) else ''} has no parameter {name}; there are {listed}, "
             f"and {', '.join(f'{key}=' for key in own)}{why}", fix=fix, keyword=name)


def text_given(name: str, value) -> str:
    """What the user's call gives for a keyword, in its words if they are known."""
    call = source.call_of_user()
    given = call.argument(name) if call else None
    return call.text(given.value) if given is not None and given.arg else name if arrays.is_array(value) else repr(value)


def _in_order(fn, bound: dict, by_name_only: bool = False):
    from . import argument_order

    return argument_order.in_another_order(fn, bound, by_name_only)


def _constant(fn, p, value, bound: dict | None = None) -> tuple:
    if value is _absent:
        fn._fail(f"const parameter {p.name} has no value and no default", p.name, fn._call_text())
    known = as_dtype(value)
    if known is None and hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()
    if known is None and not capture.is_plain(value):
        fn._fail(f"{p.name} is const: an int, float, bool, str or dtype, not {a_kind(value)}", p.name, bound and _in_order(fn, bound) or f"{p.name}={p.default if p.has_default else 64!r}")
    return ("const", value if known is None else known)


# Numbers from here on do not fit an annotation; of floats the largest and half a unit in its last place, which would be infinite.
LIMITS = {"i8": 2.0**7, "i32": 2.0**31, "fp16": 65520.0, "bf16": 2.0**128 - 2.0**119, "fp32": 2.0**128 - 2.0**103}


def _fits(value, dtype: str) -> bool:
    """Whether a number stays what it is, but for its last digits."""
    limit = LIMITS.get(dtype)
    if limit is None or isinstance(value, bool) or (isinstance(value, float) and math.isinf(value)):
        return True
    return -limit <= value < limit if dtype[0] == "i" else not abs(value) >= limit


def _call_without(fn, out, drop: bool = False) -> str:
    """The user's call without this Out: what stands in its place (`drop`: not that) and behind goes to the parameters that follow, by name."""
    call = source.call_of_user()
    positional = [p for p in fn.parameters if not p.keyword_only]
    if call is None or any(isinstance(each, ast.Starred) for each in call.args) or not fn._is_called_by(call):
        return ""
    given = call.positional()
    at = positional.index(out) if out in positional else len(given)
    followers = [p.name for p in positional[at + 1:] if p.kind != "out"]
    named = [f"{name}={call.text(value)}" for name, value in zip(followers, given[at + drop:])]
    keywords = [call.text(each) for each in call.keywords if not (drop and each.arg in (out.name, "out"))]
    text = call.written([*call.before(), *map(call.text, given[:at]), *named, *keywords])
    dropped = next((each.value for each in call.keywords if each.arg in (out.name, "out")), given[at] if at < len(given) else None) if drop else None
    return source.Whole(f"{dropped.id} = {text}") if isinstance(dropped, ast.Name) and source.is_statement_of_user() else text


def _missing(fn, p, bound: dict) -> None:
    """An error for an array or number that must be given."""
    if p.kind == "tensor" and _is_only_written(fn, p.name):
        dims = ", ".join([*(f'"{dim}"' for dim in p.dims or ()), *([p.dtype] if p.dtype else [])])
        fn._fail(f"argument {p.name} is missing; {fn.__name__} only writes it, and an Out is made by the call", p.name, f"{p.name}: Out[{dims}]")
    before = fn.parameters[:fn.parameters.index(p)]
    taken = next((each for each in before if each.kind == "out" and bound.get(each.name) is not None), None)
    call = source.call_of_user()
    given = call.argument(taken.name, before.index(taken)) if taken and call and fn._is_called_by(call) else None
    if given is not None and len(bound) == 1 and not isinstance(given, (ast.keyword, ast.Starred)):
        fn._fail(f"argument {p.name} is missing: {call.text(given)} was taken for {taken.name}, the first parameter, an Out",
                 fix=call.written([*call.before(), f"{p.name}={call.text(given)}", *map(call.text, call.keywords)]))
    why = ""
    if p.kind in ("inout", "region"):
        sizes = sizes_known(fn, bound)
        shape = ", ".join(str(sizes.get(dim, dim)) for dim in p.dims or ()) + ("," if len(p.dims or ()) == 1 else "")
        why = f"; the caller gives it, with what it starts with: {p.name} = np.zeros(({shape}), {numpy_name(p.dtype) if p.dtype else 'np.float32'})"
    fn._fail(f"argument {p.name} is missing{why}", fix=fn._call_text())


def _is_only_written(fn, name: str) -> bool:
    """Whether the text stores into a parameter and does nothing else with it."""
    try:
        tree = ast.parse(textwrap.dedent(fn._source.text))
    except (SyntaxError, AttributeError):
        return False
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    uses = [parents[node] for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == name]
    return bool(uses) and all(isinstance(use, ast.Subscript) and isinstance(use.ctx, ast.Store) and not isinstance(parents[use], ast.AugAssign) for use in uses)


def sizes_known(fn, bound: dict) -> dict:
    """The sizes of the dims that the arrays of a call say, but for those it is given to write."""
    found: dict = {}
    for p in fn.parameters:
        value = bound.get(p.name)
        shape = getattr(value, "shape", ()) if p.kind != "out" and arrays.is_array(value) else ()
        for dim, size in zip(p.dims or (), shape if len(shape) == len(p.dims or ()) else ()):
            found.setdefault(dim, int(size))
    return found


def shape_of(p, sizes: dict) -> tuple | None:
    """The shape that follows for a parameter from the sizes of dims; None if one does not."""
    if p.dims is None or not names_of(p) <= set(sizes):
        return None
    try:  # names, integers and arithmetic, or what the front end refuses when it compiles
        return tuple(eval(dim, {"__builtins__": {}}, sizes) for dim in p.dims)
    except SyntaxError:
        return None


def numpy_name(dtype: str) -> str:
    """`np.float32` for "fp32", if NumPy has it."""
    storage = by_name(dtype).storage
    name = str(to_numpy(storage)) if storage else ""
    return f"np.{name}" if hasattr(numpy, name) and name != "bool" else "np.bool_" if name == "bool" else f'"{name}"' if name else ""


def empty_text(name: str, library: str, shape: tuple, dtype: str) -> str:
    """An array of this shape and dtype, in the words of the library of the array that is in its place."""
    if library == "torch":
        return f"{name}.new_empty({tuple(shape)}, dtype=torch.{str(to_torch(by_name(dtype).storage)).partition('.')[2]})"
    return f"np.empty({tuple(shape)}, {numpy_name(dtype)})" if library == "numpy" and numpy_name(dtype) else ""


def _kind_of_rows(value) -> str:
    """NumPy's letter for the numbers in a list, or for one number; "" if no array can be made of it, as of rows of several lengths."""
    try:
        kind = numpy.asarray(value).dtype.kind
    except Exception:  # NumPy's, or that of what it asks for its numbers
        return ""
    return kind if kind in "biuf" else ""


def _array_of(fn, p, value, bound: dict) -> str:
    """The array that is meant where a list or a number is given: of the parameter's dtype, or else that of the other arrays of floats."""
    kind = _kind_of_rows(value)
    if not kind:
        return ""
    others = [arrays.describe(each, True) for key, each in bound.items() if arrays.is_array(each) and key != p.name]
    floats = {array.dtype.name for array in others if array.dtype.name.startswith(("fp", "bf"))}
    if kind != "f":  # integers may be indices
        floats = set()
    dtype = p.dtype or (floats.pop() if len(floats) == 1 else "")
    in_torch = any(array.library == "torch" for array in others)
    more = (f", dtype=torch.{str(to_torch(by_name(dtype).storage)).partition('.')[2]}" if in_torch else f", {numpy_name(dtype)}" if numpy_name(dtype) else "") if dtype else ""
    if isinstance(value, (list, tuple)):
        if value and all(type(each).__module__.partition(".")[0] == "torch" for each in value):
            wanted = to_torch(by_name(dtype).storage) if dtype else value[0].dtype
            return f"torch.stack({p.name})" + (f".to({wanted})" if wanted != value[0].dtype else "")
        return f"{'torch' if in_torch else 'np'}.asarray({p.name}{more})"
    shape = shape_of(p, sizes_known(fn, bound))
    is_number = isinstance(value, (int, float)) or hasattr(value, "item")
    return f"{'torch' if in_torch else 'np'}.full({shape}, {p.name}{more})" if shape is not None and is_number and p.kind != "out" else ""


def argument_specs(fn, bound: dict, target: str, parameters=None):
    """ArgumentSpecs for the compiler, and the arrays and scalars of this call. `parameters`: those to look at, if not all."""
    specs, given, scalars = [], {}, {}
    for p in fn.parameters if parameters is None else parameters:
        value = bound.get(p.name, _absent)
        if p.kind == "const":  # the schedule may depend on the first array's dtype
            specs.append(None if value is _absent else _constant(fn, p, value, bound))
            continue
        if value is _absent or value is None:
            if p.kind == "out":
                specs.append(("omitted",))
                continue
            if p.has_default:
                specs.append(("const", p.default))
                continue
            if value is None:
                fn._fail(f"{p.name} takes {'a number' if p.kind == 'scalar' else 'an array'}, but is None", p.name)
            _missing(fn, p, bound)
        try:
            array = None if p.kind == "scalar" else arrays.describe(value, gpu=machines.of(target).on_device)
        except ArgumentError as error:
            fn._fail(f"{p.name} {error}", p.name, getattr(error, "fix", "").replace("{x}", p.name))
        if p.kind == "scalar" and arrays.is_array(value) and getattr(value, "shape", ()) != ():
            dims = ", ".join(f'"{name}"' for name in "MNKLPQRS"[:len(value.shape)])
            fn._fail(f"{p.name} is a scalar {p.dtype or ''}".rstrip() + f", but is {a_kind(value)} of shape {tuple(value.shape)}", p.name,
                       _in_order(fn, bound) or (f"{p.name}.item()" if math.prod(value.shape) == 1 else "" if p.dtype else f"{p.name}: Tensor[{dims}]"))
        if array is not None:
            if len(array.sizes) > MAX_AXES:
                fn._fail(f"not yet: {p.name} has {len(array.sizes)} axes; arrays have up to {MAX_AXES}", p.name)
            if p.dims is not None and len(p.dims) != len(array.sizes):
                shape = " x ".join(map(str, array.sizes)) or "scalar"
                wanted, rank = len(p.dims), len(array.sizes)
                fix = f"{p.name}.reshape(-1)" if wanted == 1 and rank != 1 else f"{p.name}[None]" if rank == wanted - 1 else f"{p.name}[0]" if rank == wanted + 1 else ""
                fix = _in_order(fn, bound) or p.kind == "out" and _call_without(fn, p, drop=True) or fix
                fn._fail(f"{p.name} has {wanted} {'axis' if wanted == 1 else 'axes'} ({', '.join(p.dims)}), but the array has {rank} ({shape})", p.name, fix)
            if p.dtype is not None and array.dtype is not by_name(p.dtype):
                fn._fail(f"{p.name} is annotated {p.dtype}, but the array is {array.dtype}", p.name,
                         _in_order(fn, bound) or (empty_text(p.name, array.library, array.sizes, p.dtype) if p.kind == "out" else _convert(array, p.name, p.dtype)))
            if array.dtype.name in INSTEAD:
                from . import conversions

                near = INSTEAD[array.dtype.name] and conversions.computed_with(fn, bound, target, INSTEAD[array.dtype.name])
                fn._fail(f"not yet: {p.name} is an array of {array.dtype}; there are fp64, fp32, fp16, bf16, i64, i32, bool and, in kernels, fp8_e4m3, "
                         "fp8_e5m2 and i8", p.name, _convert(array, p.name, near) if near else f"{p.name}.real")
            specs.append(("tensor", array.dtype.name, array.key_sizes(p.whole_axes, p.named_axes), array.unit_axis))
            given[p.name] = array
            continue
        if p.takes_array:
            fn._fail(f"{p.name} takes an array, not {a_kind(value)}", p.name, _in_order(fn, bound) or p.kind == "out" and _call_without(fn, p) or _array_of(fn, p, value, bound))
        if hasattr(value, "item") and getattr(value, "shape", None) == ():
            value = value.item()
        kind = "bool" if isinstance(value, bool) else "i64" if isinstance(value, int) else "fp64" if isinstance(value, float) else None
        if kind is None and p.name == "self" and not specs:
            _refuse_method(fn, value)
        if kind is None:
            fn._fail(f"{p.name} takes an array or a number, not {a_kind(value)}", p.name,
                       _array_of(fn, p, value, bound) if isinstance(value, (list, tuple)) else f"{p.name}: const" if isinstance(value, str) else "")
        if p.dtype in ("i64", "i32") and isinstance(value, float):
            from . import conversions

            fn._fail(f"{p.name} takes an int, not {value}", p.name, conversions.annotation_for(fn, p, bound, target) or (f"int({p.name})" if value.is_integer() else ""))
        if p.dtype is not None and not _fits(value, p.dtype):
            wider = "fp64" if isinstance(value, float) else "i64"
            fn._fail(f"{p.name} is annotated {p.dtype}, which does not hold {value}", p.name, f"{p.name}: {wider}")
        specs.append(("scalar", p.dtype or kind))
        scalars[p.name] = value
    if parameters is not None:
        return specs, given, scalars
    constants = fn._constants(target, first_dtype(specs))
    for place, p in enumerate(fn.parameters):
        if specs[place] is None:
            specs[place] = _constant(fn, p, constants.get(p.name, p.default if p.has_default else _absent))
    return specs, given, scalars


def compiled_again(fn, words: str, without: str) -> str:
    """The user's call of a version, without this keyword, of one that is compiled with these words."""
    call = source.call_of_user()
    rest = [call.text(each) for each in (*call.args, *call.keywords) if getattr(each, "arg", "") != without] if call else []
    return source.Whole(f"{fn.__name__}.compile({words})({', '.join(rest)})")


def is_same_signature(fn, version) -> bool:
    """Whether a resumed text takes what the function does; it may be another program altogether."""
    own = {p.name for p in fn.parameters} | set(fn.capture()[1])
    return all(name in own for name, _, _, mode, *_ in version.tensors if mode != "result") and all(name in own for name, _ in version.scalars)


def of_text(version, args: tuple, kwargs: dict):
    """The arrays and scalars of a call of a text with parameters of its own: tensors first, then scalars."""
    names = [name for name, _, _, mode, *_ in version.tensors if mode != "result"] + [name for name, _ in version.scalars]
    free = [name for name in names if name not in kwargs]
    if len(args) > len(free) or any(name not in names for name in kwargs):
        raise ArgumentError(source.at_user(f"{version.name} takes {', '.join(names)}", f"{version.name}({', '.join(names)})"))
    given = {**dict(zip(free, args)), **kwargs}
    found = {name: arrays.describe(value, True) for name, value in given.items()}
    return {name: array for name, array in found.items() if array is not None}, {name: given[name] for name, array in found.items() if array is None}


def of_version(fn, version, bound: dict):
    """The arrays and scalars of a call of a compiled version, which has its constants; an edited text has them in it."""
    entries = version.spec.arguments if version.spec is not None else [None] * len(fn.parameters)
    taken, defaults = {name for name, _ in version.scalars}, {}
    arrays_of = {name for name, *_ in version.tensors}
    for p, entry in zip(fn.parameters, entries):
        fixed = entry is not None and entry[0] == "const" and p.name not in taken
        gone = entry is None and p.name not in taken and p.name not in arrays_of  # a constant of the text
        if p.name in bound and (fixed or gone):
            known = entry[1] if fixed else None
            if not fixed or capture.exact(_constant(fn, p, bound[p.name])[1]) != capture.exact(known):
                again = compiled_again(fn, f'target="{version.target}", {p.name}={text_given(p.name, bound[p.name])}', p.name)
                fn._fail(f"{p.name} is given, but " + (f"{known!r} in this version" if fixed else "part of the edited text"), p.name, again if p.kind == "const" else "")
            bound.pop(p.name)
        elif p.name in taken and bound.get(p.name) is None and p.has_default:
            defaults[p.name] = p.default
    _, given, scalars = argument_specs(fn, bound, version.target, [p for p in fn.parameters if p.kind != "const"])
    return given, {**defaults, **scalars}


def _refuse_method(fn, owner) -> None:
    """A method: its object's numbers become parameters."""
    read = list(dict.fromkeys(re.findall(r"\bself\.(\w+)", fn._source.text)))
    others = [p.name for p in fn.parameters[1:]]
    fn._fail(f"self is {a_kind(owner)}: a {fn.kind} is no method, it takes arrays and numbers", "self",
             f"def {fn.__name__}({', '.join(others + read)}) outside the class, called as {fn.__name__}({', '.join(others + ['self.' + name for name in read])})")


def _fits_turned(fn, name: str, given: dict) -> bool:
    """Whether all named dims would agree with this matrix transposed."""
    first: dict = {}
    for p in fn.parameters:
        sizes = given[p.name].sizes if p.name in given else ()
        if p.name == name and len(sizes) != 2:
            return False
        for dim, size in zip(p.dims or (), reversed(sizes) if p.name == name else sizes):
            if first.setdefault(dim, size) != size:
                return False
    return True


def described(value):
    return value if isinstance(value, arrays.Array) else arrays.describe(value, True)


def check_shapes(fn, given: dict, out: tuple = ()) -> None:
    """The check the runtime makes at every call, before a version is compiled in vain. `out`: arrays for the Outs that are not given by name."""
    absent = [p for p in fn.parameters if p.kind == "out" and p.name not in given]
    by_out = {p.name: array for p, array in zip(absent, map(described, out)) if array is not None and p.dims is not None}
    given = {**given, **by_out}
    first: dict = {}  # by dim: the parameter that says its size, and the size

    def shown(name):
        return f"{'out=' if name in by_out else name} ({' x '.join(map(str, given[name].sizes))})"

    # What is read says the sizes; an Out that disagrees with it is what is wrong.
    for p in sorted((p for p in fn.parameters if p.name in given), key=lambda p: p.kind == "out"):
        array, name = given[p.name], "out" if p.name in by_out else p.name
        shape = shape_of(p, {dim: size for dim, (_, size) in first.items()}) if p.kind == "out" else None
        if shape is not None and len(shape) != len(array.sizes):
            fn._fail(f"{shown(p.name)} must have {len(shape)} {'axis' if len(shape) == 1 else 'axes'}: {' x '.join(map(str, shape))}", p.name,
                     empty_text(name, array.library, shape, p.dtype or array.dtype.name), name if p.name in by_out else "")
        if shape is not None and len(shape) == len(array.sizes) and shape != tuple(array.sizes):
            origins = [f"{dim} = {first[dim][1]} from {first[dim][0]}" for dim in dict.fromkeys(re.findall(r"[A-Za-z_]\w*", " ".join(p.dims)))]
            fn._fail(f"{shown(p.name)} must be {' x '.join(map(str, shape))}" + (f": {', '.join(origins)}" if origins else ""), p.name,
                     empty_text(name, array.library, shape, p.dtype or array.dtype.name), name if p.name in by_out else "")
        for axis, dim in enumerate(p.dims or ()):
            size = array.sizes[axis]
            if dim.isdigit() and int(dim) != size:
                fn._fail(f"{shown(p.name)}: axis {axis} must be {dim}, but is {size}", p.name)
            if not dim.isidentifier():
                continue
            origin, expected = first.setdefault(dim, (p.name, size))
            if expected == size:
                continue
            if origin == p.name:
                fn._fail(f"{shown(p.name)} disagrees with itself on {dim}: {expected} and {size}", p.name)
            turned = next((each for each in (p.name, origin) if _fits_turned(fn, each, given)), "")
            call = source.call_of_user()  # of a version, which has its strides, or of the function
            fixed = call is not None and hasattr(call.owner, "spec")
            copied = "" if not fixed else ".contiguous()" if given[p.name].library == "torch" else ".copy()"
            fn._fail(f"{shown(origin)} and {shown(p.name)} disagree on {dim}: {expected} from {origin}, {size} from {p.name}", turned or p.name,
                     _in_order(fn, given, bool(turned)) or (f"{turned}.T{copied}" if turned else ""))
    for p in fn.parameters:
        array = given.get(p.name)
        for axis, dim in enumerate(p.dims or ()) if array is not None else ():
            expected = None if dim.isidentifier() or dim.isdigit() else shape_of(p, {name: size for name, (_, size) in first.items()})
            if expected is not None and array.sizes[axis] != expected[axis]:
                used = re.findall(r"[A-Za-z_]\w*", dim)
                sizes = ", ".join(f"{name} = {first[name][1]} from {shown(first[name][0])}" for name in used)
                fn._fail(f"{shown(p.name)}: axis {axis} must be {dim} = {expected[axis]}, but is {array.sizes[axis]}; {sizes}", p.name)


def names_of(p) -> set:
    """The names in a parameter's dims."""
    return {name for dim in p.dims or () for name in re.findall(r"[A-Za-z_]\w*", dim)}


def made_outs(fn, outs: list, given: dict) -> dict:
    """Arrays for those of these Outs that are omitted, where the others say the sizes: of the library and dtype of the first array."""
    first, made = next(iter(given.values()), None), {}
    sizes = sizes_known(fn, {name: array.owner for name, array in given.items()})
    for p in outs:
        shape = shape_of(p, sizes) if first is not None and p.name not in given else None
        if shape is not None:
            dtype = by_name(p.dtype) if p.dtype else first.dtype
            made[p.name] = arrays.describe(arrays.allocate(first.library, dtype.storage, shape, first.gpu)[0], True)
    return made


def spec_from_words(fn, target: str, words: dict) -> Spec:
    """A Spec without arrays: `A=fp16, D=128`. Without words: as the last call, or else the last `compile`, was."""
    last = fn.last_spec
    if not words and last is not None:
        if last.target == target:
            return last
        constants = fn._constants(target, last.dtype)
        same = [("const", constants.get(p.name, entry[1])) if p.kind == "const" else entry for p, entry in zip(fn.parameters, last.arguments)]
        return Spec(same, last.captured, target, fn.options.tuned)
    dtypes, sizes, values = {}, {}, {}
    for name, value in words.items():
        known = as_dtype(value)
        if known is not None:
            dtypes[name] = known
        elif isinstance(value, int) and not any(p.name == name for p in fn.parameters):
            sizes[name] = value
        else:
            values[name] = value
    dims = {part for p in fn.parameters for dim in p.dims or () for part in re.findall(r"[A-Za-z_]\w*", dim)}
    known_words = [p.name for p in fn.parameters] + sorted(dims)
    for name in words:
        if name not in known_words:
            call = source.call_of_user()
            own = call.own if call else ("target",)
            near = source.nearest(name, [*known_words, *own])
            raise ArgumentError(source.at_user(
                f"{fn.__name__} has no parameter or dim {name}; there are {', '.join(known_words)}, and {', '.join(f'{each}=' for each in own)}",
                f"{near}={text_given(name, words[name])}" if near else "", name))
    numbers = {p.name for p in fn.parameters if p.kind == "any" and p.dims is None and p.has_default and isinstance(p.default, (bool, int, float))}
    for p in fn.parameters:
        if p.name in words and p.name not in numbers and (p.takes_array or p.kind == "any") and p.name not in dtypes:
            raise ArgumentError(source.at_user(f"{p.name} of {fn.__name__} takes an element type, not {a_kind(words[p.name]) if arrays.is_array(words[p.name]) else repr(words[p.name])}",
                                               word_for(p.name, words[p.name]) if arrays.is_array(words[p.name]) else f"{p.name}=fp16", p.name))
    for name in dims.difference(p.name for p in fn.parameters).intersection(words):
        if type(words[name]) is not int or words[name] < 0:
            raise ArgumentError(source.at_user(f"the size of dim {name} is an int >= 0, not {words[name]!r}", f"{name}=64", name))
    specs = []
    for p in fn.parameters:
        if p.kind == "const":
            specs.append(None)  # when the first array's dtype is known
        elif p.name in numbers and p.name not in dtypes:  # at its default, or at the given number, it is a constant of the version
            specs.append(("const", values.get(p.name, p.default)))
        elif p.takes_array or p.kind == "any":
            if p.kind == "out" and p.dtype is None and p.name not in dtypes:
                specs.append(("omitted",))
                continue
            if p.dims is None:
                raise ArgumentError(source.at_user(
                    f"{p.name} of {fn.__name__} has no annotation ({fn.source.file}:{fn.source.first_line}), so its rank is not known",
                    f'{fn._call_text()} once before this line, with arrays; or, in the signature, {p.name}: Tensor["M", "N"], with its own dims'))
            known = dtypes.get(p.name) or (by_name(p.dtype) if p.dtype else None) or by_name("fp32")
            wanted = []
            for axis, dim in enumerate(p.dims):
                if dim.isdigit():
                    wanted.append(int(dim) if axis in p.whole_axes else -1)
                elif axis in p.whole_axes:
                    if dim not in sizes:
                        raise ArgumentError(source.at_user(
                            f"{dim} of {fn.__name__} is whole in a tile, so it is a constant of each version; say which", f"{dim}=64"))
                    wanted.append(sizes[dim])
                else:
                    wanted.append(-1)
            specs.append(("tensor", known.name, tuple(wanted), len(wanted) - 1))
        elif p.kind == "scalar":
            specs.append(("const", values[p.name]) if p.name in values else ("scalar", p.dtype or "fp64"))
    constants = fn._constants(target, first_dtype(specs))
    for place, p in enumerate(fn.parameters):
        if p.kind == "const":
            specs[place] = ("const", values.get(p.name, dtypes.get(p.name, constants.get(p.name, p.default))))
    return Spec(specs, fn.capture()[0], target, fn.options.tuned)


def word_for(name: str, array) -> str:
    """`A=tsr.fp16` for an array of that dtype, as `compile` wants it."""
    return f"{name}={source.module_of_user('tessera', 'tsr')}.{arrays.describe(array, True).dtype}"


def only_target(fn, given: tuple, target: str):
    """The target, which may be given by position; an error for arrays, whose dtypes are said by name."""
    call = source.call_of_user()
    if not given or not any(map(arrays.is_array, given)) or call is None:
        return given[0] if given else target
    parameters = [p for p in fn.parameters if p.takes_array or p.kind == "any"]
    words = [word_for(p.name, value) for p, value in zip(parameters, given) if arrays.is_array(value)]
    raise ArgumentError(source.at_user(f"{call.callee} takes the dtypes of arguments by name, not arrays",
                                       call.written([*call.before(), *map(call.text, call.keywords), *words])))


def destinations(fn, bound: dict, out) -> dict:
    """The destinations of a kernel that `out=` gives, by name, if one has another dtype than would be allocated: that of the first array."""
    absent = [p.name for p in fn.parameters if p.kind == "out" and p.dtype is None and bound.get(p.name) is None]
    given = list(out) if isinstance(out, (tuple, list)) else [out]
    if fn.kind != "kernel" or len(given) != len(absent) or not all(arrays.is_array(each) for each in given):
        return {}
    first = next((each.dtype for each in bound.values() if arrays.is_array(each)), None)
    return dict(zip(absent, given)) if any(each.dtype != first for each in given) else {}


def refuse_gradients(fn, values: list) -> None:
    """An error if one of the named values requires a gradient: none flows through a call, and the caller's would be wrong without a word."""
    for name, value in values:
        if arrays.drops_gradient(value):
            parameter = name if any(p.name == name for p in fn.parameters) else ""
            fn._fail(f"{name} requires a gradient, but none flows through tessera yet", parameter, f"{name}.detach()", "out" if name == "out" else "")


def _convert(array, name: str, dtype: str) -> str:
    """The expression that converts the caller's array."""
    storage = by_name(dtype).storage
    if array.library == "torch":
        return f"{name}.to(torch.{to_torch(storage).__str__().partition('.')[2]})"
    return f'{name}.astype("{to_numpy(storage)}")' if storage else ""
