"""`@tsr.function` and `@tsr.kernel`: calling, compiling, looking.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ast
import collections
import dataclasses
import re
import struct
import sys
import textwrap
import threading
import types
import warnings

from . import _runtime, arrays, capture, compiler, direct, explain, options, source
from .dtypes import as_dtype, by_name, by_storage, to_numpy, to_torch
from .errors import ArgumentError, CompileError, InternalError, ScheduleWarning, TesseraError, UnknownNameError
from .knobs import colour, knobs

_ARGUMENT_ERRORS = (3, 6)  # TSR_INVALID_ARGUMENT, TSR_CHECK_FAILED
TARGETS = ("cpu", "cpu:avx2", "cpu:avx512")


# Targets of the language; what gpu.NAMES does not have of them, this version does not compile for.
_LATER = ("sm_", "cudatile:", "sim:", "gfx", "spirv")
_TARGET_NAMES = {"cuda": "sm_90a", "gpu": "sm_90a", "nvidia": "sm_90a", "nvptx": "sm_90a", "ptx": "sm_90a", "sm90": "sm_90a", "h100": "sm_90a",
                 "rocm": "gfx942", "hip": "gfx942", "amd": "gfx942", "amdgpu": "gfx942", "mi300": "gfx942", "opencl": "spirv", "vulkan": "spirv",
                 "xpu": "spirv", "avx2": "cpu:avx2", "avx512": "cpu:avx512", "x86": "cpu", "host": "cpu", "native": "cpu"}


def check_target(target: str) -> str:
    if isinstance(target, str) and target in TARGETS:
        return target
    if not isinstance(target, str):
        raise CompileError(source.at_user(f"a target is a string ({', '.join(TARGETS)}), not {_a(target)}", 'target="cpu"'))
    from . import gpu

    if gpu.is_gpu(target):
        return target
    if target.startswith(_LATER):
        raise CompileError(source.at_user(f"not yet: target {target!r}; this version compiles for {', '.join(TARGETS)}, sm_80 and newer", 'target="cpu"', f"{target}"))
    meant = _TARGET_NAMES.get(target.lower().partition(":")[0], "")
    ours = meant.startswith("cpu") or gpu.is_gpu(meant)
    note = f"; it would be {meant!r}, which this version does not compile for" if meant and not ours else ""
    near = meant if ours else source.nearest(target, TARGETS, "cpu")
    raise CompileError(source.at_user(f"no target is called {target!r}; there are {', '.join(TARGETS)}{note}", f'target="{near}"', f"{target}"))


def check_schedule_target(target: str) -> None:
    """A schedule may be for any target of the language, or a family of them."""
    if isinstance(target, str) and (target in TARGETS or target in ("sim", "cudatile", "gfx", "sm") or target.startswith(_LATER)):
        return
    near = _TARGET_NAMES.get(str(target).lower(), "") or source.nearest(target, (*TARGETS, "sm_90a", "gfx942", "spirv"), "cpu")
    raise CompileError(source.at_user(f"no target is called {target!r}; there are {', '.join(TARGETS)}, sm_90a, cudatile:sm_90, sim:sm_90a, gfx942, spirv",
                                      f'target="{near}"', target if isinstance(target, str) else "target"))


def make_version(fn: "Function", target: str, compilation, spec):
    """One version, for the machine the target names."""
    if target.startswith("cpu"):
        return Version(fn, target, compilation, spec)
    from . import gpu

    kind = gpu.SimVersion if target.startswith("sim:") else gpu.GpuVersion
    version = kind(fn, target, compilation, spec)
    for remark in version.remarks:
        remind(remark)
    return version


# Versions that still have their Target IR in memory, for kernels not asked for yet; older ones have it packed.
_live: collections.deque = collections.deque()
_MAX_LIVE = 16


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


class Version:
    """One compiled version: machine code and plan, bound to this process."""

    def __init__(self, fn: "Function", target: str, compilation, spec: "Spec"):
        self.name = fn.__name__
        self.target = target
        self.spec = spec
        self.artifact = compilation.finish()
        for remark in compilation.remarks:
            remind(remark)
        self.executable = _runtime.Executable(self.artifact.plan, self.artifact)
        _live.append(self.artifact)
        if len(_live) > _MAX_LIVE:
            _live.popleft().shrink()
        self.tensors = self.executable.tensors
        self.scalars = self.executable.scalars

    @property
    def plan(self) -> str:
        return self.artifact.plan

    @property
    def report(self) -> str:
        """Time per pass."""
        rows = [f"{'pass':44} ms"]
        rows += [f"{name:44} {ms:.2f}" for name, ms in self.artifact.times]
        return "\n".join(rows)

    @property
    def resources(self) -> dict:
        return {"object_bytes": len(self.artifact.object), "kernels": self.artifact.plan.count("launch @")}

    def __repr__(self) -> str:
        return f"<{self.name} compiled for {self.target}, {self.plan.count('launch @')} kernels>"

    def __call__(self, *args, **kwargs):
        """Runs this version; arguments as for the function, consts left out."""
        names = [name for name, *_ in self.tensors if name not in kwargs] + [name for name, _ in self.scalars if name not in kwargs]
        given = dict(zip(names, args), **kwargs)
        found = {name: arrays.describe(value) for name, value in given.items()}
        scalars = {name: value for name, value in given.items() if found[name] is None}
        return self.run({k: v for k, v in found.items() if v is not None}, scalars, ())

    def run(self, given: dict, scalars: dict, out: tuple):
        """`given`: arrays by parameter name; `out`: arrays for what is left out."""
        library = next(iter(given.values())).library if given else "numpy"
        waiting = list(out)
        tensors, returned = [], []
        copied: dict = {}  # results whose memory the kernels cannot write
        for index, (name, storage, rank, mode, may_be_absent) in enumerate(self.tensors):
            array = given.get(name) if mode != "result" else None
            if array is None:
                if waiting:
                    owner = waiting.pop(0)
                    array = arrays.describe(owner)
                    if array is None:
                        _fail(f"out= is {_a(owner)}, not an array", 'out=np.empty(shape, "float32")')
                    returned.append((index, owner))
                    if array.sizes and array.strides[-1] != 1 and array.sizes[-1] != 1:
                        # What the caller leaves out is written along its last axis: into fresh memory, then copied.
                        copied[index] = owner
                        tensors.append(None)
                        continue
                else:
                    if mode != "result" and not may_be_absent:
                        _fail(f"argument {name} is missing", f"{name}=...")
                    tensors.append(None)
                    continue
            if array.dtype.storage != storage:
                wanted = by_storage(storage)
                shown, what = ("out=", "the result is") if mode == "result" or array.owner is not None and any(array.owner is o for o in out) else (name, "this version takes")
                _fail(f"{shown} is {array.dtype}, but {what} {wanted}",
                      f'out=np.empty({tuple(array.sizes)}, "{to_numpy(storage)}")' if shown == "out=" else f'{name}.astype("{to_numpy(storage)}")')
            if mode != "in" and not array.writable:
                shown = name if mode != "result" else "out="
                _fail(f"{shown} is read-only, but {self.name} writes it", f"{name}.copy()" if mode != "result" else "out=np.empty(...)")
            tensors.append(array.for_runtime())
        if waiting:
            taken = len(out) - len(waiting)
            _fail(f"out= has {len(out)} arrays, but {taken} {'is' if taken == 1 else 'are'} returned", "out=y" if taken == 1 else f"out=({', '.join('abcdef'[:taken])})")
        values = [_bits(scalars[name], storage, name, self.name) for name, storage in self.scalars]
        order = []

        def allocate(index, storage, shape):
            order.append(index)
            return arrays.allocate(library, storage, shape)

        made = self.executable.run(tensors, values, allocate)
        for index, value in zip(order, made):
            if index in copied:
                arrays.copy_into(copied[index], value, f"{self.name}: out=")
            else:
                returned.append((index, value))
        returned = [value for _, value in sorted(returned, key=lambda pair: pair[0])]
        if not returned:
            return None
        return returned[0] if len(returned) == 1 else tuple(returned)


def remind(text: str) -> None:
    """A remark: nothing is wrong, but the user should know. Shown at the user's line."""
    depth, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "tessera":
        depth, frame = depth + 1, frame.f_back
    warnings.warn(text.strip(), ScheduleWarning, stacklevel=depth)


