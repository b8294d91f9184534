# Runs foreign code under adversarial schedules with the checker on.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: adversarial.py [--runs 100] [--first-seed 1] [--only cuda,triton,cub,cutlass,tilelang] [--time SECONDS]

One run is one program or kernel test under one seed: CUDA programs of
test_cuda.py on sm_80 (built if need be), CUB, CUTLASS gemms, the Triton tests of
test_triton.py (every kernel and architecture there) and the TileLang kernels,
where their packages are installed. A run fails if its own check fails or the
simulator reports anything. Seeds are taken in turn until there are enough
runs or the time is over."""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import conftest  # noqa: E402
import test_cuda  # noqa: E402


# Reports that docs/simulator.md explains ("Real defects found in foreign code").
DOCUMENTED = {"cutlass_gemm": r"uninitialised: .* reads shared address .*/arch/memory_sm75\.h:"}
documented = 0


def have(package):
    return subprocess.run([sys.executable, "-c", f"import {package}"], capture_output=True).returncode == 0


def cuda_run(name, seed):
    environment = {**os.environ, "LD_LIBRARY_PATH": str(conftest.CUDA_LIBRARY), "TESSERA_SIM_ARCH": "sm_80",
                   "TESSERA_SIM_CHECK": "1", "TESSERA_SIM_SEED": str(seed)}
    try:
        r = subprocess.run([str(test_cuda.BUILD / name)], capture_output=True, text=True, timeout=600,
                           env=environment)
    except subprocess.TimeoutExpired:
        return "timeout"
    reports = [line for line in r.stderr.splitlines() if line.startswith("tessera-sim:")]
    known = [line for line in reports if name in DOCUMENTED and re.search(DOCUMENTED[name], line)]
    global documented
    documented += bool(known)
    bad = r.returncode != 0 or len(known) < len(reports)
    return (r.stdout + r.stderr)[:600] if bad else None


def cuda(seed):
    for name in test_cuda.PROGRAMS:
        if name == "illegal_address":
            continue
        if seed == options.first_seed:
            test_cuda.build(name, [f"{name}.cu"], test_cuda.PTX)
        yield f"cuda {name}", cuda_run(name, seed)


def cub(seed):
    if seed == options.first_seed:
        test_cuda.build("cub_algorithms", ["cub_algorithms.cu"], test_cuda.PTX)
    yield "cub_algorithms", cuda_run("cub_algorithms", seed)


def cutlass(seed):
    yield "cutlass_gemm", cuda_run("cutlass_gemm", seed)


def triton(seed):
    r = subprocess.run([sys.executable, "-m", "pytest", str(HERE / "test_triton.py"), "-p", "no:cacheprovider",
                        "--tb=short", "-q", "-rA", "--no-header", *(["-k", options.select] if options.select else [])],
                       capture_output=True, text=True,
                       env={**os.environ, "TESSERA_SIM_CHECK": "1", "TESSERA_SIM_SEED": str(seed)})
    found = re.findall(r"^(PASSED|FAILED|ERROR) \S*::(\S+)(.*)", r.stdout, re.M)
    if not found:
        raise SystemExit(r.stdout + r.stderr)
    for outcome, name, text in found:
        yield f"triton {name}", None if outcome == "PASSED" else text
    if any(outcome != "PASSED" for outcome, _, _ in found):
        print(r.stdout[:options.verbose * 6000], flush=True)


def tilelang(seed):
    r = subprocess.run([options.tilelang_python, str(HERE / "tilelang_kernels.py"), "--seed", str(seed), "--keep",
                        str(test_cuda.BUILD / "tilelang")],
                       capture_output=True, text=True)
    found = re.findall(r"^(ok|FAILED) (.*)", r.stdout, re.M)
    if not found:
        raise SystemExit(r.stdout + r.stderr)
    for outcome, text in found:
        yield "tilelang " + text.split(":")[0], None if outcome == "ok" else text


def main():
    global options
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--only", default="cuda,triton,cub,cutlass,tilelang")
    parser.add_argument("--select", default="", help="of the Triton tests, as pytest -k")
    parser.add_argument("--time", type=float, default=float("inf"))
    parser.add_argument("--tilelang-python", default=sys.executable)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    groups = []
    for group in (cuda, triton, cub, cutlass, tilelang):
        name = group.__name__
        if name not in options.only.split(","):
            continue
        missing = (name in ("cuda", "cub", "tilelang") and not shutil.which("nvcc") and "nvcc"
                   or name == "cutlass" and not (test_cuda.BUILD / "cutlass_gemm").exists() and
                   "its build by test_foreign.py"
                   or name == "triton" and not have("triton") and "triton")
        if missing:
            print(f"no {name} runs: {missing} is missing")
        else:
            groups.append(group)
    if not groups:
        return 1
    counts, failures, seed, start = {}, 0, options.first_seed, time.time()
    while sum(counts.values()) < options.runs and time.time() - start < options.time:
        for group in groups:
            for name, problem in group(seed):
                counts[group.__name__] = counts.get(group.__name__, 0) + 1
                if problem:
                    failures += 1
                    print(f"seed {seed}: {name}: {problem}", flush=True)
                if sum(counts.values()) >= options.runs:
                    break
            if sum(counts.values()) >= options.runs:
                break
        print(f"seed {seed} done: {sum(counts.values())} runs, {failures} failed, {time.time() - start:.0f} s", flush=True)
        seed += 1
    print(f"{sum(counts.values())} runs ({', '.join(f'{n} {k}' for k, n in counts.items())}), "
          f"seeds {options.first_seed} to {seed - 1}, {failures} failed, "
          f"{documented} with reports that are documented")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
