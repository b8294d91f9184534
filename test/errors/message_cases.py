# Deliberate user mistakes over the whole language; texts in expected/
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs with one mistake each; the error is compared as whole text.

`program` is the user's file prog.py, `call` the line(s) of app.py that use it.
A name that ends in ".tessera" is compiled from a `.tessera` file instead.
"""
from typing import NamedTuple

HEAD = """\
import math
import numpy as np
import tessera as tsr
from tessera import Tensor, Out, InOut, Region, const, reduce_sum
from tessera import fp64, fp32, fp16, bf16, i32, i64, fp6_e2m3

"""
X = "x = np.ones((32, 64), np.float32)\n"
V = "v = np.ones(64, np.float32)\n"


class Case(NamedTuple):
    name: str
    program: str
    call: str


CASES = [
    # --- Indices and axes -------------------------------------------------
    Case("transposed-indices", '''
@tsr.kernel
def gemm(A: Tensor["M", "K"], B: Tensor["K", "N"], C: Out["M", "N"]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 16)):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, 32):
            acc += A[k, m] @ B[k, n]
        C[m, n] = acc
''', X + "gemm(x, np.ones((64, 8), np.float32))"),
    Case("range-of-another-dim", '''
@tsr.kernel
def scale_rows(A: Tensor["M", "N"], s: Tensor["M"], C: Out["M", "N"]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 16)):
        C[m, n] = A[m, n] * s[n]
''', X + "scale_rows(x, x[:, 0])"),
    Case("too-few-indices", '''
@tsr.kernel
def first(A: Tensor["B", "M", "N"], C: Out["M", "N"]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 16)):
        C[m, n] = A[m, n]
''', "first(np.ones((2, 8, 8), np.float32))"),
    Case("range-twice", '''
@tsr.kernel
def square(A: Tensor["M", "M"], C: Out["M", "M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        C[m, m] = A[m, m.copy()]
''', "square(np.ones((8, 8), np.float32))"),
    Case("whole-dim-twice", '''
@tsr.kernel
def squares(A: Tensor["B", 16, 16], C: Out["B", 16, 16]):
    for b in tsr.grid(B):
        C[b, :, :] = A[b, :, :]
''', "squares(np.ones((8, 16, 16), np.float32))"),
    Case("matmul-without-transpose", '''
@tsr.kernel
def scores(Q: Tensor["S", "D"], K: Tensor["T", "D"], P: Out["S", "T"]):
    for s, t in tsr.grid(tsr.tile(S, 16), tsr.tile(T, 16)):
        q = Q[s, :]
        k = K[t, :]
        P[s, t] = q @ k
''', X + "scores(x, x)"),
    Case("store-not-reduced", '''
@tsr.kernel
def total(A: Tensor["M", "N"], S: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        a = A[m, :]
        S[m] = a * a
''', X + "total(x)"),
    Case("reduced-over-no-axis", '''
@tsr.kernel
def total(A: Tensor["M", "N"], S: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        for n in tsr.tile(N, 16):
            row = tsr.sum(A[m, n], n)
            S[m] = tsr.max(row, n)
''', X + "total(x)"),
    # --- dtypes -------------------------------------------------------------
    Case("matmul-dtypes", '''
@tsr.kernel
def weighted(P: Tensor["M", "K", fp32], V: Tensor["K", "N", fp16], O: Out["M", "N", fp16]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 16)):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, 16):
            p = tsr.exp(P[m, k])
            acc += p @ V[k, n]
        O[m, n] = acc
''', X + "weighted(x, np.ones((64, 8), np.float16))"),
    Case("fp16-with-bf16", '''
@tsr.function
def residual(x: Tensor["B", "D", fp16], h: Tensor["B", "D", bf16]):
    return x + tsr.gelu(h)
''', 'residual.compile(target="cpu")'),
    Case("int-with-float", '''
@tsr.kernel
def ramp(A: Tensor["M", fp32], B: Out["M", fp32]):
    for m in tsr.grid(tsr.tile(M, 16)):
        B[m] = A[m] + m.index
''', V + "ramp(v)"),
    Case("store-float-into-int", '''
@tsr.kernel
def quantize(A: Tensor["M", fp32], B: Out["M", i32]):
    for m in tsr.grid(tsr.tile(M, 16)):
        B[m] = A[m] * 127.0
''', V + "quantize(v)"),
    Case("dtype-of-another-library", '''
@tsr.kernel
def narrow(A: Tensor["M"], B: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        B[m] = A[m].to(tsr.bfloat16)
''', V + "narrow(v)"),
    Case("dtype-not-yet", '''
@tsr.function
def widen(x: Tensor["M", fp6_e2m3]):
    return x.to(fp32)
''', V + "widen(v)"),
    Case("dtype-in-quotes", '''
@tsr.function
def double(x: Tensor["M", "fp32"]):
    return x + x
''', V + "double(v)"),
    Case("number-called-as-dtype", '''
@tsr.kernel
def half(A: Tensor["M"], B: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        B[m] = fp16(A[m] * 0.5)
''', V + "half(v)"),
    # --- Loops, branches, the grid --------------------------------------------
    Case("accumulator-changes-dtype", '''
@tsr.kernel
def row_sum(A: Tensor["M", "K", fp16], S: Out["M", fp16]):
    for m in tsr.grid(tsr.tile(M, 16)):
        acc = A[m, 0]
        for k in tsr.tile(K, 16):
            acc = acc + tsr.sum(A[m, k].to(fp32), k)
        S[m] = acc
''', "row_sum(np.ones((8, 40), np.float16))"),
    Case("number-becomes-a-tile", '''
@tsr.kernel
def row_sum(A: Tensor["M", "K"], S: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        acc = 0.0
        for k in tsr.tile(K, 16):
            acc += tsr.sum(A[m, k], k)
        S[m] = acc
''', X + "row_sum(x)"),
    Case("carried-between-programs", '''
@tsr.kernel
def total(A: Tensor["M"], S: Out[1]):
    acc = 0.0
    for m in tsr.grid(tsr.tile(M, 16)):
        acc += tsr.sum(A[m], m)
        S[0] = acc
''', V + "total(v)"),
    Case("born-in-a-loop", '''
@tsr.kernel
def last(A: Tensor["M", "K"], S: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        for k in tsr.tile(K, 16):
            part = tsr.sum(A[m, k], k)
        S[m] = part
''', X + "last(x)"),
    Case("if-on-a-tile", '''
@tsr.kernel
def leaky(A: Tensor["M"], B: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        a = A[m]
        if a < 0:
            a *= 0.1
        B[m] = a
''', V + "leaky(v)"),
    Case("if-on-a-tensor", '''
@tsr.function
def leaky(x: Tensor["M"]):
    return x if x > 0 else 0.1 * x
''', V + "leaky(v)"),
    Case("and-on-tiles", '''
@tsr.kernel
def band(A: Tensor["M"], B: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        a = A[m]
        B[m] = tsr.where(a > 0 and not a > 1, a, 0.0)
''', V + "band(v)"),
    Case("break", '''
@tsr.kernel
def until(A: Tensor["M", "K"], S: Out["M"], limit: i64):
    for m in tsr.grid(tsr.tile(M, 16)):
        acc = tsr.zeros(m)
        for k in tsr.tile(K, 16):
            if k.start > limit:
                break
            acc += tsr.sum(A[m, k], k)
        S[m] = acc
''', X + "until(x, limit=32)"),
    Case("after-the-grid", '''
@tsr.kernel
def double(A: Tensor["M"], B: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        a = A[m] * 2
    B[m] = a
''', V + "double(v)"),
    Case("load-outside-the-grid", '''
@tsr.kernel
def shift(A: Tensor["M"], B: Out["M"]):
    first = A[0]
    for m in tsr.grid(tsr.tile(M, 16)):
        B[m] = A[m] - first
''', V + "shift(v)"),
    Case("grid-names", '''
@tsr.kernel
def double(A: Tensor["M", "N"], B: Out["M", "N"]):
    for m in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 16)):
        B[m, :] = A[m, :] * 2
''', X + "double(x)"),
    # --- Privileges -----------------------------------------------------------
    Case("reads-an-out", '''
@tsr.kernel
def accumulate(A: Tensor["M"], B: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        B[m] += A[m]
''', V + "accumulate(v)"),
    Case("stores-into-a-reduction", '''
@tsr.kernel
def histogram(A: Tensor["M", i64], H: Region[reduce_sum, Tensor["B", i64]]):
    for m in tsr.grid(tsr.tile(M, 16)):
        H[A[m]] = 1
''', "histogram(np.ones(8, np.int64), np.zeros(4, np.int64))"),
    Case("atomic-without-a-region", '''
@tsr.kernel
def total(A: Tensor["M"], S: Out[1]):
    for m in tsr.grid(tsr.tile(M, 16)):
        tsr.atomic_add(S, (0,), tsr.sum(A[m], m))
''', V + "total(v)"),
    Case("store-without-a-grid-axis", '''
@tsr.kernel
def rows(A: Tensor["M", "N"], S: Out["M"]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 16)):
        S[m] = tsr.sum(A[m, n], n)
''', X + "rows(x)"),
    Case("sum-without-a-grid-axis", '''
@tsr.kernel
def rows(A: Tensor["M", "N"], S: InOut["M"]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 16)):
        S[m] += tsr.sum(A[m, n], n)
''', X + "rows(x, np.zeros(32, np.float32))"),
    Case("store-without-a-bare-grid-axis", '''
@tsr.kernel
def last(A: Tensor["B", "N"], S: Out["N"]):
    for b, n in tsr.grid(B, tsr.tile(N, 16)):
        S[n] = A[b, n]
''', X + "last(x)"),
    # --- Names and outside values ---------------------------------------------
    Case("misspelt-operation", '''
@tsr.function
def normalize(x: Tensor["M", "N"]):
    return tsr.sofmax(x, dim=-1)
''', X + "normalize(x)"),
    Case("no-such-dim", '''
@tsr.kernel
def rms(A: Tensor["M", "N"], B: Out["M", "N"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        a = A[m, :]
        B[m, :] = a / tsr.sqrt(tsr.sum(a * a, dim=-1) / D)
''', X + "rms(x)"),
    Case("plain-python-function", '''
def act(x):
    return tsr.maximum(x, 0.0)

@tsr.function
def mlp(x: Tensor["M", "N"]):
    return act(x)
''', X + "mlp(x)"),
    Case("captured-list", '''
SCALES = [1.0, 2.0]

@tsr.function
def scaled(x: Tensor["M"]):
    return x * SCALES[1]
''', V + "scaled(v)"),
    Case("lambda", '''
@tsr.function
def mlp(x: Tensor["M", "N"]):
    act = lambda t: tsr.maximum(t, 0.1 * t)
    return act(x)
''', X + "mlp(x)"),
    # --- Decorators and looking -------------------------------------------------
    Case("schedule-key", '''
@tsr.kernel.schedule(target="cpu", BLOCK_N=64)
def double(A: Tensor["M"], B: Out["M"], BLOCK_M: const = 128):
    for m in tsr.grid(tsr.tile(M, BLOCK_M)):
        B[m] = A[m] * 2
''', V + "double(v)"),
    Case("unknown-policy", '''
@tsr.policy("determinstic")
@tsr.function
def double(x: Tensor["M"]):
    return x + x
''', V + "double(v)"),
    Case("unknown-stage", '''
@tsr.function
def double(x: Tensor["M"]):
    return x + x
''', V + 'double(v)\ntext = double.inspect_ir("tiles")'),
    # --- Calls -------------------------------------------------------------------
    Case("shapes-disagree", '''
@tsr.function
def linear(x: Tensor["B", "D"], w: Tensor["D", "E"]):
    return x @ w
''', X + "linear(x, x)"),
    Case("called-with-a-list", '''
@tsr.function
def double(x: Tensor["M"]):
    return x + x
''', "double([1.0, 2.0])"),
    Case("output-overlaps-input", '''
@tsr.kernel
def shift(A: Tensor["M"], B: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        B[m] = A[m] * 2
''', V + "shift(v[:-1], v[1:])"),
    # --- Control flow in functions ----------------------------------------
    Case("function-loop-changes-dtype", '''
@tsr.function
def decay(x: Tensor["M", "N"], n):
    y = x
    for i in range(n):
        y = (y * 0.5).to(fp16)
    return y
''', X + "decay(x, 3)"),
    Case("function-loop-changes-shape", '''
@tsr.function
def transposes(x: Tensor["M", "N"], n):
    for i in range(n):
        x = x.T
    return x
''', X + "transposes(x, 3)"),
    Case("function-long-loop-changes-shape", '''
@tsr.function
def grows(x: Tensor["N", 2]):
    for i in range(20):
        x = tsr.cat([x, x], dim=1)
    return x
''', "grows(np.ones((4, 2), np.float32))"),
    Case("function-number-becomes-a-tensor", '''
@tsr.function
def total(x: Tensor["M", "N"]):
    s = 0.0
    for i in range(M):
        s = s + tsr.sum(x[i])
    return s
''', X + "total(x)"),
    Case("function-arms-differ", '''
@tsr.function
def pick(x: Tensor["M", "N"], n):
    if n > 0:
        y = tsr.sum(x, dim=0)
    else:
        y = tsr.sum(x, dim=1)
    return y
''', X + "pick(x, 3)"),
    Case("function-arm-without-return", '''
@tsr.function
def maybe(x, n):
    if n > 0:
        return x * 2.0
''', X + "maybe(x, 3)"),
    Case("function-while-on-a-tensor", '''
@tsr.function
def settle(x: Tensor["M", "N"]):
    while x > 1.0:
        x = x * 0.5
    return x
''', X + "settle(x)"),
    Case("function-index-beyond-the-axis", '''
@tsr.function
def ends(a: Tensor["M", "N"]):
    return a[0] + a[100]
''', X + "ends(x)"),
    Case("function-index-of-the-call", '''
@tsr.function
def column(a, j: int):
    return a[:, j]

@tsr.function
def twice(a: Tensor["M", "N"], j: int):
    return column(a, j) * 2
''', X + "twice(x, -65)"),
    Case("function-row-plus-column", '''
@tsr.function
def scaled(x: Tensor["M", "N"], s: Tensor["M"]):
    return x * s
''', X + "scaled(x, x[:, 0])"),
    Case("int-to-a-negative-power", '''
@tsr.kernel
def inverse(A: Tensor["N", i32], C: Out["N", i32]):
    for n in tsr.grid(tsr.tile(N, 16)):
        C[n] = A[n] ** -1
''', "inverse(np.ones(8, np.int32))"),
    # --- Files ---------------------------------------------------------------
    Case("syntax.tessera", '''
@tsr.kernel
def double(A: Tensor["M"], B: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16):
        B[m] = A[m] * 2
''', ""),
    Case("while-true.tessera", '''
@tsr.kernel
def spin(A: Tensor["M"], B: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        a = A[m]
        while True:
            a = a * 2
        B[m] = a
''', "spin"),
    # --- What other libraries have ------------------------------------------
    Case("foreign-keyword", '''
@tsr.kernel
def positive(X: Tensor["N"], Y: Out["N"]):
    for n in tsr.grid(tsr.tile(N, 64)):
        x = tsr.load(X, (n,), mask=n.index < N, other=0.0)
        Y[n] = tsr.maximum(x, 0.0)
''', V + "positive(v)"),
    Case("foreign-function", '''
@tsr.kernel
def scores(A: Tensor["M", "K"], B: Tensor["K", "N"], C: Out["M", "N"]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 16)):
        C[m, n] = tsr.dot(A[m, :], B[:, n])
''', X + "scores(x, np.ones((64, 8), np.float32))"),
    Case("foreign-method", '''
@tsr.kernel
def total(A: Tensor["M", "N", fp16], S: Out["M", fp32]):
    for m in tsr.grid(tsr.tile(M, 16)):
        a = A[m, :]
        S[m] = tsr.sum(a.float(), dim=1)
''', "total(np.ones((8, 8), np.float16))"),
    Case("foreign-namespace", '''
@tsr.function
def act(x: Tensor["M"]):
    return tsr.nn.functional.relu(x)
''', V + "act(v)"),
    Case("launch-grid-in-brackets", '''
@tsr.kernel
def double(X: Tensor["N"], Y: Out["N"]):
    for n in tsr.grid(tsr.tile(N, 64)):
        Y[n] = X[n] * 2.0
''', V + "double[(4,)](v)"),
    Case("options-of-the-decorator", '''
@tsr.kernel(num_warps=4)
def double(X: Tensor["N"], Y: Out["N"]):
    for n in tsr.grid(tsr.tile(N, 64)):
        Y[n] = X[n] * 2.0
''', V + "double(v)"),
    Case("autotune-configs", '''
@tsr.kernel.autotune(configs=[dict(BM=32), dict(BM=64)], key=["N"])
def double(X: Tensor["N"], Y: Out["N"], BM: const = 32):
    for n in tsr.grid(tsr.tile(N, BM)):
        Y[n] = X[n] * 2.0
''', V + "double(v)"),
    # --- Calls and choices --------------------------------------------------
    Case("range-of-three-arguments", '''
@tsr.kernel
def total(A: Tensor["M", "N"], S: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        acc = tsr.zeros(m)
        for n in tsr.tile(0, N, 16):
            acc += tsr.sum(A[m, n], n)
        S[m] = acc
''', X + "total(x)"),
    Case("not-one-of-the-choices", '''
@tsr.kernel
def first(A: Tensor["M", "N"], S: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        S[m] = tsr.load(A, (m, 0), cache=".cg")
''', X + "first(x)"),
    Case("fp64-into-zeros-of-fp32", '''
@tsr.kernel
def gemm(A: Tensor["M", "K"], B: Tensor["K", "N"], C: Out["M", "N"]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 16)):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, 32):
            acc += A[m, k] @ B[k, n]
        C[m, n] = acc
''', "x = np.ones((32, 32))\ngemm(x, x)"),
    Case("unbiased-is-a-number-here", '''
@tsr.function
def spread(x: Tensor["M", "N"]):
    return tsr.var(x, dim=-1, unbiased=False)
''', X + "spread(x)"),
    Case("array-of-bytes", '''
@tsr.function
def double(x: Tensor["M", "N"]):
    return x * 2
''', X + "double(x.astype(np.uint8))"),
    Case("array-of-complex-numbers", '''
@tsr.function
def double(x: Tensor["M", "N"]):
    return x * 2
''', X + "double(x.astype(np.complex64))"),
    Case("unpacks-one-value", '''
@tsr.function
def top1(x: Tensor["M", "N"]):
    best, index = tsr.max(x, dim=-1)
    return best, index
''', X + "top1(x)"),
    Case("slice-of-a-range", '''
@tsr.kernel
def total(A: Tensor["M", "N"], S: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        S[m] = tsr.sum(A[m.start:m.stop, :], dim=1)
''', X + "total(x)"),
    Case("kernel-in-a-kernel", '''
@tsr.kernel
def softplus(X: Tensor["N"], Y: Out["N"]):
    for n in tsr.grid(tsr.tile(N, 64)):
        Y[n] = tsr.log1p(tsr.exp(X[n]))

@tsr.kernel
def mish(X: Tensor["N"], Y: Out["N"]):
    for n in tsr.grid(tsr.tile(N, 64)):
        x = X[n]
        Y[n] = x * tsr.tanh(softplus(x))
''', V + "mish(v)"),
    Case("kernel-without-a-grid", '''
@tsr.kernel
def double(X: Tensor["N"], Y: Out["N"]):
    for n in tsr.tile(N, 64):
        Y[n] = X[n] * 2.0
''', V + "double(v)"),
    Case("dims-in-one-string", '''
@tsr.function
def double(x: Tensor["M N", fp32]):
    return x * 2.0
''', X + "double(x)"),
    # --- What only the body relates ----------------------------------------
    Case("try", '''
@tsr.function
def f(x: Tensor["M", "N"]):
    try:
        y = tsr.exp(x)
    except ValueError:
        y = x
    return y
''', X + "f(x)"),
    Case("sizes-related-by-the-body", '''
@tsr.function
def f(x, y):
    a = tsr.exp(x)
    return a + y
''', X + "f(x, x[:5])"),
    Case("product-related-by-the-body", '''
@tsr.function
def f(x, y):
    a = tsr.exp(x)
    return a @ y
''', X + "f(x, x)"),
    Case("two-ranges-over-one-dim", '''
@tsr.kernel
def copy(A: Tensor["M", "N"], C: Out["M", "N"]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 16)):
        for k in tsr.tile(N, 16):
            C[m, n] = A[m, k]
''', X + "copy(x)"),
    Case("shifted-range", '''
@tsr.kernel
def difference(X: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        r = tsr.range_at(M, m.start + 1, 16)
        Y[m] = X[r] - X[m]
''', V + "difference(v)"),
    Case("range-without-a-name", '''
@tsr.kernel
def shifted(X: Tensor["M"], s, Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        Y[m] = X[tsr.range_at(M, m.start + s, 16)]
''', V + "shifted(v, 3)"),
    Case("foreign-name-without-a-like", '''
@tsr.function
def f(x: Tensor["M", "N"]):
    return tsr.logcumsumexp(x, dim=-1)
''', X + "f(x)"),
    Case("written-again-in-every-turn", '''
@tsr.kernel
def sums(A: Tensor["M", "N"], S: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        for n in tsr.tile(N, 16):
            S[m] = tsr.sum(A[m, n], n)
''', X + "sums(x)"),
    Case("written-again-at-one-place", '''
@tsr.kernel
def largest(A: Tensor["M", "N"], S: Out["M"]):
    for m in tsr.grid(M):
        for n in tsr.tile(N, 16):
            S[m] = tsr.max(A[m, n], n)
''', X + "largest(x)"),
    Case("sum-without-a-start", '''
@tsr.kernel
def sums(A: Tensor["M", "N"], S: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        for n in tsr.tile(N, 16):
            acc += tsr.sum(A[m, n], n)
        S[m] = acc
''', X + "sums(x)"),
    Case("never-written", '''
@tsr.kernel
def scale(A: Tensor["M", "N"], B: Out["M", "N"]):
    for m in tsr.grid(M):
        for n in tsr.tile(N, 64):
            y = A[m, n] * 2.0
''', X + "scale(x)"),
    Case("copy-into-another-dtype", '''
@tsr.kernel
def embed(T: Tensor["V", "D"], I: Tensor["N", i64], Y: Out["N", "D", i64]):
    for n in tsr.grid(N):
        for d in tsr.tile(D, 16):
            Y[n, d] = T[I[n], d]
''', X + "embed(x, np.arange(3))"),
    Case("sum-over-no-axis", '''
@tsr.function
def f(x: Tensor["M", "N"]):
    return x.sum(dim=())
''', X + "f(x)"),
    Case("attention-with-a-mask", '''
@tsr.function
def f(q, k, v, m):
    return tsr.scaled_dot_product_attention(q, k, v, attn_mask=m)
''', X + "f(x, x, x, np.ones((32, 32), bool))"),
    Case("slice-object", '''
@tsr.function
def f(x: Tensor["M", "N"]):
    return x[slice(0, 3), 1]
''', X + "f(x)"),
    Case("times-true", '''
@tsr.function
def f(x: Tensor["M", "N"]):
    return x * True
''', X + "f(x)"),
    Case("method", '''
class Layer:
    scale = 3.0

    @tsr.function
    def f(self, x):
        return x * self.scale
''', X + "Layer().f(x)"),
    Case("sizes-that-do-not-fill", '''
@tsr.function
def f(x):
    return x.view(-1, 3)
''', X + "f(x)"),
    Case("crooked-array", '''
@tsr.function
def f(x):
    return x + 1.0
''', "f(np.zeros(65, np.uint8)[1:].view(np.float32))"),
    Case("updated-by-a-statement", '''
@tsr.kernel
def incr(X: InOut["N"], B: const = 8):
    for n in tsr.grid(tsr.tile(N, B)):
        X[n] = X[n] + 1

@tsr.function
def f(x):
    y = x * 1.0
    incr(y)
    return y
''', V + "f(v)"),
    Case("float-computed-for-a-kernel", '''
@tsr.kernel
def scale(X: Tensor["N"], Y: Out["N"], a: fp32, B: const = 32):
    for n in tsr.grid(tsr.tile(N, B)):
        Y[n] = X[n] * a

@tsr.function
def f(x, a):
    return scale(x, a=a * 2)
''', V + "f(v, 0.5)"),
    Case("int-for-a-float-of-a-kernel", '''
@tsr.kernel
def scale(X: Tensor["N"], Y: Out["N"], a: fp32, B: const = 32):
    for n in tsr.grid(tsr.tile(N, B)):
        Y[n] = X[n] * a

@tsr.function
def f(x, n: i64):
    return scale(x, a=n * 2)
''', V + "f(v, 3)"),
    Case("atomic-of-another-kind", '''
@tsr.kernel
def tops(A: Tensor["M", "N"], T: Region[reduce_sum, Tensor["N"]]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 16)):
        tsr.atomic_max(T, (n,), tsr.max(A[m, n], m))
''', X + "tops(x, x[0])"),
    Case("sum-over-the-wrong-axis", '''
@tsr.kernel
def sums(A: Tensor["M", "N"], Y: Out["N"]):
    for n in tsr.grid(tsr.tile(N, 16)):
        s = tsr.zeros(n)
        for m in tsr.tile(M, 16):
            s += tsr.sum(A[m, n], n)
        Y[n] = s
''', X + "sums(x)"),
    Case("jax-at", '''
@tsr.function
def f(x):
    return x.at[0].set(1.0)
''', X + "f(x)"),
    Case("masked-store-in-a-function", '''
@tsr.function
def f(x):
    x[x < 0] = 0.0
    return x
''', X + "f(x)"),
    Case("tuple-grows-in-a-loop", '''
@tsr.function
def f(x: Tensor["T", "N"]):
    outs = []
    for t in range(x.shape[0]):
        outs.append(x[t])
    return tsr.stack(outs)
''', X + "f(x)"),
    Case("update-of-an-out", '''
@tsr.kernel
def sums(A: Tensor["M", "N"], Y: Out["M"]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 16)):
        Y[m] += tsr.sum(A[m, n], n)
''', X + "sums(x)"),
    Case("range-behind-its-loop", '''
@tsr.kernel
def sums(A: Tensor["M", "N"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        for n in tsr.tile(N, 16):
            e = A[m, n]
        Y[m] = tsr.sum(A[m, n], n)
''', X + "sums(x)"),
    Case("first-program", '''
@tsr.kernel
def copy(A: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        if m == 0:
            Y[m] = A[m]
''', V + "copy(v)"),
    Case("returned-dict", '''
@tsr.function
def f(x):
    return {"y": x}
''', X + "f(x)"),
    Case("constant-of-a-version", '''
@tsr.kernel
def double(A: Tensor["M"], Y: Out["M"], B: const = 16):
    for m in tsr.grid(tsr.tile(M, B)):
        Y[m] = A[m] * 2
''', V + "double.compile(target=\"cpu\")(v, B=8)"),
    Case("keyword-of-a-version", '''
@tsr.function
def f(x: Tensor["M"]):
    return x * 2
''', V + "f.compile(target=\"cpu\")(v, nonsense=1)"),
    Case("strides-of-a-version", '''
@tsr.function
def f(x: Tensor["M"]):
    return x * 2
''', V + "f.compile(target=\"cpu\")(v[::2])"),
    Case("out-of-another-dtype", '''
@tsr.function
def f(x):
    return x * 2
''', V + "y = np.empty(64)\nf(v, out=y)"),
    Case("read-only-destination", '''
@tsr.kernel
def double(A: Tensor["M"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        Y[m] = A[m] * 2
''', V + "y = np.broadcast_to(v[:1], 64)\ndouble(v, y)"),
    Case("target-of-another-project", '''
@tsr.function
def f(x):
    return x * 2
''', V + "f(v, target=\"cuda\")"),
    Case("reduction-over-the-grid-too", '''
@tsr.kernel
def sums(A: Tensor["M", "N"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        t = A[m, :]
        Y[m] = tsr.sum(t)
''', X + "sums(x)"),
    Case("column-store-in-a-function", '''
@tsr.function
def f(x):
    y = x * 2.0
    y[:, 0] = 0.0
    return y
''', X + "f(x)"),
    Case("none-before-a-loop", '''
@tsr.kernel
def tops(A: Tensor["M", "N"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        best = None
        for n in tsr.tile(N, 16):
            t = tsr.max(A[m, n], n)
            best = t if best is None else tsr.maximum(best, t)
        Y[m] = best
''', X + "tops(x)"),
    Case("maximum-before-a-loop", '''
@tsr.kernel
def tops(A: Tensor["M", "N"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        for n in tsr.tile(N, 16):
            top = tsr.maximum(top, tsr.max(A[m, n], n))
        Y[m] = top
''', X + "tops(x)"),
    Case("size-by-true-division", '''
@tsr.function
def f(x):
    M, N = x.shape
    return x.reshape(M, N / 2, 2)
''', X + "f(x)"),
    Case("slice-of-a-constant-size", '''
@tsr.kernel
def sums(A: Tensor["M", "N"], Y: Out["M"], BN: const = 16):
    for m in tsr.grid(tsr.tile(M, 16)):
        acc = tsr.zeros(m)
        for i in range(0, N, BN):
            acc += tsr.sum(A[m, i:i + BN], dim=1)
        Y[m] = acc
''', X + "sums(x)"),
    Case("rounding-toward-zero", '''
@tsr.function
def f(x):
    return x.to(fp16, rounding="rz")
''', X + "f(x)"),
]
