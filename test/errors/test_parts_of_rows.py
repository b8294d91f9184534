"""Reductions and scans over one tile of a row: which get the remark that the tile's size shows, and which are right.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import warnings

import numpy as np
import pytest

import tessera as tsr
from tessera import Out, Tensor

X = np.random.default_rng(5).integers(-8, 9, (50, 70)).astype(np.float32)


@tsr.kernel
def scan_of_tiles(X: Tensor["M", "N"], Y: Out["M", "N"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        for n in tsr.tile(N, 32):
            Y[m, n] = tsr.cumsum(X[m, n], n)


@tsr.kernel
def less_the_largest(X: Tensor["M", "N"], Y: Out["M", "N"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        for n in tsr.tile(N, 32):
            x = X[m, n]
            Y[m, n] = x - tsr.max(x, n)


@tsr.kernel
def over_the_smallest(X: Tensor["M", "N"], Y: Out["M", "N"]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 32)):
        x = X[m, n]
        Y[m, n] = tsr.exp(x - tsr.min(x, n)) * 0.5


@tsr.kernel
def only_the_largest(X: Tensor["M", "N"], Y: Out["M", "N"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        for n in tsr.tile(N, 32):
            x = X[m, n]
            Y[m, n] = tsr.where(n.index == tsr.argmax(x, n), x, 0.0)


@tsr.kernel
def share_of_the_sum(X: Tensor["M", "N"], Y: Out["M", "N"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        for n in tsr.tile(N, 32):
            x = X[m, n]
            Y[m, n] = x - tsr.sum(x, n)


PARTS = {
    scan_of_tiles: "tsr.cumsum begins anew in each tile of n: it is of the 32 elements of a tile, not of all along N",
    less_the_largest: "this maximum is of the 32 elements of a tile along n, not of all of N",
    over_the_smallest: "this minimum is of the 32 elements of a tile along n, not of all of N",
    only_the_largest: "this position is of the 32 elements of a tile along n, not of all of N",
    share_of_the_sum: "this sum is of the 32 elements of a tile along n, not of all of N",
}


@pytest.mark.parametrize("kernel", PARTS, ids=lambda kernel: kernel.__name__)
def test_a_part_of_a_row_gets_a_remark(kernel):
    with pytest.warns(tsr.ScheduleWarning) as said:
        kernel(X)
    assert sum(PARTS[kernel] in str(one.message) for one in said) == 1, [str(one.message) for one in said]


@tsr.kernel
def carried_scan(X: Tensor["M", "N"], Y: Out["M", "N"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        carry = tsr.zeros(m)
        for n in tsr.tile(N, 32):
            x = X[m, n]
            Y[m, n] = tsr.cumsum(x, n) + carry
            carry += tsr.sum(x, n)


@tsr.kernel
def exclusive_scan(X: Tensor["M", "N"], Y: Out["M", "N"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        carry = tsr.zeros(m)
        for n in tsr.tile(N, 32):
            x = X[m, n]
            s = tsr.cumsum(x, n)
            Y[m, n] = carry + (s - x)
            carry = carry + tsr.sum(x, n)


@tsr.kernel
def largest_so_far(X: Tensor["M", "N"], Y: Out["M", "N"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        top = tsr.full(-tsr.inf, m)
        for n in tsr.tile(N, 32):
            x = X[m, n]
            Y[m, n] = tsr.maximum(tsr.cummax(x, n), top)
            top = tsr.maximum(top, tsr.max(x, n))


@tsr.kernel
def scan_of_blocks(X: Tensor["M", "N"], Y: Out["M", "N"], T: Out["M", "P"]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 32)):
        x = X[m, n]
        Y[m, n] = tsr.cumsum(x, n)
        T[m, n.id] = tsr.sum(x, n)


@tsr.kernel
def scale_of_blocks(X: Tensor["M", "N"], Y: Out["M", "N"], S: Out["M", "P"]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 32)):
        x = X[m, n]
        scale = tsr.maximum(tsr.max(tsr.abs(x), n), 1.0) / 128.0
        Y[m, n] = x / scale
        S[m, n.id] = scale


@tsr.kernel
def scale_of_squares(X: Tensor["M", "N"], Y: Out["M", "N"], S: Out["Q", "P"]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 32)):
        x = X[m, n]
        scale = tsr.maximum(tsr.max(tsr.max(tsr.abs(x), n), m), 1.0)
        Y[m, n] = x / scale
        S[m.id, n.id] = scale


@tsr.kernel
def online_softmax(X: Tensor["M", "N"], Y: Out["M", "N"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        top, den = tsr.full(tsr.lowest, m), tsr.zeros(m)
        for n in tsr.tile(N, 32):
            x = X[m, n]
            new = tsr.maximum(top, tsr.max(x, n))
            den = den * tsr.exp(top - new) + tsr.sum(tsr.exp(x - new), n)
            top = new
        for n in tsr.tile(N, 32):
            Y[m, n] = tsr.exp(X[m, n] - top) / den


@tsr.kernel
def parts_of_a_logsumexp(X: Tensor["M", "N"], L: Out["M", "P"]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 32)):
        x = X[m, n]
        top = tsr.max(x, n)
        L[m, n.id] = top + tsr.log(tsr.sum(tsr.exp(x - top), n))


@tsr.kernel
def whole_rows(X: Tensor["M", "N"], Y: Out["M", "N"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        x = X[m, :]
        Y[m, :] = tsr.cumsum(x, N) - tsr.max(x, N)


B = np.split(np.pad(X, ((0, 0), (0, 26))), 3, axis=1)
SCALES = np.stack([np.maximum(np.abs(b).max(1), 1) / 128 for b in B], 1)
LARGEST = np.maximum(np.abs(np.pad(X, ((0, 14), (0, 26)))).reshape(4, 16, 3, 32).max((1, 3)), 1)
PARTED = [X[:, at:at + 32] for at in (0, 32, 64)]


def second(kernel, *shape):
    """What a kernel writes beside Y, whose size no input has."""
    written = np.empty(shape, np.float32)
    kernel(X, *[np.empty_like(X)] * (len(kernel.parameters) - 2), written)
    return written


RIGHT = {
    carried_scan: lambda f: (f(X), X.cumsum(1)),
    exclusive_scan: lambda f: (f(X), X.cumsum(1) - X),
    largest_so_far: lambda f: (f(X), np.maximum.accumulate(X, 1)),
    scan_of_blocks: lambda f: (second(f, 50, 3), np.stack([p.sum(1) for p in PARTED], 1)),
    scale_of_blocks: lambda f: (second(f, 50, 3), SCALES),
    scale_of_squares: lambda f: (second(f, 4, 3), LARGEST),
    online_softmax: lambda f: (f(X).argmax(1), X.argmax(1)),
    parts_of_a_logsumexp: lambda f: (np.isfinite(second(f, 50, 3)).all(), True),
    whole_rows: lambda f: (f(X), X.cumsum(1) - X.max(1, keepdims=True)),
}


@pytest.mark.parametrize("kernel", RIGHT, ids=lambda kernel: kernel.__name__)
def test_what_puts_the_parts_together_gets_none(kernel):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        given, expected = RIGHT[kernel](kernel)
    np.testing.assert_array_equal(given, expected)


@tsr.kernel
def totals_carried_by_a_while(X: Tensor["M", "N"], Y: Out["M", "N"], T: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        total = tsr.zeros(m)
        turn = tsr.num_programs(0) * 0
        while turn < 2:
            for n in tsr.tile(N, 32):
                x = X[m, n]
                Y[m, n] = tsr.cumsum(x, n)
                total += tsr.sum(x, n)
            turn += 1
        T[m] = total


def test_a_while_carries_totals():
    """What leaves a turn of a while is used; only the tiles' own scans are stored."""
    _, totals = totals_carried_by_a_while(X)
    np.testing.assert_array_equal(totals, 2 * X.sum(1))
