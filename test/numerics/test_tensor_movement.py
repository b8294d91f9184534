"""Moving data: transpose, reshape, slice, concat, stack, gather, take, embedding, and products of any rank; all exact.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import bounds
import numpy as np
import pytest
from conftest import EXTENTS, NUMPY, Inputs
from programs import function

DTYPES = ("fp64", "fp32", "fp16", "bf16", "i32", "i64", "bool")

# expression in Tessera, the same in NumPy; x is [5, 6, 8]
MOVES = {
    "x.T": None,  # refused or reversed: see below
    "x.transpose(0, 1)": lambda x: x.swapaxes(0, 1),
    "x.transpose(-2, -1)": lambda x: x.swapaxes(-2, -1),
    "x.permute(2, 0, 1)": lambda x: x.transpose(2, 0, 1),
    "x.reshape(30, 8)": lambda x: x.reshape(30, 8),
    "x.reshape(5, -1)": lambda x: x.reshape(5, -1),
    "x.reshape(-1)": lambda x: x.reshape(-1),
    "x.reshape(5, 2, 3, 8)": lambda x: x.reshape(5, 2, 3, 8),
    "x.flatten()": lambda x: x.reshape(-1),
    "x.unsqueeze(1)": lambda x: x[:, None],
    "x.unsqueeze(0).squeeze(0)": lambda x: x,
    "x.permute(2, 0, 1).reshape(8, 30)": lambda x: x.transpose(2, 0, 1).reshape(8, 30),
    "x.reshape(30, 8).transpose(0, 1)": lambda x: x.reshape(30, 8).T,
    "x[1]": lambda x: x[1],
    "x[-1]": lambda x: x[-1],
    "x[1:4]": lambda x: x[1:4],
    "x[:, 1:-1, ::2]": lambda x: x[:, 1:-1, ::2],
    "x[..., 3]": lambda x: x[..., 3],
    "x[2:, 1, :5]": lambda x: x[2:, 1, :5],
    "x[1:1]": lambda x: x[1:1],
    "x[:100]": lambda x: x[:100],
    "tsr.cat([x, x], dim=1)": lambda x: np.concatenate([x, x], 1),
    "tsr.cat([x[:2], x, x[1:]], dim=0)": lambda x: np.concatenate([x[:2], x, x[1:]], 0),
    "tsr.cat([x, x[:, :, 2:5]], dim=-1)": lambda x: np.concatenate([x, x[:, :, 2:5]], -1),
    "tsr.stack([x, x], dim=0)": lambda x: np.stack([x, x], 0),
    "tsr.stack([x, x, x], dim=-1)": lambda x: np.stack([x, x, x], -1),
    "x[:, :1].expand(5, 6, 8)": lambda x: np.broadcast_to(x[:, :1], (5, 6, 8)),
    "tsr.cat([x[1:], x[:1]], dim=0).transpose(0, 2)": lambda x: np.concatenate([x[1:], x[:1]], 0).swapaxes(0, 2),
}
MOVES = {text: numpy for text, numpy in MOVES.items() if numpy}


@pytest.mark.parametrize("text", MOVES)
def test_move(text, inputs):
    for dtype in ("fp32", "fp16", "i64"):
        x = inputs.small_integers(5, 6, 8, dtype=dtype, low=-100, high=100)
        got = function(text, "x")(x)
        assert got.dtype == x.dtype
        np.testing.assert_array_equal(got, MOVES[text](x))
    for name, view in Inputs.views(inputs.small_integers(5, 6, 8)):
        np.testing.assert_array_equal(function(text, "x")(view), MOVES[text](view), err_msg=name)


@pytest.mark.parametrize("dtype", DTYPES)
def test_moves_of_every_dtype(dtype, inputs):
    x = inputs.small_integers(7, 65, dtype=dtype)
    np.testing.assert_array_equal(function("x.transpose(0, 1)", "x")(x), x.T)
    np.testing.assert_array_equal(function("tsr.cat([x, x], dim=0)", "x")(x), np.concatenate([x, x], 0))
    np.testing.assert_array_equal(function("x[1:, ::3]", "x")(x), x[1:, ::3])


@pytest.mark.parametrize("extent", EXTENTS)
def test_moves_at_each_extent(extent, inputs):
    x = inputs.small_integers(3, extent)
    np.testing.assert_array_equal(function("x.transpose(0, 1)", "x")(x), x.T)
    np.testing.assert_array_equal(function("x.reshape(-1)", "x")(x), x.reshape(-1))
    np.testing.assert_array_equal(function("tsr.cat([x, x], dim=1)", "x")(x), np.concatenate([x, x], 1))
    np.testing.assert_array_equal(function("x[:, 1:]", "x")(x), x[:, 1:])


def test_results_are_memory_of_their_own(inputs):
    x = inputs.small_integers(4, 6)
    for text in ("x", "x.transpose(0, 1)", "x[1:]", "x.reshape(24)"):
        got = function(text, "x")(x)
        assert not np.shares_memory(got, x), text


@pytest.mark.parametrize("index", ("i32", "i64"))
@pytest.mark.parametrize("dtype", DTYPES)
def test_lookups(dtype, index, inputs):
    table = inputs.small_integers(11, 33, dtype=dtype)
    rows = inputs.random.integers(0, 11, (4, 5)).astype(NUMPY[index])
    np.testing.assert_array_equal(function("tsr.embedding(i, t)", "i t")(rows, table), table[rows])
    flat = rows.ravel()
    np.testing.assert_array_equal(function("tsr.take(t, i, 0)", "t i")(table, flat), table[flat])
    columns = inputs.random.integers(0, 33, 7).astype(NUMPY[index])
    np.testing.assert_array_equal(function("tsr.take(t, i, 1)", "t i")(table, columns), table[:, columns])
    each = inputs.random.integers(0, 33, (11, 4)).astype(NUMPY[index])
    np.testing.assert_array_equal(function("tsr.gather(t, 1, i)", "t i")(table, each), np.take_along_axis(table, each.astype(np.int64), 1))
    down = inputs.random.integers(0, 11, (2, 33)).astype(NUMPY[index])
    np.testing.assert_array_equal(function("tsr.gather(t, 0, i)", "t i")(table, down), np.take_along_axis(table, down.astype(np.int64), 0))


def test_lookups_of_computed_values(inputs):
    table, rows = inputs.small_integers(7, 9), inputs.random.integers(0, 6, 5)
    got = function("tsr.take(t * 2 + 1, i + 1, 0) - 1", "t i")(table, rows)
    np.testing.assert_array_equal(got, table[rows + 1] * 2)


PRODUCTS = [((4, 5), (5, 6)), ((5,), (5,)), ((5,), (5, 6)), ((4, 5), (5,)), ((3, 4, 5), (3, 5, 6)), ((3, 4, 5), (5, 6)), ((4, 5), (3, 5, 6)),
            ((2, 1, 4, 5), (3, 5, 6)), ((2, 3, 33, 17), (2, 1, 17, 40)), ((0, 4, 5), (0, 5, 6)), ((3, 4, 0), (3, 0, 6)), ((1, 1), (1, 1))]


@pytest.mark.parametrize("shapes", PRODUCTS, ids=str)
def test_products_of_any_rank(shapes, inputs):
    for dtype in ("fp32", "bf16", "i32"):
        a, b = (inputs.small_integers(*shape, dtype=dtype) for shape in shapes)
        got = function("tsr.matmul(a, b)", "a b")(a, b)
        expected = np.matmul(a.astype(np.float64), b.astype(np.float64))
        np.testing.assert_array_equal(got.astype(np.float64), expected)
        assert got.dtype == a.dtype


@pytest.mark.parametrize("dtype", ("fp32", "fp16", "bf16", "fp64"))
def test_batched_products_are_within_their_bound(dtype, inputs):
    a, b = inputs.normal(3, 33, 127, dtype=dtype), inputs.normal(3, 127, 65, dtype=dtype)
    got = function("a @ b", "a b")(a, b)
    for i in range(3):
        bounds.check(got[i], bounds.exact(a[i], dtype) @ bounds.exact(b[i], dtype), dtype)


def test_products_of_views(inputs):
    a, b = inputs.small_integers(33, 20), inputs.small_integers(33, 40)
    np.testing.assert_array_equal(function("a.transpose(0, 1) @ b", "a b")(a, b), a.T @ b)
    np.testing.assert_array_equal(function("(b.T @ a).T", "a b")(a, b), a.T @ b)
    wide = np.broadcast_to(a[:1], (3, 33, 20)[1:])
    np.testing.assert_array_equal(function("a.transpose(0, 1) @ b", "a b")(wide, b), wide.T @ b)


def test_chains_of_moves_and_arithmetic(inputs):
    x, w = inputs.small_integers(6, 4, 10), inputs.small_integers(40, 12)
    got = function("tsr.cat([(x.reshape(6, 40) @ w)[:, 2:].T, x.sum(dim=0).reshape(10, 4)], dim=1)", "x w")(x, w)
    left = (x.reshape(6, 40) @ w)[:, 2:].T
    np.testing.assert_array_equal(got, np.concatenate([left, x.sum(0).reshape(10, 4)], 1))


def test_constants_and_ranges():
    x = np.zeros((3, 5), np.float32)
    np.testing.assert_array_equal(function("x + tsr.arange(5).to(fp32)", "x")(x), x + np.arange(5))
    np.testing.assert_array_equal(function("tsr.full_like(x, 7) + tsr.ones_like(x) - tsr.zeros_like(x)", "x")(x), x + 8)
    np.testing.assert_array_equal(function("tsr.zeros(2, 3) + tsr.ones(2, 3) * tsr.full((2, 3), 4.0)", "x")(x), np.full((2, 3), 4.0))
    got = function("tsr.arange(x.shape[1])", "x")(x)
    assert got.dtype == np.int64
    np.testing.assert_array_equal(got, np.arange(5))
