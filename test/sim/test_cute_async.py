# One small kernel in CuTe DSL for each primitive of mbarriers, bulk copies and tensor maps (TMA) within a block.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every kernel runs with checks on and must be silent; results are compared with NumPy and are exact."""

import numpy as np
import pytest
from cute_launch import barriers, cute, host, launch, run

import cutlass
import torch
from cutlass.cute.nvgpu import cpasync

arch = cute.arch
Boolean, Float16, Float32, Int32, Int64 = cutlass.Boolean, cutlass.Float16, cutlass.Float32, cutlass.Int32, cutlass.Int64


def handed_over(wait, arrivals=32, arrive=lambda full: arch.mbarrier_arrive(full)):
    """Warp 1 fills a buffer four times, warp 0 turns it around: a ring of one slot, by wait(mbarrier, parity)."""
    @cute.kernel
    def kernel(a: cute.Tensor, out: cute.Tensor):
        t, w = arch.lane_idx(), arch.warp_idx()
        full = barriers(2, arrivals)
        empty = full + 1
        buffer = cute.make_tensor(arch.alloc_smem(Int32, 32), cute.make_layout(32))
        for i in cutlass.range(4):
            if w == 1:
                arch.mbarrier_wait(empty, (i + 1) % 2)
                buffer[t] = a[32 * i + t]
                arrive(full)
            else:
                wait(full, i % 2)
                out[32 * i + t] = buffer[31 - t]
                arrive(empty)
    return kernel


@cute.jit
def try_until(full, parity):
    done = arch.mbarrier_try_wait(full, parity)
    while not done:
        done = arch.mbarrier_try_wait(full, parity)


@cute.jit
def ask_until(full, parity):
    done = arch.mbarrier_test_wait(full, parity)
    while not done:
        done = arch.mbarrier_test_wait(full, parity)


@cute.jit
def try_if_even(full, parity):
    """What is waited for on a condition: here always, in two halves."""
    done = arch.mbarrier_conditional_try_wait(parity == 0, full, parity)
    while parity == 0 and not done:
        done = arch.mbarrier_try_wait(full, parity)
    if parity == 1:
        arch.mbarrier_wait(full, parity)


@cute.jit
def one_arrives(barrier):
    arch.sync_warp()
    with arch.elect_one():
        arch.mbarrier_arrive(barrier)


@cute.jit
def one_arrives_for_all(barrier):
    arch.sync_warp()
    with arch.elect_one():
        arch.mbarrier_arrive(barrier, arrive_count=32)


HAND_OVER = {"wait": (arch.mbarrier_wait,), "try_wait": (try_until,), "test_wait": (ask_until,), "conditional": (try_if_even,),
             "elected": (arch.mbarrier_wait, 1, one_arrives), "count": (arch.mbarrier_wait, 32, one_arrives_for_all)}


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("name", HAND_OVER)
def test_mbarriers(name, seed):
    a, out = torch.arange(128, dtype=torch.int32), torch.zeros(128, dtype=torch.int32)
    options = {} if seed is None else {"adversarial": True, "seed": seed}
    assert launch(handed_over(*HAND_OVER[name]), a, out, block=64, **options).ok
    assert torch.equal(out, a.reshape(4, 32).flip(1).reshape(-1))


def test_a_missing_arrival_is_a_deadlock():
    with pytest.raises(host.SimulationError, match="deadlock"):
        launch(handed_over(arch.mbarrier_wait, 33), torch.zeros(128, dtype=torch.int32),
               torch.zeros(128, dtype=torch.int32), block=64)


@pytest.mark.parametrize("seed, finding", [(1, "deadlock"), (2, "uninitialised")])
def test_a_wrong_parity_is_found(seed, finding):
    with pytest.raises(host.SimulationError, match=finding):
        launch(handed_over(lambda full, parity: arch.mbarrier_wait(full, 1 - parity)), torch.zeros(128, dtype=torch.int32),
               torch.zeros(128, dtype=torch.int32), block=64, adversarial=True, seed=seed)


