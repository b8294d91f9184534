"""The usage guide's way to compile: a compiler object for one platform and architecture.

    compiler = TargetIRCompiler(target_platform="cuda", target_architecture="sm_90", optimization_level=3)
    attention = compiler.compile(flash_attention)
    attention(q, k, v)               # runs; on CUDA where the arrays are there, else see `platforms`
    attention.kernel_code            # PTX of the version called last, or of `attention.code(q=fp16, ...)`

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import dataclasses

from . import architectures, machines, source
from .errors import ArgumentError, CompileError
from .wording import entry

platforms = {
    "cuda": "NVIDIA GPUs: PTX, launched by the CUDA driver",
    "sim": "the same PTX, executed by the simulator on this machine",
    "cpu": "this machine's processor",
}


class TargetIRCompiler:
    """Compiles functions and kernels for one machine.

    `optimization_level` is LLVM's: 0 leaves the code as our own passes made it, which has the same results.
    `enable_tensor_cores=False` is for the CPU only: GPU products use the instruction the table of architectures has for their types.
    `enable_autotuning` leaves tuning to the function's own `autotune` space; a function without one has nothing to tune.
    """

    @entry
    def __init__(self, target_platform: str = "cuda", target_architecture: str = "", optimization_level: int = 3,
                 enable_tensor_cores: bool = True, enable_autotuning: bool = False):
        if target_platform not in platforms:
            near = source.nearest(target_platform, platforms, "cuda")
            raise ArgumentError(source.at_user(f"no platform is called {target_platform!r}; there are {', '.join(platforms)}",
                                               f'target_platform="{near}"', str(target_platform)))
        if optimization_level not in (0, 1, 2, 3):
            raise ArgumentError(source.at_user(f"optimization_level is 0, 1, 2 or 3, not {optimization_level!r}", "optimization_level=3", "optimization_level"))
        self.target_platform, self.target_architecture = target_platform, target_architecture
        self.optimization_level, self.enable_autotuning = optimization_level, enable_autotuning
        if target_platform == "cpu":
            self.target = f"cpu:{target_architecture}" if target_architecture else "cpu"
        else:
            from .targets import check_target

            prefix = "sim:" if target_platform == "sim" else ""
            self.target = check_target(prefix + (target_architecture or "sm_80"), "target_architecture", prefix)
        if target_platform != "cpu" and not enable_tensor_cores:
            raise CompileError(source.at_user("not yet: GPU kernels without tensor cores", "enable_tensor_cores=True", "enable_tensor_cores"))

    @property
    def architecture(self) -> dict | None:
        """What the table of architectures says of the machine; None for the CPU."""
        return None if self.target_platform == "cpu" else architectures.arch(architectures.promoted(machines.of(self.target).arch))

    @entry
    def compile(self, fn) -> "CompiledFunction":
        """`fn` for this machine: called like `fn`."""
        if not hasattr(fn, "inspect_ir"):
            raise ArgumentError(source.at_user(f"TargetIRCompiler compiles tessera functions and kernels, not {fn!r}", "@tessera.function", "compile"))
        if self.optimization_level != 3:  # a function of its own: versions of another level are other code
            name, fn = fn.__name__, type(fn)(fn._fn, fn.kind, dataclasses.replace(fn.options.copy(), opt_level=self.optimization_level), fn._source, fn._names)
            fn.__name__ = name
        return CompiledFunction(self, fn)


class CompiledFunction:
    """A function that runs on its compiler's machine."""

    def __init__(self, compiler: TargetIRCompiler, fn):
        self.compiler, self.fn, self.__name__ = compiler, fn, fn.__name__
        self._last = None

    @entry
    def __call__(self, *args, **kwargs):
        result = self.fn(*args, **kwargs, target=self.compiler.target)
        self._last = self.fn.last_spec
        return result

    @entry
    def version(self, **words):
        """The compiled version for these dtypes and sizes (`q=fp16, D=64`), or that of the last call."""
        if not words and self._last is not None:
            return self.fn._version(self._last)
        return self.fn.compile(target=self.compiler.target, **words)

    @entry
    def code(self, **words) -> str:
        """PTX, or LLVM IR on the CPU."""
        if self.compiler.target_platform == "cpu":
            return self.fn.inspect_ir("llvm", target=self.compiler.target, **words)
        return self.version(**words).ptx

    @property
    def kernel_code(self) -> str:
        return self.code()

    @property
    def performance_report(self) -> str:
        """Registers, spills, shared memory and occupancy of each kernel; no time that was not measured."""
        version = self.version()
        if self.compiler.target_platform == "cpu":
            return str(version.report)
        lines = [version.report]
        for name, known in version.resources.items():
            if isinstance(known, dict):
                block = next(k["block"] for k in version.kernels if k["name"] == name)
                fits = architectures.occupancy(version.chip, block, known["registers"], known["shared"])
                lines.append(f"{name}: {fits['blocks']} blocks of an SM of {version.chip}, {fits['fraction']:.0%} of its warps, limited by {fits['limiter']}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<{self.__name__} for {self.compiler.target}>"
