"""This build beside another one, burst by burst in one run: what calls take, or with --compile what compiling takes.

    python benchmarks/cpu/builds.py --before FOLDER --now FOLDER               # the cases of run.py --quick, one thread
    python benchmarks/cpu/builds.py --before FOLDER --now FOLDER --compile     # first versions, each in a process of its own

FOLDER has a `tessera` package with its extension modules, and goes into PYTHONPATH of a process for each build (an interpreter without an
installed tessera). Ratios are before / now: above 1 this build is faster.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
FAMILIES = ("gemm", "attention", "rows", "chains")
COMPILED = ("product", "epilogue", "softmax", "layer_norm", "attention", "mlp", "chain")


def serve(family: str, only: str) -> None:
    """The headline call of each case: `run N` is answered by seconds of a call, `next` by the next case."""
    import harness

    harness.set_threads(1)
    options = harness.Options(quick=True, only=only)
    for case in importlib.import_module(family).cases(options):
        try:
            call = next(iter(case.ours.values()))()
            call()
        except Exception as error:  # noqa: BLE001  said in its row
            print(json.dumps({"case": case.name, "dtype": case.dtype, "group": case.group, "error": str(error).splitlines()[0][:100]}), flush=True)
            continue
        print(json.dumps({"case": case.name, "dtype": case.dtype, "group": case.group}), flush=True)
        for line in sys.stdin:
            if line.startswith("next"):
                break
            repeat = int(line.split()[1])
            start = time.perf_counter()
            for _ in range(repeat):
                call()
            print((time.perf_counter() - start) / repeat, flush=True)
    print(json.dumps(None), flush=True)


def compile_once(what: str) -> None:
    """Seconds to compile the first version of one program, after another one has loaded what all need."""
    import numpy as np

    import tessera as tsr
    from tessera import Tensor

    tsr.knobs.cache = "off"
    x = np.ones((64, 64), np.float32)
    q = np.ones((1, 2, 64, 64), np.float32)
    @tsr.function
    def warm(a: Tensor["M", "N"]):
        return a + 1.0

    @tsr.function
    def product(a: Tensor["M", "M"]):
        return a @ a

    @tsr.function
    def epilogue(a: Tensor["M", "M"]):
        return tsr.relu(a @ a + a)

    @tsr.function
    def softmax(a: Tensor["M", "N"]):
        return tsr.softmax(a, dim=1)

    @tsr.function
    def layer_norm(a: Tensor["M", "N"], g: Tensor["N"]):
        return tsr.layer_norm(a, g)

    @tsr.function
    def attention(q: Tensor["B", "H", "S", 64]):
        return tsr.softmax(q @ q.transpose(2, 3) / 8.0, dim=-1) @ q

    @tsr.function
    def mlp(a: Tensor["M", "M"]):
        return tsr.gelu(a @ a) @ a

    @tsr.function
    def chain(a: Tensor["M", "N"]):
        return tsr.tanh(a * 2.0) + tsr.sigmoid(a) * tsr.exp(-a * a)

    calls = {"product": lambda: product(x), "epilogue": lambda: epilogue(x), "softmax": lambda: softmax(x), "layer_norm": lambda: layer_norm(x, x[0]),
             "attention": lambda: attention(q), "mlp": lambda: mlp(x), "chain": lambda: chain(x)}
    warm(x)
    start = time.perf_counter()
    calls[what]()
    print(time.perf_counter() - start)


class Build:
    """A process with one build."""

    def __init__(self, folder: str, *words: str):
        self.process = subprocess.Popen([sys.executable, __file__, *words], env=environment(folder), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def read(self):
        return json.loads(self.process.stdout.readline() or "null")

    def ask(self, line: str) -> None:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def seconds(self, repeat: int) -> float:
        self.ask(f"run {repeat}")
        return float(self.process.stdout.readline())


def environment(folder: str) -> dict:
    return {**os.environ, "PYTHONPATH": f"{folder}:{HERE}:{HERE.parent}", "PYTHONWARNINGS": "ignore", "TESSERA_CACHE": "off"}


def compare_calls(given) -> list:
    rows = []
    for family in given.family.split(","):
        before, now = (Build(folder, "--serve", family, "--only", given.only) for folder in (given.before, given.now))
        while True:
            one, other = before.read(), now.read()
            if one is None or other is None:
                break
            assert one["case"] == other["case"], (one, other)
            if "error" in one or "error" in other:
                print(f"{one['case']:34} {one['dtype']:9} {one.get('error', '')} | {other.get('error', '')}", flush=True)
                for build, said in ((before, one), (now, other)):
                    if "error" not in said:
                        build.ask("next")
                continue
            repeat = max(1, int(given.seconds / 2 / given.rounds / max(before.seconds(1), now.seconds(1), 1e-7)))
            pairs = []
            for turn in range(given.rounds):
                order = (before, now) if turn % 2 else (now, before)
                took = {build: build.seconds(repeat) for build in order}
                pairs.append((took[before], took[now]))
            for build in (before, now):
                build.ask("next")
            rows.append(row(one["group"], f"{one['case']} {one['dtype']}", pairs))
    return rows


def compare_compiles(given) -> list:
    rows = []
    for what in (*COMPILED, *(f"{ops} ops" for ops in (200, 2000))):
        pairs = []
        for turn in range(given.rounds if not what.endswith("ops") else max(3, given.rounds // 3)):
            took = {}
            for folder in (given.before, given.now) if turn % 2 else (given.now, given.before):
                command = [sys.executable, str(HERE.parent / "compile_time.py"), "--child", what.split()[0]] if what.endswith("ops") else [sys.executable, __file__, "--compile-once", what]
                said = subprocess.run(command, env=environment(folder), capture_output=True, text=True, check=True).stdout.strip().splitlines()[-1]
                took[folder] = json.loads(said)["seconds"] if what.endswith("ops") else float(said)
            pairs.append((took[given.before], took[given.now]))
        rows.append(row("compile", what, pairs))
    return rows


def row(group: str, name: str, pairs: list) -> dict:
    """The median of ratios, with the interval that holds the true median in 95 of 100 runs (order statistics)."""
    ratios = sorted(a / b for a, b in pairs)
    reach = int(math.ceil(0.98 * math.sqrt(len(ratios))))
    low, high = ratios[max(0, len(ratios) // 2 - reach)], ratios[min(len(ratios) - 1, len(ratios) // 2 + reach)]
    found = {"group": group, "case": name, "before_ms": 1e3 * statistics.median(a for a, _ in pairs), "now_ms": 1e3 * statistics.median(b for _, b in pairs),
             "ratio": statistics.median(ratios), "low": low, "high": high}
    print(f"{name:44} {found['before_ms']:10.3f} ms {found['now_ms']:10.3f} ms  {found['ratio']:.3f} [{low:.3f}, {high:.3f}]", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--before")
    parser.add_argument("--now")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--family", default=",".join(FAMILIES))
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=2.0, help="for a case")
    parser.add_argument("--json", default="")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--compile-once", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        return serve(given.serve, given.only)
    if given.compile_once:
        return compile_once(given.compile_once)
    print("before, now, before / now [95 %]")
    rows = compare_compiles(given) if given.compile else compare_calls(given)
    groups: dict = {}
    for each in rows:
        groups.setdefault(each["group"], []).append(each["ratio"])
    for group, ratios in groups.items():
        print(f"geomean {group:36} {math.exp(statistics.mean(map(math.log, ratios))):.3f} of {len(ratios)}")
    print(f"geomean {math.exp(statistics.mean(math.log(each['ratio']) for each in rows)):.3f} of {len(rows)}")
    if given.json:
        pathlib.Path(given.json).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
