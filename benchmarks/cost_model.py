"""Does the measured order of alternatives agree with the one that `fn.explain()` predicts?

    python benchmarks/cost_model.py                 # measures every case that results/cost_model.json does not have, then reports
    python benchmarks/cost_model.py --case "gemm 1024 fp32" --fresh
    python benchmarks/cost_model.py --report        # the model as it is now against the times on file, nothing is measured
    python benchmarks/cost_model.py --check         # five cases, measured now, in half a minute; fails below the floor of 70 % of the decided pairs, twice

Most cases run on one thread, because what else runs on a shared machine stops two that wait for each other; a round that others disturbed is measured again.
Each printed alternative is forced as a user forces it (`@tsr.function.schedule`, `@tsr.kernel.schedule`) and measured in turns with all others
of its case. Pairs are two values of one decision. A pair is decided if the 95 % confidence interval of the median ratio of its times leaves out 1 and the median
is more than 2 % away from it (the drift of a shared machine); other pairs are noise, and counted apart. Beside each other stand the share of decided
pairs and of all pairs whose order agrees; two values of one prediction agree if the pair is noise.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse
import dataclasses
import itertools
import json
import math
import pathlib
import random
import statistics
import sys
import time

import interleaved
import torch

import tessera as tsr
from tessera import Tensor, cost, explain, kernels, roofline
from tessera.function import Function

FLOOR, NOISE, ROUNDS = 0.70, 0.02, 13
PLACE = pathlib.Path(__file__).parent / "results" / "cost_model.json"


def matmul(a: Tensor["M", "K"], b: Tensor["K", "N"]):
    return a @ b


def relu_matmul(a: Tensor["M", "K"], b: Tensor["K", "N"], c: Tensor["N"]):
    return tsr.relu(a @ b + c)


def attention(q: Tensor["B", "H", "S", "D"], k: Tensor["B", "H", "T", "D"], v: Tensor["B", "H", "T", "D"]):
    return tsr.attention(q, k, v)


def softmax(x: Tensor["M", "N"]):
    return tsr.softmax(x, dim=-1)


def layer_norm(x: Tensor["M", "N"], w: Tensor["N"], b: Tensor["N"]):
    return tsr.layer_norm(x, (x.shape[-1],), w, b)


def chain(x: Tensor["M", "N"], y: Tensor["M", "N"]):
    z = tsr.tanh(x) * y + 1.0
    return tsr.exp(-z * z) + x


def normal(dtype, *shapes):
    made = torch.Generator().manual_seed(0)
    return tuple(torch.randn(shape, generator=made).to(dtype) for shape in shapes)


def product_shapes(m, n, k):
    return (m, k), (k, n)


CASES = {}  # name -> (decorator, function or kernel as a user writes it, dtype, shapes, threads, is it one of --check's)


def case(name, make, fn, dtype, *shapes, check=False, two=False):
    """On one thread; with `two` also on two."""
    CASES[name] = (make, fn, dtype, shapes, 1, check)
    if two:
        CASES[f"{name}, 2 threads"] = (make, fn, dtype, shapes, 2, False)


for n in (128, 512, 1024):
    case(f"gemm {n} fp32", tsr.function, matmul, torch.float32, *product_shapes(n, n, n), check=n == 512, two=n == 512)
    case(f"gemm {n} bf16", tsr.function, matmul, torch.bfloat16, *product_shapes(n, n, n), check=n == 512, two=n == 1024)
case("gemm 1000 fp32", tsr.function, matmul, torch.float32, *product_shapes(1000, 1000, 1000))
case("gemm 4x1024x1024 fp32", tsr.function, matmul, torch.float32, *product_shapes(4, 1024, 1024))
case("gemm 32x1024x1024 fp32", tsr.function, matmul, torch.float32, *product_shapes(32, 1024, 1024))
case("gemm 1024x48x1024 bf16", tsr.function, matmul, torch.bfloat16, *product_shapes(1024, 48, 1024))
case("relu(a @ b + c) 768 fp32", tsr.function, relu_matmul, torch.float32, *product_shapes(768, 768, 768), (768,))
case("kernels.gemm 512 fp32", tsr.kernel, kernels.gemm, torch.float32, *product_shapes(512, 512, 512))
case("kernels.flash_attention 512 fp32", tsr.kernel, kernels.flash_attention, torch.float32, *[(1, 4, 512, 64)] * 3)
case("attention 512 bf16", tsr.function, attention, torch.bfloat16, *[(1, 8, 512, 64)] * 3, check=True, two=True)
case("attention 1024 fp32", tsr.function, attention, torch.float32, *[(1, 4, 1024, 64)] * 3)
case("softmax 1000x1024 fp32", tsr.function, softmax, torch.float32, (1000, 1024), check=True)
case("softmax 4096x2048 bf16", tsr.function, softmax, torch.bfloat16, (4096, 2048))
case("layer_norm 4096x2048 fp32", tsr.function, layer_norm, torch.float32, (4096, 2048), (2048,), (2048,), two=True)
case("chain 512x1000 fp32", tsr.function, chain, torch.float32, (512, 1000), (512, 1000), check=True, two=True)
case("chain 2048x4096 fp32", tsr.function, chain, torch.float32, (2048, 4096), (2048, 4096))


class Subject:
    """A case: its function, and the same with a decision forced."""

    def __init__(self, name: str):
        self.make, fn, dtype, self.shapes, self.threads, _ = CASES[name]
        tsr.set_num_threads(self.threads)
        self.args = normal(dtype, *self.shapes)
        ours = isinstance(fn, Function)
        self.base, self.raw = (fn.options.merged("cpu"), fn.__wrapped__) if ours else ({}, fn)
        self.plain = self.forced()
        self.plain(*self.args)

    def forced(self, key: str | None = None, value=None):
        values = dict(self.base)
        if key and key.startswith("tile."):
            values["tile"] = {key[5:]: value}
        elif key:
            values[key] = value
        return (self.make.schedule(**values) if values else self.make)(self.raw)

    def decisions(self) -> dict:
        """key -> values, the chosen one first; what `explain` prints."""
        spec = self.plain.last_spec
        compilation = self.plain._start(spec)
        compilation.lower("sched")
        found: dict = {}
        for _, what, value, others, _ in explain.open_decisions(self.plain, spec, compilation.decisions()):
            values = [value, *(other for other in others if other != value)]
            if len(values) > 1:
                found.setdefault(explain.schedule_key(what), values)
        return found

    def predicted(self, machine) -> dict:
        """"" and (key, value) -> seconds."""
        fn, spec, machine = self.plain, self.plain.last_spec, dataclasses.replace(machine, threads=self.threads)
        shapes = {p.name: tuple(a.shape) for p, a in zip(fn.parameters, self.args)}
        found = {"": cost.predict(fn, spec, shapes, machine).seconds}
        for key, values in self.decisions().items():
            for value in values[1:]:
                found[key, value] = cost.predict(fn, cost.forced(fn, spec, key, value), shapes, machine).seconds
        return found


def measure(name: str, rounds: int, least: float, patience: float) -> dict | None:
    """Seconds of every variant, round by round; of what `explain` prints, and nothing else. Waits for others for `patience` seconds;
    then nothing is said about two threads, of which one would wait for the other."""
    subject = Subject(name)
    decisions = subject.decisions()
    variants = {"": subject.plain}
    for key, values in decisions.items():
        for value in values[1:]:
            variants[key, value] = subject.forced(key, value)
    repeat = {}
    for label, fn in variants.items():
        fn(*subject.args)
        fn(*subject.args)
        repeat[label] = max(1, min(200, math.ceil(least / max(interleaved.once(lambda: fn(*subject.args), 1), 1e-7))))
    times = {label: [] for label in variants}
    order, rng = list(variants), random.Random(0)
    end, spare = time.perf_counter() + patience, 2 - subject.threads  # processors that others may use
    used = []
    while len(times[""]) < rounds:
        if time.perf_counter() > end and not spare:
            print(f"{name}: the machine is busy, not measured")
            return None
        interleaved.wait_for_quiet(max(end - time.perf_counter(), 0.0), spare + 0.2)
        rng.shuffle(order)
        now, before = {}, interleaved.busy()
        for label in order:
            fn = variants[label]
            fn(*subject.args)
            now[label] = interleaved.once(lambda: fn(*subject.args), repeat[label])
        others = interleaved.foreign(before, interleaved.busy())
        if others < spare + 0.25 or time.perf_counter() > end:
            used.append(others)
            for label, seconds in now.items():
                times[label].append(seconds)
    return {"case": name, "others": round(statistics.median(used), 2), "decisions": {key: values for key, values in decisions.items()}, "times": [
        {"key": label[0] if label else "", "value": label[1] if label else None, "seconds": [float(f"{t:.4g}") for t in row]} for label, row in times.items()]}


def verdicts(row: dict, machine) -> list[dict]:
    """Of each pair: measured and predicted ratio, whether it is decided and whether the orders agree."""
    subject = Subject(row["case"])
    predicted = subject.predicted(machine)
    times = {(t["key"], t["value"]) if t["key"] else "": t["seconds"] for t in row["times"]}
    found = []
    for key, values in row["decisions"].items():
        labels = ["" if value == values[0] else (key, value) for value in values]
        for (a, left), (b, right) in itertools.combinations(zip(values, labels), 2):
            if left not in predicted or right not in predicted or left not in times or right not in times:
                continue  # no decision of the compiler as it is now
            ratios = [x / y for x, y in zip(times[left], times[right])]
            low, high = interleaved.bootstrap(ratios)
            median, model = statistics.median(ratios), predicted[left] / predicted[right]
            decided = (low > 1 or high < 1) and abs(math.log(median)) > math.log1p(NOISE)
            agrees = not decided if model == 1 else (median > 1) == (model > 1)
            found.append({"case": row["case"], "key": key, "pair": (a, b), "measured": median, "predicted": model, "decided": decided, "agrees": agrees})
    return found


def share(pairs: list) -> float:
    return sum(p["agrees"] for p in pairs) / len(pairs) if pairs else 1.0


def report(rows: list, machine, verbose: bool) -> tuple[float, float]:
    """The shares of decided and of all pairs that agree."""
    every = []
    print(f"{'case':34} {'measured':>9} {'predicted':>9}  {'decided pairs':>18} {'all pairs':>18}")
    for row in rows:
        pairs = verdicts(row, machine)
        every += pairs
        decided = [p for p in pairs if p["decided"]]
        took = statistics.median(next(t["seconds"] for t in row["times"] if not t["key"]))
        model = Subject(row["case"]).predicted(machine)[""]
        print(f"{row['case']:34} {explain.time_of(took):>9} {explain.time_of(model):>9}  {share(decided):6.0%} of {len(decided):4} {'':4}{share(pairs):6.0%} of {len(pairs):4}")
        if verbose:
            for p in sorted(decided, key=lambda p: p["key"]):
                if not p["agrees"]:
                    print(f"    {p['key']:10} {str(p['pair'][0]):>5} : {str(p['pair'][1]):5} measured {p['measured']:.2f}x, predicted {p['predicted']:.2f}x")
    print()
    for key in sorted({p["key"] for p in every}):
        mine = [p for p in every if p["key"] == key]
        print(f"  {key:12} decided {share([p for p in mine if p['decided']]):5.0%} of {sum(p['decided'] for p in mine):4}, all {share(mine):5.0%} of {len(mine):4}")
    decided, differ = [p for p in every if p["decided"]], [p for p in every if p["predicted"] != 1]
    print(f"\nagreement: {share(decided):.1%} of {len(decided)} decided pairs, {share(every):.1%} of all {len(every)} pairs "
          f"({len(every) - len(decided)} are noise), "
          f"{share(differ):.1%} of the {len(differ)} whose predictions differ; floor {FLOOR:.0%} ({machine.source})")
    return share(decided), share(every)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", action="append", choices=tuple(CASES), help="only these")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--fresh", action="store_true", help="measure again what is on file")
    parser.add_argument("--seconds", type=float, default=80.0, help="start no case after this")
    parser.add_argument("--verbose", action="store_true", help="print the decided pairs that disagree")
    given = parser.parse_args()
    start = time.perf_counter()
    tsr.set_num_threads(0)  # the roofline is of one and of all
    if given.check:
        for rounds in (5, 15):  # five do not tell noise from a difference on a busy machine: what fails is measured again
            roof = roofline.measure()
            rows = [measure(name, rounds, 0.5e-3, 3.0) for name, entry in CASES.items() if entry[5]]
            decided, _ = report([row for row in rows if row], cost.of_roofline(roof, f"roofline measured {roof.date}"), given.verbose)
            if decided >= FLOOR:
                return 0
            print(f"below the floor with {rounds} rounds")
        return 1
    known = json.loads(PLACE.read_text()) if PLACE.exists() else {"rows": []}
    rows = {row["case"]: row for row in known["rows"]}
    left = [name for name in given.case or CASES if given.fresh or name not in rows]
    if not given.report and left:
        known["machine"], known["roofline"] = interleaved.machine(), json.loads(roofline.measure().json())
        for name in left:
            if time.perf_counter() - start < given.seconds:
                rows[name] = measure(name, ROUNDS, 1e-3, 20.0) or rows.get(name)
                known["rows"] = [rows[name] for name in CASES if rows.get(name)]
                PLACE.write_text(json.dumps(known, indent=None, separators=(",", ":")).replace('{"case"', '\n{"case"') + "\n")
    roof = roofline._parse(json.dumps(known["roofline"]).encode(), tuple(sorted({r["threads"] for r in known["roofline"]["roofs"]})))
    chosen = [rows[name] for name in given.case or CASES if rows.get(name)]
    shares = report(chosen, cost.of_roofline(roof, f"roofline measured {roof.date}"), given.verbose)
    if not given.report and left:
        print(f"written: {PLACE}; {len(CASES) - len(known['rows'])} cases are left")
    return int(min(shares) < FLOOR)


if __name__ == "__main__":
    sys.exit(main())
