"""softmax and layer_norm as a user calls them: the result is made by the call, against torch eager.

    python benchmarks/pooled_results.py [--check] [--seconds 3]   # --check fails below 4x torch eager

Interleaved; the ratio is torch's time / ours. "fresh": the pool is emptied before each of our calls, so every page of the result is new.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse
import resource
import sys

import interleaved
import torch
from cpu_floor import layer_norm, softmax

import tessera as tsr

FLOOR, FRESH_FLOOR = 4.0, 1.1


def faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def faults_of(call) -> float:
    """Page faults per steady call."""
    call(), call()
    before = faults()
    for _ in range(10):
        call()
    return (faults() - before) / 10


def fresh(call):
    def run():
        tsr.release_cached_memory()
        return call()

    return run


def cases(dtype):
    x = torch.randn(4096, 4096).to(dtype)
    w, b = torch.randn(4096).to(dtype), torch.randn(4096).to(dtype)
    yield "softmax", lambda: softmax(x), lambda: torch.softmax(x, -1)
    yield "layer_norm", lambda: layer_norm(x, w, b), lambda: torch.nn.functional.layer_norm(x, (4096,), w, b)
    if dtype == torch.float32:
        array, scale, shift = x.numpy(), w.numpy(), b.numpy()
        yield "softmax, NumPy", lambda: softmax(array), lambda: torch.softmax(x, -1)
        yield "layer_norm, NumPy", lambda: layer_norm(array, scale, shift), lambda: torch.nn.functional.layer_norm(x, (4096,), w, b)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args()
    rows, slow = [], []
    print(f"{'4096 x 4096':32} {'ours ms':>9} {'torch ms':>9} {'torch/ours':>11}  quartiles      faults/call")
    for dtype in (torch.float32, torch.bfloat16):
        for name, ours, peer in cases(dtype):
            for kind, call, floor in (("pooled", ours, FLOOR), ("fresh", fresh(ours), FRESH_FLOOR)):
                row = interleaved.compare(peer, call, options.seconds)
                full = f"{name} {str(dtype)[6:]} {kind}"
                row = {"case": full, "ours_s": row["peer_s"], "torch_s": row["ours_s"], "torch_over_ours": row["ours_over_peer"],
                       "low": row["low"], "high": row["high"], "faults": faults_of(call), "floor": floor}
                rows.append(row)
                print(f"{full:32} {row['ours_s'] * 1e3:9.3f} {row['torch_s'] * 1e3:9.3f} {row['torch_over_ours']:11.2f}  "
                      f"{row['low']:.2f} .. {row['high']:.2f}  {row['faults']:10.1f}")
                if row["torch_over_ours"] < floor:
                    slow.append(full)
    interleaved.save("pooled_results", rows)
    if options.check and slow:
        sys.exit(f"below the floor: {', '.join(slow)}")


if __name__ == "__main__":
    main()
