"""Every unary op and conversion over all 2^16 patterns of the 16-bit types, compiled, against the unrounded reference.

The float32 functions are measured over all 2^32 arguments by `tools/math/exhaustive.py`.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import ml_dtypes
import numpy as np
import pytest

import tessera as tsr
from tessera import compiler

ALL = np.arange(1 << 16, dtype=np.uint16)
TYPES = {"fp16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}
# Ops of the language with one float operand; the rest of the table is inside others, or takes integers.
UNARY = ["neg", "abs", "exp", "exp2", "log", "log2", "log1p", "sqrt", "rsqrt", "sin", "cos", "tanh", "erf", "floor", "ceil", "round", "relu",
         "sigmoid", "silu", "gelu"]
PREDICATES = ["isnan", "isfinite"]


def made(expression: str):
    return tsr.compile_source(f'@tsr.function\ndef f(x: Tensor["N"]):\n    return {expression}\n').f


def steps_between(got: np.ndarray, exact: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """How many values of the type lie between the result and the exact value: 1 is correctly rounded or the neighbour."""
    nearest = exact.astype(dtype)
    signed = [np.where(bits & 0x8000, -(bits & 0x7FFF).astype(np.int32), (bits & 0x7FFF).astype(np.int32)) for bits in (got.view(np.uint16), nearest.view(np.uint16))]
    return np.abs(signed[0] - signed[1])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("op", UNARY)
def test_every_pattern(op, dtype):
    x = ALL.view(TYPES[dtype])
    fn = made("-x" if op == "neg" else f"tsr.{op}(x)")
    got, exact = fn(x), fn.run(x, stage="graph", domain="reference")
    with np.errstate(all="ignore"):
        nan = np.isnan(exact)
        assert (np.isnan(got.astype(np.float64)) == nan).all()
        off = steps_between(got[~nan], exact[~nan], TYPES[dtype])
    precision = {name: kind for name, _, kind, _ in compiler.scalar_ops()}[op]
    # Computed in float32 within 2 ULP and rounded once: the nearest value, or one next to it.
    assert off.max(initial=0) <= (0 if precision in ("exact", "rounded") else 1)
    # A stage rounds the same real: at most the neighbour again.
    assert steps_between(np.asarray(fn.run(x, stage="sched"))[~nan], exact[~nan], TYPES[dtype]).max(initial=0) <= (0 if precision in ("exact", "rounded") else 1)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("op", PREDICATES)
def test_predicates(op, dtype):
    x = ALL.view(TYPES[dtype])
    np.testing.assert_array_equal(made(f"tsr.{op}(x)")(x), getattr(np, op)(x.astype(np.float64)))


def numpy_of(name: str) -> np.dtype:
    return TYPES.get(name) or np.dtype({"fp32": "f4", "fp64": "f8", "i32": "i4", "i64": "i8"}[name])


@pytest.mark.parametrize("source", TYPES)
@pytest.mark.parametrize("target", ["fp16", "bf16", "fp32", "fp64"])
def test_conversions_between_floats(source, target):
    """0 ULP: bit for bit what NumPy and ml_dtypes give, NaN for NaN."""
    x = ALL.view(TYPES[source])
    with np.errstate(all="ignore"):
        want = x.astype(np.float32).astype(numpy_of(target))
    fn = made(f"x.to({target})")
    for got in (fn(x), fn.run(x, stage="graph"), fn.run(x, stage="sched")):
        nan = np.isnan(want.astype(np.float64))
        assert (np.isnan(got.astype(np.float64)) == nan).all()
        np.testing.assert_array_equal(got[~nan].view(f"u{want.itemsize}"), want[~nan].view(f"u{want.itemsize}"))


@pytest.mark.parametrize("source", TYPES)
@pytest.mark.parametrize("target", ["i32", "i64"])
def test_conversions_to_integers(source, target):
    x = ALL.view(TYPES[source])
    wide = x.astype(np.float64)
    inside = np.isfinite(wide) & (np.abs(wide) < 2.0 ** (31 if target == "i32" else 63))
    fn = made(f"x.to({target})")
    for got in (fn(x), fn.run(x, stage="graph")):
        np.testing.assert_array_equal(got[inside], wide[inside].astype(numpy_of(target)))


@pytest.mark.parametrize("target", TYPES)
def test_conversions_from_float32_by_halves(target):
    """All pairs of a 16-bit value and the points around the middle to the next one: every rounding decision there is."""
    with np.errstate(all="ignore"):
        values = ALL.view(TYPES[target]).astype(np.float32)
        middles = ((values[:-1].astype(np.float64) + values[1:].astype(np.float64)) / 2).astype(np.float32)
    x = np.concatenate([middles, np.nextafter(middles, np.float32(np.inf)), np.nextafter(middles, np.float32(-np.inf))])
    x = x[~np.isnan(x)]
    with np.errstate(all="ignore"):
        want = x.astype(TYPES[target])
    fn = made(f"x.to({target})")
    for got in (fn(x), fn.run(x, stage="graph")):
        np.testing.assert_array_equal(got.view(np.uint16), want.view(np.uint16))


def test_a_wrong_rounding_is_seen():
    """The measure has teeth: truncation instead of rounding is off by one value."""
    x = np.linspace(1, 2, 1000, dtype=np.float32)
    cut = (x.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32).astype(ml_dtypes.bfloat16)
    assert steps_between(cut, x.astype(np.float64), TYPES["bf16"]).max() == 1
