"""A performance report as one self-contained HTML page: resources, instructions, and the roofline of the machine.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import html

from .plots import STYLE, bars, number, roofline, tile


def _roofline(report) -> str:
    """Attainable rate over operations per byte, and where this call stands on it."""
    bandwidth = report.peak.get("bandwidth")
    used = sorted({rate for k in report.kernels for rate in k.operations if report.peak.get(rate)})
    if not bandwidth or not used:
        return f"<p class=sub>not measured: the table has no rates for {html.escape(report.target)}</p>"
    _, seconds = report.bound
    work = sum(sum(k.operations.values()) for k in report.kernels)
    return roofline([(f"{rate}: {report.peak[rate]:g} T/s", report.peak[rate] * 1e12, bandwidth * 1e9) for rate in used],
                    [(f"bound: {seconds * 1e6:.3g} us", report.intensity, work / seconds)])


def render(report) -> str:
    what, seconds = report.bound
    parts = [f"<!doctype html><meta charset=utf-8><title>{html.escape(report.function)}</title><style>{STYLE}</style>",
             f"<h1>{html.escape(report.function)} for {html.escape(report.target)}</h1>",
             "<p class=sub>Known without the GPU: ptxas, nvdisasm and the simulator on one call. The roofline is a bound, not a time.</p>",
             "<div class=tiles>", tile(f"{seconds * 1e6:.3g} us" if what else f"not measured: the table has no rates for {report.target}", f"no faster than, by {what or 'the table'}"),
             tile(number(report.bytes), "bytes of arguments and results"), tile(f"{report.intensity:.3g}", "operations per byte"),
             tile(report.time, "time"), "</div>", f"<h2>Roofline, by the peak rates of {html.escape(str(report.peak.get('product')))}</h2>", _roofline(report)]
    for k in report.kernels:
        full = k.occupancy if isinstance(k.occupancy, str) else f"{100 * k.occupancy:.0f} %"
        even = k.coalescing if isinstance(k.coalescing, str) else f"{100 * k.coalescing:.0f} %"
        parts += [f"<h2>{html.escape(k.name)}</h2><div class=tiles>", tile(number(k.registers), "registers"),
                  tile(number(k.spills), "bytes spilled", isinstance(k.spills, int) and k.spills > 0), tile(number(k.shared), "bytes of shared memory"),
                  tile(full, f"occupancy, limited by {k.limited_by}" if k.limited_by else "occupancy"), tile(k.threads, "threads"), tile(k.launches, "launches"),
                  tile(number(k.bank_conflicts), "bank conflicts", k.bank_conflicts > 0),
                  tile(even, "coalescing", isinstance(k.coalescing, float) and k.coalescing < 0.95), "</div><div class=two>",
                  bars("Executed by warps, as PTX", k.executed), bars("Machine code", k.machine_code), "</div>"]
    return "".join(parts)
