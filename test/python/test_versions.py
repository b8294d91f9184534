"""The versions of one function are bounded: the one that was not used for longest goes, and its machine code with it.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import gc
import weakref

import numpy as np
import pytest

import tessera as tsr
from tessera import Tensor, const


@tsr.function
def shifted(x, by: const = 0):
    return x + by


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(tsr.knobs, "versions", 4)
    shifted.changed()
    yield
    shifted.changed()


def test_the_oldest_goes(few):
    x = np.arange(3, dtype=np.float32)
    assert (shifted(x, 0) == x).all()
    first = weakref.ref(next(iter(shifted._versions.values())))
    for by in range(1, 12):
        for _ in range(3):  # directly, too
            assert (shifted(x, by) == x + by).all()
        assert len(shifted._versions) <= 4 and len(shifted._direct) <= 4
    shifted._forget()
    gc.collect()
    assert first() is None
    assert (shifted(x, 0) == x).all()


def test_the_last_used_stay(few):
    x = np.arange(3, dtype=np.float32)
    shifted(x, 0)
    kept = next(iter(shifted._versions.values()))
    for by in range(1, 9):
        shifted._forget()  # so that each call is looked up
        shifted(x, by)
        shifted._forget()
        shifted(x, 0)
    assert kept in shifted._versions.values()


def test_the_last_call_is_the_last_call():
    """A direct call, then one of `check`, which is none: what is looked at is the latter."""
    @tsr.function
    def doubled(x: Tensor["N"]):
        return x + x

    x = np.ones(37, np.float32)
    for _ in range(3):
        doubled(x)
    assert doubled.last_spec.target == "cpu"
    assert doubled.check(x, target="sm_80", show=False).rows[-1].stage == "sm_80 (simulated)"
    assert doubled.last_spec.target == "sim:sm_80"
    doubled(x)
    assert doubled.last_spec.target == "cpu"
