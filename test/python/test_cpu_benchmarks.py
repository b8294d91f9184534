"""What the CPU benchmarks conclude from their samples: ratios, intervals, and when a case has become slower.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import copy
import json
import pathlib
import random
import sys

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "benchmarks"
sys.path[:0] = [str(FOLDER), str(FOLDER / "cpu")]

import harness  # noqa: E402
import interleaved  # noqa: E402
import report  # noqa: E402
import run  # noqa: E402


def row(name, ours, torch, onednn, threads=1, spread=0.02, fast=11, seed=0):
    """A row as run_case makes it, from times with noise of `spread`."""
    source = random.Random(seed)
    race = interleaved.Race(("function", "torch", "onednn"))
    for middle, participant in ((ours, "function"), (torch, "torch"), (onednn, "onednn")):
        race.times[participant] = [middle * source.uniform(1 - spread, 1 + spread) for _ in range(11)]
        race.fast[participant] = [i < fast for i in range(11)]
    entry = lambda name: {"seconds": race.median(name), "of_roof": 0.5, "gflops": 1.0, "gbytes": 1.0}  # noqa: E731
    peers = {p: {**entry(p), "versus": {"function": {"all": race.ratio(p, "function"), "fast": race.ratio(p, "function", fast=True)}}} for p in ("torch", "onednn")}
    return {"case": name, "dtype": "float32", "threads": threads, "group": "gemm float32", "family": "gemm", "flops": 1e9, "bytes": 1e6, "amx": False,
            "batch": 0, "m": 1000, "n": 1000, "k": 1000, "ours": {"function": entry("function")}, "peers": peers, "missing": {}, "foreign": 0.0,
            "roof": {"seconds": 1.0, "by": "fma_f32_avx512"}, "date": "2026-01-01T00:00"}


def table(ours=1.0, seed=0, names=range(8), **changes):
    return [row(str(n), ours, 1.1, 1.2, seed=seed + n, **changes) for n in names]


def test_a_ratio_is_peers_time_over_ours():
    found = row("a", ours=1.0, torch=2.0, onednn=0.5)["peers"]["torch"]["versus"]["function"]["all"]
    assert found["low"] <= found["ratio"] <= found["high"] and 1.9 < found["low"] and found["high"] < 2.1 and found["n"] == 11


def test_intervals_are_of_the_median():
    low, high = interleaved.bootstrap([1.0] * 10 + [50.0])
    assert low == high == 1.0  # one bad sample is no news
    low, high = interleaved.bootstrap([1.0, 2.0, 3.0, 4.0, 5.0])
    assert 1.0 <= low < 3.0 < high <= 5.0


def test_fast_samples_are_told_apart():
    race = interleaved.Race(("ours", "torch"))
    race.times = {"ours": [1.0, 1.0, 4.0], "torch": [2.0, 2.0, 4.0]}
    race.fast = {"ours": [True, True, False], "torch": [True, False, True]}
    assert race.ratio("torch", "ours")["n"] == 3
    assert race.ratio("torch", "ours", fast=True) == {"ratio": 2.0, "low": 2.0, "high": 2.0, "n": 1}
    race.fast["ours"] = [False] * 3
    assert race.ratio("torch", "ours", fast=True) is None
    assert harness.pick({"all": {"n": 11, "ratio": 1}, "fast": {"n": 2, "ratio": 9}})["ratio"] == 1
    assert harness.pick({"all": {"n": 11, "ratio": 1}, "fast": {"n": 3, "ratio": 9}})["ratio"] == 9


def test_a_race_is_interleaved_and_probed():
    order = []
    calls = {"a": lambda: order.append("a"), "b": lambda: order.append("b")}
    probes = iter([9.0, 9.0, 9.0, 1.0] * 100)
    race = interleaved.race(calls, seconds=0.0, rounds=4, probe=lambda: next(probes), fast_above=5.0)
    assert race.rounds == 3 and order[4:] == list("ab" "ba" "ab")
    assert sum(race.fast["a"]) + sum(race.fast["b"]) == 3


def test_noise_is_no_regression():
    slower, margin = run.regressions(table(seed=0), table(seed=100))
    assert slower == [] and margin == run.MARGIN


def test_a_slower_case_is_found():
    new = table(seed=100)
    new[3] = row("3", 1.25, 1.1, 1.2, seed=103)
    slower, _ = run.regressions(table(), new)
    assert len(slower) == 1 and slower[0].startswith("3 float32 1 function: 0.8")


def test_a_faster_case_is_none():
    assert run.regressions(table(), table(ours=0.5, seed=100))[0] == []


def test_a_noisy_host_widens_the_margin():
    new = [row(str(n), 1.12, 1.1, 1.2 * (1.2 if n % 2 else 0.8), seed=100 + n) for n in range(8)]
    slower, margin = run.regressions(table(), new)
    assert margin > 0.3 and slower == []


def test_what_no_longer_compiles_is_a_regression():
    new = table()
    new[0]["ours"], new[0]["missing"] = {}, {"function": "not there yet: error"}
    slower, _ = run.regressions(table(), new)
    assert slower == ["0 float32 1 function: was measured, now not there yet: error"]


def test_runs_of_some_cases_leave_the_others(tmp_path):
    old = {"rooflines": {}, "rows": table()}
    only = [{"threads": 1, "roofline": {}, "versions": {}, "date": "now", "rows": [row("3", 9.0, 1.1, 1.2)]}]
    both = run.merged(old, only, replace=False)
    assert len(both["rows"]) == 8 and both["rows"][3]["date"] == "now"
    assert len(run.merged(old, only, replace=True)["rows"]) == 1
    path = tmp_path / "r.json"
    run.write(path, both)
    assert len(json.loads(path.read_text())["rows"]) == 8
    assert path.read_text().count("\n  {") == 8


def test_the_summary_counts_what_is_there():
    tree = {"machine": {"cpu": "x", "cores": 2}, "versions": {}, "rooflines": {}, "rows": table() + table(threads=2)}
    text = report.summary({"gemm": tree, "attention": None, "rows": None, "chains": None})
    line = next(line for line in text.splitlines() if line.startswith("| 1. f32 gemm"))
    assert "**1.1" in line and line.endswith("| 8 |")  # against torch, the faster of the two
    assert "| not measured | not measured | 0 |" in next(line for line in text.splitlines() if line.startswith("| 3. attention bf16"))
    slow = copy.deepcopy(tree)
    slow["rows"][0] = row("0", 5.0, 1.1, 1.2)
    assert "1 of 16 rows" in report.losses({"gemm": slow})
    assert report.losses({"gemm": tree}) == "None.\n"
    missing = copy.deepcopy(tree)
    missing["rows"][0]["ours"], missing["rows"][0]["missing"] = {}, {"function": "not there yet: error at line 3"}
    assert "not there yet: error at line 3" in report.table(missing, "gemm")
    assert "| 0 | not there yet | " in report.compact(missing, "gemm") and "torch; 50 % |" in report.compact(missing, "gemm")


def test_a_dtype_is_not_part_of_another():
    wants = [dtype for dtype in harness.DTYPES if harness.Options(only="float16").wants("1024", dtype, True)]
    assert wants == ["float16"]
    assert harness.Options(only="1024").wants("1024 constant", "bfloat16", True) and not harness.Options(only="64").wants("1023", "int8", True)


def test_a_wrong_result_is_not_timed():
    torch = pytest.importorskip("torch")
    x = torch.ones(3)
    case = harness.Case("c", "float32", 0.0, 12.0, {"function": lambda: lambda: x + 1}, {"torch": lambda: lambda: x}, tolerance=1e-3)
    found = harness.run_case(case, None, harness.Options(wait=0))
    assert found["ours"] == {} and found["missing"]["function"].startswith("not there yet: function: off by 1 ")


def test_the_page_is_filled_by_name():
    page = "a\n<!-- begin roofs -->\nold\n<!-- end roofs -->\nb\n<!-- begin other -->\n<!-- end other -->\n"
    once = report.filled(page, {"roofs": "new | 1\n"})
    assert "<!-- begin roofs -->\nnew | 1\n<!-- end roofs -->\nb" in once and "old" not in once
    assert report.filled(once, {"roofs": "new | 1\n"}) == once
