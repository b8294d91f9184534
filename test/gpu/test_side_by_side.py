"""benchmarks/gpu_triton.py: one row of it, both sides compiled, run on the simulator and right.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import importlib
import pathlib
import sys

import pytest

BENCHMARKS = pathlib.Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def side_by_side(monkeypatch, tmp_path):
    pytest.importorskip("triton", reason="triton is not installed (pip install triton==3.9.0)")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    before = set(sys.modules)
    yield importlib.import_module("gpu_triton")
    for name in set(sys.modules) - before:
        if name.startswith("gpu_triton"):
            del sys.modules[name]


def test_a_product(side_by_side):
    row = side_by_side.configs.ROWS["matmul 128x64x32"]
    side_by_side.configs.ROWS["small"] = dict(row, M=128, N=128, K=64)
    found = side_by_side.compare("small", "sm_80", rounds=0)
    ours, theirs = found["ours"], found["theirs"]
    assert found["mma ours"] == found["mma theirs"] > 0
    assert ours["error"] < 1e-3 and theirs["error"] < 1e-3
    assert ours["coalescing"] >= 0.95 and ours["bank_conflicts"] == 0
    assert found["shared"] <= side_by_side.FLOORS["shared"]
    assert found["instructions"] <= side_by_side.FLOORS["instructions"]
    assert found["to ptx"] == found["to cubin"] == "not measured"


def test_wrong_results_are_seen(side_by_side):
    """The comparison would notice: the error of something else is large."""
    row = side_by_side.Row(dict(side_by_side.configs.ROWS["softmax n1024"], M=4, programs=2))
    assert row.error(row.right * 1.01) > 5e-3
    assert row.measure_theirs("sm_80")["error"] < 1e-6
