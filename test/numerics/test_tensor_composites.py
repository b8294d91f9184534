"""Composite operations of functions: softmax, norms, cross entropy, attention; policies and accumulate types.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import bounds
import numpy as np
import pytest
from conftest import EXTENTS, NUMPY, Inputs
from programs import function

import tessera as tsr
from tessera import Tensor, fp32, fp64

FLOATS = ("fp32", "fp16", "bf16", "fp64")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("columns", [n for n in EXTENTS if n])
def test_softmax(columns, dtype, inputs):
    x = inputs.normal(5, columns, dtype=dtype, scale=3)
    e = bounds.exact(x, dtype)
    bounds.check(function("tsr.softmax(x, dim=-1)", "x")(x), bounds.softmax(e), "softmax")
    inner = bounds.inside(e)
    shifted = inner - inner.max(keepdims=True)
    expected = shifted - shifted.exp().sum(keepdims=True).log()
    bounds.check(function("tsr.log_softmax(x, dim=-1)", "x")(x), bounds.outside(expected, dtype), "log_softmax")
    bounds.check(function("tsr.softmax(x, dim=0)", "x")(x.T), bounds.softmax(e.T, 0), "softmax of columns")


def test_softmax_of_special_rows():
    x = np.array([[-np.inf, -np.inf, -np.inf], [-np.inf, 0, 0], [np.nan, 0, 0], [1e38, 1e38, -1e38]], np.float32)
    got = function("tsr.softmax(x, dim=-1)", "x")(x)
    np.testing.assert_array_equal(got[[0, 1, 3]], np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0.5, 0]], np.float32))
    assert np.isnan(got[2]).all()
    assert function("tsr.softmax(x, dim=-1)", "x")(np.zeros((3, 0), np.float32)).shape == (3, 0)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("columns", [n for n in EXTENTS if n])
def test_norms(columns, dtype, inputs):
    x, w, b = inputs.normal(6, columns, dtype=dtype), inputs.normal(columns, dtype=dtype), inputs.normal(columns, dtype=dtype)
    e = lambda a: bounds.exact(a, dtype)
    n = "x.shape[-1]"
    bounds.check(function(f"tsr.layer_norm(x, ({n},), w, b)", "x w b")(x, w, b), bounds.layer_norm(e(x), e(w), e(b)), "layer_norm")
    bounds.check(function(f"tsr.layer_norm(x, ({n},))", "x")(x), bounds.layer_norm(e(x)), "layer_norm alone")
    bounds.check(function(f"tsr.rms_norm(x, ({n},), w, eps=1e-3)", "x w")(x, w), bounds.layer_norm(e(x), e(w), eps=1e-3, rms=True), "rms_norm")


@pytest.mark.parametrize("dtype", FLOATS)
def test_cross_entropy(dtype, inputs):
    logits = inputs.normal(9, 65, dtype=dtype, scale=3)
    targets = inputs.random.integers(0, 65, 9)
    inner = bounds.inside(bounds.exact(logits, dtype))
    top = inner.max(keepdims=True)
    total = (inner - top).exp().sum().log() + top[:, 0]
    each = total - inner[np.arange(9), targets]
    got = function('tsr.cross_entropy(x, t, reduction="none")', "x t")(logits, targets)
    bounds.check(got, bounds.outside(each, dtype), "cross_entropy, each")
    got = function("tsr.cross_entropy(x, t)", "x t")(logits, targets)
    bounds.check(got, bounds.outside(bounds.outside(each, dtype).sum() / 9, dtype), "cross_entropy")


def heads(got, q, k, v, dtype, causal=False, scale=None):
    """Checks each head; grouped heads share a key/value head."""
    batch, h, hk = q.shape[0], q.shape[1], k.shape[1]
    for i in range(batch):
        for j in range(h):
            group = j // (h // hk)
            e = lambda a: bounds.exact(a, dtype)
            expected = bounds.attention(e(q[i, j]), e(k[i, group]), e(v[i, group]), causal, scale)
            bounds.check(got[i, j], expected, f"head {i}, {j}")


SHAPES = [(1, 1, 1, 1, 1, 16), (2, 4, 2, 65, 127, 64), (1, 2, 1, 127, 65, 40), (1, 2, 2, 7, 1000, 64), (1, 3, 3, 63, 63, 1)]


@pytest.mark.parametrize("rows, targets", (('65', '"M"'), ('"M"', '65'), ('65', '65')))
def test_cross_entropy_where_one_knows_the_size(rows, targets, inputs):
    """Seed 10875: of the two, only the logits knew their rows."""
    text = f'@tsr.function\ndef f(x: Tensor[{rows}, "N", fp32], t: Tensor[{targets}, i64]):\n    return tsr.cross_entropy(x, t, reduction="none")\n'
    fn = tsr.compile_source("import tessera as tsr\nfrom tessera import Tensor, fp32, i64\n" + text).f
    x, t = inputs.normal(65, 9, dtype="fp32"), np.arange(65) % 9
    plain = function('tsr.cross_entropy(x, t, reduction="none")', "x t")
    np.testing.assert_array_equal(fn(x, t), plain(x, t))
    with pytest.raises(tsr.TesseraError, match="65"):
        fn(x, t[:64])


@pytest.mark.parametrize("causal", (False, True))
@pytest.mark.parametrize("dtype", ("fp32", "fp16", "bf16"))
@pytest.mark.parametrize("shape", [*SHAPES, (1, 2, 1, 130, 1250, 40), (1, 1, 1, 1100, 1100, 64)], ids=str)
def test_attention(shape, dtype, causal, inputs):
    """With T < S a causal mask leaves rows without a key: 0."""
    b, h, hk, s, t, d = shape
    q, k, v = inputs.normal(b, h, s, d, dtype=dtype), inputs.normal(b, hk, t, d, dtype=dtype), inputs.normal(b, hk, t, d, dtype=dtype)
    text = "tsr.attention(q, k, v, causal=True)" if causal else "tsr.attention(q, k, v)"
    got = function(text, "q k v")(q, k, v)
    heads(got, q, k, v, dtype, causal)
    if causal and t < s:
        assert not got[:, :, : s - t].astype(np.float32).any()


def test_attention_on_views(inputs):
    q, k, v = (inputs.normal(2, 3, 33, 16) for _ in range(3))
    attention = function("tsr.attention(q, k, v)", "q k v")
    want = attention(q, k, v)
    swapped = [np.ascontiguousarray(a.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3) for a in (q, k, v)]
    np.testing.assert_array_equal(attention(*swapped), want)
    flipped = [np.ascontiguousarray(a[:, :, ::-1])[:, :, ::-1] for a in (q, k, v)]
    np.testing.assert_array_equal(attention(*flipped), want)


@tsr.function
def grouped(q: Tensor["B", "H", "S", "D"], k: Tensor["B", "G", "S", "D"], v: Tensor["B", "G", "S", "D"]):
    return tsr.attention(q, k, v)


def test_attention_of_grouped_heads_by_name(inputs):
    """Axes 1 of two dims and axes 2 of one: groups of heads over one sequence, whatever else lies like this."""
    q, k, v = inputs.normal(2, 6, 21, 16), inputs.normal(2, 3, 21, 16), inputs.normal(2, 3, 21, 16)
    heads(grouped(q, k, v), q, k, v, "fp32", False)


@tsr.function
def written_out(q: Tensor["S", "D"], k: Tensor["T", "D"], v: Tensor["T", "D"]):
    return tsr.softmax(q @ k.T * 0.125, dim=-1) @ v


@tsr.policy("strict")
@tsr.function
def strict(q: Tensor["S", "D"], k: Tensor["T", "D"], v: Tensor["T", "D"]):
    return tsr.softmax(q @ k.T * 0.125, dim=-1) @ v


def test_strict_rounds_where_it_is_written(inputs):
    """deterministic raises it to attention; strict keeps every rounding of fp16."""
    types = dict(q=tsr.fp16, k=tsr.fp16, v=tsr.fp16)
    assert "gir.attention" in written_out.inspect_ir("graph", **types)
    assert "gir.attention" not in strict.inspect_ir("graph", **types)
    q, k, v = (inputs.normal(65, 64, dtype="fp16", scale=2) for _ in range(3))
    e = lambda a: bounds.exact(a, "fp16")
    scores = (e(q) @ e(k).T) * 0.125
    bounds.check(strict(q, k, v), bounds.softmax(scores) @ e(v), "strict")
    bounds.check(written_out(q, k, v), bounds.attention(e(q), e(k), e(v), scale=0.125), "raised")


@tsr.accum(fp64)
@tsr.function
def wide_sum(x: Tensor["M", "N"]):
    return tsr.sum(x, dim=-1)


@tsr.accum(fp64)
@tsr.function
def wide_matmul(a: Tensor["M", "K"], b: Tensor["K", "N"]):
    return a @ b


@tsr.accum(fp64)
@tsr.kernel
def wide_gemm(A: Tensor["M", "K"], B: Tensor["K", "N"], C: tsr.Out["M", "N", fp32]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 32)):
        acc = tsr.zeros(m, n, dtype=fp64)
        for k in tsr.tile(K, 24):
            acc += A[m, k] @ B[k, n]
        C[m, n] = acc.to(fp32)


def test_accum_fp64_sums_in_fp64(inputs):
    """Rounded once from a float64 sum: float32 accumulation is off by more."""
    x = inputs.normal(20, 1000)
    wide = x.astype(np.float64).sum(-1)
    assert (wide_sum(x) == wide.astype(np.float32)).all()
    assert (function("tsr.sum(x, dim=-1)", "x")(x) != wide.astype(np.float32)).any()
    a, b = inputs.normal(20, 1000), inputs.normal(1000, 33)
    expected = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)
    np.testing.assert_array_equal(wide_matmul(a, b), expected)
    np.testing.assert_array_equal(wide_gemm(a, b), expected)


@tsr.policy("strict")
@tsr.function
def strict_cumsum(x: Tensor["M", "N"]):
    return tsr.cumsum(x, dim=-1)


def test_a_strict_scan_runs_from_left_to_right(inputs):
    x = inputs.normal(7, 1000)
    np.testing.assert_array_equal(strict_cumsum(x), np.cumsum(x, -1, dtype=np.float32))


def test_composites_on_views(inputs):
    x = inputs.normal(13, 65)
    e = bounds.exact(x, "fp32")
    for name, view in Inputs.views(x):
        bounds.check(function("tsr.softmax(x, dim=-1)", "x")(view), bounds.softmax(e), name)
        bounds.check(function("tsr.layer_norm(x, (x.shape[-1],))", "x")(view), bounds.layer_norm(e), name)
        bounds.check(function("tsr.silu(x)", "x")(view), bounds.silu(e), name)
