"""Run-time if, for and while, in functions and in kernels: against Python running the same lines.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import numpy as np
import pytest

import tessera as tsr
from tessera import Out, Tensor, fp32, i64


def ints(*shape, seed=0):
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float32)


# ---- if ------------------------------------------------------------------------------------


@tsr.function
def by_argument(x, n):
    if n > 3:
        y = x + 1.0
    elif n > 1:
        y = x * 2.0
    else:
        y = x
    return y - 1.0


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4])
def test_if_on_a_scalar_argument(n):
    x = ints(5, 7)
    want = (x + 1 if n > 3 else x * 2 if n > 1 else x) - 1
    np.testing.assert_array_equal(by_argument(x, n), want)


@tsr.function
def by_float(x, alpha):
    if alpha > 0.5 and alpha < 2.0:
        x = x * alpha
    return x


def test_if_on_a_float_argument():
    x = ints(9)
    for alpha in (0.25, 0.5, 1.0, 1.5, 2.0, float("nan")):
        np.testing.assert_array_equal(by_float(x, alpha), x * np.float32(alpha) if 0.5 < alpha < 2 else x)


@tsr.function
def by_reduction(x: Tensor["M", "N"]):
    total = tsr.sum(x)
    if total > 0.0:
        y = tsr.max(x, dim=1)
        sign = 1
    else:
        y = tsr.min(x, dim=1)
        sign = -1
    return y, sign * M


@pytest.mark.parametrize("shape", [(1, 1), (4, 6), (65, 130)])
@pytest.mark.parametrize("shift", [5, -5])
def test_if_on_a_reduction(shape, shift):
    x = ints(*shape) + shift
    got, sign = by_reduction(x)
    up = x.sum() > 0
    np.testing.assert_array_equal(got, x.max(1) if up else x.min(1))
    assert int(sign) == (shape[0] if up else -shape[0])


@tsr.function
def by_dim(x: Tensor["M", "N"]):
    if M > N:
        s = tsr.sum(x, dim=0).sum()
    else:
        s = x.sum() * 2.0
    return s


def test_if_on_dims():
    for shape in ((3, 2), (2, 3), (0, 4), (4, 0)):
        x = ints(*shape)
        assert by_dim(x) == x.sum() * (1 if shape[0] > shape[1] else 2)


@tsr.function
def early(x, n):
    if n == 0:
        return x
    y = x * 2.0
    if n == 1:
        return y
    if n == 2:
        y = y + 1.0
        if tsr.max(y) > 5.0:
            return y * 0.0
    return y - x


@pytest.mark.parametrize("n", range(5))
def test_early_return(n):
    def python(x):
        if n == 0:
            return x
        y = x * 2
        if n == 1:
            return y
        if n == 2:
            y = y + 1
            if y.max() > 5:
                return y * 0
        return y - x

    for top in (1, 4):
        x = np.minimum(ints(3, 4), top)
        np.testing.assert_array_equal(early(x, n), python(x))


@tsr.function
def chooses(x, n):
    return (x if n > 0 else -x) * (2.0 if n > 1 else 1.0)


def test_conditional_expression():
    x = ints(6)
    for n in range(3):
        np.testing.assert_array_equal(chooses(x, n), (x if n > 0 else -x) * (2 if n > 1 else 1))


@tsr.function
def one_element(x):
    y = x
    if x.sum(dim=0, keepdim=True) > 0.0:
        y = -x
    return y


def test_a_tensor_of_one_element_is_a_condition():
    for sign in (1, -1):
        x = np.array([1, 2], np.float32) * sign
        np.testing.assert_array_equal(one_element(x), -x if sign > 0 else x)


# ---- for -----------------------------------------------------------------------------------


@tsr.function
def power(x, n):
    y = x * 0.0 + 1.0
    for i in range(n):
        y = y * x + i
    return y


@pytest.mark.parametrize("n", [0, 1, 2, 3, 17])
def test_for_over_an_argument(n):
    x = np.array([0, 1, -1, 2], np.float32)
    want = np.ones_like(x)
    for i in range(n):
        want = want * x + i
    np.testing.assert_array_equal(power(x, n), want)


@tsr.function
def bounds(x, a, b):
    up, down, count = x, x, 0
    for i in range(a, b):
        up = up + i
        count += 1
    for i in range(b, a, -2):
        down = down * 2.0 + i
        count += 100
    return up, down, count


@pytest.mark.parametrize("a, b", [(0, 0), (0, 5), (5, 0), (-3, 4), (2, 3)])
def test_bounds_and_steps(a, b):
    x = ints(3)
    up, down, count = x, x, 0
    for i in range(a, b):
        up, count = up + i, count + 1
    for i in range(b, a, -2):
        down, count = down * 2 + i, count + 100
    got = bounds(x, a, b)
    np.testing.assert_array_equal(got[0], up)
    np.testing.assert_array_equal(got[1], down)
    assert int(got[2]) == count


@tsr.function
def by_step(x, n, step):
    for i in range(0, n, step):
        x = x * 2.0 + i
    return x


@pytest.mark.parametrize("n, step", [(7, 3), (-7, -3), (7, -1), (-7, 1), (6, 3)])
def test_step_known_at_run_time(n, step):
    want = x = ints(4)
    for i in range(0, n, step):
        want = want * 2 + i
    np.testing.assert_array_equal(by_step(x, n, step), want)


@tsr.function
def rows(x: Tensor["M", "N"]):
    total = tsr.zeros(N)
    for i in range(M):
        total = total * 2.0 + x[i]
    return total


def test_for_over_a_dim():
    for m in (0, 1, 9):
        x = ints(m, 5)
        want = np.zeros(5, np.float32)
        for row in x:
            want = want * 2 + row
        np.testing.assert_array_equal(rows(x), want)


@tsr.function
def constant_operand(x: Tensor["M", "N"]):
    return x @ tsr.full((N, 2), 3.0, dtype=x.dtype)


def test_a_filled_tensor_can_be_read_from_memory():
    x = ints(4, 6)
    np.testing.assert_array_equal(constant_operand(x), x @ np.full((6, 2), 3, np.float32))


@tsr.function
def fibonacci(x, n):
    a, b = x, x + 1.0
    i, j = 0, 1
    for _ in range(n):
        a, b = b, a + b
        i, j = j, i + j
    return a, b, i


@pytest.mark.parametrize("n", [0, 1, 2, 5, 20])
def test_values_change_places(n):
    x = ints(3, 3)
    a, b, i, j = x, x + 1, 0, 1
    for _ in range(n):
        a, b, i, j = b, a + b, j, i + j
    got = fibonacci(x, n)
    np.testing.assert_array_equal(got[0], a)
    np.testing.assert_array_equal(got[1], b)
    assert int(got[2]) == i


@tsr.function
def squarings(a: Tensor["N", "N"], n):
    for i in range(n):
        a = a @ a
        if i % 2 == 0:
            a = a.T
        else:
            a = a - 1.0
    return a


def test_matmul_and_branch_in_a_loop():
    a = np.array([[1, 1], [0, -1]], np.float32)
    want = a
    for i in range(5):
        want = want @ want
        want = want.T if i % 2 == 0 else want - 1
    np.testing.assert_array_equal(squarings(a, 5), want)


@tsr.function
def nested(x, n):
    count = 0
    for i in range(n):
        y = x
        for j in range(i, n):
            y = y + j
            count += 1
        x = y - i
    return x, count


def test_nested_loops():
    x = want = ints(4)
    count = 0
    for i in range(6):
        y = want
        for j in range(i, 6):
            y, count = y + j, count + 1
        want = y - i
    got = nested(x, 6)
    np.testing.assert_array_equal(got[0], want)
    assert int(got[1]) == count


@tsr.function
def long_constant(x):
    for i in range(1000):
        x = x + 1.0
    return x


def test_a_long_constant_loop_is_a_loop():
    np.testing.assert_array_equal(long_constant(np.zeros(3, np.float32)), np.full(3, 1000, np.float32))
    assert "gir.for" in long_constant.inspect_ir("graph")


@tsr.function
def views(x: Tensor["M", "N"], n):
    y = x.T
    for i in range(n):
        y = (y.T + 1.0).T
    return y, y.reshape(-1)


def test_views_are_carried():
    x = ints(3, 5)
    got, flat = views(x, 4)
    np.testing.assert_array_equal(got, x.T + 4)
    np.testing.assert_array_equal(flat, (x.T + 4).reshape(-1))


@tsr.function
def unused_and_outer(x, y, n):
    z = x + y
    for i in range(n):
        x = x + z
    return x, z


def test_what_is_read_after_the_loop_is_not_overwritten():
    x, y = ints(6), ints(6, seed=1)
    got = unused_and_outer(x, y, 3)
    np.testing.assert_array_equal(got[0], x + 3 * (x + y))
    np.testing.assert_array_equal(got[1], x + y)
    np.testing.assert_array_equal(x, ints(6))


@tsr.function
def long_chain(x: Tensor[16, 5], y):
    for i in range(x.shape[0]):
        y = y * 0.5 + x[i] * 2.0
    return y


def test_a_chain_longer_than_a_kernel():
    """Found by the program generator: a number that two kernels read was looked for in memory."""
    x, y = ints(16, 5), ints(5) * 2.0**16
    want = y.astype(np.float32)
    for row in x:
        want = want * np.float32(0.5) + row * 2
    np.testing.assert_array_equal(long_chain(x, y.astype(np.float32)), want)


@tsr.function
def view_of_the_start(x: Tensor["M", "M"], n):
    y = x @ x
    flipped = y.T
    z = y
    for i in range(n):
        z = flipped @ x - z
    return z, flipped + 1.0


def test_a_view_of_what_a_loop_starts_from():
    """Found by the program generator: the loop's memory was swapped under the view."""
    x = np.random.default_rng(3).integers(-1, 2, (3, 3)).astype(np.float32)
    for n in (0, 1, 2, 3):
        want = y = x @ x
        for _ in range(n):
            want = y.T @ x - want
        got, flipped = view_of_the_start(x, n)
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(flipped, y.T + 1)


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int32, np.int64, np.bool_])
def test_dtypes(dtype):
    @tsr.function
    def flip(x, n):
        for i in range(n):
            x = ~x if x.dtype == tsr.bool else -x
        return x

    x = ints(7).astype(dtype)
    want = (~x if dtype is np.bool_ else -x)
    np.testing.assert_array_equal(flip(x, 3), want)
    np.testing.assert_array_equal(flip(x, 2), x)


