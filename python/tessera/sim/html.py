# A report as one self-contained HTML page.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Source and PTX side by side, with counts, conflicts and findings at their
lines. What the simulator cannot know reads "not measured"."""

import html as escape
import os
import re

_STYLE = """
body{font:14px/1.45 system-ui,sans-serif;margin:24px;color:#1d2430;background:#fff}
h1{font-size:20px;margin:0 0 4px}h2{font-size:15px;margin:22px 0 6px}
.tiles{display:flex;flex-wrap:wrap;gap:10px;margin:12px 0}
.tile{border:1px solid #d5dbe3;border-radius:6px;padding:8px 12px;min-width:120px}
.tile b{display:block;font-size:17px}.tile span{color:#5a6675;font-size:12px}
.find{border-left:4px solid #c0392b;background:#fdf1ef;padding:6px 10px;margin:4px 0}
.sides{display:flex;gap:16px;align-items:flex-start}
.side{flex:1 1 0;min-width:0;overflow-x:auto}
table{border-collapse:collapse;font:12px/1.4 ui-monospace,monospace;width:100%}
td,th{padding:0 6px;white-space:pre;text-align:left;vertical-align:top}
th{position:sticky;top:0;background:#eef1f5;font-weight:600}
td.n{text-align:right;color:#5a6675}td.hot{background:#fff3d6}
tr.bad td{background:#fbdedb}
"""


def _number(value):
    return f"{value:,}".replace(",", "\u202f")


def _source_line(place):
    m = re.match(r"(.*?):(\d+)", place or "")
    return (m[1], int(m[2])) if m else (None, 0)


def render(report, ptx=""):
    counts = report.counts or {}
    lines = counts.get("lines", [])
    by_ptx, by_source, bad_ptx, bad_source = {}, {}, set(), set()
    for c in lines:
        by_ptx.setdefault(c["ptx_line"], []).append(c)
        by_source.setdefault(_source_line(c["source"]), []).append(c)
    for e in report.errors:
        bad_ptx |= {e["ptx_line"], e["other_ptx_line"]}
        bad_source |= {_source_line(e["source"]), _source_line(e["other_source"])}

    def total(items, key):
        return sum(i[key] for i in items)

    def cells(items):
        if not items:
            return '<td class=n></td>' * 4
        warps, sectors = total(items, "warps"), total(items, "sectors")
        ideal, conflicts = total(items, "ideal_sectors"), total(items, "bank_conflicts")
        excess = sectors > ideal > 0
        return (f'<td class=n>{_number(warps)}</td>'
                f'<td class=n>{_number(total(items, "threads"))}</td>'
                f'<td class="n{" hot" if excess else ""}">{_number(sectors) if sectors else ""}</td>'
                f'<td class="n{" hot" if conflicts else ""}">{_number(conflicts) if conflicts else ""}</td>')

    head = ("<tr><th></th><th>warps</th><th>threads</th><th>sectors</th>"
            "<th>conflicts</th><th>{}</th></tr>")

    def table(title, text, counted, bad):
        rows = [head.format(escape.escape(title))]
        for number, line in enumerate(text.splitlines(), 1):
            mark = ' class=bad' if number in bad else ""
            rows.append(f"<tr{mark}><td class=n>{number}</td>{cells(counted.get(number))}"
                        f"<td>{escape.escape(line.expandtabs(4))}</td></tr>")
        return "<table>" + "".join(rows) + "</table>"

    sources = []
    for name in sorted({f for f, _ in by_source if f and os.path.exists(f)}):
        with open(name, errors="replace") as f:
            text = f.read()
        counted = {n: items for (file, n), items in by_source.items() if file == name}
        sources.append(table(os.path.basename(name), text, counted,
                             {n for f, n in bad_source if f == name}))
    tiles = [("result", "ok" if report.ok else f"{len(report.errors)} findings"),
             ("warp instructions", _number(report.data["warp_instructions"]))]
    if counts:
        slots = counts["lane_slots"] or 1
        tiles += [("warp execution efficiency",
                   f"{100 * counts['thread_instructions'] / slots:.1f} %"),
                  ("divergent branches", _number(counts["divergent_branches"])),
                  ("global sectors", f"{_number(counts['sectors'])} of "
                                     f"{_number(counts['ideal_sectors'])} ideal"),
                  ("bank conflicts", _number(counts["bank_conflicts"]))]
    else:
        tiles.append(("counts", "not measured"))
    tiles.append(("time", "not measured"))
    classes = "".join(f"<tr><td>{k}</td><td class=n>{_number(v)}</td></tr>"
                      for k, v in counts.get("classes", {}).items())
    findings = "".join(f"<div class=find><b>{e['kind']}</b>: {escape.escape(e['message'])}"
                       + (f" ({e['count']} times)" if e["count"] > 1 else "") + "</div>"
                       for e in report.errors)
    name = escape.escape(getattr(report, "kernel", "kernel"))
    return (f"<!doctype html><meta charset=utf-8><title>{name}</title><style>{_STYLE}</style>"
            f"<h1>{name}</h1>"
            "<div class=tiles>" + "".join(
                f"<div class=tile><b>{escape.escape(str(v))}</b><span>{k}</span></div>"
                for k, v in tiles) + "</div>"
            + (f"<h2>Findings</h2>{findings}" if findings else "")
            + (f"<h2>Instructions by class</h2><table style='width:auto'>{classes}</table>"
               if classes else "")
            + "<h2>Source and PTX</h2><div class=sides>"
            + (f"<div class=side>{''.join(sources)}</div>" if sources else "")
            + (f"<div class=side>{table('PTX', ptx, by_ptx, bad_ptx)}</div>" if ptx else "")
            + "</div>")
