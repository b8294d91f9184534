# Loads libtessera_sim.so and declares its C interface.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The shared library is looked for in $TESSERA_SIM_LIBRARY, beside this file,
beside the tools in $TESSERA_BIN, and in the build directories of a source
tree, the newest one first."""

import ctypes
import functools
import json
import pathlib

from ..knobs import knobs


class LaunchOptions(ctypes.Structure):
    _fields_ = [
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("cluster", ctypes.c_uint32 * 3),
        ("dynamic_shared", ctypes.c_uint32),
        ("arch", ctypes.c_uint32),
        ("check", ctypes.c_uint32),
        ("count", ctypes.c_uint32),
        ("adversarial", ctypes.c_uint32),
        ("cooperative", ctypes.c_uint32),
        ("threads", ctypes.c_uint32),
        ("ieee", ctypes.c_uint32),
        ("seed", ctypes.c_uint64),
        ("max_instructions", ctypes.c_uint64),
        ("registers", ctypes.c_uint32),
        ("ring", ctypes.c_uint32),
        ("max_seconds", ctypes.c_double),
        ("elect_by_seed", ctypes.c_uint32),
        ("programmatic", ctypes.c_uint32),
    ]


RESOLVER = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64)
PRINT = ctypes.CFUNCTYPE(None, ctypes.c_char_p)


def _candidates():
    given = knobs.sim_library
    if given:
        yield pathlib.Path(given)
    here = pathlib.Path(__file__).resolve().parent
    yield here / "libtessera_sim.so"
    tools = knobs.bin
    if tools:
        yield pathlib.Path(tools).parent / "sim" / "libtessera_sim.so"
    root = here.parents[2]
    built = [path for pattern in ("build*/", "build/*/", "build/*/sim/", "build*/sim/")
             for path in root.glob(pattern + "libtessera_sim.so")]
    yield from sorted(set(built), key=lambda p: -p.stat().st_mtime)
    yield root / "build-sim" / "libtessera_sim.so"


def _load():
    tried = []
    for path in _candidates():
        if path.exists():
            return ctypes.CDLL(str(path)), path
        tried.append(str(path))
    raise ImportError(
        "libtessera_sim.so is not built; run `cmake -S sim -B build-sim && "
        "cmake --build build-sim` or set TESSERA_SIM_LIBRARY (looked for: "
        + ", ".join(tried) + ")")


library, library_path = _load()

_P, _U64, _S = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_char_p
for _name, _result, _arguments in [
    ("create", _P, []),
    ("destroy", None, [_P]),
    ("shared_device", _P, []),
    ("allocate", _U64, [_P, _U64, _S]),
    ("free", ctypes.c_int, [_P, _U64]),
    ("expose", None, [_P, _U64, _U64, _S]),
    ("unexpose", None, [_P, _U64]),
    ("set_written", ctypes.c_int, [_P, _U64, _P, _U64]),
    ("get_written", ctypes.c_int, [_P, _U64, _P, _U64]),
    ("set_resolver", None, [_P, RESOLVER]),
    ("set_print", None, [_P, PRINT]),
    ("load", _P, [_P, ctypes.POINTER(_S), ctypes.c_size_t, _S, ctypes.c_size_t]),
    ("unload", None, [_P]),
    ("kernels", _P, [_P]),
    ("parameters", ctypes.c_int, [_P, _S, _P, _P, ctypes.c_int]),
    ("variable", _U64, [_P, _S, ctypes.POINTER(_U64)]),
    ("launch", _P, [_P, _S, ctypes.POINTER(LaunchOptions), _S, ctypes.c_size_t]),
    ("release_text", None, [_P]),
    ("encode_tiled", _P, [_P, ctypes.c_uint, ctypes.c_uint, _U64, _P, _P, _P, _P, *[ctypes.c_uint] * 3]),
    ("encode_im2col", _P, [_P, ctypes.c_uint, ctypes.c_uint, _U64, _P, _P, _P, _P, ctypes.c_uint, ctypes.c_uint, _P,
                           ctypes.c_uint, ctypes.c_uint]),
    ("architectures", _P, []),
    ("support_table", _P, []),
]:
    _f = getattr(library, "tessera_sim_" + _name)
    _f.restype, _f.argtypes = _result, _arguments


def take_text(pointer):
    """The text behind a pointer the library allocated; frees it."""
    text = ctypes.cast(pointer, _S).value.decode("utf-8", "replace")
    library.tessera_sim_release_text(pointer)
    return text


@functools.cache
def architectures():
    """What the simulated machines have, by name: "sm_80", "sm_90a", ..."""
    return {entry["name"]: entry for entry in json.loads(take_text(library.tessera_sim_architectures()))}
