#!/usr/bin/env python3
# Plants miscompiles in the output of our passes and asks tessera-bisect for the culprit.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Miscompiles by a seeded mutator (compiler/Testing/Mutate.h): caught, and located to the right pass?

    python test/oracle/miscompiles.py                      # 40 seeds after every pass of every program
    python test/oracle/miscompiles.py --seeds 3 --json out.json

A mutant is one place of the IR changed after one pass: an op dropped, operands swapped, a constant off, a comparison negated,
another reduction, a launch short of tiles. It counts as caught if `bisect` names that pass. Survivors are printed one by one;
those in `EQUIVALENT` have an argument why they change no result that the language promises.
"""

import argparse
import collections
import json
import sys
import warnings

import numpy as np

import tessera as tsr
from tessera import Out, Tensor, const
from tessera import bisect as bisection


@tsr.function
def softmax_of_product(x: Tensor["M", "K"], w: Tensor["K", "N"]):
    return tsr.softmax(x @ w)


@tsr.function
def normed(x: Tensor["M", "N"], g: Tensor["N"], b: Tensor["N"]):
    y = tsr.layer_norm(x, g, b)
    return tsr.gelu(y) + tsr.sum(x, dim=1, keepdim=True)


@tsr.function
def choices(x: Tensor["M", "N"], y: Tensor["M", "N"]):
    return tsr.where(x > y, x - 2 * y, tsr.exp(y) / 3), tsr.max(x, dim=0), tsr.cumsum(y, dim=1)


@tsr.function
def attention(q: Tensor["B", "S", 16], k: Tensor["B", "T", 16], v: Tensor["B", "T", 16]):
    return tsr.softmax(q @ k.transpose(1, 2) / 4.0) @ v


@tsr.kernel
def gemm(A: Tensor["M", "K"], B: Tensor["K", "N"], C: Out["M", "N"], BM: const = 16, BN: const = 16, BK: const = 8):
    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN), group=2):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, BK):
            acc += A[m, k] @ B[k, n]
        C[m, n] = acc


@tsr.kernel
def online_softmax(X: Tensor["M", "N"], Y: Out["M", "N"], BM: const = 4, BN: const = 16):
    for m in tsr.grid(tsr.tile(M, BM)):
        top, den = tsr.full(tsr.lowest, m), tsr.zeros(m)
        for n in tsr.tile(N, BN):
            new = tsr.maximum(top, tsr.max(X[m, n], n))
            den = den * tsr.exp(top - new) + tsr.sum(tsr.exp(X[m, n] - new), n)
            top = new
        for n in tsr.tile(N, BN):
            Y[m, n] = tsr.exp(X[m, n] - top) / den


def inputs() -> dict:
    r = np.random.default_rng(7)
    normal = lambda *shape: r.standard_normal(shape).astype(np.float32)
    return {
        softmax_of_product: (normal(7, 33), normal(33, 19)),
        normed: (normal(9, 40), normal(40), normal(40)),
        choices: (normal(6, 21), normal(6, 21)),
        attention: (normal(2, 9, 16), normal(2, 11, 16), normal(2, 11, 16)),
        gemm: (normal(21, 19), normal(19, 35)),
        online_softmax: (normal(7, 37),),
    }


# Parts of a survivor's description -> why it is no miscompile.
EQUIVALENT: dict = {}


def passes_of(fn, args) -> list:
    spec, _ = bisection._spec(fn, args, {}, "cpu")
    return [(number, name, stage) for number, stage, name, _, _ in fn._start(spec).lower_by_pass("target")]


def campaign(seeds: int, limit: float | None = None, out=sys.stdout) -> dict:
    import time

    begin, count, survivors, elsewhere = time.monotonic(), collections.Counter(), [], []
    by_pass = collections.defaultdict(collections.Counter)
    for seed in range(seeds):
        for fn, args in inputs().items():
            for number, name, stage in passes_of(fn, args):
                if limit and time.monotonic() - begin > limit:
                    break
                try:
                    report = bisection.bisect(fn, args, {}, "cpu", plant=(number, seed))
                except tsr.TesseraError as error:  # a later pass refuses what it gets: seen as well
                    report = None
                    refused = str(error)
                planted = "" if report is None else next((s.planted for s in report.steps if s.planted), "")
                if report is not None and not planted:
                    continue  # there was nothing to change, or it would not verify
                count["mutants"] += 1
                by_pass[name]["mutants"] += 1
                if report is None:
                    count["refused by a later pass"] += 1
                    by_pass[name]["caught"] += 1
                elif report.culprit is None:
                    survivors.append((fn.__name__, name, seed, " ".join(planted.split())[:160]))
                elif report.culprit.number != number:
                    elsewhere.append((fn.__name__, name, seed, report.culprit.name, " ".join(planted.split())[:160]))
                    by_pass[name]["caught"] += 1
                else:
                    count["located"] += 1
                    by_pass[name]["caught"] += 1
    known = [s for s in survivors if any(part in s[3] for part in EQUIVALENT)]
    count["survived"] = len(survivors)
    count["survived, equivalent by argument"] = len(known)
    count["located elsewhere"] = len(elsewhere)
    return {"count": dict(count), "by_pass": {k: dict(v) for k, v in by_pass.items()}, "survivors": survivors, "elsewhere": elsewhere}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--json")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    result = campaign(given.seeds, given.seconds)
    for title in ("survivors", "elsewhere"):
        for row in result[title]:
            print(f"{title}:", *row)
    for name, row in result["by_pass"].items():
        print(f"{name:44} {row.get('caught', 0)} of {row['mutants']}")
    print(result["count"])
    if given.json:
        with open(given.json, "w") as file:
            json.dump(result, file, indent=1)
    mutants = result["count"]["mutants"]
    caught = mutants - result["count"]["survived"]
    return 0 if caught >= 0.9 * mutants else 1


if __name__ == "__main__":
    sys.exit(main())
