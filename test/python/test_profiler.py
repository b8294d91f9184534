"""`tessera.profile`: what is counted, what is measured, what is said about it.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import html.parser
import json
import os
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import tessera
import tessera as tsr
from tessera import InOut, Tensor, const, kernels, profiler, roofline, work


@tsr.function
def softmax(x: Tensor["M", "N"]):
    return tsr.softmax(x, dim=-1)


@tsr.function
def product(x: Tensor["M", "K"], w: Tensor["K", "N"]):
    return x @ w


@tsr.function
def steps(x: Tensor["M", "K"], w: Tensor["K", "N"], u: Tensor["N", "K"]):
    return tsr.softmax(tsr.gelu(x @ w) @ u, dim=-1)


@tsr.function
def attention(q: Tensor["B", "H", "S", "D"], k: Tensor["B", "H", "T", "D"], v: Tensor["B", "H", "T", "D"]):
    return tsr.softmax(q @ k.transpose(-1, -2) * 0.125, dim=-1) @ v


@tsr.function
def axpy(x: Tensor["M", "N"], y: Tensor["M", "N"]):
    return 2.0 * x + y


@tsr.kernel
def increase(X: InOut["M", "N"], BLOCK: const = 64):
    for m, n in tsr.grid(M, tsr.tile(N, BLOCK)):
        X[m, n] = X[m, n] * 2.0 + 1.0


class About:
    """Equal but for the order of additions in float64."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        if isinstance(self.value, list):
            return len(other) == len(self.value) and all(About(b) == a for a, b in zip(other, self.value))
        return abs(other - self.value) <= 2.0**-40 * abs(self.value)

    def __repr__(self):
        return f"about {self.value}"


def ones(*shape):
    return np.ones(shape, np.float32)


def counted(fn, *args, **kwargs) -> dict:
    fn(*args, **kwargs)
    sizes = {p.name: value.shape for p, value in zip(fn.parameters, args)}
    found = work.of_version(fn, fn.last_spec, sizes)
    assert not any(w.unknown for works in found.values() for w in works), found
    return found


@pytest.mark.parametrize("m, k, n", [(64, 128, 96), (1, 7, 3), (100, 33, 65), (300, 513, 257)])
def test_operations_of_products(m, k, n):
    for fn in (product, kernels.gemm):
        # Few rows have a kernel of their own, which counts as the other one does.
        for [found] in counted(fn, ones(m, k), ones(k, n)).values():
            assert sum(found.products.values()) == About(2 * m * k * n) and found.dtype == "f32"


def test_operations_of_attention():
    q, k = ones(2, 3, 100, 48), ones(2, 3, 70, 48)
    for works in counted(attention, q, k, k).values():
        assert sum(works[0].products.values()) == About(4 * 2 * 3 * 100 * 70 * 48)
    [[whole]] = counted(kernels.flash_attention, q, q, q).values()
    long = ones(1, 1, 2048, 64)
    [[full]] = counted(kernels.flash_attention, long, long, long).values()
    [[causal]] = counted(kernels.flash_attention, long, long, long, causal=True).values()
    assert sum(whole.products.values()) == About(4 * 2 * 3 * 100 * 100 * 48)
    # Tiles on the diagonal are whole: a little more than half.
    assert 0.5 < sum(causal.products.values()) / sum(full.products.values()) < 0.55


def test_operations_of_elements():
    [[found]] = counted(axpy, ones(37, 101), ones(37, 101)).values()
    assert found.flops == 2 * 37 * 101 and not found.dtype
    [[found]] = counted(increase, ones(37, 101)).values()
    assert found.flops == About(2 * 37 * 101)


def test_operations_of_several_kernels():
    found = counted(steps, ones(64, 128), ones(128, 96), ones(96, 128))
    totals = [sum(works[0].products.values()) for kernel, works in found.items() if "_thin" not in kernel and "_narrow" not in kernel]
    assert sorted(totals) == About([0.0, 2.0 * 64 * 96 * 128, 2.0 * 64 * 96 * 128])


@pytest.fixture(scope="module")
def found():
    return tessera.profile(steps, ones(200, 300), ones(300, 260), ones(260, 300), runs=20)


# Products of more than one block of rows have their right operand packed before.
KERNELS = ["steps_0_pack_w", "steps_0_packed", "steps_1_pack_u", "steps_1_packed", "steps_2"]


def test_a_result_that_is_given():
    x, out = ones(64, 64), np.zeros((64, 64), np.float32)
    assert tessera.profile(axpy, x, x, out=out, runs=2).flops == 2 * 64 * 64 and out.any()


def test_operations_of_every_variant():
    """A kernel whose operands are packed, and whose result goes past the caches, computes what it computes."""
    a, b = ones(200, 1024).astype(ml_dtypes.bfloat16), ones(1024, 1024).astype(ml_dtypes.bfloat16)
    assert tessera.profile(product, a, b, runs=2).flops == About(2 * 200 * 1024 * 1024)


