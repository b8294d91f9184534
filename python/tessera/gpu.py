"""Versions for GPUs: PTX, CUDA Tile IR bytecode, and PTX that runs on the simulator.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import tempfile

from . import arrays, keys
from .errors import ArgumentError, CompileError, InternalError
from .wording import no_attribute

NAMES = re.compile(r"(sim:|cudatile:)?sm_(80|86|87|88|89|90|100|103|110|120|121)[af]?")


def is_gpu(target: str) -> bool:
    return NAMES.fullmatch(target) is not None


# An access to shared memory in the mapped stage, with what its two layouts say of it, and the user's line.
_ACCESS = re.compile(r"tile\.(cp_async|local_load) .*?conflicts = (\d+).*// (\S+)$", re.M)


class GpuVersion:
    """One compiled version: `ptx` or, for `cudatile:...`, `bytecode`; and the plan that launches it."""

    def __init__(self, fn, target: str, compilation, spec):
        self.name, self.target, self.spec = fn.__name__, target, spec
        self.ptx = self.bytecode = None
        self._accesses = []
        if target.startswith("cudatile:"):
            self.bytecode = compilation.cudatile()
        else:
            compilation.lower("tile")
            self._accesses = _ACCESS.findall(compilation.print())
            self.ptx = compilation.ptx()
        self.plan = compilation.plan
        self.remarks = list(compilation.remarks)

    @property
    def chip(self) -> str:
        return self.target.rpartition(":")[2]

    @property
    def kernels(self) -> list[dict]:
        """Name, threads of a block and bytes of shared memory, as a launch needs them (docs/abi.md, section 7)."""
        found = re.findall(r"^ *launch @([\w$.]+)\(.* block (\d+) shared (\d+)", self.plan, re.M)
        return [{"name": name, "block": int(block), "shared": int(shared)} for name, block, shared in dict.fromkeys(found)]

    @property
    def cubin(self) -> bytes:
        """Machine code, by NVIDIA's assembler (`ptxas`) or tile compiler (`tileiras`) on the PATH."""
        return self._assemble()[0]

    @property
    def sass(self) -> str:
        """The machine code as text, by NVIDIA's disassembler."""
        path = shutil.which("nvdisasm")
        if path is None:
            raise CompileError("error: nvdisasm is not on the PATH; it shows machine code as text\n fix:  pip install nvidia-cuda-nvdisasm\n")
        with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
            file.write(self.cubin)
            file.flush()
            return subprocess.run([path, "-c", file.name], capture_output=True, text=True, check=True).stdout

    @property
    def resources(self) -> dict:
        """What the assembler says of each kernel; "not measured" without one."""
        if self.ptx is None:
            return {"bytecode_bytes": len(self.bytecode)}
        if shutil.which("ptxas") is None:
            return {kernel["name"]: "not measured" for kernel in self.kernels}
        text, result = self._assemble()[1], {}
        for name, body in re.findall(r"Compiling entry function '([^']+)'(.*?)Compile time", text, re.S):
            numbers = {key: int(n) for n, key in re.findall(r"(\d+) bytes (stack frame|spill stores|spill loads|smem)", body)}
            result[name] = {
                "registers": int(re.search(r"Used (\d+) registers", body)[1]),
                "spill_stores": numbers["spill stores"],
                "spill_loads": numbers["spill loads"],
                "shared": numbers.get("smem", 0),
            }
        return result

    @property
    def report(self) -> str:
        """Kernels with what they need, and the bank conflicts of each access to shared memory, computed from the layouts."""
        lines, resources = [], self.resources
        for kernel in self.kernels:
            known = resources[kernel["name"]]
            used = known if isinstance(known, str) else f"{known['registers']} registers, {known['spill_stores'] + known['spill_loads']} bytes spilled"
            lines.append(f"{kernel['name']}: {kernel['block']} threads, {kernel['shared']} bytes of shared memory; {used}")
        what = {"cp_async": "copy into shared memory", "local_load": "operands from shared memory"}
        lines += [f"  {place}: {what[op]}: {conflicts} bank conflicts" for op, conflicts, place in self._accesses]
        return "\n".join([*lines, "time: not measured"])

    def _assemble(self) -> tuple[bytes, str]:
        tool, package = ("ptxas", "nvidia-cuda-nvcc") if self.ptx is not None else ("tileiras", "nvidia-cuda-tileiras")
        path = shutil.which(tool)
        if path is None:
            raise CompileError(f"error: {tool} is not on the PATH; it makes machine code of what Tessera writes\n fix:  pip install {package}\n")
        text = self.ptx.encode() if self.ptx is not None else self.bytecode
        words = ["-v", "-arch", self.chip] if self.ptx is not None else ["--gpu-name", self.chip.rstrip("af")]

        def assemble() -> dict:
            with tempfile.TemporaryDirectory() as folder:
                source, target = os.path.join(folder, "kernel"), os.path.join(folder, "cubin")
                with open(source, "wb") as file:
                    file.write(text)
                done = subprocess.run([path, *words, source, "-o", target], capture_output=True, text=True)
                if done.returncode:
                    raise InternalError(f"{tool} refuses what was compiled for {self.target}:\n{done.stderr}{done.stdout}")
                with open(target, "rb") as file:
                    return {"cubin": file.read(), "said": done.stderr + done.stdout}

        store = keys.store()
        found = assemble() if store is None else store.get(keys.assembled(text, path, words), assemble)
        return found["cubin"], found["said"]

    def __call__(self, *args, **kwargs):
        """Runs this version; arguments as for the function, consts left out."""
        names = re.findall(r"^(?:arg|result) [%$]([\w.]+)", self.plan, re.M)
        given = dict(zip([name for name in names if name not in kwargs], args), **kwargs)
        found = {name: arrays.describe(value) for name, value in given.items()}
        return self.run({n: a for n, a in found.items() if a is not None}, {n: v for n, v in given.items() if found[n] is None}, ())

    def run(self, given: dict, scalars: dict, out: tuple):
        raise ArgumentError(
            f"{self.name} is compiled for {self.target}, but launching on a GPU is not there yet; target=\"sim:{self.chip}\" runs it on the simulator"
        )

    def __getattr__(self, name: str):
        raise no_attribute(self, name)

    def __repr__(self) -> str:
        return f"<{self.name} compiled for {self.target}>"


