"""What the numeric tests share: seeded inputs of every dtype, in every stride a view can have.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import ml_dtypes
import numpy as np
import pytest

NUMPY = {"fp64": np.float64, "fp32": np.float32, "fp16": np.float16, "bf16": ml_dtypes.bfloat16, "i32": np.int32, "i64": np.int64, "bool": np.bool_}
EXTENTS = (0, 1, 7, 63, 65, 127, 1000)


class Inputs:
    """Makes arrays; the seed is the test's name, so a failure repeats."""

    def __init__(self, seed: int):
        self.random = np.random.default_rng(seed)

    def normal(self, *shape, dtype="fp32", scale=1.0):
        return (self.random.standard_normal(shape) * scale).astype(NUMPY[dtype])

    def small_integers(self, *shape, dtype="fp32", low=-4, high=5):
        return self.random.integers(low, high, shape).astype(NUMPY[dtype])

    @staticmethod
    def views(array):
        """(name, view) with the same values under other strides."""
        yield "contiguous", np.ascontiguousarray(array)
        yield "transposed", np.ascontiguousarray(array.T).T
        wide = np.zeros(tuple(2 * s + 1 for s in array.shape), array.dtype)
        every_second = tuple(slice(1, 2 * s + 1, 2) for s in array.shape)
        wide[every_second] = array
        yield "sliced", wide[every_second]
        yield "negative", np.ascontiguousarray(array[::-1, ::-1] if array.ndim == 2 else array[::-1])[(slice(None, None, -1),) * array.ndim]


@pytest.fixture
def inputs(request):
    seed = int.from_bytes(request.node.nodeid.encode()[-8:], "little") & 0x7FFFFFFF
    return Inputs(seed)
