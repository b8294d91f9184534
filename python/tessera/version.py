"""One compiled version of a function: machine code and plan, bound to this process.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import struct
import time

from . import _runtime, arguments, arrays, keys, machines
from .arguments import NewKey
from .dtypes import by_storage, to_numpy
from .errors import ArgumentError
from .knobs import knobs
from .machine_code import Kernels
from .wording import a_kind, entry, no_attribute, refuse, remind


def _where(gpu) -> str:
    return "on the CPU" if gpu is None else f"on {gpu.name}"


class Runner:
    """What versions of all machines do with arguments; `executable`, `tensors` and `scalars` are theirs."""

    def _place(self, given: dict, library: str, stream):
        """The GPU and the stream of a call: none on the CPU."""
        for name, array in given.items():
            if array.gpu is not None:
                refuse(f"{name} is {_where(array.gpu)}, but {self.name} is compiled for {self.target}", f"{name}.cpu()")
        return None, 0

    @entry
    def __call__(self, *args, **kwargs):
        """Runs this version; arguments as for the function, consts left out."""
        return self.function.call_version(self, args, kwargs)

    @staticmethod
    def library_of(given: dict) -> str:
        """Of the first array, whose library makes the results."""
        return next(iter(given.values())).library if given else "numpy"

    def run(self, given: dict, scalars: dict, out: tuple, stream=None):
        """`given`: arrays by parameter name; `out`: arrays for what is left out."""
        library = self.library_of(given)
        gpu, handle = self._place(given, library, stream)
        absent = [(storage, rank) for name, storage, rank, mode, _ in self.tensors if mode == "result" or name not in given]
        if out and len(out) != len(absent):
            has, are = ("is 1 array" if len(out) == 1 else f"has {len(out)} arrays"), ("is" if len(absent) == 1 else "are")
            refuse(f"out= {has}, but {len(absent)} {are} returned", self.function._out_with_others(absent))
        waiting = list(out)
        tensors, returned = [], []
        written: list = []  # torch's tensors
        copied: dict = {}  # results whose memory the kernels cannot write
        for index, (name, storage, rank, mode, may_be_absent) in enumerate(self.tensors):
            array, place = given.get(name) if mode != "result" else None, ""
            if array is None:
                if waiting:
                    place = f"out[{len(out) - len(waiting)}]" if len(out) > 1 else "out="
                    owner = waiting.pop(0)
                    array = arrays.describe(owner, gpu is not None)
                    if array is not None and array.gpu != gpu:
                        refuse(f"{place} is {_where(array.gpu)}, but the result is {_where(gpu)}", self.function._without_out())
                    if array is None:
                        refuse(f"{place} is {a_kind(owner)}, not an array", self.function._without_out())
                    returned.append((index, owner))
                    if array.sizes and array.strides[-1] != 1 and array.sizes[-1] != 1:
                        # What the caller leaves out is written along its last axis: into fresh memory, then copied.
                        if not array.writable:
                            refuse(f"{place} is read-only, but {self.name} writes it", "out.copy()")
                        copied[index] = owner
                        tensors.append(None)
                        continue
                else:
                    if mode != "result" and not may_be_absent:
                        refuse(f"argument {name} is missing; its size follows from no other argument", "")
                    tensors.append(None)
                    continue
            if array.dtype.storage != storage:
                wanted = by_storage(storage)
                refuse(f"{place or name} is {array.dtype}, but {'the result is' if place else 'this version takes'} {wanted}",
                       f'{name}.astype("{to_numpy(storage)}")' if not place else arguments.empty_text("out", array.library, tuple(array.sizes), wanted.name))
            if mode != "in" and not array.writable:
                refuse(f"{place or name} is read-only, but {self.name} writes it", f"{'out' if place else name}.copy()")
            if mode != "in" and array.library == "torch":
                written.append(array.owner)
            tensors.append(array.for_runtime())
        if copied:
            arrays.refuse_overlap([owner for _, owner in returned], {name: array.owner for name, array in given.items()})
        values = [_bits(scalars[name], storage, name, self.name) for name, storage in self.scalars]
        order = []

        def allocate(index, storage, shape):
            order.append(index)
            return arrays.allocate(library, storage, shape, gpu, handle)

        made = self._execute(tensors, values, allocate, gpu, handle)
        arrays.note_written(written)
        for index, value in zip(order, made):
            if index in copied:
                arrays.copy_into(copied[index], value, f"{self.name}: out=")
            else:
                returned.append((index, value))
        returned = [value for _, value in sorted(returned, key=lambda pair: pair[0])]
        if not returned:
            return None
        return returned[0] if len(returned) == 1 else tuple(returned)


class Version(Runner):
    """One compiled version: machine code and plan, bound to this process."""

    def __init__(self, fn, target: str, artifact: Kernels, remarks: list[str], spec):
        self.name, self.function = fn.__name__, fn
        self.target = target
        self.spec = spec
        self.artifact = artifact
        for remark in remarks:
            remind(remark)
        self.executable = _runtime.Executable(artifact.plan, artifact)
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
        return {"object_bytes": len(self.artifact.object), "kernels": len(self.executable.kernels)}

    def __getattr__(self, name: str):
        raise no_attribute(self, name)

    def __repr__(self) -> str:
        return f"<{self.name} compiled for {self.target}, {len(self.executable.kernels)} kernels>"

    def _execute(self, tensors: list, values: list, allocate, gpu, stream: int):
        return self.executable.run(tensors, values, allocate)


def make_version(fn, target: str, compilation, spec):
    """One version, for the machine the target names."""
    if machines.of(target).in_process:
        artifact = compilation.finish()
        return Version(fn, target, Kernels(artifact.plan, None, artifact), list(compilation.remarks), spec)
    from . import gpu

    kind = gpu.SimVersion if machines.of(target).simulated else gpu.GpuVersion
    version = kind(fn, target, compilation, spec)
    for remark in version.remarks:
        remind(remark)
    return version


def version_of(fn, spec):
    """A version for `spec`: of the disk cache, else compiled and published there."""
    store = keys.store() if machines.of(spec.target).in_process else None
    try:
        inputs = keys.version(fn, spec) if store is not None else None
    except (keys.NoKey, TypeError):  # TypeError: a value that has no form on disk
        inputs = None
    if inputs is None:
        return make_version(fn, spec.target, fn._start(spec), spec)
    fn._remind_ignored(spec)
    begin, compiled, made = time.perf_counter(), None, None

    def compile() -> dict:
        nonlocal compiled, made
        if made is not None:
            return made
        try:
            compilation = fn._start(spec)
        except NewKey as more:
            return {"axes": more.axes}
        compiled = compilation.finish()
        made = {"plan": compiled.plan, "remarks": list(compilation.remarks)}
        return made

    def compile_anywhere() -> dict:
        fields = compile()
        # Where in its file the source is belongs to the key of those only that name it.
        named = any(place[0] in fields.get("plan", "") for place in keys.places(fn, spec.captured))
        placed = knobs.debug or bool(fields.get("remarks")) or named
        return {"placed": True} if placed else fields

    fields = store.get(inputs, compile_anywhere)
    if "placed" in fields:
        inputs = keys.placed(inputs, fn, spec.captured)
        fields = store.get(inputs, compile)
    if "axes" in fields:
        fn._extend_key(fields["axes"])
    milliseconds = (time.perf_counter() - begin) * 1e3 if compiled is None else None
    kernels = Kernels(fields["plan"], lambda: fn._start(spec), compiled, inputs, store, milliseconds)
    return Version(fn, spec.target, kernels, fields["remarks"], spec)


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
        refuse(f"{name} = {number} does not fit 64 bits", f"{name}=2**63 - 1, the largest")
    return number
