"""Nothing is scalar: softmax, layer_norm and matmul against torch, outputs given, one run.

    python benchmarks/cpu_floor.py [--check]       # --check fails above the floor of 3x torch's time

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse
import sys

import interleaved
import torch

import tessera as tsr
from tessera import Tensor

FLOOR = 3.0


@tsr.function
def softmax(x: Tensor["M", "N"]):
    return tsr.softmax(x, dim=-1)


@tsr.function
def layer_norm(x: Tensor["M", "N"], w: Tensor["N"], b: Tensor["N"]):
    return tsr.layer_norm(x, (x.shape[-1],), w, b)


@tsr.function
def matmul(a: Tensor["M", "K"], b: Tensor["K", "N"]):
    return a @ b


def cases(dtype):
    x, out = torch.randn(4096, 1024).to(dtype), torch.empty(4096, 1024, dtype=dtype)
    w, b = torch.randn(1024).to(dtype), torch.randn(1024).to(dtype)
    m, n, o = torch.randn(1024, 1024).to(dtype), torch.randn(1024, 1024).to(dtype), torch.empty(1024, 1024, dtype=dtype)
    yield "softmax 4096x1024", lambda: softmax(x, out=out), lambda: torch.softmax(x, -1, out=out) if dtype == torch.float32 else torch.softmax(x, -1)
    yield "layer_norm 4096x1024", lambda: layer_norm(x, w, b, out=out), lambda: torch.nn.functional.layer_norm(x, (1024,), w, b)
    yield "matmul 1024", lambda: matmul(m, n, out=o), lambda: torch.matmul(m, n, out=o)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args()
    rows, slow = [], []
    print(f"{'case':28} {'ours ms':>9} {'torch ms':>9} {'ours/torch':>11}  quartiles")
    for dtype in (torch.float32, torch.bfloat16):
        for name, ours, peer in cases(dtype):
            row = interleaved.compare(ours, peer, options.seconds)
            name = f"{name} {str(dtype)[6:]}"
            rows.append({"case": name, **row})
            print(f"{name:28} {row['ours_s'] * 1e3:9.3f} {row['peer_s'] * 1e3:9.3f} {row['ours_over_peer']:11.2f}  {row['low']:.2f} .. {row['high']:.2f}")
            if row["ours_over_peer"] > FLOOR:
                slow.append(name)
    interleaved.save("cpu_floor", rows)
    if options.check and slow:
        sys.exit(f"slower than {FLOOR}x torch: {', '.join(slow)}")


if __name__ == "__main__":
    main()
