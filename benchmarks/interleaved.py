"""Times two things side by side in one run, because the machine is shared: medians of ratios.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import datetime
import json
import pathlib
import platform
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


def machine() -> dict:
    text = pathlib.Path("/proc/cpuinfo").read_text()
    model = next((line.split(":")[1].strip() for line in text.splitlines() if line.startswith("model name")), platform.processor())
    return {"cpu": model, "cores": text.count("processor\t"), "date": datetime.date.today().isoformat(), "python": platform.python_version()}


def save(name: str, rows: list[dict]) -> None:
    path = pathlib.Path(__file__).parent / "results" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")
    print(f"written: {path}")
