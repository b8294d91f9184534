"""@tsr.accum, @tsr.policy and schedules do what they say, and nothing else does.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import re

import numpy as np
import pytest

import tessera as tsr
from tessera import Out, Tensor, const, fp16, fp32, fp64

BIG = 2.0**25  # 1 more than this is lost in fp32


def running(x):
    return tsr.cumsum(x, dim=0)


def average(x):
    return tsr.mean(x)


def spread(x):
    return tsr.var(x, correction=0)


def norm(x):
    return tsr.layer_norm(x, (N,))


@pytest.mark.parametrize("make, exact", [(tsr.function, False), (tsr.accum(fp64), True)])
def test_accum_of_cumsum(make, exact):
    x = np.array([BIG, 1, -BIG, 1, 1], np.float32)
    got = make(running)(x)
    assert got.dtype == np.float32
    want = np.cumsum(x.astype(np.float64)).astype(np.float32)
    assert np.array_equal(got, want) == exact


@pytest.mark.parametrize("fn", [average, spread])
def test_accum_of_mean_and_var(fn):
    x = np.array([[BIG, 1, 1, 1, -BIG]], np.float32)
    want = {average: np.mean, spread: np.var}[fn](x.astype(np.float64)).astype(np.float32)
    assert tsr.accum(fp64)(fn)(x) == want


def test_accum_of_norms():
    @tsr.accum(fp64)
    def wide(x: Tensor["M", "N"]):
        return tsr.layer_norm(x, (N,)), tsr.rms_norm(x, (N,))

    @tsr.function
    def narrow(x: Tensor["M", "N"]):
        return tsr.layer_norm(x, (N,)), tsr.rms_norm(x, (N,))

    # A row of one value has no variance; the mean of 0.1 is not exact in fp32.
    x = np.full((2, 30001), 0.1, np.float32)
    assert np.abs(wide(x)[0]).max() < 1e-9 < np.abs(narrow(x)[0]).max()
    one = wide(x)[1]
    eps = float(np.finfo(np.float32).eps)
    want = np.float64(np.float32(0.1)) / np.sqrt(np.float64(np.float32(0.1)) ** 2 + eps)
    np.testing.assert_array_equal(one, np.full_like(x, np.float32(want)))


def test_accum_of_softmax_and_cross_entropy():
    @tsr.accum(fp64)
    def wide(x: Tensor["M", "N"], t: Tensor["M"]):
        return tsr.softmax(x, dim=1), tsr.cross_entropy(x, t, reduction="none")

    x = np.random.default_rng(0).standard_normal((3, 5000)).astype(np.float32)
    t = np.array([0, 17, 4999])
    got, loss = wide(x, t)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    want = e / e.sum(1, keepdims=True)
    # One rounding from fp64: half an ULP, and a little for the fp64 sum.
    assert (np.abs(got - want) <= 0.5001 * np.spacing(np.abs(want).astype(np.float32))).all()
    total = np.log(e.sum(1)) + x.max(1) - x[np.arange(3), t]
    assert (np.abs(loss - total) <= 0.5001 * np.spacing(np.abs(total).astype(np.float32))).all()
    assert "accumulate = f64" in wide.inspect_ir("graph")


# ---- policies ------------------------------------------------------------------------------

A = np.full(20, 1 + 2.0**-12, np.float32)
C = np.full(20, -(1 + 2.0**-11), np.float32)  # a * a + c is 2^-24, or 0 if the product is rounded


def multiply_add(a, c):
    return a * a + c, c + a * a, a * a - (-c), -c - a * a


def in_tiles(A: Tensor["N"], C: Tensor["N"], Y: Out["N"]):
    for n in tsr.grid(tsr.tile(N, 8)):
        a = A[n]
        Y[n] = a * a + C[n]


@pytest.mark.parametrize("policy, want", [("deterministic", 0), ("strict", 0), ("fast", 2.0**-24)])
def test_only_fast_contracts(policy, want):
    got = tsr.policy(policy)(tsr.function(multiply_add))(A, C)
    for value, sign in zip(got, (1, 1, 1, -1)):
        np.testing.assert_array_equal(value, np.full(20, sign * want, np.float32))
    np.testing.assert_array_equal(tsr.policy(policy)(tsr.kernel(in_tiles))(A, C), np.full(20, want, np.float32))


def chain(x, y):
    return (x + y) - x


@pytest.mark.parametrize("policy, want", [("deterministic", 0), ("strict", 0), ("fast", 2.0**-11)])
def test_only_fast_drops_the_rounding_between_ops(policy, want):
    x, y = np.ones(40, np.float16), np.full(40, 2.0**-11, np.float16)
    got = tsr.policy(policy)(tsr.function(chain))(x, y)
    assert got.dtype == np.float16
    np.testing.assert_array_equal(got, np.full(40, want, np.float16))


# ---- schedules -----------------------------------------------------------------------------


@tsr.kernel.schedule(threads=1, vector=8, unroll=2, BLOCK=32)
def scale(X: Tensor["N"], Y: Out["N"], BLOCK: const = 16):
    for n in tsr.grid(tsr.tile(N, BLOCK)):
        x = X[n]
        Y[n] = x * 2


@tsr.function
def scaled(x):
    return scale(x + 1.0)


def test_a_called_kernel_keeps_its_schedule():
    x = np.arange(100, dtype=np.float32)
    np.testing.assert_array_equal(scaled(x), (x + 1) * 2)
    text = scaled.inspect_ir("tile-value")
    [launch] = [line for line in text.splitlines() if "launch @scale_" in line]
    assert "threads 1" in launch and re.search(r"ceildivsi %\d+, %c32 ", text)
    assert "vector = 8" in text and "unroll = 2" in text


@tsr.kernel
def row_max(X: Tensor["M", "N"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 4)):
        x = X[m, :]
        Y[m] = tsr.max(x, N)


@tsr.function
def row_range(x, shift):
    return row_max(x) + row_max(shift - x)


def test_a_called_kernel_makes_sizes_constants():
    for shape in ((5, 7), (5, 9), (3, 7)):
        x = np.random.default_rng(0).integers(-9, 9, shape).astype(np.float32)
        np.testing.assert_array_equal(row_range(x, 1.0), x.max(1) + (1 - x).max(1))
    text = row_range.explain()
    assert "x: fp32 [any, 7]" in text or "x: fp32 [any, 9]" in text


def test_a_load_is_called_after_its_variable():
    text = row_max.inspect_ir("graph", N=8)
    assert "%x = tile.load %X" in text


@pytest.mark.parametrize("n", (8, 24, 25, 33, 47, 48))
def test_panels_of_a_wider_accumulator(n):
    """Seed 13949: panels of float64 are 24 wide, and 16 lanes of fp32 were written across their edge."""
    text = f"@tsr.accum(fp64)\n@tsr.function\ndef f(a: Tensor[33, 7, fp32], b: Tensor[7, {n}, fp32]):\n    return a @ b\n"
    fn = tsr.compile_source("import tessera as tsr\nfrom tessera import Tensor, fp32, fp64\n" + text).f
    a, b = (np.arange(33 * 7) % 9 - 4).reshape(33, 7).astype(np.float32), (np.arange(7 * n) % 7 - 3).reshape(7, n).astype(np.float32)
    for x, y in ((a, b), (a.T.copy().T, b), (a, b.T.copy().T)):
        np.testing.assert_array_equal(fn(x, y), a @ b)
