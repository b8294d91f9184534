# How long Triton's f16 matmul of 512 x 512 x 512 takes, checks off and on.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: speed.py [--runs 5]

Prints the best and median seconds of simulation, and the CPU seconds they
took: on a busy machine the latter tell more. Floors: 2 s and 15 s."""

import argparse
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import conftest  # noqa: E402,F401
import torch  # noqa: E402
import triton.language as tl  # noqa: E402

import tessera.sim.triton as sim_triton  # noqa: E402
import triton_kernels as k  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("--runs", type=int, default=5)
options = parser.parse_args()
n = 512
a, b = torch.randn(n, n).half(), torch.randn(n, n).half()
slow = False
for check, floor in ((False, 2), (True, 15)):
    driver = sim_triton.activate("sm_80", check=check)
    wall, cpu = [], []
    for _ in range(options.runs):
        c = torch.zeros(n, n).half()
        began = time.process_time()
        k.matmul[(n // 128 * (n // 128),)](a, b, c, n, n, n, n, 1, n, 1, n, 1, BM=128, BN=128, BK=32, GM=8,
                                           ACC=tl.float32, PREC="tf32", num_warps=8, num_stages=3)
        wall.append(driver.last_report.seconds)
        cpu.append(time.process_time() - began)
    error = (c.double() - a.double() @ b.double()).abs().max().item()
    assert error < 0.1, error
    print(f"checks {'on' if check else 'off'}: best {min(wall):.2f} s, median {statistics.median(wall):.2f} s, "
          f"CPU {min(cpu[1:] or cpu):.2f} s (floor {floor} s)")
    slow |= min(wall) > floor
sys.exit(slow)
