"""Side by side with Triton 3.9, for the same work, tiles, warps and slots of shared memory, by the same ptxas (benchmarks/gpu_triton_configs.py).

    python benchmarks/gpu_triton.py [--rows matmul,softmax] [--archs sm_80] [--rounds 5] [--no-times] [--json results/gpu_triton.json]

Per row and architecture, ours over theirs: registers (ptxas), bytes of shared memory, executed warp instructions (both PTX on the simulator, on
the same arrays), tensor instructions, time to PTX and to machine code (interleaved, median of ratios; nothing from a cache). Results of both are
compared with float64. There is no GPU here: run times are `not measured`.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["TESSERA_CACHE"] = "off"
os.environ["TRITON_ALWAYS_COMPILE"] = "1"
os.environ.setdefault("TRITON_CACHE_DIR", tempfile.mkdtemp(prefix="gpu-triton-"))

import gpu_triton_configs as configs  # noqa: E402
import numpy as np  # noqa: E402

import tessera as tsr  # noqa: E402
from tessera import assemble, fp16, fp32, kernels, sim  # noqa: E402
from tessera.performance import UNKNOWN, performance_report  # noqa: E402

FLOORS = {"registers": 1.15, "shared": 1.05, "instructions": 1.1, "to cubin": 0.7, "to ptx": 0.3}


def array(*shape, dtype=np.float16, seed=0) -> np.ndarray:
    """Aligned as a GPU's allocator aligns."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 256, np.uint8)
    start = -raw.ctypes.data % 256
    result = raw[start:start + size].view(dtype).reshape(shape)
    if seed:
        result[...] = np.random.default_rng(seed).standard_normal(shape) * 0.5
    return result


