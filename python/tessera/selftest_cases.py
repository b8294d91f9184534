"""What `tessera gpu-selftest` runs: the shipped kernels at aligned and odd extents, and the extents they are timed at.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import dataclasses
import importlib
from typing import Any, Callable

import numpy as np

import tessera as tsr

from . import kernels
from .dtypes import by_name, to_numpy


@tsr.function
def transposed(x):
    return tsr.transpose(x, 0, 1)


@tsr.function
def shifted(x, y):
    return tsr.softmax(x + y, dim=-1) * 2.0


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    fn: Any
    make: Callable  # (Inputs, *extents) -> arguments
    dtypes: tuple[str, ...]
    extents: tuple[tuple[int, ...], ...]  # aligned ones, then odd ones
    timed: tuple[int, ...] | None = None  # extents worth a time on a GPU
    constants: dict = dataclasses.field(default_factory=dict)
    exact: bool = False  # bits are compared: data movement, or small integers
    work: Callable | None = None  # (*extents) -> floating-point operations


class Inputs:
    """Random arrays that are the same on every machine."""

    def __init__(self, dtype: str, extents: tuple):
        self.random, self.dtype = np.random.default_rng(extents), to_numpy(by_name(dtype).storage)

    def normal(self, *shape):
        return self.random.standard_normal(shape, np.float32).astype(self.dtype)

    def small(self, *shape):
        return self.random.integers(-2, 3, shape).astype(self.dtype)

    def positive(self, *shape):
        return self.random.uniform(0.5, 1.5, shape).astype(self.dtype)


def _gemm(x, m, n, k):
    return x.normal(m, k), x.normal(k, n)


def _attention(x, b, h, hk, s, t, d):
    return x.normal(b, h, s, d), x.normal(b, hk, t, d), x.normal(b, hk, t, d)


def _grouped(x, m, n, k, groups):
    start = np.linspace(0, m, groups + 1).astype(np.int64)
    return x.normal(m, k), x.normal(groups, k, n), start


def _w4a16(x, m, n, k):
    words, scale = kernels.quantise(x.random.standard_normal((k, n)).astype(np.float32))
    return x.normal(m, k), words, scale.astype(x.dtype)


def _cross_entropy(x, m, n):
    return x.normal(m, n), x.random.integers(0, n, m)


_rows = importlib.import_module("tessera.kernels.rows")
_gradients = importlib.import_module("tessera.kernels.attention_gradient")
_HALF, _ALL = ("fp16", "bf16"), ("fp16", "bf16", "fp32")
_GEMM = ((128, 128, 64), (256, 128, 128), (65, 127, 33), (1, 200, 7))
_ROWS = ((8, 256), (7, 65), (3, 1000))
_HEADS = ((1, 2, 2, 128, 128, 64), (1, 4, 2, 65, 127, 64), (1, 1, 1, 33, 200, 80))

CASES = (
    Case("transpose", transposed, lambda x, m, n: (x.normal(m, n),), ("fp32", "fp16", "i32"), ((64, 128), (7, 65)), (8192, 8192), exact=True),
    Case("gemm of small integers", kernels.gemm, lambda x, m, n, k: (x.small(m, k), x.small(k, n)), _ALL, _GEMM, exact=True),
    Case("gemm", kernels.gemm, _gemm, _ALL, _GEMM, (4096, 4096, 4096), work=lambda m, n, k: 2 * m * n * k),
    Case("linear_gelu", kernels.linear_gelu, lambda x, m, n, k: (x.normal(m, k), x.normal(n, k), x.normal(n)), _HALF, _GEMM[::2], (4096, 4096, 4096),
         work=lambda m, n, k: 2 * m * n * k),
    Case("batched_gemm", kernels.batched_gemm, lambda x, b, m, n, k: (x.normal(b, m, k), x.normal(b, k, n)), ("fp16",), ((2, 128, 128, 64), (3, 33, 65, 17)),
         (16, 1024, 1024, 1024), work=lambda b, m, n, k: 2 * b * m * n * k),
    Case("grouped_gemm", kernels.grouped_gemm, _grouped, ("fp16",), ((128, 128, 64, 4), (65, 33, 47, 3))),
    Case("gemm_w4a16", kernels.gemm_w4a16, _w4a16, ("fp16",), ((64, 128, 128), (7, 65, 256)), (16, 4096, 4096), work=lambda m, n, k: 2 * m * n * k),
    Case("flash_attention", kernels.flash_attention, _attention, _HALF, _HEADS, (4, 16, 16, 2048, 2048, 64), work=lambda b, h, hk, s, t, d: 4 * b * h * s * t * d),
    Case("flash_attention, causal", kernels.flash_attention, _attention, ("fp16",), _HEADS, (4, 16, 16, 2048, 2048, 128), {"causal": True},
         work=lambda b, h, hk, s, t, d: 2 * b * h * s * t * d),
    Case("attention_with_sums", _gradients.attention_with_sums, _attention, ("fp16",), _HEADS[1:2]),
    Case("softmax", kernels.softmax, lambda x, m, n: (x.normal(m, n),), _ALL, _ROWS, (8192, 4096)),
    Case("softmax_gradient", kernels.softmax_gradient, lambda x, m, n: (x.positive(m, n), x.normal(m, n)), ("fp32",), _ROWS[:2], (8192, 4096)),
    Case("layer_norm", kernels.layer_norm, lambda x, m, n: (x.normal(m, n), x.normal(n), x.normal(n)), ("fp32", "fp16"), _ROWS, (8192, 4096)),
    Case("rms_norm", kernels.rms_norm, lambda x, m, n: (x.normal(m, n), x.normal(n)), ("fp32", "fp16"), _ROWS, (8192, 4096)),
    Case("cross_entropy", kernels.cross_entropy, _cross_entropy, ("fp32",), _ROWS[:2], (8192, 4096)),
    Case("several kernels", shifted, lambda x, m, n: (x.normal(m, n), x.normal(m, n)), ("fp32",), _ROWS[:2]),
)


def runs() -> list[tuple[Case, str, tuple, str]]:
    """(case, dtype, extents, "check" or "time"): everything that is checked, then everything that is timed."""
    checked = [(case, dtype, extents, "check") for case in CASES for dtype in case.dtypes for extents in case.extents]
    timed = [(case, dtype, case.timed, "time") for case in CASES if case.timed for dtype in case.dtypes]
    return checked + timed
