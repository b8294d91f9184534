# A seeded choice of mutants; `mutants.py` runs them all. All of Hopper's.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pathlib
import shutil
import subprocess
import sys

import pytest


@pytest.mark.skipif(not shutil.which("nvcc"), reason="nvcc is not on PATH")
def test_mutants():
    script = pathlib.Path(__file__).with_name("mutants.py")
    result = subprocess.run([sys.executable, str(script), "--seed", "3", "--count", "300"],
                            capture_output=True, text=True)
    print(result.stdout)
    assert result.returncode == 0, result.stdout + result.stderr


def test_hopper_mutants():
    script = pathlib.Path(__file__).with_name("hopper_mutants.py")
    result = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    print(result.stdout)
    assert result.returncode == 0, result.stdout + result.stderr


def test_pipeline_mutants():
    """Of our kernels; those of Triton are run apart."""
    script = pathlib.Path(__file__).with_name("pipeline_mutants.py")
    result = subprocess.run([sys.executable, str(script), "--ours", "--seed", "2", "--count", "60", "--tries", "4"],
                            capture_output=True, text=True)
    print(result.stdout)
    assert result.returncode == 0, result.stdout + result.stderr
