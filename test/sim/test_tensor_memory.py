# tcgen05.alloc, ld, st and wait: every layout against CuTe's algebra, allocation, planted bugs.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The layouts are computed a second time here, from the layouts of CUTLASS's copy_traits_sm100.hpp (a map from thread and
bit of a thread's registers to bit of the rectangle), element by element."""

import re
import shutil
import subprocess

import numpy as np
import pytest

import tessera.sim as sim
from hopper_kernels import broken, line_of
from tensor_memory_kernels import COLUMNS, EXCHANGE, EXCHANGE_BUGS, EXCHANGE_REMARKS, HEAD, move_kernel
from test_wgmma import cute, size

PER_NUM = {"32x32b": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4, "16x32bx2": 1}


def rectangle(shape, times):
    """CuTe's DstLayout, the bits of one lane of the rectangle, and lanes."""
    w = {"32x32b": 32, "16x64b": 64, "16x128b": 128, "16x256b": 256, "16x32bx2": 64}[shape] * times
    layout = {"32x32b": ((32, 32 * times), (w, 1)),
              "16x64b": (((2, 2, 8), (32, times)), ((8 * w, 32, w), (1, 64))),
              "16x128b": (((4, 8), (32, 2, times)), ((32, w), (1, 8 * w, 128))),
              "16x256b": (((4, 8), (64, 2, times)), ((64, w), (1, 8 * w, 256))),
              "16x32bx2": (((16, 2), 32 * times), ((w, w // 2), 1))}[shape]
    return layout, w


def cells(shape, times, packs):
    """[thread][register][half] lane and column of each 16-bit half; without packing both halves are of one column."""
    ((threads, values), (thread_strides, value_strides)), w = rectangle(shape, times)
    assert size(threads) == 32
    bit = cute(threads, thread_strides, np.arange(32))[:, None] + cute(values, value_strides, np.arange(0, size(values), 16))
    lane, bit = bit // w, bit % w
    column = bit // 16 if packs else bit // 32
    half = np.zeros_like(bit) if packs else bit // 16 % 2
    return [x.reshape(32, -1, 2) for x in (lane, column, half)]


def run(text, *arrays, **options):
    report = sim.launch(text, "k", 1, 128, list(arrays), arch="sm_100a", **options)
    assert report.ok and not report.errors, report.text()


CASES = [(shape, times, packs) for shape, each in PER_NUM.items() for times in (1, 2, 4, 8, 16, 32, 64, 128)
         for packs in (False, True) if times * each <= 128]


@pytest.mark.parametrize("store", [False, True], ids=["ld", "st"])
@pytest.mark.parametrize("shape, times, packs", CASES)
def test_every_layout(shape, times, packs, store):
    rng = np.random.default_rng(times)
    registers = times * PER_NUM[shape]
    lane, column, half = cells(shape, times, packs)
    split = int(column.max() + 1) // 2 if shape == "16x32bx2" else None  # CuTe's layouts have the halves side by side
    for first_lane in (0, 16) if shape[:2] == "16" else (0,):
        room = COLUMNS - int(column.max()) - 1
        first = int(rng.integers(0, room + 1))
        image = rng.integers(0, 1 << 32, (128, COLUMNS), dtype=np.uint64).astype(np.uint32)
        words = rng.integers(0, 1 << 32, (128, registers), dtype=np.uint64).astype(np.uint32)
        want_image, want_words = image.copy(), words.copy()
        if store and packs:  # whole columns are written
            for w in range(4):
                want_image[32 * w + first_lane + lane, first + column] = 0
        image16, words16 = want_image.view(np.uint16).reshape(128, COLUMNS, 2), want_words.view(np.uint16).reshape(4, 32, registers, 2)
        for w in range(4):
            at = (32 * w + first_lane + lane, first + column, half)
            if store:
                image16[at] = words16[w]
            else:
                words16[w] = image16[at]
        text = move_kernel(shape, times, registers, store, packs, split, first_lane, first)
        for seed in (0, 3):
            got_image, got_words = image.copy(), words.copy()
            run(text, got_image, got_words, check=seed == 0, seed=seed, adversarial=seed > 0)
            np.testing.assert_array_equal(got_image, want_image)
            np.testing.assert_array_equal(got_words, want_words)


def test_any_split():
    """The second half of .16x32bx2 may lie anywhere."""
    rng = np.random.default_rng(0)
    for split in (1, 5, 100, 300):
        image = rng.integers(0, 1 << 32, (128, COLUMNS), dtype=np.uint64).astype(np.uint32)
        words = np.zeros((128, 4), np.uint32)
        run(move_kernel("16x32bx2", 4, 4, split=split, column=3), image, words, check=True)
        for t in range(128):
            row = t // 32 * 32 + t % 16
            start = 3 + (split if t % 32 >= 16 else 0)
            np.testing.assert_array_equal(words[t], image[row, start:start + 4])


def run_exchange(text, **options):
    rng = np.random.default_rng(1)
    g, o = rng.integers(0, 1 << 31, (256, 4)).astype(np.uint32), np.zeros((256, 4), np.uint32)
    want = g[:128].copy()
    want[:, 0] += 1
    return sim.launch(text, "k", 1, 256, [g, o], arch="sm_100a", max_instructions=100000, **options), o[128:], want


@pytest.mark.parametrize("seed", range(20))
def test_the_right_kernel_is_silent(seed):
    for check in (False, True):
        report, o, want = run_exchange(EXCHANGE, check=check, seed=seed, adversarial=seed > 0)
        assert report.ok and not report.errors, report.text()
        np.testing.assert_array_equal(o, want)


@pytest.mark.parametrize("name", EXCHANGE_BUGS)
def test_planted_bug(name):
    changes, kinds, places = EXCHANGE_BUGS[name]
    text = broken(EXCHANGE, changes)
    found(text, run_exchange, kinds, places)


def found(text, run, kinds, places):
    """Under each of 8 schedules a report of these kinds names a line of these places, its threads and block."""
    lines = {line_of(text, place) for place in places}
    for seed in range(8):
        report, *_ = run(text, check=True, seed=seed, adversarial=seed > 0)
        right = [e for e in report.errors if e["kind"] in kinds.split() and
                 {int(n) for n in re.findall(r"PTX line (\d+)", e["message"])} & lines]
        assert not report.ok and right, f"seed {seed}: expected {kinds} at {lines}: {report.text()}"
        assert all("block" in e["message"] and ("thread" in e["message"] or "warp" in e["message"] or
                                                e["kind"] == "tensor-memory-leak") for e in right), report.text()


@pytest.mark.parametrize("name", EXCHANGE_REMARKS)
def test_a_remark(name):
    changes, places = EXCHANGE_REMARKS[name]
    text = broken(EXCHANGE, changes)
    lines = {line_of(text, place) for place in places}
    for seed in range(8):
        report, o, want = run_exchange(text, check=True, seed=seed, adversarial=seed > 0)
        assert report.ok and [e["kind"] for e in report.errors] == ["remark"], report.text()
        assert {int(n) for n in re.findall(r"PTX line (\d+)", report.errors[0]["message"])} == lines, report.text()
        np.testing.assert_array_equal(o, want)


UNWRITTEN = HEAD + """.visible .entry k(.param .u64 o)
{
.reg .pred %p, %q; .reg .b32 %t, %a, %d, %s, %u<2>, %x<4>; .reg .b64 %o, %n;
.shared .b32 base; .shared .align 16 .b32 values[64]; .shared .align 8 .b64 done;
ld.param.u64 %o, [o]; mov.u32 %t, %tid.x; mul.wide.u32 %n, %t, 4; add.s64 %o, %o, %n; setp.lt.u32 %p, %t, 999;
mov.u32 %s, values; shl.b32 %a, %t, 2; add.u32 %s, %s, %a;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], 32; //@alloc
bar.sync 0;
ld.shared.b32 %d, [base]; add.u32 %a, %d, 1;
tcgen05.st.sync.aligned.32x32b.x1.b32 [%a], {%t}; tcgen05.wait::st.sync.aligned;
tcgen05.ld.sync.aligned.32x32b.x2.b32 {%u0, %u1}, [%d]; //@load
tcgen05.wait::ld.sync.aligned;
add.u32 %x0, %u0, %t; mov.u32 %x1, 7; st.global.b32 [%o], %u1;
USE //@use
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %d, 32;
ret;
}
"""
EXCHANGED = "st.shared.b32 [%s], %x0; bar.sync 0; xor.b32 %a, %s, 4; ld.shared.b32 %x2, [%a];"
UNWRITTEN_USES = {  # and whether that lets the value out
    "selected_away": ("selp.b32 %x2, %x1, %x0, %p; st.global.b32 [%o], %x2;", False),
    "selected": ("selp.b32 %x2, %x0, %x1, %p; st.global.b32 [%o], %x2;", True),
    "stored": ("st.global.b32 [%o], %x0;", True),
    "set_again": ("mov.u32 %x0, 1; st.global.b32 [%o], %x0;", False),
    "set_again_by_some": ("setp.lt.u32 %q, %t, 31; @%q mov.u32 %x0, 1; st.global.b32 [%o], %x0;", True),
    "others_store": ("setp.lt.u32 %q, %t, 31; @%q mov.u32 %x0, 1; @%q st.global.b32 [%o], %x0;", False),
    "compared": ("setp.eq.u32 %q, %x0, 5; @%q st.global.b32 [%o], %x1;", True),
    "branch": ("setp.eq.u32 %q, %x0, 5; @%q bra NEXT; st.global.b32 [%o], %x1; NEXT:", True),
    "address": ("cvt.u64.u32 %n, %x0; and.b64 %n, %n, 0; add.s64 %o, %o, %n; st.global.b32 [%o], %x1;", True),
    "exchanged": (EXCHANGED, False),
    "exchanged_and_stored": (EXCHANGED + " st.global.b32 [%o], %x2;", True),
    "overwritten": (EXCHANGED.replace("bar", "st.shared.b32 [%s], %t; bar") + " st.global.b32 [%o], %x2;", False),
    "shuffled": ("shfl.sync.bfly.b32 %x2, %x0, 1, 31, -1; st.global.b32 [%o], %x2;", True),
    "copied": ("st.shared.b32 [%s], %x0; fence.proxy.async; bar.sync 0; setp.eq.u32 %q, %t, 0; "
               "@%q cp.async.bulk.global.shared::cta.bulk_group [%o], [values], 128; "
               "@%q cp.async.bulk.commit_group; @%q cp.async.bulk.wait_group 0;", True),
    "kept": ("tcgen05.st.sync.aligned.32x32b.x1.b32 [%d], {%x0}; tcgen05.wait::st.sync.aligned;", False),
    "kept_and_stored": ("tcgen05.st.sync.aligned.32x32b.x1.b32 [%d], {%x0}; tcgen05.wait::st.sync.aligned; "
                        "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%x2}, [%d]; tcgen05.wait::ld.sync.aligned; "
                        "st.global.b32 [%o], %x2;", True)}


@pytest.mark.parametrize("name", UNWRITTEN_USES)
def test_a_load_of_what_nobody_wrote(name):
    """Compilers load accumulators that they throw away: an error where the value gets out, silence where it does not."""
    use, gets_out = UNWRITTEN_USES[name]
    text = UNWRITTEN.replace("USE", use)
    for seed in range(4):
        report = sim.launch(text, "k", 1, 32, [np.zeros(32, np.uint32)], arch="sm_100a", check=True, seed=seed, adversarial=seed > 0)
        found = [e for e in report.errors if e["kind"] != "remark"]
        assert [e["kind"] for e in found] == ["uninitialised"] * gets_out, report.text()
        if gets_out:
            assert line_of(text, "use") in {int(n) for n in re.findall(r"PTX line (\d+)", found[0]["message"])} | {found[0]["ptx_line"]}


ALLOCATE = HEAD + """.visible .entry k(.param .u64 o)
{
.reg .pred %p; .reg .b32 %t, %d, %e; .reg .b64 %o;
.shared .b32 first;
.shared .b32 second;
mov.u32 %t, %tid.x; setp.ge.u32 %p, %t, 32; ld.param.u64 %o, [o];
@%p bra OTHER;
tcgen05.alloc.cta_group::1.sync.aligned.b32 [%o], 512;
bra NEVER;
OTHER:
bra NEVER;
NEVER:
ret;
}
"""

BLOCKS = HEAD + """.visible .entry k(.param .u64 o)
{
.reg .pred %p, %q; .reg .b32 %t, %d, %e; .reg .b64 %o;
.shared .b32 first;
.shared .b32 second;
.shared .b32 flag;
mov.u32 %t, %tid.x; setp.ge.u32 %p, %t, 32; ld.param.u64 %o, [o];
@%p bra OTHER;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [first], 256;
bar.sync 0;
ld.shared.b32 %d, [first];
nanosleep.u32 20;
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %d, 256;
bra END;
OTHER:
bar.sync 0;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [second], 256;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [second+0], 256;
END:
bar.sync 0;
setp.ne.u32 %q, %t, 32;
@%q bra LAST;
ld.shared.b32 %d, [first]; ld.shared.b32 %e, [second];
st.global.b32 [%o], %d; st.global.b32 [%o+4], %e;
LAST:
@!%p bra EXIT;
xor.b32 %d, %e, 256;
EXIT:
bar.sync 0;
setp.lt.u32 %p, %t, 32;
@%p bra DONE;
ld.shared.b32 %e, [second];
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %e, 256;
xor.b32 %d, %e, 256;
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %d, 256;
DONE:
ret;
}
"""


def test_alloc_waits_for_columns():
    """Two warps want 768 columns together: one waits until the other gives its 256 back."""
    for seed in range(8):
        o = np.zeros(2, np.uint32)
        report = sim.launch(BLOCKS, "k", 1, 64, [o], arch="sm_100a", check=True, seed=seed, adversarial=seed > 0)
        assert report.ok and not report.errors, report.text()
        assert set(o) <= {0, 256}


def test_alloc_writes_to_shared_memory_only():
    report = sim.launch(ALLOCATE, "k", 1, 64, [np.zeros(2, np.uint32)], arch="sm_100a")
    assert not report.ok and "written to shared memory" in report.text()


def test_other_machines_have_no_tensor_memory():
    for arch in ("sm_90", "sm_120a"):
        report, *_ = run_exchange_on(arch)
        assert not report.ok and "sm_100a, sm_103a and sm_110a only" in report.text()


def run_exchange_on(arch):
    return (sim.launch(EXCHANGE, "k", 1, 256, [np.zeros((256, 4), np.uint32)] * 2, arch=arch),)


@pytest.mark.parametrize("old, new, message", [
    ("32x32b.x4.b32 [%a], {%v0, %v1, %v2, %v3}", "32x32b.x4.b32 [%a], {%v0, %v1, %v2}", "vector of 4 registers, found 3"),
    ("32x32b.x4.b32 [%a]", "32x32b.b32 [%a]", "needs a shape and a number"),
    ("tcgen05.st.sync.aligned.32x32b", "tcgen05.st.sync.aligned.32x32c", "is not known"),
    ("st.sync.aligned.32x32b.x4.b32 [%a], ", "st.sync.aligned.32x32b.x4.b32 %a, ", "expected an address of tensor memory"),
])
def test_refused_forms(old, new, message):
    assert old in EXCHANGE
    with pytest.raises(sim.SimError, match=message):
        run_exchange(EXCHANGE.replace(old, new, 1))


REDUCE = HEAD.replace("sm_100a", "sm_103a") + """.visible .entry k(.param .u64 g, .param .u64 o)
{
.reg .b32 %t, %w, %d, %v<8>, %u<8>, %m<6>; .reg .pred %p; .reg .b64 %g, %o, %n;
.shared .b32 base;
mov.u32 %t, %tid.x; shr.u32 %w, %t, 5; setp.ne.u32 %p, %w, 0;
ld.param.u64 %g, [g]; ld.param.u64 %o, [o]; mul.wide.u32 %n, %t, 32; add.s64 %g, %g, %n; add.s64 %o, %o, %n;
@%p bra ALLOCATED;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [base], 32;
ALLOCATED:
bar.sync 0;
ld.shared.b32 %d, [base]; shl.b32 %w, %w, 21; add.u32 %w, %w, %d;
ld.global.v4.b32 {%v0, %v1, %v2, %v3}, [%g]; ld.global.v4.b32 {%v4, %v5, %v6, %v7}, [%g+16];
tcgen05.st.sync.aligned.32x32b.x8.b32 [%w], {%v0, %v1, %v2, %v3, %v4, %v5, %v6, %v7};
tcgen05.wait::st.sync.aligned;
LOADS
tcgen05.wait::ld.sync.aligned;
STORES
bar.sync 0;
@%p bra FREED;
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %d, 32;
FREED:
ret;
}
"""


def reduce_text():
    names = ["u32.max", "s32.min", "f32.min", "f32.max.abs", "f32.max.NaN", "u32.min"]
    def modifiers(name):  # as the ISA's syntax has them: the operation first
        kind, *rest = name.split(".")
        return ".".join(rest + [kind])
    loads = "\n".join(f"tcgen05.ld.red.sync.aligned.32x32b.x8.{modifiers(n)} {{%u0, %u1, %u2, %u3, %u4, %u5, %u6, %u7}}, %m{k}, [%w];\n"
                      "tcgen05.wait::ld.sync.aligned;" for k, n in enumerate(names))
    stores = "\n".join(f"st.global.b32 [%o+{4 * k}], %m{k};" for k in range(6))
    return REDUCE.replace("LOADS", loads).replace("STORES", stores)


def test_reductions():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((128, 8)).astype(np.float32)
    x[3, 2] = np.nan
    x[5, :], x[5, 3] = 0.0, -0.0
    o = np.zeros((128, 8), np.uint32)
    report = sim.launch(reduce_text(), "k", 1, 128, [x.view(np.uint32), o], arch="sm_103a", check=True)
    assert report.ok and {e["kind"] for e in report.errors} <= {"remark"}, report.text()
    bits = x.view(np.uint32)
    np.testing.assert_array_equal(o[:, 0], bits.max(1))
    np.testing.assert_array_equal(o[:, 1].view(np.int32), bits.view(np.int32).min(1))
    np.testing.assert_array_equal(o[:, 5], bits.min(1))
    np.testing.assert_array_equal(o[:, 2].view(np.float32), np.nanmin(x, 1))
    assert o[5, 2] == 0x80000000
    np.testing.assert_array_equal(o[:, 3].view(np.float32), np.nanmax(np.abs(x), 1))
    want = x.max(1)
    np.testing.assert_array_equal(o[:, 4].view(np.float32), want)


@pytest.mark.skipif(not shutil.which("ptxas"), reason="ptxas is not on PATH")
def test_ptxas_accepts_the_kernels(tmp_path):
    texts = {"exchange": EXCHANGE, "blocks": BLOCKS, "reduce": reduce_text()}
    for shape, times, packs in CASES:
        if times in (1, 16):
            for store in (False, True):
                texts[f"{shape} {times} {packs} {store}"] = move_kernel(shape, times, times * PER_NUM[shape], store, packs,
                                                                        7 if shape == "16x32bx2" else None)
    for name, text in texts.items():
        path = tmp_path / "k.ptx"
        path.write_text(text)
        done = subprocess.run(["ptxas", f"-arch={'sm_103a' if name == 'reduce' else 'sm_100a'}", path, "-o", tmp_path / "out"],
                              capture_output=True, text=True)
        assert done.returncode == 0, name + done.stderr
