# Correct kernels for clusters of several blocks, and the ways to break them.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""As in hopper_kernels.py a line may end in `//@name`; a planted bug replaces the lines of some names."""

from hopper_kernels import HEAD

# Each block writes 64 values to the next block's shared memory, adds to what
# the one before it wrote there, and reads all of them from the last block but
# one. Then nobody exits before the others are done.
EXCHANGE = HEAD + """.visible .entry k(.param .u64 o)
{
.reg .pred %p; .reg .b32 %t, %a, %b, %v, %r, %n, %x; .reg .b64 %o, %w, %g;
.shared .align 4 .b8 before[64];
.shared .align 4 .b8 s[256];
ld.param.u64 %o, [o]; mov.u32 %t, %tid.x; mov.u32 %r, %cluster_ctarank; mov.u32 %n, %cluster_nctarank;
mov.u32 %a, s; shl.b32 %v, %t, 2; add.u32 %a, %a, %v;
barrier.cluster.arrive.relaxed.aligned; //@arrive
barrier.cluster.wait.aligned; //@wait
add.u32 %x, %r, 1; rem.u32 %x, %x, %n; mapa.shared::cluster.u32 %b, %a, %x;
mov.u32 %v, %ctaid.x; mad.lo.u32 %v, %v, 1000, %t;
st.shared::cluster.u32 [%b], %v; //@write
barrier.cluster.arrive.release.aligned; //@arrive_2
barrier.cluster.wait.acquire.aligned; //@wait_2
cvt.u64.u32 %w, %b; cvta.shared::cluster.u64 %g, %w;
red.relaxed.cluster.shared::cluster.add.u32 [%b], 500; //@add
atom.relaxed.cluster.add.u32 %v, [%g], 1; //@atom
barrier.cluster.arrive.aligned; //@arrive_3
barrier.cluster.wait.aligned; //@wait_3
add.u32 %x, %r, %n; sub.u32 %x, %x, 1; rem.u32 %x, %x, %n; mapa.shared::cluster.u32 %b, %a, %x;
ld.shared::cluster.u32 %v, [%b]; //@read
mov.u32 %x, %ctaid.x; shl.b32 %x, %x, 6; add.u32 %x, %x, %t;
mul.wide.u32 %w, %x, 4; add.s64 %w, %w, %o; st.global.u32 [%w], %v;
barrier.cluster.arrive.relaxed.aligned; //@arrive_4
barrier.cluster.wait.aligned; //@wait_4
ret;
}
"""

# name: ({place: line instead}, kinds of which one is reported, places of which
# that report names one). Which kind it is may depend on the schedule.
EXCHANGE_BUGS = {
    "no_barrier_at_the_start": ({"arrive": "", "wait": ""}, "unstarted-block", ("write",)),
    "no_wait_at_the_start": ({"wait": "", "wait_2": "barrier.cluster.wait.aligned; barrier.cluster.wait.aligned;"},
                             "unstarted-block barrier-misuse", ("write", "arrive_2")),
    "no_barrier_before_read": ({"arrive_3": "", "wait_3": ""}, "race", ("read", "add", "atom")),
    "relaxed_arrival": ({"arrive_3": "barrier.cluster.arrive.relaxed.aligned;"}, "race", ("read", "add", "atom")),
    "block_barrier_is_not_enough": ({"arrive_3": "bar.sync 0;", "wait_3": ""}, "race", ("read", "add", "atom")),
    "weak_read_before_add": ({"add": "ld.shared.u32 %x, [%a];"}, "race", ("add", "atom")),
    "scope_of_the_block": ({"add": "red.relaxed.cta.shared::cluster.add.u32 [%a], 500;"}, "race", ("add", "atom")),
    "two_writers": ({"write": "st.shared::cluster.u32 [%b], %v; st.shared.u32 [%a], %t;"}, "race", ("write",)),
    "reads_own_without_barrier": ({"arrive_2": "bar.sync 0;", "wait_2": "ld.shared.u32 %x, [%a];"},
                                  "race uninitialised", ("write", "wait_2")),
    "no_barrier_at_the_end": ({"arrive_4": "", "wait_4": ""}, "exited-block", ("read",)),
    "no_wait_at_the_end": ({"wait_4": ""}, "exited-block", ("read",)),
    # Without a seed block 0 reads before the other exits: the order is missing all the same.
    "only_the_first_reads": ({"read": "setp.eq.u32 %p, %r, 0; @%p ld.shared::cluster.u32 %v, [%b];", "arrive_4": "", "wait_4": ""},
                             "exited-block", ("read",)),
    "misses_a_barrier": ({"arrive_3": "setp.eq.u32 %p, %r, 1; @%p ret; barrier.cluster.arrive.aligned;"},
                         "exited-block", ("read", "add", "atom")),
    "one_thread_does_not_arrive": ({"arrive_3": "setp.eq.u32 %p, %r, 1; setp.eq.and.u32 %p, %t, 5, %p; "
                                                "@!%p barrier.cluster.arrive;",
                                    "wait_3": "barrier.cluster.wait;"}, "deadlock", ("wait_3", "wait_4")),
    "half_a_warp_arrives_apart": ({"arrive_3": "setp.lt.u32 %p, %t, 16; @%p barrier.cluster.arrive.aligned; "
                                               "@!%p barrier.cluster.arrive.aligned;"}, "divergent-barrier", ("arrive_3",)),
    "arrives_twice": ({"arrive_3": "barrier.cluster.arrive.aligned; barrier.cluster.arrive.aligned;"},
                      "barrier-misuse", ("arrive_3",)),
    "wait_without_arrive": ({"arrive": "", "arrive_2": "", "arrive_3": "", "arrive_4": ""}, "barrier-misuse", ("wait",)),
    "past_the_end": ({"read": "ld.shared::cluster.u32 %v, [%b+4];"}, "out-of-bounds", ("read",)),
    "below_the_start": ({"write": "st.shared::cluster.u32 [%b+-260], %v;"}, "out-of-bounds", ("write",)),
    "own_space": ({"read": "ld.shared::cta.u32 %v, [%b];"}, "out-of-bounds", ("read",)),
    "no_such_block": ({"write": "mapa.shared::cluster.u32 %b, %a, 7; st.shared::cluster.u32 [%b], %v;"},
                      "out-of-bounds", ("write",)),
    "address_of_no_block": ({"write": "or.b32 %b, %b, 0x7000000; st.shared::cluster.u32 [%b], %v;"},
                            "out-of-bounds", ("write",)),
}