def test_cp_async_arrives_at_an_mbarrier():
    """Warp 1 copies and is not waited for itself: its copies arrive."""
    @cute.kernel
    def kernel(a: cute.Tensor, out: cute.Tensor):
        t, w = arch.lane_idx(), arch.warp_idx()
        full = barriers(1, 32)
        buffer = cute.make_tensor(arch.alloc_smem(Int32, 128, alignment=16), cute.make_layout(128))
        if w == 1:
            atom = cute.make_copy_atom(cpasync.CopyG2SOp(), Int32, num_bits_per_copy=128)
            cute.copy(atom, cute.local_tile(a, (4,), (t,)), cute.local_tile(buffer, (4,), (t,)))
            arch.cp_async_mbarrier_arrive_noinc(full)
        else:
            arch.mbarrier_wait(full, 0)
            for i in cutlass.range_constexpr(4):
                out[32 * i + t] = buffer[127 - 32 * i - t]

    a, out = torch.arange(128, dtype=torch.int32), torch.zeros(128, dtype=torch.int32)
    assert launch(kernel, a, out, block=64).ok
    assert torch.equal(out, a.flip(0))


# Bulk copies


def through_bulk(expected, separate=False):
    """Global to shared memory and, turned around, back: 256 numbers, one thread copies."""
    @cute.kernel
    def kernel(a: cute.Tensor, out: cute.Tensor):
        t = arch.thread_idx()[0]
        full = barriers(1)
        taken = cute.make_tensor(arch.alloc_smem(Int32, 256, alignment=128), cute.make_layout(256))
        given = cute.make_tensor(arch.alloc_smem(Int32, 256, alignment=128), cute.make_layout(256))
        if t == 0:
            if cutlass.const_expr(separate):
                arch.mbarrier_expect_tx(full, expected)
                arch.mbarrier_arrive(full)
            else:
                arch.mbarrier_arrive_and_expect_tx(full, expected)
            cute.copy(cute.make_copy_atom(cpasync.CopyBulkG2SOp(), Int32), cute.group_modes(a, 0, 1),
                      cute.group_modes(taken, 0, 1), mbar_ptr=full)
        arch.mbarrier_wait(full, 0)
        for i in cutlass.range_constexpr(8):
            given[32 * i + t] = taken[255 - 32 * i - t]
        arch.fence_proxy("async.shared", space="cta")
        arch.sync_threads()
        if t == 0:
            cute.copy(cute.make_copy_atom(cpasync.CopyBulkS2GOp(), Int32), cute.group_modes(given, 0, 1),
                      cute.group_modes(out, 0, 1))
            arch.cp_async_bulk_commit_group()
            arch.cp_async_bulk_wait_group(0, read=True)
    return kernel


@pytest.mark.parametrize("separate", [False, True])
def test_bulk_copies(separate):
    a, out = torch.arange(256, dtype=torch.int32), torch.zeros(256, dtype=torch.int32)
    assert launch(through_bulk(1024, separate), a, out).ok
    assert torch.equal(out, a.flip(0))


@pytest.mark.parametrize("expected, finding", [(1040, "deadlock"), (1008, "race|uninit|tx")])
def test_wrong_bytes_are_found(expected, finding):
    with pytest.raises(host.SimulationError, match=finding):
        launch(through_bulk(expected), torch.arange(256, dtype=torch.int32), torch.zeros(256, dtype=torch.int32))


def test_a_bulk_copy_of_some_bytes():
    """sm_100: a bit of the mask for each byte of 16."""
    mask = 0b1010_0000_1111_0110

    @cute.kernel
    def kernel(a: cute.Tensor, out: cute.Tensor):
        t = arch.thread_idx()[0]
        shared = cute.make_tensor(arch.alloc_smem(cutlass.Uint8, 128, alignment=128), cute.make_layout(128))
        for i in cutlass.range_constexpr(4):
            shared[32 * i + t] = a[32 * i + t]
        arch.fence_proxy("async.shared", space="cta")
        arch.sync_threads()
        if t == 0:
            cute.copy(cute.make_copy_atom(cpasync.CopyBulkS2GByteMaskOp(), cutlass.Uint8), cute.group_modes(shared, 0, 1),
                      cute.group_modes(out, 0, 1), byte_mask=cutlass.Int16(mask - 65536))
            arch.cp_async_bulk_commit_group()
            arch.cp_async_bulk_wait_group(0)

    a, out = torch.arange(1, 129, dtype=torch.uint8), torch.zeros(128, dtype=torch.uint8)
    assert launch(kernel, a, out, arch="sm_100a").ok
    chosen = np.array([mask >> i % 16 & 1 for i in range(128)])
    np.testing.assert_array_equal(out.numpy(), a.numpy() * chosen)


