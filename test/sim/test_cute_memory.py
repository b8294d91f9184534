# One small kernel in CuTe DSL for each primitive of memory: atomics, loads and stores, barriers, cp.async, ldmatrix.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every kernel runs with checks on and must be silent; results are compared with NumPy and are exact."""

import numpy as np
import pytest
from cute_launch import cute, launch

import cutlass
import torch
from cutlass.cute.nvgpu import cpasync, warp

arch = cute.arch
Float32, Int32 = cutlass.Float32, cutlass.Int32


def atomic_kernel(operation):
    """A warp whose lanes t apply operation(address of memory[0], a[t], t); what each got is kept."""
    @cute.kernel
    def kernel(a: cute.Tensor, memory: cute.Tensor, old: cute.Tensor):
        t = arch.thread_idx()[0]
        old[t] = operation(memory.iterator, a[t], t)
    return kernel


def running(ufunc):
    """What the lanes got, whatever their order, if the memory held 5: it only shows for what grows or shrinks."""
    return lambda a: ufunc.reduce(np.r_[a[:0], np.int64(5), a])


ATOMICS = {
    "add": (lambda p, x, t: arch.atomic_add(p, x), running(np.add)),
    "and": (lambda p, x, t: arch.atomic_and(p, x | 4), lambda a: 4),
    "or": (lambda p, x, t: arch.atomic_or(p, x), running(np.bitwise_or)),
    "xor": (lambda p, x, t: arch.atomic_xor(p, x), running(np.bitwise_xor)),
    "max": (lambda p, x, t: arch.atomic_max(p, x), running(np.maximum)),
    "min": (lambda p, x, t: arch.atomic_min(p, x), running(np.minimum)),
    "add_release_gpu": (lambda p, x, t: arch.atomic_add(p, x, sem="acq_rel", scope="gpu"), running(np.add)),
}


def numbers(seed=1):
    return torch.randperm(64, generator=torch.Generator().manual_seed(seed))[:32].to(torch.int32) + 1


@pytest.mark.parametrize("name", ATOMICS)
def test_atomics(name):
    operation, expected = ATOMICS[name]
    a, memory, old = numbers(), torch.full((1,), 5, dtype=torch.int32), torch.zeros(32, dtype=torch.int32)
    assert launch(atomic_kernel(operation), a, memory, old).ok
    assert memory.item() == expected(a.numpy().astype(np.int64))
    assert 5 in old  # somebody was first


def test_atomic_exchange_hands_every_value_on_once():
    a, memory, old = numbers(), torch.full((1,), 1000, dtype=torch.int32), torch.zeros(32, dtype=torch.int32)
    assert launch(atomic_kernel(lambda p, x, t: arch.atomic_exch(p, x)), a, memory, old).ok
    assert sorted([*old.tolist(), memory.item()]) == sorted([*a.tolist(), 1000])


def test_atomic_compare_and_swap_lets_one_lane_win():
    a, memory, old = numbers(), torch.zeros(1, dtype=torch.int32), torch.full((32,), -1, dtype=torch.int32)
    assert launch(atomic_kernel(lambda p, x, t: arch.atomic_cas(p, cmp=Int32(0), val=x)), a, memory, old).ok
    assert (old == 0).sum() == 1 and memory.item() == a[old == 0].item()
    assert (old[old != 0] == memory).all()


@pytest.mark.parametrize("name", ["atomic_fmax", "atomic_fmin"])
def test_atomic_floats(name):
    """There are none in PTX: CuTe makes them of integers."""
    a, memory, old = torch.randn(32, generator=torch.Generator().manual_seed(3)), torch.tensor([-0.25]), torch.zeros(32)
    assert launch(atomic_kernel(lambda p, x, t: getattr(arch, name)(p, x)), a, memory, old).ok
    assert memory.item() == (max if "max" in name else min)([*a.tolist(), -0.25])


REDUCTIONS = {"add": np.sum, "min": np.min, "max": np.max}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name):
    @cute.kernel
    def kernel(a: cute.Tensor, out: cute.Tensor):
        t = arch.thread_idx()[0]
        arch.red(out.iterator + t % 4, a[t], op=name, dtype="s32", sem="relaxed", scope="gpu")

    a, out = numbers(), torch.full((4,), 20, dtype=torch.int32)
    assert launch(kernel, a, out).ok
    assert out.tolist() == [REDUCTIONS[name]([20, *a[i::4].tolist()]) for i in range(4)]


