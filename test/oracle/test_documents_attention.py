"""The flash attention of seeds/002_8acf386061046730.txt, lines 428-656: every stage agrees on it, and `check` refuses it.

Transcribed op by op; SSA is repaired where the document assigns a name twice or uses a loop's name after the loop (each query
block has its own state and is stored inside). What is left is the document's algorithm, and its mistakes:
a key block that a query block does not see at all sums to 0, by which its probabilities are divided; `%row_sum` is taken of exp(s - m_global) and multiplied by `%beta` once more, and the probabilities are divided by
`%row_sum` before they are accumulated and by `%l_state` afterwards.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import numpy as np
import pytest

import tessera as tsr
from tessera import Out, Tensor, const


@tsr.kernel
def documents_attention(Q: Tensor["H", "S", "D"], K: Tensor["H", "S", "D"], V: Tensor["H", "S", "D"], O: Out["H", "S", "D"],
                        BLOCK: const = 16):
    for h, m in tsr.grid(H, tsr.tile(S, BLOCK)):
        q = Q[h, m, :]
        m_state = tsr.full(tsr.lowest, m)
        l_state = tsr.zeros(m)
        acc = tsr.zeros(m, D)
        for n in tsr.tile(S, BLOCK):
            scores = q @ K[h, n, :].T
            scaled_scores = scores * 0.125
            masked_scores = tsr.where(m.index >= n.index, scaled_scores, -tsr.inf)
            m_new = tsr.max(masked_scores, n)
            m_global = tsr.maximum(m_state, m_new)
            alpha = tsr.exp(m_state - m_global)
            beta = tsr.exp(m_new - m_global)
            exp_scores = tsr.exp(masked_scores - m_global)
            row_sum = tsr.sum(exp_scores, n)
            l_new = tsr.fma(alpha, l_state, beta * row_sum)
            acc = acc * alpha
            prob = exp_scores / row_sum
            acc = acc + prob.to(V.dtype) @ V[h, n, :]
            m_state = m_global
            l_state = l_new
        O[h, m, :] = acc / l_state


@tsr.kernel
def repaired_attention(Q: Tensor["H", "S", "D"], K: Tensor["H", "S", "D"], V: Tensor["H", "S", "D"], O: Out["H", "S", "D"],
                       BLOCK: const = 16):
    for h, m in tsr.grid(H, tsr.tile(S, BLOCK)):
        q = Q[h, m, :]
        m_state = tsr.full(tsr.lowest, m)
        l_state = tsr.zeros(m)
        acc = tsr.zeros(m, D)
        for n in tsr.tile(S, BLOCK):
            scores = q @ K[h, n, :].T
            scaled_scores = scores * 0.125
            masked_scores = tsr.where(m.index >= n.index, scaled_scores, -tsr.inf)
            m_global = tsr.maximum(m_state, tsr.max(masked_scores, n))
            alpha = tsr.exp(m_state - m_global)
            exp_scores = tsr.exp(masked_scores - m_global)
            l_state = tsr.fma(alpha, l_state, tsr.sum(exp_scores, n))
            acc = acc * alpha + exp_scores.to(V.dtype) @ V[h, n, :]
            m_state = m_global
        O[h, m, :] = acc / l_state


def attention(Q, K, V):
    """What it is meant to be, in float64."""
    s = Q @ K.swapaxes(1, 2) * 0.125
    s = np.where(np.tri(s.shape[1], dtype=bool), s, -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True) @ V


def inputs(S: int):
    random = np.random.default_rng(S)
    return [random.standard_normal((2, S, 64)).astype(np.float32) for _ in range(3)]


@pytest.mark.parametrize("S, first", [(16, "off by .*, bound "), (33, "nan, expected"), (48, "nan, expected")])
def test_the_documents_kernel_is_refused(S, first):
    """One block: divided twice. Several: 0 / 0 in the blocks above the diagonal."""
    wanted = rf"documents_attention differs from attention, its reference: O\[0, \d+, \d+\] is .*{first}.*all stages agree, so it is the algorithm"
    with pytest.raises(tsr.CheckError, match=wanted) as caught:
        documents_attention.check(*inputs(S), reference=attention, show=False)
    report = caught.value.report
    assert [row.stage for row in report.rows if row.wrong] == ["against attention"]
    assert "test_documents_attention.py:" in report.first_wrong.wrong


@pytest.mark.parametrize("S", [1, 33, 48])
def test_the_repaired_one_passes(S):
    report = repaired_attention.check(*inputs(S), reference=attention, show=False)
    assert report and [row.stage for row in report.rows] == ["graph", "sched", "tile-value", "tile", "cpu (compiled)", "against attention"]
