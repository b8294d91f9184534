#!/usr/bin/env python3
"""Which kernels, of which types, work on which NVIDIA architectures.

    python tools/gpu-matrix.py                          all of it, as a table
    python tools/gpu-matrix.py --kernels gemm --types fp16 --archs sm_75,sm_80 --json out.json

Marks: `ok`: every assembler found accepts it, and on the simulator the results at aligned and odd extents are within derived
bounds, with no race and no finding of the other checks. Blank: a line of the table of architectures says why (printed below it). `not done`: nobody has built
it. `WRONG`: it was built, and this run found it wrong.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "test/numerics"), str(ROOT / "test/gpu")]

import bounds  # noqa: E402
import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402
import tessera as tsr  # noqa: E402
from tessera import architectures, arrays, assemble, kernels, oracle  # noqa: E402

ARCHS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_120a")
NUMPY = {"fp64": "float64", "fp32": "float32", "fp16": "float16", "bf16": ml_dtypes.bfloat16, "i8": "int8",
         "fp8_e4m3": ml_dtypes.float8_e4m3fn, "fp8_e5m2": ml_dtypes.float8_e5m2}
PTX = {"fp64": "f64", "fp32": "f32", "tf32": "tf32", "fp16": "f16", "bf16": "bf16", "i8": "s8", "fp8_e4m3": "e4m3", "fp8_e5m2": "e5m2", "fp4_e2m1": "e2m1"}
SUM = {"fp64": "f64", "i8": "s32"}  # else f32
# Tensor cores of Ada keep 13 fraction bits of fp8 products (docs/simulator.md): 18 roundings of 2^-13 in 16 k, under 2^-12 per k.
UNIT_OF_MMA = {"fp8_e4m3": 2.0**-12, "fp8_e5m2": 2.0**-12}


def numbers(*shape, dtype, seed):
    random = np.random.default_rng(seed)
    if dtype == "i8":
        return aligned(random.integers(-128, 128, shape, dtype=np.int8))
    return aligned(random.standard_normal(shape).astype(NUMPY[dtype]))


def aligned(array):
    """A copy at a multiple of 256 bytes, as GPUs allocate: what is counted must not depend on the host's luck."""
    room = np.empty(array.nbytes + 256, np.uint8)
    start = -room.ctypes.data % 256
    copy = room[start:start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def line_of_the_table(arch: str, dtype: str, fallback: bool) -> str:
    """Why a product of this type has no cell; "" if it has one. Floats are multiplied one by one where there is no instruction."""
    a, d = PTX[dtype], SUM.get(dtype, "f32")
    if architectures.has_mma(arch, a, a, d) or (fallback and dtype in ("fp64", "fp32", "fp16", "bf16")):
        return ""
    return f"mma.sync of {a}: {architectures.mma_where(a, a, d)}"


# ---- kernels: what to call, what to expect ---------------------------------------------------------


def product(a, b, dtype):
    """a @ b with its bound, before the result is rounded."""
    if dtype == "i8":
        return a.astype(np.int64) @ b.astype(np.int64)
    x, y = (np.asarray(v, dtype=np.float64) for v in (a, b))
    if dtype == "fp64":
        unit = bounds.UNIT["fp64"]
    else:
        unit = UNIT_OF_MMA.get(dtype, bounds.UNIT["mma"])
    if dtype == "tf32":  # operands rounded to 11 significant bits
        unit += 2.0**-10
    depth = x.shape[1] + 1
    return bounds.Approx(x @ y, bounds.gamma(depth, unit) * (np.abs(x) @ np.abs(y)) + depth * bounds.TINY["mma"], "fp64" if dtype == "fp64" else "fp32")


def compare(got, expected, what):
    """Raises where the result is not within the bound; integers must be equal."""
    if isinstance(expected, bounds.Approx):
        bounds.check(got, expected, what)
    else:
        assert np.array_equal(got, expected), f"{what}: {np.count_nonzero(got != expected)} elements differ"


class Gemm:
    name, types = "gemm", ("fp16", "bf16", "fp32", "tf32", "fp64", "i8", "fp8_e4m3", "fp8_e5m2", "mxfp4 (block scaled)", "mxfp6 (block scaled)")
    aligned, odd = (128, 128, 128), (67, 45, 83)
    later = {"mxfp4 (block scaled)": "arrays of 4-bit elements", "mxfp6 (block scaled)": "arrays of 6-bit elements"}

    def why_blank(self, arch, dtype):
        if dtype in self.later:
            return "" if "mma.block_scale" in architectures.arch(arch)["instructions"] else "mma.block_scale: sm_120f and their families"
        return line_of_the_table(arch, dtype, fallback=True)

    def words(self, dtype):
        out = {"fp64": tsr.fp64, "i8": tsr.i32}.get(dtype, tsr.fp32 if dtype.startswith("fp8") else None)
        if dtype == "tf32":
            return dict(A=tsr.fp32, B=tsr.fp32, PRECISION="tf32")
        words = dict(A=getattr(tsr, dtype), B=getattr(tsr, dtype))
        if out is not None:
            words |= dict(C=out)
        if dtype in ("fp64", "i8"):
            words |= dict(ACC=out)
        if dtype == "fp64":
            words |= dict(BLOCK_M=64, BLOCK_N=64, BLOCK_K=32)
        return words

    def run(self, dtype, extents, target):
        m, n, k = extents
        held = "fp32" if dtype == "tf32" else dtype
        a, b = numbers(m, k, dtype=held, seed=1), numbers(k, n, dtype=held, seed=2)
        consts = {key: value for key, value in self.words(dtype).items() if key.startswith(("ACC", "BLOCK", "PRECISION"))}
        out = self.words(dtype).get("C")
        c = aligned(np.zeros((m, n), {"i32": "int32", "fp64": "float64", "fp32": "float32"}[str(out)])) if out is not None else None
        got = kernels.gemm(a, b, c, target=target, **consts) if c is not None else kernels.gemm(a, b, target=target, **consts)
        got = c if c is not None else got
        expected = product(a, b, dtype)
        if isinstance(expected, bounds.Approx) and out is None:
            expected = bounds.outside(expected, held)
        elif isinstance(expected, bounds.Approx):
            expected = expected.rounded(str(out))
        compare(got, expected, f"gemm {dtype} {extents}")

    fn = property(lambda self: kernels.gemm)


class Softmax:
    name, types, later = "softmax", ("fp32", "fp16", "bf16"), {}
    aligned, odd = (8, 256), (7, 203)
    fn = property(lambda self: kernels.softmax)

    def why_blank(self, arch, dtype):
        return ""

    def words(self, dtype):
        return dict(X=getattr(tsr, dtype), N=256)

    def run(self, dtype, extents, target):
        x = numbers(*extents, dtype=dtype, seed=3)
        compare(kernels.softmax(x, target=target), bounds.softmax(bounds.exact(x, dtype)), f"softmax {dtype} {extents}")


class LayerNorm(Softmax):
    name, types, later = "layer_norm", ("fp32",), {}
    fn = property(lambda self: kernels.layer_norm)

    def words(self, dtype):
        return dict(X=tsr.fp32, weight=tsr.fp32, bias=tsr.fp32, N=256)

    def run(self, dtype, extents, target):
        x, w, b = numbers(*extents, dtype=dtype, seed=4), numbers(extents[1], dtype=dtype, seed=5), numbers(extents[1], dtype=dtype, seed=6)
        e = lambda a: bounds.exact(a, "fp32")
        compare(kernels.layer_norm(x, w, b, target=target), bounds.layer_norm(e(x), e(w), e(b)), f"layer_norm {extents}")


class Attention:
    types, later = ("fp16", "bf16"), {}

    def __init__(self, causal, head):
        self.causal, self.head = causal, head
        self.name = f"attention{' causal' if causal else ''} d{head}"
        self.aligned, self.odd = (128, 128), (67, 131)

    fn = property(lambda self: kernels.flash_attention)

    def why_blank(self, arch, dtype):
        return line_of_the_table(arch, dtype, fallback=True)

    def words(self, dtype):
        t = getattr(tsr, dtype)
        return dict(Q=t, K=t, V=t, D=self.head, causal=self.causal, **self.blocks(dtype))

    def blocks(self, dtype):
        """Turing multiplies bf16 one by one, through shared memory, of which it has little."""
        return dict(BLOCK_M=32, BLOCK_N=32) if dtype == "bf16" and self.arch == "sm_75" else {}

    def run(self, dtype, extents, target):
        s, t = extents
        q, k, v = (numbers(1, 1, n, self.head, dtype=dtype, seed=7 + i) for i, n in enumerate((s, t, t)))
        got = kernels.flash_attention(q, k, v, causal=self.causal, **self.blocks(dtype), target=target)
        e = lambda a: bounds.exact(a[0, 0], dtype)
        compare(got[0, 0], bounds.attention(e(q), e(k), e(v), self.causal, accumulate="mma"), f"{self.name} {dtype} {extents}")


class Library:
    """A kernel of the library at odd extents and small tiles, within the bounds that follow from its program."""

    types, later = ("as written",), {}

    def __init__(self, name):
        import test_kernel_library_ptx

        self.name = name
        self.fn, self.args, self.consts = test_kernel_library_ptx.cases()[name]
        self.aligned = self.odd = "odd"

    def why_blank(self, arch, dtype):
        if self.name == "gemm_fp8_blocks":
            return line_of_the_table(arch, "fp8_e4m3", fallback=False)
        return ""

    def version(self, dtype, arch):
        self.run(dtype, self.odd, f"sim:{arch}")
        return self.fn._versions[self.fn.last_spec.key]

    def run(self, dtype, extents, target):
        if self.name == "gemm_fp8_blocks":  # with the bound of its tensor cores
            self.fn.check(*self.args, **self.consts, target=target.removeprefix("sim:"))
        got = self.fn(*self.args, **self.consts, target=target)
        if self.name == "gemm_fp8_blocks":
            return
        if got is None:  # into a given result
            got = self.args[-1].copy()
            self.args[-1].fill(0)
        for result, bound in zip(got if isinstance(got, tuple) else (got,), oracle.bounds(self.fn, *self.args, **self.consts), strict=True):
            oracle.assert_within(result, bound)


LIBRARY = ("batched_gemm", "grouped_gemm", "gemm_w4a16", "gemm_sparse", "gemm_mx", "gemm_fp8_blocks", "attention_variable", "attention, window",
           "gradient_of_keys", "gradient_of_queries", "softmax_gradient", "rms_norm", "rms_norm_input_gradient", "layer_norm_input_gradient",
           "layer_norm_weight_gradient", "cross_entropy", "cross_entropy_gradient", "fourier")
ALL = (Gemm(), Softmax(), LayerNorm(), Attention(False, 64), Attention(True, 128), *map(Library, LIBRARY))


# ---- one cell -------------------------------------------------------------------------------------


def assemblers() -> list[str]:
    """One of each version."""
    by_version = {assemble.version(path, pathlib.Path(path).stat().st_mtime): path for path in assemble.places("ptxas")}
    return [by_version[version] for version in sorted(by_version) if version >= (13, 0)]


def cell(kernel, dtype: str, arch: str) -> dict:
    why = kernel.why_blank(arch, dtype)
    if why:
        return {"mark": "", "why": why}
    if dtype in kernel.later:
        return {"mark": "not done", "why": kernel.later[dtype]}
    begin = time.perf_counter()
    kernel.arch = arch
    try:
        version = kernel.version(dtype, arch) if hasattr(kernel, "version") else kernel.fn.compile(target=arch, **kernel.words(dtype))
        found = {"mark": "ok", "spills": 0, "registers": 0, "assemblers": []}
        for path in assemblers():
            with tempfile.TemporaryDirectory() as folder:
                (pathlib.Path(folder) / "k.ptx").write_text(version.ptx)
                done = subprocess.run([path, "-v", "-arch", version.chip, "k.ptx", "-o", "k.cubin"], cwd=folder, capture_output=True, text=True)
            if done.returncode:
                return {"mark": "WRONG", "why": f"{path}: {done.stderr.strip().splitlines()[0]}"}
            used = assemble.resources(done.stderr + done.stdout)
            found["assemblers"].append(".".join(map(str, assemble.version(path, pathlib.Path(path).stat().st_mtime))))
            found["registers"] = max(found["registers"], *(u["registers"] for u in used.values()))
            found["spills"] = max(found["spills"], *(u["spill_stores"] + u["spill_loads"] for u in used.values()))
        for extents in dict.fromkeys((kernel.aligned, kernel.odd)):
            counted = simulate(kernel, dtype, extents, f"sim:{arch}")
            if extents == kernel.aligned:
                found |= counted
    except (tsr.TesseraError, AssertionError) as error:
        lines = str(error).strip().splitlines()
        return {"mark": "WRONG", "why": lines[0] if lines else repr(error)}
    found["seconds"] = round(time.perf_counter() - begin, 1)
    return found


def simulate(kernel, dtype, extents, target) -> dict:
    """Runs it with every check (a race is an error there); bank conflicts and coalescing of this run."""
    from tessera import gpu

    counting = gpu.SimVersion.__init__

    def count(self, *args, **kwargs):
        counting(self, *args, **kwargs)
        self.count = True

    gpu.SimVersion.__init__ = count
    try:
        with arrays.aligned():
            kernel.run(dtype, extents, target)
    finally:
        gpu.SimVersion.__init__ = counting
    version = kernel.fn._versions[kernel.fn.last_spec.key]
    assert version.last_reports and all(report.ok for report in version.last_reports)
    counts = [report.counts for report in version.last_reports if report.counts]
    return {"bank_conflicts": sum(c.get("bank_conflicts", 0) for c in counts), "coalescing": coalescing(counts)}


def coalescing(counts: list) -> float | None:
    """The fewest 32-byte sectors of global memory that hold what threads asked for, of those they touched."""
    least, touched = (sum(c[name] for c in counts) for name in ("ideal_sectors", "sectors"))
    return round(least / touched, 3) if touched else None


# ---- the table ------------------------------------------------------------------------------------


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kernels", default="", help="names that contain one of these, separated by commas")
    parser.add_argument("--types", default="")
    parser.add_argument("--archs", default=",".join(ARCHS))
    parser.add_argument("--json", help="file for everything that was found")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    archs, rows, reasons = given.archs.split(","), [], {}
    wanted = lambda name, words: not words or any(word in name for word in words.split(","))
    everything, counts = {}, {"ok": 0, "": 0, "not done": 0, "WRONG": 0}
    for kernel in ALL:
        if not wanted(kernel.name, given.kernels):
            continue
        for dtype in kernel.types:
            if given.types and dtype not in given.types.split(","):
                continue
            row = []
            for arch in archs:
                found = everything[f"{kernel.name} {dtype} {arch}"] = cell(kernel, dtype, arch)
                counts[found["mark"]] += 1
                if found["mark"] != "ok":
                    reasons.setdefault(f"{found['mark'] or 'blank'}: {found['why']}", []).append(f"{kernel.name} {dtype} {arch}")
                shown = found["mark"]
                if shown == "ok":
                    shown = f"ok {found['registers']}r"
                    shown += f" {found['spills']}B spilled" if found["spills"] else ""
                    shown += f" {found['bank_conflicts']} conflicts" if found["bank_conflicts"] else ""
                    shown += f" {found['coalescing']:.0%}" if found["coalescing"] is not None else ""
                row.append(shown)
                print(f"{kernel.name} {dtype} {arch}: {found}", file=sys.stderr, flush=True)
            rows.append((f"{kernel.name} {dtype}", row))
    print(f"| kernel, type | {' | '.join(archs)} |\n|---|{'---|' * len(archs)}")
    for name, row in rows:
        print(f"| {name} | {' | '.join(row)} |")
    print(f"\n{counts['ok']} ok, {counts['']} blank by a line of the table, {counts['not done']} not done, {counts['WRONG']} wrong")
    for reason, cells in reasons.items():
        print(f"* {reason} ({len(cells)}: {', '.join(cells)})")
    if given.json:
        pathlib.Path(given.json).write_text(json.dumps(everything, indent=1))
    return 1 if counts["WRONG"] else 0


if __name__ == "__main__":
    sys.exit(main())
