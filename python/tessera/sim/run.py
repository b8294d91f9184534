# `python -m tessera.sim.run`: runs a Triton script on the simulator.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: tessera-sim triton SCRIPT.py [--arch sm_80] [--check] [--count]
[--seed N] [--html FILE] [arguments of the script ...]

If SCRIPT.py is a pytest file (test_*.py), pytest runs it with the plug-in."""

import runpy
import sys


def main(arguments):
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 2
    script, rest, options, arch, html = arguments[0], [], {}, "sm_80", None
    values = iter(arguments[1:])
    for word in values:
        if word == "--arch":
            arch = next(values)
        elif word == "--seed":
            options.update(seed=int(next(values)), adversarial=True)
        elif word == "--html":
            html = next(values)
            options["count"] = True
        elif word in ("--check", "--count"):
            options[word[2:]] = True
        else:
            rest.append(word)
    from . import triton as sim_triton
    driver = sim_triton.activate(arch, **options)
    sys.argv = [script, *rest]
    name = script.rsplit("/", 1)[-1]
    if name.startswith("test_"):
        import pytest
        return pytest.main([script, *rest])
    runpy.run_path(script, run_name="__main__")
    if html and driver.last_report is not None:
        with open(html, "w") as out:
            out.write(driver.last_report.html(driver.last_report.ptx))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
