"""`tessera report`: what the maintainers need to repeat an internal error, in one text file.

Source, IR, options and versions; no array ever: a reproducer is made of the program alone.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import argparse
import glob
import os
import pathlib
import platform
import sys
import tempfile

from .knobs import knobs

_MARK = "// tessera reproducer 1\n"


def _is_reproducer(path: str) -> bool:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(len(_MARK)) == _MARK and os.stat(path).st_uid == os.geteuid()
    except OSError:
        return False


def newest() -> str | None:
    """The last reproducer that an internal error left in the folder for temporary files."""
    found = [path for path in glob.glob(os.path.join(tempfile.gettempdir(), "tessera-*.mlir")) if _is_reproducer(path)]
    return max(found, key=os.path.getmtime, default=None)


def versions() -> list[str]:
    import numpy

    import tessera

    from . import _runtime, keys

    rows = [f"tessera {tessera.__version__}", f"LLVM {_runtime.LLVM_VERSION}", f"Python {platform.python_version()}", f"numpy {numpy.__version__}",
            f"{platform.system()} {platform.release()} {platform.machine()}", f"glibc {' '.join(platform.libc_ver())}", f"cpu {_runtime.cpu_signature()}"]
    try:
        rows.append(f"build {' '.join(keys.build()[1:3])}")
    except keys.NoKey:
        rows.append("build unknown")
    for name in ("torch", "triton"):
        if name in sys.modules:
            rows.append(f"{name} {sys.modules[name].__version__}")
    return rows


def switches() -> list[str]:
    """The knobs that are not at their default."""
    rows = [f"{knob.variable}={knob.read()}" for knob in knobs._knobs.values() if knob.read() != knob.default]
    return rows + [f"{name}={os.environ[name]}" for name in knobs._native if os.environ.get(name)]


def text(path: str | None) -> str:
    from . import doctor

    parts = {"versions": versions(), "knobs": switches() or ["all at their defaults"],
             "doctor": [f"{f.name:10} {f.state:8} {f.text}" for f in doctor.examine()]}
    rows = ["tessera report 1", ""]
    for title, lines in parts.items():
        rows += [f"== {title}", *lines, ""]
    rows.append(f"== reproducer {path or 'none: no internal error has left one here'}")
    if path:
        rows.append(pathlib.Path(path).read_text(encoding="utf-8", errors="replace"))
    return "\n".join(rows) + "\n"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("tessera report", description="Collects source, IR, options and versions of an internal error in one file; no data.")
    parser.add_argument("reproducer", nargs="?", help="the file that the error names; default: the newest")
    parser.add_argument("-o", "--output", default="tessera-report.txt", help="the file to write; - prints")
    try:
        given = parser.parse_args(arguments)
    except SystemExit as stop:
        return int(stop.code or 0)
    path = given.reproducer or newest()
    if given.reproducer and not _is_reproducer(given.reproducer):
        print(f"error: {given.reproducer} is no reproducer of yours\n fix:  tessera report, for the newest", file=sys.stderr)
        return 2
    report = text(path)
    if given.output == "-":
        print(report, end="")
        return 0
    pathlib.Path(given.output).write_text(report, encoding="utf-8")
    print(f"written: {given.output}; it has source and IR of your program, the options and versions, no data. Look at it before you send it.")
    return 0
