"""A number that its dtype cannot hold is an error where it is written, and at the call where it is given.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import re

import numpy as np
import pytest

import tessera as tsr
from tessera import Out, Tensor, fp32, i8, i32, i64
from tessera.source import without_colour

I = np.arange(-4, 4, dtype=np.int32)
H = np.array([1.0, 2.0, 60000.0], np.float16)


def program(body, kind="function"):
    head = "@tsr.function\ndef f(x):\n" if kind == "function" else '@tsr.kernel\ndef f(x: Tensor["N"], y: Out["N"]):\n    for n in tsr.grid(tsr.tile(N, 4)):\n'
    indent = "    " if kind == "function" else "        "
    return tsr.compile_source(head + "".join(f"{indent}{line}\n" for line in body.splitlines()), "numbers.py").f


@pytest.mark.parametrize("body, argument, message, fix", [
    ("return x < 3000000000", I, "<: 3000000000 does not fit in i32", "x.to(i64)"),
    ("return (x + 1) * 4294967296", I, r"\*: 4294967296 does not fit in i32", "(x + 1).to(i64)"),
    ("return tsr.where(x > 0, x, -2147483649)", I, "where: -2147483649 does not fit in i32", "x.to(i64)"),
    ("return tsr.clamp(x, 0, 3000000000)", I, "clamp: 3000000000 does not fit in i32", "x.to(i64)"),
    ("return x * 1e6", H, r"\*: 1e\+06 does not fit in fp16", "x.to(fp32)"),
    ("return tsr.where(x > 0, x, -1e9)", H, r"where: -1e\+09 does not fit in fp16", "-tsr.inf"),
    ("return tsr.full((3,), 3000000000, dtype=tsr.i32) + x[:3]", I, "full: 3000000000 does not fit in i32", "dtype=i64"),
])
def test_written(body, argument, message, fix):
    with pytest.raises(tsr.CompileError, match=rf"numbers.py:3:\d+: error: {message}") as refused:
        program(body)(argument)
    assert str(refused.value).rstrip().endswith("fix:  " + fix)


@pytest.mark.parametrize("body, argument, expected", [
    ("return x.to(tsr.i64) < 3000000000", I, I.astype(np.int64) < 3000000000),
    ("return x + 2147483647 - 2147483647", I, I),
    ("return x.to(tsr.fp32) * 1e6", H, H.astype(np.float32) * np.float32(1e6)),
    ("return tsr.where(x > 70.0, -math.inf, x)", H, np.where(H > 70, -np.inf, H)),
    ("return x * 65519.0", H[:1], np.array([65504], np.float16)),
])
def test_what_fits(body, argument, expected):
    np.testing.assert_array_equal(program(body)(argument), expected)


@pytest.mark.parametrize("store, message", [("x[n] * 1e6", r"\*: 1e\+06 does not fit in fp16"), ("tsr.full(1e6, n, dtype=fp16)", r"1e\+06 does not fit in fp16")])
def test_in_kernels(store, message):
    with pytest.raises(tsr.CompileError, match=rf"numbers.py:4:\d+: error: {message}"):
        program(f"y[n] = {store}", "kernel")(H)


def test_given_at_the_call():
    @tsr.function
    def shifted(x, n):
        return x + n

    np.testing.assert_array_equal(shifted(I, 7), I + 7)
    for n in (2**31, -2**31 - 1):
        with pytest.raises(tsr.ArgumentError, match=f"n is {n}, which does not fit in i32"):
            shifted(I, n)
    np.testing.assert_array_equal(shifted(I.astype(np.int64), 2**31), I.astype(np.int64) + 2**31)


@tsr.kernel
def product(A: Tensor["M", "K", i8], B: Tensor["K", "N", i8], C: Out["M", "N"]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 16)):
        acc = tsr.zeros(m, n, dtype=i32)
        for k in tsr.tile(K, 32):
            acc += A[m, k] @ B[k, n]
        C[m, n] = acc


def test_sums_of_bytes_are_not_cut_down_to_bytes():
    a = np.full((4, 40), 9, np.int8)
    with pytest.raises(tsr.CompileError, match='does not cut i32 down to i8(.|\n)*fix:  C: Out\\["M", "N", i32\\]'):
        product(a, a.T.copy())
    c = np.empty((4, 4), np.int32)
    product(a, a.T.copy(), c)
    np.testing.assert_array_equal(c, 9 * 9 * 40)


def test_no_position_in_an_empty_axis():
    @tsr.function
    def best(x):
        return tsr.argmax(x, dim=1)

    np.testing.assert_array_equal(best(np.array([[1.0, 3.0]], np.float32)), [1])
    with pytest.raises(tsr.TesseraError, match="argmax of x: axis 1 has no elements"):
        best(np.ones((3, 0), np.float32))


def test_the_causal_mask_of_torch():
    """Of unequal lengths torch's mask begins at the first key, ours ends at the last."""
    @tsr.function
    def theirs(q, k, v):
        return tsr.scaled_dot_product_attention(q, k, v, is_causal=True)

    @tsr.function
    def ours(q, k, v):
        return tsr.attention(q, k, v, causal=True)

    q, k = np.random.default_rng(0).standard_normal((2, 1, 1, 6, 16)).astype(np.float32)
    np.testing.assert_array_equal(theirs(q, k, k), ours(q, k, k))
    with pytest.raises(tsr.TesseraError, match="of 4 queries and 6 keys: torch's first query sees one key"):
        theirs(q[:, :, :4].copy(), k, k)
    assert ours(q[:, :, :4].copy(), k, k).shape == (1, 1, 4, 16)


@pytest.mark.parametrize("dtype, good, bad", [("i32", 2**31 - 1, 2**31), ("i32", -2**31, -2**40), ("fp16", 65519.0, 70000.0), ("fp32", 3e38, 1e300)])
def test_annotated_parameters(dtype, good, bad):
    """Also where the call before it was direct."""
    zeros = "x.to(tsr.fp64)" if dtype[0] == "f" else "x.to(tsr.i64)"
    kind = "tsr.fp64" if dtype[0] == "f" else "tsr.i64"
    f = tsr.compile_source(f"@tsr.function\ndef f(x, n: {dtype}):\n    return {zeros} + n.to({kind})\n", "numbers.py").f
    for _ in range(3):
        f(np.zeros(3, np.float32), good)
    with pytest.raises(tsr.ArgumentError, match=f"n is annotated {dtype}, which does not hold {re.escape(str(bad))}"):
        f(np.zeros(3, np.float32), bad)


@tsr.function
def parts(x, a: i64, b: i64):
    share = a // b
    rest = a % b
    return x * (share + rest).to(fp32)


def test_a_division_by_zero_of_scalars_names_its_line():
    x = np.ones(3, np.float32)
    assert parts(x, 7, 2).tolist() == [4.0] * 3
    for _ in range(2):  # the second call is direct
        with pytest.raises(tsr.ArgumentError) as caught:
            parts(x, 7, 0)
        first, line, caret, fix = without_colour(str(caught.value)).rstrip().split("\n")
        assert "division by zero: b is 0, called at" in first and line.endswith("share = a // b") and fix == " fix:  max(b, 1)"
