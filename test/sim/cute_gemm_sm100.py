# Gemms for sm_100a in CuTe DSL: TMA, tcgen05, tensor memory, pairs of blocks, clusters with multicast, persistent blocks.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""d = a b^T. Warp 5 loads, warp 4 issues the products, warps 0 to 3 take the sums out of tensor memory, where there is
room for two: the products of the next tile begin while those of the last are stored."""

from cute_launch import cute

import cutlass
import cutlass.utils.blackwell_helpers as sm100
from cutlass import pipeline
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, tcgen05
from cutlass.pipeline import Agent, CooperativeGroup, PipelineUserType
from cutlass.utils import LayoutEnum, PersistentTileSchedulerParams, StaticPersistentTileScheduler

arch = cute.arch
EPILOGUE, PRODUCTS, LOADS = 4, 4, 5


def major(tensor):
    return OperandMajorMode.K if LayoutEnum.from_tensor(tensor) == LayoutEnum.ROW_MAJOR else OperandMajorMode.MN


class Gemm:
    def __init__(self, acc_type, tile=(128, 64, 64), stages=3, cluster=(1, 1), clusters=2, pair=False, tf32=False, broken=None):
        self.acc_type, self.tile, self.stages, self.cluster, self.clusters = acc_type, tile, stages, (*cluster, 1), clusters
        self.group = tcgen05.CtaGroup.TWO if pair else tcgen05.CtaGroup.ONE
        self.blocks, self.tf32, self.broken = 2 if pair else 1, tf32, broken

    @cute.jit
    def __call__(self, a: cute.Tensor, b: cute.Tensor, d: cute.Tensor):
        tile = self.tile
        self.types = (cutlass.TFloat32, cutlass.TFloat32) if self.tf32 else (a.element_type, b.element_type)
        mma = sm100.make_trivial_tiled_mma(*self.types, major(a), major(b), self.acc_type, self.group, tile[:2])
        shape_a = sm100.make_smem_layout_a(mma, tile, self.types[0], self.stages)
        shape_b = sm100.make_smem_layout_b(mma, tile, self.types[1], self.stages)
        cluster = cute.tiled_divide(cute.make_layout(self.cluster), (mma.thr_id.shape,))

        def load(make, several, tensor, shape, kind):
            op = cpasync.CopyBulkTensorTileG2SMulticastOp if several else cpasync.CopyBulkTensorTileG2SOp
            return make(op(self.group), tensor, cute.slice_(shape, (None, None, None, 0)), tile, mma, cluster.shape,
                        internal_type=kind if self.tf32 else None)

        atom_a, source_a = load(cute.nvgpu.make_tiled_tma_atom_A, cluster.shape[2] > 1, a, shape_a, self.types[0])
        atom_b, source_b = load(cute.nvgpu.make_tiled_tma_atom_B, cluster.shape[1] > 1, b, shape_b, self.types[1])
        params = PersistentTileSchedulerParams((*cute.ceil_div(d.shape, (tile[0] // self.blocks, tile[1])), 1), self.cluster)
        grid = StaticPersistentTileScheduler.get_grid_shape(params, self.clusters)
        self.kernel(mma, atom_a, source_a, atom_b, source_b, d, shape_a, shape_b, cluster, params).launch(
            grid=grid, block=(192, 1, 1), cluster=self.cluster)

    @cute.kernel
    def kernel(self, mma: cute.TiledMma, atom_a: cute.CopyAtom, source_a: cute.Tensor, atom_b: cute.CopyAtom, source_b: cute.Tensor,
               d: cute.Tensor, shape_a: cute.ComposedLayout, shape_b: cute.ComposedLayout, cluster: cute.Layout,
               params: PersistentTileSchedulerParams):
        tile, blocks = self.tile, self.blocks
        t, warp = arch.thread_idx()[0], arch.make_warp_uniform(arch.warp_idx())
        here = cluster.get_flat_coord(arch.make_warp_uniform(arch.block_idx_in_cluster()))
        memory = cutlass.memory.SmemAllocator()
        slots, results = memory.allocate_array(cutlass.Int64, 2 * self.stages), memory.allocate_array(cutlass.Int64, 4)
        ended, place = memory.allocate_array(cutlass.Int64, 1), memory.allocate_array(cutlass.Int32, 1)
        shared_a = memory.allocate_tensor(self.types[0], shape_a.outer, 1024, shape_a.inner)
        shared_b = memory.allocate_tensor(self.types[1], shape_b.outer, 1024, shape_b.inner)
        one = cute.slice_(shape_a, (None, None, None, 0)), cute.slice_(shape_b, (None, None, None, 0))
        # Before the pipelines: they end by waiting for the cluster, for this mbarrier too.
        room = cutlass.memory.TmemAllocator(place, barrier_for_retrieve=pipeline.NamedBarrier(1, 32 * (EPILOGUE + 1)),
                                            is_two_cta=blocks == 2, two_cta_tmem_dealloc_mbar_ptr=ended)
        ring = pipeline.PipelineTmaUmma.create(
            num_stages=self.stages, producer_group=CooperativeGroup(Agent.Thread),
            consumer_group=CooperativeGroup(Agent.Thread, self.cluster[0] // blocks + self.cluster[1] - 1),
            tx_count=blocks * (cute.size_in_bytes(self.types[0], one[0]) + cute.size_in_bytes(self.types[1], one[1])),
            barrier_storage=slots, cta_layout_vmnk=cluster)
        sums = pipeline.PipelineUmmaAsync.create(
            num_stages=2, producer_group=CooperativeGroup(Agent.Thread),
            consumer_group=CooperativeGroup(Agent.Thread, 32 * EPILOGUE * blocks), barrier_storage=results, cta_layout_vmnk=cluster)
        mine = mma.get_slice(here[0])
        tiles_a = mine.partition_A(cute.local_tile(source_a, cute.select(tile, mode=[0, 2]), (None, None)))
        tiles_b = mine.partition_B(cute.local_tile(source_b, cute.select(tile, mode=[1, 2]), (None, None)))
        tiles_d = mine.partition_C(cute.local_tile(d, tile[:2], (None, None)))
        steps = cute.size(tiles_a, mode=[4])
        columns = max(32, 2 * tile[1])
        fragment = mma.make_fragment_C(cute.append(mma.partition_shape_C(tile[:2]), 2))
        scheduler = StaticPersistentTileScheduler.create(params, arch.block_idx(), arch.grid_dim())
        work = scheduler.initial_work_tile_info()

        if warp == LOADS:
            to_a, from_a = cpasync.tma_partition(atom_a, here[2], cute.make_layout(cute.slice_(cluster, (0, 0, None, 0)).shape),
                                                 cute.group_modes(shared_a, 0, 3), cute.group_modes(tiles_a, 0, 3))
            to_b, from_b = cpasync.tma_partition(atom_b, here[1], cute.make_layout(cute.slice_(cluster, (0, None, 0, 0)).shape),
                                                 cute.group_modes(shared_b, 0, 3), cute.group_modes(tiles_b, 0, 3))
            mask_a = cpasync.create_tma_multicast_mask(cluster, here, mcast_mode=2)
            mask_b = cpasync.create_tma_multicast_mask(cluster, here, mcast_mode=1)
            state = pipeline.make_pipeline_state(PipelineUserType.Producer, self.stages)
            while work.is_valid_tile:
                m, n = work.tile_idx[0] // blocks, work.tile_idx[1]
                for k in cutlass.range(steps):
                    ring.producer_acquire(state)
                    full = ring.producer_get_barrier(state)
                    cute.copy(atom_a, from_a[(None, m, k)], to_a[(None, state.index)], tma_bar_ptr=full, mcast_mask=mask_a)
                    cute.copy(atom_b, from_b[(None, n, k)], to_b[(None, state.index)], tma_bar_ptr=full, mcast_mask=mask_b)
                    state.advance()
                scheduler.advance_to_next_work()
                work = scheduler.get_current_work()
            ring.producer_tail(state)

        if warp == PRODUCTS:
            room.wait_for_alloc()
            total = cute.make_tensor(room.retrieve_ptr(self.acc_type), fragment.layout)
            x, y = mma.make_fragment_A(shared_a), mma.make_fragment_B(shared_b)
            state = pipeline.make_pipeline_state(PipelineUserType.Consumer, self.stages)
            result = pipeline.make_pipeline_state(PipelineUserType.Producer, 2)
            while work.is_valid_tile:
                if here[0] == 0:
                    if cutlass.const_expr(self.broken != "room"):
                        sums.producer_acquire(result)
                    mma.set(tcgen05.Field.ACCUMULATE, False)
                    for k in cutlass.range(steps):
                        if cutlass.const_expr(self.broken != "wait"):
                            ring.consumer_wait(state)
                        for i in cutlass.range_constexpr(cute.size(x, mode=[2])):
                            cute.gemm(mma, total[(None, None, None, result.index)], x[(None, None, i, state.index)],
                                      y[(None, None, i, state.index)], total[(None, None, None, result.index)])
                            mma.set(tcgen05.Field.ACCUMULATE, True)
                        ring.consumer_release(state)
                        state.advance()
                    sums.producer_commit(result)
                    result.advance()
                scheduler.advance_to_next_work()
                work = scheduler.get_current_work()
            if here[0] == 0:
                sums.producer_tail(result)

        if warp < EPILOGUE:
            room.allocate(columns)
            room.wait_for_alloc()
            pointer = room.retrieve_ptr(self.acc_type)
            total = cute.make_tensor(pointer, fragment.layout)
            atom = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x16), self.acc_type)
            copy = tcgen05.make_tmem_copy(atom, total[((None, None), 0, 0, 0)])
            lane = copy.get_slice(t)
            result = pipeline.make_pipeline_state(PipelineUserType.Consumer, 2)
            while work.is_valid_tile:
                m, n = work.tile_idx[0] // blocks, work.tile_idx[1]
                sums.consumer_wait(result)
                to = lane.partition_D(tiles_d[((None, None), 0, 0, m, n)])
                taken = cute.make_rmem_tensor(to.shape, self.acc_type)
                cute.copy(copy, lane.partition_S(total[((None, None), 0, 0, result.index)]), taken)
                arch.fence_view_async_tmem_load()
                sums.consumer_release(result)
                result.advance()
                narrow = cute.make_rmem_tensor(to.shape, d.element_type)
                narrow.store(taken.load().to(d.element_type))
                cute.autovec_copy(narrow, to)
                scheduler.advance_to_next_work()
                work = scheduler.get_current_work()
            room.relinquish_alloc_permit()
            pipeline.NamedBarrier(2, 32 * EPILOGUE).arrive_and_wait()
            room.free(pointer, columns)
