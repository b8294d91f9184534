"""Expressions whose elements are all known, of tiles whose elements do not all exist: folding them must not make the rest exist.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import numpy as np
import pytest

import tessera as tsr

COUNTED = {
    "comparison": "(x >= x).to(i64)",
    "bools": "((x < y) == (x < y)).to(i64)",
    "difference": "x - x + 1",
    "xor": "(x ^ x) + 1",
    "and": "(x & 0) + 1",
    "product": "x * 0 + 1",
    "or": "(x | -1) * -1",
    "select": "tsr.where(x < y, 1 + 0 * x, 1 + 0 * y)",
    "clamp": "tsr.minimum(tsr.maximum(x, 1), 1)",
    "remainder": "x % 1 + 1",
}


def make(text: str):
    return tsr.compile_source("import tessera as tsr\nfrom tessera import Out, Tensor, const, i64\n" + text).f


@pytest.mark.parametrize("name", COUNTED)
def test_a_function_counts_what_is_there(name):
    """Seed 6032: a sum of x >= x counted the whole tile of 1,024."""
    fn = make(f"@tsr.function\ndef f(x: Tensor['N', 'K', i64], y: Tensor['N', 'K', i64]):\n    return tsr.sum({COUNTED[name]}, dim=1), tsr.sum({COUNTED[name]}, dim=(0, 1))\n")
    for n, k in ((2, 7), (7, 2), (1, 1030), (3, 0)):
        x = np.arange(n * k, dtype=np.int64).reshape(n, k)
        rows, total = fn(x, x + 1)
        np.testing.assert_array_equal(rows, np.full(n, k))
        assert total == n * k


@pytest.mark.parametrize("name", COUNTED)
def test_a_kernel_counts_what_is_there(name):
    fn = make(f"""@tsr.kernel
def f(X: Tensor['N', i64], Y: Tensor['N', i64], C: Out[1, i64], BLOCK: const = 16):
    for i in tsr.grid(1):
        count = tsr.sum(tsr.zeros(tsr.range_at(N, 0, BLOCK), dtype=i64), dim=0)
        for n in tsr.tile(N, BLOCK):
            x, y = X[n], Y[n]
            count += tsr.sum({COUNTED[name]}, n)
        C[i] = count
""")
    for n in (1, 15, 16, 37):
        x = np.arange(n, dtype=np.int64)
        assert fn(x, x + 1).tolist() == [n]
