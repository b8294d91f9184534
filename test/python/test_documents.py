"""What the documents show works: README's Python blocks, its error, and the examples run as they stand.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def run(path, folder):
    return subprocess.run([sys.executable, str(path)], cwd=folder, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_example_runs(example, tmp_path):
    result = run(example, tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout


@pytest.mark.parametrize("number,block", enumerate(re.findall(r"```python\n(.*?)```", README, re.S)), ids=lambda v: str(v) if isinstance(v, int) else "")
def test_readme_block_runs(number, block, tmp_path):
    path = tmp_path / f"block{number}.py"
    path.write_text(block)
    result = run(path, tmp_path)
    assert result.returncode == 0, result.stderr


def test_readme_error_is_what_the_compiler_prints(tmp_path):
    """The mistake of the README (A[k, m]) in the README's own kernel gives the README's own message."""
    program = re.search(r"```python\n(.*?)```", README, re.S).group(1)
    shown = re.search(r"```\n(gemm\.py:.*?)```", README, re.S).group(1)
    assert "A[m, k]" in program
    path = tmp_path / "gemm.py"
    path.write_text(program.replace("A[m, k]", "A[k, m]"))
    result = run(path, tmp_path)
    assert result.returncode != 0
    assert shown.strip() in result.stderr