# ---- while ---------------------------------------------------------------------------------


@tsr.function
def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def test_while_on_integers():
    for n, want in ((1, 0), (2, 1), (27, 111)):
        assert int(collatz(n)) == want


@tsr.function
def halve(x: Tensor["M", "N"], limit):
    turns = 0
    while tsr.max(tsr.abs(x)) > limit:
        x = x * 0.5
        turns += 1
    return x, turns


def test_while_on_a_reduction():
    x = ints(40, 60) * 64
    got, turns = halve(x, 1.0)
    want = 0
    while np.abs(x).max() > 1:
        x, want = x * np.float32(0.5), want + 1
    np.testing.assert_array_equal(got, x)
    assert int(turns) == want == 8


@tsr.function
def newton(a, tolerance):
    x: fp32 = 1.0
    error: fp32 = 1e30
    while error > tolerance:
        y = 0.5 * (x + a / x)
        error = tsr.abs(y - x)
        x = y
    return x


def test_while_on_float_scalars():
    assert abs(float(newton(np.float32(2.0), 1e-6)) - 2 ** 0.5) < 1e-6


@tsr.function
def softmax_loop(x: Tensor["M", "N"], n):
    s: fp32 = 0.0
    for i in range(n):
        x = tsr.softmax(x, dim=-1)
        s = s + tsr.sum(x)
    return x, s


