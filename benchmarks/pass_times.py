"""Time per pass for the shipped kernels and two functions, recorded per commit.

    python benchmarks/pass_times.py        # prints, and writes build/reports/pass-times-<commit>.json

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import collections
import json
import pathlib
import subprocess
import time

import tessera as tsr
from tessera import Tensor, bf16, kernels

ROOT = pathlib.Path(__file__).resolve().parent.parent
tsr.knobs.cache = "off"


@tsr.function
def softmax(x: Tensor["M", "N"]):
    return tsr.softmax(x, dim=-1)


@tsr.function
def mlp(x: Tensor["M", "K"], w: Tensor["K", "N"], b: Tensor["N"]):
    return tsr.gelu(x @ w + b)


CASES = {
    "kernel gemm bf16": lambda: kernels.gemm.compile(A=bf16, B=bf16),
    "kernel softmax": lambda: kernels.softmax.compile(N=1024),
    "kernel flash_attention bf16": lambda: kernels.flash_attention.compile(Q=bf16, K=bf16, V=bf16, D=64),
    "function softmax": lambda: softmax.compile(),
    "function mlp": lambda: mlp.compile(),
}


def main() -> None:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip() or "unknown"
    record = {}
    for name, compile_it in CASES.items():
        start = time.perf_counter()
        version = compile_it()
        total = 1e3 * (time.perf_counter() - start)
        passes = collections.Counter()
        for stage, milliseconds in version.artifact.times:
            passes[stage] += milliseconds
        record[name] = {"total_ms": total, "passes_ms": dict(passes)}
        slowest = ", ".join(f"{p} {ms:.1f}" for p, ms in passes.most_common(3))
        print(f"{name:30} {total:7.1f} ms in all, {sum(passes.values()):6.1f} in passes ({slowest})")
    path = ROOT / "build" / "reports" / f"pass-times-{commit}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1) + "\n")
    print(f"written: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
