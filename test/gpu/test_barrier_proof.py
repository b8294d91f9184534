"""The barrier proof: what our passes make is proved, what is broken on purpose is refuted, and the simulator agrees.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import re

import barrier_mutants
import numpy as np
import pytest

import tessera as tsr
from tessera import Out, Tensor, const, fp16, kernels


@tsr.kernel
def product(A: Tensor["M", "K"], B: Tensor["K", "N"], C: Out["M", "N"], STAGES: const = 3):
    for m, n in tsr.grid(tsr.tile(M, 32), tsr.tile(N, 32)):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, 16, stages=STAGES):
            acc += A[m, k] @ B[k, n]
        C[m, n] = acc


def test_a_barrier_less_is_refuted_and_caught_at_the_line():
    """Of the usage guide: an edited Tile IR without one barrier. Both name the line of the product."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((40, 152), (152, 40)))
    subject = barrier_mutants.Subject("product", product, (a, b), a.astype(np.float64) @ b.astype(np.float64))
    assert not barrier_mutants.proved(subject, subject.text)
    assert not barrier_mutants.shown(subject, subject.text)
    lines = subject.text.split("\n")
    (barrier,) = [i for i, line in enumerate(lines) if re.match(r" *tile\.barrier\b", line)]
    place = re.search(r"test_barrier_proof\.py:\d+", lines[barrier])[0]
    edited = "\n".join(lines[:barrier] + lines[barrier + 1 :])
    with pytest.raises(tsr.CompileError) as refused:
        product.resume(edited, target="sm_80")
    said = str(refused.value)
    assert place in said and "there was no barrier since" in said
    assert re.search(r"turn +what happens +memory +line", said), said
    assert re.search(r"\d+ +read +[AB] slot \d|copy begins", said), said
    seen = barrier_mutants.shown(subject, edited)
    assert "race" in seen and place in seen, seen


@pytest.mark.parametrize("seed", range(2))
def test_a_sample_of_mutants(seed):
    """All of them: python test/gpu/barrier_mutants.py."""
    rows = barrier_mutants.run(sample=6, seed=seed)
    assert len(rows) == 6
    for row in rows:
        assert row["verdict"] in ("refuted", "equivalent"), row


def test_check_says_proved():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((33, 40)).astype(np.float16), rng.standard_normal((40, 33)).astype(np.float16)
    table = str(product.check(a, b, target="sm_80"))
    assert re.search(r"sm_80 \(simulated\) .* none +proved", table), table


@pytest.mark.parametrize("k", (1, 15, 16, 17, 33, 50, 100))
@pytest.mark.parametrize("stages", (1, 2, 3, 4))
def test_any_number_of_turns_on_the_simulator(stages, k):
    rng = np.random.default_rng(k)
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((33, k), (k, 40)))
    got = product(a, b, target="sim:sm_80", STAGES=stages)
    assert np.array_equal(got.astype(np.float64), a.astype(np.float64) @ b.astype(np.float64))
    report = product._versions[product.last_spec.key].last_reports[0]
    assert report.ok, report.text()


@tsr.kernel
def rows_kept(X: Tensor["M", 32], W: Tensor["N", 32], Y: Out["M", "N"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        x = X[m, :]
        for n in tsr.tile(N, 16):
            Y[m, n] = x @ W[n, :].T


@pytest.mark.parametrize("dtype", (np.float16, np.float32))
def test_an_operand_that_outlives_a_loop(dtype):
    """fp32 operands are read where they are multiplied: the loop's ring must not take their memory."""
    rng = np.random.default_rng(1)
    x, w = (rng.integers(-3, 4, shape).astype(dtype) for shape in ((20, 32), (50, 32)))
    got = rows_kept(x, w, target="sim:sm_80")
    assert np.array_equal(got.astype(np.float64), x.astype(np.float64) @ w.astype(np.float64).T)


@tsr.kernel
def product_before_a_pipeline(X: Tensor["K", "M"], W: Tensor["K", "N"], A: Tensor["M", "K"], B: Tensor["N", "K"], flag: tsr.i64, Y: Out["M", "N"], Z: Out["M", "K"]):
    for m in tsr.grid(tsr.tile(M, 32)):
        x, w = X[:, m].T, W[:, :]
        first = x @ w
        if flag > 1:
            z = x
        else:
            z = -x
        acc = tsr.zeros(m, N)
        for k in tsr.tile(K, 4):
            acc = tsr.mma(A[m, k], B[:, k].T, acc)
        Y[m, :] = acc + first
        Z[m, :] = z


def test_operands_that_are_read_late_before_a_pipeline():
    """fp32 operands are read where they are multiplied; the pipeline's first copies must not overwrite them (generator's seed 40228)."""
    make = lambda *shape, seed: np.random.default_rng(seed).integers(-3, 4, shape).astype(np.float32)  # noqa: E731
    x, w, a, b = make(16, 40, seed=1), make(16, 24, seed=2), make(40, 16, seed=3), make(24, 16, seed=4)
    y, z = product_before_a_pipeline(x, w, a, b, 2, target="sim:sm_80")
    assert np.array_equal(y, x.T @ w + a @ b.T) and np.array_equal(z, x.T)
