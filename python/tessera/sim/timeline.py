# The timeline without time of a report page: pipelines in logical order.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`draw` makes one SVG of what the first cluster of a launch did: a row for
each warp (or for neighbours that did the same), a row for each slot of a ring.

A step stands one column behind the step before it of the same warps, and
behind the step that ended the phase it waited for. So what is below each other
may happen at once, and a gap is a wait; widths mean nothing."""

import html as escape

# Columns that are drawn at the begin and at the end; between them is a fold.
FIRST, LAST = 30, 18
MOST_BLOCKS, MOST_ROWS = 2, 16
WIDTH, HEIGHT, ROW, LEFT, FOLD = 78, 30, 58, 136, 60

STYLE = """
.timeline{overflow-x:auto;border:1px solid var(--line);border-radius:6px;padding:8px}
.timeline svg{display:block}.timeline text{fill:var(--ink);font:11px system-ui,sans-serif}
.timeline .dim{fill:var(--dim)}.timeline .mid{text-anchor:middle}.timeline .mid.dim{font-size:10.5px}.timeline .big{font-size:12px;font-weight:600}
.timeline rect{stroke-width:1.2}.timeline .rule{stroke:var(--line)}.timeline .fold{fill:var(--fold);stroke:none}
.t-copy{fill:var(--copy);stroke:var(--copy-edge)}.t-store{fill:var(--copy);stroke:var(--copy-edge);stroke-dasharray:4 2}
.t-arrive,.t-commit{fill:var(--arrive);stroke:var(--arrive-edge)}.t-product{fill:var(--product);stroke:var(--product-edge)}
.t-tensor_move{fill:var(--move);stroke:var(--move-edge)}.t-wait,.t-group_wait{fill:var(--page);stroke:var(--dim)}
.t-stuck{fill:var(--bad);stroke:var(--bad-edge);stroke-dasharray:4 2}
.t-waiting{stroke:var(--dim);stroke-width:1.2;stroke-dasharray:2 4;fill:none}
.t-flight{stroke:var(--product-edge);stroke-width:2;fill:none}
.t-full{fill:var(--copy);stroke:var(--copy-edge)}.t-use{fill:var(--product);stroke:var(--product-edge)}
.t-clash{fill:none;stroke:var(--bad-edge);stroke-width:2.6}
.a-copy,.a-arrive,.a-commit{fill:none;stroke-width:1.4;opacity:.8}
.a-copy{stroke:var(--copy-edge)}.a-arrive,.a-commit{stroke:var(--arrive-edge)}
.timeline .t-bad{stroke:var(--bad-edge);stroke-width:2.6}
.timeline text.bad{fill:var(--bad-edge);font-weight:600}
.legend span{margin-right:16px;white-space:nowrap}
.legend i{display:inline-block;width:22px;height:12px;border-radius:3px;margin-right:5px;vertical-align:-1px;border:1.2px solid}
"""


class Step:
    """One or more events of an actor that are drawn as one box."""

    def __init__(self, event, actor):
        self.kind, self.actor, self.line = event["kind"], actor, event["ptx_line"]
        self.owner, self.mbarrier = event.get("owner"), event.get("mbarrier")
        self.phase, self.what, self.by = event.get("phase"), event.get("what", ""), event.get("by")
        self.count, self.bytes = event.get("count", 1), event.get("bytes", 0) * event.get("count", 1)
        self.group = event.get("group", 0)
        self.targets = {(self.owner, self.mbarrier, self.phase)}  # a multicast has several
        self.findings, self.cause, self.column, self.since = [], None, 0, 0

    def takes(self, event):
        """Whether the event is drawn in this box: copies of one phase, and what they expect."""
        same = (self.owner, self.mbarrier, self.phase) == (event.get("owner"), event.get("mbarrier"), event.get("phase"))
        return event["kind"] == "copy" and self.mbarrier is not None and (
            same and self.kind in ("copy", "arrive") or
            self.kind == "copy" and self.line == event["ptx_line"] and self.phase == event["phase"])

    def add(self, event):
        self.count = event.get("count", 1) + (self.count if self.kind == "copy" else 0)
        self.kind, self.line = "copy", event["ptx_line"]
        self.targets.add((event["owner"], event["mbarrier"], event["phase"]))
        self.bytes += event.get("bytes", 0) * event.get("count", 1)


def _key(event):
    return tuple(event.get(k) for k in ("kind", "ptx_line", "owner", "mbarrier", "phase", "what", "count"))


def _actors(events):
    """[(block, [warps], [events])]: neighbours that did the same are one."""
    by_warp = {}
    for number, event in enumerate(events):
        by_warp.setdefault((event["block"], event["warp"]), []).append((number, event))
    actors = []
    for (block, warp), own in sorted(by_warp.items()):
        keys = [_key(e) for _, e in own if e["kind"] != "finding"]
        if actors and keys:
            other, warps, all_keys, members = actors[-1]
            shorter = min(len(keys), len(all_keys))
            if (other, warps[-1]) == (block, warp - 1) and shorter and keys[:shorter] == all_keys[:shorter]:
                warps.append(warp)
                members.append(own)
                actors[-1] = (block, warps, max(keys, all_keys, key=len), members)
                continue
        actors.append((block, [warp], keys, [own]))
    return actors


def _steps(events, actors):
    """The steps of every actor, and the step that each event is drawn in."""
    rows, at = [], {}
    for number, (_, _, _, members) in enumerate(actors):
        longest = max(members, key=len)
        row, drawn = [], []  # drawn: the step of every event but findings
        for own in [longest, *(m for m in members if m is not longest)]:
            position = 0
            for index, event in own:
                if event["kind"] == "finding":
                    if position and event["what"] != "remark":
                        drawn[position - 1].findings.append(event["what"])
                    continue
                if position == len(drawn):
                    if row and row[-1].takes(event):
                        row[-1].add(event)
                    else:
                        row.append(Step(event, number))
                    drawn.append(row[-1])
                at[index] = drawn[position]
                position += 1
        rows.append(row)
    return rows, at


def _place(events, rows, at):
    """Gives each step its column."""
    placed, last = set(), {}
    for index in range(len(events)):
        step = at.get(index)
        if step is None or id(step) in placed:
            continue
        placed.add(id(step))
        before = last.get(step.actor)
        step.since = step.column = before.column + 1 if before else 0
        if step.by is not None and at.get(step.by) is not None:
            step.cause = at[step.by]
            step.column = max(step.column, step.cause.column + 1)
        last[step.actor] = step
    end = max((s.column for row in rows for s in row), default=0)
    for row in rows:
        for step in row:
            if step.kind == "stuck":
                step.column = max(step.column, end)
    return end + 1


def _name(timeline, mbarrier):
    """"full[1]" for "full+8"."""
    name = timeline["mbarriers"].get(str(mbarrier), str(mbarrier))
    if name.startswith("shared "):  # dynamic shared memory has no names
        return "@" + name[len("shared "):]
    base, plus, offset = name.partition("+")
    if plus and offset.isdigit() and int(offset) % 8 == 0:
        return f"{base}[{int(offset) // 8}]"
    arrays = {n.partition("+")[0] for n in timeline["mbarriers"].values() if "+" in n}
    return f"{name}[0]" if name in arrays else name


def _slots(rows):
    """{(owner, mbarrier): [(phase, fill, use, end)]} in columns: filled from `fill`, used from `use` until `end`."""
    steps = sorted((s for row in rows for s in row), key=lambda s: s.column)
    copies = [s for s in steps if s.kind == "copy"]
    fills = {}
    for s in copies:
        for owner, mbarrier, phase in s.targets:
            fills.setdefault((owner, mbarrier), {}).setdefault(phase, s)
    ends = {}  # when a phase that only threads arrive at is over
    for s in steps:
        if s.kind in ("arrive", "commit") and (s.owner, s.mbarrier) not in fills:
            ends[s.owner, s.mbarrier, s.phase] = max(s.column, ends.get((s.owner, s.mbarrier, s.phase), 0))
    # The mbarrier that says that a slot is free: the one its producer waited for last before the first copy.
    free = {}
    for key, phases in fills.items():
        first = min(phases.values(), key=lambda s: s.column)
        row = rows[first.actor]
        for s in reversed(row[:row.index(first)]):
            if s.kind == "wait" and (s.owner, s.mbarrier) not in fills:
                free[key] = (s.owner, s.mbarrier), s.phase + 1
                break
    released = sorted({(owner, mbarrier) for owner, mbarrier, _ in ends})
    if len(released) == len(fills):  # a kernel that forgot to wait: by their order
        for key, empty in zip(sorted(fills), released):
            free.setdefault(key, (empty, 0))
    slots = {}
    for key, phases in sorted(fills.items()):
        first = min(phases)
        for phase, copy in sorted(phases.items()):
            waits = [s.column for s in steps if s.kind == "wait" and (s.owner, s.mbarrier, s.phase) == (*key, phase)]
            use = min(waits) if waits else None
            end = None
            if key in free:
                (owner, mbarrier), base = free[key]
                end = ends.get((owner, mbarrier, base + phase - first))
            if end is None and waits:
                end = max(waits)
            slots.setdefault(key, []).append((phase, copy.column, use, end))
    return slots


def _role(row, slots):
    kinds = {s.kind for s in row}
    if "copy" in kinds:
        return "copies and multiplies" if "product" in kinds else "producer"
    if "product" in kinds:
        return "consumer: products"
    if "tensor_move" in kinds:
        return "takes results"
    if any(s.kind == "wait" and (s.owner, s.mbarrier) in slots for s in row):
        return "consumer"
    return "stores" if "store" in kinds else ""


def _numbers(warps):
    return f"warp {warps[0]}" if len(warps) == 1 else f"warps {warps[0]}\u2013{warps[-1]}"


_WORDS = {"copy": "copy", "store": "store", "arrive": "arrive", "commit": "commit", "wait": "wait", "stuck": "waits",
          "product": "product", "tensor_move": "move", "group_wait": "wait"}


class _Picture:
    def __init__(self, timeline, rows, actors, columns):
        self.timeline, self.rows, self.actors = timeline, rows, actors
        self.columns = columns
        self.folded = columns - FIRST - LAST if columns > FIRST + LAST + 6 else 0
        self.parts, self.arrows, self.y = [], [], 0

    def is_hidden(self, column):
        return self.folded and FIRST <= column < FIRST + self.folded

    def x(self, column):
        """Left edge of a column; of a folded one, the middle of the fold."""
        if not self.folded or column < FIRST:
            return LEFT + WIDTH * column
        if column < FIRST + self.folded:
            return LEFT + WIDTH * FIRST + FOLD // 2
        return LEFT + WIDTH * (column - self.folded) + FOLD

    def text(self, x, y, words, kind="", room=None):
        words = str(words)
        if room and len(words) * 6 > room:
            words = words[:max(1, room // 6 - 1)] + "\u2026"
        self.parts.append(f'<text x="{x}" y="{y}" class="{kind}">{escape.escape(words)}</text>')

    def label(self, step):
        if step.kind in ("product", "tensor_move"):
            words = step.what.split()
            return (f"{step.count} \u00d7 " if step.count > 1 else "") + words[0].replace("tcgen05.", ""), \
                " ".join(words[1:])
        if step.kind == "group_wait":
            return "wait", step.what
        target = _name(self.timeline, step.mbarrier) if step.mbarrier is not None else ""
        word = _WORDS[step.kind]
        if step.kind in ("copy", "store"):
            word = f"{step.count} {word[:-1]}ies" if step.count > 1 and word == "copy" else word
            return word, target or f"{step.bytes} B"
        return f"{word} \u03c6{step.phase}".replace("-", "\u2212"), target

    def step(self, step, y):
        if self.is_hidden(step.column):
            return
        x, edge = self.x(step.column), " t-bad" if step.findings else ""
        title = [f"{_numbers(self.actors[step.actor][1])}, PTX line {step.line}: {_WORDS[step.kind]}"]
        if step.mbarrier is not None:
            title.append(f"{_name(self.timeline, step.mbarrier)} of block {step.owner}, phase {step.phase}"
                         + (": the one before the first, complete from the start" if step.phase < 0 else ""))
        title += [f"{step.bytes} bytes"] if step.bytes else []
        title += [step.what] if step.what else []
        title += step.findings
        if step.kind in ("wait", "stuck") and step.column > step.since:
            begin = max(self.x(step.since), LEFT)
            self.parts.append(f'<path class="t-waiting" d="M{begin} {y + HEIGHT // 2}H{x}"/>')
        self.parts.append(f'<g><title>{escape.escape("; ".join(title))}</title><rect x="{x + 2}" y="{y}" rx="4" '
                          f'width="{WIDTH - 6}" height="{HEIGHT}" class="t-{step.kind}{edge}"/>')
        first, second = self.label(step)
        middle = x + WIDTH // 2 - 1
        bad = " bad" if step.kind == "stuck" else ""
        self.text(middle, y + 13, first, "mid" + bad, WIDTH - 6)
        self.text(middle, y + 25, second, "mid" + (bad or " dim"), WIDTH - 6)
        self.parts.append("</g>")
        if step.findings:
            self.text(x + 2, y + HEIGHT + 21, "\u25b2 " + ", ".join(dict.fromkeys(step.findings)), "bad")

    def arrow(self, step, y_of):
        cause = step.cause
        if cause is None or (self.is_hidden(cause.column) and self.is_hidden(step.column)):
            return
        if cause.actor == step.actor and cause.kind != "copy":
            return
        x1 = self.x(cause.column) + (0 if self.is_hidden(cause.column) else WIDTH * 2 // 3)
        x2 = self.x(step.column) + (0 if self.is_hidden(step.column) else 14)
        top, below = y_of[cause.actor], y_of[cause.actor] >= y_of[step.actor]
        y1 = top if below and cause.actor != step.actor else top + HEIGHT
        y2 = y_of[step.actor] + (HEIGHT + 1 if below else -1)
        bend = y2 + (16 if below else -16)
        kind = cause.kind if cause.kind in ("copy", "commit") else "arrive"
        self.arrows.append(f'<path class="a-{kind}" marker-end="url(#tip-{kind})" '
                           f'd="M{x1} {y1}C{x1} {bend} {x2} {bend} {x2} {y2}"/>')

    def flight(self, step, row, y):
        """A line from a wgmma to the wait that covers its group; to the end, if there is none."""
        later = [s for s in row[row.index(step):] if s.kind == "group_wait" and s.group >= step.group]
        x1 = self.x(step.column) + WIDTH // 2
        x2 = self.x(later[0].column) + 6 if later else self.x(self.columns - 1) + WIDTH
        top = y + HEIGHT + 3 + 3 * (step.group % 2)
        if x2 > x1:
            self.parts.append(f'<path class="t-flight{"" if later else " t-bad"}" d="M{x1} {top}H{x2}"/>')

    def bar(self, begin, end, y, kind, words, title):
        """From the left edge of a column to that of another."""
        x1, x2 = self.x(begin), self.x(end)
        if x2 - x1 < 4:
            return
        self.parts.append(f'<g><title>{escape.escape(title)}</title><rect x="{x1 + 2}" y="{y}" width="{x2 - x1 - 4}" '
                          f'height="20" rx="3" class="{kind}"/>')
        self.text(x1 + 8, y + 14, words, "", x2 - x1 - 14)
        self.parts.append("</g>")

    def slot(self, key, phases, y, last):
        name = _name(self.timeline, key[1])
        self.text(8, y + 14, f"slot of {name}")
        occupied = 0  # until this column
        for phase, fill, use, end in phases:
            stop = use if use is not None else last
            self.bar(fill, stop, y, "t-full", f"\u03c6{phase} fill",
                     f"{name}, phase {phase}: copies are on their way, or nobody has looked")
            if use is not None:
                self.bar(use, (end if end is not None else last) + 1, y, "t-use", f"\u03c6{phase} in use",
                         f"{name}, phase {phase}: from the first wait that saw it complete to its release, or the last such wait")
            if fill < occupied:
                self.bar(fill, occupied, y, "t-clash", "", f"{name}: filled for phase {phase} before phase {phase - 1} was released")
                self.text(self.x(fill) + 2, y + 32, "\u25b2 filled too early", "bad")
            occupied = max(occupied, (end if end is not None else stop) + 1)


def _legend():
    items = [("copy", "copy into a slot"), ("wait", "wait that succeeded"), ("product", "product"), ("arrive", "arrival, commit"),
             ("tensor_move", "tensor memory"), ("stuck", "wait without end")]
    return '<p class="legend">' + "".join(
        f'<span><i style="background:var(--{v});border-color:var(--{e})"></i>{escape.escape(words)}</span>'
        for kind, words in items
        for v, e in [{"wait": ("page", "dim"), "tensor_move": ("move", "move-edge"), "stuck": ("bad", "bad-edge")}.get(
            kind, (kind, kind + "-edge"))]) + "</p>"


def draw(timeline):
    """HTML of the timeline in the counts of a report, or "" if nothing in it is asynchronous."""
    events = [e for e in timeline.get("events", [])] if timeline else []
    if not any(e["kind"] != "finding" for e in events):
        return ""
    notes = []
    blocks = sorted({e["block"] for e in events})
    if len(blocks) > MOST_BLOCKS:
        notes.append(f"{len(blocks) - MOST_BLOCKS} more blocks of the cluster are not drawn")
    actors = _actors(events)
    rows, at = _steps(events, actors)
    columns = _place(events, rows, at)
    picture = _Picture(timeline, rows, actors, columns)
    slots, y_of, y = _slots(rows), {}, 8
    for block in blocks[:MOST_BLOCKS]:
        if len(blocks) > 1:
            picture.text(8, y + 12, f"block {block} of the cluster", "big")
            y += 20
        own = [n for n, (b, _, _, _) in enumerate(actors) if b == block and rows[n]]
        for n in own[:MOST_ROWS]:
            y_of[n] = y
            picture.text(8, y + 13, _numbers(actors[n][1]), "big")
            picture.text(8, y + 26, _role(rows[n], slots), "dim")
            y += ROW
        if len(own) > MOST_ROWS:
            notes.append(f"{len(own) - MOST_ROWS} more rows of block {block} are not drawn")
        for key, phases in [(k, p) for k, p in slots.items() if k[0] == block][:MOST_ROWS]:
            picture.slot(key, phases, y, columns)
            y += 38
        y += 6
    for n, top in y_of.items():
        for step in rows[n]:
            if step.kind == "wait" and step.phase < 0 and (step.owner, step.mbarrier) in slots:
                step.findings.append("no copy")
            picture.step(step, top)
            if step.kind == "product" and step.group:
                picture.flight(step, rows[n], top)
            if step.cause is not None and step.cause.actor in y_of:
                picture.arrow(step, y_of)
    if picture.folded:
        notes.append(f"columns {FIRST + 1} to {FIRST + picture.folded} of {columns} are folded")
        x = LEFT + WIDTH * FIRST
        picture.parts.append(f'<rect class="fold" x="{x + 4}" y="0" width="{FOLD - 8}" height="{y}"/>')
        picture.text(x + FOLD // 2, 14, f"\u22ef {picture.folded} \u22ef", "mid dim")
    if timeline.get("left_out"):
        notes.append(f"{timeline['left_out']} events after these were not recorded")
    width = picture.x(columns - 1) + WIDTH + 90  # room for the name of a finding
    tips = "".join(f'<marker id="tip-{k}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
                   f'<path d="M0 0L8 4L0 8z" style="fill:var(--{k if k != "commit" else "arrive"}-edge)"/></marker>'
                   for k in ("copy", "arrive", "commit"))
    more = "".join(f"<p>{escape.escape(note)}.</p>" for note in notes)
    return ("<h2>Pipeline, in logical order</h2><p>What the warps of the first cluster did. A step stands behind what it "
            "waited for; widths mean nothing. Arrows lead from the copy or the arrival that ended a phase to the waits for it. "
            "\u03c6 is the phase, from 0; \u03c6\u22121 is complete from the start. A line under a wgmma goes on until its "
            "wgmma.wait_group.</p>" + _legend() +
            f'<div class="timeline"><svg width="{width}" height="{y}" role="img" aria-label="pipeline in logical order">'
            f"<defs>{tips}</defs>" + "".join(picture.arrows) + "".join(picture.parts) + f"</svg></div>{more}")
