"""Kernels of a plan are compiled when they are first launched.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math
import threading

import numpy as np

import tessera as tsr
from tessera import Tensor, machine_code, oracle


def attention(q: Tensor["B", "H", "S", "D"], k: Tensor["B", "H", "S", "D"], v: Tensor["B", "H", "S", "D"]):
    scale = 1.0 / math.sqrt(q.shape[-1])
    return tsr.matmul(tsr.softmax(tsr.matmul(q, k.transpose(-2, -1)) * scale, dim=-1), v)


def expected(q):
    q = q.astype(np.float64)
    scores = q @ np.swapaxes(q, -2, -1) / math.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ q


def check(fn, depth):
    q = np.random.default_rng(depth).standard_normal((1, 2, 17, depth)).astype(np.float32)
    exact, error = oracle.bounds(fn, q, q, q)[0]
    oracle.assert_within(fn(q, q, q), (exact, error))
    # The reference is that of the formula, too: it differs by less than what is allowed.
    oracle.assert_within(expected(q), (exact, error))


def test_only_what_is_launched_is_compiled():
    fn = tsr.function(attention)
    check(fn, 64)
    (version,) = fn._versions.values()
    assert version.artifact.loaded == ["attention_0_d64"]
    assert "@attention_0_d128" in version.plan
    check(fn, 100)  # a call that is direct compiles, too
    assert version.artifact.loaded == ["attention_0_d128", "attention_0_d64"]
    assert any(name == "llvm @attention_0_d128" for name, _ in version.artifact.times)


def test_a_shrunk_version_compiles_the_rest():
    fn = tsr.function(attention)
    check(fn, 64)
    (version,) = fn._versions.values()
    before = version.artifact.object
    version.artifact.shrink()
    check(fn, 128)
    check(fn, 64)
    assert version.artifact.object == before


def test_old_versions_are_shrunk():
    for _ in range(2 * machine_code.MAX_LIVE):
        tsr.function(attention).compile()
    assert len(machine_code.live) <= machine_code.MAX_LIVE


def test_two_threads_launch_a_new_kernel():
    fn = tsr.function(attention)
    fn.compile()
    errors = []

    def work(depth):
        try:
            for _ in range(3):
                check(fn, depth)
        except BaseException as error:  # noqa: BLE001 - reported by the main thread
            errors.append(error)

    threads = [threading.Thread(target=work, args=(depth,)) for depth in (64, 64, 128, 64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors
