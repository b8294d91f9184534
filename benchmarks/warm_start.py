"""What the first call costs in a new process when its code is in the disk cache, beyond `import`.

    python benchmarks/warm_start.py [--check] [rounds]

Each call is the first of a process of its own; cases are interleaved, with all threads and with one. Beside the time on the clock stands
the caller's time on the CPU, for machines that are shared (there a call with two threads waits for the second one, every time), and the same
call made again. `--check` fails above the floor of 10 ms: the caller's median CPU time with one thread.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from interleaved import save

PROGRAM = '''
import json, math, sys, time
import numpy as np
import tessera as tsr
from tessera import Tensor, disk, kernels

@tsr.function
def add(x: Tensor["N"], y: Tensor["N"]):
    return x + y

@tsr.function
def softmax(x: Tensor["M", "N"]):
    return tsr.softmax(x, dim=-1)

@tsr.function
def attention(q: Tensor["B", "H", "S", "D"], k: Tensor["B", "H", "S", "D"], v: Tensor["B", "H", "S", "D"]):
    scale = 1.0 / math.sqrt(q.shape[-1])
    probs = tsr.softmax(tsr.matmul(q, k.transpose(-2, -1)) * scale, dim=-1)
    return tsr.matmul(probs, v)

x, m, q = np.ones(64, np.float32), np.ones((64, 1000), np.float32), np.ones((1, 2, 64, 64), np.float32)
a = np.ones((128, 128), np.float32)
fn, args = {"add": (add, (x, x)), "softmax": (softmax, (m,)), "attention": (attention, (q, q, q)), "gemm": (kernels.gemm, (a, a))}[sys.argv[1]]
begin, cpu = time.perf_counter(), time.thread_time()
fn(*args)
end, cpu_end = time.perf_counter(), time.thread_time()
fn(*args)
again = time.perf_counter()
print(json.dumps({"ms": (end - begin) * 1e3, "cpu_ms": (cpu_end - cpu) * 1e3, "again_ms": (again - end) * 1e3,
                  "compiles": disk.store().stats["compiles"], "llvm": "tessera._core" in sys.modules}))
'''
CASES = tuple((case, threads) for case in ("add", "softmax", "attention", "gemm") for threads in (0, 1))


def main() -> None:
    rounds = next((int(a) for a in sys.argv[1:] if a.isdigit()), 15)
    found: dict = {case: [] for case in CASES}
    cold: dict = {}
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "program.py")
        program.write_text(PROGRAM)
        here = str(pathlib.Path(__import__("tessera").__file__).parents[1])
        env = {k: v for k, v in os.environ.items() if k not in ("TESSERA_VERIFY", "TESSERA_DUMP", "TESSERA_DEBUG")}
        env.update(TESSERA_CACHE=str(pathlib.Path(folder, "cache")), PYTHONPATH=os.pathsep.join([here, os.environ.get("PYTHONPATH", "")]))

        def run(case: tuple) -> dict:
            name, threads = case
            return json.loads(subprocess.run([sys.executable, str(program), name], env={**env, "TESSERA_NUM_THREADS": str(threads)},
                                             check=True, capture_output=True, text=True).stdout)

        for case in CASES[::2]:
            cold[case[0]] = run(case)
            assert cold[case[0]]["compiles"] > 0
        for done in range(rounds):
            for case in CASES:
                found[case].append(run(case))
                if found[case][-1]["compiles"] or found[case][-1]["llvm"]:
                    sys.exit(f"{case}: the cache did not answer")
            if sys.stderr.isatty():
                print(f"\r{done + 1}/{rounds} rounds", end="\n" if done + 1 == rounds else "", file=sys.stderr)
    rows = []
    for case, runs in found.items():
        row = {"case": case[0], "threads": case[1] or "all", "cold_ms": round(cold[case[0]]["ms"], 1)}
        for key in ("ms", "cpu_ms", "again_ms"):
            row[f"median_{key}"] = round(statistics.median(r[key] for r in runs), 2)
            row[f"best_{key}"] = round(min(r[key] for r in runs), 2)
        rows.append(row)
        print(f"{row['case']:10} {row['threads']:>3} threads: median {row['median_ms']:>6} ms (best {row['best_ms']}), on the CPU {row['median_cpu_ms']} ms; again {row['median_again_ms']} ms; compiled {row['cold_ms']} ms")
    save("warm_start", rows)
    if "--check" in sys.argv:
        worst = max(row["median_cpu_ms"] for row in rows if row["threads"] == 1)
        if worst > 10:
            sys.exit(f"a warm first call takes {worst} ms, above 10 ms")


if __name__ == "__main__":
    main()
