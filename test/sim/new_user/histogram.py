# Written from docs/simulator.md alone: a histogram by atomics, and its counts.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import torch
import triton
import triton.language as tl

import tessera.sim.triton

driver = tessera.sim.triton.activate("sm_80", check=True, count=True)


@triton.jit
def histogram(X, H, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(X + i, i < n, other=0)
    tl.atomic_add(H + x, 1, i < n)


x = torch.randint(0, 10, (3000,), dtype=torch.int32)
h = torch.zeros(10, dtype=torch.int32)
histogram[(triton.cdiv(3000, 512),)](x, h, 3000, B=512)
assert torch.equal(h.long(), torch.bincount(x, minlength=10))
assert driver.last_report.ok and driver.last_report.counts["classes"]["atomic"] > 0
print("ok")
