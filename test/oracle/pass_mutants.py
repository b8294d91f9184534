#!/usr/bin/env python3
# Makes what one CPU pass made wrong, and asks bisect and the pass's lit test whether they see it.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mutants of what each pass of the CPU target makes (compiler/Testing/Mutate.h, `made`): does bisect name that pass?

    python test/oracle/pass_mutants.py                          # 12 seeds per pass and program, 40 per lit test
    python test/oracle/pass_mutants.py --only cpu-elide-packing --seeds 60 --json out.json

A mutant that changes a result is found if `bisect` names the pass. One that changes only speed (a prefetch, a store past the
caches, two registers for a line of bf16, which variant of a kernel runs) is found if the pass's lit test fails on it.
`miscompiles.py` plants after every pass, in whatever stands there; here only what the pass made is changed.
"""

import argparse
import collections
import functools
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time
import warnings

import ml_dtypes
import numpy as np

import tessera as tsr
from tessera import Tensor, oracle
from tessera import bisect as bisection

ROOT = pathlib.Path(__file__).resolve().parents[2]
MAPPING = ROOT / "compiler" / "Target" / "CPU" / "Mapping"
AMX = "cpu:sapphirerapids"  # the interpreter needs no such processor


# Small tiles and one way to launch: what is mutated runs on small inputs.
ONE_WAY = dict(tile=dict(M=32, N=64, K=32), split_k=1, stream=0)


@tsr.function.schedule(**ONE_WAY, pack=0)
def product(x: Tensor["M", "K"], w: Tensor["K", "N"]):
    return x @ w


@tsr.function.schedule(**ONE_WAY, pack=0)
def residual(x: Tensor["M", "K"], w: Tensor["K", "N"], r: Tensor["M", "N"]):
    return tsr.relu(x @ w) + r


@tsr.function.schedule(**ONE_WAY)
def packed(x: Tensor["M", "K"], w: Tensor["K", "N"]):
    return x @ w


@tsr.function.schedule(tile=dict(M=32, N=64, K=32), split_k=2, stream=0)
def divided(x: Tensor["M", "K"], w: Tensor["K", "N"]):
    return x @ w


@tsr.function.schedule(stream=2)
def row_sums(x: Tensor["M", "N"]):
    return tsr.sum(x * 2.0, dim=1), x + 1.0


@tsr.function.schedule(stream=2)
def softmax(x: Tensor["M", "N"]):
    return tsr.softmax(x)


@tsr.function.schedule(stream=2)
def centred(x: Tensor["M", "N"], g: Tensor["N"]):
    return tsr.layer_norm(x, g)


@tsr.function.schedule(stream=0)
def normed(x: Tensor["M", "N"], g: Tensor["N"]):
    return tsr.rms_norm(x, g) * 2.0


@tsr.function
def attention(q: Tensor["B", "S", 16], k: Tensor["B", "T", 16], v: Tensor["B", "T", 16]):
    return tsr.softmax(q @ k.transpose(1, 2) / 4.0) @ v


@tsr.function.schedule(**ONE_WAY, pack=0)
def strided(x: Tensor["M", "K"], w: Tensor["N", "K"]):
    return tsr.exp(x @ w.T)


@tsr.function.schedule(stream=0)
def apart(x: Tensor["N"], y: Tensor["N"]):
    return x * 2.0 + y


def programs():
    """(function, target, calls): the first call is tried first, the others on what survives it."""
    r = np.random.default_rng(11)

    def of(dtype, *shapes):
        return tuple(r.integers(-3, 4, shape).astype(dtype) / dtype(4) for shape in shapes)

    f32, bf16 = np.float32, ml_dtypes.bfloat16
    sizes = [(37, 70, 100), (64, 96, 128), (3, 20, 17), (33, 20, 70), (32, 0, 64)]
    for dtype, target in ((f32, "cpu:avx2"), (f32, "cpu:avx512"), (bf16, "cpu:avx512"), (bf16, AMX)):
        for fn in (product, packed, divided):
            yield fn, target, [of(dtype, (m, k), (k, n)) for m, k, n in sizes]
        yield residual, target, [of(dtype, (m, k), (k, n), (m, n)) for m, k, n in sizes]
        yield strided, target, [of(dtype, (m, k), (n, k)) for m, k, n in sizes]
    for target in ("cpu:avx2", "cpu:avx512"):
        x, y = of(f32, (900,), (900,))
        yield apart, target, [(x[::i][:300], y[::j][:300]) for i, j in ((2, 3), (3, 2), (2, 2), (3, 3))]
    for dtype, target in ((f32, "cpu:avx512"), (bf16, "cpu:avx512")):
        yield row_sums, target, [of(dtype, (7, 77)), of(dtype, (9, 1100))]
        yield softmax, target, [of(dtype, (7, 96)), of(dtype, (9, 1056))]  # rows of whole lines go past the caches
        yield centred, target, [of(dtype, (7, 96), (96,)), of(dtype, (9, 2112), (2112,))]
        yield normed, target, [of(dtype, (7, 77), (77,)), of(dtype, (5, 1100), (1100,))]
        yield attention, target, [of(dtype, (2, 9, 16), (2, 11, 16), (2, 11, 16)), of(dtype, (1, 70, 16), (1, 150, 16), (1, 150, 16))]


# What changes speed only, and why. A lit test must notice it.
SPEED = {
    "tile.prefetch": "a prefetch changes no value",
    "attribute prefetch": "nor does one that a load says",
    "attribute nontemporal": "a store past the caches stores the same",
    **{f"attribute {name} ": "says how a nest is done, not what it computes"
       for name in ("pairs", "narrow_vectors", "pairs_of_k", "transposes", "two_apart", "vector_axis", "lanes", "unroll", "register_tile")},
}
# It makes a copy of a kernel and the choice between the two: in the interpreter both compute the same.
TWO_KERNELS = ("cpu-nontemporal-stores",)
# An operand is read where it lies or packed: both are right, and branch and select follow one condition.
# Loads two apart are gathers as well, whose strides are not 2 or not compared with it.
CHOICES = {
    "cpu-elide-packing": re.compile(r": %[\w#]+ = arith\.(cmpi|andi|ori|constant|select %\w+, %\w+, %\w+ : index|addi|muli)|branch .* taken"),
    "cpu-version-strides": re.compile(r"branch never taken|another number: %c2"),
}

# (pass, part of the description) -> why it is no miscompile.
EQUIVALENT = {
    ("cpu-delay-row-stores", "arith.cmpi slt, %c8192"): "short rows are stored beside the next one, long ones four together: the same bits",
    ("cpu-delay-row-stores", "branch never taken: %16 = scf.if %15"): "the row before is stored by itself, before this one: the same bits",
    ("cpu-delay-row-stores", "arith.subi %end, %begin"): "of how many programs there were only the parity counts",
    ("cpu-batch-row-stores", "= arith.select"): "no batches, but single programs: the same bits",
    ("cpu-place-buffers", "attribute scratch_bytes another number"): "64 bytes for a kernel that needs none; 0 for one that needs some is found",
}


def argument(name: str, planted: str) -> str:
    return next((why for (of, part), why in EQUIVALENT.items() if of == name and part in planted), "")


def kernel_of(planted: str) -> str:
    found = re.findall(r"\(in @(\w+)\)", planted) or re.findall(r"tile\.func @(\w+)\(", planted)
    return found[0] if found else ""


def changes_speed_only(name: str, planted: str, fn) -> bool:
    """`fn`: whose plan chooses among kernels that all compute the same."""
    in_plan = fn is not None and kernel_of(planted) == fn.__name__ and "plan.launch" not in planted.partition("=")[0]
    choice = name in CHOICES and CHOICES[name].search(planted) is not None
    return any(part in planted for part in SPEED) or in_plan or name in TWO_KERNELS or choice


def cpu_passes() -> list[str]:
    names = re.findall(r'Pass<"(cpu-[a-z0-9-]+)"', (MAPPING / "Passes.td").read_text())
    return [name for name in names if "check" not in name]


def numbers_of(fn, args, target) -> dict:
    """Which step of the lowering each pass is."""
    spec, _, _ = oracle.specialise(fn, args, {}, target, asserts=False)
    return {name: number for number, stage, name, _, _ in fn._start(spec).lower_by_pass("tile") if name.startswith("cpu-")}


def launched(fn, args, target) -> set[str]:
    """The kernels that this call runs."""
    spec, _, _ = oracle.specialise(fn, args, {}, target, asserts=False)
    compilation = fn._start(spec)
    compilation.lower("tile")
    shapes = {parameter.name: list(value.shape) for parameter, value in zip(fn.parameters, args)}
    return {kernel for kernel, *_ in compilation.loops(shapes, {}, True)[0]}


def try_calls(fn, target, calls, name, seed):
    """(what was planted, whether bisect names the pass, what else it names, whether a call ran that kernel). Calls have versions of their own."""
    planted, ran, number = "", False, numbers_of(fn, calls[0], target).get(name)
    for args in calls if number is not None else []:
        try:
            report = bisection.bisect(fn, args, {}, target, plant=(number, seed, True))
        except tsr.TesseraError as error:  # a later pass refuses what it gets
            return planted or str(error).strip().splitlines()[0], True, "", True
        step = next((s for s in report.steps if s.planted), None)
        if step is None:
            continue
        planted = " ".join(step.planted.split())
        if changes_speed_only(name, planted, fn):
            return planted, False, "", ran
        ran = ran or kernel_of(planted) in launched(fn, args, target) or kernel_of(planted) == fn.__name__
        if report.culprit is not None and report.culprit.stage != "target":
            return planted, report.culprit.name == name, report.culprit.name, True
    return planted, False, "", ran


def shortened(planted: str) -> str:
    """How it starts, and in which kernel it is."""
    return planted if len(planted) < 200 else f"{planted[:140]} ... {planted[-50:]}"


def by_result(names, seeds: int, until: float, show) -> dict:
    rows = {name: collections.Counter() for name in names}
    survivors, elsewhere = [], []
    for seed in range(seeds):
        for fn, target, calls in programs():
            for name in names:
                if time.monotonic() > until:
                    return {"rows": rows, "survivors": survivors, "elsewhere": elsewhere}
                planted, found, at, ran = try_calls(fn, target, calls, name, seed)
                if not planted:
                    continue
                row = rows[name]
                if not found and changes_speed_only(name, planted, fn):
                    row["speed only"] += 1
                    continue
                if not found and not ran:
                    row["not run"] += 1
                    continue
                row["mutants"] += 1
                row["found"] += found
                where = (name, fn.__name__, target, seed)
                if at and not found:
                    elsewhere.append((*where, at, shortened(planted)))
                elif not found:
                    survivors.append((*where, argument(name, planted), shortened(planted)))
                    row["by argument"] += bool(argument(name, planted))
            show(f"seed {seed}, {fn.__name__}, {target}: {sum(r['found'] for r in rows.values())} of {sum(r['mutants'] for r in rows.values())} found")
    return {"rows": rows, "survivors": survivors, "elsewhere": elsewhere}


def tool(name: str) -> str:
    folder = os.environ.get("TESSERA_BIN", str(ROOT / "build" / "release" / "bin"))
    return next(p for p in (f"{folder}/{name}", shutil.which(name), f"/usr/lib/llvm-22/bin/{name}") if p and pathlib.Path(p).exists())


@functools.cache
def lit_runs(name: str) -> list[tuple[pathlib.Path, list[str], list[str]]]:
    """Of the pass's lit test: the file, tessera-opt's options, FileCheck's."""
    path = MAPPING / "test" / f"{name.removeprefix('cpu-')}.mlir"
    lines = re.sub(r"\\\n// RUN:", "", path.read_text())
    runs = re.findall(r"// RUN: tessera-opt %s (.*?)\s*\| FileCheck %s(.*)", lines)
    return [(path, shlex.split(options), shlex.split(check)) for options, check in runs if any(o.split("=")[0] == f"--{name}" for o in options.split())]


