"""bf16 on processors without AVX512-BF16: values of it that are selected, carried and moved, at the feature levels x86-64-v3 and -v4.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import ml_dtypes
import numpy as np
import pytest

import tessera as tsr
from tessera import Out, Tensor, i64

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
