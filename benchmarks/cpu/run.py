"""All CPU benchmarks: one command, every family, 1 and 2 threads, each in a process of its own.

    python benchmarks/cpu/run.py                        # everything, into benchmarks/results/cpu_*.json (about half an hour)
    python benchmarks/cpu/run.py --quick                # a few cases of each family, for CI
    python benchmarks/cpu/run.py --family gemm --only 1024 --threads 1
    python benchmarks/cpu/run.py --check --quick        # fails if a case became slower than the committed results, beyond noise
    python benchmarks/cpu/run.py --report out/          # Markdown and PNG plots of the committed results; runs nothing
    python benchmarks/cpu/run.py --docs                 # the same into docs/performance.md

A run with --only, --quick, --peers or fewer threads replaces the rows it measured and leaves the others.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import harness
import interleaved

FAMILIES = ("gemm", "attention", "rows", "chains")
HERE = pathlib.Path(__file__).resolve().parent
MARGIN = 0.05  # a loss that nobody would chase


def key(row: dict) -> tuple:
    return row["case"], row["dtype"], row["threads"]


def path_of(family: str) -> pathlib.Path:
    return harness.RESULTS / f"cpu_{family}.json"


def load(family: str, path: pathlib.Path | None = None) -> dict | None:
    path = path or path_of(family)
    return json.loads(path.read_text()) if path.exists() else None


def rounded(value):
    """Five digits are more than a shared machine has."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {name: rounded(item) for name, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else value


def write(path: pathlib.Path, tree: dict) -> None:
    """One row per line, so that a change of one is a line in a review."""
    head = {name: value for name, value in tree.items() if name != "rows"}
    lines = ",\n".join("  " + json.dumps(rounded(row)) for row in tree["rows"])
    text = json.dumps(rounded(head), indent=1)[:-2] + ',\n "rows": [\n' + lines + "\n ]\n}\n"
    json.loads(text)
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def run_one(family: str, threads: int, parsed) -> dict:
    """A family with one number of threads, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        target = pathlib.Path(folder) / "rows.json"
        command = [sys.executable, str(HERE / f"{family}.py"), "--threads", str(threads), "--json", str(target), "--seconds", str(parsed.seconds),
                   "--rounds", str(parsed.rounds), "--only", parsed.only, "--peers", parsed.peers, "--lock", parsed.lock, "--wait", str(parsed.wait)]
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "TESSERA_NUM_THREADS": str(threads), "TORCHINDUCTOR_COMPILE_THREADS": "1"}
        try:
            ended = subprocess.run(command + (["--quick"] if parsed.quick else []), env=environment).returncode
        except KeyboardInterrupt:
            ended = -2
        if not target.exists():
            raise SystemExit(f"{family} with {threads} threads ended with {ended} and measured nothing")
        if ended:
            print(f"{family} with {threads} threads ended with {ended}; what it had measured is kept", file=sys.stderr)
        return {**json.loads(target.read_text()), "ended": ended}


def merged(old: dict | None, runs: list[dict], replace: bool) -> dict:
    rows = {} if old is None or replace else {key(row): row for row in old["rows"]}
    rooflines = {} if old is None else dict(old["rooflines"])
    for run in runs:
        rooflines[str(run["threads"])] = run["roofline"]
        for row in run["rows"]:
            rows[key(row)] = {**row, "date": run["date"]}
    return {"machine": interleaved.machine(), "versions": runs[-1]["versions"], "rooflines": rooflines, "rows": list(rows.values())}


def run_families(families, counts, parsed, target: str = "", keep: bool = True) -> dict[str, dict]:
    found = {}
    whole = not (parsed.quick or parsed.only or parsed.peers) and counts == [1, 2]
    for family in families:
        runs = [run_one(family, threads, parsed) for threads in counts]
        path = pathlib.Path(target) if target else path_of(family)
        found[family] = merged(load(family, path) if keep and not target else None, runs, whole and not any(run["ended"] for run in runs))
        found[family]["measured"] = [key(row) for run in runs for row in run["rows"]]
        if keep:
            write(path, {name: value for name, value in found[family].items() if name != "measured"})
            print(f"written: {path}")
    return found


# ---- has something become slower? -----------------------------------------------------------------


def noise(pairs) -> float:
    """How much a ratio of two peers, whose code did not change, moved from the old run to this one: two standard deviations of its
    logarithm, robustly. Confidence intervals of one run don't know of it."""
    moves = []
    for old, new in pairs:
        named = sorted(set(old["peers"]) & set(new["peers"]) - {"copy_stream"})
        if len(named) >= 2:
            first, second = named[:2]
            before, after = (row["peers"][first]["seconds"] / row["peers"][second]["seconds"] for row in (old, new))
            moves.append(math.log(after / before))
    if len(moves) < 3:
        return 0.10
    middle = statistics.median(moves)
    return 2 * 1.4826 * statistics.median(abs(move - middle) for move in moves)


