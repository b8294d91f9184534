"""Mistakes of a blind trial: the fix as it is said, and the program with the fix applied, which gives what was meant.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import sys
from pathlib import Path

import numpy as np
import pytest
import tessera as tsr
from tessera.source import without_colour

sys.path.insert(0, str(Path(__file__).parent))
from fix_case import HEAD, Case, X, check_fix, load  # noqa: E402

rng = np.random.default_rng(11)
W = rng.integers(-8, 9, (70, 40)).astype(np.float32)
V = rng.integers(-8, 9, 70).astype(np.float32)
B = rng.integers(-8, 9, (3, 50, 70)).astype(np.float32)
I = rng.integers(0, 10, 1000)
PRODUCT = '''@tsr.kernel
def f(A: Tensor["M", "K"], B: Tensor["K", "N"], C: Out["M", "N"], BM: const = 32, BN: const = 32, BK: const = 16):
    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN)):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, BK):
            acc += A[m, k] @ B[k, n]
        C[m, n] = acc
'''
UPDATES = '''@tsr.kernel
def f(A: Tensor["M", "K"], B: Tensor["K", "N"], C: InOut["M", "N"], BM: const = 32, BN: const = 32, BK: const = 16):
    for m, n, k in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN), tsr.tile(K, BK)):
        C[m, n] += A[m, k] @ B[k, n]
'''
COUNTS = '''@tsr.kernel
def f(I: Tensor["N", i64], H: InOut["B", fp32], BN: const = 32):
    for n in tsr.grid(tsr.tile(N, BN)):
        H[I[n]] += 1.0
'''
REGION = COUNTS.replace("H[I[n]] += 1.0", "tsr.atomic_add(H, (I[n],), 1.0)").replace('InOut["B", fp32]', 'Region[reduce_sum, Tensor["B", fp32]]')
ROWS = '''@tsr.kernel
def f(X: Tensor["M", "N"], S: Out["M"], BM: const = 16, BN: const = 32):
    for m in tsr.grid(tsr.tile(M, BM)):
        parts = []
        for n in tsr.tile(N, BN):
            parts.append(tsr.sum(X[m, n], n))
        S[m] = parts
'''
GUARD = '''@tsr.kernel
def f(X: Tensor["N"], Y: Out["N"], BN: const = 32):
    for n in tsr.grid(tsr.tile(N, BN)):
        if n.start >= N:
            return
        Y[n] = X[n] * 2
'''
SOFTMAX = '''@tsr.kernel
def f(X: Tensor["M", "N"], Y: Out["M", "N"], BM: const = 16, BN: const = 32):
    for m in tsr.grid(tsr.tile(M, BM)):
        for n in tsr.tile(N, BN):
            Y[m, n] = tsr.softmax(X[m, n], n)
'''
GRID_SOFTMAX = '''@tsr.kernel
def f(X: Tensor["M", "N"], Y: Out["M", "N"], BM: const = 16, BN: const = 32):
    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN)):
        Y[m, n] = tsr.softmax(X[m, n], n)
'''
TOTAL = '''@tsr.function
def f(*xs):
    y = xs[0]
    for x in xs[1:]:
        y = y + x
    return y
'''
TWICE = '''@tsr.kernel
def f(X: Tensor["N"], Y: Out["N"], BM: const = 32):
    for n in tsr.grid(tsr.tile(BM, N)):
        Y[n] = X[n] * 2
'''
COLUMN = '''@tsr.function
def f(x: Tensor["M", "N"]):
    y = tsr.zeros_like(x)
    y[:, 0] = x[:, 0]
    return y
'''
MOST = '''@tsr.kernel
def f(X: Tensor["M", "N"], S: Out["M"], BM: const = 16, BN: const = 32):
    for m in tsr.grid(tsr.tile(M, BM)):
        top = tsr.full(-tsr.inf, m)
        for n in tsr.tile(N, BN):
            top = tsr.max(X[m, n], n)
        S[m] = top
'''
BLOCKS = '''@tsr.kernel
def f(X: Tensor["N"], Y: Out["N"], BN: const = 32):
    for n in tsr.grid(tsr.tile(N, BN)):
        Y[n] = X[n] * 2
'''
CARRIED = '''@tsr.function
def f(x: Tensor["M", "N"]):
    h = tsr.zeros((N,))
    for t in range(M):
        h = h * 0.5 + x[t]
    return h
'''
DIFFERENCES = '''@tsr.kernel
def f(X: Tensor["N"], Y: Out["N-1"], BN: const = 32):
    for n in tsr.grid(tsr.tile(N - 1, BN)):
        Y[n] = X[n.index + 1] - X[n.index]
'''
PARTS = '''@tsr.function
def f(x: Tensor["M", 70]):
    parts = ()
    for i in range(2):
        parts = parts + (x[:, i * 35:(i + 1) * 35].sum(dim=1),)
    return tsr.stack(parts, dim=1)
'''
ACTIVATED = '''@tsr.function
def act(t):
    return t * 2.0


@tsr.function
def f(x):
    return act(x) + 1.0
'''
UNTIL = '''@tsr.kernel
def f(X: Tensor["M", "N"], S: Out["M"], BM: const = 16, BN: const = 32):
    for m in tsr.grid(tsr.tile(M, BM)):
        acc = tsr.zeros(m)
        start = 0
        going = True
        while going and start < N:
            n = tsr.range_at(N, start, BN)
            acc += tsr.sum(X[m, n], n)
            going = tsr.max(acc, m) <= 1e9
            start += BN
        S[m] = acc
'''
WITH_BREAK = """for n in tsr.tile(N, BN):
            acc += tsr.sum(X[m, n], n)
            if tsr.max(acc, m) > 1e9:
                break
