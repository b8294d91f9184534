"""What can be known of a kernel's speed without its GPU: resources, instructions, traffic, and a bound by the machine's peak rates.

    report = tessera.performance_report(gemm, A, B, target="sm_80")
    print(report); report.json(); report.html()

Registers and spills are ptxas's, the instructions of the machine code nvdisasm's, executed instructions, bank conflicts and
coalescing the simulator's on these arguments. The roofline is a bound, not a time: times are `not measured`.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import collections
import dataclasses
import json
import re

import numpy as np

from . import architectures, arrays, machines, oracle, source
from .errors import ArgumentError, CompileError
from .targets import gpu_named

UNKNOWN = "not measured"
_NO_TOOLS = f"{UNKNOWN}: no assembler or disassembler for it is installed"
_SASS = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)", re.M)
_SECTION = re.compile(r"^\s*\.section\s+\.text\.(\S+?),", re.M)
_MMA = re.compile(r"\.m(\d+)n(\d+)k(\d+)\b")
_CLASSES = {  # of machine instructions, by how they begin
    "matrix": ("HMMA", "IMMA", "DMMA", "QMMA", "OMMA", "BMMA", "HGMMA", "IGMMA", "QGMMA", "UTC"),
    "shared memory": ("LDS", "STS", "LDSM", "STSM", "ATOMS", "MOVM"),
    "copies": ("LDGSTS", "LDGDEPBAR", "UTMALDG", "UTMASTG", "UBLKCP"),
    "global memory": ("LDG", "STG", "LD.", "ST.", "RED", "ATOM"),
    "local memory (spills)": ("LDL", "STL"),
    "fp32": ("FADD", "FMUL", "FFMA", "FMNMX", "FSETP", "FSEL", "FCHK", "MUFU"),
    "fp64": ("DADD", "DMUL", "DFMA", "DSETP", "DMNMX"),
    "fp16": ("HADD", "HMUL", "HFMA", "HMNMX", "HSETP", "HSET"),
    "conversions": ("F2F", "F2I", "I2F", "I2I", "F2FP", "FRND"),
    "shuffles": ("SHFL", "REDUX", "VOTE", "MATCH"),
    "barriers": ("BAR", "DEPBAR", "MEMBAR", "ERRBAR", "SYNCS", "WARPSYNC"),
    "control": ("BRA", "EXIT", "BSSY", "BSYNC", "CALL", "RET", "BRX", "JMP", "NOP", "YIELD"),
}
_PEAK_OF = {"f16": "fp16", "bf16": "bf16", "tf32": "tf32", "f64": "fp64", "s8": "i8", "u8": "i8", "e4m3": "fp8", "e5m2": "fp8", "e2m1": "fp4"}


@dataclasses.dataclass
class Kernel:
    """One kernel of the plan; counts add up its launches."""

    name: str
    threads: int
    launches: int = 0
    registers: int | str = _NO_TOOLS
    spills: int | str = _NO_TOOLS  # bytes
    shared: int = 0  # bytes
    occupancy: float | str = _NO_TOOLS  # of the SM's warps
    limited_by: str = ""
    machine_code: dict | str = _NO_TOOLS  # class -> instructions in the code
    executed: dict = dataclasses.field(default_factory=dict)  # class -> warp instructions, of PTX
    bank_conflicts: int = 0
    sectors: int = 0
    ideal_sectors: int = 0
    operations: dict = dataclasses.field(default_factory=dict)  # peak's name -> multiplications and additions

    @property
    def coalescing(self) -> float | str:
        return self.ideal_sectors / self.sectors if self.sectors else f"{UNKNOWN}: it moves nothing"


@dataclasses.dataclass
class PerformanceReport:
    function: str
    target: str
    kernels: list[Kernel]
    bytes: int  # of the arguments and results: what must move at least once
    peak: dict
    time: str = f"{UNKNOWN}: nothing was run on a GPU"

    @property
    def bounds(self) -> dict:
        """Seconds that the machine needs at least, by what; only what the table has a rate for."""
        found = {}
        if self.peak.get("bandwidth"):
            found["memory"] = self.bytes / (self.peak["bandwidth"] * 1e9)
        for kernel in self.kernels:
            for rate, count in kernel.operations.items():
                if self.peak.get(rate):
                    found[rate] = found.get(rate, 0.0) + count / (self.peak[rate] * 1e12)
        return found

    @property
    def bound(self) -> tuple[str, float]:
        """What limits, and its seconds: no run on this machine is faster."""
        return max(self.bounds.items(), key=lambda item: item[1], default=("", 0.0))

    @property
    def intensity(self) -> float:
        return sum(sum(k.operations.values()) for k in self.kernels) / max(self.bytes, 1)

    def as_dict(self) -> dict:
        kernels = [dict(dataclasses.asdict(k), coalescing=k.coalescing) for k in self.kernels]
        what, seconds = self.bound
        return {"function": self.function, "target": self.target, "kernels": kernels, "bytes": self.bytes, "intensity": self.intensity,
                "bound_seconds": seconds, "bound_by": what, "peak_of": self.peak.get("product"), "time": self.time}

    def json(self) -> str:
        return json.dumps(self.as_dict(), indent=1)

    def html(self) -> str:
        from . import performance_page

        return performance_page.render(self)

    def __str__(self) -> str:
        lines = [f"{self.function} for {self.target}", ""]
        for k in self.kernels:
            full = k.occupancy if isinstance(k.occupancy, str) else f"{100 * k.occupancy:.0f} %, limited by {k.limited_by}"
            even = k.coalescing if isinstance(k.coalescing, str) else f"{100 * k.coalescing:.0f} %"
            lines += [f"{k.name}: {k.threads} threads, launched {k.launches} times",
                      f"  registers {k.registers}, spills {k.spills} bytes, shared memory {k.shared} bytes; occupancy {full}",
                      f"  executed (warps): {_listed(k.executed)}",
                      f"  machine code: {k.machine_code if isinstance(k.machine_code, str) else _listed(k.machine_code)}",
                      f"  bank conflicts {k.bank_conflicts}, coalescing {even}"]
        what, seconds = self.bound
        bound = f"{seconds * 1e6:.3g} us by {what} (peak rates of {self.peak['product']})" if what else f"{UNKNOWN}: no rate in the table"
        return "\n".join([*lines, "", f"moves at least {self.bytes} bytes, {self.intensity:.3g} operations per byte", f"no faster than: {bound}",
                          f"time: {self.time}"])

    __repr__ = __str__


def _listed(counts: dict) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items(), key=lambda item: -item[1])) or "nothing"


def classify(opcode: str) -> str:
    """The class of a machine instruction."""
    best = max(((len(start), name) for name, starts in _CLASSES.items() for start in starts if opcode.startswith(start)), default=(0, "integer and moves"))
    return best[1]


def machine_mix(sass: str) -> dict:
    """Kernel -> class -> instructions, from nvdisasm's text."""
    found, pieces = {}, _SECTION.split(sass)
    for name, body in zip(pieces[1::2], pieces[2::2]):
        found[name] = dict(collections.Counter(classify(opcode) for opcode in _SASS.findall(body)))
    return found


