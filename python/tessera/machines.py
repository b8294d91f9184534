"""What the name of a target says of its machine, without loading the compiler (its rows are in compiler/Target/Machine.h).

No other module looks into the name of a target (tools/check-layout.py).

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import dataclasses
import functools


@dataclasses.dataclass(frozen=True)
class Machine:
    """"sim:sm_80" is kind "sim", arch "sm_80"; "cpu:avx2" is kind "cpu", arch "avx2"."""

    kind: str  # "cpu", "cuda", "sim", "cudatile"
    arch: str

    @property
    def in_process(self) -> bool:
        """Whether kernels are functions of this process, on arrays of this process."""
        return self.kind == "cpu"

    @property
    def is_this(self) -> bool:
        """Whether code is for the very processor it is compiled on."""
        return self.in_process and not self.arch

    @property
    def on_device(self) -> bool:
        """Whether arrays live in the memory of a device."""
        return self.kind == "cuda"

    @property
    def simulated(self) -> bool:
        return self.kind == "sim"

    @property
    def in_bytecode(self) -> bool:
        """Whether another compiler goes on from stage tile-value."""
        return self.kind == "cudatile"

    @property
    def family(self) -> str:
        """Whose keys of a schedule it has (options.SCHEDULE_KEYS)."""
        return "cpu" if self.in_process else "gpu"

    @property
    def compiled_as(self) -> str:
        """The target that is compiled: the simulator runs the code of the machine it stands for."""
        if self.kind in ("cuda", "sim"):
            return self.arch
        return f"{self.kind}:{self.arch}" if self.arch else self.kind


@functools.lru_cache(None)
def of(target: str) -> Machine:
    """The machine of a target that is known to exist (targets.check_target)."""
    kind, colon, arch = target.partition(":")
    return Machine(kind, arch) if colon or kind == "cpu" else Machine("cuda", target)
