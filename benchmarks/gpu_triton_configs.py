"""What benchmarks/gpu_triton.py compiles on both sides: Triton's tutorial configurations, fixed here.

`warps` and `stages` are Triton's num_warps and num_stages. Triton's `num_stages = n` keeps n - 1 slots of a ring, ours keeps n: ours is given n - 1,
the same shared memory and the same time for a copy to arrive. Softmax and layer_norm have no ring.

  matmul     tutorial 03, get_cuda_autotune_config: the configurations of 128 rows and more; fp16 in and out, fp32 sums, groups of 8 rows of tiles
  attention  tutorial 06, the space of its forward pass: 128 x 64 and 64 x 64 tiles; fp16; with and without the causal mask
  softmax    tutorial 02: a row per turn of a persistent loop, 8 warps, 4 stages (2 where shared memory is small), fp32
  layer_norm tutorial 05: a row per program, warps = min(max(BLOCK / 256, 1), 8), fp16

Sizes are small because PTX is executed on a simulator; all are multiples of the tiles, strides multiples of 16 bytes.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

TRITON = "3.9.0"
PTXAS = "13.4"
ARCHITECTURES = ("sm_80", "sm_89", "sm_120a")

ROWS = {
    "matmul 128x256x64": dict(kernel="matmul", M=512, N=512, K=512, BM=128, BN=256, BK=64, warps=8, stages=3),
    "matmul 128x128x32": dict(kernel="matmul", M=512, N=512, K=512, BM=128, BN=128, BK=32, warps=4, stages=4),
    "matmul 128x64x32": dict(kernel="matmul", M=512, N=512, K=512, BM=128, BN=64, BK=32, warps=4, stages=4),
    "attention d64": dict(kernel="attention", B=1, H=2, S=512, D=64, BM=128, BN=64, causal=False, warps=4, stages=3),
    "attention d64 causal": dict(kernel="attention", B=1, H=2, S=512, D=64, BM=128, BN=64, causal=True, warps=4, stages=3),
    "attention d128": dict(kernel="attention", B=1, H=2, S=512, D=128, BM=128, BN=64, causal=False, warps=8, stages=3),
    "softmax n1024": dict(kernel="softmax", M=64, N=1024, programs=4, warps=8, stages=4),
    "softmax n4096": dict(kernel="softmax", M=32, N=4096, programs=2, warps=8, stages=4),
    "layer_norm n1024": dict(kernel="layer_norm", M=64, N=1024, warps=4),
    "layer_norm n4096": dict(kernel="layer_norm", M=32, N=4096, warps=8),
}