def test_a_flag_published_with_release_is_read_with_acquire():
    """Block 0 writes data, then the flag; block 1 waits for the flag, then reads the data."""
    @cute.kernel
    def kernel(a: cute.Tensor, flag: cute.Tensor, out: cute.Tensor):
        t, block = arch.thread_idx()[0], arch.block_idx()[0]
        if block == 0:
            out[t] = a[t]
            arch.sync_warp()
            if t == 0:
                arch.store(flag.iterator, Int32(1), sem="release", scope="gpu")
        else:
            seen = arch.load(flag.iterator, Int32, sem="acquire", scope="gpu")
            while seen == 0:
                seen = arch.load(flag.iterator, Int32, sem="acquire", scope="gpu")
            out[32 + t] = out[t] + 1

    a, flag, out = numbers(), torch.zeros(1, dtype=torch.int32), torch.zeros(64, dtype=torch.int32)
    assert launch(kernel, a, flag, out, grid=2).ok
    assert torch.equal(out, torch.cat([a, a + 1]))


def test_a_flag_without_release_is_a_race():
    from tessera.sim.cute import SimulationError

    @cute.kernel
    def kernel(a: cute.Tensor, flag: cute.Tensor, out: cute.Tensor):
        t, block = arch.thread_idx()[0], arch.block_idx()[0]
        if block == 0:
            out[t] = a[t]
            arch.sync_warp()
            if t == 0:
                arch.store(flag.iterator, Int32(1), sem="relaxed", scope="gpu")
        else:
            seen = arch.load(flag.iterator, Int32, sem="acquire", scope="gpu")
            while seen == 0:
                seen = arch.load(flag.iterator, Int32, sem="acquire", scope="gpu")
            out[32 + t] = out[t] + 1

    with pytest.raises(SimulationError, match="race"):
        launch(kernel, numbers(), torch.zeros(1, dtype=torch.int32), torch.zeros(64, dtype=torch.int32), grid=2)


CACHES = {
    "load_cg": (lambda p, q, t: arch.store(q, arch.load(p, Int32, cop="cg"))),
    "load_cs": (lambda p, q, t: arch.store(q, arch.load(p, Int32, cop="cs"))),
    "load_no_allocate": (lambda p, q, t: arch.store(q, arch.load(p, Int32, level1_eviction_priority="evict_no_allocate"))),
    "store_wt": (lambda p, q, t: arch.store(q, arch.load(p, Int32), cop="wt")),
    "store_cs": (lambda p, q, t: arch.store(q, arch.load(p, Int32), cop="cs")),
    "prefetch": (lambda p, q, t: (arch.prefetch(p.to_llvm_ptr(), cache_level="L2"), arch.store(q, arch.load(p, Int32)))[1]),
}


@pytest.mark.parametrize("name", CACHES)
def test_caches_change_no_result(name):
    @cute.kernel
    def kernel(a: cute.Tensor, out: cute.Tensor):
        t = arch.thread_idx()[0]
        CACHES[name](a.iterator + t, out.iterator + t, t)

    a, out = numbers(), torch.zeros(32, dtype=torch.int32)
    assert launch(kernel, a, out).ok
    assert torch.equal(a, out)


@pytest.mark.parametrize("bits", [32, 64, 128])
def test_vectors(bits):
    """Each lane copies the bits at once, by a copy atom."""
    n = bits // 32

    @cute.kernel
    def kernel(a: cute.Tensor, out: cute.Tensor):
        t = arch.thread_idx()[0]
        atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Int32, num_bits_per_copy=bits)
        registers = cute.make_rmem_tensor(cute.make_layout(n), Int32)
        cute.copy(atom, cute.local_tile(a, (n,), (t,)), registers)
        cute.copy(atom, registers, cute.local_tile(out, (n,), (31 - t,)))

    a, out = torch.arange(32 * n, dtype=torch.int32), torch.zeros(32 * n, dtype=torch.int32)
    report = launch(kernel, a, out, count=True)
    assert torch.equal(out, a.reshape(32, n).flip(0).reshape(-1))
    assert report.counts["sectors"] == 2 * 4 * n


