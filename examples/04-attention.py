"""Attention as a tensor function (fused by the compiler) and as a tile kernel.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math

import numpy as np

import tessera as tsr
from tessera import Tensor
from tessera.kernels import flash_attention


@tsr.function
def attention(q: Tensor["B", "H", "S", "D"], k: Tensor["B", "H", "S", "D"], v: Tensor["B", "H", "S", "D"]):
    scale = 1.0 / math.sqrt(q.shape[-1])
    probs = tsr.softmax(tsr.matmul(q, k.transpose(-2, -1)) * scale, dim=-1)
    return tsr.matmul(probs, v)


rng = np.random.default_rng(0)
q, k, v = (rng.standard_normal((1, 4, 300, 64)).astype(np.float32) for _ in range(3))
print("function and kernel differ by", np.abs(attention(q, k, v) - flash_attention(q, k, v)).max())
print(attention.inspect_ir("graph"))
