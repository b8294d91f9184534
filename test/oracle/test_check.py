"""`fn.check`, `fn.trace` and `tessera check`: what they accept, and what they say of something wrong.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import tessera as tsr
from tessera import Out, Tensor, const, kernels, oracle

STAGES = ["graph", "sched", "tile-value", "tile", "cpu (compiled)"]


@tsr.kernel
def softmax(X: Tensor["M", "N"], Y: Out["M", "N"], BN: const = 16):
    for m in tsr.grid(tsr.tile(M, 4)):
        top, den = tsr.full(tsr.lowest, m), tsr.zeros(m)
        for n in tsr.tile(N, BN):
            new = tsr.maximum(top, tsr.max(X[m, n], n))
            den = den * tsr.exp(top - new) + tsr.sum(tsr.exp(X[m, n] - new), n)
            top = new
        for n in tsr.tile(N, BN):
            Y[m, n] = tsr.exp(X[m, n] - top) / den


@tsr.kernel
def forgets_to_rescale(X: Tensor["M", "N"], Y: Out["M", "N"], BN: const = 16):
    for m in tsr.grid(tsr.tile(M, 4)):
        top, den = tsr.full(tsr.lowest, m), tsr.zeros(m)
        for n in tsr.tile(N, BN):
            new = tsr.maximum(top, tsr.max(X[m, n], n))
            top = new
            den = den * tsr.exp(top - new) + tsr.sum(tsr.exp(X[m, n] - new), n)
        for n in tsr.tile(N, BN):
            Y[m, n] = tsr.exp(X[m, n] - top) / den


def reference(X):
    p = np.exp(X - X.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("shape", [(7, 37), (1, 1), (4, 16), (0, 5)])
def test_a_right_kernel_passes(shape, dtype, random, capsys):
    x = random.standard_normal(shape).astype(dtype)
    report = softmax.check(x, reference=reference)
    assert [row.stage for row in report.rows] == [*STAGES, "against reference"]
    assert all(row.ring == "equal" for row in report.rows[:4])
    assert "cpu (compiled)" in capsys.readouterr().out


def test_a_wrong_algorithm_is_named(random):
    """Every stage agrees; the reference does not."""
    x = random.standard_normal((7, 37)).astype(np.float32)
    forgets_to_rescale.check(x, show=False)
    with pytest.raises(tsr.CheckError, match=r"differs from reference, its reference: Y\[\d, \d+\] is .*, expected .*, off by .*, bound .*elements; all stages agree") as caught:
        forgets_to_rescale.check(x, reference=reference, show=False)
    assert isinstance(caught.value, AssertionError)
    assert [row.stage for row in caught.value.report.rows if row.wrong] == ["against reference"]


def test_a_reference_of_ours(random):
    @tsr.function
    def plain(X: Tensor["M", "N"]):
        return tsr.softmax(X)

    x = random.standard_normal((7, 37)).astype(np.float32)
    softmax.check(x, reference=plain, show=False)
    with pytest.raises(tsr.CheckError):
        forgets_to_rescale.check(x, reference=plain, show=False)


def test_a_reference_that_shares_one_name(random):
    @tsr.kernel
    def leaky(A: Tensor["M", "N"], s: Tensor["M"], C: Out["M", "N"]):
        for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 16)):
            C[m, n] = tsr.where(A[m, n] > 0, A[m, n], A[m, n] * s[m])

    x, s = (random.standard_normal(shape).astype(np.float32) for shape in ((7, 37), 7))
    leaky.check(x, s, reference=lambda a, s: np.where(a > 0, a, a * s[:, None]), show=False)
    leaky.check(x, s, reference=lambda A, s, slope=1.0: np.where(A > 0, A, A * s[:, None] * slope), show=False)
    with pytest.raises(tsr.CheckError):
        leaky.check(x, s, reference=lambda a, s: np.where(a > 0, a, a + s[:, None]), show=False)


def test_in_place_and_scalars(random):
    @tsr.kernel
    def axpy(X: Tensor["N"], Y: tsr.InOut["N"], a):
        for n in tsr.grid(tsr.tile(N, 64)):
            Y[n] = a * X[n] + Y[n]

    x, y = random.standard_normal((2, 100)).astype(np.float32)
    before = y.copy()
    report = axpy.check(x, y, 2.5, show=False)
    assert report and (y == before).all()


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    softmax.check(torch.randn(5, 20), reference=reference, show=False)
    softmax.check(torch.randn(5, 20).to(torch.bfloat16), show=False)


def test_a_wrong_stage_is_named(random, monkeypatch):
    """The machine code gives another result: that row is wrong, and the element is named."""
    from tessera import oracle

    real = oracle._compiled

    def wrong(*arguments):
        result = real(*arguments)
        result[2, 3] += 1e-3
        return result

    monkeypatch.setattr(oracle, "_compiled", wrong)
    with pytest.raises(tsr.CheckError, match=r"test_check.py:\d+:\d+: error: softmax is wrong at cpu \(compiled\): Y\[2, 3\] is .*; 1 of 259 elements\n"):
        softmax.check(random.standard_normal((7, 37)).astype(np.float32), show=False)


def test_what_cannot_be_checked(random):
    x = random.standard_normal((7, 37)).astype(np.float32)
    with pytest.raises(TypeError, match="cudatile:sm_90 cannot be executed here"):
        softmax.check(x, target="cudatile:sm_90")
    with pytest.raises(TypeError, match="reference is a function, not int"):
        softmax.check(x, reference=3)


def test_a_gpu_has_its_columns(random):
    pytest.importorskip("tessera.sim._native", reason="the simulator is not built", exc_type=ImportError)
    a, b = random.standard_normal((40, 33)).astype(np.float16), random.standard_normal((33, 50)).astype(np.float16)
    report = kernels.gemm.check(a, b, target="sm_80", reference=lambda A, B: A @ B, show=False)
    row = report.rows[5]
    assert row.stage == "sm_80 (simulated)" and row.races == "none" and row.conflicts == "0"
    assert row.registers.startswith("not measured: ") or int(row.registers) > 32 and row.spills == "0"


# ---- trace -----------------------------------------------------------------------------------------


def test_trace_has_names_and_lines(random):
    @tsr.function
    def scaled(x: Tensor["M", "N"]):
        top = tsr.max(x, dim=1, keepdim=True)
        e = tsr.exp(x - top)
        return e / tsr.sum(e, dim=1, keepdim=True)

    x = random.standard_normal((3, 5)).astype(np.float32)
    trace = scaled.trace(x)
    np.testing.assert_array_equal(trace["top"].array.reshape(3), x.max(1))
    assert all("test_check.py:" in value.place for value in trace)
    with pytest.raises(AttributeError, match="nothing at stage graph of scaled is called 'tops'; there are .*top"):
        trace["tops"]
    assert "equal" in trace.compare(scaled.trace(x, stage="sched"))
    y = x.copy()
    y[1, 2] += 1
    assert "differ: e[1, " in trace.compare(scaled.trace(y))


def test_trace_is_saved(random, tmp_path):
    x = random.standard_normal((3, 5)).astype(np.float32)
    trace = tsr.function(lambda_free).trace(x)
    trace.save(tmp_path / "t.npz")
    with np.load(tmp_path / "t.npz") as saved:
        assert len(saved.files) == len(trace)


def lambda_free(x):
    return tsr.exp(x) + 1


# ---- the command -----------------------------------------------------------------------------------

FILE = """
import tessera as tsr
from tessera import Out, Tensor


