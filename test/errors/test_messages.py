# Compares the errors of message_cases.py, as whole text, with expected/.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""TESSERA_UPDATE=1 rewrites the expected texts; read each one before committing it."""
import importlib.util
import os
import re
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from message_cases import CASES, HEAD  # noqa: E402
from test_blind import COMPILER_TEXT, split  # noqa: E402

# Where nothing sensible can be pasted.
WITHOUT_FIX = {"syntax.tessera", "function-arms-differ"}


def provoke(case, folder):
    """The text of the error that the case raises, with file names only."""
    import tessera as tsr

    is_file = case.name.endswith(".tessera")
    path = folder / ("prog.tessera" if is_file else "prog.py")
    path.write_text(case.program.lstrip("\n") if is_file
                    else HEAD + case.program.lstrip("\n"))
    call = folder / "app.py"
    call.write_text(case.call + "\n")
    try:
        if is_file:
            loaded = tsr.load_file(str(path))
            getattr(loaded, case.call).compile(target="cpu")
        else:
            spec = importlib.util.spec_from_file_location("messages_prog", path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            names = dict(vars(module), __name__="messages_app")
            exec(compile(call.read_text(), str(call), "exec"), names)
    except tsr.TesseraError as error:
        return str(error).replace(str(folder) + "/", "")
    return ""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_message(case, tmp_path, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    text = provoke(case, tmp_path)
    expected = HERE / "expected" / f"{case.name}.txt"
    if os.environ.get("TESSERA_UPDATE"):
        expected.write_text(text)
    assert text == expected.read_text()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_expected_text_is_good(case):
    """File, line, column, source, caret; a fix unless there is none to give."""
    text = (HERE / "expected" / f"{case.name}.txt").read_text()
    header, column, _, fixes = split(text)
    assert header and header["file"] in ("prog.py", "prog.tessera", "app.py")
    assert column is not None, "no caret"
    # Wide characters aside, the caret stands where the header says.
    assert header["col"] == str(column)
    line = re.search(rf"^\s*{header['line']} \| (.*)$", text, re.MULTILINE)
    program = case.program.lstrip("\n")
    whole = {"app.py": case.call, "prog.tessera": program,
             "prog.py": HEAD + program}[header["file"]]
    assert line[1] == whole.splitlines()[int(header["line"]) - 1]
    assert bool(fixes) != (case.name in WITHOUT_FIX), fixes
    # llvm is the name of a stage there.
    assert not COMPILER_TEXT.search(text.replace(" and llvm", ""))


def test_there_are_56():
    assert len({case.name for case in CASES}) == len(CASES) >= 56
    files = {path.stem for path in (HERE / "expected").glob("*.txt")}
    assert files == {case.name for case in CASES}, "stale expected texts"


@pytest.mark.parametrize("name", ["dims-in-one-string", "shapes-disagree", "output-overlaps-input"])
def test_colours_change_nothing_else(name, tmp_path, monkeypatch):
    """In a colour terminal each line is there: the note "called here" was lost."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    text = provoke(next(case for case in CASES if case.name == name), tmp_path)
    assert "\x1b[" in text
    assert re.sub("\x1b\\[[0-9;]*m", "", text) == (HERE / "expected" / f"{name}.txt").read_text()
