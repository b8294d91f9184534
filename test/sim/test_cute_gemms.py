# Gemms of our own in CuTe DSL, on sm_90a and sm_100a, against NumPy in float64.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks are on. Bounds are derived: a product of K terms in fp32 that the tensor core cuts after each step of K, and one
rounding of the result."""

import numpy as np
import pytest
from cute_launch import TORCH, cute, host, run

import cute_gemm_blockscaled
import cute_gemm_grouped
import cute_gemm_sm90
import cute_gemm_sm100
import cutlass
import torch
from cutlass import BFloat16, Float8E4M3FN, Float16, Float32, TFloat32


def reals(dtype, rows, columns, contiguous=1, seed=0):
    """Random numbers of an element type, and the same in float64."""
    values = torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed)).to(TORCH[dtype])
    if dtype is TFloat32:
        values = (values.view(torch.int32) & -(1 << 13)).view(torch.float32)
    exact = values.double().numpy()
    return values if contiguous else values.t().contiguous().t(), exact


ROUNDING = {Float32: 2**-24, Float16: 2**-11, BFloat16: 2**-8}


def check_bound(d, a, b, dtype, cut=2**-23):
    """`cut` is what the sum may lose of the largest term at each of its steps (docs/simulator.md, "Tensor cores")."""
    want, terms = a @ b.T, np.abs(a) @ np.abs(b).T
    bound = ROUNDING[dtype] * np.abs(want) + (1 + ROUNDING[dtype]) * a.shape[1] * cut * terms
    off = np.abs(d.double().numpy() - want)
    assert (off <= bound).all(), (off / bound).max()


SM90 = {  # operands, result, problem, of the kernel, contiguous dimensions of a and b
    "dense": (Float16, Float16, (192, 128, 192), dict(clusters=6), 1, 1),
    "persistent": (BFloat16, BFloat16, (256, 192, 128), dict(clusters=3), 1, 1),
    "two_groups": (Float16, Float32, (256, 128, 128), dict(tile=(128, 64, 64), groups=2, clusters=1), 1, 1),
    "edges": (Float16, Float16, (200, 104, 72), dict(clusters=2), 1, 1),
    "multicast": (Float16, Float16, (256, 256, 128), dict(cluster=(2, 2), clusters=1), 1, 1),
    "majors": (BFloat16, Float32, (128, 128, 128), dict(stages=2), 0, 0),
    "fp8": (Float8E4M3FN, Float16, (128, 128, 256), dict(tile=(64, 64, 128)), 1, 1),
}


def sm90(name, seed=None, **changes):
    operand, result, (m, n, k), options, first, second = SM90[name]
    (a, x), (b, y) = reals(operand, m, k, first, 1), reals(operand, n, k, second, 2)
    d = torch.zeros(m, n, dtype=TORCH[result])
    schedule = {} if seed is None else {"adversarial": True, "seed": seed}
    assert run(cute_gemm_sm90.Gemm(Float32, **{**options, **changes}), a, b, d, arch="sm_90a", **schedule).ok
    # fp8 keeps 13 bits of the sum.
    check_bound(d, x, y, result, 2**-12 if operand is Float8E4M3FN else 2**-23)


@pytest.mark.parametrize("name", SM90)
def test_gemms_for_sm90(name):
    sm90(name)


@pytest.mark.parametrize("seed", [1, 2])
def test_adversarial_schedules_for_sm90(seed):
    sm90("multicast", seed)


@pytest.mark.parametrize("broken, finding", [("wait", "async-copy|race"), ("release", "async-copy|race"), ("proxy", "proxy")])
def test_broken_gemms_for_sm90_are_found(broken, finding):
    with pytest.raises(host.SimulationError, match=finding):
        sm90("persistent", broken=broken)


SM100 = {
    "dense": (Float16, Float16, (256, 128, 192), dict(clusters=4), 1, 1),
    "persistent": (BFloat16, BFloat16, (384, 192, 128), dict(clusters=2), 1, 1),
    "tf32": (TFloat32, Float32, (256, 64, 64), dict(tile=(128, 64, 32), tf32=True), 1, 1),
    "majors": (BFloat16, Float32, (128, 128, 128), dict(stages=2), 0, 0),
    "fp8": (Float8E4M3FN, Float16, (256, 64, 256), dict(tile=(128, 64, 128)), 1, 1),
    "two_cta": (Float16, Float16, (512, 128, 192), dict(tile=(256, 64, 64), cluster=(2, 1), pair=True, clusters=1), 1, 1),
    "two_cta_multicast": (BFloat16, BFloat16, (512, 256, 128),
                          dict(tile=(256, 64, 64), cluster=(4, 2), pair=True, clusters=1), 1, 1),
    "multicast": (Float16, Float16, (512, 256, 128), dict(cluster=(2, 2), clusters=1), 1, 1),
}


def sm100(name, seed=None, **changes):
    operand, result, (m, n, k), options, first, second = SM100[name]
    (a, x), (b, y) = reals(operand, m, k, first, 1), reals(operand, n, k, second, 2)
    d = torch.zeros(m, n, dtype=TORCH[result])
    schedule = {} if seed is None else {"adversarial": True, "seed": seed}
    assert run(cute_gemm_sm100.Gemm(Float32, **{**options, **changes}), a, b, d, arch="sm_100a", **schedule).ok
    check_bound(d, x, y, result)


@pytest.mark.parametrize("name", SM100)
def test_gemms_for_sm100(name):
    sm100(name)


@pytest.mark.parametrize("seed", [1, 2])
def test_adversarial_schedules_for_sm100(seed):
    sm100("two_cta_multicast", seed)


@pytest.mark.parametrize("broken, finding", [("wait", "async-copy|race"), ("room", "tensor")])
def test_broken_gemms_for_sm100_are_found(broken, finding):
    with pytest.raises(host.SimulationError, match=finding):
        sm100("persistent", broken=broken)


E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def in_atoms(scales):
    """CuTe's order: atoms of 128 rows by 4 scales, row r at 16 (r mod 32) + 4 (r div 32), atoms of a row first."""
    rows, columns = scales.shape
    return np.ascontiguousarray(scales.reshape(rows // 128, 4, 32, columns // 4, 4).transpose(0, 3, 2, 1, 4)).reshape(-1)


def block_scaled(kind, rows, k, seed):
    """Bytes of an operand and of its scales, and what they stand for."""
    rng = np.random.default_rng(seed)
    if kind == "mxfp8":
        numbers = rng.integers(0, 0x60, (rows, k), dtype=np.uint8) | rng.integers(0, 2, (rows, k), dtype=np.uint8) << 7
        values = torch.from_numpy(numbers).view(torch.float8_e4m3fn).double().numpy()
        scales = rng.integers(122, 132, (rows, k // 32), dtype=np.uint8)
        factors = 2.0**(scales.astype(np.float64) - 127)
    else:
        codes = rng.integers(0, 16, (rows, k), dtype=np.uint8)
        numbers, values = codes[:, ::2] | codes[:, 1::2] << 4, E2M1[codes]
        scales = rng.integers(0x20, 0x48, (rows, k // 16), dtype=np.uint8)
        factors = torch.from_numpy(scales).view(torch.float8_e4m3fn).double().numpy()
    exact = values * np.repeat(factors, k // scales.shape[1], axis=1)
    return torch.from_numpy(np.ascontiguousarray(numbers)), torch.from_numpy(in_atoms(scales)), exact


BLOCK_SCALED = {
    "mxfp8": (cutlass.Float8E4M3FN, cutlass.Float8E8M0FNU, 32, (256, 256, 256), (128, 128, 128)),
    "nvfp4": (cutlass.Float4E2M1FN, cutlass.Float8E4M3FN, 16, (256, 128, 512), (128, 128, 256)),
}


def run_block_scaled(name, **changes):
    (m, n, k) = BLOCK_SCALED[name][3]
    (a, scales_a, x), (b, scales_b, y) = block_scaled(name, m, k, 1), block_scaled(name, n, k, 2)
    d = torch.zeros(m, n)
    gemm = cute_gemm_blockscaled.Gemm(*BLOCK_SCALED[name], **changes)
    assert run(gemm, a, b, scales_a, scales_b, d, arch="sm_100a").ok
    check_bound(d, x, y, Float32)


@pytest.mark.parametrize("name", BLOCK_SCALED)
def test_block_scaled_gemms(name):
    run_block_scaled(name)


def test_a_broken_block_scaled_gemm_is_found():
    with pytest.raises(host.SimulationError, match="async-copy|race|uninit"):
        run_block_scaled("mxfp8", broken="wait")


PROBLEMS = [(64, 64, 64), (100, 72, 200), (8, 200, 16), (130, 64, 128)]


def run_grouped(seed=None, **changes):
    operands = [(reals(Float16, m, k, 1, i), reals(Float16, n, k, 1, 10 + i), torch.full((m, n), 7.0))
                for i, (m, n, k) in enumerate(PROBLEMS)]
    addresses = torch.tensor([[a.data_ptr(), b.data_ptr(), d.data_ptr()] for (a, _), (b, _), d in operands])
    maps = torch.zeros(2, 2, 16, dtype=torch.int64)
    schedule = {} if seed is None else {"adversarial": True, "seed": seed}
    assert run(cute_gemm_grouped.Gemm(**changes), torch.tensor(PROBLEMS, dtype=torch.int32), addresses, maps, operands[0][0][0],
               arch="sm_90a", **schedule).ok
    for (_, x), (_, y), d in operands:
        check_bound(d, x, y, Float32)


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_grouped_gemms(seed):
    run_grouped(seed)


def test_tensor_maps_that_nobody_acquires_are_found():
    with pytest.raises(host.SimulationError, match="proxy|tensor map"):
        run_grouped(broken="acquire")
