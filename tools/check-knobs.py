#!/usr/bin/env python3
"""Every environment variable of ours is listed in python/tessera/knobs.py, and Python reads it only there.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
KNOBS = "python/tessera/knobs.py"
PRODUCT = ("python/", "runtime/", "compiler/", "jit/", "sim/", "include/")
NAME = re.compile(r"""["'](TESSERA_[A-Z0-9_]*[A-Z0-9])["']""")
READS = re.compile(r"\bgetenv\s*\(|\benviron\b")
# Tests of the product may set what they like; these folders hold some.
EXEMPT = ("sim/test/", "runtime/bench/")
# C++ that may read the environment at all: never the compiler, whose options come in a struct.
READERS = ("runtime/", "sim/")


def main() -> int:
    listed = set(NAME.findall((ROOT / KNOBS).read_text()))
    files = subprocess.run(["git", "ls-files", *PRODUCT], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    problems, used = [], set()
    for name in files:
        if name == KNOBS or name.startswith(EXEMPT) or "/test/" in name or not name.endswith((".py", ".cpp", ".h", ".c")):
            continue
        for number, line in enumerate((ROOT / name).read_text(errors="replace").splitlines(), 1):
            found = NAME.findall(line)
            used.update(found)
            for variable in found:
                if variable not in listed:
                    problems.append(f"{name}:{number}: {variable} is not listed in {KNOBS}")
                elif name.endswith(".py"):
                    problems.append(f"{name}:{number}: {variable} is read here; use tessera.knobs")
            if READS.search(line) and not name.endswith(".py") and not name.startswith(READERS):
                problems.append(f"{name}:{number}: the environment is read here; pass an option")
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        print(f"knobs ok ({len(listed)} variables)")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
