# A grouped gemm for sm_90a in CuTe DSL: problems of different sizes, tensor maps that the kernel edits.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""d_i = a_i b_i^T. Sizes (m, n, k) and addresses (a, b, d) of the problems are tables in memory. Each of a few blocks goes
through the tiles of all problems, a grid apart, and edits its two tensor maps when the problem is another."""

from cute_launch import cute

import cutlass
import cutlass.utils.hopper_helpers as sm90
from cutlass import AddressSpace, Float16, Float32, Int32
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, warpgroup
from cutlass.tensor_utils import TensorMapManager, TensorMapUpdateMode
from cutlass.utils import LayoutEnum

arch = cute.arch
TILE = 64, 64, 64
LARGEST = 1 << 16  # what the maps made by the host cover; the kernel's are those of the problems


class Gemm:
    def __init__(self, blocks=2, broken=None):
        self.blocks, self.broken = blocks, broken

    @cute.jit
    def __call__(self, sizes: cute.Tensor, addresses: cute.Tensor, maps: cute.Tensor, any_: cute.Tensor):
        mma = sm90.make_trivial_tiled_mma(Float16, Float16, OperandMajorMode.K, OperandMajorMode.K, Float32, (1, 1, 1), (64, TILE[1]))
        shape_a = sm90.make_smem_layout_a(LayoutEnum.ROW_MAJOR, TILE, Float16, 1)
        shape_b = sm90.make_smem_layout_b(LayoutEnum.ROW_MAJOR, TILE, Float16, 1)
        whole = cute.make_tensor(any_.iterator, cute.make_layout((LARGEST, LARGEST), stride=(LARGEST, 1)))
        op = cpasync.CopyBulkTensorTileG2SOp()
        atom_a, source_a = cpasync.make_tiled_tma_atom(op, whole, cute.slice_(shape_a, (None, None, 0)), (TILE[0], TILE[2]))
        atom_b, source_b = cpasync.make_tiled_tma_atom(op, whole, cute.slice_(shape_b, (None, None, 0)), (TILE[1], TILE[2]))
        self.kernel(mma, atom_a, source_a, atom_b, source_b, sizes, addresses, maps, shape_a, shape_b).launch(
            grid=(self.blocks, 1, 1), block=(128, 1, 1))

    @cute.kernel
    def kernel(self, mma: cute.TiledMma, atom_a: cute.CopyAtom, source_a: cute.Tensor, atom_b: cute.CopyAtom, source_b: cute.Tensor,
               sizes: cute.Tensor, addresses: cute.Tensor, maps: cute.Tensor, shape_a: cute.ComposedLayout,
               shape_b: cute.ComposedLayout):
        t, warp, block = arch.thread_idx()[0], arch.make_warp_uniform(arch.warp_idx()), arch.block_idx()[0]
        memory = cutlass.memory.SmemAllocator()
        edited = memory.allocate_array(cutlass.Int64, 32, byte_alignment=128)
        full = memory.allocate_array(cutlass.Int64, 1)
        shared_a = memory.allocate_tensor(Float16, shape_a.outer, 1024, shape_a.inner)
        shared_b = memory.allocate_tensor(Float16, shape_b.outer, 1024, shape_b.inner)
        manager = TensorMapManager(TensorMapUpdateMode.SMEM, 128)
        map_a = manager.get_tensormap_ptr(maps[(block, 0, None)].iterator)
        map_b = manager.get_tensormap_ptr(maps[(block, 1, None)].iterator)
        manager.init_tensormap_from_atom(atom_a, edited, 0)
        manager.init_tensormap_from_atom(atom_b, edited + 16, 0)
        if t == 0:
            arch.mbarrier_init(full, 1)
        arch.mbarrier_init_fence()
        arch.sync_threads()
        to_a, from_a = cpasync.tma_partition(atom_a, 0, cute.make_layout(1), cute.group_modes(shared_a, 0, 2),
                                             cute.zipped_divide(source_a, (TILE[0], TILE[2])))
        to_b, from_b = cpasync.tma_partition(atom_b, 0, cute.make_layout(1), cute.group_modes(shared_b, 0, 2),
                                             cute.zipped_divide(source_b, (TILE[1], TILE[2])))
        mine = mma.get_slice(t)
        x, y = mma.make_fragment_A(mine.partition_A(shared_a)), mma.make_fragment_B(mine.partition_B(shared_b))
        sums = cute.make_rmem_tensor(mma.partition_shape_C(TILE[:2]), Float32)
        places = mine.partition_C(cute.make_identity_tensor(TILE[:2]))
        tile, begin, problem, before, parity = block, Int32(0), Int32(0), Int32(-1), Int32(0)
        count = cute.ceil_div(sizes[0, 0], TILE[0]) * cute.ceil_div(sizes[0, 1], TILE[1])
        while problem < sizes.shape[0]:
            if tile >= begin + count:
                begin, problem = begin + count, problem + 1
                if problem < sizes.shape[0]:
                    count = cute.ceil_div(sizes[problem, 0], TILE[0]) * cute.ceil_div(sizes[problem, 1], TILE[1])
            else:
                m, n, k = sizes[problem, 0], sizes[problem, 1], cute.assume(sizes[problem, 2], 8)
                if before != problem:
                    a = cute.make_tensor(cute.make_ptr(Float16, addresses[problem, 0], AddressSpace.gmem, assumed_align=16),
                                         cute.make_layout((m, k), stride=(k, 1)))
                    b = cute.make_tensor(cute.make_ptr(Float16, addresses[problem, 1], AddressSpace.gmem, assumed_align=16),
                                         cute.make_layout((n, k), stride=(k, 1)))
                    manager.update_tensormap((a, b), (atom_a, atom_b), (map_a, map_b), 0, (edited, edited + 16))
                    if warp == 0:
                        if cutlass.const_expr(self.broken != "acquire"):
                            manager.fence_tensormap_update(map_a)
                            manager.fence_tensormap_update(map_b)
                    before = problem
                across = cute.ceil_div(n, TILE[1])
                row, column = (tile - begin) // across, (tile - begin) % across
                mma.set(warpgroup.Field.ACCUMULATE, False)
                for step in cutlass.range(cute.ceil_div(k, TILE[2])):
                    if warp == 0:
                        with arch.elect_one():
                            arch.mbarrier_arrive_and_expect_tx(full, 2 * 64 * 64 * 2)
                        cute.copy(atom_a, from_a[(None, (row, step))], to_a[(None, 0)], tma_bar_ptr=full,
                                  tma_desc_ptr=manager.get_tensormap_ptr(map_a, AddressSpace.generic))
                        cute.copy(atom_b, from_b[(None, (column, step))], to_b[(None, 0)], tma_bar_ptr=full,
                                  tma_desc_ptr=manager.get_tensormap_ptr(map_b, AddressSpace.generic))
                    arch.mbarrier_wait(full, parity)
                    parity = parity ^ 1
                    warpgroup.fence()
                    for i in cutlass.range_constexpr(cute.size(x, mode=[2])):
                        cute.gemm(mma, sums, x[(None, None, i, 0)], y[(None, None, i, 0)], sums)
                        mma.set(warpgroup.Field.ACCUMULATE, True)
                    warpgroup.commit_group()
                    warpgroup.wait_group(0)
                    arch.sync_threads()
                d = cute.make_tensor(cute.make_ptr(Float32, addresses[problem, 2], AddressSpace.gmem, assumed_align=4),
                                     cute.make_layout((m, n), stride=(n, 1)))
                for i in cutlass.range_constexpr(cute.size(sums)):
                    down, right = TILE[0] * row + places[i][0], TILE[1] * column + places[i][1]
                    if down < m and right < n:
                        d[down, right] = sums[i]
                tile = tile + arch.grid_dim()[0]
