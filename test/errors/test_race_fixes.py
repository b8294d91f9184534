"""Kernels whose programs write one element: what is refused, what is not, and that the fixes are accepted and right.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import numpy as np
import pytest

import tessera as tsr
from tessera import InOut, Out, Region, Tensor, reduce_sum

X = np.arange(32 * 40, dtype=np.float32).reshape(32, 40)  # sums of rows are exact


@tsr.kernel
def summed(A: Tensor["M", "N"], S: Region[reduce_sum, Tensor["M"]]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 16)):
        tsr.atomic_add(S, (m,), tsr.sum(A[m, n], n))


@tsr.kernel
def looped(A: Tensor["M", "N"], S: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        s = tsr.zeros(m)
        for n in tsr.tile(N, 16):
            s += tsr.sum(A[m, n], n)
        S[m] = s


def test_the_fixes_of_the_messages():
    s = np.zeros(32, np.float32)
    summed(X, s)
    assert np.array_equal(s, X.sum(1)) and np.array_equal(looped(X), X.sum(1))


@tsr.kernel
def by_one_program(A: Tensor["M", "N"], S: Out["M"]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 16)):
        if n.id == 0:
            S[m] = tsr.sum(A[m, n], n)


@tsr.kernel
def whole_axis(A: Tensor["M", 40], S: Out["M"]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(40, 64)):
        S[m] = tsr.sum(A[m, n], n)


@tsr.kernel
def the_same(A: Tensor["M", "N"], S: Out["M"], C: Out["M", "N"]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 16)):
        S[m] = tsr.sum(A[m, :], -1)
        C[m, n] = A[m, n] * 2.0


@tsr.kernel
def by_number(A: Tensor["M", "N"], S: Out["P", "M"]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 16)):
        S[n.id, m] = tsr.sum(A[m, n], n)


@tsr.kernel
def masked(A: Tensor["M", "N"], S: Out["M"]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 16)):
        tsr.store(S, (m,), tsr.sum(A[m, n], n), mask=(m.index * 0 + n.id) == 1)


def test_what_cannot_be_proved_is_accepted():
    assert np.array_equal(by_one_program(X), X[:, :16].sum(1))
    assert np.array_equal(whole_axis(X), X.sum(1))
    assert np.array_equal(the_same(X)[0], X.sum(1))
    parts = np.empty((3, 32), np.float32)
    by_number(X, parts)
    assert np.array_equal(parts.sum(0), X.sum(1))
    s = np.zeros(32, np.float32)
    masked(X, s)
    assert np.array_equal(s, X[:, 16:32].sum(1))


def test_through_loops_and_conditions():
    @tsr.kernel
    def accumulated(A: Tensor["M", "K"], B: Tensor["K", "N"], S: Out["M"]):
        for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 16)):
            acc = tsr.zeros(m, n)
            for k in tsr.tile(K, 16):
                acc += A[m, k] @ B[k, n]
            S[m] = tsr.sum(acc, n)

    @tsr.kernel
    def conditional(A: Tensor["M", "N"], S: InOut["M"], flag):
        for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 16)):
            if flag > 0:
                S[m] = S[m] * 2.0

    with pytest.raises(tsr.CompileError, match="is written by every program along n: which value stays is up to chance"):
        accumulated(X, X.T.copy())
    with pytest.raises(tsr.CompileError, match="is written by every program along n: some updates are lost"):
        conditional(X, np.zeros(32, np.float32), 1)


@tsr.kernel
def largest(A: Tensor["M", "N"], S: Out["M"]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 16)):
        S[m] = tsr.max(A[m, n], n)


def test_the_fix_of_a_reduction_joins_the_turns():
    """A loop alone would keep the last tile's value, without a word."""
    with pytest.raises(tsr.CompileError) as refused:
        largest(X)
    lines = str(refused.value).split(" fix:  ")[1].rstrip().split("\n       ")
    text = '@tsr.kernel\ndef fixed(A: Tensor["M", "N"], S: Out["M"]):\n' + "".join(f"    {line}\n" for line in lines)
    assert np.array_equal(tsr.compile_source(text, "fixed.py").fixed(X), X.max(1))
