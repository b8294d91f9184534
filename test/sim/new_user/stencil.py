# Written from docs/simulator.md alone: a 3x3 blur with borders.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import torch
import triton
import triton.language as tl


@triton.jit
def blur(X, Y, h, w, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.program_id(1) * B + tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    for dy in tl.static_range(-1, 2):
        for dx in tl.static_range(-1, 2):
            inside = (row + dy >= 0) & (row + dy < h) & (c + dx >= 0) & (c + dx < w)
            total += tl.load(X + (row + dy) * w + c + dx, inside, other=0.0)
    tl.store(Y + row * w + c, total / 9, c < w)


h, w = 11, 150
x, y = torch.rand(h, w), torch.zeros(h, w)
blur[(h, triton.cdiv(w, 64))](x, y, h, w, B=64)
want = torch.nn.functional.conv2d(x.double()[None, None], torch.full((1, 1, 3, 3), 1 / 9, dtype=torch.float64), padding=1)
assert (y.double() - want[0, 0]).abs().max() < 2**-20
print("ok")
