# One tile of each kind of wgmma in CuTe DSL: operands by TMA, results out of the accumulators.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operands are small integers, so every product and sum is exact and equals NumPy's in float64."""

import pytest
from cute_launch import barriers, cute, host, integers, run

import cutlass
import torch
from cutlass import BFloat16, Float8E4M3FN, Float8E5M2, Float16, Float32, Int8, Int32, Uint8
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, warpgroup
import cutlass.utils.hopper_helpers as sm90_utils
from cutlass.utils import LayoutEnum

arch = cute.arch
SMEM, RMEM = warpgroup.OperandSource.SMEM, warpgroup.OperandSource.RMEM


def product(kinds, tile, a_major="k", b_major="k", source=SMEM, groups=1, broken=None):
    """One block of `groups` warp groups multiplies one tile; `broken` leaves something out."""
    a_type, b_type, acc_type = kinds
    threads = 128 * groups

    @cute.kernel
    def kernel(mma: cute.TiledMma, atom_a: cute.CopyAtom, source_a: cute.Tensor, atom_b: cute.CopyAtom, source_b: cute.Tensor,
               a: cute.Tensor, out: cute.Tensor, shape_a: cute.ComposedLayout, shape_b: cute.ComposedLayout):
        t = arch.thread_idx()[0]
        full = barriers(1)
        memory = cutlass.memory.SmemAllocator()
        shared_a = memory.allocate_tensor(a_type, shape_a.outer, 1024, shape_a.inner)
        shared_b = memory.allocate_tensor(b_type, shape_b.outer, 1024, shape_b.inner)
        if arch.warp_idx() == 0:
            with arch.elect_one():
                arch.mbarrier_arrive_and_expect_tx(full, cute.size_in_bytes(a_type, shape_a) + cute.size_in_bytes(b_type, shape_b))
            for atom, all_, shared in ((atom_a, source_a, shared_a), (atom_b, source_b, shared_b)):
                to, from_ = cpasync.tma_partition(atom, 0, cute.make_layout(1), cute.group_modes(shared, 0, 2),
                                                  cute.group_modes(all_, 0, 2))
                cute.copy(atom, from_, to[(None, 0)], tma_bar_ptr=full)
        arch.mbarrier_wait(full, 0)
        mine = mma.get_slice(t)
        b = mma.make_fragment_B(mine.partition_B(shared_b))
        if cutlass.const_expr(source == RMEM):
            x = mma.make_fragment_A(mine.partition_A(a))
            cute.autovec_copy(mine.partition_A(a), x)
        else:
            x = mma.make_fragment_A(mine.partition_A(shared_a))[(None, None, None, 0)]
        sums = cute.make_rmem_tensor(mma.partition_shape_C(tile[:2]), acc_type)
        sums.fill(0)
        mma.set(warpgroup.Field.ACCUMULATE, True)
        if cutlass.const_expr(broken != "fence"):
            warpgroup.fence()
        for k in cutlass.range_constexpr(cute.size(b, mode=[2])):
            cute.gemm(mma, sums, x[(None, None, k)], b[(None, None, k, 0)], sums)
        warpgroup.commit_group()
        if cutlass.const_expr(broken != "wait"):
            warpgroup.wait_group(0)
        cute.autovec_copy(sums, mine.partition_C(out))

    @cute.jit
    def function(a: cute.Tensor, b: cute.Tensor, out: cute.Tensor):
        modes = {"k": OperandMajorMode.K, "mn": OperandMajorMode.MN}
        mma = sm90_utils.make_trivial_tiled_mma(a_type, b_type, modes[a_major], modes[b_major], acc_type, (groups, 1, 1),
                                                (64, tile[1]), source)
        shape_a = sm90_utils.make_smem_layout_a(LayoutEnum.from_tensor(a), tile, a_type, 1)
        shape_b = sm90_utils.make_smem_layout_b(LayoutEnum.from_tensor(b), tile, b_type, 1)
        load = cpasync.CopyBulkTensorTileG2SOp()
        atom_a, source_a = cpasync.make_tiled_tma_atom(load, a, cute.slice_(shape_a, (None, None, 0)), (tile[0], tile[2]))
        atom_b, source_b = cpasync.make_tiled_tma_atom(load, b, cute.slice_(shape_b, (None, None, 0)), (tile[1], tile[2]))
        kernel(mma, atom_a, source_a, atom_b, source_b, a, out, shape_a, shape_b).launch(grid=(1, 1, 1), block=(threads, 1, 1))
    return function


F16, F16_16, BF16 = (Float16, Float16, Float32), (Float16, Float16, Float16), (BFloat16, BFloat16, Float32)
E4, E5, MIXED = (Float8E4M3FN, Float8E4M3FN, Float32), (Float8E5M2, Float8E5M2, Float32), (Float8E5M2, Float8E4M3FN, Float32)
S8, U8, SU8 = (Int8, Int8, Int32), (Uint8, Uint8, Int32), (Int8, Uint8, Int32)
TILES = {
    "f16": (F16, (64, 64, 64)), "f16_to_f16": (F16_16, (64, 64, 64)), "bf16": (BF16, (64, 64, 64)),
    "e4m3": (E4, (64, 64, 64)), "e5m2": (E5, (64, 64, 64)), "e5m2_e4m3": (MIXED, (64, 32, 64)),
    "s8": (S8, (64, 64, 64)), "u8": (U8, (64, 64, 64)), "s8_u8": (SU8, (64, 32, 64)),
    "n8": (F16, (64, 8, 32)), "n16": (F16, (64, 16, 64)), "n256": (F16, (64, 256, 64)),
    "k16": (F16, (64, 32, 16)), "k32": (BF16, (64, 32, 32)), "k128": (F16, (64, 32, 128)),
    "a_mn": (F16, (64, 64, 64), "mn"), "b_mn": (F16, (64, 64, 64), "k", "mn"), "both_mn": (BF16, (64, 32, 32), "mn", "mn"),
    "a_in_registers": (F16, (64, 64, 64), "k", "k", RMEM), "e4m3_in_registers": (E4, (64, 64, 64), "k", "k", RMEM),
    "s8_in_registers": (S8, (64, 64, 64), "k", "k", RMEM),
    "two_groups": (F16, (128, 64, 64), "k", "k", SMEM, 2),
}


def operands(kinds, tile, a_major="k", b_major="k", *_):
    m, n, k = tile
    return integers(kinds[0], m, k, a_major == "mn", 1), integers(kinds[1], n, k, b_major == "mn", 2), \
        torch.zeros(m, n, dtype={Float32: torch.float32, Float16: torch.float16, Int32: torch.int32}[kinds[2]])


@pytest.mark.parametrize("name", TILES)
def test_wgmma(name):
    (a, x), (b, y), out = operands(*TILES[name])
    assert run(product(*TILES[name]), a, b, out).ok
    assert (out.double().numpy() == x @ y.T).all()


@pytest.mark.parametrize("broken, finding", [("fence", "async-register"), ("wait", "async-register")])
def test_products_without_their_fence_or_wait_are_found(broken, finding):
    (a, _), (b, _), out = operands(*TILES["f16"])
    with pytest.raises(host.SimulationError, match=finding):
        run(product(*TILES["f16"], broken=broken), a, b, out)
