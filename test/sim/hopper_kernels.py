# Correct kernels with mbarriers and bulk copies, and the ways to break them.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A line may end in `//@name`; a planted bug replaces the lines of some names."""

import re

HEAD = """.version 8.8
.target sm_90a
.address_size 64
"""

# Thread 0 fetches tiles of 64 floats into a ring of two; 64 threads double
# them. The producer waits for empty slots, the consumers for full ones.
PIPELINE = HEAD + """.visible .entry k(.param .u64 g, .param .u64 o, .param .u32 n)
{
.reg .pred %p, %q; .reg .b32 %t, %n, %k, %s, %ph, %fb, %eb, %a, %x; .reg .b64 %g, %o, %ga, %w; .reg .f32 %f;
.shared .align 128 .b8 tile[512];
.shared .align 8 .b64 full[2];
.shared .align 8 .b64 empty[2];
mov.u32 %t, %tid.x; ld.param.u64 %g, [g]; ld.param.u64 %o, [o]; ld.param.u32 %n, [n];
mov.u32 %k, 0;
setp.ne.u32 %p, %t, 0;
@%p bra READY;
mbarrier.init.shared::cta.b64 [full], 1; //@init_full
mbarrier.init.shared::cta.b64 [full+8], 1;
mbarrier.init.shared::cta.b64 [empty], 64; //@init_empty
mbarrier.init.shared::cta.b64 [empty+8], 64; //@init_empty_1
fence.mbarrier_init.release.cluster;
READY:
bar.sync 0; //@barrier
setp.lt.u32 %p, %t, 32;
@!%p bra CONSUME;
@%p setp.ne.u32 %q, %t, 0;
@%q bra END;
PRODUCE:
setp.ge.u32 %p, %k, %n;
@%p bra END;
and.b32 %s, %k, 1; bfe.u32 %ph, %k, 1, 1; //@producer_parity
xor.b32 %ph, %ph, 1;
shl.b32 %x, %s, 3; mov.u32 %fb, full; add.u32 %fb, %fb, %x; mov.u32 %eb, empty; add.u32 %eb, %eb, %x;
shl.b32 %x, %s, 8; mov.u32 %a, tile; add.u32 %a, %a, %x;
mul.wide.u32 %w, %k, 256; add.s64 %ga, %g, %w;
WAIT_EMPTY:
mbarrier.try_wait.parity.shared::cta.b64 %q, [%eb], %ph; //@wait_empty
@!%q bra WAIT_EMPTY;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%fb], 256; //@expect
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%a], [%ga], 256, [%fb]; //@copy
add.u32 %k, %k, 1;
bra PRODUCE;
CONSUME:
setp.ge.u32 %p, %k, %n;
@%p bra END;
and.b32 %s, %k, 1; bfe.u32 %ph, %k, 1, 1; //@consumer_parity
shl.b32 %x, %s, 3; mov.u32 %fb, full; add.u32 %fb, %fb, %x; mov.u32 %eb, empty; add.u32 %eb, %eb, %x;
shl.b32 %x, %s, 8; mov.u32 %a, tile; add.u32 %a, %a, %x;
sub.u32 %x, %t, 32; shl.b32 %x, %x, 2; add.u32 %a, %a, %x;
mul.wide.u32 %w, %k, 256; add.s64 %ga, %o, %w; cvt.u64.u32 %w, %x; add.s64 %ga, %ga, %w;
WAIT_FULL:
mbarrier.try_wait.parity.shared::cta.b64 %q, [%fb], %ph, 1000; //@wait_full
@!%q bra WAIT_FULL;
ld.shared.f32 %f, [%a]; //@load
add.f32 %f, %f, %f;
st.global.f32 [%ga], %f;
mbarrier.arrive.shared::cta.b64 _, [%eb]; //@release
add.u32 %k, %k, 1;
bra CONSUME;
END:
ret;
}
"""