# Tensor maps


def swizzled(bytes_):
    """CuTe's layout of 16 rows of 64 halves with a swizzle of so many bytes."""
    if bytes_ == 16:
        return cute.make_composed_layout(cute.make_swizzle(0, 4, 3), 0, cute.make_layout((16, 64), stride=(64, 1)))
    row, bits = bytes_ // 2, {32: 1, 64: 2, 128: 3}[bytes_]
    atom = cute.make_composed_layout(cute.make_swizzle(bits, 4, 3), 0, cute.make_layout((8, row), stride=(row, 1)))
    return cute.tile_to_shape(atom, (16, 64), (0, 1))


def loader(layout, tiler, dtype, rank=2):
    """Loads the tile (1, 1) of `a` by TMA; thread t stores the elements t, t + 32, ... of the tile to out."""
    @cute.kernel
    def kernel(atom: cute.CopyAtom, source: cute.Tensor, shape: cute.ComposedLayout, out: cute.Tensor):
        t = arch.thread_idx()[0]
        full = barriers(1)
        shared = cutlass.memory.SmemAllocator().allocate_tensor(dtype, shape.outer, 128, shape.inner)
        cpasync.prefetch_descriptor(atom)
        tiles = cute.zipped_divide(source, tiler)
        to, from_ = cpasync.tma_partition(atom, 0, cute.make_layout(1), cute.group_modes(shared, 0, rank),
                                          cute.group_modes(tiles, 0, 1))
        if t == 0:
            arch.mbarrier_arrive_and_expect_tx(full, cute.size_in_bytes(dtype, shape))
        cute.copy(atom, from_[(None, (1,) * rank)], to, tma_bar_ptr=full)
        arch.mbarrier_wait(full, 0)
        for i in cutlass.range(cute.size(tiler) // 32):
            out[32 * i + t] = shared[cute.idx2crd(32 * i + t, tiler)]

    @cute.jit
    def function(a: cute.Tensor, out: cute.Tensor):
        shape = layout() if callable(layout) else layout
        atom, source = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), a, shape, tiler)
        kernel(atom, source, shape, out).launch(grid=(1, 1, 1), block=(32, 1, 1))
    return function


def tile_of(a, tiler):
    """Tile (1, ..., 1), zero where it leaves the tensor, in the order of CuTe: the first dimension runs first."""
    padded = np.zeros([2 * n for n in tiler], a.dtype)
    inside = tuple(slice(0, min(2 * n, m)) for n, m in zip(tiler, a.shape))
    padded[inside] = a[inside]
    return padded[tuple(slice(n, 2 * n) for n in tiler)].reshape(-1, order="F")


@pytest.mark.parametrize("swizzle", [16, 32, 64, 128])
def test_tma_loads_with_a_swizzle(swizzle):
    a, out = (torch.arange(32 * 128) % 2039).reshape(32, 128).half(), torch.full((16 * 64,), -1).half()
    assert run(loader(lambda: swizzled(swizzle), (16, 64), Float16), a, out).ok
    np.testing.assert_array_equal(out.numpy(), tile_of(a.numpy(), (16, 64)))


PLAIN = {  # element, CuTe's element, shape of the tensor, tile
    "f32": (torch.float32, Float32, (64, 64), (16, 32)),
    "bf16": (torch.bfloat16, cutlass.BFloat16, (64, 64), (16, 32)),
    "u8": (torch.uint8, cutlass.Uint8, (64, 64), (16, 32)),
    "i32": (torch.int32, Int32, (64, 64), (16, 32)),
    "1d": (torch.float32, Float32, (512,), (128,)),
    "3d": (torch.float32, Float32, (8, 6, 64), (4, 3, 32)),
    "4d": (torch.float32, Float32, (4, 8, 6, 64), (2, 4, 3, 32)),
    "5d": (torch.float32, Float32, (4, 4, 8, 6, 16), (2, 2, 4, 3, 8)),
    "edge": (torch.float32, Float32, (25, 44), (16, 32)),  # zeros beyond the edge
}


