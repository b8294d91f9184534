# Written from docs/simulator.md alone: root-mean-square normalisation.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import torch
import triton
import triton.language as tl


@triton.jit
def rms_norm(X, W, Y, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(X + row * n + c, c < n, other=0.0).to(tl.float32)
    scale = 1 / tl.sqrt(tl.sum(x * x, 0) / n + eps)
    tl.store(Y + row * n + c, (x * scale * tl.load(W + c, c < n)).to(tl.float16), c < n)


x, w = torch.randn(6, 700).half(), torch.rand(700)
y = torch.empty_like(x)
rms_norm[(6,)](x, w, y, 700, 1e-6, BLOCK=1024)
want = x.double() / torch.sqrt((x.double() ** 2).mean(1, keepdim=True) + 1e-6) * w.double()
assert (y.double() - want).abs().max() < 2**-9
print("ok")
