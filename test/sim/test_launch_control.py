# clusterlaunchcontrol, and setmaxnreg with its pool of registers.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import re
import shutil
import subprocess

import numpy as np
import pytest

import tessera.sim as sim
from hopper_kernels import broken
from tensor_memory_kernels import HEAD
from test_tensor_memory import found

CLUSTER = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
# Every cluster does its own tile and then those of clusters that it cancels, as CUTLASS's persistent scheduler does.
PERSISTENT = HEAD + f""".visible .entry k(.param .u64 o)
{{
.reg .pred %p, %q, %more; .reg .b32 %t, %rank, %x, %y, %z, %i, %ph, %v, %n; .reg .b64 %o, %w, %g; .reg .b128 %r; mov.u32 %v, 0;
.shared .align 16 .b8 response[16];
.shared .align 8 .b64 full;
ld.param.u64 %o, [o]; mov.u32 %t, %tid.x; mov.u32 %rank, %cluster_ctarank; mov.u32 %ph, 0;
mov.u32 %x, %ctaid.x; mov.u32 %y, %ctaid.y; mov.u32 %z, %ctaid.z;
setp.ne.u32 %p, %t, 0;
@!%p mbarrier.init.shared::cta.b64 [full], 1;
fence.mbarrier_init.release.cluster;
{CLUSTER}
LOOP:
@!%p mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 16; //@expect
setp.eq.and.u32 %q, %rank, 0, !%p;
@%q clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [response], [full]; //@cancel
mov.u32 %n, %nctaid.y; mad.lo.u32 %i, %z, %n, %y; mov.u32 %n, %nctaid.x; mad.lo.u32 %i, %i, %n, %x;
mad.lo.u32 %i, %i, 64, %t; mul.wide.u32 %w, %i, 4; add.s64 %g, %o, %w; red.relaxed.gpu.global.add.u32 [%g], 1;
WAIT:
mbarrier.try_wait.parity.shared::cta.b64 %q, [full], %ph; //@wait
@!%q bra WAIT;
ld.shared.b128 %r, [response]; //@read
clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %more, %r;
@%more clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {{%x, %y, %z, _}}, %r; //@first
add.u32 %x, %x, %rank; xor.b32 %ph, %ph, 1;
fence.proxy.async.shared::cta;
{CLUSTER} //@taken
//@next
@%more bra LOOP;
ret;
}}
"""
ONE = ("@%more clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %x, %r; @%more clusterlaunchcontrol.query_cancel."
       "get_first_ctaid::y.b32.b128 %y, %r; @%more clusterlaunchcontrol.query_cancel.get_first_ctaid::z.b32.b128 %z, %r;")
CANCEL = "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes"
BUGS = {
    "response_not_waited_for": ({"wait": "setp.eq.u32 %q, %t, %t;"}, "async-copy uninitialised", ("read",)),
    "too_few_bytes": ({"expect": "@!%p mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 8;"}, "expect-tx deadlock illegal-instruction",
                      ("cancel", "expect", "wait")),
    "told_to_one_block": ({"cancel": f"@%q {CANCEL}.b128 [response], [full];"}, "deadlock", ("wait",)),
    "asks_after_a_failure": ({"next": "mov.u32 %x, %ctaid.x; add.u32 %v, %v, 1; setp.lt.u32 %more, %v, 20;"}, "launch-control", ("cancel",)),
    "not_aligned": ({"cancel": f"@%q {CANCEL}.multicast::cluster::all.b128 [response+8], [full];"}, "misaligned", ("cancel",)),
    "no_mbarrier": ({"cancel": f"@%q {CANCEL}.multicast::cluster::all.b128 [response], [full+8];"}, "illegal-instruction out-of-bounds",
                    ("cancel",)),
}


def run(text, grid=(12, 1, 1), cluster=2, **options):
    o = np.zeros((int(np.prod(grid)), 64), np.uint32)
    return sim.launch(text, "k", grid, 64, [o], arch="sm_100a", cluster=cluster, max_instructions=100000, **options), o


@pytest.mark.parametrize("grid, cluster", [((1, 1, 1), 1), ((9, 1, 1), 1), ((8, 3, 2), 2), ((8, 1, 2), 4)])
def test_every_tile_is_done_once(grid, cluster):
    for text in (PERSISTENT, broken(PERSISTENT, {"first": ONE})):
        for seed in range(8):
            for check in (False, True):
                report, o = run(text, grid, cluster, check=check, seed=seed, adversarial=seed > 0)
                assert report.ok and not report.errors, report.text()
                assert (o == 1).all()


def test_blocks_are_cancelled():
    """Few of the blocks start: every thread that does adds 1000 to the first number."""
    counting = PERSISTENT.replace("LOOP:", "red.relaxed.gpu.global.add.u32 [%o], 1000;\nLOOP:")
    _, o = run(counting, (64, 1, 1), 1)
    assert 64 * 1000 < o[0, 0] < 32 * 64 * 1000 and (o.ravel()[1:] == 1).all()


