# FlashAttention-4 (package flash-attn-4), unmodified, against NumPy in float64.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python cute_attention.py sm_90a; prints a line for each run that is right.
The package keeps what it learned of the GPU, so one process has one."""

import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

import tessera.sim.cute  # noqa: E402
import tessera.sim.torch_cuda  # noqa: E402

ARCH = sys.argv[1]
tessera.sim.torch_cuda.stand_in(tessera.sim.cute.activate(ARCH))

import torch  # noqa: E402
from flash_attn.cute.interface import _flash_attn_fwd  # noqa: E402

# queries, keys, heads, causal, options of the simulator
RUNS = [(256, 256, 1, False, {}), (256, 256, 1, True, {}), (128, 384, 2, False, {}),
        (256, 256, 1, False, {"adversarial": True, "seed": 1})]


def attention(q, k, v, causal):
    """One head in float64, and how far the kernel may be off."""
    scores = q @ k.T / np.sqrt(q.shape[1])
    if causal:
        scores = np.where(np.tri(*scores.shape, len(k) - len(q)) > 0, scores, -np.inf)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    weights /= weights.sum(1, keepdims=True)
    out = weights @ v
    # bf16 keeps 8 bits: each weight is rounded once and so is the result; a sixteenth of that for exp2 and the sums.
    return out, 2**-8 * np.abs(out) + (1 + 2**-4) * 2**-8 * (weights @ np.abs(v))


for queries, keys, heads, causal, options in RUNS:
    host = tessera.sim.cute.activate(ARCH, check=True, **options)
    torch.manual_seed(queries + keys)
    q = torch.randn(1, queries, heads, 128).to(torch.bfloat16)
    k, v = (torch.randn(1, keys, heads, 128).to(torch.bfloat16) for _ in range(2))
    out = _flash_attn_fwd(q, k, v, causal=causal)[0]
    for head in range(heads):
        want, bound = attention(*(t[0, :, head].double().numpy() for t in (q, k, v)), causal)
        off = np.abs(out[0, :, head].double().numpy() - want)
        assert (off <= bound).all(), (off / bound).max()
    print(f"ok {queries} x {keys}, {heads} heads, causal {causal}, {options}, at most {(off / bound).max():.2f} of the bound, "
          f"{host.last_report.seconds:.2f} s", flush=True)
