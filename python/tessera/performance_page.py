"""A performance report as one self-contained HTML page: resources, instructions, and the roofline of the machine.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import html
import math

_STYLE = """
body{font:14px/1.5 system-ui,sans-serif;margin:28px;color:#1d2430;background:#fff;max-width:1100px}
h1{font-size:21px;margin:0 0 2px}h2{font-size:16px;margin:26px 0 8px}.sub{color:#5a6675;margin:0 0 14px}
.tiles{display:flex;flex-wrap:wrap;gap:10px;margin:10px 0}
.tile{border:1px solid #d5dbe3;border-radius:6px;padding:8px 12px;min-width:110px}
.tile b{display:block;font-size:17px}.tile span{color:#5a6675;font-size:12px}.tile.bad b{color:#b5301f}
.mix{display:grid;grid-template-columns:max-content 1fr max-content;gap:3px 10px;align-items:center;max-width:720px}
.bar{height:13px;background:#3b6fb6;border-radius:2px;min-width:1px}.n{text-align:right;font-variant-numeric:tabular-nums;color:#39434f}
.two{display:flex;flex-wrap:wrap;gap:36px}svg text{font:12px system-ui,sans-serif;fill:#39434f}
"""


def _number(value) -> str:
    return f"{value:,}".replace(",", "\u202f") if isinstance(value, int) else str(value)


def _tile(value, label: str, bad: bool = False) -> str:
    return f'<div class="tile{" bad" if bad else ""}"><b>{html.escape(str(value))}</b><span>{html.escape(label)}</span></div>'


def _bars(title: str, counts) -> str:
    if isinstance(counts, str) or not counts:
        return f"<div><h2>{title}</h2><p class=sub>{html.escape(str(counts or 'nothing'))}</p></div>"
    most = max(counts.values())
    rows = "".join(f'<span>{html.escape(name)}</span><div class=bar style="width:{100 * count / most:.1f}%"></div><span class=n>{_number(count)}</span>'
                   for name, count in sorted(counts.items(), key=lambda item: -item[1]))
    return f"<div style='min-width:430px'><h2>{title}</h2><div class=mix>{rows}</div></div>"


def _roofline(report) -> str:
    """Attainable rate over operations per byte, and where this call stands on it."""
    bandwidth = report.peak.get("bandwidth")
    used = sorted({rate for k in report.kernels for rate in k.operations if report.peak.get(rate)})
    if not bandwidth or not used:
        return f"<p class=sub>not measured: the table has no rates for {html.escape(report.target)}</p>"
    wide, high, left, bottom = 620, 320, 70, 40
    x0, x1 = -2.0, 4.0  # log10 of operations per byte
    top = max(report.peak[r] for r in used) * 1e12
    y1 = math.ceil(math.log10(top))
    y0 = y1 - 6

    def place(x: float, y: float) -> tuple[float, float]:
        across = (min(max(math.log10(x), x0), x1) - x0) / (x1 - x0)
        up = (min(max(math.log10(y), y0), y1) - y0) / (y1 - y0)
        return left + across * (wide - left - 20), high - bottom - up * (high - bottom - 20)

    parts = []
    for e in range(int(x0), int(x1) + 1):
        x, _ = place(10.0**e, 10.0**y0)
        parts.append(f'<line x1={x:.1f} y1=20 x2={x:.1f} y2={high - bottom} stroke="#e5e9ee"/><text x={x:.1f} y={high - bottom + 16} text-anchor=middle>10<tspan dy=-5 font-size=9>{e}</tspan></text>')
    for e in range(y0, y1 + 1, 2):
        _, y = place(1, 10.0**e)
        parts.append(f'<line x1={left} y1={y:.1f} x2={wide - 20} y2={y:.1f} stroke="#e5e9ee"/><text x={left - 8} y={y + 4:.1f} text-anchor=end>10<tspan dy=-5 font-size=9>{e}</tspan></text>')
    for rate in used:
        peak = report.peak[rate] * 1e12
        points = [place(10**x0, 10**x0 * bandwidth * 1e9), place(peak / (bandwidth * 1e9), peak), place(10**x1, peak)]
        parts.append('<polyline fill=none stroke="#3b6fb6" stroke-width=2 points="' + " ".join(f"{x:.1f},{y:.1f}" for x, y in points) + '"/>')
        parts.append(f'<text x={points[2][0]:.1f} y={points[2][1] - 6:.1f} text-anchor=end>{rate}: {report.peak[rate]:g} T/s</text>')
    _, seconds = report.bound
    work = sum(sum(k.operations.values()) for k in report.kernels)
    x, y = place(max(report.intensity, 10**x0), max(work / seconds, 10.0**y0))
    parts.append(f'<circle cx={x:.1f} cy={y:.1f} r=6 fill="#b5301f"/><text x={x + 10:.1f} y={y + 18:.1f}>bound: {seconds * 1e6:.3g} us</text>')
    parts.append(f'<text x={(left + wide) / 2} y={high - 4} text-anchor=middle>operations per byte</text><text x=14 y={high / 2} transform="rotate(-90 14 {high / 2})" text-anchor=middle>operations per second</text>')
    return f'<svg width={wide} height={high} viewBox="0 0 {wide} {high}">{"".join(parts)}</svg>'


def render(report) -> str:
    what, seconds = report.bound
    parts = [f"<!doctype html><meta charset=utf-8><title>{html.escape(report.function)}</title><style>{_STYLE}</style>",
             f"<h1>{html.escape(report.function)} for {html.escape(report.target)}</h1>",
             "<p class=sub>Known without the GPU: ptxas, nvdisasm and the simulator on one call. The roofline is a bound, not a time.</p>",
             "<div class=tiles>", _tile(f"{seconds * 1e6:.3g} us" if what else "not measured", f"no faster than, by {what or 'the table'}"),
             _tile(_number(report.bytes), "bytes of arguments and results"), _tile(f"{report.intensity:.3g}", "operations per byte"),
             _tile(report.time, "time"), "</div>", f"<h2>Roofline, by the peak rates of {html.escape(str(report.peak.get('product')))}</h2>", _roofline(report)]
    for k in report.kernels:
        full = k.occupancy if isinstance(k.occupancy, str) else f"{100 * k.occupancy:.0f} %"
        even = k.coalescing if isinstance(k.coalescing, str) else f"{100 * k.coalescing:.0f} %"
        parts += [f"<h2>{html.escape(k.name)}</h2><div class=tiles>", _tile(_number(k.registers), "registers"),
                  _tile(_number(k.spills), "bytes spilled", isinstance(k.spills, int) and k.spills > 0), _tile(_number(k.shared), "bytes of shared memory"),
                  _tile(full, f"occupancy, limited by {k.limited_by}" if k.limited_by else "occupancy"), _tile(k.threads, "threads"), _tile(k.launches, "launches"),
                  _tile(_number(k.bank_conflicts), "bank conflicts", k.bank_conflicts > 0),
                  _tile(even, "coalescing", isinstance(k.coalescing, float) and k.coalescing < 0.95), "</div><div class=two>",
                  _bars("Executed by warps, as PTX", k.executed), _bars("Machine code", k.machine_code), "</div>"]
    return "".join(parts)
