# Kernels whose parameters have no annotations: the body says which axes are one.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import importlib.util
import re

import numpy as np
import pytest
import tessera as tsr
from tessera import oracle

HEAD = """\
import math
import tessera as tsr
from tessera import Tensor, Out, InOut, const, fp32

"""
GEMM = """\
@tsr.kernel
def gemm(A, B, C):
    for m, n in tsr.grid(tsr.tile(A.shape[0], 32), tsr.tile(B.shape[1], 32)):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(A.shape[1], 32):
            acc += A[m, k] @ B[k, n]
        C[m, n] = acc
"""
# The form of the founding text: def flash_attention(Q, K, V, O).
ATTENTION = """\
@tsr.kernel
def flash_attention(Q, K, V, O):
    B, H, S, D = Q.shape
    T = K.shape[2]
    scale = 1.0 / math.sqrt(D)
    for b, h, m in tsr.grid(B, H, tsr.tile(S, 16)):
        q = Q[b, h, m, :]
        top, den, acc = tsr.full(tsr.lowest, m), tsr.zeros(m), tsr.zeros(m, D)
        for n in tsr.tile(T, 16):
            s = q @ K[b, h, n, :].T * scale
            new = tsr.maximum(top, tsr.max(s, n))
            p, fix = tsr.exp(s - new), tsr.exp(top - new)
            den = den * fix + tsr.sum(p, n)
            acc = acc * fix + p @ V[b, h, n, :]
            top = new
        O[b, h, m, :] = acc / den
"""


def load(text, folder):
    path = folder / "prog.py"
    path.write_text(HEAD + text)
    spec = importlib.util.spec_from_file_location(f"bare_{abs(hash(text))}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def random(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def test_gemm_without_annotations(tmp_path):
    gemm = load(GEMM, tmp_path).gemm
    a, b, c = random(70, 40), random(40, 50), np.empty((70, 50), np.float32)
    gemm(a, b, c)
    oracle.assert_within(c, oracle.bounds(gemm, a, b, c)[0])
    gemm.check(a, b, c, reference=lambda A, B, C: np.matmul(A, B))


@pytest.mark.parametrize("shapes, said", [
    (((70, 40), (41, 50), (70, 50)), r"A \(70 x 40\) and B \(41 x 50\) disagree on A\.shape\[1\]: 40 from A, 41 from B"),
    (((70, 40), (40, 50), (71, 50)), r"A \(70 x 40\) and C \(71 x 50\) disagree on A\.shape\[0\]: 70 from A, 71 from C"),
    (((70, 40), (40, 50), (70, 51)), r"B \(40 x 50\) and C \(70 x 51\) disagree on B\.shape\[1\]: 50 from B, 51 from C"),
])
def test_what_the_body_relates_is_checked_at_the_call(shapes, said, tmp_path):
    gemm = load(GEMM, tmp_path).gemm
    gemm(random(8, 8), random(8, 8), random(8, 8))
    with pytest.raises(tsr.ArgumentError, match=said):
        gemm(*(random(*shape) for shape in shapes))


def test_flash_attention_without_annotations(tmp_path):
    attention = load(ATTENTION, tmp_path).flash_attention
    q, k, v = random(2, 3, 40, 16), random(2, 3, 50, 16), random(2, 3, 50, 16)
    out = np.empty_like(q)
    attention(q, k, v, out)
    s = np.einsum("bhmd,bhnd->bhmn", q, k).astype(np.float64) / 4
    p = np.exp(s - s.max(-1, keepdims=True))
    bound = oracle.bounds(attention, q, k, v, out)[0]
    oracle.assert_within(out, bound)
    oracle.assert_within((p / p.sum(-1, keepdims=True)) @ v.astype(np.float64), bound)
    with pytest.raises(tsr.TesseraError, match="K.*is 8|8.*K") as refused:
        attention(q, random(2, 3, 50, 8), v, out)
    assert not isinstance(refused.value, tsr.InternalError)


def test_one_annotation_is_enough_for_its_dims(tmp_path):
    text = GEMM.replace("A, B, C", 'A: Tensor["M", "K"], B, C').replace("A.shape[0]", "M").replace("A.shape[1]", "K")
    gemm = load(text, tmp_path).gemm
    a, b, c = np.rint(random(33, 20)), np.rint(random(20, 10)), np.empty((33, 10), np.float32)  # sums of whole numbers are exact
    gemm(a, b, c)
    np.testing.assert_array_equal(c, a @ b)
    with pytest.raises(tsr.ArgumentError, match="disagree on K: 20 from A, 21 from B"):
        gemm(a, random(21, 10), c)


def test_element_wise_over_whole_axes(tmp_path):
    text = """\
@tsr.kernel
def add(A, B, C):
    for m in tsr.grid(tsr.tile(A.shape[0], 16)):
        C[m, :] = A[m, :] + B[m, :]
"""
    add = load(text, tmp_path).add
    a, b, c = random(20, 24), random(20, 24), np.empty((20, 24), np.float32)
    add(a, b, c)
    np.testing.assert_array_equal(c, a + b)


def test_a_function_calls_such_a_kernel(tmp_path):
    text = GEMM.replace("C):", "C: Out[\"M\", \"N\"]):") + """

@tsr.function
def twice(x, y):
    return gemm(x, y) * 2
"""
    twice = load(text.replace("A, B, C: Out", 'A: Tensor["M", "K"], B: Tensor["K", "N"], C: Out'), tmp_path).twice
    x, y = np.rint(random(8, 6)), np.rint(random(6, 5))
    np.testing.assert_array_equal(twice(x, y), 2 * (x @ y))


def test_names_are_not_merged(tmp_path):
    """Two names are two dims: who means one writes one name."""
    text = GEMM.replace("A, B, C", 'A: Tensor["M", "K"], B: Tensor["L", "N"], C')
    gemm = load(text, tmp_path).gemm
    with pytest.raises(tsr.CompileError, match="axis 0 of B is L, a dim of its own, but is indexed by k, which covers K"):
        gemm(random(8, 8), random(8, 8), random(8, 8))


def test_the_fix_for_a_range_over_a_number_compiles(tmp_path):
    """A range over a number is no dim; what is proposed is accepted."""
    text = """\
@tsr.kernel
def scale(A, C):
    for m in tsr.grid(tsr.tile(64, 16)):
        C[m] = A[m] * 2.0
"""
    with pytest.raises(tsr.CompileError) as refused:
        load(text, tmp_path).scale(random(64), random(64))
    fix = re.search(r"fix: +(.*)", str(refused.value))[1]
    range_ = re.search(r"tsr\.tile\([^)]*\)", fix)[0]
    (tmp_path / "again").mkdir()
    fixed = load(text.replace("tsr.tile(64, 16)", range_), tmp_path / "again").scale
    a, c = random(64), random(64)
    fixed(a, c)
    np.testing.assert_array_equal(c, a * 2)
