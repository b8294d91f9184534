#!/usr/bin/env python3
"""Writes compiler/Target/IR/PtxOpcodes.inc: each PTX instruction's first word and what may follow it, from the table of docs/simulator.md.

That table is the simulator's own (sim/ptx/SpecTable.cpp), which every PTX of the corpora, all taken by ptxas, goes through.
With --check it fails if the file is stale.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
TARGET = ROOT / "compiler/Target/IR/PtxOpcodes.inc"
HEAD = """// First words of PTX instructions and what may follow them; written by tools/generate-ptx-opcodes.py. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// clang-format off
"""
# Instructions of PTX ISA 9.0 (chapter 9.7) that the simulator's table has no row for: anything may follow.
UNKNOWN = ("alloca stackrestore stacksave fns istypep ldu pmevent suld suq sured sust szext tex tld4 txq vabsdiff vabsdiff2 vabsdiff4 vadd vadd2 vadd4 vavrg2 vavrg4 "
           "vmad vmax vmax2 vmax4 vmin vmin2 vmin4 vset vset2 vset4 vshl vshr vsub vsub2 vsub4 slct bfind cnot bmsk clusterlaunchcontrol").split()


def opcodes() -> dict[str, set]:
    """First word -> modifiers and types."""
    found: dict[str, set] = {}
    for line in (ROOT / "docs/simulator.md").read_text().splitlines():
        row = re.match(r"\| `([a-z0-9_.:]+)` \| ([^|]*)\| ([^|]*)\|", line)
        if not row:
            continue
        word, *required = row[1].split(".")
        found.setdefault(word, set()).update(required, re.findall(r"\.([\w:]+)", row[2] + row[3]))
    return found


def text() -> str:
    known = opcodes()
    rows = [f'TESSERA_PTX_OPCODE("{word}", "{" ".join(sorted(known.get(word, ())))}")\n' for word in sorted({*known, *UNKNOWN})]
    return HEAD + "".join(rows)


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        sys.exit(0 if TARGET.read_text() == text() else f"{TARGET} is stale: run tools/generate-ptx-opcodes.py")
    TARGET.write_text(text())
