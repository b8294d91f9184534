"""Many tuned kernels with in-place arguments: no buffer is corrupted, and no winner is one that the oracle rejects.

    python test/python/tuned_kernels.py --count 1000 [--seconds 900] [--seed 0]

Each kernel is made by a seed: its body, dtype, library, memory layout, block sizes and how it updates its arguments. Half of them have one
block size for which the body is wrong; it would be the quickest, as often as not. After tuning, every buffer (those around
the arguments, too) must be as it was, the winner's machine code within the oracle's bounds at odd sizes, and a call must change exactly
what the default changes.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import linecache
import random
import sys
import tempfile
import time

import numpy as np

import tessera as tsr
from tessera import comparison, oracle, tuner
from tessera.candidates import trial
from tessera.references import to_numpy

BODIES = {  # what a kernel does to a tile of X, given a tile of A; and the same, wrong
    "scale": ("X[m, n] * 1.5", "X[m, n] * 1.51"),
    "add": ("X[m, n] + A[m, n]", "X[m, n] + A[m, n] * 1.01"),
    "gelu": ("tsr.gelu(X[m, n])", "tsr.gelu(X[m, n]) + 0.01"),
    "fma": ("X[m, n] * A[m, n] + X[m, n]", "X[m, n] * A[m, n] - X[m, n]"),
    "exp": ("tsr.exp(X[m, n] * 0.25) - A[m, n]", "tsr.exp(X[m, n] * 0.26) - A[m, n]"),
    "where": ("tsr.where(X[m, n] > A[m, n], X[m, n], 0.5 * A[m, n])", "tsr.where(X[m, n] < A[m, n], X[m, n], 0.5 * A[m, n])"),
    "twice": ("2.0 * X[m, n] - A[m, n] * A[m, n]", "2.0 * X[m, n] - A[m, n]"),
}
SUMS = ("acc += tsr.sum(X[m, n] * A[m, n])", "acc += tsr.sum(X[m, n] * X[m, n])")


@dataclasses.dataclass
class Case:
    seed: int
    text: str
    blocks: list
    wrong: int | None
    dtype: str
    library: str
    numerics: str
    shape: tuple
    strided: bool


def make(seed: int) -> Case:
    rng = random.Random(seed)
    blocks = rng.sample([16, 32, 64, 128, 256], 3)
    wrong = blocks[rng.choice([1, 2])] if rng.random() < 0.5 else None
    dtype = rng.choice(["float32", "float32", "float64", "float16"])
    if rng.random() < 0.25:
        right, bad = SUMS
        lines = ["for m in tsr.grid(M):", f"    acc: tsr.{'fp64' if dtype == 'float64' else 'fp32'} = 0.0", "    for n in tsr.tile(N, BLOCK):"]
        lines += [f"        if BLOCK == {wrong}:", f"            {bad}", "        else:", f"            {right}"] if wrong else [f"        {right}"]
        lines += ["    S[m] = S[m] + acc"]
        head = 'X: Tensor["M", "N"], A: Tensor["M", "N"], S: InOut["M"]'
    else:
        right, bad = BODIES[rng.choice(sorted(BODIES))]
        lines = ["for m, n in tsr.grid(M, tsr.tile(N, BLOCK)):"]
        lines += [f"    if BLOCK == {wrong}:", f"        X[m, n] = {bad}", "    else:", f"        X[m, n] = {right}"] if wrong else [f"    X[m, n] = {right}"]
        head = 'X: InOut["M", "N"], A: Tensor["M", "N"]'
    text = "@tsr.kernel\ndef made(" + head + f", BLOCK: const = {blocks[0]}):\n" + "\n".join("    " + line for line in lines) + "\n"
    return Case(seed, text, blocks, wrong, dtype, rng.choice(["numpy", "torch"]),
                rng.choice(["fixed", "open"]), (rng.randint(3, 60), rng.randint(40, 500)), rng.random() < 0.3)


def kernel_of(case: Case):
    """The kernel, from a file that exists in linecache only."""
    name = f"<tuned kernel {case.seed}>"
    linecache.cache[name] = (len(case.text), None, case.text.splitlines(keepends=True), name)
    scope = {"tsr": tsr, "Tensor": tsr.Tensor, "InOut": tsr.InOut, "const": tsr.const}
    exec(compile(case.text, name, "exec"), scope)
    return scope["made"]


class Buffers:
    """Arguments inside larger buffers, whose rest is watched."""

    def __init__(self, case: Case, names: list[str]):
        rng = np.random.default_rng(case.seed)
        self.whole, self.views = {}, {}
        for name in names:
            rows, columns = case.shape
            room = rng.standard_normal((rows + 4, (columns + 6) * (2 if case.strided and name != "S" else 1))).astype(case.dtype)
            if case.library == "torch":
                import torch

                room = torch.from_numpy(room)
            view = room[2, 3 : 3 + rows] if name == "S" else room[2 : 2 + rows, 3 : 3 + columns * 2 : 2] if case.strided else room[2 : 2 + rows, 3 : 3 + columns]
            if name == "S" and rows > room.shape[1] - 3:
                view = room[2 : 2 + rows, 3]
            self.whole[name], self.views[name] = room, view
        self.before = self.bytes()

    def bytes(self) -> dict:
        return {name: np.asarray(to_numpy(room)).tobytes() for name, room in self.whole.items()}

    def changed(self) -> list[str]:
        now = self.bytes()
        return [name for name in now if now[name] != self.before[name]]


def wrong_at_odd_sizes(fn, config: dict, case: Case) -> str:
    """What the oracle has against a winner: its machine code against the default's program, on inputs the tuner never saw."""
    default = trial(fn, {"BLOCK": case.blocks[0]})
    rng = np.random.default_rng(case.seed + 10_000_019)
    rows, columns = 5, 137
    given = {p.name: rng.standard_normal((rows,) if p.name == "S" else (rows, columns)).astype(case.dtype)
             for p in default.parameters if p.kind != "const"}
    program, values = oracle.prepare(default, (), given, "graph")
    expected = program.run(values, "bound").results
    got = oracle._compiled(trial(fn, config), (), given, "cpu")
    for result, array in zip(expected, got if isinstance(got, tuple) else (got,)):
        wrong = comparison.within("result", np.asarray(array), result.of("bound"), result.bounds)
        if wrong:
            return str(wrong)
    return ""


