# Breaks correct kernels with mbarriers and bulk copies, and counts reports.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: hopper_mutants.py [--seed N] [--count N] [--verbose]

Every mutation operator says beforehand which rule it breaks: the kinds of
report that count, and the places of which the report must name one. A mutant
is found if one of a few schedules (seed 0 and adversarial ones) reports that.
Without --count all mutants of all kernels; the floor is 95 %."""

import argparse
import collections
import itertools
import pathlib
import random
import re
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import conftest  # noqa: E402,F401
import tessera.sim as sim  # noqa: E402
from hopper_kernels import HEAD, broken, line_of  # noqa: E402

SEEDS = (0, 1, 2, 3)


def ring(stages, warps, copies, form):
    """A producer thread, `warps` consumer warps, a ring of `stages` tiles that `copies` bulk copies bring."""
    threads = 32 * warps
    tile = 4 * threads
    part = tile // copies
    bring = "\n".join(f"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%a+{i * part}], "
                      f"[%ga+{i * part}], {part}, [%fb]; //@copy{i}" for i in range(copies))
    init = "\n".join(f"mbarrier.init.shared::cta.b64 [full+{8 * i}], 1; //@init_full{i}\n"
                     f"mbarrier.init.shared::cta.b64 [empty+{8 * i}], {threads}; //@init_empty{i}" for i in range(stages))
    slot = (f"rem.u32 %s, %k, {stages}; div.u32 %ph, %k, {stages}; and.b32 %ph, %ph, 1; "
            "shl.b32 %x, %s, 3; mov.u32 %fb, full; add.u32 %fb, %fb, %x; mov.u32 %eb, empty; add.u32 %eb, %eb, %x;")
    return HEAD + f""".visible .entry k(.param .u64 g, .param .u64 o, .param .u32 n)
{{
.reg .pred %p, %q; .reg .b32 %t, %n, %k, %s, %ph, %fb, %eb, %a, %x; .reg .b64 %g, %o, %ga, %w; .reg .f32 %f;
.shared .align 128 .b8 tile[{tile * stages}];
.shared .align 8 .b64 full[{stages}];
.shared .align 8 .b64 empty[{stages}];
mov.u32 %t, %tid.x; ld.param.u64 %g, [g]; ld.param.u64 %o, [o]; ld.param.u32 %n, [n];
mov.u32 %k, 0;
setp.ne.u32 %p, %t, 0;
@%p bra READY;
{init}
READY:
bar.sync 0; //@barrier
setp.lt.u32 %p, %t, 32;
@!%p bra CONSUME;
setp.ne.u32 %q, %t, 0;
@%q bra END;
PRODUCE:
setp.ge.u32 %p, %k, %n;
@%p bra END;
{slot}
xor.b32 %ph, %ph, 1; //@producer_parity
mul.lo.u32 %x, %s, {tile}; mov.u32 %a, tile; add.u32 %a, %a, %x; //@producer_slot
mul.wide.u32 %w, %k, {tile}; add.s64 %ga, %g, %w;
WAIT_EMPTY:
mbarrier.{form}_wait.parity.shared::cta.b64 %q, [%eb], %ph; //@wait_empty
@!%q bra WAIT_EMPTY; //@again_empty
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%fb], {tile}; //@expect
{bring}
add.u32 %k, %k, 1;
bra PRODUCE;
CONSUME:
setp.ge.u32 %p, %k, %n;
@%p bra END;
{slot}
mov.u32 %x, 0; //@consumer_parity
mul.lo.u32 %x, %s, {tile}; mov.u32 %a, tile; add.u32 %a, %a, %x; //@consumer_slot
sub.u32 %x, %t, 32; shl.b32 %x, %x, 2; add.u32 %a, %a, %x;
mul.wide.u32 %w, %k, {tile}; add.s64 %ga, %o, %w; cvt.u64.u32 %w, %x; add.s64 %ga, %ga, %w;
WAIT_FULL:
mbarrier.{form}_wait.parity.shared::cta.b64 %q, [%fb], %ph; //@wait_full
@!%q bra WAIT_FULL; //@again_full
ld.shared.f32 %f, [%a]; //@load
mbarrier.arrive.shared::cta.b64 _, [%eb]; //@release
add.f32 %f, %f, %f;
st.global.f32 [%ga], %f;
add.u32 %k, %k, 1;
bra CONSUME;
END:
ret;
}}
"""


def ring_mutants(stages, warps, copies, form):
    threads, tile = 32 * warps, 128 * warps
    part = tile // copies
    true = "setp.eq.u32 %q, %n, %n;"
    expect = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%fb], {};"
    early = "async-copy uninitialised race expect-tx illegal-instruction"
    copy = tuple(f"copy{i}" for i in range(copies))
    reuse = "race async-copy illegal-instruction"
    yield "drop the wait for data", {"wait_full": true}, early, ("load", *copy)
    yield "drop the loop around the wait for data", {"again_full": ""}, early, ("load", *copy)
    yield "drop the wait for the slot", {"wait_empty": true}, reuse, ("expect", *copy)
    yield "drop the loop around the wait for the slot", {"again_empty": ""}, reuse, ("expect", *copy)
    yield "drop expect_tx", {"expect": "mbarrier.arrive.shared::cta.b64 _, [%fb];"}, early, ("load", *copy)
    yield "drop the arrival", {"expect": f"mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%fb], {tile};"}, "deadlock", \
        ("wait_full",)
    for bytes_ in (16, 64, tile):
        yield f"expect {bytes_} bytes more", {"expect": expect.format(tile + bytes_)}, "deadlock", ("expect", "wait_full")
    for bytes_ in (16, part):
        if bytes_ < tile:
            yield f"expect {bytes_} bytes less", {"expect": expect.format(tile - bytes_)}, "deadlock " + early, \
                ("expect", "wait_full", "load", *copy)
    for i in range(copies):
        yield f"drop copy {i}", {f"copy{i}": ""}, "deadlock", ("expect", "wait_full")
        yield f"copy {i} goes to the other slot's barrier", {
            f"copy{i}": f"xor.b32 %x, %fb, 8; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                        f"[%a+{i * part}], [%ga+{i * part}], {part}, [%x];"}, "deadlock " + early, \
            ("expect", "wait_full", "load", *copy)
        yield f"copy {i} is 16 bytes shorter", {
            f"copy{i}": f"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%a+{i * part}], "
                        f"[%ga+{i * part}], {part - 16}, [%fb];"}, "deadlock", ("expect", "wait_full")
        yield f"copy {i} is 8 bytes off", {
            f"copy{i}": f"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%a+{i * part + 8}], "
                        f"[%ga+{i * part}], {part}, [%fb];"}, "misaligned", copy
    yield "drop the release", {"release": ""}, "deadlock", ("wait_empty",)
    yield "release before the load", {"load": "mbarrier.arrive.shared::cta.b64 _, [%eb];",
                                      "release": "ld.shared.f32 %f, [%a];"}, "race async-copy", ("release", *copy)
    yield "release twice", {"release": "mbarrier.arrive.shared::cta.b64 _, [%eb], 2;"}, \
        "remark race async-copy illegal-instruction deadlock", ("release", "expect", *copy)
    yield "relaxed release", {"release": "mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%eb];"}, "race", copy
    yield "relaxed wait for data", {
        "wait_full": f"mbarrier.{form}_wait.parity.relaxed.cta.shared::cta.b64 %q, [%fb], %ph;"}, "async-copy", ("load",)
    yield "relaxed wait for the slot", {
        "wait_empty": f"mbarrier.{form}_wait.parity.relaxed.cta.shared::cta.b64 %q, [%eb], %ph;"}, "race", copy
    yield "consumer's parity is off by one", {"consumer_parity": "xor.b32 %ph, %ph, 1;"}, \
        "deadlock " + early, ("wait_full", "wait_empty", "load", *copy)
    yield "producer's parity is off by one", {"producer_parity": ""}, "deadlock", ("wait_empty", "wait_full")
    yield "consumer's parity never flips", {"consumer_parity": "mov.u32 %ph, 0;"}, "remark " + early, \
        ("wait_full", "load", *copy)
    yield "producer's parity never flips", {"producer_parity": "mov.u32 %ph, 1;"}, "remark " + reuse, \
        ("wait_empty", "expect", *copy)
    for i in range(stages):
        yield f"empty barrier {i} waits for one more", {
            f"init_empty{i}": f"mbarrier.init.shared::cta.b64 [empty+{8 * i}], {threads + 1};"}, "deadlock", ("wait_empty",)
        yield f"empty barrier {i} waits for one less", {
            f"init_empty{i}": f"mbarrier.init.shared::cta.b64 [empty+{8 * i}], {threads - 1};"}, \
            "race remark async-copy illegal-instruction", ("release", "expect", *copy)
        yield f"full barrier {i} waits for one more", {
            f"init_full{i}": f"mbarrier.init.shared::cta.b64 [full+{8 * i}], 2;"}, "deadlock", ("wait_full",)
        yield f"full barrier {i} is not initialised", {f"init_full{i}": ""}, "illegal-instruction", ("wait_full", "expect")
    yield "drop the barrier after the initialisation", {"barrier": ""}, "race illegal-instruction", \
        ("wait_full", "release", "wait_empty")
    yield "the producer's ring is one slot", {"producer_slot": "mov.u32 %a, tile;"}, \
        "race async-copy uninitialised", ("load", *copy)
    yield "the consumer's ring is one slot", {"consumer_slot": "mov.u32 %a, tile;"}, "race async-copy", ("load", *copy)


def store(buffers, warps, every):
    """`warps` warps write tiles that one thread stores; a buffer is used again after a wait for its reads."""
    tile = 128 * warps
    wait = f"cp.async.bulk.wait_group.read {buffers - 1};"
    fence = "fence.proxy.async.shared::cta;" if every else "fence.proxy.async;"
    return HEAD + f""".visible .entry k(.param .u64 g, .param .u64 o, .param .u32 n)
{{
.reg .pred %p, %q; .reg .b32 %t, %n, %k, %a, %b, %x; .reg .b64 %g, %o, %ga, %w; .reg .f32 %f;
.shared .align 128 .b8 tile[{tile * buffers}];
mov.u32 %t, %tid.x; ld.param.u64 %g, [g]; ld.param.u64 %o, [o]; ld.param.u32 %n, [n];
setp.ne.u32 %p, %t, 0;
mov.u32 %k, 0;
LOOP:
rem.u32 %x, %k, {buffers}; mul.lo.u32 %x, %x, {tile}; mov.u32 %b, tile; add.u32 %b, %b, %x; //@slot
shl.b32 %x, %t, 2; add.u32 %a, %b, %x; cvt.u64.u32 %w, %x; add.s64 %ga, %g, %w;
mul.wide.u32 %w, %k, {tile}; add.s64 %ga, %ga, %w;
ld.global.f32 %f, [%ga]; add.f32 %f, %f, %f;
st.shared.f32 [%a], %f; //@write
{fence} //@fence
bar.sync 0; //@barrier
@%p bra STORED;
mul.wide.u32 %w, %k, {tile}; add.s64 %ga, %o, %w;
cp.async.bulk.global.shared::cta.bulk_group [%ga], [%b], {tile}; //@copy
cp.async.bulk.commit_group; //@commit
{wait} //@wait_read
STORED:
bar.sync 0; //@barrier_2
add.u32 %k, %k, 1;
setp.lt.u32 %q, %k, %n;
@%q bra LOOP;
@%p bra END;
cp.async.bulk.wait_group 0; //@wait
ld.global.f32 %f, [%ga]; //@result
st.global.f32 [%ga], %f;
END:
ret;
}}
"""


def store_mutants(buffers, warps, every):
    tile = 128 * warps
    yield "drop the fence", {"fence": ""}, "proxy-fence", ("copy",)
    yield "fence of the other space", {"fence": "fence.proxy.async.global;"}, "proxy-fence", ("copy",)
    yield "fence before the write", {"write": "fence.proxy.async;", "fence": "st.shared.f32 [%a], %f;"}, "proxy-fence", \
        ("copy",)
    yield "a plain fence", {"fence": "fence.acq_rel.gpu;"}, "proxy-fence", ("copy",)
    yield "fence of the storing thread, before the barrier", {"fence": "@!%p fence.proxy.async;"}, "proxy-fence", ("copy",)
    yield "drop the barrier before the copy", {"barrier": ""}, "race", ("copy",)
    yield "drop the barrier after the wait", {"barrier_2": ""}, "race async-copy", ("write", "copy")
    yield "drop the wait for reads", {"wait_read": ""}, "async-copy", ("write",)
    yield "wait for one group less", {"wait_read": f"cp.async.bulk.wait_group.read {buffers};"}, "async-copy", ("write",)
    yield "commit after the wait", {"commit": f"cp.async.bulk.wait_group.read {buffers - 1};",
                                    "wait_read": "cp.async.bulk.commit_group;"}, "async-copy", ("write",)
    yield "drop the commit", {"commit": ""}, "async-copy", ("write", "copy")
    yield "drop the last wait", {"wait": ""}, "async-copy", ("result", "copy")
    yield "the last wait is for reads", {"wait": "cp.async.bulk.wait_group.read 0;"}, "async-copy", ("result",)
    yield "another thread waits", {"wait_read": "", "barrier_2": f"@%p cp.async.bulk.wait_group.read {buffers - 1}; "
                                                                 "bar.sync 0;"}, "async-copy", ("write",)
    yield "exit without a wait", {"wait_read": "", "wait": "bra END;"}, "async-copy", ("copy",)
    yield "16 bytes too many", {"copy": f"cp.async.bulk.global.shared::cta.bulk_group [%ga], [%b], {tile + 16};"}, \
        "out-of-bounds race async-copy uninitialised proxy-fence", ("copy", "write")
    yield "source 16 bytes too high", {"copy": f"cp.async.bulk.global.shared::cta.bulk_group [%ga], [%b+16], {tile};"}, \
        "out-of-bounds race async-copy uninitialised proxy-fence", ("copy", "write")
    yield "destination 8 bytes off", {"copy": f"cp.async.bulk.global.shared::cta.bulk_group [%ga+8], [%b], {tile};"}, \
        "misaligned", ("copy",)
    if buffers > 1:
        yield "one buffer instead of several", {"slot": "mov.u32 %b, tile;"}, "async-copy", ("write",)


KERNELS = [(ring, ring_mutants, args, 32 + 32 * args[1], 128 * args[1]) for args in itertools.product(
    (2, 3, 4), (1, 2, 3), (1, 2), ("try", "test"))]
KERNELS += [(store, store_mutants, args, 32 * args[1], 128 * args[1]) for args in itertools.product(
    (1, 2, 3), (1, 2, 3), (False, True))]
TILES = 9


def run(text, block, tile, **options):
    g = np.arange(TILES * tile // 4, dtype=np.float32)
    o = np.zeros_like(g)
    report = sim.launch(text, "k", 1, block, [g, o, TILES], arch="sm_90a", max_instructions=60000, **options)
    return report, np.array_equal(o, 2 * g)


def is_found(text, block, tile, kinds, places):
    """The seed that shows it, or what was seen instead."""
    lines = {line_of(text, place) for place in places}
    seen = ""
    for seed in SEEDS:
        report, right = run(text, block, tile, seed=seed, adversarial=seed > 0)
        named = {int(n) for e in report.errors if e["kind"] in kinds.split()
                 for n in re.findall(r"PTX line (\d+)", e["message"])}
        if not report.ok and named & lines:
            return seed
        seen += f"\n  seed {seed}, results {'right' if right else 'wrong'}: {report.text()[:400]}"
    return seen


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    mutants = []
    for make, operators, args, block, tile in KERNELS:
        text = make(*args)
        for seed in SEEDS:
            report, right = run(text, block, tile, seed=seed, adversarial=seed > 0)
            assert report.ok and right, f"{make.__name__}{args} is not correct: {report.text()}"
        mutants += [(f"{make.__name__}{args}", text, block, tile, *m) for m in operators(*args)]
    if options.count:
        mutants = random.Random(options.seed).sample(mutants, options.count)
    found, missed, first = collections.Counter(), collections.Counter(), 0
    for kernel, text, block, tile, name, changes, kinds, places in mutants:
        changed = broken(text, changes)
        result = is_found(changed, block, tile, kinds, places)
        (missed if isinstance(result, str) else found)[name] += 1
        first += result == 0
        if isinstance(result, str) and options.verbose:
            print(f"{kernel}: {name}: expected {kinds} at {places}{result}")
    total = len(mutants)
    for name, n in missed.most_common():
        print(f"missed {n} of {n + found[name]}: {name}")
    share = sum(found.values()) / total
    print(f"{total} mutants of {len(KERNELS)} kernels: {100 * share:.1f} % reported with the right line (floor 95 %), "
          f"{100 * first / total:.1f} % in the plain schedule")
    return share < 0.95


if __name__ == "__main__":
    sys.exit(main())
