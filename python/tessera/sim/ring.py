# Inputs for ring mode.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ring mode compares two schedules of one computation bit for bit: floats of
n bits stand for integers modulo 2^(n-1), so that no order of summation
matters. The arrays keep their float types; their bits are the elements.

    a = ring.random((64, 64), "f2", seed=1)
    sim.launch(ptx_one, None, grid, block, [a, b, c], ring=True)
    sim.launch(ptx_two, None, grid, block, [a, b, d], ring=True)
    assert ring.same(c, d)
"""

import numpy as np

_UNSIGNED = {2: np.uint16, 4: np.uint32, 8: np.uint64}


def random(shape, dtype="f4", seed=0):
    """Random elements, all odd: products of even ones lose bits."""
    dtype = np.dtype(dtype)
    unsigned = _UNSIGNED[dtype.itemsize]
    bits = 8 * dtype.itemsize - 1
    values = np.random.default_rng(seed).integers(0, 1 << bits, shape, np.uint64) | 1
    return np.ascontiguousarray(values.astype(unsigned)).view(dtype)


def elements(array):
    """The elements of an array, as unsigned integers."""
    array = np.ascontiguousarray(array)
    return array.view(_UNSIGNED[array.dtype.itemsize])


def same(a, b):
    """Are two results equal bit for bit?"""
    return np.array_equal(elements(a), elements(b))
