# Tensor maps for kernels that use TMA.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What cuTensorMapEncodeTiled does on a machine with a driver. Dimensions are
innermost first; a map is a kernel parameter of 128 bytes, aligned to 64."""

import ctypes

from ._native import library, take_text
from .device import SimError


def encode_tiled(type, base, dims, strides, box, steps=None, swizzle=0, fill=0, interleave=0):
    """The 128 bytes of a map. `type`, `swizzle`, `fill` and `interleave` are
    CUDA's enumerators, `strides` bytes of the dimensions from 1 on."""
    rank = len(dims)
    if len(box) != rank or len(strides) < rank - 1 or len(steps or box) != rank:
        raise SimError("tensor map: dims, strides, box and steps differ in length")
    map_ = (ctypes.c_uint8 * 128)()
    sizes = (ctypes.c_uint64 * rank)(*dims)
    bytes_ = (ctypes.c_uint64 * 5)(*strides[:rank - 1])
    boxes = (ctypes.c_uint32 * rank)(*box)
    traversal = (ctypes.c_uint32 * rank)(*(steps or [1] * rank))
    problem = library.tessera_sim_encode_tiled(map_, type, rank, base, sizes, bytes_, boxes, traversal, interleave,
                                               swizzle, fill)
    if problem:
        raise SimError("tensor map: " + take_text(problem))
    return bytes(map_)


def encode_im2col(type, base, dims, strides, lower, upper, channels, pixels, steps=None, swizzle=0, fill=0):
    """A map of a tensor of C, W, (H, D,) N for im2col copies: `lower` and `upper`
    are the corners of the box of pixels, W first."""
    rank = len(dims)
    if len(strides) < rank - 1 or len(lower) != rank - 2 or len(upper) != rank - 2 or len(steps or dims) != rank:
        raise SimError("tensor map: dims, strides, corners and steps differ in length")
    map_ = (ctypes.c_uint8 * 128)()
    problem = library.tessera_sim_encode_im2col(
        map_, type, rank, base, (ctypes.c_uint64 * rank)(*dims), (ctypes.c_uint64 * 5)(*strides[:rank - 1]),
        (ctypes.c_int * 3)(*lower), (ctypes.c_int * 3)(*upper), channels, pixels,
        (ctypes.c_uint32 * rank)(*(steps or [1] * rank)), swizzle, fill)
    if problem:
        raise SimError("tensor map: " + take_text(problem))
    return bytes(map_)
