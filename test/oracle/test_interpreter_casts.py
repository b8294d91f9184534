"""Conversions of the interpreter: bits equal to ml_dtypes and NumPy, over all patterns of the small types.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import numpy as np
import pytest
from modules import MLIR, NUMPY, assert_same_bits, graph, run


def cast(source, target, rounding=""):
    attribute = f' {{rounding = "{rounding}"}}' if rounding else ""
    return graph({"x": (source, 1)}, f"    %y = gir.cast %x{attribute} : tensor<?x{MLIR[source]}> -> tensor<?x{MLIR[target]}>", [("y", target, 1)])


def every(dtype):
    size = np.dtype(NUMPY[dtype]).itemsize
    return np.arange(2 ** (8 * size), dtype=f"u{size}").view(NUMPY[dtype])


def convert(x, dtype):
    with np.errstate(all="ignore"):
        return x.astype(NUMPY[dtype])


@pytest.mark.parametrize("source", ["f8e4m3", "f8e5m2", "f16", "bf16"])
@pytest.mark.parametrize("target", ["f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2"])
def test_all_patterns(source, target):
    if source == target:
        pytest.skip("no conversion")
    x = every(source)
    # ml_dtypes rounds directly from each source; where it goes through float32 that loses nothing.
    assert_same_bits(run(cast(source, target), {"x": x})[0], convert(x, target), f"{source} to {target}")


@pytest.mark.parametrize("source", ["f32", "f64"])
@pytest.mark.parametrize("target", ["f32", "f16", "bf16", "f8e4m3", "f8e5m2"])
def test_ties_and_their_neighbours(source, target, random):
    if source == target:
        pytest.skip("no conversion")
    size = np.dtype(NUMPY[target]).itemsize
    grid = every(target) if size < 4 else random.integers(0, 2**32, 20000, dtype=np.uint32).view(np.float32)
    with np.errstate(invalid="ignore"):
        wide = grid.astype(np.float64)
    wide = np.sort(wide[np.isfinite(wide)])
    with np.errstate(over="ignore"):
        halves = ((wide[1:] + wide[:-1]) / 2).astype(NUMPY[source])
    ends = np.array([np.inf, -np.inf, np.nan, 464, 465, 480, 448.1, 57344, 61439, 61440, 65519.9, 65520, 1e-9, -1e-9], NUMPY[source])
    below, above = np.nextafter(halves, NUMPY[source](-np.inf)), np.nextafter(halves, NUMPY[source](np.inf))
    x = np.concatenate([wide.astype(NUMPY[source]), halves, below, above, ends])
    if source == "f64" and target in ("f8e4m3", "f8e5m2", "bf16"):
        # ml_dtypes goes through float32 here, which rounds twice; we round once. Where the first step is exact they agree.
        x = x[(x.astype(np.float32).astype(np.float64) == x) | np.isnan(x)]
    assert_same_bits(run(cast(source, target), {"x": x})[0], convert(x, target), f"{source} to {target}")


@pytest.mark.parametrize("target", ["i32", "i64", "i8"])
@pytest.mark.parametrize("source", ["f64", "f32", "f16"])
def test_floats_to_integers_saturate(source, target):
    kind = np.iinfo(NUMPY[target])
    x = np.array([0.0, -0.0, 0.9, -0.9, 1.5, -1.5, 2.5, 127.5, 128, -128.9, -129, 3e4, 2.0**31, -(2.0**31), 2.0**40, 2.0**63, -(2.0**63), 1e300,
                  np.inf, -np.inf, np.nan])
    x = convert(x, source)
    want = [0 if np.isnan(v) else kind.max if v >= 2.0**kind.bits / 2 else kind.min if v < kind.min else int(v) for v in x.astype(np.float64)]
    assert_same_bits(run(cast(source, target), {"x": x})[0], np.array(want, NUMPY[target]))


@pytest.mark.parametrize("target", ["f64", "f32", "f16", "bf16"])
def test_integers_to_floats_round_once(target, random):
    x = np.concatenate([random.integers(-(2**63), 2**63, 2000), [2**53 + 1, 2**24 + 1, -(2**24) - 1, 2**63 - 1, -(2**63), 65519, 65520, 0, 1]])
    if target == "bf16":
        # ml_dtypes goes through float32: two roundings. Exactly: through Python's integers.
        exact = x[np.abs(x.astype(object)) < 2**24]
        assert_same_bits(run(cast("i64", target), {"x": exact})[0], exact.astype(np.float32).astype(NUMPY[target]))
        return
    assert_same_bits(run(cast("i64", target), {"x": x})[0], convert(x, target))


@pytest.mark.parametrize("source", ["f32", "i32", "f16"])
def test_to_bool_is_not_zero(source):
    x = convert(np.array([0.0, 1.0, 2.0, -1.0, 0.0]), source)
    assert_same_bits(run(cast(source, "bool"), {"x": x})[0], x != 0)
    if source != "i32":
        odd = convert(np.array([np.nan, -0.0, np.inf]), source)
        assert run(cast(source, "bool"), {"x": odd})[0].tolist() == [True, False, True]


def test_from_bool_and_between_integers():
    assert run(cast("bool", "f32"), {"x": np.array([True, False])})[0].tolist() == [1.0, 0.0]
    x = np.array([-1, 2**31, 2**40 + 7, -(2**33) - 2])
    assert_same_bits(run(cast("i64", "i32"), {"x": x})[0], x.astype(np.int32))
    assert_same_bits(run(cast("i32", "i64"), {"x": x.astype(np.int32)})[0], x.astype(np.int32).astype(np.int64))


def test_toward_zero(random):
    x = random.standard_normal(500).astype(np.float32)
    got = run(cast("f32", "bf16", "rz"), {"x": x})[0]
    cut = (x.view(np.uint32) & 0xFFFF0000).view(np.float32)
    assert_same_bits(got, cut.astype(NUMPY["bf16"]))


def test_the_reference_never_rounds():
    x = np.array([1 + 2**-20, 1e300, 1e-300])
    text = graph({"x": ("f64", 1)}, "    %h = gir.cast %x : tensor<?xf64> -> tensor<?xf16>\n    %y = gir.cast %h : tensor<?xf16> -> tensor<?xf64>",
                 [("y", "f64", 1)])
    assert run(text, {"x": x}, "reference")[0].tolist() == x.tolist()
    assert run(text, {"x": x})[0].tolist() == [1.0, np.inf, 0.0]
