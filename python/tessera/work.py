"""How many operations and bytes a call takes, counted from the tile-value stage and the plan of the version that runs it.

Operations: additions, multiplications, comparisons of two values and functions such as `exp` count one, a multiply-add two; elements
that do not exist (tiles past the end of a dim) are not counted. Bytes: arguments and results, each once.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import dataclasses
import math
import re

from .arguments import Spec
from .nests import Unknown

_ONE = re.compile(r"(arith\.(addf|subf|mulf|divf|remf|maximumf|minimumf|maxnumf|minnumf|addi|subi|muli)|math\.(?!fma|absf|copysign)\w+)$")
_SHAPE = re.compile(r"(?:tensor|vector)<((?:\d+x)*)([a-z]\w*)>")


@dataclasses.dataclass
class KernelWork:
    """Of one launch. `products` are the operations of matrix products among `flops`, by the operands' dtype."""

    name: str
    flops: float = 0.0
    products: dict = dataclasses.field(default_factory=dict)
    unknown: str = ""  # what could not be counted

    @property
    def dtype(self) -> str:
        """What most of the products are made of; "" if they are not most of the work."""
        return max(self.products, key=self.products.get) if sum(self.products.values()) > 0.5 * self.flops else ""


class _Kernel:
    """One tile.func with the shapes of its operands: walks its lines once, each counted as often as its loops turn.

    `ranges`: how many elements of a range exist, on average over its tiles; `tiles`: the same for the axes of a tile, beside its shape.
    """

    def __init__(self, name: str, head: str, body: list[str], shapes: list):
        self.work = KernelWork(name)
        self.shapes = dict(zip(re.findall(r"%([\w.]+): memref<", head), shapes))
        self.values: dict[str, float] = {}
        self.ranges: dict[str, float] = {}
        self.tiles: dict[str, tuple] = {}
        times = [1.0]  # how often the lines of each open region are executed
        for line in body:
            line = line.strip()
            opens, closes = line.endswith("{"), line.startswith("}")
            if closes and len(times) > 1:
                times.pop()
            inside = times[-1]
            try:
                inside = self._line(line, times)
            except (Unknown, KeyError, IndexError, ZeroDivisionError, ValueError, TypeError) as error:
                self.work.unknown = self.work.unknown or (str(error) if isinstance(error, Unknown) else f"'{line[:60]}'")
            if opens:
                times.append(inside)

    def value(self, name: str) -> float:
        name = name.strip().lstrip("%")
        if name not in self.values:
            raise Unknown("a loop whose end is computed from data")
        return self.values[name]

    def _line(self, line: str, times: list) -> float:
        """Counts a line; how often a region that it opens is executed."""
        found = re.match(r"(?:%([\w.]+)(?::\d+)? = )?\"?([\w.]+)\"? ?(.*)$", line)
        if not found:
            return times[-1]
        result, op, rest = found[1], found[2], found[3]
        if op == "tile.dim":
            array, axis = re.match(r"%([\w.]+), (\d+)", rest).groups()
            self.values[result] = self.shapes[array][int(axis)]
        elif op == "arith.constant" and (number := re.match(r"(-?\d+) : (index|i64|i32)", rest)):
            self.values[result] = float(number[1])
        elif op == "tile.program":
            self._program(result, rest, times)
        elif op == "tile.range_at":
            begin, extent, tile = re.match(r"(%[\w.#]+) of (%[\w.#]+) : .*?<(\d+)>", rest).groups()
            self.ranges[result] = min(float(tile), max(self.value(extent) - self.value(begin), 0))
        elif op == "tile.for":
            return times[-1] * self._loop(result, rest)
        elif op.startswith("arith.") and result and re.search(r": (index|i64)$", rest):
            self._arithmetic(result, op[6:], rest)
        elif op in ("tile.range_start", "tile.range_stop", "arith.index_cast") and result:
            name = re.match(r"%([\w.#]+)", rest)[1]
            self.values[result] = self.value(name) + (self.ranges.get(name, 0.0) if op == "tile.range_stop" else 0.0)
        else:
            self._count(result, op, rest, times[-1])
        return times[-1]

    def _program(self, result: str, rest: str, times: list) -> None:
        extents = re.search(r"extents\(([^)]*)\)", rest)[1].split(",")
        tiles = [int(t) for t in re.search(r"tiles = \[([^\]]*)\]", rest)[1].split(",") if t.strip()]
        for number, (extent, tile) in enumerate(zip(extents, tiles)):
            size = self.value(extent)
            programs = math.ceil(size / max(tile, 1))
            times[-1] *= programs
            name = f"{result}#{number}" if len(tiles) > 1 else result
            self.values[name] = max(size - max(tile, 1), 0) / 2  # on average a program stands in the middle
            if tile:
                self.ranges[name] = size / max(programs, 1)

    def _loop(self, result: str | None, rest: str) -> float:
        for name, given in re.findall(r"%([\w.]+) = %([\w.#]+)[,)]", rest.partition("carry")[2]):
            if given in self.tiles:
                self.tiles[name] = self.tiles[given]
        for number, (_, given) in enumerate(re.findall(r"%([\w.]+) = %([\w.#]+)[,)]", rest.partition("carry")[2])):
            if result and given in self.tiles:
                self.tiles[f"{result}#{number}"] = self.tiles[result] = self.tiles[given]
        variable, begin, end = re.match(r"%([\w.]+) = (%[\w.#]+) to (%[\w.#]+)", rest).groups()
        tile = re.search(r": !tile\.range<(\d+)>", rest)
        step = int(tile[1]) if tile else 1
        extent = max(self.value(end) - self.value(begin), 0)
        turns = math.ceil(extent / step)
        self.values[variable] = self.value(begin) + extent / 2
        if tile:
            self.ranges[variable] = extent / max(turns, 1)
        return turns

    def _arithmetic(self, result: str, op: str, rest: str) -> None:
        operands = re.findall(r"%([\w.#]+)", rest)
        do = {"addi": lambda a, b: a + b, "subi": lambda a, b: a - b, "muli": lambda a, b: a * b, "minsi": min, "maxsi": max, "floordivsi": lambda a, b: a // b,
              "ceildivsi": lambda a, b: -(-a // b), "remsi": math.fmod, "divsi": lambda a, b: a // b, "divui": lambda a, b: a // b, "minui": min,
              "maxui": max}.get(op)
        if do is not None and all(name in self.values for name in operands):
            self.values[result] = do(*(self.values[name] for name in operands))

    def _exist(self, name: str, shape: list) -> list:
        """How many elements of a tile's axes exist; all of them unless something else is known."""
        known = self.tiles.get(name)
        return known[1] if known and known[0] == shape else [float(n) for n in shape]

    def _along(self, rest: str, shape: list) -> list:
        """Of a tile that is loaded or made along the ranges in brackets."""
        names = [name for name in re.findall(r"%([\w.#]+)", rest[rest.index("["): rest.index("]")]) if name in self.ranges]
        return [self.ranges[name] for name in names] if len(names) == len(shape) else [float(n) for n in shape]

    def _count(self, result: str | None, op: str, rest: str, times: float) -> None:
        shapes = [([int(n) for n in dims.split("x") if n], element) for dims, element in _SHAPE.findall(rest)]
        operands = re.findall(r"%([\w.#]+)", rest)
        made = shapes[-1][0] if shapes else []
        if op in ("tile.load", "tile.fill") and made:
            exist = self._along(rest, made)
        elif op == "tile.mma":
            (left, dtype), (right, _) = shapes[0], shapes[1]
            a, b = self._exist(operands[0], left), self._exist(operands[1], right)
            flops = 2.0 * math.prod(a) * b[-1] * times
            self.work.flops += flops
            self.work.products[dtype] = self.work.products.get(dtype, 0.0) + flops
            exist = [*a[:-1], b[-1]]
        elif op == "tile.transpose":
            order = [int(n) for n in re.search(r"\[([\d, ]*)\]", rest)[1].split(",")]
            before = self._exist(operands[0], shapes[0][0])
            exist = [before[axis] for axis in order]
        elif op in ("tile.reduce", "tile.scan"):
            before = self._exist(operands[0], shapes[0][0]) if shapes else [1.0]
            self.work.flops += math.prod(before) * times
            axis = re.search(r"axis = (\d+)", rest)
            exist = [n for k, n in enumerate(before) if op == "tile.scan" or not axis or k != int(axis[1])]
        elif op == "tile.broadcast":
            kept = [int(n) for n in re.search(r"axes = \[([\d, ]*)\]", rest)[1].split(",") if n.strip()]
            before = iter(self._exist(operands[0], shapes[0][0] if len(shapes) > 1 else []))
            added = iter(self.ranges.get(name, 0.0) for name in operands[1:])
            exist = [next(before, float(n)) if k in kept else next(added, 0.0) or float(n) for k, n in enumerate(made)]
        else:
            like = next((name for name in operands if name in self.tiles and self.tiles[name][0] == made), "")
            exist = self._exist(like, made)
            each = 2 if op == "math.fma" else 1 if _ONE.match(op) and (shapes or re.search(r": (b?f16|f32|f64)$", rest)) else 0
            self.work.flops += each * math.prod(exist) * times
        if result and made:
            self.tiles[result] = (made, exist if len(exist) == len(made) else [float(n) for n in made])


def of_version(fn, spec: Spec, sizes: dict) -> dict[str, list[KernelWork]]:
    """Kernel -> its launches, of what a call runs; `sizes`: shapes by name of the arguments."""
    compilation = fn._with_key(lambda: fn._start(spec))
    compilation.lower("tile-value")
    text = re.sub(r"[ \t]+// \S+:\d+:\d+$", "", compilation.print(), flags=re.M)
    bodies = {found[1]: (found[2], found[3].splitlines())
              for found in re.finditer(r"^  tile\.func @(\w+)\(([^\n]*)\{\n(.*?)^  \}\n", text, re.M | re.S)}
    found, _, _ = compilation.launches({name: [int(size) for size in shape] for name, shape in sizes.items()}, {}, every_arm=True)
    launches: dict = {}
    for kernel, _, _, _, tensors, _ in found:
        if kernel in bodies:
            launches.setdefault(kernel, []).append(_Kernel(kernel, *bodies[kernel], [shape for _, shape, _ in tensors]).work)
    return launches
