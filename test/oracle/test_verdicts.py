"""The three verdicts of `check`: right, wrong, and undecided, which is no pass.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import io
from contextlib import redirect_stdout

import numpy as np
import pytest

import tessera as tsr
from tessera import comparison, oracle

from verdicts import faults


@tsr.function
def written_out(x):
    centred = x - tsr.mean(x, dim=-1, keepdim=True)
    return centred * tsr.rsqrt(tsr.mean(centred * centred, dim=-1, keepdim=True) + 1e-5)


@tsr.function
def composed(x):
    return tsr.layer_norm(x, (x.shape[-1],))


@tsr.function
def squared(x):
    centred = x - tsr.mean(x, dim=-1, keepdim=True)
    return tsr.mean(centred**2, dim=-1)


@tsr.function
def one_pass(x):
    mean = tsr.mean(x, dim=-1)
    return tsr.sqrt(tsr.mean(x * x, dim=-1) - mean * mean)


@tsr.function
def spread(x):
    return tsr.var(x, dim=-1)


@tsr.function
def root(x):
    return x * tsr.rsqrt(tsr.mean(x * x, dim=-1, keepdim=True) + 1e-6)


def rows(mean: float, deviation: float, shape=(8, 64), seed=0):
    return (np.random.default_rng(seed).standard_normal(shape) * deviation + mean).astype(np.float32)


def judged(fn, x, **words):
    with redirect_stdout(io.StringIO()):
        return fn.check(x, **words)


@pytest.mark.parametrize("wrong", [42.0, np.nan])
def test_an_infinite_bound_passes_nothing(wrong):
    """Rows whose mean is a million times their deviation: fp32 does not know the result, so nothing is right."""
    x = rows(1e4, 0.01, (4, 512))
    with pytest.raises(tsr.CheckError) as error:
        judged(written_out, x, reference=lambda x: np.full(x.shape, wrong))
    assert not error.value.report


def test_undecided_is_shown_and_raised():
    x = rows(1e4, 0.01, (4, 512))
    with pytest.raises(tsr.UndecidedError, match="could not be judged") as error:
        judged(written_out, x)
    report = str(error.value.report)
    assert "UNDECIDED" in report and "test_verdicts.py:" in report and not error.value.report
    assert isinstance(error.value, tsr.CheckError)


@pytest.mark.parametrize("fn,mean,deviation", [
    (written_out, 100.0, 0.1), (composed, 100.0, 0.1), (squared, 300.0, 0.1), (spread, 300.0, 0.1), (root, 1e4, 1.0), (one_pass, 10.0, 1.0),
    (written_out, 1e4, 1.0), (composed, 1e4, 1.0)])
def test_bounds_of_norms_and_variances_decide(fn, mean, deviation):
    """How far the mean is off is one unknown per row, which cancels in the sum of squares."""
    assert judged(fn, rows(mean, deviation))


@pytest.mark.parametrize("fn", [written_out, composed, squared, spread])
def test_a_bound_that_knows_no_correlation_would_be_larger(fn):
    """Of a variance: at most the square of what the mean may be off, and what the squares and their sum may be off."""
    x = rows(100.0, 0.1, (4, 256))
    (_, bound), = oracle.bounds(fn, x)
    off = 256 / 2 * 2.0**-24 * 101
    variance = 0.01
    alone = (off / 0.1 + (off**2 + 256 * 2.0**-23 * variance) / variance) * 4 if fn in (written_out, composed) else (off**2 + 256 * 2.0**-22 * variance) * 2
    assert np.isfinite(bound).all() and bound.max() <= alone


def test_a_sum_of_squares_is_not_negative():
    """Where the mean may be off by more than the deviation, the root of the variance still has a bound."""
    (_, bound), = oracle.bounds(written_out, rows(1e4, 0.01, (2, 256)))
    assert np.isfinite(bound).all()


@pytest.mark.parametrize("fn", [written_out, composed, squared, spread, root])
def test_planted_faults_are_refused(fn):
    """500 of them at finite bounds, together; `python test/oracle/verdicts.py` plants them in random programs."""
    random = np.random.default_rng(1)
    for seed in range(25):
        (exact, bound), = oracle.bounds(fn, rows(0.5, 1.0, (5, 33), seed))
        assert comparison.within("result", exact, exact, bound) is None
        for name, bad in faults(exact, bound, random).items():
            found = comparison.within("result", bad, exact, bound)
            assert found is not None and not found.undecided, name


def test_integers_are_undecided_where_a_rounding_tips_them():
    got, exact = np.array([3, 5]), np.array([3, 4])
    assert comparison.within("i", got, exact, np.array([np.inf, 0.0])).undecided is False
    assert comparison.within("i", got, exact, np.array([0.0, np.inf])).undecided
    assert comparison.within("i", exact, exact, np.array([np.inf, np.inf])) is None


def test_a_bound_above_the_largest_result_decides_nothing():
    exact = np.array([1.0, -2.0])
    assert comparison.within("x", exact + 0.1, exact, np.array([0.2, 0.2])) is None
    assert comparison.within("x", exact + 0.1, exact, np.array([0.2, 2.5])).undecided
    assert not comparison.within("x", exact + 3.0, exact, np.array([0.2, 2.5])).undecided


def test_a_notebook_shows_the_table_once(capsys):
    """`check` prints it; what a cell returns is shown as well."""
    report = composed.check(rows(0.0, 1.0))
    assert capsys.readouterr().out.count("cpu (compiled)") == 1
    assert repr(report) == "<check of function composed for cpu: right; print it for the table>" and "cpu (compiled)" in str(report)


@tsr.function
def moved(m, g):
    return m * 0.9 + g * 0.1


def test_a_literal_counts_as_it_was_written():
    """0.9 is rounded to fp32 by us and not by the reference: that is no mistake of the kernel."""
    m, g = np.random.default_rng(3).standard_normal((2, 4000)).astype(np.float32)
    assert moved.check(m, g, reference=lambda m, g: m * 0.9 + g * 0.1, show=False)
    with pytest.raises(tsr.CheckError):
        moved.check(m, g, reference=lambda m, g: m * 0.9000001 + g * 0.1, show=False)


def test_a_reference_of_complex_numbers_is_refused():
    m = np.ones(4, np.float32)
    with pytest.raises(tsr.ArgumentError, match="the reference gives complex128, not numbers to compare with"):
        moved.check(m, m, reference=lambda m, g: m * 0.9 + g * 0.1 + 5j, show=False)


@pytest.mark.parametrize("size", [2**39, 2**53, 2**62, -2**63])
def test_ints_are_compared_before_they_are_rounded(size):
    """2^62 and 2^62 + 1 are one float64: a reference that was off by one passed."""
    @tsr.function
    def add(x, y):
        return x + y

    x, y = np.array([size, 1]), np.array([0, 1])
    add.check(x, y, reference=lambda x, y: x + y, show=False)
    with pytest.raises(tsr.CheckError, match="off by 1"):
        add.check(x, y, reference=lambda x, y: x + y + np.array([1, 0]), show=False)


def test_a_bound_as_large_as_the_result_decides_nothing():
    """A reference of zeros passed for a result of ones whose bound is one."""
    @tsr.function
    def stepped(x):
        return tsr.where(x * 0.1 * 10.0 >= 1.0, 1.0, 0.0)

    stepped.check(np.ones(4, np.float32), show=False)  # equal is right, whatever the bound
    with pytest.raises(tsr.CheckError):
        stepped.check(np.ones(4, np.float32), reference=lambda x: np.array([0.0, 0.0, 0.0, 1.0]), show=False)


def test_torch_tensors_of_eight_bits_are_compared():
    torch = pytest.importorskip("torch")

    @tsr.kernel
    def narrowed(X: tsr.Tensor["N"], Y: tsr.Out["N", tsr.fp8_e4m3]):
        for n in tsr.grid(tsr.tile(N, 16)):
            Y[n] = X[n]

    x = torch.tensor([0.0, 1.0, -1.5, 96.0])
    narrowed.check(x, reference=lambda X: X, show=False)
    with pytest.raises(tsr.CheckError, match="off by 1"):
        narrowed.check(x, reference=lambda X: X + 1, show=False)
