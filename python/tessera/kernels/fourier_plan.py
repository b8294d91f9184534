"""How a Fourier transform of two axes is done in stages: of how many points, by how many programs, in which memory.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import functools
import math

import numpy as np

from .fourier_columns import columns, rows, turns
from .fourier_stages import STAGES, near, roots

COSTS = {8: 21, 5: 18, 4: 17, 3: 15, 2: 14}  # of a stage, measured: memory counts for more than arithmetic


@functools.lru_cache(maxsize=None)
def radices(n: int) -> tuple | None:
    """n as the product that costs the least; None if stages of 2 to 8 points can't."""
    if n == 1:
        return ()
    ways = [(r, *rest) for r in COSTS if n % r == 0 and (rest := radices(n // r)) is not None and len(rest) < STAGES]
    return min(ways, key=lambda way: sum(COSTS[r] for r in way), default=None)


def _vectors(n: int) -> int:
    """Of 16 lanes."""
    return -(-n // 16)


@functools.lru_cache(maxsize=None)
def halves(n: int) -> tuple | None:
    """The radices of P and of M for rows of n = P * M points: the work of both, with the lanes that are empty; None if there are none."""
    def cost(way):
        (p, down), (m, along) = ((math.prod(part), sum(COSTS[r] for r in part)) for part in way)
        return _vectors(m) * p * down + _vectors(p) * m * along

    ways = [(radices(p), radices(n // p)) for p in range(n // 2, 1, -1) if n % p == 0]
    return min((way for way in ways if all(way) and max(map(len, way)) <= 4), key=cost, default=None)


@functools.lru_cache(maxsize=256)
def _blocks(batch: int, count: int, threads: int, most: int) -> tuple:
    """How many programs share rows or columns, how many blocks each has, and how many of them are a block: the fewest vectors."""
    programs = max(t for t in range(1, max(1, threads // batch) + 1) if count % t == 0)
    each = count // programs
    size = min((d for d in range(1, most + 1) if each % d == 0), key=lambda d: (each // d * _vectors(d), -d))
    return programs, each // size, size


def _memory(dtype: str, *shapes) -> list:
    """New arrays without gaps, but that rows longer than a line begin at lines: kernels are quicker with such."""
    line = 64 // np.dtype(dtype).itemsize
    pitches = [shape[-1] if shape[-1] < line else -(-shape[-1] // line) * line for shape in shapes]
    sizes = [math.prod(shape[:-1]) * pitch for shape, pitch in zip(shapes, pitches)]
    room = np.empty(sum(sizes) + line * (len(sizes) + 1), dtype)
    at, made = 0, []
    for shape, pitch, size in zip(shapes, pitches, sizes):
        at += -(room[at:].ctypes.data // room.itemsize) % line
        made.append(room[at : at + size].reshape(*shape[:-1], pitch)[..., : shape[-1]])
        at += size
    return made


@functools.lru_cache(maxsize=16)
def plan(batch: int, height: int, width: int, dtype: str, threads: int, caller: int) -> tuple:
    """Of rows and of columns: the shape, the kernel, and what else it takes; its memory is the caller's own."""
    down, along = halves(width)
    p, m = math.prod(down), math.prod(along)
    programs, blocks, _ = _blocks(batch, height, threads, 1)
    tables = *(roots(half, dtype) for half in (down, along)), turns(down, along, dtype)
    shapes = [(batch, programs, count, 2, m) for count in (near(down), p, p)]
    shapes += [(batch, programs, count, 2, p) for count in (m, m, near(along))]
    first = (batch, programs, blocks, p, m, 2), rows(down, along, programs, blocks), (*tables, *_memory(dtype, *shapes))
    stages = radices(height)
    programs, blocks, size = _blocks(batch, width, threads, 64)
    shapes = [(batch, programs, count, 2, size) for count in (near(stages), height, height)]
    kernel = columns(stages, programs, blocks, size)
    return first, ((batch, height, programs, blocks, size, 2), kernel, (roots(stages, dtype), *_memory(dtype, *shapes)))
