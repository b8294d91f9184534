"""The tile stage of a CPU program as loops: what a call launches, how often each nest runs, which bytes it touches.

    launches = read(compilation, {"A": (512, 256), "B": (256, 1024)})

A launch is a tree of `Loop`s over the programs, the kernel's own loops and the blocks of matrix steps; its leaves are `Work`: counts of
vector operations and multiplications, and `Touch`es of arrays. Lengths are those that exist: the last tile of a dim is shorter.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re

ELEMENT = {"f64": 8, "i64": 8, "index": 8, "f32": 4, "i32": 4, "f16": 2, "bf16": 2, "i16": 2, "i8": 1, "i1": 1}


class Unknown(Exception):
    """What the model cannot follow, in words."""


@dataclasses.dataclass
class Touch:
    """Bytes of an array that one run of a nest reads or writes; `along`: the loops that lead to other bytes."""

    array: str
    bytes: float
    along: frozenset
    write: bool = False
    streams: bool = False  # written past the caches
    scratch: bool = False  # memory of the thread


@dataclasses.dataclass
class Matrix:
    """A block of a matrix step in registers: rows x columns x depth, `vectors` of `lanes` per row (0: an AMX block)."""

    unit: str
    rows: float
    columns: float
    depth: float
    vectors: int
    lanes: int
    reloads: bool  # the accumulators come from memory
    buffers: tuple = ("", "", "")  # of the left and the right operand and the sum, if they are in scratch memory
    thin: bool = False  # few rows and many columns: eight steps of k for all columns at a time
    whole: bool = False  # all rows in tiles of 16
    step: int = 32  # positions of k that one AMX instruction takes


@dataclasses.dataclass(eq=False)
class Work:
    """One run of a nest."""

    rows: float = 0.0  # inner loops that are started
    turns: float = 0.0  # turns of them
    vectors: float = 0.0  # vectors along them
    ops: dict = dataclasses.field(default_factory=dict)  # operation -> how many for each vector
    chained: float = 0.0  # vectors that wait for the one before: sums, divided by their accumulators
    sums: float = 0.0  # vectors that are summed up at the end of a row
    wide: float = 1.0  # registers of a vector
    matrix: Matrix | None = None
    role: tuple = ()  # what a nest does if it does nothing else: ("clear" | "copy" | "pack", buffer)
    direct: bool = False  # a packed operand that a matrix step could as well read where it lies
    touches: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(eq=False)
class Loop:
    trips: float
    name: str
    body: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Launch:
    kernel: str
    programs: int
    work: int | None  # nanoseconds, as the plan guesses
    threads: int | None  # at most
    tree: list
    arrays: dict  # name -> bytes


# ---- kernels --------------------------------------------------------------------------------------


class _Kernel:
    """One tile.func as a tree of loops."""

    def __init__(self, head: str, body: list[str], shapes: list, arrays: list, scalars: list):
        arguments = re.findall(r"%([\w.]+): (memref<|[a-z]\w*)", head)
        views = [name for name, type in arguments if type == "memref<"]
        self.shapes, self.arrays = dict(zip(views, shapes)), dict(zip(views, arrays))
        self.values: dict[str, float] = {name: value for (name, _), value in zip([a for a in arguments if a[1] != "memref<"], scalars) if value is not None}
        self.ranges: dict[str, list] = {}  # name -> [(length, how often)]
        self.along: dict[str, frozenset] = {}  # the loops that a value changes with
        self.names: dict[str, int] = {}
        self.tree: list = []
        self.open: list = [self.tree]
        self._block(body, 0, len(body))
        _Shortcuts(self.tree)

    def _name(self, name: str) -> str:
        """A new one for a loop: names are used again in other regions."""
        self.names[name] = self.names.get(name, 0) + 1
        return f"{name}.{self.names[name]}"

    def _along(self, names) -> frozenset:
        return frozenset().union(*(self.along.get(name, frozenset()) for name in names))

    def value(self, name: str) -> float:
        if name not in self.values:
            raise Unknown("a loop whose end is computed from data")
        return self.values[name]

    def _block(self, lines: list[str], begin: int, end: int) -> None:
        at = begin
        while at < end:
            line = lines[at]
            if line.endswith("{") and not line.startswith("}"):
                close = self._close(lines, at, end)
                self._region(line, lines, at + 1, close)
                at = close
            elif line.startswith("}") and line.endswith("{"):  # else
                close = self._close(lines, at, end)
                self._block(lines, at + 1, close)
                at = close
            else:
                self._line(line)
                at += 1

    @staticmethod
    def _close(lines: list[str], at: int, end: int) -> int:
        depth = 1
        for k in range(at + 1, end):
            depth -= lines[k].startswith("}")
            if depth == 0:
                return k
            depth += lines[k].endswith("{")
        return end

    def _region(self, line: str, lines: list[str], begin: int, end: int) -> None:
        nest = re.match(r"(?:%[\w.:]+ = )?tile\.nest\[([^\]]*)\](?: \{(.*?)\})? : \(([^)]*)\)", line)
        loop = re.match(r"(?:%([\w.]+)(?::\d+)? = )?tile\.for %([\w.]+) = %([\w.#]+) to %([\w.#]+)(.*)", line)
        if nest:
            axes = [axis.strip().lstrip("%") for axis in nest[1].split(",")]
            tiles = dict(zip(axes, (int(n) for n in re.findall(r"!tile\.range<(\d+)>", nest[3]))))
            self._nest(axes, tiles, nest[2] or "", lines[begin:end])
        elif loop:
            self._loop(*loop.groups(), lines, begin, end)
        else:  # a branch: both sides are counted, the costs of a mask that most tiles do not need
            self._block(lines, begin, end)

    def _loop(self, _result, variable: str, first: str, last: str, rest: str, lines: list[str], begin: int, end: int) -> None:
        tile = re.search(r": !tile\.range<(\d+)>", rest)
        step = int(tile[1]) if tile else 1
        start = self.value(first)
        extent = max(self.value(last) - start, 0.0)
        whole, left = divmod(extent, step)
        turns = whole + (left > 0)
        name = self._name(variable)
        self.values[variable] = start + extent / 2
        self.along[variable] = frozenset([name])
        if tile:
            self.ranges[variable] = [piece for piece in ((float(step), whole / max(turns, 1)), (left, (left > 0) / max(turns, 1))) if piece[1]] or [(0.0, 1.0)]
        made = Loop(turns, name)
        self.open[-1].append(made)
        self.open.append(made.body)
        self._block(lines, begin, end)
        self.open.pop()

    def _line(self, line: str) -> None:
        found = re.match(r"(?:%([\w.]+)(?::\d+)? = )?\"?([\w.]+)\"? ?(.*)$", line)
        if not found or found[1] is None:
            return
        result, op, rest = found.groups()
        operands = re.findall(r"%([\w.#]+)", rest)
        if op == "tile.dim":
            array, axis = re.match(r"%([\w.]+), (\d+)", rest).groups()
            self.values[result] = float(self.shapes[array][int(axis)])
        elif op == "tile.program":
            self._program(result, rest)
        elif op == "tile.range_at":
            first, extent, tile = re.match(r"%([\w.#]+) of %([\w.#]+) : .*?<(\d+)>", rest).groups()
            self.along[result] = self._along([first])
            self.ranges[result] = [(min(float(tile), max(self.value(extent) - self.values.get(first, 0.0), 0.0)), 1.0)]
        else:
            self.along[result] = self._along(operands)
            self._arithmetic(result, op, rest, operands)

    def _program(self, result: str, rest: str) -> None:
        extents = [name.strip().lstrip("%") for name in re.search(r"extents\(([^)]*)\)", rest)[1].split(",") if name.strip()]
        tiles = [int(tile) for tile in re.search(r"tiles = \[([^\]]*)\]", rest)[1].split(",") if tile.strip()]
        group = re.search(r"group = (\d+)", rest)
        counts = []
        for number, (extent, tile) in enumerate(zip(extents, tiles)):
            size, name = self.value(extent), f"{result}#{number}" if len(tiles) > 1 else result
            count = max(math.ceil(size / max(tile, 1)), 0)
            counts.append(count)
            self.values[name] = max(size - max(tile, 1), 0) / 2  # on average a program stands in the middle
            self.along[name] = frozenset([f"program {number}"])
            if tile:
                left = size - (count - 1) * tile
                self.ranges[name] = [piece for piece in ((float(tile), (count - 1) / max(count, 1)), (left, 1 / max(count, 1))) if piece[1]]
        order = [(f"program {number}", count) for number, count in enumerate(counts)]
        rows = int(group[1]) if group else 1
        if rows > 1 and len(counts) > 1:
            # So many along the first axis before the second moves on.
            rows = max(min(rows, counts[0]), 1)
            self.along[f"{result}#0"] = frozenset(["program 0", "program 0 in a group"])
            order[:2] = [("program 0", counts[0] / rows), ("program 1", counts[1]), ("program 0 in a group", rows)]
        for name, count in order:
            made = Loop(count, name)
            self.open[-1].append(made)
            self.open.append(made.body)

    def _arithmetic(self, result: str, op: str, rest: str, operands: list[str]) -> None:
        constant = re.match(r"(-?\d+) : (index|i64|i32)", rest) if op == "arith.constant" else None
        if constant:
            self.values[result] = float(constant[1])
        elif op in ("tile.range_start", "tile.range_stop", "arith.index_cast") and operands:
            name = operands[0]
            if name in self.values:
                length = sum(n * share for n, share in self.ranges.get(name, ())) if op == "tile.range_stop" else 0.0
                self.values[result] = self.values[name] + length
        elif op == "arith.cmpi" and all(name in self.values for name in operands):
            a, b = (self.values[name] for name in operands)
            self.values[result] = float({"eq": a == b, "ne": a != b, "slt": a < b, "sle": a <= b, "sgt": a > b, "sge": a >= b}.get(rest.split(",")[0].strip(), False))
        elif op == "arith.select" and operands[0] in self.values:
            chosen = operands[1] if self.values[operands[0]] else operands[2]
            if chosen in self.values:
                self.values[result] = self.values[chosen]
            if chosen in self.ranges:
                self.ranges[result] = self.ranges[chosen]
        elif op.startswith("arith.") and all(name in self.values for name in operands) and operands:
            do = {"addi": lambda a, b: a + b, "subi": lambda a, b: a - b, "muli": lambda a, b: a * b, "minsi": min, "maxsi": max, "minui": min, "maxui": max,
                  "floordivsi": lambda a, b: a // b, "divsi": lambda a, b: a // b, "divui": lambda a, b: a // b, "ceildivsi": lambda a, b: -(-a // b),
                  "remsi": math.fmod, "remui": math.fmod, "ori": lambda a, b: float(bool(a) or bool(b)), "andi": lambda a, b: float(bool(a) and bool(b))}.get(op[6:])
            if do is not None and len(operands) == 2:
                try:
                    self.values[result] = do(*(self.values[name] for name in operands))
                except ZeroDivisionError:
                    pass

    # ---- nests ----------------------------------------------------------------------------------

    def _mean(self, axes: list[str], of) -> float:
        """Of a function of the lengths of these ranges."""
        total = 0.0
        for pieces in itertools.product(*(self.ranges[axis] for axis in axes)):
            total += math.prod(share for _, share in pieces) * of(*(length for length, _ in pieces))
        return total

    def _length(self, axis: str) -> float:
        return self._mean([axis], lambda n: n)

    def _touch(self, op: str, rest: str, tiles: dict) -> Touch | None:
        """What a load or a store of a nest touches; `tiles`: the axes of the nest and their tile sizes."""
        types = re.findall(r"tensor<((?:\d+x)*)([a-z]\w*)>", rest)
        sizes, element = types[-1 if op.endswith("load") else 0] if types else ("", "f32")
        size = float(ELEMENT.get(element, 4))
        if op in ("tile.local_load", "tile.local_store"):
            left = list(tiles)
            for extent in (int(n) for n in sizes.split("x") if n):  # the axes of a buffer are axes of the nest, in their order
                axis = next((a for a in left if tiles[a] == extent), None)
                size *= self._length(axis) if axis else extent
                left = left[left.index(axis) + 1:] if axis else left
            name = re.findall(r"%([\w.#]+)", rest)[op == "tile.local_store"]
            return Touch(name, size, frozenset(), op == "tile.local_store", scratch=True)
        view = re.search(r"%([\w.]+)\[([^\]]*)\]", rest)
        if not view or view[1] not in self.shapes:
            return None
        indices = [name.strip().lstrip("%") for name in view[2].split(",")]
        for name in indices:
            if name in self.ranges:
                size *= self._length(name)
        return Touch(self.arrays[view[1]], size, self._along(indices), op != "tile.load", "nontemporal" in rest)

    def _nest(self, axes: list[str], tiles: dict, attributes: str, lines: list[str]) -> None:
        if any(axis not in self.ranges for axis in axes):
            raise Unknown("a range computed from data")
        found = [re.match(r"(?:%([\w.]+)(?::\d+)? = )?\"?([\w.]+)\"? ?(.*)$", line) for line in lines]
        ops = [line.groups() for line in found if line]
        if any(op == "tile.mma" for _, op, _ in ops):
            self._matrix(axes, tiles, attributes, ops)
        else:
            self._vector(axes, tiles, attributes, ops)

    def _vector(self, axes: list[str], tiles: dict, attributes: str, ops: list) -> None:
        number = {name: int(value) for name, value in re.findall(r"(\w+) = (-?\d+) : i64", attributes)}
        along, unroll = number.get("vector_axis", -1), max(number.get("unroll", 1), 1)
        widest = max((ELEMENT.get(e, 4) for _, _, rest in ops for e in re.findall(r"tensor<(?:\d+x)*([a-z]\w*)>", rest) if e != "i1"), default=4)
        lanes = number.get("lanes", 0) or 16
        outer = [axis for k, axis in enumerate(axes) if k != along]
        work = Work()
        if along < 0:
            work.vectors = work.turns = self._mean(axes, lambda *n: math.prod(n))
            work.rows, unroll = work.vectors, 1
        else:
            work.rows = self._mean(outer, lambda *n: math.prod(n)) if outer else 1.0
            work.vectors = work.rows * self._mean([axes[along]], lambda n: math.ceil(n / lanes))
            work.turns = work.rows * self._mean([axes[along]], lambda n: n // (lanes * unroll) + math.ceil(n % (lanes * unroll) / lanes))
        work.wide = max(lanes * min(widest, 8) / 64.0, 1.0) if along >= 0 else 1.0
        full = len(axes)
        for _, op, rest in ops:
            shape = re.findall(r"tensor<((?:\d+x)*)[a-z]\w*>", rest)
            rank = max((text.count("x") for text in shape), default=0)
            if op in ("tile.load", "tile.store", "tile.local_load", "tile.local_store"):
                touch = self._touch(op, rest, tiles)
                if touch:
                    work.touches.append(touch)
            if rank < full and op != "tile.load":  # once per row, or less
                continue
            if op == "tile.reduce":
                axis = re.search(r"axis = (\d+)", rest)
                if axis and int(axis[1]) == along:
                    work.chained = max(work.chained, work.vectors / unroll)
                    work.sums += work.rows * unroll
            work.ops[op] = work.ops.get(op, 0) + 1
        self._role(work, axes, [op for op in ops if op[1] not in ("tile.nest_yield", "arith.constant")])
        self.open[-1].append(work)

    def _role(self, work: Work, axes: list[str], ops: list) -> None:
        kind = {("tile.fill", "tile.local_store"): "clear", ("tile.local_load", "tile.store"): "copy", ("tile.load", "tile.local_store"): "pack"}.get(
            tuple(op for _, op, _ in ops))
        if kind is None or not all(touch for touch in work.touches):
            return
        work.role = (kind, next(touch.array for touch in work.touches if touch.scratch))
        if kind == "pack" and len(axes) == 2:
            view = re.search(r"%([\w.]+)\[", ops[0][2])[1]
            element = ELEMENT.get(re.findall(r"tensor<(?:\d+x)*([a-z]\w*)>", ops[0][2])[-1], 4)
            near = self._length(axes[0]) * self.shapes[view][-1] * element <= 65536
            work.direct = near and all(length % 64 == 0 for length, _ in self.ranges[axes[1]])

    def _matrix(self, axes: list[str], tiles: dict, attributes: str, ops: list) -> None:
        registers = re.search(r"register_tile = array<i64: (\d+), (\d+), (\d+)>", attributes)
        unit = re.search(r"unit = #tile\.unit<(\w+)>", attributes)
        rows, vectors, lanes = (int(n) for n in registers.groups()) if registers else (32, 0, 0)
        columns = vectors * lanes or 32
        m, n, k = axes[-3:]
        trips = {"rows": self._mean([m], lambda length: math.ceil(length / rows)), "columns": self._mean([n], lambda length: math.ceil(length / columns))}
        depth = self._length(k)
        # The last columns of many take fewer vectors.
        used = self._length(n) / max(trips["columns"], 1e-9) if not lanes else self._mean(
            [n], lambda length: lanes * math.ceil(length / lanes)) / max(trips["columns"], 1e-9)
        outer, inner = Loop(trips["columns"], self._name("columns")), Loop(trips["rows"], self._name("rows"))
        loaded = {result: (op, rest) for result, op, rest in ops if op in ("tile.load", "tile.local_load") and result}
        mma = next(rest for _, op, rest in ops if op == "tile.mma")
        left, right, acc = re.findall(r"%([\w.#]+)", mma)[:3]
        turned = {result: re.findall(r"%([\w.#]+)", rest)[0] for result, op, rest in ops if result and op in ("tile.transpose", "arith.extf", "arith.extsi")}
        named = []
        for side in (left, right):
            while side in turned:
                side = turned[side]
            named.append(re.findall(r"%([\w.#]+)", loaded[side][1])[0] if side in loaded and loaded[side][0] == "tile.local_load" else "")
        named.append(next(re.findall(r"%([\w.#]+)", rest)[1] for _, op, rest in ops if op == "tile.local_store"))
        step = 64 // ELEMENT.get(re.findall(r"tensor<(?:\d+x)*([a-z]\w*)>", mma)[0], 2)
        thin = bool(lanes) and tiles[m] <= 2 * rows and tiles[n] > columns
        whole = all(length % 16 == 0 for length, _ in self.ranges[m])
        work = Work(matrix=Matrix(unit[1] if unit else "fma", rows, used if lanes else columns, depth, max(round(used / lanes), 1) if lanes else 0, lanes, acc in loaded,
                                  tuple(named), thin, whole, step))
        padded = math.ceil(depth / step) * step if not lanes else depth
        for side, width, loop in ((left, rows, inner), (right, columns, outer)):
            while side in turned:
                side = turned[side]
            touch = self._touch(*loaded[side], tiles) if side in loaded else None
            if touch:
                element = re.findall(r"tensor<(?:\d+x)*([a-z]\w*)>", loaded[side][1])[-1]
                work.touches.append(dataclasses.replace(touch, bytes=width * padded * ELEMENT.get(element, 4), along=touch.along | {loop.name}))
        for _, op, rest in ops:
            if op == "tile.local_store":
                buffer = re.findall(r"%([\w.#]+)", rest)[1]
                work.touches.append(Touch(buffer, rows * work.matrix.columns * 4, frozenset([inner.name, outer.name]), True, False, True))
        inner.body.append(work)
        outer.body.append(inner)
        self.open[-1].append(outer)


class _Shortcuts:
    """What a matrix step does without when it runs (compiler/Target/CPU/MatrixShortcuts.cpp): the nest that clears its sum before a loop,
    the one that copies it to the result after, and the packing of an operand that is read as well where it lies."""

    def __init__(self, tree: list):
        self.leaves: list = []  # (body, loops around it, work)
        self._collect(tree, ())
        for _, loops, step in [leaf for leaf in self.leaves if leaf[2].matrix]:
            left, right, total = step.matrix.buffers
            self._sum(step, loops, total)
            amx = not step.matrix.lanes
            for buffer in (left if amx and step.matrix.whole else "", right if not amx else ""):
                for body, _, work in self.leaves:
                    if buffer and work.role == ("pack", buffer) and (amx or work.direct or step.matrix.thin):
                        source = next(touch for touch in work.touches if not touch.scratch)
                        step.touches = [dataclasses.replace(touch, array=source.array, along=touch.along | source.along, scratch=False)
                                        if touch.array == buffer else touch for touch in step.touches]
                        self._drop(body, work)

    def _collect(self, body: list, loops: tuple) -> None:
        for item in body:
            if isinstance(item, Loop):
                self._collect(item.body, (*loops, item))
            else:
                self.leaves.append((body, loops, item))

    @staticmethod
    def _drop(body: list, work: Work) -> None:
        body[:] = [item for item in body if item is not work]

    def _sum(self, step: Work, around: tuple, buffer: str) -> None:
        users = [(loops, work) for _, loops, work in self.leaves if work is not step and any(touch.array == buffer for touch in work.touches)]
        alone = all(work.role[:1] in (("clear",), ("copy",)) for _, work in users)
        for body, loops, work in self.leaves:
            if work.role == ("clear", buffer) and len(around) > len(loops):
                loop = around[len(loops)]  # of k
                if not any(loop in others for others, _ in users):
                    self._drop(body, work)
            elif work.role == ("copy", buffer) and alone and step.matrix.lanes and not step.matrix.thin:
                # The last step stores where the copy would have.
                work.rows = work.turns = work.vectors = 0.0
                work.touches = [touch for touch in work.touches if not touch.scratch]


def kernels_of(text: str) -> dict:
    """The kernels of a stage by name."""
    text = re.sub(r"[ \t]+// \S+:\d+:\d+$", "", text, flags=re.M)
    text = re.sub(r"#tile\.layout<(?:->|[^>])*>, ", "", text)
    return {found[1]: (found[2], [line.strip() for line in found[3].splitlines() if line.strip()])
            for found in re.finditer(r"^  tile\.func @(\w+)\(([^\n]*)\{\n(.*?)^  \}\n", text, re.M | re.S)}


def read(compilation, shapes: dict, dims: dict | None = None, assumed: dict | None = None) -> list[Launch]:
    """The launches of a call with these shapes of its arguments; `dims` are sizes by name for arguments that have none. Into `assumed` goes
    what else was needed, at sizes of our choice."""
    found, chosen, unknown = compilation.launches({name: [int(size) for size in shape] for name, shape in shapes.items()},
                                                  {name: int(size) for name, size in (dims or {}).items()}, assume=assumed is not None)
    if unknown:
        raise Unknown(unknown)
    if assumed is not None:
        assumed.update(chosen)
    kernels = kernels_of(compilation.print())
    try:
        return [Launch(kernel, programs, work, threads,
                       _Kernel(*kernels[kernel], [shape for _, shape, _ in tensors], [name for name, _, _ in tensors],
                               [None if value is None else float(value) for value in scalars]).tree,
                       {name: bytes for name, _, bytes in tensors})
                for kernel, programs, work, threads, tensors, scalars in found]
    except (KeyError, IndexError, ValueError, TypeError, ZeroDivisionError, AttributeError, SyntaxError, StopIteration) as error:
        raise Unknown(f"{type(error).__name__}: {error}") from error
