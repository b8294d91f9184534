# Kernels with tcgen05: loads and stores of tensor memory, products, planted bugs.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every kernel has 128 threads and all 512 columns unless it says otherwise. `fill` and `dump` move all of tensor
memory with .32x32b, whose layout is the memory's own: lane is thread, column is register."""

HEAD = ".version 8.8\n.target sm_100a\n.address_size 64\n"
COLUMNS = 512


def vector(prefix, count):
    return "{" + ", ".join(f"%{prefix}{k}" for k in range(count)) + "}"


def move_all(store, step=32):
    """Between tensor memory and the 512 words of this thread at %g; warp's lane address in %w."""
    lines = []
    for first in range(0, COLUMNS, step):
        words = [f"global.v4.b32 {{%v{k}, %v{k + 1}, %v{k + 2}, %v{k + 3}}}" for k in range(0, step, 4)]
        at = f"add.u32 %a, %w, {first};"
        if store:
            lines += [f"ld.{w.split(' ', 1)[0]} {w.split(' ', 1)[1]}, [%g+{4 * (first + 4 * k)}];" for k, w in enumerate(words)]
            lines += [at, f"tcgen05.st.sync.aligned.32x32b.x{step}.b32 [%a], {vector('v', step)};", "tcgen05.wait::st.sync.aligned;"]
        else:
            lines += [at, f"tcgen05.ld.sync.aligned.32x32b.x{step}.b32 {vector('v', step)}, [%a];", "tcgen05.wait::ld.sync.aligned;"]
            lines += [f"st.{w.split(' ', 1)[0]} [%g+{4 * (first + 4 * k)}], {w.split(' ', 1)[1]};" for k, w in enumerate(words)]
    return "\n".join(lines)


BEGIN = """.reg .pred %p, %q, %e; .reg .b32 %t, %w, %a, %b, %d, %v<32>, %r<128>, %red; .reg .b64 %g, %o, %n;
.shared .align 16 .b32 base;
mov.u32 %t, %tid.x; shr.u32 %w, %t, 5; setp.ne.u32 %p, %w, 0;
@%p bra ALLOCATED;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], 512;
tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
ALLOCATED:
bar.sync 0;
ld.shared.b32 %d, [base]; shl.b32 %w, %w, 21; add.u32 %w, %w, %d;
"""
BARRIER = "tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;"
END = f"""{BARRIER}
setp.ge.u32 %p, %t, 32;
@%p bra FREED;
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %d, 512;
FREED:
ret;
"""


def words_of_thread(name, bytes_each):
    return f"ld.param.u64 %g, [{name}]; mul.wide.u32 %o, %t, {bytes_each}; add.s64 %g, %g, %o;"


def move_kernel(shape, times, registers, store=False, packs=False, split=None, lane=0, column=0):
    """Fills tensor memory from `image`, loads or stores `registers` words per thread, dumps it again. Parameters: image
    [128][512], registers [128][n]."""
    half = "" if split is None else f", {split}"
    name = f"sync.aligned.{shape}.x{times}{'.unpack::16b' if packs and store else '.pack::16b' if packs else ''}.b32"
    each = [f"%r{k}" for k in range(registers)]
    at = f"add.u32 %a, %w, {lane << 16 | column};"
    if store:
        body = "\n".join(f"ld.global.b32 {r}, [%g+{4 * k}];" for k, r in enumerate(each))
        body += f"\n{at}\ntcgen05.st.{name} [%a]{half}, {vector('r', registers)};\ntcgen05.wait::st.sync.aligned;\n"
    else:
        body = f"{at}\ntcgen05.ld.{name} {vector('r', registers)}, [%a]{half};\ntcgen05.wait::ld.sync.aligned;\n"
        body += "\n".join(f"st.global.b32 [%g+{4 * k}], {r};" for k, r in enumerate(each))
    return HEAD + f""".visible .entry k(.param .u64 image, .param .u64 registers)
{{
{BEGIN}{words_of_thread('image', 4 * COLUMNS)}
{move_all(store=True)}
{words_of_thread('registers', 4 * registers)}
{body}
{words_of_thread('image', 4 * COLUMNS)}
{move_all(store=False)}
{END}}}
"""


