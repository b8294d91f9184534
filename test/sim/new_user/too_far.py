# Written from docs/simulator.md alone: a mask is forgotten, and found.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import torch
import triton
import triton.language as tl

import tessera.sim.triton

tessera.sim.triton.activate("sm_80", check=True)


@triton.jit
def running_sum(X, Y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(Y + i, tl.cumsum(tl.load(X + i), 0), i < n)  # the load has no mask


x, y = torch.ones(100), torch.zeros(100)
try:
    running_sum[(1,)](x, y, 100, B=128)
except tessera.sim.triton.SimulationError as error:
    finding = error.report.errors[0]
    assert finding["kind"] == "out-of-bounds" and "too_far.py:15" in finding["source"], finding
    print("ok")
