#!/usr/bin/env python3
# Runs the compiled conversions over all float32 values and compares bit for bit.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every float32 converted by compiled code, against NumPy and ml_dtypes.

    python3 tools/math/exhaustive_casts.py               # all 2^32 values
    python3 tools/math/exhaustive_casts.py --stride 257  # every 257th block of 2^20, for CI

Exits with 1 if a conversion differs in one bit (NaN counts as NaN).
"""

import argparse
import sys

import ml_dtypes
import numpy as np

import tessera as tsr

BLOCK = 1 << 20
TARGETS = {"fp16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16), "fp64": np.dtype(np.float64), "i32": np.dtype(np.int32), "i64": np.dtype(np.int64)}


def differing(target: str, fn, bits: np.ndarray) -> int:
    x = bits.view(np.float32)
    with np.errstate(all="ignore"):
        if target[0] == "i":  # defined where the value fits
            width = 31 if target == "i32" else 63
            x = x[np.abs(x) < np.float32(2.0**width)]
        got, want = fn(x), x.astype(TARGETS[target])
        if target[0] == "i":
            return int((got != want).sum())
        same = got.view(f"u{got.itemsize}") == want.view(f"u{want.itemsize}")
        return int((~same & ~(np.isnan(x) & np.isnan(got.astype(np.float32)))).sum())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--stride", type=int, default=1)
    stride, bad = parser.parse_args().stride, 0
    for target in TARGETS:
        fn = tsr.compile_source(f'@tsr.function\ndef f(x: Tensor["N", fp32]):\n    return x.to({target})\n').f
        wrong, blocks = 0, range(0, (1 << 32) // BLOCK, stride)
        for number, block in enumerate(blocks):
            wrong += differing(target, fn, np.arange(block * BLOCK, (block + 1) * BLOCK, dtype=np.uint32))
            if sys.stderr.isatty():
                print(f"\r{target} {100 * number // len(blocks)} %", end="", file=sys.stderr)
        if sys.stderr.isatty():
            print("\r", end="", file=sys.stderr)
        print(f"fp32 -> {target}: {len(blocks) * BLOCK} values, {wrong} differ", flush=True)
        bad += wrong
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
