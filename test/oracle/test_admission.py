"""Every op has a reference, a bound, a rule of the generator and tests.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_op_admission():
    ran = subprocess.run([sys.executable, str(ROOT / "tools/op-admission.py"), "--check"], capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stdout + ran.stderr
