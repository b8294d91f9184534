"""The shipped kernels: exact on small integers, within the derived bound otherwise, at any extent and stride.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import bounds
import numpy as np
import pytest
from conftest import EXTENTS, NUMPY, Inputs

import tessera as tsr
from tessera import Out, Tensor, const, fp32, kernels

FLOATS = ("fp32", "fp16", "bf16")
SHAPES = [(1, 1, 1), (7, 63, 65), (127, 65, 7), (1000, 7, 63), (63, 1000, 127), (65, 127, 1000)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_gemm_is_exact_on_small_integers(shape, dtype, inputs):
    m, n, k = shape
    a, b = inputs.small_integers(m, k, dtype=dtype, low=-1, high=2), inputs.small_integers(k, n, dtype=dtype, low=-1, high=2)
    expected = (a.astype(np.float64) @ b.astype(np.float64)).astype(NUMPY[dtype])
    np.testing.assert_array_equal(kernels.gemm(a, b), expected)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_gemm_is_within_its_bound(shape, dtype, inputs):
    m, n, k = shape
    a, b = inputs.normal(m, k, dtype=dtype), inputs.normal(k, n, dtype=dtype)
    bounds.check(kernels.gemm(a, b), bounds.exact(a, dtype) @ bounds.exact(b, dtype), f"gemm {shape} {dtype}")


@pytest.mark.parametrize("extent", EXTENTS)
def test_gemm_at_each_extent(extent, inputs):
    for m, n, k in ((extent, 33, 20), (33, extent, 20), (33, 20, extent)):
        a, b = inputs.small_integers(m, k), inputs.small_integers(k, n)
        np.testing.assert_array_equal(kernels.gemm(a, b), a @ b)


def test_gemm_on_views(inputs):
    a, b = inputs.small_integers(65, 40), inputs.small_integers(40, 31)
    expected = a @ b
    for left, x in Inputs.views(a):
        for right, y in Inputs.views(b):
            np.testing.assert_array_equal(kernels.gemm(x, y), expected, err_msg=f"A {left}, B {right}")
    for name, out in Inputs.views(np.zeros((65, 31), np.float32)):
        assert kernels.gemm(a, b, out) is None
        np.testing.assert_array_equal(out, expected, err_msg=f"C {name}")


def test_gemm_on_torch(inputs):
    torch = pytest.importorskip("torch")
    a, b = torch.tensor(inputs.small_integers(17, 65)), torch.tensor(inputs.small_integers(65, 9))
    c = kernels.gemm(a, b)
    assert isinstance(c, torch.Tensor)
    assert torch.equal(c, a @ b)


@pytest.mark.parametrize("rows", (0, 1, 7, 65))
@pytest.mark.parametrize("columns", (1, 7, 63, 65, 127, 1000))
@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax(rows, columns, dtype, inputs):
    x = inputs.normal(rows, columns, dtype=dtype, scale=3)
    got = kernels.softmax(x)
    assert got.dtype == x.dtype
    if rows:
        bounds.check(got, bounds.softmax(bounds.exact(x, dtype)), f"softmax {rows} x {columns} {dtype}")
    else:
        assert got.shape == (0, columns)


@pytest.mark.parametrize("columns", (1, 7, 63, 65, 127, 1000))
@pytest.mark.parametrize("dtype", FLOATS)
def test_layer_norm(columns, dtype, inputs):
    x, w, b = inputs.normal(9, columns, dtype=dtype), inputs.normal(columns, dtype=dtype), inputs.normal(columns, dtype=dtype)
    e = lambda a: bounds.exact(a, dtype)
    bounds.check(kernels.layer_norm(x, w, b), bounds.layer_norm(e(x), e(w), e(b)), f"layer_norm {columns} {dtype}")


def test_rows_on_views(inputs):
    x = inputs.normal(13, 65)
    expected = bounds.softmax(bounds.exact(x, "fp32"))
    for name, view in Inputs.views(x):
        bounds.check(kernels.softmax(view), expected, name)


@pytest.mark.parametrize("dtype", FLOATS)
def test_linear_gelu(dtype, inputs):
    x, w, b = inputs.normal(65, 100, dtype=dtype), inputs.normal(33, 100, dtype=dtype), inputs.normal(33, dtype=dtype)
    e = lambda a: bounds.exact(a, dtype)
    inner = e(x).matmul(e(w).T) + bounds.inside(e(b))
    bounds.check(kernels.linear_gelu(x, w, b), bounds.outside(bounds.gelu(inner), dtype), f"linear_gelu {dtype}")


ATTENTION = [  # B, H, HK, S, T, D
    (1, 1, 1, 1, 1, 16), (2, 4, 2, 65, 127, 64), (1, 2, 1, 127, 65, 40), (1, 2, 2, 1, 1000, 64), (1, 4, 1, 200, 200, 80),
    (1, 2, 1, 130, 1250, 40), (1, 1, 1, 1100, 1100, 64),
]


@pytest.mark.parametrize("causal", (False, True))
@pytest.mark.parametrize("shape", ATTENTION)
@pytest.mark.parametrize("dtype", FLOATS)
def test_flash_attention(shape, causal, dtype, inputs):
    b, h, hk, s, t, d = shape
    q, k, v = inputs.normal(b, h, s, d, dtype=dtype), inputs.normal(b, hk, t, d, dtype=dtype), inputs.normal(b, hk, t, d, dtype=dtype)
    got = kernels.flash_attention(q, k, v, causal=causal)
    for batch in range(b):
        for head in range(h):
            group = head // (h // hk)
            e = lambda a: bounds.exact(a, dtype)
            expected = bounds.attention(e(q[batch, head]), e(k[batch, group]), e(v[batch, group]), causal)
            bounds.check(got[batch, head], expected, f"attention {shape} causal={causal} {dtype} head {head}")


@tsr.kernel
def weights(X: Tensor["M", "N"], V: Tensor["N", "D"], O: Out["M", "D", fp32], L: Out["M", fp32], BLOCK: const = 16, POWER: const = 1):
    for m in tsr.grid(tsr.tile(M, BLOCK)):
        acc, den = tsr.zeros(m, D), tsr.zeros(m)
        for n in tsr.tile(N, 64):
            p = tsr.exp2(X[m, n])
            den += tsr.sum(p if POWER == 1 else p * p, n)
            acc += p.to(V.dtype) @ V[n, :]
        O[m, :], L[m] = acc, den


@pytest.mark.parametrize("dtype", ("fp16", "bf16"))
def test_weights_that_are_rounded(dtype):
    """exp2 that is only summed and rounded to 16 bits for a product: 13 bits, whole powers exact, 0 for subnormals."""
    x = np.concatenate([np.linspace(-40, 8, 63 * 37 - 260), -np.arange(0, 127), [-np.inf] * 3, np.linspace(-152, -120, 130)]).astype(np.float32).reshape(37, 63)
    v = np.eye(63, dtype=NUMPY[dtype])
    got, sums = (np.asarray(a, np.float64) for a in weights(x, v))
    value = np.exp2(x.astype(np.float64))
    # bf16 has f32's exponents: what the instruction makes 0 is below 2^-126.
    unit, least = (2**-8, 2**-126) if dtype == "bf16" else (2**-11, 2**-25)
    assert (np.abs(got - value) <= value * (unit + 2**-13) + least).all()
    whole = (x == np.round(x)) & (value > (2**-14 if dtype == "fp16" else 2**-125))
    assert whole.any() and (got[whole] == value[whole]).all()
    assert (np.abs(sums - value.sum(1)) <= value.sum(1) * 2**-12).all()
    types = {"X": tsr.fp32, "V": getattr(tsr, dtype), "D": 63}
    assert "fastmath<afn>" in weights.inspect_ir("tile-value", **types)
    assert "fastmath" not in weights.inspect_ir("tile-value", **types, POWER=2)  # more than summed
    assert "fastmath" not in weights.inspect_ir("tile-value", **{**types, "V": tsr.fp32})
