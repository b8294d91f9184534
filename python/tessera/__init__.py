"""Tessera: write a tensor function or a tile kernel once, look at every stage, run it.

    import tessera as tsr
    from tessera import Tensor, Out, const, fp16

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from importlib.util import find_spec as _find_spec

try:
    if _find_spec("tessera._core") is None:  # loaded when it is first used
        raise ImportError("No module named 'tessera._core'")
    from ._runtime import memory_stats, num_threads, release_cached_memory, set_memory_cache_limit
except ImportError as _error:  # nothing is built here: tessera.sim works without it
    _unavailable: ImportError | None = _error
else:
    _unavailable = None

if _unavailable is None:
    from . import language as _language
    from .arrays import constant
    from .annotations import InOut, Out, Region, Tensor, const, dims, read, read_write, reduce_max, reduce_min, reduce_sum, write
    from .decorators import accum, function, kernel, policy, precision
    from .dtypes import (
        bf16, complex64, fp4_e2m1, fp6_e2m3, fp6_e3m2, fp8_e4m3, fp8_e4m3fnuz, fp8_e5m2, fp16, fp32, fp64, i8, i16, i32, i64,
        tf32, u8, u16, u32, u64,
    )
    from .dtypes import bool_ as bool
    from .errors import ArgumentError, CheckError, CompileError, DeviceError, InternalError, RunError, ScheduleWarning, TesseraError, UndecidedError
    from .files import compile_source, load_file
    from .knobs import knobs, set_num_threads
    from .language import *  # noqa: F403
    from .wording import entry as _entry

__version__ = "0.0.5"
__all__ = [
    "function", "kernel", "accum", "policy", "precision", "Tensor", "Out", "InOut", "Region", "const", "dims",
    "read", "write", "read_write", "reduce_sum", "reduce_max", "reduce_min",
    "fp64", "fp32", "tf32", "fp16", "bf16", "fp8_e4m3", "fp8_e5m2", "fp8_e4m3fnuz", "fp6_e2m3", "fp6_e3m2", "fp4_e2m1",
    "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool", "complex64",
    "compile_source", "load_file", "knobs", "num_threads", "set_num_threads",
    "memory_stats", "release_cached_memory", "set_memory_cache_limit", "profile", "constant",
    "TesseraError", "CompileError", "ArgumentError", "CheckError", "DeviceError", "InternalError", "RunError",
    *(_language.__all__ if _unavailable is None else ()),
]


def profile(fn, *args, runs: int = 100, warmups: int = 5, seconds: float = 30.0, flops: float | None = None, bytes: int | None = None, **kwargs):
    """How long calls take, what limits them and what could help: text, JSON, a page, a timeline (tessera/profiler.py)."""
    from . import profiler

    return profiler.profile(fn, *args, runs=runs, warmups=warmups, seconds=seconds, flops=flops, bytes=bytes, **kwargs)


if _unavailable is None:
    profile = _entry(profile)


def __getattr__(name: str):
    """A name of another library gets an answer that says ours."""
    if _unavailable is not None and name in __all__:
        raise ImportError(f"tessera.{name} needs the compiler, which is not built or cannot be loaded: {_unavailable}") from _unavailable
    if name == "roofline":
        from importlib import import_module

        return import_module("tessera.roofline")
    if name.startswith("_") or _unavailable is not None or _find_spec(f"tessera.{name}"):  # a module: Python imports it next
        raise AttributeError(f"tessera has no {name!r}")
    from . import dtypes, source
    from .errors import UnknownImportError, UnknownNameError

    meant = dtypes._foreign.get(name)
    ours, why = (str(meant), "the dtype is " + str(meant)) if meant else source.foreign("decorator", name) or ("", "")
    if ours == "@tsr.kernel":  # a body that returns and has no grid is a function
        import re

        body = source.definition_of_user()
        if re.search(r"^\s+return\s+\S", body, re.M) and not re.search(r"\bgrid\(|\bprogram_id\(|\btl\.", body):
            ours = "@tsr.function"
    if not ours and not why:
        function = source.foreign("function", name)
        ours, why = (function[0] and f"{function[0]}, inside a @tsr.function or @tsr.kernel", function[1]) if function else ("", "")
    near = "" if source.is_foreign(name) else source.nearest(name, __all__)
    if not ours and not why and near:
        ours = f"tsr.{near}"
    message = f"tessera has no {name!r}" + (f"; {why}" if why else "")
    frame = source.user_frame()
    importing = frame is not None and source.is_import(frame)
    if importing and ours:
        ours = f"from tessera import {ours.removeprefix('tsr.')}" if ours.removeprefix("tsr.") in __all__ else ours
    kind = UnknownImportError if importing else UnknownNameError
    raise kind(source.at_user(message, ours or "import tessera as tsr; dir(tsr) lists its names", name))
