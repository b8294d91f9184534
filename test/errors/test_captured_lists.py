"""A list from outside: the fix is the tuple at the line that assigns the list, or one that is made before the def.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import importlib.util
import re

import numpy as np
import pytest
import tessera as tsr
from tessera.source import without_colour

BODY = '''import numpy as np
import tessera as tsr
from tessera import Tensor
{lines}

@tsr.function
def f(x: Tensor["N"]):
    return x * W[0] + x * W[-1]
'''
X = np.arange(5, dtype=np.float32)


def load(text: str, folder):
    path = folder / "lists.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(f"lists_{abs(hash(text))}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("lines, fix", [
    ("W = [0.5, -1.0]", "W = (0.5, -1.0)  # line 4"),
    ("W = [1e-3, 2,]", "W = (1e-3, 2)  # line 4"),
    ("W = [ 2.0 ]", "W = (2.0,)  # line 4"),
    ("W = [1.0,\n     2.0]", "W = (1.0, 2.0)  # line 4"),
    ("W = list(range(3))", "W = tuple(W)  # before the def"),
    ("W = [1.0]\nW.append(2.0)", "W = tuple(W)  # before the def"),
    ("W = [1.0, 4.0]\nW[0] = 1.0", "W = tuple(W)  # before the def"),
    ("W = [1.0]\nW += [2.0]", "W = tuple(W)  # before the def"),
])
@pytest.mark.parametrize("colour", ["NO_COLOR", "FORCE_COLOR"])
def test_fix(lines, fix, colour, tmp_path, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv(colour, "1")
    text = BODY.format(lines=lines)
    module = load(text, tmp_path)
    with pytest.raises(tsr.CompileError, match="'W' is a list; from outside") as refused:
        module.f(X)
    said = without_colour(str(refused.value))
    assert said.endswith(f" fix:  {fix}\n"), said
    line, place = fix.split("  # ")[0], re.search(r"# line (\d+)", fix)
    begin = int(place[1]) - 1 if place else 0
    rows = text.split("\n")
    if place:
        rows[begin:begin + len(lines.split("\n"))] = [line]
    else:
        rows.insert(rows.index("@tsr.function"), line)
    np.testing.assert_array_equal(load("\n".join(rows), tmp_path).f(X), X * np.float32(module.W[0]) + X * np.float32(module.W[-1]))


def test_of_an_enclosing_function(tmp_path):
    module = load('''import tessera as tsr
from tessera import Tensor


def made():
    W = [1.0, 2.0]

    @tsr.function
    def f(x: Tensor["N"]):
        return x * W[1]

    return f
''', tmp_path)
    with pytest.raises(tsr.CompileError, match=r"fix:  W = \(1.0, 2.0\)  # line 6\n"):
        module.made()(X)


def test_a_list_that_no_tuple_replaces(tmp_path):
    with pytest.raises(tsr.CompileError) as refused:
        load(BODY.format(lines="W = [object(), 1]"), tmp_path).f(X)
    assert "fix:  W = tuple" not in str(refused.value)
