"""Mistakes in functions that a blind trial made: what they say, and that the fix gives what was meant.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from fix_case import Case, X, check_fix  # noqa: E402

rng = np.random.default_rng(9)
V = rng.integers(-8, 9, 70).astype(np.float32)
SQUARE = rng.integers(-8, 9, (50, 50)).astype(np.float32)
LABELS = rng.integers(0, 70, 50)
K = rng.integers(-8, 9, (2, 5, 3, 4)).astype(np.float32)


def function(parameters: str, *lines: str) -> str:
    return f"@tsr.function\ndef f({parameters}):\n" + "".join(f"    {line}\n" for line in lines)


CASES = [
    Case("one label for each row", function('x: Tensor["M", "N"], t: Tensor["M", i64]', "return tsr.where(tsr.arange(x.shape[1]) == t[:, None], x, 0.0).sum(dim=1)"),
         [("== t, x", "== t[:, None], x")], "tsr.arange(x.shape[1]) == t[:, None]", lambda f: f(X, LABELS), X[np.arange(50), LABELS]),
    Case("as many rows as classes", function('x: Tensor["M", "N"], t: Tensor["M", i64]', "return tsr.where(tsr.arange(x.shape[1]) == t[:, None], x, 0.0).sum(dim=1)"),
         [("== t, x", "== t[:, None], x")], "tsr.arange(x.shape[1]) == t[:, None]", lambda f: f(SQUARE, LABELS % 50), SQUARE[np.arange(50), LABELS % 50]),
    Case("gather with a label for each row", function('x: Tensor["M", "N"], t: Tensor["M", i64]', "return x.gather(1, t[:, None])[:, 0]"),
         [("gather(1, t)", "gather(1, t[:, None])")], "t[:, None]", lambda f: f(X, LABELS), X[np.arange(50), LABELS]),
    Case("two tensors as indices", function('x: Tensor["M", "N"], t: Tensor["M", i64], i: Tensor["M", i64]', "return tsr.gather(x[i], 1, t[:, None])[:, 0]"),
         [("x[i, t]", "tsr.gather(x[i], 1, t[:, None])[:, 0]")], "tsr.gather(x[i], 1, t[:, None])[:, 0]", lambda f: f(X, LABELS, LABELS % 50), X[LABELS % 50, LABELS]),
    Case("a maximum along an axis for one with 0", function('x: Tensor["N"]', "return tsr.maximum(x, 0).mean()"), [("tsr.max(x, 0)", "tsr.maximum(x, 0)")],
         "tsr.maximum(x, 0)", lambda f: f(V * 70), np.float32(np.maximum(V * 70, 0).sum() / 70)),
    Case("the number of elements in NumPy", function('x: Tensor["M", "N"]', "return x * x.numel()"), [("x.size", "x.numel()")], "x.numel()", expected=X * 3500),
    Case("& between comparisons", function('x: Tensor["N"], y: Tensor["N"]', "return tsr.where((x > 0) & (y > 0), x, 0.0)"), [("x > 0 & y > 0", "(x > 0) & (y > 0)")],
         "(x > 0) & (y > 0)", lambda f: f(V, V[::-1].copy()), np.where((V > 0) & (V[::-1] > 0), V, 0)),
    Case("a middle that is not cut", function('u: Tensor["N"]', "return u[:-2] - 2.0 * u[1:-1] + u[2:]"), [("2.0 * u +", "2.0 * u[1:-1] +")], "u[1:-1]",
         lambda f: f(V), V[:-2] - 2 * V[1:-1] + V[2:]),
    Case("a column where a vector was", function('a: Tensor["M", "M"], turns: int', "v = tsr.ones(a.shape[0])", "for i in range(turns):", "    v = (a @ v[:, None] * 0.125)[:, 0]", "return v"),
         [("v = a @ v[:, None] * 0.125\n", "v = (a @ v[:, None] * 0.125)[:, 0]\n")], "(a @ v[:, None] * 0.125)[:, 0]", lambda f: f(SQUARE, 1), SQUARE.sum(1) * np.float32(0.125)),
    Case("elements repeated one by one", function('k: Tensor["B", 5, "T", "D"]', "return tsr.index_select(k, 1, tsr.arange(k.shape[1] * 2) // 2)"),
         [("k.repeat_interleave(2, dim=1)", "tsr.index_select(k, 1, tsr.arange(k.shape[1] * 2) // 2)")], "tsr.index_select(k, 1, tsr.arange(k.shape[1] * 2) // 2)",
         lambda f: f(K), np.repeat(K, 2, axis=1)),
    Case("a product in Einstein's letters", function('q: Tensor["B", "S", "H", "D"], k: Tensor["B", "T", "H", "D"]', "return q.permute(0, 2, 1, 3) @ k.permute(0, 2, 3, 1)"),
         [('tsr.einsum("bshd,bthd->bhst", q, k)', "q.permute(0, 2, 1, 3) @ k.permute(0, 2, 3, 1)")], "q.permute(0, 2, 1, 3) @ k.permute(0, 2, 3, 1)",
         lambda f: f(K, K * 2), np.einsum("bshd,bthd->bhst", K, K * 2)),
    Case("the neighbour on a ring", function('u: Tensor["N"]', "return u - tsr.cat((u[-1:], u[:-1]), dim=0)"), [("tsr.roll(u, 1)", "tsr.cat((u[-1:], u[:-1]), dim=0)")],
         "tsr.cat((u[-1:], u[:-1]), dim=0)", lambda f: f(V), V - np.roll(V, 1)),
    Case("a norm of NumPy", function('a: Tensor["M", "N"]', "return tsr.sqrt(tsr.sum(a * a, axis=1)) * 0.0"), [("np.linalg.norm(a, axis=1)", "tsr.sqrt(tsr.sum(a * a, axis=1))")],
         "tsr.sqrt(tsr.sum(a * a, axis=1))", expected=X[:, 0] * 0),
    Case("a value only if", function('g: Tensor["N"]', "if g.sum() > 1e9:", "    return g * 2.0"), [("g * 2.0\n", "g * 2.0\n    return g\n")],
         "return g  # at the end of f", lambda f: f(V), V),
    Case("the values of a maximum", function('x: Tensor["M", "N"]', "return x - x.max(dim=1, keepdim=True)"), [("keepdim=True).values", "keepdim=True)")], "x.max(dim=1, keepdim=True)",
         expected=X - X.max(1, keepdims=True)),
    Case("a power of C", function('x: Tensor["N"], s: fp32', "return x * (1.0 - 0.5 ** s)"), [("0.5 ^ s", "0.5 ** s")], "1.0 - 0.5 ** s", lambda f: f(V, 2.0), V * np.float32(0.75)),
    Case("a half that is a float", function('x: Tensor["M", "N"]', "half = x.shape[1] // 2", "return x[:, :half] * 1.0"), [("x.shape[1] / 2", "x.shape[1] // 2")], "half = x.shape[1] // 2",
         expected=X[:, :35]),
    Case("a last line without return", function('x: Tensor["M", "N"]', "y = x * 2.0", "return tsr.sum(y, dim=1)"), [("    tsr.sum(y", "    return tsr.sum(y")], "return tsr.sum(y, dim=1)",
         expected=X.sum(1) * 2),
    Case("a new axis in another place", function('x: Tensor["B", "S", "H", "D"], c: Tensor["S", "D"]', "a, b = c[:, None, :], c[:, None, :]", "return x * a + x * b"),
         [("a, b = c[None, :, :], c[:, None, :]", "a, b = c[:, None, :], c[:, None, :]")], "c[:, None, :]", lambda f: f(K, K[0, :, 0]), K * K[0, :, :1] * 2),
    Case("nothing returned", function('p: Tensor["N"], m: Tensor["N"]', "m = m + p", "p = p - m"), [("p = p - m\n", "p = p - m\n    return p, m\n")], "return p, m",
         lambda f: np.stack(f(V, V)), np.stack([-V, V * 2])),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_fix(case, tmp_path):
    check_fix(case, tmp_path)


def test_a_masked_number_of_half_precision(tmp_path):
    """-1e9 in fp16 stands for infinity; the caret is under it."""
    half = X.astype(np.float16)
    case = Case("a mask", function('s: Tensor["M", "N", fp16]', "return tsr.where(s > 0, s, -tsr.inf)"), [("-1e9", "-tsr.inf")], "-tsr.inf", lambda f: f(half), np.where(half > 0, half, -np.inf))
    check_fix(case, tmp_path)
