# docs/simulator.md is up to date, and its example runs.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os
import pathlib
import re
import subprocess
import sys

import pytest

from tessera.sim._native import library, take_text

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "simulator.md").read_text()


def test_support_table_is_the_decoders():
    table = take_text(library.tessera_sim_support_table())
    assert PAGE.endswith(table), "regenerate: tessera-sim table >> docs/simulator.md"


def test_triton_example_runs(tmp_path):
    pytest.importorskip("triton", reason="triton is not installed")
    code = re.search(r"```python\n(import torch.*?)```", PAGE, re.S)[1]
    script = tmp_path / "example.py"
    script.write_text(f"import sys; sys.path.insert(0, {str(ROOT / 'test' / 'sim')!r}); import conftest\n"
                      + code + "\nassert x.max() > 1\nprint('done')\n")
    result = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert result.stdout == "done\n", result.stderr


RUN_ALL = """import sys
sys.path.insert(0, {!r})
import conftest
from tessera.sim.run import main
for script in sys.argv[1:]:
    print(script, flush=True)
    code = main([script, "--arch", "sm_80", "--check"])
    if code:
        sys.exit(code)
"""


def test_kernels_written_from_the_page():
    pytest.importorskip("triton", reason="triton is not installed")
    scripts = sorted(str(p) for p in (ROOT / "test" / "sim" / "new_user").glob("*.py"))
    assert len(scripts) >= 5
    # Without fusion: see "Real defects found" of the page.
    result = subprocess.run([sys.executable, "-c", RUN_ALL.format(str(ROOT / "test" / "sim")), *scripts],
                            capture_output=True, text=True, env={**os.environ, "TRITON_DEFAULT_FP_FUSION": "0"})
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.split() == [word for script in scripts for word in (script, "ok")], result.stdout


def test_fused_butterfly_is_reported():
    """Triton fuses the first step of a butterfly, so copies of one sum differ."""
    pytest.importorskip("triton", reason="triton is not installed")
    script = ROOT / "test" / "sim" / "new_user" / "batched_matvec.py"
    code = "import sys; sys.path.insert(0, {!r}); import conftest; from tessera.sim.run import main; " \
           "sys.exit(main([{!r}, '--arch', 'sm_80', '--check']))".format(str(ROOT / "test" / "sim"), str(script))
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                            env={**os.environ, "TRITON_DEFAULT_FP_FUSION": "1"})
    assert "write-after-write race on shared address" in result.stderr
