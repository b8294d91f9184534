# How long a gemm of 512 x 512 x 512 in CuTe DSL takes on sm_90a, in f16, checks off and on.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: cute_speed.py [--runs 5]

Prints the best and median seconds of simulation, and the CPU seconds they
took: on a busy machine the latter tell more. Floors: 2 s and 15 s. Runs in
the environment of CuTe DSL (docs/simulator.md)."""

import argparse
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import conftest  # noqa: E402,F401
from cute_launch import cute, host, tensor  # noqa: E402

import cute_gemm_sm90  # noqa: E402
import torch  # noqa: E402
from cutlass import Float32  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("--runs", type=int, default=5)
options = parser.parse_args()
n = 512
torch.manual_seed(1)
a, b = torch.randn(n, n).half(), torch.randn(n, n).half()
slow = False
for check, floor in ((False, 2), (True, 15)):
    active = host.activate("sm_90a", check=check)
    gemm = cute.compile(cute_gemm_sm90.Gemm(Float32, tile=(128, 128, 64), stages=4, groups=2, clusters=16),
                        *(tensor(torch.zeros(n, n).half()) for _ in range(3)))
    wall, cpu = [], []
    for _ in range(options.runs):
        d = torch.zeros(n, n).half()
        views = [tensor(value) for value in (a, b, d)]
        began = time.process_time()
        gemm(*views)
        wall.append(active.last_report.seconds)
        cpu.append(time.process_time() - began)
    error = (d.double() - a.double() @ b.double().t()).abs().max().item()
    assert error < 0.1, error
    print(f"checks {'on' if check else 'off'}: best {min(wall):.2f} s, median {statistics.median(wall):.2f} s, "
          f"CPU {min(cpu):.2f} s (floor {floor} s)")
    slow |= min(wall) > floor
sys.exit(slow)
