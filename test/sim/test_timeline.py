# The timeline of report pages: its events, and what is drawn of them.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import copy
import re

import numpy as np
import pytest

import tessera.sim as sim
from conftest import ROOT
from hopper_kernels import PIPELINE, PIPELINE_BUGS, STORE, broken, line_of
from tcgen05_kernels import GEMM as TENSOR_GEMM
from cluster_kernels import pipeline
from test_bulk_copy import run as run_copies
from test_clusters import fetch
from test_tcgen05 import run_gemm as run_tensor_gemm
from test_wgmma import run_gemm
from tessera.sim import timeline
from wgmma_kernels import GEMM, GEMM_BUGS


def events_of(report, kind):
    return [e for e in report.counts["timeline"]["events"] if e["kind"] == kind]


def drawn(report):
    return timeline.draw(report.counts["timeline"])


def boxes(picture, kind):
    return len(re.findall(rf'<rect [^>]*class="t-{kind}[ "]', picture))


@pytest.mark.parametrize("seed", range(6))
def test_waits_name_what_ended_their_phase(seed):
    """A wait for a full slot by the slot's copy, a wait for an empty one by an arrival of a consumer."""
    report, _, _ = run_copies(PIPELINE, 96, check=True, count=True, seed=seed, adversarial=seed > 0)
    events = report.counts["timeline"]["events"]
    names = report.counts["timeline"]["mbarriers"]
    ended = 0
    for wait in events_of(report, "wait"):
        if wait["phase"] < 0:
            assert "by" not in wait and names[str(wait["mbarrier"])].startswith("empty")
            continue
        cause = events[wait["by"]]
        assert (cause["mbarrier"], cause["phase"]) == (wait["mbarrier"], wait["phase"])
        assert cause["kind"] == ("copy" if names[str(wait["mbarrier"])].startswith("full") else "arrive")
        ended += 1
    assert ended > 10


def test_a_pipeline_is_drawn():
    report, _, _ = run_gemm(GEMM, check=True, count=True)
    picture = drawn(report)
    copies, waits = events_of(report, "copy"), events_of(report, "wait")
    assert "warps 0\u20133" in picture and "consumer: products" in picture and "producer" in picture
    assert boxes(picture, "copy") == len(copies) == boxes(picture, "product") == boxes(picture, "full")
    # The four warps of the warp group are one row.
    of_consumers = [w for w in waits if w["warp"] == 0]
    assert len(waits) == 4 * len(of_consumers) + len([w for w in waits if w["warp"] == 4])
    arrows = len(re.findall('class="a-copy"', picture)), len(re.findall('class="a-arrive"', picture))
    released = [w for w in waits if w["warp"] == 4 and w["phase"] >= 0]
    assert arrows == (len(of_consumers), len(released))
    assert picture.count("slot of full[") == 2 and "filled too early" not in picture


def test_a_product_is_in_flight_until_its_wait():
    right = drawn(run_gemm(GEMM, check=True, count=True)[0])
    assert right.count('class="t-flight"') == boxes(right, "product") and "t-flight t-bad" not in right
    never = drawn(run_gemm(broken(GEMM, GEMM_BUGS["exit_without_wait"][0]), check=True, count=True)[0])
    # The waits in the loop leave one group in flight.
    assert never.count("t-flight t-bad") == 1


def test_a_consumer_that_waits_for_the_phase_before_the_first():
    text = (ROOT / "examples/hopper/gemm.ptx").read_text()
    tiles = 4
    arguments = [np.zeros(tiles * 768, np.float32), np.zeros(2048, np.float32), tiles]
    report = sim.launch(text, "gemm", 1, 160, arguments, arch="sm_90a", count=True)
    early = {(w["mbarrier"], w["phase"]) for w in events_of(report, "wait") if w["warp"] == 0 and w["phase"] < 0}
    assert drawn(report).count("no copy") == 2 * len(early) > 0  # beside the box, and in its title


def columns(picture, kind):
    return [float(x) for x in re.findall(rf'<rect x="(\d+)"[^>]*class="t-{kind}[ "]', picture)]


def test_a_step_stands_behind_its_cause():
    report, _, _ = run_gemm(GEMM, check=True, count=True)
    for arrow in re.findall(r'<path class="a-[^>]* d="M(\d+) \d+C[^>]* (\d+) \d+"/>', drawn(report)):
        assert int(arrow[0]) < int(arrow[1])
    picture = drawn(report)
    assert columns(picture, "copy") == sorted(columns(picture, "copy"))


def test_a_slot_that_is_filled_too_early():
    nobody_waits = broken(PIPELINE, {"wait_empty": "setp.eq.u32 %q, %n, %n;"})
    report, _, _ = run_copies(nobody_waits, 96, count=True, check=False)
    assert "filled too early" in drawn(report) and boxes(drawn(report), "clash") > 1
    report, _, _ = run_copies(PIPELINE, 96, count=True, check=False)
    assert "filled too early" not in drawn(report)


def test_findings_stand_at_their_steps():
    report, _, _ = run_gemm(broken(GEMM, GEMM_BUGS["release_before_wait"][0]), check=True, count=True)
    assert not report.ok and "\u25b2 async-copy" in drawn(report)


