"""Programs that are too much: an error at a line within a second of CPU time and 512 MB, never a signal.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import pytest

import tessera as tsr

ONE = '@tsr.function\ndef f(x: Tensor["N"]):\n'
MANY = 10**6
DEEP = 10**4
MODULE = 'module attributes {tessera.stage = "graph", tessera.format = 2 : i64} {\n'


def calls(levels: int) -> str:
    """Each function calls the one before it ten times."""
    rows = [ONE.replace("f(", "f0(") + "    return x + 1.0\n"]
    rows += [ONE.replace("f(", f"f{i}(") + f"    return {' + '.join([f'f{i - 1}(x)'] * 10)}\n" for i in range(1, levels)]
    return "\n".join(rows)


TESSERA = {
    "statements": (lambda: ONE + "    y = x\n" + "    y = y + 1.0\n" * MANY + "    return y\n", "more than 20000 statements"),
    "statements in a line": (lambda: ONE + "    y = x" + "; y = y + 1.0" * MANY + "\n    return y\n", "more than 20000 statements"),
    "one sum": (lambda: ONE + "    return " + "x + " * MANY + "x\n", "nested more than 1000 levels"),
    "parentheses": (lambda: ONE + "    return " + "(" * DEEP + "x" + ")" * DEEP + "\n", "more than 200 brackets"),
    "calls in calls": (lambda: ONE + "    return " + "tsr.exp(" * DEEP + "x" + ")" * DEEP + "\n", "more than 200 brackets"),
    "lists in lists": (lambda: ONE + "    return " + "[" * DEEP + "x" + "]" * DEEP + "\n", "more than 200 brackets"),
    "minus": (lambda: ONE + "    return " + "-" * DEEP + "x\n", "nested more than 1000 levels"),
    "not": (lambda: ONE + "    return " + "not " * DEEP + "x\n", "nested more than 1000 levels"),
    "powers": (lambda: ONE + "    return " + "x ** " * DEEP + "x\n", "nested more than 1000 levels"),
    "attributes": (lambda: ONE + "    return x" + ".T" * DEEP + "\n", "nested more than 1000 levels"),
    "subscripts": (lambda: ONE + "    return x" + "[0]" * DEEP + "\n", "nested more than 1000 levels"),
    "if in if": (lambda: ONE + "".join(" " * (i + 4) + "if N > 1:\n" for i in range(1000)) + " " * 1004 + "y = x\n    return x\n", "more than 100 levels"),
    "else if": (lambda: ONE + "    if N > 1:\n        y = x\n" + "    elif N > 2:\n        y = x\n" * DEEP + "    return x\n", "nested more than 1000 levels"),
    "conditional": (lambda: ONE + "    return " + "x if True else " * DEEP + "x\n", "nested more than 1000 levels"),
    "comparisons": (lambda: ONE + "    return " + "x < " * MANY + "x\n", "more than 100 comparisons"),
    "parameters": (lambda: "@tsr.function\ndef f(" + ", ".join(f"x{i}" for i in range(DEEP)) + "):\n    return x0\n", "more than 1000 parameters"),
    "axes": (lambda: "@tsr.function\ndef f(x: Tensor[" + ", ".join(f'"d{i}"' for i in range(1000)) + "]):\n    return x\n", "at most 16 axes"),
    "elements": (lambda: ONE + "    y = (" + "1, " * MANY + ")\n    return x\n", "more than 4096 elements"),
    "arguments": (lambda: ONE + "    return tsr.cat([" + "x, " * MANY + "])\n", "more than 4096 elements"),
    "keywords": (lambda: ONE + "    return tsr.sum(x, " + ", ".join(f"a{i}=1" for i in range(DEEP)) + ")\n", "more than 4096 elements"),
    "functions": (lambda: "".join(ONE.replace("f(", f"f{i}(") + "    return x\n" for i in range(DEEP)), "more than 1000 functions"),
    "calls that multiply": (lambda: calls(8), "more than 20000 statements, calls and unrolled loops counted"),
    "unrolled loop": (lambda: '@tsr.kernel\ndef f(X: Tensor["M"], Y: Out["M"]):\n    for m in tsr.grid(tsr.tile(M, 16)):\n        y = X[m]\n'
                      "        for i in tsr.unroll(10**6):\n            y = y + 1.0\n        Y[m] = y\n", "at most 4096"),
    "digits": (lambda: ONE + "    return x + " + "9" * MANY + "\n", "more than 4300 digits"),
    "a power": (lambda: ONE + "    return x * (9 ** 9 ** 9 ** 9)\n", "does not fit in 64 bits"),
    "a shift": (lambda: ONE + "    return x * (1 << 10**9)\n", "does not fit in 64 bits"),
    "a size": (lambda: "@tsr.function\ndef f(x: Tensor[99999999999999999999]):\n    return x\n", "does not fit 64 bits"),
    "a size in quotes": (lambda: '@tsr.function\ndef f(x: Tensor["99999999999999999999"]):\n    return x\n', "does not fit 64 bits"),
    "a long text": (lambda: ONE + '    """' + "a" * (40 << 20) + '"""\n    return x\n', "megabytes; a program has at most 16"),
    "a long name": (lambda: ONE + "    return " + "x" * MANY + "\n", "has 1000000 characters; one has at most 200"),
}
MLIR = {
    "ops": (lambda: MODULE + "func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {\n" + "".join(f"  %y{i} = gir.exp %x : tensor<8xf32>\n" for i in range(MANY))
            + "  return %x : tensor<8xf32>\n}\n}\n", "more than 500000 ops"),
    "ops in a line": (lambda: MODULE + "func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {" + "".join(f"%y{i} = gir.exp %x : tensor<8xf32> " for i in range(MANY))
                      + "return %x : tensor<8xf32> } }\n", "more than 500000 ops"),
    "modules": (lambda: "module {\n" * DEEP + "}\n" * DEEP, "nested more than 200 levels"),
    "regions": (lambda: "func.func @f(%c: i1) {\n" + "scf.if %c {\n" * DEEP + "}\n" * DEEP + "return\n}\n", "nested more than 200 levels"),
    "attributes": (lambda: "module attributes {a = " + "[" * DEEP + "]" * DEEP + "} {}\n", "nested more than 200 levels"),
    "types": (lambda: "func.func private @f(" + "tuple<" * DEEP + "i32" + ">" * DEEP + ")\n", "nested more than 200 levels"),
    "maps": (lambda: "#m = affine_map<(d0) -> (" + "(" * DEEP + "d0" + "+1)" * DEEP + ")>\nmodule {}\n", "nested more than 200 levels"),
    "locations": (lambda: "module {} loc(" + "callsite(" * DEEP + '"a" at "b"' + ' at "b")' * DEEP + ")\n", "nested more than 200 levels"),
    "elements": (lambda: "module attributes {a = dense<\"0x00\"> : tensor<1099511627776xf32>} {}\n", "invalid"),
    "a position": (lambda: "func.func @f(%s: !llvm.struct<(i32, i32)>) {\n  %x = llvm.extractvalue %s[1099511627776] : !llvm.struct<(i32, i32)>\n  return\n}\n",
                   "has at most 32 bits"),
    "a long text": (lambda: "module {}\n" + "// " + "a" * (70 << 20) + "\n", "megabytes; a stage has at most 64"),
}


def tool(name: str) -> str:
    found = shutil.which(name, path=os.pathsep.join([os.environ.get("TESSERA_BIN", ""), os.environ["PATH"]]))
    if not found:
        pytest.skip(f"{name} is not built")
    return found


# A process of its own starts the program: Linux counts what the starting process had in memory as the program's.
LAUNCH = """
import os, resource, subprocess, sys
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
process = subprocess.Popen(sys.argv[2:], stdout=subprocess.DEVNULL)
_, status, used = os.wait4(process.pid, 0)
with open(sys.argv[1], "w") as file:
    print(os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss >> 10, file=file)
