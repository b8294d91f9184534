"""A program for each planted miscompile, with inputs that show it.

`PROGRAMS` maps the name of a patch (without .patch) to (function or kernel, arguments). They are right when nothing is planted:
test_planted.py checks that in CI; planted.py plants.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import ml_dtypes
import numpy as np

import tessera as tsr
from tessera import Out, Tensor, const

# ---- Graph IR --------------------------------------------------------------------------------------


@tsr.function
def modulo_of_modulo(x: Tensor["N", tsr.i32]):
    return x % 64 % 7


@tsr.function
def reciprocal(x: Tensor["M", "N"]):
    return 1.0 / x


@tsr.function
def product_with_transposed(x: Tensor["M", "N"], y: Tensor["N", "N"]):
    return x @ y.transpose(0, 1)


@tsr.function
def broadcast_twice(x: Tensor["N"], y: Tensor["N", "N", "N"]):
    return tsr.expand(x, (N, N)) + y


@tsr.function
def strictly_causal(q: Tensor["S", 16], k: Tensor["S", 16], v: Tensor["S", 16]):
    i, j = tsr.arange(S), tsr.arange(S)
    scores = q @ k.transpose(0, 1) * 0.25
    return tsr.softmax(tsr.where(i[:, None] > j[None, :], scores, -tsr.inf)) @ v


# ---- Graph IR to Schedule IR -----------------------------------------------------------------------


@tsr.function
def normed(x: Tensor["M", "N"], g: Tensor["N"], b: Tensor["N"]):
    return tsr.layer_norm(x, g, b)


@tsr.function
def two_roundings(x: Tensor["M", "N", tsr.bf16], y: Tensor["M", "N", tsr.bf16]):
    return (x + y) - x


@tsr.kernel
def doubled(X: tsr.InOut["N"]):
    for n in tsr.grid(tsr.tile(N, 64)):
        X[n] = X[n] * 2


@tsr.function
def before_and_after(x: Tensor["N"]):
    y = tsr.exp(x)
    z = doubled(y)
    return y + z


# ---- Schedule IR to Tile IR ------------------------------------------------------------------------


@tsr.function
def product(x: Tensor["M", "K"], y: Tensor["K", "N"]):
    return x @ y


@tsr.function
def row_maxima(x: Tensor["M", "N"]):
    return tsr.max(x, dim=1)


@tsr.function
def every_third(x: Tensor["M", "N"]):
    return x[:, 1::3] * 2


@tsr.function
def attention_with_wide_values(q: Tensor["S", 16], k: Tensor["T", 16], v: Tensor["T", 32]):
    return tsr.attention(q, k, v)


@tsr.function
def running_sum(x: Tensor["M", "N"]):
    return tsr.cumsum(x, dim=1)


@tsr.function
def rounded(x: Tensor["N"]):
    return tsr.round(x)


@tsr.function
def sum_of_all(x: Tensor["N"]):
    return tsr.sum(x)


@tsr.function
def joined(x: Tensor["M", "N"], y: Tensor["M", "K"]):
    return tsr.cat([x, y], dim=1)


# ---- Tile IR ---------------------------------------------------------------------------------------


@tsr.kernel
def after_the_last_tile(X: Tensor["M", "N"], Y: Out["M", "N"]):
    for m in tsr.grid(tsr.tile(M, 4)):
        last = tsr.zeros(m)
        for n in tsr.tile(N, 16):
            new = tsr.sum(X[m, n], n)
            Y[m, n] = X[m, n] + last  # the old one, read after the new one is computed
            last = new


@tsr.kernel
def read_in_every_turn(X: Tensor["M", "N"], Z: Tensor["M", "K"], Y: Out["M", "N"]):
    for m in tsr.grid(tsr.tile(M, 16)):
        k = tsr.range_at(K, 0, 32)
        factor = tsr.sum(Z[m, k], k)
        for n in tsr.tile(N, 16):
            s = tsr.sum(X[m, n] * factor, n)
            top = tsr.max(Z[m, k] + s, k)
            Y[m, n] = X[m, n] + top


@tsr.kernel
def written_then_read(X: Tensor["N"], Y: tsr.InOut["N"], Z: Out["N"]):
    for p in tsr.grid(1):
        for n in tsr.tile(N, 64):
            Y[n] = X[n] * 2
            Z[n] = Y[N - 1 - n.index]


@tsr.kernel
def gemm(A: Tensor["M", "K"], B: Tensor["K", "N"], C: Out["M", "N"], BM: const = 16, BN: const = 16, BK: const = 8):
    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN)):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, BK):
            acc += A[m, k] @ B[k, n]
        C[m, n] = acc


# ---- CPU -------------------------------------------------------------------------------------------


@tsr.function
def row_sums(x: Tensor["M", "N"]):
    return tsr.sum(x, dim=1)


@tsr.function
def first_largest(x: Tensor["M", "N"]):
    return tsr.argmax(x, dim=1)


@tsr.function
def to_bf16(x: Tensor["N"]):
    return x.to(tsr.bf16)


@tsr.kernel
def gathered(x: Tensor["M", "N"], at: Tensor["M", "K", tsr.i32], y: Out["M", "K"]):
    """A position outside reads 0 in a kernel."""
    for m, k in tsr.grid(tsr.tile(M, 4), tsr.tile(K, 4)):
        y[m, k] = x[m, at[m, k]]


@tsr.function
def exponentials(x: Tensor["N"]):
    return tsr.exp(x)


def _programs() -> dict:
    random = np.random.default_rng(2026)

    def whole(*shape):
        """Whose sum is exact: the bound of one of so many roundings, in any order, would decide nothing."""
        return random.integers(-8, 9, shape).astype(np.float32)

    def normal(*shape, dtype=np.float32):
        return random.standard_normal(shape).astype(dtype)

    ties = (1 + np.arange(1, 80, 2) * 2.0**-8).astype(np.float32)  # halfway between two numbers of bf16
    around = normal(6, 9)  # rows 1 to 4 are the argument: what an index of -1 would read is there, and is not 0
    return {
        "modulo-of-modulo": (modulo_of_modulo, (np.arange(200, dtype=np.int32),)),
        "left-identity": (reciprocal, (normal(3, 5),)),
        "transpose-flag-lost": (product_with_transposed, (normal(5, 7), normal(7, 7))),
        "broadcast-axis": (broadcast_twice, (normal(6), normal(6, 6, 6))),
        "strict-mask-as-causal": (strictly_causal, (normal(9, 16), normal(9, 16), normal(9, 16))),
        "layer-norm-count": (normed, (normal(4, 11), normal(11), normal(11))),
        "skipped-rounding": (two_roundings, (normal(4, 9, dtype=ml_dtypes.bfloat16), normal(4, 9, dtype=ml_dtypes.bfloat16))),
        "updated-in-place": (before_and_after, (normal(100),)),
        "grid-too-small": (product, (normal(131, 9), normal(9, 70))),
        "max-from-zero": (row_maxima, (-np.abs(normal(4, 20)),)),
        "slice-stride": (every_third, (normal(4, 20),)),
        "attention-scale": (attention_with_wide_values, (normal(5, 16), normal(7, 16), normal(7, 32))),
        "scan-restarts": (running_sum, (normal(3, 2100),)),
        "half-rounded-up": (rounded, (np.array([0.5, 1.5, 2.5, -0.5, -1.5, 0.3], np.float32),)),
        "chunk-off-by-one": (sum_of_all, (whole(3 * 16384),)),
        "concat-offset": (joined, (normal(4, 9), normal(4, 5))),
        "carried-in-place": (after_the_last_tile, (normal(7, 37),)),
        "stale-buffer": (read_in_every_turn, (normal(20, 40), normal(20, 21))),
        "read-moved-over-write": (written_then_read, (normal(50), normal(50))),
        "tail-mask": (row_sums, (normal(16, 19),)),
        "last-k-dropped": (gemm, (normal(21, 19), normal(19, 35))),
        "last-of-ties": (first_largest, (np.ones((4, 9), np.float32),)),
        "ties-round-down": (to_bf16, (ties,)),
        "negative-index": (gathered, (around[1:5], np.tile(np.array([3, -1, 8, 9], np.int32), (4, 1)))),
        "exp-low-bits": (exponentials, (np.linspace(-80, 80, 300, dtype=np.float32),)),
    }


PROGRAMS = _programs()
