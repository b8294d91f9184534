"""What a kernel asserts of its sizes before its grid, every call checks; shipped kernels do.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import numpy as np
import pytest
import tessera as tsr
from tessera import Out, Tensor, const
from tessera.kernels import attention_gradient, flash_attention
from tessera.source import without_colour


@tsr.kernel
def grouped(X: Tensor["N"], W: Tensor["G"], Y: Out["N"], shift, BN: const = 16):
    assert N % G == 0 and (not shift == 3 or N // G > 2), "N is no {multiple} of G"
    for n in tsr.grid(tsr.tile(N, BN)):
        Y[n] = X[n] + W[n.index // (N // G)] + shift


@tsr.function
def twice(x: Tensor["N"], w: Tensor["G"]):
    return grouped(x, w, shift=1) * 2


def arrays(n, g):
    return np.arange(n, dtype=np.float32), np.arange(g, dtype=np.float32)


@pytest.mark.parametrize("target", ["cpu", "sim:sm_80"])
def test_kernel(target):
    x, w = arrays(12, 4)
    np.testing.assert_array_equal(grouped(x, w, shift=1, target=target), x + np.repeat(w, 3) + 1)
    for n, g, shift in ((12, 5, 1), (4, 3, 0), (8, 4, 3)):
        with pytest.raises(tsr.TesseraError, match="N is no {multiple} of G") as caught:
            grouped(*arrays(n, g), shift=shift, target=target)
        text = without_colour(str(caught.value))
        assert "test_kernel_asserts.py:16:" in text and "^" in text, text


def test_function_that_calls_it():
    x, w = arrays(12, 4)
    np.testing.assert_array_equal(twice(x, w), 2 * (x + np.repeat(w, 3) + 1))
    with pytest.raises(tsr.TesseraError, match="N is no {multiple} of G"):
        twice(*arrays(12, 5))


def test_oracle():
    with pytest.raises(tsr.TesseraError, match="N is no {multiple} of G"):
        grouped.check(*arrays(12, 5), shift=1, show=False)


@pytest.mark.parametrize("heads, key_heads, right", [(4, 2, True), (4, 4, True), (4, 3, False), (2, 4, False)])
def test_heads(heads, key_heads, right):
    q, k = np.ones((1, heads, 8, 16), np.float32), np.ones((1, key_heads, 8, 16), np.float32)
    if right:
        np.testing.assert_array_equal(flash_attention(q, k, k), q)
        return
    with pytest.raises(tsr.TesseraError, match="H is no multiple of HK"):
        flash_attention(q, k, k)
    with pytest.raises(tsr.TesseraError, match="H is no multiple of HK"):
        attention_gradient(q, k, k, q, q[..., 0], q)
