"""Versions for GPUs: PTX, CUDA Tile IR bytecode; running them on a GPU, or on the simulator's driver.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import functools
import os
import re
import subprocess
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

from . import _runtime, architectures, assemble, cuda, keys, machines
from .errors import ArgumentError, CompileError, DeviceError, RunError
from .knobs import knobs
from .version import Runner
from .wording import no_attribute, refuse


def is_gpu(target: str) -> bool:
    """Is it a machine of the table, or that machine's simulator, or CUDA Tile IR for it (sm_80 and newer, as tileiras)?"""
    machine = machines.of(target)
    if machine.kind not in ("cuda", "sim", "cudatile") or not architectures.is_known(machine.arch):
        return False
    return not machine.in_bytecode or architectures.order(machine.arch) >= (8, 0)


class GpuVersion(Runner):
    """One compiled version: `ptx` or, for `cudatile:...`, `bytecode`; the plan that launches it, and its `kernels`: name, threads of a block
    and bytes of shared memory."""

    def __init__(self, fn, target: str, compilation, spec):
        self.name, self.function, self.target, self.spec = fn.__name__, fn, target, spec
        self.ptx = self.bytecode = self._made = None
        self._lock = threading.Lock()
        self._accesses = []
        if machines.of(target).in_bytecode:
            self.bytecode = compilation.emit("cudatile")
        else:
            if compilation.stage != "target":  # a resumed text is past the stage that shows accesses
                compilation.lower("tile")
                self._accesses = [access for access in compilation.facts()["bank_conflicts"] if access[2]]
            self.ptx = compilation.emit("ptx")
        self.plan = compilation.plan
        # As a launch needs them (docs/abi.md, section 7).
        self.kernels = [{"name": name, "block": block, "shared": shared} for name, _, block, shared in compilation.kernels if block >= 0]
        self.remarks = list(compilation.remarks)

    @property
    def chip(self) -> str:
        """The machine it is compiled for: sm_90a if it was asked for sm_90."""
        machine = machines.of(self.target)
        return machine.arch if machine.in_bytecode else architectures.promoted(machine.arch)

    @property
    def cubin(self) -> bytes:
        """Machine code, by NVIDIA's newest assembler (`ptxas`) or tile compiler (`tileiras`) that is found."""
        made = self._assemble()
        if self.ptx is not None and not knobs.allow_spills:
            assemble.refuse_spills(self.name, self.target, assemble.resources(made["said"]))
        return made["cubin"]

    @property
    def sass(self) -> str:
        """The machine code as text, by NVIDIA's disassembler."""
        path = assemble.need("nvdisasm")
        with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
            file.write(self.cubin)
            file.flush()
            return subprocess.run([path, "-c", file.name], capture_output=True, text=True, check=True).stdout

    @property
    def resources(self) -> dict:
        """What the assembler says of each kernel; "not measured: " and why without one."""
        if self.ptx is None:
            return {"bytecode_bytes": len(self.bytecode)}
        why = "no ptxas is installed" if assemble.find("ptxas") is None else \
            "" if architectures.arch(self.chip)["assembles"] else f"ptxas knows {self.chip} no longer"
        if why:
            return {kernel["name"]: f"not measured: {why}" for kernel in self.kernels}
        used = assemble.resources(self._assemble()["said"])
        for kernel in self.kernels:  # the assembler does not see what the launch asks for
            used[kernel["name"]]["shared"] = kernel["shared"]
        return used

    @property
    def report(self) -> str:
        """Kernels with what they need, and the bank conflicts of each access to shared memory, computed from the layouts."""
        lines, resources = [], self.resources
        for kernel in self.kernels:
            known = resources[kernel["name"]]
            used = known if isinstance(known, str) else f"{known['registers']} registers, {known['spill_stores'] + known['spill_loads']} bytes spilled"
            lines.append(f"{kernel['name']}: {kernel['block']} threads, {kernel['shared']} bytes of shared memory; {used}")
        what = {"cp_async": "copy into shared memory", "local_load": "operands from shared memory"}
        # A copy that a pipeline begins early is in the code twice.
        lines += dict.fromkeys(f"  {place}: {what[op]}: {conflicts} bank conflicts" for op, conflicts, place in self._accesses)
        return "\n".join([*lines, "time: not measured: nothing was run"])

    def _assemble(self) -> dict:
        with self._lock:
            if self._made is None:
                self._made = self._assemble_now()
            return self._made

    def _assemble_now(self) -> dict:
        what = f"{self.name} for {self.target}"
        if self.ptx is None:
            path = assemble.need("tileiras")
            command = [path, "--gpu-name", self.chip.rstrip("af"), "@source", "-o", "@target"]
            store, make = keys.store(), lambda: assemble.run(command, self.bytecode, ".tilebc", what)
            return make() if store is None else store.get(keys.assembled(self.bytecode, path, command[1:]), make)
        if not architectures.arch(self.chip)["assembles"]:
            raise CompileError(f"error: {what}: CUDA 13 has no assembler for {self.chip}; this target is PTX text only\n fix:  target=\"sm_75\"\n")
        return assemble.ptxas(self.ptx, self.chip, what)

    # ---- running ----------------------------------------------------------------------------

    @functools.cached_property
    def executable(self):
        """The plan with its kernels: machine code if the assembler is there, and PTX, which a newer driver compiles itself."""
        if self.ptx is None:
            raise ArgumentError(f"{self.name} is compiled for {self.target}, and plans of CUDA Tile IR are not launched yet")
        return _runtime.Executable.of_images(self.plan, self.images)

    @property
    def images(self) -> list[tuple[str, bytes]]:
        assembles = assemble.find("ptxas") and architectures.arch(self.chip)["assembles"]
        cubin = [(self.chip, self.cubin)] if assembles else []
        return [*cubin, (self.chip, self.ptx.encode())]

    @property
    def tensors(self) -> list:
        return self.executable.tensors

    @property
    def scalars(self) -> list:
        return self.executable.scalars

    def _place(self, given: dict, library: str, stream):
        placed = {name: array.gpu for name, array in given.items()}
        gpu = next((known for known in placed.values() if known is not None), None)
        if gpu is None:
            refuse(f"{self.name} is compiled for {self.target}, but its arguments are not on a GPU; the simulator runs it on arrays in host memory",
                   f'target="sim:{self.chip}"')
        for name, other in placed.items():
            if other != gpu:
                refuse(f"{name} is {'on the CPU' if other is None else f'on {other.name}'}, but other arguments are on {gpu.name}", f"{name}.cuda()")
        return gpu, cuda.stream_handle(stream, library, gpu.ordinal)

    def _execute(self, tensors: list, values: list, allocate, gpu, stream: int):
        return self.executable.run(tensors, values, allocate, gpu, stream, knobs.debug)

    def __getattr__(self, name: str):
        raise no_attribute(self, name)

    def __repr__(self) -> str:
        return f"<{self.name} compiled for {self.target}>"


