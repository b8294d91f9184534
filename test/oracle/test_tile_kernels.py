"""The kernels of docs/language.md section 10, the shipped ones and the examples: every stage, both mappings, all numbers.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math
import pathlib
import runpy

import ml_dtypes
import numpy as np
import pytest
import tessera as tsr
from tessera import Out, Tensor, const
from tessera.kernels import flash_attention as shipped_attention
from tessera.kernels import gemm as shipped_gemm
from tessera.kernels import layer_norm, linear_gelu, softmax
from tessera.oracle import prepare

STAGES = ("graph", "sched", "tile-value", "tile")
BF16 = ml_dtypes.bfloat16


@tsr.kernel
def gemm(A: Tensor["M", "K"], B: Tensor["K", "N"], C: Out["M", "N"], BLOCK_M: const = 32, BLOCK_N: const = 32, BLOCK_K: const = 16):
    for m, n in tsr.grid(tsr.tile(M, BLOCK_M), tsr.tile(N, BLOCK_N), group=8):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, BLOCK_K):
            acc += A[m, k] @ B[k, n]
        C[m, n] = acc


@tsr.kernel
def flash_attention(Q: Tensor["B", "H", "S", "D"], K: Tensor["B", "HK", "T", "D"], V: Tensor["B", "HK", "T", "D"],
                    O: Out["B", "H", "S", "D"], causal: const = False, BLOCK_M: const = 16, BLOCK_N: const = 16):
    scale = math.log2(math.e) / math.sqrt(D)
    for b, h, m in tsr.grid(B, H, tsr.tile(S, BLOCK_M)):
        hk = h // (H // HK)
        q = Q[b, h, m, :]
        top, den, acc = tsr.full(tsr.lowest, m), tsr.zeros(m), tsr.zeros(m, D)
        for n in tsr.tile(T, BLOCK_N, stop=m.stop + T - S if causal else T):
            s = q @ K[b, hk, n, :].T * scale
            if causal:
                s = tsr.where(m.index + (T - S) >= n.index, s, -tsr.inf)
            new = tsr.maximum(top, tsr.max(s, n))
            p, fix = tsr.exp2(s - new), tsr.exp2(top - new)
            den = den * fix + tsr.sum(p, n)
            acc = acc * fix + p.to(V.dtype) @ V[b, hk, n, :]
            top = new
        O[b, h, m, :] = tsr.where(den > 0, acc / den, 0)


def integers(random, *shape, dtype=np.float32):
    return random.integers(-3, 4, shape).astype(dtype)


def places(target):
    """Stages before the mapping are the same for every target."""
    return STAGES if target == "cpu" else ("tile",)


def runs(fn, *args, target="cpu", domain="exact", seeds=(0, 1), **kwargs):
    """(stage, result) of a function with one result."""
    for stage in places(target):
        program, values = prepare(fn, args, kwargs, stage, target)
        for seed in seeds:
            (result,) = program.run(values, domain, seed).results
            assert not result.poison, (stage, seed)
            yield f"{target} {stage} seed {seed}", result.of(domain)


def within(fn, *args, want, target="cpu", **kwargs):
    """`want`, and every stage's result, is as near to the reals as the derived bound says; special values agree."""
    for stage in places(target):
        program, values = prepare(fn, args, kwargs, stage, target)
        (reals,) = program.run(values, "bound").results
        exact = program.run(values, seed=1).results[0].array.astype(np.float64)
        for got in (exact, np.asarray(want).astype(np.float64)):
            finite = np.isfinite(reals.values)
            assert np.array_equal(np.isnan(got), np.isnan(reals.values)) and np.array_equal(got[~finite], reals.values[~finite], equal_nan=True), (target, stage)
            assert (np.abs(got - reals.values)[finite] <= reals.errors[finite]).all(), (target, stage)


# ---- gemm -----------------------------------------------------------------------------------


@pytest.mark.parametrize("target,dtype", [("cpu", np.float16), ("cpu", BF16), ("cpu", np.float32), ("sm_80", np.float16), ("sm_80", BF16), ("sm_80", np.float32)])
@pytest.mark.parametrize("m,k,n", [(37, 21, 45), (1, 1, 1), (0, 3, 4), (5, 0, 4), (64, 32, 32)])
def test_gemm_is_the_compiled_one_bit_for_bit(target, dtype, m, k, n, random):
    a, b = integers(random, m, k, dtype=dtype), integers(random, k, n, dtype=dtype)
    want = gemm(a, b)
    assert np.array_equal(want.astype(np.float64), a.astype(np.float64) @ b.astype(np.float64))
    for where, got in runs(gemm, a, b, target=target):
        assert got.dtype == want.dtype and np.array_equal(got, want), where


def test_gemm_of_amx_needs_its_zeros(random):
    """K = 40 is no multiple of 32: the packed operands hold zeros up to 64."""
    a, b = integers(random, 33, 40, dtype=BF16), integers(random, 40, 35, dtype=BF16)
    if "unit = #tile.unit<amx>" not in gemm.inspect_ir("tile", A=tsr.bf16, B=tsr.bf16):
        pytest.skip("this processor has no AMX")
    for where, got in runs(gemm, a, b, BLOCK_K=64):
        assert np.array_equal(got.astype(np.float32), (a.astype(np.float32) @ b.astype(np.float32)).astype(BF16).astype(np.float32)), where


def test_gemm_in_the_ring_is_the_same_everywhere(random):
    a, b = random.standard_normal((19, 40)).astype(np.float16), random.standard_normal((40, 35)).astype(np.float16)
    cases = list(runs(gemm, a, b, domain="ring")) + list(runs(gemm, a, b, domain="ring", target="sm_80"))
    assert len(cases) == 10
    for where, got in cases[1:]:
        assert np.array_equal(got, cases[0][1]), where


