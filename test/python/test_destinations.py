"""Destinations without `Out`, and constants that only the space of `autotune` names, in everything that looks at a kernel.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import numpy as np
import pytest

import tessera as tsr
from tessera import Out, Tensor

A = np.arange(35, dtype=np.float32).reshape(5, 7)


@tsr.kernel
def annotated(X: Tensor["M", "N"], Y: Tensor["M", "N"]):
    for m in tsr.grid(tsr.tile(M, 4)):
        Y[m, :] = X[m, :] * 2.0


@tsr.kernel
def updated(X: Tensor["M", "N"], Y: Tensor["M", "N"]):
    for m in tsr.grid(tsr.tile(M, 4)):
        for turn in range(2):
            Y[m, :] += X[m, :]


@tsr.kernel
def bare(X, Y):
    for m, n in tsr.grid(tsr.tile(Y.shape[0], 4), tsr.tile(Y.shape[1], 4)):
        Y[m, n] = Y[m, n] + 1.0


@pytest.mark.parametrize("kernel", [annotated, updated], ids=lambda k: k.__name__)
def test_check_and_tune_find_what_is_written(kernel, tmp_path):
    y = np.ones_like(A)
    assert kernel.check(A, y, show=False)
    assert (y == 1).all()
    tuned = kernel.tune(A, y, space=dict(threads=[1, 2]), seconds=2, cache=str(tmp_path))
    assert not any("results instead of" in row.get("why", "") for row in tuned.tried)
    assert (y == 1).all()


def test_a_bare_destination():
    y = np.ones_like(A)
    assert bare.check(A, y, show=False)
    assert [p.is_written for p in bare.parameters] == [False, True]


@tsr.kernel.autotune(space=dict(ROWS=[2, 4], COLUMNS=[8, 4]), key=["M"], where="ROWS + COLUMNS <= 8")
def spaced(X: Tensor["M", "N"], Y: Out["M", "N"]):
    for m, n in tsr.grid(tsr.tile(M, ROWS), tsr.tile(N, COLUMNS)):
        Y[m, n] = X[m, n]


def test_names_of_the_space_are_known_everywhere(tmp_path, monkeypatch):
    monkeypatch.setenv("TESSERA_TUNE", "off")
    assert "tile.func" in spaced.inspect_ir("tile")
    assert spaced.compile().resources is not None
    assert spaced.check(A, show=False)
    assert "spaced" in spaced.explain()
    assert spaced.aot(str(tmp_path))
    assert (spaced(A) == A).all()


@tsr.kernel
def halved(X: Tensor["M", "N"], Y: Out["M", "N"], Z: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 4)):
        Y[m, :] = X[m, :] / 2.0
        Z[m] = tsr.sum(X[m, :], -1)


def test_out_of_another_dtype_is_as_by_position():
    by_position = np.empty((5, 7), np.float16), np.empty(5, np.float64)
    halved(A, *by_position)
    for _ in range(3):
        out = np.zeros((5, 7), np.float16), np.zeros(5, np.float64)
        assert halved(A, out=out) is out
        assert all((mine == theirs).all() for mine, theirs in zip(out, by_position))
    again = halved(A, out=(np.zeros((5, 7), np.float32), np.zeros(5, np.float32)))
    assert again[0].dtype == np.float32 and (again[1] == A.sum(1)).all()


@tsr.function
def incremented(x):
    return x + 1


def test_overlap_with_an_argument_is_refused_for_any_strides():
    """What is not contiguous is written by a copy: right, but another result than a direct write gives."""
    b = np.arange(6, dtype=np.float32)
    for out in (b, b[::-1]):
        with pytest.raises(tsr.ArgumentError, match="out= is written, but overlaps x in memory"):
            incremented(b, out=out)
    apart = np.zeros(12, np.float32)[::2]
    assert incremented(b, out=apart) is apart and (apart == b + 1).all()
