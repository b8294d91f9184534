# Written from docs/simulator.md alone: bias and ReLU over rows.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import torch
import triton
import triton.language as tl


@triton.jit
def relu_bias(X, B, Y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < n
    v = tl.load(X + row * n + c, m) + tl.load(B + c, m)
    tl.store(Y + row * n + c, tl.maximum(v, 0.0), m)


x, b = torch.randn(5, 300), torch.randn(300)
y = torch.empty_like(x)
relu_bias[(5,)](x, b, y, 300, BLOCK=512)
assert torch.equal(y, torch.relu(x + b))
print("ok")