@tsr.function
def scaled(x: Tensor["M", "N"], s: Tensor["N"]):
    return tsr.softmax(x * s)
"""


def command(*words):
    return subprocess.run([sys.executable, "-m", "tessera", *map(str, words)], capture_output=True, text=True)


def test_the_command(tmp_path):
    file = tmp_path / "model.py"
    file.write_text(FILE)
    done = command("check", file, "--dims", "M=65,N=9", "--dtype", "bf16", "--seed", "3")
    assert done.returncode == 0, done.stderr
    assert "function scaled for cpu" in done.stdout and "1 of 1: all stages and the machine code agree" in done.stdout
    assert command("check", tmp_path / "nothing.py").returncode == 2
    done = command("check", f"{file}:scale")
    assert done.returncode == 2 and "has no function 'scale'; it has scaled" in done.stderr
    done = command("bisect", f"{file}:scaled", "--folder", tmp_path / "b")
    assert done.returncode == 0 and "no pass changes the result" in done.stdout


def test_no_pass_computes_with_constants_that_the_ring_knows_otherwise():
    @tsr.function
    def folded(x):
        a = tsr.any(x, dim=-1).to(tsr.fp32)
        c = tsr.sqrt(tsr.full_like(x, 0.1) * 0.3) + tsr.exp(tsr.zeros_like(x) + 0.7)
        return tsr.where(a >= -2.0, tsr.sum(x * c, dim=-1), -1.0), tsr.full_like(tsr.sum(x), 2).silu()

    x = np.ones((3, 4), np.float32)
    assert all(row.ring == "equal" for row in folded.check(x, show=False).rows if row.stage in oracle.INTERPRETED)
    assert "no pass changes the result" in str(folded.bisect(x))
