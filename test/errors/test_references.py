"""A reference of `check` that is not what it is compared with: said at `reference=`, with both shapes and what makes the one of the other.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import numpy as np
import pytest
import tessera as tsr
from tessera import Out, Region, Tensor, const, reduce_sum
from tessera.source import without_colour

X = np.random.default_rng(5).integers(-8, 9, (5, 7)).astype(np.float32)


@tsr.kernel
def doubled(X: Tensor["M", "N"], Y: Out["M", "N"], BM: const = 4):
    for m in tsr.grid(tsr.tile(M, BM)):  # noqa: F821
        Y[m, :] = X[m, :] * 2.0


@tsr.kernel
def sums(X: Tensor["M", "N"], S: Out["M"], BM: const = 4):
    for m in tsr.grid(tsr.tile(M, BM)):  # noqa: F821
        S[m] = tsr.sum(X[m, :], N)  # noqa: F821


@tsr.function
def both(x):
    return x * 2.0, x + 1.0


def twice(X):
    return X.T * 2.0


CASES = {
    "a transpose": (lambda: doubled.check(X, reference=twice), "twice gives 7 x 5, its transpose, but Y of doubled is 5 x 7", "reference=lambda X: twice(X).T"),
    "a transpose of a lambda": (lambda: doubled.check(X, reference=lambda x: x.T * 2.0), "the lambda gives 7 x 5, its transpose,", "reference=lambda x: (x.T * 2.0).T"),
    "an axis too many": (lambda: sums.check(X, reference=lambda x: x.sum(1, keepdims=True)), "the lambda gives 5 x 1, the same elements in another shape, but S of sums is 5",
                         "reference=lambda x: x.sum(1, keepdims=True).squeeze()"),
    "an axis too few": (lambda: doubled.check(X[:, :1], reference=lambda x: x[:, 0] * 2.0), "the lambda gives 5, the same elements in another shape, but Y of doubled is 5 x 1",
                        "reference=lambda x: (x[:, 0] * 2.0)[..., None]"),
    "the other axis": (lambda: sums.check(X, reference=lambda x: x.sum(0)), "the lambda gives 7, but S of sums is 5", "a reference that gives 5"),
    "a square transpose": (lambda: doubled.check(X[:, :5], reference=lambda x: x.T * 2.0), "the lambda gives 5 x 5, its transpose, but Y of doubled is 5 x 5", "reference=lambda x: (x.T * 2.0).T"),
    "two results for one": (lambda: doubled.check(X, reference=lambda x: (x, x * 2.0)), "the lambda gives 2 results, but doubled gives 1 result: Y 5 x 7", "reference=lambda x: (x, x * 2.0)[0]"),
    "nothing": (lambda: doubled.check(X, reference=lambda x: None), "the lambda gives nothing, but doubled gives 1 result (Y 5 x 7): a reference returns what it computes", ""),
    "one result for two": (lambda: both.check(X, reference=lambda x: x * 2.0), "the lambda gives 1 result, but both gives 2 results", "return "),
    "complex numbers": (lambda: doubled.check(X, reference=lambda x: x * 2j), "the reference gives complex128, not numbers to compare with", "reference=lambda x: (x * 2j).real"),
}


@pytest.mark.parametrize(("call", "text", "fix"), CASES.values(), ids=CASES)
def test_a_reference_of_another_kind(call, text, fix):
    with pytest.raises(tsr.ArgumentError) as caught:
        call()
    message = without_colour(str(caught.value))
    row, carets = message.splitlines()[1:3]
    assert text in message and "algorithm" not in message, message
    assert row[carets.index("^"):].startswith("reference="), message
    assert (f" fix:  {fix}" in message) if fix else " fix:" not in message, message


def test_a_reference_of_torch():
    torch = pytest.importorskip("torch")
    with pytest.raises(tsr.ArgumentError) as caught:
        doubled.check(X, reference=torch.relu)
    message = without_colour(str(caught.value))
    assert "relu is called with NumPy arrays of float64, which it does not take" in message
    assert " fix:  reference=lambda X: torch.relu(torch.from_numpy(X))\n" in message


@tsr.kernel
def counted(I: Tensor["N", tsr.i64], H: Region[reduce_sum, Tensor["B", tsr.i32]]):
    for n in tsr.grid(tsr.tile(N, 4)):  # noqa: F821
        tsr.atomic_add(H, (I[n],), 1)


def add_in_place(I, H):
    np.add.at(H, I, 1)
    return H


def test_a_reference_that_writes_to_its_arguments():
    counts = np.zeros(8, np.int32)
    counted.check(np.array([1, 5, 1, 7, 0]), counts, reference=add_in_place, show=False)
    assert not counts.any()


def test_a_right_reference_and_a_wrong_algorithm():
    doubled.check(X, reference=lambda x: x * 2.0, show=False)
    with pytest.raises(tsr.CheckError, match="all stages agree, so it is the algorithm or the reference"):
        doubled.check(X, reference=lambda x: x * 3.0, show=False)
