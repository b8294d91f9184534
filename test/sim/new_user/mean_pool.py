# Written from docs/simulator.md alone: segment means by atomics.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import torch
import triton
import triton.language as tl


@triton.jit
def pool(X, S, SUM, COUNT, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    s = tl.load(S + i, m, other=0)
    tl.atomic_add(SUM + s, tl.load(X + i, m), m)
    tl.atomic_add(COUNT + s, 1, m)


n = 3000
x, s = torch.randn(n), torch.randint(0, 10, (n,), dtype=torch.int32)
total, count = torch.zeros(10), torch.zeros(10, dtype=torch.int32)
pool[(triton.cdiv(n, 256),)](x, s, total, count, n, BLOCK=256)
assert torch.equal(count.long(), torch.bincount(s, minlength=10))
want = torch.zeros(10, dtype=torch.double).index_add(0, s.long(), x.double())
assert (total.double() - want).abs().max() < 1e-3
print("ok")
