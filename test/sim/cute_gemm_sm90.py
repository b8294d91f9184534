# Gemms for sm_90a in CuTe DSL: TMA, wgmma, warp specialisation, persistent blocks, clusters with multicast.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""d = a b^T. One warp loads, one or two warp groups multiply, and store by TMA through shared memory."""

from cute_launch import cute

import cutlass
import cutlass.utils.hopper_helpers as sm90
from cutlass import pipeline
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, warpgroup
from cutlass.pipeline import Agent, CooperativeGroup, PipelineUserType
from cutlass.utils import LayoutEnum, PersistentTileSchedulerParams, StaticPersistentTileScheduler

arch = cute.arch


def major(layout):
    return OperandMajorMode.K if layout == LayoutEnum.ROW_MAJOR else OperandMajorMode.MN


class Gemm:
    def __init__(self, acc_type, tile=(64, 64, 64), stages=3, groups=1, cluster=(1, 1), clusters=2, broken=None):
        self.acc_type, self.tile, self.stages, self.groups = acc_type, tile, stages, groups
        self.cluster, self.clusters, self.broken = (*cluster, 1), clusters, broken

    @cute.jit
    def __call__(self, a: cute.Tensor, b: cute.Tensor, d: cute.Tensor):
        tile, self.types = self.tile, (a.element_type, b.element_type, d.element_type)
        kind_a, kind_b, kind_d = LayoutEnum.from_tensor(a), LayoutEnum.from_tensor(b), LayoutEnum.from_tensor(d)
        mma = sm90.make_trivial_tiled_mma(a.element_type, b.element_type, major(kind_a), major(kind_b), self.acc_type,
                                          (self.groups, 1, 1), (64, tile[1]))
        shape_a = sm90.make_smem_layout_a(kind_a, tile, a.element_type, self.stages)
        shape_b = sm90.make_smem_layout_b(kind_b, tile, b.element_type, self.stages)
        shape_d = sm90.make_smem_layout_epi(d.element_type, kind_d, tile[:2], 1)
        m, n, _ = self.cluster

        def loads(tensor, shape, rows, times):
            op = cpasync.CopyBulkTensorTileG2SMulticastOp() if times > 1 else cpasync.CopyBulkTensorTileG2SOp()
            return cpasync.make_tiled_tma_atom(op, tensor, cute.slice_(shape, (None, None, 0)), (rows, tile[2]), num_multicast=times)

        atom_a, source_a = loads(a, shape_a, tile[0], n)
        atom_b, source_b = loads(b, shape_b, tile[1], m)
        atom_d, target = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), d, cute.slice_(shape_d, (None, None, 0)), tile[:2])
        params = PersistentTileSchedulerParams((*cute.ceil_div(d.shape, tile[:2]), 1), self.cluster)
        grid = StaticPersistentTileScheduler.get_grid_shape(params, self.clusters)
        self.kernel(mma, atom_a, source_a, atom_b, source_b, atom_d, target, shape_a, shape_b, shape_d,
                    cute.make_layout((1, m, n, 1)), params).launch(
            grid=grid, block=(128 * self.groups + 128, 1, 1), cluster=self.cluster)

    @cute.kernel
    def kernel(self, mma: cute.TiledMma, atom_a: cute.CopyAtom, source_a: cute.Tensor, atom_b: cute.CopyAtom, source_b: cute.Tensor,
               atom_d: cute.CopyAtom, target: cute.Tensor, shape_a: cute.ComposedLayout, shape_b: cute.ComposedLayout,
               shape_d: cute.ComposedLayout, cluster: cute.Layout, params: PersistentTileSchedulerParams):
        tile, (type_a, type_b, type_d) = self.tile, self.types
        t, warp = arch.thread_idx()[0], arch.make_warp_uniform(arch.warp_idx())
        rank = arch.make_warp_uniform(arch.block_idx_in_cluster())
        here = cluster.get_flat_coord(rank)
        memory = cutlass.memory.SmemAllocator()
        barriers = memory.allocate_array(cutlass.Int64, 2 * self.stages)
        shared_a = memory.allocate_tensor(type_a, shape_a.outer, 1024, shape_a.inner)
        shared_b = memory.allocate_tensor(type_b, shape_b.outer, 1024, shape_b.inner)
        shared_d = memory.allocate_tensor(type_d, shape_d.outer, 1024, shape_d.inner)
        one = cute.slice_(shape_a, (None, None, 0)), cute.slice_(shape_b, (None, None, 0))
        ring = pipeline.PipelineTmaAsync.create(
            num_stages=self.stages, producer_group=CooperativeGroup(Agent.Thread),
            consumer_group=CooperativeGroup(Agent.Thread, 4 * self.groups * (self.cluster[0] + self.cluster[1] - 1)),
            tx_count=cute.size_in_bytes(type_a, one[0]) + cute.size_in_bytes(type_b, one[1]),
            barrier_storage=barriers, cta_layout_vmnk=cluster)
        tiles_a, tiles_b = cute.zipped_divide(source_a, (tile[0], tile[2])), cute.zipped_divide(source_b, (tile[1], tile[2]))
        tiles_d = cute.zipped_divide(target, tile[:2])
        to_a, from_a = cpasync.tma_partition(atom_a, here[2], cute.make_layout(self.cluster[1]), cute.group_modes(shared_a, 0, 2), tiles_a)
        to_b, from_b = cpasync.tma_partition(atom_b, here[1], cute.make_layout(self.cluster[0]), cute.group_modes(shared_b, 0, 2), tiles_b)
        from_d, to_d = cpasync.tma_partition(atom_d, 0, cute.make_layout(1), cute.group_modes(shared_d, 0, 2), tiles_d)
        steps = cute.size(tiles_a, mode=[1, 1])
        scheduler = StaticPersistentTileScheduler.create(params, arch.block_idx(), arch.grid_dim())
        work = scheduler.initial_work_tile_info()

        if warp >= 4 * self.groups:  # the whole warp group has to say so
            arch.setmaxregister_decrease(40)
        if warp == 4 * self.groups:
            mask_a = cpasync.create_tma_multicast_mask(cluster, here, mcast_mode=2)
            mask_b = cpasync.create_tma_multicast_mask(cluster, here, mcast_mode=1)
            state = pipeline.make_pipeline_state(PipelineUserType.Producer, self.stages)
            while work.is_valid_tile:
                m, n, _ = work.tile_idx
                for k in cutlass.range(steps):
                    ring.producer_acquire(state)
                    full = ring.producer_get_barrier(state)
                    cute.copy(atom_a, from_a[(None, (m, k))], to_a[(None, state.index)], tma_bar_ptr=full, mcast_mask=mask_a)
                    cute.copy(atom_b, from_b[(None, (n, k))], to_b[(None, state.index)], tma_bar_ptr=full, mcast_mask=mask_b)
                    ring.producer_commit(state)
                    state.advance()
                scheduler.advance_to_next_work()
                work = scheduler.get_current_work()
            ring.producer_tail(state)

        if warp < 4 * self.groups:
            mine = mma.get_slice(t)
            x, y = mma.make_fragment_A(mine.partition_A(shared_a)), mma.make_fragment_B(mine.partition_B(shared_b))
            sums = cute.make_rmem_tensor(mma.partition_shape_C(tile[:2]), self.acc_type)
            state = pipeline.make_pipeline_state(PipelineUserType.Consumer, self.stages)
            done = pipeline.make_pipeline_state(PipelineUserType.Consumer, self.stages)
            consumers = pipeline.NamedBarrier(1, 128 * self.groups)
            while work.is_valid_tile:
                m, n, _ = work.tile_idx
                mma.set(warpgroup.Field.ACCUMULATE, False)
                for k in cutlass.range(steps):
                    if cutlass.const_expr(self.broken != "wait"):
                        ring.consumer_wait(state)
                    warpgroup.fence()
                    for i in cutlass.range_constexpr(cute.size(x, mode=[2])):
                        cute.gemm(mma, sums, x[(None, None, i, state.index)], y[(None, None, i, state.index)], sums)
                        mma.set(warpgroup.Field.ACCUMULATE, True)
                    warpgroup.commit_group()
                    # One group stays in flight: the slot before this one is free.
                    warpgroup.wait_group(2 if cutlass.const_expr(self.broken == "release") else 1)
                    if k > 0:
                        ring.consumer_release(done)
                        done.advance()
                    state.advance()
                warpgroup.wait_group(0)
                ring.consumer_release(done)
                done.advance()
                narrow = cute.make_rmem_tensor(sums.shape, type_d)
                narrow.store(sums.load().to(type_d))
                cute.autovec_copy(narrow, mine.partition_C(shared_d)[(None, None, None, 0)])
                if cutlass.const_expr(self.broken != "proxy"):
                    arch.fence_proxy("async.shared", space="cta")
                consumers.arrive_and_wait()
                if warp == 0:
                    cute.copy(atom_d, from_d[(None, 0)], to_d[(None, (m, n))])
                    arch.cp_async_bulk_commit_group()
                    arch.cp_async_bulk_wait_group(0, read=True)
                consumers.arrive_and_wait()
                scheduler.advance_to_next_work()
                work = scheduler.get_current_work()
