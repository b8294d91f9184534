"""How programs are dealt out: persistent grids, groups, parts of K.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import numpy as np
import pytest
import tessera as tsr
from tessera import Out, Tensor, architectures, const, fp16, kernels, oracle


@tsr.kernel
def persistent_gemm(A: Tensor["M", "K"], B: Tensor["K", "N"], C: Out["M", "N"], GROUP: const = 1, BLOCK: const = 16):
    for m, n in tsr.grid(tsr.tile(M, BLOCK), tsr.tile(N, BLOCK), group=GROUP, persistent=True):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, 16):
            acc += A[m, k] @ B[k, n]
        C[m, n] = acc


def small_integers(*shape, seed=0):
    return np.random.default_rng((seed, *shape)).integers(-4, 5, shape).astype(np.float16)


@pytest.mark.parametrize("group", [1, 3])
@pytest.mark.parametrize("shape", [(20, 20, 40), (170, 250, 33), (16, 16, 0)], ids=str)
def test_every_program_runs_once(shape, group):
    """More programs than blocks (11 x 16 on 108), fewer, and loops without a turn."""
    m, n, k = shape
    a, b = small_integers(m, k), small_integers(k, n, seed=1)
    got = persistent_gemm(a, b, GROUP=group, target="sim:sm_80")
    assert np.array_equal(got, (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16))


def test_blocks_are_the_multiprocessors():
    version = persistent_gemm.compile(target="sm_80", A=fp16, B=fp16)
    assert architectures.arch("sm_80")["multiprocessors"] == 108
    assert "ceildiv 16), 108) block" in version.plan
    assert "scf.for" in persistent_gemm.inspect_ir("tile", target="sm_80", A=fp16, B=fp16)


def test_all_stages_and_the_proof():
    report = persistent_gemm.check(small_integers(40, 33), small_integers(33, 50), target="sm_80")
    assert "proved" in str(report) and "none" in str(report)


def test_a_schedule_makes_it_persistent():
    @tsr.kernel.schedule(target="sm_80", persistent=True)
    @tsr.kernel
    def twice(X: Tensor["N"], Y: Out["N"]):
        for n in tsr.grid(tsr.tile(N, 32)):
            Y[n] = X[n] * 2

    assert ", 108) block" in twice.compile(target="sm_80", X=fp16).plan
    assert "scf.for" not in twice.inspect_ir("tile", X=fp16)  # not on the CPU


@pytest.mark.parametrize("target", ["cpu", "sim:sm_80"])
def test_split_k(target):
    a, b = (np.random.default_rng(i).standard_normal(s).astype(np.float16) for i, s in enumerate(((17, 700), (700, 33))))
    got = kernels.gemm_split_k(a, b, PART=256, BLOCK_M=32, BLOCK_N=32, target=target)
    (bound,) = oracle.bounds(kernels.gemm, a, b, BLOCK_M=32, BLOCK_N=32)
    oracle.assert_within(got, bound)
    assert np.array_equal(got, kernels.gemm_split_k(a, b, PART=256, BLOCK_M=32, BLOCK_N=32, target=target))
