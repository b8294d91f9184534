"""Compile time and memory per op on one connected mixed graph, at 200 and 2,000 ops.

    python benchmarks/compile_time.py [--check] [--ops 200 2000]

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse
import json
import resource
import subprocess
import sys
import time


def program(ops: int) -> str:
    """matmul, softmax, norm, reshape, shared subexpressions and fan-out of at least 2, all in one chain.

    Each block has constants of its own, so that no two kernels are equal: the compiler builds equal ones once.
    """
    lines = ["@tsr.function", 'def graph(x: Tensor["M", "N"], w: Tensor["N", "N"], g: Tensor["N"]):', "    y = x", "    z = x * g"]
    count, block = 1, 0
    while count < ops:
        c = 0.25 + block / 4096
        lines += [
            "    a = y @ w",                                  # 1
            f"    b = (a + z) * {c}",                         # 2, 3: a and b are used again below
            "    c = tsr.softmax(b, dim=-1)",                 # 4
            f"    d = tsr.layer_norm(a * c * {c}, (x.shape[-1],))",  # 5, 6, 7
            "    e = d.reshape(x.shape[1], x.shape[0]).reshape(x.shape[0], x.shape[1])",  # 8, 9
            f"    y = tsr.tanh(e) * {c} + b",                 # 10, 11, 12
            f"    z = z * {c} + tsr.mean(y, dim=-1, keepdim=True) * {c}",  # 13, 14, 15, 16
        ]
        count += 16
        block += 1
    lines.append("    return y + z")
    return "\n".join(lines) + "\n"


def child(ops: int) -> None:
    import numpy as np

    import tessera as tsr

    tsr.knobs.cache = "off"
    made = tsr.compile_source(program(ops), f"graph{ops}.tessera")
    x, w, g = np.ones((32, 32), np.float32), np.full((32, 32), 1 / 32, np.float32), np.ones(32, np.float32)
    small = tsr.compile_source(program(12), "warm.tessera")
    small.graph(x, w, g)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    result = made.graph(x, w, g)
    seconds = time.perf_counter() - start
    assert np.isfinite(result).all()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(json.dumps({"ops": ops, "seconds": seconds, "ms_per_op": 1e3 * seconds / ops, "kib_per_op": grown / ops}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--child", type=int)
    parser.add_argument("--ops", type=int, nargs="*", default=[200, 2000])
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.child:
        return child(options.child)
    rows = []
    for ops in options.ops:
        text = subprocess.run([sys.executable, __file__, "--child", str(ops)], check=True, capture_output=True, text=True).stdout
        rows.append(json.loads(text.strip().splitlines()[-1]))
        print(f"{ops:5} ops: {rows[-1]['seconds']:7.2f} s, {rows[-1]['ms_per_op']:6.2f} ms per op, {rows[-1]['kib_per_op']:7.1f} KiB per op")
    time_ratio = rows[-1]["ms_per_op"] / rows[0]["ms_per_op"]
    memory_ratio = rows[-1]["kib_per_op"] / max(rows[0]["kib_per_op"], 1e-9)
    print(f"per op, {rows[-1]['ops']} against {rows[0]['ops']}: time {time_ratio:.2f}x, memory {memory_ratio:.2f}x")
    if options.check and (time_ratio > 1.5 or memory_ratio > 1.5 or rows[-1]["ms_per_op"] > 20):
        sys.exit("compile time is not linear, or above the floor of 20 ms per op")


if __name__ == "__main__":
    main()