# ---- the simulator -----------------------------------------------------------------------------


class _CeilDiv:
    """`a // _ceil // b` is the ceiling of a / b, with the precedence of a product."""

    def __rfloordiv__(self, a):
        return _CeilDiv._Of(a)

    class _Of(int):
        def __floordiv__(self, b):
            return -(-int(self) // b)


def _python(text: str) -> str:
    """A plan's expression (docs/abi.md, section 3) as Python's."""
    text = re.sub(r"%([\w.]+)", r"t['\1']", text)
    text = re.sub(r"\$([\w.]+)", r"v['\1']", text)
    return text.replace(" ceildiv ", " // _ceil // ").replace(" floordiv ", " // ").replace(" mod ", " % ")


class _Tensor:
    def __init__(self, storage: str, address: int, sizes, strides, owner):
        self.storage, self.address, self.sizes, self.strides, self.owner = storage, address, tuple(sizes), tuple(strides), owner

    def extent(self, item: int) -> tuple[int, int]:
        """Lowest byte and number of bytes."""
        if 0 in self.sizes:
            return self.address, 0
        low = sum(min(0, (n - 1) * s) for n, s in zip(self.sizes, self.strides))
        high = sum(max(0, (n - 1) * s) for n, s in zip(self.sizes, self.strides))
        return self.address + low * item, (high - low + 1) * item


class SimVersion(GpuVersion):
    """Runs the plan with its kernels on the simulator; `last_reports` tells what it saw."""

    def __init__(self, fn, target: str, compilation, spec):
        super().__init__(fn, target, compilation, spec)
        from . import sim

        self.check, self.count = True, False
        self.last_reports: list = []
        self.launched: list = []  # the kernels of the last run
        self.device = sim.Device()
        self.module = self.device.load(self.ptx)
        self.arguments, self.steps = [], []
        body = False
        for line in self.plan.splitlines():
            words = line.split()
            if body:
                self.steps.append(line.strip())
            elif words[:1] == ["body"]:
                body = True
            elif words[:1] in (["arg"], ["result"]):
                self.arguments.append(line)
        self.steps.pop()  # the last `end`

    def run(self, given: dict, scalars: dict, out: tuple):
        library = next(iter(given.values())).library if given else "numpy"
        tensors, values, waiting, returned, made = {}, {}, list(out), [], []
        for line in self.arguments:
            if scalar := re.match(r"arg \$([\w.]+) (\w+)", line):
                name, kind = scalar.groups()
                values[name] = float(scalars[name]) if kind == "f64" else int(scalars[name])
                continue
            word, name, mode, storage, axes = re.match(r"(arg|result) %([\w.]+) (?:(in|out|inout|reduce) )?(\w+) \[(.*)\]", line).groups()
            array = given.get(name) if word == "arg" else None
            if array is None and mode in (None, "out"):
                if waiting:
                    array = arrays.describe(waiting[0])
                    returned.append(waiting.pop(0))
                else:
                    made.append((name, storage, axes))
                    returned.append(name)
                    continue
            if array is None:
                raise ArgumentError(f"{self.name}: argument {name} is missing")
            if array.dtype.storage != storage:
                raise ArgumentError(f"{self.name}: {name} is {array.dtype}, this version takes {storage}")
            tensors[name] = _Tensor(storage, array.address, array.sizes, array.strides, array.owner)
            for axis, size in zip(_split(axes), array.sizes):
                if dim := re.fullmatch(r"\$([\w.]+)", axis):
                    if values.setdefault(dim[1], size) != size:
                        raise ArgumentError(f"{self.name}: {name} disagrees on {dim[1]}: {values[dim[1]]} and {size}")
        for name, storage, axes in made:
            shape = tuple(self._value(axis, tensors, values) for axis in _split(axes))
            tensors[name] = self._allocate(library, storage, shape)
        self.last_reports, self.launched = [], []
        self._run_steps(0, len(self.steps), tensors, values)
        results = [tensors[r].owner if isinstance(r, str) else r for r in returned]
        return None if not results else results[0] if len(results) == 1 else tuple(results)

    @staticmethod
    def _allocate(library: str, storage: str, shape: tuple) -> _Tensor:
        owner, address = arrays.allocate(library, storage, shape)
        strides = [1] * len(shape)
        for axis in range(len(shape) - 2, -1, -1):
            strides[axis] = strides[axis + 1] * shape[axis + 1]
        return _Tensor(storage, address, shape, strides, owner)

    @staticmethod
    def _value(text: str, tensors: dict, values: dict) -> int:
        names = {
            "t": tensors, "v": values, "_ceil": _CeilDiv(), "min": min, "max": max,
            "size": lambda t, axis: t.sizes[axis], "stride": lambda t, axis: t.strides[axis], "address": lambda t: t.address,
            "select": lambda c, a, b: a if c else b, "__builtins__": {},
        }
        return eval(_python(text), names)  # our own plan, written by the compiler

    def _arms(self, start: int) -> tuple[int, int]:
        """Of the `if` at `start`: where its `else` (or the end) and its `end` stand."""
        depth, middle = 0, -1
        for at in range(start, len(self.steps)):
            word = self.steps[at].partition(" ")[0]
            depth += (word in ("if", "loop")) - (word == "end")
            if depth == 1 and word == "else":
                middle = at
            if depth == 0:
                return (middle if middle >= 0 else at), at
        raise InternalError(f"{self.name}: an 'if' of the plan has no end")

    def _run_steps(self, at: int, stop: int, tensors: dict, values: dict) -> None:
        while at < stop:
            line = self.steps[at]
            if line.startswith("if "):
                middle, end = self._arms(at)
                holds = self._value(line.removeprefix("if "), tensors, values)
                self._run_steps(*((at + 1, middle) if holds else (middle + 1, end)), tensors, values)
                at = end
            else:
                self._step(line, tensors, values)
            at += 1

    def _step(self, line: str, tensors: dict, values: dict) -> None:
        word = line.partition(" ")[0]
        if word == "check":
            condition, text = re.match(r"check (.*?) : \"(.*)\"$", line).groups()
            if not self._value(condition, tensors, values):
                shown = re.sub(r"\{(\$[\w.]+)\}", lambda m: str(values[m[1][1:]]), text)
                raise ArgumentError(f"{self.name}: {shown}")
        elif word == "let":
            name, text = re.match(r"let \$([\w.]+) = (.*)", line).groups()
            values[name] = self._value(text, tensors, values)
        elif word == "alloc":
            name, storage, sizes = re.match(r"alloc %([\w.]+) (\w+) \[(.*)\]", line).groups()
            tensors[name] = self._allocate("numpy", storage, tuple(self._value(s, tensors, values) for s in _split(sizes)))
        elif word == "view":
            name, base, offset, sizes, strides = re.match(
                r"view %([\w.]+) = %([\w.]+) offset (.*) sizes \[(.*)\] strides \[(.*)\]", line).groups()
            source = tensors[base]
            address = source.address + self._value(offset, tensors, values) * _item(source.storage)
            shape, steps = ([self._value(s, tensors, values) for s in _split(text)] for text in (sizes, strides))
            tensors[name] = _Tensor(source.storage, address, shape, steps, source.owner)
        elif word == "launch":
            self._launch(line, tensors, values)
        elif word != "free":
            raise CompileError(f"error: not yet: {self.name} on the simulator: a loop between kernels\n fix:  target=\"cpu\", which has it\n")

    def _launch(self, line: str, tensors: dict, values: dict) -> None:
        name, operands, grid, block, shared = re.match(r"launch @([\w$.]+)\((.*?)\) grid (.*?)(?: threads .*?| work .*?)* block (\d+) shared (\d+)", line).groups()
        grid = self._value(grid, tensors, values)
        if grid == 0:
            return
        views, _, numbers = operands.partition(";")
        packed = []
        exposed = {}
        for view in _split(views):
            tensor = tensors[view.strip()[1:]]
            low, size = tensor.extent(_item(tensor.storage))
            if size and exposed.get(low, (0,))[0] < size:
                exposed[low] = (size, view.strip()[1:])
            packed += [struct.pack("<Q", tensor.address), *(struct.pack("<q", n) for n in (*tensor.sizes, *tensor.strides))]
        for number in _split(numbers):
            value = self._value(number, tensors, values)
            packed.append(struct.pack("<d", value) if isinstance(value, float) else struct.pack("<Q", value & (2**64 - 1)))
        layout = self.module.parameters(name)
        buffer = bytearray(max((offset + size for offset, size in layout), default=0))
        for (offset, size), raw in zip(layout, packed, strict=True):
            buffer[offset : offset + size] = raw[:size]
        for address, (size, what) in exposed.items():
            self.device.expose(address, size, what)
        try:
            report = self.module.launch(
                name, grid, int(block), bytes(buffer), arch=self.chip, check=self.check, count=self.count,
                shared=int(shared) if int(shared) > 48 * 1024 else 0)
        finally:
            for address in exposed:
                self.device.unexpose(address)
        self.last_reports.append(report)
        self.launched.append(name)
        if not report.ok:
            raise InternalError(f"{self.name} on the simulator, kernel {name}:\n{report.text()}")


def _item(storage: str) -> int:
    """Bytes of an element."""
    return 1 if storage == "bool" else int(re.search(r"\d+", storage)[0]) // 8


def _split(text: str) -> list[str]:
    """Items between commas that are in no parentheses."""
    items, depth, item = [], 0, ""
    for c in text:
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            items.append(item.strip())
            item = ""
        else:
            item += c
    return [*items, item.strip()] if item.strip() else items
