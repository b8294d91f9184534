# Graphics cards to choose: what the architecture leaves open.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Multiprocessors, memory and second-level caches of real cards, for programs
that size their grids by them. Without a choice a simulated GPU has few
multiprocessors, which is what a simulation wants.

The figures are those commonly given for these cards; they were not compared
with a card. GB300 is the whole chip of NVIDIA's "Inside NVIDIA Blackwell
Ultra" (160 multiprocessors, 288 GB); a card that is sold may have fewer, and
its cache is taken from B200. sim/driver/Boards.cpp has the same table."""

from dataclasses import dataclass

from ._native import architectures
from .device import SimError


@dataclass(frozen=True)
class Board:
    name: str
    arch: int
    multiprocessors: int
    memory: int
    l2_bytes: int

    def clusters(self, arch, size):
        """How many clusters of this size are resident together, at most: the
        machine may have fewer, as a cluster does not leave its GPC."""
        most = architectures()[f"sm_{arch}"]["cluster"]
        return self.multiprocessors // size if 0 < size <= most else 0

    def attributes(self, arch):
        """Values of cudaDeviceAttr by number."""
        machine = architectures()[f"sm_{arch}"]
        return {1: 1024, 2: 1024, 3: 1024, 4: 64, 5: 2147483647, 6: 65535,
                7: 65535, 8: 49152, 10: 32, 16: self.multiprocessors,
                38: self.l2_bytes, 75: arch // 10, 76: arch % 10,
                97: machine["shared_per_block"]}


BOARDS = [Board("H100", 90, 132, 80 << 30, 50 << 20),
          Board("B200", 100, 148, 180 << 30, 126 << 20),
          Board("GB300", 103, 160, 288 << 30, 126 << 20),
          Board("RTX 5090", 120, 170, 32 << 30, 96 << 20),
          Board("RTX 5080", 120, 84, 16 << 30, 64 << 20),
          Board("RTX 5070", 120, 48, 12 << 30, 48 << 20)]


def find(name, arch):
    """The board of this name, which has to have the architecture."""
    if name is None:
        return Board("simulator", arch, 4, 8 << 30, 4 << 20)
    for board in BOARDS:
        if board.name.lower() == name.lower():
            if board.arch != arch:
                raise SimError(f"{board.name} is a GPU of sm_{board.arch}, not of sm_{arch}")
            return board
    raise SimError(f"no board is called {name!r}; the simulator has " + ", ".join(b.name for b in BOARDS))
