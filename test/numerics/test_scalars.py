"""Numbers that a call gives: Python's values or an error, never other numbers.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import time

import numpy as np
import pytest
import tessera as tsr
from tessera import InOut, Out, Tensor, const, i32

X = np.array([0, 1, 2, 2_000_000_000], np.int32)


@tsr.kernel
def below(X: Tensor["N", i32], limit, Y: Out["N", i32]):
    for n in tsr.grid(tsr.tile(N, 4)):
        Y[n] = tsr.where(X[n] < limit, 1, 0)


@tsr.kernel
def least(X: Tensor["N", i32], limit, Y: Out["N", i32]):
    for n in tsr.grid(tsr.tile(N, 4)):
        Y[n] = tsr.minimum(X[n], limit)


@tsr.kernel
def filled(X: Tensor["N", i32], limit, Y: Out["N", i32]):
    for n in tsr.grid(tsr.tile(N, 4)):
        Y[n] = tsr.full(limit, n, dtype=i32)


@tsr.kernel
def of_sizes(X: Tensor["N", i32], limit, Y: Out["N", i32]):
    for n in tsr.grid(tsr.tile(N, 4)):
        Y[n] = tsr.where(X[n] < N * limit, 1, 0)


@pytest.mark.parametrize("target", ["cpu", "sim:sm_80"])
@pytest.mark.parametrize("kernel", [below, least, filled, of_sizes], ids=lambda kernel: kernel.__name__)
def test_a_number_meets_i32_in_a_kernel(kernel, target):
    for limit in (2**40, -(2**31) - 1):
        with pytest.raises(tsr.TesseraError, match="does not fit in i32"):
            kernel(X, limit, target=target)
    np.testing.assert_array_equal(below(X, 2**31 - 1, target=target), [1, 1, 1, 1])
    np.testing.assert_array_equal(least(X, -(2**31), target=target), [-(2**31)] * 4)


@tsr.kernel
def of_bits(X: Tensor["N", i32], s, Y: Out["N", i32]):
    for n in tsr.grid(tsr.tile(N, 4)):
        Y[n] = X[n] + s % 7 + (s ^ 3) + (s << 2)


def test_what_a_plan_has_no_operation_for_compiles():
    np.testing.assert_array_equal(of_bits(X[:3], 12), X[:3] + 12 % 7 + (12 ^ 3) + (12 << 2))


@tsr.function
def power(a, b):
    return a**b


@tsr.function
def cube(a):
    return a**3


@tsr.function
def shift(a, b):
    return a << b


@tsr.function
def shift_five(a):
    return a << 5


@tsr.function
def divide(a, b):
    return a / b


@tsr.function
def full_like(x, a):
    return tsr.full_like(x, a)


@tsr.function
def full(x, a):
    return tsr.full((4,), a, dtype=i32)


@tsr.function
def first_or_second(a, b):
    return (a or b) + 1


@tsr.function
def second_if_first(a, b):
    return (a and b) * 10


@tsr.function
def or_five(a, b):
    return (a or 5) + b


@tsr.function
def three(a, b):
    return a or b or a - 7


FITS = [(power, lambda a, b: a**b), (shift, lambda a, b: a << b)]
VALUES = (0, 1, -1, 2, -2, 3, 7, 10, 2**31, -(2**62), 2**63 - 1, -(2**63))


@pytest.mark.parametrize("function, python", FITS, ids=["power", "shift"])
def test_ints_are_exact_or_an_error(function, python):
    for a in VALUES:
        for b in (0, 1, 2, 3, 5, 19, 31, 32, 61, 62, 63):
            want = python(a, b)
            if abs(want) < 2**62 and not (function is shift and b == 63):  # 2**63 is no int of 64 bits
                assert int(function(a, b)) == want, (a, b)
            elif not -(2**63) <= want < 2**63:
                with pytest.raises(tsr.TesseraError):
                    function(a, b)
    for b in (-1, 64, 2**40):
        with pytest.raises(tsr.TesseraError, match="0 to 63"):
            function(3, b)


def test_constant_exponents_and_counts():
    assert int(cube(-(2**20))) == -(2**60) and int(shift_five(-3)) == -96
    for function in (cube, shift_five):
        with pytest.raises(tsr.TesseraError, match="overflows"):
            function(2**60)


def test_division_by_zero():
    assert float(divide(7, 2)) == 3.5
    with pytest.raises(tsr.TesseraError, match="division by zero"):
        divide(7, 0)


@pytest.mark.parametrize("function", [full, full_like], ids=["full", "full_like"])
def test_full(function):
    np.testing.assert_array_equal(function(X, -(2**31)), [-(2**31)] * 4)
    with pytest.raises(tsr.TesseraError, match="does not fit in i32"):
        function(X, 3_000_000_000)


@pytest.mark.parametrize("function, python", [
    (first_or_second, lambda a, b: (a or b) + 1), (second_if_first, lambda a, b: (a and b) * 10), (or_five, lambda a, b: (a or 5) + b),
    (three, lambda a, b: a or b or a - 7)], ids=["or", "and", "constant", "three"])
def test_and_or_are_values(function, python):
    for a in (0, 3, -2):
        for b in (0, 5):
            assert int(function(a, b)) == python(a, b), (a, b)


@tsr.function
def chain(a, b):
    for k in range(a):
        b = b + 3 if b > 0 else b - 3
        b = b % 1000 + 1
        b = max(b, 2)
        b = b - 4 if b > 500 else b + 4
        b = b % 999 + 2
        b = max(b, 3)
        b = b + 5 if b > 100 else b - 5
        b = b % 998 + 3
        b = max(b, 4)
        b = b - 6 if b > 300 else b + 6
        b = b % 997 + 4
        b = max(b, 5)
        b = b + 7 if b > 200 else b - 7
        b = b % 996 + 5
        b = max(b, 6)
        b = b - 8 if b > 400 else b + 8
        b = b % 995 + 6
    return b


@tsr.function
def bits(a, b):
    for j in tsr.unroll(24):
        b = (b ^ a) % 1000 + b % 7 + j
    return b


def test_long_chains_take_linear_time():
    def chained(a, b):
        for k in range(a):
            for step in range(6):
                grow = step % 2 == 0
                limit = (0, 500, 100, 300, 200, 400)[step]
                b = (b + 3 + step if b > limit else b - 3 - step) if grow else (b - 3 - step if b > limit else b + 3 + step)
                b = b % (1000 - step) + 1 + step
                if step < 5:
                    b = max(b, 2 + step)
        return b

    def bitwise(a, b):
        for j in range(24):
            b = (b ^ a) % 1000 + b % 7 + j
        return b

    begin = time.process_time()  # others may hold the machine
    for a, b in ((0, 5), (3, -4), (10, 1234)):
        assert int(chain(a, b)) == chained(a, b), (a, b)
        assert int(bits(a, b)) == bitwise(a, b), (a, b)
    assert time.process_time() - begin < 5  # 0.1 s; it was 2^n


@tsr.function
def far(a):
    count = 0
    for k in range(0, a, 2**62):
        count = count + 1
    return count


@tsr.function
def first_only(x):
    return x[::9223372036854775807], x[::-9223372036854775807]


def test_steps():
    first, last = first_only(X)
    np.testing.assert_array_equal(first, X[:1])
    np.testing.assert_array_equal(last, X[-1:])
    with pytest.raises(tsr.CompileError, match="at most 2\\*\\*40"):
        far(3)


@tsr.kernel
def written(X: InOut["N"], s: tsr.i64, B: const = 4):
    for p in tsr.grid(1):
        n = tsr.range_at(N, s, B)
        X[n] = 5.0


@pytest.mark.parametrize("start", [2**63 - 1, 2**63 - 4, 2**62, 10, 11, -1, -4, -(2**63)])
def test_a_range_outside_of_its_dim_has_no_elements(start):
    base = np.zeros(32, np.float32)
    written(base[8:18], start)
    np.testing.assert_array_equal(base, np.zeros(32))


@tsr.function
def masked(x):
    return tsr.where(x > 1, x, -float("inf")) + float("1.5")


def test_floats_from_texts():
    np.testing.assert_array_equal(masked(X.astype(np.float32)), np.where(X > 1, X.astype(np.float32) + np.float32(1.5), -np.inf))
    assert tsr.cdiv(1000, 128) == 8 and tsr.cdiv(-7, 2) == -3
