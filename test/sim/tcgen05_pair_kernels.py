# Kernels with tcgen05 of a pair of blocks, and what breaks them.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`operation_kernel`: one thread of a pair executes operations on both blocks' memory. `GEMM`: both blocks bring their rows of A
and B, a warp of the second one tells the first one when they are there, whose thread multiplies for both, as CUTLASS does."""

import tensor_memory_kernels
from tcgen05_kernels import LOAD, PLAIN, STORE
from tensor_memory_kernels import COLUMNS, HEAD, vector

CLUSTER = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"


def operation_kernel(image, operations, issuer=0):
    """Parameters: images [2][..], memories [2][128][512], words; more registers of disabled lanes in %m4 to %m7."""
    text = tensor_memory_kernels.operation_kernel(image, operations)
    commit = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [done];"
    multicast = "mov.b16 %both, 3; tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [done], %both;"
    barrier = "fence.proxy.async.shared::cta;\n" + tensor_memory_kernels.BARRIER
    for old, new in [
            (commit, multicast),
            ("mov.u32 %a, tile; shr.u32 %a, %a, 4;", "mov.u32 %a, tile; bfe.u32 %a, %a, 4, 14;"),
            (".cta_group::1", ".cta_group::2"),
            ("mov.u32 %t, %tid.x;", ".reg .b16 %both; .reg .b32 %rank, %tg, %m4, %m5, %m6, %m7;\nmov.u32 %t, %tid.x; "
             "mov.u32 %rank, %cluster_ctarank; mad.lo.u32 %tg, %rank, 128, %t;"),
            (f"mul.wide.u32 %o, %t, {4 * COLUMNS}", f"mul.wide.u32 %o, %tg, {4 * COLUMNS}"),
            ("ld.param.u64 %n, [image];", f"ld.param.u64 %n, [image]; mul.wide.u32 %o, %rank, {image}; add.s64 %n, %n, %o;"),
            (barrier, "fence.proxy.async.shared::cta;\ntcgen05.fence::before_thread_sync;\n" + CLUSTER +
             f"\ntcgen05.fence::after_thread_sync;\nsetp.ne.or.u32 %q, %rank, {issuer}, %q;"),
            ("setp.ne.u32 %e, %en, 0;", "setp.ne.u32 %e, %en, 0;\n" +
             "\n".join(f"ld.global.b32 %m{k}, [%o+{8 * (10 + k)}];" for k in range(4, 8)))]:
        assert old in text, old
        text = text.replace(old, new)
    return text


# Every block has 128 rows of A and 16 of B: 4096 + 512 bytes.
IDESC = 1 << 4 | 32 >> 3 << 17 | 256 >> 4 << 24
MMA = "tcgen05.mma.cta_group::2.kind::f16 [%d], %da, %db, %id, %e;"
COMMIT = "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64"
LAST = "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.b64"
RELAY = "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%rb];"

GEMM = HEAD + f""".visible .entry k(.param .u64 g, .param .u64 o, .param .u32 n)
{{
.reg .pred %p, %q, %e; .reg .b16 %both; .reg .b32 %t, %n, %k, %s, %ph, %fb, %eb, %rb, %a, %x, %w, %d, %id, %tile, %total, %rank, %r<32>;
.reg .b64 %g, %o, %ga, %off, %da, %db;
.shared .align 1024 .b8 tile[9216];
.shared .align 8 .b64 full[2];
.shared .align 8 .b64 theirs[2];
.shared .align 8 .b64 empty[2];
.shared .align 8 .b64 result;
.shared .align 8 .b64 taken;
.shared .b32 base;
mov.u32 %t, %tid.x; ld.param.u64 %g, [g]; ld.param.u64 %o, [o]; ld.param.u32 %n, [n]; mov.u32 %rank, %cluster_ctarank; mov.b16 %both, 3;
mov.u32 %k, 0; mov.u32 %tile, 0; shl.b32 %total, %n, 1; shr.u32 %w, %t, 5; mov.u32 %id, {IDESC};
mul.lo.u32 %x, %total, 4608; mul.wide.u32 %off, %x, %rank; add.s64 %g, %g, %off; mul.wide.u32 %off, %rank, 16384; add.s64 %o, %o, %off;
setp.ne.u32 %p, %t, 0;
@%p bra READY;
mbarrier.init.shared::cta.b64 [full], 1; mbarrier.init.shared::cta.b64 [full+8], 1;
mbarrier.init.shared::cta.b64 [theirs], 1; mbarrier.init.shared::cta.b64 [theirs+8], 1;
mbarrier.init.shared::cta.b64 [empty], 1; mbarrier.init.shared::cta.b64 [empty+8], 1;
mbarrier.init.shared::cta.b64 [result], 1;
mbarrier.init.shared::cta.b64 [taken], 256;
fence.mbarrier_init.release.cluster;
READY:
setp.ne.u32 %p, %w, 4;
@!%p tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [base], 32; //@alloc
@!%p tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned; //@relinquish
bar.sync 0;
{CLUSTER} //@start
ld.shared.b32 %d, [base];
setp.lt.u32 %p, %w, 4;
@%p bra TAKE;
setp.eq.u32 %p, %t, 160;
setp.eq.and.u32 %q, %rank, 0, %p; //@leader
@%q bra MULTIPLY;
@%p bra RELAY;
setp.ne.u32 %p, %t, 128;
@%p bra END;
PRODUCE:
setp.ge.u32 %p, %k, %total;
@%p bra END;
and.b32 %s, %k, 1; bfe.u32 %ph, %k, 1, 1; xor.b32 %ph, %ph, 1;
shl.b32 %x, %s, 3; mov.u32 %fb, full; add.u32 %fb, %fb, %x; mov.u32 %eb, empty; add.u32 %eb, %eb, %x;
mul.lo.u32 %x, %s, 4608; mov.u32 %a, tile; add.u32 %a, %a, %x;
mul.wide.u32 %off, %k, 4608; add.s64 %ga, %g, %off;
WAIT_EMPTY:
mbarrier.try_wait.parity.shared::cta.b64 %q, [%eb], %ph; //@wait_empty
@!%q bra WAIT_EMPTY;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%fb], 4608; //@expect
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%a], [%ga], 4608, [%fb]; //@copy
add.u32 %k, %k, 1;
bra PRODUCE;
RELAY:
setp.ge.u32 %p, %k, %total;
@%p bra END;
and.b32 %s, %k, 1; bfe.u32 %ph, %k, 1, 1; shl.b32 %x, %s, 3; mov.u32 %fb, full; add.u32 %fb, %fb, %x;
mov.u32 %a, theirs; add.u32 %a, %a, %x; mapa.shared::cluster.u32 %rb, %a, 0; //@early
WAIT_OWN:
mbarrier.try_wait.parity.shared::cta.b64 %q, [%fb], %ph; //@wait_own
@!%q bra WAIT_OWN;
{RELAY} //@relay
add.u32 %k, %k, 1;
bra RELAY;
MULTIPLY:
and.b32 %ph, %tile, 1; xor.b32 %ph, %ph, 1;
WAIT_TAKEN:
mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [taken], %ph; //@wait_taken
@!%q bra WAIT_TAKEN;
tcgen05.fence::after_thread_sync;
mov.u32 %x, 0; setp.eq.u32 %e, %n, 0;
LOOP:
and.b32 %s, %k, 1; bfe.u32 %ph, %k, 1, 1;
shl.b32 %w, %s, 3; mov.u32 %fb, full; add.u32 %fb, %fb, %w; mov.u32 %eb, empty; add.u32 %eb, %eb, %w; mov.u32 %rb, theirs; add.u32 %rb, %rb, %w;
mul.lo.u32 %w, %s, 288; mov.u32 %a, tile; bfe.u32 %a, %a, 4, 14; add.u32 %a, %a, %w;
cvt.u64.u32 %da, %a; or.b64 %da, %da, {PLAIN}; add.s64 %db, %da, 256;
WAIT_FULL:
mbarrier.try_wait.parity.shared::cta.b64 %q, [%fb], %ph; //@wait_full
@!%q bra WAIT_FULL;
WAIT_THEIRS:
mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [%rb], %ph; //@wait_theirs
@!%q bra WAIT_THEIRS;
{MMA} //@mma
{COMMIT} [%eb], %both; //@release
setp.eq.u32 %e, %n, %n;
add.u32 %k, %k, 1; add.u32 %x, %x, 1;
setp.lt.u32 %p, %x, %n;
@%p bra LOOP;
{COMMIT} [result], %both; //@commit
add.u32 %tile, %tile, 1;
setp.lt.u32 %p, %tile, 2;
@%p bra MULTIPLY;
bra END;
TAKE:
shl.b32 %a, %w, 21; add.u32 %a, %a, %d; mul.wide.u32 %off, %t, 128; add.s64 %o, %o, %off; mapa.shared::cluster.u32 %rb, taken, 0;
NEXT:
and.b32 %ph, %tile, 1;
WAIT_RESULT:
mbarrier.try_wait.parity.shared::cta.b64 %q, [result], %ph; //@wait_result
@!%q bra WAIT_RESULT;
tcgen05.fence::after_thread_sync;
{LOAD} //@load
tcgen05.wait::ld.sync.aligned; //@wait_load
tcgen05.fence::before_thread_sync;
mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%rb]; //@take
{STORE}
add.s64 %o, %o, 32768; add.u32 %tile, %tile, 1;
setp.lt.u32 %p, %tile, 2;
@%p bra NEXT;
END:
bar.sync 0; //@end
setp.eq.u32 %p, %w, 4;
@!%p bra FREED;
tcgen05.dealloc.cta_group::2.sync.aligned.b32 %d, 32; //@dealloc
FREED:
{CLUSTER} //@finish
ret;
}}
"""
NO_WAIT = "setp.eq.u32 %q, %n, %n;"
GEMM_BUGS = {
    # The first two are NVIDIA/cutlass issue 3643: remote arrivals of scope .cta.
    "relay_of_cta_scope": ({"relay": "mbarrier.arrive.release.cta.shared::cluster.b64 _, [%rb];"}, "async-copy", ("mma", "copy")),
    "taken_with_cta_scope": ({"take": "mbarrier.arrive.release.cta.shared::cluster.b64 _, [%rb];"}, "tensor-async", ("mma", "load")),
    "relay_to_the_own_block": ({"relay": "mov.u32 %rb, %a; mbarrier.arrive.shared::cta.b64 _, [%rb];"}, "deadlock",
                               ("wait_theirs",)),
    "relay_relaxed": ({"relay": "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%rb];"}, "async-copy", ("mma", "copy")),
    "relay_before_the_copy": ({"early": "mov.u32 %a, theirs; add.u32 %a, %a, %x; mapa.shared::cluster.u32 %rb, %a, 0; " + RELAY,
                               "relay": ""}, "async-copy deadlock", ("mma", "copy", "wait_theirs")),
    "other_block_not_waited_for": ({"wait_theirs": NO_WAIT}, "async-copy uninitialised", ("mma",)),
    "other_block_waited_for_relaxed": (
        {"wait_theirs": "mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 %q, [%rb], %ph;"}, "async-copy", ("mma", "copy")),
    "own_block_not_waited_for": ({"wait_full": NO_WAIT}, "async-copy uninitialised", ("mma",)),
    "slot_released_in_one_block": ({"release": f"{LAST} [%eb];"}, "deadlock", ("wait_empty",)),
    "slot_not_waited_for": ({"wait_empty": NO_WAIT}, "async-copy illegal-instruction", ("copy", "mma", "expect")),
    "slot_released_by_arrivals": (
        {"release": "mbarrier.arrive.shared::cta.b64 _, [%eb]; mapa.shared::cluster.u32 %eb, %eb, 1; "
         "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%eb];"}, "async-copy", ("copy", "mma")),
    "result_told_to_one_block": ({"commit": f"{LAST} [result];"}, "deadlock", ("wait_result",)),
    "result_not_waited_for": ({"wait_result": NO_WAIT}, "tensor-async uninitialised", ("load", "mma")),
    "accumulator_not_waited_for": ({"wait_taken": NO_WAIT}, "tensor-async", ("mma", "load")),
    "released_before_wait_ld": ({"wait_load": ""}, "tensor-async", ("mma", "load")),  # FlashAttention-4, head 256
    "both_blocks_multiply": ({"leader": "setp.eq.u32 %q, %t, 160;"}, "tensor-async async-copy deadlock illegal-instruction uninitialised",
                             ("mma", "copy", "wait_theirs", "commit", "release")),
    "other_block_without_alloc": ({"alloc": "setp.ne.or.u32 %q, %rank, 0, %p; @!%q tcgen05.alloc.cta_group::2.sync.aligned"
                                   ".shared::cta.b32 [base], 32;"}, "deadlock", ("alloc",)),
    "other_numbers_of_columns": ({"alloc": "add.u32 %x, %rank, 1; shl.b32 %x, %x, 5; @!%p tcgen05.alloc.cta_group::2.sync.aligned"
                                  ".shared::cta.b32 [base], %x;"}, "tensor-memory", ("alloc",)),
    "dealloc_in_one_block": ({"dealloc": "setp.eq.u32 %q, %rank, 0; @%q tcgen05.dealloc.cta_group::2.sync.aligned.b32 %d, 32;"},
                             "deadlock", ("dealloc", "finish")),
    "dealloc_before_the_loads": ({"end": ""}, "tensor-memory tensor-async", ("dealloc", "load", "mma")),
    "another_cta_group": ({"relinquish": "@!%p tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;"}, "tensor-memory",
                          ("relinquish", "alloc")),
    "no_cluster_barrier_before_use": ({"start": ""}, "unstarted-block race", ("relay", "take", "mma", "release", "commit")),
    "exits_while_the_other_arrives": ({"finish": ""}, "exited-block", ("relay", "take", "dealloc", "mma", "release", "commit")),
}

# Both blocks bring eight rows with tensor copies; the first one's mbarrier tells of all of them. `COPIES` is replaced.
TENSOR = HEAD + f""".visible .entry k(.param .b8 map[128], .param .u64 o)
{{
.reg .pred %p; .reg .b16 %m; .reg .b32 %t, %a, %f, %v, %r, %x; .reg .b64 %o, %w, %map;
.shared .align 1024 .b8 tile[2048]; .shared .align 8 .b64 full;
ld.param.u64 %o, [o]; mov.u32 %t, %tid.x; mov.u32 %r, %cluster_ctarank; mov.b64 %map, map; cvta.param.u64 %map, %map;
setp.ne.u32 %p, %t, 0; @%p bra READY;
mbarrier.init.shared.b64 [full], 1; fence.mbarrier_init.release.cluster;
READY:
{CLUSTER}
setp.ne.u32 %p, %t, 0; @%p bra WAIT;
setp.eq.u32 %p, %r, 0; mov.u32 %f, full;
@%p mbarrier.arrive.expect_tx.shared.b64 _, [full], 2048; //@expect
and.b32 %f, %f, 0xfeffffff; mov.u32 %a, tile; mov.b16 %m, 3; shl.b32 %x, %r, 3;
COPIES //@copy
WAIT:
setp.ne.u32 %p, %r, 0; @%p bra SEEN;
AGAIN: mbarrier.try_wait.parity.shared.b64 %p, [full], 0; @!%p bra AGAIN; //@wait
SEEN:
{CLUSTER} //@told
mul.wide.u32 %w, %r, 2048; add.s64 %o, %o, %w; mul.wide.u32 %w, %t, 4; add.s64 %o, %o, %w; shl.b32 %x, %t, 2; mov.u32 %a, tile; add.u32 %a, %a, %x; mov.u32 %x, 0;
MORE: ld.shared.u32 %v, [%a]; st.global.u32 [%o], %v; add.u32 %a, %a, 128; add.s64 %o, %o, 128; add.u32 %x, %x, 1; //@read
setp.lt.u32 %p, %x, 16; @%p bra MORE;
{CLUSTER}
ret;
}}
"""
LOAD_ROWS = "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.cta_group::2 [%a], [%map, {0, %x}], [%f];"
MULTICAST = ("setp.ne.u32 %p, %r, 0; @%p bra WAIT; cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
             ".multicast::cluster.cta_group::2 [%a], [%map, {0, 0}], [%f], %m;")
