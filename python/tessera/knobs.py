"""Every switch, in one place: an environment variable, its type, its default.

    tsr.knobs.tune = "off"                     # for the process
    TESSERA_TUNE=off python app.py             # the same, from outside

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import os
import sys


class _Knob:
    def __init__(self, variable: str, kind: type, default, text: str, choices: tuple = ()):
        self.variable, self.kind, self.default, self.text, self.choices = variable, kind, default, text, choices
        self.value = None

    def read(self):
        if self.value is not None:
            return self.value
        text = os.environ.get(self.variable)
        if text is None or text == "":
            return self.default
        if self.kind is bool:
            return text not in ("0", "no", "off", "false")
        return self.convert(text)

    def refuse(self, message: str, value: str):
        from . import source
        from .errors import KnobError

        name = self.variable.removeprefix("TESSERA_")
        raise KnobError(source.at_user(message, f"tsr.knobs.{name.lower()} = {value}, or {self.variable}={value.strip(chr(39))}", name.lower())) from None

    def convert(self, value):
        try:
            converted = self.kind(value)
        except (TypeError, ValueError):
            self.refuse(f"{self.variable} must be {self.kind.__name__}, not {value!r}", repr(self.default))
        if self.choices and converted not in self.choices:
            from . import source

            self.refuse(f"{self.variable} must be one of {', '.join(self.choices)}, not {value!r}",
                        repr(source.nearest(value, self.choices, str(self.default))))
        return converted


class Knobs:
    """The knobs; reading an attribute gives its value now."""

    debug: bool
    num_threads: int
    tune: str
    verify: bool
    dump: str
    opt_level: int
    cache: str
    cache_size: int
    sim_library: str
    bin: str
    allow_spills: bool
    versions: int

    _knobs = {
        "debug": _Knob("TESSERA_DEBUG", bool, False, "asserts and breakpoints of programs, compiler internals in errors"),
        "num_threads": _Knob("TESSERA_NUM_THREADS", int, 0, "threads of the CPU target; 0: all"),
        "tune": _Knob("TESSERA_TUNE", str, "on", "tune at the first call of a new key", ("off", "cached", "on")),
        "verify": _Knob("TESSERA_VERIFY", bool, False, "verify the IR after every pass"),
        "dump": _Knob("TESSERA_DUMP", str, "", "folder that gets every stage of every compile"),
        "opt_level": _Knob("TESSERA_OPT_LEVEL", int, 3, "LLVM's optimisation level, 1 to 3"),
        "cache": _Knob("TESSERA_CACHE", str, "", "folder of compiled code, or off; if empty $XDG_CACHE_HOME/tessera, else ~/.cache/tessera"),
        "cache_size": _Knob("TESSERA_CACHE_SIZE", int, 1024, "megabytes that it may grow to"),
        "sim_library": _Knob("TESSERA_SIM_LIBRARY", str, "", "libtessera_sim.so of tessera.sim, if it is elsewhere"),
        "allow_spills": _Knob("TESSERA_ALLOW_SPILLS", bool, False, "machine code of GPU kernels whose registers spill to memory is no error"),
        "versions": _Knob("TESSERA_VERSIONS", int, 256, "compiled versions that one function keeps in memory; the one not used for longest goes first"),
        "bin": _Knob("TESSERA_BIN", str, "", "folder of the command-line tools, if they are not on PATH"),
    }
    # Read by C++ when a process starts, so they can be set from outside only.
    _native = {
        "TESSERA_THREADING": "who provides the threads: libgomp or pool",
        "TESSERA_CUDA_DRIVER": "the CUDA driver library instead of libcuda.so.1; the simulator's libtessera_cuda.so poses as a GPU",
        "TESSERA_HIDE_CPU_FEATURES": "processor features to do without, for tests: avx512f,amx-tile",
        "TESSERA_SIM_ARCH": "the GPU that the simulator is: sm_80",
        "TESSERA_SIM_BOARD": "the card that it is, with its multiprocessors and memory: H100, B200, GB300, RTX 5090",
        "TESSERA_SIM_CHECK": "1: the simulator looks for races and bad barriers",
        "TESSERA_SIM_COUNT": "1: the simulator counts transactions and bank conflicts",
        "TESSERA_SIM_SEED": "the simulator orders warps by this seed",
        "TESSERA_SIM_MAX_INSTRUCTIONS": "warp instructions after which the simulator ends a block; 200000000",
        "TESSERA_SIM_MAX_SECONDS": "seconds after which the simulator ends a launch; 240",
        "TESSERA_SIM_THREADS": "threads of the simulator",
        "TESSERA_SIM_REPORT": "file for the simulator's report",
    }

    def _refuse(self, name: str):
        if name.startswith("_"):
            raise AttributeError(name)
        from . import source
        from .errors import UnknownNameError

        near = next((known for known in self._knobs if name in known), "") or source.nearest(name, self._knobs, "num_threads")
        raise UnknownNameError(source.at_user(f"no knob is called {name!r}; there are {', '.join(self._knobs)}", f"tsr.knobs.{near}", name)) from None

    def __getattr__(self, name: str):
        try:
            return self._knobs[name].read()
        except KeyError:
            self._refuse(name)

    def __setattr__(self, name: str, value):
        if name not in self._knobs:
            self._refuse(name)
        knob = self._knobs[name]
        knob.value = None if value is None else (bool(value) if knob.kind is bool else knob.convert(value))
        if name == "num_threads":
            from ._runtime import set_num_threads

            set_num_threads(knob.read())
        elif name == "debug":  # another version; calls that are direct would not look
            from . import direct

            direct.forget()

    def __dir__(self):
        return list(self._knobs)

    def __repr__(self) -> str:
        rows = [f"{k.variable:26} {n:12} = {k.read()!r:20} {k.text}" for n, k in self._knobs.items()]
        rows += [f"{variable:26} {'':12}   {os.environ.get(variable, '')!r:20} {text}" for variable, text in self._native.items()]
        return "\n".join(rows)


knobs = Knobs()


def set_num_threads(threads: int) -> None:
    """How many threads the CPU target takes; 0: all."""
    knobs.num_threads = threads


def colour(stream=None) -> bool:
    """Whether errors printed to `stream` may be coloured."""
    stream = stream or sys.stderr
    return "NO_COLOR" not in os.environ and hasattr(stream, "isatty") and stream.isatty()
