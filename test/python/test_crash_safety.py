"""Mistakes of the compiler: one line, a file that repeats it, and a process that goes on.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import tessera as tsr
from tessera import __main__ as command
from tessera import report

STAGES = ("graph", "sched", "tile-value", "tile", "target")
KINDS = {"segv": "signal 11 (Segmentation fault)", "abort": "signal 6 (Aborted)", "fatal": "LLVM: a mistake was asked for",
         "silent": "it failed without saying why",
         "wrong-ir": ("it made wrong IR: ", "signal 6 (Aborted)")}  # some verifiers rely on the end of a block


def tool(name: str) -> str:
    found = shutil.which(name, path=os.pathsep.join([os.environ.get("TESSERA_BIN", ""), os.environ["PATH"]]))
    if not found:
        pytest.skip(f"{name} is not built")
    return found


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where reproducers go."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(report.tempfile, "tempdir", str(tmp_path))
    before = tsr.knobs._knobs["verify"].value
    tsr.knobs.verify = True  # or nobody looks at the IR
    yield tmp_path
    tsr.knobs._knobs["verify"].value = before


def scaled(x):
    secret = x * 3.0
    return secret + 1.0


def with_mistake(fn, mistake: str):
    options = fn._options
    fn._options = lambda target: {**options(target), "mistake": mistake}
    return fn


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stage", STAGES)
def test_a_mistake_in_a_pass(folder, kind, stage):
    fn = with_mistake(tsr.function(scaled), f"{kind}@{stage}")
    with pytest.raises(tsr.InternalError) as error:
        fn(np.full(4, 7.25, np.float32))
    first, second, *_ = str(error.value).splitlines()
    assert first.removeprefix("internal error in pass mistake: ").startswith(KINDS[kind]), first
    path = pathlib.Path(re.fullmatch(r" reproducer: (.*)", second)[1])
    assert path.parent == folder and path.stat().st_mode & 0o777 == 0o600
    text = path.read_text()
    assert first in text and "secret = x * 3.0" in text and "--target cpu" in text
    assert "7.25" not in text, "the caller's data"
    # The process goes on, and the program is compiled where nothing goes wrong.
    assert tsr.function(scaled)(np.ones(4, np.float32))[0] == 4


def test_a_reproducer_is_what_tesserac_reads(folder):
    fn = with_mistake(tsr.function(scaled), "silent@target")
    with pytest.raises(tsr.InternalError) as error:
        fn(np.ones(4, np.float32))
    path = re.search(r"reproducer: (.*)", str(error.value))[1]
    done = subprocess.run([tool("tesserac"), path, "-o", str(folder / "out.o"), "--target", "cpu"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (folder / "out.o").read_bytes()[:4] == b"\x7fELF"


def test_tesserac(folder):
    program = folder / "p.tessera"
    program.write_text('@tsr.function\ndef f(x: Tensor["N"]):\n    return x + 1.0\n')
    done = subprocess.run([tool("tesserac"), str(program), "-o", str(folder / "out.o"), "--mistake", "segv@tile"], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.startswith("internal error in pass mistake: signal 11"), done.stderr
    assert done.stderr.count("\n") == 3 and "PLEASE submit" not in done.stderr


def test_the_users_errors_are_no_internal_errors(folder):
    @tsr.function
    def wrong(x):
        return x @ 3

    with pytest.raises(tsr.CompileError):
        wrong(np.ones(4, np.float32))
    assert not list(folder.glob("*.mlir"))


def test_signals_are_the_applications_again():
    text = """
import faulthandler, signal
import numpy as np
import tessera as tsr
seen = []
signal.signal(signal.SIGFPE, lambda *_: seen.append(1))
def f(x):
    return x + 1.0
tsr.function(f)(np.ones(4, np.float32))
signal.raise_signal(signal.SIGFPE)
assert seen == [1]
signal.raise_signal(signal.SIGSEGV)
"""
    path = pathlib.Path(os.environ.get("TMPDIR", "/tmp"), f"signals-{os.getpid()}.py")
    path.write_text(text)
    try:
        done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True,
                              env={**os.environ, "TESSERA_CACHE": "off", "PYTHONPATH": str(pathlib.Path(tsr.__file__).parents[1])})
    finally:
        path.unlink()
    assert done.returncode == -11, done.stderr


def test_report(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    assert report.newest() is None
    with pytest.raises(tsr.InternalError):
        with_mistake(tsr.function(scaled), "fatal@sched")(np.full(4, 7.25, np.float32))
    assert command.main(["report"]) == 0
    assert "tessera-report.txt" in capsys.readouterr().out
    text = (folder / "tessera-report.txt").read_text()
    for part in ("tessera ", "LLVM 22", "TESSERA_VERIFY=True", "== doctor", "secret = x * 3.0", "gir.", "internal error in pass mistake"):
        assert part in text, part
    assert "7.25" not in text
    assert command.main(["report", __file__]) == 2
    assert command.main(["report", "-o", "-"]) == 0 and "== versions" in capsys.readouterr().out


def test_cache_command(tmp_path, capsys):
    before = tsr.knobs._knobs["cache"].value
    tsr.knobs.cache = str(tmp_path / "cache")
    try:
        from tessera import disk

        disk.store().write("a" * 64, b"k", {"value": 1})
        assert command.main(["cache"]) == 0 and "1 entries" in capsys.readouterr().out
        assert command.main(["cache", "--clear"]) == 0 and command.main(["cache"]) == 0
        assert "0 entries" in capsys.readouterr().out
        assert command.main(["cache", "--what"]) == 2
    finally:
        tsr.knobs._knobs["cache"].value = before