"""
WITHOUT_BREAK = """start = 0
        going = True
        while going and start < N:
            n = tsr.range_at(N, start, BN)
            acc += tsr.sum(X[m, n], n)
            going = tsr.max(acc, m) <= 1e9
            start += BN
"""
POINTERS = '''@tsr.kernel
def f(X: Tensor["N"], Y: Out["N"], BN: const = 32):
    for n in tsr.grid(tsr.tile(N, BN)):
        tsr.store(Y, (n.index,), tsr.load(X, (n.index,)) * 2)
'''
AT = '''@tsr.kernel
def f(X: Tensor["N"], Y: Out["N"], BN: const = 32):
    for n in tsr.grid(tsr.tile(N, BN)):
        p = tsr.range_at(N, n.start, BN)
        Y[n] = tsr.sum(X[n], n) - tsr.sum(X[p], p) + X[n]
'''
TRANSPOSE = '''@tsr.kernel
def f(X: Tensor["M", "N"], Y: Out["N", "M"]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 16)):
        Y[n, m] = X[m, n]
'''
PICKED = '''@tsr.kernel
def pick(T: Tensor["V", "D"], Y: Out["N", "D"], I: Tensor["N", i64], BN: const = 16):
    for n in tsr.grid(tsr.tile(N, BN)):
        Y[n, :] = T[I[n], :]


@tsr.function
def f(t: Tensor["V", "D"], idx: Tensor["N", i64]):
    s = pick(t, I=idx)
    return s * 2.0
'''
SUMMED = '''@tsr.kernel
def f(X: Tensor["M", "K"], S: Out["M"], BM: const = 16, BK: const = 32):
    for m in tsr.grid(tsr.tile(M, BM)):
        acc = tsr.zeros(m)
        for k in tsr.tile(K, BK):
            acc += tsr.sum(X[m, k], k)
        S[m] = acc
'''


def softmax(x):
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def updated(f, shape, *args):
    result = np.zeros(shape, np.float32)
    f(*args, result)
    return result


HALVED = '''@tsr.function
def f(x: Tensor["M", "N"]):
    y = x
    going = True
    while going:
        new = y * 0.5
        going = tsr.max(tsr.abs(new)) >= 1.0
        if going:
            y = new
    return y
'''
SHARES = '''@tsr.kernel
def f(X: Tensor["M", "N"], Y: Out["M", "N"], BM: const = 16, BN: const = 32):
    for m in tsr.grid(tsr.tile(M, BM)):
        top = tsr.full(tsr.lowest, m)
        for n in tsr.tile(N, BN):
            top = tsr.maximum(top, tsr.max(X[m, n], n))
        for n in tsr.tile(N, BN):
            Y[m, n] = X[m, n] - top
'''
CENTRED = '''@tsr.kernel
def f(X: Tensor["M", "N"], Y: Out["M"], BM: const = 16):
    for m in tsr.grid(tsr.tile(M, BM)):
        x = X[m, :]
        top = tsr.max(x, N)
        Y[m] = tsr.sum(x, N) - top
'''
DOUBLED = '''@tsr.kernel
def f(X: Tensor["N"], Y: Out["N"], BN: const = 32):
    for n in tsr.grid(tsr.tile(N, BN)):
        at = n.start + tsr.arange(BN)
        Y[at] = X[at] * 2
'''


CASES = [
    Case("while True", HALVED, [('''    while True:
        new = y * 0.5
        if tsr.max(tsr.abs(new)) < 1.0:
            break
        y = new
''', HALVED[HALVED.index("    going = True"):HALVED.index("    return")])],
         """going = True
       while going:
           new = y * 0.5
           going = tsr.max(tsr.abs(new)) >= 1.0
           if going:
               y = new""", expected=X / 8),
    Case("a size that does not fit", '@tsr.function\ndef f(x: Tensor[50, 70]):\n    return x.reshape(50, 10, -1)\n', [("x.reshape(50, 10, 8)", "x.reshape(50, 10, -1)")], "x.reshape(50, 10, -1)", expected=X.reshape(50, 10, 7)),
    Case("an axis that is not named", '@tsr.function\ndef f(x: Tensor["B", "M", "N"]):\n    return x.permute(1, 0, 2)\n', [("x.permute(1, 0)", "x.permute(1, 0, 2)")],
         "x.permute(1, 0, 2)", lambda f: f(B), B.transpose(1, 0, 2)),
    Case("a loop that is over", SHARES, [("\n        Y[m, n] = X[m, n] - top", "\n        for n in tsr.tile(N, BN):\n            Y[m, n] = X[m, n] - top")],
         "for n in tsr.tile(N, BN):\n           Y[m, n] = X[m, n] - top", expected=X - X.max(1, keepdims=True)),
    Case("reduced twice", CENTRED, [("- tsr.max(top, N)", "- top")], "Y[m] = tsr.sum(x, N) - top", expected=X.sum(1) - X.max(1)),
    Case("a program's number times its size", DOUBLED, [("n * BN + tsr", "n.start + tsr")], "n.start", lambda f: f(V), V * 2),
    Case("a factor in one arm", '@tsr.function\ndef f(x: Tensor["M", "N"]):\n    if tsr.max(x) > 100.0:\n        scale = tsr.max(x)\n    return x * scale\n',
         [("\n    if tsr", "\n    scale: fp32 = 1.0\n    if tsr")], "scale: fp32 = 1.0 before it", expected=X),
    Case("a loop that goes too far", '@tsr.function\ndef f(x: Tensor[50, "N"]):\n    s = x[0]\n    for i in range(1, x.shape[0]):\n        s = s + x[i]\n    return s\n',
         [("range(1, 51)", "range(1, x.shape[0])")], "for i in range(1, x.shape[0]):", expected=X.sum(0)),
    Case("a short loop that goes too far", '@tsr.function\ndef f(x: Tensor[4, "N"]):\n    s = x[0]\n    for i in range(1, 4):\n        s = s + x[i]\n    return s\n',
         [("range(1, 5)", "range(1, 4)")], "for i in range(1, 4):", lambda f: f(X[:4]), X[:4].sum(0)),
    Case("a sum over an axis of the grid", PRODUCT,
         [("""    for m, n, k in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN), tsr.tile(K, BK)):
        C[m, n] += A[m, k] @ B[k, n]