def reverse_through(shared):
    """Turns 64 numbers around in the tensor that shared() makes in shared memory."""
    @cute.kernel
    def kernel(a: cute.Tensor, out: cute.Tensor):
        t = arch.thread_idx()[0]
        buffer = cute.make_tensor(shared(), cute.make_layout(64))
        buffer[t] = a[t]
        arch.sync_threads()
        out[t] = buffer[63 - t]
    return kernel


SHARED = {"alloc_smem": (lambda: arch.alloc_smem(Int32, 64), 0),
          "get_dyn_smem": (lambda: arch.get_dyn_smem(Int32), 256),
          "SmemAllocator": (lambda: cutlass.memory.SmemAllocator().allocate_array(Int32, 64), 256)}


@pytest.mark.parametrize("name", SHARED)
def test_shared_memory(name):
    make, size = SHARED[name]
    a, out = torch.arange(64, dtype=torch.int32), torch.zeros(64, dtype=torch.int32)
    assert launch(reverse_through(make), a, out, block=64, shared=size).ok
    assert torch.equal(out, a.flip(0))


def test_named_barriers_of_a_producer_and_a_consumer():
    """Warp 1 fills the buffer and only arrives; warp 0 waits; the other way round behind it."""
    @cute.kernel
    def kernel(a: cute.Tensor, out: cute.Tensor):
        t, w = arch.lane_idx(), arch.warp_idx()
        buffer = cute.make_tensor(arch.alloc_smem(Int32, 32), cute.make_layout(32))
        for i in cutlass.range(4):
            if w == 1:
                buffer[t] = a[32 * i + t]
                arch.barrier_arrive(barrier_id=1, number_of_threads=64)
                arch.barrier(barrier_id=2, number_of_threads=64)
            else:
                arch.barrier(barrier_id=1, number_of_threads=64)
                out[32 * i + t] = buffer[31 - t]
                arch.barrier_arrive(barrier_id=2, number_of_threads=64)

    a, out = torch.arange(128, dtype=torch.int32), torch.zeros(128, dtype=torch.int32)
    assert launch(kernel, a, out, block=64).ok
    assert torch.equal(out, a.reshape(4, 32).flip(1).reshape(-1))


def asynchronous(bits, mode, wait):
    """Two groups of cp.async; the older is used while the newer may be in flight."""
    n = bits // 32

    @cute.kernel
    def kernel(a: cute.Tensor, out: cute.Tensor):
        t = arch.thread_idx()[0]
        atom = cute.make_copy_atom(cpasync.CopyG2SOp(cache_mode=mode), Int32, num_bits_per_copy=bits)
        buffer = cute.make_tensor(arch.alloc_smem(Int32, 64 * n, alignment=16), cute.make_layout(64 * n))
        for i in cutlass.range_constexpr(2):
            cute.copy(atom, cute.local_tile(a, (n,), (32 * i + t,)), cute.local_tile(buffer, (n,), (32 * i + t,)))
            arch.cp_async_commit_group()
        for i in cutlass.range_constexpr(2):
            arch.cp_async_wait_group(1 - i if wait else 2)
            arch.sync_threads()
            for j in cutlass.range_constexpr(n):
                out[32 * n * i + 32 * j + t] = buffer[32 * n * (i + 1) - 1 - 32 * j - t]
    return kernel


CP_ASYNC = [(32, cpasync.LoadCacheMode.ALWAYS), (64, cpasync.LoadCacheMode.ALWAYS), (128, cpasync.LoadCacheMode.ALWAYS),
            (128, cpasync.LoadCacheMode.GLOBAL)]


@pytest.mark.parametrize("bits, mode", CP_ASYNC, ids=[f"{b}-{m.name}" for b, m in CP_ASYNC])
def test_cp_async(bits, mode):
    n = bits // 32
    a, out = torch.arange(64 * n, dtype=torch.int32), torch.zeros(64 * n, dtype=torch.int32)
    assert launch(asynchronous(bits, mode, True), a, out, arch="sm_80").ok
    assert torch.equal(out, a.reshape(2, -1).flip(1).reshape(-1))


