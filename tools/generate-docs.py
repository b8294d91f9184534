#!/usr/bin/env python3
"""Writes the generated parts of the documents, or with --check fails if they are stale.

* docs/reference/*.md: the ops and passes, from TableGen; the architectures, from the compiler's table; what programs can call, by tools/list-operations.py.
* every block under `<!-- output of: COMMAND -->` in docs/*.md: what COMMAND prints in examples/.

Tools come from TESSERA_BIN (default: build/release/bin).
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
BIN = pathlib.Path(os.environ.get("TESSERA_BIN", ROOT / "build/release/bin"))
DIALECTS = {"gir": "compiler/Graph/IR/GraphOps.td", "plan": "compiler/Plan/IR/PlanOps.td", "sched": "compiler/Schedule/IR/ScheduleOps.td",
            "tile": "compiler/Tile/IR/TileOps.td", "tessera_target": "compiler/Target/IR/TargetOps.td"}
LICENSE = "<!-- SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception -->\n"
OUTPUT = re.compile(r"(<!-- output of: (.*?) -->\n```(\w*)\n)(.*?)(```\n)", re.S)


def tblgen(*arguments: str) -> str:
    prefix = subprocess.run(["llvm-config-22", "--prefix"], capture_output=True, text=True, check=True).stdout.strip()
    command = [f"{prefix}/bin/mlir-tblgen", *arguments, "-I", str(ROOT), "-I", f"{prefix}/include"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def reference_pages():
    """(path, text) of every generated page."""
    folder = ROOT / "docs/reference"
    for dialect, source in DIALECTS.items():
        text = tblgen("-gen-dialect-doc", f"-dialect={dialect}", source, "-I", os.path.dirname(source))
        yield folder / f"{dialect}.md", LICENSE + text.replace("[TOC]\n\n", "")
    passes = [LICENSE, "# Passes\nBy folder; each stage's README has the order. `tessera-opt --<name>` runs one alone.\n"]
    for source in sorted(ROOT.glob("compiler/**/Passes.td")):
        where = source.parent.relative_to(ROOT)
        text = tblgen("-gen-pass-doc", str(source.relative_to(ROOT)))
        passes.append(f"\n## {where}\n" + re.sub(r"^<!--.*-->\n", "", text))
    yield folder / "passes.md", "".join(passes)
    text = subprocess.run([BIN / "tesserac", "architectures"], capture_output=True, text=True, check=True).stdout
    yield folder / "architectures.md", LICENSE + text
    text = subprocess.run([sys.executable, ROOT / "tools/list-operations.py"], capture_output=True, text=True, check=True).stdout
    yield folder / "ops.md", LICENSE + text


def with_outputs(text: str) -> str:
    """`text` with every block under an `output of` comment printed again."""

    def printed(match):
        environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "NO_COLOR": "1", "PYTHON": sys.executable}
        result = subprocess.run(["bash", "-euo", "pipefail", "-c", match[2]], cwd=ROOT / "examples", env=environment,
                                capture_output=True, text=True)
        # `head` closes the pipe early: 141 is no failure.
        if result.returncode not in (0, 141):
            sys.exit(f"{match[2]}\n{result.stderr}")
        return match[1] + result.stdout + match[5]

    return OUTPUT.sub(printed, text)


def main() -> int:
    check = "--check" in sys.argv[1:]
    pages = list(reference_pages())
    pages += [(page, with_outputs(page.read_text())) for page in sorted((ROOT / "docs").glob("*.md"))]
    stale = [page for page, text in pages if not page.exists() or page.read_text() != text]
    if check:
        for page in stale:
            print(f"{page.relative_to(ROOT)}: stale; run tools/generate-docs.py", file=sys.stderr)
        return 1 if stale else 0
    for page, text in pages:
        page.parent.mkdir(exist_ok=True)
        page.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