# BLOCKS blocks fetch a tile together: each one its 256 bytes, which it sends
# to all. Two tiles are in flight; the consumers of every block release a tile
# to the producers of every block.
def pipeline(blocks):
    return HEAD + """.visible .entry k(.param .u64 g, .param .u64 o, .param .u32 n)
{
.reg .pred %p, %q; .reg .b16 %m; .reg .b32 %t, %n, %k, %s, %ph, %fb, %eb, %a, %x, %r, %c, %b;
.reg .b64 %g, %o, %ga, %w; .reg .f32 %f, %h;
.shared .align 8 .b64 full[2];
.shared .align 8 .b64 empty[2];
.shared .align 128 .b8 tile[TWO_TILES];
mov.u32 %t, %tid.x; ld.param.u64 %g, [g]; ld.param.u64 %o, [o]; ld.param.u32 %n, [n];
mov.u32 %r, %cluster_ctarank; mov.u32 %c, %ctaid.x; mul.wide.u32 %w, %n, 256; cvt.u64.u32 %ga, %c;
mad.lo.u64 %o, %ga, %w, %o;
mov.u32 %k, 0;
setp.ne.u32 %p, %t, 0;
@%p bra READY;
mbarrier.init.shared::cta.b64 [full], 1; //@init_full
mbarrier.init.shared::cta.b64 [full+8], 1;
mbarrier.init.shared::cta.b64 [empty], ARRIVALS; //@init_empty
mbarrier.init.shared::cta.b64 [empty+8], ARRIVALS;
fence.mbarrier_init.release.cluster; //@init_fence
READY:
barrier.cluster.arrive.relaxed.aligned; //@arrive
barrier.cluster.wait.aligned; //@wait
setp.lt.u32 %p, %t, 32;
@!%p bra CONSUME;
@%p setp.ne.u32 %q, %t, 0;
@%q bra END;
PRODUCE:
setp.ge.u32 %p, %k, %n;
@%p bra END;
and.b32 %s, %k, 1; bfe.u32 %ph, %k, 1, 1; xor.b32 %ph, %ph, 1;
shl.b32 %x, %s, 3; mov.u32 %fb, full; add.u32 %fb, %fb, %x; mov.u32 %eb, empty; add.u32 %eb, %eb, %x;
mul.lo.u32 %x, %s, TILE; mov.u32 %a, tile; add.u32 %a, %a, %x; shl.b32 %x, %r, 8; add.u32 %a, %a, %x;
mul.wide.u32 %w, %k, TILE; add.s64 %ga, %g, %w; cvt.u64.u32 %w, %x; add.s64 %ga, %ga, %w;
WAIT_EMPTY:
mbarrier.try_wait.parity.shared::cta.b64 %q, [%eb], %ph; //@wait_empty
@!%q bra WAIT_EMPTY;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%fb], TILE; //@expect
mov.b16 %m, MASK; //@mask
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%a], [%ga], 256, [%fb], %m; //@copy
add.u32 %k, %k, 1;
bra PRODUCE;
CONSUME:
setp.ge.u32 %p, %k, %n;
@%p bra END;
and.b32 %s, %k, 1; bfe.u32 %ph, %k, 1, 1;
shl.b32 %x, %s, 3; mov.u32 %fb, full; add.u32 %fb, %fb, %x; mov.u32 %eb, empty; add.u32 %eb, %eb, %x;
mul.lo.u32 %x, %s, TILE; mov.u32 %a, tile; add.u32 %a, %a, %x;
sub.u32 %x, %t, 32; shl.b32 %x, %x, 2; add.u32 %a, %a, %x; cvt.u64.u32 %w, %x; add.s64 %ga, %o, %w;
mul.wide.u32 %w, %k, 256; add.s64 %ga, %ga, %w;
WAIT_FULL:
mbarrier.try_wait.parity.shared::cta.b64 %q, [%fb], %ph, 1000; //@wait_full
@!%q bra WAIT_FULL;
mov.f32 %h, 0f00000000; mov.u32 %x, 0;
ADD:
ld.shared.f32 %f, [%a]; //@load
add.f32 %h, %h, %f;
add.u32 %a, %a, 256; add.u32 %x, %x, 1; setp.lt.u32 %q, %x, BLOCKS;
@%q bra ADD;
st.global.f32 [%ga], %h;
mov.u32 %x, 0;
RELEASE:
mapa.shared::cluster.u32 %b, %eb, %x; //@mapa
mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%b]; //@release
add.u32 %x, %x, 1; setp.lt.u32 %q, %x, BLOCKS;
@%q bra RELEASE;
add.u32 %k, %k, 1;
bra CONSUME;
END:
barrier.cluster.arrive.aligned; //@arrive_2
barrier.cluster.wait.aligned; //@wait_2
ret;
}
""".replace("TWO_TILES", str(2 * 256 * blocks)).replace("TILE", str(256 * blocks)).replace(
        "ARRIVALS", str(64 * blocks)).replace("MASK", str((1 << blocks) - 1)).replace("BLOCKS", str(blocks))


