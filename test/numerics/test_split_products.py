"""A long sum of few rows and columns is computed in parts: the same on small integers, whatever the number of parts, and never
another order because of the number of threads.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import ml_dtypes
import numpy as np
import pytest
import tessera as tsr
from tessera import Tensor

# whole parts; a last part that is short; more programs than one; more parts than turns of the loop
SHAPES = ((32, 32, 16384), (17, 5, 9000), (96, 200, 5001), (130, 64, 4096), (20, 20, 1500))
TYPES = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16}


def product(parts: int):
    @tsr.function.schedule(split_k=parts)
    def multiply(a: Tensor["M", "K"], b: Tensor["K", "N"], c: Tensor["N"]):
        return tsr.relu(a @ b + c)

    return multiply


def kernels_of(fn, *args) -> set:
    return {k.name for k in tsr.profile(fn, *args, warmups=0, runs=1).kernels}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: "x".join(map(str, s)))
def test_sums_are_whole(shape, dtype):
    m, n, k = shape
    rng = np.random.default_rng(k)
    a, b, c = (rng.integers(-1, 2, size).astype(TYPES[dtype]) for size in ((m, k), (k, n), (n,)))
    want = np.maximum((a.astype(np.float64) @ b.astype(np.float64)).astype(TYPES[dtype]) + c, 0)
    for parts in (0, 1, 2, 7):
        np.testing.assert_array_equal(product(parts)(a, b, c), want, err_msg=f"{parts} parts")


def test_batches_have_parts_of_their_own():
    @tsr.function
    def multiply(a: Tensor["B", "M", "K"], b: Tensor["B", "K", "N"]):
        return a @ b

    rng = np.random.default_rng(0)
    a, b = rng.integers(-2, 3, (3, 20, 4500)).astype(np.float32), rng.integers(-2, 3, (3, 4500, 30)).astype(np.float32)
    assert any(name.endswith("_parts") for name in kernels_of(multiply, a, b))
    np.testing.assert_array_equal(multiply(a, b), a @ b)


def test_sizes_decide_and_threads_do_not():
    rng = np.random.default_rng(1)
    a, b, c = (rng.standard_normal(size, np.float32) for size in ((40, 8192), (8192, 40), (40,)))
    multiply = product(0)
    assert any(name.endswith("_sum") for name in kernels_of(multiply, a, b, c))
    assert not any(name.endswith("_sum") for name in kernels_of(multiply, a[:, :4095], b[:4095], c))
    assert not any(name.endswith("_sum") for name in kernels_of(product(1), a, b, c))
    before = tsr.num_threads()
    try:
        tsr.set_num_threads(1)
        one = multiply(a, b, c)
    finally:
        tsr.set_num_threads(before)
    assert multiply(a, b, c).tobytes() == one.tobytes()
    assert product(4)(a, b, c).tobytes() == one.tobytes()  # what it chooses by itself
    assert product(1)(a, b, c).tobytes() != one.tobytes()  # or this test shows nothing


def test_the_work_of_parts_is_known():
    a, b, c = np.ones((40, 8192), np.float32), np.ones((8192, 40), np.float32), np.ones(40, np.float32)
    found = {k.name.rpartition("_")[2]: k.flops for k in tsr.profile(product(0), a, b, c, warmups=0, runs=1).kernels}
    assert found["parts"] >= 2 * 40 * 40 * 8192 and found["sum"] == 0


def test_a_wrong_number_of_parts():
    with pytest.raises(tsr.CompileError, match="split_k of function 'multiply' is 0 .where it pays., 1 .never. or a number of parts, not -2"):
        product(-2)(np.ones((3, 3), np.float32), np.ones((3, 3), np.float32), np.ones(3, np.float32))
