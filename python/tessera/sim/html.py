# A report as one self-contained HTML page.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Source and PTX side by side, with counts, conflicts and findings at their
lines. What the simulator cannot know reads "not measured".

    python -m tessera.sim.html REPORT.json [KERNEL.ptx] > page.html

takes what `tessera-sim run --json` prints, or the file of `tessera-sim exec
--count --report FILE`: then the pages of all launches follow each other."""

import html as escape
import json
import os
import re
import sys

from . import timeline

_STYLE = """
:root{color-scheme:light dark;--page:#fff;--ink:#1d2430;--dim:#5a6675;--line:#d5dbe3;--head:#eef1f5;--fold:#f1f3f6;
--bad:#fdf1ef;--bad-edge:#c0392b;--hot:#fff3d6;--link:#dcebff;--copy:#dbe9fb;--copy-edge:#2f6fbf;
--product:#fde6c8;--product-edge:#b96a09;--arrive:#d9f0de;--arrive-edge:#2a8a48;--move:#ebe0f7;--move-edge:#7b4bb0}
@media(prefers-color-scheme:dark){:root{--page:#14181f;--ink:#e2e7ee;--dim:#9aa7b6;--line:#364150;--head:#1f2630;
--fold:#1b212a;--bad:#3a1c1a;--bad-edge:#f07a6c;--hot:#4a3b12;--link:#1d3558;--copy:#1b3558;--copy-edge:#6ba6ee;
--product:#4a3213;--product-edge:#e3a34c;--arrive:#173d24;--arrive-edge:#5fc480;--move:#372650;--move-edge:#b48ae6}}
body{font:14px/1.45 system-ui,sans-serif;margin:24px;color:var(--ink);background:var(--page)}
h1{font-size:20px;margin:0 0 4px}h2{font-size:15px;margin:22px 0 6px}p{margin:4px 0 8px;max-width:110ch}
.tiles{display:flex;flex-wrap:wrap;gap:10px;margin:12px 0}
.tile{border:1px solid var(--line);border-radius:6px;padding:8px 12px;min-width:120px}
.tile b{display:block;font-size:17px}.tile span{color:var(--dim);font-size:12px}
.find{border-left:4px solid var(--bad-edge);background:var(--bad);padding:6px 10px;margin:4px 0}
.chips span{display:inline-block;margin:0 14px 4px 0}.chips b{font-weight:600}
.sides{display:flex;gap:16px;align-items:flex-start}
.side{flex:1 1 0;min-width:0;overflow:auto;max-height:88vh;border:1px solid var(--line);border-radius:6px}
table{border-collapse:collapse;font:12px/1.4 ui-monospace,monospace;width:100%}
td,th{padding:0 6px;white-space:pre;text-align:left;vertical-align:top}
th{position:sticky;top:0;background:var(--head);font-weight:600}
td.n{text-align:right;color:var(--dim)}td.hot{background:var(--hot)}
tr.bad td{background:var(--bad)}tr.link td{background:var(--link)}
tr.fold td{color:var(--dim);background:var(--fold);padding-left:60px}
tr[data-at]{cursor:pointer}.kind{color:var(--bad-edge);font-weight:600}
""" + timeline.STYLE

# A click on a source line shows its PTX, and the other way round.
_SCRIPT = """
document.addEventListener("click", e => {
  const row = e.target.closest("tr[data-at]");
  if (!row) return;
  document.querySelectorAll("tr.link").forEach(r => r.classList.remove("link"));
  const same = [...document.querySelectorAll("tr[data-at]")].filter(r => r.dataset.at === row.dataset.at);
  same.forEach(r => r.classList.add("link"));
  const other = same.find(r => r.closest(".side") !== row.closest(".side"));
  if (other) other.scrollIntoView({block: "center"});
});
"""


def _number(value):
    return f"{value:,}".replace(",", "\u202f")


def _source_line(place):
    m = re.match(r"(.*?):(\d+)", place or "")
    return (m[1], int(m[2])) if m else (None, 0)


def _async_tiles(counts):
    """TMA, mbarriers and tensor cores, as far as the kernel uses them."""
    tiles = []
    for c in counts.get("tma", []):
        kind = " ".join(["TMA", c["operation"]] + ["tensor"] * c["tensor"] + ["multicast"] * c["multicast"])
        tiles.append((f"{kind}: {c['from']}" + (f" to {c['to']}" if c["to"] else ""),
                      f"{_number(c['requests'])} \u00d7, {_number(c['bytes'])} B"))
    if counts.get("multicast_saved_bytes"):
        tiles.append(("saved by multicast", f"{_number(counts['multicast_saved_bytes'])} B"))
    waits = counts.get("mbarrier_waits", {})
    if waits.get("waits"):
        tiles.append(("mbarrier waits that had to wait", f"{_number(waits['had_to_wait'])} of {_number(waits['waits'])}"))
    tiles += [(name, _number(n) + " \u00d7") for name, n in counts.get("tensor_instructions", {}).items()]
    if counts.get("tensor_memory_columns"):
        tiles.append(("tensor memory of a block, at most", f"{counts['tensor_memory_columns']} columns"))
    depth = counts.get("pipeline_depth", {})
    if depth.get("copies"):
        tiles.append((f"in flight in a block, at most; {_number(depth['bytes'])} bytes, {depth['groups']} bulk groups",
                      f"{depth['copies']} copies, {depth['phases']} phases"))
    return tiles


def render(report, ptx=""):
    counts = report.counts or {}
    lines = counts.get("lines", [])
    by_ptx, by_source, bad_ptx, bad_source = {}, {}, {}, {}
    for c in lines:
        by_ptx.setdefault(c["ptx_line"], []).append(c)
        by_source.setdefault(_source_line(c["source"]), []).append(c)
    for e in report.errors:
        for line in (e["ptx_line"], e["other_ptx_line"]):
            bad_ptx.setdefault(line, set()).add(e["kind"])
        for place in (e["source"], e["other_source"]):
            bad_source.setdefault(_source_line(place), set()).add(e["kind"])

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

    def table(title, text, counted, bad, place):
        """Lines that count and their neighbours; the rest is folded."""
        text = text.splitlines()
        shown = {n + d for n in [*counted, *bad] if n for d in range(-4, 5)}
        rows, folded = [head.format(escape.escape(title))], 0
        for number, line in enumerate([*text, None], 1):
            if line is not None and number not in shown and (counted or bad):
                folded += 1
                continue
            if folded:
                rows.append(f"<tr class=fold><td colspan=6>{folded} lines</td></tr>")
                folded = 0
            if line is None:
                break
            mark = " class=bad" if number in bad else ""
            at = place(number)
            link = f' data-at="{escape.escape(at)}"' if at else ""
            kinds = f" <span class=kind>\u25c0 {', '.join(sorted(bad[number]))}</span>" if number in bad else ""
            rows.append(f"<tr{mark}{link}><td class=n>{number}</td>{cells(counted.get(number))}"
                        f"<td>{escape.escape(line.expandtabs(4))}{kinds}</td></tr>")
        return "<table>" + "".join(rows) + "</table>"

    files = {}  # warps per file: the busiest one first
    for (name, _), items in by_source.items():
        if name and os.path.exists(name):
            files[name] = files.get(name, 0) + total(items, "warps")
    sources = []
    for name in sorted(files, key=lambda f: -files[f]):
        with open(name, errors="replace") as f:
            text = f.read()
        counted = {n: items for (file, n), items in by_source.items() if file == name}
        bad = {n: kinds for (file, n), kinds in bad_source.items() if file == name}
        sources.append(table(os.path.basename(name), text, counted, bad,
                             lambda n: f"{name}:{n}" if n in counted else ""))
    tiles = [("result", "ok" if report.ok else f"{len(report.errors)} findings"),
             ("warp instructions", _number(report.data["warp_instructions"]))]
    if counts:
        slots = counts["lane_slots"] or 1
        tiles += [("warp execution efficiency",
                   f"{100 * counts['thread_instructions'] / slots:.1f} %"),
                  ("divergent branches", _number(counts["divergent_branches"])),
                  ("global sectors", f"{_number(counts['sectors'])} of "
                                     f"{_number(counts['ideal_sectors'])} ideal"),
                  ("bank conflicts", _number(counts["bank_conflicts"])),
                  ("cp.async in flight, at most",
                   f"{counts['async_depth']['groups']} groups, "
                   f"{_number(counts['async_depth']['bytes_per_block'])} bytes")]
        tiles += _async_tiles(counts)
    else:
        tiles.append(("counts", "not measured: the run was without counts"))
    if report.occupancy:
        o = report.occupancy
        known = o["registers"] != "not measured"
        tiles.append((f"occupancy, limited by {o['limited_by']}; registers {o['registers']}",
                      ("" if known else "\u2264 ") + f"{100 * o['warps_per_sm'] / o['max_warps_per_sm']:.0f} %: "
                      f"{o['warps_per_sm']} of {o['max_warps_per_sm']} warps"))
    tiles.append(("time", "not measured: this was a simulation"))
    classes = "".join(f"<span>{k} <b>{_number(v)}</b></span>"
                      for k, v in counts.get("classes", {}).items())
    findings = "".join(f"<div class=find><b>{e['kind']}</b>: {escape.escape(e['message'])}"
                       + (f" ({e['count']} times)" if e["count"] > 1 else "") + "</div>"
                       for e in report.errors)
    places = {n: ":".join(map(str, _source_line(items[0]["source"]))) for n, items in by_ptx.items()
              if items[0]["source"]}
    ptx_side = table("PTX", ptx, by_ptx, bad_ptx, lambda n: places.get(n, ""))
    name = escape.escape(getattr(report, "kernel", "kernel"))
    return (f"<!doctype html><meta charset=utf-8><title>{name}</title><style>{_STYLE}</style>"
            f"<h1>{name}</h1>"
            "<div class=tiles>" + "".join(
                f"<div class=tile><b>{escape.escape(str(v))}</b><span>{k}</span></div>"
                for k, v in tiles) + "</div>"
            + (f"<h2>Findings</h2>{findings}" if findings else "")
            + (f"<h2>Warp instructions by class</h2><div class=chips>{classes}</div>"
               if classes else "")
            + timeline.draw(counts.get("timeline"))
            + "<h2>Source and PTX</h2><div class=sides>"
            + (f"<div class=side>{''.join(sources)}</div>" if sources else "")
            + (f"<div class=side>{ptx_side}</div>" if ptx else "")
            + f"</div><script>{_SCRIPT}</script>")


def main(arguments):
    from .device import Report

    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__, file=sys.stderr)
        return 2
    with open(arguments[0]) as f:
        text = f.read().strip()
    ptx = ""
    if len(arguments) > 1:
        with open(arguments[1]) as f:
            ptx = f.read()
    decoder = json.JSONDecoder()
    while text:
        data, end = decoder.raw_decode(text)
        text = text[end:].lstrip()
        report = Report(data.get("result", data))
        if "kernel" in data:
            report.kernel = data["kernel"]
        print(render(report, ptx))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
