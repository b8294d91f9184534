"""The PTX of sm_80 kernels, executed on the simulator with all its checks, against derived bounds.

Arrays are visible to a kernel exactly as large as they are, so a touched element that does not exist is an error, as
are races, uninitialised reads and barriers that not all threads reach.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import inspect
import sys

import bounds
import numpy as np
import pytest

import tessera as tsr
from tessera import Out, Tensor, const, kernels

TARGET = "sim:sm_80"


def ran_cleanly(fn, may_conflict=False):
    """Nothing was found, and shared memory had bank conflicts only where the layouts say so: none with tensor cores."""
    version = fn._versions[fn.last_spec.key]
    assert version.last_reports
    for report in version.last_reports:
        assert report.ok, report.text()
        if report.counts:
            predicted = any(int(conflicts) for _, conflicts, _ in version._accesses)
            assert bool(report.counts["bank_conflicts"]) == predicted, report.text()
            assert may_conflict or not predicted, version.report


@pytest.fixture(autouse=True)
def count_everything(monkeypatch):
    from tessera import gpu

    before = gpu.SimVersion.__init__

    def counting(self, *args):
        before(self, *args)
        self.count = True

    monkeypatch.setattr(gpu.SimVersion, "__init__", counting)


def product(a, b, dtype):
    accumulate = "mma" if dtype in ("fp16", "bf16") else None  # tensor cores, or fused multiply-adds
    return bounds.outside(bounds.inside(bounds.exact(a, dtype).matmul(bounds.exact(b, dtype), accumulate)), dtype)


GEMM = [(1, 1, 1), (7, 65, 127), (127, 200, 65), (200, 7, 1), (65, 127, 200), (128, 128, 64)]


@pytest.mark.parametrize("m, n, k", GEMM)
@pytest.mark.parametrize("dtype", ("fp16", "bf16", "fp32"))
def test_gemm(m, n, k, dtype, inputs):
    a, b = inputs.normal(m, k, dtype=dtype), inputs.normal(k, n, dtype=dtype)
    got = kernels.gemm(a, b, target=TARGET)
    ran_cleanly(kernels.gemm)
    bounds.check(got, product(a, b, dtype), f"gemm {m} x {n} x {k} {dtype}")


@pytest.mark.parametrize("dtype", ("fp16", "fp32"))
def test_gemm_of_views(dtype, inputs):
    """Transposed, every second element, backwards: copies of whole groups, of single elements, from either side."""
    a, b = inputs.normal(66, 40, dtype=dtype), inputs.normal(40, 72, dtype=dtype)
    expected = product(a, b, dtype)
    for left, x in inputs.views(a):
        for right, y in inputs.views(b):
            bounds.check(kernels.gemm(x, y, target=TARGET), expected, f"gemm {left} {right}")
            ran_cleanly(kernels.gemm, may_conflict=dtype == "fp32")  # columns of rows that run along k


def test_the_bound_has_teeth(inputs):
    a, b = inputs.normal(16, 64, dtype="fp16"), inputs.normal(64, 16, dtype="fp16")
    got = kernels.gemm(a, b, target=TARGET)
    assert len(bounds.violations(got, product(a[:, :-1], b[:-1], "fp16")))


@tsr.kernel
def odd_tiles(A: Tensor["M", "K"], B: Tensor["N", "K"], C: Out["M", "N"], BM: const = 48, BN: const = 24, BK: const = 48):
    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN)):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, BK):
            acc += A[m, k] @ B[n, k].T
        C[m, n] = acc


@pytest.mark.parametrize("dtype", ("bf16", "fp32"))
def test_tiles_that_are_no_powers_of_two(dtype, inputs):
    a, b = inputs.normal(100, 70, dtype=dtype), inputs.normal(50, 70, dtype=dtype)
    got = odd_tiles(a, b, target=TARGET)
    ran_cleanly(odd_tiles, may_conflict=dtype == "fp32")
    bounds.check(got, product(a, b.T, dtype), "odd tiles")


def test_fused_epilogue(inputs):
    x, w, bias = inputs.normal(65, 100, dtype="bf16"), inputs.normal(33, 100, dtype="bf16"), inputs.normal(33, dtype="bf16")
    got = kernels.linear_gelu(x, w, bias, target=TARGET)
    ran_cleanly(kernels.linear_gelu)
    e = lambda a: bounds.exact(a, "bf16")
    inner = bounds.inside(e(x).matmul(e(w).T, "mma")) + bounds.inside(e(bias))
    bounds.check(got, bounds.outside(bounds.gelu(inner), "bf16"), "linear_gelu")


@pytest.mark.parametrize("rows, columns", [(1, 1), (7, 65), (5, 127), (3, 200), (9, 1000), (2, 5000)])
@pytest.mark.parametrize("dtype", ("fp32", "fp16"))
def test_softmax(rows, columns, dtype, inputs):
    """One warp for a row up to several; the widest joins warps through shared memory."""
    x = inputs.normal(rows, columns, dtype=dtype, scale=3)
    got = kernels.softmax(x, target=TARGET)
    ran_cleanly(kernels.softmax)
    bounds.check(got, bounds.softmax(bounds.exact(x, dtype)), f"softmax {rows} x {columns} {dtype}")


def test_softmax_of_views(inputs):
    x = inputs.normal(33, 65)
    for name, view in inputs.views(x):
        bounds.check(kernels.softmax(view, target=TARGET), bounds.softmax(bounds.exact(x, "fp32")), name)
        ran_cleanly(kernels.softmax)


def test_layer_norm(inputs):
    x, w, b = inputs.normal(9, 200), inputs.normal(200), inputs.normal(200)
    e = lambda a: bounds.exact(a, "fp32")
    bounds.check(kernels.layer_norm(x, w, b, target=TARGET), bounds.layer_norm(e(x), e(w), e(b)), "layer_norm")
    ran_cleanly(kernels.layer_norm)


ATTENTION = [(1, 1, 1, 1, 1, 16), (1, 4, 2, 65, 127, 64), (1, 1, 1, 200, 7, 40), (1, 1, 1, 7, 200, 128), (1, 2, 1, 127, 65, 80)]


@pytest.mark.parametrize("causal", (False, True))
@pytest.mark.parametrize("b, h, hk, s, t, d", ATTENTION)
@pytest.mark.parametrize("dtype", ("fp16", "bf16"))
def test_attention(b, h, hk, s, t, d, causal, dtype, inputs):
    if dtype == "bf16" and d not in (40, 64):
        pytest.skip("the two types share all but the instruction's name")
    q, k, v = (inputs.normal(b, heads, n, d, dtype=dtype) for heads, n in ((h, s), (hk, t), (hk, t)))
    got = kernels.flash_attention(q, k, v, causal=causal, target=TARGET)
    ran_cleanly(kernels.flash_attention)
    for head in range(h):
        e = lambda a: bounds.exact(a[0, head // (h // hk) if a.shape[1] != h else head], dtype)
        expected = bounds.attention(e(q), e(k), e(v), causal, accumulate="mma")
        bounds.check(got[0, head], expected, f"attention head {head}")


def test_attention_of_swapped_axes(inputs):
    """[B, S, H, D] in memory, seen as [B, H, S, D]; keys stored with D outermost."""
    q, v = (inputs.normal(1, 70, 2, 64, dtype="fp16").swapaxes(1, 2) for _ in range(2))
    k = np.ascontiguousarray(inputs.normal(1, 2, 64, 70, dtype="fp16")).swapaxes(2, 3)
    got = kernels.flash_attention(q, k, v, target=TARGET)
    ran_cleanly(kernels.flash_attention)
    for head in range(2):
        e = lambda a: bounds.exact(a[0, head], "fp16")
        bounds.check(got[0, head], bounds.attention(e(q), e(k), e(v), accumulate="mma"), f"head {head}")


def test_a_function_of_several_kernels(inputs):
    @tsr.function
    def f(x, y):
        return tsr.softmax(x + y, dim=-1) * 2.0

    x, y = inputs.normal(9, 77), inputs.normal(9, 77)
    e = lambda a: bounds.exact(a, "fp32")
    bounds.check(f(x, y, target=TARGET), bounds.softmax(e(x) + e(y)) * 2.0, "function")


@tsr.kernel
def prints(X: Tensor["N"], Y: Out["N"]):
    for n in tsr.grid(tsr.tile(N, 32)):
        print("x", X[n])
        Y[n] = X[n]


def test_what_cannot_be_done_is_said_at_the_line(inputs):
    a = inputs.normal(4, 4)
    with pytest.raises(tsr.CompileError, match=r"test_ptx.py:\d+:9: error: not yet: print on a GPU"):
        prints(a[0], target="sm_80")
    with pytest.raises(tsr.ArgumentError, match="the simulator runs it on arrays in host memory(.|\n)*fix:  target=\"sim:sm_80\""):
        kernels.softmax(a, target="sm_80")


def test_without_its_barriers_the_simulator_objects(inputs):
    """What `ran_cleanly` is worth: the same kernel with the barriers cut out has races."""
    a, b = inputs.normal(70, 130, dtype="fp16"), inputs.normal(130, 40, dtype="fp16")
    kernels.gemm(a, b, target=TARGET)
    version = kernels.gemm._versions[kernels.gemm.last_spec.key]
    ptx = "\n".join(line for line in version.ptx.splitlines() if "bar.sync" not in line and "barrier.sync" not in line)
    assert ptx != version.ptx
    broken = version.with_ptx(ptx)
    with pytest.raises(tsr.RunError, match="race"):
        broken(a, b)
    findings = broken.last_reports[0].errors
    product = next(i for i, line in enumerate(inspect.getsource(sys.modules[kernels.gemm.__module__]).splitlines(), 1) if "tsr.mma(A" in line)
    assert any(f"gemm.py:{product}" in str(finding["source"]) for finding in findings), findings