def test_cp_async_without_its_wait_is_found():
    from tessera.sim.cute import SimulationError
    with pytest.raises(SimulationError, match="cp.async"):
        launch(asynchronous(32, cpasync.LoadCacheMode.ALWAYS, False), torch.arange(64, dtype=torch.int32),
               torch.zeros(64, dtype=torch.int32), arch="sm_80")


def test_cp_async_fills_with_zeros_what_a_predicate_leaves_out():
    """Lanes from 20 on do not read: their source would be outside of `a`."""
    @cute.kernel
    def kernel(a: cute.Tensor, out: cute.Tensor):
        t = arch.thread_idx()[0]
        atom = cute.make_copy_atom(cpasync.CopyG2SOp(), Int32, num_bits_per_copy=32)
        buffer = cute.make_tensor(arch.alloc_smem(Int32, 32, alignment=16), cute.make_layout(32))
        wanted = cute.make_rmem_tensor(cute.make_layout(1), cutlass.Boolean)
        wanted[0] = t < 20
        cute.copy(atom, cute.local_tile(a, (1,), (t,)), cute.local_tile(buffer, (1,), (t,)), pred=wanted)
        arch.cp_async_commit_group()
        arch.cp_async_wait_group(0)
        arch.sync_threads()
        out[t] = buffer[31 - t]

    a, out = torch.arange(1, 21, dtype=torch.int32), torch.full((32,), -1, dtype=torch.int32)
    assert launch(kernel, a, out, arch="sm_80").ok
    assert out.tolist() == [*[0] * 12, *range(20, 0, -1)]


def fragments(a, count, transpose):
    """Registers that the ISA says of ldmatrix: lane t has row t // 4, columns 2 (t % 4) and the next, of each matrix."""
    tiles = a.reshape(count, 8, 8)
    if transpose:
        tiles = tiles.transpose(0, 2, 1)
    return np.stack([tiles[i, t // 4, 2 * (t % 4) + j] for t in range(32) for i in range(count) for j in range(2)])


def row(shared, t, count):
    """Where lane t points; the copy wants a tensor of as many elements as a lane has registers."""
    start = cute.assume(8 * (t % (8 * count)), 8)
    return cute.make_tensor(shared.iterator + start, cute.make_layout(2 * count))


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_ldmatrix(count, transpose):
    @cute.kernel
    def kernel(a: cute.Tensor, out: cute.Tensor):
        t = arch.thread_idx()[0]
        shared = cute.make_tensor(arch.alloc_smem(cutlass.Float16, 64 * count, alignment=16), cute.make_layout(64 * count))
        for i in cutlass.range_constexpr(2 * count):
            shared[32 * i + t] = a[32 * i + t]
        arch.sync_threads()
        atom = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(transpose, count), cutlass.Float16)
        registers = cute.make_rmem_tensor(cute.make_layout(2 * count), cutlass.Float16)
        cute.copy(atom, row(shared, t, count), registers)
        for i in cutlass.range_constexpr(2 * count):
            out[2 * count * t + i] = registers[i]

    a, out = torch.arange(64 * count).half(), torch.zeros(64 * count).half()
    assert launch(kernel, a, out).ok
    np.testing.assert_array_equal(out.numpy(), fragments(a.numpy(), count, transpose))


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_stmatrix(count, transpose):
    @cute.kernel
    def kernel(a: cute.Tensor, out: cute.Tensor):
        t = arch.thread_idx()[0]
        shared = cute.make_tensor(arch.alloc_smem(cutlass.Float16, 64 * count, alignment=16), cute.make_layout(64 * count))
        atom = cute.make_copy_atom(warp.StMatrix8x8x16bOp(transpose, count), cutlass.Float16)
        registers = cute.make_rmem_tensor(cute.make_layout(2 * count), cutlass.Float16)
        for i in cutlass.range_constexpr(2 * count):
            registers[i] = a[2 * count * t + i]
        cute.copy(atom, registers, row(shared, t, count))
        arch.sync_threads()
        for i in cutlass.range_constexpr(2 * count):
            out[32 * i + t] = shared[32 * i + t]

    matrices = torch.arange(64 * count).half()
    a, out = torch.from_numpy(fragments(matrices.numpy(), count, transpose)), torch.zeros(64 * count).half()
    assert launch(kernel, a, out).ok
    assert torch.equal(out, matrices)