# Of the pipeline for two blocks.
PIPELINE_BUGS = {
    "no_barrier_after_init": ({"arrive": "bar.sync 0;", "wait": ""}, "race illegal-instruction unstarted-block",
                              ("init_full", "init_empty", "release", "copy")),
    "init_not_released": ({"init_fence": ""}, "race", ("release", "copy", "wait_full", "expect", "wait_empty")),
    "no_barrier_at_the_end": ({"arrive_2": "", "wait_2": ""}, "exited-block", ("release", "copy")),
    "no_wait_at_the_end": ({"wait_2": ""}, "exited-block", ("release", "copy")),
    "releases_own_only": ({"mapa": "mov.u32 %b, %eb;"}, "race", ("copy", "load")),
    "releases_the_other_only": ({"mapa": "xor.b32 %x, %r, 1; mapa.shared::cluster.u32 %b, %eb, %x; mov.u32 %x, 1;",
                                 "init_empty": "mbarrier.init.shared::cta.b64 [empty], 64;"}, "race deadlock illegal-instruction",
                                ("copy", "load", "wait_empty", "wait_full", "expect")),
    "released_for_the_own_block": ({"release": "mbarrier.arrive.release.cta.shared::cluster.b64 _, [%b];"},
                                   "race", ("copy", "load")),
    "relaxed_release": ({"release": "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%b];"}, "race",
                        ("copy", "load")),
    "release_before_load": ({"load": "mapa.shared::cluster.u32 %b, %eb, %x; mbarrier.arrive.shared::cluster.b64 _, [%b];",
                             "release": "ld.shared.f32 %f, [%a+-512];"}, "race async-copy", ("copy", "release")),
    "no_wait_full": ({"wait_full": "setp.eq.u32 %q, %n, %n;"}, "async-copy uninitialised race", ("load",)),
    "no_wait_empty": ({"wait_empty": "setp.eq.u32 %q, %n, %n;"}, "race illegal-instruction async-copy", ("copy", "expect", "release")),
    "expects_own_part": ({"expect": "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%fb], 256;"},
                         "deadlock expect-tx async-copy", ("expect", "load", "copy", "wait_full", "wait_empty")),
    "expects_too_much": ({"expect": "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%fb], 528;"}, "deadlock", ("expect",)),
    "a_block_gets_nothing": ({"mask": "mov.b16 %m, 1;"}, "deadlock", ("wait_full",)),
    "mask_of_no_block": ({"mask": "mov.b16 %m, 5;"}, "illegal-instruction", ("copy",)),
    "empty_count_too_small": ({"init_empty": "mbarrier.init.shared::cta.b64 [empty], 127;"}, "race illegal-instruction",
                              ("copy", "load", "release")),
    "empty_count_too_large": ({"init_empty": "mbarrier.init.shared::cta.b64 [empty], 129;"}, "deadlock", ("wait_empty",)),
    "waits_at_the_others_barrier": ({"wait_full": "mapa.shared::cluster.u32 %b, %fb, 0; mbarrier.try_wait.parity.b64 %q, [%ga], %ph;"},
                                    "out-of-bounds misaligned illegal-instruction", ("wait_full",)),
    "initialises_the_others_barrier": ({"init_full": "{ .reg .b64 %y; mov.u64 %y, full; cvta.shared.u64 %y, %y; mapa.u64 %y, %y, 1; "
                                                     "mbarrier.init.b64 [%y], 1; }"}, "illegal-instruction out-of-bounds", ("init_full",)),
}

