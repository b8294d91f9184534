# A hundred adversarial runs; adversarial.py does as many as you like.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pathlib
import subprocess
import sys

import pytest


@pytest.mark.timeout(900)
def test_adversarial():
    script = pathlib.Path(__file__).with_name("adversarial.py")
    result = subprocess.run([sys.executable, str(script), "--runs", "100", "--first-seed", "7", "--only",
                             "cuda,triton"], capture_output=True, text=True)
    print(result.stdout)
    if "missing" in result.stdout and " runs (" not in result.stdout:
        pytest.skip("neither nvcc nor triton is installed")
    assert result.returncode == 0 and "100 runs" in result.stdout, result.stdout + result.stderr
