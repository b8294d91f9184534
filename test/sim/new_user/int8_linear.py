# Written from docs/simulator.md alone: f16 activations times int8 weights.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import torch
import triton
import triton.language as tl


@triton.jit
def linear(X, W, S, Y, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x = tl.load(X + m[:, None] * K + k, (m[:, None] < M) & (k < K), other=0.0)
        w = tl.load(W + n[None, :] * K + k[:, None], (n[None, :] < N) & (k[:, None] < K), other=0)
        acc = tl.dot(x, w.to(tl.float16), acc)
    acc *= tl.load(S + n, n < N, other=0.0)[None, :]
    tl.store(Y + m[:, None] * N + n, acc.to(tl.float16), (m[:, None] < M) & (n < N))


M, N, K = 50, 70, 130
x, w, s = torch.randn(M, K).half(), torch.randint(-127, 128, (N, K), dtype=torch.int8), torch.rand(N) / 127
y = torch.zeros(M, N).half()
linear[(triton.cdiv(M, 32), triton.cdiv(N, 32))](x, w, s, y, M, N, K, BM=32, BN=32, BK=32)
want = x.double() @ w.double().T * s.double()
assert (y.double() - want).abs().max() < 2**-10 * want.abs().max() + 2**-8
print("ok")
