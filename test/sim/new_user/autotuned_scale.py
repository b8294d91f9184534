# Written from docs/simulator.md alone: an autotuned kernel, on two architectures.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import torch
import triton
import triton.language as tl

import tessera.sim.triton


@triton.autotune(configs=[triton.Config({"B": 128}, num_warps=2), triton.Config({"B": 256}, num_warps=4)], key=["n"])
@triton.jit
def scale(X, Y, a, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(Y + i, a * tl.load(X + i, i < n), i < n)


x = torch.arange(1000.0)
for arch in ("sm_80", "sm_120"):
    tessera.sim.triton.activate(arch, check=True, seed=3, adversarial=True)
    y = torch.zeros(1000)
    scale[lambda meta: (triton.cdiv(1000, meta["B"]),)](x, y, 0.5, 1000)
    assert torch.equal(y, x / 2)
print("ok")
