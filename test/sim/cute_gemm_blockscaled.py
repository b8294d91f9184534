# A block-scaled gemm for sm_100a in CuTe DSL: fp8 or fp4 with a scale for 32 or 16 elements of a row.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""d = (a * scales) (b * scales)^T. A block makes one tile; warp 0 loads, warp 1 copies the scales of each step into tensor
memory and multiplies, then the four warps store. Operands come as bytes, fp4 two in each, scales in CuTe's order."""

from cute_launch import cute

import cutlass
import cutlass.utils.blackwell_helpers as sm100
import cutlass.utils.blockscaled_layout as scaled
from cutlass import pipeline
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, tcgen05
from cutlass.pipeline import Agent, CooperativeGroup, PipelineUserType

arch = cute.arch
ONE = tcgen05.CtaGroup.ONE


class Gemm:
    def __init__(self, dtype, scale_type, vector, shape, tile, stages=2, broken=None):
        self.dtype, self.scale_type, self.vector, self.shape = dtype, scale_type, vector, shape
        self.tile, self.stages, self.broken = tile, stages, broken

    @cute.jit
    def __call__(self, a: cute.Tensor, b: cute.Tensor, scales_a: cute.Tensor, scales_b: cute.Tensor, d: cute.Tensor):
        m, n, k = self.shape
        mma = sm100.make_blockscaled_trivial_tiled_mma(self.dtype, self.dtype, OperandMajorMode.K, OperandMajorMode.K,
                                                       self.scale_type, self.vector, ONE, self.tile[:2])
        shapes = (sm100.make_smem_layout_a(mma, self.tile, self.dtype, self.stages),
                  sm100.make_smem_layout_b(mma, self.tile, self.dtype, self.stages),
                  scaled.make_smem_layout_sfa(mma, self.tile, self.vector, self.stages),
                  scaled.make_smem_layout_sfb(mma, self.tile, self.vector, self.stages))

        def operand(tensor, rows):
            return cute.make_tensor(cute.recast_ptr(tensor.iterator, dtype=self.dtype),
                                    cute.make_layout((rows, k, 1), stride=(k, 1, rows * k)))

        def scales(tensor, rows):
            return cute.make_tensor(cute.recast_ptr(tensor.iterator, dtype=self.scale_type),
                                    scaled.tile_atom_to_shape_SF((rows, k, 1), self.vector))

        def load(make, tensor, shape, **kind):
            return make(cpasync.CopyBulkTensorTileG2SOp(ONE), tensor, cute.slice_(shape, (None, None, None, 0)), self.tile, mma,
                        (1, 1, 1, 1), **kind)

        of_a, of_b = cute.nvgpu.make_tiled_tma_atom_A, cute.nvgpu.make_tiled_tma_atom_B
        atom_a, source_a = load(of_a, operand(a, m), shapes[0])
        atom_b, source_b = load(of_b, operand(b, n), shapes[1])
        atom_x, source_x = load(of_a, scales(scales_a, m), shapes[2], internal_type=cutlass.Int16)
        atom_y, source_y = load(of_b, scales(scales_b, n), shapes[3], internal_type=cutlass.Int16)
        self.kernel(mma, atom_a, source_a, atom_b, source_b, atom_x, source_x, atom_y, source_y, d, *shapes).launch(
            grid=(m // self.tile[0], n // self.tile[1], 1), block=(128, 1, 1))

    @cute.kernel
    def kernel(self, mma: cute.TiledMma, atom_a: cute.CopyAtom, source_a: cute.Tensor, atom_b: cute.CopyAtom, source_b: cute.Tensor,
               atom_x: cute.CopyAtom, source_x: cute.Tensor, atom_y: cute.CopyAtom, source_y: cute.Tensor, d: cute.Tensor,
               shape_a: cute.ComposedLayout, shape_b: cute.ComposedLayout, shape_x: cute.Layout, shape_y: cute.Layout):
        tile = self.tile
        t, warp = arch.thread_idx()[0], arch.make_warp_uniform(arch.warp_idx())
        row, column, _ = arch.block_idx()
        memory = cutlass.memory.SmemAllocator()
        slots, done = memory.allocate_array(cutlass.Int64, 2 * self.stages), memory.allocate_array(cutlass.Int64, 2)
        place = memory.allocate_array(cutlass.Int32, 1)
        shared_a = memory.allocate_tensor(self.dtype, shape_a.outer, 1024, shape_a.inner)
        shared_b = memory.allocate_tensor(self.dtype, shape_b.outer, 1024, shape_b.inner)
        shared_x = memory.allocate_tensor(self.scale_type, shape_x, 1024)
        shared_y = memory.allocate_tensor(self.scale_type, shape_y, 1024)
        step = sum(cute.size_in_bytes(kind, cute.slice_(shape, (None, None, None, 0)))
                   for kind, shape in ((self.dtype, shape_a), (self.dtype, shape_b), (self.scale_type, shape_x), (self.scale_type, shape_y)))
        ring = pipeline.PipelineTmaUmma.create(num_stages=self.stages, producer_group=CooperativeGroup(Agent.Thread),
                                               consumer_group=CooperativeGroup(Agent.Thread), tx_count=step, barrier_storage=slots)
        ready = pipeline.PipelineUmmaAsync.create(num_stages=1, producer_group=CooperativeGroup(Agent.Thread),
                                                  consumer_group=CooperativeGroup(Agent.Thread, 128), barrier_storage=done)
        if warp == 0:
            arch.alloc_tmem(512, place)
        arch.sync_threads()
        pointer = arch.retrieve_tmem_ptr(cutlass.Float32, 16, place)
        mine = mma.get_slice(0)
        total = cute.make_tensor(pointer, mma.make_fragment_C(mma.partition_shape_C(tile[:2])).layout)
        steps = cute.size(source_a, mode=[1]) // tile[2]

        copies = []
        for atom, tensor, shared in ((atom_a, source_a, shared_a), (atom_b, source_b, shared_b), (atom_x, source_x, shared_x),
                                     (atom_y, source_y, shared_y)):
            is_a = tensor is source_a or tensor is source_x
            tiles = cute.local_tile(tensor, cute.select(tile, mode=[0 if is_a else 1, 2]), (None, None, None))
            part = mine.partition_A(tiles) if is_a else mine.partition_B(tiles)
            to, from_ = cpasync.tma_partition(atom, 0, cute.make_layout(1), cute.group_modes(shared, 0, 3), cute.group_modes(part, 0, 3))
            copies.append((atom, cute.filter_zeros(from_), cute.filter_zeros(to)))

        if warp == 0:
            state = pipeline.make_pipeline_state(PipelineUserType.Producer, self.stages)
            for k in cutlass.range(steps):
                ring.producer_acquire(state)
                full = ring.producer_get_barrier(state)
                for i in cutlass.range_constexpr(4):
                    cute.copy(copies[i][0], copies[i][1][(None, column if i % 2 else row, k, 0)], copies[i][2][(None, state.index)],
                              tma_bar_ptr=full)
                state.advance()
            ring.producer_tail(state)

        if warp == 1:
            x, y = mma.make_fragment_A(shared_a), mma.make_fragment_B(shared_b)
            first = pointer + tcgen05.find_tmem_tensor_col_offset(total)
            one_x, one_y = cute.slice_(shape_x, (None, None, None, 0)), cute.slice_(shape_y, (None, None, None, 0))
            factors_x = cute.make_tensor(cute.recast_ptr(first, dtype=self.scale_type),
                                         scaled.make_tmem_layout_sfa(mma, tile, self.vector, one_x))
            second = first + tcgen05.find_tmem_tensor_col_offset(factors_x)
            factors_y = cute.make_tensor(cute.recast_ptr(second, dtype=self.scale_type),
                                         scaled.make_tmem_layout_sfb(mma, tile, self.vector, one_y))
            atom = cute.make_copy_atom(tcgen05.Cp4x32x128bOp(ONE), self.scale_type)
            moves = []
            for shared, factors in ((shared_x, factors_x), (shared_y, factors_y)):
                compact = cute.filter_zeros(factors)
                move = tcgen05.make_s2t_copy(atom, compact)
                of_one = move.get_slice(0)
                moves.append((move, tcgen05.get_s2t_smem_desc_tensor(move, of_one.partition_S(cute.filter_zeros(shared))),
                              of_one.partition_D(compact)))
            state = pipeline.make_pipeline_state(PipelineUserType.Consumer, self.stages)
            result = pipeline.make_pipeline_state(PipelineUserType.Producer, 1)
            ready.producer_acquire(result)
            mma.set(tcgen05.Field.ACCUMULATE, False)
            for k in cutlass.range(steps):
                if cutlass.const_expr(self.broken != "wait"):
                    ring.consumer_wait(state)
                for i in cutlass.range_constexpr(2):
                    cute.copy(moves[i][0], moves[i][1][(None, None, None, None, state.index)], moves[i][2])
                for i in cutlass.range_constexpr(cute.size(x, mode=[2])):
                    mma.set(tcgen05.Field.SFA, factors_x[(None, None, i)].iterator)
                    mma.set(tcgen05.Field.SFB, factors_y[(None, None, i)].iterator)
                    cute.gemm(mma, total, x[(None, None, i, state.index)], y[(None, None, i, state.index)], total)
                    mma.set(tcgen05.Field.ACCUMULATE, True)
                ring.consumer_release(state)
                state.advance()
            ready.producer_commit(result)

        waiting = pipeline.make_pipeline_state(PipelineUserType.Consumer, 1)
        ready.consumer_wait(waiting)
        copy = tcgen05.make_tmem_copy(cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x32), cutlass.Float32),
                                      total[((None, None), 0, 0)])
        to = copy.get_slice(t).partition_D(mine.partition_C(cute.local_tile(d, tile[:2], (row, column)))[((None, None), 0, 0)])
        taken = cute.make_rmem_tensor(to.shape, cutlass.Float32)
        cute.copy(copy, copy.get_slice(t).partition_S(total[((None, None), 0, 0)]), taken)
        arch.fence_view_async_tmem_load()
        cute.autovec_copy(taken, to)
        arch.sync_threads()
        if warp == 0:
            arch.relinquish_tmem_alloc_permit()
            arch.dealloc_tmem(pointer, 512)
