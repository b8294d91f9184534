"""Element-wise operations on tensors and tiles: Python's and NumPy's semantics, bit for bit where they are exact.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import itertools

import bounds
import ml_dtypes  # noqa: F401  (NumPy learns bfloat16)
import numpy as np
import pytest
from conftest import NUMPY, Inputs
from programs import CARRIERS, function, made

import tessera as tsr

FLOATS = ("fp64", "fp32", "fp16", "bf16")
INTS = ("i32", "i64")


def pairs(values, dtype):
    """Every pair of the values, as two vectors."""
    x, y = zip(*itertools.product(values, values))
    return np.array(x).astype(NUMPY[dtype]), np.array(y).astype(NUMPY[dtype])


def same(got, expected, what=""):
    """Equal, NaN with NaN and zeros with their sign."""
    expected = np.asarray(expected)
    assert got.dtype == expected.dtype, f"{what}: {got.dtype} instead of {expected.dtype}"
    if got.dtype.kind in "iub":
        np.testing.assert_array_equal(got, expected, err_msg=what)
        return
    # Widened: NumPy does not know that a bfloat16 NaN equals another.
    got, expected = got.astype(np.float64), expected.astype(np.float64)
    np.testing.assert_array_equal(got, expected, err_msg=what)
    sign = lambda a: np.signbit(np.where(np.isnan(a), 0.0, a))
    np.testing.assert_array_equal(sign(got), sign(expected), err_msg=f"{what}: sign of zero")


WHOLE = (-9, -8, -7, -3, -2, -1, 0, 1, 2, 3, 5, 7, 8, 100)
REAL = (-np.inf, -1e4, -7.5, -2.0, -1.0, -0.75, -0.0, 0.0, 0.5, 1.0, 3.0, 7.25, 1e4, np.inf, np.nan)


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("operator", ("+", "-", "*", "//", "%", "&", "|", "^"))
def test_operators_on_ints(operator, dtype, carrier):
    least, most = np.iinfo(NUMPY[dtype]).min, np.iinfo(NUMPY[dtype]).max
    x, y = pairs(WHOLE + (int(least), int(most)), dtype)
    with np.errstate(all="ignore"):  # wraps; division by 0 is 0
        expected = eval(f"x {operator} y")
    same(made(carrier, f"x {operator} y", result=dtype)(x, y), expected, operator)


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("dtype", INTS)
def test_quotients_rounded_up(dtype, carrier):
    """By 0 they are 0, as those of // are: in a kernel that ended the process."""
    least, most = np.iinfo(NUMPY[dtype]).min, np.iinfo(NUMPY[dtype]).max
    x, y = pairs(WHOLE + (int(least), int(most)), dtype)
    with np.errstate(all="ignore"):
        expected = (x // y + (x % y != 0)).astype(x.dtype)
    same(made(carrier, "tsr.cdiv(x, y)", result=dtype)(x, y), expected, "cdiv")
    same(made(carrier, "tsr.cdiv(x, 7)", "x", dtype)(x), (-(-x.astype(object) // 7)).astype(x.dtype), "cdiv by 7")


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("dtype", INTS)
def test_shifts(dtype, carrier):
    """A count of the width or more shifts everything out."""
    bits = np.iinfo(NUMPY[dtype]).bits
    x = np.array(WHOLE * 6).astype(NUMPY[dtype])
    y = np.repeat([0, 1, 3, bits - 1, bits, bits + 9], len(WHOLE)).astype(NUMPY[dtype])
    same(made(carrier, "x << y", result=dtype)(x, y), np.left_shift(x, y), "<<")
    same(made(carrier, "x >> y", result=dtype)(x, y), np.right_shift(x, y), ">>")
    same(made(carrier, "(x << 2) + (x >> 1)", "x", dtype)(x), (x << 2) + (x >> 1), "by constants")


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("dtype", INTS)
def test_whole_powers(dtype, carrier):
    x = np.array(WHOLE * 5).astype(NUMPY[dtype])
    y = np.repeat([0, 1, 2, 5, 13], len(WHOLE)).astype(NUMPY[dtype])
    same(made(carrier, "x ** y", result=dtype)(x, y), x**y, "**")
    same(made(carrier, "x ** 3", "x", dtype)(x), x**3, "** 3")
    same(made(carrier, "2 ** x", "x", dtype)(np.abs(x)), 2 ** np.abs(x), "2 **")


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("dtype", INTS + ("bool",))
def test_not_and_sign(dtype, carrier):
    x = np.array(WHOLE).astype(NUMPY[dtype])
    same(made(carrier, "~x", "x", dtype)(x), ~x, "~")
    if dtype != "bool":
        same(made(carrier, "-x", "x", dtype)(x), -x, "-")
        same(made(carrier, "tsr.abs(x)", "x", dtype)(x), np.abs(x), "abs")
    for operator in "&|^":
        a, b = pairs((False, True), "bool")
        same(made(carrier, f"x {operator} y", result="bool")(a, b), eval(f"a {operator} b"), operator)


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("operator", ("+", "-", "*", "/"))
def test_operators_on_floats(operator, dtype, carrier):
    x, y = pairs(REAL, dtype)
    with np.errstate(all="ignore"):
        expected = eval(f"x {operator} y")
    same(made(carrier, f"x {operator} y", result=dtype)(x, y), expected, operator)


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_floor_division_of_floats(dtype, carrier):
    """Python's: the remainder has the divisor's sign, and x == (x // y) * y + x % y."""
    x, y = pairs([v for v in REAL if np.isfinite(v)], dtype)
    x, y = x[y != 0], y[y != 0]
    quotient = [float(a) // float(b) for a, b in zip(x, y)]
    rest = [float(a) % float(b) for a, b in zip(x, y)]
    same(made(carrier, "x // y", result=dtype)(x, y), np.array(quotient).astype(x.dtype), "//")
    same(made(carrier, "x % y", result=dtype)(x, y), np.array(rest).astype(x.dtype), "%")
    # As NumPy where Python refuses (by 0), and by infinity as both: 0 or -1, never NaN.
    x, y = pairs((-np.inf, -2.5, -0.0, 0.0, 2.5, np.inf, np.nan), dtype)
    with np.errstate(all="ignore"):
        same(made(carrier, "x // y", result=dtype)(x, y), np.floor_divide(x.astype(np.float64), y.astype(np.float64)).astype(x.dtype), "//")


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("dtype", FLOATS + INTS + ("bool",))
def test_comparisons(dtype, carrier):
    x, y = pairs(REAL if dtype in FLOATS else (0, 1) if dtype == "bool" else WHOLE, dtype)
    for operator in ("==", "!=", "<", "<=", ">", ">="):
        same(made(carrier, f"x {operator} y", result="bool")(x, y), eval(f"x {operator} y"), operator)


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("dtype", FLOATS + INTS)
def test_choices(dtype, carrier):
    """NaN goes through maximum, minimum and clamp."""
    x, y = pairs(REAL if dtype in FLOATS else WHOLE, dtype)
    order = np.array([v for v in zip(x, y) if v[0] != v[1]]).T.astype(x.dtype)  # -0 and 0: either may win
    for name in ("maximum", "minimum"):
        got = made(carrier, f"tsr.{name}(x, y)", result=dtype)(*order)
        same(got, getattr(np, name)(*order), name)
    same(made(carrier, "tsr.where(x < y, x, y)", result=dtype)(x, y), np.where(x < y, x, y), "where")
    same(made(carrier, "tsr.where(x > 0, x, 0)", "x", dtype)(x), np.where(x > 0, x, np.zeros_like(x)), "where with a number")
    same(made(carrier, "tsr.clamp(x, -2, 3)", "x", dtype)(x), np.clip(x, x.dtype.type(-2), x.dtype.type(3)).astype(x.dtype), "clamp")
    some = x[~(x == 0)]
    same(made(carrier, "tsr.relu(x)", "x", dtype)(some), np.maximum(some, some.dtype.type(0)), "relu")


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_exact_functions(dtype, carrier):
    x = np.array(REAL + (-2.5, -1.5, -0.5, 1.5, 2.5, 3.5, 1e4 + 0.5)).astype(NUMPY[dtype])
    for name, numpy in (("abs", np.abs), ("floor", np.floor), ("ceil", np.ceil), ("round", np.rint)):
        same(made(carrier, f"tsr.{name}(x)", "x", dtype)(x), numpy(x), name)
    same(made(carrier, "-x", "x", dtype)(x), -x, "-")
    same(made(carrier, "tsr.isnan(x)", "x", "bool")(x), np.isnan(x), "isnan")
    same(made(carrier, "tsr.isfinite(x)", "x", "bool")(x), np.isfinite(x), "isfinite")


@pytest.mark.parametrize("carrier", CARRIERS)
def test_fma_rounds_once_and_two_ops_twice(carrier, inputs):
    x, y = inputs.normal(5000), inputs.normal(5000)
    z = -(x * y)
    wide = x.astype(np.float64) * y.astype(np.float64) + z.astype(np.float64)
    same(made(carrier, "tsr.fma(x, y, z)", "x y z")(x, y, z), wide.astype(np.float32), "fma")
    same(made(carrier, "x * y + z", "x y z")(x, y, z), x * y + z, "two roundings")


def saturated(x, dtype):
    """x as an int: truncated, clamped, NaN as 0."""
    info = np.iinfo(NUMPY[dtype])
    result = []
    for value in x.astype(np.float64):
        result.append(0 if np.isnan(value) else info.max if value >= info.max else info.min if value <= info.min else int(value))
    return np.array(result, NUMPY[dtype])


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("source", FLOATS + INTS + ("bool",))
def test_casts(source, carrier, inputs):
    """Between all dtypes: to nearest even, to ints towards zero and saturating, NaN as 0."""
    if source in FLOATS:
        special = REAL + (0.1, 1 / 3, 65519.0, 65520.0, 1e10, -1e10, 3e38, 2.0**31, 2.0**63, -(2.0**63), 1e-7, 6e-8, 1e-40, 2147483647.5)
        with np.errstate(over="ignore"):
            x = np.concatenate([np.array(special), inputs.normal(200, scale=100)]).astype(NUMPY[source])
    elif source == "bool":
        x = np.array([True, False, True])
    else:
        info = np.iinfo(NUMPY[source])
        x = np.array([info.min, info.max, -1, 0, 1, 2**24 + 1, 2**30 + 3, 12345, -(2**31), 2**31 - 1]).astype(NUMPY[source])
    for target in FLOATS + INTS + ("bool",):
        got = made(carrier, f"x.to({target})", "x", target)(x)
        with np.errstate(all="ignore"):
            if target in INTS and source in FLOATS:
                expected = saturated(x, target)
            elif target in ("fp16", "bf16") and source in ("i32", "i64"):
                expected = rounded_once(x, target)
            elif target == "bf16" and source == "fp64":
                expected = rounded_once(x, target)
            else:
                expected = x.astype(NUMPY[target])
        same(got, expected, f"{source} to {target}")


def rounded_once(x, dtype):
    """To nearest even in one step (NumPy goes through float32)."""
    step = {"fp16": 11, "bf16": 8}[dtype]
    result = []
    for value in x.tolist():
        if not np.isfinite(value) or value == 0:
            result.append(value)
            continue
        _, e = np.frexp(float(value))
        ulp = 2.0 ** max(int(e) - step, -24 if dtype == "fp16" else -133)
        # Exact for ints too: Python divides and rounds whole numbers to even.
        from fractions import Fraction

        result.append(float(round(Fraction(value) / Fraction(ulp)) * Fraction(ulp)))
    with np.errstate(over="ignore"):
        return np.array(result, np.float64).astype(np.float32).astype(NUMPY[dtype])


def test_weak_numbers_keep_the_tensors_dtype(inputs):
    for dtype in ("fp16", "bf16", "fp32"):
        x = inputs.normal(100, dtype=dtype)
        assert function("x * 0.1 + 1", "x")(x).dtype == x.dtype
        np.testing.assert_array_equal(function("x * 0.1", "x")(x), (x.astype(np.float32) * np.float32(x.dtype.type(0.1))).astype(x.dtype))
    x = np.arange(5, dtype=np.int32)
    assert function("x * 2", "x")(x).dtype == np.int32


def test_wider_dtype_wins(inputs):
    x, y = inputs.normal(33, dtype="fp16"), inputs.normal(33)
    same(function("x + y")(x, y), x.astype(np.float32) + y)
    a, b = np.arange(9, dtype=np.int32), np.arange(9, dtype=np.int64)
    same(function("x * y")(a, b), a * b)


@pytest.mark.parametrize("bad", [("i32", "fp32"), ("fp16", "bf16")])
def test_mixed_kinds_are_refused(bad):
    x, y = np.ones(3, NUMPY[bad[0]]), np.ones(3, NUMPY[bad[1]])
    with pytest.raises(tsr.CompileError, match=r"\.to\("):
        function("x + y")(x, y)


def test_broadcasting(inputs):
    shapes = [((7, 65), (65,)), ((7, 1), (1, 65)), ((1,), (7, 65)), ((3, 1, 5), (4, 1)), ((2, 3, 4), ()), ((1, 1), (1, 9)), ((0, 5), (1, 5)), ((5, 1), (5, 0))]
    for left, right in shapes:
        x, y = inputs.small_integers(*left), inputs.small_integers(*right)
        same(function("x + y")(np.asarray(x), np.asarray(y)), np.asarray(x + y), f"{left} + {right}")


def test_every_view_of_every_operand(inputs):
    x, y = inputs.small_integers(9, 33), inputs.small_integers(9, 33)
    for one, a in Inputs.views(x):
        for other, b in Inputs.views(y):
            same(function("x * y + x")(a, b), x * y + x, f"{one}, {other}")
    wide = np.broadcast_to(x[:, :1], x.shape)
    same(function("x * y + x")(wide, y), wide * y + wide, "stride 0")
    for name, out in Inputs.views(np.zeros((9, 33), np.float32)):
        assert function("x * y + x")(x, y, out=out) is out
        same(np.ascontiguousarray(out), x * y + x, f"out= {name}")


def test_power_of_floats_is_within_its_bound(inputs):
    x, y = np.abs(inputs.normal(3000, scale=3)), inputs.normal(3000, scale=4)
    exact = x.astype(np.float64) ** y.astype(np.float64)
    bounds.check(function("x ** y")(x, y), bounds.Approx(exact, 2 * bounds.ULPS * 2**-24 * exact + 2 * bounds.TINY["fp32"]), "**")


@tsr.function
def joined(x, y):
    return x + y


def test_axes_line_up_by_position_without_names():
    """As NumPy: from the last axis; docs/decisions/2026-11-15-axes-in-functions.md."""
    x, y = np.arange(12, dtype=np.float32).reshape(3, 4), np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(joined(x, y), x + y)
    with pytest.raises(tsr.TesseraError, match="4.*3|3.*4"):
        joined(x, np.zeros(3, np.float32))


def test_axes_of_two_names_never_join():
    @tsr.function
    def rows(x: tsr.Tensor["M", "N"], s: tsr.Tensor["M"]):
        return x + s

    square = np.ones((3, 3), np.float32)
    with pytest.raises(tsr.CompileError, match=r"fix:  x \+ s\[:, None\]"):
        rows(square, square[0])  # though the sizes are equal
