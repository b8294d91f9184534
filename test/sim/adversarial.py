# Runs the CUDA programs under adversarial schedules with the checker on.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: adversarial.py [--runs 100] [--first-seed 0] [--arch sm_80]

Every program of test_cuda.py must have been built (run that test first). A
run fails if a program's own check fails or the simulator reports anything."""

import argparse
import os
import subprocess
import sys

import conftest  # noqa: F401
from test_cuda import BUILD, LIBRARY, PROGRAMS


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--arch", default="sm_80")
    options = parser.parse_args()
    names = [n for n in PROGRAMS if n != "illegal_address"]
    failures = done = 0
    seed = options.first_seed
    while done < options.runs:
        for name in names:
            if done >= options.runs:
                break
            environment = {**os.environ, "LD_LIBRARY_PATH": str(LIBRARY),
                           "TESSERA_SIM_ARCH": options.arch, "TESSERA_SIM_CHECK": "1",
                           "TESSERA_SIM_SEED": str(seed)}
            try:
                r = subprocess.run([str(BUILD / name)], capture_output=True, text=True,
                                   timeout=120, env=environment)
                bad = r.returncode != 0 or "tessera-sim:" in r.stderr
                text = r.stdout + r.stderr
            except subprocess.TimeoutExpired:
                bad, text = True, "timeout"
            done += 1
            if bad:
                failures += 1
                print(f"{name} seed {seed}: {text[:500]}", flush=True)
        seed += 1
    print(f"{done} runs, seeds {options.first_seed} to {seed - 1}, {failures} failed")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
