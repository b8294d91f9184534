"""How often `check` cannot decide, and whether planted faults are refused: `python test/oracle/verdicts.py --programs 300`.

An element is undecided if its bound is infinite, above the largest magnitude of the result, or over 10,000 times the largest measured
error (where that is not 0), and the result is not the exact value.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse
import sys
import tempfile
import warnings

import numpy as np

import tessera as tsr
from tessera import comparison, oracle
from tessera.fuzz.generate import generate
from tessera.fuzz.runner import as_list


def faults(exact, bounds, random) -> dict:
    """Results with one fault each: one ulp beyond the bound, a NaN, one wrong element, a wrong row."""
    good = exact.astype(np.float64)
    at = tuple(int(random.integers(n)) for n in exact.shape)
    found = {name: good.copy() for name in ("beyond", "nan", "element", "row")}
    edge = exact[at] + float(random.choice((-1.0, 1.0))) * bounds[at]
    away = np.inf if edge >= exact[at] else -np.inf
    while abs(edge - exact[at]) <= bounds[at]:
        edge = np.nextafter(edge, away)
    found["beyond"][at] = edge
    found["nan"][at] = np.nan
    found["element"][at] += 3 * (bounds[at] + np.abs(good).max(initial=1e-6))
    found["row"][at[0] if at else ...] += 2 * bounds[at[0] if at else ...].max() + 0.01 * np.abs(good).max(initial=1e-6)
    return found


class Counts:
    """Elements looked at, and undecided ones; faults planted, and refused ones."""

    def __init__(self):
        self.elements = self.undecided = self.planted = self.refused = 0
        self.missed: list = []

    def results(self, where: str, got: list, bounds: list, random=None) -> None:
        for g, (exact, bound) in zip(got, bounds):
            self.elements += g.size
            self.undecided += round(comparison.share_undecided(g, np.asarray(exact), bound) * g.size)
            if random is None or exact.dtype.kind != "f" or not exact.size or not np.isfinite(exact).all() or comparison.says_nothing(exact, bound).any():
                continue
            for name, bad in faults(exact, bound, random).items():
                self.planted += 1
                wrong = comparison.within("result", bad, exact, bound)
                if wrong is not None and not wrong.undecided:
                    self.refused += 1
                else:
                    self.missed.append(f"{where}: {name}")

    def __str__(self) -> str:
        share = 100 * self.undecided / max(self.elements, 1)
        return f"{self.undecided} of {self.elements} elements undecided ({share:.2f} %)"


def of_programs(count: int, first: int) -> Counts:
    """Random programs (python -m tessera.fuzz), the compiled code against their bounds."""
    counts, random = Counts(), np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(first, first + count):
            program = generate(seed)
            if program.exact:
                continue
            fn, arguments = program.load(folder), program.arguments()
            counts.results(f"seed {seed}", as_list(oracle._compiled(fn, (), dict(arguments), "cpu")), oracle.bounds(fn, **arguments), random)
            if sys.stderr.isatty():
                print(f"\rprogram {seed - first + 1} of {count}", end="", file=sys.stderr)
    return counts


@tsr.function
def total(x):
    return tsr.sum(x, dim=-1)


@tsr.function
def average(x):
    return tsr.mean(x, dim=-1)


@tsr.function
def variance(x):
    return tsr.var(x, dim=-1)


@tsr.function
def one_pass(x):
    mean = tsr.mean(x, dim=-1)
    return tsr.sqrt(tsr.mean(x * x, dim=-1) - mean * mean)


@tsr.function
def layer_norm(x):
    return tsr.layer_norm(x, (x.shape[-1],))


@tsr.function
def rms_norm(x):
    return x * tsr.rsqrt(tsr.mean(x * x, dim=-1, keepdim=True) + 1e-6)


@tsr.function
def softmax(x):
    return tsr.softmax(x, dim=-1)


@tsr.function
def logsumexp(x):
    return tsr.logsumexp(x, dim=-1)


@tsr.function
def product(x):
    return x @ x.T


@tsr.function
def largest(x):
    return tsr.argmax(x, dim=-1)


FUNCTIONS = (total, average, variance, one_pass, layer_norm, rms_norm, softmax, logsumexp, product, largest)


def adversarial(seed: int) -> dict:
    """Four kinds of rows that are hard on fp32."""
    random = np.random.default_rng(seed)
    plain = random.standard_normal((5, 61))
    pairs = np.concatenate([plain, -plain * (1 + 1e-6 * random.standard_normal(plain.shape))], axis=1)
    return {"large mean": plain * 0.1 + 10.0 ** random.uniform(0, 4), "cancelling pairs": pairs[:, random.permutation(pairs.shape[1])],
            "huge range": plain * 10.0 ** random.uniform(-18, 18, plain.shape), "subnormal": plain * 1e-40}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    counts = of_programs(given.programs, given.first)
    print(f"{given.programs} random programs: {counts}; {counts.refused} of {counts.planted} planted faults refused")
    for missed in counts.missed[:10]:
        print("  missed:", missed)
    total_of = Counts()
    for fn in FUNCTIONS:
        for kind in adversarial(0):
            here = Counts()
            for seed in range(5):
                x = adversarial(seed)[kind].astype(np.float32)
                here.results(fn.__name__, as_list(oracle._compiled(fn, (x,), {}, "cpu")), oracle.bounds(fn, x))
            print(f"  {fn.__name__:12} {kind:18} {here}")
            total_of.elements, total_of.undecided = total_of.elements + here.elements, total_of.undecided + here.undecided
    print(f"200 adversarial inputs: {total_of}")
    return int(bool(counts.missed))


if __name__ == "__main__":
    sys.exit(main())
