"""Random programs: each value is followed in float64 with a derived bound, through shared values, views and fan-out.

    pytest test/numerics/test_random_graphs.py                  # 30 graphs, the same in every run
    python test/numerics/test_random_graphs.py --seconds 600    # as many as fit, from a new seed
    python test/numerics/test_random_graphs.py --seed 17        # one graph, with its text

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import random

import bounds
import numpy as np
import pytest
from bounds import Approx

import tessera as tsr

GRAPHS = 30
SIZES = [(3, 5), (7, 65), (17, 130), (1, 9), (64, 33), (0, 7), (2, 1000)]
STEPS = "unary unary binary binary binary number reduce reduce spread softmax norm transpose matmul reshape slice cat scan where".split()


def lipschitz(value, *operands):
    """A function that moves no further than its operands, exactly computed."""
    error = operands[0].error
    for operand in operands[1:]:
        error = np.maximum(error, operand.error)
    return Approx(value, np.broadcast_to(error, value.shape), "fp32")


def same_move(x: Approx, move) -> Approx:
    return Approx(move(x.value), move(np.ascontiguousarray(x.error)), x.dtype)


class Graph:
    """The text of a program and what its values are."""

    def __init__(self, seed: int):
        self.pick = random.Random(seed)
        self.rows, self.columns = self.pick.choice(SIZES)
        normal = np.random.default_rng(seed).standard_normal
        m, n = self.rows, self.columns
        self.inputs = [normal((m, n)).astype(np.float32), normal(n).astype(np.float32), np.asfortranarray(normal((n, m)).astype(np.float32))]
        self.lines: list[str] = []
        self.values = [(name, bounds.exact(a, "fp32")) for name, a in zip("xwz", self.inputs)]
        for _ in range(self.pick.randint(4, 22)):
            self.step(self.pick.choice(STEPS))
        last = [self.values[-1]]
        self.results = last + self.pick.sample(self.values[3:-1], min(2, max(len(self.values) - 4, 0)))
        names = ", ".join(name for name, _ in self.results)
        body = "".join(f"    {line}\n" for line in self.lines)
        self.text = f"@tsr.function\ndef f(x, w, z):\n{body}    return {names}\n"

    def add(self, text: str, value: Approx):
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        self.values.append((name, value))

    def step(self, kind: str) -> None:
        name, v = self.pick.choice(self.values[-6:] + self.values[:3])
        shape = v.value.shape
        rank, axis = len(shape), self.pick.randrange(max(len(shape), 1))
        with np.errstate(all="ignore"):
            getattr(self, kind)(name, v, shape, rank, axis)

    def unary(self, name, v, shape, rank, axis):
        op = self.pick.choice(["tanh", "sigmoid", "abs", "relu", "-", "exp"])
        if op == "-":
            self.add(f"-{name}", -v)
        elif op == "abs":
            self.add(f"tsr.abs({name})", lipschitz(np.abs(v.value), v))
        elif op == "relu":
            self.add(f"tsr.relu({name})", lipschitz(np.maximum(v.value, 0), v))
        elif op == "exp":
            self.add(f"tsr.exp(-tsr.abs({name}))", (-lipschitz(np.abs(v.value), v)).exp())
        else:
            self.add(f"tsr.{op}({name})", getattr(v, op)())

    def binary(self, name, v, shape, rank, axis):
        other, u = self.pick.choice([b for b in self.values if b[1].value.shape == shape])
        op = self.pick.choice("+-*^")
        if op == "^":
            self.add(f"tsr.maximum({name}, {other})", lipschitz(np.maximum(v.value, u.value), v, u))
        elif op == "*":
            self.add(f"tsr.tanh({other}) * {name}", u.tanh() * v)
        else:
            self.add(f"{name} {op} {other}", v + u if op == "+" else v - u)

    def number(self, name, v, shape, rank, axis):
        self.add(f"{name} * 0.75 + 1", v * 0.75 + 1.0)

    def reduce(self, name, v, shape, rank, axis):
        if not rank or not shape[axis]:
            return
        op = self.pick.choice(["max", "min", "mean", "sum", "logsumexp"])
        keep = self.pick.random() < 0.3
        text = f"tsr.{op}({name}, dim={axis}{', keepdim=True' if keep else ''})"
        if op in ("max", "min"):
            value = getattr(v.value, op)(axis, keepdims=keep)
            self.add(text, Approx(value, v.error.max(axis, keepdims=keep), "fp32"))
        elif op == "mean":
            self.add(text, v.sum(axis, keepdims=keep) / shape[axis])
        elif op == "sum":
            self.add(text, v.sum(axis, keepdims=keep))
        else:
            top = v.max(axis, keepdims=True)
            total = (v - top).exp().sum(axis, keepdims=True).log() + top
            self.add(text, total if keep else Approx(total.value.squeeze(axis), total.error.squeeze(axis), "fp32"))

    def spread(self, name, v, shape, rank, axis):
        for other, u in self.values[:1]:
            try:
                result = np.broadcast_shapes(shape, u.value.shape)
            except ValueError:
                return
            # A size that only happens to fit is an error of the language: named by the key where it is 1.
            if rank and result == u.value.shape and shape[-1] in (1, u.value.shape[-1]):
                self.add(f"{other} - {name}", u - v)

    def softmax(self, name, v, shape, rank, axis):
        if rank and shape[axis]:
            self.add(f"tsr.softmax({name}, dim={axis})", bounds.softmax(v, axis))

    def norm(self, name, v, shape, rank, axis):
        if rank == 2 and shape[1]:
            self.add(f"tsr.layer_norm({name}, ({name}.shape[1],), eps=0.1)", bounds.layer_norm(v, eps=0.1))

    def transpose(self, name, v, shape, rank, axis):
        if rank == 2:
            self.add(f"{name}.transpose(0, 1)", v.T)

    def matmul(self, name, v, shape, rank, axis):
        fits = [b for b in self.values if rank == 2 and len(b[1].value.shape) == 2 and b[1].value.shape[0] == shape[1]]
        if fits:
            other, u = self.pick.choice(fits)
            self.add(f"{name} @ {other}", v @ u)
            self.add(f"tsr.tanh({self.values[-1][0]})", self.values[-1][1].tanh())

    def reshape(self, name, v, shape, rank, axis):
        if rank == 2 and min(shape):
            self.add(f"{name}.reshape(-1)", same_move(v, lambda a: a.reshape(-1)))
        elif rank == 1 and shape[0] == self.rows * self.columns and min(self.rows, self.columns):
            self.add(f"{name}.reshape(x.shape[0], x.shape[1])", same_move(v, lambda a: a.reshape(self.rows, self.columns)))

    def slice(self, name, v, shape, rank, axis):
        if rank == 2 and shape[0] > 2:
            first, step = self.pick.choice([0, 1]), self.pick.choice([1, 1, 2])
            self.add(f"{name}[{first}::{step}]", v[first::step])

    def cat(self, name, v, shape, rank, axis):
        fits = [b for b in self.values if rank == 2 and len(b[1].value.shape) == 2 and b[1].value.shape[1] == shape[1]]
        if fits and shape[0] < 500:
            other, u = self.pick.choice(fits)
            both = Approx(np.concatenate([v.value, u.value]), np.concatenate([v.error, u.error]), "fp32")
            self.add(f"tsr.cat([{name}, {other}], dim=0)", both)

    def scan(self, name, v, shape, rank, axis):
        if rank:
            error = np.maximum.accumulate(v.error, axis)
            self.add(f"tsr.cummax({name}, dim={axis})", Approx(np.maximum.accumulate(v.value, axis), error, "fp32"))

    def where(self, name, v, shape, rank, axis):
        """Chosen by an input, so that no rounding decides."""
        if shape == self.values[0][1].value.shape:
            chosen = self.values[0][1].value > 0
            value, error = np.where(chosen, v.value, 0.5), np.where(chosen, v.error, 0)
            self.add(f"tsr.where(x > 0, {name}, 0.5)", Approx(value, error, "fp32"))


def run(seed: int) -> Graph:
    graph = Graph(seed)
    got = tsr.compile_source(graph.text, f"<graph {seed}>").f(*graph.inputs)
    got = got if isinstance(got, tuple) else (got,)
    for (name, expected), value in zip(graph.results, got):
        try:
            bounds.check(np.asarray(value), expected, name)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}\n{graph.text}") from None
    return graph


@pytest.mark.parametrize("seed", range(GRAPHS))
def test_graph(seed):
    run(seed)


def test_a_wrong_result_is_noticed():
    """The bounds stay small enough to see an element that is off by a thousandth of it."""
    seen = 0
    for seed in range(GRAPHS):
        for _, expected in Graph(seed).results:
            finite = np.isfinite(expected.value) & (np.abs(expected.value) > 1e-3)
            seen += bool(len(bounds.violations(np.where(finite, expected.value * 1.001, expected.value), expected)))
    assert seen > 2 * GRAPHS / 3, f"only {seen} results of {GRAPHS} graphs have bounds with teeth"


def main():
    import argparse
    import time

    parser = argparse.ArgumentParser(description="Runs random graphs against their derived bounds.")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, help="one graph, with its text")
    given = parser.parse_args()
    if given.seed is not None:
        print(run(given.seed).text)
        return
    first = int(time.time()) * 1000
    end, count, bad = time.monotonic() + given.seconds, 0, 0
    while time.monotonic() < end:
        try:
            run(first + count)
        except Exception as error:
            bad += 1
            print(error)
        count += 1
    print(f"{count} graphs from seed {first}, {bad} bad")
    raise SystemExit(bool(bad))


if __name__ == "__main__":
    main()
