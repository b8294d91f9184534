"""Tensor functions: exact where they can be, within the derived bound otherwise.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math
import pathlib

import bounds
import numpy as np
import pytest
from conftest import EXTENTS, NUMPY, Inputs

import tessera as tsr
from tessera import Tensor, bf16, fp16, fp32

FLOATS = ("fp32", "fp16", "bf16")


@tsr.function
def add(x, y):
    return x + y


@tsr.function
def affine(x: Tensor["M", "N"], w: Tensor["N"], b: Tensor["N"]):
    return x * w + b


@tsr.function
def matmul(a: Tensor["M", "K"], b: Tensor["K", "N"]):
    return tsr.matmul(a, b)


@tsr.function
def batched(a: Tensor["B", "M", "K"], b: Tensor["B", "K", "N"]):
    return a @ b


@tsr.function
def linear_gelu(x: Tensor["M", "K"], w: Tensor["K", "N"], b: Tensor["N"]):
    return tsr.gelu(x @ w + b)


@tsr.function
def flash_attention(q: Tensor["B", "H", "S", "D"],
                   k: Tensor["B", "H", "S", "D"],
                   v: Tensor["B", "H", "S", "D"]) -> Tensor["B", "H", "S", "D"]:
    scale = 1.0 / math.sqrt(q.shape[-1])
    scores = tsr.matmul(q, k.transpose(-2, -1)) * scale
    probs = tsr.softmax(scores, dim=-1)
    return tsr.matmul(probs, v)


@pytest.mark.parametrize("dtype", FLOATS + ("fp64", "i32", "i64"))
@pytest.mark.parametrize("extent", EXTENTS)
def test_add(dtype, extent, inputs):
    x, y = inputs.small_integers(3, extent, dtype=dtype), inputs.small_integers(3, extent, dtype=dtype)
    got = add(x, y)
    assert got.dtype == x.dtype
    np.testing.assert_array_equal(got, x + y)


def test_add_on_views_and_broadcasts(inputs):
    x, y = inputs.small_integers(7, 65), inputs.small_integers(7, 65)
    for name, view in Inputs.views(x):
        np.testing.assert_array_equal(add(view, y), x + y, err_msg=name)
    np.testing.assert_array_equal(add(x, y[0]), x + y[0])
    np.testing.assert_array_equal(add(x, y[:, :1]), x + y[:, :1])
    np.testing.assert_array_equal(add(x[0], y), x[0] + y)
    np.testing.assert_array_equal(add(np.broadcast_to(x[:1], (7, 65)), y), x[:1] + y)


def test_affine(inputs):
    x, w, b = inputs.normal(9, 100), inputs.normal(100), inputs.normal(100)
    e = lambda a: bounds.exact(a, "fp32")
    bounds.check(affine(x, w, b), e(x) * e(w) + e(b), "affine")


@pytest.mark.parametrize("dtype", FLOATS + ("fp64",))
@pytest.mark.parametrize("shape", [(1, 1, 1), (7, 63, 65), (127, 65, 7), (63, 1000, 127), (65, 127, 1000), (0, 5, 7), (5, 0, 7), (5, 7, 0)])
def test_matmul(dtype, shape, inputs):
    m, n, k = shape
    a, b = inputs.small_integers(m, k, dtype=dtype, low=-1, high=2), inputs.small_integers(k, n, dtype=dtype, low=-1, high=2)
    np.testing.assert_array_equal(matmul(a, b), (a.astype(np.float64) @ b.astype(np.float64)).astype(NUMPY[dtype]))
    a, b = inputs.normal(m, k, dtype=dtype), inputs.normal(k, n, dtype=dtype)
    bounds.check(matmul(a, b), bounds.exact(a, dtype) @ bounds.exact(b, dtype), f"matmul {shape} {dtype}")


def test_matmul_on_views(inputs):
    a, b = inputs.small_integers(65, 40), inputs.small_integers(40, 31)
    for left, x in Inputs.views(a):
        for right, y in Inputs.views(b):
            np.testing.assert_array_equal(matmul(x, y), a @ b, err_msg=f"{left}, {right}")


def test_batched_matmul(inputs):
    a, b = inputs.small_integers(5, 33, 20), inputs.small_integers(5, 20, 17)
    np.testing.assert_array_equal(batched(a, b), a @ b)


@pytest.mark.parametrize("dtype", FLOATS)
def test_linear_gelu(dtype, inputs):
    x, w, b = inputs.normal(65, 100, dtype=dtype), inputs.normal(100, 33, dtype=dtype), inputs.normal(33, dtype=dtype)
    e = lambda a: bounds.exact(a, dtype)
    bounds.check(linear_gelu(x, w, b), bounds.gelu(e(x) @ e(w) + e(b)), f"linear_gelu {dtype}")


@pytest.mark.parametrize("dtype", ("fp32", "fp16", "bf16"))
@pytest.mark.parametrize("shape", [(1, 1, 1, 16), (2, 3, 65, 64), (1, 2, 127, 80), (1, 1, 1000, 64)])
def test_the_documents_attention(dtype, shape, inputs):
    q, k, v = (inputs.normal(*shape, dtype=dtype) for _ in range(3))
    got = flash_attention(q, k, v)
    for batch in range(shape[0]):
        for head in range(shape[1]):
            e = lambda a: bounds.exact(a[batch, head], dtype)
            bounds.check(got[batch, head], bounds.attention(e(q), e(k), e(v)), f"attention {shape} {dtype}")


def test_the_documents_attention_is_fused():
    assert "gir.attention" in flash_attention.inspect_ir("graph", q=fp16, k=fp16, v=fp16)


def test_the_documents_attention_from_a_tessera_file(inputs):
    """Word for word, lines 27-37 of the usage guide; no import is needed there."""
    program = tsr.load_file(pathlib.Path(__file__).parent / "attention.tessera")
    torch = pytest.importorskip("torch")
    q, k, v = (inputs.normal(1, 2, 65, 64) for _ in range(3))
    expected = flash_attention(q, k, v)
    np.testing.assert_array_equal(program.flash_attention(q, k, v), expected)
    got = program.flash_attention(*(torch.tensor(a) for a in (q, k, v)))
    np.testing.assert_array_equal(got.numpy(), expected)