class Row:
    """One problem: what each side compiles and runs, and the right answer."""

    def __init__(self, c: dict):
        self.c = c
        getattr(self, c["kernel"])(c)

    def ours(self):
        """A function that was never compiled."""
        fn, schedule = self.our_kernel
        return tsr.kernel.schedule(**schedule)(fn.__wrapped__)

    def matmul(self, c):
        a, b = array(c["M"], c["K"], seed=1), array(c["K"], c["N"], seed=2)
        self.right = a.astype(np.float64) @ b.astype(np.float64)
        self.our_kernel = kernels.gemm, dict(num_warps=c["warps"], num_stages=c["stages"] - 1)
        self.our_arguments, self.our_words = (a, b), dict(A=fp16, B=fp16, BLOCK_M=c["BM"], BLOCK_N=c["BN"], BLOCK_K=c["BK"])
        self.result = array(c["M"], c["N"])
        self.their_arguments = dict(A=a, B=b, C=self.result, M=c["M"], N=c["N"], K=c["K"], lda=c["K"], ldb=c["N"], ldc=c["N"])
        self.their_constants = dict(BM=c["BM"], BN=c["BN"], BK=c["BK"], GROUP=8)
        self.grid = (math.ceil(c["M"] / c["BM"]) * math.ceil(c["N"] / c["BN"]),)
        self.turns = self.grid[0] * math.ceil(c["K"] / c["BK"]) * c["warps"]

    def attention(self, c):
        shape = c["B"], c["H"], c["S"], c["D"]
        q, k, v = (array(*shape, seed=i) for i in (1, 2, 3))
        s = np.einsum("bhmd,bhnd->bhmn", q.astype(np.float64), k.astype(np.float64)) / math.sqrt(c["D"])
        if c["causal"]:
            s = np.where(np.tri(c["S"], dtype=bool), s, -np.inf)
        p = np.exp(s - s.max(-1, keepdims=True))
        self.right = p / p.sum(-1, keepdims=True) @ v.astype(np.float64)
        self.our_kernel = kernels.flash_attention, dict(num_warps=c["warps"], num_stages=c["stages"] - 1)
        self.our_arguments = q, k, v
        self.our_words = dict(Q=fp16, K=fp16, V=fp16, D=c["D"], causal=c["causal"], BLOCK_M=c["BM"], BLOCK_N=c["BN"])
        self.result = array(*shape)
        self.their_arguments = dict(Q=q, K=k, V=v, O=self.result, scale=1 / math.sqrt(c["D"]), batch=c["H"] * c["S"] * c["D"],
                                    head=c["S"] * c["D"], row=c["D"], heads=c["H"], S=c["S"])
        self.their_constants = dict(D=c["D"], BM=c["BM"], BN=c["BN"], CAUSAL=c["causal"])
        self.grid = math.ceil(c["S"] / c["BM"]), c["B"] * c["H"]
        self.turns = None

    def softmax(self, c):
        x = array(c["M"], c["N"], dtype=np.float32, seed=1)
        e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
        self.right = e / e.sum(1, keepdims=True)
        self.our_kernel = kernels.softmax, dict(num_warps=c["warps"])
        self.our_arguments, self.our_words = (x,), dict(X=fp32, N=c["N"], BLOCK=1)
        self.result = array(c["M"], c["N"], dtype=np.float32)
        self.their_arguments = dict(Y=self.result, X=x, ldx=c["N"], ldy=c["N"], rows=c["M"], columns=c["N"])
        self.their_constants = dict(BLOCK=c["N"], STAGES=c["stages"])
        self.grid, self.turns = (c["programs"],), None

    def layer_norm(self, c):
        x, w, b = array(c["M"], c["N"], seed=1), array(c["N"], seed=2), array(c["N"], seed=3)
        wide = x.astype(np.float64)
        wide = wide - wide.mean(1, keepdims=True)
        self.right = wide / np.sqrt((wide**2).mean(1, keepdims=True) + 1e-5) * w.astype(np.float64) + b.astype(np.float64)
        self.our_kernel = kernels.layer_norm, dict(num_warps=c["warps"])
        self.our_arguments, self.our_words = (x, w, b), dict(X=fp16, weight=fp16, bias=fp16, N=c["N"], BLOCK=1)
        self.result = array(c["M"], c["N"])
        statistics_of_rows = array(c["M"], dtype=np.float32), array(c["M"], dtype=np.float32)
        self.their_arguments = dict(X=x, Y=self.result, W=w, B=b, MEAN=statistics_of_rows[0], SCALE=statistics_of_rows[1], ld=c["N"], N=c["N"], eps=1e-5)
        self.their_constants = dict(BLOCK=c["N"])
        self.grid, self.turns = (c["M"],), None

    # Theirs

    def compile_theirs(self, arch: str):
        """The compiled kernel, and seconds to PTX and to machine code."""
        import gpu_triton_kernels
        import triton
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource

        types = {np.dtype(np.float16): "*fp16", np.dtype(np.float32): "*fp32"}
        signature, attributes = {}, {}
        for i, (name, value) in enumerate(self.their_arguments.items()):
            signature[name] = types[value.dtype] if isinstance(value, np.ndarray) else "fp32" if isinstance(value, float) else "i32"
            # What Triton's launcher finds out by itself: multiples of 16.
            if isinstance(value, np.ndarray) or (isinstance(value, int) and value % 16 == 0):
                attributes[(i,)] = [["tt.divisibility", 16]]
        signature.update({name: "constexpr" for name in self.their_constants})
        source = ASTSource(fn=getattr(gpu_triton_kernels, self.c["kernel"]), signature=signature, constexprs=self.their_constants, attrs=attributes)
        words = {"num_warps": self.c["warps"], **({"num_stages": self.c["stages"]} if "stages" in self.c else {})}
        seen = []
        triton.knobs.compilation.listener = lambda *, times, **_: seen.append(times)
        start = time.perf_counter()
        made = triton.compile(source, target=GPUTarget("cuda", int(arch[3:].rstrip("a")), 32), options=words)
        total = time.perf_counter() - start
        machine_code = sum(took for name, took in seen[0].lowering_stages if name == "cubin") * 1e-6
        return made, total - machine_code, total

    def measure_theirs(self, arch: str) -> dict:
        made, _, _ = self.compile_theirs(arch)
        ptx, shared = made.asm["ptx"], made.metadata.shared
        arguments = list(self.their_arguments.values())
        device = sim.Device()
        module = device.load(ptx)
        name = module.kernels()[0]
        for i, value in enumerate(arguments):
            if isinstance(value, np.ndarray):
                device.expose(value.ctypes.data, value.nbytes, f"argument {i}")
        arguments += [None] * (len(module.parameters(name)) - len(arguments))
        self.result[...] = np.nan
        report = module.launch(name, self.grid, 32 * self.c["warps"], sim.device.pack(module, name, arguments), arch=arch, shared=shared, count=True)
        assert report.ok, report.text()
        return {"registers": registers(ptx, arch), "shared": shared, "error": self.error(self.result), **executed([report])}

    # Ours

    def compile_ours(self, arch: str):
        fn = self.ours()
        start = time.perf_counter()
        ptx = str(fn.lower("ptx", arch, **self.our_words))
        middle = time.perf_counter()
        assemble.ptxas(ptx, arch, "gpu_triton")
        return ptx, middle - start, time.perf_counter() - start

    def measure_ours(self, arch: str) -> dict:
        fn = self.ours()
        constants = {name: value for name, value in self.our_words.items() if name.startswith("BLOCK") or name == "causal"}
        report = performance_report(fn, *self.our_arguments, target=arch, **constants)
        kernel, = report.kernels
        version = fn._versions[fn.last_spec.key]
        result = fn(*self.our_arguments, target=f"sim:{arch}", **constants)
        return {"registers": kernel.registers, "shared": kernel.shared, "error": self.error(np.asarray(result)), "coalescing": kernel.coalescing,
                **executed(version.last_reports if all(r.counts for r in version.last_reports) else [], kernel)}

    def error(self, result) -> float:
        return float(np.abs(result.astype(np.float64) - self.right).max() / np.abs(self.right).max())


def registers(ptx: str, arch: str) -> int:
    found = assemble.resources(assemble.ptxas(ptx, arch, "gpu_triton")["said"])
    return next(iter(found.values()))["registers"]