"""


def run(words: list, **more) -> tuple[int, str, float, int]:
    """Exit code, what it said, seconds of CPU, megabytes."""
    with tempfile.NamedTemporaryFile("r") as figures:
        done = subprocess.run([sys.executable, "-S", "-c", LAUNCH, figures.name, *map(str, words)], stderr=subprocess.PIPE, **more)
        code, seconds, megabytes = figures.read().split()
        return int(code), done.stderr.decode(errors="replace"), float(seconds), int(megabytes)


def check(found, path: pathlib.Path, message: str):
    code, said, seconds, megabytes = found
    assert code == 1, (code, said[:500])
    assert re.match(rf"{re.escape(str(path))}:\d+:\d+: error: .*({message})", said), said[:500]
    assert len(said) < 20_000, "nobody wants to read that"
    assert seconds <= 1 and megabytes <= 512, f"{seconds:.2f} s, {megabytes} MB"


@pytest.mark.parametrize("name", TESSERA)
def test_tessera(tmp_path, name):
    text, message = TESSERA[name]
    path = tmp_path / "bomb.tessera"
    path.write_text(text())
    check(run([tool("tesserac"), str(path), "-o", "/dev/null"]), path, message)


@pytest.mark.parametrize("program", ["tesserac", "tessera-opt"])
@pytest.mark.parametrize("name", MLIR)
def test_mlir(tmp_path, name, program):
    text, message = MLIR[name]
    path = tmp_path / "bomb.mlir"
    path.write_text(text())
    check(run([tool(program), str(path), "-o", "/dev/null"]), path, message)


def test_a_position_in_generic_form(tmp_path):
    path = tmp_path / "bomb.mlir"
    path.write_text(MODULE + 'func.func @f(%s: !llvm.struct<(i32, i32)>) {\n  %x = "llvm.extractvalue"(%s) <{position = array<i64: 1099511627776>}>'
                    " : (!llvm.struct<(i32, i32)>) -> i32\n  return\n}\n}\n")
    check(run([tool("tesserac"), str(path), "-o", "/dev/null"]), path, "has at most 32 bits")


@pytest.mark.parametrize("name", ["statements", "calls that multiply", "elements", "attributes"])
def test_python(tmp_path, name):
    """The same text through Python, beyond what importing takes."""
    text, message = TESSERA[name]
    (tmp_path / "bomb.tessera").write_text(text())
    program = tmp_path / "program.py"
    head = "import numpy as np, resource, sys\nimport tessera as tsr\ntsr.compile_source('@tsr.function\\ndef f(x):\\n    return x\\n').f(np.ones(4, np.float32))\n"
    program.write_text(head + '''
def used():
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime + resource.getrusage(resource.RUSAGE_SELF).ru_stime
text, before = open("bomb.tessera").read(), used()
try:
    list(vars(tsr.compile_source(text, "bomb.tessera")).values())[-1](np.ones(4, np.float32))
except tsr.CompileError as error:
    print(str(error).splitlines()[0], file=sys.stderr)
    seconds, megabytes = used() - before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    assert seconds <= 1 and megabytes <= 512, (seconds, megabytes)
    sys.exit(1)
''')
    env = {**os.environ, "PYTHONPATH": str(pathlib.Path(tsr.__file__).parents[1]), "TESSERA_CACHE": "off"}
    code, said, _, _ = run([sys.executable, str(program)], cwd=tmp_path, env=env)
    assert code == 1 and re.match(rf"bomb.tessera:\d+:\d+: error: .*{message}", said), said[-500:]


def test_absurd_shapes_are_refused_when_they_are_made():
    @tsr.function
    def huge(x):
        return tsr.zeros((2**40, 2**40), dtype=tsr.fp32) + x[0]

    @tsr.function
    def large(x):
        return tsr.zeros((2**31, 2**20), dtype=tsr.fp32) + x[0]

    for fn in (huge, large):
        with pytest.raises((tsr.TesseraError, MemoryError)) as error:
            fn(np.ones(4, np.float32))
        assert str(error.value).strip()


def test_a_large_program_is_no_bomb(tmp_path):
    path = tmp_path / "large.tessera"
    path.write_text(ONE + "    y = x\n" + "    y = y * 0.5 + 1.0\n" * 400 + "    return y\n")
    code, said, _, _ = run([tool("tesserac"), str(path), "--compile-to", "graph", "-o", str(tmp_path / "out.mlir")])
    assert code == 0, said
    code, said, _, _ = run([tool("tesserac"), str(tmp_path / "out.mlir"), "--compile-to", "sched", "-o", "/dev/null"])
    assert code == 0, said
