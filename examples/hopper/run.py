# Runs a gemm of this folder on the simulator and compares it with NumPy.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: run.py KERNEL.ptx TILES [--check] [--seed N] [--page PAGE.html]"""

import argparse

import numpy as np

import tessera.sim as sim


def blocks_of_8x8(matrix):
    """As wgmma reads a K-major matrix without a swizzle: 8 rows of 16 bytes, two of those side by side."""
    return matrix.reshape(-1, 8, 2, 8).swapaxes(1, 2).ravel()


parser = argparse.ArgumentParser()
parser.add_argument("kernel")
parser.add_argument("tiles", type=int)
parser.add_argument("--check", action="store_true")
parser.add_argument("--seed", type=int)
parser.add_argument("--page")
options = parser.parse_args()

rng = np.random.default_rng(0)
A = rng.integers(-4, 5, (options.tiles, 64, 16)).astype(np.float16)
B = rng.integers(-4, 5, (options.tiles, 32, 16)).astype(np.float16)
tiles = np.concatenate([np.concatenate([blocks_of_8x8(a), blocks_of_8x8(b)]) for a, b in zip(A, B)])
result = np.zeros((128, 16), np.float32)
with open(options.kernel) as f:
    ptx = f.read()
report = sim.launch(ptx, "gemm", 1, 160, [tiles, result, options.tiles], arch="sm_90a", check=options.check,
                    count=bool(options.page), seed=options.seed or 0, adversarial=options.seed is not None)
for e in report.errors:
    print(f"{e['kind']}: {e['message']}" + (f" ({e['count']} times)" if e["count"] > 1 else ""))
# Thread t of the warp group holds rows t/4%8 (+8) of the 16 of its warp, columns 2*(t%4) (+1) of every eight.
C = result.reshape(4, 8, 4, 4, 2, 2).transpose(0, 4, 1, 3, 2, 5).reshape(64, 32)
wrong = (C != np.einsum("kmx,knx->mn", A.astype(np.float64), B.astype(np.float64))).sum()
print(f"{options.tiles} tiles: {wrong} of {C.size} elements are wrong")
if options.page:
    with open(options.page, "w") as out:
        out.write(report.html(ptx))