# Warp 0 allocates, all four store their lanes, exchange them through registers, and read them again; the warps of the
# second warp group read what the first one stored.
EXCHANGE = HEAD + """.visible .entry k(.param .u64 g, .param .u64 o)
{
.reg .pred %p, %q; .reg .b32 %t, %w, %a, %d, %v<4>, %u<4>, %x; .reg .b64 %g, %o, %n;
.shared .align 16 .b32 base;
.shared .align 8 .b64 ready;
mov.u32 %t, %tid.x; shr.u32 %w, %t, 5; setp.ne.u32 %p, %w, 0;
ld.param.u64 %g, [g]; ld.param.u64 %o, [o]; mul.wide.u32 %n, %t, 16; add.s64 %g, %g, %n; add.s64 %o, %o, %n;
@%p bra ALLOCATED;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], 64; //@alloc
tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned; //@relinquish
setp.ne.u32 %q, %t, 0;
@!%q mbarrier.init.shared::cta.b64 [ready], 128;
ALLOCATED:
bar.sync 0; //@allocated
ld.shared.b32 %d, [base]; and.b32 %w, %w, 3; shl.b32 %w, %w, 21; add.u32 %w, %w, %d;
add.u32 %a, %w, 32; //@address
setp.ge.u32 %q, %t, 128;
@%q bra SECOND;
ld.global.v4.b32 {%v0, %v1, %v2, %v3}, [%g];
tcgen05.st.sync.aligned.32x32b.x4.b32 [%a], {%v0, %v1, %v2, %v3}; //@store
tcgen05.wait::st.sync.aligned; //@wait_store
tcgen05.ld.sync.aligned.32x32b.x4.b32 {%u0, %u1, %u2, %u3}, [%a]; //@load
tcgen05.wait::ld.sync.aligned; //@wait_load
add.u32 %u0, %u0, 1; //@use
tcgen05.st.sync.aligned.32x32b.x1.b32 [%a], {%u0}; //@again
tcgen05.wait::st.sync.aligned; //@wait_again
tcgen05.fence::before_thread_sync; //@before
mbarrier.arrive.shared::cta.b64 _, [ready]; //@arrive
bra END;
SECOND:
mbarrier.try_wait.parity.shared::cta.b64 %q, [ready], 0; //@wait
@!%q bra SECOND;
tcgen05.fence::after_thread_sync; //@after
tcgen05.ld.sync.aligned.32x32b.x4.b32 {%u0, %u1, %u2, %u3}, [%a]; //@second
tcgen05.wait::ld.sync.aligned; //@wait_second
st.global.v4.b32 [%o], {%u0, %u1, %u2, %u3};
tcgen05.fence::before_thread_sync;
END:
bar.sync 0; //@end
tcgen05.fence::after_thread_sync;
@%p bra FREED;
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %d, 64; //@dealloc
FREED:
//@freed
ret;
}
"""
LOAD = "tcgen05.ld.sync.aligned.32x32b.x4.b32 {%u0, %u1, %u2, %u3}, [%a];"
EXCHANGE_BUGS = {
    "not_allocated": ({"alloc": "mov.u32 %x, 0; st.shared.b32 [base], %x;"}, "tensor-memory", ("store",)),
    "past_the_allocation": ({"address": "add.u32 %a, %w, 62;"}, "tensor-memory", ("store",)),
    "used_after_dealloc": ({"freed": "@!%p " + LOAD}, "tensor-memory", ("freed",)),
    "never_deallocated": ({"dealloc": ""}, "tensor-memory-leak", ("alloc",)),
    "deallocated_twice": ({"freed": "@!%p tcgen05.dealloc.cta_group::1.sync.aligned.b32 %d, 64;"}, "tensor-memory", ("freed",)),
    "deallocated_in_part": ({"dealloc": "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %d, 32;"}, "tensor-memory", ("dealloc",)),
    "deallocated_elsewhere": ({"dealloc": "add.u32 %d, %d, 32; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %d, 64;"},
                              "tensor-memory", ("dealloc",)),
    "lanes_of_another_warp": ({"address": "add.u32 %a, %d, 32;"}, "tensor-memory", ("store",)),
    "allocated_after_relinquish": ({"relinquish": "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned; "
                                    "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], 64;"},
                                   "tensor-memory", ("relinquish",)),
    "allocated_more_than_before": ({"relinquish": "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], 128;",
                                    "dealloc": "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %d, 128;"},
                                   "tensor-memory", ("alloc", "relinquish")),
    "no_power_of_two": ({"alloc": "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], %t;"}, "tensor-memory", ("alloc",)),
    "no_columns_left": ({"alloc": "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], 512; "
                         "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], 64;"}, "deadlock", ("alloc",)),
    "address_read_too_early": ({"allocated": ""}, "race uninitialised tensor-memory", ("alloc", "store")),
    "lanes_disagree_on_the_address": ({"address": "add.u32 %a, %w, 32; setp.eq.u32 %q, %t, 5; @%q add.u32 %a, %a, 1;"},
                                      "tensor-memory", ("store",)),
    "no_wait_before_load": ({"wait_store": ""}, "tensor-async", ("load", "store")),
    "waits_for_loads_before_load": ({"wait_store": "tcgen05.wait::ld.sync.aligned;"}, "tensor-async", ("load", "store")),
    "no_wait_before_arrive": ({"wait_again": ""}, "tensor-async", ("second", "again")),
    "stored_again_under_a_load": ({"wait_load": "", "use": "mov.u32 %u0, 5;"}, "async-register", ("use", "load")),
    "overwritten_under_a_load": ({"wait_load": "", "use": "tcgen05.st.sync.aligned.32x32b.x4.b32 [%a], {%v0, %v1, %v2, %v3};",
                                  "again": ""}, "tensor-async", ("use", "load")),
    "register_written_under_a_load": ({"wait_second": "mov.u32 %u3, 7; tcgen05.wait::ld.sync.aligned;"}, "async-register",
                                      ("second", "wait_second")),
    "loaded_twice_into_the_same_registers": ({"load": LOAD + " " + LOAD}, "async-register", ("load",)),
    "not_ordered": ({"wait": "setp.eq.u32 %q, %t, %t;"}, "tensor-async uninitialised", ("second", "store", "again")),
    "nobody_wrote_it": ({"store": "tcgen05.st.sync.aligned.32x32b.x2.b32 [%a], {%v0, %v1};"}, "uninitialised", ("second",)),
    "deallocated_under_a_load": ({"wait_second": "", "end": "bar.sync 0;", "second": LOAD + " bra END;"}, "tensor-async",
                                 ("dealloc", "second")),
    "deallocated_too_early": ({"end": ""}, "tensor-memory tensor-async", ("dealloc", "second", "store", "load", "again")),
}
# Real code leaves these out; each is a remark.
EXCHANGE_REMARKS = {
    "no_fence_before": ({"before": ""}, ("second", "again")),
    "no_fence_after": ({"after": ""}, ("second", "again")),
    "no_fence_at_all": ({"before": "", "after": ""}, ("second", "again")),
    "register_used_before_wait": ({"wait_load": ""}, ("use", "load")),
}

