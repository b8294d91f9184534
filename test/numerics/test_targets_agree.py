"""Values at the ends of their ranges: the CPU at its feature levels and a simulated GPU agree with NumPy, Python or torch.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import ml_dtypes
import numpy as np
import pytest
import tessera as tsr
from tessera import Out, Region, Tensor, bf16, fp64, i64, reduce_max, reduce_min, reduce_sum

TARGETS = ("cpu:avx2", "cpu:avx512", "cpu", "sim:sm_80")
pytestmark = pytest.mark.parametrize("target", TARGETS)
rng = np.random.default_rng(11)


def powers_of_two(low, high, count, dtype):
    return (2.0 ** rng.uniform(low, high, count) * rng.choice([-1.0, 1.0], count)).astype(dtype)


@tsr.kernel
def first_hits(X: Tensor["M", "N"], P: Out["M", i64], Q: Out["M", i64]):
    for m in tsr.grid(tsr.tile(M, 4)):
        P[m] = tsr.argmax(X[m, :] > 0, dim=1)
        Q[m] = tsr.argmin(X[m, :] > 0, dim=1)


def test_positions_of_bools(target):
    x = rng.standard_normal((37, 19)).astype(np.float32)
    first, last = first_hits(x, target=target)
    assert (first == np.argmax(x > 0, 1)).all() and (last == np.argmin(x > 0, 1)).all()


@tsr.function
def waves(x):
    return tsr.sin(x), tsr.cos(x)


def test_sines_of_large_doubles(target):
    x = np.concatenate([powers_of_two(20, 1023, 2000, np.float64), [-1e22, 2.0**30, np.nextafter(2.0**30, np.inf), 1.7e308]])
    for got, expected in zip(waves(x, target=target), (np.sin(x), np.cos(x))):
        assert (np.abs(got - expected) <= 2 * np.spacing(np.abs(expected))).all()
    # The nearest of all doubles to a multiple of pi/2 (Muller); the CPU's is glibc's, which is off by 8 ULP here.
    worst = float(waves(np.array([5.319372648326541e255]), target=target)[1][0])
    assert abs(worst + 4.687165924254627611e-19) <= (2 if target.startswith("sim") else 8) * np.spacing(4.687e-19)


@tsr.function
def remainder(x, y):
    return x % y


@pytest.mark.parametrize("dtype, low, high", [(np.float32, -149, 127), (np.float64, -1074, 1023)])
def test_remainders_are_exact(dtype, low, high, target):
    x, y = powers_of_two(low, high, 2000, dtype), powers_of_two(low, high, 2000, dtype)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -3.0], dtype)
    x[:49], y[:49] = np.repeat(special, 7), np.tile(special, 7)
    with np.errstate(all="ignore"):
        expected = np.mod(x, y)
    np.testing.assert_array_equal(remainder(x, y, target=target), expected)


@tsr.function
def shifted(a, b):
    return a << b, a >> b


def test_shifts_by_more_than_32_bits_say(target):
    a = np.array([5, -5, 5, 1, 7, -1], np.int64)
    b = np.array([1 << 32, (1 << 32) + 1, 64, (1 << 40) + 3, -1, 63], np.int64)
    left, right = shifted(a, b, target=target)
    assert left.tolist() == [0, 0, 0, 0, 0, -(1 << 63)] and right.tolist() == [0, -1, 0, 0, 0, -1]


@tsr.function
def power(x, y):
    return x ** y


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_powers_keep_the_sign_of_zero(dtype, target):
    x, y = np.array([-0.0, -0.0, -np.inf, 0.0], dtype), np.array([1.0, 3.0, -3.0, 3.0], dtype)
    got = power(x, y, target=target)
    assert (got == 0).all() and np.signbit(got).tolist() == [True, True, True, False]


@tsr.function
def through_fp64(x):
    return x.to(fp64).to(bf16)


def test_bf16_of_doubles_of_ints(target):
    x = np.array([257 * 2**21 + 1, 259 * 2**21 - 1], np.int32)
    assert through_fp64(x, target=target).astype(np.float64).tolist() == [258 * 2**21] * 2


@tsr.function
def averages(x):
    return x.mean(), x.sum().var(correction=0), x.sum().mean()


def test_reductions_of_one_number(target):
    assert [float(each) for each in averages(np.array(3.0, np.float32), target=target)] == [3.0, 0.0, 3.0]


@tsr.kernel
def collect(X: Tensor["N"], S: Region[reduce_sum, Tensor["B"]], T: Region[reduce_max, Tensor["B"]], U: Region[reduce_min, Tensor["B"]]):
    for n in tsr.grid(tsr.tile(N, 4)):
        tsr.atomic_add(S, (n.index % 2,), X[n])
        tsr.atomic_max(T, (n.index % 2,), X[n])
        tsr.atomic_min(U, (n.index % 2,), X[n])


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_atomics(dtype, target):
    dtype = np.dtype(getattr(ml_dtypes, dtype, None) or dtype)
    x = np.arange(-7, 16).astype(dtype)
    s, t, u = (np.zeros(2, dtype) for _ in range(3))
    collect(x, s, t, u, target=target)
    assert [s.tolist(), t.tolist(), u.tolist()] == [[48.0, 44.0], [15.0, 14.0], [-7.0, -6.0]]


@tsr.function
def picked(mask, x):
    return tsr.where(mask, x, 0.0), ~mask


def test_bytes_that_are_seen_as_bools(target):
    b = np.tile(np.array([0, 1, 2, 4, 128, 255], np.uint8), 7).view(bool)
    some, none = picked(b, np.ones(42, np.float32), target=target)
    assert some.tolist() == np.where(b.view(np.uint8), 1.0, 0.0).tolist() and none.tolist() == (b.view(np.uint8) == 0).tolist()
