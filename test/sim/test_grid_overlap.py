# Programmatic dependent launch: a grid that may start before the one before it has ended.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import re

import numpy as np
import pytest

import tessera.sim as sim
from hopper_kernels import HEAD, broken, line_of

# `first` doubles x into y; `second` adds 1 to y into z, and overwrites x. Blocks of 64 threads, an element each.
PAIR = HEAD + """.visible .entry first(.param .u64 x, .param .u64 y)
{
.reg .b32 %t, %b, %v; .reg .b64 %x, %y, %o;
ld.param.u64 %x, [x]; ld.param.u64 %y, [y]; mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mad.lo.u32 %t, %b, 64, %t;
mul.wide.u32 %o, %t, 4; add.s64 %x, %x, %o; add.s64 %y, %y, %o;
griddepcontrol.launch_dependents;
ld.global.u32 %v, [%x]; //@first_read
shl.b32 %v, %v, 1;
st.global.u32 [%y], %v; //@first_write
ret;
}
.visible .entry second(.param .u64 x, .param .u64 y, .param .u64 z)
{
.reg .pred %p; .reg .b32 %t, %b, %l, %v; .reg .b64 %x, %y, %z, %o;
ld.param.u64 %x, [x]; ld.param.u64 %y, [y]; ld.param.u64 %z, [z]; mov.u32 %l, %tid.x; mov.u32 %b, %ctaid.x; mad.lo.u32 %t, %b, 64, %l;
mul.wide.u32 %o, %t, 4; add.s64 %x, %x, %o; add.s64 %y, %y, %o; add.s64 %z, %z, %o;
setp.ne.u32 %p, %l, 0; //@who
st.global.u32 [%z], %t; //@own
griddepcontrol.wait; //@wait
//@barrier
ld.global.u32 %v, [%y]; //@read
add.u32 %v, %v, 1; st.global.u32 [%z], %v;
st.global.u32 [%x], %v; //@write
ret;
}
"""
BARRIER = {"wait": "@!%p griddepcontrol.wait;", "barrier": "bar.sync 0;"}


def run(text, programmatic=True, **options):
    x, y, z = np.arange(128, dtype=np.uint32), np.zeros(128, np.uint32), np.zeros(128, np.uint32)
    device = sim.Device()
    for array in (x, y, z):
        device.expose(array.ctypes.data, array.nbytes, "array")
    module = device.load(text)
    pointers = b"".join(int(a.ctypes.data).to_bytes(8, "little") for a in (x, y, z))
    report = module.launch("first", 2, 64, pointers[:16], arch="sm_90a", **options)
    assert report.ok and not report.errors, report.text()
    report = module.launch("second", 2, 64, pointers, arch="sm_90a", programmatic=programmatic, **options)
    np.testing.assert_array_equal(z, 2 * np.arange(128) + 1)
    return report


@pytest.mark.parametrize("changes", [{}, BARRIER], ids=["wait", "one_thread_waits_for_all"])
def test_right_grids_are_silent(changes):
    for seed in range(4):
        report = run(broken(PAIR, changes), seed=seed, adversarial=seed > 0)
        assert report.ok and not report.errors, report.text()


def test_grids_in_order_need_no_wait():
    report = run(broken(PAIR, {"wait": ""}), programmatic=False)
    assert report.ok and not report.errors, report.text()
    # nor does one whose predecessor lets nobody start
    report = run(broken(PAIR, {"wait": ""}).replace("griddepcontrol.launch_dependents;", ""))
    assert report.ok and not report.errors, report.text()


@pytest.mark.parametrize("changes, places", [
    ({"wait": ""}, ("read", "write")),
    ({"wait": "", "write": "griddepcontrol.wait;"}, ("read",)),
    ({"wait": "", "read": "mov.u32 %v, %t; shl.b32 %v, %v, 1;"}, ("write",)),
    ({"barrier": "", "wait": BARRIER["wait"]}, ("read", "write")),
    ({"wait": "bar.sync 0; @!%p griddepcontrol.wait;"}, ("read", "write"))],
    ids=["no_wait", "wait_too_late", "overwrites_what_the_other_reads", "one_thread_waits_for_itself", "barrier_before_the_wait"])
def test_planted_bug(changes, places):
    text = broken(PAIR, changes)
    for seed in range(8):
        report = run(text, seed=seed, adversarial=seed > 0)
        found = {e["ptx_line"]: e["message"] for e in report.errors if e["kind"] == "grid-overlap"}
        assert not report.ok and set(found) == {line_of(text, place) for place in places}, report.text()
        for line, message in found.items():
            place = "first_write" if line == line_of(text, "read") else "first_read"
            assert re.search(rf"the grid before, 'first', (writes|reads) at its PTX line {line_of(text, place)}\b", message)


def test_bulk_copies_overlap_too():
    copy = ("{ .reg .b64 %g; .reg .b32 %a; .shared .align 16 .b8 tile[64]; .shared .align 8 .b64 full; mov.u32 %a, full; "
            "setp.eq.u32 %p, %l, 0; @%p mbarrier.init.shared.b64 [%a], 1; @%p mbarrier.arrive.expect_tx.shared.b64 _, [%a], 16; "
            "@%p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%y], 16, [full]; bar.sync 0; "
            "W: mbarrier.try_wait.parity.shared.b64 %p, [full], 0; @!%p bra W; }")
    report = run(broken(PAIR, {"own": copy}))
    assert [e["kind"] for e in report.errors] == ["grid-overlap"] and "cp.async.bulk" not in report.errors[0]["kind"], report.text()
    report = run(broken(PAIR, {"barrier": copy}))
    assert report.ok, report.text()
