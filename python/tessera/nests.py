"""The tile stage of a CPU program as loops: what a call launches, how often each nest runs, which bytes it touches.

    launches = read(compilation, {"A": (512, 256), "B": (256, 1024)})

A launch is a tree of `Loop`s over the programs, the kernel's own loops and the blocks of matrix steps; its leaves are `Work`: counts of
vector operations and multiplications, and `Touch`es of arrays. Lengths are those that exist: the last tile of a dim is shorter.
The tree is made by compiler/Tile/Analysis/LoopTree.h.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import dataclasses


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
    thin: bool = False  # few rows and many columns: eight steps of k for all columns at a time
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


def _made(item: tuple):
    if len(item) == 3:
        trips, name, body = item
        return Loop(trips, name, [_made(inner) for inner in body])
    *counts, matrix, touches = item
    return Work(*counts, Matrix(*matrix) if matrix else None, [Touch(array, size, frozenset(along), *how) for array, size, along, *how in touches])


def read(compilation, shapes: dict, dims: dict | None = None, assumed: dict | None = None) -> list[Launch]:
    """The launches of a call with these shapes of its arguments; `dims` are sizes by name for arguments that have none. Into `assumed` goes
    what else was needed, at sizes of our choice."""
    found, chosen, unknown = compilation.loops({name: [int(size) for size in shape] for name, shape in shapes.items()},
                                               {name: int(size) for name, size in (dims or {}).items()}, assumed is not None)
    if unknown:
        raise Unknown(unknown)
    if assumed is not None:
        assumed.update(chosen)
    return [Launch(kernel, programs, work, threads, [_made(item) for item in tree], arrays) for kernel, programs, work, threads, tree, arrays in found]
