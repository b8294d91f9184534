"""The simulator's CUDA driver: which library it is, and sessions that report what launches did.

The library (libtessera_cuda.so) is looked for beside libtessera_sim.so, wherever that may be (_native.py).

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json

from .. import _runtime
from ._native import _candidates
from .device import Report, parse_arch


class _Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), *((name, ctypes.c_uint32) for name in ("check", "count", "adversarial", "threads", "ieee", "ring")),
                ("seed", ctypes.c_uint64), ("max_instructions", ctypes.c_uint64), ("max_seconds", ctypes.c_double), ("elect_by_seed", ctypes.c_uint32)]


@functools.cache
def library() -> ctypes.CDLL:
    tried = []
    for beside in _candidates():
        path = beside.with_name("libtessera_cuda.so")
        if path.exists():
            found = ctypes.CDLL(str(path))
            found.path = str(path)
            found.tessera_sim_session_begin.argtypes = [ctypes.POINTER(_Options)]
            found.tessera_sim_session_end.restype = ctypes.c_void_p
            found.tessera_sim_session_release_text.argtypes = [ctypes.c_void_p]
            return found
        tried.append(str(path))
    raise ImportError("libtessera_cuda.so, the simulator's CUDA driver, is not built; run `cmake -S sim -B build-sim && cmake --build build-sim` "
                      "(looked for: " + ", ".join(dict.fromkeys(tried)) + ")")


@functools.cache
def device(arch) -> _runtime.CudaDevice:
    """The simulated GPU of an architecture; its memory is exactly as large as asked for, so that every overrun is found."""
    made = _runtime.cuda_device(library().path, library().tessera_sim_device_of(parse_arch(arch)))
    made.set_memory_cache_limit(0)
    return made


@contextlib.contextmanager
def session(check=True, count=False, adversarial=False, threads=0, tensor="hw", ring=False, seed=0, max_instructions=0, max_seconds=0,
            elect_by_seed=False):
    """What this thread launches meanwhile is reported: a list of (kernel, Report), filled when the session ends."""
    options = _Options(ctypes.sizeof(_Options), check, count, adversarial, threads, tensor == "ieee", ring, seed, max_instructions, max_seconds,
                       elect_by_seed)
    if library().tessera_sim_session_begin(ctypes.byref(options)):
        raise RuntimeError("this thread has a session of the simulator already")
    reports: list[tuple[str, Report]] = []
    try:
        yield reports
    finally:
        pointer = library().tessera_sim_session_end()
        text = ctypes.cast(pointer, ctypes.c_char_p).value.decode("utf-8", "replace")
        library().tessera_sim_session_release_text(pointer)
        reports += [(entry["kernel"], Report(entry["result"])) for entry in json.loads(text)]
