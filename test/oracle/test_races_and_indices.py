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


@tsr.kernel
def smoothed(X: InOut["M"]):
    for m in tsr.grid(tsr.tile(M, 2)):
        X[m] = X[m] + X[tsr.minimum(m.index + 1, M - 1)]


def test_writing_what_another_program_reads_is_a_race():
    """A later program's element is read before it writes it, or after: in order of programs all looks well."""
    with pytest.raises(tsr.CheckError, match=r"a race: .*test_races_and_indices.py:\d+:\d+: an element of X that another program of the grid reads"):
        smoothed.check(np.arange(8, dtype=np.float32), show=False)
    assert smoothed.check(np.arange(2, dtype=np.float32), show=False), "one program has no other"


def test_two_elements_of_one_tile_stored_to_one_place():
    y = np.zeros((8, 5), np.float32)
    with pytest.raises(tsr.CheckError, match="an element of Y that two elements of one tile are stored to"):
        scattered.check(X, np.array([0, 0, 2, 3, 4, 5, 6, 7]), y, show=False)
    same = np.repeat(X[:1], 8, axis=0)
    assert scattered.check(same, np.array([0, 0, 2, 3, 4, 5, 6, 7]), y, show=False), "the same may be stored twice"