TRUE = "setp.eq.u32 %q, %n, %n;"
# name: ({place: line instead}, kinds of which one is reported, places of which
# that report names one). Which kind depends on the schedule where several are
# listed: a copy that is not waited for has begun or not, for instance. Every
# kind but "remark" alone makes the launch fail.
PIPELINE_BUGS = {
    "no_wait_full": ({"wait_full": TRUE}, "async-copy uninitialised race", ("load",)),
    "no_wait_empty": ({"wait_empty": TRUE}, "race illegal-instruction async-copy", ("copy", "expect")),
    "full_parity_never_flips": ({"consumer_parity": "and.b32 %s, %k, 1; mov.u32 %ph, 0;"}, "async-copy remark",
                                ("load", "wait_full")),
    "empty_parity_never_flips": ({"producer_parity": "and.b32 %s, %k, 1; mov.u32 %ph, 0;"}, "race illegal-instruction async-copy",
                                 ("copy", "expect")),
    "release_before_load": ({"load": "mbarrier.arrive.shared::cta.b64 _, [%eb];",
                             "release": "ld.shared.f32 %f, [%a];"}, "race", ("copy", "release")),
    "expects_too_much": ({"expect": "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%fb], 272;"}, "deadlock",
                         ("expect",)),
    "expects_too_little": ({"expect": "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%fb], 240;"}, "deadlock",
                           ("expect",)),
    "expects_nothing": ({"expect": "mbarrier.arrive.shared::cta.b64 _, [%fb];"}, "async-copy", ("load",)),
    "never_arrives": ({"expect": "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%fb], 256;"}, "deadlock",
                      ("wait_full",)),
    "never_releases": ({"release": ""}, "deadlock", ("wait_empty",)),
    "empty_count_too_large": ({"init_empty": "mbarrier.init.shared::cta.b64 [empty], 65;"}, "deadlock",
                              ("wait_empty",)),
    "empty_count_too_small": ({"init_empty": "mbarrier.init.shared::cta.b64 [empty], 63;"}, "race", ("copy",)),
    "full_count_too_large": ({"init_full": "mbarrier.init.shared::cta.b64 [full], 2;"}, "deadlock", ("wait_full",)),
    "not_initialised": ({"init_full": ""}, "illegal-instruction", ("expect", "wait_full")),
    "no_barrier_after_init": ({"barrier": ""}, "race illegal-instruction", ("wait_full", "release")),
    "initialised_twice": ({"init_empty_1": "mbarrier.init.shared::cta.b64 [empty], 64;"}, "mbarrier-misuse",
                          ("init_empty_1",)),
    "relaxed_release": ({"release": "mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%eb];"}, "race", ("copy",)),
    "relaxed_wait": ({"wait_full": "mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 %q, [%fb], %ph;"},
                     "async-copy", ("load",)),
    "copy_twice": ({"copy": "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%a], [%ga], 128, [%fb]; "
                            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%a], [%ga], 128, [%fb];"},
                   "async-copy", ("copy",)),
    "copy_too_long": ({"copy": "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%a], [%ga], 512, [%fb];",
                       "expect": "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%fb], 512;"}, "async-copy out-of-bounds", ("copy",)),
    "copy_over_the_end": ({"copy": "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%a+272], [%ga], 256, [%fb];"},
                          "out-of-bounds", ("copy",)),
    "copy_misaligned": ({"copy": "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%a+8], [%ga], 240, [%fb];"},
                        "misaligned", ("copy",)),
    "copy_size": ({"copy": "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%a], [%ga], %x, [%fb];",
                    "expect": "mov.u32 %x, 248; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%fb], %x;"},
                  "misaligned", ("copy",)),
    "copy_over_mbarrier": ({"copy": "mov.u32 %a, empty; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%a], [%ga], 16, [%fb];",
                            "expect": "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%fb], 16;"},
                           "mbarrier-misuse", ("copy",)),
    "mbarrier_is_read": ({"load": "ld.shared.f32 %f, [%eb];"}, "mbarrier-misuse", ("load",)),
    "too_many_releases": ({"release": "mbarrier.arrive.shared::cta.b64 _, [%eb], 2;"}, "race remark illegal-instruction",
                          ("copy", "release")),
    "copy_nobody_waits_for": ({"wait_full": "setp.eq.u32 %q, %k, 4; @%q bra END; mbarrier.try_wait.parity.shared::cta.b64 %q, [%fb], %ph;"},
                              "async-copy", ("copy",)),
}