def test_composites_in_a_loop():
    x = ints(8, 8)
    got, s = softmax_loop(x, 3)
    want = x.astype(np.float64)
    for _ in range(3):
        want = np.exp(want - want.max(1, keepdims=True))
        want /= want.sum(1, keepdims=True)
    # Each turn adds at most about 2 N ulp to a value below 1.
    assert np.abs(got - want).max() <= 3 * 2 * 8 * 2.0**-23
    assert abs(float(s) - 24) <= 3 * 64 * 2.0**-20


# ---- sizes ---------------------------------------------------------------------------------


@tsr.function
def grows(x, n):
    for i in range(n):
        x = tsr.cat([x, x], dim=0)
    return x


def test_a_size_that_changes_is_an_error_of_the_run():
    x = ints(5)
    np.testing.assert_array_equal(grows(x, 0), x)
    with pytest.raises(tsr.TesseraError, match="axis 0 of x is 10 after one turn of the loop, but 5 before it"):
        grows(x, 1)


@tsr.function
def either(x, y, n):
    if n > 0:
        z = x
    else:
        z = y * 2.0
    return z


def test_arms_of_unknown_sizes_are_compared():
    x = ints(4)
    np.testing.assert_array_equal(either(x, x, 0), 2 * x)
    with pytest.raises(tsr.TesseraError, match="axis 0 of z is 3 in one arm of the 'if', but 4 in the other"):
        either(x, ints(3), 0)


