"""`@tsr.function` and `@tsr.kernel`: calling, compiling, looking.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import difflib
import re
import threading
import types

from . import _runtime, arguments, arrays, capture, compiler, direct, errors, explain, keys, machines, options, source
from .arguments import NewKey, Parameter, Spec
from .errors import ArgumentError, CompileError, InternalError, TesseraError, UnknownNameError
from .knobs import colour, knobs
from .refusals import Refusals
from .targets import check_target
from .version import Version, make_version, version_of
from .wording import a_kind, as_imported, called_at, entry, remind


class Function(_runtime.Callable, Refusals):
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
        self._free: list[str] | None = None
        self._parameters: list[Parameter] | None = None
        self._leading_outs: list[Parameter] | None = None
        self._compiled: Spec | None = None  # the last one
        self._called: Spec | None = None  # the last one, but for direct calls
        self._shapes: dict = {}  # of its arrays
        self._library = "numpy"  # that they are of
        self._direct: dict = {}  # what an Executable that is called directly was compiled for
        self._tuning_lock = threading.RLock()
        self._trials: dict = {}  # the same program by configuration, and
        self._choices: dict = {}  # what each key gets (tessera/tuner.py)
        self._reminded: set = set()
        if fn is not None:
            self.__name__ = fn.__name__
            self.__qualname__ = fn.__qualname__
            self.__doc__ = fn.__doc__
            self.__module__ = fn.__module__
            self.__wrapped__ = fn
        if fn is not None and text is None:
            # The file may change before the first call; a function is what it was when Python defined it.
            with contextlib.suppress(CompileError):  # said at the first use
                self._source = source.of_function(fn)

    def changed(self) -> None:
        """A decorator came after the first use: the options are checked and compiled again."""
        self._parameters, self._leading_outs, self._compiled, self._called = None, None, None, None
        self._versions.clear()
        self._direct.clear()
        self._forget()

    # ---- the program ------------------------------------------------------------------------

    @property
    def source(self) -> source.Source:
        if self._source is None:
            self._source = source.of_function(self._fn)
        if self._source.lines is not None:
            source.verify(self._fn, self._source)
        return self._source

    @property
    def program(self):
        if self._program is None:
            s = self.source
            self._program = compiler.parse_function(s.text, s.file, s.first_line, s.column_offset, self.kind == "kernel", colour())
        return self._program

    @property
    def free_names(self) -> list[str]:
        """The outside names in the text."""
        if self._free is None:
            self._scope = capture.Scope(self._fn, self._names)
            self._free = keys.remembered(lambda: keys.names(self), lambda: self.program.free_names())
        return self._free

    def capture(self) -> tuple[dict, dict]:
        """The outside names and their values now; captured arrays by hidden name."""
        names, hidden = self.free_names, {}
        return capture.capture(names, self._scope, hidden), hidden

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
            capture.refuse_recursion(self)
            captured = self.capture()[0]
            entries = keys.remembered(lambda: keys.signature(self, captured),
                                      lambda: self.program.describe(capture.for_compiler(captured), colour()))
            parameters = [Parameter(entry) for entry in entries]
            consts = [p.name for p in parameters if p.kind == "const"]
            tuned = list(self.options.tuning.space) if self.options.tuning else []
            for schedule in self.options.schedules:
                dims = collections.Counter(dim for p in parameters for dim in dict.fromkeys(p.dims or ()) if dim.isidentifier())
                options.check_schedule(schedule.values, consts + tuned, f"{self.kind} '{self.__name__}'", self._schedule_place, dims)
            self._parameters = parameters
        return self._parameters

    def _schedule_place(self, key: str, part: str = ""):
        """Where a decorator of the text has the key; the definition if none has, as the schedule was made by a call."""
        return (self.source.file, *(source.find_keyword(self.source, "schedule", key, part) or source.find_definition(self.source)))

    # ---- arguments --------------------------------------------------------------------------

    def _constants(self, target: str, dtype: str | None) -> dict:
        return self.options.constants_for(target, dtype)

    def body_constants(self, opts: options.Options, target: str, dtype: str | None = None) -> dict:
        """What the decorators say of names in the body, those included that stand in the space of `autotune` only."""
        values = opts.constants_for(target, dtype)
        if opts.tuning is None:
            return values
        own = {p.name for p in self.parameters}
        named = {name: value for name, value in opts.tuning.first_point().items() if name in self.free_names and name not in own}
        return {**named, **values}

    # ---- compiling --------------------------------------------------------------------------

    def _options(self, target: str) -> dict:
        target = machines.of(target).compiled_as  # it takes the PTX of the machine it stands for
        level = knobs.opt_level if self.options.opt_level is None else self.options.opt_level
        return {"target": target, "opt_level": level, "verify": knobs.verify, "dump": knobs.dump, "debug": knobs.debug}

    def _options_for(self, spec: Spec) -> options.Options:
        return self.options if self.options.tuned == spec.tuned else dataclasses.replace(self.options, tuned=spec.tuned)

    def _remind_ignored(self, spec: Spec) -> None:
        opts = self._options_for(spec)
        said = [f"{self.kind} '{self.__name__}': target {spec.target} does not use the schedule key {key!r}" for key in opts.ignored_by(spec.target, spec.dtype)]
        if self.kind == "kernel":
            said += [f"kernel '{self.__name__}' does what its text says: the schedule key {key!r} is for functions"
                     for key in opts.merged(spec.target, spec.dtype) if key in options.OF_FUNCTIONS]
        for text in said:
            if text not in self._reminded:
                self._reminded.add(text)
                remind(text)

    def _start(self, spec: Spec, symbol_prefix: str = "", debug: bool | None = None):
        """The program at the front end's exit; with `debug`, its asserts are in it."""
        opts = self._options_for(spec)
        self._remind_ignored(spec)
        try:
            made = compiler.compile_program(
                self.program,
                list(spec.arguments),
                capture.for_compiler(spec.captured),
                self.body_constants(opts, spec.target, spec.dtype),
                opts.schedule_for(spec.target, spec.dtype),
                opts.policy or "deterministic",
                opts.accum,
                opts.precision or "ieee",
                {**self._options(spec.target), "symbol_prefix": symbol_prefix, **({} if debug is None else {"debug": debug}), **opts.tuning_for_compiler()},
                colour(),
            )
        except CompileError as error:
            scope = capture.Scope(self._fn, self._names)
            text = capture.with_tuple(str(error), scope, self._fn.__code__.co_filename) if self._fn is not None else str(error)
            raise self._blamed_on_call(type(error)(as_imported(text, scope))) from None
        if isinstance(made, list):  # a kernel it calls needs these sizes as constants
            self._extend_key(made)
        return made

    def _extend_key(self, axes: list):
        for parameter, axis in axes:
            self.parameters[parameter].whole_axes |= {axis}
        raise NewKey(axes)

    def _version(self, spec: Spec) -> Version:
        with self._lock:
            version = self._versions.pop(spec.key, None) or version_of(self, spec)
            self._versions[spec.key] = version  # the last used stands last
            while len(self._versions) > max(knobs.versions, 1):
                old = next(iter(self._versions))  # its machine code goes when nobody runs it any more
                del self._versions[old]
                self._direct = {executable: of for executable, of in self._direct.items() if of.key != old}
        self._compiled = spec
        return version

    def _call_slowly(self, *args, **kwargs):
        try:
            return self._call(args, kwargs)
        except TesseraError as error:
            if knobs.debug:
                raise
            short = error.with_traceback(None)  # the user's frames are enough
        if type(short) is CompileError and self._source is not None and self._is_about_signature(str(short)):
            note = source.note(f"{called_at().removeprefix(', called at ')}: called here", colour())
            short = CompileError(self._with_all_names(source.before_fix(str(short), note), len(args)))
        short.ends_at_call = True  # the frame here goes, too: bindings/call.cpp
        raise short from None

    @entry
    def _run_failed(self, kind: str, text: str):
        """A direct call ended with an error of the runtime, of this class."""
        if kind == "ArgumentError":
            given, out = self._arrays_of_call(text)
            arguments.check_shapes(self, given, out)
            self._run_refused(text.strip(), "", out, self._library)
        raise getattr(errors, kind)(text)

    def _call(self, args: tuple, given_kwargs: dict):
        while True:
            try:
                return self._call_with_key(args, given_kwargs)
            except NewKey:
                pass

    def _call_with_key(self, args: tuple, given_kwargs: dict):
        kwargs = dict(given_kwargs)
        given_out, target = kwargs.pop("out", None), kwargs.pop("target", None)
        stream = kwargs.pop("stream", None)
        directly = target is None and "stream" not in given_kwargs and not self._leading  # may the next call be direct?
        bound = arguments.bind(self, args, kwargs)
        if target is None and any(arrays.is_on_gpu(value) for value in bound.values()):
            directly, target = False, self._target_of(bound)
        target = check_target(target or "cpu")
        if given_out is not None:
            named = arguments.destinations(self, bound, given_out)
            if named:  # as if it were given by position
                self._call_with_key((), {**bound, **named, "target": target, "stream": stream})
                return given_out
        specs, given, scalars = arguments.argument_specs(self, bound, target)
        captured, hidden = self.capture()
        for name, value in hidden.items():
            given[name] = arrays.describe(value, gpu=machines.of(target).on_device)
        if given_out is not None and not isinstance(given_out, (tuple, list)) and not arrays.is_array(given_out):
            self._fail(f"out= is {a_kind(given_out)}, not an array", fix=self._without_out(), keyword="out")
        out = () if given_out is None else given_out if isinstance(given_out, (tuple, list)) else (given_out,)
        for each in out:
            try:
                arrays.describe(each, True)
            except ArgumentError as error:
                self._fail(f"out= {error}", fix=getattr(error, "fix", "").replace("{x}", "out"), keyword="out")
        arguments.refuse_gradients(self, [*bound.items(), *hidden.items(), *(("out", each) for each in out)])
        if self.options.tuning is not None:
            from . import tuner

            result, ran = tuner.call(self, bound, given, scalars, captured, target, out)
            if directly and ran and (given_out is None or given_out is not out):
                direct.remember(self, *ran, args, given_kwargs, exact=True)
            return result
        spec = Spec(specs, captured, target, self.options.tuned)
        if spec.key not in self._versions:
            self._check_shapes(spec, given, out)
        version = self._version(spec)
        self.note_call(spec, given)
        result = self._run(version, given, scalars, out, stream)
        if directly and not knobs.debug and (given_out is None or given_out is not out):
            direct.remember(self, spec, version, given, args, given_kwargs)
        return result

    def _check_shapes(self, spec: Spec, given: dict, out: tuple) -> None:
        """An error if the sizes of a call disagree; where the body takes an axis for one of another dim, it is what is wrong."""
        try:
            arguments.check_shapes(self, given, out)
        except ArgumentError:
            try:
                self._start(spec)
            except CompileError as error:
                if "covers dim" in str(error):
                    raise self._annotated_otherwise(error, given) from None
            raise

    def call_version(self, version: Version, args: tuple, given_kwargs: dict):
        """A call of what `compile` or `resume` made: bound and refused as a call of the function is."""
        kwargs = dict(given_kwargs)
        given_out, stream = kwargs.pop("out", None), kwargs.pop("stream", None)
        if "target" in kwargs:
            again = arguments.compiled_again(self, f"target={arguments.text_given('target', kwargs['target'])}", "target")
            self._fail(f"target= is given, but this version is compiled for {version.target}", fix=again, keyword="target")
        if version.spec is None and not arguments.is_same_signature(self, version):
            given, scalars = arguments.of_text(version, args, kwargs)
            return self._run(version, given, scalars, (), stream)
        bound = arguments.bind(self, args, kwargs, ("out", "stream"))
        named = {} if given_out is None else arguments.destinations(self, bound, given_out)
        bound |= named
        given, scalars = arguments.of_version(self, version, bound)
        hidden = self.capture()[1]
        for name, value in hidden.items():
            given[name] = arrays.describe(value, gpu=machines.of(version.target).on_device)
        out = () if given_out is None or named else given_out if isinstance(given_out, (tuple, list)) else (given_out,)
        arguments.refuse_gradients(self, [*bound.items(), *hidden.items(), *(("out", each) for each in out)])
        result = self._run(version, given, scalars, out, stream)
        return given_out if named else result

    def guards(self, slots: dict):
        return capture.guards(self.free_names, self._scope, slots)

    def _target_of(self, bound: dict) -> str:
        """The GPU that the arguments are on."""
        from . import cuda

        for name, value in bound.items():
            if arrays.is_on_gpu(value):
                try:
                    return cuda.target_of(arrays.describe(value, gpu=True).gpu)
                except ArgumentError as error:
                    self._fail(f"{name} {error}", name, getattr(error, "fix", "").replace("{x}", name))
        raise InternalError("no argument is on a GPU")

    @property
    def _leading(self) -> list[Parameter]:
        """Outs whose sizes only later parameters say: the runtime makes the others."""
        if self._leading_outs is None:
            found, known = [], set()
            for p in self.parameters:
                if p.kind == "out" and not arguments.names_of(p) <= known:
                    found.append(p)
                known.update(p.dims or () if p.kind != "out" else ())
            self._leading_outs = found
        return self._leading_outs

    def _run(self, version: Version, given: dict, scalars: dict, out: tuple, stream=None):
        made = arguments.made_outs(self, self._leading, given) if self._leading and not out else {}
        if made:
            result = self._run(version, {**given, **made}, scalars, out, stream)
            rest = iter(() if result is None else result if isinstance(result, tuple) else (result,))
            omitted = [p.name for p in self.parameters if p.kind == "out" and p.name not in given]
            results = [made[name].owner if name in made else next(rest) for name in omitted]
            return results[0] if len(results) == 1 else tuple(results)
        try:
            return version.run(given, scalars, out, stream)
        except ArgumentError as error:
            text, fix = str(error).strip(), getattr(error, "fix", "")
        arguments.check_shapes(self, given, out)
        self._run_refused(self._with_sizes(text, version, given, scalars, out), fix, out, version.library_of(given), given)

    @staticmethod
    def _with_sizes(text: str, version: Version, given: dict, scalars: dict, out: tuple) -> str:
        """What the runtime says of the rank of a result, with its sizes and those of the array that is given for it."""
        said = re.search(r"\bresult(?:\.(\d+))? must have rank", text)
        if said is None or any(mode not in ("in", "result") for _, _, _, mode, _ in version.tensors):  # it would be written again
            return text
        made, at = version.run(given, scalars, ()), int(said[1] or 0)
        shapes = [array.shape for array in (made if isinstance(made, tuple) else (made,))]
        is_, must = (" x ".join(map(str, shape)) for shape in (out[at].shape, shapes[at]))
        return f"{said[0].partition(' ')[0]} ({is_}) has another rank; {said[0].partition(' ')[0]} must be {must}"

    def note_call(self, spec: Spec, given: dict) -> None:
        """What the last call was, if nobody calls directly after it."""
        self._called, self._shapes = spec, {name: tuple(array.sizes) for name, array in given.items()}
        self._library = Version.library_of(given)
        self._last_direct = None

    @property
    def last_spec(self) -> Spec | None:
        """What the last call was, or else the last `compile`."""
        return self._direct.get(self._last_direct) or self._called or self._compiled

    def __get__(self, instance, owner=None):
        """Inside a class a function is a method; `self.scale` is then captured from it."""
        return self if instance is None else types.MethodType(self, instance)

    @entry
    def compile(self, *given, target: str = "cpu", targets: list[str] | None = None, **words) -> Version | dict[str, Version]:
        """Compiles without calling: `gemm.compile(A=fp16, B=fp16)`; sizes of whole dims by name, `D=128`.

        With `targets=["sm_80", "sm_90a"]`: a dict of them, with the machine code of GPUs made at the same time.
        """
        if targets is not None:
            from . import gpu

            return gpu.compile_all(self, [check_target(each, "") for each in targets], words)
        target = check_target(arguments.only_target(self, given, target))
        return self._with_key(lambda: self._version(arguments.spec_from_words(self, target, words)))

    def _with_key(self, make):
        while True:
            try:
                return make()
            except NewKey:
                self._compiled = self._called = None

    # ---- looking ----------------------------------------------------------------------------

    @entry
    def lower(self, stage: str, *given, target: str = "cpu", **words):
        """The program at a stage, as an object: `.text`, to be edited and given to `tsr.resume`."""
        target = check_target(arguments.only_target(self, given, target))
        machine, every = compiler.machine_of(machines.of(target).compiled_as), compiler.stages()
        stages = every[:every.index("tile-value") + 1] if machine["leaves_early"] else every
        shown = [*stages, *(name for name, is_text in machine["emissions"] if is_text)]
        if stage not in shown:
            near = {"ptx": "ptx", "cubin": "ptx", "sass": "ptx", "ttir": "tile-value", "ttgir": "tile", "asm": "target", "mlir": "graph", "hlo": "graph", "schedule": "sched"}.get(
                str(stage), source.nearest(stage, shown, "tile"))
            there = target if near in shown else "sm_80"
            call = source.call_of_user()
            words = [call.text(each) for each in call.keywords if each.arg != "target"] if call else []
            fix = f'"{near}"' if near in shown or call is None else call.written([f'"{near}"', *words, f'target="{there}"'])
            what = f"no stage is called {stage!r}"
            if stage == "ptx":
                what = f"{target} has no stage 'ptx', GPUs do"
            elif stage in every:
                what = f"target {target} leaves after stage {stages[-1]} and has no stage {stage!r}"
            more = [name for name, is_text in compiler.machine_of("sm_80")["emissions"] if is_text and name not in shown]
            of_gpus = f", for sm_80 also {', '.join(more)}" if more else ""
            raise ArgumentError(source.at_user(
                f"{what}; there are {', '.join(shown[:-1])} and {shown[-1]}{of_gpus}", fix, str(stage)))
        compilation = self._with_key(lambda: self._start(arguments.spec_from_words(self, target, words)))
        return _lower(compilation, stage) if stage in stages else compilation.emit(stage)

    @entry
    def inspect_ir(self, stage: str, *given, target: str = "cpu", **words) -> str:
        """The text of a stage: graph, sched, tile-value, tile, target (or llvm, and ptx for GPUs)."""
        return self.lower(stage, *given, target=target, **words)

    @entry
    def resume(self, text: str | None = None, target: str = "cpu") -> Version:
        """Compiles an edited stage text; the result is called like the function."""
        if isinstance(text, str) and re.fullmatch(r"[^\n{]*\.\w{1,5}", text):
            raise ArgumentError(source.at_user("resume takes the text of a stage, not the name of a file", f"{self.__name__}.resume(open({text!r}).read())", text))
        if not isinstance(text, str) or text in compiler.stages() or "module" not in text:
            named = isinstance(text, str) and text in compiler.stages()
            given = "its name" if named else "a text without a module" if isinstance(text, str) else a_kind(text)
            kind = CompileError if isinstance(text, str) and not named else ArgumentError
            raise kind(source.at_user(f"resume takes the text of a stage, not {given}",
                                      f'{self.__name__}.resume({self.__name__}.inspect_ir("{text if named else "tile"}"))', text if named else "resume"))
        try:
            compilation = compiler.compile_text(text, f"<{self.__name__}, edited>", self._options(check_target(target)))
        except CompileError as error:
            if " fix: " in str(error):
                raise
            stage = re.search(r'tessera\.stage = "([\w-]+)"', text)
            known = stage[1] if stage and stage[1] in compiler.stages() else "tile"
            was = self._line_before_edit(text, str(error), known, target)
            fix = f'{was}  # as inspect_ir("{known}") has it' if was else f'{self.__name__}.inspect_ir("{known}") prints it as it was; the line above is where it differs'
            raise CompileError(f"{str(error).rstrip()}\n fix:  {fix}\n") from None
        try:
            return make_version(self, target, compilation, None)
        except InternalError as error:  # the host program is text of the stage, too
            if not re.match(r"plan line \d+: ", str(error)):
                raise
            raise CompileError(source.at_user(f"the edited text has a plan that cannot be read: {str(error).strip()}",
                                              f'{self.__name__}.inspect_ir("target"), and its plan.func as it is there')) from None

    def _line_before_edit(self, text: str, message: str, stage: str, target: str) -> str:
        """The line of the stage that the edited one, which the message names, was made of; "" if it is not known."""
        place = re.search(r", edited>:(\d+):\d+: stage", source.without_colour(message))
        try:
            before = str(self.inspect_ir(stage, target=target)).splitlines()
        except TesseraError:
            return ""
        edited = text.splitlines()
        if not place or not 0 < int(place[1]) <= len(edited):
            return ""
        line = int(place[1]) - 1
        for kind, a, b, c, d in difflib.SequenceMatcher(None, before, edited, autojunk=False).get_opcodes():
            if kind == "replace" and c <= line < d and b - a == d - c:
                return before[a + line - c].rpartition("  // ")[0].strip() or before[a + line - c].strip()
        return ""

    @entry
    def explain(self, *args, target: str = "cpu", costs: bool = True, **words) -> str:
        """Each decision, who took it, its predicted cost and the alternatives with theirs; and what the version is keyed by.

        The prediction is for the arrays in `args`, for dims that are given (`M=1024`), or for the sizes of the last call; sizes that nobody said
        are assumed, and the text says so. `costs=False` leaves it out.
        """
        target = check_target(target)

        def start():
            spec, shapes, dims = self._explained(args, target, words)
            return spec, shapes, dims, self._start(spec)

        spec, shapes, dims, compilation = self._with_key(start)
        compilation.lower("sched")
        predicted = explain.Costs(self, spec, shapes, dims) if costs and machines.of(target).in_process else None
        return explain.render(self, spec, compilation.decisions(), predicted)

    def _explained(self, args: tuple, target: str, words: dict) -> tuple[Spec, dict, dict]:
        """A version, and shapes and sizes to predict its cost for."""
        if args:
            specs, given, _ = arguments.argument_specs(self, arguments.bind(self, args, words), target)
            arguments.check_shapes(self, given)
            return Spec(specs, self.capture()[0], target, self.options.tuned), {name: tuple(array.sizes) for name, array in given.items()}, {}
        dims = {dim for p in self.parameters for dim in p.dims or ()}
        sizes = {name: value for name, value in words.items() if name in dims and type(value) is int and not any(p.name == name for p in self.parameters)}
        whole = {p.dims[axis] for p in self.parameters if p.dims for axis in p.whole_axes}
        if sizes and len(sizes) == len(words) and not whole & set(sizes):
            words = {}  # sizes alone are those of a call like the last
        spec = arguments.spec_from_words(self, target, words)
        return spec, {} if sizes or words else dict(self._shapes), sizes

    def _not_yet(self, verb: str, when: str):
        raise CompileError(source.at_user(f"not yet: {self.__name__}.{verb} comes with {when}",
                                          f"{self.__name__}(...), {self.__name__}.inspect_ir(\"tile\") or {self.__name__}.explain()", verb.partition("(")[0]))

    @entry
    def run(self, *args, stage: str = "graph", domain: str = "exact", seed: int = 0, target: str = "cpu", **kwargs):
        """Executes a stage on these arguments by the interpreter: graph, sched, tile-value, tile; target is the machine code.

        `domain`: exact (each op rounds to its dtype), reference (nothing is rounded; float64 arrays), ring (a float's
        bits are an element of an integer ring), bound. No argument is written: what would be is returned.
        """
        from . import oracle

        return oracle.run(self, args, kwargs, stage, domain, seed, target)

    @entry
    def certificate(self, *args, samples: int = 3, seed: int = 0, **kwargs):
        """How wrong this can be, as a formula in the dims; with arrays also measured, on `samples` random inputs like them."""
        from . import certificate

        return certificate.certify(self, args, kwargs, samples, seed)

    @entry
    def performance_report(self, *args, target: str = "sm_80", **kwargs):
        """What can be known of this call's speed without the GPU: resources, instructions, traffic, a bound (tessera/performance.py)."""
        from . import performance

        return performance.performance_report(self, *args, target=target, **kwargs)

    @entry
    def trace(self, *args, stage: str = "graph", domain: str = "exact", target: str = "cpu", **kwargs):
        """Every value that a stage computes on these arguments, with your names and lines (tessera/trace.py)."""
        from . import trace

        return trace.trace(self, args, kwargs, stage, domain, check_target(target))

    @entry
    def check(self, *args, target: str = "cpu", reference=None, show: bool = True, **kwargs):
        """Every stage, the machine code and, for a GPU, the PTX on the simulator, on these arguments: one table.

        Raises a `CheckError` with the first bad stage, element and source line. `reference`: a function of the same arguments,
        in float64, that the results are compared with as well.
        """
        from . import check

        return check.check(self, args, kwargs, target, reference, show)

    @entry
    def bisect(self, *args, target: str = "cpu", folder: str | None = None, **kwargs):
        """Which pass is the first whose result differs on these arguments (tessera/bisect.py)."""
        from . import bisect

        return bisect.bisect(self, args, kwargs, check_target(target), folder)

    @entry
    def tune(self, *args, seconds: float | None = None, budget: int | None = None, space: dict | None = None, where: str | None = None,
             numerics: str | None = None, strategy: str | None = None, autotuning: dict | None = None, cache: str | None = None,
             target: str | None = None, progress: bool | None = None, **kwargs):
        """Measures configurations on copies of these arguments; the next calls with these sizes run the quickest that the oracle accepts.

        `space`: values by name; if it is left out, those of `@autotune`, or what the schedule leaves open (`explain` shows it). `autotuning`: the
        usage guide's dictionary. `strategy`: auto, exhaustive, tpe, random. `numerics`: fixed (the default's bits) or open (its bounds).
        What was measured before, by this or another process, is not measured again. `progress=True` prints where stderr is no terminal.
        """
        from . import tuner

        return tuner.tune(self, args, kwargs, None if target is None else check_target(target), seconds, budget, space, where, numerics,
                          strategy, autotuning, cache, progress)

    @entry
    def aot(self, directory=None, targets=("cpu",), name: str | None = None, **words) -> list[str]:
        """A library without Python: `attention.aot("out", Q=fp16, K=fp16, V=fp16, D=[64, 128])`; the files written.

        Element types and sizes of whole dims are said as for `compile`; a list makes a version of each.
        """
        from . import aot

        if directory is None:
            call = source.call_of_user()
            fix = f'{self.__name__}.aot({", ".join([chr(34) + "build" + chr(34), *map(call.text, call.keywords)])})' if call else ""
            raise ArgumentError(source.at_user(f"{self.__name__}.aot needs the folder that the library goes into", fix, self.__name__))
        return aot.build(self, directory, targets, name, **words)

    @entry
    def __getitem__(self, grid):
        raise ArgumentError(source.at_user(
            f"{self.__name__}[...]: a {self.kind} is called without a launch grid; it follows from tsr.grid",
            source.call_without(self.__name__) or self._call_text(), self.__name__))

    @entry
    def _no_arithmetic(self, *_):
        raise ArgumentError(source.at_user(f"{self.__name__} is a {self.kind}; call it, its result is an array", self._call_text(), self.__name__))

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __matmul__ = __rmatmul__ = __neg__ = _no_arithmetic

    @entry
    def __iter__(self):
        raise ArgumentError(source.at_user(f"{self.__name__} is a {self.kind}, which is called, not iterated over", self._call_text(), self.__name__))

    @entry
    def __getattr__(self, name: str):
        if name.startswith("_"):  # Python's own protocols
            raise AttributeError(name)
        known = [n for n in dir(type(self)) if not n.startswith("_")]
        fixes = {"ptx": 'inspect_ir("target")', "asm": 'inspect_ir("target")', "sass": 'inspect_ir("target")', "cubin": 'compile(target="cpu")',
                 "warmup": 'compile(target="cpu")', "lower_ir": 'inspect_ir("tile")', "ir": 'inspect_ir("tile")', "code": 'inspect_ir("target")',
                 "cache": "captured", "best_config": "explain()", "signature": "parameters", "cost_analysis": "explain()", "shape": "parameters"}
        near = fixes.get(name) or source.nearest(name, known, "")
        fix = f"{self.__name__}.{near}" if near else source.call_without(self.__name__, name) or self._call_text()
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
