"""Times things side by side in one run, because the machine is shared: medians of ratios, with confidence intervals.

`compare` is for two, `race` for any number. A race on a matrix unit has a probe before and after every sample: AMX has a slow state on
shared hosts, and what counts is then told for fast samples and for all.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import datetime
import json
import pathlib
import os
import platform
import random
import statistics
import time


def once(fn, repeat: int) -> float:
    start = time.perf_counter()
    for _ in range(repeat):
        fn()
    return (time.perf_counter() - start) / repeat


def compare(ours, peer, seconds: float = 1.0, rounds: int = 15) -> dict:
    """Interleaves short bursts of `ours` and `peer`; returns seconds and the median of ours / peer."""
    ours(), peer()
    longest = max(once(ours, 1), once(peer, 1), 1e-9)
    repeat = max(1, int(seconds / (2 * rounds) / longest))
    pairs = [(once(ours, repeat), once(peer, repeat)) for _ in range(rounds)]
    ratios = sorted(a / b for a, b in pairs)
    return {
        "ours_s": statistics.median(a for a, _ in pairs),
        "peer_s": statistics.median(b for _, b in pairs),
        "ours_over_peer": statistics.median(ratios),
        "low": ratios[len(ratios) // 4],
        "high": ratios[-1 - len(ratios) // 4],
        "rounds": rounds,
    }


# ---- any number of participants ------------------------------------------------------------------


def seconds_of(call, repeat: int) -> float:
    """Of one call; a peer in another process measures itself."""
    return call.seconds(repeat) if hasattr(call, "seconds") else once(call, repeat)


class Race:
    """Samples of every participant, round by round: `times[name][round]`, and whether the matrix unit was fast then."""

    def __init__(self, names):
        self.times: dict[str, list[float]] = {name: [] for name in names}
        self.fast: dict[str, list[bool]] = {name: [] for name in names}
        self.foreign = 0.0  # processors that others used meanwhile

    @property
    def rounds(self) -> int:
        return len(next(iter(self.times.values())))

    def median(self, name: str, fast: bool = False) -> float | None:
        times = [t for t, f in zip(self.times[name], self.fast[name]) if f or not fast]
        return statistics.median(times) if times else None

    def best(self, name: str) -> float:
        return min(self.times[name])

    def ratio(self, peer: str, ours: str, fast: bool = False) -> dict | None:
        """The median over rounds of peer's time / ours, above 1: ours is faster; with its 95 % confidence interval. None without rounds."""
        rows = zip(self.times[peer], self.times[ours], self.fast[peer], self.fast[ours])
        ratios = [theirs / own for theirs, own, one, two in rows if not fast or (one and two)]
        if not ratios:
            return None
        low, high = bootstrap(ratios)
        return {"ratio": statistics.median(ratios), "low": low, "high": high, "n": len(ratios)}


def bootstrap(values: list[float], level: float = 0.95, draws: int = 1000) -> tuple[float, float]:
    """The confidence interval of the median: medians of samples drawn with replacement."""
    source = random.Random(len(values))
    medians = sorted(statistics.median(source.choices(values, k=len(values))) for _ in range(draws))
    cut = int(draws * (1 - level) / 2)
    return medians[cut], medians[-1 - cut]


def busy() -> tuple[float, float, float]:
    """Seconds that processors were busy, that this process and its waited-for children used, and the clock."""
    fields = [int(x) for x in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    ticks = sum(fields[:3]) + sum(fields[5:8])  # user, nice, system, interrupts, stolen
    own = os.times()
    return ticks / os.sysconf("SC_CLK_TCK"), own.user + own.system, time.perf_counter()


def foreign(before, after) -> float:
    """How many processors others used between two looks."""
    return max(0.0, ((after[0] - before[0]) - (after[1] - before[1])) / max(after[2] - before[2], 1e-9))


def wait_for_quiet(limit: float, below: float = 0.15) -> float:
    """Waits until others leave the processors alone, at most `limit` seconds; what they used last."""
    end = time.perf_counter() + limit
    while True:
        before = busy()
        time.sleep(0.1)
        used = foreign(before, busy())
        if used < below or time.perf_counter() > end:
            return used


def race(calls: dict, seconds: float = 1.0, rounds: int = 11, probe=None, fast_above: float = 0.0) -> Race:
    """Interleaves short bursts of all calls. `probe()` is asked before and after each; a sample is fast if both are above `fast_above`."""
    result = Race(calls)
    for call in calls.values():
        seconds_of(call, 1)
    first = {name: max(seconds_of(call, 1), 1e-7) for name, call in calls.items()}
    rounds = max(3, min(rounds, int(6 * seconds / sum(first.values()))))  # seconds long: three rounds have to do
    each = seconds / (rounds * len(calls))
    repeat = {name: max(1, min(1000, int(each / first[name]))) for name in calls}
    names, before = list(calls), busy()
    for number in range(rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:  # nobody is always first
            early = probe() if probe else 0.0
            result.times[name].append(seconds_of(calls[name], repeat[name]))
            late = probe() if probe else 0.0
            result.fast[name].append(min(early, late) >= fast_above)
    result.foreign = foreign(before, busy())
    return result


def machine() -> dict:
    text = pathlib.Path("/proc/cpuinfo").read_text()
    model = next((line.split(":")[1].strip() for line in text.splitlines() if line.startswith("model name")), platform.processor())
    return {"cpu": model, "cores": text.count("processor\t"), "date": datetime.date.today().isoformat(), "python": platform.python_version()}


def save(name: str, rows: list[dict]) -> None:
    path = pathlib.Path(__file__).parent / "results" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")
    print(f"written: {path}")
