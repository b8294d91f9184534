# 25 more user mistakes: the fourth set, written from the documents alone on 2026-11-15.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs with one mistake each, and what a good error says about it.

The author read language.md, first-hour.md, from-triton.md and the README, and
nothing of the front end, so that the messages are judged on mistakes nobody had
in mind when writing them. Change an expectation only where the specification
says otherwise, and say so in a commit.
"""
from blind_case import Case

CASES = [
    # Section 1: carriers, names, statements.
    Case(
        name="continue to skip a tile",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, const, fp32

@tsr.kernel
def row_sums(X: Tensor["M", "N", fp32], Y: Out["M", fp32], skip: const = 1):
    for m in tsr.grid(tsr.tile(M, 32)):
        acc = tsr.zeros(m)
        for n in tsr.tile(N, 64):
            if n.id == skip:
                continue
            acc += tsr.sum(X[m, n], n)
        Y[m] = acc
''',
        call="row_sums(np.ones((40, 200), np.float32))",
        line=10,
        caret="continue",
        mentions=["continue"],
        fix=("if", "else", "tsr.where"),
    ),
    Case(
        name="helper without a decorator",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

def leaky(x, slope):
    return tsr.where(x > 0, x, x * slope)

@tsr.kernel
def activate(X: Tensor["N", fp32], Y: Out["N", fp32]):
    for n in tsr.grid(tsr.tile(N, 128)):
        Y[n] = leaky(X[n], 0.1)
''',
        call="activate(np.ones(300, np.float32))",
        line=10,
        caret="leaky",
        mentions=["leaky"],
        fix="tsr.function",
    ),
    Case(
        name="NumPy's exp on a tensor of a function",
        program='''\
import numpy as np
import tessera as tsr
from tessera import Tensor, fp32

@tsr.function
def swish(x: Tensor["M", "N", fp32]):
    return x / (1.0 + np.exp(-x))
''',
        call="swish(np.ones((20, 30), np.float32))",
        line=7,
        caret=("np.exp", ".exp", "exp", "-x"),
        mentions=[("np", "numpy", "NumPy")],
        fix="tsr.exp",
    ),
    # Section 2: signatures.
    Case(
        name="maximum into a region for sums",
        program='''\
import tessera as tsr
from tessera import Tensor, Region, fp32, reduce_sum

@tsr.kernel
def column_peak(X: Tensor["M", "N", fp32],
                P: Region[reduce_sum, Tensor["N", fp32]]):
    for m, n in tsr.grid(tsr.tile(M, 32), tsr.tile(N, 64)):
        tsr.atomic_max(P, (n,), tsr.max(X[m, n], m))
''',
        call="column_peak(np.ones((40, 70), np.float32),"
             " np.zeros(70, np.float32))",
        line=8,
        caret=("tsr.atomic_max", "atomic_max", "P, (n,)"),
        mentions=["P", "reduce_sum", ("atomic_max", "reduce_max", "max"),
                  "@6"],
        fix=("reduce_max", "tsr.atomic_add"),
    ),
    Case(
        name="block size without const",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def twice(X: Tensor["N", fp32], Y: Out["N", fp32], BLOCK=128):
    for n in tsr.grid(tsr.tile(N, BLOCK)):
        Y[n] = X[n] * 2.0
''',
        call="twice(np.ones(1000, np.float32), BLOCK=256)",
        line=6,
        caret=("BLOCK", "tsr.tile", "tile(N", "tsr.grid"),
        mentions=["BLOCK", "@5"],
        fix="BLOCK: const",
    ),
    Case(
        name="full-width table where half the width is declared",
        program='''\
import tessera as tsr
from tessera import Tensor, fp32

@tsr.function
def energy(x: Tensor["S", "D", fp32], cos: Tensor["S", "D//2", fp32]):
    return tsr.sum(x, dim=-1) + tsr.sum(cos, dim=-1)
''',
        call="energy(np.ones((16, 64), np.float32),"
             " np.ones((16, 64), np.float32))",
        line=None,
        caret=None,
        mentions=["x", "cos", "D", "64", ("32", "128", "129")],
        fix=None,
    ),
    Case(
        name="shifting an array within itself",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def decay(X: Tensor["N", fp32], Y: Out["N", fp32]):
    for n in tsr.grid(tsr.tile(N, 128)):
        Y[n] = X[n] * 0.5
''',
        call="decay((x := np.ones(301, np.float32))[:-1], x[1:])",
        line=None,
        caret=None,
        mentions=["X", "Y"],
        fix=None,
    ),
    # Section 3: grid, tiles, ranges.
    Case(
        name="the end of a range called end",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def prefix_sums(X: Tensor["S", "T", fp32], Y: Out["S", fp32]):
    for s in tsr.grid(tsr.tile(S, 16)):
        acc = tsr.zeros(s)
        for t in tsr.tile(T, 32, stop=s.end):
            acc += tsr.sum(X[s, t], t)
        Y[s] = acc
''',
        call="prefix_sums(np.ones((64, 64), np.float32))",
        line=8,
        caret=("s.end", ".end", "end"),
        mentions=["s", "end"],
        fix="s.stop",
    ),
    Case(
        name="Triton's loop over block numbers before a product",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def gemm(A: Tensor["M", "K", fp32], B: Tensor["K", "N", fp32],
         C: Out["M", "N", fp32]):
    for m, n in tsr.grid(tsr.tile(M, 64), tsr.tile(N, 64)):
        acc = tsr.zeros(m, n)
        for k in range(tsr.cdiv(K, 32)):
            acc += A[m, k] @ B[k, n]
        C[m, n] = acc
''',
        call="gemm(np.ones((70, 96), np.float32),"
             " np.ones((96, 80), np.float32))",
        line=10,
        caret=("A[m, k]", "k] @", "@ B", "B[k, n]", "k, n]"),
        mentions=["m", "n", ("k", "scalar", "scalars")],
        fix=("tsr.tile(K", "tsr.tile", "range_at", "A[m, k] * B[k, n]"),
    ),
    # Section 4: memory.
    Case(
        name="a NumPy slice as an index",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def head_sums(X: Tensor["M", "N", fp32], Y: Out["M", fp32]):
    for m in tsr.grid(tsr.tile(M, 32)):
        Y[m] = tsr.sum(X[m, 0:16], dim=1)
''',
        call="head_sums(np.ones((40, 100), np.float32))",
        line=7,
        caret=("X[m, 0:16]", "[m, 0:16]", "0:16", ":16", "16"),
        mentions=[("slice", "slices", "slicing", "0:16", "range", "ranges")],
        fix=("range_at", "tsr.tile(N", "tsr.arange(16)"),
    ),
    Case(
        name="assignment through a boolean mask",
        program='''\
import tessera as tsr
from tessera import Tensor, fp32

@tsr.function
def double_positive(x: Tensor["M", "N", fp32]):
    y = x * 2.0
    y[y < 0] = 0.0
    return y
''',
        call="double_positive(np.ones((20, 30), np.float32))",
        line=7,
        caret=("y[y < 0]", "[y < 0]", "y < 0]", "< 0", "= 0.0"),
        mentions=["y"],
        fix=("where", "maximum", "relu", "clamp"),
    ),
    Case(
        name="other= of tl.load",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, const, fp32

@tsr.kernel
def drop_last(X: Tensor["N", fp32], Y: Out["N", fp32], BLOCK: const = 128):
    for n in tsr.grid(tsr.tile(N, BLOCK)):
        x = tsr.load(X, (n,), mask=n.index < N - 1, other=0.0)
        Y[n] = x * 2.0
''',
        call="drop_last(np.ones(300, np.float32))",
        line=7,
        caret=("other", "0.0", "tsr.load", ".load", "load"),
        mentions=["other"],
        fix="pad=",
    ),
    Case(
        name="a store with the reduction forgotten",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def norms(X: Tensor["M", "N", fp32], Y: Out["M", fp32]):
    for m in tsr.grid(tsr.tile(M, 32)):
        x = X[m, :]
        Y[m] = tsr.sqrt(x * x)
''',
        call="norms(np.ones((40, 100), np.float32))",
        line=8,
        caret=("Y[m]", "[m]", "m]", "= tsr", "tsr.sqrt", "sqrt"),
        mentions=["Y", "N"],
        fix="",
    ),
    # Section 5: values.
    Case(
        name="float tile times the index of a range",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def ramp(X: Tensor["S", "D", fp32], Y: Out["S", "D", fp32]):
    for s in tsr.grid(tsr.tile(S, 32)):
        Y[s, :] = X[s, :] * s.index
''',
        call="ramp(np.ones((50, 24), np.float32))",
        line=7,
        caret=("X[s, :]", "* s", "s.index", ".index", "index"),
        mentions=["fp32", "i64"],
        fix=(".to(fp32)", ".to(X.dtype)", ".to(tsr.fp32)"),
    ),
    Case(
        name="accumulator that starts as the number 0.0",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def row_dot(A: Tensor["M", "K", fp32], B: Tensor["M", "K", fp32],
            Y: Out["M", fp32]):
    for m in tsr.grid(tsr.tile(M, 32)):
        acc = 0.0
        for k in tsr.tile(K, 64):
            acc += tsr.sum(A[m, k] * B[m, k], k)
        Y[m] = acc
''',
        call="row_dot(np.ones((40, 100), np.float32),"
             " np.ones((40, 100), np.float32))",
        line=10,
        caret=("acc", "+=", "tsr.sum"),
        mentions=["acc", "m", "@8"],
        fix=("tsr.zeros(m", "tsr.full("),
    ),
    Case(
        name="accumulator made from block sizes",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, const, fp32

@tsr.kernel
def gemm(A: Tensor["M", "K", fp32], B: Tensor["K", "N", fp32],
         C: Out["M", "N", fp32], BM: const = 64, BN: const = 32):
    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN)):
        acc = tsr.zeros(BM, BN)
        for k in tsr.tile(K, 32):
            acc += A[m, k] @ B[k, n]
        C[m, n] = acc
''',
        call="gemm(np.ones((70, 96), np.float32),"
             " np.ones((96, 80), np.float32))",
        line=8,
        caret=("BM", "BN", "tsr.zeros", ".zeros", "zeros", "acc"),
        mentions=[("BM", "BN")],
        fix="tsr.zeros(m, n)",
    ),
    # Section 6: matrix products.
    Case(
        name="torch's name for a precision",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def gemm(A: Tensor["M", "K", fp32], B: Tensor["K", "N", fp32],
         C: Out["M", "N", fp32]):
    for m, n in tsr.grid(tsr.tile(M, 64), tsr.tile(N, 64)):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, 32):
            acc = tsr.mma(A[m, k], B[k, n], acc, precision="high")
        C[m, n] = acc
''',
        call="gemm(np.ones((70, 96), np.float32),"
             " np.ones((96, 80), np.float32))",
        line=10,
        caret=('"high"', "high", "precision", "tsr.mma", ".mma", "mma"),
        mentions=["high"],
        fix=("ieee", "tf32", "tf32x3", "bf16x3"),
    ),
    Case(
        name="weights stored as torch's Linear does",
        program='''\
import tessera as tsr
from tessera import Tensor, fp32

@tsr.function
def linear(x: Tensor["B", "IN", fp32], w: Tensor["OUT", "IN", fp32],
           b: Tensor["OUT", fp32]):
    return x @ w + b
''',
        call="linear(np.ones((8, 16), np.float32),"
             " np.ones((32, 16), np.float32), np.ones(32, np.float32))",
        line=7,
        caret=("x @ w", "@ w", "w + b"),
        mentions=["IN", "OUT", "x", "w"],
        fix=("w.T", "w.transpose", "w.permute"),
    ),
    Case(
        name="a graph op in a kernel",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def gemm(A: Tensor["M", "K", fp32], B: Tensor["K", "N", fp32],
         C: Out["M", "N", fp32]):
    for m, n in tsr.grid(tsr.tile(M, 64), tsr.tile(N, 64)):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, 32):
            acc += tsr.matmul(A[m, k], B[k, n])
        C[m, n] = acc
''',
        call="gemm(np.ones((70, 96), np.float32),"
             " np.ones((96, 80), np.float32))",
        line=10,
        caret=("tsr.matmul", ".matmul", "matmul"),
        mentions=["matmul"],
        fix=("A[m, k] @ B[k, n]", "@ B", "a @ b", "tsr.mma"),
    ),
    # Section 7: operations.
    Case(
        name="dim=1 of a single row",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def softmax_rows(X: Tensor["M", "N", fp32], Y: Out["M", "N", fp32]):
    for r in tsr.grid(M):
        x = X[r, :]
        e = tsr.exp(x - tsr.max(x, dim=1))
        Y[r, :] = e / tsr.sum(e, dim=-1)
''',
        call="softmax_rows(np.ones((20, 100), np.float32))",
        line=8,
        caret=("dim=1", "1)", "tsr.max", ".max", "max(x", "x, dim"),
        mentions=[("x", "N"), "1"],
        fix=("dim=0", "dim=-1", "tsr.max(x)", "tsr.max(x, N)"),
    ),
    Case(
        name="max written for maximum",
        program='''\
import tessera as tsr
from tessera import Tensor, fp32

@tsr.function
def relu6(x: Tensor["M", "N", fp32]):
    return tsr.minimum(tsr.max(x, 0.0), 6.0)
''',
        call="relu6(np.ones((20, 30), np.float32))",
        line=6,
        caret=("tsr.max", ".max", "max(x", "x, 0.0", "0.0"),
        mentions=["max"],
        fix=("maximum", "relu"),
    ),
    Case(
        name="'and' between two comparisons of a tensor",
        program='''\
import tessera as tsr
from tessera import Tensor, fp32

@tsr.function
def band(x: Tensor["N", fp32], low: fp32, high: fp32):
    return tsr.where(x > low and x < high, x, 0.0)
''',
        call="band(np.ones(100, np.float32), 0.1, 0.9)",
        line=6,
        caret=("x > low", "> low", "and", "x < high", "< high"),
        mentions=["and"],
        fix="&",
    ),
    # Section 8: decorators.
    Case(
        name="a schedule key misspelt",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, const, fp32

@tsr.kernel.schedule(num_warp=8, num_stages=3)
def twice(X: Tensor["N", fp32], Y: Out["N", fp32], BLOCK: const = 128):
    for n in tsr.grid(tsr.tile(N, BLOCK)):
        Y[n] = X[n] * 2.0
''',
        call="twice(np.ones(1000, np.float32))",
        line=4,
        caret=("num_warp", "8", "@tsr", "tsr.kernel", ".schedule", "schedule"),
        mentions=["num_warp"],
        fix="num_warps",
    ),
    Case(
        name="configs= of triton.autotune",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, const, fp32

@tsr.kernel.autotune(configs=[dict(BLOCK=64), dict(BLOCK=128)], key=["N"])
def twice(X: Tensor["N", fp32], Y: Out["N", fp32], BLOCK: const = 128):
    for n in tsr.grid(tsr.tile(N, BLOCK)):
        Y[n] = X[n] * 2.0
''',
        call="twice(np.ones(1000, np.float32))",
        line=4,
        caret=("configs", "[dict", "@tsr", "tsr.kernel", ".autotune",
               "autotune"),
        mentions=["configs"],
        fix="space",
    ),
    # Section 9: calling.
    Case(
        name="a launch grid in brackets",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, const, fp32

@tsr.kernel
def twice(X: Tensor["N", fp32], Y: Out["N", fp32], BLOCK: const = 128):
    for n in tsr.grid(tsr.tile(N, BLOCK)):
        Y[n] = X[n] * 2.0
''',
        call="twice[(8,)](np.ones(1000, np.float32),"
             " np.zeros(1000, np.float32), BLOCK=128)",
        line=None,
        caret=None,
        mentions=["twice"],
        fix="twice(",
    ),
]
