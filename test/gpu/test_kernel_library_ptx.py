"""Every shipped kernel as PTX on the simulator, checks on, within the bounds that follow from its program, at odd extents.

test/oracle/test_kernel_library.py compares the same programs with torch.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import importlib

import ml_dtypes
import numpy as np
import pytest

from tessera import kernels, oracle

rows, gradients, fourier = (importlib.import_module(f"tessera.kernels.{name}") for name in ("rows", "attention_gradient", "fourier"))
SMALL = dict(BLOCK_M=32, BLOCK_N=32)


def normal(*shape, dtype=np.float16, seed=0):
    return np.random.default_rng((seed, *shape)).standard_normal(shape).astype(dtype)


def cases() -> dict:
    wide = lambda *shape, seed=0: normal(*shape, dtype=np.float32, seed=seed)  # noqa: E731
    q, k, v, do = (normal(1, h, n, 32, seed=i) for i, (h, n) in enumerate(((4, 37), (2, 51), (2, 51), (4, 37))))
    x, w, b, dy = normal(9, 70), normal(70), normal(70, seed=1), normal(9, 70, seed=1)
    label, words, scale = np.arange(9) * 7 % 70, *kernels.quantise(wide(128, 40), group=64)
    p, n = wide(1, 4, 37, seed=8), (np.abs(wide(1, 4, 37, seed=9)) + 6).astype(np.float32)
    p_, q_, tables = fourier._tables(36, -1, "float32")
    eight = lambda *shape, seed=0: wide(*shape, seed=seed).astype(ml_dtypes.float8_e4m3fn)  # noqa: E731
    kept, meta = kernels.sparsify(normal(33, 96))
    mx = (*kernels.quantise_mx(wide(33, 96)), *kernels.quantise_mx(wide(96, 50, seed=1), axis=0))
    lengths = np.array([0, 10, 10, 37]), np.array([0, 20, 23, 51])
    packed = normal(37, 4, 32), normal(51, 2, 32, seed=1), normal(51, 2, 32, seed=2)
    planes = wide(3, 36).reshape(3, p_, q_), wide(3, 36, seed=1).reshape(3, p_, q_)
    return {
        "batched_gemm": (kernels.batched_gemm, (normal(2, 33, 40), normal(2, 40, 50)), dict(SMALL, BLOCK_K=32)),
        "grouped_gemm": (kernels.grouped_gemm, (normal(61, 40), normal(4, 40, 50), np.array([0, 10, 10, 47, 61])), dict(SMALL, BLOCK_K=32)),
        "gemm_w4a16": (kernels.gemm_w4a16, (normal(33, 128), words, scale), dict(SMALL, GROUP=64)),
        "gemm_sparse": (kernels.gemm_sparse, (kept, meta, normal(96, 50)), dict(SMALL, BLOCK_K=64)),
        "gemm_mx": (kernels.gemm_mx, (*mx, np.zeros((33, 50), np.float32)), dict(SMALL, BLOCK_K=64)),
        "gemm_fp8_blocks": (kernels.gemm_fp8_blocks, (eight(33, 256), np.abs(wide(33, 2)), eight(256, 130), np.abs(wide(2, 2)), np.zeros((33, 130), np.float32)),
                            dict(BLOCK_M=32)),
        "attention_variable": (kernels.attention_variable, (*packed, *lengths), dict(SMALL, causal=True)),
        "attention, window": (kernels.flash_attention, (q, k, v), dict(SMALL, causal=True, window=9)),
        "attention_with_sums": (kernels.attention_with_sums, (q, k, v), dict(SMALL, causal=True)),
        "row_products": (gradients.row_products, (q, do), {}),
        "gradient_of_keys": (gradients.gradient_of_keys, (q, k, v, n, p, do), dict(SMALL, causal=True)),
        "gradient_of_queries": (gradients.gradient_of_queries, (q, k, v, n, p, do), dict(SMALL, causal=True)),
        "softmax_gradient": (kernels.softmax_gradient, (x, dy), {}),
        "rms_norm": (kernels.rms_norm, (x, w), {}),
        "layer_norm": (kernels.layer_norm, (x, w, b), {}),
        "layer_norm_input_gradient": (rows.layer_norm_input_gradient, (x, w, dy), {}),
        "layer_norm_weight_gradient": (rows.layer_norm_weight_gradient, (x, dy, wide(9), wide(9, seed=1)), SMALL),
        "rms_norm_input_gradient": (rows.rms_norm_input_gradient, (x, w, dy), {}),
        "rms_norm_weight_gradient": (rows.rms_norm_weight_gradient, (x, dy, wide(9)), SMALL),
        "cross_entropy": (kernels.cross_entropy, (x, label), dict(BLOCK_N=32)),
        "cross_entropy_gradient": (kernels.cross_entropy_gradient, (x, label, wide(9) + 6, wide(9, seed=1)), dict(BLOCK_N=32)),
        "fourier": (fourier.transform, (*planes, *tables), {}),
    }


@pytest.mark.parametrize("name", cases())
def test_on_the_simulator(name):
    fn, args, constants = cases()[name]
    if name == "gemm_fp8_blocks":  # from sm_89 on; with the bound of its tensor cores
        return fn.check(*args, **constants, target="sm_89")
    got = fn(*args, **constants, target="sim:sm_80")
    if got is None:  # into a given result
        got = args[-1].copy()
        args[-1].fill(0)
    for result, bound in zip(got if isinstance(got, tuple) else (got,), oracle.bounds(fn, *args, **constants), strict=True):
        oracle.assert_within(result, bound)
        assert np.isfinite(bound[1]).all(), "and the bound says something"


def test_the_bound_has_teeth():
    fn, args, constants = cases()["cross_entropy"]
    loss, _ = fn(*args, **constants, target="sim:sm_80")
    with pytest.raises(AssertionError):
        oracle.assert_within(loss * np.float32(1.001), oracle.bounds(fn, *args, **constants)[0])