def test_figures(found):
    assert len(found.times) == 20 and found.least <= found.percentile(25) <= found.median <= found.percentile(95) <= found.most
    assert found.mean == About(sum(found.times) / 20)
    assert found.bytes == 4 * (200 * 300 + 300 * 260 + 260 * 300 + 200 * 300)
    assert found.flops == About(sum(k.flops for k in found.kernels)) and found.flops > 2 * 2 * 200 * 300 * 260
    assert found.bandwidth == About(found.bytes / found.median) and found.rate == About(found.flops / found.median)
    assert found.fraction == About(max(found.memory_seconds, found.compute_seconds) / found.median)
    assert [k.name for k in found.kernels] == KERNELS and sum(k.share for k in found.kernels) == About(1)
    assert all(0 < k.busy <= 1 and k.launches == 1 and k.seconds > 0 for k in found.kernels)
    assert found.kind in ("memory_bound", "compute_bound", "synchronization_bound", "overhead_bound") and found.evidence


def test_every_program_is_on_the_timeline_once(found):
    for run in {span.run for span in found.spans}:
        spans = [span for span in found.spans if span.run == run]
        launches = [span for span in spans if span.kind == "launch"]
        assert [span.kernel for span in sorted(launches, key=lambda s: s.start_ns)] == KERNELS
        for launch in launches:
            ranges = sorted((s.begin, s.end) for s in spans if s.kind == "range" and s.kernel == launch.kernel)
            assert ranges[0][0] == 0 and ranges[-1][1] == launch.end and all(a[1] == b[0] for a, b in zip(ranges, ranges[1:]))
            assert all(launch.start_ns <= s.start_ns <= s.end_ns <= launch.end_ns for s in spans if s.kind == "range" and s.kernel == launch.kernel)
    for thread in {span.thread for span in found.spans}:
        for run in range(5):
            mine = sorted((s.start_ns, s.end_ns) for s in found.spans if s.kind == "range" and s.thread == thread and s.run == run)
            assert all(a[1] <= b[0] for a, b in zip(mine, mine[1:])), "a thread does one thing at a time"


