#!/usr/bin/env python3
# Runs the math expansions over all float32 arguments and reports the errors.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the error of target-expand-math, function by function.

    python3 tools/math/exhaustive.py                   # all 2^32 arguments
    python3 tools/math/exhaustive.py --fast            # every 257th, for CI
    python3 tools/math/exhaustive.py exp sin --stride 17

The functions go through the real pass, MLIR's lowering and clang -O3 without
contraction. pow is measured on random pairs plus all pairs of special values.
Exits with 1 if a function is off by more than 2 ULP or misses a special case.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
UNARY = ["exp", "exp2", "expm1", "log", "log2", "log1p", "rsqrt", "sin", "cos",
         "tanh", "erf"]
FUNCTIONS = UNARY + ["powf"]
CHUNK = 4096  # as in exhaustive_driver.cpp
LIMIT_ULP = 2.0

LOWERING = [
    "--convert-vector-to-scf", "--convert-scf-to-cf", "--convert-vector-to-llvm",
    "--convert-cf-to-llvm", "--convert-arith-to-llvm", "--convert-math-to-llvm",
    "--finalize-memref-to-llvm",
    "--convert-func-to-llvm=use-bare-ptr-memref-call-conv=1",
    "--reconcile-unrealized-casts",
]


def find_opt():
    """tessera-opt: $TESSERA_OPT, the PATH, or the newest build directory."""
    if os.environ.get("TESSERA_OPT"):
        return os.environ["TESSERA_OPT"]
    found = shutil.which("tessera-opt")
    if found:
        return found
    built = sorted(ROOT.glob("build/**/bin/tessera-opt"),
                   key=lambda path: path.stat().st_mtime)
    return str(built[-1]) if built else None


def llvm_tool(name):
    prefix = subprocess.run(["llvm-config-22", "--bindir"], check=True,
                            capture_output=True, text=True).stdout.strip()
    return f"{prefix}/{name}"


def loop(name, operands, width):
    """One function over a chunk, on vectors or (width None) on scalars."""
    memref = f"memref<{CHUNK}xf32>"
    kind = f"vector<{width}xf32>" if width else "f32"
    load, store = ("vector.load", "vector.store") if width else (
        "memref.load", "memref.store")
    suffix = f", {kind}" if width else ""
    arguments = ", ".join(f"%in{i}: {memref}" for i in range(operands))
    lines = [
        f"func.func @tsr_{name}{'' if width else '_scalar'}({arguments},"
        f" %out: {memref}) {{",
        "  %begin = arith.constant 0 : index",
        f"  %end = arith.constant {CHUNK} : index",
        f"  %step = arith.constant {width or 1} : index",
        "  scf.for %i = %begin to %end step %step {",
    ]
    for i in range(operands):
        lines.append(f"    %x{i} = {load} %in{i}[%i] : {memref}{suffix}")
    xs = ", ".join(f"%x{i}" for i in range(operands))
    lines += [f"    %y = math.{name} {xs} : {kind}",
              f"    {store} %y, %out[%i] : {memref}{suffix}", "  }", "  return",
              "}"]
    return "\n".join(lines)


def run(command, **keywords):
    result = subprocess.run(command, capture_output=True, text=True, **keywords)
    if result.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{result.stderr}")
    return result.stdout


def build(directory, opt, functions=FUNCTIONS, pass_options="",
          vector_width=16):
    """Compiles the driver with the expansions; returns the executable."""
    directory = pathlib.Path(directory)
    text = "\n".join(loop(name, 2 if name == "powf" else 1, width)
                     for name in functions for width in (vector_width, None))
    expanded = run([opt, f"--target-expand-math{pass_options}"], input=text)
    for name in functions:
        if f"math.{name} " in expanded:
            raise RuntimeError(f"math.{name} was not expanded")
    lowered = run([llvm_tool("mlir-opt"), *LOWERING], input=expanded)
    llvm = run([llvm_tool("mlir-translate"), "--mlir-to-llvmir"], input=lowered)
    (directory / "functions.ll").write_text(llvm)
    flags = ["-O3", "-march=native", "-ffp-contract=off", "-fno-math-errno"]
    run(["clang-22", *flags, "-Wno-override-module", "-c",
         str(directory / "functions.ll"), "-o", str(directory / "functions.o")])
    executable = directory / "driver"
    run(["clang++-22", "-std=c++20", *flags, str(HERE / "exhaustive_driver.cpp"),
         str(directory / "functions.o"), "-o", str(executable), "-lmvec", "-lm",
         "-lpthread"])
    return executable


def measure(executable, name, stride, pairs, budget, threads):
    out = run([str(executable), name, str(stride), str(pairs), str(budget),
               str(threads)])
    return json.loads(out)


def verdict(result):
    """None if the contract holds, else the reason it does not."""
    if result["max_ulp"] > LIMIT_ULP:
        return f"{result['max_ulp']} ULP at {result['at']} {result['at_y']}"
    if result["wrong_specials"]:
        return (f"{result['wrong_specials']} wrong special cases, the first at "
                f"{result['wrong_at']} {result['wrong_at_y']}")
    if result["scalar_differs"]:
        return f"{result['scalar_differs']} scalar results differ from vectors"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("functions", nargs="*", metavar="function",
                        help=f"of {' '.join(FUNCTIONS)} (default: all)")
    parser.add_argument("--opt", default=find_opt(), help="path of tessera-opt")
    parser.add_argument("--fast", action="store_true",
                        help="stride 257 and 2^21 pairs: seconds, for CI")
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument("--pairs", type=int, default=1 << 28,
                        help="number of pairs for powf")
    parser.add_argument("--budget", type=float, default=0,
                        help="seconds per function; 0: no limit")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--pass-options", default="",
                        help="for example ={branch-on-large-arguments=true}")
    parser.add_argument("--json", help="also write the results here")
    args = parser.parse_args()
    functions = args.functions or FUNCTIONS
    unknown = set(functions) - set(FUNCTIONS)
    if unknown:
        parser.error(f"unknown function {sorted(unknown)[0]}")
    if not args.opt:
        parser.error("tessera-opt not found; build it or pass --opt")
    if args.fast:
        args.stride, args.pairs = 257, 1 << 21
    failed = False
    results = []
    with tempfile.TemporaryDirectory() as directory:
        executable = build(directory, args.opt, FUNCTIONS, args.pass_options)
        for name in functions:
            result = measure(executable, name, args.stride, args.pairs,
                             args.budget, args.threads)
            results.append(result)
            reason = verdict(result)
            failed |= reason is not None
            print(f"{name:6} max {result['max_ulp']:7.4f} ULP at {result['at']}"
                  f"{' ' + result['at_y'] if name == 'powf' else ''}  "
                  f"{result['inputs']:>10} inputs  {result['seconds']:6.1f} s  "
                  f"{result['ns_per_element']:6.3f} ns/element  "
                  f"{'ok' if reason is None else 'FAILED: ' + reason}",
                  flush=True)
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(results, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