@pytest.mark.parametrize("name", PLAIN)
def test_tma_loads(name):
    kind, dtype, shape, tile = PLAIN[name]
    a = (torch.arange(np.prod(shape)) % 251 + 1).reshape(shape).to(kind)
    out = torch.full((np.prod(tile),), 7).to(kind)

    def rows():
        strides = np.r_[np.cumprod(tile[:0:-1])[::-1], 1].astype(int)
        return cute.make_composed_layout(cute.make_swizzle(0, 4, 3), 0, cute.make_layout(tile, stride=tuple(map(int, strides))))

    assert run(loader(rows, tile, dtype, len(tile)), a, out).ok
    np.testing.assert_array_equal(out.float().numpy(), tile_of(a.float().numpy(), tile))


def storer(op, tiler, dtype):
    """Puts the numbers 1, 2, ... of a tile, from shared memory, to the tile (1, 1) of out by op."""
    @cute.kernel
    def kernel(atom: cute.CopyAtom, target: cute.Tensor, a: cute.Tensor):
        t = arch.thread_idx()[0]
        shared = cute.make_tensor(arch.alloc_smem(dtype, cute.size(tiler), alignment=128), cute.make_ordered_layout(tiler, (1, 0)))
        for i in cutlass.range(cute.size(tiler) // 32):
            at = cute.idx2crd(32 * i + t, tiler)
            shared[at] = a[at]
        arch.fence_proxy("async.shared", space="cta")
        arch.sync_threads()
        tiles = cute.zipped_divide(target, tiler)
        from_, to = cpasync.tma_partition(atom, 0, cute.make_layout(1), cute.group_modes(shared, 0, 2), cute.group_modes(tiles, 0, 1))
        if t == 0:
            cute.copy(atom, from_, to[(None, (1, 1))])
            arch.cp_async_bulk_commit_group()
            arch.cp_async_bulk_wait_group(0, read=True)

    @cute.jit
    def function(a: cute.Tensor, out: cute.Tensor):
        atom, target = cpasync.make_tiled_tma_atom(op(), out, cute.make_ordered_layout(tiler, (1, 0)), tiler)
        kernel(atom, target, a).launch(grid=(1, 1, 1), block=(32, 1, 1))
    return function


def reducing(kind):
    return lambda: cpasync.CopyReduceBulkTensorTileS2GOp(getattr(cute.ReductionKind, kind))


def wrapping(step):
    """inc and dec of PTX, element by element: old, operand."""
    return np.vectorize({"inc": lambda old, a: 0 if old >= a else old + 1,
                         "dec": lambda old, a: a if old == 0 or old > a else old - 1}[step])


STORES = {  # how, what becomes of the old element and the new one, element
    "store": (cpasync.CopyBulkTensorTileS2GOp, lambda old, a: a, torch.int32, Int32),
    "add": (reducing("ADD"), np.add, torch.int32, Int32),
    "add_f16": (reducing("ADD"), np.add, torch.float16, Float16),
    "add_f32": (reducing("ADD"), np.add, torch.float32, Float32),
    "min": (reducing("MIN"), np.minimum, torch.int32, Int32),
    "max": (reducing("MAX"), np.maximum, torch.int32, Int32),
    "and": (reducing("AND"), np.bitwise_and, torch.int32, Int32),
    "or": (reducing("OR"), np.bitwise_or, torch.int32, Int32),
    "xor": (reducing("XOR"), np.bitwise_xor, torch.int32, Int32),
    "inc": (reducing("INC"), wrapping("inc"), torch.uint32, cutlass.Uint32),
    "dec": (reducing("DEC"), wrapping("dec"), torch.uint32, cutlass.Uint32),
}


@pytest.mark.parametrize("shape", [(32, 64), (25, 48)], ids=["inside", "edge"])
@pytest.mark.parametrize("name", STORES)
def test_tma_stores(name, shape):
    op, expected, kind, dtype = STORES[name]
    a = torch.from_numpy(np.arange(16 * 32).reshape(16, 32) % 61).to(kind)
    before = torch.from_numpy(np.random.default_rng(1).integers(0, 61, shape)).to(kind)
    out = before.clone()
    assert run(storer(op, (16, 32), dtype), a, out).ok
    want = before.numpy().copy()
    inside = want[16:, 32:]
    inside[:] = expected(inside, a.numpy()[:inside.shape[0], :inside.shape[1]])
    np.testing.assert_array_equal(out.numpy(), want)


def test_a_store_without_the_proxy_fence_is_found(monkeypatch):
    monkeypatch.setattr(arch, "fence_proxy", lambda *a, **k: None)
    with pytest.raises(host.SimulationError, match="proxy"):
        run(storer(cpasync.CopyBulkTensorTileS2GOp, (16, 32), Int32), torch.zeros(16, 32, dtype=torch.int32),
            torch.zeros(32, 64, dtype=torch.int32))


@cute.kernel
def gather_kernel(atom: cute.CopyAtom, source: cute.Tensor, rows: cute.Tensor, out: cute.Tensor):
    t = arch.thread_idx()[0]
    full = barriers(1)
    shared = cute.make_tensor(arch.alloc_smem(Float32, 8 * 32, alignment=128), cute.make_ordered_layout((8, 32), (1, 0)))
    to, from_, index = cpasync.tma_partition(atom, 0, cute.make_layout(1), cute.group_modes(shared, 0, 2),
                                             [cute.group_modes(cute.zipped_divide(x, (8, 32)), 0, 1) for x in (source, rows)])
    if t == 0:
        arch.mbarrier_arrive_and_expect_tx(full, 4 * 8 * 32)
    cute.copy(atom, [from_[(None, (0, 1))], index[(None, (0, 1))]], to, tma_bar_ptr=full)
    arch.mbarrier_wait(full, 0)
    for i in cutlass.range(8):
        out[i, t] = shared[i, t]


@cute.jit
def gather(a: cute.Tensor, rows: cute.Tensor, out: cute.Tensor):
    chosen = cute.make_tensor(rows.iterator, cute.make_layout((8, 64), stride=(1, 0)))
    atom, source = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensor2DGather4G2SOp(), a, cute.make_ordered_layout((8, 32), (1, 0)),
                                               (8, 32), gmem_coord_tensor=chosen)
    gather_kernel(atom, source, chosen, out).launch(grid=(1, 1, 1), block=(32, 1, 1))


