# PTX printed by MLIR parses; build_other_corpus.py does more producers.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import argparse
import subprocess

import pytest

import build_other_corpus
from conftest import TOOL


def test_mlir(tmp_path):
    files = build_other_corpus.mlir(argparse.Namespace(out=tmp_path))
    if files is None or not TOOL.exists():
        pytest.skip("mlir-opt-22, mlir-translate-22, llc-22 or tessera-sim is missing")
    assert len(files) == 4
    result = subprocess.run([str(TOOL), "check", *map(str, files)], capture_output=True, text=True)
    assert result.returncode == 0 and "4 files" in result.stdout, result.stdout


def test_unknown_instruction_is_named(tmp_path):
    if not TOOL.exists():
        pytest.skip(f"{TOOL} is not built")
    bad = tmp_path / "bad.ptx"
    bad.write_text(".version 8.5\n.target sm_80\n.address_size 64\n.entry k() {\n  .reg .b32 %r1;\n  frobnicate.u32 %r1;\n}\n")
    result = subprocess.run([str(TOOL), "check", str(bad)], capture_output=True, text=True)
    assert result.returncode == 1 and "frobnicate" in result.stdout and ":6:3" in result.stdout, result.stdout
