# `python -m tessera.sim.run`: runs a Triton script on the simulator.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a Triton script on the simulator, without a GPU. What is not an option
of ours goes to the script. A file called test_*.py is given to pytest."""

import argparse
import os
import runpy
import sys


def parse(arguments):
    parser = argparse.ArgumentParser(prog="tessera-sim triton", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("script")
    parser.add_argument("--arch", default="sm_80")
    parser.add_argument("--check", action="store_true", help="report races, uninitialised reads and misuse")
    parser.add_argument("--count", action="store_true", help="count, and print the last kernel's report")
    parser.add_argument("--seed", type=int, help="adversarial schedules with this seed")
    parser.add_argument("--max-instructions", type=int, default=0, help="warp instructions after which a block is ended")
    parser.add_argument("--max-seconds", type=float, default=0, help="seconds after which a launch is ended")
    parser.add_argument("--html", help="write the last kernel's report here")
    return parser.parse_known_args(arguments)


def main(arguments):
    options, rest = parse(arguments)
    try:
        from . import triton as sim_triton
    except ImportError as error:
        print(f"tessera-sim: {error} ({sys.executable})", file=sys.stderr)
        return 1
    driver = sim_triton.activate(
        options.arch, check=options.check, count=options.count or bool(options.html),
        seed=options.seed or 0, adversarial=options.seed is not None,
        max_instructions=options.max_instructions, max_seconds=options.max_seconds)
    sys.argv = [options.script, *rest]
    code = 0
    try:
        if os.path.basename(options.script).startswith("test_"):
            import pytest
            code = int(pytest.main([options.script, *rest]))
        else:
            sys.path.insert(0, os.path.dirname(os.path.abspath(options.script)))
            runpy.run_path(options.script, run_name="__main__")
    except sim_triton.SimulationError as error:
        # The user's lines are in the report; our own frames help nobody.
        print(f"tessera-sim: {error}", file=sys.stderr)
        code = 1
    report = driver.last_report
    if report is not None and options.count:
        print(f"{report.kernel}: {report.text()}")
    if report is not None and options.html:
        with open(options.html, "w") as out:
            out.write(report.html(report.ptx))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
