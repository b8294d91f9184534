# Kernels that pipeline tcgen05, and what breaks them.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`GEMM`: one warp copies, one thread multiplies, four warps take the result, as CUTLASS divides the work. `CROSS`: one
thread copies scale factors into tensor memory, a thread of another warp multiplies with them."""

from tensor_memory_kernels import HEAD, vector

# K-major without swizzle: rows of 8 in 128 bytes, two of those side by side; f32 += f16 x f16, 128 x 32 x 16.
PLAIN = 128 >> 4 << 16 | 256 >> 4 << 32 | 1 << 46
SCALES = 128 >> 4 << 16 | 128 >> 4 << 32 | 1 << 46  # rows of 16 bytes
IDESC = 1 << 4 | 32 >> 3 << 17 | 128 >> 4 << 24
MMA = "tcgen05.mma.cta_group::1.kind::f16 [%d], %da, %db, %id, %e;"
COMMIT = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64"
LOAD = f"tcgen05.ld.sync.aligned.32x32b.x32.b32 {vector('r', 32)}, [%a];"
STORE = "\n".join(f"st.global.b32 [%o+{4 * k}], %r{k};{' //@store' if k == 0 else ''}" for k in range(32))

GEMM = HEAD + f""".visible .entry k(.param .u64 g, .param .u64 o, .param .u32 n)
{{
.reg .pred %p, %q, %e; .reg .b32 %t, %n, %k, %s, %ph, %fb, %eb, %a, %x, %w, %d, %id, %tile, %total, %r<32>;
.reg .b64 %g, %o, %ga, %off, %da, %db;
.shared .align 1024 .b8 tile[10240];
.shared .align 8 .b64 full[2];
.shared .align 8 .b64 empty[2];
.shared .align 8 .b64 result;
.shared .align 8 .b64 taken;
.shared .b32 base;
mov.u32 %t, %tid.x; ld.param.u64 %g, [g]; ld.param.u64 %o, [o]; ld.param.u32 %n, [n];
mov.u32 %k, 0; mov.u32 %tile, 0; shl.b32 %total, %n, 1; shr.u32 %w, %t, 5; mov.u32 %id, {IDESC};
setp.ne.u32 %p, %t, 0;
@%p bra READY;
mbarrier.init.shared::cta.b64 [full], 1; mbarrier.init.shared::cta.b64 [full+8], 1;
mbarrier.init.shared::cta.b64 [empty], 1; mbarrier.init.shared::cta.b64 [empty+8], 1;
mbarrier.init.shared::cta.b64 [result], 1;
mbarrier.init.shared::cta.b64 [taken], 128;
READY:
setp.ne.u32 %p, %w, 4;
@!%p tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], 32; //@alloc
@!%p tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
bar.sync 0;
ld.shared.b32 %d, [base];
setp.lt.u32 %p, %w, 4;
@%p bra TAKE;
setp.eq.u32 %p, %t, 160;
@%p bra MULTIPLY;
setp.ne.u32 %p, %t, 128;
@%p bra END;
PRODUCE:
setp.ge.u32 %p, %k, %total;
@%p bra END;
and.b32 %s, %k, 1; bfe.u32 %ph, %k, 1, 1; xor.b32 %ph, %ph, 1;
shl.b32 %x, %s, 3; mov.u32 %fb, full; add.u32 %fb, %fb, %x; mov.u32 %eb, empty; add.u32 %eb, %eb, %x;
mul.lo.u32 %x, %s, 5120; mov.u32 %a, tile; add.u32 %a, %a, %x;
mul.wide.u32 %off, %k, 5120; add.s64 %ga, %g, %off;
WAIT_EMPTY:
mbarrier.try_wait.parity.shared::cta.b64 %q, [%eb], %ph; //@wait_empty
@!%q bra WAIT_EMPTY;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%fb], 5120; //@expect
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%a], [%ga], 5120, [%fb]; //@copy
add.u32 %k, %k, 1;
bra PRODUCE;
MULTIPLY:
and.b32 %ph, %tile, 1; xor.b32 %ph, %ph, 1;
WAIT_TAKEN:
mbarrier.try_wait.parity.shared::cta.b64 %q, [taken], %ph; //@wait_taken
@!%q bra WAIT_TAKEN;
tcgen05.fence::after_thread_sync; //@after_taken
mov.u32 %x, 0; setp.eq.u32 %e, %n, 0;
//@begin
LOOP:
and.b32 %s, %k, 1; bfe.u32 %ph, %k, 1, 1;
shl.b32 %w, %s, 3; mov.u32 %fb, full; add.u32 %fb, %fb, %w; mov.u32 %eb, empty; add.u32 %eb, %eb, %w;
mul.lo.u32 %w, %s, 320; mov.u32 %a, tile; shr.u32 %a, %a, 4; add.u32 %a, %a, %w;
cvt.u64.u32 %da, %a; or.b64 %da, %da, {PLAIN}; add.s64 %db, %da, 256;
WAIT_FULL:
mbarrier.try_wait.parity.shared::cta.b64 %q, [%fb], %ph; //@wait_full
@!%q bra WAIT_FULL;
//@before_mma
{MMA} //@mma
{COMMIT} [%eb]; //@release
setp.eq.u32 %e, %n, %n;
add.u32 %k, %k, 1; add.u32 %x, %x, 1;
setp.lt.u32 %p, %x, %n;
@%p bra LOOP;
{COMMIT} [result]; //@commit
add.u32 %tile, %tile, 1;
setp.lt.u32 %p, %tile, 2;
@%p bra MULTIPLY;
bra END;
TAKE:
shl.b32 %a, %w, 21; add.u32 %a, %a, %d; mul.wide.u32 %off, %t, 128; add.s64 %o, %o, %off;
NEXT:
and.b32 %ph, %tile, 1;
WAIT_RESULT:
mbarrier.try_wait.parity.shared::cta.b64 %q, [result], %ph; //@wait_result
@!%q bra WAIT_RESULT;
tcgen05.fence::after_thread_sync; //@after_result
{LOAD} //@load
tcgen05.wait::ld.sync.aligned; //@wait_load
tcgen05.fence::before_thread_sync; //@before_taken
mbarrier.arrive.shared::cta.b64 _, [taken]; //@take
{STORE}
add.s64 %o, %o, 16384; add.u32 %tile, %tile, 1;
setp.lt.u32 %p, %tile, 2; //@tiles
@%p bra NEXT;
END:
bar.sync 0; //@end
setp.lt.u32 %p, %t, 128; setp.ge.or.u32 %p, %t, 160, %p;
@%p bra FREED;
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %d, 32; //@dealloc
FREED:
ret;
}}
"""
ARRIVE = "mbarrier.arrive.shared::cta.b64 _,"
GEMM_BUGS = {
    "result_not_waited_for": ({"wait_result": "setp.eq.u32 %q, %n, %n;"}, "tensor-async uninitialised", ("load", "mma")),
    "result_of_another_phase": ({"wait_result": "xor.b32 %ph, %ph, 1; mbarrier.try_wait.parity.shared::cta.b64 %q, [result], %ph; "
                                 "xor.b32 %ph, %ph, 1;"}, "tensor-async uninitialised", ("load", "mma")),
    "arrival_instead_of_commit": ({"commit": f"{ARRIVE} [result];"}, "tensor-async", ("load", "mma")),
    "fenced_arrival_instead_of_commit": ({"commit": f"tcgen05.fence::before_thread_sync; {ARRIVE} [result];"}, "tensor-async",
                                         ("load", "mma")),
    "committed_before_the_products": ({"begin": f"{COMMIT} [result];", "commit": ""}, "tensor-async uninitialised", ("load", "mma")),
    "accumulator_not_waited_for": ({"wait_taken": "setp.eq.u32 %q, %n, %n;"}, "tensor-async", ("mma", "load")),
    "taken_without_wait": ({"wait_load": "", "store": "tcgen05.wait::ld.sync.aligned; st.global.b32 [%o], %r0;"}, "tensor-async",
                           ("mma", "load")),
    "taken_before_the_load": ({"after_result": f"tcgen05.fence::after_thread_sync; {ARRIVE} [taken];", "take": ""}, "tensor-async",
                              ("mma", "load")),
    "slot_not_waited_for": ({"wait_empty": "setp.eq.u32 %q, %n, %n;"}, "async-copy illegal-instruction", ("copy", "mma", "expect")),
    "slot_released_by_an_arrival": ({"release": f"{ARRIVE} [%eb];"}, "async-copy", ("copy", "mma")),
    "slot_released_before_the_product": ({"before_mma": f"{COMMIT} [%eb];", "release": ""}, "async-copy", ("copy", "mma")),
    "tile_not_waited_for": ({"wait_full": "setp.eq.u32 %q, %n, %n;"}, "async-copy uninitialised", ("mma", "copy")),
    "slot_written_in_flight": ({"release": f"st.shared.b32 [tile], %t; {COMMIT} [%eb];"}, "async-copy", ("release", "mma")),
    "products_of_two_shapes": ({"release": f"{COMMIT} [%eb]; xor.b32 %id, %id, {(24 ^ 32) >> 3 << 17};"}, "tensor-async", ("mma",)),
    "last_result_never_taken": ({"tiles": "setp.lt.u32 %p, %tile, 1;"}, "tensor-async", ("dealloc", "mma")),
    "deallocated_by_another_thread_early": ({"end": "setp.eq.u32 %p, %w, 4; @!%p bar.sync 0; @%p bar.arrive 0, 192;"},
                                            "tensor-memory tensor-async barrier-misuse", ("dealloc", "mma", "load")),
    "never_deallocated": ({"dealloc": ""}, "tensor-memory-leak", ("alloc",)),
    "d_beyond_the_allocation": ({"before_mma": "@!%e add.u32 %d, %d, 8;"}, "tensor-memory", ("mma",)),
    "committed_to_no_mbarrier": ({"commit": f"{COMMIT} [result+8];"}, "illegal-instruction", ("commit",)),
}
# Order of what has ended is not lost without a fence: real code has none.
GEMM_REMARKS = {"no_fence_before_the_next_products": ({"before_taken": ""}, ("mma", "load")),
                "no_fence_after_the_load": ({"after_taken": ""}, ("mma", "load"))}
GEMM_SILENT = {"no_fence_after_a_commit": {"after_result": ""}}

# mxf8f6f4, 128 x 8 x 32; shared memory: A, B, and 32 rows of 16 bytes of scale factors for each.
IDESC_SCALED = 1 << 23 | 8 >> 3 << 17 | 128 >> 7 << 27
CROSS = HEAD + f""".visible .entry k(.param .u64 g, .param .u64 o)
{{
.reg .pred %p, %q, %e; .reg .b32 %t, %s, %a, %x<4>, %w, %d, %sa, %sb, %id, %r<8>; .reg .b64 %g, %o, %off, %da, %db, %ds;
.shared .align 1024 .b8 tile[5376];
.shared .align 8 .b64 copied;
.shared .align 8 .b64 done;
.shared .b32 base;
mov.u32 %t, %tid.x; ld.param.u64 %g, [g]; ld.param.u64 %o, [o]; shr.u32 %w, %t, 5; mov.u32 %id, {IDESC_SCALED};
setp.ne.u32 %p, %t, 0;
@!%p mbarrier.init.shared::cta.b64 [copied], 1;
@!%p mbarrier.init.shared::cta.b64 [done], 1;
setp.ne.u32 %p, %w, 0;
@%p bra ALLOCATED;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], 32; //@alloc
ALLOCATED:
shl.b32 %s, %t, 4;
COPY:
cvt.u64.u32 %off, %s; add.s64 %off, %off, %g; ld.global.v4.b32 {vector('x', 4)}, [%off];
mov.u32 %a, tile; add.u32 %a, %a, %s; st.shared.v4.b32 [%a], {vector('x', 4)}; //@write
add.u32 %s, %s, 2048; setp.lt.u32 %q, %s, 5376; @%q bra COPY;
fence.proxy.async.shared::cta; //@proxy
bar.sync 0; //@barrier
ld.shared.b32 %d, [base]; add.u32 %sa, %d, 16; add.u32 %sb, %d, 24;
mov.u32 %a, tile; shr.u32 %a, %a, 4; cvt.u64.u32 %ds, %a; or.b64 %da, %ds, {PLAIN}; add.s64 %db, %da, 256;
or.b64 %ds, %ds, {SCALES}; add.s64 %ds, %ds, 272;
setp.eq.u32 %p, %t, 0;
@%p bra FIRST;
setp.ne.u32 %p, %t, 32;
@%p bra WAIT;
WAIT_COPY:
mbarrier.try_wait.parity.shared::cta.b64 %q, [copied], 0; //@wait_copy
@!%q bra WAIT_COPY;
tcgen05.fence::after_thread_sync; //@after_copy
setp.ne.u32 %e, %t, %t;
tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%d], %da, %db, %id, [%sa], [%sb], %e; //@mma
{COMMIT} [done]; //@commit
bra WAIT;
FIRST:
tcgen05.cp.cta_group::1.32x128b.warpx4 [%sa], %ds; //@copy_a
add.s64 %ds, %ds, 32;
tcgen05.cp.cta_group::1.32x128b.warpx4 [%sb], %ds; //@copy_b
tcgen05.fence::before_thread_sync; //@before_arrive
mbarrier.arrive.shared::cta.b64 _, [copied]; //@arrive
//@then
WAIT:
mbarrier.try_wait.parity.shared::cta.b64 %q, [done], 0; //@wait_done
@!%q bra WAIT;
tcgen05.fence::after_thread_sync;
//@waited
shl.b32 %a, %w, 21; add.u32 %a, %a, %d; mul.wide.u32 %off, %t, 32; add.s64 %o, %o, %off;
tcgen05.ld.sync.aligned.32x32b.x8.b32 {vector('r', 8)}, [%a]; //@load
tcgen05.wait::ld.sync.aligned;
st.global.v4.b32 [%o], {{%r0, %r1, %r2, %r3}}; st.global.v4.b32 [%o+16], {{%r4, %r5, %r6, %r7}};
tcgen05.fence::before_thread_sync;
bar.sync 0; //@end
setp.ge.u32 %p, %t, 32;
@%p bra FREED;
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %d, 32; //@dealloc
FREED:
ret;
}}
"""
CROSS_BUGS = {
    "no_fence_before_thread_sync": ({"before_arrive": ""}, "tensor-fence", ("mma", "copy_a")),
    "no_fence_after_thread_sync": ({"after_copy": ""}, "tensor-fence", ("mma", "copy_a")),
    "fence_before_the_copies": ({"copy_a": "tcgen05.fence::before_thread_sync; tcgen05.cp.cta_group::1.32x128b.warpx4 [%sa], %ds;",
                                 "before_arrive": ""}, "tensor-fence", ("mma", "copy_a")),
    "fences_the_wrong_way_round": ({"before_arrive": "tcgen05.fence::after_thread_sync;",
                                    "after_copy": "tcgen05.fence::before_thread_sync;"}, "tensor-fence", ("mma", "copy_a")),
    "copies_not_waited_for": ({"wait_copy": "setp.eq.u32 %q, %t, %t;"}, "tensor-async uninitialised", ("mma", "copy_a")),
    "no_proxy_fence": ({"proxy": ""}, "proxy-fence", ("copy_a", "mma", "write")),
    "proxy_fence_before_the_writes": ({"alloc": "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], 32; "
                                       "fence.proxy.async.shared::cta;", "proxy": ""}, "proxy-fence", ("copy_a", "mma", "write")),
    "no_barrier_after_the_writes": ({"barrier": "setp.eq.u32 %p, %t, 32; @%p bar.sync 1, 96; setp.ge.u32 %q, %t, 64; @%q bar.sync 1, 96;"},
                                    "race uninitialised proxy-fence divergent-barrier deadlock illegal-instruction", ("copy_a", "mma", "write", "barrier", "wait_copy", "wait_done")),
    "scale_factors_overwritten_under_the_copy": ({"arrive": "st.shared.b32 [tile+4352], %t; mbarrier.arrive.shared::cta.b64 _, [copied];"},
                                                 "async-copy", ("copy_a", "arrive")),
    "operand_overwritten_under_the_product": ({"commit": f"st.shared.b32 [tile], %t; {COMMIT} [done];"}, "async-copy",
                                              ("mma", "commit")),
    "result_not_waited_for": ({"wait_done": "setp.eq.u32 %q, %t, %t;"}, "tensor-async uninitialised", ("load", "mma")),
    "commit_by_the_thread_of_the_copies": ({"then": f"{COMMIT} [done];", "commit": ""}, "tensor-async uninitialised", ("load", "mma")),
    "scale_factors_missing": ({"copy_b": ""}, "uninitialised", ("mma",)),
    "wrong_columns": ({"copy_b": "tcgen05.cp.cta_group::1.32x128b.warpx4 [%d], %ds;"}, "uninitialised", ("mma",)),
    "copy_beyond_the_allocation": ({"copy_b": "tcgen05.cp.cta_group::1.32x128b.warpx4 [%sb+8], %ds;"}, "tensor-memory", ("copy_b",)),
}
# The hardware orders a copy after a product that reads what it overwrites, and CUTLASS counts on it.
CROSS_REMARKS = {"copied_again_without_commit": (
    {"commit": f"add.s64 %ds, %ds, 0; tcgen05.cp.cta_group::1.32x128b.warpx4 [%sa], %ds; {COMMIT} [done];"}, ("commit", "copy_a"))}
