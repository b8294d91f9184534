# Kernels in Gluon, Triton's language for what Hopper and Blackwell have: mbarriers, roles of warps, pairs of blocks.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All of them multiply a (M x K) by b (K x N, or N x K where it says so) in f16 and add up in f32."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia import blackwell, hopper
from triton.experimental.gluon.language.nvidia.blackwell import clc
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma


@gluon.jit
def bring(a, b, As, Bs, full, empty, i, j, K, STAGES: gl.constexpr):
    """A warp that copies; b is N x K."""
    BK: gl.constexpr = a.block_type.shape[1]
    for t in range(K // BK):
        slot = t % STAGES
        mbarrier.wait(empty.index(slot), (t // STAGES & 1) ^ 1)
        mbarrier.expect(full.index(slot), a.nbytes_per_cta + b.nbytes_per_cta)
        tma.async_load(a, [i, t * BK], full.index(slot), As.index(slot))
        tma.async_load(b, [j, t * BK], full.index(slot), Bs.index(slot))


@gluon.jit
def warp_group(c, As, Bs, Cs, full, empty, i, j, K, STAGES: gl.constexpr):
    """wgmma; the slot of a product is given back when the next one has been issued."""
    BK: gl.constexpr = As.shape[2]
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, Bs.shape[1], 16])
    total = gl.zeros((As.shape[1], Bs.shape[1]), gl.float32, layout)
    for t in range(K // BK):
        slot = t % STAGES
        mbarrier.wait(full.index(slot), t // STAGES & 1)
        flying = hopper.warpgroup_mma(As.index(slot), Bs.index(slot).permute((1, 0)), total, is_async=True)
        total = hopper.warpgroup_mma_wait(1, deps=(flying, ))
        if t > 0:
            mbarrier.arrive(empty.index((t + STAGES - 1) % STAGES))
    total = hopper.warpgroup_mma_wait(0, deps=(total, ))
    Cs.store(total.to(gl.float16))
    hopper.fence_async_shared()
    tma.async_store(c, [i, j], Cs)
    tma.store_wait(0)


@gluon.jit
def matmul_wgmma(a, b, c, K, STAGES: gl.constexpr):
    i, j = gl.program_id(0) * a.block_type.shape[0], gl.program_id(1) * b.block_type.shape[0]
    As = gl.allocate_shared_memory(gl.float16, [STAGES] + a.block_type.shape, a.layout)
    Bs = gl.allocate_shared_memory(gl.float16, [STAGES] + b.block_type.shape, b.layout)
    Cs = gl.allocate_shared_memory(gl.float16, c.block_type.shape, c.layout)
    full, empty = mbarrier.allocate_mbarrier(batch=STAGES), mbarrier.allocate_mbarrier(batch=STAGES)
    for slot in gl.static_range(STAGES):
        mbarrier.init(full.index(slot), count=1)
        mbarrier.init(empty.index(slot), count=1)
    gl.warp_specialize([(warp_group, (c, As, Bs, Cs, full, empty, i, j, K, STAGES)),
                        (bring, (a, b, As, Bs, full, empty, i, j, K, STAGES))], [1], [40])
    for slot in gl.static_range(STAGES):
        mbarrier.invalidate(full.index(slot))
        mbarrier.invalidate(empty.index(slot))


@gluon.jit
def multiply(As, Bs, acc, full, empty, done, K, STAGES: gl.constexpr):
    """A warp that issues tcgen05.mma; each product gives its slot back when it has ended."""
    BK: gl.constexpr = As.shape[2]
    for t in range(K // BK):
        slot = t % STAGES
        mbarrier.wait(full.index(slot), t // STAGES & 1)
        blackwell.tcgen05_mma(As.index(slot), Bs.index(slot).permute((1, 0)), acc, use_acc=t > 0, mbarriers=[empty.index(slot)])
    blackwell.tcgen05_commit(done)


@gluon.jit
def take(c, acc, Cs, done, i, j):
    mbarrier.wait(done, 0)
    Cs.store(acc.load().to(gl.float16))
    hopper.fence_async_shared()
    tma.async_store(c, [i, j], Cs)
    tma.store_wait(0)


@gluon.jit
def matmul_tcgen05(a, b, c, K, STAGES: gl.constexpr):
    """Three roles: copies, products, the result."""
    i, j = gl.program_id(0) * a.block_type.shape[0], gl.program_id(1) * b.block_type.shape[0]
    As = gl.allocate_shared_memory(gl.float16, [STAGES] + a.block_type.shape, a.layout)
    Bs = gl.allocate_shared_memory(gl.float16, [STAGES] + b.block_type.shape, b.layout)
    Cs = gl.allocate_shared_memory(gl.float16, c.block_type.shape, c.layout)
    acc = blackwell.allocate_tensor_memory(gl.float32, c.block_type.shape, blackwell.TensorMemoryLayout(
        (c.block_type.shape[0], c.block_type.shape[1]), col_stride=1))
    full, empty = mbarrier.allocate_mbarrier(batch=STAGES), mbarrier.allocate_mbarrier(batch=STAGES)
    done = mbarrier.allocate_mbarrier()
    for slot in gl.static_range(STAGES):
        mbarrier.init(full.index(slot), count=1)
        mbarrier.init(empty.index(slot), count=1)
    mbarrier.init(done, count=1)
    gl.warp_specialize([(take, (c, acc, Cs, done, i, j)), (bring, (a, b, As, Bs, full, empty, i, j, K, STAGES)),
                        (multiply, (As, Bs, acc, full, empty, done, K, STAGES))], [1, 1], [40, 40])
    for slot in gl.static_range(STAGES):
        mbarrier.invalidate(full.index(slot))
        mbarrier.invalidate(empty.index(slot))
    mbarrier.invalidate(done)


@gluon.jit
def matmul_pair(a, b, c, K, ACC: gl.constexpr):
    """Two blocks and one tensor core instruction (.cta_group::2); b is K x N, each block has half of its columns."""
    BK: gl.constexpr = a.block_type.shape[1]
    i, j = gl.program_id(0) * a.block_type.shape[0], gl.program_id(1) * b.block_type.shape[1]
    As = gl.allocate_shared_memory(gl.float16, [2] + a.block_type.shape, a.layout)
    Bs = gl.allocate_shared_memory(gl.float16, [2] + b.block_type.shape, b.layout)
    Cs = gl.allocate_shared_memory(gl.float16, c.block_type.shape, c.layout)
    acc = blackwell.allocate_tensor_memory(gl.float32, c.block_type.shape, ACC)
    full = mbarrier.allocate_mbarrier(batch=2, two_ctas=True)
    empty = mbarrier.allocate_mbarrier(batch=2)
    for s in gl.static_range(2):
        mbarrier.init(full.index(s), count=1)
        mbarrier.init(empty.index(s), count=1)
    hopper.cluster.barrier()
    for t in range(K // BK):
        slot = t % 2
        mbarrier.wait(empty.index(slot), (t // 2 & 1) ^ 1)
        mbarrier.expect(full.index(slot), a.nbytes_per_cta + b.nbytes_per_cta)
        tma.async_load(a, [i, t * BK], full.index(slot), As.index(slot))
        tma.async_load(b, [t * BK, j], full.index(slot), Bs.index(slot))
        mbarrier.wait(full.index(slot), t // 2 & 1)
        blackwell.tcgen05_mma(As.index(slot), Bs.index(slot), acc, use_acc=t > 0, mbarriers=[empty.index(slot)])
    last = K // BK - 1
    mbarrier.wait(empty.index(last % 2), last // 2 & 1)
    Cs.store(acc.load().to(gl.float16))
    hopper.fence_async_shared()
    tma.async_store(c, [i, j], Cs)
    tma.store_wait(0)
    for s in gl.static_range(2):
        mbarrier.invalidate(full.index(s))
        mbarrier.invalidate(empty.index(s))


@gluon.jit
def matmul_claimed(a, b, c, K, across):
    """Persistent: a block that is done takes the tile of one that has not begun (cluster launch control); b is N x K."""
    BM: gl.constexpr = a.block_type.shape[0]
    BN: gl.constexpr = b.block_type.shape[0]
    BK: gl.constexpr = a.block_type.shape[1]
    As = gl.allocate_shared_memory(gl.float16, a.block_type.shape, a.layout)
    Bs = gl.allocate_shared_memory(gl.float16, b.block_type.shape, b.layout)
    Cs = gl.allocate_shared_memory(gl.float16, c.block_type.shape, c.layout)
    acc = blackwell.allocate_tensor_memory(gl.float32, c.block_type.shape, blackwell.TensorMemoryLayout((BM, BN), col_stride=1))
    full, done, claim = mbarrier.allocate_mbarrier(), mbarrier.allocate_mbarrier(), mbarrier.allocate_mbarrier()
    answer = gl.allocate_shared_memory(gl.int64, [2], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    mbarrier.init(full, count=1)
    mbarrier.init(done, count=1)
    mbarrier.init(claim, count=1)
    tile, more = gl.program_id(0), gl.program_id(0) >= 0
    turn, step = 0, 0
    while more:
        mbarrier.expect(claim, 16)
        clc.try_cancel(answer, claim)
        i, j = tile // across * BM, tile % across * BN
        for t in range(K // BK):
            mbarrier.expect(full, a.nbytes_per_cta + b.nbytes_per_cta)
            tma.async_load(a, [i, t * BK], full, As)
            tma.async_load(b, [j, t * BK], full, Bs)
            mbarrier.wait(full, step & 1)
            blackwell.tcgen05_mma(As, Bs.permute((1, 0)), acc, use_acc=t > 0, mbarriers=[done])
            mbarrier.wait(done, step & 1)
            step += 1
        tma.store_wait(0)
        Cs.store(acc.load().to(gl.float16))
        hopper.fence_async_shared()
        tma.async_store(c, [i, j], Cs)
        mbarrier.wait(claim, turn & 1)
        turn += 1
        result = clc.load_result(answer)
        more = result.is_canceled()
        if more:
            tile = result.program_id(0)
    tma.store_wait(0)
    mbarrier.invalidate(full)
    mbarrier.invalidate(done)
    mbarrier.invalidate(claim)


@gluon.jit
def convolution(x, w, y, TAPS: gl.constexpr):
    """Pixels gathered by im2col copies: x is N, H, W, C; w is taps x C x output channels; 128 pixels of the output."""
    BM: gl.constexpr = x.block_type.shape[0]
    C: gl.constexpr = x.block_type.shape[1]
    Xs = gl.allocate_shared_memory(gl.float16, x.block_type.shape, x.layout)
    Ws = gl.allocate_shared_memory(gl.float16, w.block_type.shape, w.layout)
    Ys = gl.allocate_shared_memory(gl.float16, y.block_type.shape, y.layout)
    full = mbarrier.allocate_mbarrier()
    mbarrier.init(full, count=1)
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, w.block_type.shape[1], 16])
    total = gl.zeros(y.block_type.shape, gl.float32, layout)
    for tap in range(TAPS * TAPS):
        mbarrier.expect(full, x.nbytes_per_cta + w.nbytes_per_cta)
        tma.async_load_im2col(x, [0, -(TAPS // 2), -(TAPS // 2), 0], [(tap // TAPS).to(gl.int16), (tap % TAPS).to(gl.int16)], full, Xs)
        tma.async_load(w, [tap * C, 0], full, Ws)
        mbarrier.wait(full, tap & 1)
        total = hopper.warpgroup_mma(Xs, Ws, total)
    Ys.store(total.to(gl.float16))
    hopper.fence_async_shared()
    tma.async_store(y, [gl.program_id(0) * BM, 0], Ys)
    tma.store_wait(0)
    mbarrier.invalidate(full)
