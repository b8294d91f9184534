#!/usr/bin/env python3
# Runs compiled code on tensors of more than 2^31 elements; a command, because it needs 9 GB of memory.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One input of more than 2^31 elements, a small output: is every address a 64-bit one?

    python test/oracle/huge.py

Values stand on both sides of 2^31 and 2^32 bytes and elements, so that an offset that was cut to 32 bits reads another one.
"""

import sys

import numpy as np

import tessera as tsr
from tessera import Out, Tensor

N = 2**31 + 12345


@tsr.function
def largest(x: Tensor["N"]):
    return tsr.max(x), tsr.argmax(x, dim=0)


@tsr.function
def row_sums(x: Tensor["M", "N"]):
    return tsr.sum(x, dim=1)


@tsr.function
def column_sums(x: Tensor["M", "N"]):
    return tsr.sum(x, dim=0)


@tsr.kernel
def tile_sums(X: Tensor["M", "N"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 1)):
        total = tsr.zeros(m)
        for n in tsr.tile(N, 4096):
            total += tsr.sum(X[m, n].to(tsr.fp32), n)
        Y[m] = total


def main() -> int:
    bad = 0

    def check(what: str, got, want) -> None:
        nonlocal bad
        right = bool(np.array_equal(np.asarray(got, np.float64), np.asarray(want, np.float64)))
        bad += not right
        print(f"{what:44} {'right' if right else f'WRONG: {got}, not {want}'}", flush=True)

    x = np.zeros(N, np.float16)
    for place in (5, 2**30 + 3, 2**31 - 1, 2**31 + 7, N - 1):
        x[place] = 3
        top, where = largest(x)
        check(f"max and argmax, the largest at {place}", (top, where), (3, place))
        x[place] = 0
    wide = x[: 2 * (N // 2)].reshape(2, N // 2)
    wide[0, 7], wide[1, 3], wide[1, -1] = 1, 2, 4
    check("row sums of 2 x 2^30", row_sums(wide), (1, 6))
    check("the same in tiles", tile_sums(wide), (1, 6))
    wide[...] = 0
    tall = x[: 3 * (N // 3)].reshape(N // 3, 3)
    tall[-1] = (1, 2, 4)
    tall[0] = (8, 8, 8)
    check("column sums of 7 * 10^8 x 3", column_sums(tall), (9, 10, 12))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