def called_at() -> str:
    """", called at app.py:40": the user's line that called us."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "tessera":
        frame = frame.f_back
    return f", called at {source.relative(frame.f_code.co_filename)}:{frame.f_lineno}" if frame else ""


def _a(value) -> str:
    name = type(value).__name__
    return f"a{'n' if name[0] in 'aeiou' else ''} {name}"


def _convert(array, parameter) -> str:
    """The expression that converts the caller's array."""
    if array.library == "torch":
        return f"{parameter.name}.to(torch.{to_torch(by_name(parameter.dtype).storage).__str__().partition('.')[2]})"
    storage = by_name(parameter.dtype).storage
    return f'{parameter.name}.astype("{to_numpy(storage)}")' if storage else ""


def _fail(message: str, fix: str):
    """An ArgumentError that `Function._run` shows at the function, with the call."""
    error = ArgumentError(message)
    error.fix = fix
    raise error


def _bits(value, storage: str, name: str, function: str) -> int:
    try:
        if storage == "f64":
            return struct.unpack("<q", struct.pack("<d", float(value)))[0]
        if storage == "bool":
            return int(bool(value))
        number = value.__index__()
    except (TypeError, ValueError, AttributeError):
        wanted = {"f64": "a float", "bool": "a bool", "i64": "an int"}.get(storage, storage)
        error = ArgumentError(f"{name} takes {wanted}, not {value!r}")
        error.fix = f"{name}=int({name})" if isinstance(value, float) else f"{name}=1"
        raise error from None
    if not -(2**63) <= number < 2**63:
        _fail(f"{name} = {number} does not fit 64 bits", f"{name} % 2**63")
    return number


