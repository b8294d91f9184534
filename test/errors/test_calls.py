"""Errors about a call stand at the call, under what is wrong; the fix, put literally where the caret is (or for the whole call, if the
caret is at what is called), gives what was meant.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import ast
import os
import re
import subprocess
import sys
import traceback
from typing import NamedTuple

import numpy as np
import pytest
import tessera as tsr
from tessera.source import without_colour

PROGRAM = '''import numpy as np
import tessera as tsr
from tessera import InOut, Out, Region, Tensor, const, fp32, i64, reduce_sum


@tsr.kernel
def gemm(A: Tensor["M", "K"], B: Tensor["K", "N"], C: Out["M", "N"], BM: const = 32, BN: const = 32, BK: const = 16):
    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN)):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, BK):
            acc += A[m, k] @ B[k, n]
        C[m, n] = acc


@tsr.kernel
def add(X: Tensor["N", fp32], Y: Tensor["N", fp32], Z: Out["N", fp32], BN: const = 64):
    for n in tsr.grid(tsr.tile(N, BN)):
        Z[n] = X[n] + Y[n]


@tsr.kernel
def double(Y: Out["N"], X: Tensor["N"], BN: const = 64):
    for n in tsr.grid(tsr.tile(N, BN)):
        Y[n] = 2 * X[n]


@tsr.kernel
def triple(X: Tensor["N"], Y: Tensor["N"], BN: const = 64):
    for n in tsr.grid(tsr.tile(N, BN)):
        Y[n] = 3 * X[n]


@tsr.kernel
def histogram(I: Tensor["N", i64], H: Region[reduce_sum, Tensor["B", fp32]], BN: const = 128):
    for n in tsr.grid(tsr.tile(N, BN)):
        tsr.atomic_add(H, (I[n],), 1.0)


@tsr.kernel
def sized(X: Tensor["N"], Y: Out["N"], BN: const):
    for n in tsr.grid(tsr.tile(N, BN)):
        Y[n] = 4 * X[n]


@tsr.function
def rows(x: Tensor["M", "N"]):
    return x.sum(dim=1)


@tsr.function
def moments(x: Tensor["M", "N"]):
    return x.sum(dim=1), x.max(dim=1)


@tsr.function
def squares(x):
    return (x * x).sum()


@tsr.function
def halves(x):
    return x * 0.5


@tsr.function
def means(x):
    return x.mean()


@tsr.function
def blend(x: Tensor["N"], y: Tensor["N"], alpha: int):
    return alpha * x + (1.0 - alpha) * y


@tsr.function
def plus(x: Tensor["N"], y: Tensor["N"], s: fp32):
    return x + s * y


@tsr.function
def from_row(x: Tensor["M", "N"], row: int):
    return x[row]


class Layer:
    scale = add


rng = np.random.default_rng(3)
A = rng.integers(-8, 9, (50, 70)).astype(np.float32)  # sums and products of them are exact
B = rng.integers(-8, 9, (70, 40)).astype(np.float32)
W = np.ascontiguousarray(B.T)
x = rng.integers(-8, 9, 100).astype(np.float32)
y = rng.integers(-8, 9, 100).astype(np.float32)
z = np.empty(100, np.float32)
I = rng.integers(0, 10, 1000)
'''
NAMES: dict = {}
exec(PROGRAM.replace("@tsr", "#"), NAMES)
A, B, x, y, I = (NAMES[name] for name in ("A", "B", "x", "y", "I"))


class Case(NamedTuple):
    name: str
    call: str  # leaves what was meant in `got`
    caret: str  # the text over it
    said: str  # at the end of the first line
    note: str
    fix: str
    want: object


CASES = [
    Case("a transposed argument", "got = gemm(A, W)", "W", "A (50 x 70) and B (40 x 70) disagree on K: 70 from A, 40 from B", 'B: Tensor["K", "N"]', "W.T", A @ B),
    Case("the other one is transposed", "got = gemm(np.ascontiguousarray(A.T), B)", "np.ascontiguousarray(A.T)",
         "A (70 x 50) and B (70 x 40) disagree on K: 50 from A, 70 from B", 'A: Tensor["M", "K"]', "np.ascontiguousarray(A.T).T", A @ B),
    Case("a transposed keyword", "got = gemm(A, B=W, BM=16)", "B=W", "disagree on K: 70 from A, 40 from B", 'B: Tensor["K", "N"]', "B=W.T", A @ B),
    Case("transposed in the call", "got = gemm(A, B.T)", "B.T", "disagree on K: 70 from A, 40 from B", 'B: Tensor["K", "N"]', "B", A @ B),
    Case("an expression that is no atom", "got = gemm(A, W + 0)", "W + 0", "disagree on K: 70 from A, 40 from B", 'B: Tensor["K", "N"]', "(W + 0).T", A @ B),
    Case("a call over several lines", "got = gemm(\n    A,\n    W,\n)", "W", "disagree on K: 70 from A, 40 from B", 'B: Tensor["K", "N"]', "W.T", A @ B),
    Case("behind wide characters", 's = "größer ∑"; got = gemm(A, W)', "W", "disagree on K: 70 from A, 40 from B", 'B: Tensor["K", "N"]', "W.T", A @ B),
    Case("out= of another shape", "got = np.empty((40, 50), np.float32)\ngemm(A, B, out=got)", "out=got", "out= (40 x 50) must be 50 x 40: M = 50 from A, N = 40 from B",
         'C: Out["M", "N"]', "out=(got := np.empty((50, 40), np.float32))", A @ B),
    Case("out= of another shape, whose result is taken", "wide = np.empty((45, 40), np.float32)\ngot = gemm(A, B, out=wide)", "out=wide",
         "out= (45 x 40) must be 50 x 40: M = 50 from A, N = 40 from B", 'C: Out["M", "N"]', "out=np.empty((50, 40), np.float32)", A @ B),
    Case("an Out of another shape", "got = np.empty((40, 50), np.float32)\ngemm(A, B, got)", "got", "C (40 x 50) must be 50 x 40: M = 50 from A, N = 40 from B",
         'C: Out["M", "N"]', "(got := np.empty((50, 40), np.float32))", A @ B),
    Case("an Out of another dtype", "got = np.empty(100)\nadd(x, y, got)", "got", "Z is annotated fp32, but the array is fp64", 'Z: Out["N", fp32]',
         "(got := np.empty((100,), np.float32))", x + y),
    Case("out= of a function", "got = rows(A, out=np.empty(3, np.float32))", "out=np.empty(3, np.float32)", "out= is 3, the result is 50", "function rows",
         "out=np.empty((50,), np.float32)", A.sum(1)),
    Case("out= of another rank", "got = np.empty((50, 1), np.float32)\nrows(A, out=got)", "out=got", "out= is 50 x 1, the result is 50", "function rows",
         "out=(got := np.empty((50,), np.float32))", A.sum(1)),
    Case("out= of a second call of a function", "rows(A, out=np.empty(50, np.float32))\ngot = rows(A, out=np.empty(51, np.float32))", "out=np.empty(51, np.float32)",
         "out= is 51, the result is 50", "function rows", "out=np.empty((50,), np.float32)", A.sum(1)),
    Case("one array for two results", "a, b = np.empty(50, np.float32), np.empty(50, np.float32)\nmoments(A, out=a)\ngot = (a, b)", "out=a", "out= is 1 array, but 2 are returned",
         "function moments", "out=(a, b)", (A.sum(1), A.max(1))),
    Case("one array for two results of a second call", "a = np.empty(50, np.float32)\nb = np.empty(50, np.float32)\nmoments(A, out=(a, b))\nmoments(A, out=b)\ngot = (a, b)",
         "out=b", "out= is 1 array, but 2 are returned", "function moments", "out=(a, b)", (A.sum(1), A.max(1))),
    Case("one of two results", "a = np.empty(50, np.float32)\ngot = moments(A, out=(a, np.empty((1, 50), np.float32)))", "np.empty((1, 50), np.float32)",
         "out[1] is 1 x 50, the result is 50", "function moments", "np.empty((50,), np.float32)", (A.sum(1), A.max(1))),
    Case("the dtype of one of two results", "a = np.empty(50)\nb = np.empty(50, np.float32)\nmoments(A, out=(a, b))\ngot = (a, b)", "a",
         "out[0] is fp64, but the result is fp32", "function moments", "(a := np.empty((50,), np.float32))", (A.sum(1), A.max(1))),
    Case("the second call", "gemm(A, B)\ngot = gemm(A, W)", "W", "disagree on K: 70 from A, 40 from B", 'B: Tensor["K", "N"]', "W.T", A @ B),
    Case("out= of a second call", "wide = np.empty((40, 50), np.float32)\ngemm(A, B, out=np.empty((50, 40), np.float32))\ngot = gemm(A, B, out=wide)", "out=wide",
         "out= (40 x 50) must be 50 x 40: M = 50 from A, N = 40 from B", 'C: Out["M", "N"]', "out=np.empty((50, 40), np.float32)", A @ B),
    Case("another dtype", "got = add(x.astype(np.float64), y)", "x.astype(np.float64)", "X is annotated fp32, but the array is fp64", 'X: Tensor["N", fp32]',
         'x.astype(np.float64).astype("float32")', x + y),
    Case("a list", "got = gemm(A.tolist(), B)", "A.tolist()", "A takes an array, not a list", 'A: Tensor["M", "K"]', "np.asarray(A.tolist(), np.float32)", A @ B),
    Case("a list for a dtype", "got = add(Y=y, X=x.tolist())", "X=x.tolist()", "X takes an array, not a list", 'X: Tensor["N", fp32]',
         "X=np.asarray(x.tolist(), np.float32)", x + y),
    Case("a list of tensors", "import torch\ngot = rows([torch.from_numpy(x), torch.from_numpy(y)]).numpy()", "[torch.from_numpy(x), torch.from_numpy(y)]",
         "x takes an array, not a list", 'x: Tensor["M", "N"]', "torch.stack([torch.from_numpy(x), torch.from_numpy(y)])", np.stack([x, y]).sum(1)),
    Case("bytes that meet floats", "got = halves(I.astype(np.uint8))", "I.astype(np.uint8)", "fp8_e4m3, fp8_e5m2 and i8", "x", 'I.astype(np.uint8).astype("float32")', I * 0.5),
    Case("a tensor of bytes that meets floats", "import torch\ngot = halves(torch.from_numpy(I.astype(np.uint8)))", "torch.from_numpy(I.astype(np.uint8))",
         "fp8_e4m3, fp8_e5m2 and i8", "x", "torch.from_numpy(I.astype(np.uint8)).to(torch.float32)", I * 0.5),
    Case("bytes that stay integers", "got = squares(I.astype(np.uint8))", "I.astype(np.uint8)", "fp8_e4m3, fp8_e5m2 and i8", "x", 'I.astype(np.uint8).astype("int32")', (I * I).sum()),
    Case("wide integers of a mean", "got = rows(x=I.astype(np.uint32)[None] * 1) + 0", "x=I.astype(np.uint32)[None] * 1", "fp8_e4m3, fp8_e5m2 and i8",
         'x: Tensor["M", "N"]', 'x=(I.astype(np.uint32)[None] * 1).astype("int64")', None),
    Case("integers of a mean", "got = means(I.astype(np.uint16))", "I.astype(np.uint16)", "fp8_e4m3, fp8_e5m2 and i8", "x", 'I.astype(np.uint16).astype("float32")', np.float32(I.mean())),
    Case("a whole float for an index", "got = from_row(A, 2.0)", "2.0", "row takes an int, not 2.0", "row: int", "int(2.0)", A[2]),
    Case("a whole float for an index by name", "got = from_row(A, row=x.size / 25)", "row=x.size / 25", "row takes an int, not 4.0", "row: int", "row=int(x.size / 25)", A[4]),
    Case("a number", "got = add(x, 2)", "2", "Y takes an array, not an int", 'Y: Tensor["N", fp32]', "np.full((100,), 2, np.float32)", x + 2),
    Case("the number before the array", "got = from_row(2, A)", "from_row", "x takes an array, not an int", 'x: Tensor["M", "N"]', "from_row(A, 2)", A[2]),
    Case("the number before both arrays", "got = plus(2.0, x, x)", "plus", "x takes an array, not a float", 'x: Tensor["N"]', "plus(x, x, 2.0)", 3 * x),
    Case("the factors in the other order", "got = gemm(B, A)", "gemm", "A (70 x 40) and B (50 x 70) disagree on K: 40 from A, 50 from B", 'B: Tensor["K", "N"]', "gemm(A, B)", A @ B),
    Case("too few axes", "got = rows(x)", "x", 'x has 2 axes (M, N), but the array has 1 (100)', 'x: Tensor["M", "N"]', "x[None]", x.sum(keepdims=True)),
    Case("an unknown keyword", "got = gemm(A, B, BLOCK_M=16)", "BLOCK_M=16", "gemm has no parameter BLOCK_M; there are A, B, C, BM, BN, BK, and out=, target=, stream=",
         "kernel gemm", "BM=16", A @ B),
    Case("a size by name", "got = gemm(A, B, K=70)", "gemm", "; the size of dim K follows from A", "kernel gemm", "gemm(A, B)", A @ B),
    Case("too many", "got = rows(A, 1, out=np.empty(50, np.float32))", "rows", "rows takes 1 arguments (x), but 2 are given", "function rows",
         "rows(A, out=np.empty(50, np.float32))", A.sum(1)),
    Case("too many, nothing else", "got = rows(A, 1)", "rows", "rows takes 1 arguments (x), but 2 are given", "function rows", "rows(A)", A.sum(1)),
    Case("twice", "got = gemm(A, B, B=B)", "gemm", "gemm got B twice, by position and by name", "kernel gemm", "gemm(A, B)", A @ B),
    Case("missing", "got = gemm(A)", "gemm", "argument B is missing", "kernel gemm", "gemm(A, B)", A @ B),
    Case("missing, of a tool", "got = gemm.run(stage='tile')", "gemm.run", "argument A is missing", "kernel gemm", "gemm.run(A, B, stage='tile')", A @ B),
    Case("missing, with a small name", "got = add(x)", "add", "argument Y is missing", "kernel add", "add(x, y)", x + y),
    Case("a const without a value", "got = sized(x)", "sized", "const parameter BN has no value and no default", "BN: const", "sized(x, BN=64)", 4 * x),
    Case("taken for the Out", "got = double(x)", "double", "argument X is missing: x was taken for Y, the first parameter, an Out", "kernel double", "double(X=x)", 2 * x),
    Case("an overlap", "got = x.copy()\nadd(got, y, got)", "got", "Z is written, but overlaps X in memory; pass a copy of X, which is read", 'X: Tensor["N", fp32]',
         "got.copy()", x + y),
    Case("an overlap by keyword", "got = x.copy()\nadd(X=got, Y=y, out=got)", "X=got", "pass a copy of X, which is read", 'X: Tensor["N", fp32]', "X=got.copy()", x + y),
    Case("read-only", "got = np.empty(100, np.float32)\ngot.flags.writeable = False\nadd(x, y, got)", "got", "Z is read-only, but add writes it", 'Z: Out["N", fp32]',
         "(got := got.copy())", x + y),
    Case("half a block", "got = gemm(A, B, BM=A.shape[1] / 2)", "BM=A.shape[1] / 2", "BM is the float 35.0, but the size of a tile must be a constant int", "BM: const",
         "BM=A.shape[1] // 2", A @ B),
    Case("a float as the block", "got = gemm(A, B, BM=32.0)", "BM=32.0", "BM is the float 32.0, but the size of a tile must be a constant int", "BM: const",
         "BM=32", A @ B),
    Case("a float as the block of a tool", "got = gemm.run(A, B, BM=2.0 ** 5)", "BM=2.0 ** 5", "BM is the float 32.0, but the size of a tile must be a constant int",
         "BM: const", "BM=int(2.0 ** 5)", A @ B),
    Case("an overlap of tensors", "import torch\nt = torch.from_numpy(x.copy())\ngot = t\nadd(t, torch.from_numpy(y), out=t)", "t", "pass a copy of X, which is read",
         'X: Tensor["N", fp32]', "t.clone()", x + y),
    Case("a tensor of another dtype", "import torch as th\ngot = add(th.from_numpy(x).double(), th.from_numpy(y))", "th.from_numpy(x).double()",
         "X is annotated fp32, but the array is fp64", 'X: Tensor["N", fp32]', "th.from_numpy(x).double().to(th.float32)", x + y),
    Case("a partial function", "import functools\npart = functools.partial(gemm, A)\ngot = part(W)", "W", "disagree on K: 70 from A, 40 from B", 'B: Tensor["K", "N"]', "W.T", A @ B),
    Case("a compiled version", "made = gemm.compile()\ngot = made(A, W)", "W", "disagree on K: 70 from A, 40 from B", 'B: Tensor["K", "N"]', "W.T.copy()", A @ B),
    Case("a constant of a version", "got = gemm.compile()(A, B, BM=16)", "gemm.compile()", "BM is given, but 32 in this version", "BM: const",
         'gemm.compile(target="cpu", BM=16)(A, B)', A @ B),
    Case("a tool", "got = gemm.run(A, W, stage='graph')", "W", "disagree on K: 70 from A, 40 from B", 'B: Tensor["K", "N"]', "W.T", A @ B),
    Case("explain", "got = gemm.explain(A, W) and None", "W", "disagree on K: 70 from A, 40 from B", 'B: Tensor["K", "N"]', "W.T", None),
    Case("a target by position", "got = gemm.compile('avx2') and None", "'avx2'", "sim:sm_80, cudatile:sm_90", "", 'target="cpu:avx2"', None),
    Case("a target without its underscore", "got = gemm.compile(target='SM80') and None", "target='SM80'", "it is spelt 'sm_80'", "", 'target="sm_80"', None),
    Case("one of a list of targets", "got = gemm.compile(targets=['cpu', 'sm80']) and None", "'sm80'", "it is spelt 'sm_80'", "", '"sm_80"', None),
    Case("the simulator of a card", "got = gemm(A, B, target='sim:a100')", "target='sim:a100'", "it is spelt 'sim:sm_80'", "", 'target="sim:sm_80"', A @ B),
    Case("a level of the CPU to build for", "import tempfile\nwith tempfile.TemporaryDirectory() as folder:\n    got = gemm.aot(folder, targets='avx2') and None",
         "targets='avx2'", "there are cpu, cpu:avx2, cpu:avx512, sm_80 ...", "", 'targets=["cpu:avx2"]', None),
    Case("one of several targets to build for", "import tempfile\nwith tempfile.TemporaryDirectory() as folder:\n    got = gemm.aot(folder, targets=['cpu:avx512', 'avx2']) and None",
         "targets=['cpu:avx512', 'avx2']", "there are cpu, cpu:avx2, cpu:avx512, sm_80 ...", "", 'targets=["cpu:avx512", "cpu:avx2"]', None),
    Case("a target of a schedule", "got = tsr.kernel.schedule(target='sm80', num_warps=4) and None", "target='sm80'", "sim:sm_80, cudatile:sm_90", "", 'target="sm_80"', None),
    Case("a simulator in a schedule", "got = tsr.kernel.schedule(target='sim:sm80', num_warps=4) and None", "target='sim:sm80'", "sim:sm_80, cudatile:sm_90", "",
         'target="sim:sm_80"', None),
    Case("a target of a target", "from tessera.target import TargetIRCompiler; got = TargetIRCompiler(target_architecture='sm80') and None", "target_architecture='sm80'", "it is spelt 'sm_80'", "", 'target_architecture="sm_80"', None),
    Case("an argument of a tool", "got = gemm.run(A, B, stages='tile')", "stages='tile'",
         "gemm.run has no parameter stages; there are A, B, C, BM, BN, BK, and stage=, domain=, seed=, target=", "kernel gemm", "stage='tile'", A @ B),
    Case("profile", "tsr.profile(gemm, A, W, runs=1, warmups=0, seconds=1)\ngot = None", "W", "disagree on K: 70 from A, 40 from B", 'B: Tensor["K", "N"]', "W.T", None),
    Case("what a call returned", "tsr.profile(gemm(A, B), runs=1, warmups=0, seconds=1)\ngot = None", "tsr.profile",
         "tessera.profile takes a function or kernel, not ndarray", "", "tsr.profile(gemm, A, B, runs=1, warmups=0, seconds=1)", None),
    Case("a stage", "got = gemm.run(A, B, stage='graphs')", "stage='graphs'", "there are graph, sched, tile-value, tile, target", "", 'stage="graph"', A @ B),
    Case("a domain", "got = gemm.run(A, B, domain='exakt')", "domain='exakt'", "there are exact, reference, ring, bound", "", 'domain="exact"', A @ B),
    Case("a stage of a trace", "got = gemm.trace(A, B, stage='grap')['acc'].array[:0]", "stage='grap'", "there are graph, sched, tile-value, tile", "", 'stage="graph"', None),
    Case("a name of a trace", "got = gemm.trace(A, B).assigned('accu') and None", "'accu'", "there are M, N, K, acc, k, A, B", "", '"acc"', None),
    Case("an index of a trace", "got = gemm.trace(A, B)['accu'] and None", "'accu'", "there are M, N, K, acc, k, A, B", "", '"acc"', None),
    Case("arrays for compile", "got = gemm.compile(A.astype(np.float16), B.astype(np.float16), target='cpu') and None", "gemm.compile",
         "gemm.compile takes the dtypes of arguments by name, not arrays", "", "gemm.compile(target='cpu', A=tsr.fp16, B=tsr.fp16)", None),
    Case("arrays for inspect_ir", "got = gemm.inspect_ir('tile', A, B) and None", "gemm.inspect_ir",
         "gemm.inspect_ir takes the dtypes of arguments by name, not arrays", "", "gemm.inspect_ir('tile', A=tsr.fp32, B=tsr.fp32)", None),
    Case("a dim in lower case", "got = gemm.explain(m=64, K=64, N=64) and None", "m=64", "and target=, costs=", "", "M=64", None),
    Case("one of several targets", "import tempfile\nwith tempfile.TemporaryDirectory() as folder:\n    got = gemm.aot(folder, target='cpu:avx2', A=fp32, B=fp32) and None",
         "target='cpu:avx2'", "and directory=, targets=, name=", "", "targets='cpu:avx2'", None),
    Case("a reference", "got = gemm.check(A, B, ref=np.matmul, show=False) and None", "ref=np.matmul", "and target=, reference=, show=", "kernel gemm", "reference=np.matmul", None),
    Case("a target", "got = gemm(A, B, target='avx2')", "target='avx2'", "sim:sm_80, cudatile:sm_90", "", 'target="cpu:avx2"', A @ B),
]


def run(text: str, folder) -> dict:
    """The program, and the call in a file of its own."""
    (folder / "prog.py").write_text(PROGRAM)
    names: dict = {"__name__": "calls_prog"}
    exec(compile(PROGRAM, str(folder / "prog.py"), "exec"), names)
    (folder / "app.py").write_text(text + "\n")
    names["__name__"] = "calls_app"
    exec(compile(text + "\n", str(folder / "app.py"), "exec"), names)
    return names


def refusal(text: str, folder) -> str:
    with pytest.raises(tsr.TesseraError) as caught:
        run(text, folder)
    assert not [frame for frame in traceback.extract_tb(caught.value.__traceback__) if "/tessera/" in frame.filename]
    return without_colour(str(caught.value)).replace(f"{folder}/", "")


def applied(text: str, message: str) -> str:
    """The program with the fix put where the caret is: for the whole call, if the caret is at what is called."""
    place = re.match(r"app\.py:(\d+):(\d+): error: .*\n.*\n *\| *(\^~*)\n", message)
    rows, line, begin = text.split("\n"), int(place[1]), int(place[2]) - 1
    end = begin + len(place[3])
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and (node.lineno, node.func.end_lineno) == (line, line):
            start, stop = (len(rows[line - 1].encode()[:c].decode()) for c in (node.func.col_offset, node.func.end_col_offset))
            if (start, stop) == (begin, end) and node.end_lineno == line:
                end = len(rows[line - 1].encode()[:node.end_col_offset].decode())
    row = rows[line - 1]
    rows[line - 1] = row[:begin] + message.split(" fix:  ")[1].rstrip("\n") + row[end:]
    return "\n".join(rows)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_call(case, tmp_path):
    message = refusal(case.call, tmp_path)
    head, row, caret, *rest = message.rstrip("\n").split("\n")
    begin = caret.index("^")
    assert re.fullmatch(r"app\.py:\d+:\d+: error: .*", head) and head.endswith(case.said), message
    assert row[begin:begin + len(caret.strip("| "))] == case.caret, message
    assert rest[-1] == f" fix:  {case.fix}", message
    notes = [line for line in rest if line.startswith(" note: ")]
    assert bool(notes) == bool(case.note) and (not notes or re.fullmatch(rf" note: prog\.py:\d+:\d+: {re.escape(case.note)}", notes[0])), message
    got = run(applied(case.call, message), tmp_path)["got"]
    if case.want is None:
        return
    np.testing.assert_array_equal(got, case.want)


WITHOUT_FIX = {
    "half an index": ("from_row(A, 2.5)", "2.5", "row takes an int, not 2.5"),
    "rows of several lengths": ("rows([x, y[:50]])", "[x, y[:50]]", "x takes an array, not a list"),
    "arrays of several shapes": ("squares([A, x])", "[A, x]", "x takes an array or a number, not a list"),
    "tensors of several lengths": ("import torch; rows([torch.ones(2), torch.ones(3)])", "[torch.ones(2), torch.ones(3)]", "x takes an array, not a list"),
    "one array for two results that the text does not name": ("moments(A, out=np.empty(50, np.float32))", "out=np.empty(50, np.float32)", "out= is 1 array, but 2 are returned"),
    "an array that something else needs": ("c = np.zeros((50, 70), np.float32); b = np.zeros(50, np.float32); moments(c, out=b)", "out=b", "out= is 1 array, but 2 are returned"),
    "three arrays for two results": ("a, b, c = np.empty((3, 50), np.float32)\nmoments(A, out=(a, b, c))", "out=(a, b, c)", "out= has 3 arrays, but 2 are returned"),
    "sizes that no transpose mends": ("add(x, y[:50])", "y[:50]", "X (100) and Y (50) disagree on N: 100 from X, 50 from Y"),
    "None": ("add(x, None)", "None", "Y takes an array, but is None"),
    "a region": ("histogram(I)", "histogram", "argument H is missing; the caller gives it, with what it starts with: H = np.zeros((B,), np.float32)"),
    "a name that is nowhere": ("del B\ngemm(A)", "gemm", "argument B is missing"),
    "arguments that are unpacked": ("add(*(x, y.astype(np.float64)))", "*(x, y.astype(np.float64))", "Y is annotated fp32, but the array is fp64"),
}


@pytest.mark.parametrize("call, caret, said", WITHOUT_FIX.values(), ids=WITHOUT_FIX)
def test_no_fix_rather_than_a_wrong_one(call, caret, said, tmp_path):
    message = refusal(call, tmp_path)
    head, row, under, *rest = message.rstrip("\n").split("\n")
    assert head.endswith(said) and head.startswith("app.py:") and row[under.index("^"):].startswith(caret) and "fix:" not in message, message


IN_THE_DEFINITION = {
    "a float for an int": ("got = blend(x, y, 0.25)", "alpha: int", "alpha: fp32", 0.25 * x + 0.75 * y),
    "a float of NumPy for an int": ("\ngot = blend(x, y, alpha=np.float32(0.25))", "alpha: int", "alpha: fp32", 0.25 * x + 0.75 * y),
    "only written": ("got = triple(x)", 'Y: Tensor["N"]', 'Y: Out["N"]', 3 * x),
}


@pytest.mark.parametrize("call, wrong, fix, want", IN_THE_DEFINITION.values(), ids=IN_THE_DEFINITION)
def test_what_the_definition_says_wrong(call, wrong, fix, want, tmp_path, monkeypatch):
    message = refusal(call, tmp_path)
    assert message.startswith("prog.py:") and message.split("\n")[0].endswith(f", called at app.py:{len(call.splitlines())}") and f" fix:  {fix}\n" in message
    line = int(message.split(":")[1])
    rows = PROGRAM.split("\n")
    assert wrong in rows[line - 1]
    rows[line - 1] = rows[line - 1].replace(wrong, fix)
    monkeypatch.setattr(sys.modules[__name__], "PROGRAM", "\n".join(rows))
    np.testing.assert_array_equal(run(call, tmp_path)["got"], want)


@pytest.mark.parametrize("call", ["list(map(gemm, [A], [W]))", "exec('gemm(A, W)')"])
def test_a_call_that_no_text_shows(call, tmp_path):
    """Others call us, or the text of the call is nowhere: the error stands at the definition and says where the call is."""
    message = refusal(call, tmp_path)
    assert re.match(r"prog\.py:7:\d+: error: .* disagree on K: 70 from A, 40 from B, called at (app\.py:1|<string>:1)\n", message), message


def test_an_omitted_out_before_what_says_its_size(tmp_path):
    names = run("one, two = double(X=x), double(X=y)", tmp_path)
    np.testing.assert_array_equal(names["one"], 2 * x)
    np.testing.assert_array_equal(names["two"], 2 * y)


def test_a_call_inside_of_a_tool(tmp_path):
    """Where the user's call gives arguments to another function, its text says nothing of this one's."""
    message = refusal("gemm.check(A, B, reference=rows, show=False)", tmp_path)
    assert re.match(r"prog\.py:46:5: error: rows has no parameter A; .*, called at app\.py:1\n", message) and "fix:" not in message, message


def test_a_method(tmp_path):
    """What the object gives is not in the call."""
    message = refusal("Layer().scale(y.astype(np.float64))", tmp_path)
    assert message.startswith("app.py:1:1: error: X takes an array, not a Layer\n") and "fix:" not in message, message


@pytest.mark.parametrize("decorator, caret, fix", [
    ("@tsr.kernel.autotune(space=dict(BN=[32, 64]), key=['n', 'm'])", "key=['n', 'm']", 'key=["N", "M"]'),
    ("@tsr.kernel.autotune(space=dict(BN=[32, 64]), key=['N'], numerics='free')", "numerics='free'", 'numerics="open"'),
    ("@tsr.kernel.autotune(space=dict(BN=[32, 64]), key=['N'], numerics='exact')", "numerics='exact'", 'numerics="fixed"'),
    ("@tsr.kernel.schedule(BN=[32, 64])", "BN=[32, 64]", "BN=32"),
    ("@tsr.kernel.autotune(space=dict(BN=[32, 64]), keys=['N'])", "keys=['N']", 'key=["N"]'),
])
def test_decorators(decorator, caret, fix, tmp_path, monkeypatch):
    """All names of a list at once; none of our frames but one."""
    text = f'''import tessera as tsr
from tessera import *
import numpy as np
{decorator}
def copy(X: Tensor["M", "N"], Y: Out["M", "N"], BN: const = 32):
    for m, n in tsr.grid(tsr.tile(M, 4), tsr.tile(N, BN)):
        Y[m, n] = X[m, n]
tsr.knobs.tune = "off"
try:
    got = copy(np.ones((8, 64), np.float32))
finally:
    tsr.knobs.tune = "on"
'''
    message = refusal(text, tmp_path)
    head, row, under, *rest = message.rstrip("\n").split("\n")
    assert row[under.index("^"):][:len(under.strip("| "))] == caret and rest[-1] == f" fix:  {fix}", message
    run(text.replace(caret, fix), tmp_path)


@pytest.mark.parametrize("tile, caret, fix", [("dict(M=32, COLS=64)", "COLS=64", "N=64"), ("{'M': 32, 'COLS': 64}", "tile={'M': 32, 'COLS': 64}", "tile=dict(M=32, N=64)"),
                                              ("dict(M=32.0)", "M=32.0", "M=64")])
def test_tile_of_a_schedule(tile, caret, fix, tmp_path):
    """Under the dim that is none; the one that is left is meant."""
    text = f'''import tessera as tsr
from tessera import *
import numpy as np
@tsr.function.schedule(tile={tile})
def product(x: Tensor["M", "K"], w: Tensor["K", "N"]):
    return x @ w
got = product(np.ones((4, 5), np.float32), np.ones((5, 6), np.float32))
'''
    message = refusal(text, tmp_path)
    head, row, under, *rest = message.rstrip("\n").split("\n")
    assert head.startswith("app.py:4:") and row[under.index("^"):][:len(under.strip("| "))] == caret and rest == [f" fix:  {fix}"], message
    run(applied(text, message), tmp_path)


@pytest.mark.parametrize("dims, fix", [("m=65,n=33,k=40", "M=65,N=33,K=40"), ("M:64,N:48,K:32", "M=64,N=48,K=32"), ("M=64 N=48", "M=64,N=48")])
def test_dims_of_a_command(dims, fix, tmp_path):
    (tmp_path / "prog.py").write_text(PROGRAM)
    done = subprocess.run([sys.executable, "-m", "tessera", "check", str(tmp_path / "prog.py") + ":gemm", "--dims", dims], capture_output=True, text=True,
                          env={**os.environ, "NO_COLOR": "1"})
    assert done.returncode == 2 and f"\n fix:  --dims {fix}\n" in done.stderr, done.stderr


@pytest.mark.parametrize("command", ["check", "tune", "profile", "bisect"])
@pytest.mark.parametrize("words, fixed", [
    ("prog.py:gemm --dims M=65 N=33", "prog.py:gemm --dims M=65,N=33"),
    ("prog.py:gemm --dims=M=65 N=33 --seed 3", "prog.py:gemm --dims=M=65,N=33 --seed 3"),
    ("--dims M=65, N=33,K=4 prog.py", "--dims M=65,N=33,K=4 prog.py"),
    ("--dims M=65 , N=33 ,K=4 prog.py", "--dims M=65,N=33,K=4 prog.py"),
    ("prog.py --dims M=65 N", None),
])
def test_dims_that_stand_apart(command, words, fixed, capsys):
    from tessera import __main__ as tessera

    with pytest.raises(SystemExit):
        tessera.main([command, *words.split()])
    said = capsys.readouterr().err
    prog = "tessera-bisect" if command == "bisect" else f"tessera {command}"
    assert (f": dims are joined by commas\n fix:  {prog} {fixed}\n" in said) == (fixed is not None), said


def test_the_name_of_a_card(tmp_path):
    message = refusal("gemm.performance_report(A, B, target='a100')", tmp_path)
    assert message.startswith("app.py:1:31: error: ") and message.endswith(' fix:  target="sm_80"\n'), message
