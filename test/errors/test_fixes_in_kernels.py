"""Mistakes in kernels that two blind trials made, most of them silent or with a fix that meant something else.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from fix_case import Case, X, check_fix  # noqa: E402

rng = np.random.default_rng(7)
H = X.astype(np.float16)
W = rng.integers(-8, 9, (70, 40)).astype(np.float32)
Q = rng.integers(-8, 9, (40, 70)).astype(np.int8)
V = rng.integers(-8, 9, 70).astype(np.float32)
LABELS = rng.integers(0, 70, 50)
SCAN = '''@tsr.kernel
def f(X: Tensor["M", "N"], Y: Out["M", "N"], BM: const = 16, BN: const = 32):
    for m in tsr.grid(tsr.tile(M, BM)):
        carry = tsr.zeros(m)
        for n in tsr.tile(N, BN):
            x = X[m, n]
            Y[m, n] = tsr.cumsum(x, n) + carry
            carry += tsr.sum(x, n)
'''
POOLED = '''@tsr.kernel
def f(X: Tensor["M", "N"], Y: Out["M//2", "N//2"], BM: const = 4, BN: const = 16):
    for m, n in tsr.grid(tsr.tile(M // 2, BM), tsr.tile(N // 2, BN)):
        acc = tsr.zeros(m, n)
        for i in tsr.unroll(2):
            for j in tsr.unroll(2):
                acc += X[2 * m.index + i, 2 * n.index + j]
        Y[m, n] = acc
'''
POOLED_BY_HAND = X.reshape(25, 2, 35, 2).sum((1, 3))
SOFTMAX = '''@tsr.kernel
def f(X: Tensor["M", "N"], Y: Out["M"], BM: const = 16, BN: const = 32):
    for m in tsr.grid(tsr.tile(M, BM)):
        top, total = tsr.full(-tsr.inf, m), tsr.zeros(m)
        for n in tsr.tile(N, BN):
            x = X[m, n]
            new = tsr.maximum(top, tsr.max(x, n))
            total = total * tsr.exp2(top - new) + tsr.sum(tsr.exp2(x - new), n)
            top = new
        Y[m] = total
'''
POWERS = np.exp2(X - X.max(1, keepdims=True)).sum(1)
QUANTISED = '''@tsr.kernel
def f(A: Tensor["M", "K", fp16], W: Tensor["N", "K", i8], C: Out["M", "N", fp32], BM: const = 32, BN: const = 32):
    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN)):
        C[m, n] = A[m, :] @ W[n, :].T.to(A.dtype)
'''
SPLIT = '''@tsr.kernel
def f(A: Tensor["M", "K"], B: Tensor["K", "N"], C: Region[reduce_sum, Tensor["M", "N"]], PART: const = 32, BM: const = 32, BN: const = 32, BK: const = 16):
    for m, n, part in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN), tsr.tile(K, PART)):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, BK, start=part.start, stop=part.stop):
            acc += A[m, k] @ B[k, n]
        tsr.atomic_add(C, (m, n), acc)
'''
CENTRED = '''@tsr.kernel
def f(X: Tensor["M", "N"], scale: Tensor["N"], Y: Out["M", "N"], BM: const = 2):
    for m in tsr.grid(tsr.tile(M, BM)):
        Y[m, :] = (X[m, :] - tsr.max(X[m, :], dim=1)) * scale[:]
'''
CENTRED_BY_HAND = (X - X.max(1, keepdims=True)) * V
STATE = '''@tsr.kernel
def f(X: Tensor["M", "N"], Y: Out["M", "N"], BN: const = 32):
    for n in tsr.grid(tsr.tile(N, BN)):
        h = tsr.zeros(n)
        for i in range(M):
            h = 0.5 * h + X[i, n]
            Y[i, n] = h
'''
SHIFTED = '''@tsr.kernel
def f(X: Tensor["M", "N"], Y: Out["M", "N"], BM: const = 16, BN: const = 32):
    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN)):
        Y[m, n] = X[m.index + 1, n] + X[m, n]
'''
DISTANCES = '''@tsr.kernel
def f(X: Tensor["M", "K"], Y: Tensor["N", "K"], Z: Out["M", "N"]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 16)):
        d = X[m, :] - Y[n, :]
        Z[m, n] = tsr.sum(d * d, dim=1)
'''
ROWS = '''@tsr.kernel
def f(X: Tensor["M", "N"], labels: Tensor["M", i64], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        Y[m] = X[m, labels[m]]
'''
LOWER = '''@tsr.kernel
def f(X: Tensor["M", "N"], Y: Out["M", "N"], BM: const = 16, BN: const = 32):
    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN)):
        Y[m, n] = tsr.where((n.index <= m.index) & (n.index > 3), X[m, n], 0)
'''
LOWER_BY_HAND = np.where(np.arange(70) > 3, np.tril(X), 0)
NOISE = '''@tsr.kernel
def f(X: Tensor["M", "N"], Y: Out["M", "N"], seed: const = 7):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 32)):
        Y[m, n] = X[m, n] * 0.0 + tsr.rand(seed, m.index * N + n.index) * 0.0
'''
GATHERED = '''@tsr.kernel
def f(T: Tensor["V", "N"], I: Tensor["M", i64], Y: Out["M", "N"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        rows = I[m]
        Y[m, :] = T[rows, :]
'''
TWICE_READ = '''@tsr.kernel
def f(X: Tensor["M", "N"], Y: Out["M", "N"], MU: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        mu = tsr.max(X[m, :], N)
        MU[m] = mu
        Y[m, :] = X[m, :] - mu
'''
GUARDED = '''@tsr.kernel
def f(X: Tensor["M", "N"], Y: Out["M", "N"], BM: const = 16, BN: const = 32):
    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN)):
        acc = tsr.zeros(m, n)
        for t in tsr.unroll(4):
            if t <= 1:
                acc += X[m, n.index + t]
        Y[m, n] = acc
'''
SLICES = '''@tsr.kernel
def f(X: Tensor["M", "N"], Y: Out["M", "N"], BM: const = 16, BN: const = 32):
    for m in tsr.grid(tsr.tile(M, BM)):
        for i in range(tsr.cdiv(N, BN)):
            r = tsr.range_at(N, i * BN, BN)
            Y[m, r] = X[m, r] * 2.0
'''
LARGEST = '''@tsr.kernel
def f(X: Tensor["M", "N"], Y: Out["M", "N"], MU: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        top = tsr.max(X[m, :], N)
        row = X[m, :] - top
        Y[m, :] = row
        MU[m] = top
'''
TURNED = '''@tsr.kernel
def f(X: Tensor["M", "N"], Y: Out["N", "M"]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 16)):
        Y[n, m] = X[m, n].T
'''
DELAYED = '''@tsr.kernel
def f(X: Tensor["M", "N"], Y: Out["M", "N"]):
    M, N = X.shape
    for m, n in tsr.grid(M, tsr.tile(N, 32)):
        acc = tsr.zeros(n)
        acc += X[m, n.index - 1]
        Y[m, n] = acc
'''
TOTALS = '''@tsr.kernel
def f(X: Tensor["M", "N"], Y: Out["M", "N"]):
    M, N = X.shape
    for m in tsr.grid(tsr.tile(M, 16)):
        carry = tsr.zeros(m)
        for n in tsr.tile(N, 32):
            Y[m, n] = tsr.cumsum(X[m, n], n) + carry
            carry += tsr.sum(X[m, n], n)
'''
CAUSAL = '''@tsr.kernel
def f(X: Tensor["M", "N"], Y: Out["M"]):
    M, N = X.shape
    for m in tsr.grid(tsr.tile(M, 16)):
        total = tsr.zeros(m)
        for n in tsr.tile(M, 32, stop=m.stop):
            s = X[m, :] @ X[n, :].T
            total += tsr.sum(tsr.where(n.index <= m.index, s, 0), n)
        Y[m] = total
'''
FIRST = '''@tsr.kernel
def f(X: Tensor["M", "N"], Y: Out["M", i64]):
    M, N = X.shape
    for m in tsr.grid(tsr.tile(M, 16)):
        best = tsr.full(-tsr.inf, m)
        at = tsr.zeros(m, dtype=tsr.i64)
        for n in tsr.tile(N, 32):
            top = tsr.max(X[m, n], n)
            at = tsr.where(top > best, tsr.argmax(X[m, n], n), at)
            best = tsr.maximum(best, top)
        Y[m] = at
'''
RUNNING = '''@tsr.kernel
def f(X: Tensor["M", "N"], Y: Out["M", "N"]):
    M, N = X.shape
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 32)):
        best = tsr.full(-tsr.inf, m, n)
        for i in range(3):
            best = tsr.maximum(best, X[m, n] - i)
        Y[m, n] = best
'''
LOOKED_UP = '''@tsr.kernel
def f(I: Tensor["T", i64], W: Tensor["V", "D"], Y: Out["T", "D", fp32]):
    T, D = Y.shape
    for t, d in tsr.grid(tsr.tile(T, 16), tsr.tile(D, 32)):
        rows = I[t]
        Y[t, d] = W[rows, d] * 0.5
'''
MOMENTS = '''@tsr.kernel
def f(P: Tensor["N"], M1: InOut["N"], M2: InOut["N"]):
    for n in tsr.grid(tsr.tile(P.shape[0], 32)):
        a = 0.5 * M1[n] + P[n]
        b = 0.5 * M2[n] + P[n] * P[n]
        M1[n] = a
        M2[n] = b
'''
AVERAGES = '''@tsr.kernel
def f(X: Tensor["M", "N"], Y: Out["M"], BM: const = 16, BN: const = 32):
    M, N = X.shape
    for m in tsr.grid(tsr.tile(M, BM)):
        total = tsr.zeros(m)
        for n in tsr.tile(N, BN):
            total += tsr.sum(X[m, n], n)
        Y[m] = total / N
'''
WINDOW = '''@tsr.kernel
def f(X: Tensor["M", "N"], Y: Out["M", "N"]):
    M, N = X.shape
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 32)):
        Y[m, n] = tsr.where(tsr.abs(m.index - n.index) <= 4, X[m, n], 0)
'''
BIASED = '''@tsr.kernel
def f(X: Tensor["M", "N"], bias: Tensor["N"], Y: Out["M", "N"]):
    M, N = X.shape
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 32)):
        Y[m, n] = X[m, n] + bias[n]
'''
TAPS = '''@tsr.kernel
def f(X: Tensor["M", "N"], W: Tensor["M", 3], Y: Out["M", "N"]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 32)):
        acc = tsr.zeros(m, n)
        for t in range(3):
            acc += X[m, n.index + t] * W[m, t]
        Y[m, n] = acc
'''


def added(f, *arrays):
    total = np.zeros((50, 40), np.float32)
    f(*arrays, total)
    return total


def states():
    rows, h = [], np.zeros(70, np.float32)
    for x in X:
        h = np.float32(0.5) * h + x
        rows.append(h)
    return np.array(rows)




def moments(f):
    first, second = np.zeros(70, np.float32), np.zeros(70, np.float32)
    f(V, first, second)
    return np.stack([first, second])


CASES = [
    Case("a total that nothing reads", SCAN, [("tsr.cumsum(x, n)\n", "tsr.cumsum(x, n) + carry\n")], "tsr.cumsum(x, n) + carry", expected=X.cumsum(1)),
    Case("a store behind its loop", STATE.replace("            Y[i, n] = h", "            Y[i, n] = h\n        Y[0, n] = X[0, n]"), [("\n        Y[i, n] = h\n        Y[0", "\n            Y[i, n] = h\n        Y[0")],
         "    Y[i, n] = h  # in the loop of line 10", expected=states()),
    Case("= in turns that are unrolled", POOLED, [("acc = X[", "acc += X[")], "acc += X[2 * m.index + i, 2 * n.index + j]", expected=POOLED_BY_HAND),
    Case("a maximum that nothing assigns", SOFTMAX, [("n)\n        Y[m]", "n)\n            top = new\n        Y[m]")],
         """for n in tsr.tile(N, BN):
           x = X[m, n]
           new = tsr.maximum(top, tsr.max(x, n))
           total = total * tsr.exp2(top - new) + tsr.sum(tsr.exp2(x - new), n)
           top = new""", expected=POWERS),
    Case("a sum that is not rescaled", SOFTMAX, [("total = total + tsr.sum(", "total = total * tsr.exp2(top - new) + tsr.sum(")],
         "total = total * tsr.exp2(top - new) + tsr.sum(tsr.exp2(x - new), n)", expected=POWERS),
    Case("a loop over numbers in a row", STATE, [("tsr.arange(M)", "range(M)")], "range(M)", expected=states()),
    Case("what has the axes of an Out", LARGEST, [("        pass", "        MU[m] = top")], "MU[m] = top", lambda f: f(X)[1], X.max(1)),
    Case("a break of unrolled turns", GUARDED, [("            if t > 1:\n                break\n            acc += X[m, n.index + t]", "            if t <= 1:\n                acc += X[m, n.index + t]")],
         "for t in tsr.unroll(4):\n           if t <= 1:\n               acc += X[m, n.index + t]", expected=X + np.pad(X, ((0, 0), (0, 1)))[:, 1:]),
    Case("slices by hand", SLICES, [("            Y[m, i * BN:(i + 1) * BN] = X[m, i * BN:(i + 1) * BN] * 2.0", "            r = tsr.range_at(N, i * BN, BN)\n            Y[m, r] = X[m, r] * 2.0")],
         "r = tsr.range_at(N, i * BN, BN)\n       Y[m, r] = X[m, r] * 2.0", expected=X * 2),
    Case("a scan along the rows of the grid", SCAN, [("tsr.cumsum(x, m)", "tsr.cumsum(x, n)")], "tsr.cumsum(x, n)", expected=X.cumsum(1)),
    Case("a sum of the whole tile", SOFTMAX, [("tsr.sum(tsr.exp2(x - new))", "tsr.sum(tsr.exp2(x - new), n)")], "tsr.sum(tsr.exp2(x - new), n)", expected=POWERS),
    Case("integers in a product", QUANTISED, [("W[n, :].T\n", "W[n, :].T.to(A.dtype)\n")], "A[m, :] @ W[n, :].T.to(A.dtype)", lambda f: f(H, Q), X @ Q.T.astype(np.float32)),
    Case("an axis that nothing uses", SPLIT, [("tsr.tile(K, BK):", "tsr.tile(K, BK, start=part.start, stop=part.stop):")],
         "for k in tsr.tile(K, BK, start=part.start, stop=part.stop):", lambda f: added(f, X, W), X @ W),
    Case("an atomic in the loop of its sum", SPLIT, [("            tsr.atomic_add(C, (m, n), acc)", "        tsr.atomic_add(C, (m, n), acc)")],
         "for k in tsr.tile(K, BK, start=part.start, stop=part.stop):\n           acc += A[m, k] @ B[k, n]\n       tsr.atomic_add(C, (m, n), acc)", lambda f: added(f, X, W), X @ W),
    Case("a row's range for a vector", CENTRED, [("scale[m]", "scale[:]")], "scale[:]", lambda f: f(X, V), CENTRED_BY_HAND),
    Case("a state that begins anew", STATE, [("        for i in range(M):\n            h = tsr.zeros(n)\n", "        h = tsr.zeros(n)\n        for i in range(M):\n")],
         "h = tsr.zeros(n)\n       for i in range(M):\n           h = 0.5 * h + X[i, n]\n           Y[i, n] = h", expected=states()),
    Case("axes in the other order", SHIFTED, [("X[n, m.index + 1]", "X[m.index + 1, n]")], "X[m.index + 1, n]", expected=X + np.vstack([X[1:], np.zeros((1, 70), np.float32)])),
    Case("a grid of numbers", SHIFTED, [("tsr.grid(M, N)", "tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN))")], "tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN))",
         expected=X + np.vstack([X[1:], np.zeros((1, 70), np.float32)])),
    Case("a grid of blocks", SHIFTED, [("tsr.grid(tsr.cdiv(M, BM), tsr.cdiv(N, BN))", "tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN))")], "tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN))",
         expected=X + np.vstack([X[1:], np.zeros((1, 70), np.float32)])),
    Case("the last axis is another one", DISTANCES, [("dim=-1", "dim=1")], "tsr.sum(d * d, dim=1)", lambda f: f(X[:, :3], W[:, :3]), ((X[:, None, :3] - W[None, :, :3]) ** 2).sum(-1)),
    Case("an index in memory", ROWS, [("X[m, labels]", "X[m, labels[m]]")], "labels[m]", lambda f: f(X, LABELS), X[np.arange(50), LABELS]),
    Case("comparisons without brackets", LOWER, [("n.index <= m.index & n.index > 3", "(n.index <= m.index) & (n.index > 3)")], "(n.index <= m.index) & (n.index > 3)",
         expected=LOWER_BY_HAND),
    Case("the condition in another place", LOWER, [("tsr.where(X[m, n], (n.index <= m.index) & (n.index > 3), 0)", "tsr.where((n.index <= m.index) & (n.index > 3), X[m, n], 0)")],
         "tsr.where((n.index <= m.index) & (n.index > 3), X[m, n], 0)", expected=LOWER_BY_HAND),
    Case("random numbers of ranges", NOISE, [("tsr.rand(seed, m, n)", "tsr.rand(seed, m.index * N + n.index)")], "tsr.rand(seed, m.index * N + n.index)", expected=X * 0),
    Case("the wrong axis of a table", GATHERED, [("T[:, rows]", "T[rows, :]")], "T[rows, :]", lambda f: f(W, LABELS), W[LABELS]),
    Case("two grids", TWICE_READ, [('''        MU[m] = tsr.max(X[m, :], N)
    for m in tsr.grid(tsr.tile(M, 16)):
        Y[m, :] = X[m, :] - MU[m]
''', '''        mu = tsr.max(X[m, :], N)
        MU[m] = mu
        Y[m, :] = X[m, :] - mu
''')], "for m in tsr.grid(tsr.tile(M, 16)):\n           mu = tsr.max(X[m, :], N)\n           MU[m] = mu\n           Y[m, :] = X[m, :] - mu",
         lambda f: f(X)[0], X - X.max(1, keepdims=True)),
    Case("a copy into turned dims", TURNED, [("Y[m, n] = X[m, n]\n", "Y[n, m] = X[m, n].T\n")], "Y[n, m]", expected=X.T),
    Case("an annotation that the body contradicts", BIASED, [('bias: Tensor["M"]', 'bias: Tensor["N"]')], 'bias: Tensor["N"]', lambda f: f(X, V), X + V),
    Case("one element for each", DELAYED, [("X[m, n.start - 1]", "X[m, n.index - 1]")], "X[m, n.index - 1]", expected=np.pad(X, ((0, 0), (1, 0)))[:, :-1]),
    Case("totals that nothing adds up", TOTALS, [("            Y[m, n] = tsr.cumsum(X[m, n], n) + carry  # of all\n", "            Y[m, n] = tsr.cumsum(X[m, n], n) + carry\n            carry += tsr.sum(X[m, n], n)\n")], "Y[m, n] = tsr.cumsum(X[m, n], n) + carry\n       carry += tsr.sum(X[m, n], n)", expected=X.cumsum(1)),
    Case("positions for a limit", CAUSAL, [("stop=m.index", "stop=m.stop")], "m.stop", expected=np.tril(X @ X.T).sum(1)),
    Case("a tile of a shape", SHIFTED, [("tsr.tile(X.shape, BM)", "tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN))")], "tsr.grid(tsr.tile(X.shape[0], BM), tsr.tile(X.shape[1], BM))",
         expected=X + np.vstack([X[1:], np.zeros((1, 70), np.float32)])),
    Case("positions begun as floats", FIRST, [("at = tsr.zeros(m)\n", "at = tsr.zeros(m, dtype=tsr.i64)\n")], "at = tsr.zeros(m, dtype=tsr.i64)", expected=X.argmax(1)),
    Case("a shape of sizes", RUNNING, [("tsr.full((16, 32), -tsr.inf)", "tsr.full(-tsr.inf, m, n)")], "tsr.full(-tsr.inf, m, n)", expected=X),
    Case("sizes for axes", RUNNING, [("tsr.full(-tsr.inf, 16, 32)", "tsr.full(-tsr.inf, m, n)")], "tsr.full(-tsr.inf, m, n)", expected=X),
    Case("a dtype that the indices give", LOOKED_UP, [('Out["T", "D"]', 'Out["T", "D", fp32]')], 'Y: Out["T", "D", fp32]', lambda f: f(LABELS % 50, X), X[LABELS % 50] / 2),
    Case("a table by columns", LOOKED_UP, [("W[d, rows]", "W[rows, d]")], "W[rows, d]", lambda f: f(LABELS % 50, X), X[LABELS % 50] / 2),
    Case("one state stored for another", MOMENTS, [("        M1[n] = b", "        M2[n] = b")], "M2[n]", moments, np.stack([V, V * V])),
    Case("a mean of a tile's size", AVERAGES, [("total / BN", "total / N")], "total / N", lambda f: f(X[:, :64]), X[:, :64].sum(1) / 64),
    Case("a total added too early", TOTALS, [("            carry += tsr.sum(X[m, n], n)\n            Y[m, n] = tsr.cumsum(X[m, n], n) + carry\n",
         "            Y[m, n] = tsr.cumsum(X[m, n], n) + carry\n            carry += tsr.sum(X[m, n], n)\n")], "Y[m, n] = tsr.cumsum(X[m, n], n) + carry\n       carry += tsr.sum(X[m, n], n)", expected=X.cumsum(1)),
    Case("a window of blocks", WINDOW, [("tsr.abs(m.start - n.start) <= 4", "tsr.abs(m.index - n.index) <= 4")], "tsr.abs(m.index - n.index) <= 4",
         expected=np.where(abs(np.arange(50)[:, None] - np.arange(70)) <= 4, X, 0)),
    Case("a number on the wrong axis", TAPS, [("W[t, m]", "W[m, t]")], "W[m, t]", lambda f: f(X, X[:, :3]),
         sum(np.pad(X, ((0, 0), (0, 2)))[:, t:t + 70] * X[:, t:t + 1] for t in range(3))),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_fix(case, tmp_path):
    check_fix(case, tmp_path)