@pytest.mark.parametrize("name", BUGS)
def test_planted_bug(name):
    changes, kinds, places = BUGS[name]
    found(broken(PERSISTENT, changes), run, kinds, places)


def test_a_response_that_is_overwritten_while_it_is_read():
    """A known miss: only the write that is under way is looked at, so 1 of 8 schedules (2 of 16) does not show it."""
    text = broken(PERSISTENT, {"taken": ""})
    reports = [run(text, check=True, seed=seed, adversarial=seed > 0)[0] for seed in range(8)]
    assert sum(bool({e["kind"] for e in report.errors} & {"race", "async-copy"}) for report in reports) >= 7


def test_the_index_of_nothing_is_a_remark():
    text = broken(PERSISTENT, {"first": ONE.replace("@%more ", "")})
    report, o = run(text, check=True)
    assert report.ok and {e["kind"] for e in report.errors} == {"remark"} and (o == 1).all(), report.text()


REGISTERS = HEAD.replace("sm_100a", "sm_90a") + """.visible .entry k(.param .u64 o) DIRECTIVES
{
.reg .pred %p; .reg .b32 %t;
mov.u32 %t, %tid.x; setp.lt.u32 %p, %t, 128;
@%p bra GIVE;
setmaxnreg.inc.sync.aligned.u32 192; //@take
bra END;
GIVE:
setmaxnreg.dec.sync.aligned.u32 64; //@give
END:
bar.sync 0; //@end
ret;
}
"""
KNOWN = {".maxnreg 128": {}, ".maxntid 256, 1, 1 .minnctapersm 2": {}, "": {"registers": 128}}


def registers(text, directives=".maxnreg 128", **options):
    return (sim.launch(text.replace("DIRECTIVES", directives), "k", 2, 256, [np.zeros(1, np.uint32)], arch="sm_90a",
                       max_instructions=10000, **options),)


@pytest.mark.parametrize("directives", KNOWN)
def test_registers_change_hands(directives):
    for seed in range(8):
        report, = registers(REGISTERS, directives, check=seed > 0, seed=seed, adversarial=seed > 1, **KNOWN[directives])
        assert report.ok and not report.errors, report.text()
        report, = registers(broken(REGISTERS, {"take": "setmaxnreg.inc.sync.aligned.u32 200;"}), directives, check=True, **KNOWN[directives])
        assert not report.ok and "which has" in report.text()


def test_an_unknown_number_has_no_effect():
    for directives in ("", ".maxntid 256, 1, 1"):
        report, = registers(broken(REGISTERS, {"take": "setmaxnreg.inc.sync.aligned.u32 256;"}), directives, check=True)
        assert report.ok and not report.errors, report.text()


@pytest.mark.parametrize("changes, kinds, places", [
    ({"take": "setmaxnreg.inc.sync.aligned.u32 200;"}, "deadlock", ("take",)),
    ({"give": ""}, "deadlock", ("take",)),
    ({"give": "bar.sync 0; setmaxnreg.dec.sync.aligned.u32 64; bra LAST;", "end": "bar.sync 0; LAST:"}, "deadlock", ("take",)),
    ({"give": "setmaxnreg.dec.sync.aligned.u32 136;"}, "register-pool", ("give",)),
    ({"take": "setmaxnreg.inc.sync.aligned.u32 120;"}, "register-pool", ("take",)),
    ({"give": "setp.lt.u32 %p, %t, 32; @%p bra END; setmaxnreg.dec.sync.aligned.u32 64;"}, "deadlock wgmma-misuse", ("give", "take"))])
def test_planted_register_bug(changes, kinds, places):
    found(broken(REGISTERS.replace("DIRECTIVES", ".maxnreg 128"), changes), registers, kinds, places)


def test_the_report_says_what_is_missing():
    report, = registers(broken(REGISTERS, {"take": "setmaxnreg.inc.sync.aligned.u32 200;"}))
    assert re.search(r"wait for 2304 registers of the block's pool, which has \d+ at PTX line", report.text()), report.text()


@pytest.mark.skipif(not shutil.which("ptxas"), reason="ptxas is not on PATH")
def test_ptxas_accepts_the_kernels(tmp_path):
    texts = {"sm_100a": [PERSISTENT, broken(PERSISTENT, {"first": ONE})], "sm_90a": [REGISTERS.replace("DIRECTIVES", d) for d in KNOWN]}
    for arch, kernels in texts.items():
        for text in kernels:
            (tmp_path / "k.ptx").write_text(text)
            done = subprocess.run(["ptxas", f"-arch={arch}", tmp_path / "k.ptx", "-o", tmp_path / "out"], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr + text