# ---- calls ---------------------------------------------------------------------------------


@tsr.kernel
def double(X: Tensor["N"], Y: Out["N"]):
    for n in tsr.grid(tsr.tile(N, 16)):
        Y[n] = X[n] * 2


@tsr.function
def calls(x, n):
    for i in range(n):
        x = double(x)
        if i > 1:
            x = double(x) - 1.0
    return x


def test_kernels_in_loops():
    x = want = ints(37)
    for i in range(4):
        want = want * 2
        if i > 1:
            want = want * 2 - 1
    np.testing.assert_array_equal(calls(x, 4), want)


@tsr.function
def helper(x, n):
    if n > 2:
        return x * 2.0
    return x


@tsr.function
def inlines(x, n):
    for i in range(n):
        x = helper(x, i) + 1.0
    return x


def test_inlined_functions_return_early():
    x = want = ints(5)
    for i in range(5):
        want = (want * 2 if i > 2 else want) + 1
    np.testing.assert_array_equal(inlines(x, 5), want)


# ---- kernels -------------------------------------------------------------------------------


@tsr.kernel
def in_kernel(X: Tensor["M", "N"], Y: Out["M", "N"], count, limit):
    for m in tsr.grid(tsr.tile(M, 4)):
        x = X[m, :]
        for i in range(count):
            if i % 2 == 0:
                x = x + i
            else:
                x = x * 2
        for i in range(count, 0, -2):
            x = x - i
        n = 0
        while n < limit:
            x = x + 1
            n += 1
        Y[m, :] = helper(x, limit)


@pytest.mark.parametrize("count, limit", [(0, 0), (3, 2), (20, 5)])
def test_kernels_have_them_too(count, limit):
    x = want = ints(6, 5)
    for i in range(count):
        want = want + i if i % 2 == 0 else want * 2
    for i in range(count, 0, -2):
        want = want - i
    want = want + limit
    if limit > 2:
        want = want * 2
    np.testing.assert_array_equal(in_kernel(x, count=count, limit=limit), want)


@tsr.function
def shared(x: Tensor["M", "N"], k: i64):
    for i in range(k):
        e = tsr.exp(x * 0.0)
        x = x + e
    return x


def test_results_do_not_depend_on_threads():
    x = ints(64, 64)
    before = tsr.num_threads()
    try:
        tsr.set_num_threads(1)
        one = shared(x, 3)
        tsr.set_num_threads(2)
        two = shared(x, 3)
    finally:
        tsr.set_num_threads(before)
    np.testing.assert_array_equal(one, x + 3)
    np.testing.assert_array_equal(one, two)


@tsr.function
def annotated(x: Tensor["P", "Q"], w: Tensor["Q"]):
    return x * w - Q


@tsr.function
def calls_annotated(x: Tensor["M", "N"], n):
    for i in range(n):
        x = annotated(x, x[0])
    return x


def test_functions_with_annotations_are_called_too():
    x = want = ints(3, 4)
    for _ in range(3):
        want = want * want[0] - 4
    np.testing.assert_array_equal(calls_annotated(x, 3), want)
