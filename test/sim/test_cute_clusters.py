# One small kernel in CuTe DSL for each primitive of clusters: remote memory, barriers, multicast, launch control.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every kernel runs with checks on and must be silent; results are compared with NumPy and are exact."""

import pytest
from cute_launch import barriers, cute, host, launch, run

import cutlass
import torch
from cutlass._mlir.dialects import nvvm
from cutlass.cute.nvgpu import cpasync

arch = cute.arch
Int32 = cutlass.Int32
CLUSTER = nvvm.MemScopeKind.CLUSTER


def numbers(count):
    return torch.arange(count, dtype=torch.int32), torch.full((count,), -1, dtype=torch.int32)


@cute.jit
def everybody():
    arch.cluster_arrive()
    arch.cluster_wait()


@cute.kernel
def where(a: cute.Tensor, out: cute.Tensor):
    if arch.thread_idx()[0] == 0:
        block = arch.block_idx()[0]
        out[block] = a[block] + 1000 * arch.block_idx_in_cluster() + 100 * arch.cluster_size() + 10 * arch.cluster_idx()[0] \
            + arch.block_in_cluster_idx()[0]


def test_registers_of_a_cluster():
    a, out = numbers(8)
    assert launch(where, a, out, grid=8, cluster=4).ok
    assert torch.equal(out, a + 1000 * (a % 4) + 400 + 10 * (a // 4) + a % 4)


def exchange(move, finish=everybody):
    """Each block of a cluster of two fills its buffer and then move(out, buffer, peer, i, t) takes from it."""
    @cute.kernel
    def kernel(a: cute.Tensor, out: cute.Tensor):
        t, rank, at = arch.thread_idx()[0], arch.block_idx_in_cluster(), 32 * arch.block_idx()[0]
        buffer = arch.alloc_smem(Int32, 64, alignment=16)
        mine = cute.make_tensor(buffer, cute.make_layout(64))
        mine[t] = a[at + t]
        everybody()
        move(out, buffer, rank ^ 1, at, t)
        finish()
    return kernel


def remote(pointer, rank):
    """Loads and stores of the cluster want a shared address, which has the rank in it."""
    return cute.make_ptr(pointer.dtype, arch.map_dsmem_ptr(pointer, rank).toint(), cutlass.AddressSpace.smem, assumed_align=pointer.dtype.width // 8)


@cute.jit
def read_remote(out, buffer, peer, at, t):
    out[at + t] = arch.load(remote(buffer + t, peer), Int32, ss="cluster")


@cute.jit
def write_remote(out, buffer, peer, at, t):
    arch.store(remote(buffer + 32 + t, peer), (buffer + t).load(), ss="cluster")
    everybody()
    out[at + t] = (buffer + 32 + t).load()


@cute.jit
def write_remote_relaxed(out, buffer, peer, at, t):
    """The order comes from fences: the barrier has none."""
    arch.store(remote(buffer + 32 + t, peer), (buffer + t).load(), ss="cluster")
    arch.fence_acq_rel_cluster()
    arch.cluster_arrive_relaxed()
    arch.cluster_wait()
    arch.fence_acq_rel_cluster()
    out[at + t] = (buffer + 32 + t).load()


@cute.jit
def nothing():
    pass


EXCHANGES = {"read": read_remote, "write": write_remote, "relaxed": write_remote_relaxed}


@pytest.mark.parametrize("name", EXCHANGES)
def test_remote_memory(name):
    a, out = numbers(128)
    assert launch(exchange(EXCHANGES[name]), a, out, grid=4, cluster=2).ok
    assert torch.equal(out, a.reshape(2, 2, 32).flip(1).reshape(-1))


def test_remote_memory_of_a_block_that_has_ended_is_found():
    with pytest.raises(host.SimulationError, match="exited-block"):
        for seed in range(20):
            launch(exchange(read_remote, nothing), *numbers(64), grid=2, cluster=2, adversarial=True, seed=seed)


@cute.kernel
def count_remotely(a: cute.Tensor, out: cute.Tensor):
    """All threads of the cluster add to one word of block 0."""
    t = arch.thread_idx()[0]
    total = arch.alloc_smem(Int32, 1)
    if t == 0:
        total.store(Int32(0))
    everybody()
    arch.red(arch.map_dsmem_ptr(total, 0), a[32 * arch.block_idx()[0] + t], op="add", dtype="s32", sem="relaxed", scope="cluster")
    everybody()
    if t == 0 and arch.block_idx_in_cluster() == 0:
        out[0] = total.load()


def test_remote_reductions():
    a, out = numbers(128)
    assert launch(count_remotely, a, out, grid=4, cluster=4).ok
    assert out[0] == a.sum()


def stored(count):
    """st.async of so many words by each thread of block 0 to block 1, which waits for the bytes."""
    @cute.kernel
    def kernel(a: cute.Tensor, out: cute.Tensor):
        t, rank = arch.thread_idx()[0], arch.block_idx_in_cluster()
        full = barriers(1)
        buffer = arch.alloc_smem(Int32, 32 * count, alignment=16)
        everybody()
        if rank == 0:
            place = cute.make_tensor(buffer, cute.make_layout((count, 32)))
            values = tuple(a[count * t + i] for i in range(count))
            arch.store_async_dsmem(cute.local_tile(place, (count, 1), (0, t)).iterator.align(4 * count),
                                   values[0] if cutlass.const_expr(count == 1) else values, full, 1)
        else:
            if t == 0:
                arch.mbarrier_arrive_and_expect_tx(full, 128 * count)
            arch.mbarrier_wait(full, 0)
            for i in cutlass.range_constexpr(count):
                out[32 * i + t] = (buffer + 32 * i + t).load()
        everybody()
    return kernel


@pytest.mark.parametrize("count", [1, 2, 4])
def test_asynchronous_stores(count):
    a, out = numbers(32 * count)
    assert launch(stored(count), a, out, grid=2, cluster=2).ok
    assert torch.equal(a, out)


@cute.kernel
def store_by_atom(a: cute.Tensor, out: cute.Tensor):
    t, rank = arch.thread_idx()[0], arch.block_idx_in_cluster()
    full = barriers(1)
    buffer = arch.alloc_smem(Int32, 128, alignment=16)
    everybody()
    if rank == 0:
        registers = cute.make_rmem_tensor(cute.make_layout(4), Int32)
        for i in cutlass.range_constexpr(4):
            registers[i] = a[4 * t + i]
        remote = cute.make_tensor(arch.map_dsmem_ptr(buffer, 1), cute.make_layout(128))
        cute.copy(cute.make_copy_atom(cpasync.CopyDsmemStoreOp(), Int32, num_bits_per_copy=128), registers,
                  cute.local_tile(remote, (4,), (t,)), mbar_ptr=arch.map_dsmem_ptr(full, 1))
    else:
        if t == 0:
            arch.mbarrier_arrive_and_expect_tx(full, 512)
        arch.mbarrier_wait(full, 0)
        for i in cutlass.range_constexpr(4):
            out[32 * i + t] = (buffer + 32 * i + t).load()
    everybody()


def test_asynchronous_stores_by_an_atom():
    a, out = numbers(128)
    assert launch(store_by_atom, a, out, grid=2, cluster=2).ok
    assert torch.equal(a, out)


def told(scope, expect=False, relaxed=False):
    """Block 0 writes to block 1 and arrives at its mbarrier."""
    @cute.kernel
    def kernel(a: cute.Tensor, out: cute.Tensor):
        t, rank = arch.thread_idx()[0], arch.block_idx_in_cluster()
        full = barriers(1, 32)
        buffer = arch.alloc_smem(Int32, 32)
        everybody()
        if rank == 0:
            arch.store(remote(buffer + t, 1), a[t], ss="cluster")
            if cutlass.const_expr(expect):
                arch.mbarrier_arrive_and_expect_tx(full, 0, 1, scope=scope)
            else:
                arch.mbarrier_arrive(full, 1, scope=scope, relaxed=relaxed)
        else:
            done = wait_of_cluster(full)
            while not done:
                done = wait_of_cluster(full)
            out[t] = (buffer + 31 - t).load()
        everybody()
    return kernel


def wait_of_cluster(full):
    """CuTe's waits are of CTA scope; what another block wrote wants more."""
    from cutlass._mlir.dialects import llvm
    from cutlass.cutlass_dsl import T
    return Int32(llvm.inline_asm(
        T.i32(), [full.to_llvm_ptr()],
        "{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [$1], 0; selp.b32 $0, 1, 0, p; }",
        "=r,r,~{memory}", has_side_effects=True, asm_dialect=0)) != 0


@pytest.mark.parametrize("scope, expect", [(CLUSTER, False), (CLUSTER, True), (None, False)], ids=["arrive", "expect", "no scope"])
def test_remote_arrivals(scope, expect):
    """Without a scope, as CuTe's default is, an arrival counts as one of the cluster (docs/simulator.md)."""
    a, out = numbers(32)
    assert launch(told(scope, expect), a, out, grid=2, cluster=2).ok
    assert torch.equal(out, a.flip(0))


def test_a_relaxed_remote_arrival_orders_nothing():
    with pytest.raises(host.SimulationError, match="race|uninit"):
        launch(told(CLUSTER, relaxed=True), *numbers(32), grid=2, cluster=2)


@cute.kernel
def bulk_to_peer(a: cute.Tensor, out: cute.Tensor):
    t, rank = arch.thread_idx()[0], arch.block_idx_in_cluster()
    full = barriers(1)
    place = cute.make_tensor(arch.alloc_smem(Int32, 32, alignment=128), cute.make_layout(32))
    here = cute.make_tensor(arch.alloc_smem(Int32, 32, alignment=128), cute.make_layout(32))
    here[t] = a[32 * rank + t]
    if t == 0:
        arch.mbarrier_arrive_and_expect_tx(full, 128)
    arch.fence_proxy("async.shared", space="cta")
    everybody()
    if t == 0:
        cute.copy(cute.make_copy_atom(cpasync.CopyBulkS2SOp(), Int32), cute.group_modes(here, 0, 1), cute.group_modes(place, 0, 1),
                  mbar_ptr=remote(full, rank ^ 1), cta_rank=rank ^ 1)
    arch.mbarrier_wait(full, 0)
    out[32 * rank + t] = place[t]
    everybody()


def test_bulk_copies_between_blocks():
    a, out = numbers(64)
    assert launch(bulk_to_peer, a, out, grid=2, cluster=2).ok
    assert torch.equal(out, a.reshape(2, 32).flip(0).reshape(-1))


@cute.kernel
def bulk_to_all(a: cute.Tensor, out: cute.Tensor):
    t, rank = arch.thread_idx()[0], arch.block_idx_in_cluster()
    full = barriers(1)
    place = cute.make_tensor(arch.alloc_smem(Int32, 32, alignment=128), cute.make_layout(32))
    if t == 0:
        arch.mbarrier_arrive_and_expect_tx(full, 128)
    everybody()
    if t == 0 and rank == 0:
        cute.copy(cute.make_copy_atom(cpasync.CopyBulkG2SMulticastOp(), Int32), cute.group_modes(a, 0, 1),
                  cute.group_modes(place, 0, 1), mbar_ptr=full, mcast_mask=cutlass.Int16(0b1011))
    if rank != 2:
        arch.mbarrier_wait(full, 0)
        out[32 * rank + t] = place[t]
    everybody()


def test_bulk_copies_to_several_blocks():
    a, out = numbers(32)[0], numbers(128)[1]
    assert launch(bulk_to_all, a, out, grid=4, cluster=4).ok
    assert torch.equal(out.reshape(4, 32), torch.stack([a, a, torch.full_like(a, -1), a]))


@cute.kernel
def multicast_kernel(atom: cute.CopyAtom, source: cute.Tensor, out: cute.Tensor):
    """Each of two blocks loads half of the rows for both."""
    t, rank = arch.thread_idx()[0], arch.block_idx_in_cluster()
    full = barriers(1)
    shared = cute.make_tensor(arch.alloc_smem(Int32, 512, alignment=128), cute.make_ordered_layout((16, 32), (1, 0)))
    tiles = cute.zipped_divide(source, (16, 32))
    to, from_ = cpasync.tma_partition(atom, rank, cute.make_layout(2), cute.group_modes(shared, 0, 2), cute.group_modes(tiles, 0, 1))
    if t == 0:
        arch.mbarrier_arrive_and_expect_tx(full, 2048)
    everybody()
    cute.copy(atom, from_[(None, (0, 0))], to, tma_bar_ptr=full, mcast_mask=cutlass.Int16(3))
    arch.mbarrier_wait(full, 0)
    for i in cutlass.range(16):
        out[rank, i, t] = shared[i, t]
    everybody()


@cute.jit
def multicast(a: cute.Tensor, out: cute.Tensor):
    atom, source = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SMulticastOp(), a,
                                               cute.make_ordered_layout((16, 32), (1, 0)), (16, 32), num_multicast=2)
    multicast_kernel(atom, source, out).launch(grid=(2, 1, 1), block=(32, 1, 1), cluster=(2, 1, 1))


def test_tma_multicast():
    a, out = torch.arange(512, dtype=torch.int32).reshape(16, 32), torch.zeros(2, 16, 32, dtype=torch.int32)
    report = run(multicast, a, out, count=True)
    assert torch.equal(out, a.expand(2, 16, 32))
    assert report.counts["multicast_saved_bytes"] == 2048


@cute.kernel
def steal(a: cute.Tensor, out: cute.Tensor):
    """A block does its own tile, then those of blocks that have not begun."""
    t = arch.thread_idx()[0]
    full = barriers(1)
    answer = arch.alloc_smem(Int32, 4, alignment=16)
    tile, valid, phase = arch.block_idx()[0], Int32(1), Int32(0)
    while valid != 0:
        out[32 * tile + t] = a[32 * tile + t] + 1
        arch.sync_warp()
        if t == 0:
            arch.mbarrier_arrive_and_expect_tx(full, 16)
            arch.issue_clc_query(full, answer, multicast=False)
        arch.mbarrier_wait(full, phase)
        tile, _, _, valid = arch.clc_response(answer)
        arch.fence_proxy("async.shared", space="cta")
        arch.sync_warp()
        phase = phase ^ 1


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_launch_control(seed):
    a, out = numbers(32 * 40)
    options = {} if seed is None else {"adversarial": True, "seed": seed}
    assert launch(steal, a, out, grid=40, arch="sm_100a", **options).ok
    assert torch.equal(out, a + 1)


@cute.kernel
def registers_move(a: cute.Tensor, out: cute.Tensor):
    """One warp group gives up registers that the other asks for."""
    t = arch.thread_idx()[0]
    if arch.warp_idx() < 4:
        arch.setmaxregister_decrease(40)
    else:
        arch.setmaxregister_increase(232)
    out[t] = a[t] + arch.warp_idx()


def test_registers_move_between_warp_groups():
    a, out = numbers(256)
    assert launch(registers_move, a, out, block=256).ok
    assert torch.equal(out, a + a // 32)
