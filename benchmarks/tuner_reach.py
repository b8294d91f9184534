"""How near the tuner comes to the best of a space, with a tenth of its points; and how near the untuned schedule is.

    python benchmarks/tuner_reach.py --family gemm --seconds 80     # measures all points; again with 160, 240, ... until none is left
    python benchmarks/tuner_reach.py --report                       # of all families that are complete

The spaces are those below, 200 points and more per family. All points are measured once, against the default in turns, each accepted by the oracle
(`fn.tune(strategy="exhaustive", numerics="open")`). The searches are then replayed on these times, 40 seeds each, so that they differ in nothing but
where they look.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse
import json
import pathlib
import statistics
import sys
import tempfile

import interleaved
import numpy as np

import tessera as tsr
from tessera import Tensor, arguments, kernels, search
from tessera.candidates import Race, trial
from tessera.records import Records
from tessera.space import Space, name_of

SEEDS, FLOOR, DEFAULT_FLOOR, FRONT = 40, 0.95, 0.85, 16


@tsr.function
def softmax(x: Tensor["M", "N"]):
    return tsr.softmax(x, dim=-1)


@tsr.function
def mlp(x: Tensor["M", "K"], w: Tensor["K", "N"]):
    return tsr.gelu(x @ w)


def normal(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def families() -> dict:
    """Function, arguments, space; the default first on every axis. Short, and on one thread, so that a busy machine disturbs few of the runs."""
    q = normal(1, 4, 256, 64)
    unroll, vector = [0, 1, 2, 4, 8], [0, 4, 8, 16]
    return {
        "gemm": (kernels.gemm, (normal(256, 256), normal(256, 256)),
                 dict(BLOCK_M=[96, 32, 64, 128], BLOCK_N=[64, 32, 128, 256], BLOCK_K=[1024, 64, 128, 256], unroll=[0, 2, 4, 8])),
        "attention": (kernels.flash_attention, (q, q, q), dict(BLOCK_M=[64, 16, 32, 128, 256], BLOCK_N=[1024, 32, 64, 128, 256], unroll=[0, 2, 4], vector=[0, 8, 16])),
        "mlp": (mlp, (normal(128, 256), normal(256, 512)),
                {"tile.M": [144, 16, 32, 64, 96], "tile.N": [64, 128, 256, 512], "tile.K": [2048, 64, 128, 256], "unroll": [0, 2, 4]}),
        "rows": (softmax, (normal(300, 1024),), {"tile.N": [1024, 64, 128, 192, 256, 384, 512, 768, 2048, 4096], "unroll": unroll, "vector": vector}),
    }


def place(family: str) -> pathlib.Path:
    return pathlib.Path(__file__).parent / "results" / f"tuner_reach_{family}.json"


def measure(family: str, seconds: float, cache: str) -> bool:
    fn, args, values = families()[family]
    found = fn.tune(*args, space=values, strategy="exhaustive", numerics="open", seconds=seconds, cache=cache, progress=sys.stderr.isatty())
    size = Space.of_dict(values).size
    print(f"{family}: {len(found.tried)} of {size} points, {len(found.rejected)} cannot win")
    if len(found.tried) < size:
        return False
    # Of many measurements the least is the luckiest: those in front run again, longer.
    front = sorted((row for row in found.tried if row["state"] == "ok"), key=lambda row: row["ratio"])[:FRONT]
    race, default = Race(fn, arguments.bind(fn, args, {})), trial(fn, found.default)
    for row in front:
        row["ratio"] = race.compare(trial(fn, row["config"]), default, seconds=0.6, least=20, most=400)[1]
    rows = [{"config": row["config"], "state": row["state"], "ratio": row.get("ratio")} for row in found.tried]
    place(family).write_text(json.dumps({"machine": interleaved.machine(), "family": family, "space": values, "points": rows}, indent=None) + "\n")
    return True


def replay(space: Space, ratios: dict, strategy: str, budget: int, seed: int) -> float:
    """The best ratio that a search sees."""
    with tempfile.TemporaryDirectory() as folder:
        records = Records(folder, f"replay {seed}")
        records._usable = False  # in memory
        asked, best = search.sampler(strategy, space, records, budget, seed), float("inf")
        for _ in range(budget):
            config = asked.ask()
            if config is None:
                break
            ratio = ratios.get(name_of(config))
            state = "ok" if ratio is not None else "error"
            records.publish(config, state, seconds=ratio, ratio=ratio) if ratio is not None else records.publish(config, state)
            asked.tell(config, ratio)
            best = min(best, ratio if ratio is not None else best)
        return best


def report(check: bool) -> int:
    bad = []
    print(f"{'family':12} {'points':>6} {'tried':>5} {'default':>8} {'tpe: median, seeds >= 95 %':>27} {'random: median, seeds':>22}   of the best")
    for family in families():
        if not place(family).exists():
            print(f"{family:12} not measured")
            continue
        known = json.loads(place(family).read_text())
        space = Space.of_dict(known["space"])
        ratios = {name_of(p["config"]): p["ratio"] for p in known["points"] if p["state"] == "ok"}
        best, budget = min(ratios.values()), space.size // 10
        default = best / ratios[name_of(space.default)]
        reach = {s: [best / replay(space, ratios, s, budget, seed) for seed in range(SEEDS)] for s in ("tpe", "random")}
        row = {s: (statistics.median(r), sum(x >= FLOOR for x in r) / SEEDS) for s, r in reach.items()}
        print(f"{family:12} {space.size:6} {budget:5} {default:8.2f} {row['tpe'][0]:17.3f}, {100 * row['tpe'][1]:5.0f} % {row['random'][0]:12.3f}, {100 * row['random'][1]:5.0f} %")
        if row["tpe"][0] < FLOOR or default < DEFAULT_FLOOR:
            bad.append(family)
    return bool(check and bad)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--family", choices=tuple(families()))
    parser.add_argument("--seconds", type=float, default=80.0)
    parser.add_argument("--cache", default="/tmp/tessera-tuner-reach")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    tsr.set_num_threads(1)
    if given.family:
        return 0 if measure(given.family, given.seconds, given.cache) else 1
    return report(given.check)


if __name__ == "__main__":
    sys.exit(main())
