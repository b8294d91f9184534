"""Tessera: write a tensor function or a tile kernel once, look at every stage, run it.

    import tessera as tsr
    from tessera import Tensor, Out, const, fp16

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from importlib.util import find_spec as _find_spec

try:
    if _find_spec("tessera._core") is None:  # loaded when it is first used
        raise ImportError("No module named 'tessera._core'")
    from ._runtime import num_threads, set_num_threads
except ImportError as _error:  # nothing is built here: tessera.sim works without it
    _unavailable: ImportError | None = _error
else:
    _unavailable = None

if _unavailable is None:
    from . import language as _language
    from .annotations import InOut, Out, Region, Tensor, const, dims, read, read_write, reduce_max, reduce_min, reduce_sum, write
    from .decorators import accum, function, kernel, policy, precision
    from .dtypes import (
        bf16, complex64, fp4_e2m1, fp6_e2m3, fp6_e3m2, fp8_e4m3, fp8_e4m3fnuz, fp8_e5m2, fp16, fp32, fp64, i8, i16, i32, i64,
        tf32, u8, u16, u32, u64,
    )
    from .dtypes import bool_ as bool
    from .errors import ArgumentError, CompileError, InternalError, ScheduleWarning, TesseraError
    from .files import compile_source, load_file
    from .knobs import knobs
    from .language import *  # noqa: F403

__version__ = "0.0.1"
__all__ = [
    "function", "kernel", "accum", "policy", "precision", "Tensor", "Out", "InOut", "Region", "const", "dims",
    "read", "write", "read_write", "reduce_sum", "reduce_max", "reduce_min",
    "fp64", "fp32", "tf32", "fp16", "bf16", "fp8_e4m3", "fp8_e5m2", "fp8_e4m3fnuz", "fp6_e2m3", "fp6_e3m2", "fp4_e2m1",
    "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool", "complex64",
    "compile_source", "load_file", "knobs", "num_threads", "set_num_threads",
    "TesseraError", "CompileError", "ArgumentError", "InternalError",
    *(_language.__all__ if _unavailable is None else ()),
]


def __getattr__(name: str):
    """A name of another library gets an answer that says ours."""
    if _unavailable is not None and name in __all__:
        raise ImportError(f"tessera.{name} needs the compiler, which is not built or cannot be loaded: {_unavailable}") from _unavailable
    import difflib

    from .dtypes import _foreign

    ours = _foreign.get(name)
    near = difflib.get_close_matches(name, __all__, 1)
    hint = f"; the dtype is {ours}" if ours else f"; did you mean {near[0]}?" if near else ""
    raise AttributeError(f"tessera has no {name!r}{hint}")
