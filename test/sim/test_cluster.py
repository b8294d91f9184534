# Cluster instructions in clusters of one block; test_clusters.py has larger ones.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import re
import shutil
import subprocess

import numpy as np
import pytest

import tessera.sim as sim
from hopper_kernels import HEAD, broken, line_of

# Threads hand values over through a cluster barrier, and arrive at an mbarrier
# by the address that mapa gives.
EXCHANGE = HEAD + """.visible .entry k(.param .u64 o)
{
.reg .pred %p; .reg .b32 %t, %a, %b, %v, %r; .reg .b64 %o, %w, %g;
.shared .align 4 .b8 s[256]; .shared .align 8 .b64 bar;
ld.param.u64 %o, [o]; mov.u32 %t, %tid.x;
setp.eq.u32 %p, %t, 0; @%p mbarrier.init.shared.b64 [bar], 64;
fence.mbarrier_init.release.cluster; //@init_fence
mov.u32 %a, s; shl.b32 %v, %t, 2; add.u32 %a, %a, %v;
st.shared.u32 [%a], %t; //@write
barrier.cluster.arrive.release.aligned; //@arrive
barrier.cluster.wait.acquire.aligned; //@wait
mov.u32 %a, bar; mapa.shared::cluster.u32 %b, %a, 0;
cvt.u64.u32 %w, %a; cvta.shared.u64 %w, %w; mapa.u64 %g, %w, 0;
getctarank.shared::cluster.u32 %r, %b; getctarank.u64 %v, %g; add.u32 %r, %r, %v;
@%p mbarrier.arrive.release.cluster.b64 _, [%g];
@!%p mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%b]; //@remote
W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p, [bar], 0; @!%p bra W;
sub.u32 %v, 63, %t; shl.b32 %v, %v, 2; mov.u32 %a, s; add.u32 %a, %a, %v; mapa.shared::cluster.u32 %a, %a, %r;
ld.shared::cluster.u32 %v, [%a]; //@read
mul.wide.u32 %w, %t, 4; add.s64 %w, %w, %o; st.global.u32 [%w], %v;
barrier.cluster.arrive.relaxed; //@arrive_2
barrier.cluster.wait; //@wait_2
st.shared.u32 [%a], 0; //@overwrite
ret;
}
"""
BUGS = {
    "no_wait": ({"wait": ""}, "race mbarrier-misuse barrier-misuse illegal-instruction", ("read", "arrive_2", "remote")),
    "wait_without_arrive": ({"arrive": "", "arrive_2": "", "wait_2": ""}, "barrier-misuse", ("wait",)),
    "arrives_twice": ({"arrive": "barrier.cluster.arrive; barrier.cluster.arrive;"}, "barrier-misuse", ("arrive",)),
}


def run(text, **options):
    o = np.zeros(64, np.uint32)
    report = sim.launch(text, "k", 1, 64, [o], arch="sm_90a", max_instructions=100000, **options)
    return report, o


@pytest.mark.parametrize("seed", range(12))
def test_exchange(seed):
    for check in (False, True):
        report, o = run(EXCHANGE, check=check, seed=seed, adversarial=seed > 0)
        assert report.ok, report.text()
        np.testing.assert_array_equal(o, np.arange(63, -1, -1))


@pytest.mark.parametrize("name", BUGS)
def test_planted_bug(name):
    changes, kinds, places = BUGS[name]
    text = broken(EXCHANGE, changes)
    for seed in range(6):
        report, _ = run(text, seed=seed, adversarial=seed > 0)
        named = {int(n) for e in report.errors if e["kind"] in kinds.split()
                 for n in re.findall(r"PTX line (\d+)", e["message"])}
        assert not report.ok and named & {line_of(text, p) for p in places}, report.text()


def test_relaxed_arrival_releases_nothing():
    """What was written before a relaxed arrival is not ordered, but an mbarrier.init before its fence is."""
    text = broken(EXCHANGE, {"arrive": "barrier.cluster.arrive.relaxed;"})
    report, _ = run(text)
    assert report.ok, report.text()  # the mbarrier's arrivals release the values all the same
    text = broken(EXCHANGE, {"arrive": "barrier.cluster.arrive.relaxed;", "init_fence": ""})
    report, _ = run(text)
    assert "mbarrier-initialisation race" in report.text()


def test_deadlock_and_faults():
    report, _ = run(broken(EXCHANGE, {"arrive": "setp.ne.u32 %p, %t, 5; @%p barrier.cluster.arrive;"}))
    assert "wait at the cluster barrier (1 threads have not arrived)" in report.text()
    report, _ = run(EXCHANGE.replace("mapa.u64 %g, %w, 0;", "mapa.u64 %g, %w, 1;"))
    assert report.errors[0]["kind"] == "out-of-bounds", report.text()


def test_only_the_use_of_a_rank_outside_of_the_cluster_is_refused():
    """Compilers move mapa in front of the branch that chooses the lanes with a rank (quack's scheduler)."""
    text = """.version 8.8
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 o)
{
.reg .pred %p; .reg .b32 %t, %a, %b; .reg .b64 %o, %w; .shared .align 4 .b32 all[32];
ld.param.u64 %o, [o]; mov.u32 %t, %laneid; mov.u32 %a, %cluster_ctarank; shl.b32 %b, %a, 2; mov.u32 %a, all; add.u32 %a, %a, %b;
barrier.cluster.arrive; barrier.cluster.wait;
mapa.shared::cluster.u32 %a, %a, %t;
setp.lt.u32 %p, %t, RANKS;
@%p st.shared::cluster.u32 [%a], %t;
barrier.cluster.arrive; barrier.cluster.wait;
setp.lt.u32 %p, %t, 2; shl.b32 %b, %t, 2; mov.u32 %a, all; add.u32 %a, %a, %b;
@%p ld.shared.u32 %b, [%a];
mov.u32 %t, %ctaid.x; mad.lo.u32 %t, %t, 2, 0; mov.u32 %a, %laneid; add.u32 %t, %t, %a; mul.wide.u32 %w, %t, 4; add.s64 %o, %o, %w;
@%p st.global.u32 [%o], %b;
ret;
}"""
    o = np.full(4, 7, np.uint32)
    report = sim.launch(text.replace("RANKS", "2"), "k", 2, 32, [o], arch="sm_90a", cluster=2)
    assert report.ok and o.tolist() == [0, 0, 1, 1], report.text()
    report = sim.launch(text.replace("RANKS", "3"), "k", 2, 32, [o], arch="sm_90a", cluster=2)
    assert "the cluster has 2 blocks, the address is in number 2" in report.text()


def test_exited_threads_have_arrived():
    text = broken(EXCHANGE, {"arrive_2": "@%p bra OUT; ret; OUT:", "wait_2": "barrier.cluster.arrive; barrier.cluster.wait;",
                             "overwrite": ""}).replace("@%p bra OUT;", "setp.lt.u32 %p, %t, 32; @%p bra OUT;")
    for seed in range(4):
        report, _ = run(text, seed=seed, adversarial=seed > 0)
        assert report.ok, report.text()


@pytest.mark.skipif(not shutil.which("ptxas"), reason="ptxas is not on PATH")
def test_ptxas_accepts_the_kernels(tmp_path):
    for text in [EXCHANGE] + [broken(EXCHANGE, bug[0]) for bug in BUGS.values()]:
        (tmp_path / "k.ptx").write_text(text)
        done = subprocess.run(["ptxas", "-arch=sm_90a", tmp_path / "k.ptx", "-o", tmp_path / "k.cubin"],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
