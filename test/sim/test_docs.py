# docs/simulator.md is up to date, and its example runs.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest

from conftest import TOOL
from tessera.sim._native import library, library_path, take_text

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


@pytest.fixture
def documents(monkeypatch):
    """tools/generate-docs.py, with the tools and the Python package of this source tree."""
    if not TOOL.exists():
        pytest.skip(f"{TOOL} is not built")
    for name, value in (("PYTHONPATH", ROOT / "python"), ("TESSERA_SIM_LIBRARY", library_path)):
        monkeypatch.setenv(name, str(value))
    spec = importlib.util.spec_from_file_location("generate_docs", ROOT / "tools" / "generate-docs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.BIN = TOOL.parent
    return module


def test_the_wrong_pipeline_prints_what_its_page_shows(documents):
    page = (ROOT / "docs" / "simulator-hopper.md").read_text()
    assert documents.with_outputs(page) == page, "regenerate: tools/generate-docs.py"
    changed = page.replace("2 tiles: 0 of", "2 tiles: 1 of")
    assert changed != page == documents.with_outputs(changed)


def test_the_wrong_pipeline_names_its_lines():
    """The lines that the page speaks of, and its picture."""
    page = (ROOT / "docs" / "simulator-hopper.md").read_text()
    lines = (ROOT / "examples" / "hopper" / "gemm.ptx").read_text().splitlines()
    for number, what in re.findall(r"[Ll]ine (\d+) is the `(\w+)`", page):
        assert what in lines[int(number) - 1]
    assert "try_wait" in lines[int(re.search(r"in line (\d+), and it did return", page)[1]) - 1]
    assert "cp.async.bulk" in lines[int(re.search(r"copy of line (\d+) is still", page)[1]) - 1]
    assert (ROOT / "docs" / re.search(r"\]\((images/.*?)\)", page)[1]).exists()
