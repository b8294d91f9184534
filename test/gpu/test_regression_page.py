"""benchmarks/gpu_regression.py: what counts as worse, and its page.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import importlib.util
import json
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def regression(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    spec = importlib.util.spec_from_file_location("gpu_regression", ROOT / "benchmarks/gpu_regression.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "RECORDS", tmp_path / "records.jsonl")
    monkeypatch.setattr(module, "tool", lambda: ("ptxas", "13.0"))
    return module


def figures(registers=100, spills=0, instructions=2000):
    return {"gemm sm_80": {"registers": registers, "spills": spills, "instructions": instructions, "ptx_ms": 50.0}}


def test_worse(regression):
    assert regression.worse(figures(105, 0, 2100), figures()) == []
    assert regression.worse(figures(106), figures()) == ["gemm sm_80: registers 100 -> 106"]
    assert regression.worse(figures(spills=4), figures()) == ["gemm sm_80: spills 0 -> 4"]
    assert regression.worse(figures(instructions="not measured"), figures()) == []
    assert regression.worse(figures(), {}) == []


def test_a_worse_figure_needs_a_note(regression, monkeypatch, capsys):
    def run(found, *words):
        monkeypatch.setattr(regression, "measure", lambda *_: found)
        monkeypatch.setattr(sys, "argv", ["gpu_regression.py", *words])
        return regression.main()

    assert run(figures(), "--record") == 0 and run(figures(), "--check") == 0
    assert run(figures(registers=120), "--check") == 1 and "worse by more than 5 %: gemm sm_80: registers 100 -> 120" in capsys.readouterr().out
    assert run(figures(registers=120), "--record") == 1
    assert run(figures(registers=120), "--record", "another stage") == 0 and run(figures(registers=120), "--check") == 0
    page = regression.page(regression.records())
    assert "another stage" in page and "<svg" in page and json.loads(regression.RECORDS.read_text().splitlines()[-1])["note"] == "another stage"
