"""What a call costs once its function is compiled: x + y on 8 elements.

    python benchmarks/call_overhead.py [--check]    # jax.jit in a process of its own, if it is installed

Each figure is the best of many short bursts, interleaved over all that are compared, so that a busy machine
slows all of them alike. `--check` fails above the floors: 1 us NumPy, 2 us torch, each below jax.jit and torch.compile.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json
import subprocess
import sys
import time

import numpy as np

import tessera as tsr
from interleaved import save

BURST, SECONDS = 200, 4.0


def best_of(cases: dict, seconds: float = SECONDS) -> dict:
    """Nanoseconds per call."""
    for call in cases.values():
        for _ in range(BURST):
            call()
    best = dict.fromkeys(cases, float("inf"))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for name, call in cases.items():
            start = time.perf_counter_ns()
            for _ in range(BURST):
                call()
            best[name] = min(best[name], (time.perf_counter_ns() - start) / BURST)
    return best


JAX = """
import sys, json, time
import jax, jax.numpy as jnp
sys.path.insert(0, sys.argv[1])
x = jnp.ones(8); add = jax.jit(lambda a, b: a + b)
add(x, x)
best = float("inf")
end = time.perf_counter() + 3
while time.perf_counter() < end:
    start = time.perf_counter_ns()
    for _ in range(200):
        add(x, x)
    best = min(best, (time.perf_counter_ns() - start) / 200)
print(json.dumps(best))
"""


def jax_call() -> float | None:
    run = subprocess.run([sys.executable, "-c", JAX, "."], capture_output=True, text=True)
    return json.loads(run.stdout) if run.returncode == 0 else None


@tsr.function
def add(x, y):
    return x + y


def main() -> None:
    x, y, out = (np.ones(8, np.float32) for _ in range(3))
    cases = {
        "empty lambda": lambda: None,
        "tessera, numpy": lambda: add(x, y),
        "tessera, numpy, out=": lambda: add(x, y, out=out),
        "numpy.add": lambda: np.add(x, y),
    }
    try:
        import torch
    except ImportError:
        torch = None
    if torch:
        a, b, c = (torch.ones(8) for _ in range(3))
        compiled = torch.compile(lambda x, y: x + y)
        with torch.no_grad():
            compiled(a, b)
        cases |= {
            "tessera, torch": lambda: add(a, b),
            "tessera, torch, out=": lambda: add(a, b, out=c),
            "torch.add": lambda: torch.add(a, b),
            "torch.compile": lambda: compiled(a, b),
        }
        with torch.no_grad():
            found = best_of(cases)
    else:
        found = best_of(cases)
    found["jax.jit"] = jax_call()
    rows = [{"case": name, "ns": None if ns is None else round(ns)} for name, ns in found.items()]
    for row in rows:
        print(f"{row['case']:24} {'not measured' if row['ns'] is None else row['ns']:>12} ns")
    save("call_overhead", rows)
    if "--check" in sys.argv:
        peers = [found[p] for p in ("jax.jit", "torch.compile") if found.get(p)]
        for name, floor in (("tessera, numpy", 1000), ("tessera, torch", 2000)):
            limit = min([floor, *peers])
            if name in found and found[name] > limit:
                sys.exit(f"{name}: {found[name]:.0f} ns is above {limit:.0f} ns")


if __name__ == "__main__":
    main()
