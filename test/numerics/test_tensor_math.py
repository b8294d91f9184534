"""Math functions on tensors and tiles: within 2 ULP of float64, special values as C has them.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math

import bounds
import numpy as np
import pytest
from conftest import NUMPY
from programs import CARRIERS, made

import tessera as tsr

SPECIAL = (-np.inf, -1e30, -100.0, -20.5, -3.0, -1.0, -1e-3, -1e-30, -0.0, 0.0, 1e-30, 1e-3, 0.5, 1.0, 2.0, 10.5, 88.0, 1e30, np.inf, np.nan)


def erf(x):
    return np.vectorize(math.erf, otypes=[float])(x)


def sigmoid(x):
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


# name, in float64, the arguments a function may have, and how large it makes sense
FUNCTIONS = {
    "exp": (np.exp, -90, 90), "exp2": (np.exp2, -130, 128), "log": (np.log, 0, 1e6), "log2": (np.log2, 0, 1e6),
    "log1p": (np.log1p, -1, 1e4), "sqrt": (np.sqrt, 0, 1e9), "rsqrt": (lambda x: 1 / np.sqrt(x), 0, 1e9),
    "sin": (np.sin, -1e5, 1e5), "cos": (np.cos, -1e5, 1e5), "tanh": (np.tanh, -12, 12), "erf": (erf, -5, 5), "sigmoid": (sigmoid, -90, 90),
}


def arguments(inputs, low, high, dtype):
    spread = inputs.random.uniform(low, high, 4000)
    small = np.exp(inputs.random.uniform(-20, 0, 2000)) * inputs.random.choice([-1.0, 1.0], 2000)
    with np.errstate(over="ignore"):
        return np.concatenate([spread, small[(small >= low) & (small <= high)], SPECIAL]).astype(NUMPY[dtype])


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("dtype", ("fp32", "fp16", "bf16", "fp64"))
@pytest.mark.parametrize("name", FUNCTIONS)
def test_math_function(name, dtype, carrier, inputs):
    exact, low, high = FUNCTIONS[name]
    x = arguments(inputs, low, high, dtype)
    with np.errstate(all="ignore"):
        # float64 against itself: the reference may be off by an ULP of its own.
        expected = bounds.exact(x, dtype).smooth(exact, lambda v, e: 0.0)
    if dtype == "fp64":
        expected = bounds.Approx(expected.value, 2 * expected.error, dtype)
    # Beyond the largest number of the storage type there is infinity.
    limit = float(np.finfo(NUMPY[dtype]).max) if dtype != "bf16" else 3.3895e38
    step = 2 * bounds.UNIT[dtype]
    value = np.where(np.abs(expected.value) > limit * (1 + step / 2), np.copysign(np.inf, expected.value), expected.value)
    error = expected.error
    if dtype == "fp32":  # what is promised, to the letter: two steps of the format at the exact value
        with np.errstate(all="ignore"):
            error = bounds.ULPS * np.spacing(np.abs(value).astype(np.float32)).astype(np.float64)
    expected = bounds.Approx(value, error, dtype)
    got = made(carrier, f"tsr.{name}(x)", "x", dtype)(x)
    assert got.dtype == x.dtype
    bounds.check(got, expected, f"{name} {dtype}")


@pytest.mark.parametrize("carrier", CARRIERS)
def test_odd_functions_keep_the_sign_of_zero(carrier):
    x = np.array([-0.0, 0.0], np.float32)
    for name in ("sin", "tanh", "erf", "log1p", "sqrt"):
        got = made(carrier, f"tsr.{name}(x)", "x")(x)
        np.testing.assert_array_equal(np.signbit(got), [True, False], err_msg=name)


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("dtype", ("fp32", "fp16", "bf16", "fp64"))
def test_power(dtype, carrier, inputs):
    """As C's pow: 1 ** NaN is 1, a negative base takes whole exponents."""
    special = (-np.inf, -2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 3.0, np.inf, np.nan)
    x, y = (np.array(a).ravel() for a in np.meshgrid(special, special))
    x = np.concatenate([x, np.abs(inputs.normal(2000, scale=3))]).astype(NUMPY[dtype])
    y = np.concatenate([y, inputs.normal(2000, scale=3)]).astype(NUMPY[dtype])
    with np.errstate(all="ignore"):
        value = x.astype(np.float64) ** y.astype(np.float64)
    limit = float(np.finfo(NUMPY[dtype]).max) if dtype != "bf16" else 3.3895e38
    value = np.where(np.abs(value) > limit, np.copysign(np.inf, value), value)
    inner = bounds.compute_type(dtype)
    error = np.where(np.isfinite(value), 2 * bounds.ULPS * bounds.UNIT[inner] * np.abs(value) + bounds.ULPS * bounds.TINY[inner], 0)
    expected = bounds.Approx(value, error * (2 if dtype == "fp64" else 1), inner)
    bounds.check(made(carrier, "x ** y", "x y", dtype)(x, y), bounds.outside(expected, dtype), f"** {dtype}")


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("dtype", ("fp32", "fp16", "bf16", "fp64"))
@pytest.mark.parametrize("name", ("gelu", "silu"))
def test_activations_in_both_tails(name, dtype, carrier, inputs):
    """Relative accuracy holds where the result is tiny: docs/language.md says how much (2^-21 in fp32)."""
    x = np.concatenate([inputs.random.uniform(-12, 6, 4000), [-0.0, 0.0, -30.0, 30.0, -1e4, 1e4]]).astype(NUMPY[dtype])
    wide = x.astype(np.float64)
    if name == "gelu":
        value = 0.5 * wide * np.vectorize(math.erfc, otypes=[float])(-wide / math.sqrt(2))
    else:
        value = wide * sigmoid(wide)
    inner = bounds.compute_type(dtype)
    # In fp64 erfc comes from the C library: a rounding of its argument counts x^2 times.
    ulps = 4 + (wide**2 if name == "gelu" and dtype == "fp64" else 0) * (2 if dtype == "fp64" else 1)
    relative = 2**-13 if name == "gelu" and inner != dtype else 2 * ulps * bounds.UNIT[inner]
    expected = bounds.Approx(value, relative * np.abs(value) + 4 * bounds.TINY[inner], inner)
    bounds.check(made(carrier, f"tsr.{name}(x)", "x", dtype)(x), bounds.outside(expected, dtype), f"{name} {dtype}")
    ends = np.array([-np.inf, np.inf, np.nan], NUMPY[dtype])
    got = made(carrier, f"tsr.{name}(x)", "x", dtype)(ends).astype(np.float64)
    assert got[1] == np.inf and np.isnan(got[2]), got


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("dtype", ("fp16", "bf16"))
def test_every_gelu_of_16_bits(dtype, carrier):
    """An eighth of a unit of fp16 before the one rounding: neighbours of the nearest at worst."""
    x = np.arange(1 << 16, dtype=np.uint16).view(NUMPY[dtype])
    with np.errstate(invalid="ignore"):  # NaNs that signal
        x = x[np.isfinite(x.astype(np.float64))]
    wide = x.astype(np.float64)
    value = 0.5 * wide * np.vectorize(math.erfc, otypes=[float])(-wide / math.sqrt(2))
    got = made(carrier, "tsr.gelu(x)", "x", dtype)(x)
    nearest = value.astype(np.float32).astype(NUMPY[dtype])
    apart = np.abs(got.view(np.int16).astype(int) - nearest.view(np.int16).astype(int))
    assert apart[np.signbit(got) == np.signbit(nearest)].max() <= 1
    bounds.check(got, bounds.outside(bounds.Approx(value, 2**-13 * np.abs(value) + 4 * bounds.TINY["fp32"], "fp32"), dtype), f"gelu {dtype}")


