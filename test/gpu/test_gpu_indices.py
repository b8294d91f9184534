"""Indices outside their axis in functions on a GPU: the call does not wait, the next synchronisation says it.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import numpy as np
import pytest

import tessera as tsr
from tessera import cuda


pytestmark = pytest.mark.usefixtures("machine")


@tsr.function
def rows(x, i):
    return x[i] * 2.0


@tsr.function
def loss(x, t):
    return tsr.cross_entropy(x, t)


X = np.arange(35, dtype=np.float32).reshape(5, 7)


def test_right_ones(machine):
    i = np.array([0, -1, 4, -5])
    assert np.array_equal(rows(cuda.array(X), cuda.array(i)).numpy(), X[i] * 2)
    assert np.array_equal(rows(X, i, target="sim:sm_80"), X[i] * 2)


def test_the_next_synchronisation_says_it(machine):
    x = cuda.array(X)
    for fn, index, said in ((rows, [1, 5], "index 5 in i, but axis 0 of x"), (loss, [0, 1, 2, 3, 7], "target 7 in t, but axis 1 of x")):
        got = fn(x, cuda.array(np.array(index)))  # the call itself may not know
        with pytest.raises(tsr.ArgumentError, match=said + ".*found on Tessera simulator"):
            got.numpy()
        got.numpy()  # said once


def test_or_the_next_call(machine):
    x, bad, good = cuda.array(X), cuda.array(np.array([9, 9])), cuda.array(np.array([0, 1]))
    for _ in range(3):
        with pytest.raises(tsr.ArgumentError, match="index 9 in i"):
            rows(x, bad)
            rows(x, good)
            machine.synchronize(0)
    assert np.array_equal(rows(x, good).numpy(), X[:2] * 2)


def test_on_the_simulator_the_call_says_it():
    with pytest.raises(tsr.TesseraError, match="index 5 in i, but axis 0 of x"):
        rows(X, np.array([5]), target="sim:sm_80")