def regressions(old_rows: list[dict], new_rows: list[dict]) -> tuple[list[str], float]:
    """Cases whose confidence interval lies wholly below the old one, and by more than the margin."""
    before = {key(row): row for row in old_rows}
    pairs = [(before[key(row)], row) for row in new_rows if key(row) in before]
    margin = max(MARGIN, noise(pairs))
    slower = []
    for old, new in pairs:
        for mine in old["ours"]:
            if mine not in new["ours"]:
                slower.append(f"{' '.join(map(str, key(new)))} {mine}: was measured, now {new['missing'].get(mine, 'gone')}")
                continue
            reference = next((name for name in ("torch", "sdpa") if name in old["peers"] and name in new["peers"]), None)
            if reference is None:
                continue
            then, now = harness.versus(old, reference, mine), harness.versus(new, reference, mine)
            if then and now and now["high"] < then["low"] * (1 - margin):
                slower.append(f"{' '.join(map(str, key(new)))} {mine}: {now['ratio']:.2f} [{now['low']:.2f}, {now['high']:.2f}] of {reference}, "
                              f"was {then['ratio']:.2f} [{then['low']:.2f}, {then['high']:.2f}]")
    return slower, margin


def check(families, counts, parsed) -> int:
    committed = {family: load(family) for family in families}
    absent = [family for family in families if committed[family] is None]
    if absent:
        print(f"no committed results of {', '.join(absent)}: run without --check first")
        return 1
    failed = 0
    for family, found in run_families(families, counts, parsed, keep=False).items():
        new = [row for row in found["rows"] if key(row) in map(tuple, found["measured"])]
        slower, margin = regressions(committed[family]["rows"], new)
        print(f"{family}: {len(new)} cases, {len(slower)} slower by more than {margin * 100:.0f} %")
        for text in slower:
            print(f"  {text}")
        failed += len(slower)
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.arguments(parser)
    parser.add_argument("--family", default=",".join(FAMILIES))
    parser.add_argument("--json", default="", help="where the rows go (one family)")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--report", default="", help="a folder for report.md and its plots")
    parser.add_argument("--docs", action="store_true", help="write docs/performance.md and its plots")
    parsed = parser.parse_args()
    families = [name for name in parsed.family.split(",") if name]
    if unknown := set(families) - set(FAMILIES):
        parser.error(f"no family is called {', '.join(unknown)}; there are {', '.join(FAMILIES)}")
    counts = [int(count) for count in parsed.threads.split(",")]
    if parsed.report or parsed.docs:
        import report

        results = {family: load(family) for family in FAMILIES}
        return report.docs(results) if parsed.docs else report.write(results, pathlib.Path(parsed.report))
    if parsed.check:
        return check(families, counts, parsed)
    if parsed.json and len(families) > 1:
        parser.error("--json is for one --family")
    run_families(families, counts, parsed, parsed.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
