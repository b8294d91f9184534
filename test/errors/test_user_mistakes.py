# What a user can do wrong around a program is never an internal error of ours.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import importlib.util
import warnings

import numpy as np
import pytest
import tessera as tsr

LONG = "f" * 400
HEAD = "import tessera as tsr\nfrom tessera import Tensor, Out, const\n\n"


def load(text, folder, name="f"):
    path = folder / "prog.py"
    path.write_text(HEAD + text)
    spec = importlib.util.spec_from_file_location(f"mistakes_{abs(hash(text))}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


ADD = '@tsr.function\ndef {name}(x: Tensor["M", "N"]):\n    return x + 1.0\n'
X = np.ones((4, 8), np.float32)


@pytest.fixture
def blocked(tmp_path):
    """A folder that nobody can make, root neither."""
    (tmp_path / "file").write_text("")
    return tmp_path / "file" / "folder"


def test_aot_into_a_folder_that_cannot_be_written(tmp_path, blocked):
    f = load(ADD.format(name="f"), tmp_path)
    with pytest.raises(tsr.TesseraError, match="cannot make the folder|cannot write") as refused:
        f.aot(str(blocked), targets=["cpu:avx2"])
    assert isinstance(refused.value, OSError) and "fix:" in str(refused.value)


def test_dump_into_a_folder_that_cannot_be_written(tmp_path, blocked, monkeypatch):
    f = load(ADD.format(name="f"), tmp_path)
    monkeypatch.setattr(tsr.knobs, "dump", str(blocked))
    with pytest.raises(tsr.TesseraError) as refused:
        f(X)
    assert not isinstance(refused.value, tsr.InternalError) and str(blocked) in str(refused.value)


def test_a_cache_that_cannot_be_written_is_not_used(tmp_path, blocked, monkeypatch):
    monkeypatch.setattr(tsr.knobs, "cache", str(blocked))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(load(ADD.format(name="f"), tmp_path)(X), X + 1)


@pytest.mark.parametrize("text, name", [(ADD.format(name=LONG), LONG), (ADD.format(name="f").replace("x", LONG), "f"), (ADD.format(name="f").replace("M", LONG), "f")],
                         ids=["function", "parameter", "dim"])
def test_a_name_of_400_characters(text, name, tmp_path):
    with pytest.raises(tsr.CompileError, match="has 400 characters; one has at most 200"):
        load(text, tmp_path, name)(X)


def test_a_name_of_200_characters(tmp_path, monkeypatch):
    name = "f" * 200
    f = load(ADD.format(name=name), tmp_path, name)
    np.testing.assert_array_equal(f(X), X + 1)
    assert name in f.inspect_ir("tile")
    f.check(X)
    for ask in (lambda: f.aot(str(tmp_path / "out"), targets=["cpu:avx2"]), lambda: f.explain(), lambda: f.certificate(X)):
        try:
            ask()
        except tsr.TesseraError as error:
            assert not isinstance(error, tsr.InternalError), error
    monkeypatch.setattr(tsr.knobs, "dump", str(tmp_path / "dump"))
    g = load(ADD.format(name="g" * 200), tmp_path, "g" * 200)
    np.testing.assert_array_equal(g(X), X + 1)


def test_a_source_name_of_400_characters():
    f = tsr.compile_source("import tessera as tsr\n\n@tsr.function\ndef f(x):\n    return x + 1.0\n", "n" * 400).f
    np.testing.assert_array_equal(f(X), X + 1)


@pytest.mark.parametrize("text, arguments", [
    ("@tsr.function\ndef f(x, n):\n    return x + tsr.sum(tsr.zeros((n, n)))\n", (X, 2**62)),
    ("@tsr.function\ndef f(x, n):\n    return tsr.zeros((n * 4, n * 4))\n", (X, 2**62)),
    ("@tsr.function\ndef f(x):\n    return tsr.zeros((4611686018427387904, 4611686018427387904))\n", (X,)),
    ("@tsr.function\ndef f(x):\n    return tsr.zeros((4611686018427387904, 8))\n", (X,)),
    ("@tsr.function\ndef f(x):\n    return x.expand(4611686018427387904, 4, 8)\n", (X,)),
    ("@tsr.function\ndef f(x):\n    return tsr.sum(tsr.arange(4611686018427387904).unsqueeze(1) * tsr.arange(4611686018427387904))\n", (X,)),
    ("@tsr.function\ndef f(x, n):\n    return tsr.arange(n)\n", (X, 2**62)),
    ("@tsr.function\ndef f(x, n):\n    return x.expand(n, 4, 8)\n", (X, 2**62)),
    ('@tsr.kernel\ndef f(X: Tensor["M", "N"], Y: Out["M * 4611686018427387904", "N"]):\n    for m in tsr.grid(tsr.tile(M, 4)):\n        Y[m.start, 0] = 1.0\n', (X,)),
    ('@tsr.kernel\ndef f(X: Tensor["M", 8], Y: Out["M"]):\n    for m in tsr.grid(tsr.tile(M, 4611686018427387904)):\n        Y[m] = tsr.sum(X[m, :], dim=1)\n', (X,)),
    ('@tsr.kernel\ndef f(X: Tensor["M", 8], Y: Out["M"]):\n    for m in tsr.grid(tsr.tile(M, 4)):\n        a = tsr.arange(4611686018427387904)\n        Y[m] = tsr.sum(X[m, :], dim=1) + tsr.sum(a.to(tsr.fp32))\n', (X,)),
], ids=range(11))
def test_an_overflow_of_sizes(text, arguments, tmp_path):
    with pytest.raises((tsr.TesseraError, MemoryError)) as refused:
        load(text, tmp_path)(*arguments)
    assert not isinstance(refused.value, tsr.InternalError), refused.value


@pytest.mark.parametrize("stage", ["graph", "sched", "tile-value", "tile", "target"])
def test_an_edited_stage(stage, tmp_path):
    f = load(ADD.format(name="f"), tmp_path)
    f(X)
    text = f.inspect_ir(stage)
    lines = [line for line in text.splitlines() if " = " in line and "attributes" not in line]
    edits = [text.replace("f32", "f17"), text[:len(text) // 2], "", text.replace(lines[-1], "", 1), text.replace(lines[0], lines[0] + "\n" + lines[0], 1),
             text.replace("f32", "f16"), text.replace("f32", "i32"), text + text, text.replace("@f", "@g"), text.replace("1.0", "1.0e"), text.replace("add", "sub")]
    for edited in edits:
        try:
            version = f.resume(edited)
            version(X)
        except tsr.TesseraError as error:
            assert not isinstance(error, tsr.InternalError), f"{error}\n{edited}"


MORE = {
    "a tile beyond all bounds": (
        '@tsr.kernel\ndef f(x: Tensor["M", "N"], y: Out["M", "N"]):\n    for m, n in tsr.grid(tsr.tile(M, 1000000), tsr.tile(N, 1000000)):\n        y[m, n] = x[m, n] + 1\n',
        r"prog.py:7:19: error: a tile of 1000000 x 1000000 elements; it has at most 2\^24", "smaller tiles: tsr.tile(N, 64)"),
    "stages below none": (
        '@tsr.kernel\ndef f(x: Tensor["M", "N"], y: Out["M"]):\n    for m in tsr.grid(tsr.tile(M, 4)):\n        s = tsr.zeros(m)\n'
        "        for n in tsr.tile(N, 4, stages=-2):\n            s += tsr.sum(x[m, n], n)\n        y[m] = s\n", "prog.py:8:33: error: stages is 0 to 64, not -2", "stages=2"),
    "a long local name": (f"@tsr.function\ndef f(x):\n    {LONG} = x + 1\n    return {LONG}\n", "prog.py:6:5: error: the name f{20}... has 400 characters; one has at most 200", "f" * 20),
    "recursion": ("@tsr.function\ndef f(x, n: const = 3):\n    if n == 0:\n        return x\n    return x * f(x, n - 1)\n",
                  "prog.py:8:16: error: 'f' calls itself; recursion is not part of the language", "a loop, for i in range(n):, or a function for each step"),
    "a return after the grid": (
        '@tsr.kernel\ndef f(x: Tensor["M", "N"], y: Out["M", "N"]):\n    for m, n in tsr.grid(tsr.tile(M, 4), tsr.tile(N, 4)):\n        y[m, n] = x[m, n]\n    return y\n',
        "prog.py:8:5: error: a 'return' after the grid", "delete it: a call returns what the kernel writes"),
    "an index out of range": ("@tsr.function\ndef f(x: Tensor[4, 8]):\n    return x[0, 8]\n", "prog.py:6:17: error: index 8 is out of range: axis 1 of x has size 8", "x[0, -1]"),
    "an f-string": ('@tsr.function\ndef f(x):\n    print(f"mean {x.mean():.3f} of {{x}}")\n    return x\n', "prog.py:6:11: error: an f-string is not part", 'print("mean ", x.mean(), " of {x}")'),
    "a list comprehension": ("@tsr.function\ndef f(x):\n    rows = [x[i] * i for i in range(3)]\n    return tsr.stack(rows, dim=0)\n",
                             "prog.py:6:12: error: a list comprehension is not part", "rows = ()\n       for i in range(3):\n           rows = rows + (x[i] * i,)"),
}


@pytest.mark.parametrize("case", MORE)
def test_more_mistakes(case, tmp_path):
    text, message, fix = MORE[case]
    with pytest.raises(tsr.CompileError, match=message) as refused:
        load(text, tmp_path)(X)
    assert not isinstance(refused.value, tsr.InternalError)
    assert str(refused.value).split(" fix:  ")[1].rstrip() == fix


def test_arrays_that_disagree(tmp_path):
    f = load('@tsr.function\ndef f(x: Tensor["M", "N"], s: Tensor["M"]):\n    return x * s[:, None]\n', tmp_path)
    for s in (np.ones(3, np.float32), np.ones(5, np.float32)):
        with pytest.raises(tsr.ArgumentError, match=r"test_user_mistakes.py:\d+:18: error: .* disagree on M: 4 from x, \d from s(.|\n)*prog.py:5:28: s: Tensor") as refused:
            f(X, s)
        assert "fix:" not in str(refused.value)  # which of them is meant is not known


def test_an_edited_stage_that_cannot_be_read(tmp_path):
    f = load(ADD.format(name="f"), tmp_path)
    text = f.inspect_ir("tile-value", x=tsr.fp32)
    with pytest.raises(tsr.CompileError, match=r'there is no operation .arith.adddf.(.|\n)*fix:  .*arith.addf .*  # as inspect_ir\("tile-value"\) has it'):
        f.resume(text.replace("arith.addf", "arith.adddf", 1))
