"""@tsr.accum is the type of every sum, in kernels of any tile, in attention and in functions that are called, or it is an error.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import ml_dtypes
import numpy as np
import pytest
import tessera as tsr
from tessera import Out, Tensor, bf16, const, fp32, fp64

TARGETS = ("cpu:avx2", "cpu", "sim:sm_80")
LARGE = np.array([2.0**30, 1, -(2.0**30), 3], np.float32)  # 4 in fp64, 3 in fp32


@tsr.accum(fp64)
@tsr.kernel
def product(A: Tensor["M", "K"], B: Tensor["K", "N"], C: Out["M", "N"], BM: const = 1, BN: const = 2):
    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN)):
        C[m, n] = A[m, :] @ B[:, n]


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("target", TARGETS[:2])
def test_products_of_narrow_tiles(dtype, target):
    """Rows of few columns of fp64 are padded to 8; 16 lanes of the narrower operand went past them."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(-3, 4, (5, 21)).astype(dtype), rng.integers(-3, 4, (21, 7)).astype(dtype)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    for rows in (1, 2, 5):
        for columns in (1, 2, 3, 5, 7, 8):
            got = product(a, b, BM=rows, BN=columns, target=target)
            assert (got.astype(np.float64) == expected).all(), (rows, columns)


@tsr.accum(fp64)
@tsr.function
def attended(q, k, v):
    return tsr.softmax(q @ k.mT, dim=-1) @ v


@pytest.mark.parametrize("target", TARGETS)
def test_attention(target):
    """It was raised to an attention, which adds up in fp32."""
    q, k = np.zeros((1, 1, 2, 4), np.float32), np.zeros((1, 1, 4, 4), np.float32)
    v = LARGE.reshape(1, 1, 4, 1) * np.ones(4, np.float32)
    assert (attended(q, k, v, target=target) == 1).all()


@tsr.accum(fp64)
@tsr.function
def total(x):
    return x.sum(dim=0)


@tsr.function
def caller(x):
    return total(x), x.sum(dim=0)


@pytest.mark.parametrize("target", TARGETS)
def test_of_a_function_that_is_called(target):
    exact, plain = caller(LARGE[:, None], target=target)
    assert exact == 4 and plain != 4  # of whichever order


@tsr.policy("strict")
@tsr.function
def residual(a, b, c):
    return a * b + c


@tsr.policy("fast")
@tsr.function
def fast(a, b, c):
    return residual(a, b, c)


@tsr.policy("strict")
@tsr.function
def strict(a, b, c):
    return residual(a, b, c)


def test_policies_of_functions_that_are_called():
    e = np.full(4, 1 + 2**-12, np.float32)
    assert (strict(e, e, -e * e) == 0).all()
    with pytest.raises(tsr.CompileError, match='\'residual\' has the policy "strict".*\n.*\n.*\n.*\n fix:  @tsr.policy."strict". above def fast'):
        fast(e, e, -e * e)


@tsr.accum(fp64)
@tsr.function
def whole(q, k, v):
    return tsr.attention(q, k, v)


@tsr.accum(fp32)
@tsr.function
def narrow(x):
    return x @ x


def test_refused():
    x = np.ones((1, 1, 2, 4), np.float32)
    with pytest.raises(tsr.CompileError, match=r"not yet: attention with @tsr.accum\(fp64\)"):
        whole(x, x, x)
    with pytest.raises(tsr.CompileError, match=r"@tsr.accum\(fp32\) is narrower than the operands, fp64"):
        narrow(np.ones((3, 3)))
    with pytest.raises(tsr.CompileError, match="not yet: sums in bf16"):
        tsr.accum(bf16)(total)
