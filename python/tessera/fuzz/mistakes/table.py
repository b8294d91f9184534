"""What became of the mistakes, per operator.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import collections

FLOOR = 0.95  # of the mistakes that are some: the share of good messages
BAD = ("silent", "crashed", "late", "failed")


def counted(outcomes: list) -> collections.Counter:
    return collections.Counter(o["status"] for o in outcomes)


def share_good(outcomes: list) -> float:
    """Of what is a mistake: harmless ones and programs that were not run are none."""
    counts = counted(outcomes)
    judged = sum(n for status, n in counts.items() if status not in ("harmless", "legal", "skipped"))
    return counts["good"] / judged if judged else 0.0


def passes(outcomes: list) -> bool:
    return share_good(outcomes) >= FLOOR and not any(o["status"] in BAD for o in outcomes)


def table(outcomes: list) -> str:
    """A row per operator, the worst first; then the totals."""
    by_operator = collections.defaultdict(list)
    for o in outcomes:
        by_operator[o["operator"]].append(o)
    columns = ("good", "poor", "silent", "crashed", "late", "failed", "harmless", "legal", "skipped")
    rows = [f"{'operator':64} {'fix':>5} " + " ".join(f"{c:>8}" for c in columns)]
    for name, each in sorted(by_operator.items(), key=lambda item: (share_good(item[1]), item[0])):
        counts = counted(each)
        rows.append(f"{name[:64]:64} {each[0].get('wants', ''):>5} " + " ".join(f"{counts[c] or '':>8}" for c in columns))
    counts = counted(outcomes)
    rows.append(f"{f'{len(by_operator)} operators, {len(outcomes)} mistakes':70} " + " ".join(f"{counts[c]:>8}" for c in columns))
    rows.append(f"in two steps: {sum(o.get('lacks') == 'in two steps' for o in outcomes)}")
    rows.append(f"good: {100 * share_good(outcomes):.1f} % of what was judged")
    return "\n".join(rows)


def details(outcomes: list, most: int) -> str:
    """The poor ones, with their messages."""
    rows = []
    for o in [o for o in outcomes if o["status"] in ("poor", *BAD)][:most]:
        rows.append(f"\n--- seed {o['seed']}: {o['operator']}: {o['status']}{', lacks ' + o['lacks'] if o.get('lacks') else ''}\n{o.get('message', '').rstrip()}")
    return "\n".join(rows)
