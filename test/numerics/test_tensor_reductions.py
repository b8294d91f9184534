"""Reductions and scans on tensors and tiles: exact on whole numbers, within the derived bound otherwise.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import bounds
import ml_dtypes
import numpy as np
import pytest
import tessera as tsr
from conftest import EXTENTS, NUMPY, Inputs
from programs import CARRIERS, function, row_kernel
from tessera import Tensor

FLOATS = ("fp64", "fp32", "fp16", "bf16")
INTS = ("i32", "i64")


def rows(carrier: str, name: str, dtype: str, options: str = ""):
    """name(x) along the last axis."""
    if carrier == "function":
        return function(f"tsr.{name}(x, dim=-1{options})", "x")
    result = {"any": "bool", "all": "bool", "argmax": "i64", "argmin": "i64"}.get(name, dtype)
    return row_kernel(f"tsr.{name}(x, dim=-1{options})", result)


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("dtype", FLOATS + INTS)
@pytest.mark.parametrize("columns", (1, 7, 65, 1000))
def test_exact_reductions(columns, dtype, carrier, inputs):
    x = inputs.small_integers(9, columns, dtype=dtype, low=-1, high=2)
    wide = x.astype(np.float64)
    np.testing.assert_array_equal(rows(carrier, "sum", dtype)(x), wide.sum(-1))
    for name in ("max", "min"):
        np.testing.assert_array_equal(rows(carrier, name, dtype)(x), getattr(wide, name)(-1))
    for name in ("argmax", "argmin"):  # ties: the first
        got = rows(carrier, name, dtype)(x)
        assert got.dtype == np.int64
        np.testing.assert_array_equal(got, getattr(wide, name)(-1))
    signs = inputs.small_integers(9, columns, dtype=dtype, low=0, high=2) * 2 - np.asarray(1, NUMPY[dtype])
    signs = signs.astype(NUMPY[dtype])
    np.testing.assert_array_equal(rows(carrier, "prod", dtype)(signs), signs.astype(np.float64).prod(-1))
    for name in ("any", "all"):
        got = rows(carrier, name, dtype)(x)
        assert got.dtype == np.bool_
        np.testing.assert_array_equal(got, getattr(wide != 0, name)(-1))


@pytest.mark.parametrize("carrier", CARRIERS)
def test_reductions_of_bools(carrier, inputs):
    x = inputs.random.random((9, 65)) < 0.97
    np.testing.assert_array_equal(rows(carrier, "any", "bool")(~x), (~x).any(-1))
    np.testing.assert_array_equal(rows(carrier, "all", "bool")(x), x.all(-1))
    np.testing.assert_array_equal(rows(carrier, "sum", "i64")(x), x.sum(-1))


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("columns", (1, 7, 127, 1000))
def test_bounded_reductions(columns, dtype, carrier, inputs):
    x = inputs.normal(7, columns, dtype=dtype)
    e = bounds.exact(x, dtype)
    inner = bounds.inside(e)
    bounds.check(rows(carrier, "sum", dtype)(x), e.sum(), "sum")
    mean = inner.sum(keepdims=True) / columns
    bounds.check(rows(carrier, "mean", dtype)(x), bounds.outside(mean, dtype)[:, 0], "mean")
    if columns > 1:
        centred = inner - mean
        for correction in (0, 1):
            expected = (centred * centred).sum() / (columns - correction)
            bounds.check(rows(carrier, "var", dtype, f", correction={correction}")(x), bounds.outside(expected, dtype), "var")
    top = inner.max(keepdims=True)
    total = (inner - top).exp().sum()
    bounds.check(rows(carrier, "logsumexp", dtype)(x), bounds.outside(total.log() + top[:, 0], dtype), "logsumexp")


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("columns", (0, 1, 2, 3, 5))
@pytest.mark.parametrize("correction", (0, 1, 2, 3))
def test_variance_of_few(correction, columns, carrier):
    """As torch: a divisor below 0 is 0, so that no variance is negative."""
    if carrier == "kernel" and columns == 0:
        pytest.skip("a tile of a row without elements is not loaded")
    x = 60 * np.arange(2 * columns, dtype=np.float32).reshape(2, columns)  # means and sums of squares are whole
    with np.errstate(all="ignore"):
        squares = ((x - x.sum(-1, keepdims=True) / np.float32(columns)) ** 2).sum(-1)
        expected = squares / np.float32(max(columns - correction, 0))
    np.testing.assert_array_equal(rows(carrier, "var", "fp32", f", correction={correction}")(x), expected)


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_goes_through_reductions(dtype, carrier):
    x = np.where(np.arange(130) % 3, 1.0, -1.0).reshape(2, 65).astype(NUMPY[dtype])
    for position in (0, 1, 31, 64):
        y = x.copy()
        y[1, position] = np.nan
        for name in ("sum", "max", "min", "prod", "mean", "var", "logsumexp"):
            got = rows(carrier, name, dtype)(y).astype(np.float64)
            assert not np.isnan(got[0]) and np.isnan(got[1]), f"{name}, NaN at {position}: {got}"
        for name in ("argmax", "argmin"):  # as NumPy: the first NaN
            assert rows(carrier, name, dtype)(y)[1] == position, name


@pytest.mark.parametrize("carrier", CARRIERS)
def test_infinities(carrier):
    x = np.array([[-np.inf, -np.inf], [np.inf, 0.0], [-np.inf, 3.0], [np.inf, -np.inf]], np.float32)
    np.testing.assert_array_equal(rows(carrier, "logsumexp", "fp32")(x[:3]), np.array([-np.inf, np.inf, 3.0], np.float32))
    np.testing.assert_array_equal(rows(carrier, "max", "fp32")(x), x.max(-1))
    np.testing.assert_array_equal(rows(carrier, "argmax", "fp32")(x), x.argmax(-1))
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(rows(carrier, "sum", "fp32")(x), x.sum(-1))


def test_empty_reductions_give_the_neutral_element():
    x = np.zeros((3, 0), np.float32)
    neutral = {"sum": 0, "prod": 1, "max": -np.inf, "min": np.inf, "any": False, "all": True, "logsumexp": -np.inf, "mean": np.nan}
    for name, value in neutral.items():
        np.testing.assert_array_equal(rows("function", name, "fp32")(x), np.full(3, value), err_msg=name)
    whole = np.zeros((3, 0), np.int32)
    np.testing.assert_array_equal(rows("function", "max", "i32")(whole), np.full(3, -(2**31)))
    np.testing.assert_array_equal(rows("function", "min", "i32")(whole), np.full(3, 2**31 - 1))
    assert rows("function", "sum", "fp32")(np.zeros((0, 5), np.float32)).shape == (0,)


AXES = {"dim=0": 0, "dim=1": 1, "dim=-1": -1, "dim=(0, 2)": (0, 2), "dim=1, keepdim=True": 1, "axis=2": 2}


@pytest.mark.parametrize("axes", AXES)
def test_axes(axes, inputs):
    x = inputs.small_integers(5, 33, 17)
    keep = "keepdim" in axes
    for name in ("sum", "max", "mean"):
        expected = getattr(x.astype(np.float64), name)(AXES[axes], keepdims=keep)
        got = function(f"tsr.{name}(x, {axes})", "x")(x)
        bound = 2.0**-24 * np.abs(expected) if name == "mean" else 0  # exact sum, one division
        bounds.check(got, bounds.Approx(expected, bound), f"{name} {axes}")
    if axes not in ("dim=(0, 2)",):
        np.testing.assert_array_equal(function(f"tsr.argmax(x, {axes})", "x")(x), np.argmax(x, AXES[axes], keepdims=keep))


@pytest.mark.parametrize("shape", [(3,), (1000,), (40000,), (7, 65), (300, 200), (3, 4, 5), (0,), (0, 3)])
def test_over_everything(shape, inputs):
    x = inputs.small_integers(*shape)
    np.testing.assert_array_equal(function("tsr.sum(x)", "x")(x), x.sum())
    if x.size:
        np.testing.assert_array_equal(function("x.max()", "x")(x), x.max())
        y = inputs.normal(*shape)
        bounds.check(function("tsr.mean(x)", "x")(y), bounds.exact(y.ravel(), "fp32").sum() / y.size, "mean")


@pytest.mark.parametrize("extent", EXTENTS)
def test_scans(extent, inputs):
    x = inputs.small_integers(5, extent)
    np.testing.assert_array_equal(function("tsr.cumsum(x, dim=-1)", "x")(x), np.cumsum(x, -1))
    np.testing.assert_array_equal(function("tsr.cumsum(x, dim=0)", "x")(x.T), np.cumsum(x.T, 0))
    np.testing.assert_array_equal(function("tsr.cummax(x, dim=-1)", "x")(x), np.maximum.accumulate(x, -1))
    signs = np.sign(x) + (x == 0).astype(np.float32)
    np.testing.assert_array_equal(function("tsr.cumprod(x, dim=-1)", "x")(signs), np.cumprod(signs, -1))


@pytest.mark.parametrize("columns", (1, 7, 65, 300))
def test_scans_of_tiles(columns, inputs):
    x = inputs.small_integers(7, columns)
    np.testing.assert_array_equal(row_kernel("tsr.cumsum(x, dim=-1)", kept=True)(x), np.cumsum(x, -1))
    np.testing.assert_array_equal(row_kernel("tsr.cummax(x, dim=-1)", kept=True)(x), np.maximum.accumulate(x, -1))
    signs = np.sign(x) + (x == 0).astype(np.float32)
    np.testing.assert_array_equal(row_kernel("tsr.cumprod(x, dim=-1)", kept=True)(signs), np.cumprod(signs, -1))


@pytest.mark.parametrize("dtype", FLOATS + INTS)
def test_scans_of_every_dtype(dtype, inputs):
    x = inputs.normal(3, 200).astype(NUMPY[dtype]) if dtype in FLOATS else inputs.small_integers(3, 200, dtype=dtype, low=-90, high=90)
    got = function("tsr.cumsum(x, dim=-1)", "x")(x)
    assert got.dtype == x.dtype
    wide = np.cumsum(x.astype(np.float64), -1)
    if dtype in INTS:
        np.testing.assert_array_equal(got, wide)
        return
    inner = bounds.compute_type(dtype)
    error = bounds.gamma(200, bounds.UNIT[inner]) * np.cumsum(np.abs(x.astype(np.float64)), -1)
    bounds.check(got, bounds.outside(bounds.Approx(wide, error, inner), dtype), "cumsum")


def test_reductions_on_views(inputs):
    x = inputs.small_integers(33, 65)
    for name, view in Inputs.views(x):
        np.testing.assert_array_equal(function("tsr.sum(x, dim=0)", "x")(view), x.sum(0), err_msg=name)
        np.testing.assert_array_equal(rows("function", "argmax", "fp32")(view), x.argmax(-1), err_msg=name)
        np.testing.assert_array_equal(rows("kernel", "sum", "fp32")(view), x.sum(-1), err_msg=name)
        np.testing.assert_array_equal(function("tsr.cumsum(x, dim=0)", "x")(view), np.cumsum(x, 0), err_msg=name)


def test_a_bound_has_teeth(inputs):
    """At K = 1000 it rejects accumulation in the storage type, and one dropped element."""
    x = np.abs(inputs.normal(1, 1000, dtype="bf16")) + NUMPY["bf16"](1)
    total = NUMPY["bf16"](0)
    for value in x[0]:
        total = NUMPY["bf16"](total + value)
    expected = bounds.exact(x, "bf16").sum()
    assert len(bounds.violations(np.array([total]), expected)) == 1
    y = np.abs(inputs.normal(1, 1000)) + 1
    assert len(bounds.violations(y[:, 1:].astype(np.float64).sum(-1), bounds.exact(y, "fp32").sum())) == 1


@tsr.function
def place_of_the_greatest(x: Tensor["M", "N"]):
    return tsr.argmax(x, axis=-1), tsr.argmin(x, axis=-1), tsr.where(x > 1, tsr.max(x, axis=-1, keepdims=True), x)


@pytest.mark.parametrize("target", ["cpu", "cpu:avx2", "cpu:avx512"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int32, np.int64])
@pytest.mark.parametrize("size", [1, 7, 40, 1030])
def test_argmax_on_all_levels(size, dtype, target):
    rng = np.random.default_rng(size)
    x = rng.integers(-9, 10, (6, size)).astype(dtype)
    if np.dtype(dtype).kind != "i":
        x[1, size // 2:] = np.nan
        x[2] = -np.inf
        x[3, ::2] = -0.0
        x[3, 1::2] = 0.0
    greatest, least, cut = place_of_the_greatest(x, target=target)
    wide = x.astype(np.float64)
    np.testing.assert_array_equal(greatest, wide.argmax(-1))
    np.testing.assert_array_equal(least, wide.argmin(-1))
    np.testing.assert_array_equal(cut.astype(np.float64), np.where(wide > 1, wide.max(-1, keepdims=True), wide))
