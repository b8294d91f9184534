"""Row by row: softmax and layer_norm.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import tessera as tsr
from tessera import Out, Tensor, const, fp32


@tsr.kernel
def softmax(X: Tensor["M", "N"], Y: Out["M", "N"], BLOCK: const = 4):
    """exp(x - max) / sum along the last axis, in fp32."""
    for m in tsr.grid(tsr.tile(M, BLOCK)):
        x = X[m, :].to(fp32)
        e = tsr.exp(x - tsr.max(x, N))
        Y[m, :] = e / tsr.sum(e, N)


@tsr.kernel
def layer_norm(X: Tensor["M", "N"], weight: Tensor["N"], bias: Tensor["N"], Y: Out["M", "N"], BLOCK: const = 4):
    """(x - mean) / sqrt(var + 1e-5) * weight + bias along the last axis, in fp32."""
    for m in tsr.grid(tsr.tile(M, BLOCK)):
        x = X[m, :].to(fp32)
        x = x - tsr.mean(x, N)
        y = x * tsr.rsqrt(tsr.mean(x * x, N) + 1e-5)
        Y[m, :] = y * weight[:].to(fp32) + bias[:].to(fp32)