# 64 threads write a tile that one of them stores; the buffer is used again
# when the copy has read it, and the result read when it has been written.
STORE = HEAD + """.visible .entry k(.param .u64 g, .param .u64 o, .param .u32 n)
{
.reg .pred %p; .reg .b32 %t, %n, %k, %a, %b, %x; .reg .b64 %g, %o, %ga, %w; .reg .f32 %f;
.shared .align 128 .b8 tile[256];
mov.u32 %t, %tid.x; ld.param.u64 %g, [g]; ld.param.u64 %o, [o]; ld.param.u32 %n, [n];
mov.u32 %b, tile; shl.b32 %x, %t, 2; add.u32 %a, %b, %x; cvt.u64.u32 %w, %x; add.s64 %g, %g, %w;
setp.ne.u32 %p, %t, 0;
mov.u32 %k, 0;
LOOP:
mul.wide.u32 %w, %k, 256; add.s64 %ga, %g, %w;
ld.global.f32 %f, [%ga]; add.f32 %f, %f, %f;
st.shared.f32 [%a], %f; //@write
fence.proxy.async.shared::cta; //@fence
bar.sync 0; //@barrier
mul.wide.u32 %w, %k, 256; add.s64 %ga, %o, %w;
@%p bra STORED;
cp.async.bulk.global.shared::cta.bulk_group [%ga], [%b], 256; //@copy
cp.async.bulk.commit_group; //@commit
cp.async.bulk.wait_group.read 0; //@wait_read
STORED:
bar.sync 0; //@barrier_2
add.u32 %k, %k, 1;
setp.lt.u32 %p, %k, %n;
@%p bra AGAIN;
setp.ne.u32 %p, %t, 0;
@%p bra END;
cp.async.bulk.wait_group 0; //@wait
ld.global.f32 %f, [%ga]; //@result
st.global.f32 [%ga], %f;
END:
ret;
AGAIN:
setp.ne.u32 %p, %t, 0;
bra LOOP;
}
"""

STORE_BUGS = {
    "no_fence": ({"fence": ""}, "proxy-fence", ("copy",)),
    "fence_of_global_memory": ({"fence": "fence.proxy.async.global;"}, "proxy-fence", ("copy",)),
    "fence_before_the_write": ({"write": "fence.proxy.async.shared::cta;", "fence": "st.shared.f32 [%a], %f;"},
                               "proxy-fence", ("copy",)),
    "fence_of_one_thread": ({"fence": "setp.ne.u32 %p, %t, 0; @!%p fence.proxy.async.shared::cta;"}, "proxy-fence",
                            ("copy",)),
    "no_barrier": ({"barrier": ""}, "race", ("copy",)),
    "no_barrier_after_wait": ({"barrier_2": ""}, "async-copy", ("write",)),
    "no_wait_read": ({"wait_read": ""}, "async-copy", ("write",)),
    "waits_for_too_little": ({"wait_read": "cp.async.bulk.wait_group.read 1;"}, "async-copy", ("write",)),
    "not_committed": ({"commit": ""}, "async-copy", ("write", "copy")),
    "waits_only_for_reads": ({"wait": "cp.async.bulk.wait_group.read 0;"}, "async-copy", ("result",)),
    "no_wait": ({"wait": ""}, "async-copy", ("result",)),
    "never_waits": ({"wait_read": "", "wait": "bra END;"}, "async-copy", ("copy",)),
    "copy_size": ({"copy": "mov.u32 %x, 252; cp.async.bulk.global.shared::cta.bulk_group [%ga], [%b], %x;"}, "misaligned", ("copy",)),
    "copy_misaligned": ({"copy": "cp.async.bulk.global.shared::cta.bulk_group [%ga+4], [%b], 240;"}, "misaligned",
                        ("copy",)),
    "copy_too_long": ({"copy": "cp.async.bulk.global.shared::cta.bulk_group [%ga], [%b], 272;"}, "out-of-bounds",
                      ("copy",)),
    "unwritten_source": ({"write": "setp.eq.u32 %p, %t, 7; @!%p st.shared.f32 [%a], %f; setp.ne.u32 %p, %t, 0;"},
                         "uninitialised", ("copy",)),
}


def broken(text, changes):
    """`text` with the lines of the named places replaced; the names stay."""
    for name, line in changes.items():
        text, count = re.subn(rf"^.*//@{name}$", lambda _: f"{line} //@{name}", text, flags=re.M)
        assert count == 1, name
    return text


def line_of(text, name):
    lines = [i + 1 for i, line in enumerate(text.splitlines()) if line.endswith(f"//@{name}")]
    assert len(lines) == 1, name
    return lines[0]
