# The gemms of quack-kernels, unmodified, against NumPy in float64.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python cute_quack.py sm_90a; prints a line for each run that is right.
The package keeps what it learned of the GPU, so one process has one."""

import os
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
os.environ["QUACK_CACHE_ENABLED"] = "0"

import tessera.sim.cute  # noqa: E402
import tessera.sim.torch_cuda  # noqa: E402

ARCH = sys.argv[1]
tessera.sim.torch_cuda.stand_in(tessera.sim.cute.activate(ARCH))

import torch  # noqa: E402
from quack.gemm import gemm  # noqa: E402

F16, BF16 = torch.float16, torch.bfloat16
SEED = {"adversarial": True, "seed": 1}
# element, m, n, k, options of the gemm, options of the simulator
RUNS = [(F16, 256, 256, 128, {}, {}), (BF16, 256, 256, 128, {"cluster_M": 2}, {}), (F16, 200, 136, 72, {}, {}),
        (BF16, 256, 256, 192, {"cluster_M": 2, "cluster_N": 1}, SEED), (F16, 256, 128, 128, {"tile_M": 64, "pingpong": True}, {}),
        (BF16, 256, 128, 64, {"C": True, "alpha": 0.5, "beta": 2.0}, {}), (BF16, 384, 128, 64, {"groups": (100, 284)}, {})]
if ARCH == "sm_100a":
    RUNS[4] = (F16, 512, 256, 128, {"tile_M": 256, "cluster_M": 2}, {})  # pairs of blocks; there is no ping-pong

for dtype, m, n, k, how, options in RUNS:
    host = tessera.sim.cute.activate(ARCH, check=True, **options)
    torch.manual_seed(m + n)
    how = {"tile_M": 128, "tile_N": 128, "cluster_M": 1, "cluster_N": 1, **how}
    groups = how.pop("groups", None)
    label = f"{m} x {n} x {k}, {how}, {groups}, {options}"
    a, d = torch.randn(m, k).to(dtype), torch.zeros(m, n).to(dtype)
    b = torch.randn(*((len(groups),) if groups else ()), n, k).to(dtype)
    c = torch.randn(m, n).to(dtype) if how.pop("C", False) else None
    if groups:
        how["cu_seqlens_m"] = torch.tensor([0, *np.cumsum(groups)], dtype=torch.int32)
    gemm(a, b, d, c, None, **how)
    x, y = a.double().numpy(), b.double().numpy()
    rows = np.split(x, np.cumsum(groups)[:-1]) if groups else [x]
    alpha, beta = how.get("alpha", 1.0), how.get("beta", 1.0)
    want = alpha * np.concatenate([part @ w.T for part, w in zip(rows, y if groups else [y])])
    terms = np.concatenate([np.abs(part) @ np.abs(w).T for part, w in zip(rows, y if groups else [y])])
    if c is not None:
        want, terms = want + beta * c.double().numpy(), terms + np.abs(beta * c.double().numpy())
    # One rounding of the result; the sum loses at most one part of 2^23 of the terms at each of its steps.
    bound = (2**-11 if dtype == F16 else 2**-8) * np.abs(want) + (1 + 2**-8) * (k + 2) * 2**-23 * terms
    off = np.abs(d.double().numpy() - want)
    assert (off <= bound).all(), (label, (off / bound).max())
    print(f"ok {label}: at most {(off / bound).max():.2f} of the bound, {host.last_report.seconds:.2f} s", flush=True)
