# 25 user mistakes, written from language.md alone, before seeing the compiler.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs with one mistake each, and what a good error says about it.

The author read the specification and nothing of the front end, so that the
messages are judged on mistakes nobody had in mind when writing them. Change an
expectation only where the specification says otherwise, and say so in a commit.
"""
from blind_case import Case

CASES = [
    Case(
        name="product with the left .T forgotten",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def weight_grad(X: Tensor["B", "K", fp32], G: Tensor["B", "N", fp32],
                W: Out["K", "N", fp32]):
    for k, n in tsr.grid(tsr.tile(K, 64), tsr.tile(N, 64)):
        acc = tsr.zeros(k, n)
        for b in tsr.tile(B, 32):
            acc += X[b, k] @ G[b, n]
        W[k, n] = acc
''',
        call="weight_grad(np.zeros((48, 64), np.float32),"
             " np.zeros((48, 80), np.float32))",
        line=10,
        caret=("X[b, k]", "@ G", "G[b, n]"),
        mentions=["k", "b", "X", "G"],
        fix="X[b, k].T",
    ),
    Case(
        name="bias indexed with the row range",
        program='''\
import tessera as tsr
from tessera import Tensor, Out

@tsr.kernel
def add_bias(X: Tensor["M", "N"], bias: Tensor["N"], C: Out["M", "N"]):
    for m, n in tsr.grid(tsr.tile(M, 32), tsr.tile(N, 32)):
        C[m, n] = X[m, n] + bias[m]
''',
        call="add_bias(np.zeros((64, 64), np.float32),"
             " np.zeros(64, np.float32))",
        line=7,
        caret=("m]", "bias[m]"),
        mentions=["m", "M", "bias", "N", "@5", "@6"],
        fix="bias[n]",
    ),
    Case(
        name="stores a tile that was never reduced",
        program='''\
import tessera as tsr
from tessera import Tensor, Out

@tsr.kernel
def row_sum(X: Tensor["M", "N"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 64)):
        for n in tsr.tile(N, 64):
            Y[m] = X[m, n]
''',
        call="row_sum(np.zeros((100, 200), np.float32))",
        line=8,
        caret=("Y[m]", "X[m, n]"),
        mentions=["Y", "[m, n]", "[m]", "n"],
        fix=None,
    ),
    Case(
        name="accumulates into an Out",
        program='''\
import tessera as tsr
from tessera import Tensor, Out

@tsr.kernel
def accumulate(
    A: Tensor["M", "N"],
    C: Out["M", "N"],
):
    for m, n in tsr.grid(tsr.tile(M, 32), tsr.tile(N, 64)):
        C[m, n] += A[m, n]
''',
        call="accumulate(np.zeros((40, 40), np.float32),"
             " np.ones((40, 40), np.float32))",
        line=10,
        caret="C[m, n]",
        mentions=["C", "Out", "@7"],
        fix="InOut",
    ),
    Case(
        name="running maximum widens in the loop",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp16, fp32

@tsr.kernel
def row_max(X: Tensor["M", "K", fp16], Y: Out["M", fp16]):
    for m in tsr.grid(tsr.tile(M, 64)):
        top = X[m, 0]
        for k in tsr.tile(K, 32):
            top = tsr.maximum(top, tsr.max(X[m, k].to(fp32), k))
        Y[m] = top
''',
        call="row_max(np.zeros((64, 96), np.float16))",
        line=9,
        caret=("top = ", "tsr.maximum"),
        mentions=["top", "fp16", "fp32", "@7"],
        fix=("fp32", "fp16"),
    ),
    Case(
        name="positions times values: i64 with fp32",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def ramp(X: Tensor["M", fp32], Y: Out["M", fp32]):
    for m in tsr.grid(tsr.tile(M, 128)):
        Y[m] = X[m] * m.index
''',
        call="ramp(np.zeros(300, np.float32))",
        line=7,
        caret=("X[m] *", "* m.index", "m.index"),
        mentions=["i64", "fp32", "X", "m.index"],
        fix="m.index.to(",
    ),
    Case(
        name="fp16 residual with bf16 branch (function)",
        program='''\
import tessera as tsr
from tessera import Tensor, fp16, bf16

@tsr.function
def residual(x: Tensor["B", "D", fp16], h: Tensor["B", "D", bf16]):
    y = tsr.gelu(h)
    return x + y
''',
        call='residual.compile(target="cpu")',
        line=7,
        caret=("x + y", "+ y", "y"),
        mentions=["x", "fp16", "y", "bf16"],
        fix=("y.to(", "x.to("),
    ),
    Case(
        name="dim name of another signature (function)",
        program='''\
import math
import tessera as tsr
from tessera import Tensor

@tsr.function
def scores(q: Tensor["S", "E"], k: Tensor["T", "E"]):
    return tsr.softmax(q @ k.T / math.sqrt(D), dim=-1)
''',
        call="scores(np.zeros((16, 32), np.float32),"
             " np.zeros((24, 32), np.float32))",
        line=7,
        caret="D)",
        mentions=["D", ("E", "dim", "dims", "signature")],
        fix=None,
    ),
    Case(
        name="NumPy function on a tile",
        program='''\
import numpy as np
import tessera as tsr
from tessera import Tensor, Out

@tsr.kernel
def logistic(X: Tensor["N"], Y: Out["N"]):
    for n in tsr.grid(tsr.tile(N, 256)):
        Y[n] = 1.0 / (1.0 + np.exp(-X[n]))
''',
        call="logistic(np.zeros(1000, np.float32))",
        line=8,
        caret="np.exp",
        mentions=[("np.exp", "numpy.exp", "np", "numpy")],
        fix="tsr.exp(",
    ),
    Case(
        name="list comprehension over columns",
        program='''\
import tessera as tsr
from tessera import Tensor, Out

@tsr.kernel
def sum4(X: Tensor["M", 4], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 128)):
        cols = [X[m, i] for i in range(4)]
        Y[m] = cols[0] + cols[1] + cols[2] + cols[3]
''',
        call="sum4(np.zeros((200, 4), np.float32))",
        line=7,
        caret="[X[m, i]",
        mentions=["comprehension"],
        fix=("for", "tsr.unroll", "loop"),
    ),
    Case(
        name="lambda as an activation (function)",
        program='''\
import tessera as tsr
from tessera import Tensor

@tsr.function
def mlp(x: Tensor["B", "D"], w: Tensor["D", "E"]):
    act = lambda t: tsr.maximum(t, 0)
    return act(x @ w)
''',
        call="mlp(np.zeros((4, 8), np.float32), np.zeros((8, 6), np.float32))",
        line=6,
        caret="lambda",
        mentions=["lambda"],
        fix=("def", "@tsr.function", "tsr.maximum"),
    ),
    Case(
        name="break out of the reduction loop",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, i64

@tsr.kernel
def prefix_sum(X: Tensor["M", "K"], Y: Out["M"], limit: i64):
    for m in tsr.grid(tsr.tile(M, 64)):
        acc = tsr.zeros(m)
        for k in tsr.tile(K, 64):
            if k.start >= limit:
                break
            acc += tsr.sum(X[m, k], k)
        Y[m] = acc
''',
        call="prefix_sum(np.zeros((64, 256), np.float32), limit=128)",
        line=10,
        caret="break",
        mentions=["break"],
        fix=("stop=", "while", "if ", "tsr.where"),
    ),
    Case(
        name="one range on two axes of a square matrix",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def diagonal_blocks(A: Tensor["M", "M", fp32], D: Out["M", fp32]):
    for m in tsr.grid(tsr.tile(M, 32)):
        block = A[m, m]
        D[m] = tsr.sum(block, dim=-1)
''',
        call="diagonal_blocks(np.zeros((96, 96), np.float32))",
        line=7,
        caret=("m]", "m, m]", "A[m, m]"),
        mentions=["m", "A"],
        fix="m.copy()",
    ),
    Case(
        name="reduces over the axis @ has already summed",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, const, fp32

@tsr.kernel
def normed(A: Tensor["M", "K", fp32], B: Tensor["K", "N", fp32],
           C: Out["M", "N", fp32], BK: const = 32):
    for m, n in tsr.grid(tsr.tile(M, 64), tsr.tile(N, 64)):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, BK):
            part = A[m, k] @ B[k, n]
            acc += part / tsr.sum(part, k)
        C[m, n] = acc
''',
        call="normed(np.ones((64, 96), np.float32),"
             " np.ones((96, 70), np.float32))",
        line=11,
        caret=("k)", "tsr.sum(part"),
        mentions=["k", "part", "[m, n]"],
        fix=None,
    ),
    Case(
        name="call: a column vector where a vector is declared",
        program='''\
import tessera as tsr
from tessera import Tensor, Out

@tsr.kernel
def add_bias(X: Tensor["M", "N"], bias: Tensor["N"], C: Out["M", "N"]):
    for m, n in tsr.grid(tsr.tile(M, 32), tsr.tile(N, 32)):
        C[m, n] = X[m, n] + bias[n]
''',
        call="x = np.zeros((16, 8), np.float32)\n"
             "b = np.zeros((8, 1), np.float32)\n"
             "add_bias(x, b)",
        line=None,
        caret=None,
        mentions=["bias", ("8 x 1", "(8, 1)", "2", "two"),
                  ("1", "one", 'Tensor["N"]', "Tensor[N]")],
        fix=None,
    ),
    Case(
        name="call: NumPy's default float64 (function)",
        program='''\
import tessera as tsr
from tessera import Tensor, fp16

@tsr.function
def normalize(x: Tensor["M", "N", fp16]):
    return tsr.softmax(x, dim=-1)
''',
        call="data = np.ones((16, 32))\nnormalize(data)",
        line=None,
        caret=None,
        mentions=["x", "fp16", ("fp64", "float64")],
        fix=None,
    ),
    Case(
        name="call: weight as long as the wrong axis (function)",
        program='''\
import tessera as tsr
from tessera import Tensor

@tsr.function
def rms_norm(x: Tensor["B", "S", "D"], weight: Tensor["D"]):
    var = tsr.mean(x * x, dim=-1)
    return x * tsr.rsqrt(var + 1e-6) * weight
''',
        call="x = np.ones((4, 32, 64), np.float32)\n"
             "rms_norm(x, np.ones(32, np.float32))",
        line=None,
        caret=None,
        mentions=["x", "weight", "D", "64", "32"],
        fix=None,
    ),
    Case(
        name="call: misspelt keyword, so an argument is missing",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def scale(X: Tensor["N", fp32], Y: Out["N", fp32], factor: fp32):
    for n in tsr.grid(tsr.tile(N, 256)):
        Y[n] = X[n] * factor
''',
        call="x = np.ones(100, np.float32)\n\nscale(x, fator=2.0)",
        line=None,
        caret=None,
        mentions=["fator", "factor", "scale"],
        fix=None,
    ),
    Case(
        name="misspelt schedule key",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, const

@tsr.kernel.schedule(target="cpu", BLOCK=64, num_warp=8)
def twice(X: Tensor["N"], Y: Out["N"], BLOCK: const = 128):
    for n in tsr.grid(tsr.tile(N, BLOCK)):
        Y[n] = X[n] * 2
''',
        call="twice(np.ones(100, np.float32))",
        line=4,
        caret="num_warp",
        mentions=["num_warp"],
        fix="num_warps",
    ),
    Case(
        name="conditional expression on a tile",
        program='''\
import tessera as tsr
from tessera import Tensor, Out

@tsr.kernel
def my_relu(X: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 256)):
        x = X[m]
        Y[m] = x if x > 0 else 0.0
''',
        call="my_relu(np.ones(1000, np.float32))",
        line=8,
        caret=("x if", "if x", "x > 0"),
        mentions=["tile", ("256", "[m]")],
        fix="tsr.where(x > 0",
    ),
    Case(
        name="two grids in one kernel",
        program='''\
import tessera as tsr
from tessera import Tensor, Out

@tsr.kernel
def two_pass(X: Tensor["M", "N"], R: Out["M"], Y: Out["M", "N"]):
    for m in tsr.grid(tsr.tile(M, 32)):
        R[m] = tsr.sum(X[m, :], dim=-1)
    for m, n in tsr.grid(tsr.tile(M, 32), tsr.tile(N, 32)):
        Y[m, n] = X[m, n] * 2
''',
        call="two_pass(np.ones((64, 64), np.float32))",
        line=8,
        caret=("for m", "tsr.grid"),
        mentions=[("grid", "tsr.grid"), "@6"],
        fix=None,
    ),
    Case(
        name="store after the grid",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32, i32

@tsr.kernel
def copy(X: Tensor["N", fp32], Y: Out["N", fp32], Done: Out[1, i32]):
    for n in tsr.grid(tsr.tile(N, 256)):
        Y[n] = X[n]
    Done[0] = 1
''',
        call="copy(np.ones(1000, np.float32))",
        line=8,
        caret="Done[0]",
        mentions=[("Done", "store", "stores"), ("grid", "tsr.grid")],
        fix=None,
    ),
    Case(
        name="kernel returns its result",
        program='''\
import tessera as tsr
from tessera import Tensor, fp32

@tsr.kernel
def dot_rows(A: Tensor["M", "K", fp32], B: Tensor["M", "K", fp32]):
    for m in tsr.grid(tsr.tile(M, 32)):
        acc = tsr.zeros(m)
        for k in tsr.tile(K, 64):
            acc += tsr.sum(A[m, k] * B[m, k], k)
        return acc
''',
        call="dot_rows(np.ones((64, 64), np.float32),"
             " np.ones((64, 64), np.float32))",
        line=10,
        caret="return",
        mentions=["return", "kernel"],
        fix=("Out", "@tsr.function"),
    ),
    Case(
        name="torch's dtype name (function)",
        program='''\
import tessera as tsr
from tessera import Tensor

@tsr.function
def stable_softmax(x: Tensor["M", "N"]):
    wide = x.to(tsr.float32)
    e = tsr.exp(wide - tsr.max(wide, dim=-1))
    return (e / tsr.sum(e, dim=-1)).to(x.dtype)
''',
        call="stable_softmax(np.ones((8, 16), np.float16))",
        line=6,
        caret=("tsr.float32", "float32"),
        mentions=[("float32", "tsr.float32")],
        fix="fp32",
    ),
    Case(
        name="tile size that comes out negative",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, const

@tsr.kernel
def negate(X: Tensor["N"], Y: Out["N"], BLOCK: const = 64):
    for n in tsr.grid(tsr.tile(N, BLOCK - 128)):
        Y[n] = -X[n]
''',
        call="negate(np.ones(1000, np.float32))",
        line=6,
        caret=("BLOCK - 128", "tsr.tile("),
        mentions=["-64", ("1", "positive", "one")],
        fix=None,
    ),
]