def until_pass(name: str, options: list[str]) -> list[str]:
    return options[:1 + max(i for i, option in enumerate(options) if option.split("=")[0] == f"--{name}")]


def lit_mutant(name: str, run: int, seed: int):
    """(what was mutated, whether any of the file's runs that come to the same mutant notices)."""
    begin = until_pass(name, lit_runs(name)[run][1])
    mutated = [*begin[:-1], "--test-mark", begin[-1], f"--test-mutate=seed={seed}"]
    what, found = "", False
    for path, options, check in lit_runs(name):
        if until_pass(name, options) != begin:
            continue
        made = subprocess.run([tool("tessera-opt"), str(path), *mutated, *options[len(begin):]], capture_output=True, text=True)
        told = re.search(r"mutated: (.*)", made.stderr)
        if told is None:
            raise RuntimeError(made.stderr)
        if not told[1]:
            return "", False
        what = told[1]
        found = found or made.returncode != 0 or subprocess.run(
            [tool("FileCheck"), str(path), *check], input=made.stdout, text=True, capture_output=True).returncode != 0
    return what, found


def by_text(names, seeds: int) -> dict:
    rows, survivors = {name: collections.Counter() for name in names}, []
    for name in names:
        begins = [until_pass(name, options) for _, options, _ in lit_runs(name)]
        for run in (begins.index(begin) for i, begin in enumerate(begins) if begin not in begins[:i]):
            seen = set()
            for seed in range(seeds):
                what, found = lit_mutant(name, run, seed)
                what = " ".join(what.split())
                if not what or what in seen:
                    continue
                seen.add(what)
                kind = "speed" if changes_speed_only(name, what, None) else "any"
                rows[name][kind] += 1
                rows[name][f"{kind} found"] += found
                if not found and kind == "speed":
                    survivors.append((name, run, seed, shortened(what)))
    return {"rows": rows, "survivors": survivors}


