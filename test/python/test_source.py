"""A function is what it was when Python defined it, whatever happens to its file later.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import importlib
import linecache
import os
import sys
import time

import numpy as np
import pytest

import tessera as tsr

ADDS = "import tessera as tsr\n\n\n@tsr.function\ndef f(x):\n    return tsr.maximum(x + 1.0, x)\n"
DOUBLES = "import tessera as tsr\n\n\n@tsr.function\ndef f(x):\n    return x * 2.0\n"
X = np.array([1.0, 5.0], np.float32)


def write(path, text: str) -> None:
    """As an editor does, with a time of change that Python notices."""
    path.write_text(text)
    later = time.time_ns() + 2 * 10**9
    os.utime(path, ns=(later, later))


@pytest.fixture
def module(tmp_path, monkeypatch):
    path = tmp_path / "edited_module.py"
    path.write_text(ADDS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    sys.modules.pop("edited_module", None)
    yield importlib.import_module("edited_module"), path
    sys.modules.pop("edited_module", None)


@pytest.mark.parametrize("text", [DOUBLES, "# a line more\n" + ADDS.replace("+ 1", "- 1"), "", "x = 1\n"])
def test_a_file_edited_after_import_changes_nothing(module, text):
    made, path = module
    write(path, text)
    linecache.checkcache()
    assert made.f(X).tolist() == [2.0, 6.0]
    assert "gir.add" in made.f.inspect_ir("graph")


def test_a_reload_is_the_new_function(module):
    made, path = module
    old = made.f
    assert old(X).tolist() == [2.0, 6.0]
    write(path, DOUBLES)
    assert importlib.reload(made).f(X).tolist() == [2.0, 10.0]
    assert old(X).tolist() == [2.0, 6.0]


def test_a_cell_that_is_run_again_is_the_new_function():
    """As notebooks do it: each run of a cell has a name of its own in linecache."""
    made = []
    for number, text in enumerate((ADDS, DOUBLES)):
        name = f"<cell {number}>"
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        scope: dict = {"__name__": "__main__"}
        exec(compile(text, name, "exec"), scope)
        made.append(scope["f"])
    assert made[0](X).tolist() == [2.0, 6.0] and made[1](X).tolist() == [2.0, 10.0]


def test_text_that_is_not_what_python_runs_is_refused(tmp_path):
    """The code of one text, and a file that says something else by the time of the decorator: also if only an operator differs."""
    path = tmp_path / "other.py"
    for text in (DOUBLES, ADDS.replace("+", "-"), ADDS.replace("1.0", "3.0"), ADDS.replace("def f", "def g")):
        code = compile(ADDS, str(path), "exec")
        write(path, text)
        scope: dict = {"__name__": "other"}
        exec(code, scope)
        with pytest.raises(tsr.CompileError, match="is not the 'f' that Python runs"):
            scope["f"](X)


def test_text_in_classes_and_functions_is_verified(tmp_path):
    """Closures, methods, private names, constants of all kinds: what Python runs is recognised."""
    path = tmp_path / "nested.py"
    path.write_text('''
from __future__ import annotations
import tessera as tsr

def outer(scale):
    class Model:
        __bias = 0.5
        def __init__(self):
            self.__scale = 2.0

        @tsr.function
        def run(self, x):
            """With a docstring."""
            return x * self.__scale * scale + float("inf") * 0 if False else x * self.__scale * scale

    @tsr.function
    def inner(x):
        return x * scale

    return Model().run, inner
''')
    scope: dict = {"__name__": "nested"}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    run, inner = scope["outer"](3.0)
    assert inner(X).tolist() == [3.0, 15.0]
    assert "self.__scale" in run.__func__.source.text  # verified


def test_a_plain_function_is_read_when_it_becomes_ours(module):
    made, path = module
    scope: dict = {"__name__": "late"}
    late = path.with_name("late.py")
    late.write_text("def g(x):\n    return x + 1.0\n")
    exec(compile(late.read_text(), str(late), "exec"), scope)
    write(late, "def g(x):\n    return x - 1.0\n")
    with pytest.raises(tsr.CompileError, match="late.py:1: error: the text here is not the 'g' that Python runs"):
        tsr.function(scope["g"])(X)
