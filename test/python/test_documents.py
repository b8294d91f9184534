"""What the documents show works: every Python block runs, errors and generated parts are what the tools print.

Blocks of one document run as one file, in order. Blocks marked ```py show other languages' code; ```c and ```plan of docs/abi.md run in
test/unit/runtime, those of docs/simulator.md in test/sim.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
BLOCK = re.compile(r"^```python\n(.*?)^```", re.S | re.M)
# What a document says stands above its code, in words.
PRELUDE = dict.fromkeys(("language.md", "gpu.md"), "import math\nimport tessera as tsr\nfrom tessera import Out, Tensor, const\n")
ELSEWHERE = {"simulator.md"}
DOCUMENTS = [page for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
             if page.name not in ELSEWHERE and BLOCK.search(page.read_text())]


def run(path, folder):
    return subprocess.run([sys.executable, str(path)], cwd=folder, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_example_runs(example, tmp_path):
    result = run(example, tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda p: p.name)
def test_code_blocks_run(page, tmp_path):
    text = page.read_text()
    # The source of the walkthrough is a .tessera file, shown by `cat`.
    blocks = [m[1] for m in BLOCK.finditer(text) if "<!-- output of: cat" not in text[:m.start()].rpartition("\n\n")[2]]
    program = tmp_path / "blocks.py"
    program.write_text(PRELUDE.get(page.name, "") + "\n".join(blocks))
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    result = run(program, tmp_path)
    assert result.returncode == 0, result.stderr


def test_readme_error_is_what_the_compiler_prints(tmp_path):
    """The mistake of the README (A[k, m]) in the README's own kernel gives the README's own message."""
    program = BLOCK.search(README)[1]
    shown = re.search(r"```\n(gemm\.py:.*?)```", README, re.S).group(1)
    assert "A[m, k]" in program
    path = tmp_path / "gemm.py"
    path.write_text(program.replace("A[m, k]", "A[k, m]"))
    result = run(path, tmp_path)
    assert result.returncode != 0
    assert shown.strip() in result.stderr


def generate(*arguments, root=ROOT):
    return subprocess.run([sys.executable, str(root / "tools/generate-docs.py"), *arguments], capture_output=True, text=True, timeout=300)


def test_generated_parts_are_up_to_date():
    result = generate("--check")
    assert result.returncode == 0, result.stderr


def test_a_stale_document_is_noticed(tmp_path):
    for part in ("tools", "docs", "examples", "compiler"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("*.cpp", "*.mlir"))
    page = tmp_path / "docs/walkthrough.md"
    page.write_text(page.read_text().replace("tile.program extents", "tile.program sizes"))
    reference = tmp_path / "docs/reference/gir.md"
    reference.write_text(reference.read_text() + "\n")
    os.environ.setdefault("TESSERA_BIN", str(ROOT / "build/release/bin"))
    result = generate("--check", root=tmp_path)
    assert result.returncode == 1
    assert "docs/walkthrough.md: stale" in result.stderr and "docs/reference/gir.md: stale" in result.stderr