def campaign(names, seeds: int, lit_seeds: int, seconds: float = 1e9, show=lambda line: None) -> dict:
    return {"result": by_result(names, seeds, time.monotonic() + seconds, show), "text": by_text(names, lit_seeds)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--lit-seeds", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=1e9, help="of the part with bisect")
    parser.add_argument("--only", nargs="*", help="passes")
    parser.add_argument("--json")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    names = given.only or cpu_passes()
    found = campaign(names, given.seeds, given.lit_seeds, given.seconds, lambda line: print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True) if sys.stderr.isatty() else None)
    result, text = found["result"], found["text"]
    for row in result["survivors"]:
        print("survived:", *row)
    for row in result["elsewhere"]:
        print("named another pass:", *row)
    for row in text["survivors"]:
        print("not noticed by lit:", *row)
    print(f"{'pass':28}{'by result: found, argued, of':>32}{'in no launched kernel':>24}{'speed only, by lit: found of':>32}")
    for name in names:
        row, lit = result["rows"][name], text["rows"][name]
        print(f"{name:28}{row['found']:>20}{row['by argument']:>6}{row['mutants']:>6}{row['not run']:>20}{lit['speed found']:>26}{lit['speed']:>6}")
    every = sum(r["mutants"] for r in result["rows"].values()) + sum(r["speed"] for r in text["rows"].values())
    good = sum(r["found"] + r["by argument"] for r in result["rows"].values()) + sum(r["speed found"] for r in text["rows"].values())
    print(f"{good} of {every} found or argued, {100 * good / max(every, 1):.1f} %")
    if given.json:
        with open(given.json, "w") as file:
            json.dump(found, file, indent=1)
    return 0 if good >= 0.95 * every else 1


if __name__ == "__main__":
    sys.exit(main())
