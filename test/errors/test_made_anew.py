"""Sums that every turn of a loop begins anew: which are refused, with a fix that gives what was meant, and which are right.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import numpy as np
import pytest

import tessera as tsr
from tessera import Out, Tensor
from tessera.source import without_colour

X = np.random.default_rng(5).integers(-8, 9, (50, 70)).astype(np.float32)  # sums of these are exact
HEAD = "import tessera as tsr\nfrom tessera import Out, Tensor, const, fp32\n\n\n"
SCAN = '''@tsr.kernel
def f(X: Tensor["M", "N"], Y: Out["M", "N"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        carry = tsr.zeros(m)
        for n in tsr.tile(N, 32):
            x = X[m, n]
            Y[m, n] = tsr.cumsum(x, n) + carry
            carry += tsr.sum(x, n)
'''
BEGIN = '''        carry = tsr.zeros(m)
        for n in tsr.tile(N, 32):
'''
ANEW = '''        for n in tsr.tile(N, 32):
            carry = tsr.zeros(m)
'''
SUMS = '''@tsr.function
def f(x: Tensor["M", "N"]):
    total = tsr.zeros_like(x[0])
    for i in range(4):
        total = total + x[i]
    return total
'''
WRONG = {
    "the start in the loop": (SCAN.replace(BEGIN, ANEW), SCAN, "carry = tsr.zeros(m)", 9),
    "the start in the loop, too": (SCAN.replace(BEGIN, "        carry = tsr.zeros(m)\n" + ANEW), SCAN, "carry = tsr.zeros(m)", 10),
    "with an assignment": (SCAN.replace(BEGIN, ANEW).replace("carry +=", "carry = carry +"), SCAN.replace("carry +=", "carry = carry +"), "carry = tsr.zeros(m)", 9),
}


GRID = '''@tsr.kernel
def f(X: Tensor["M", "N"], Y: Out["M", "N"]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 32)):
        carry = tsr.zeros(m)
        x = X[m, n]
        Y[m, n] = tsr.cumsum(x, n) + carry
        carry += tsr.sum(x, n)
'''


def load(program, file):
    file.write_text(HEAD + program)
    names: dict = {"__name__": file.stem}
    exec(compile(file.read_text(), str(file), "exec"), names)
    return names["f"]


@pytest.mark.parametrize(("wrong", "right", "start", "line"), WRONG.values(), ids=WRONG)
def test_what_is_lost_is_an_error(wrong, right, start, line, tmp_path):
    with pytest.raises(tsr.TesseraError) as caught:
        load(wrong, tmp_path / "wrong.py")(X)
    text = without_colour(str(caught.value))
    assert f"wrong.py:{line}:13: error: carry is made anew in each turn of the loop" in text
    row, carets = text.splitlines()[1:3]
    assert row[carets.index("^"):] == start and len(row) == len(carets), text
    # The fix is the loop, after its start where that is not there yet.
    lines = right.splitlines()[3 + (wrong.count(start) > 1):]
    assert text.partition(" fix:  ")[2].split() == "\n".join(lines).split(), text
    np.testing.assert_array_equal(load(right, tmp_path / "right.py")(X), X.cumsum(1))


@tsr.kernel
def for_each_turn(X: Tensor["M", "N"], Y: Out["M", "N"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        for n in tsr.tile(N, 32):
            acc = tsr.zeros(m, n)
            for k in tsr.tile(N, 32):
                acc += tsr.sum(X[m, k], k)
            Y[m, n] = acc


@tsr.kernel
def read_in_an_arm(X: Tensor["M", "N"], Y: Out["M", "N"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        for n in tsr.tile(N, 32):
            scale = tsr.full(1.0, m)
            if n.id == 0:
                scale += 1.0
            Y[m, n] = X[m, n] * scale


@tsr.kernel
def read_in_an_inner_loop(X: Tensor["M", "N"], Y: Out["M", "N"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        for turn in range(2):
            carry = tsr.zeros(m)
            for n in tsr.tile(N, 32):
                x = X[m, n]
                Y[m, n] = tsr.cumsum(x, n) + carry
                carry += tsr.sum(x, n)


@tsr.function
def last_turn(x: Tensor["M", "N"]):
    for i in tsr.unroll(3):
        row = x[0]
        row = row + x[i]
    return row


@tsr.function
def last_turn_of_a_variable(x: Tensor["M", "N"]):
    row = x[0]
    for i in range(3):
        row = x[1]
        row += x[i]
    return row


@tsr.function
def read_before_the_next(x: Tensor["M", "N"]):
    row = x[0]
    total = x[0]
    for i in range(3):
        total = total + row
        row = x[1]
        row += x[i]
    return total


@tsr.kernel
def twice(X: Tensor["M", "N"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        best = tsr.zeros(m)
        for turn in range(2):
            acc = tsr.zeros(m)
            for n in tsr.tile(N, 32):
                acc += tsr.sum(X[m, n], n)
            best = tsr.maximum(best, acc)
        Y[m] = best


@tsr.kernel
def needless_in_a_grid(X: Tensor["M", "N"], Y: Out["M", "N"]):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 32)):
        total = tsr.zeros(m)
        for k in tsr.tile(N, 32):
            total += tsr.sum(X[m, k], k)
        Y[m, n] = X[m, n]


S = np.broadcast_to(X.sum(1, keepdims=True), X.shape)
RIGHT = {
    needless_in_a_grid: X,
    for_each_turn: S,
    read_in_an_arm: np.concatenate([X[:, :32] * 2, X[:, 32:]], 1),
    read_in_an_inner_loop: X.cumsum(1),
    last_turn: X[0] + X[2],
    last_turn_of_a_variable: X[1] + X[2],
    read_before_the_next: X[0] * 2 + X[1] * 2 + X[0] + X[1],
    twice: np.maximum(X.sum(1), 0),
}


@pytest.mark.parametrize("program", RIGHT, ids=lambda program: program.__name__)
def test_what_is_read_is_right(program):
    np.testing.assert_array_equal(program(X), RIGHT[program])


def test_what_a_program_of_the_grid_loses_is_an_error(tmp_path):
    with pytest.raises(tsr.TesseraError) as caught:
        load(GRID, tmp_path / "wrong.py")(X)
    text = without_colour(str(caught.value))
    assert "wrong.py:8:9: error: carry is made anew by each program of the grid, so what is added here is lost" in text
    fix = text.split(" fix:  ")[1].rstrip()
    fix = "\n".join([fix.splitlines()[0], *(line.removeprefix("       ") for line in fix.splitlines()[1:])])
    assert fix.split() == SCAN.split("\n", 2)[2].split()
    np.testing.assert_array_equal(load(SCAN, tmp_path / "right.py")(X), np.cumsum(X, 1))
