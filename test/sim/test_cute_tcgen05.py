# One tile of each kind of tcgen05 in CuTe DSL: tensor memory, its loads and stores, products, copies, commits.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operands are small integers, so every product and sum is exact and equals NumPy's in float64."""

import pytest
from cute_launch import barriers, cute, host, integers, launch, run

import cutlass
import cutlass.utils.blackwell_helpers as sm100
import torch
from cutlass import BFloat16, Float8E4M3FN, Float8E5M2, Float16, Float32, Int8, Int32, TFloat32, Uint8
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, tcgen05

arch = cute.arch
SMEM, TMEM = tcgen05.OperandSource.SMEM, tcgen05.OperandSource.TMEM
ONE, TWO = tcgen05.CtaGroup.ONE, tcgen05.CtaGroup.TWO


@cute.jit
def allocated(columns: cutlass.Constexpr, dtype: cutlass.Constexpr, pair: cutlass.Constexpr = False):
    """Tensor memory, by warp 0 for the block."""
    place = arch.alloc_smem(Int32, 1)
    if arch.warp_idx() == 0:
        arch.alloc_tmem(columns, place, is_two_cta=pair)
    arch.sync_threads()
    return arch.retrieve_tmem_ptr(dtype, 16, place)


@cute.jit
def freed(pointer, columns: cutlass.Constexpr, pair: cutlass.Constexpr = False):
    arch.sync_threads()
    if arch.warp_idx() == 0:
        arch.relinquish_tmem_alloc_permit(is_two_cta=pair)
        arch.dealloc_tmem(pointer, columns, is_two_cta=pair)


def through_memory(store, load, lanes=128, columns=32, wait=True):
    """Four warps put a tile of 128 x 32 words into tensor memory by one shape and take it by another."""
    @cute.kernel
    def kernel(a: cute.Tensor, out: cute.Tensor):
        t = arch.thread_idx()[0]
        pointer = allocated(32, Float32)
        tile = cute.make_tensor(pointer, cute.make_layout((lanes, columns), stride=(65536, 1)))
        put = tcgen05.make_tmem_copy(cute.make_copy_atom(store, Float32), tile)
        take = tcgen05.make_tmem_copy(cute.make_copy_atom(load, Float32), tile)
        mine = put.get_slice(t)
        given = cute.make_rmem_tensor(mine.partition_S(a).shape, Float32)
        cute.autovec_copy(mine.partition_S(a), given)
        cute.copy(put, given, mine.partition_D(tile))
        if cutlass.const_expr(wait):
            arch.fence_view_async_tmem_store()
        arch.sync_threads()
        mine = take.get_slice(t)
        taken = cute.make_rmem_tensor(mine.partition_D(out).shape, Float32)
        cute.copy(take, mine.partition_S(tile), taken)
        arch.fence_view_async_tmem_load()
        cute.autovec_copy(taken, mine.partition_D(out))
        freed(pointer, 32)
    return kernel


def ops(kind):
    """Loads or stores of every shape that a warp can do of its 32 lanes, and of repetitions."""
    x = tcgen05.Repetition
    return {f"{shape}_x{n.value}": getattr(tcgen05, f"{kind}{shape}Op")(n)
            for shape, n in (("32x32b", x.x1), ("32x32b", x.x8), ("32x32b", x.x32), ("16x64b", x.x4), ("16x64b", x.x16),
                             ("16x128b", x.x2), ("16x128b", x.x8), ("16x256b", x.x1), ("16x256b", x.x4))}


SHAPES = ["32x32b_x1", "32x32b_x8", "32x32b_x32", "16x64b_x4", "16x64b_x16", "16x128b_x2", "16x128b_x8", "16x256b_x1", "16x256b_x4"]


@pytest.mark.parametrize("name", SHAPES)
def test_loads_of_tensor_memory(name):
    host.activate("sm_100a")
    a, out = torch.arange(128 * 32.0).reshape(128, 32), torch.zeros(128, 32)
    assert launch(through_memory(ops("St")["32x32b_x8"], ops("Ld")[name]), a, out, arch="sm_100a", block=128).ok
    assert torch.equal(a, out)


@pytest.mark.parametrize("name", SHAPES)
def test_stores_of_tensor_memory(name):
    host.activate("sm_100a")
    a, out = torch.arange(128 * 32.0).reshape(128, 32), torch.zeros(128, 32)
    assert launch(through_memory(ops("St")[name], ops("Ld")["32x32b_x8"]), a, out, arch="sm_100a", block=128).ok
    assert torch.equal(a, out)


def test_a_store_without_its_wait_is_found():
    host.activate("sm_100a")
    with pytest.raises(host.SimulationError, match="tensor"):
        launch(through_memory(ops("St")["16x64b_x4"], ops("Ld")["32x32b_x8"], wait=False), torch.zeros(128, 32),
               torch.zeros(128, 32), arch="sm_100a", block=128)


