"""Plots of performance pages: self-contained SVG, no script.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import html
import math

STYLE = """
body{font:14px/1.5 system-ui,sans-serif;margin:28px;color:#1d2430;background:#fff;max-width:1100px}
h1{font-size:21px;margin:0 0 2px}h2{font-size:16px;margin:26px 0 8px}.sub{color:#5a6675;margin:0 0 14px}
.tiles{display:flex;flex-wrap:wrap;gap:10px;margin:10px 0}
.tile{border:1px solid #d5dbe3;border-radius:6px;padding:8px 12px;min-width:110px}
.tile b{display:block;font-size:17px}.tile span{color:#5a6675;font-size:12px}.tile.bad b{color:#b5301f}
.mix{display:grid;grid-template-columns:max-content 1fr max-content;gap:3px 10px;align-items:center;max-width:720px}
.bar{height:13px;background:#3b6fb6;border-radius:2px;min-width:1px}.n{text-align:right;font-variant-numeric:tabular-nums;color:#39434f}
.two{display:flex;flex-wrap:wrap;gap:36px}svg text{font:12px system-ui,sans-serif;fill:#39434f}
table{border-collapse:collapse}th,td{padding:3px 14px 3px 0;text-align:right;font-variant-numeric:tabular-nums}th:first-child,td:first-child{text-align:left}
th{color:#5a6675;font-weight:600;border-bottom:1px solid #d5dbe3}
"""
BLUE, RED, GREY = "#3b6fb6", "#b5301f", "#e5e9ee"
_COLOURS = (BLUE, "#c98b2b", "#4b9a6a", "#8a5bb0", "#b5301f", "#4a9fb0", "#8c8c3a", "#a0567a")


def number(value) -> str:
    return f"{value:,}".replace(",", "\u202f") if isinstance(value, int) else str(value)


def tile(value, label: str, bad: bool = False) -> str:
    return f'<div class="tile{" bad" if bad else ""}"><b>{html.escape(str(value))}</b><span>{html.escape(label)}</span></div>'


def bars(title: str, counts) -> str:
    if isinstance(counts, str) or not counts:
        return f"<div><h2>{title}</h2><p class=sub>{html.escape(str(counts or 'nothing'))}</p></div>"
    most = max(counts.values())
    rows = "".join(f'<span>{html.escape(name)}</span><div class=bar style="width:{100 * count / most:.1f}%"></div><span class=n>{number(count)}</span>'
                   for name, count in sorted(counts.items(), key=lambda item: -item[1]))
    return f"<div style='min-width:430px'><h2>{title}</h2><div class=mix>{rows}</div></div>"


def table(head: list, rows: list) -> str:
    def cells(row, kind):
        return "<tr>" + "".join(f"<{kind}>{html.escape(str(cell))}</{kind}>" for cell in row) + "</tr>"

    return f"<table>{cells(head, 'th')}{''.join(cells(row, 'td') for row in rows)}</table>"


def roofline(roofs: list, points: list, bandwidths: list | None = None) -> str:
    """Attainable rate over operations per byte. `roofs`: (label, operations per second, bytes per second); `points`: (label, operations per byte,
    operations per second); `bandwidths`: (label, bytes per second) of other slopes."""
    wide, high, left, bottom = 520, 320, 62, 40
    x0, x1 = -2.0, 4.0  # log10 of operations per byte
    y1 = math.ceil(math.log10(max(peak for _, peak, _ in roofs)))
    y0 = y1 - 5

    def place(x: float, y: float) -> tuple[float, float]:
        across = (min(max(math.log10(x), x0), x1) - x0) / (x1 - x0)
        up = (min(max(math.log10(y), y0), y1) - y0) / (y1 - y0)
        return left + across * (wide - left - 20), high - bottom - up * (high - bottom - 20)

    parts = []
    for e in range(int(x0), int(x1) + 1):
        x, _ = place(10.0**e, 10.0**y0)
        parts.append(f'<line x1={x:.1f} y1=20 x2={x:.1f} y2={high - bottom} stroke="{GREY}"/><text x={x:.1f} y={high - bottom + 16} text-anchor=middle>10<tspan dy=-5 font-size=9>{e}</tspan></text>')
    for e in range(y0, y1 + 1):
        _, y = place(1, 10.0**e)
        parts.append(f'<line x1={left} y1={y:.1f} x2={wide - 20} y2={y:.1f} stroke="{GREY}"/><text x={left - 8} y={y + 4:.1f} text-anchor=end>10<tspan dy=-5 font-size=9>{e}</tspan></text>')
    highest = max(peak for _, peak, _ in roofs)
    for number_, (label, bandwidth) in enumerate(sorted(bandwidths or [], key=lambda slope: -slope[1])):
        ends = [place(10**x0, max(10**x0 * bandwidth, 10.0**y0)), place(highest / bandwidth, highest)]
        parts.append(f'<line x1={ends[0][0]:.1f} y1={ends[0][1]:.1f} x2={ends[1][0]:.1f} y2={ends[1][1]:.1f} stroke="#9fb4d2" stroke-width=1 stroke-dasharray="4 3"/>')
        x, y = place(10**(x0 + 0.15), max(10**(x0 + 0.15) * bandwidth, 10.0**y0))
        above = number_ % 2 == 0  # neighbours would write over each other
        parts.append(f'<text x={x + (0 if above else 16):.1f} y={y - 5 if above else y + 11:.1f} style="font-size:10px;fill:#7488a6">{html.escape(label)}</text>')
    for label, peak, bandwidth in roofs:
        low = max(10**x0, 10.0**y0 / bandwidth)
        line = [place(low, low * bandwidth), place(peak / bandwidth, peak), place(10**x1, peak)]
        parts.append(f'<polyline fill=none stroke="{BLUE}" stroke-width=2 points="' + " ".join(f"{x:.1f},{y:.1f}" for x, y in line) + '"/>')
        parts.append(f'<text x={line[2][0]:.1f} y={line[2][1] - 6:.1f} text-anchor=end>{html.escape(label)}</text>')
    for label, intensity, rate in points:
        x, y = place(max(intensity, 10**x0), max(rate, 10.0**y0))
        right = x > left + 0.45 * (wide - left)  # there the text goes to the left
        parts.append(f'<circle cx={x:.1f} cy={y:.1f} r=6 fill="{RED}"/><text x={x - 10 if right else x + 10:.1f} y={y + 18:.1f} text-anchor={"end" if right else "start"}>{html.escape(label)}</text>')
    parts.append(f'<text x={(left + wide) / 2} y={high - 4} text-anchor=middle>operations per byte</text><text x=14 y={high / 2} transform="rotate(-90 14 {high / 2})" text-anchor=middle>operations per second</text>')
    return f'<svg width={wide} height={high} viewBox="0 0 {wide} {high}">{"".join(parts)}</svg>'


def runs(times: list, marks: dict, unit: str) -> str:
    """One point per run in its order, and how they are distributed beside it. `marks`: lines by name."""
    wide, high, left, bottom, side = 520, 320, 58, 40, 100
    low, top = 0.0, max(max(times), max(marks.values(), default=0.0)) * 1.08

    def up(value: float) -> float:
        return high - bottom - (value - low) / (top - low) * (high - bottom - 14)

    parts = []
    step = 10 ** math.floor(math.log10(top / 4)) if top > 0 else 1.0
    step *= next(k for k in (1, 2, 5, 10) if top / (step * k) <= 5.5)
    for k in range(int(top / step) + 1):
        y = up(k * step)
        parts.append(f'<line x1={left} y1={y:.1f} x2={wide - 10} y2={y:.1f} stroke="{GREY}"/><text x={left - 8} y={y + 4:.1f} text-anchor=end>{k * step:g}</text>')
    for position, value in enumerate(times):
        x = left + 8 + position * (wide - left - side - 30) / max(len(times) - 1, 1)
        parts.append(f'<circle cx={x:.1f} cy={up(value):.1f} r=2.4 fill="{BLUE}"/>')
    counts = [0] * 24
    for value in times:
        counts[min(int((value - low) / (top - low) * 24), 23)] += 1
    for number_, count in enumerate(counts):
        if count:
            y0, y1 = up(low + (number_ + 1) * (top - low) / 24), up(low + number_ * (top - low) / 24)
            parts.append(f'<rect x={wide - side:.1f} y={y0 + 0.5:.1f} width={(side - 14) * count / max(counts):.1f} height={max(y1 - y0 - 1, 1):.1f} fill="{BLUE}" opacity=0.55 />')
    for name, value in marks.items():
        y = up(value)
        parts.append(f'<line x1={left} y1={y:.1f} x2={wide - 10} y2={y:.1f} stroke="{RED}" stroke-dasharray="5 3"/><text x={wide - side - 14} y={y - 4:.1f} text-anchor=end style="fill:{RED};paint-order:stroke;stroke:#fff;stroke-width:4px">{html.escape(name)}</text>')
    parts.append(f'<text x={(left + wide - side) / 2} y={high - 6} text-anchor=middle>runs, in order</text><text x={wide - side / 2} y={high - 6} text-anchor=middle>how often</text>'
                 f'<text x=14 y={high / 2} transform="rotate(-90 14 {high / 2})" text-anchor=middle>{html.escape(unit)}</text>')
    return f'<svg width={wide} height={high} viewBox="0 0 {wide} {high}">{"".join(parts)}</svg>'


def timeline(rows: list, kernels: list, unit: str, length: float) -> str:
    """`rows`: (label, [(kernel, start, end)]); one colour per kernel."""
    wide, left, each = 1040, 110, 24
    high = each * len(rows) + 44
    colour = {name: _COLOURS[k % len(_COLOURS)] for k, name in enumerate(kernels)}

    def across(value: float) -> float:
        return left + value / length * (wide - left - 20)

    parts = []
    step = 10 ** math.floor(math.log10(length / 5)) if length > 0 else 1.0
    step *= next(k for k in (1, 2, 5, 10) if length / (step * k) <= 10)
    for k in range(int(length / step) + 1):
        x = across(k * step)
        parts.append(f'<line x1={x:.1f} y1=4 x2={x:.1f} y2={each * len(rows) + 8} stroke="{GREY}"/><text x={x:.1f} y={each * len(rows) + 24} text-anchor=middle>{k * step:g}</text>')
    for position, (label, spans) in enumerate(rows):
        y = 6 + position * each
        parts.append(f'<text x={left - 8} y={y + 15} text-anchor=end>{html.escape(label)}</text>')
        for name, start, end in spans:
            parts.append(f'<rect x={across(start):.2f} y={y} width={max(across(end) - across(start), 0.4):.2f} height={each - 6} fill="{colour[name]}" stroke="#fff" stroke-width=0.4><title>'
                         f'{html.escape(name)}: {start:.4g} to {end:.4g} {html.escape(unit)}</title></rect>')
    parts.append(f'<text x={(left + wide) / 2} y={high - 2} text-anchor=middle>{html.escape(unit)}</text>')
    legend = "".join(f'<span style="margin-right:18px"><span style="display:inline-block;width:11px;height:11px;background:{colour[name]};border-radius:2px"></span> {html.escape(name)}</span>' for name in kernels)
    return f'<div>{legend}</div><svg width={wide} height={high} viewBox="0 0 {wide} {high}">{"".join(parts)}</svg>'
