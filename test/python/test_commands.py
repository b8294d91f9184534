"""The command `tessera`, the examples, the knobs and the types, as installed or in the source tree.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import ast
import json
import os
import pathlib
import subprocess
import sys

import pytest

import tessera as tsr
from tessera import __main__ as command
from tessera import doctor, language

PACKAGE = pathlib.Path(tsr.__file__).parent


def test_doctor(capsys):
    assert command.main(["doctor", "--json"]) == 0
    findings = {f["name"]: f for f in json.loads(capsys.readouterr().out)}
    assert findings["cpu"]["state"] == findings["compiler"]["state"] == "ok"
    assert set(findings) == {"cpu", "threads", "compiler", "torch", "ptxas", "tileiras", "gpu", "cache"}
    assert command.main(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert "\033[" not in shown  # not a terminal
    assert command.main(["doctor", "--loud"]) == 2


def test_doctor_says_what_is_broken(capsys, monkeypatch):
    monkeypatch.setattr(doctor, "compiler", lambda: doctor.Finding("compiler", "broken", "x + y is wrong"))
    assert command.main(["doctor"]) == 1
    assert "broken   x + y is wrong" in capsys.readouterr().out


def test_doctor_sees_hidden_features():
    environment = dict(os.environ, TESSERA_HIDE_CPU_FEATURES="avx512f", PYTHONPATH=str(PACKAGE.parent))
    run = subprocess.run([sys.executable, "-m", "tessera", "doctor", "--json"], env=environment, capture_output=True, text=True)
    (cpu,) = [f for f in json.loads(run.stdout) if f["name"] == "cpu"]
    assert "avx512" not in cpu["text"]


def test_colours(monkeypatch):
    from tessera.knobs import colour

    class Terminal:
        def isatty(self):
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    assert colour(Terminal())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not colour(Terminal())


def test_unknown_words(capsys):
    assert command.main(["doctr"]) == 2
    assert "did you mean doctor?" in capsys.readouterr().err
    assert command.main(["examples", "gem"]) == 2
    assert "did you mean gemm?" in capsys.readouterr().err


def test_examples(capsys):
    assert command.main(["examples"]) == 0
    assert "gemm" in capsys.readouterr().out
    assert command.main(["examples", "vector-add"]) == 0
    assert "agree with NumPy" in capsys.readouterr().out


def test_knobs_are_typed():
    knobs = type(tsr.knobs)
    assert set(knobs.__annotations__) == set(knobs._knobs)
    types = {"bool": bool, "int": int, "str": str}
    for name, kind in knobs.__annotations__.items():
        assert isinstance(getattr(tsr.knobs, name), types[kind]), name


def test_the_number_of_threads_is_a_knob():
    before = tsr.num_threads()
    try:
        tsr.knobs.num_threads = 1
        assert tsr.num_threads() == 1
    finally:
        tsr.knobs.num_threads = None
    assert tsr.num_threads() == before


def test_stubs_name_what_is_there():
    def names(stub):
        tree = ast.parse((PACKAGE / stub).read_text())
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                yield node.name
            elif isinstance(node, ast.AnnAssign):
                yield node.target.id

    assert set(names("language.pyi")) - {"__all__"} == set(language.__all__)
    from tessera import _core, _runtime

    for module, stub in ((_core, "_core.pyi"), (_runtime, "_runtime.pyi")):
        there = {name for name in vars(module) if not name.startswith("__")}
        assert set(names(stub)) == there, stub


def test_types_check(tmp_path):
    pytest.importorskip("mypy")
    program = tmp_path / "typed.py"
    program.write_text(
        "import numpy as np\nimport tessera as tsr\n\n\n@tsr.function\ndef add(x, y):  # type: ignore[no-untyped-def]\n    return x + y\n\n\n"
        "threads: int = tsr.knobs.num_threads\nshown: str = add.inspect_ir('graph')\nadd(np.ones(3), np.ones(3), out=None)\n"
        "wrong: int = add.explain()\n"
    )
    run = subprocess.run([sys.executable, "-m", "mypy", "--no-incremental", str(program)], env=dict(os.environ, MYPYPATH=str(PACKAGE.parent)),
                         capture_output=True, text=True)
    ours = [line for line in run.stdout.splitlines() if "typed.py" in line]
    assert len(ours) == 1 and "typed.py:13" in ours[0] and '"str"' in ours[0], run.stdout
