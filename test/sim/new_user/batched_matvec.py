# Written from docs/simulator.md alone: batched matrix-vector product.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import torch
import triton
import triton.language as tl


@triton.jit
def matvec(A, X, Y, M, N, BM: tl.constexpr, BN: tl.constexpr):
    b, r = tl.program_id(1), tl.program_id(0) * BM + tl.arange(0, BM)
    acc = tl.zeros((BM,), tl.float32)
    for k in range(0, N, BN):
        c = k + tl.arange(0, BN)
        m = (r[:, None] < M) & (c[None, :] < N)
        a = tl.load(A + b * M * N + r[:, None] * N + c[None, :], m, other=0.0)
        acc += tl.sum(a * tl.load(X + b * N + c, c < N, other=0.0)[None, :], 1)
    tl.store(Y + b * M + r, acc, r < M)


a, x = torch.randn(3, 50, 90), torch.randn(3, 90)
y = torch.empty(3, 50)
matvec[(2, 3)](a, x, y, 50, 90, BM=32, BN=32)
assert (y.double() - (a.double() @ x.double()[..., None])[..., 0]).abs().max() < 1e-5
print("ok")