# ---- attention ------------------------------------------------------------------------------

SHAPES = [(1, 2, 1, 33, 41, 16, True), (1, 1, 1, 5, 5, 16, True), (2, 2, 2, 17, 16, 32, False), (1, 1, 1, 20, 7, 16, True), (1, 1, 1, 3, 0, 16, False)]


def attention_inputs(random, shape, dtype):
    b, h, hk, s, t, d, causal = shape
    make = lambda *sizes: (random.standard_normal(sizes) / 2).astype(dtype)
    return make(b, h, s, d), make(b, hk, t, d), make(b, hk, t, d), causal


def attention_reference(q, k, v, causal):
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    k, v = (np.repeat(x, q.shape[1] // k.shape[1], 1) for x in (k, v))
    s = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        i, j = np.arange(q.shape[2])[:, None] + k.shape[2] - q.shape[2], np.arange(k.shape[2])
        s = np.where(i >= j, s, -np.inf)
    with np.errstate(all="ignore"):
        p = np.exp(s - s.max(-1, keepdims=True, initial=-np.inf))
        out = p @ v / p.sum(-1, keepdims=True)
    return np.where(np.isfinite(out), out, 0)  # a row without keys is 0


@pytest.mark.parametrize("target", ["cpu", "sm_80"])
@pytest.mark.parametrize("shape", SHAPES)
def test_flash_attention_is_attention(target, shape, random):
    """Within the bound that follows from the program: the algorithm is right, at every stage."""
    *inputs, causal = attention_inputs(random, shape, np.float16)
    within(flash_attention, *inputs, causal=causal, target=target, want=attention_reference(*inputs, causal))
    within(flash_attention, *inputs, causal=causal, target=target, want=flash_attention(*inputs, causal=causal))


@pytest.mark.parametrize("shape", SHAPES)
def test_flash_attention_in_the_ring(shape, random):
    *inputs, causal = attention_inputs(random, shape, np.float16)
    cases = [case for target in ("cpu", "sm_80") for case in runs(flash_attention, *inputs, causal=causal, target=target, domain="ring")]
    for where, got in cases[1:]:
        assert np.array_equal(got, cases[0][1]), where


def test_flash_attention_rounds_alike_at_every_stage(random):
    *inputs, causal = attention_inputs(random, SHAPES[0], np.float16)
    cases = list(runs(flash_attention, *inputs, causal=causal))
    for where, got in cases:
        assert np.array_equal(got, cases[0][1]), where


# ---- special rows ---------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["cpu", "sm_80"])
@pytest.mark.parametrize("value", [-np.inf, np.inf, np.nan, 0.0])
def test_special_rows_of_softmax(target, value, random):
    """All -inf, +inf, NaN; the extents make tiles with absent elements, which must not be read."""
    x = random.standard_normal((5, 21)).astype(np.float32)
    x[1] = value
    x[3, 7] = value
    want = softmax(x)
    assert np.isnan(want[1]).all() == (value != 0) and np.isfinite(want[[0, 2, 4]]).all()
    within(softmax, x, target=target, want=want)


@pytest.mark.parametrize("target", ["cpu", "sm_80"])
def test_nan_in_padding_is_never_read(target, random):
    """A seed lays gaps of poison between the rows of arguments, which a read past a row's end would find."""
    a, b = integers(random, 7, 9, dtype=np.float16), integers(random, 9, 5, dtype=np.float16)
    for where, got in runs(gemm, a, b, target=target, seeds=range(2, 8)):
        assert np.array_equal(got.astype(np.float64), a.astype(np.float64) @ b.astype(np.float64)), where


# ---- the shipped kernels and the examples ---------------------------------------------------


@pytest.mark.parametrize("target", ["cpu", "sm_80"])
@pytest.mark.parametrize("name", ["softmax", "layer_norm", "gemm", "linear_gelu", "flash_attention"])
def test_shipped_kernels(target, name, random):
    draw = lambda *shape, dtype=np.float16: random.standard_normal(shape).astype(dtype)
    fn, args, kwargs = {
        "softmax": lambda: (softmax, [draw(5, 37)], {}),
        "layer_norm": lambda: (layer_norm, [draw(5, 37), draw(37), draw(37)], {}),
        "gemm": lambda: (shipped_gemm, [draw(33, 20), draw(20, 17)], dict(BLOCK_M=32, BLOCK_N=16, BLOCK_K=16)),
        "linear_gelu": lambda: (linear_gelu, [draw(33, 20), draw(17, 20), draw(17)], dict(BLOCK_M=32, BLOCK_N=16, BLOCK_K=16)),
        "flash_attention": lambda: (shipped_attention, [draw(1, 2, 20, 16), draw(1, 1, 23, 16), draw(1, 1, 23, 16)], dict(BLOCK_M=16, BLOCK_N=16)),
    }[name]()
    within(fn, *args, **kwargs, target=target, want=fn(*args, **kwargs))


EXAMPLES = {
    "01-vector-add": {"add": [(33,), (33,)], "add_tiles": [(33,), (33,)]},
    "02-softmax": {"softmax": [(5, 37)]},
    "03-gemm": {"gemm": [(37, 21), (21, 45)]},
    "04-attention": {"attention": [(1, 2, 9, 16)] * 3},
}


@pytest.mark.parametrize("path", sorted((pathlib.Path(__file__).parents[2] / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_examples(path, random):
    names = runpy.run_path(str(path), run_name="example")
    for name, shapes in EXAMPLES[path.stem].items():
        args = [random.standard_normal(shape).astype(np.float32) for shape in shapes]
        within(names[name], *args, want=names[name](*args))