def _operations(lines: list) -> dict:
    """Multiplications and additions of matrix instructions (by the operands' type) and of fused multiply-adds."""
    found: dict = collections.Counter()
    for line in lines:
        opcode = line["opcode"]
        if shape := _MMA.search(opcode):
            m, n, k = map(int, shape.groups())
            types = [part for part in opcode.split(".") if part in _PEAK_OF]
            if types:  # d.a.b.c: the operands' type stands second, or first if d's is no operand type
                operand = types[1] if len(types) > 2 and types[0] in ("f16", "f64") else types[0]
                found[_PEAK_OF[operand]] += 2 * m * n * k * line["warps"]
        elif re.match(r"(fma|add|sub|mul)\.\S*f(32|64)$", opcode):
            each = 2 if opcode.startswith("fma") else 1
            found["fp64" if opcode.endswith("64") else "fp32"] += each * line["threads"]
    return dict(found)


def performance_report(fn, *args, target: str = "sm_80", **kwargs) -> PerformanceReport:
    """The report of a call of `fn` on an NVIDIA machine; the call runs on the simulator."""
    chip = machines.of(target).compiled_as
    if not architectures.is_known(chip):
        near = gpu_named(str(target)) or source.nearest(chip, architectures.names())
        raise ArgumentError(source.at_user(f"performance_report is about NVIDIA GPUs, and no architecture is called {target!r}; there are {', '.join(architectures.names())}",
                                           f'target="{near}"' if near else "", str(target)))
    spec, _, given = oracle.specialise(fn, args, kwargs, f"sim:{chip}")
    version = fn._version(spec)
    before = version.count
    version.count = True
    try:
        with arrays.aligned():
            results = oracle._compiled(fn, args, kwargs, f"sim:{chip}")
        reports = list(zip(version.launched, version.last_reports))
    finally:
        version.count = before
    kernels = {k["name"]: Kernel(k["name"], k["block"], shared=k["shared"]) for k in version.kernels}
    for name, known in version.resources.items():
        if isinstance(known, dict) and name in kernels:
            kernel = kernels[name]
            kernel.registers, kernel.spills = known["registers"], known["spill_stores"] + known["spill_loads"]
            full = architectures.occupancy(version.chip, kernel.threads, kernel.registers, kernel.shared)
            kernel.occupancy, kernel.limited_by = full["fraction"], full["limiter"]
    try:
        for name, mix in machine_mix(version.sass).items():
            if name in kernels:
                kernels[name].machine_code = mix
    except CompileError:  # no disassembler, or no assembler
        pass
    for name, report in reports:
        kernel, counts = kernels[name], report.counts
        kernel.launches += 1
        kernel.bank_conflicts += counts["bank_conflicts"]
        kernel.sectors += counts["sectors"]
        kernel.ideal_sectors += counts["ideal_sectors"]
        kernel.executed = dict(collections.Counter(kernel.executed) + collections.Counter(counts["classes"]))
        kernel.operations = dict(collections.Counter(kernel.operations) + collections.Counter(_operations(counts["lines"])))
    moved = [value for value in given.values() if arrays.describe(value) is not None]
    moved += [] if results is None else list(results) if isinstance(results, tuple) else [results]
    total = sum(int(value.nbytes if hasattr(value, "nbytes") else np.asarray(value).nbytes) for value in moved)
    return PerformanceReport(fn.__name__, version.chip, list(kernels.values()), total, architectures.arch(version.chip)["peak"])