def test_chrome_and_perfetto_form(found):
    events = json.loads(found.trace())["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    assert len(spans) == len(found.spans) and all(event["dur"] >= 0 and event["ts"] >= 0 and event["pid"] == 1 for event in spans)
    named = {event["tid"] for event in events if event.get("name") == "thread_name"}
    assert {event["tid"] for event in spans} <= named
    for tid in named:  # viewers draw what overlaps on one track as nested
        mine = sorted((e["ts"], e["ts"] + e["dur"]) for e in spans if e["tid"] == tid)
        assert all(a[1] <= b[0] + 1e-6 for a, b in zip(mine, mine[1:]))


def test_forms(found, tmp_path):
    tree = json.loads(found.json())
    assert tree["median"] == found.median and len(tree["kernels"]) == len(KERNELS) and tree["percentiles"]["50"] == found.median
    page = found.html()
    assert "http://" not in page and "https://" not in page and "<script" not in page  # self-contained
    for part in ("What limits", "Roofline", "Runs", "One run, by thread", "Counters", "steps_1"):
        assert part in page
    html.parser.HTMLParser().feed(page)
    text = str(found)
    assert "bottleneck" in text and "of the roof" in text and "95 %" in text
    for name in ("p.html", "p.json", "p.trace.json", "p.txt"):
        found.save(tmp_path / name)
    assert (tmp_path / "p.html").read_text() == page and json.loads((tmp_path / "p.trace.json").read_text())["traceEvents"]


def test_counters_say_why_they_are_missing(found):
    assert set(found.counters) == {"cycles", "instructions", "cache_references", "cache_misses", "branch_misses", "tlb_misses", "task_clock", "page_faults",
                                   "context_switches"}
    for value in found.counters.values():
        assert (isinstance(value, float) and value >= 0) or (isinstance(value, str) and len(value) > 10)
    if isinstance(found.counters["cycles"], str):
        assert "not measured: cycles" in str(found)


def test_warmups_and_runs():
    calls = []
    found = tessera.profile(lambda: calls.append(1), runs=100)
    assert len(found.times) == 100 and len(calls) >= 1 + 5 + 100 + 5  # the first, warm-ups, runs, traced ones; counters
    assert found.kind == "not measured" and "profile(..., flops=) says it" in str(found)


def test_arguments_are_not_touched():
    X = ones(50, 70)
    found = tessera.profile(increase, X, runs=10)
    assert (X == 1).all() and found.bytes == X.nbytes and np.isfinite(found.median)


def test_what_the_caller_knows_better():
    found = tessera.profile(lambda: softmax(ones(64, 64)), runs=5, flops=1e6, bytes=1000)
    assert found.flops == 1e6 and found.bytes == 1000 and [k.name for k in found.kernels] == ["softmax_0"]


def test_torch_and_out():
    torch = pytest.importorskip("torch")
    x = torch.randn(128, 256)
    found = tessera.profile(softmax, x, runs=5)
    assert found.bytes == 2 * x.nbytes


def test_mistakes():
    with pytest.raises(tsr.ArgumentError, match="takes a function or kernel, not ndarray"):
        tessera.profile(ones(3))
    with pytest.raises(tsr.ArgumentError, match="at least one run"):
        tessera.profile(softmax, ones(4, 4), runs=0)
    with pytest.raises(tsr.ArgumentError, match="has no parameter z"):
        tessera.profile(softmax, z=ones(4, 4))
    softmax(ones(4, 4))  # the trace is off again


def made(**changes) -> profiler.Profile:
    """A profile of a machine that does 100 GFLOP/s (bf16: 1000) and 10 GB/s."""
    rates = {"fma_f32_avx512": 1e11, "amx_bf16": 1e12, "read_dram": 1e10, "copy_stream": 1e10}
    roofs = tuple(roofline.Roof(name, unit, threads, rates.get(name, 0.0), rates.get(name, 0.0), 3, 1 << 10)
                  for name, unit in roofline._UNITS.items() for threads in (1, 2))
    fields = dict(name="f", place="f.py:1", times=[1e-2] * 10, bytes=10**8, flops=1e6, dtype="", why_no_flops="", threads=2,
                  kernels=[profiler.KernelProfile("f_0", 1, 9.9e-3, 1.0, 2, 100, 0.99, 10**8, 1e6, "")], spans=[], dropped=0,
                  counters={"page_faults": 0.0, "task_clock": 2e7}, roof=roofline.Roofline("made", "today", roofs))
    found = profiler.Profile(**{**fields, **changes})
    profiler._diagnose(found)
    return found


def test_diagnoses():
    near = made()
    assert near.kind == "memory_bound" and near.fraction == About(1.0) and "only fewer bytes" in near.advice[0]
    assert "10 of 10 GB/s" in near.evidence[0] and "100 %" in near.evidence[0]
    far = made(times=[5e-2] * 10)
    assert far.kind != "memory_bound" or "f.tune" in far.advice[0]
    dense = made(flops=9e8, bytes=10**5, dtype="f32", kernels=[profiler.KernelProfile("f_0", 1, 9.9e-3, 1.0, 2, 100, 0.99, 10**5, 9e8, "f32")])
    assert dense.kind == "compute_bound" and dense.fraction == About(0.9) and any("bf16" in text for text in dense.advice)
    waiting = made(kernels=[profiler.KernelProfile("f_0", 1, 9.9e-3, 1.0, 2, 3, 0.55, 10**8, 1e6, "")])
    assert waiting.kind == "synchronization_bound" and "55 %" in waiting.evidence[0] and "3 programs for 2 threads" in waiting.advice[0]
    slow_call = made(kernels=[profiler.KernelProfile("f_0", 1, 2e-3, 1.0, 2, 100, 0.99, 10**8, 1e6, "")])
    assert slow_call.kind == "overhead_bound" and "outside of kernels" in slow_call.evidence[0]
    faulting = made(counters={"page_faults": 16384.0, "task_clock": 2e7})
    assert any("16384 page faults" in text for text in faulting.evidence) and any("out=" in text for text in faulting.advice)
    busy_machine = made(counters={"page_faults": 0.0, "task_clock": 1e7})
    assert any("50 % of the time" in text for text in busy_machine.evidence)


def test_the_command(tmp_path):
    (tmp_path / "mine.py").write_text('''
import tessera as tsr
from tessera import Tensor

@tsr.function
def softmax(x: Tensor["M", "N"]):
    return tsr.softmax(x, dim=-1)
''')
    words = [sys.executable, "-m", "tessera", "profile", str(tmp_path / "mine.py"), "--dims", "M=30", "--size", "64", "--runs", "10",
             "--html", str(tmp_path / "{}.html"), "--trace", str(tmp_path / "t.json")]
    done = subprocess.run(words, capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0 and "softmax on" in done.stdout, done.stderr
    assert "Roofline" in (tmp_path / "softmax.html").read_text() and json.loads((tmp_path / "t.json").read_text())["traceEvents"]


def test_page_faults_are_counted():
    """What touches new memory in every run shows, unless the machine does not count it."""
    found = tessera.profile(lambda: np.full(1 << 22, 1.0, np.float64), runs=5, bytes=1 << 25, flops=1.0)
    faults = found.counters["page_faults"]
    assert isinstance(faults, str) or faults >= 16  # 32 MiB: 16 huge pages, or 8,192


@tsr.kernel
def worked(U: InOut["B", 4, 16]):
    for b in tsr.grid(B):  # noqa: F821
        for row in tsr.tile(4, 1):
            for c in tsr.tile(16, 16):
                U[b, row.start, c] = U[b, row.start, c] * 2.0


def test_the_work_of_a_variant_with_known_strides():
    found = tsr.profile(worked, np.ones((8, 4, 16), np.float32), warmups=0, runs=1).kernels
    assert [k.name for k in found] == ["worked_0_dense"] and found[0].flops == 8 * 4 * 16
