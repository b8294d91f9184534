# seed 196: python -m tessera.fuzz show 196
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import math

import tessera as tsr
from tessera import InOut, Out, Region, Tensor, bf16, const, fp16, fp32, fp64, i32, i64, reduce_max, reduce_min, reduce_sum


@tsr.accum(fp64)
@tsr.function
def f(x2: Tensor[7, "K", fp16], x5: Tensor["K", "M", fp16], x12: Tensor["M", fp16], n):
    v6 = x2 @ x5
    v8 = tsr.minimum(v6, v6)
    v13 = x12
    v14 = x12
    for i10 in range(v8.shape[0]):
        v11 = v8[i10]
        k15 = 0
        v16 = v14
        v17 = v11
        while k15 < n:
            v18 = tsr.cumsum(v13, dim=0)
            v16 = tsr.clamp(v18, -7.0, 7.0)
            v17 = tsr.clamp(v18, -133.0, 133.0)
            k15 += 1
        v13 = tsr.clamp(v17, -6.0, 6.0)
        v14 = tsr.clamp(v17, -6.0, 6.0)
    v25 = v13
    for i22 in range(v8.shape[0]):
        v23 = v8[i22]
        v25 = tsr.clamp(v25 + v23, -7.0, 7.0)
    v27 = tsr.relu(x12)
    v28 = v14.to(fp32)
    v29 = v13[..., ::2]
    return v25, v27, v28, v29