WORDS = ("da", "db", "idesc", "d", "a", "sfa", "sfb", "meta", "enable", "m0", "m1", "m2", "m3", "zero")


def operation_kernel(image, operations):
    """Fills tensor memory from `memory` and shared memory from `image`, lets thread 0 execute the operations, waits for
    their commit, dumps tensor memory. Registers: %da, %db, %zero, addresses %dd, %aa, %sa, %sb, %me, %id, %m0 to %m3, %e."""
    loads = [("b64", "da", 0), ("b64", "db", 1), ("b64", "zero", 13), ("b32", "id", 2), ("b32", "dd", 3), ("b32", "aa", 4),
             ("b32", "sa", 5), ("b32", "sb", 6), ("b32", "me", 7), ("b32", "en", 8)] + [("b32", f"m{k}", 9 + k) for k in range(4)]
    return HEAD + ".extern .shared .align 1024 .b8 tile[];\n" + f""".visible .entry k(.param .u64 image, .param .u64 memory, .param .u64 words)
{{
{BEGIN}.reg .b64 %da, %db, %zero; .reg .b32 %id, %dd, %aa, %sa, %sb, %me, %en, %m<4>, %i;
.shared .align 8 .b64 done;
{words_of_thread('memory', 4 * COLUMNS)}
{move_all(store=True)}
ld.param.u64 %n, [image]; shl.b32 %i, %t, 4;
COPY:
cvt.u64.u32 %o, %i; add.s64 %o, %o, %n; ld.global.v4.b32 {vector('v', 4)}, [%o];
mov.u32 %a, tile; add.u32 %a, %a, %i; st.shared.v4.b32 [%a], {vector('v', 4)};
add.u32 %i, %i, 2048; setp.lt.u32 %q, %i, {image}; @%q bra COPY;
setp.ne.u32 %q, %t, 0;
@!%q mbarrier.init.shared::cta.b64 [done], 1;
fence.proxy.async.shared::cta;
{BARRIER}
@%q bra WAIT;
ld.param.u64 %o, [words];
""" + "\n".join(f"ld.global.{t} %{name}, [%o+{8 * at}];" for t, name, at in loads) + f"""
setp.ne.u32 %e, %en, 0;
mov.u32 %a, tile; shr.u32 %a, %a, 4; cvt.u64.u32 %o, %a; add.s64 %da, %da, %o; add.s64 %db, %db, %o;
{operations}
tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [done];
WAIT:
mbarrier.try_wait.parity.shared::cta.b64 %e, [done], 0;
@!%e bra WAIT;
tcgen05.fence::after_thread_sync;
{words_of_thread('memory', 4 * COLUMNS)}
{move_all(store=False)}
{END}}}
"""
