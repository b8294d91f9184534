"""Bare oneDNN through its C++ API: the package onednn-cpu-gomp, whose threads are then torch's own.

The newer packages (`onednn-devel`, 2024 on) are built for SYCL: every call goes through a queue and an OpenCL runtime. torch carries
oneDNN 3.12 inside; `torch_packed` in gemm.py measures that one with weights packed once.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import ctypes
import functools
import pathlib
import sysconfig

from . import Missing, shim

PLAIN, PACKED, REORDER = 0, 1, 2
TYPES = {"float32": 0, "bfloat16": 1, "float16": 2, "int8": 3, "int32": 4}


@functools.lru_cache
def library():
    root = pathlib.Path(sysconfig.get_paths()["data"])
    dnnl = root / "lib" / "libdnnl.so.3"
    if not dnnl.exists() or not (root / "include" / "oneapi" / "dnnl" / "dnnl.hpp").exists():
        raise Missing("pip install onednn-cpu-gomp onednn-devel-cpu-gomp")
    lib = shim("onednn_matmul.cpp", f"-I{root / 'include'}", str(dnnl), f"-Wl,-rpath,{root / 'lib'}")
    lib.peer_create.restype = ctypes.c_void_p
    lib.peer_create.argtypes = [ctypes.c_int32] * 3 + [ctypes.c_int64] * 4 + [ctypes.c_void_p] * 3
    lib.peer_run.argtypes = lib.peer_free.argtypes = [ctypes.c_void_p]
    lib.peer_error.restype = ctypes.c_char_p
    return lib


def version() -> str:
    number = library().peer_version()
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


class Call:
    """One product on fixed arrays; the threads are those set when it is made."""

    def __init__(self, mode: int, a, b, c):
        self.library, self.keep = library(), (a, b, c)
        batch = a.shape[0] if a.dim() == 3 else 0
        types = [TYPES[str(t.dtype).removeprefix("torch.")] for t in (a, c)]
        self.handle = self.library.peer_create(mode, *types, batch, a.shape[-2], b.shape[-1], a.shape[-1], *(t.data_ptr() for t in (a, b, c)))
        if not self.handle:
            raise Missing("oneDNN: " + self.library.peer_error().decode())
        self.run = self.library.peer_run

    def __call__(self):
        self.run(self.handle)

    def __del__(self):
        if getattr(self, "handle", None):
            self.library.peer_free(self.handle)
