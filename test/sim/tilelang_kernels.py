# Ten TileLang kernels for sm_80: lowered by TileLang, compiled by nvcc, run on
# the simulator, compared with NumPy in float64.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: tilelang_kernels.py [--seed N] [--keep FOLDER]

Needs the package tilelang 0.1.15 and nvcc. With --seed the schedules are
adversarial; --keep keeps the compiled kernels there for the next time."""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import tilelang
import tilelang.language as T
from tilelang import tvm

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import conftest  # noqa: E402,F401
import tessera.sim as sim  # noqa: E402

PACKAGE = pathlib.Path(tilelang.__file__).parent
TARGET = {"kind": "cuda", "arch": "sm_80"}
parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int)
parser.add_argument("--keep", type=pathlib.Path)
OPTIONS = parser.parse_args()
SEED = OPTIONS.seed


def gemm(M, N, K, BM, BN, BK, stages, dtype="float16", transpose=False):
    shape = (N, K) if transpose else (K, N)
    tile = (BN, BK) if transpose else (BK, BN)

    @T.prim_func
    def main(A: T.Tensor((M, K), dtype), B: T.Tensor(shape, dtype), C: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=128) as (bx, by):
            a = T.alloc_shared((BM, BK), dtype)
            b = T.alloc_shared(tile, dtype)
            c = T.alloc_fragment((BM, BN), "float32")
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, BK), num_stages=stages):
                T.copy(A[by * BM, k * BK], a)
                if transpose:
                    T.copy(B[bx * BN, k * BK], b)
                else:
                    T.copy(B[k * BK, bx * BN], b)
                T.gemm(a, b, c, transpose_B=transpose)
            T.copy(c, C[by * BM, bx * BN])
    return main


def elementwise(M, N, f):
    @T.prim_func
    def main(A: T.Tensor((M, N), "float32"), B: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(N, 64), T.ceildiv(M, 32), threads=128) as (bx, by):
            for i, j in T.Parallel(32, 64):
                B[by * 32 + i, bx * 64 + j] = f(A[by * 32 + i, bx * 64 + j])
    return main


def row_softmax(M, N):
    @T.prim_func
    def main(A: T.Tensor((M, N), "float32"), B: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(M, 16), threads=128) as bx:
            x = T.alloc_fragment((16, N), "float32")
            top = T.alloc_fragment((16,), "float32")
            total = T.alloc_fragment((16,), "float32")
            T.copy(A[bx * 16, 0], x)
            T.reduce_max(x, top, dim=1)
            for i, j in T.Parallel(16, N):
                x[i, j] = T.exp(x[i, j] - top[i])
            T.reduce_sum(x, total, dim=1)
            for i, j in T.Parallel(16, N):
                x[i, j] = x[i, j] / total[i]
            T.copy(x, B[bx * 16, 0])
    return main


def row_sum(M, N):
    @T.prim_func
    def main(A: T.Tensor((M, N), "float32"), B: T.Tensor((M,), "float32")):
        with T.Kernel(T.ceildiv(M, 16), threads=128) as bx:
            x = T.alloc_fragment((16, N), "float32")
            s = T.alloc_fragment((16,), "float32")
            T.copy(A[bx * 16, 0], x)
            T.reduce_sum(x, s, dim=1)
            T.copy(s, B[bx * 16])
    return main


def rms_norm(M, N):
    @T.prim_func
    def main(A: T.Tensor((M, N), "float32"), B: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(M, 8), threads=128) as bx:
            x = T.alloc_fragment((8, N), "float32")
            q = T.alloc_fragment((8, N), "float32")
            s = T.alloc_fragment((8,), "float32")
            T.copy(A[bx * 8, 0], x)
            for i, j in T.Parallel(8, N):
                q[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(q, s, dim=1)
            for i, j in T.Parallel(8, N):
                x[i, j] = x[i, j] * T.rsqrt(s[i] / N + 1e-6)
            T.copy(x, B[bx * 8, 0])
    return main


def transpose(M, N):
    @T.prim_func
    def main(A: T.Tensor((M, N), "float32"), B: T.Tensor((N, M), "float32")):
        with T.Kernel(T.ceildiv(N, 32), T.ceildiv(M, 32), threads=128) as (bx, by):
            s = T.alloc_shared((32, 32), "float32")
            T.copy(A[by * 32, bx * 32], s)
            for i, j in T.Parallel(32, 32):
                B[bx * 32 + i, by * 32 + j] = s[j, i]
    return main


def compile_ptx(function, name):
    kept = OPTIONS.keep and OPTIONS.keep / re.sub(r"\W+", "_", name)
    if kept and kept.with_suffix(".ptx").exists():
        return kept.with_suffix(".ptx").read_text(), kept.with_suffix(".cu").read_text()
    with tvm.target.Target(TARGET):
        source = tilelang.lower(function, target=TARGET).kernel_source
    with tempfile.TemporaryDirectory() as d:
        cu, out = pathlib.Path(d) / "k.cu", pathlib.Path(d) / "k.ptx"
        cu.write_text(source)
        subprocess.run(["nvcc", "-std=c++17", "-ptx", "-arch=sm_80", "-I", str(PACKAGE / "src"),
                        "-I", str(PACKAGE / "3rdparty/cutlass/include"), str(cu), "-o", str(out)],
                       check=True, capture_output=True)
        text = out.read_text()
    if kept:
        OPTIONS.keep.mkdir(parents=True, exist_ok=True)
        kept.with_suffix(".ptx").write_text(text)
        kept.with_suffix(".cu").write_text(source)
    return text, source


def run(name, function, arguments, grid, want, bound):
    ptx, source = compile_ptx(function, name)
    kernel = re.search(r"\.entry (\w+)", ptx)[1]
    shared = 0
    if re.search(r"extern __shared__", source):
        shared = 65536
    # TileLang orders kernel parameters by use; match them by name.
    head = re.search(r"main_kernel\((.*?)\)", source, re.S)[1]
    names = re.findall(r"(\w+)\s*(?:,|$)", head)
    report = sim.launch(ptx, kernel, grid, 128, [arguments[n] for n in names], shared=shared,
                        check=True, adversarial=SEED is not None, seed=SEED or 0)
    got = arguments[list(arguments)[-1]].astype(np.float64)
    error = np.abs(got - want).max()
    ok = report.ok and error <= bound
    print(f"{'ok' if ok else 'FAILED'} {name}: error {error:.3g}, bound {bound:.3g}"
          + ("" if report.ok else " " + report.text()[:400]), flush=True)
    return ok


def main():
    rng = np.random.default_rng(5)
    ok = True
    for name, dims, kind, turned in [
            ("gemm f16 2 stages", (128, 128, 64, 64, 64, 32, 2), "float16", False),
            ("gemm f16 3 stages", (128, 64, 128, 64, 64, 32, 3), "float16", False),
            ("gemm f16 B transposed", (64, 128, 96, 64, 64, 32, 2), "float16", True),
            ("gemm f16 1 stage", (64, 64, 64, 64, 64, 64, 1), "float16", False)]:
        M, N, K, BM, BN = dims[:5]
        a = rng.standard_normal((M, K)).astype(kind)
        b = rng.standard_normal((N, K) if turned else (K, N)).astype(kind)
        c = np.zeros((M, N), np.float32)
        want = a.astype(float) @ (b.T if turned else b).astype(float)
        ok &= run(name, gemm(*dims, kind, turned), {"A": a, "B": b, "C": c},
                  (-(-N // BN), -(-M // BM)), want, 2e-6 * K * 4)
    M, N = 64, 128
    x = rng.standard_normal((M, N)).astype(np.float32)
    X = x.astype(float)
    out = lambda shape=(M, N): np.zeros(shape, np.float32)
    ok &= run("square", elementwise(M, N, lambda v: v * v), {"A": x, "B": out()}, (2, 2), X * X, 2e-6)
    ok &= run("exp", elementwise(M, N, lambda v: T.exp(v)), {"A": x, "B": out()}, (2, 2), np.exp(X), 4e-5)
    e = np.exp(X - X.max(1, keepdims=True))
    ok &= run("softmax", row_softmax(M, N), {"A": x, "B": out()}, 4, e / e.sum(1, keepdims=True), 1e-6)
    ok &= run("row sum", row_sum(M, N), {"A": x, "B": out((M,))}, 4, X.sum(1), 1e-4)
    ok &= run("rms norm", rms_norm(M, N), {"A": x, "B": out()}, 8,
              X / np.sqrt((X * X).mean(1, keepdims=True) + 1e-6), 1e-5)
    ok &= run("transpose", transpose(M, N), {"A": x, "B": out((N, M))}, (4, 2), X.T, 0)
    return not ok


if __name__ == "__main__":
    sys.exit(main())