def product(kinds, tile, a_major="k", b_major="k", source=SMEM, group=ONE, broken=None):
    """A block, or a pair, multiplies one tile. `broken` leaves something out."""
    a_type, b_type, acc_type = kinds
    pair = group == TWO
    blocks = 2 if pair else 1

    @cute.kernel
    def kernel(mma: cute.TiledMma, atom_a: cute.CopyAtom, source_a: cute.Tensor, atom_b: cute.CopyAtom, source_b: cute.Tensor,
               a: cute.Tensor, out: cute.Tensor, shape_a: cute.ComposedLayout, shape_b: cute.ComposedLayout):
        t, rank = arch.thread_idx()[0], arch.block_idx_in_cluster() if cutlass.const_expr(pair) else Int32(0)
        full = barriers(2)
        done = full + 1
        memory = cutlass.memory.SmemAllocator()
        shared_a = memory.allocate_tensor(a_type, shape_a.outer, 1024, shape_a.inner)
        shared_b = memory.allocate_tensor(b_type, shape_b.outer, 1024, shape_b.inner)
        columns = 2 * max(32, tile[1]) if cutlass.const_expr(source == TMEM) else max(32, tile[1])
        pointer = allocated(columns, acc_type, pair)
        if cutlass.const_expr(pair):
            arch.cluster_arrive()
            arch.cluster_wait()
        mine = mma.get_slice(rank)
        b = mma.make_fragment_B(shared_b)
        if cutlass.const_expr(source == TMEM):  # row for lane, two elements in a word
            words = cute.recast_tensor(a, Float32)
            place = cute.make_tensor(pointer + tile[1], cute.make_layout(words.shape, stride=(65536, 1)))
            put = tcgen05.make_tmem_copy(cute.make_copy_atom(tcgen05.St32x32bOp(tcgen05.Repetition.x16), Float32), place).get_slice(t)
            given = cute.make_rmem_tensor(put.partition_S(words).shape, Float32)
            cute.autovec_copy(put.partition_S(words), given)
            cute.copy(put, given, put.partition_D(place))
            arch.fence_view_async_tmem_store()
            arch.sync_threads()
            x = mma.make_fragment_A(mma.partition_shape_A((tile[0], tile[2])))
            x = cute.make_tensor(cute.recast_ptr(pointer + tile[1], dtype=a_type), cute.append(x.layout, cute.make_layout(1)))
        else:
            x = mma.make_fragment_A(shared_a)
        sums = mma.make_fragment_C(mma.partition_shape_C(tile[:2]))
        sums = cute.make_tensor(pointer, sums.layout)
        if arch.warp_idx() == 0:
            if rank == 0:
                with arch.elect_one():
                    arch.mbarrier_arrive_and_expect_tx(
                        full, blocks * (cute.size_in_bytes(b_type, shape_b) + (
                            0 if cutlass.const_expr(source == TMEM) else cute.size_in_bytes(a_type, shape_a))))
            loads = (atom_b, mine.partition_B(source_b), shared_b), (atom_a, mine.partition_A(source_a), shared_a)
            for atom, part, shared in loads[:1] if cutlass.const_expr(source == TMEM) else loads:
                to, from_ = cpasync.tma_partition(atom, 0, cute.make_layout(1), cute.group_modes(shared, 0, 3),
                                                  cute.group_modes(part, 0, 3))
                cute.copy(atom, from_, to[(None, 0)], tma_bar_ptr=full)
        if arch.warp_idx() == 0 and rank == 0:
            if cutlass.const_expr(broken != "operands"):
                arch.mbarrier_wait(full, 0)
            mma.set(tcgen05.Field.ACCUMULATE, False)
            for k in cutlass.range_constexpr(cute.size(b, mode=[2])):
                cute.gemm(mma, sums, x[(None, None, k, 0)], b[(None, None, k, 0)], sums)
                mma.set(tcgen05.Field.ACCUMULATE, True)
            with arch.elect_one():
                if cutlass.const_expr(pair):
                    tcgen05.commit(done, 3, group)
                else:
                    tcgen05.commit(done, None, group)
        if cutlass.const_expr(broken != "commit"):
            arch.mbarrier_wait(done, 0)
        place = sums[((None, None), 0, 0)]
        take = tcgen05.make_tmem_copy(cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x8), acc_type), place)
        result = mine.partition_C(out)[((None, None), 0, 0)]
        taken = cute.make_rmem_tensor(take.get_slice(t).partition_D(result).shape, acc_type)
        cute.copy(take, take.get_slice(t).partition_S(place), taken)
        arch.fence_view_async_tmem_load()
        cute.autovec_copy(taken, take.get_slice(t).partition_D(result))
        if cutlass.const_expr(pair):
            arch.cluster_arrive()
            arch.cluster_wait()
        freed(pointer, columns, pair)

    @cute.jit
    def function(a: cute.Tensor, b: cute.Tensor, out: cute.Tensor):
        modes = {"k": OperandMajorMode.K, "mn": OperandMajorMode.MN}
        mma = sm100.make_trivial_tiled_mma(a_type, b_type, modes[a_major], modes[b_major], acc_type, group, tile[:2], source)
        shape_a = sm100.make_smem_layout_a(mma, tile, a_type, 1)
        shape_b = sm100.make_smem_layout_b(mma, tile, b_type, 1)
        load = cpasync.CopyBulkTensorTileG2SOp(group)
        kind = {"internal_type": TFloat32} if cutlass.const_expr(a_type is TFloat32) else {}
        cluster = cute.tiled_divide(cute.make_layout((blocks, 1, 1)), (mma.thr_id.shape,))
        atom_a, source_a = cute.nvgpu.make_tiled_tma_atom_A(load, a, cute.slice_(shape_a, (None, None, None, 0)), tile, mma,
                                                            cluster.shape, **kind)
        atom_b, source_b = cute.nvgpu.make_tiled_tma_atom_B(load, b, cute.slice_(shape_b, (None, None, None, 0)), tile, mma,
                                                            cluster.shape, **kind)
        kernel(mma, atom_a, source_a, atom_b, source_b, a, out, shape_a, shape_b).launch(
            grid=(blocks, 1, 1), block=(128, 1, 1), cluster=(blocks, 1, 1))
    return function