class _NewKey(Exception):
    """More sizes belong to the key than were known."""


class Spec:
    """What a version is compiled for: one entry per parameter, and the key it belongs to."""

    __slots__ = ("arguments", "captured", "key", "target", "tuned", "tuned_by")

    def __init__(self, arguments, captured, target, tuned, tuned_by="tuner"):
        self.arguments, self.captured, self.target, self.tuned, self.tuned_by = arguments, captured, target, tuned, tuned_by
        self.key = (target, tuple(arguments), capture.key_of(captured), tuple(sorted(tuned.items())), knobs.debug)


class Function(_runtime.Callable):
    """A `@tsr.function` or `@tsr.kernel`.

    A call is made by `Callable` (python/bindings/call.cpp): directly if it is like an earlier one,
    by `_call_slowly` if not.
    """

    def __init__(self, fn, kind: str, opts: options.Options | None = None, text: source.Source | None = None, names=None):
        self.kind = kind
        self.options = opts or options.Options()
        self.provisional = False
        self._fn = fn
        self._names = names or {}
        self._source = text
        self._lock = threading.RLock()
        self._versions: dict = {}
        self._program = None
        self._parameters: list[Parameter] | None = None
        self._last: Spec | None = None
        self._tuned: dict = {}
        self._reminded: set = set()
        if fn is not None:
            self.__name__ = fn.__name__
            self.__qualname__ = fn.__qualname__
            self.__doc__ = fn.__doc__
            self.__module__ = fn.__module__
            self.__wrapped__ = fn

    def changed(self) -> None:
        """A decorator came after the first use: the options are checked and compiled again."""
        self._parameters, self._last = None, None
        self._versions.clear()

    # ---- the program ------------------------------------------------------------------------

    @property
    def source(self) -> source.Source:
        if self._source is None:
            self._source = source.of_function(self._fn)
        return self._source

    @property
    def program(self):
        if self._program is None:
            s = self.source
            self._program = compiler.parse_function(s.text, s.file, s.first_line, s.column_offset, self.kind == "kernel", colour())
            self._free = self._program.free_names()
            self._scope = capture.Scope(self._fn, self._names)
        return self._program

    def capture(self) -> tuple[dict, dict]:
        """The outside names and their values now; captured arrays by hidden name."""
        self.program
        hidden: dict = {}
        return capture.capture(self._free, self._scope, hidden), hidden

    @property
    def captured(self) -> dict:
        """The outside names this function uses, with their values now."""
        shown = {}
        for name, entry in self.capture()[0].items():
            if entry[0] in ("const", "array", "function", "other"):
                shown[name] = entry[1]
        return shown

    @property
    def parameters(self) -> list[Parameter]:
        if self._parameters is None:
            captured = capture.for_compiler(self.capture()[0])
            entries = self.program.describe(captured, colour())
            parameters = [Parameter(entry) for entry in entries]
            consts = [p.name for p in parameters if p.kind == "const"]
            tuned = list(self.options.tuning.space) if self.options.tuning else []
            for schedule in self.options.schedules:
                dims = dict.fromkeys(dim for p in parameters for dim in p.dims or () if dim.isidentifier())
                options.check_schedule(schedule.values, consts + tuned, f"{self.kind} '{self.__name__}'", self._schedule_place, dims)
            self._parameters = parameters
        return self._parameters

    def _schedule_place(self, key: str):
        found = source.find_keyword(self.source, "schedule", key)
        return found and (self.source.file, *found)

    # ---- arguments --------------------------------------------------------------------------

    def _fail(self, message: str, parameter: str = "", fix: str = ""):
        """Raises an ArgumentError at this function, or one of its parameters, that names the call."""
        raise ArgumentError(self.program.render_error(message + called_at(), parameter, fix, colour())) from None

    def _bind(self, args: tuple, kwargs: dict) -> dict:
        """Values by parameter name; what is left out is not in it."""
        parameters = self.parameters
        positional = [p for p in parameters if not p.keyword_only]
        bound = {}
        if len(args) > len(positional):
            self._fail(f"{self.__name__} takes {len(positional)} arguments ({', '.join(p.name for p in positional)}), but {len(args)} are given",
                       fix=self._call_text())
        for parameter, value in zip(positional, args):
            bound[parameter.name] = value
        names = {p.name for p in parameters}
        for name, value in kwargs.items():
            if name not in names:
                self._unknown_keyword(name, value, names)
            if name in bound:
                self._fail(f"{self.__name__} got {name} twice, by position and by name", name, self._call_text())
            bound[name] = value
        return bound

    def _call_text(self) -> str:
        """A call with the parameters that must be given: "f(X, Y)"."""
        given = [p.name for p in self.parameters if not p.keyword_only and p.kind != "const" and not p.has_default and p.kind != "out"]
        given += [f"{p.name}=..." for p in self.parameters if (p.keyword_only or p.kind == "const") and not p.has_default]
        return f"{self.__name__}({', '.join(given)})"

    def _unknown_keyword(self, name: str, value, names) -> None:
        listed = ", ".join(p.name for p in self.parameters)
        near, why = source.nearest(name, names), ""
        fix = f"{near}={value!r}" if near and not arrays.is_array(value) else f"{near}={near}" if near else ""
        if name in options.SCHEDULE_KEYS:
            fix = f"@tsr.{self.kind}.schedule({name}={value!r}) above the {self.kind}"
        elif name in ("device", "backend", "arch"):
            fix, why = 'target="cpu"', "; the arrays' device chooses the target"
        elif name in ("grid", "num_ctas", "warmup"):
            fix, why = self._call_text(), "; the launch grid follows from tsr.grid"
        elif name == "dtype":
            fix, why = f'{self._call_text()} with x.astype("float32")', "; the arrays' dtypes choose the version"
        elif not fix:
            fix = self._call_text()
        self._fail(f"{self.__name__} has no parameter {name}; there are {listed}, and out=, target=, stream={why}", fix=fix)

    def _constants(self, target: str) -> dict:
        return self.options.constants_for(target)

    def _argument_specs(self, bound: dict, target: str):
        """ArgumentSpecs for the compiler, and the arrays and scalars of this call."""
        specs, given, scalars = [], {}, {}
        constants = self._constants(target)
        for p in self.parameters:
            value = bound.get(p.name, _absent)
            if p.kind == "const":
                if value is _absent:
                    value = constants.get(p.name, p.default if p.has_default else _absent)
                if value is _absent:
                    self._fail(f"const parameter {p.name} has no value and no default", p.name, f"{self.__name__}(..., {p.name}=64)")
                known = as_dtype(value)
                if known is None and hasattr(value, "item") and getattr(value, "shape", None) == ():
                    value = value.item()
                if known is None and not capture.is_plain(value):
                    self._fail(f"{p.name} is const: an int, float, bool, str or dtype, not {_a(value)}", p.name, f"{p.name}={p.default if p.has_default else 64!r}")
                specs.append(("const", value if known is None else known))
                continue
            if value is _absent or value is None:
                if p.kind == "out":
                    specs.append(("omitted",))
                    continue
                if p.has_default:
                    specs.append(("const", p.default))
                    continue
                if value is None:
                    self._fail(f"{p.name} takes {'a number' if p.kind == 'scalar' else 'an array'}, but is None", p.name, self._call_text())
                self._fail(f"argument {p.name} is missing", p.name, self._call_text())
            try:
                array = None if p.kind == "scalar" else arrays.describe(value)
            except ArgumentError as error:
                self._fail(f"{p.name} {error}", p.name, getattr(error, "fix", "").replace("{x}", p.name))
            if p.kind == "scalar" and arrays.is_array(value) and getattr(value, "shape", ()) != ():
                self._fail(f"{p.name} is a scalar {p.dtype or ''}".rstrip() + f", but is {_a(value)} of shape {tuple(value.shape)}", p.name,
                           f'{p.name}: Tensor["M"], or {p.name}.item() for one number')
            if array is not None:
                if p.dims is not None and len(p.dims) != len(array.sizes):
                    shape = " x ".join(map(str, array.sizes)) or "scalar"
                    wanted, rank = len(p.dims), len(array.sizes)
                    fix = f"{p.name}.reshape(-1)" if wanted == 1 and rank != 1 else f"{p.name}[None]" if rank == wanted - 1 else f"{p.name}[0]" if rank == wanted + 1 \
                        else f"{p.name}.reshape({', '.join(p.dims)})"
                    self._fail(f"{p.name} has {wanted} {'axis' if wanted == 1 else 'axes'} ({', '.join(p.dims)}), but the array has {rank} ({shape})", p.name, fix)
                if p.dtype is not None and array.dtype is not by_name(p.dtype):
                    self._fail(f"{p.name} is annotated {p.dtype}, but the array is {array.dtype}", p.name, _convert(array, p))
                specs.append(("tensor", array.dtype.name, array.key_sizes(p.whole_axes, p.named_axes), array.unit_axis))
                given[p.name] = array
                continue
            if p.takes_array:
                dtype = f', "{to_numpy(by_name(p.dtype).storage)}"' if p.dtype and by_name(p.dtype).storage else ""
                fix = f"np.asarray({p.name}{dtype})" if isinstance(value, (list, tuple)) else f"np.full({'n' if len(p.dims or ()) < 2 else 'shape'}, {p.name}{dtype})" \
                    if isinstance(value, (int, float)) or hasattr(value, "item") else f"{p.name} = np.zeros(...{dtype})"
                self._fail(f"{p.name} takes an array, not {_a(value)}", p.name, fix)
            if hasattr(value, "item") and getattr(value, "shape", None) == ():
                value = value.item()
            kind = "bool" if isinstance(value, bool) else "i64" if isinstance(value, int) else "fp64" if isinstance(value, float) else None
            if kind is None:
                self._fail(f"{p.name} takes an array or a number, not {_a(value)}", p.name,
                           f"np.asarray({p.name})" if isinstance(value, (list, tuple)) else f"{p.name}: const" if isinstance(value, str) else self._call_text())
            specs.append(("scalar", p.dtype or kind))
            scalars[p.name] = value
        return specs, given, scalars

    def _fits_turned(self, name: str, given: dict) -> bool:
        """Whether all named dims would agree with this matrix transposed."""
        first: dict = {}
        for p in self.parameters:
            sizes = given[p.name].sizes if p.name in given else ()
            if p.name == name and len(sizes) != 2:
                return False
            for dim, size in zip(p.dims or (), reversed(sizes) if p.name == name else sizes):
                if first.setdefault(dim, size) != size:
                    return False
        return True

    def _check_shapes(self, given: dict) -> None:
        """The check the runtime makes at every call, before a version is compiled in vain."""
        first: dict = {}

        def shown(name):
            return f"{name} ({' x '.join(map(str, given[name].sizes))})"

        for p in self.parameters:
            array = given.get(p.name)
            for axis, dim in enumerate(p.dims or ()) if array is not None else ():
                size = array.sizes[axis]
                if dim.isdigit() and int(dim) != size:
                    self._fail(f"{shown(p.name)}: axis {axis} must be {dim}, but is {size}", p.name)
                if not dim.isidentifier():
                    continue
                origin, expected = first.setdefault(dim, (p.name, size))
                if expected == size:
                    continue
                if origin == p.name:
                    self._fail(f"{shown(p.name)} disagrees with itself on {dim}: {expected} and {size}", p.name)
                turned = next((name for name in (p.name, origin) if self._fits_turned(name, given)), "")
                self._fail(f"{shown(origin)} and {shown(p.name)} disagree on {dim}: {expected} from {origin}, {size} from {p.name}",
                           fix=f"{turned}.T" if turned else "")
        for p in self.parameters:
            array = given.get(p.name)
            for axis, dim in enumerate(p.dims or ()) if array is not None else ():
                used = [name for name in first if re.search(rf"\b{name}\b", dim)]
                if not used or dim.isidentifier():
                    continue
                # The front end has parsed it: names, integers and arithmetic.
                expected = eval(dim, {"__builtins__": {}}, {name: first[name][1] for name in used})
                if array.sizes[axis] != expected:
                    sizes = ", ".join(f"{name} = {first[name][1]} from {shown(first[name][0])}" for name in used)
                    self._fail(f"{shown(p.name)}: axis {axis} must be {dim} = {expected}, but is {array.sizes[axis]}; {sizes}", p.name)

    # ---- compiling --------------------------------------------------------------------------

    def _options(self, target: str) -> dict:
        target = target.removeprefix("sim:")  # it takes the PTX of the machine it stands for
        return {"target": target, "opt_level": knobs.opt_level, "verify": knobs.verify, "dump": knobs.dump,
                "debug": knobs.debug}

    def _start(self, spec: Spec, symbol_prefix: str = ""):
        """The program at the front end's exit."""
        opts = self.options if self.options.tuned == spec.tuned else dataclasses.replace(self.options, tuned=spec.tuned)
        for key in opts.ignored_by(spec.target):
            if (key, spec.target) not in self._reminded:
                self._reminded.add((key, spec.target))
                remind(f"{self.kind} '{self.__name__}': target {spec.target} does not use the schedule key {key!r}")
        made = compiler.compile_program(
            self.program,
            list(spec.arguments),
            capture.for_compiler(spec.captured),
            opts.constants_for(spec.target),
            opts.schedule_for(spec.target),
            opts.policy or "deterministic",
            opts.accum,
            {**self._options(spec.target), "symbol_prefix": symbol_prefix},
            colour(),
        )
        if isinstance(made, list):  # a kernel it calls needs these sizes as constants
            for parameter, axis in made:
                self.parameters[parameter].whole_axes |= {axis}
            raise _NewKey
        return made

    def _version(self, spec: Spec) -> Version:
        version = self._versions.get(spec.key)
        if version is None:
            with self._lock:
                version = self._versions.get(spec.key)
                if version is None:
                    version = make_version(self, spec.target, self._start(spec), spec)
                    self._versions[spec.key] = version
        self._last = spec
        return version

    def _call_slowly(self, *args, **kwargs):
        try:
            return self._call(args, kwargs)
        except TesseraError as error:
            if knobs.debug:
                raise
            short = error.with_traceback(None)  # the user's frames are enough
        if type(short) is CompileError and self._is_about_signature(str(short)):
            text, fix, rest = str(short).partition("\n fix:")
            short = CompileError(f"{text}\n note: {called_at().removeprefix(', called at ')}: called here{fix or chr(10)}{rest}")
        raise short from None

    def _is_about_signature(self, text: str) -> bool:
        """Whether an error stands at the signature, so that the call is the other place involved."""
        place = self.source
        found = re.match(rf"{re.escape(place.file)}:(\d+):", text)
        if not found or "called" in text:
            return False
        try:
            tree = ast.parse(textwrap.dedent(place.text)).body[0]
        except SyntaxError:
            return False
        line = int(found[1]) - place.first_line + 1
        return tree.lineno <= line < max(tree.body[0].lineno, tree.lineno + 1)

    def _run_refused(self, text: str, fix: str = ""):
        """What the runtime or `Version.run` says about the arguments; a result that is wrong was given as out=."""
        text = re.sub(r"\bresult\b", "out=", text)
        overlap = re.search(r"(\S+) is written, but overlaps (\S+) in memory", text)
        if overlap and not fix:
            fix = f"{overlap[2]}.copy()"
        elif "disagree" in text and "out=" in text and not fix:
            fix = f"{self.__name__}(...) without out=, which allocates it"
        self._fail(text, fix=fix)

    def _run_failed(self, code: int, text: str):
        """A direct call ended with this status of the runtime."""
        try:
            if code in _ARGUMENT_ERRORS:
                self._run_refused(text.strip())
            raise InternalError(text)
        except TesseraError as error:
            if knobs.debug:
                raise
            short = error.with_traceback(None)
        raise short from None

    def _call(self, args: tuple, given_kwargs: dict):
        while True:
            try:
                return self._call_with_key(args, given_kwargs)
            except _NewKey:
                pass

    def _call_with_key(self, args: tuple, given_kwargs: dict):
        kwargs = dict(given_kwargs)
        given_out, target = kwargs.pop("out", None), kwargs.pop("target", None)
        kwargs.pop("stream", None)
        directly = target is None and "stream" not in given_kwargs  # may the next call be direct?
        target = check_target(target or "cpu")
        bound = self._bind(args, kwargs)
        specs, given, scalars = self._argument_specs(bound, target)
        captured, hidden = self.capture()
        for name, value in hidden.items():
            given[name] = arrays.describe(value)
        if given_out is not None and not isinstance(given_out, (tuple, list)) and not arrays.is_array(given_out):
            self._fail(f"out= is {_a(given_out)}, not an array", fix='out=np.empty(shape, "float32")')
        out = () if given_out is None else given_out if isinstance(given_out, (tuple, list)) else (given_out,)
        if self.options.tuning is not None:
            from . import tuner

            result, ran = tuner.call(self, bound, given, scalars, captured, target, out)
            if directly and ran and (given_out is None or given_out is not out):
                direct.remember(self, *ran, args, given_kwargs, exact=True)
            return result
        spec = Spec(specs, captured, target, self.options.tuned)
        if spec.key not in self._versions:
            self._check_shapes(given)  # the call is wrong, whatever the body says
        version = self._version(spec)
        result = self._run(version, given, scalars, out)
        if directly and not knobs.debug and (given_out is None or given_out is not out):
            direct.remember(self, spec, version, given, args, given_kwargs)
        return result

    def guards(self, slots: dict):
        self.program
        return capture.guards(self._free, self._scope, slots)

    def _run(self, version: Version, given: dict, scalars: dict, out: tuple):
        try:
            return version.run(given, scalars, out)
        except ArgumentError as error:
            text, fix = str(error).strip(), getattr(error, "fix", "")
        self._run_refused(text, fix)

    def __get__(self, instance, owner=None):
        """Inside a class a function is a method; `self.scale` is then captured from it."""
        return self if instance is None else types.MethodType(self, instance)

    def _spec_from_words(self, target: str, words: dict) -> Spec:
        """A Spec without arrays: `A=fp16, D=128`."""
        if not words and self._last is not None and self._last.target == target:
            return self._last
        dtypes, sizes, values = {}, {}, {}
        for name, value in words.items():
            known = as_dtype(value)
            if known is not None:
                dtypes[name] = known
            elif isinstance(value, int) and not any(p.name == name for p in self.parameters):
                sizes[name] = value
            else:
                values[name] = value
        dims = {part for p in self.parameters for dim in p.dims or () for part in re.findall(r"[A-Za-z_]\w*", dim)}
        known_words = [p.name for p in self.parameters] + sorted(dims)
        for name in words:
            if name not in known_words:
                near = source.nearest(name, [*known_words, "target"])
                raise ArgumentError(source.at_user(
                    f"{self.__name__} has no parameter or dim {name}; there are {', '.join(known_words)}",
                    f"{near}={words[name]!r}" if near else f"{self.__name__}.compile()", name))
        for p in self.parameters:
            if p.name in words and (p.takes_array or p.kind == "any") and p.name not in dtypes:
                raise ArgumentError(source.at_user(f"{p.name} of {self.__name__} takes an element type, not {words[p.name]!r}", f"{p.name}=fp16", p.name))
        for name in dims.difference(p.name for p in self.parameters).intersection(words):
            if type(words[name]) is not int or words[name] < 0:
                raise ArgumentError(source.at_user(f"the size of dim {name} is an int >= 0, not {words[name]!r}", f"{name}=64", name))
        specs, constants = [], self._constants(target)
        for p in self.parameters:
            if p.kind == "const":
                value = values.get(p.name, constants.get(p.name, p.default))
                specs.append(("const", value))
            elif p.takes_array or p.kind == "any":
                if p.kind == "out" and p.dtype is None and p.name not in dtypes:
                    specs.append(("omitted",))
                    continue
                if p.dims is None:
                    raise ArgumentError(source.at_user(
                        f"{p.name} of {self.__name__} has no annotation, so its rank is not known", f'{p.name}: Tensor["M", "N"], or call {self.__name__} once'))
                known = dtypes.get(p.name) or (by_name(p.dtype) if p.dtype else None) or by_name("fp32")
                wanted = []
                for axis, dim in enumerate(p.dims):
                    if dim.isdigit():
                        wanted.append(int(dim) if axis in p.whole_axes else -1)
                    elif axis in p.whole_axes:
                        if dim not in sizes:
                            raise ArgumentError(source.at_user(
                                f"{dim} of {self.__name__} is whole in a tile, so it is a constant of each version; say which", f"{dim}=64"))
                        wanted.append(sizes[dim])
                    else:
                        wanted.append(-1)
                specs.append(("tensor", known.name, tuple(wanted), len(wanted) - 1))
            elif p.kind == "scalar":
                specs.append(("scalar", p.dtype or "fp64"))
        return Spec(specs, self.capture()[0], target, self.options.tuned)

    def compile(self, target: str = "cpu", **words) -> Version:
        """Compiles without calling: `gemm.compile(A=fp16, B=fp16)`; sizes of whole dims by name, `D=128`."""
        target = check_target(target)
        return self._with_key(lambda: self._version(self._spec_from_words(target, words)))

    def _with_key(self, make):
        while True:
            try:
                return make()
            except _NewKey:
                self._last = None

    # ---- looking ----------------------------------------------------------------------------

    def lower(self, stage: str, target: str = "cpu", **words):
        """The program at a stage, as an object: `.text`, to be edited and given to `tsr.resume`."""
        target = check_target(target)
        stages = compiler.stages()
        if stage not in (*stages, "llvm") and not (stage == "ptx" and not target.startswith("cpu")):
            shown = [name for name in stages]
            near = {"ptx": "target", "ttir": "tile-value", "ttgir": "tile", "asm": "target", "mlir": "graph", "hlo": "graph", "schedule": "sched"}.get(
                str(stage), source.nearest(stage, shown, "tile"))
            raise ArgumentError(source.at_user(
                f"no stage is called {stage!r}; there are {', '.join(shown)}", f'{self.__name__}.inspect_ir("{near}")', str(stage)))
        compilation = self._with_key(lambda: self._start(self._spec_from_words(target, words)))
        if stage in ("llvm", "ptx"):
            return compilation.llvm() if stage == "llvm" else compilation.ptx()
        return _lower(compilation, stage)

    def inspect_ir(self, stage: str, target: str = "cpu", **words) -> str:
        """The text of a stage: graph, sched, tile-value, tile, target (or llvm, and ptx for GPUs)."""
        return self.lower(stage, target, **words)

    def resume(self, text: str, target: str = "cpu") -> Version:
        """Compiles an edited stage text; the result is called like the function."""
        compilation = compiler.compile_text(text, f"<{self.__name__}, edited>", self._options(check_target(target)))
        return make_version(self, target, compilation, None)

    def explain(self, target: str = "cpu", **words) -> str:
        """Each decision, the alternatives, who decided; and what the version is keyed by."""
        target = check_target(target)
        spec = self._spec_from_words(target, words)
        compilation = self._start(spec)
        compilation.lower("sched")
        return explain.render(self, spec, compilation.decisions())

    def _not_yet(self, verb: str, when: str):
        raise CompileError(source.at_user(f"not yet: {self.__name__}.{verb} comes with {when}",
                                          f"{self.__name__}(...), {self.__name__}.inspect_ir(\"tile\") or {self.__name__}.explain()", verb.partition("(")[0]))

    def run(self, *args, stage=None, **kwargs):
        self._not_yet("run(stage=...)", "the oracle")

    def certificate(self, *args, **kwargs):
        self._not_yet("certificate()", "the oracle")

    def trace(self, *args, **kwargs):
        self._not_yet("trace()", "the oracle")

    def check(self, *args, **kwargs):
        self._not_yet("check()", "the oracle")

    def tune(self, *args, **kwargs):
        self._not_yet("tune()", "the tuner; @tsr.kernel.autotune is here")

    def aot(self, directory, targets=("cpu",), name: str | None = None, **words) -> list[str]:
        """A library without Python: `attention.aot("out", Q=fp16, K=fp16, V=fp16, D=[64, 128])`; the files written.

        Element types and sizes of whole dims are said as for `compile`; a list makes a version of each.
        """
        from . import aot

        return aot.build(self, directory, targets, name, **words)

    def __getitem__(self, grid):
        raise ArgumentError(source.at_user(
            f"{self.__name__}[...]: a {self.kind} is called without a launch grid; it follows from tsr.grid", self._call_text(), self.__name__))

    def __iter__(self):
        raise ArgumentError(source.at_user(f"{self.__name__} is a {self.kind}, which is called, not iterated over", self._call_text(), self.__name__))

    def __getattr__(self, name: str):
        if name.startswith("_"):  # Python's own protocols
            raise AttributeError(name)
        known = [n for n in dir(type(self)) if not n.startswith("_")]
        fixes = {"ptx": 'inspect_ir("target")', "asm": 'inspect_ir("target")', "sass": 'inspect_ir("target")', "cubin": 'compile(target="cpu")',
                 "warmup": 'compile(target="cpu")', "lower_ir": 'inspect_ir("tile")', "ir": 'inspect_ir("tile")', "code": 'inspect_ir("target")',
                 "cache": "captured", "best_config": "explain()", "signature": "parameters", "cost_analysis": "explain()", "shape": "parameters"}
        near = fixes.get(name) or source.nearest(name, known, "")
        fix = f"{self.__name__}.{near}" if near else self._call_text()
        raise UnknownNameError(source.at_user(f"{self.kind} {self.__name__} has no attribute {name!r}; it has {', '.join(known)}", fix, name))

    def __reduce__(self):
        """Pickled by name, as Python's functions are."""
        return self.__qualname__

    def __repr__(self) -> str:
        return f"<tessera {self.kind} {self.__name__}>"


# On 3.10 and 3.11 a class written in Python does not inherit the quick way to be called.
_runtime.inherit_vectorcall(Function)


def _lower(compilation, stage: str) -> str:
    compilation.lower(stage)
    return compilation.print()


class _Absent:
    def __repr__(self):
        return "<absent>"


_absent = _Absent()
