"""Every way a matrix product takes on the CPU gives the same sums: exact on small integers, whatever the shape and the strides.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import ml_dtypes
import numpy as np
import pytest
import tessera as tsr
from programs import function
from tessera import Out, Tensor, const, kernels

# few rows; rows that are whole tiles of AMX or not; what is left of k; whole and broken panels; more than one block of k and of rows;
# columns for half a vector, one and a half, and such a rest behind a panel
SHAPES = ((1, 64, 64), (1, 1000, 33), (3, 70, 1030), (4, 512, 8), (5, 512, 8), (16, 32, 32), (16, 130, 45), (32, 600, 300), (33, 64, 31), (96, 64, 2048),
          (112, 65, 1056), (129, 130, 131), (200, 1, 7), (260, 300, 1025), (9, 600, 40), (14, 513, 1030), (205, 16, 1030), (100, 32, 70), (40, 130, 2048), (40, 2100, 70), (128, 2050, 1056), (131, 32, 4100), (128, 16, 4100),
          (100, 17, 333), (130, 8, 71), (64, 24, 40), (96, 20, 1030), (50, 88, 101))
TYPES = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16}


def small(rng, shape, dtype):
    return rng.integers(-2, 3, shape).astype(dtype)


def layouts(array):
    """The same matrix: plain, turned, as a piece of wider rows, backwards."""
    yield "plain", array
    yield "turned", np.ascontiguousarray(array.T).T
    wide = np.zeros((array.shape[0], array.shape[1] + 13), array.dtype)
    wide[:, 5:5 + array.shape[1]] = array
    yield "piece", wide[:, 5:5 + array.shape[1]]
    yield "backwards", np.ascontiguousarray(array[::-1, ::-1])[::-1, ::-1]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: "x".join(map(str, s)))
def test_function(shape, dtype):
    m, n, k = shape
    rng = np.random.default_rng(m * 7 + n * 3 + k)
    a, b = small(rng, (m, k), TYPES[dtype]), small(rng, (k, n), TYPES[dtype])
    want = (a.astype(np.float64) @ b.astype(np.float64)).astype(TYPES[dtype])
    product = function("a @ b", "a b")
    for left, x in layouts(a):
        for right, y in layouts(b):
            np.testing.assert_array_equal(product(x, y), want, err_msg=f"{left} @ {right}")


@pytest.mark.parametrize("target", ("cpu:avx2", "cpu:avx512"))
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", ((1, 1000, 33), (5, 512, 8), (33, 64, 31), (100, 17, 333), (130, 8, 71), (129, 130, 131)), ids=lambda s: "x".join(map(str, s)))
def test_levels(shape, dtype, target):
    """Machines without AMX, and without instructions for bf16."""
    m, n, k = shape
    rng = np.random.default_rng(m * 7 + n * 3 + k)
    a, b = small(rng, (m, k), TYPES[dtype]), small(rng, (k, n), TYPES[dtype])
    want = (a.astype(np.float64) @ b.astype(np.float64)).astype(TYPES[dtype])
    np.testing.assert_array_equal(function("a @ b", "a b")(a, b, target=target), want)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: "x".join(map(str, s)))
@pytest.mark.parametrize("target", ("cpu", "cpu:avx2"))
def test_i8_is_exact_at_its_ends(shape, target):
    m, n, k = shape
    rng = np.random.default_rng(k)
    a, b = rng.integers(-128, 128, (m, k)).astype(np.int8), rng.integers(-128, 128, (k, n)).astype(np.int8)
    a[0], b[:, 0] = -128, -128  # the largest sum there is
    want = a.astype(np.int32) @ b.astype(np.int32)
    for left, x in layouts(a):
        for right, y in layouts(b):
            got = np.full((m, n), 7, np.int32)
            kernels.gemm(x, y, got, ACC=tsr.i32, target=target)
            np.testing.assert_array_equal(got, want, err_msg=f"{left} @ {right}")


@pytest.mark.parametrize("n", (16, 48, 64, 80, 208))
@pytest.mark.parametrize("m", (16, 48, 96, 112))
@pytest.mark.parametrize("dtype, result, acc", ((np.int8, np.int32, tsr.i32), (ml_dtypes.bfloat16, np.float32, tsr.fp32)), ids=("i8", "bf16"))
def test_whole_tiles_stay_inside(m, n, dtype, result, acc):
    """AMX stores sums where they belong, also those of an odd row or column of tiles; a loop over k of no, one and several turns."""
    rng = np.random.default_rng(m + n)
    for k in (0, 64, 70, 2100):
        a, b = rng.integers(-128, 128, (m, k)).astype(dtype), rng.integers(-2, 3, (k, n)).astype(dtype)
        for y in (b, tsr.constant(b)) if k else (b,):
            wide = np.full((m + 32, n + 45), 7, result)
            kernels.gemm(a, y, wide[16:16 + m, 16:16 + n], ACC=acc)
            np.testing.assert_array_equal(wide[16:16 + m, 16:16 + n], a.astype(result) @ b.astype(result))
            wide[16:16 + m, 16:16 + n] = 7
            assert (wide == 7).all(), "something was written beside the result"


def test_batches_of_i8():
    rng = np.random.default_rng(0)
    a, b = rng.integers(-128, 128, (3, 40, 70)).astype(np.int8), rng.integers(-128, 128, (3, 70, 33)).astype(np.int8)
    got = np.full((3, 40, 33), 7, np.int32)
    kernels.batched_gemm(a, b, got, ACC=tsr.i32)
    np.testing.assert_array_equal(got, a.astype(np.int32) @ b.astype(np.int32))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("m", (1, 4, 40, 200))
def test_sums_of_nothing_are_zero(m, dtype):
    """The first step of a sum starts it: without one, something else must."""
    a, b = np.zeros((m, 0), TYPES[dtype]), np.zeros((0, 70), TYPES[dtype])
    out = np.full((m, 70), 7, TYPES[dtype])
    function("a @ b", "a b")(a, b, out=out)
    np.testing.assert_array_equal(out, np.zeros_like(out))


@pytest.mark.parametrize("dtype", ("f32", "bf16"))
def test_what_lies_beside_a_row_does_not_matter(dtype):
    """Rows of A are read where they lie, k is not a whole step: what follows is NaN, and must not be multiplied by the zeros of B."""
    for m, n, k in ((16, 64, 40), (128, 70, 33), (4, 600, 40)):
        wide = np.full((m, k + 31), np.nan, TYPES[dtype])
        rng = np.random.default_rng(k)
        wide[:, :k] = small(rng, (m, k), np.float32)
        b = small(rng, (k, n), TYPES[dtype])
        want = (wide[:, :k].astype(np.float64) @ b.astype(np.float64)).astype(TYPES[dtype])
        np.testing.assert_array_equal(function("a @ b", "a b")(wide[:, :k], b), want)


@tsr.kernel
def turned_pieces(X: Tensor["M", "K"], W: Tensor["N", "K"], Y: Out["M", "N"], BM: const = 8):
    for m in tsr.grid(tsr.tile(M, BM)):
        sums = tsr.zeros(m, N)
        for k in tsr.tile(K, 4):
            sums += X[m, k] @ W[:, k].T
        Y[m, :] = sums


@pytest.mark.parametrize("steps", ((1, 2), (3, 2), (2, 1), (2, 2), (2, 3)))
def test_lanes_two_apart_are_those_of_the_vector(steps):
    """Of a transposed load: one axis is two apart, the lanes run along the other."""
    rng = np.random.default_rng(1)
    for n, k in ((64, 1), (64, 9), (70, 5)):
        x, w = small(rng, (3, k), np.float32), small(rng, (n * steps[0], k * steps[1]), np.float32)[::steps[0], ::steps[1]]
        np.testing.assert_array_equal(turned_pieces(x, w), x @ w.T)


@pytest.mark.parametrize("sizes", ((130, 64, 1024, 40), (200, 33, 1000, 70), (300, 40, 2048, 65), (7, 16, 96, 130)), ids=lambda s: "x".join(map(str, s)))
def test_a_product_of_a_product(sizes):
    """What lies between two products has padded rows."""
    m, k, h, n = sizes
    rng = np.random.default_rng(h)
    a, b, c = (rng.integers(-1, 2, shape).astype(ml_dtypes.bfloat16) for shape in ((m, k), (k, h), (h, n)))
    b *= rng.random(b.shape) < 0.1  # small enough to be exact
    c *= rng.random(c.shape) < 0.05
    between = np.maximum(a.astype(np.float64) @ b.astype(np.float64), 0)
    want = (between @ c.astype(np.float64)).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(function("tsr.maximum(a @ b, 0) @ c", "a b c")(a, b, c), want)


@tsr.kernel
def one_operand_for_all_rows(X: Tensor["M", "K"], W: Tensor["K", "N"], Y: Out["M", "N"], BLOCK: const = 64):
    for n in tsr.grid(tsr.tile(N, BLOCK)):
        w = W[:, n]
        for m in tsr.tile(M, BLOCK):
            Y[m, n] = X[m, :] @ w


@pytest.mark.parametrize("dtype", TYPES)
def test_an_operand_that_is_loaded_before_the_loop_over_rows(dtype):
    rng = np.random.default_rng(0)
    x, w = small(rng, (100, 64), TYPES[dtype]), small(rng, (64, 130), TYPES[dtype])
    for right, y in layouts(w):
        np.testing.assert_array_equal(one_operand_for_all_rows(x, y), (x.astype(np.float64) @ w.astype(np.float64)).astype(TYPES[dtype]), err_msg=right)


@tsr.kernel
def some_blocks_of_k(X: Tensor["M", "K"], W: Tensor["K", "N"], C: Tensor["T"], Y: Out["M", "N"]):
    for m, n in tsr.grid(tsr.tile(M, 64), tsr.tile(N, 64)):
        acc = tsr.zeros(m, n)
        for t in tsr.tile(T, 1):
            k = tsr.range_at(K, t.start * 64, 64)
            acc += X[m, k] @ W[k, n]
        Y[m, n] = acc


@pytest.mark.parametrize("count", (0, 1, 2))
@pytest.mark.parametrize("dtype", TYPES)
def test_a_loop_without_turns_sums_nothing(dtype, count):
    rng = np.random.default_rng(0)
    x, w = small(rng, (70, 128), TYPES[dtype]), small(rng, (128, 130), TYPES[dtype])
    want = (x[:, :64 * count].astype(np.float64) @ w[:64 * count].astype(np.float64)).astype(TYPES[dtype])
    np.testing.assert_array_equal(some_blocks_of_k(x, w, np.zeros(count, TYPES[dtype])), want)


@tsr.function
def by_vector(a: Tensor["M", "K"], v: Tensor["K"], b: Tensor["M"]):
    return a @ v, tsr.maximum(a @ v + b, 0)


@tsr.function
def batched_by_column(a: Tensor["B", "M", "K"], v: Tensor["B", "K", 1]):
    return a @ v


@tsr.function
def dot(u: Tensor["K"], v: Tensor["K"]):
    return u @ v


@pytest.mark.parametrize("dtype", [*TYPES.values(), np.float64], ids=[*TYPES, "f64"])
@pytest.mark.parametrize("shape", [(1, 5), (4, 1), (3, 0), (0, 3), (7, 64), (130, 1030), (9, 40000)], ids=lambda s: "x".join(map(str, s)))
def test_a_matrix_by_a_vector(shape, dtype):
    rng = np.random.default_rng(shape[1])
    a, v, b = small(rng, shape, dtype), small(rng, shape[1:], dtype), small(rng, shape[:1], dtype)
    want = a.astype(np.float64) @ v.astype(np.float64)
    for left, x in layouts(a):
        for y in (v, np.repeat(v, 2)[::2]):
            plain, cut = by_vector(x, y, b)
            np.testing.assert_array_equal(plain, want.astype(dtype), err_msg=left)
            np.testing.assert_array_equal(cut, np.maximum(want.astype(dtype) + b, 0), err_msg=left)
    np.testing.assert_array_equal(batched_by_column(np.stack([a, -a]), np.stack([v, v])[..., None])[..., 0], np.stack([want, -want]).astype(dtype))
    with np.errstate(over="ignore"):  # of f16
        np.testing.assert_array_equal(dot(v, v), (v.astype(np.float64) @ v.astype(np.float64)).astype(dtype))


@tsr.function
def scaled_by_much(x: Tensor["B", "M", "K"], w: Tensor["B", "N", "K"], sone: int, stwo: int):
    e = sone * stwo + sone * 3 + stwo * 5
    e = e * e + sone * 7 + stwo * 11 + e * sone * 13 + e * stwo * 17 + sone
    e = (e + sone * 19) * (e + stwo) + e * e * stwo
    return (x @ w.mT) * (e % 5).to(tsr.fp32)


@pytest.mark.parametrize("m, k", [(1, 300), (3, 300), (3, 8), (40, 8)])
def test_numbers_that_all_variants_ask_for(m, k):
    """A long expression is computed once, before the plan chooses."""
    e = 2 * 3 + 2 * 3 + 3 * 5
    e = e * e + 2 * 7 + 3 * 11 + e * 2 * 13 + e * 3 * 17 + 2
    e = (e + 2 * 19) * (e + 3) + e * e * 3
    got = scaled_by_much(np.ones((2, m, k), np.float32), np.ones((2, 5, k), np.float32), 2, 3)
    np.testing.assert_array_equal(got, np.full((2, m, 5), k * (e % 5), np.float32))
