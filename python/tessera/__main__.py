"""The command `tessera`.

    tessera doctor              what works on this machine, and what to install for the rest
    tessera report [file]       what to send us after an internal error: source, IR, options, versions; no data
    tessera cache [--clear]     what the disk cache has, or removes all of it
    tessera examples [name]     as `python -m tessera.examples`
    tessera check file.py       executes every stage of its functions and kernels, and compares
    tessera tune file.py        measures configurations of its functions and kernels, and remembers the best
    tessera profile file.py     times its functions and kernels on the CPU, and says what limits them
    tessera bisect file.py:fn   names the first pass whose result differs
    tessera roofline            what this machine's cores and memory can do, measured
    tessera gpu-selftest        the shipped kernels on this machine's GPU, compared and timed

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import sys


def main(arguments: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    command, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if command == "doctor":
        from . import doctor

        return doctor.main(rest)
    if command == "report":
        from . import report

        return report.main(rest)
    if command == "cache":
        from . import disk

        return disk.main(rest)
    if command == "examples":
        from .examples import __main__ as examples

        return examples.main(rest)
    if command == "check":
        from . import check

        return check.main(rest)
    if command == "tune":
        from . import tuner

        return tuner.main(rest)
    if command == "profile":
        from . import profiler

        return profiler.main(rest)
    if command == "bisect":
        from . import bisect

        return bisect.main(rest)
    if command == "roofline":
        from . import roofline

        return roofline.main(rest)
    if command == "gpu-selftest":
        from . import selftest

        return selftest.main(rest)
    if command in ("--version", "-V", "version"):
        import tessera

        print(tessera.__version__)
        return 0
    print(__doc__.partition("SPDX")[0].strip())
    if command in ("", "-h", "--help", "help"):
        return 0
    import difflib

    near = difflib.get_close_matches(command, ("doctor", "report", "cache", "examples", "check", "tune", "profile", "bisect", "roofline", "gpu-selftest"), 1)
    print(f"\nerror: no command is called {command!r}" + (f"; did you mean {near[0]}?" if near else ""), file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
