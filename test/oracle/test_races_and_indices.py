"""What `check` says of programs that write one element, and of indices outside their axis in kernels.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import numpy as np
import pytest

import tessera as tsr
from tessera import InOut, Out, Tensor, i64

X = np.arange(40, dtype=np.float32).reshape(8, 5)


@tsr.kernel
def scattered(X: Tensor["M", "N"], where: Tensor["M", i64], Y: Out["R", "N"]):
    for m in tsr.grid(tsr.tile(M, 2)):
        Y[where[m], :] = X[m, :]


@tsr.kernel
def neighbours(X: InOut["M"]):
    for m in tsr.grid(tsr.tile(M, 2)):
        X[m] = X[tsr.maximum(m.index - 1, 0)] + 1.0


@tsr.kernel
def looked_up(X: Tensor["M", "N"], which: Tensor["R", i64], Y: Out["R", "N"]):
    for r in tsr.grid(tsr.tile(R, 4)):
        Y[r, :] = X[which[r], :]


@tsr.kernel
def alike(X: Tensor["M", "N"], Y: Out["N"]):
    for m in tsr.grid(tsr.tile(M, 2)):
        Y[:] = tsr.zeros(N) + 3.0


def test_a_race_stands_in_its_column():
    y = np.zeros((8, 5), np.float32)
    assert scattered.check(X, np.arange(8), y, show=False).rows[-2].races == "none"
    with pytest.raises(tsr.CheckError, match=r"a race: .*test_races_and_indices.py:\d+:\d+: an element of Y that two programs of the grid write") as wrong:
        scattered.check(X, np.array([0, 1, 2, 3, 0, 1, 4, 5]), y, show=False)
    assert any(row.races == "race" for row in wrong.value.report.rows)
    with pytest.raises((tsr.CheckError, tsr.RunError), match=r"test_races_and_indices.py:\d+:\d+: .*another program of the grid writes"):
        neighbours.check(np.arange(8, dtype=np.float32), show=False)


def test_programs_may_write_the_same():
    assert alike.check(X, np.zeros(5, np.float32), show=False)


def test_indices_outside_are_said():
    y = np.zeros((4, 5), np.float32)
    report = looked_up.check(X, np.array([0, 7, 8, -1]), y, show=False)
    assert report
    said = [line for line in str(report).splitlines() if "of axis 0 of X, which has 8" in line]
    assert len(said) == 1 and "test_races_and_indices.py" in said[0] and "(10 times)" in said[0], report
    assert "of axis 0" not in str(looked_up.check(X, np.array([0, 7, 1, 2]), y, show=False))
