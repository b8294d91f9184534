"""What a call costs, predicted from the measured roofline: the model behind `fn.explain()`.

    predicted = cost.predict(fn, spec, {"A": (512, 512), "B": (512, 512)}, cost.machine())
    predicted.seconds, predicted.kernels[0].terms

The model reads the tile stage that a schedule gives (tessera/nests.py), so it knows what the compiler made of a decision and nothing else.
A nest takes the longer of two times and a part of the shorter (they overlap, not wholly; what is in L2 is fetched ahead):

* compute: multiplications at the register peak, no faster than their loads and their latency allow; vector operations by their cycles;
  starts of loops, of register tiles and of programs. Elements of padding are computed as well.
* transfer: every byte at the rate of the level that still has it. What a loop touches again without touching more than a cache holds
  in between is found there; the arguments of a call that fits a cache are found there from the call before.

A launch adds waking its threads, and the threads idle that have no program left.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import dataclasses

from . import _runtime, machines, nests, roofline
from .arguments import NewKey, Spec
from .nests import Loop, Unknown, Work

LEVELS = ("L1", "L2", "L3", "memory")

# Cycles of a whole vector register of floats, where they differ from a half: two are started per cycle.
_CYCLES = {
    "arith.divf": 16, "math.sqrt": 19, "math.rsqrt": 22, "math.exp": 10, "math.exp2": 9, "math.log": 14, "math.log2": 14, "math.log1p": 18, "math.tanh": 22,
    "math.erf": 24, "math.sin": 24, "math.cos": 24, "math.powf": 40, "math.expm1": 14, "arith.maximumf": 1.5, "arith.minimumf": 1.5, "arith.truncf": 2,
    "arith.extf": 1, "arith.cmpf": 1, "arith.cmpi": 1, "arith.select": 1, "tile.scan": 24, "tile.index": 1, "tile.rand": 40, "arith.remf": 60,
}
_FREE = ("tile.fill", "tile.broadcast", "tile.transpose", "tile.reshape", "arith.constant", "tile.nest_yield", "tile.load", "tile.store", "tile.local_load",
         "tile.local_store")
_LATENCY = 4  # cycles until the result of an addition can be used
_TURN, _ROW, _SUM, _NEST, _PROGRAM = 1.0, 5.0, 12.0, 15.0, 80.0  # cycles of a turn of a loop, its start, the end of a sum, a nest, a program
_BLOCK = 60.0  # cycles until the first products of a register tile are there and its last are stored
_AMX_BLOCK = 250.0  # the same of 2 x 2 AMX tiles: its latency, and 16 rows each to store
_EXPOSED = (0.0, 0.15, 0.5, 0.5)  # the part of a transfer from L2, L3 and memory that does not overlap with computing
_FOREIGN = 2.5  # times as long as from L3: what another core has just written
_ROOM = (1.0, 0.6, 0.9)  # of L1, L2 and L3 that data in use can have: pages of 4 KiB fill the sets of L2 unevenly
_ALONE, _TEAM = 0.5e-6, 3.0e-6  # seconds to launch on this thread, and on several


@dataclasses.dataclass(frozen=True)
class Machine:
    """Rates of `threads` threads together, by number of threads; caches are those of one."""

    clock: float
    caches: tuple  # bytes of L1, L2, L3
    amx: dict
    reads: dict  # threads -> bytes per second found in L1, L2, L3, memory
    writes: dict  # threads -> written to L1, L2, L3, memory
    streams: dict  # threads -> written past the caches
    threads: int
    source: str

    def at(self, table: dict, threads: int):
        return table[max(n for n in table if n <= threads)]


def of_roofline(roof: roofline.Roofline, source: str) -> Machine:
    wide, narrow = roof.rate("fma_f32_avx512", roof.threads[0]), roof.rate("fma_f32_avx2", roof.threads[0])
    clock = wide / 64 if wide else narrow / 32  # two multiply-adds of 16 or 8 per cycle
    reads, writes, streams, amx = {}, {}, {}, {}
    for n in roof.threads:
        found = reads[n] = [roof.rate(f"read_{level}", n) or 1e9 * n for level in ("l1", "l2", "l3", "dram")]
        # A copy reads and writes: what it takes longer than reading is the writing.
        plain, stream = (max(2 / roof.rate(name, n) - 1 / found[2], 0.3 / found[2]) for name in ("copy", "copy_stream"))
        writes[n] = [found[0] / 2, found[1] / 2, 1 / plain, 1 / plain]
        streams[n] = 1 / stream
        amx[n] = roof.rate("amx_bf16", n)
    caches = tuple(2 * roof.find(f"read_{level}", roof.threads[0]).bytes for level in ("l1", "l2", "l3"))  # the working sets are halves
    return Machine(clock, caches, amx, reads, writes, streams, _runtime.num_threads(), source)


# A core of 2.8 GHz with AVX-512 and AMX, as one and as two: what a machine that was never measured is taken for.
_ASSUMED = Machine(2.8e9, (48 << 10, 2 << 20, 32 << 20), {1: 2.3e12, 2: 4.6e12}, {1: [370e9, 150e9, 31e9, 19e9], 2: [720e9, 300e9, 60e9, 38e9]},
                   {1: [185e9, 75e9, 20e9, 20e9], 2: [360e9, 150e9, 48e9, 48e9]}, {1: 37e9, 2: 82e9}, 2, "assumed rates")


def machine() -> Machine:
    """From the roofline measured on this machine; one that was never measured is assumed to be a common server."""
    found = roofline.known()
    if found is None:
        return dataclasses.replace(_ASSUMED, threads=_runtime.num_threads(), source="no roofline was measured here (python -m tessera roofline does): assumed rates")
    return of_roofline(found, f"roofline measured {found.date}")


@dataclasses.dataclass
class KernelCost:
    """Seconds of one launch; the terms add up to it."""

    name: str
    seconds: float
    terms: dict
    threads: int
    bytes: dict  # found at each level


@dataclasses.dataclass
class Cost:
    kernels: list

    @property
    def seconds(self) -> float:
        return sum(kernel.seconds for kernel in self.kernels)

    @property
    def bytes(self) -> float:
        """Read from or written to beyond L2."""
        return sum(kernel.bytes[level] for kernel in self.kernels for level in ("L3", "memory"))

    def terms(self) -> dict:
        total: dict = {}
        for kernel in self.kernels:
            for name, seconds in kernel.terms.items():
                total[name] = total.get(name, 0.0) + seconds
        return total


# ---- one launch -----------------------------------------------------------------------------------


class _Launch:
    """The leaves of a launch with the loops around them."""

    def __init__(self, launch: nests.Launch, call_bytes: float, written: set, machine: Machine):
        self.launch, self.machine = launch, machine
        self.foreign = written if call_bytes <= _ROOM[1] * machine.caches[1] * machine.threads else set()  # else they were pushed out to L3
        self.leaves: list[tuple] = []  # (loops, work)
        self._flatten(launch.tree, ())
        self.threads = self._team()
        # What the call before left in a core's own caches is another core's, if there are several.
        resident = [size if self.threads == 1 or level == 2 else 0.0 for level, size in enumerate(machine.caches)]
        self.warm = [call_bytes <= room * size for room, size in zip(_ROOM, resident)]
        self.footprints = {id(loop): self._footprint(loop) for loops, _ in self.leaves for loop in loops}
        self.whole = self._footprint(None)

    def _flatten(self, body: list, loops: tuple) -> None:
        for item in body:
            if isinstance(item, Loop):
                self._flatten(item.body, (*loops, item))
            else:
                self.leaves.append((loops, item))

    def _team(self) -> int:
        """As runtime/Parallel.cpp decides."""
        count = min(max(self.launch.programs, 1), self.machine.threads, self.launch.threads or self.machine.threads)
        if self.launch.work is not None:
            count = min(count, self.launch.work // 10000)
        return max(count, 1)

    def _footprint(self, loop: Loop | None) -> float:
        """Bytes that one turn of a loop touches, or the whole launch."""
        most: dict = {}
        for loops, work in self.leaves:
            if loop is not None and loop not in loops:
                continue
            inside = loops[loops.index(loop) + 1:] if loop is not None else loops
            for touch in work.touches:
                size = touch.bytes
                for inner in inside:
                    if inner.name in touch.along:
                        size *= inner.trips
                most[touch.array] = max(most.get(touch.array, 0.0), min(size, self.launch.arrays.get(touch.array, size)))
        return sum(most.values())

    def _missed(self, loops: tuple, touch, level: int, earlier: list) -> float:
        """Bytes of a touch, of all its runs, that a cache does not have."""
        room = _ROOM[level] * self.machine.caches[level]
        for other in earlier:  # the same array, touched before: still there?
            common = 0
            while common < min(len(other), len(loops)) and other[common] is loops[common]:
                common += 1
            if (self.footprints[id(loops[common - 1])] if common else self.whole) <= room:
                return 0.0
        missed = touch.bytes
        for loop in reversed(loops):
            if loop.name in touch.along or self.footprints[id(loop)] > room:
                missed *= loop.trips
        return 0.0 if self.warm[level] and self.whole <= room else missed

    def cost(self) -> KernelCost:
        machine, threads = self.machine, self.threads
        reads, writes = machine.at(machine.reads, threads), machine.at(machine.writes, threads)
        streams = machine.at(machine.streams, threads)
        more = threads / max(n for n in machine.reads if n <= threads)  # cores that were not measured have their own caches, too
        terms = {"compute": 0.0, "L2": 0.0, "L3": 0.0, "memory": 0.0, "hidden": 0.0}
        found = dict.fromkeys(LEVELS, 0.0)
        seen: dict = {}
        for loops, work in self.leaves:
            count = 1.0
            for loop in loops:
                count *= loop.trips
            compute = count * self._cycles(work) / machine.clock / threads
            moved = [0.0, 0.0, 0.0, 0.0]
            for touch in work.touches:
                total = touch.bytes * count
                missed = [min(self._missed(loops, touch, level, seen.get(touch.array, [])), total) for level in range(3)]
                if touch.streams:
                    moved[3] += total / streams
                    found["memory"] += total
                    continue
                at = [total - missed[0], max(missed[0] - missed[1], 0.0), max(missed[1] - missed[2], 0.0), missed[2]]
                rates = writes if touch.write else reads
                for level in range(4):
                    found[LEVELS[level]] += at[level]
                    if level:  # what L1 has is part of compute
                        slow = _FOREIGN if level == 2 and threads > 1 and touch.array in self.foreign else 1.0
                        moved[level] += slow * at[level] / (rates[level] * (more if level < 2 else 1.0))
            for touch in work.touches:
                seen.setdefault(touch.array, []).append(loops)
            transfer = sum(moved)
            terms["compute"] += compute
            for level in (1, 2, 3):
                terms[LEVELS[level]] += moved[level]
            exposed = sum(part * time for part, time in zip(_EXPOSED, moved)) / transfer if transfer else 0.0
            terms["hidden"] -= (1 - exposed) * min(compute, transfer)
        terms["compute"] += self.launch.programs * _PROGRAM / machine.clock / threads
        busy = sum(terms.values())
        terms["idle"] = busy * (_spread(self.launch.programs, threads) - 1)
        terms["launch"] = _ALONE if threads == 1 else _TEAM
        return KernelCost(self.launch.kernel, sum(terms.values()), terms, threads, found)

    def _cycles(self, work: Work) -> float:
        """Of one run of a nest, by one thread."""
        if work.matrix:
            return self._matrix_cycles(work.matrix)
        loads = work.ops.get("tile.load", 0) + work.ops.get("tile.local_load", 0)
        stores = work.ops.get("tile.store", 0) + work.ops.get("tile.local_store", 0)
        arithmetic = sum(count * _CYCLES.get(op, 0.5) for op, count in work.ops.items() if op not in _FREE)
        each = max(arithmetic, 0.5 * loads, 1.0 * stores) * work.wide
        return (max(work.vectors * each, work.chained * _LATENCY) + work.turns * _TURN + work.rows * _ROW + (work.rows if work.sums else 0) * _SUM
                + work.sums * 2 + _NEST)

    def _matrix_cycles(self, block: nests.Matrix) -> float:
        """Of one register tile."""
        if block.unit == "amx" or not block.lanes:
            rate = self.machine.at(self.machine.amx, 1) or 64 * self.machine.clock
            steps = -(-block.depth // block.step)
            return steps * 2 * 32 ** 3 / rate * self.machine.clock + _AMX_BLOCK + (32.0 if block.reloads else 0.0)
        accumulators = block.rows * block.vectors
        step = max(accumulators / 2, (block.rows + block.vectors) / 2, _LATENCY)
        starts = block.depth / 8 if block.thin else 1.0  # all columns have their turn after eight steps
        return block.depth * step + starts * ((4.0 if block.thin else _BLOCK) + accumulators * (1.5 if block.reloads else 1.0))


def _spread(programs: int, threads: int) -> float:
    """The time of the slowest thread over the mean, as runtime/Parallel.cpp deals programs out."""
    if threads <= 1 or programs <= 0:
        return 1.0
    return -(-programs // threads) * threads / programs


def of_launches(launches: list, machine: Machine) -> Cost:
    arrays: dict = {}
    for launch in launches:
        arrays.update(launch.arrays)
    costs, written = [], set()
    for launch in launches:
        priced = _Launch(launch, sum(arrays.values()), written, machine)
        costs.append(priced.cost())
        written = written | {touch.array for _, work in priced.leaves for touch in work.touches if touch.write and not touch.scratch}
    return Cost(costs)


def predict(fn, spec, shapes: dict, machine: Machine, dims: dict | None = None, assumed: dict | None = None) -> Cost:
    """The cost of a call of `fn` as `spec` says, with these shapes of its arguments."""
    if not machines.of(spec.target).in_process:
        raise Unknown(f"what {spec.target} costs")
    try:
        compilation = fn._start(spec)
    except NewKey as error:
        raise Unknown("a version of which more sizes must be known") from error
    compilation.lower("tile")
    return of_launches(nests.read(compilation, shapes, dims, assumed), machine)


def forced(fn, spec: Spec, key: str, value) -> Spec:
    """The same version with one decision taken: a const parameter, or a schedule key (`tile.M`)."""
    arguments = [("const", value) if parameter.name == key else argument for parameter, argument in zip(fn.parameters, spec.arguments)]
    return Spec(arguments, spec.captured, spec.target, {**spec.tuned, key: value})