@pytest.mark.parametrize("carrier", ["function", "kernel"])
def test_activations_of_infinities(carrier):
    """gelu and silu tend to 0 at minus infinity, from below."""
    text = {"function": "@tsr.function\ndef f(x):\n    return tsr.gelu(x), tsr.silu(x)\n",
            "kernel": """@tsr.kernel
def f(X: Tensor["N"], Y: Out["N"], Z: Out["N"]):
    for n in tsr.grid(tsr.tile(N, 8)):
        Y[n] = tsr.gelu(X[n])
        Z[n] = tsr.silu(X[n])
"""}[carrier]
    for dtype in (np.float16, np.float32, np.float64):
        x = np.array([-np.inf, np.finfo(dtype).min, np.inf, np.nan], dtype)
        for got in tsr.compile_source(text).f(x):
            np.testing.assert_array_equal(got, np.array([-0.0, -0.0, np.inf, np.nan], dtype))
            assert np.signbit(got[:2]).all()


@pytest.mark.parametrize("carrier", ["function", "kernel"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_negative_powers_of_ints(carrier, dtype):
    """1 / x ** -y towards zero."""
    text = {"function": "@tsr.function\ndef f(x, y):\n    return x ** y\n",
            "kernel": """@tsr.kernel
def f(X: Tensor["N"], Y: Tensor["N"], Z: Out["N"]):
    for n in tsr.grid(tsr.tile(N, 8)):
        Z[n] = X[n] ** Y[n]
"""}[carrier]
    x, y = np.meshgrid([-3, -2, -1, 0, 1, 2, 5], [-4, -3, -1, 0, 1, 3])
    x, y = x.ravel().astype(dtype), y.ravel().astype(dtype)
    want = [int(a) ** int(b) if b >= 0 else 0 if abs(int(a)) != 1 else int(a) ** int(-b) for a, b in zip(x, y)]
    np.testing.assert_array_equal(tsr.compile_source(text).f(x, y), np.array(want, dtype))