def executed(reports: list, kernel=None) -> dict:
    classes: dict = {}
    for report in reports:
        for name, count in report.counts["classes"].items():
            classes[name] = classes.get(name, 0) + count
    if kernel is not None and not reports:
        classes = dict(kernel.executed)
    conflicts = sum(report.counts["bank_conflicts"] for report in reports) if reports else getattr(kernel, "bank_conflicts", 0)
    return {"instructions": sum(classes.values()), "classes": classes, "bank_conflicts": conflicts}


def matrix_instructions(found: dict) -> int:
    return sum(count for name, count in found["classes"].items() if name in ("mma", "matrix", "tensor"))


def compare(name: str, arch: str, rounds: int) -> dict:
    row = Row(configs.ROWS[name])
    ours, theirs = row.measure_ours(arch), row.measure_theirs(arch)
    found = {"row": name, "arch": arch, "ours": ours, "theirs": theirs, "mma ours": matrix_instructions(ours), "mma theirs": matrix_instructions(theirs)}
    for what in ("registers", "instructions"):
        found[what] = ours[what] / theirs[what] if isinstance(ours[what], (int, float)) else UNKNOWN
    found["shared"] = ours["shared"] / theirs["shared"] if theirs["shared"] else (1.0 if not ours["shared"] else UNKNOWN)
    found["to ptx"] = found["to cubin"] = UNKNOWN
    if rounds:
        row.compile_ours(arch), row.compile_theirs(arch)
        pairs = [(row.compile_ours(arch)[1:], row.compile_theirs(arch)[1:]) for _ in range(rounds)]
        for i, what in enumerate(("to ptx", "to cubin")):
            found[what] = statistics.median(a[i] / b[i] for a, b in pairs)
            found[f"{what} ours ms"] = statistics.median(a[i] for a, _ in pairs) * 1e3
            found[f"{what} theirs ms"] = statistics.median(b[i] for _, b in pairs) * 1e3
    return found


def shown(value) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def geomean(values: list) -> float:
    return math.exp(statistics.fmean(math.log(v) for v in values)) if values else math.nan


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", default="", help="names or beginnings of names, separated by commas")
    parser.add_argument("--archs", default=",".join(configs.ARCHITECTURES))
    parser.add_argument("--rounds", type=int, default=5, help="pairs of timed compilations")
    parser.add_argument("--no-times", action="store_true", help="no compile times")
    parser.add_argument("--check", action="store_true", help="fail where a floor is missed")
    parser.add_argument("--json")
    given = parser.parse_args()
    try:
        import triton
    except ImportError:
        sys.exit(f"triton is not installed: pip install triton=={configs.TRITON}")
    tool = assemble.need("ptxas")
    for variable in ("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"):
        os.environ[variable] = tool
    said = subprocess.run([tool, "--version"], capture_output=True, text=True).stdout.split("release ")[-1].split(",")[0]
    print(f"Triton {triton.__version__} (configurations for {configs.TRITON}), ptxas {said} (for {configs.PTXAS}), run times: {UNKNOWN}\n")
    starts = tuple(word for word in given.rows.split(",") if word)
    names = [name for name in configs.ROWS if not starts or name.startswith(starts)]
    results = []
    print(f"{'ours / theirs':34}{'registers':>16}{'shared':>20}{'instructions':>22}{'mma':>14}{'to PTX':>8}{'to cubin':>10}  errors (ours, theirs)")
    for arch in given.archs.split(","):
        for name in names:
            r = compare(name, arch, 0 if given.no_times else given.rounds)
            results.append(r)
            o, t = r["ours"], r["theirs"]
            print(f"{name:26}{arch:8}{o['registers']:>5}/{t['registers']:<4}{shown(r['registers']):>6}{o['shared']:>8}/{t['shared']:<6}{shown(r['shared']):>5}"
                  f"{o['instructions']:>9}/{t['instructions']:<7}{shown(r['instructions']):>5}{r['mma ours']:>7}/{r['mma theirs']:<6}{shown(r['to ptx']):>7}"
                  f"{shown(r['to cubin']):>10}  {o['error']:.1e}, {t['error']:.1e}; coalescing {shown(o['coalescing'])}, conflicts {o['bank_conflicts']}/{t['bank_conflicts']}",
                  flush=True)
    print()
    missed = []
    for what, floor in FLOORS.items():
        values = [r[what] for r in results if isinstance(r[what], float)]
        if not values:
            print(f"{what:14} {UNKNOWN}")
            continue
        mean, worst = geomean(values), max(values)
        counted = mean if what == "instructions" or what.startswith("to ") else worst
        missed += [what] if counted > floor else []
        print(f"{what:14} geomean {mean:.3f}, worst {worst:.2f}; floor {floor} ({'geomean' if counted is mean else 'each'}): {'missed' if counted > floor else 'reached'}")
    equal = all(r["mma ours"] == r["mma theirs"] for r in results)
    print(f"tensor instructions equal: {'yes' if equal else 'no'}")
    if given.json:
        path = pathlib.Path(given.json)
        path.write_text(json.dumps({"triton": triton.__version__, "ptxas": said, "load": os.getloadavg(), "rows": results}, indent=1) + "\n")
    return 1 if given.check and (missed or not equal) else 0


if __name__ == "__main__":
    sys.exit(main())
