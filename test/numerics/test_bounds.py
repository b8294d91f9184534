"""The bounds have teeth: at K = 1000 each rejects accumulation in the storage type and one dropped element.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import bounds
import numpy as np
import pytest
from conftest import NUMPY

K = 1000


def sequential_sum(terms, dtype):
    """Adds up in `dtype`, as a kernel that forgot its accumulator would."""
    total = np.zeros(terms.shape[:-1], NUMPY[dtype])
    for i in range(terms.shape[-1]):
        total = (total + terms[..., i].astype(NUMPY[dtype])).astype(NUMPY[dtype])
    return total


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_matmul_rejects_accumulation_in_the_storage_type(dtype, inputs):
    a, b = inputs.normal(8, K, dtype=dtype), inputs.normal(K, 8, dtype=dtype)
    expected = bounds.exact(a, dtype) @ bounds.exact(b, dtype)
    right = (a.astype(np.float32) @ b.astype(np.float32)).astype(NUMPY[dtype])
    assert len(bounds.violations(right, expected)) == 0
    products = a[:, None, :].astype(np.float32) * b.T[None, :, :].astype(np.float32)
    assert len(bounds.violations(sequential_sum(products, dtype), expected)) > 0


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
def test_matmul_rejects_a_dropped_element(dtype, inputs):
    a, b = inputs.normal(8, K, dtype=dtype), inputs.normal(K, 8, dtype=dtype)
    expected = bounds.exact(a, dtype) @ bounds.exact(b, dtype)
    dropped = (a[:, :-1].astype(np.float32) @ b[:-1].astype(np.float32)).astype(NUMPY[dtype])
    assert len(bounds.violations(dropped, expected)) > 0


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
def test_sum_rejects_a_dropped_element_and_storage_accumulation(dtype, inputs):
    x = inputs.normal(16, K, dtype=dtype)
    expected = bounds.exact(x, dtype).sum()
    right = x.astype(np.float64).sum(-1).astype(NUMPY[dtype])
    assert len(bounds.violations(right, expected)) == 0
    assert len(bounds.violations(x[:, 1:].astype(np.float64).sum(-1).astype(NUMPY[dtype]), expected)) > 0
    if dtype != "fp32":
        assert len(bounds.violations(sequential_sum(x, dtype), expected)) > 0


def softmax64(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
def test_softmax_rejects_a_sum_that_misses_one_element(dtype, inputs):
    x = inputs.normal(4, K, dtype=dtype)
    expected = bounds.softmax(bounds.exact(x, dtype))
    x64 = x.astype(np.float64)
    assert len(bounds.violations(softmax64(x64).astype(NUMPY[dtype]), expected)) == 0
    e = np.exp(x64 - x64.max(-1, keepdims=True))
    # Miss the largest: in bf16 one average element of 1000 is below the output's own rounding.
    missed = e / (e.sum(-1, keepdims=True) - e.max(-1, keepdims=True))
    assert len(bounds.violations(missed.astype(NUMPY[dtype]), expected)) > 0
    if dtype != "fp32":
        sums = sequential_sum(e, dtype).astype(np.float64)[..., None]
        assert len(bounds.violations((e / sums).astype(NUMPY[dtype]), expected)) > 0


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
def test_layer_norm_rejects_a_mean_that_misses_one_element(dtype, inputs):
    x = inputs.normal(4, K, dtype=dtype)
    x[:, 0] = 30
    expected = bounds.layer_norm(bounds.exact(x, dtype))
    x64 = x.astype(np.float64)

    def norm(mean):
        y = x64 - mean
        return (y / np.sqrt((y * y).mean(-1, keepdims=True) + 1e-5)).astype(NUMPY[dtype])

    assert len(bounds.violations(norm(x64.mean(-1, keepdims=True)), expected)) == 0
    assert len(bounds.violations(norm(x64[:, 1:].sum(-1, keepdims=True) / K), expected)) > 0


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
def test_attention_rejects_a_dropped_key(dtype, inputs):
    q, k, v = inputs.normal(8, 64, dtype=dtype), inputs.normal(K, 64, dtype=dtype), inputs.normal(K, 64, dtype=dtype)
    expected = bounds.attention(bounds.exact(q, dtype), bounds.exact(k, dtype), bounds.exact(v, dtype))

    def attend(k, v):
        q64, k64, v64 = (a.astype(np.float64) for a in (q, k, v))
        return (softmax64(q64 @ k64.T / 8) @ v64).astype(NUMPY[dtype])

    assert len(bounds.violations(attend(k, v), expected)) == 0
    best = int((q.astype(np.float64) @ k.astype(np.float64).T).max(0).argmax())
    kept = np.arange(K) != best
    assert len(bounds.violations(attend(k[kept], v[kept]), expected)) > 0
