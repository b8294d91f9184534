# Graphics cards to choose: what the architecture leaves open.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Multiprocessors, memory and caches of real cards, for programs that size
their grids by them. Without a choice a simulated GPU has few multiprocessors,
which is what a simulation wants."""

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
        """How many clusters of this size are resident together."""
        return max(1, self.multiprocessors // size)

    def attributes(self, arch):
        """Values of cudaDeviceAttr by number."""
        machine = architectures()[f"sm_{arch}"]
        return {1: 1024, 2: 1024, 3: 1024, 4: 64, 5: 2147483647, 6: 65535,
                7: 65535, 8: 49152, 10: 32, 16: self.multiprocessors, 38: self.l2_bytes,
                75: arch // 10, 76: arch % 10,
                97: machine["shared_per_block"]}


def find(name, arch):
    return Board("simulator", arch, 4, 8 << 30, 4 << 20)
