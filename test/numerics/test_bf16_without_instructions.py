"""bf16 on processors without AVX512-BF16: values of it that are selected, carried and moved, at the feature levels x86-64-v3 and -v4.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import ml_dtypes
import numpy as np
import pytest

import tessera as tsr
from tessera import Out, Tensor, bf16, i64

TARGETS = ("cpu:avx2", "cpu:avx512", "cpu")
X = np.random.default_rng(3).standard_normal((9, 37)).astype(ml_dtypes.bfloat16)


@tsr.kernel
def largest(A: Tensor["M", "N"], Y: Out["M", i64]):
    for m in tsr.grid(tsr.tile(M, 4)):
        Y[m] = tsr.argmax(A[m, :], -1)


@tsr.kernel
def carried(A: Tensor["M", "N"], Y: Out["M", "N"]):
    for m in tsr.grid(tsr.tile(M, 4)):
        top = A[m, :]
        for turn in range(3):
            top = tsr.where(top > 0.5, A[m, :], top)
        Y[m, :] = top


@tsr.function
def running(x):
    return tsr.cummax(x, dim=-1), tsr.max(x, dim=0), tsr.argmin(x, dim=-1)


@pytest.mark.parametrize("target", TARGETS)
def test_values_of_bf16_are_carried(target):
    wide = X.astype(np.float32)
    assert (largest(X, target=target) == wide.argmax(1)).all()
    assert (carried(X, target=target) == X).all()
    first, second, third = running(X, target=target)
    assert (first == np.maximum.accumulate(wide, 1).astype(X.dtype)).all() and (second == X.max(0)).all() and (third == wide.argmin(1)).all()


@tsr.function
def to_bf16(x):
    return x.to(bf16)


@tsr.kernel
def kernel_to_bf16(X: Tensor["N"], Y: Out["N", bf16]):
    for n in tsr.grid(tsr.tile(N, 64)):
        Y[n] = X[n].to(bf16)


def nearest_bf16(value: int) -> float:
    """In integers: 8 bits are kept, ties to even."""
    size, drop = abs(value), max(abs(value).bit_length() - 8, 0)
    kept, rest = divmod(size, 1 << drop)
    kept += 2 * rest > 1 << drop or (2 * rest == 1 << drop and kept % 2 == 1)
    return float(kept << drop) * (1 if value >= 0 else -1)


@pytest.mark.parametrize("target", [*TARGETS, "sim:sm_75", "sim:sm_80"])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integers_become_bf16_by_one_rounding(dtype, target):
    """Through fp32 a neighbour of a tie becomes the tie first, and then the wrong one of two."""
    limits = np.iinfo(dtype)
    ties = [(1 << b) + (2 * q + 1) * (1 << b - 8) for b in range(8, limits.bits - 1) for q in range(4)]
    values = [sign * tie + side for tie in ties for side in (-1, 0, 1) for sign in (-1, 1)] + [0, limits.min, limits.max]
    x = np.array(values, dtype)
    expected = [nearest_bf16(value) for value in values]
    assert to_bf16(x, target=target).astype(np.float64).tolist() == expected
    assert kernel_to_bf16(x, target=target).astype(np.float64).tolist() == expected