def compile_all(fn, targets: list[str], words: dict) -> dict:
    """A version for each target. The assembler of one machine runs while the next one's PTX is written."""
    versions, waiting = {}, []
    with ThreadPoolExecutor(max_workers=max(1, os.cpu_count() or 1)) as pool:
        for target in targets:
            version = versions[target] = fn.compile(target=target, **words)
            makes_code = isinstance(version, GpuVersion) and (version.ptx is None or architectures.arch(version.chip)["assembles"])
            if makes_code and assemble.find("ptxas" if version.ptx is not None else "tileiras"):
                waiting.append(pool.submit(lambda version=version: version.cubin))
        for each in waiting:
            each.result()
    return versions


# ---- the simulator -----------------------------------------------------------------------------


def _assertion(message: str) -> str:
    """The driver's line (`file:line: function: block (1,0,0) thread (6,0,0) assertion `text` failed`) in our words."""
    found = re.match(r"(?s)(.*?:\d+): .*?(block \(\S*\) thread \(\S*\)) assertion `(.*)` failed", message)
    return f"{found[3]}: an assertion at {found[1]}, {found[2]}" if found else message


class SimVersion(GpuVersion):
    """Runs on the simulator's driver, on arrays in host memory; `last_reports` tells what it saw."""

    def __init__(self, fn, target: str, compilation, spec):
        super().__init__(fn, target, compilation, spec)
        self.check, self.count = True, False
        self.last_reports: list = []
        self.launched: list = []  # the kernels of the last run
        self._load()

    def _load(self) -> None:
        from .sim import driver

        self.device = driver.device(self.chip)
        self.executable = _runtime.Executable.of_images(self.plan, [(self.chip, self.ptx.encode())])
        with driver.session():
            self.executable.load(self.device)

    def with_ptx(self, ptx: str) -> SimVersion:
        """The same version with other kernels."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__, ptx=ptx, _made=None, last_reports=[], launched=[])
        other._load()
        return other

    def _place(self, given: dict, library: str, stream):
        return Runner._place(self, given, library, stream)

    def _execute(self, tensors: list, values: list, allocate, gpu, stream: int):
        from .sim import driver

        self.last_reports, self.launched = [], []
        failure = None
        try:
            with driver.session(check=self.check, count=self.count) as reports:
                made = self.executable.run(tensors, values, allocate, self.device, 0, True)
        except DeviceError as error:
            failure = error
        self.launched, self.last_reports = [name for name, _ in reports], [report for _, report in reports]
        for name, report in reports:
            if not report.ok:
                failed = next((error for error in report.errors if error["kind"] == "assert"), None)
                if failed is not None:
                    raise ArgumentError(_assertion(failed["message"]))
                raise RunError(f"error: {self.name} on the simulator, kernel {name}:\n{report.text()}")
        if failure is not None:
            raise failure
        return made
