# 25 more user mistakes: the third set, written from the documents alone on 2026-11-15.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs with one mistake each, and what a good error says about it.

The author read the specification, the Triton page and the README and nothing of
the front end nor of the other cases, so that the messages are judged on mistakes
nobody had in mind when writing them. Change an expectation only where the
specification says otherwise, and say so in a commit.
"""
from blind_case import Case

CASES = [
    # Section 1: carriers and names
    Case(
        name="a with statement, as around NumPy code",
        program='''\
import numpy as np
import tessera as tsr
from tessera import Tensor, fp32

@tsr.function
def safe_log(x: Tensor["M", "N", fp32]):
    y = tsr.abs(x)
    with np.errstate(divide="ignore"):
        y = tsr.log(y)
    return y
''',
        call="safe_log(np.ones((6, 10), np.float32))",
        line=8,
        caret=("with", "np.errstate"),
        mentions=["with"],
        fix="",
    ),
    Case(
        name="NumPy's exp on a tile",
        program='''\
import numpy as np
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def softmax_rows(X: Tensor["M", "N", fp32], Y: Out["M", "N", fp32]):
    for m in tsr.grid(tsr.tile(M, 16)):
        x = X[m, :]
        e = np.exp(x - tsr.max(x, dim=1))
        Y[m, :] = e / tsr.sum(e, dim=1)
''',
        call="softmax_rows(np.ones((40, 100), np.float32))",
        line=9,
        caret=("np.exp", ".exp(x", "exp(x"),
        mentions=[("np.exp", "numpy.exp", "np", "numpy")],
        fix="tsr.exp",
    ),
    Case(
        name="a helper of a kernel written as a kernel",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def softplus(X: Tensor["N", fp32], Y: Out["N", fp32]):
    for n in tsr.grid(tsr.tile(N, 128)):
        Y[n] = tsr.log1p(tsr.exp(X[n]))

@tsr.kernel
def mish(X: Tensor["N", fp32], Y: Out["N", fp32]):
    for n in tsr.grid(tsr.tile(N, 128)):
        x = X[n]
        Y[n] = x * tsr.tanh(softplus(x))
''',
        call="mish(np.ones(1000, np.float32))",
        line=13,
        caret="softplus",
        mentions=["softplus", ("kernel", "@tsr.kernel"), ("@4", "@5")],
        fix="tsr.function",
    ),
    # Section 2: signatures
    Case(
        name="all dims in one string, as in jaxtyping",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def double(X: Tensor["M N", fp32], Y: Out["M", "N", fp32]):
    for m, n in tsr.grid(tsr.tile(M, 32), tsr.tile(N, 64)):
        Y[m, n] = X[m, n] * 2.0
''',
        call="double(np.ones((50, 70), np.float32),"
             " np.zeros((50, 70), np.float32))",
        line=5,
        caret=('"M N"', "M N", 'Tensor["M N"', "X: Tensor"),
        mentions=["M N"],
        fix='"M", "N"',
    ),
    Case(
        name="atomic add into an Out",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def column_sums(X: Tensor["M", "N", fp32], S: Out["N", fp32]):
    for m, n in tsr.grid(tsr.tile(M, 64), tsr.tile(N, 64)):
        part = tsr.sum(X[m, n], m)
        tsr.atomic_add(S, (n,), part)
''',
        call="column_sums(np.ones((100, 80), np.float32),"
             " np.zeros(80, np.float32))",
        line=8,
        caret=("tsr.atomic_add", "atomic_add", "S, (n,)"),
        mentions=["S", ("Out", "write"), "@5"],
        fix="Region[reduce_sum",
    ),
    Case(
        name="unroll count that is a run-time scalar",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32, i64

@tsr.kernel
def geometric(X: Tensor["N", fp32], Y: Out["N", fp32], steps: i64):
    for n in tsr.grid(tsr.tile(N, 256)):
        x = X[n]
        y = tsr.zeros(n)
        for i in tsr.unroll(steps):
            y = y * x + 1.0
        Y[n] = y
''',
        call="geometric(np.ones(1000, np.float32),"
             " np.zeros(1000, np.float32), 4)",
        line=9,
        caret=("steps", "tsr.unroll", "unroll"),
        mentions=["steps", "@5"],
        fix=("steps: const", "range(steps)"),
    ),
    # Section 3: grid, tiles, ranges
    Case(
        name="a second pass as a second grid",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def margins(X: Tensor["M", "N", fp32], R: Out["M", fp32], C: Out["N", fp32]):
    for m in tsr.grid(tsr.tile(M, 32)):
        R[m] = tsr.sum(X[m, :], dim=1)
    for n in tsr.grid(tsr.tile(N, 32)):
        C[n] = tsr.sum(X[:, n], dim=0)
''',
        call="margins(np.ones((50, 70), np.float32),"
             " np.zeros(50, np.float32), np.zeros(70, np.float32))",
        line=8,
        caret=("for n", "n in", "tsr.grid", "grid("),
        mentions=[("grid", "tsr.grid"), "@6"],
        fix=None,
    ),
    Case(
        name="ranges compared as if they were their indices",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def lower_triangle(X: Tensor["M", "N", fp32], Y: Out["M", "N", fp32]):
    for m, n in tsr.grid(tsr.tile(M, 64), tsr.tile(N, 64)):
        keep = m >= n
        Y[m, n] = tsr.where(keep, X[m, n], 0.0)
''',
        call="lower_triangle(np.ones((100, 90), np.float32))",
        line=7,
        caret=("m >= n", ">= n"),
        mentions=["m"],
        fix="m.index",
    ),
    Case(
        name="tile called like range(start, stop, step)",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def matmul(A: Tensor["M", "K", fp32], B: Tensor["K", "N", fp32],
           C: Out["M", "N", fp32]):
    for m, n in tsr.grid(tsr.tile(M, 64), tsr.tile(N, 64)):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(0, K, 32):
            acc += A[m, k] @ B[k, n]
        C[m, n] = acc
''',
        call="matmul(np.ones((100, 70), np.float32),"
             " np.ones((70, 90), np.float32))",
        line=9,
        caret=("tsr.tile", "tile(0", "0, K", "K, 32", "32)"),
        mentions=[("tile", "tsr.tile")],
        fix="tsr.tile(K, 32",
    ),
    # Section 4: memory
    Case(
        name="gather with a floating-point index",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def resample(X: Tensor["N", fp32], P: Tensor["M", fp32], Y: Out["M", fp32]):
    for m in tsr.grid(tsr.tile(M, 128)):
        src = tsr.floor(P[m])
        Y[m] = X[src]
''',
        call="resample(np.ones(500, np.float32), np.ones(300, np.float32),"
             " np.zeros(300, np.float32))",
        line=8,
        caret=("src", "X[src]"),
        mentions=["src", "fp32", "@7"],
        fix=(".to(i64)", ".to(i32)"),
    ),
    Case(
        name="a NumPy slice from the start to the stop of a range",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def row_max(X: Tensor["M", "N", fp32], Y: Out["M", fp32]):
    for m in tsr.grid(tsr.tile(M, 32)):
        x = X[m.start:m.stop, :]
        Y[m] = tsr.max(x, dim=1)
''',
        call="row_max(np.ones((50, 70), np.float32),"
             " np.zeros(50, np.float32))",
        line=7,
        caret=("X[m.start", "m.start", ":m.stop"),
        mentions=["X"],
        fix=("X[m, :]", "tsr.range_at"),
    ),
    Case(
        name="load with Triton's other=",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def positive(X: Tensor["N", fp32], Y: Out["N", fp32]):
    for n in tsr.grid(tsr.tile(N, 256)):
        x = tsr.load(X, (n,), mask=n.index < N, other=0.0)
        Y[n] = tsr.maximum(x, 0.0)
''',
        call="positive(np.ones(1000, np.float32))",
        line=7,
        caret=("other", "tsr.load", "load(X", "0.0"),
        mentions=[("other", "other=")],
        fix=("pad=", "X[n]"),
    ),
    # Section 5: values
    Case(
        name="sum over a loop that starts as the number 0.0",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def row_sums(X: Tensor["M", "N", fp32], Y: Out["M", fp32]):
    for m in tsr.grid(tsr.tile(M, 64)):
        total = 0.0
        for n in tsr.tile(N, 128):
            total += tsr.sum(X[m, n], n)
        Y[m] = total
''',
        call="row_sums(np.ones((100, 300), np.float32),"
             " np.zeros(100, np.float32))",
        line=9,
        caret="total",
        mentions=["total", "m", "@7"],
        fix="tsr.zeros(m)",
    ),
    Case(
        name="a tile times its own transpose: one axis twice",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def affinity(X: Tensor["M", "D", fp32], Y: Out["M", fp32]):
    for m in tsr.grid(tsr.tile(M, 32)):
        x = X[m, :]
        gram = x @ x.T
        Y[m] = tsr.sum(gram, dim=1)
''',
        call="affinity(np.ones((50, 24), np.float32),"
             " np.zeros(50, np.float32))",
        line=8,
        caret=("x @ x.T", "@ x.T", "x.T", "gram"),
        mentions=["m"],
        fix="m.copy()",
    ),
    Case(
        name="float scores times an int mask, as torch would promote",
        program='''\
import tessera as tsr
from tessera import Tensor, fp32, i32

@tsr.function
def masked_sum(scores: Tensor["M", "N", fp32], mask: Tensor["M", "N", i32]):
    kept = scores * mask
    return tsr.sum(kept, dim=-1)
''',
        call="masked_sum(np.ones((20, 30), np.float32),"
             " np.ones((20, 30), np.int32))",
        line=6,
        caret=("scores * mask", "* mask", "mask"),
        mentions=["scores", "fp32", "mask", "i32"],
        fix="mask.to(fp32)",
    ),
    # Section 6: matrix products
    Case(
        name="torch's [out, in] weight without its .T",
        program='''\
import tessera as tsr
from tessera import Tensor, fp32

@tsr.function
def linear(x: Tensor["B", "I", fp32], w: Tensor["O", "I", fp32]):
    h = x @ w
    return tsr.relu(h)
''',
        call="linear(np.ones((8, 48), np.float32),"
             " np.ones((64, 48), np.float32))",
        line=6,
        caret=("x @ w", "@ w", "w"),
        mentions=["x", "I", "w", "O"],
        fix=("w.T", "w.transpose"),
    ),
    Case(
        name="precision named as in torch",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def matmul(A: Tensor["M", "K", fp32], B: Tensor["K", "N", fp32],
           C: Out["M", "N", fp32]):
    for m, n in tsr.grid(tsr.tile(M, 64), tsr.tile(N, 64)):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, 32):
            acc = tsr.mma(A[m, k], B[k, n], acc, precision="high")
        C[m, n] = acc
''',
        call="matmul(np.ones((100, 70), np.float32),"
             " np.ones((70, 90), np.float32))",
        line=10,
        caret=('"high"', "high", "precision", "tsr.mma", "mma("),
        mentions=["high"],
        fix=("ieee", "tf32", "bf16x3"),
    ),
    # Section 7: operations
    Case(
        name="values and indices unpacked from max, as in torch",
        program='''\
import tessera as tsr
from tessera import Tensor, fp32

@tsr.function
def top1(x: Tensor["M", "N", fp32]):
    best, index = tsr.max(x, dim=-1)
    return best, index
''',
        call="top1(np.ones((20, 30), np.float32))",
        line=6,
        caret=("best, index", "index", "tsr.max", "max(x"),
        mentions=[("max", "tsr.max", "2", "two")],
        fix=("argmax", "tsr.max(x, dim=-1)"),
    ),
    Case(
        name="conditional expression on a tile",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def leaky_relu(X: Tensor["N", fp32], Y: Out["N", fp32]):
    for n in tsr.grid(tsr.tile(N, 256)):
        x = X[n]
        Y[n] = x if x > 0.0 else 0.1 * x
''',
        call="leaky_relu(np.ones(1000, np.float32))",
        line=8,
        caret=("x if x", "if x", "x > 0.0", "> 0.0"),
        mentions=[("256", "n", "tile")],
        fix="tsr.where(",
    ),
    Case(
        name="a graph op inside a kernel",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def norm_rows(X: Tensor["M", "N", fp32], Y: Out["M", "N", fp32]):
    for m in tsr.grid(tsr.tile(M, 16)):
        x = X[m, :]
        Y[m, :] = tsr.layer_norm(x)
''',
        call="norm_rows(np.ones((40, 100), np.float32))",
        line=8,
        caret=("tsr.layer_norm", "layer_norm"),
        mentions=[("layer_norm", "tsr.layer_norm"),
                  ("function", "functions", "tsr.function", "@tsr.function")],
        fix=None,
    ),
    # Section 8: decorators
    Case(
        name="a policy that does not exist",
        program='''\
import tessera as tsr
from tessera import Tensor, fp32

@tsr.policy("precise")
@tsr.function
def scores(x: Tensor["M", "K", fp32], y: Tensor["K", "N", fp32]):
    return tsr.softmax(tsr.matmul(x, y), dim=-1)
''',
        call="scores(np.ones((20, 30), np.float32),"
             " np.ones((30, 40), np.float32))",
        line=4,
        caret=('"precise"', "precise", "@tsr.policy", "tsr.policy", "policy"),
        mentions=["precise"],
        fix=("strict", "deterministic", "fast"),
    ),
    Case(
        name="autotune with Triton's configs=",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, const, fp32

@tsr.kernel.autotune(configs=[dict(BM=32), dict(BM=64)], key=["M"])
def negate(X: Tensor["M", fp32], Y: Out["M", fp32], BM: const = 32):
    for m in tsr.grid(tsr.tile(M, BM)):
        Y[m] = -X[m]
''',
        call="negate(np.ones(1000, np.float32))",
        line=4,
        caret=("configs", "@tsr.kernel.autotune", "tsr.kernel.autotune",
               "autotune"),
        mentions=[("configs", "configs=")],
        fix="space=",
    ),
    # Section 9: calling
    Case(
        name="a Python list for a tensor",
        program='''\
import tessera as tsr
from tessera import Tensor, fp32

@tsr.function
def normalized(weights: Tensor["N", fp32]):
    return tsr.softmax(weights, dim=-1)
''',
        call="normalized([0.5, 1.5, 2.0])",
        line=None,
        caret=None,
        mentions=["weights", "list"],
        fix=None,
    ),
    Case(
        name="Triton's launch grid in brackets",
        program='''\
import tessera as tsr
from tessera import Tensor, Out, fp32

@tsr.kernel
def add(X: Tensor["N", fp32], Y: Tensor["N", fp32], Z: Out["N", fp32]):
    for n in tsr.grid(tsr.tile(N, 256)):
        Z[n] = X[n] + Y[n]
''',
        call="add[(4,)](np.ones(1000, np.float32),"
             " np.ones(1000, np.float32), np.zeros(1000, np.float32))",
        line=None,
        caret=None,
        mentions=["add"],
        fix="add(",
    ),
    Case(
        name="torch's device name as the target",
        program='''\
import tessera as tsr
from tessera import Tensor, fp32

@tsr.function
def project(x: Tensor["M", "K", fp32], p: Tensor["K", "N", fp32]):
    return tsr.matmul(x, p)
''',
        call="project(np.ones((20, 30), np.float32),"
             " np.ones((30, 40), np.float32), target=\"cuda\")",
        line=None,
        caret=None,
        mentions=["cuda"],
        fix=("sm_", "cpu"),
    ),
]