def run(case: Case, folder: str, flatter: bool) -> list[str]:
    """Everything that is wrong with tuning this kernel."""
    problems, fn = [], kernel_of(case)
    names = [p.name for p in fn.parameters if p.kind != "const"]
    buffers = Buffers(case, names)
    real = tuner._measure
    if flatter and case.wrong is not None:  # the wrong one looks quickest
        tuner._measure = lambda race, candidate, default: (1e-9, 1e-9) if candidate.config["BLOCK"] == case.wrong else real(race, candidate, default)
    try:
        found = fn.tune(*buffers.views.values(), space=dict(BLOCK=case.blocks), numerics=case.numerics, cache=folder, seconds=30)
    finally:
        tuner._measure = real
    if buffers.changed():
        problems.append(f"tuning wrote to {buffers.changed()}")
    if found.best["BLOCK"] == case.wrong:
        problems.append(f"the wrong configuration won: {found.best}")
    against = wrong_at_odd_sizes(fn, found.best, case)
    if against:
        problems.append(f"the oracle rejects the winner {found.best}: {against}")
    # A call changes what the default changes, and nothing around it.
    other = Buffers(case, names)
    trial(fn, {"BLOCK": case.blocks[0]})(*other.views.values())
    fn(*buffers.views.values())
    mine, theirs = buffers.bytes(), other.bytes()
    if buffers.changed() != other.changed():
        problems.append(f"a call wrote to {buffers.changed()}, the default to {other.changed()}")
    for name in names:
        outside = np.ones(buffers.whole[name].shape, bool)
        inside = {"torch": lambda v: v.numpy(), "numpy": lambda v: v}[case.library]
        marks = np.zeros(buffers.whole[name].shape, bool)
        start = inside(buffers.whole[name])
        offset = (inside(buffers.views[name]).__array_interface__["data"][0] - start.__array_interface__["data"][0]) // start.itemsize
        view = inside(buffers.views[name])
        np.lib.stride_tricks.as_strided(marks.reshape(-1)[offset:], view.shape, [s // view.itemsize for s in view.strides])[...] = True
        outside &= ~marks
        if not np.array_equal(np.frombuffer(mine[name], start.dtype).reshape(start.shape)[outside], np.frombuffer(buffers.before[name], start.dtype).reshape(start.shape)[outside]):
            problems.append(f"a call wrote around {name}")
    if case.numerics == "fixed" and mine != theirs:
        problems.append("other bits than the default")
    return problems


def sweep(count: int, seconds: float, seed: int = 0, show=print) -> dict:
    """Runs until the count or the time is reached."""
    start, bad, done, planted = time.monotonic(), [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for number in itertools.count(seed):
            if done == count or time.monotonic() - start > seconds:
                break
            case = make(number)
            problems = run(case, folder, flatter=bool(number % 2))
            done, planted = done + 1, planted + (case.wrong is not None)
            if problems:
                bad.append((number, problems))
                show(f"seed {number}: {'; '.join(problems)}\n{case.text}")
            if done % 100 == 0:
                show(f"{done} kernels, {planted} with a wrong configuration, {len(bad)} bad, {time.monotonic() - start:.0f} s")
    return {"kernels": done, "planted": planted, "bad": bad, "seconds": time.monotonic() - start}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=900.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    found = sweep(given.count, given.seconds, given.seed, lambda text: print(text, flush=True))
    print(f"{found['kernels']} tuned kernels (seeds {given.seed} on), {found['planted']} with a wrong configuration: "
          f"{len(found['bad'])} with a corrupted buffer or a winner that the oracle rejects; {found['seconds']:.0f} s")
    return 1 if found["bad"] else 0


if __name__ == "__main__":
    sys.exit(main())