F16, BF16, TF32 = (Float16, Float16, Float32), (BFloat16, BFloat16, Float32), (TFloat32, TFloat32, Float32)
E4, E5, MIXED = (Float8E4M3FN, Float8E4M3FN, Float32), (Float8E5M2, Float8E5M2, Float32), (Float8E5M2, Float8E4M3FN, Float32)
S8, U8 = (Int8, Int8, Int32), (Uint8, Uint8, Int32)
TILES = {
    "f16": (F16, (128, 64, 64)), "bf16": (BF16, (128, 64, 64)), "tf32": (TF32, (128, 64, 32)),
    "e4m3": (E4, (128, 64, 64)), "e5m2": (E5, (128, 64, 64)), "e5m2_e4m3": (MIXED, (128, 32, 64)),
    "s8": (S8, (128, 64, 64)), "u8": (U8, (128, 64, 64)),
    "n8": (F16, (128, 8, 64)), "n256": (F16, (128, 256, 64)),
    "k16": (F16, (128, 32, 16)), "k32": (F16, (128, 32, 32)), "k128": (F16, (128, 32, 128)),
    "a_mn": (F16, (128, 64, 64), "mn"), "b_mn": (F16, (128, 64, 64), "k", "mn"), "both_mn": (BF16, (128, 32, 32), "mn", "mn"),
    "a_in_tensor_memory": (F16, (128, 64, 64), "k", "k", TMEM), "a_in_tensor_memory_bf16": (BF16, (128, 64, 128), "k", "k", TMEM),
    "pair_m256": (F16, (256, 64, 64), "k", "k", SMEM, TWO), "pair_e4m3": (E4, (256, 128, 64), "k", "k", SMEM, TWO),
    "pair_tf32": (TF32, (256, 64, 32), "k", "k", SMEM, TWO), "pair_s8": (S8, (256, 64, 64), "k", "k", SMEM, TWO),
    "pair_b_mn": (F16, (256, 128, 64), "k", "mn", SMEM, TWO),
}


def operands(kinds, tile, a_major="k", b_major="k", *_):
    m, n, k = tile
    return integers(kinds[0], m, k, a_major == "mn", 1), integers(kinds[1], n, k, b_major == "mn", 2), \
        torch.zeros(m, n, dtype=torch.int32 if kinds[2] is Int32 else torch.float32)


@pytest.mark.parametrize("name", TILES)
def test_products(name):
    (a, x), (b, y), out = operands(*TILES[name])
    assert run(product(*TILES[name]), a, b, out, arch="sm_100a").ok
    assert (out.double().numpy() == x @ y.T).all()


@pytest.mark.parametrize("broken, finding", [("operands", "async"), ("commit", "tensor-async")])
def test_products_that_nobody_waits_for_are_found(broken, finding):
    (a, _), (b, _), out = operands(*TILES["f16"])
    with pytest.raises(host.SimulationError, match=finding):
        run(product(*TILES["f16"], broken=broken), a, b, out, arch="sm_100a")
