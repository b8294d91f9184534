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
import functools
import json
import random
import re
import sys
import time
import warnings

import numpy as np

import tessera as tsr
from tessera import Out, Tensor, const
from tessera import bisect as bisection
from tessera import oracle


@tsr.function
def softmax_of_product(x: Tensor["M", "K"], w: Tensor["K", "N"], mask: Tensor["M", "N"]):
    return tsr.softmax(x @ w + mask)


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


# Products (rows, columns, depth) that launch kernels of their own: of few rows or columns, packed, of a sum in parts.
PRODUCTS = {"thin": (3, 600, 33), "wide": (3, 4200, 33), "narrow": (131, 32, 33), "narrower": (131, 16, 33), "row": (1, 40, 33), "deep": (20, 40, 4100),
            "middling": (50, 70, 33), "packed": (260, 530, 33), "empty": (7, 19, 0)}
KINDS = ("small", "special", "large", "long", *PRODUCTS)


@functools.cache
def inputs(kind: str) -> dict:
    """small; large: beyond every tile and vector, several programs per call of a kernel; special: rows of minus infinity, of one value, far from 0;
    long: more keys than a block of attention; PRODUCTS of the functions that have any."""
    r = np.random.default_rng(7)
    large = kind == "large"
    rows, columns, depth = PRODUCTS.get(kind, (0, 0, 0))

    def normal(*shape):
        x = r.standard_normal(shape).astype(np.float32)
        if kind == "special":
            x *= np.float32(8)
            x[..., 0, :] = -np.inf if len(shape) > 1 else 0
            x[..., -1:, :] = 0.5
            x[..., x.shape[-2] // 2 if len(shape) > 1 else 0, 0] = -30
        return x

    def flat(n):
        return r.standard_normal(n).astype(np.float32)

    def tame(*shape):  # for operands of products: minus infinity would make everything NaN
        return r.standard_normal(shape).astype(np.float32)

    if kind == "special":
        return {softmax_of_product: (tame(7, 33), tame(33, 19), normal(7, 19)), normed: (normal(9, 40), flat(40), flat(40)), choices: (normal(6, 21), tame(6, 21)),
                attention: (tame(2, 9, 16) * 20, tame(2, 11, 16), tame(2, 11, 16)), gemm: (tame(21, 19) * 1e20, tame(19, 35)),
                online_softmax: (normal(7, 37),)}
    if kind in PRODUCTS:
        x, w = tame(rows, depth or 33), tame(depth or 33, columns)  # cut, not empty: the strides, and so the program, stay
        return {softmax_of_product: (x[:, :depth], w[:depth], tame(rows, columns)), gemm: (tame(rows, 19)[:, :depth], tame(19, 35)[:depth])}
    if kind == "long":
        return {attention: (tame(1, 9, 16), tame(1, 600, 16), tame(1, 600, 16))}
    return {
        softmax_of_product: (tame(131, 70), tame(70, 300), tame(131, 300)) if large else (tame(7, 33), tame(33, 19), tame(7, 19)),
        normed: (normal(5, 1100), flat(1100), flat(1100)) if large else (normal(9, 40), flat(40), flat(40)),
        choices: (tame(9, 1025), tame(9, 1025)) if large else (tame(6, 21), tame(6, 21)),
        attention: (tame(1, 70, 16), tame(1, 150, 16), tame(1, 150, 16)) if large else (tame(2, 9, 16), tame(2, 11, 16), tame(2, 11, 16)),
        gemm: (tame(50, 35), tame(35, 90)) if large else (tame(21, 19), tame(19, 35)),
        online_softmax: (tame(150, 37),) if large else (tame(7, 37),),
    }


@functools.cache
def kernels(fn, kind: str) -> tuple:
    """All kernels and those that these inputs launch, by the names that they have at the end."""
    _, compilation, values = oracle.specialise(fn, inputs(kind)[fn], {}, "cpu", asserts=False)
    text = [text for _, stage, _, text, _ in compilation.lower_by_pass("target") if stage != "target"][-1]
    return re.findall(r"tile\.func @(\w+)", text), oracle.Stage.of_text(text, "<launched>", fn.__name__, "cpu", checked=False).run(values).launched


def kinds_that_launch(fn, planted: str) -> list:
    """Inputs that run what was changed; variants and halves of a kernel begin with its name."""
    where = re.search(r"\(in @(\w+)\)", planted)
    return [kind for kind in KINDS if fn in inputs(kind) and (where is None or where[1] == fn.__name__ or any(f"{n}_".startswith(f"{where[1]}_") for n in kernels(fn, kind)[1]))]


# (function, part of the description) -> why it is no miscompile on these programs, or below what is promised.
EQUIVALENT = {
    ("softmax_of_product", "gir.constant dense<0.0"): "what is subtracted from a row of minus infinities: exp(-inf - c) is 0 for every finite c",
    ("softmax_of_product", "%cst = arith.constant 0.0"): "what the sums of a product start from: larger by one number everywhere, softmax gives the same",
    ("normed", "math.fma %19, %cst"): "the correction of x / sqrt 2 in gelu: without it gelu is off by less than the 2^-21 that is promised; test_exhaustive.py sees it",
    ("normed", "arith.mulf %25, %cst_6"): "the same correction, its factor",
    ("normed", "%cst_5 = arith.constant dense<-2.0"): "the same correction, its sign",
    ("normed", "arith.minimumf"): "the same correction, where t > 64: there erfc is 0, and the factor stays finite because the rest of t is below 1",
    ("normed", "%28 = math.absf %23"): "|rest| < 1 tells numbers from NaN: the rest of x / sqrt 2 is small or NaN, never minus infinity",
    ("normed", "arith.mulf %72, %90"): "the last correction of 1 / sqrt: without it 1.5 ULP of the 2 that are promised",
    ("normed", "operands 0 and next swapped: %13 = arith.subf"): "x - mean is only squared",
    ("normed", "%c1_i64 = arith.constant 1"): "reads the result's stride of axis 0 for its size of axis 1: it is contiguous, they are one number",
    ("attention", "arith.maxui %8, %c1"): "max(heads of K, 1) of a program that always has a head",
    ("attention", "arith.divui %5#0, %9"): "h // (H // HK), and H is HK in this program",
    ("attention", "arith.divui %3, %7"): "H // HK, and H is HK in this program",
    ("attention", "%cst_5 = arith.constant 0.0"): "the factor of a row without keys: there is no mask and always a key",
    ("attention", "arith.divui %arg7, %c64"): "the number of a panel of 64 keys in a block of 64 keys: always 0",
    ("attention", "arith.muli %398, %c1024"): "the same number, times the size of a panel",
    ("gemm", "arith.constant dense<0.0"): "lanes to the right of B's last column: their sums are not stored",
    ("softmax_of_product", "arith.cmpi sge, %8, %14 : index (in @softmax_of_product_1)"): "how many turns of a row are kept: the others compute again, the same bits",
    ("gemm", "grid: 512 doubled"): "from how many columns on an operand is packed: the same bits either way",
    ("gemm", "arith.muli %11, %18"): "the bytes of the right operand, which is read where it lies or packed: the same bits either way",
    ("gemm", "arith.andi %18, %c2047"): "whether rows of the right operand lie 2 KB apart: it is read where it lies or packed, the same bits either way",
    ("gemm", "swapped: %5 = arith.cmpi sge, %c0, %2"): "0 >= K for K >= 0: the sums are also cleared where the first step does not read them",
    ("online_softmax", "arith.maximumf %49, %50 : vector<1xf32>"): "what is subtracted before exp: the sums are scaled by the same number, any near the maximum does",
    ("", "arith.minsi"): "min(rest, 16) becomes a mask of 16 lanes by comparing with 0..15: a larger number masks alike",
}

def argument(function: str, planted: str) -> str:
    return next((why for (name, part), why in EQUIVALENT.items() if name in ("", function) and part in planted), "")


def passes_of(fn, args) -> list:
    spec, _, _ = oracle.specialise(fn, args, {}, "cpu")
    return [(number, name, stage) for number, stage, name, _, _ in fn._start(spec).lower_by_pass("target")]


def planted_passes(seeds: int) -> list:
    """(seed, function, number and name of a pass), in the order in which they run."""
    return [(seed, fn, number, name) for seed in range(seeds) for fn, args in inputs("small").items() for number, name, _ in passes_of(fn, args)]


def sample(seeds: int, places: int) -> list:
    return random.Random(places).sample(planted_passes(seeds), places)


def campaign(planted_in: list, seconds: float | None = None) -> dict:
    begin, count, survivors, elsewhere = time.monotonic(), collections.Counter(), [], []
    by_pass = collections.defaultdict(collections.Counter)
    for seed, fn, number, name in planted_in:
        if seconds and time.monotonic() - begin > seconds:
            break
        planted, kinds, report = "", ["small"], None
        try:
            while kinds and (report is None or report.culprit is None):
                report = bisection.bisect(fn, inputs(kinds.pop(0))[fn], {}, "cpu", plant=(number, seed))
                changed = next((step.planted for step in report.steps if step.planted), "")
                assert not planted or changed == planted, "inputs of another version"
                if not planted:
                    planted = changed
                    kinds = [kind for kind in kinds_that_launch(fn, planted) if kind != "small"] if planted and not argument(fn.__name__, " ".join(planted.split())) else []
        except tsr.TesseraError:  # a later pass refuses what it gets: seen as well
            report = None
        if report is not None and not planted:
            continue  # there was nothing to change, or it would not verify
        if report is not None and report.culprit is None and not kinds_that_launch(fn, planted):
            count["in kernels that these inputs do not launch"] += 1
            continue
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
    survivors = [(*s, argument(s[0], s[3])) for s in survivors]
    known = [s for s in survivors if s[4]]
    count["survived"] = len(survivors)
    count["survived, equivalent by argument"] = len(known)
    count["located elsewhere"] = len(elsewhere)
    return {"count": dict(count), "by_pass": {k: dict(v) for k, v in by_pass.items()}, "survivors": survivors, "elsewhere": elsewhere}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--sample", type=int, help="so many places only, drawn from all of them")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--json")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    result = campaign(sample(given.seeds, given.sample) if given.sample else planted_passes(given.seeds), given.seconds)
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
