#!/usr/bin/env python3
"""Numeric tests pick no tolerances: they compare bit for bit, or with a bound that is derived (tessera.oracle.bounds, test/numerics/bounds.py).

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import pathlib
import re
import sys

PICKED = re.compile(r"\b(allclose|assert_allclose|isclose|assert_close|assert_almost_equal|assert_array_almost_equal|approx)\s*\(|\b(rtol|atol)\s*=")
# File -> why a number stands there. A file that no longer needs its line is an error, too.
ALLOWED = {
    "test/errors/test_foreign_names.py": "whether a proposed spelling means what torch's name does: another meaning is off by far more",
    "test/oracle/test_interpreter_composites.py": "the reference domain itself, which does not round, against other libraries' float64",
    "test/oracle/test_interpreter_tensors.py": "the reference domain itself against NumPy's float64",
    "test/oracle/test_run.py": "the reference domain against torch's float64",
}


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent
    found, needed = [], set()
    for path in sorted(root.glob("test/**/*.py")):
        name = path.relative_to(root).as_posix()
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if PICKED.search(line.partition("#")[0]):
                needed.add(name)
                if name not in ALLOWED:
                    found.append(f"{name}:{number}: a tolerance is picked by hand; compare with tessera.oracle.bounds(fn, ...) or bounds.check: {line.strip()[:90]}")
    found += [f"tools/check-tolerances.py: {name} needs no exception any more" for name in ALLOWED if name not in needed and (root / name).exists()]
    print("\n".join(found) or f"tolerances ok ({len(ALLOWED)} files excepted)")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