# Every block sends 64 bytes to the next one by a copy from shared to shared
# memory, and four words by st.async and red.async.
SEND = HEAD + """.visible .entry k(.param .u64 o)
{
.reg .pred %p; .reg .b32 %t, %a, %b, %v, %r, %n, %x, %y, %f, %i; .reg .b64 %o, %w;
.shared .align 8 .b64 full;
.shared .align 16 .b8 source[64];
.shared .align 16 .b8 target[128];
ld.param.u64 %o, [o]; mov.u32 %t, %tid.x; mov.u32 %r, %cluster_ctarank; mov.u32 %n, %cluster_nctarank; mov.u32 %i, %ctaid.x;
setp.ne.u32 %p, %t, 0;
@!%p mbarrier.init.shared::cta.b64 [full], 1;
@!%p fence.mbarrier_init.release.cluster;
mov.u32 %a, source; shl.b32 %x, %t, 2; add.u32 %a, %a, %x; mad.lo.u32 %v, %i, 100, %t;
setp.lt.u32 %p, %t, 16; @%p st.shared.u32 [%a], %v; //@fill
mov.u32 %a, target; add.u32 %a, %a, 64; add.u32 %a, %a, %x; @%p st.shared.u32 [%a], 7;
fence.proxy.async.shared::cta; //@fence
barrier.cluster.arrive.aligned;
barrier.cluster.wait.aligned; //@wait
add.u32 %x, %r, 1; rem.u32 %x, %x, %n; mov.u32 %f, full; mapa.shared::cluster.u32 %y, %f, %x;
mov.u32 %a, target; mapa.shared::cluster.u32 %b, %a, %x;
setp.ne.u32 %p, %t, 0; @%p bra SENT;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 100; //@expect
mov.u32 %a, source;
cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%b], [%a], 64, [%y]; //@copy
st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%b+64], {%i, %r, 3, 4}, [%y]; //@store
st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [%b+80], 0x500000006, [%y];
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%b+88], %i, [%y];
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.max.u32 [%b+92], 9, [%y];
mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%y], 4; //@complete
SENT:
W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p, [full], 0; @!%p bra W; //@wait_full
mov.u32 %a, target; shl.b32 %x, %t, 2; add.u32 %a, %a, %x;
ld.shared.u32 %v, [%a]; //@load
mad.lo.u32 %x, %i, 32, %t; mul.wide.u32 %w, %x, 4; add.s64 %w, %w, %o; st.global.u32 [%w], %v;
barrier.cluster.arrive.aligned; //@arrive
barrier.cluster.wait.aligned; //@wait_2
ret;
}
"""
SEND_BUGS = {
    "no_fence": ({"fence": ""}, "proxy-fence", ("copy",)),
    "no_wait_full": ({"wait_full": ""}, "async-copy race", ("load",)),
    "own_mbarrier": ({"copy": "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%b], [%a], 64, [full];"},
                     "illegal-instruction", ("copy",)),
    "bytes_are_missing": ({"complete": ""}, "deadlock", ("expect",)),
    "exits_early": ({"arrive": "", "wait_2": ""}, "exited-block", ("copy",)),
    "sends_twice": ({"store": "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%b+48], {%i, %r, 3, 4}, [%y];"},
                    "async-copy", ("store",)),
}
