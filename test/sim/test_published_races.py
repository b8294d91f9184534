# Races that other projects published, rebuilt from their descriptions as small kernels of ours.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each is found in fewer than 50 schedules, with the lines of both sides; its twin without the defect is silent in as many. Where the report is a remark, so is the rule: real code leaves the fence out (docs/simulator.md)."""

import re

import pytest

from cluster_kernels import EXCHANGE, pipeline
from hopper_kernels import STORE, broken, line_of
from tcgen05_kernels import CROSS, GEMM
from tcgen05_pair_kernels import GEMM as PAIR_GEMM
from test_bulk_copy import run as run_bulk
from test_clusters import exchange, fetch
from test_tcgen05 import run_cross, run_gemm
from test_tcgen05_pairs import run_gemm as run_pair

CTA = "mbarrier.arrive.release.cta.shared::cluster.b64 _, [%rb];"


def pair(text, **options):
    return run_pair(text, grid=2, **options)


RACES = {
    # vllm-project/flash-attention PR 182: head 256 on two blocks released accumulators without tcgen05.wait::ld.
    "flash_attention_hd256_one_block": (run_gemm, GEMM, {"wait_load": "", "store": "tcgen05.wait::ld.sync.aligned; st.global.b32 [%o], %r0;"},
                                        "tensor-async", ("mma", "load")),
    "flash_attention_hd256_two_blocks": (pair, PAIR_GEMM, {"wait_load": ""}, "tensor-async", ("mma", "load")),
    # NVIDIA/cutlass issue 3643: remote arrivals whose scope is the own block, on the way to and from the leader.
    "cutlass_3643_operands": (pair, PAIR_GEMM, {"relay": CTA}, "async-copy", ("mma", "copy")),
    "cutlass_3643_accumulator": (pair, PAIR_GEMM, {"take": CTA}, "tensor-async", ("mma", "load")),
    # sglang issue 32907: no cluster barrier at the end, "cluster target block not present".
    "sglang_32907": (lambda text, **options: exchange(text, 4, arch="sm_90a", max_instructions=300000, **options), EXCHANGE,
                     {"arrive_4": "", "wait_4": ""}, "exited-block", ("read",)),
    # sglang PR 39124: threads write an operand, the tensor core reads it, no proxy fence.
    "sglang_39124": (run_cross, CROSS, {"proxy": ""}, "proxy-fence", ("mma", "copy_a")),
    # MoonshotAI/FlashKDA issue 24: a result is written to shared memory and stored by a bulk copy without a fence.
    "flash_kda_24": (lambda text, **options: run_bulk(text, 64, **options), STORE, {"fence": ""}, "proxy-fence", ("copy",)),
    # facebookexperimental/CUTracer PR 106 breaks Hopper gemms on purpose: a consumer does not wait, or releases too early.
    "cutracer_106_no_wait": (lambda text, **options: fetch(text, 2, arch="sm_90a", max_instructions=300000, **options), pipeline(2),
                             {"wait_full": "setp.eq.u32 %q, %n, %n;"}, "async-copy uninitialised", ("load",)),
}


@pytest.mark.parametrize("name", RACES)
def test_published_race(name):
    run, text, changes, kinds, places = RACES[name]
    text = broken(text, changes)
    lines = {line_of(text, place) for place in places}
    found = 0
    for seed in range(6):
        report = run(text, check=True, seed=seed, adversarial=seed > 0)[0]
        assert not report.ok, report.text()
        found += any(e["kind"] in kinds.split() and {int(n) for n in re.findall(r"PTX line (\d+)", e["message"])} & lines
                     for e in report.errors)
    assert found == 6, f"{kinds} at {lines}: {report.text()}"


@pytest.mark.parametrize("name", RACES)
def test_its_corrected_twin_is_silent(name):
    run, text, *_ = RACES[name]
    for seed in range(12):
        report = run(text, check=True, seed=seed, adversarial=seed > 0)[0]
        assert report.ok and all(e["kind"] == "remark" for e in report.errors), report.text()


def test_reads_before_the_next_copy_are_a_remark():
    """DeepEP PR 642 and TransformerEngine PR 2695 put a proxy fence between reads of a tile and the copy that overwrites it."""
    report = fetch(pipeline(2), 2, arch="sm_90a", check=True, max_instructions=300000)[0]
    assert report.ok and any(e["kind"] == "remark" and "fence.proxy.async" in e["message"] for e in report.errors), report.text()