def test_a_wait_without_end():
    text = broken(PIPELINE, PIPELINE_BUGS["never_releases"][0])
    report, _, _ = run_copies(text, 96, check=True, count=True)
    stuck = events_of(report, "stuck")
    assert line_of(text, "wait_empty") in [e["ptx_line"] for e in stuck]
    assert boxes(drawn(report), "stuck") >= 1


def test_other_work_is_drawn():
    report, _, _ = run_copies(STORE, 64, check=True, count=True)
    picture = drawn(report)
    assert boxes(picture, "store") == len(events_of(report, "store")) > 1 and boxes(picture, "group_wait") > 1
    report, _, _ = run_tensor_gemm(TENSOR_GEMM, check=True, count=True)
    picture = drawn(report)
    assert "takes results" in picture and boxes(picture, "tensor_move") == 2 and 'class="a-commit"' in picture
    assert boxes(picture, "product") == len(events_of(report, "product"))
    # A slot is in use until the commit behind the product.
    widths = [int(w) for w in re.findall(r'<rect [^>]*width="(\d+)" [^>]*class="t-use"', picture)]
    assert len(widths) == len(events_of(report, "copy")) and min(widths) > 2 * timeline.WIDTH


def test_a_multicast_fills_slots_of_both_blocks():
    report = fetch(pipeline(2), 2, check=True, count=True, arch="sm_90a")[0]
    picture = drawn(report)
    copies = events_of(report, "copy")
    assert {e["owner"] for e in copies} == {0, 1}
    # One box for the two copies of a multicast, one bar in each block.
    assert 2 * boxes(picture, "copy") == len(copies) == 2 * picture.count(">2 copies<")
    assert picture.count("slot of full[") == 4 and picture.count(">consumer<") == 2
    phases = {(e["owner"], e["mbarrier"], e["phase"]) for e in copies}
    assert boxes(picture, "full") == len(phases) and "filled too early" not in picture


def test_remarks_are_no_findings():
    recorded = run_gemm(GEMM, check=True, count=True)[0].counts["timeline"]
    for what, marks in (("remark", 0), ("race", 1)):
        marked = copy.deepcopy(recorded)
        marked["events"].append({"kind": "finding", "block": 0, "warp": 4, "ptx_line": 1, "what": what})
        assert timeline.draw(marked).count("\u25b2") == marks


def test_size_is_bounded():
    """Thousands of turns: the C++ side stops recording, the page folds; both say so."""
    n = 3000
    g = np.zeros(n * 64, np.float32)
    report = sim.launch(PIPELINE, "k", 1, 96, [g, g.copy(), n], arch="sm_90a", check=False, count=True)
    recorded = report.counts["timeline"]
    assert report.ok and recorded["left_out"] > 0
    picture = timeline.draw(recorded)
    small, _, _ = run_copies(PIPELINE, 96, count=True)
    assert len(picture) < 12 * len(drawn(small))
    folded = re.search(r"columns (\d+) to (\d+) of (\d+) are folded", picture)
    assert int(folded[2]) - int(folded[1]) + 1 == int(folded[3]) - timeline.FIRST - timeline.LAST
    assert f"{recorded['left_out']} events after these were not recorded" in picture
    assert "folded" not in drawn(small) and "not recorded" not in drawn(small)


def test_many_rows_and_blocks_are_cut():
    report, _, _ = run_copies(PIPELINE, 96, count=True)
    recorded = copy.deepcopy(report.counts["timeline"])
    producer = [e for e in recorded["events"] if e["warp"] == 0 and e["kind"] in ("arrive", "copy")]
    for block in range(5):
        for warp in range(10, 10 + 2 * timeline.MOST_ROWS, 2):
            recorded["events"] += [{**e, "block": block, "warp": warp} for e in producer]
    picture = timeline.draw(recorded)
    assert f"{5 - timeline.MOST_BLOCKS} more blocks of the cluster are not drawn" in picture
    assert "more rows of block 0 are not drawn" in picture
    headings = picture.count('class="big"')
    assert headings <= timeline.MOST_BLOCKS * (timeline.MOST_ROWS + 1)


def test_page():
    report, _, _ = run_gemm(GEMM, check=True, count=True)
    page = report.html(GEMM)
    assert drawn(report) in page and "prefers-color-scheme:dark" in page
    assert not re.search(r'(src|href)="|@import|url\((?!#)|https?:', page)
    for tile in ("TMA load: global to shared", "mbarrier waits that had to wait", "wgmma.m64n32k16.f32.f16.f16",
                 "copies, 2 phases"):
        assert tile in page, tile


def test_kernels_without_pipelines_have_no_timeline():
    text = PIPELINE[:PIPELINE.index("mov.u32 %t")] + "ret;\n}\n"
    report = sim.launch(text, "k", 1, 96, [np.zeros(64, np.float32)] * 2 + [1], arch="sm_90a", count=True)
    assert "timeline" not in report.counts and "Pipeline, in logical order" not in report.html(text)


def test_nothing_is_recorded_without_counting():
    report, _, _ = run_gemm(GEMM, check=True)
    assert report.counts is None