""", """    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN)):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, BK):
            acc += A[m, k] @ B[k, n]
        C[m, n] = acc
""")], """acc = tsr.zeros(m, n)
       for k in tsr.tile(K, BK):  # inside the loop of the grid, instead of an axis of it
           acc += A[m, k] @ B[k, n]
       C[m, n] = acc""", lambda f: f(X, W), X @ W),
    Case("a return behind the grid", '@tsr.kernel\ndef f(X: Tensor["N"], Y: Out["N"], BN: const = 32):\n    for n in tsr.grid(tsr.tile(N, BN)):\n        y = X[n] * X[n]\n        Y[n] = y\n',
         [('f(X: Tensor["N"], BN', 'f(X: Tensor["N"], Y: Out["N"], BN'), ("        y = X[n] * X[n]\n    return y\n", "        y = X[n] * X[n]\n        Y[n] = y\n")],
         'a parameter Y: Out["N"], and in the loop Y[n] = y', lambda f: f(V), V * V),
    Case("a kernel without an Out", '@tsr.kernel\ndef f(X: Tensor["N"], Y: Out["N"], BN: const = 32):\n    for n in tsr.grid(tsr.tile(N, BN)):\n        Y[n] = X[n] * 2\n',
         [('f(X: Tensor["N"], BN', 'f(X: Tensor["N"], Y: Out["N"], BN'), ("        y = X[n] * 2", "        Y[n] = X[n] * 2")],
         'a parameter Y: Out["N"], and in the loop Y[n] = ...', lambda f: f(V), V * 2),
    Case("a decorator of others, on a function", '@tsr.function\ndef f(x: Tensor["M", "N"]):\n    return x * 2\n', [("@tsr.jit", "@tsr.function")], "@tsr.function", expected=X * 2),
    Case("a decorator of others, on a kernel", BLOCKS, [("@tsr.jit", "@tsr.kernel")], "@tsr.kernel", lambda f: f(V), V * 2),
    Case("range with a step", PRODUCT, [("for k in range(0, K, BK):", "for k in tsr.tile(K, BK):")], "for k in tsr.tile(K, BK):", lambda f: f(X, W), X @ W),
    Case("= for +=", PRODUCT, [("acc = A[m, k]", "acc += A[m, k]")], "acc += A[m, k] @ B[k, n]", lambda f: f(X, W), X @ W),
    Case("the last maximum", MOST, [("top = tsr.max(X[m, n], n)", "top = tsr.maximum(top, tsr.max(X[m, n], n))")],
         "top = tsr.maximum(top, tsr.max(X[m, n], n))", expected=X.max(1)),
    Case("product split in the grid", UPDATES,
         [("C[m, n] += A[m, k] @ B[k, n]", "tsr.atomic_add(C, (m, n), A[m, k] @ B[k, n])"), ('C: InOut["M", "N"]', 'C: Region[reduce_sum, Tensor["M", "N"]]')],
         'tsr.atomic_add(C, (m, n), A[m, k] @ B[k, n]), with C: Region[reduce_sum, Tensor["M", "N"]]', lambda f: updated(f, (50, 40), X, W), X @ W),
    Case("histogram", COUNTS, [("H[I[n]] += 1.0", "tsr.atomic_add(H, (I[n],), 1.0)"), ('H: InOut["B", fp32]', 'H: Region[reduce_sum, Tensor["B", fp32]]')],
         'tsr.atomic_add(H, (I[n],), 1.0), with H: Region[reduce_sum, Tensor["B", fp32]]; or H[I[n]] = H[I[n]] + 1.0, if no two places are one',
         lambda f: updated(f, 10, I), np.bincount(I, minlength=10)),
    Case("places that differ", COUNTS, [("H[I[n]] += 1.0", "H[I[n]] = H[I[n]] + 1.0")],
         'tsr.atomic_add(H, (I[n],), 1.0), with H: Region[reduce_sum, Tensor["B", fp32]]; or H[I[n]] = H[I[n]] + 1.0, if no two places are one',
         lambda f: updated(f, 10, np.arange(10)), np.ones(10)),
    Case("append", ROWS, [("parts.append(tsr.sum(X[m, n], n))", "parts += tsr.sum(X[m, n], n)"), ("parts = []", "parts = tsr.zeros(m)")],
         "parts += tsr.sum(X[m, n], n), with parts = tsr.zeros(m) before the loop; or an Out that each turn stores into", expected=X.sum(1)),
    Case("a guard that returns", GUARD, [("if n.start >= N:\n            return\n        Y[n] = X[n] * 2", "if n.start < N:\n            Y[n] = X[n] * 2")],
         "if n.start < N:\n           Y[n] = X[n] * 2", lambda f: f(V), V * 2),
    Case("a guard that continues", GUARD.replace("return", "continue"),
         [("if n.start >= N:\n            continue\n        Y[n] = X[n] * 2", "if n.start < N:\n            Y[n] = X[n] * 2")],
         "if n.start < N:\n           Y[n] = X[n] * 2", lambda f: f(V), V * 2),
    Case("softmax of a part", SOFTMAX, [("for n in tsr.tile(N, BN):\n            Y[m, n] = tsr.softmax(X[m, n], n)", "Y[m, :] = tsr.softmax(X[m, :], N)")],
         "Y[m, :] = tsr.softmax(X[m, :], N), without the loop over n", expected=softmax),
    Case("softmax of a part of the grid", GRID_SOFTMAX,
         [("Y[m, n] = tsr.softmax(X[m, n], n)", "Y[m, :] = tsr.softmax(X[m, :], N)"), ("for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN))", "for m in tsr.grid(tsr.tile(M, BM))")],
         "Y[m, :] = tsr.softmax(X[m, :], N), without n in the grid", expected=softmax),
    Case("a name that begins alike", "@tsr.function\ndef f(x):\n    return tsr.layer_norm(x, epsilon=1e-1)\n", [("epsilon", "eps")], "tsr.layer_norm(x, eps=1e-1)",
         expected=lambda x: (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 0.1)),
    Case("NumPy's transpose", "@tsr.function\ndef f(x):\n    return x.transpose(0, 2, 1)\n", [("transpose", "permute")], "x.permute(0, 2, 1)",
         lambda f: f(B), B.transpose(0, 2, 1)),
    Case("dim and size of a tile", TWICE, [("tsr.tile(BM, N)", "tsr.tile(N, BM)")], "tsr.tile(N, BM)", lambda f: f(V), V * 2),
    Case("a column that is stored", COLUMN, [("y[:, 0] = x[:, 0]", "y = tsr.where(tsr.arange(y.shape[1]) == 0, x[:, 0][:, None], y)")],
         "y = tsr.where(tsr.arange(y.shape[1]) == 0, x[:, 0][:, None], y)", expected=X * (np.arange(70) == 0)),
    Case("table and indices", "@tsr.function\ndef f(w, ids):\n    return tsr.embedding(w, ids)\n", [("(w, ids)\n", "(ids, w)\n")], "tsr.embedding(ids, w)",
         lambda f: f(X, I % 50), X[I % 50]),
    Case("half a size", '@tsr.function\ndef f(x: Tensor["M", "N"]):\n    return x[:, : N / 2]\n', [(": N / 2", ": N // 2")], ": N // 2", expected=X[:, :35]),
    Case("tile= of a kernel", "@tsr.kernel.schedule(tile=dict(N=64))" + TWICE.removeprefix("@tsr.kernel").replace("BM, N", "N, BM"), [("tile=dict(N=64)", "BM=64")],
         "BM=64", lambda f: f(V), V * 2),
    Case("blocks for a grid", BLOCKS, [("tsr.cdiv(N, BN)", "tsr.tile(N, BN)")], "tsr.grid(tsr.tile(N, BN))", lambda f: f(V), V * 2),
    Case("a number that becomes a tensor", CARRIED, [("h = 0\n", "h = tsr.zeros((N,))\n")], "h = tsr.zeros((N,))",
         expected=lambda x: sum(x[t] * 0.5 ** (49 - t) for t in range(50))),
    Case("the blocks of a product", PRODUCT, [("for k in range(tsr.cdiv(K, BK)):", "for k in tsr.tile(K, BK):")], "for k in tsr.tile(K, BK):", lambda f: f(X, W), X @ W),
    Case("neighbours", DIFFERENCES, [("- X[n]\n", "- X[n.index]\n")], "X[n.index]", lambda f: f(V), np.diff(V)),
    Case("a list comprehension", PARTS, [("[x[:, i * 35:(i + 1) * 35].sum(dim=1) for i in range(2)]\n",
         "()\n    for i in range(2):\n        parts = parts + (x[:, i * 35:(i + 1) * 35].sum(dim=1),)\n")],
         "parts = ()\n       for i in range(2):\n           parts = parts + (x[:, i * 35:(i + 1) * 35].sum(dim=1),)",
         expected=np.stack([X[:, :35].sum(1), X[:, 35:].sum(1)], 1)),
    Case("a lambda", ACTIVATED, [("    act = lambda t: t * 2.0\n    return act(x)", "    return act(x)")],
         "outside this function:\n       @tsr.function\n       def act(t):\n           return t * 2.0", expected=X * 2 + 1),
    Case("break", UNTIL, [(WITH_BREAK, WITHOUT_BREAK)],
         "start = 0\n       going = True\n       while going and start < N:\n           n = tsr.range_at(N, start, BN)\n           acc += tsr.sum(X[m, n], n)"
         "\n           going = tsr.max(acc, m) <= 1e9\n           start += BN", expected=X.sum(1)),
    Case("a pointer that is read", POINTERS, [("tsr.load(X + n.index)", "tsr.load(X, (n.index,))")], "tsr.load(X, (n.index,))", lambda f: f(V), V * 2),
    Case("dim and start of a range", AT, [("tsr.range_at(n.start, N, BN)", "tsr.range_at(N, n.start, BN)")], "tsr.range_at(N, n.start, BN)", lambda f: f(V), V),
    Case("chunks", '@tsr.function\ndef f(x: Tensor["M", 70]):\n    a, b = x[:, :35], x[:, 35:]\n    return a - b\n', [("x.chunk(2, dim=-1)", "x[:, :35], x[:, 35:]")],
         "x[:, :35], x[:, 35:]", expected=X[:, :35] - X[:, 35:]),
    Case("chunks of an unknown size", '@tsr.function\ndef f(x: Tensor["M", "N"]):\n    a, b = x[:, :N // 2], x[:, N // 2:]\n    return a - b\n',
         [("x.chunk(2, 1)", "x[:, :N // 2], x[:, N // 2:]")], "x[:, :N // 2], x[:, N // 2:]", expected=X[:, :35] - X[:, 35:]),
    Case("another name of a const", "@tsr.kernel.schedule(BM=64)" + TWICE.removeprefix("@tsr.kernel").replace("BM, N", "N, BM"), [("BLOCK_M=64", "BM=64")],
         "BM=64", lambda f: f(V), V * 2),
    Case("a range without its dim", AT.replace("n in tsr.grid(tsr.tile(N, BN))", "i in tsr.grid(tsr.cdiv(N, BN))").replace("n.start", "i * BN").replace(
         "Y[n] = tsr.sum(X[n], n) - tsr.sum(X[p], p) + X[n]", "Y[p] = X[p] * 2"), [("tsr.range_at(i * BN, BN)", "tsr.range_at(N, i * BN, BN)")],
         "tsr.range_at(N, i * BN, BN)", lambda f: f(V), V * 2),
    Case("a transpose", TRANSPOSE, [('Y: Out["M", "N"]', 'Y: Out["N", "M"]')], 'Y: Out["N", "M"]', expected=X.T),
    Case("a tuple of tile sizes", '@tsr.function.schedule(tile=dict(M=64, N=32))\ndef f(x: Tensor["M", "K"], w: Tensor["K", "N"]):\n    return x @ w\n',
         [("tile=(64, 32)", "tile=dict(M=64, N=32)")], "tile=dict(M=64, N=32)", lambda f: f(X, W), X @ W),
    Case("any number of arrays", TOTAL, [("*xs", "xs0, xs1, xs2"), ("    y = xs[0]", "    xs = (xs0, xs1, xs2,)\n    y = xs[0]")],
         "xs0, xs1, xs2 in place of *xs, and xs = (xs0, xs1, xs2,) as the first line", lambda f: f(V, V, V), V * 3),
    Case("a generator over tiles", SUMMED, [("        S[m] = sum(X[m, k] for k in tsr.tile(K, BK))\n", SUMMED[SUMMED.index("        acc ="):])],
         "acc = tsr.zeros(m)\n       for k in tsr.tile(K, BK):\n           acc += tsr.sum(X[m, k], k)\n       S[m] = acc", expected=X.sum(1)),
    Case("a list over a dim", '@tsr.function\ndef f(x: Tensor["M", "N"]):\n    return x * 2\n', [("tsr.stack([x[i] * 2 for i in range(M)])", "x * 2")], "x * 2", expected=X * 2),
    Case("a sum of a list over a dim", '@tsr.function\ndef f(x: Tensor["M", "N"]):\n    return tsr.sum(x, dim=0)\n', [("sum([x[i] for i in range(M)])", "tsr.sum(x, dim=0)")],
         "tsr.sum(x, dim=0)", expected=X.sum(0)),
    Case("a slice for a shift", DIFFERENCES, [("X[n.start + 1:n.stop + 1]", "X[n.index + 1]")], "X[n.index + 1]", lambda f: f(V), V[1:] - V[:-1]),
    Case("a product that lies the other way", PRODUCT.replace('"K", "N"', '"N", "K"').replace("B[k, n]", "B[n, k].T"), [("@ B[k, n]", "@ B[n, k].T")], "B[n, k].T",
         lambda f: f(X, W.T.copy()), X @ W),
    Case("a column for a row", '@tsr.function\ndef f(x: Tensor["M", "N"], g: Tensor["N"]):\n    return x * g\n', [("x * g[:, None]", "x * g")], "x * g", lambda f: f(X, V), X * V),
    Case("a column in another's words", '@tsr.function\ndef f(x: Tensor["M", "N"], g: Tensor["N"]):\n    return x * g\n', [("x * g.reshape(-1, 1)", "x * g")], "x * g", lambda f: f(X, V), X * V),
    Case("+= on a Region", REGION, [("H[I[n]] += 1.0", "tsr.atomic_add(H, (I[n],), 1.0)")], "tsr.atomic_add(H, (I[n],), 1.0)", lambda f: updated(f, 10, I), np.bincount(I, minlength=10)),
    Case("ddof of a std", '@tsr.function\ndef f(x: Tensor["M", 2]):\n    return tsr.sqrt(tsr.var(x, 1, correction=1))\n', [("x.std(1, ddof=1)", "tsr.sqrt(tsr.var(x, 1, correction=1))")],
         "tsr.sqrt(tsr.var(x, 1, correction=1))", lambda f: f(X[:, :2].astype(np.float64)), X[:, :2].astype(np.float64).std(1, ddof=1)),
    Case("what a kernel in a function writes", PICKED, [("s = pick(t, t, idx)", "s = pick(t, I=idx)")], "pick(t, I=idx)", lambda f: f(X, I), X[I] * 2),
    Case("what a kernel in a function lacks", PICKED.replace("idx", "i"), [("s = pick(t)", "s = pick(t, I=i)")], "pick(t, I=i)", lambda f: f(X, I), X[I] * 2),
    Case("the variance of NumPy", '@tsr.function\ndef f(x: Tensor["M", 2]):\n    return tsr.var(x, axis=1, correction=0)\n', [("np.var(x, axis=1)", "tsr.var(x, axis=1, correction=0)")],
         "tsr.var(x, axis=1, correction=0)", lambda f: f(X[:, :2]), X[:, :2].var(1)),
    Case("a function of C", TWICE.replace("BM, N", "N, BM").replace("X[n] * 2", "tsr.abs(X[n])"), [("fabsf(X[n])", "tsr.abs(X[n])")], "tsr.abs(X[n])", lambda f: f(V), abs(V)),
    *(Case(f"an atomic as {wrong.split('(')[0]} has it", REGION, [(wrong, "tsr.atomic_add(H, (I[n],), 1.0)")], "tsr.atomic_add(H, (I[n],), 1.0)", lambda f: updated(f, 10, I),
           np.bincount(I, minlength=10)) for wrong in ("atomicAdd(H, I[n], 1.0)", "tsr.atomicAdd(H, (I[n],), 1.0)", "tl.atomic_add(H + I[n], 1.0)", "np.add.at(H, I[n], 1.0)")),
    Case("a barrier", PRODUCT, [("        __syncthreads()\n        C[m, n]", "        C[m, n]")], "without this line", lambda f: f(X, W), X @ W),
    *(Case(f"a product as {wrong.split('(')[0]} has it", PRODUCT, [(wrong, "A[m, k] @ B[k, n]")], "A[m, k] @ B[k, n]", lambda f: f(X, W), X @ W) for wrong in (
        "np.einsum('ik,kj->ij', A[m, k], B[k, n])", "tsr.einsum('ik,kj->ij', A[m, k], B[k, n])", "np.tensordot(A[m, k], B[k, n], 1)", "tl.dot(A[m, k], B[k, n], allow_tf32=False)")),
    *(Case(f"a store as {wrong.split(' ')[0]} has it", PRODUCT, [(wrong, "C[m, n] = acc")], "C[m, n] = acc", lambda f: f(X, W), X @ W) for wrong in (
        "C = C.at[m, n].set(acc)", "np.copyto(C[m, n], acc)", "C[m, n] == acc")),
    *(Case(f"all of an array, {wrong}", PRODUCT, [(wrong, "C[m, n] = acc")], "C[m, n]", lambda f: f(X, W), X @ W) for wrong in ("C[...] = acc", "C[:] = acc")),
    *(Case(f"a loop over starts by {wrong.split('(')[0]}", PRODUCT, [(wrong, "in tsr.tile(K, BK)")], "tsr.tile(K, BK)", lambda f: f(X, W), X @ W) for wrong in (
        "in tl.range(0, K, BK)", "in tsr.range(K, BK)")),
    *(Case(f"print with {wrong[13]}", PRODUCT.replace("        C[m, n] = acc", '        print("m =", m.start)\n        C[m, n] = acc'), [(wrong, '"m =", m.start)\n')], 'print("m =", m.start)',
           lambda f: f(X, W), X @ W) for wrong in ('"m = %d" % m.start)\n', '"m = {}".format(m.start))\n')),
    *(Case(f"zeros by {wrong.split('.')[0]}", '@tsr.function\ndef f(x: Tensor["M", "N"]):\n    return x[0] + {right}\n'.replace("{right}", right), [(wrong, right)], right,
           expected=X[0]) for wrong, right in (("np.zeros(N)", "tsr.zeros(N)"), ("torch.zeros(N, dtype=torch.float32)", "tsr.zeros((N,))"))),
    Case("a kernel in a function with a launch grid", PICKED, [("pick[(4,)](t, I=idx)", "pick(t, I=idx)")], "pick(t, I=idx)", lambda f: f(X, I), X[I] * 2),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_fix(case, tmp_path):
    check_fix(case, tmp_path)


@tsr.kernel
def scale(X: tsr.Tensor["N"], Y: tsr.Out["N"], factor: tsr.fp32, BN: tsr.const = 32):
    for n in tsr.grid(tsr.tile(N, BN)):
        Y[n] = X[n] * factor


@tsr.kernel
def product(A: tsr.Tensor["M", "K"], B: tsr.Tensor["K", "N"], C: tsr.Out["M", "N"]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 16)):
        C[m, n] = A[m, :] @ B[:, n]


@tsr.function
def total(x: tsr.Tensor["M", "N"]):
    return tsr.sum(x, dim=1)


wide = np.zeros(4, np.float32)
turned = np.zeros((40, 50), np.float32)
CALLS = {
    "a number for an Out": (lambda: scale(V, 2.0), "scale(V, factor=2.0)"),
    "an Out of another size": (lambda: scale(V, wide, 2.0), "np.empty((70,), np.float32)"),
    "an Out of another rank": (lambda: scale(V, turned, 2.0), "scale(V, factor=2.0)"),
    "a dim by name": (lambda: scale(V, factor=2.0, N=70), "scale(V, factor=2.0)"),
    "ptx": (lambda: scale.inspect_ir("ptx"), 'scale.inspect_ir("ptx", target="sm_80")'),
    "the name of a file": (lambda: scale.resume("edited.mlir"), "scale.resume(open('edited.mlir').read())"),
    "the name of a stage": (lambda: scale.resume("tile"), 'scale.resume(scale.inspect_ir("tile"))'),
    "an Out of another shape": (lambda: product(X, W, turned), "np.empty((50, 40), np.float32)"),
    "arrays for compile": (lambda: scale.compile(V), "scale.compile(X=tsr.fp32)"),
    "a number in a space": (lambda: scale.tune(V, factor=2.0, space=dict(BN=64), seconds=1), "BN=[64]"),
    "the name of a card": (lambda: scale.inspect_ir("tile", target="A100"), 'target="sm_80"'),
    "a card ahead of time": (lambda: scale.aot("nowhere", targets="cuda"), 'targets=["sm_90a"]'),
    "what a call returned": (lambda: tsr.profile(scale(V, factor=2.0)), "tsr.profile(scale, V, factor=2.0)"),
    "a reference of other arguments": (lambda: scale.check(V, factor=2.0, reference=lambda x: x), "reference=lambda x, factor: x"),
    "an out= of another shape": (lambda: total(X, out=wide), "out=np.empty((50,), np.float32)"),
    "an array as the reference": (lambda: scale.check(V, factor=2.0, reference=V * 2), "reference=lambda *inputs: V * 2"),
}


@pytest.mark.parametrize("call, fix", CALLS.values(), ids=CALLS)
def test_fix_of_a_call(call, fix):
    fails_with(call, fix)


def test_a_call_whose_result_nobody_takes():
    """The array that is made instead gets the name of the one that did not fit, which the lines below read."""
    def call():
        product(X, W, turned)

    fails_with(call, "(turned := np.empty((50, 40), np.float32))")


@tsr.function
def quotient(i, j):
    return (i + j) / (i - j)


@tsr.function
def truths(i, j):
    return (i > 1) + (j > 2)


@tsr.function
def mean_of_truths(x):
    return tsr.mean(x > 2.0, dim=1)


@tsr.function
def halves(x, n):
    return x.reshape(int(n / 2), -1)


@tsr.function
def turned_rows(x):
    return tsr.flip(x, 1)


@tsr.function
def turned_last(x):
    return tsr.flip(x, -1)


@tsr.function
def upper(x):
    return tsr.triu(x, 1)


counted = np.arange(6).reshape(2, 3)


@pytest.mark.parametrize(("call", "fix"), (
    (lambda: quotient(counted, counted), "(i + j).to(tsr.fp32) / (i - j).to(tsr.fp32), or (i + j) // (i - j) to round down"),
    (lambda: truths(counted, counted), "(i > 1).to(tsr.i32)"),
    (lambda: mean_of_truths(X), "(x > 2.0).to(tsr.fp32)"),
    (lambda: halves(X, 4), "(n / 2).to(tsr.i64)"),
    (lambda: turned_rows(X), "x[:, ::-1]"),
    (lambda: turned_last(X), "x[..., ::-1]"),
    (lambda: upper(X), "tsr.where(tsr.arange(x.shape[-1]) - tsr.arange(x.shape[-2])[:, None] >= 1, x, 0.0)"),
), ids=str)
def test_what_a_method_is_called_on_has_parentheses(call, fix):
    fails_with(call, fix)


def fails_with(call, fix):
    with pytest.raises(tsr.TesseraError) as caught:
        call()
    assert f" fix:  {fix}\n" in without_colour(str(caught.value)), caught.value
