"""OpenBLAS's sgemm: the package scipy-openblas32, or Debian's libopenblas.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import ctypes
import ctypes.util
import os

from . import Missing

ROW_MAJOR, NO_TRANSPOSE = 101, 111
_loaded = None


def library():
    global _loaded
    if _loaded is None:
        # Its threads would spin for 30 ms after a call, in everybody else's time.
        os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
        try:
            import scipy_openblas32

            _loaded = ctypes.CDLL(f"{scipy_openblas32.get_lib_dir()}/libscipy_openblas.so"), "scipy_"
        except ImportError:
            path = ctypes.util.find_library("openblas")
            if not path:
                raise Missing("pip install scipy-openblas32, or Debian's libopenblas0") from None
            _loaded = ctypes.CDLL(path), ""
    return _loaded


def set_threads(count: int) -> None:
    lib, prefix = library()
    getattr(lib, prefix + "openblas_set_num_threads")(count)


def version() -> str:
    lib, prefix = library()
    config = getattr(lib, prefix + "openblas_get_config")
    config.restype = ctypes.c_char_p
    return config().decode().split(" ")[1]


def call(a, b, c):
    """c = a @ b of f32 with two axes, or a loop over the first of three."""
    if str(a.dtype) != "torch.float32":
        raise Missing("OpenBLAS: only f32 here")
    lib, prefix = library()
    sgemm = getattr(lib, prefix + "cblas_sgemm")
    sgemm.argtypes = [ctypes.c_int] * 6 + [ctypes.c_float, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_float,
                                           ctypes.c_void_p, ctypes.c_int]
    sgemm.restype = None
    m, k, n = a.shape[-2], a.shape[-1], b.shape[-1]
    pointers = [(a.data_ptr(), b.data_ptr(), c.data_ptr())] if a.dim() == 2 else [
        tuple(t[i].data_ptr() for t in (a, b, c)) for i in range(a.shape[0])]

    def run():
        for one, two, three in pointers:
            sgemm(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, m, n, k, 1.0, one, k, two, n, 0.0, three, n)

    return run