def test_tma_gathers_rows():
    a, out = torch.arange(16 * 64.0).reshape(16, 64), torch.zeros(8, 32)
    rows = torch.tensor([3, 0, 15, 7, 7, 1, 12, 2], dtype=torch.int32)
    assert run(gather, a, rows, out, arch="sm_100a").ok
    assert torch.equal(out, a[rows.long(), 32:])


@cute.kernel
def scatter_kernel(atom: cute.CopyAtom, target: cute.Tensor, rows: cute.Tensor, a: cute.Tensor):
    t = arch.thread_idx()[0]
    shared = cute.make_tensor(arch.alloc_smem(Float32, 8 * 32, alignment=128), cute.make_ordered_layout((8, 32), (1, 0)))
    for i in cutlass.range(8):
        shared[i, t] = a[i, t]
    arch.fence_proxy("async.shared", space="cta")
    arch.sync_threads()
    from_, to, index = cpasync.tma_partition(atom, 0, cute.make_layout(1), cute.group_modes(shared, 0, 2),
                                             [cute.group_modes(cute.zipped_divide(x, (8, 32)), 0, 1) for x in (target, rows)])
    if t == 0:
        cute.copy(atom, from_, [to[(None, (0, 1))], index[(None, (0, 1))]])
        arch.cp_async_bulk_commit_group()
        arch.cp_async_bulk_wait_group(0, read=True)


@cute.jit
def scatter(a: cute.Tensor, rows: cute.Tensor, out: cute.Tensor):
    chosen = cute.make_tensor(rows.iterator, cute.make_layout((8, 64), stride=(1, 0)))
    atom, target = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensor2DScatter4S2GOp(), out, cute.make_ordered_layout((8, 32), (1, 0)),
                                               (8, 32), gmem_coord_tensor=chosen)
    scatter_kernel(atom, target, chosen, a).launch(grid=(1, 1, 1), block=(32, 1, 1))


def test_tma_scatters_rows():
    a, out = torch.arange(8 * 32.0).reshape(8, 32) + 1, torch.zeros(16, 64)
    rows = torch.tensor([3, 0, 15, 7, 8, 1, 12, 2], dtype=torch.int32)
    assert run(scatter, a, rows, out, arch="sm_100a").ok
    want = torch.zeros(16, 64)
    want[rows.long(), 32:] = a
    assert torch.equal(out, want)
