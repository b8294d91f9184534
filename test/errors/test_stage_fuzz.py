"""Damaged stage texts are compiled or refused at a line: a sample of tools/fuzz/stage-fuzz, with a fixed seed.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FUZZER = Path(os.environ.get("TESSERA_BIN", ROOT / "build/release/bin")) / "stage-fuzz"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stages")
    subprocess.run([sys.executable, ROOT / "tools/fuzz/stage-corpus.py", folder, "--small"], check=True)
    return sorted(str(path) for path in folder.iterdir())


def run(*words):
    if not FUZZER.exists():
        pytest.skip("stage-fuzz is not built")
    return subprocess.run([str(FUZZER), *words], capture_output=True, text=True)


def test_whole_texts_compile(corpus):
    done = run("--replay", *corpus)
    assert done.returncode == 0 and f" {len(corpus)} compiled, 0 refused" in done.stdout, done.stdout


def test_damaged_texts_are_compiled_or_refused(corpus):
    done = run("--count", "300", "--seed", "23", *corpus)
    assert done.returncode == 0, done.stdout
    assert " 0 crashed, 0 hung, 0 over memory" in done.stdout and " 0 refused without a line" in done.stdout
