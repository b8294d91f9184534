"""A profile as one self-contained HTML page: the runs, the roofline, the timeline, what limits and what could help.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import base64
import html

from .plots import STYLE, roofline, runs, table, tile, timeline

_LEVELS = ("read_l1", "read_l2", "read_l3", "read_dram")
_SPANS = 4000  # drawn


def _share(value: float | None, why: str) -> str:
    return f"not measured: {why}" if value is None else f"{100 * value:.0f} %"


def _roof(p) -> str:
    if p.flops is None or not p.bytes or not p.roof.rate(p.peak_name, p.threads):
        return f"<p class=sub>not measured: operations are not known ({html.escape(p.why_no_flops or 'no bytes')})</p>"
    bandwidth = p.roof.bandwidth("copy_stream", p.threads) or p.roof.bandwidth(p.level, p.threads)
    names = dict.fromkeys([p.peak_name, p.roof.peak_name("fp32", p.threads)])
    roofs = [(f"{name}: {p.roof.rate(name, p.threads) * 1e-9:.4g} GFLOP/s", p.roof.rate(name, p.threads), bandwidth) for name in names if p.roof.rate(name, p.threads)]
    slopes = [(f"{name} {p.roof.bandwidth(name, p.threads) * 1e-9:.4g} GB/s", p.roof.bandwidth(name, p.threads)) for name in _LEVELS if p.roof.bandwidth(name, p.threads)]
    return roofline(roofs, [(f"{p.name}: {p.rate * 1e-9:.4g} GFLOP/s", p.intensity, p.rate)], slopes)


def _timeline(p) -> str:
    """The run whose length is nearest the median's, every program range on its thread."""
    if not p.spans:
        return "<p class=sub>no kernel was traced</p>"
    lengths = {run: max(s.end_ns for s in p.spans if s.run == run) for run in {s.run for s in p.spans}}
    middle = sorted(lengths, key=lengths.get)[len(lengths) // 2]
    chosen = [s for s in p.spans if s.run == middle]
    rows = [("launches", [(s.kernel, s.start_ns * 1e-6, s.end_ns * 1e-6) for s in chosen if s.kind == "launch"])]
    for thread in sorted({s.thread for s in chosen if s.kind == "range"}):
        rows.append((f"thread {thread}", [(s.kernel, s.start_ns * 1e-6, s.end_ns * 1e-6) for s in chosen if s.kind == "range" and s.thread == thread][:_SPANS]))
    data = base64.b64encode(p.trace().encode()).decode()
    link = f'<a download="{html.escape(p.name)}.trace.json" href="data:application/json;base64,{data}">{len(lengths)} runs for Perfetto or chrome://tracing</a>'
    return timeline(rows, [k.name for k in p.kernels], "ms", lengths[middle] * 1e-6) + f"<p class=sub>{link}</p>"


def _kernels(p) -> str:
    rows = []
    for k in p.kernels:
        rate = f"not measured: {p.why_no_flops or 'operations are not known'}" if k.flops is None else f"{k.flops / max(k.seconds, 1e-12) * 1e-9:.1f}"
        rows.append([k.name, f"{k.seconds * 1e3:.4f}", f"{100 * k.share:.0f} %", k.launches, k.programs, k.threads, f"{100 * k.busy:.0f} %", f"{k.bytes / max(k.seconds, 1e-12) * 1e-9:.1f}", rate])
    return table(["kernel", "ms", "share", "launches", "programs", "threads", "busy", "GB/s of operands", "GFLOP/s"], rows)


def _counters(p) -> str:
    return table(["counter", "per run"], [[name, value if isinstance(value, str) else f"{value:,.0f}"] for name, value in
                                          ((n, f"not measured: {v}" if isinstance(v, str) else v) for n, v in p.counters.items())])


def render(p) -> str:
    marks = {"median": p.median * 1e3}
    if p.roof_seconds is not None:
        marks["roof"] = p.roof_seconds * 1e3
    listed = "".join(f"<li>{html.escape(text)}</li>" for text in p.evidence)
    advice = "".join(f"<li>{html.escape(text)}</li>" for text in p.advice)
    return "".join([
        f"<!doctype html><meta charset=utf-8><title>{html.escape(p.name)}</title><style>{STYLE}</style>",
        f"<h1>{html.escape(p.name)} on {p.threads} thread{'s' if p.threads > 1 else ''}</h1>",
        f"<p class=sub>{html.escape(', '.join(part for part in (p.place, p.roof.machine, f'{len(p.times)} runs after the warm-ups') if part))}</p>",
        "<div class=tiles>", tile(f"{p.median * 1e3:.4g} ms", "median"), tile(f"{p.least * 1e3:.4g} ms", "least"), tile(f"{p.percentile(95) * 1e3:.4g} ms", "95 % are below"),
        tile("not measured: the bytes of its arguments are not known" if p.bandwidth is None else f"{p.bandwidth * 1e-9:.4g} GB/s", "arguments and results"),
        tile(f"not measured: {p.why_no_flops or 'operations are not known'}" if p.rate is None else f"{p.rate * 1e-9:.4g} GFLOP/s", "operations"),
        tile(_share(p.fraction, p.why_no_flops or "operations or bytes are not known"), "of the roof"), tile(_share(p.busy, "no launch was traced"), "threads busy in launches", p.busy is not None and p.busy < 0.7 and p.threads > 1), tile(p.kind, "bottleneck"), "</div>",
        f"<h2>What limits</h2><ul>{listed}</ul>" if listed else "", f"<h2>What could help</h2><ul>{advice}</ul>" if advice else "",
        f"<div class=two><div><h2>Roofline, measured on this machine</h2>{_roof(p)}</div><div><h2>Runs</h2>{runs([t * 1e3 for t in p.times], marks, 'ms')}</div></div>",
        f"<h2>One run, by thread</h2>{_timeline(p)}", f"<h2>Kernels</h2>{_kernels(p)}", f"<h2>Counters</h2>{_counters(p)}"])
