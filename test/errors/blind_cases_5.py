# 25 user mistakes, fifth set, written from the documents alone on 2026-11-15.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs with one mistake each, and what a good error says about it.

The author read the specification (language.md), first-hour.md, from-triton.md
and the README, and nothing of the front end or of the earlier sets, so that the
messages are judged on mistakes nobody had in mind when writing them. Change an
expectation only where the specification says otherwise, and say so in a commit.
"""
from blind_case import Case

CASES = [
    # 1 Carriers and names
    Case(
        name="break out of a tile loop instead of stop=",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, const, fp32, i64

@tsr.kernel
def head_sum(X: Tensor["M", "N", fp32], limit: i64, Y: Out["M", fp32],
             BM: const = 32, BN: const = 64):
    for m in tsr.grid(tsr.tile(M, BM)):
        acc = tsr.zeros(m)
        for n in tsr.tile(N, BN):
            if n.start >= limit:
                break
            acc += tsr.sum(X[m, n], n)
        Y[m] = acc
''',
        call="head_sum(np.zeros((50, 300), np.float32), 128)",
        line=11,
        caret="break",
        mentions=["break"],
        fix=("stop=", "while", "tsr.where", "if "),
    ),
    Case(
        name="helper without a decorator",
        program='''\
import math
import tessera as tsr
from tessera import Tensor, fp32

def gelu_tanh(x):
    c = math.sqrt(2.0 / math.pi)
    return 0.5 * x * (1.0 + tsr.tanh(c * (x + 0.044715 * x * x * x)))

@tsr.function
def mlp(x: Tensor["B", "K", fp32], w: Tensor["K", "N", fp32]):
    return gelu_tanh(tsr.matmul(x, w))
''',
        call="mlp(np.zeros((8, 16), np.float32), np.zeros((16, 24), np.float32))",
        line=11,
        caret="gelu_tanh",
        mentions=["gelu_tanh"],
        fix="@tsr.function",
    ),
    # 2 Signatures
    Case(
        name="all dims in one string, as in jaxtyping",
        program='''\
import tessera as tsr
from tessera import Tensor, fp32

@tsr.function
def row_softmax(x: Tensor["B S", fp32]):
    return tsr.softmax(x, dim=-1)
''',
        call="row_softmax(np.zeros((6, 10), np.float32))",
        line=5,
        caret=("x: Tensor", "Tensor", '["B S"', '"B S"', "B S", 'S"'),
        mentions=["B S"],
        fix=('"B", "S"', "'B', 'S'"),
    ),
    Case(
        name="tile size without const",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def scale(X: Tensor["N", fp32], factor: fp32, Y: Out["N", fp32], BLOCK=256):
    for n in tsr.grid(tsr.tile(N, BLOCK)):
        Y[n] = X[n] * factor
''',
        call="scale(np.ones(1000, np.float32), 2.0)",
        line=6,
        caret=("BLOCK", "tsr.tile", "tile(", "N, BLOCK"),
        mentions=["BLOCK", ("const", "constant", "compile-time", "compile time",
                            "run-time", "runtime", "run time")],
        fix="BLOCK: const",
    ),
    Case(
        name="atomic_add into an Out",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, const, fp32

@tsr.kernel
def column_sums(X: Tensor["M", "N", fp32], S: Out["N", fp32],
                BM: const = 32, BN: const = 64):
    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN)):
        tsr.atomic_add(S, (n,), tsr.sum(X[m, n], m))
''',
        call="column_sums(np.ones((70, 90), np.float32), np.zeros(90, np.float32))",
        line=8,
        caret=("tsr.atomic_add", "atomic_add", "S, (n,)"),
        mentions=["S", "@5"],
        fix="Region[reduce_sum",
    ),
    # 3 Grid, tiles, ranges
    Case(
        name="second grid in one kernel",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, InOut, const, fp32

@tsr.kernel
def centre(X: Tensor["M", "N", fp32], Mean: InOut["M", fp32],
           Y: Out["M", "N", fp32], BM: const = 16):
    for m in tsr.grid(tsr.tile(M, BM)):
        Mean[m] = tsr.mean(X[m, :], dim=1)
    for m in tsr.grid(tsr.tile(M, BM)):
        Y[m, :] = X[m, :] - Mean[m]
''',
        call="centre(np.ones((40, 30), np.float32), np.zeros(40, np.float32))",
        line=9,
        caret=("for", "m in", "tsr.grid", "grid"),
        mentions=[("grid", "tsr.grid"), "@7"],
        fix="",
    ),
    Case(
        name="ranges compared as if they were offsets",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, const, fp32

@tsr.kernel
def causal_mask(S: Tensor["M", "N", fp32], P: Out["M", "N", fp32],
                BM: const = 32, BN: const = 32):
    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN)):
        s = S[m, n]
        P[m, n] = tsr.where(m >= n, s, -tsr.inf)
''',
        call="causal_mask(np.ones((50, 50), np.float32))",
        line=9,
        caret=("m >= n", ">= n", "n, s", "tsr.where", "where"),
        mentions=[("m", "n")],
        fix=("m.index", "n.index"),
    ),
    # 4 Memory
    Case(
        name="slice with a bound as index",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, const, fp32

@tsr.kernel
def peak_of_head(X: Tensor["S", "D", fp32], Y: Out["S", fp32], BS: const = 32):
    for s in tsr.grid(tsr.tile(S, BS)):
        Y[s] = tsr.max(X[s, :64], dim=1)
''',
        call="peak_of_head(np.ones((50, 128), np.float32))",
        line=7,
        caret=("X[s", "[s, :64]", ":64", "64"),
        mentions=[("slice", "slices", ":64", "start:stop"), ("X", "D")],
        fix=("range_at(D, 0, 64)", "range_at", "tsr.tile(D", "tsr.arange(64)",
             "X[s, :]"),
    ),
    Case(
        name="other= of tl.load",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, const, fp32

@tsr.kernel
def double(X: Tensor["N", fp32], Y: Out["N", fp32], BN: const = 128):
    for n in tsr.grid(tsr.tile(N, BN)):
        x = tsr.load(X, (n,), other=0.0)
        Y[n] = x + x
''',
        call="double(np.ones(1000, np.float32))",
        line=7,
        caret=("other", "tsr.load", "load", "0.0"),
        mentions=["other"],
        fix=("pad=", "X[n]", "tsr.load(X, (n,))", ".filled("),
    ),
    Case(
        name="assignment through a boolean mask, as in NumPy",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, const, fp32

@tsr.kernel
def rectify(X: Tensor["N", fp32], Y: Out["N", fp32], BN: const = 128):
    for n in tsr.grid(tsr.tile(N, BN)):
        x = X[n]
        x[x < 0.0] = 0.0
        Y[n] = x
''',
        call="rectify(np.ones(1000, np.float32))",
        line=8,
        caret=("x[x", "[x", "x < 0.0", "< 0.0", "= 0.0"),
        mentions=["x"],
        fix=("tsr.where(", "tsr.maximum(", "tsr.relu("),
    ),
    Case(
        name="store of a tile whose reduction was forgotten",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, const, fp32

@tsr.kernel
def row_energy(X: Tensor["M", "N", fp32], Y: Out["M", fp32], BM: const = 16):
    for m in tsr.grid(tsr.tile(M, BM)):
        x = X[m, :]
        Y[m] = x * x
''',
        call="row_energy(np.ones((40, 30), np.float32))",
        line=8,
        caret=("Y[m]", "[m]", "m]", "= x", "x * x", "* x"),
        mentions=["N", "Y"],
        fix="",
    ),
    # 5 Values
    Case(
        name="zeros with a shape tuple of block sizes",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, const, fp32

@tsr.kernel
def gemm(A: Tensor["M", "K", fp32], B: Tensor["K", "N", fp32], C: Out["M", "N", fp32],
         BM: const = 64, BN: const = 32, BK: const = 16):
    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN)):
        acc = tsr.zeros((BM, BN), dtype=fp32)
        for k in tsr.tile(K, BK):
            acc += A[m, k] @ B[k, n]
        C[m, n] = acc
''',
        call="gemm(np.ones((70, 50), np.float32), np.ones((50, 90), np.float32))",
        line=8,
        caret=("tsr.zeros", "zeros", "((BM", "(BM", "BM", "BN"),
        mentions=[("zeros", "tsr.zeros", "axis", "axes", "range", "ranges")],
        fix="zeros(m, n",
    ),
    Case(
        name="float total divided by int lengths",
        program='''\
import tessera as tsr
from tessera import Tensor, fp32, i32

@tsr.function
def mean_pool(x: Tensor["B", "S", fp32], lengths: Tensor["B", i32]):
    total = tsr.sum(x, dim=-1)
    return total / lengths
''',
        call="mean_pool(np.ones((4, 20), np.float32), np.ones(4, np.int32))",
        line=7,
        caret=("total", "/ lengths", "lengths"),
        mentions=["total", "lengths", "fp32", "i32"],
        fix=("lengths.to(",),
    ),
    Case(
        name="one axis twice: a block's Gram matrix",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, const, fp32

@tsr.kernel
def block_gram_peak(X: Tensor["M", "D", fp32], Y: Out["M", fp32], BM: const = 32):
    for m in tsr.grid(tsr.tile(M, BM)):
        x = X[m, :]
        g = x @ x.T
        Y[m] = tsr.max(g, dim=1)
''',
        call="block_gram_peak(np.ones((70, 24), np.float32))",
        line=8,
        caret=("g =", "x @ x.T", "@ x.T", "x.T"),
        mentions=["m"],
        fix=("m.copy()",),
    ),
    # 6 Matrix products
    Case(
        name="torch's name of a matmul precision",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, const, fp32

@tsr.kernel
def gemm(A: Tensor["M", "K", fp32], B: Tensor["K", "N", fp32], C: Out["M", "N", fp32],
         BM: const = 64, BN: const = 32, BK: const = 16):
    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN)):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, BK):
            acc = tsr.mma(A[m, k], B[k, n], acc, precision="highest")
        C[m, n] = acc
''',
        call="gemm(np.ones((70, 50), np.float32), np.ones((50, 90), np.float32))",
        line=10,
        caret=("precision", '"highest"', "highest", "tsr.mma", "mma"),
        mentions=["highest"],
        fix=("ieee", "tf32", "bf16x3"),
    ),
    Case(
        name="nn.Linear's weight without its transpose",
        program='''\
import tessera as tsr
from tessera import Tensor, fp32

@tsr.function
def linear(x: Tensor["B", "IN", fp32], weight: Tensor["OUT", "IN", fp32],
           bias: Tensor["OUT", fp32]):
    return tsr.matmul(x, weight) + bias
''',
        call="linear(np.ones((8, 48), np.float32), np.ones((64, 48), np.float32),"
             " np.ones(64, np.float32))",
        line=7,
        caret=("tsr.matmul", "matmul", "(x, weight", "x, weight", "weight"),
        mentions=["IN", "OUT", "weight"],
        fix=("weight.T", "weight.transpose(", "weight.permute("),
    ),
    # 7 Operations on tiles
    Case(
        name="dim=1 of a tile that has one axis",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def row_energy(X: Tensor["M", "N", fp32], Y: Out["M", fp32]):
    for i in tsr.grid(M):
        x = X[i, :]
        Y[i] = tsr.sum(x * x, dim=1)
''',
        call="row_energy(np.ones((40, 30), np.float32))",
        line=8,
        caret=("dim=1", "=1", "1)", "tsr.sum", "sum", "x * x", "* x"),
        mentions=["1", ("N", "one axis", "1 axis", "0", "-1")],
        fix=("dim=0", "dim=-1", "axis=0", "axis=-1", "tsr.sum(x * x)",
             "tsr.sum(x * x, N)"),
    ),
    Case(
        name="max, the reduction, for maximum",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, const, fp32

@tsr.kernel
def rectify(X: Tensor["N", fp32], Y: Out["N", fp32], BN: const = 128):
    for n in tsr.grid(tsr.tile(N, BN)):
        Y[n] = tsr.max(X[n], 0.0)
''',
        call="rectify(np.ones(1000, np.float32))",
        line=7,
        caret=("0.0", "tsr.max", "max", "X[n]"),
        mentions=[("0.0", "max", "tsr.max")],
        fix=("tsr.maximum(", "tsr.relu("),
    ),
    Case(
        name="graph op inside a kernel",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, const, fp32

@tsr.kernel
def norm_rows(X: Tensor["M", "N", fp32], Y: Out["M", "N", fp32], BM: const = 8):
    for m in tsr.grid(tsr.tile(M, BM)):
        x = X[m, :]
        Y[m, :] = tsr.layer_norm(x, (N,), eps=1e-5)
''',
        call="norm_rows(np.ones((40, 30), np.float32))",
        line=8,
        caret=("tsr.layer_norm", "layer_norm", ".layer_norm"),
        mentions=["layer_norm", ("function", "functions", "@tsr.function",
                                 "tsr.function", "kernel", "kernels")],
        fix="",
    ),
    Case(
        name="torch's in-place method",
        program='''\
import tessera as tsr
from tessera import Tensor, fp32

@tsr.function
def residual(x: Tensor["B", "D", fp32], y: Tensor["B", "D", fp32]):
    x.add_(y)
    return tsr.relu(x)
''',
        call="residual(np.ones((8, 16), np.float32), np.ones((8, 16), np.float32))",
        line=6,
        caret=("x.add_", ".add_", "add_"),
        mentions=["add_"],
        fix=("x + y", "x += y", "x = "),
    ),
    # 8 Decorators
    Case(
        name="schedule key of the loop option's name",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, const, fp32

@tsr.kernel.schedule(num_warps=4, stages=3)
def double(X: Tensor["N", fp32], Y: Out["N", fp32], BN: const = 128):
    for n in tsr.grid(tsr.tile(N, BN)):
        Y[n] = X[n] + X[n]
''',
        call="double(np.ones(1000, np.float32))",
        line=4,
        caret=("stages", "@tsr", "tsr.kernel", "kernel.schedule", "schedule",
               "=3", "3"),
        mentions=["stages"],
        fix="num_stages",
    ),
    Case(
        name="autotune with Triton's configs",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, const, fp32

@tsr.kernel.autotune(configs=[dict(BN=64), dict(BN=128)], key=["N"])
def double(X: Tensor["N", fp32], Y: Out["N", fp32], BN: const = 128):
    for n in tsr.grid(tsr.tile(N, BN)):
        Y[n] = X[n] + X[n]
''',
        call="double(np.ones(1000, np.float32))",
        line=4,
        caret=("configs", "@tsr", "tsr.kernel", "kernel.autotune", "autotune",
               "=[dict", "[dict"),
        mentions=["configs"],
        fix="space=",
    ),
    # 9 Calling (and, of section 2, what is checked at the call)
    Case(
        name="Triton's launch grid at the call",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, const, fp32

@tsr.kernel
def add(X: Tensor["N", fp32], Y: Tensor["N", fp32], Z: Out["N", fp32], BN: const = 64):
    for n in tsr.grid(tsr.tile(N, BN)):
        Z[n] = X[n] + Y[n]
''',
        call="add[(2,)](np.ones(100, np.float32), np.ones(100, np.float32))",
        line=None,
        caret=None,
        mentions=["add", ("grid", "tsr.grid", "launch")],
        fix="add(",
    ),
    Case(
        name="an array that is not half of the other",
        program='''\
import tessera as tsr
from tessera import Tensor, fp32

@tsr.function
def pooled(x: Tensor["S", "D", fp32], half: Tensor["S//2", "D", fp32]):
    return tsr.sum(x, dim=0) + tsr.sum(half, dim=0)
''',
        call="pooled(np.ones((64, 16), np.float32), np.ones((30, 16), np.float32))",
        line=None,
        caret=None,
        mentions=["x", "half", "30", ("32", "64"), ("S//2", "S // 2", "S")],
        fix=None,
    ),
    Case(
        name="output that is a shifted view of the input",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, const, fp32

@tsr.kernel
def shift(X: Tensor["N", fp32], Y: Out["N", fp32], BN: const = 16):
    for n in tsr.grid(tsr.tile(N, BN)):
        Y[n] = X[n]
''',
        call="shift((buf := np.zeros(65, np.float32))[1:], buf[:-1])",
        line=None,
        caret=None,
        mentions=["X", "Y"],
        fix=None,
    ),
]
