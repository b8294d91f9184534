"""Each element-wise op of Graph IR, interpreted, against NumPy (bits) and mpmath (reals).

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import mpmath
import numpy as np
import pytest
from modules import MLIR, NUMPY, assert_same_bits, graph, run

SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -3.0, 1e-40, 65504.0, 1e30, -7.25]


def floats(random, dtype, *shape):
    """Normal numbers with the special ones among them."""
    flat = random.standard_normal(int(np.prod(shape)))
    flat[: len(SPECIAL)] = SPECIAL[: flat.size]
    with np.errstate(over="ignore"):
        return random.permutation(flat).reshape(shape).astype(NUMPY[dtype])


def rounded(values, dtype):
    """float64 results of an op on `dtype`: through the type it computes in."""
    with np.errstate(all="ignore"):
        return (values.astype(np.float32) if dtype != "f64" else values).astype(NUMPY[dtype])


def unary(op, dtype):
    return graph({"x": (dtype, 2)}, f"    %y = gir.{op} %x : tensor<?x?x{dtype}>", [("y", dtype, 2)])


def binary(op, dtype):
    return graph({"x": (dtype, 2), "z": (dtype, 2)}, f"    %y = gir.{op} %x, %z : tensor<?x?x{MLIR[dtype]}>", [("y", dtype, 2)])


def np_mod(x, y):
    return np.where((y == 0) | np.isinf(x), np.nan, np.mod(x, y))


# In float64, for floats up to f32: more than twice the digits of f32, so rounding twice is rounding once.
CORRECT = {
    "neg": np.negative, "abs": np.abs, "sqrt": np.sqrt, "floor": np.floor, "ceil": np.ceil, "round": np.rint,
    "relu": lambda x: np.where(np.isnan(x), x, np.maximum(x, 0) + 0.0),
}
CORRECT_BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "maximum": np.maximum, "minimum": np.minimum,
    "floordiv": np.floor_divide, "mod": np_mod,
}
FUNCTIONS = {
    "exp": mpmath.exp, "exp2": lambda x: mpmath.power(2, x), "log": mpmath.log, "log2": lambda x: mpmath.log(x, 2), "log1p": mpmath.log1p,
    "rsqrt": lambda x: 1 / mpmath.sqrt(x), "sin": mpmath.sin, "cos": mpmath.cos, "tanh": mpmath.tanh, "erf": mpmath.erf,
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)), "silu": lambda x: x / (1 + mpmath.exp(-x)),
    "gelu": lambda x: x * mpmath.ncdf(x),
    "gelu {tanh}": lambda x: x / 2 * (1 + mpmath.tanh(mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf("0.044715") * x**3))),
}


def spell(op, dtype):
    name, _, flag = op.partition(" ")
    return graph({"x": (dtype, 2)}, f"    %y = gir.{name} %x {flag} : tensor<?x?x{dtype}>", [("y", dtype, 2)])


@pytest.mark.parametrize("dtype", ["f64", "f32", "f16", "bf16"])
@pytest.mark.parametrize("op", CORRECT)
def test_exact_unary(op, dtype, random):
    for shape in ((7, 5), (1, 33), (0, 3), (5, 0)):
        x = floats(random, dtype, *shape)
        with np.errstate(all="ignore"):
            want = rounded(CORRECT[op](x.astype(np.float64)), dtype)
        assert_same_bits(run(unary(op, dtype), {"x": x})[0], want, op)


@pytest.mark.parametrize("dtype", ["f64", "f32", "f16", "bf16"])
@pytest.mark.parametrize("op", CORRECT_BINARY)
def test_exact_binary(op, dtype, random):
    x, z = floats(random, dtype, 19, 19), floats(random, dtype, 19, 19)
    if op in ("floordiv", "mod"):
        # In the type itself: the quotient of float64 is not the one of f32. NumPy computes f16 in f32, as we do.
        wide = np.float64 if dtype == "f64" else np.float32
        x, z = x.astype(wide), np.where(np.isfinite(z.astype(np.float64)), z, 1).astype(wide)
        x = np.where(np.isfinite(x), x, wide(3)).astype(NUMPY[dtype]).astype(wide)
        with np.errstate(all="ignore"):
            want = CORRECT_BINARY[op](x, z).astype(NUMPY[dtype])
        x, z = x.astype(NUMPY[dtype]), z.astype(NUMPY[dtype])
    else:
        with np.errstate(all="ignore"):
            want = rounded(CORRECT_BINARY[op](x.astype(np.float64), z.astype(np.float64)), dtype)
        if op in ("maximum", "minimum"):  # NumPy leaves the sign of zero open
            zero = (x == 0) & (z == 0)
            sign = np.signbit(x.astype(np.float64)), np.signbit(z.astype(np.float64))
            negative = sign[0] & sign[1] if op == "maximum" else sign[0] | sign[1]
            want = np.where(zero, np.where(negative, -0.0, 0.0).astype(NUMPY[dtype]), want)
    assert_same_bits(run(binary(op, dtype), {"x": x, "z": z})[0], want, op)


@pytest.mark.parametrize("op", FUNCTIONS)
def test_reference_of_functions(op, random):
    """80-bit reals: within an ULP of float64 of the true value, and the exact domain is its rounding."""
    x = np.concatenate([random.standard_normal(60), random.standard_normal(30) * 8, [0.0, 1.0, -1.0, 1e-8, -1e-8, 12.0, -12.0, -30.0]])
    if op in ("log", "log2", "rsqrt", "log1p"):
        x = np.abs(x) + 1e-9
    x = x.astype(np.float32).reshape(1, -1)
    mpmath.mp.prec = 4000  # 1 + tanh cancels
    true = [FUNCTIONS[op](mpmath.mpf(float(v))) for v in x.ravel()]
    text = spell(op, "f32")
    got = run(text, {"x": x}, "reference")[0].ravel()
    for v, value, want in zip(x.ravel(), got, true):
        assert abs(mpmath.mpf(float(value)) - want) <= mpmath.mpf(2) ** -51 * abs(want) + mpmath.mpf(2) ** -1074, (op, v, value, want)
    exact = run(text, {"x": x})[0].ravel()
    assert_same_bits(exact, np.array([np.float32(float(t)) for t in true]), op)


def test_fma_is_one_rounding(random):
    x, y, z = (random.standard_normal((9, 9)).astype(np.float32) for _ in range(3))
    z = -(x * y).astype(np.float32)  # only the part a product drops is left
    text = graph({n: ("f32", 2) for n in "xyz"}, "    %r = gir.fma %x, %y, %z : tensor<?x?xf32>", [("r", "f32", 2)])
    want = (x.astype(np.float64) * y + z).astype(np.float32)
    assert_same_bits(run(text, {"x": x, "y": y, "z": z})[0], want)
    assert np.any(want != 0)


INTEGERS = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "maximum": np.maximum, "minimum": np.minimum, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor, "floordiv": lambda a, b: np.where(b == 0, 0, np.floor_divide(a, np.where(b == 0, 1, b))),
    "mod": lambda a, b: np.where(b == 0, 0, np.mod(a, np.where(b == 0, 1, b))),
}


@pytest.mark.parametrize("dtype", ["i32", "i64", "i8"])
@pytest.mark.parametrize("op", INTEGERS)
def test_integers(op, dtype, random):
    kind = np.iinfo(NUMPY[dtype])
    edge = np.array([kind.min, kind.min + 1, -7, -2, -1, 0, 1, 2, 7, kind.max - 1, kind.max])
    x, z = (v.astype(NUMPY[dtype]) for v in np.meshgrid(edge, edge))
    with np.errstate(all="ignore"):
        want = INTEGERS[op](x, z).astype(NUMPY[dtype])
    if op == "floordiv":
        want = np.where((x == kind.min) & (z == -1), kind.min, want).astype(NUMPY[dtype])
    assert_same_bits(run(binary(op, dtype), {"x": x, "z": z})[0], want, op)


@pytest.mark.parametrize("op, function", [
    ("shl", lambda a, n: (a << n) if 0 <= n < 32 else 0), ("shr", lambda a, n: a >> min(n, 31) if n >= 0 else a >> 31),
    ("pow", lambda a, n: a**n if n >= 0 else (a**-n if abs(a) == 1 else 0)),
])
def test_shifts_and_powers_of_integers(op, function):
    edge = [-(2**31), -8, -3, -1, 0, 1, 3, 5, 31, 32, 33, 2**31 - 1]
    counts = edge if op != "pow" else [-3, -2, -1, 0, 1, 2, 3, 7, 31, 32]
    x, z = (v.astype(np.int32) for v in np.meshgrid(np.array(edge), np.array(counts)))
    wrapped = [(function(int(a), int(n)) + 2**31) % 2**32 - 2**31 for a, n in zip(x.ravel(), z.ravel())]
    assert_same_bits(run(binary(op, "i32"), {"x": x, "z": z})[0], np.array(wrapped, np.int32).reshape(x.shape), op)


@pytest.mark.parametrize("op, function", [
    ("add", np.logical_or), ("mul", np.logical_and), ("maximum", np.logical_or), ("minimum", np.logical_and),
    ("and", np.logical_and), ("or", np.logical_or), ("xor", np.logical_xor),
])
def test_booleans(op, function):
    x, z = np.meshgrid([False, True], [False, True])
    assert_same_bits(run(binary(op, "bool"), {"x": x, "z": z})[0], function(x, z), op)


@pytest.mark.parametrize("op, dtype, function", [
    ("neg", "i32", np.negative), ("abs", "i32", np.abs), ("relu", "i32", lambda x: np.maximum(x, 0)), ("not", "i32", np.invert),
    ("not", "bool", np.logical_not),
])
def test_unary_integers(op, dtype, function):
    x = np.array([[-(2**31), -5, -1, 0, 1, 7, 2**31 - 1]], np.int32) if dtype == "i32" else np.array([[True, False]])
    text = graph({"x": (dtype, 2)}, f"    %y = gir.{op} %x : tensor<?x?x{MLIR[dtype]}>", [("y", dtype, 2)])
    with np.errstate(over="ignore"):
        assert_same_bits(run(text, {"x": x})[0], function(x), op)


@pytest.mark.parametrize("dtype", ["f64", "f16", "bf16", "i64"])
@pytest.mark.parametrize("kind", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_compare(kind, dtype, random):
    if dtype == "i64":
        x, z = random.integers(-2, 3, (2, 9, 9))
    else:
        with np.errstate(over="ignore"):
            x, z = (v.astype(NUMPY[dtype]) for v in np.meshgrid(np.array(SPECIAL), np.array(SPECIAL)))
    text = graph({"x": (dtype, 2), "z": (dtype, 2)}, f"    %y = gir.compare {kind} %x, %z : tensor<?x?x{dtype}> -> tensor<?x?xi1>", [("y", "bool", 2)])
    want = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}[kind](
        x.astype(np.float64) if dtype != "i64" else x, z.astype(np.float64) if dtype != "i64" else z)
    assert_same_bits(run(text, {"x": x, "z": z})[0], want, kind)


@pytest.mark.parametrize("op", ["isnan", "isfinite"])
def test_predicates(op, random):
    x = floats(random, "f16", 5, 7)
    text = graph({"x": ("f16", 2)}, f"    %y = gir.{op} %x : tensor<?x?xf16> -> tensor<?x?xi1>", [("y", "bool", 2)])
    assert_same_bits(run(text, {"x": x})[0], getattr(np, op)(x))


def test_select_takes_nothing_from_the_other_side(random):
    c, x, z = random.random((5, 7)) < 0.5, floats(random, "f32", 5, 7), np.full((5, 7), np.nan, np.float32)
    text = graph({"c": ("bool", 2), "x": ("f32", 2), "z": ("f32", 2)},
                 "    %y = gir.select %c, %x, %z : tensor<?x?xi1>, tensor<?x?xf32>", [("y", "f32", 2)])
    assert_same_bits(run(text, {"c": c, "x": x, "z": z})[0], np.where(c, x, z))


def test_a_wrong_reference_is_noticed(random):
    """Every binary op's text against every other's reference: the comparison above must fail."""
    x, z = floats(random, "f32", 19, 19), floats(random, "f32", 19, 19)
    survivors = []
    for op in ("add", "sub", "mul", "div", "maximum", "minimum"):
        got = run(binary(op, "f32"), {"x": x, "z": z})[0]
        for other in ("add", "sub", "mul", "div", "maximum", "minimum"):
            with np.errstate(all="ignore"):
                want = rounded(CORRECT_BINARY[other](x.astype(np.float64), z.astype(np.float64)), "f32")
            try:
                assert_same_bits(got, want)
                survivors += [(op, other)] * (op != other)
            except AssertionError:
                assert op != other or op in ("maximum", "minimum")
    assert not survivors


def test_bf16_skipped_rounding_is_noticed(random):
    """x + z rounded to bf16 is not x + z in f32: the domain rounds where the op does."""
    x, z = (random.standard_normal((9, 9)).astype(NUMPY["bf16"]) for _ in range(2))
    two = graph({"x": ("bf16", 2), "z": ("bf16", 2)},
                "    %s = gir.add %x, %z : tensor<?x?xbf16>\n    %y = gir.mul %s, %z : tensor<?x?xbf16>", [("y", "bf16", 2)])
    step = (x.astype(np.float32) + z.astype(np.float32)).astype(NUMPY["bf16"])
    want = (step.astype(np.float32) * z.astype(np.float32)).astype(NUMPY["bf16"])
    assert_same_bits(run(two, {"x": x, "z": z})[0], want)
    skipped = ((x.astype(np.float32) + z.astype(np.float32)) * z.astype(np.float32)).astype(NUMPY["bf16"])
    with pytest.raises(AssertionError):
        assert_same_bits(run(two, {"x": x, "z": z})[0], skipped)
