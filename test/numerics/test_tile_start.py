"""Ranges that begin before their dim: positions that are negative do not exist, as those beyond its end.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import numpy as np
import pytest

import tessera as tsr
from tessera import InOut, Out, Tensor, const


@tsr.kernel
def window_max(X: Tensor["N"], Y: Out["N"], W: const = 6, B: const = 4):
    for m in tsr.grid(tsr.tile(N, B)):
        top = tsr.full(-tsr.inf, m)
        for n in tsr.tile(N, B, start=m.start - W, stop=m.stop):
            top = tsr.maximum(top, tsr.max(X[n], n))
        Y[m] = top


@tsr.kernel
def write(Y: InOut["N"], a: int):
    for m in tsr.grid(tsr.tile(N, 1024)):
        for n in tsr.tile(N, 4, start=a, stop=4):
            Y[n] = tsr.full(7.0, n)


@tsr.kernel
def constant_start(X: Tensor["N"], Y: Out[1]):
    for i in tsr.grid(tsr.tile(1, 1)):
        s = tsr.zeros(i)
        for n in tsr.tile(N, 4, start=-3):
            s = s + tsr.sum(X[n], n)
        Y[i] = s


@pytest.mark.parametrize("target", ["cpu", "cpu:avx2", "sim:sm_80"])
def test_reads(target):
    big = np.full(40, 1000.0, np.float32)
    big[10:] = np.arange(30)
    x = big[10:30]
    expected = [x[max(0, m - 6):m + 4].max() for m in range(0, 20, 4) for _ in range(4)]
    np.testing.assert_array_equal(window_max(x, target=target), expected)
    np.testing.assert_array_equal(constant_start(x, target=target), [x.sum()])


def test_check_agrees():
    assert window_max.check(np.arange(20, dtype=np.float32), show=False)


@pytest.mark.parametrize("start", [-6, -1, 0, 2, 4])
def test_writes(start):
    buffer = np.zeros(40, np.float32)
    write(buffer[10:30], start)
    expected = np.zeros(40, np.float32)
    expected[10 + max(start, 0):14] = 7
    np.testing.assert_array_equal(buffer, expected)
