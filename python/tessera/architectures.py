"""NVIDIA's architectures, as the compiler's one table has them (compiler/Support/Architectures).

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from functools import lru_cache

from . import _runtime

is_known = _runtime.arch_is_known
occupancy = _runtime.arch_occupancy
"""(arch, threads, registers, shared) -> blocks and warps of an SM, their fraction, what limits them."""


@lru_cache(None)
def names() -> tuple[str, ...]:
    """All of them, oldest first: sm_70 ... sm_121f."""
    return tuple(_runtime.arch_names())


@lru_cache(None)
def arch(name: str) -> dict:
    """What the table says of a machine; ValueError, with the known names, for one it does not have."""
    return _runtime.arch(name)


def order(name: str) -> tuple[int, int]:
    """To compare machines by: (major, minor). Never compare names: "sm_100" < "sm_90"."""
    row = arch(name)
    return row["major"], row["minor"]


def promoted(name: str) -> str:
    """The name it is compiled for: sm_90a for sm_90."""
    return _runtime.arch_promoted(name)


def mma(name: str, a: str, b: str, d: str) -> str | None:
    """The form of `mma.sync` for these types (as PTX spells them), if the machine has one."""
    return _runtime.arch_mma(name, a, b, d)


def mma_where(a: str, b: str, d: str) -> str:
    """The line of the table that says which machines have `mma.sync` of these types."""
    return _runtime.arch_mma_where(a, b, d)


def has_mma(name: str, a: str, b: str, d: str) -> bool:
    return mma(name, a, b, d) is not None
