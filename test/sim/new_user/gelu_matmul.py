# Written from docs/simulator.md alone: tensor-core product with GELU.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import torch
import triton
import triton.language as tl


@triton.jit
def gelu_matmul(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        a = tl.load(A + rm[:, None] * K + rk[None, :], (rm[:, None] < M) & (rk[None, :] < K), other=0.0)
        b = tl.load(B + rk[:, None] * N + rn[None, :], (rk[:, None] < K) & (rn[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
    y = 0.5 * acc * (1 + tl.erf(acc * 0.7071067811865476))
    tl.store(C + rm[:, None] * N + rn[None, :], y.to(tl.bfloat16), (rm[:, None] < M) & (rn[None, :] < N))


M, N, K = 70, 50, 100
a, b = torch.randn(M, K).bfloat16(), torch.randn(K, N).bfloat16()
c = torch.empty(M, N, dtype=torch.bfloat16)
gelu_matmul[(2, 1)](a, b, c, M, N, K, BM=64, BN=64, BK=32)
want = torch.nn.functional.gelu(a.double() @ b.double())
assert (c.double() - want).abs().max() <= 2**-7 * want.abs().max()
print("ok")
