# One small kernel in CuTe DSL for each primitive of the threads, the warp and memory.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each row: what it computes of `a` in lane or thread t, and the same in NumPy. Results are exact, or as close as the ISA
says of the approximate instructions."""

import numpy as np
import pytest
from cute_launch import cute, launch

import cutlass
import torch

arch = cute.arch
Float32, Int32 = cutlass.Float32, cutlass.Int32


def lane_kernel(compute):
    """A kernel of one warp whose lane t stores compute(a, t)."""
    @cute.kernel
    def kernel(a: cute.Tensor, out: cute.Tensor):
        t = arch.thread_idx()[0]
        out[t] = compute(a, t)
    return kernel


def butterfly_sum(a, t):
    value = a[t]
    for shift in (16, 8, 4, 2, 1):
        value = value + arch.shuffle_sync_bfly(value, shift)
    return value


INTEGERS = {
    "shuffle_idx": (lambda a, t: arch.shuffle_sync(a[t], 5), lambda a: np.full(32, a[5])),
    "shuffle_up": (lambda a, t: arch.shuffle_sync_up(a[t], 1, mask_and_clamp=0), lambda a: np.r_[a[0], a[:-1]]),
    "shuffle_down": (lambda a, t: arch.shuffle_sync_down(a[t], 1), lambda a: np.r_[a[1:], a[-1]]),
    "shuffle_bfly": (lambda a, t: arch.shuffle_sync_bfly(a[t], 3), lambda a: a[np.arange(32) ^ 3]),
    "butterfly_sum": (butterfly_sum, lambda a: np.full(32, a.sum())),
    "vote_ballot": (lambda a, t: arch.vote_ballot_sync(a[t] > 20), lambda a: np.full(32, sum(1 << i for i in range(32) if a[i] > 20))),
    "vote_any": (lambda a, t: Int32(arch.vote_any_sync(a[t] == a[3])), lambda a: np.ones(32)),
    "vote_all": (lambda a, t: Int32(arch.vote_all_sync(a[t] == a[3])), lambda a: np.zeros(32)),
    "vote_uniform": (lambda a, t: Int32(arch.vote_uni_sync(t >= 0)), lambda a: np.ones(32)),
    "redux_add": (lambda a, t: arch.warp_redux_sync(a[t], "add"), lambda a: np.full(32, a.sum())),
    "redux_max": (lambda a, t: arch.warp_redux_sync(a[t], "max"), lambda a: np.full(32, a.max())),
    "redux_min": (lambda a, t: arch.warp_redux_sync(a[t], "min"), lambda a: np.full(32, a.min())),
    "redux_and": (lambda a, t: arch.warp_redux_sync(a[t], "and"), lambda a: np.full(32, np.bitwise_and.reduce(a))),
    "redux_xor": (lambda a, t: arch.warp_redux_sync(a[t], "xor"), lambda a: np.full(32, np.bitwise_xor.reduce(a))),
    "match_any": (lambda a, t: arch.match_sync(-1, a[t] & 1, kind="any"), lambda a: np.array(
        [sum(1 << j for j in range(32) if (a[j] ^ a[i]) & 1 == 0) for i in range(32)])),
    "popc": (lambda a, t: arch.popc(a[t]), lambda a: np.array([int(x).bit_count() for x in a])),
    "clz": (lambda a, t: arch.clz(a[t]), lambda a: np.array([32 - int(x).bit_length() for x in a])),
    "brev": (lambda a, t: arch.brev(a[t]), lambda a: np.array([int(f"{int(x):032b}"[::-1], 2) for x in a])),
    "bfind": (lambda a, t: arch.bfind(a[t]), lambda a: np.array([int(x).bit_length() - 1 for x in a])),
    "bfe": (lambda a, t: arch.bfe(a[t], 3, 4), lambda a: (a.astype(np.int32) << 25) >> 28),
    "bfi": (lambda a, t: arch.bfi(a[t], Int32(0), 4, 8), lambda a: (a & 255) << 4),
    "mul_hi": (lambda a, t: arch.mul_hi(a[t], Int32(1 << 30)), lambda a: a >> 2),
    "mul24": (lambda a, t: arch.mul24(a[t], Int32(7)), lambda a: a * 7),
    "mad24": (lambda a, t: arch.mad24(a[t], Int32(7), Int32(3)), lambda a: a * 7 + 3),
    "prmt": (lambda a, t: Int32(arch.prmt(a[t], 0, 0x4440)), lambda a: a & 255),
    "lop3": (lambda a, t: arch.lop3(a[t], Int32(12), Int32(10), 0x96), lambda a: a ^ 12 ^ 10),
    "lanemask_lt": (lambda a, t: arch.lanemask_lt(), lambda a: (1 << np.arange(32)) - 1),
    "activemask": (lambda a, t: arch.activemask(), lambda a: np.full(32, 0xFFFFFFFF)),
    "lane_and_warp": (lambda a, t: arch.lane_idx() + 100 * arch.warp_idx(), lambda a: np.arange(32)),
}


@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name):
    compute, expected = INTEGERS[name]
    a = torch.randperm(64, generator=torch.Generator().manual_seed(1))[:32].to(torch.int32) + 1
    out = torch.zeros(32, dtype=torch.int32)
    assert launch(lane_kernel(compute), a, out).ok
    want = np.asarray(expected(a.numpy().astype(np.int64)), dtype=np.int64)
    np.testing.assert_array_equal(out.numpy().view(np.uint32), want.astype(np.uint32))


REALS = {  # arch, computation, reference, relative error
    "exp2": ("sm_90a", lambda a, t: arch.exp2(a[t]), np.exp2, 2**-22),
    "rcp": ("sm_90a", lambda a, t: arch.rcp_approx(a[t]), lambda a: 1 / a, 2**-22),
    "sqrt": ("sm_90a", lambda a, t: cute.math.sqrt(a[t], fastmath=False), np.sqrt, 2**-24),
    "rsqrt": ("sm_90a", lambda a, t: cute.math.rsqrt(a[t], fastmath=True), lambda a: 1 / np.sqrt(a), 2**-22),
    "fmax": ("sm_90a", lambda a, t: arch.fmax(a[t], Float32(1)), lambda a: np.maximum(a, 1), 0),
    "fmin": ("sm_90a", lambda a, t: arch.fmin(a[t], Float32(1)), lambda a: np.minimum(a, 1), 0),
    "tf32": ("sm_90a", lambda a, t: Float32(cutlass.TFloat32(a[t])), lambda a: a, 2**-11),
    "bf16": ("sm_90a", lambda a, t: Float32(cutlass.BFloat16(a[t])), lambda a: a, 2**-8),
    "f16": ("sm_90a", lambda a, t: Float32(cutlass.Float16(a[t])), lambda a: a, 2**-11),
    "fma_f32x2": ("sm_100a", lambda a, t: arch.fma_packed_f32x2((a[t], a[t]), (a[t], a[t]), (a[t], a[t]))[1],
                  lambda a: a * a + a, 2**-24),
    "mul_f32x2": ("sm_100a", lambda a, t: arch.mul_packed_f32x2((a[t], a[t]), (a[t], a[t]))[0], lambda a: a * a, 2**-24),
    "add_f32x2": ("sm_100a", lambda a, t: arch.add_packed_f32x2((a[t], a[t]), (a[t], a[t]))[0], lambda a: a + a, 0),
}


@pytest.mark.parametrize("name", REALS)
def test_reals(name):
    where, compute, expected, error = REALS[name]
    a = torch.rand(32, generator=torch.Generator().manual_seed(2)) * 3 + 0.25
    out = torch.zeros(32)
    assert launch(lane_kernel(compute), a, out, arch=where).ok
    want = expected(a.double().numpy())
    assert (np.abs(out.double().numpy() - want) <= error * np.abs(want)).all()
