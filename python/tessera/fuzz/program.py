"""A generated program: its parameters, its lines, its inputs; as text, and as a real file that is imported.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import os
import re

import numpy as np

from ..dtypes import by_name, to_numpy
from .randomness import bits_array

FLOATS = ("fp64", "fp32", "fp16", "bf16")
INTS = ("i32", "i64")
VIEWS = ("contiguous", "transposed", "sliced", "negative", "broadcast")


@dataclasses.dataclass(frozen=True)
class Dim:
    """An axis. Two axes are the same if their keys are; `text` is how a body writes the extent."""

    key: str
    extent: int
    text: str


@dataclasses.dataclass
class Value:
    """What a name of the program holds: every element lies in [low, high]; `exact`: no rounding happened on its way, so that
    comparisons of it are decided."""

    name: str
    dtype: str
    dims: tuple
    low: float
    high: float
    exact: bool
    used: int = 0

    @property
    def size(self) -> float:
        return max(abs(self.low), abs(self.high))

    @property
    def shape(self) -> tuple:
        return tuple(d.extent for d in self.dims)


@dataclasses.dataclass
class Line:
    """`text` defines `names` from `uses`; with `body` it is the head of a block, `tail` its other arm."""

    text: str
    names: tuple = ()
    uses: tuple = ()
    ops: tuple = ()
    body: list | None = None
    tail: list | None = None

    def copy(self) -> "Line":
        body = None if self.body is None else [line.copy() for line in self.body]
        tail = None if self.tail is None else [line.copy() for line in self.tail]
        return dataclasses.replace(self, body=body, tail=tail)


@dataclasses.dataclass
class Input:
    """How an argument is made. `low`, `high`: whole numbers between them, or (`real`) multiples of 2^-20."""

    name: str
    dtype: str
    shape: tuple = ()
    annotation: str = ""
    low: int = -4
    high: int = 4
    real: bool = False
    view: str = "contiguous"
    seed: int = 0
    scalar: float | int | bool | None = None
    mode: str = "in"  # in, out (left out of the call), inout
    default: str = ""  # of a const
    keys: tuple = ()  # of its dims

    def make(self):
        if self.scalar is not None:
            return self.scalar
        dtype = np.bool_ if self.dtype == "bool" else to_numpy(by_name(self.dtype).storage)
        count = int(np.prod(self.shape, dtype=np.int64))
        words = bits_array(self.seed, max(count, 1))[:count]
        if self.real:
            steps = np.uint64((self.high - self.low) * 2**20 + 1)
            values = (words % steps).astype(np.float64) * 2.0**-20 + self.low
        else:
            values = (words % np.uint64(self.high - self.low + 1)).astype(np.int64) + self.low
        return as_view(values.astype(dtype).reshape(self.shape), self.view)


def as_view(array: np.ndarray, view: str) -> np.ndarray:
    """Under other strides; a broadcast one repeats its first element along the first axis."""
    if view == "transposed" and array.ndim > 1:
        return np.ascontiguousarray(array.T).T
    if view == "sliced" and array.ndim:
        wide = np.zeros(tuple(2 * s + 1 for s in array.shape), array.dtype)
        window = tuple(slice(1, 2 * s + 1, 2) for s in array.shape)
        wide[window] = array
        return wide[window]
    if view == "negative" and array.ndim:
        back = (slice(None, None, -1),) * array.ndim
        return np.ascontiguousarray(array[back])[back]
    if view == "broadcast" and array.ndim and array.shape[0] > 0:
        return np.broadcast_to(array[:1], array.shape)
    return array


_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclasses.dataclass
class Program:
    """`kind` is function or kernel; `exact`: every result is exact whatever the order, so that all stages agree bit for bit."""

    seed: int
    kind: str
    exact: bool
    inputs: list
    lines: list
    results: list  # names returned by a function; names of the written parameters of a kernel
    decorators: list = dataclasses.field(default_factory=list)
    prelude: list = dataclasses.field(default_factory=list)  # other functions and kernels, as text
    dims: dict = dataclasses.field(default_factory=dict)
    tags: list = dataclasses.field(default_factory=list)
    length: int = 1  # of the longest reduction
    types: dict = dataclasses.field(default_factory=dict)  # name -> (dtype, keys of its dims, shape)

    # ---- text -------------------------------------------------------------------------------

    def text(self) -> str:
        parameters = []
        for i in sorted(self.inputs, key=lambda i: bool(i.default)):
            parameters.append(i.name + (f": {i.annotation}" if i.annotation else "") + (f" = {i.default}" if i.default else ""))
        out = [f"# seed {self.seed}: python -m tessera.fuzz show {self.seed}", "# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception", "import math", "",
               "import tessera as tsr", "from tessera import InOut, Out, Region, Tensor, bf16, const, fp16, fp32, fp64, i32, i64, reduce_max, reduce_min, reduce_sum", ""]
        for other in self.prelude:
            out += ["", other.rstrip("\n"), ""]
        out += [""] + self.decorators + [f"@tsr.{self.kind}", f"def f({', '.join(parameters)}):"]
        self._body(self.lines, 1, out)
        if self.kind == "function":
            out.append(f"    return {', '.join(self.results)}")
        return "\n".join(out) + "\n"

    def _body(self, lines: list, depth: int, out: list) -> None:
        if not lines:
            out.append("    " * depth + "pass")
        for line in lines:
            out.append("    " * depth + line.text)
            if line.body is not None:
                self._body(line.body, depth + 1, out)
            if line.tail is not None:
                out.append("    " * depth + "else:")
                self._body(line.tail, depth + 1, out)

    def walk(self, lines=None):
        for line in self.lines if lines is None else lines:
            yield line
            yield from self.walk(line.body or [])
            yield from self.walk(line.tail or [])

    @property
    def ops(self) -> list:
        return [op for line in self.walk() for op in line.ops]

    # ---- running ----------------------------------------------------------------------------

    def arguments(self) -> dict:
        return {i.name: i.make() for i in self.inputs if i.mode != "out" and not i.default}

    def write(self, folder: str, name: str | None = None) -> str:
        path = os.path.join(folder, name or f"program_{self.seed}.py")
        with open(path, "w") as file:
            file.write(self.text())
        return path

    def load(self, folder: str):
        """The function, from a file in the folder."""
        return load_file(self.write(folder))

    def prune(self) -> None:
        """Drops lines that no result needs."""
        needed = set(self.results)
        if self.kind == "kernel":
            return

        def live(lines: list) -> list:
            kept = []
            for line in reversed(lines):
                if not any(n in needed for n in line.names):
                    continue
                if line.body is not None:
                    needed.update(line.names)
                    needed.update(_WORD.findall(line.text))
                    # What a loop carries may be needed by the next turn: until nothing is added.
                    size = -1
                    while size != len(needed):
                        size = len(needed)
                        body = live(line.body)
                        tail = None if line.tail is None else live(line.tail)
                    line.body, line.tail = body, tail
                else:
                    needed.update(line.uses)
                kept.append(line)
            return kept[::-1]

        self.lines = live(self.lines)
        words = set(_WORD.findall(" ".join(line.text for line in self.walk()))) | set(self.results)
        self.inputs = [i for i in self.inputs if i.name in words or words & {d for d in re.findall(r'"(\w+)"', i.annotation)}] or self.inputs[:1]

    def copy(self) -> "Program":
        return dataclasses.replace(self, inputs=[dataclasses.replace(i) for i in self.inputs], lines=[line.copy() for line in self.lines],
                                   results=list(self.results), decorators=list(self.decorators), prelude=list(self.prelude), tags=list(self.tags), types=dict(self.types), dims=dict(self.dims))

    def reproducer(self, folder: str, name: str, note: str) -> str:
        """A file that runs by itself: the program, its inputs, the call."""
        text = self.text() + "\n\nif __name__ == \"__main__\":\n    from tessera.fuzz.program import Input\n\n"
        for line in note.strip().splitlines():
            text += f"    # {line}\n"
        text += "    inputs = [\n"
        for i in self.inputs:
            if i.mode != "out" and not i.default:
                text += f"        {i!r},\n"
        text += "    ]\n    from tessera.fuzz.runner import compare_call\n\n"
        text += f"    compare_call(f, {{i.name: i.make() for i in inputs}}, exact={self.exact})\n"
        path = os.path.join(folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def summary(self) -> dict:
        return {"seed": self.seed, "kind": self.kind, "exact": self.exact, "ops": len(self.ops), "length": self.length, "tags": self.tags}


def load_file(path: str):
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


def dump(summary: dict) -> str:
    return json.dumps(summary, separators=(",", ":"))
