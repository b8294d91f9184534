# Kernels with wgmma: one product with any descriptor, a small gemm, planted bugs.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`product_kernel` copies an image of shared memory and executes one wgmma on it. `GEMM` is a pipeline of
two slots that is filled by bulk copies; `GEMM_BUGS` breaks it."""

DYNAMIC = ".extern .shared .align 1024 .b8 tile[];\n"
HEAD = ".version 8.5\n.target sm_90a\n.address_size 64\n"


def vector(prefix, count):
    return "{" + ", ".join(f"%{prefix}{k}" for k in range(count)) + "}"


def product_kernel(shape, types, image, d_registers, a_in_registers=False, suffix="", sparse=None):
    """Parameters: image, A fragments, D fragments (in and out), both descriptors, scale-d, metadata.
    `suffix`: what comes after scale-d; `sparse`: the selector."""
    lines = [HEAD + DYNAMIC + f""".visible .entry k(.param .u64 image, .param .u64 fa, .param .u64 fd, .param .u64 da, .param .u64 db,
  .param .u32 scale, .param .u64 meta)
{{
.reg .b32 %t, %i, %s, %m, %x<4>, %a<4>, %d<{d_registers}>; .reg .b64 %p, %o, %da, %db; .reg .pred %q, %e;
mov.u32 %t, %tid.x;
ld.param.u64 %p, [image];
shl.b32 %i, %t, 4;
COPY:
cvt.u64.u32 %o, %i; add.s64 %o, %o, %p;
ld.global.v4.b32 {vector('x', 4)}, [%o];
mov.u32 %s, tile; add.s32 %s, %s, %i;
st.shared.v4.b32 [%s], {vector('x', 4)};
add.s32 %i, %i, 2048; setp.lt.u32 %q, %i, {image}; @%q bra COPY;
ld.param.u64 %da, [da]; ld.param.u64 %db, [db]; ld.param.u32 %i, [scale]; setp.ne.u32 %e, %i, 0;
ld.param.u64 %p, [meta]; mul.wide.u32 %o, %t, 4; add.s64 %o, %o, %p; ld.global.b32 %m, [%o];
ld.param.u64 %p, [fa]; mul.wide.u32 %o, %t, 16; add.s64 %o, %o, %p; ld.global.v4.b32 {vector('a', 4)}, [%o];
ld.param.u64 %p, [fd]; mul.wide.u32 %o, %t, {4 * d_registers}; add.s64 %o, %o, %p;"""]
    lines += [f"ld.global.b32 %d{k}, [%o+{4 * k}];" for k in range(d_registers)]
    a = vector("a", 4) if a_in_registers else "%da"
    meta = "" if sparse is None else f", %m, {sparse}"
    lines.append(f"""fence.proxy.async.shared::cta;
bar.sync 0;
wgmma.fence.sync.aligned;
wgmma.mma_async{'' if sparse is None else '.sp'}.sync.aligned.{shape}.{types} {vector('d', d_registers)}, {a}, %db{meta}, %e{suffix};
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;""")
    lines += [f"st.global.b32 [%o+{4 * k}], %d{k};" for k in range(d_registers)]
    return "\n".join(lines) + "\nret;\n}\n"


# Descriptors of K-major matrices without swizzle: rows of 8 in 128 bytes, two of those side by side.
PLAIN = 128 >> 4 << 16 | 256 >> 4 << 32
C = vector("c", 16)
MMA = f"wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {C}, %da, %db, %e, 1, 1, 0, 0;"
ZERO = " ".join(f"mov.f32 %c{k}, 0f00000000;" for k in range(16))
STORE_C = "\n".join(f"st.global.f32 [%o+{4 * k}], %c{k};{' //@store' if k == 0 else ''}" for k in range(16))

# Warp 4 fetches tiles (64 x 16 of A, then 32 x 16 of B) into a ring of two; the warp group multiplies
# them, with one product in flight, and releases the slot of the product before.
GEMM = HEAD + f""".visible .entry k(.param .u64 g, .param .u64 o, .param .u32 n)
{{
.reg .pred %p, %q, %e; .reg .b32 %t, %n, %k, %s, %ph, %fb, %eb, %a, %x, %w; .reg .b64 %g, %o, %ga, %off, %da, %db;
.reg .f32 %c<16>;
.shared .align 1024 .b8 tile[6144];
.shared .align 8 .b64 full[2];
.shared .align 8 .b64 empty[2];
mov.u32 %t, %tid.x; ld.param.u64 %g, [g]; ld.param.u64 %o, [o]; ld.param.u32 %n, [n];
mov.u32 %k, 0; shr.u32 %w, %t, 5;
setp.ne.u32 %p, %t, 0;
@%p bra READY;
mbarrier.init.shared::cta.b64 [full], 1;
mbarrier.init.shared::cta.b64 [full+8], 1;
mbarrier.init.shared::cta.b64 [empty], 128; mbarrier.init.shared::cta.b64 [empty+8], 128; //@init_empty
READY:
bar.sync 0;
setp.lt.u32 %p, %t, 128;
@%p bra CONSUME;
setp.ne.u32 %q, %t, 128;
@%q bra END;
PRODUCE:
setp.ge.u32 %p, %k, %n;
@%p bra END;
and.b32 %s, %k, 1; bfe.u32 %ph, %k, 1, 1; xor.b32 %ph, %ph, 1;
shl.b32 %x, %s, 3; mov.u32 %fb, full; add.u32 %fb, %fb, %x; mov.u32 %eb, empty; add.u32 %eb, %eb, %x;
mul.lo.u32 %x, %s, 3072; mov.u32 %a, tile; add.u32 %a, %a, %x;
mul.wide.u32 %off, %k, 3072; add.s64 %ga, %g, %off;
WAIT_EMPTY:
mbarrier.try_wait.parity.shared::cta.b64 %q, [%eb], %ph; //@wait_empty
@!%q bra WAIT_EMPTY;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%fb], 3072;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%a], [%ga], 3072, [%fb]; //@copy
add.u32 %k, %k, 1;
bra PRODUCE;
CONSUME:
{ZERO}
//@zero
LOOP:
and.b32 %s, %k, 1; bfe.u32 %ph, %k, 1, 1;
shl.b32 %x, %s, 3; mov.u32 %fb, full; add.u32 %fb, %fb, %x;
xor.b32 %x, %x, 8; mov.u32 %eb, empty; add.u32 %eb, %eb, %x;
mul.lo.u32 %x, %s, 192; mov.u32 %a, tile; shr.u32 %a, %a, 4; add.u32 %a, %a, %x;
cvt.u64.u32 %da, %a; or.b64 %da, %da, {PLAIN}; add.s64 %db, %da, 128;
setp.ne.u32 %e, %k, 0;
WAIT_FULL:
mbarrier.try_wait.parity.shared::cta.b64 %q, [%fb], %ph; //@wait_full
@!%q bra WAIT_FULL;
wgmma.fence.sync.aligned; //@fence
{MMA} //@mma
wgmma.commit_group.sync.aligned; //@commit
wgmma.wait_group.sync.aligned 1; //@wait_previous
setp.eq.u32 %q, %k, 0; //@first
@!%q mbarrier.arrive.shared::cta.b64 _, [%eb]; //@release
add.u32 %k, %k, 1;
setp.lt.u32 %p, %k, %n;
@%p bra LOOP;
wgmma.wait_group.sync.aligned 0; //@wait_all
mul.wide.u32 %off, %t, 64; add.s64 %o, %o, %off;
{STORE_C}
END:
ret;
}}
"""
ODD = "setp.eq.u32 %q, %w, 2;"
GEMM_BUGS = {
    "no_wait_before_release": ({"wait_previous": ""}, "async-copy", ("copy", "mma")),
    "wait_leaves_two": ({"wait_previous": "wgmma.wait_group.sync.aligned 2;"}, "async-copy", ("copy", "mma")),
    "release_before_wait": ({"wait_previous": "setp.eq.u32 %q, %k, 0;",
                             "first": "@!%q mbarrier.arrive.shared::cta.b64 _, [%eb];",
                             "release": "wgmma.wait_group.sync.aligned 1;"}, "async-copy", ("copy", "mma")),
    "releases_the_slot_in_flight": ({"release": "shl.b32 %x, %s, 3; mov.u32 %eb, empty; add.u32 %eb, %eb, %x; "
                                     "mbarrier.arrive.shared::cta.b64 _, [%eb];"}, "async-copy", ("copy", "mma")),
    "no_wait_at_the_end": ({"wait_all": ""}, "async-register", ("store", "mma")),
    "wait_at_the_end_leaves_one": ({"wait_all": "wgmma.wait_group.sync.aligned 1;"}, "async-register", ("store", "mma")),
    "no_commit": ({"commit": ""}, "async-register", ("store", "mma")),
    "exit_without_wait": ({"wait_all": "bra END;"}, "async-copy", ("mma",)),
    "no_fence": ({"fence": ""}, "async-register", ("mma",)),
    "zeroed_after_fence": ({"fence": "wgmma.fence.sync.aligned; @!%e add.f32 %c3, %c3, 0f00000000;"}, "async-register",
                         ("mma", "fence")),
    "accumulator_changed_in_flight": ({"release": "@!%q mbarrier.arrive.shared::cta.b64 _, [%eb]; add.f32 %c7, %c7, %c7;"},
                                      "async-register", ("release", "mma")),
    "accumulator_replaced_in_flight": ({"commit": "wgmma.commit_group.sync.aligned; mov.f32 %c5, 0f3f800000;"},
                                       "async-register", ("commit", "mma")),
    "no_wait_full": ({"wait_full": "setp.eq.u32 %q, %n, %n;"}, "async-copy uninitialised", ("mma",)),
    "one_warp_skips": ({"mma": ODD + "@!%q " + MMA}, "wgmma-misuse", ("mma", "commit")),
    "one_warp_waits_elsewhere": ({"wait_previous": ODD + "@%q wgmma.wait_group.sync.aligned 1; "
                                  "@!%q wgmma.wait_group.sync.aligned 1;"}, "wgmma-misuse", ("wait_previous",)),
    "one_warp_has_another_descriptor": ({"mma": ODD + "@%q add.s64 %db, %db, 2; " + MMA}, "wgmma-misuse", ("mma",)),
    "one_warp_overwrites": ({"mma": ODD + "@%q setp.eq.u32 %e, %n, 0; " + MMA}, "wgmma-misuse", ("mma",)),
    "lanes_disagree": ({"mma": "setp.eq.u32 %q, %t, 7; @%q add.s64 %db, %db, 2; " + MMA}, "wgmma-misuse", ("mma",)),
    "one_warp_ends_early": ({"zero": ODD + "@%q bra END;"}, "wgmma-misuse deadlock", ("mma", "fence", "wait_empty")),
}

# A from registers, B written by the threads: 64 x 32 of B^T in shared memory, one product after the other.
MMA_A = f"wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {C}, {vector('a', 4)}, %db, %e, 1, 1, 0;"
LOAD_A = f"ld.global.v4.b32 {vector('a', 4)}, [%g];"
REGISTERS = HEAD + f""".visible .entry k(.param .u64 g, .param .u64 o, .param .u32 n)
{{
.reg .pred %p, %e; .reg .b32 %t, %n, %k, %s, %x<2>, %a<4>, %h; .reg .b64 %g, %b, %o, %off, %db;
.reg .f32 %c<16>, %f<16>;
.shared .align 1024 .b8 tile[2048];
mov.u32 %t, %tid.x; ld.param.u64 %g, [g]; ld.param.u64 %o, [o]; ld.param.u32 %n, [n];
mov.u32 %k, 0; mul.wide.u32 %off, %t, 8; add.s64 %b, %g, %off; mul.wide.u32 %off, %t, 16; add.s64 %g, %g, %off;
shl.b32 %s, %t, 3; mov.u32 %h, tile; add.u32 %s, %s, %h;
shr.u32 %h, %h, 4; cvt.u64.u32 %db, %h; or.b64 %db, %db, {PLAIN};
LOOP:
{LOAD_A} //@load_a
ld.global.v2.b32 {vector('x', 2)}, [%b+2048];
st.shared.v2.b32 [%s], {vector('x', 2)}; //@write
fence.proxy.async.shared::cta; //@proxy_fence
bar.sync 0; //@barrier
setp.ne.u32 %e, %k, 0;
wgmma.fence.sync.aligned; //@fence
{MMA_A} //@mma
wgmma.commit_group.sync.aligned;
//@in_flight
wgmma.wait_group.sync.aligned 0; //@wait
bar.sync 0; //@barrier_after
add.s64 %g, %g, 3072; add.s64 %b, %b, 3072; add.u32 %k, %k, 1;
setp.lt.u32 %p, %k, %n;
@%p bra LOOP;
mul.wide.u32 %off, %t, 64; add.s64 %o, %o, %off;
{STORE_C}
ret;
}}
"""
COPIES = "\n".join(f"mov.f32 %f{k}, %c{k};" for k in range(16))
BACK = "\n".join(f"mov.f32 %c{k}, %f{k};" for k in range(16))
# Legal, though not pretty: Triton renames accumulators in flight.
RENAMED = {"in_flight": COPIES, "wait": "wgmma.wait_group.sync.aligned 0;\n" + BACK}
# A lane overwrites what its neighbour read before the product: the wait is for the registers of all lanes.
NEIGHBOURS = {"load_a": f"{LOAD_A} st.shared.b32 [%s+1024], %t;",
              "fence": "xor.b32 %h, %s, 8; ld.shared.b32 %h, [%h+1024]; wgmma.fence.sync.aligned;",
              "wait": "wgmma.wait_group.sync.aligned 0; st.shared.b32 [%s+1024], %t;"}
# A product is one operation of the warp group: whoever waited for it may overwrite what other warps multiplied, and
# one thread may release a tile for all (CUTLASS does, in clusters).
NO_BARRIER_AFTER = {"barrier_after": ""}
ONE_RELEASE = {"release": "setp.ne.or.u32 %q, %t, 37, %q; @!%q mbarrier.arrive.shared::cta.b64 _, [%eb];",
               "init_empty": "mbarrier.init.shared::cta.b64 [empty], 1; mbarrier.init.shared::cta.b64 [empty+8], 1;"}
# nvcc does so.
MOVED = {"fence": "wgmma.fence.sync.aligned; @!%e mov.f32 %c3, 0f00000000;"}
REGISTERS_BUGS = {
    "no_proxy_fence": ({"proxy_fence": ""}, "proxy-fence", ("mma", "write")),
    "proxy_fence_of_global": ({"proxy_fence": "fence.proxy.async.global;"}, "proxy-fence", ("mma", "write")),
    "proxy_fence_before_write": ({"write": "fence.proxy.async.shared::cta;",
                                  "proxy_fence": f"st.shared.v2.b32 [%s], {vector('x', 2)};"}, "proxy-fence",
                                 ("mma", "proxy_fence")),
    "no_barrier": ({"barrier": ""}, "race", ("mma", "write")),
    "slot_overwritten_in_flight": ({"in_flight": "st.shared.b32 [%s], %x0;"}, "async-copy", ("mma", "in_flight")),
    "slot_overwritten_under_the_second_product": (
        {"in_flight": f"wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {vector('f', 16)}, {vector('a', 4)}, %db, "
                      "%e, 1, 1, 0; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 1; bar.sync 0; "
                      "st.shared.b32 [%s], %x0;"}, "async-copy", ("in_flight",)),
    "neighbour_overwritten_before_the_wait": (
        {**NEIGHBOURS, "in_flight": "st.shared.b32 [%s+1024], %k;", "wait": "wgmma.wait_group.sync.aligned 0;"}, "race",
        ("in_flight", "fence")),
    "a_replaced_in_flight": ({"in_flight": "mov.b32 %a2, 0;"}, "async-register", ("mma", "in_flight")),
    "a_loaded_in_flight": ({"in_flight": LOAD_A}, "async-register", ("mma", "in_flight")),
    "a_read_in_flight": ({"in_flight": "add.u32 %h, %a1, 1;"}, "async-register", ("mma", "in_flight")),
    "a_changed_after_fence": ({"fence": "wgmma.fence.sync.aligned; xor.b32 %a1, %a1, 0;"}, "async-register",
                              ("mma", "fence")),
    "no_fence": ({"fence": ""}, "async-register", ("mma",)),
    "fence_only_once": ({"fence": "setp.eq.u32 %p, %k, 0; @%p wgmma.fence.sync.aligned;"}, "async-register",
                        ("mma", "load_a")),
    "copy_used_in_flight": ({"in_flight": COPIES + "\nadd.f32 %f3, %f3, %f3;"}, "async-register", ("mma", "in_flight")),
    "d_becomes_a_in_flight": ({"in_flight": f"wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {vector('f', 16)}, "
                               "{%c0, %c1, %c2, %c3}, %db, %e, 1, 1, 0; wgmma.commit_group.sync.aligned;"},
                              "async-register", ("mma", "in_flight")),
    "another_shape_without_fence": (
        {"in_flight": f"wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {vector('c', 8)}, {vector('a', 4)}, %db, "
                      "%e, 1, 1, 0; wgmma.commit_group.sync.aligned;"}, "async-register", ("mma", "in_flight")),
}
