#!/usr/bin/env python3
"""Checks docs/names.md against TableGen: "here" ops exist, "later" ops do not yet.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
dialects = {"Graph": "gir", "Plan": "plan", "Schedule": "sched", "Tile": "tile", "Target": "tessera_target"}
ops = set()
for stage, dialect in dialects.items():
    text = (root / f"compiler/{stage}/IR/{stage}Ops.td").read_text()
    ops |= {f"{dialect}.{name}" for name in re.findall(rf'def {stage}_\w+\s*:\s*{stage}_\w+<\s*"(\w+)"', text)}

errors, checked = [], 0
for number, line in enumerate((root / "docs/names.md").read_text().splitlines(), 1):
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    if len(cells) != 3 or cells[2] not in ("here", "later"):
        continue
    for name in re.findall(r"`((?:gir|sched|tile|tessera_target)\.\w+)", cells[1]):
        checked += 1
        if (name in ops) != (cells[2] == "here"):
            state = "exists" if name in ops else "does not exist"
            errors.append(f"docs/names.md:{number}: {name} is marked '{cells[2]}' but {state} in TableGen")
if checked == 0:
    errors.append("docs/names.md: no op found to check")
print("\n".join(errors) or f"names ok ({checked} ops of docs/names.md, {len(ops)} in TableGen)")
sys.exit(bool(errors))
