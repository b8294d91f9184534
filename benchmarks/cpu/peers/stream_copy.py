"""The non-temporal copy of an array into another: the roof of what reads the one and writes the other.

The same arrays as the call beside it has, so the same pages: torch's are of 4 KiB, where the copy takes a fifth longer than in the
large pages of the roofline.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import ctypes

from tessera import _runtime

from . import Missing, shim


def call(to, source, threads: int):
    bytes = source.numel() * source.element_size()
    if _runtime.missing_cpu_feature("avx512f"):
        raise Missing("the copy is written for AVX-512")
    if bytes % 64 or to.data_ptr() % 64 or source.data_ptr() % 64 or not (to.is_contiguous() and source.is_contiguous()):
        raise Missing("the copy takes whole lines")
    copy = shim("stream_copy.cpp", "-mavx512f", "-fopenmp").stream_copy
    copy.restype, copy.argtypes = None, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return lambda: copy(to.data_ptr(), source.data_ptr(), bytes // 64, threads)
