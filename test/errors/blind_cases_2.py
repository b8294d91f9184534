# 25 more user mistakes: the second set, written from the documents alone on 2026-11-15.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs with one mistake each, and what a good error says about it: second set.

The author read the specification, the README and the first screen of the first
set (for the format), and nothing of the front end or of its messages, so that
they are judged on mistakes nobody had in mind when writing them. Change an
expectation only where the specification says otherwise, and say so in a commit.
"""
from blind_case import Case

CASES = [
    # Sections 4, 5: axes line up by identity, so a sum over the rows is no column.
    Case(
        name="row sums taken along the wrong dim",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def row_sum(X: Tensor["M", "N", fp32], R: Out["M", fp32]):
    for m in tsr.grid(tsr.tile(M, 16)):
        total = tsr.sum(X[m, :], dim=0)
        R[m] = total
''',
        call="row_sum(np.zeros((40, 24), np.float32), np.zeros(40, np.float32))",
        line=8,
        caret=("R[m]", "m]", "total"),
        mentions=["total", "N", "R", "m", "@7"],
        fix=None,
    ),
    # Section 5: int with float is an error naming the .to(...) to write.
    Case(
        name="position (an integer tile) times a float tile",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def ramp(X: Tensor["N", fp32], Y: Out["N", fp32]):
    for n in tsr.grid(tsr.tile(N, 64)):
        x = X[n]
        Y[n] = x * n.index
''',
        call="ramp(np.zeros(100, np.float32))",
        line=8,
        caret=("x *", "* n", "n.index"),
        mentions=["x", "fp32", "@7", ("n.index", "index"), "i64"],
        fix=("n.index.to(fp32)", ".to(fp32)", ".to(x.dtype)", ".to(X.dtype)"),
    ),
    # Sections 2, 4: an annotated dtype; the store is the one implicit conversion.
    Case(
        name="NumPy's default float64 given for an fp32 tensor",
        program='''\
import tessera as tsr
from tessera import Tensor, fp32

@tsr.function
def probabilities(x: Tensor["B", "D", fp32]):
    return tsr.softmax(x, dim=-1)
''',
        call="probabilities(np.ones((8, 32)))",
        line=None,
        caret=None,
        mentions=["x", ("fp64", "float64"), ("fp32", "float32")],
        fix=None,
    ),
    # Sections 2, 11: a computed dim, with the value from each side.
    Case(
        name="projection whose rows are not heads times width",
        program='''\
import tessera as tsr
from tessera import Tensor, fp32

@tsr.function
def merge_heads(heads: Tensor["T", "H", "D", fp32], w: Tensor["H*D", "E", fp32]):
    return tsr.matmul(heads.reshape(T, H * D), w)
''',
        call="merge_heads(np.zeros((8, 4, 32), np.float32),"
             " np.zeros((120, 64), np.float32))",
        line=None,
        caret=None,
        mentions=["heads", "w", ("H*D", "H * D"), "128", "120"],
        fix=None,
    ),
    # Sections 8, 9: reserved keywords are out, stream, target; this is a schedule key.
    Case(
        name="num_warps given at the call, as in Triton",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, const, fp32

@tsr.kernel
def double(X: Tensor["N", fp32], Y: Out["N", fp32], BLOCK: const = 64):
    for n in tsr.grid(tsr.tile(N, BLOCK)):
        Y[n] = X[n] * 2.0
''',
        call="double(np.zeros(100, np.float32), num_warps=8)",
        line=None,
        caret=None,
        mentions=["double", "num_warps"],
        fix="schedule",
    ),
    # Section 2: Out is written only.
    Case(
        name="accumulating into an Out",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def row_total(X: Tensor["M", "N", fp32], S: Out["M", fp32]):
    for m in tsr.grid(tsr.tile(M, 32)):
        for n in tsr.tile(N, 64):
            S[m] += tsr.sum(X[m, n], n)
''',
        call="row_total(np.zeros((40, 100), np.float32), np.zeros(40, np.float32))",
        line=8,
        caret=("S[m]", "+="),
        mentions=["S", "Out", "@5"],
        fix=("InOut", "tsr.zeros(m)"),
    ),
    # Section 2: a written argument that overlaps another, both named.
    Case(
        name="input and output are shifted views of one array",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def shift(X: Tensor["N", fp32], Y: Out["N", fp32]):
    for n in tsr.grid(tsr.tile(N, 64)):
        Y[n] = X[n]
''',
        call="shift((x := np.zeros(101, np.float32))[:-1], x[1:])",
        line=None,
        caret=None,
        mentions=["X", "Y", ("overlap", "overlaps", "overlapping", "share",
                             "shares", "alias", "aliases", "same memory")],
        fix=None,
    ),
    # Sections 2, 3: an unannotated scalar is run-time; a tile's size is const.
    Case(
        name="block size without the const annotation",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def double(X: Tensor["N", fp32], Y: Out["N", fp32], BLOCK):
    for n in tsr.grid(tsr.tile(N, BLOCK)):
        Y[n] = X[n] * 2.0
''',
        call="double(np.zeros(100, np.float32), BLOCK=64)",
        line=6,
        caret=("BLOCK", "tsr.tile"),
        mentions=["BLOCK", ("const", "constant", "compile-time", "run-time", "runtime"),
                  "@5"],
        fix="BLOCK: const",
    ),
    # Section 8: an unknown key is an error with the nearest names.
    Case(
        name="schedule key in the singular",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, const, fp32

@tsr.kernel.schedule(BLOCK=128, num_stage=3)
def double(X: Tensor["N", fp32], Y: Out["N", fp32], BLOCK: const = 64):
    for n in tsr.grid(tsr.tile(N, BLOCK)):
        Y[n] = X[n] * 2.0
''',
        call="double(np.zeros(100, np.float32))",
        line=4,
        caret="num_stage",
        mentions=["num_stage"],
        fix="num_stages",
    ),
    # Section 1: refused by name, with what to write instead.
    Case(
        name="break out of a tile loop",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def lower_sum(X: Tensor["M", "N", fp32], S: Out["M", fp32]):
    for m in tsr.grid(tsr.tile(M, 32)):
        acc = tsr.zeros(m)
        for n in tsr.tile(N, 32):
            if n.start >= m.stop:
                break
            acc += tsr.sum(X[m, n], n)
        S[m] = acc
''',
        call="lower_sum(np.zeros((96, 96), np.float32), np.zeros(96, np.float32))",
        line=10,
        caret="break",
        mentions=["break"],
        fix="",
    ),
    # Section 3: a range has index, start, stop, size, id, dim, copy().
    Case(
        name="range attribute abbreviated",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def keep_even(X: Tensor["N", fp32], Y: Out["N", fp32]):
    for n in tsr.grid(tsr.tile(N, 64)):
        Y[n] = tsr.where(n.idx % 2 == 0, X[n], 0.0)
''',
        call="keep_even(np.zeros(100, np.float32))",
        line=7,
        caret=("n.idx", ".idx", "idx"),
        mentions=["n", "idx"],
        fix="index",
    ),
    # Section 2: the dim's name is as in the signature.
    Case(
        name="dim written in lower case",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def negate(X: Tensor["N", fp32], Y: Out["N", fp32]):
    for i in tsr.grid(tsr.tile(n, 64)):
        Y[i] = -X[i]
''',
        call="negate(np.zeros(100, np.float32))",
        line=6,
        caret="n, 64",
        mentions=["n"],
        fix="N",
    ),
    # Section 7: dim= counts the tensor's dims.
    Case(
        name="softmax along a dim the tensor has not",
        program='''\
import tessera as tsr
from tessera import Tensor, fp32

@tsr.function
def probabilities(scores: Tensor["S", "T", fp32]):
    return tsr.softmax(scores, dim=3)
''',
        call="probabilities(np.zeros((8, 32), np.float32))",
        line=6,
        caret=("3)", "dim=3", "tsr.softmax", "scores"),
        mentions=["scores", "3", ("2", "two", "2-D", "S")],
        fix=None,
    ),
    # Section 5: reshape refuses axes with absent elements.
    Case(
        name="reshape of a tile that hangs over the edge",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def pair_max(X: Tensor["N", fp32], P: Out["T", fp32]):
    for n in tsr.grid(tsr.tile(N, 64)):
        pairs = X[n].reshape(32, 2)
        P[n.id] = tsr.sum(tsr.max(pairs, dim=1), dim=0)
''',
        call="pair_max(np.zeros(100, np.float32), np.zeros(2, np.float32))",
        line=7,
        caret=("X[n]", ".reshape", "reshape"),
        mentions=["reshape", "n"],
        fix="filled(",
    ),
    # Section 4: one index per axis; the whole axis is `:`, it is not implied.
    Case(
        name="trailing axis left out, as NumPy allows",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def halve(Q: Tensor["B", "H", "S", "D", fp32], O: Out["B", "H", "S", "D", fp32]):
    for b, h, m in tsr.grid(B, H, tsr.tile(S, 32)):
        q = Q[b, h, m]
        O[b, h, m, :] = q * 0.5
''',
        call="halve(np.zeros((2, 3, 40, 16), np.float32))",
        line=7,
        caret=("Q[b, h, m]", "[b, h, m]", "b, h, m]", "m]", "]"),
        mentions=["Q", ("3", "three"), ("4", "four"), "@5"],
        fix="Q[b, h, m, :]",
    ),
    # Section 1: a captured thing that is no constant, array or function is named.
    Case(
        name="captured list of weights",
        program='''\
import tessera as tsr
from tessera import Tensor, fp32

TAPS = [0.25, 0.5, 0.25]

@tsr.function
def blend(a: Tensor["N", fp32], b: Tensor["N", fp32], c: Tensor["N", fp32]):
    return a * TAPS[0] + b * TAPS[1] + c * TAPS[2]
''',
        call="blend(np.zeros(100, np.float32), np.zeros(100, np.float32),"
             " np.zeros(100, np.float32))",
        line=8,
        caret="TAPS",
        mentions=["TAPS", "list"],
        fix=None,
    ),
    # Section 3: the grid is outermost; only its iterations are programs.
    Case(
        name="store after the grid",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32, i32

@tsr.kernel
def double(X: Tensor["N", fp32], Y: Out["N", fp32], done: Out[1, i32]):
    for n in tsr.grid(tsr.tile(N, 64)):
        Y[n] = X[n] * 2.0
    done[0] = 1
''',
        call="double(np.zeros(100, np.float32), np.zeros(100, np.float32),"
             " np.zeros(1, np.int32))",
        line=8,
        caret=("done[0]", "[0]", "0]"),
        mentions=["done", ("grid", "tsr.grid")],
        fix=None,
    ),
    # Section 3: any size >= 1 is legal.
    Case(
        name="tile size that computes to 0",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, const, fp32

@tsr.kernel
def double(X: Tensor["N", fp32], Y: Out["N", fp32], BLOCK: const = 64):
    for n in tsr.grid(tsr.tile(N, BLOCK // 128)):
        Y[n] = X[n] * 2.0
''',
        call="double(np.zeros(100, np.float32))",
        line=6,
        caret=("BLOCK // 128", "// 128", "tsr.tile"),
        mentions=["0", ("1", "one", "positive")],
        fix=None,
    ),
    # Section 1: kernels are called from functions; a function is inlined in a kernel.
    Case(
        name="kernel used as a helper in a kernel",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def positive(X: Tensor["N", fp32], Y: Out["N", fp32]):
    for n in tsr.grid(tsr.tile(N, 64)):
        Y[n] = tsr.relu(X[n])

@tsr.kernel
def scaled_positive(X: Tensor["N", fp32], Y: Out["N", fp32]):
    for n in tsr.grid(tsr.tile(N, 64)):
        Y[n] = positive(X[n]) * 0.5
''',
        call="scaled_positive(np.zeros(100, np.float32))",
        line=12,
        caret="positive",
        mentions=["positive", ("kernel", "tsr.kernel", "kernels")],
        fix="tsr.function",
    ),
    # Section 1: tensors in, tensors out. (One line, so that `def` and body agree.)
    Case(
        name="function without a return",
        program='''\
import tessera as tsr
from tessera import Tensor, fp32

@tsr.function
def activate(x: Tensor["N", fp32]): y = tsr.relu(x)
''',
        call="activate(np.zeros(100, np.float32))",
        line=5,
        caret=None,
        mentions=["activate", ("return", "returns", "returned", "result", "results")],
        fix="return",
    ),
    # Section 1: `return` is for functions; refused with what to write instead.
    Case(
        name="kernel that returns its output",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def double(X: Tensor["N", fp32], Y: Out["N", fp32]):
    for n in tsr.grid(tsr.tile(N, 64)):
        Y[n] = X[n] * 2.0
    return Y
''',
        call="double(np.zeros(100, np.float32))",
        line=8,
        caret=("return", "Y"),
        mentions=[("return", "returns"), ("kernel", "kernels")],
        fix="",
    ),
    # Section 11, 'if' on a tile: `and` asks the same question; the operator is &.
    Case(
        name="'and' of two comparisons of tiles",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def inside(X: Tensor["N", fp32], Y: Out["N", fp32]):
    for n in tsr.grid(tsr.tile(N, 64)):
        x = X[n]
        Y[n] = tsr.where(x > 0.0 and x < 1.0, x, 0.0)
''',
        call="inside(np.zeros(100, np.float32))",
        line=8,
        caret=("x > 0.0", "> 0.0", "and"),
        mentions=["and", ("64", "tile", "tiles")],
        fix="&",
    ),
    # Section 5: a variable keeps its axes through a loop; both assignments shown.
    Case(
        name="running maximum started from a scalar",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def row_max(X: Tensor["M", "N", fp32], R: Out["M", fp32]):
    for m in tsr.grid(tsr.tile(M, 32)):
        best = -tsr.inf
        for n in tsr.tile(N, 64):
            best = tsr.maximum(best, tsr.max(X[m, n], n))
        R[m] = best
''',
        call="row_max(np.zeros((40, 100), np.float32), np.zeros(40, np.float32))",
        line=9,
        caret="best",
        mentions=["best", "m", "@7"],
        fix="tsr.full(",
    ),
    # Section 5: the cast is x.to(dtype).
    Case(
        name="cast written as a call of the dtype",
        program='''\
import tessera as tsr
from tessera import Tensor, fp16, fp32

@tsr.function
def shrink(x: Tensor["N", fp32]):
    return fp16(x * 0.5)
''',
        call="shrink(np.zeros(100, np.float32))",
        line=6,
        caret=("fp16", "(x"),
        mentions=["fp16"],
        fix=".to(fp16)",
    ),
    # Section 4: in a kernel a tensor is memory; a tile comes from indexing it.
    Case(
        name="tensor used in a kernel without an index",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def double(X: Tensor["M", "N", fp32], Y: Out["M", "N", fp32]):
    for m, n in tsr.grid(tsr.tile(M, 32), tsr.tile(N, 64)):
        Y[m, n] = X * 2.0
''',
        call="double(np.zeros((40, 100), np.float32))",
        line=7,
        caret=("X *", "* 2.0"),
        mentions=["X", ("tensor", "Tensor", "tile", "index", "indexed", "load", "loaded")],
        fix="X[m, n]",
    ),
]
