"""How long it takes to compile for GPUs: to PTX for each headline kernel, and one gemm for all architectures to machine code.

    python benchmarks/gpu_compile_time.py [--check] [--json results/gpu_compile_time.json]

Floors (issue 7): 200 ms to PTX per kernel; 6 s for all architectures on two cores. Nothing comes from a cache.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import time

os.environ["TESSERA_CACHE"] = "off"

import tessera as tsr  # noqa: E402
from tessera import architectures, bf16, fp16, fp32, kernels  # noqa: E402

HEADLINE = {
    "gemm fp16": (kernels.gemm, dict(A=fp16, B=fp16)),
    "attention fp16 d64": (kernels.flash_attention, dict(Q=fp16, K=fp16, V=fp16, D=64)),
    "attention bf16 d128 causal": (kernels.flash_attention, dict(Q=bf16, K=bf16, V=bf16, D=128, causal=True)),
    "softmax fp32 n1024": (kernels.softmax, dict(X=fp32, N=1024)),
    "layer_norm fp32 n1024": (kernels.layer_norm, dict(X=fp32, weight=fp32, bias=fp32, N=1024)),
}
FLOOR_PTX, FLOOR_ALL = 0.200, 6.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="fail above the floors")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json")
    given = parser.parse_args()
    kernels.softmax.lower("ptx", "sm_80", N=16)  # LLVM is loaded, its back end is set up
    found = {"load": os.getloadavg()[0], "machine": os.cpu_count()}
    for name, (fn, words) in HEADLINE.items():
        wall, cpu = [], []
        for _ in range(given.runs):
            start, used = time.perf_counter(), time.process_time()
            fn.lower("ptx", "sm_80", **words)
            wall.append(time.perf_counter() - start), cpu.append(time.process_time() - used)
        found[name] = {"best_ms": min(wall) * 1e3, "median_ms": statistics.median(wall) * 1e3, "cpu_ms": min(cpu) * 1e3}
        print(f"{name:28} to PTX: best {min(wall) * 1e3:6.1f} ms, median {statistics.median(wall) * 1e3:6.1f}, CPU {min(cpu) * 1e3:6.1f}")
    targets = [name for name in architectures.names() if architectures.arch(name)["assembles"] and name[-1].isdigit()]
    start, before = time.perf_counter(), os.times()
    kernels.gemm.compile(targets=targets, A=fp16, B=fp16)
    seconds, after = time.perf_counter() - start, os.times()
    used = sum(after[:4]) - sum(before[:4])
    found["all architectures"] = {"seconds": seconds, "cpu_seconds": used, "targets": targets}
    print(f"gemm fp16 for {len(targets)} architectures to machine code: {seconds:.2f} s, CPU {used:.2f} s (load {found['load']:.1f} before)")
    if given.json:
        pathlib.Path(given.json).write_text(json.dumps(found, indent=1))
    slow = [name for name in HEADLINE if found[name]["best_ms"] > FLOOR_PTX * 1e3]
    slow += ["all architectures"] if seconds > FLOOR_ALL else []
    if slow:
        print("above the floor:", ", ".join(slow))
    return 1 if given.check and slow else 0


if __name__ == "__main__":
    tsr.knobs.debug = False
    sys.exit(main())
