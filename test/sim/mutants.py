# Breaks correct PTX on purpose and counts what the checker finds.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: mutants.py [--seed N] [--count N] [--verbose]

Takes the kernels of cuda/*.cu (PTX by nvcc), applies one mutation each (drop
a barrier, drop or weaken a cp.async wait, drop a fence, move a barrier above
the store before it, shift an address, shrink an allocation), runs them with
the checker and prints the share that was reported at the right place. A
mutant counts only if it is not equivalent: survivors whose results are those
of the original are listed as such."""

import argparse
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import conftest  # noqa: E402,F401
import tessera.sim as sim  # noqa: E402


def arrays(*specs):
    rng = np.random.default_rng(1)
    return [rng.integers(0, 100, n).astype(t) if np.dtype(t).kind in "iu"
            else rng.random(n).astype(t) for n, t in specs]


# source: (kernel name part, grid, block, dynamic shared, arrays, scalars)
KERNELS = {
    "reduce_shared": ("reduce", 2, 256, 0, [(2000, "f4"), (2, "f4")], [2000]),
    "scan_block": ("scan", 1, 256, 0, [(512, "i4"), (512, "i4")], []),
    "transpose": ("transpose", (2, 2), (32, 8), 0, [(64 * 64, "f4"), (64 * 64, "f4")], [64, 64]),
    "sgemm_tiled": ("gemm", (2, 2), (16, 16), 0, [(1024, "f4")] * 3, [32]),
    "bitonic_sort": ("sort", 1, 128, 512, [(128, "i4")], [128]),
    "stencil": ("step", (2, 2), (16, 16), 0, [(1024, "f4")] * 2, [32]),
    "cp_async": ("scale", 1, 64, 0, [(5 * 256, "f4")] * 2, [5]),
    "histogram": ("histogram", 2, 256, 0, [(3000, "u1"), (256, "u4")], [3000]),
    "scan_lookback": ("scan", 4, 128, 0, [(512, "i4")] * 2, [512]),
    "spin_lock": ("critical", 2, 32, 0, [], []),
}


def compile_ptx(name):
    with tempfile.TemporaryDirectory() as d:
        out = pathlib.Path(d) / "k.ptx"
        subprocess.run(["nvcc", "-std=c++17", "-ptx", "-arch=sm_80",
                        str(HERE / "cuda" / f"{name}.cu"), "-o", str(out)], check=True)
        return out.read_text()


def body_lines(lines, kernel):
    start = next(i for i, l in enumerate(lines) if ".entry" in l and kernel in l)
    depth, inside = 0, False
    for i in range(start, len(lines)):
        depth += lines[i].count("{") - lines[i].count("}")
        if "{" in lines[i]:
            inside = True
        if inside and depth == 0:
            return range(start, i)


def mutations(text, kernel, shapes):
    """Every mutation of the kernel as (kind, line number, new text)."""
    lines = text.splitlines()
    out = []

    def change(kind, i, new):
        copy = list(lines)
        copy[i:i + 1] = [new]
        out.append((kind, i + 1, "\n".join(copy)))

    for i in body_lines(lines, kernel):
        line = lines[i].strip()
        if re.match(r"bar(rier)?\.(cta\.)?sync", line):
            change("drop barrier", i, "")
            for j in range(i - 1, max(i - 12, 0), -1):
                if re.match(r"\s*(@\S+\s+)?st\.shared", lines[j]):
                    copy = list(lines)
                    copy[i] = ""
                    copy[j] = lines[i] + " " + lines[j]
                    out.append(("move barrier", j + 1, "\n".join(copy)))
                    break
        if line.startswith("cp.async.wait_group"):
            n = int(re.search(r"wait_group (\d+)", line)[1])
            change("drop wait", i, "")
            change("weaken wait", i, lines[i].replace(f"wait_group {n}", f"wait_group {n + 1}"))
        if re.match(r"(fence|membar)\b", line):
            change("drop fence", i, "")
        m = re.match(r"(@\S+\s+)?(ld|st)\.(volatile\.)?(shared|global)\S*\s", line)
        if m:
            address = re.search(r"\[([^\]+]+)(?:\+(-?\d+))?\]", line)
            # Far enough to leave the variable: a shift inside one array is a
            # legal access to a wrong element, which no memory checker sees.
            for delta in (16384, -16384):
                offset = int(address[2] or 0) + delta
                change("shift address", i, lines[i].replace(
                    address[0], f"[{address[1]}+{offset}]"))
    for k in range(len(shapes)):
        out.append(("shrink allocation", -1 - k, text))
    return out


def run(text, spec, shrink=None, inputs=None):
    part, grid, block, shared, shapes, scalars = spec
    device = sim.Device()
    module = device.load(text)
    kernel = next(k for k in module.kernels() if part in k)
    data = [a.copy() for a in inputs]
    for k, a in enumerate(data):
        size = a.nbytes - (4 if shrink == k else 0)
        device.expose(a.ctypes.data, size, f"argument {k}")
    params = sim.device.pack(module, kernel, data + scalars)
    report = module.launch(kernel, grid, block, params, shared=shared, check=True,
                           max_instructions=2000000)
    return report, data


def found(kind, line, report):
    """Is there a report at the right place?"""
    for e in report.errors:
        lines = {e["ptx_line"], e["other_ptx_line"]}
        lines.update(int(n) for n in re.findall(r"PTX line (\d+)", e["message"]))
        if kind == "shift address" and line in lines:
            return True
        if kind == "shrink allocation" and e["kind"] == "out-of-bounds":
            return True
        if kind in ("drop barrier", "move barrier", "drop fence", "drop wait", "weaken wait") and \
                e["kind"] in ("race", "async-copy", "uninitialised", "divergent-barrier"):
            return True
    return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=120)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    pool = []
    for name, spec in KERNELS.items():
        text = compile_ptx(name)
        inputs = arrays(*spec[4])
        report, want = run(text, spec, inputs=inputs)
        assert report.ok, f"{name}: {report.text()}"
        pool += [(name, spec, inputs, want, m) for m in mutations(text, spec[0], spec[4])]
    random.Random(options.seed).shuffle(pool)
    chosen, killed, equivalent, survivors = pool[:options.count], 0, [], []
    for name, spec, inputs, want, (kind, line, text) in chosen:
        report, got = run(text, spec, shrink=-1 - line if line < 0 else None, inputs=inputs)
        if found(kind, line, report):
            killed += 1
            continue
        same = report.ok and all(np.array_equal(a, b) for a, b in zip(got, want))
        (equivalent if same else survivors).append((name, kind, line, report))
    print(f"seed {options.seed}: {len(chosen)} mutants of {len(pool)}, {killed} reported, "
          f"{len(equivalent)} equivalent (same results, no report), {len(survivors)} missed")
    for title, group in (("equivalent", equivalent), ("missed", survivors)):
        for name, kind, line, report in group:
            print(f"  {title}: {name}: {kind} at PTX line {line}"
                  + (f" {report!r}"[:300] if options.verbose else ""))
    share = killed / max(1, len(chosen) - len(equivalent))
    print(f"reported share of the mutants that change anything: {100 * share:.1f} %")
    return 0 if share >= 0.95 else 1


if __name__ == "__main__":
    sys.exit(main())
