# Builds PTX of a gemm and an attention kernel by TileLang and nvcc.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: tilelang_corpus.py OUT     (needs tilelang 0.1.15 and nvcc 13)

Six files: both kernels for sm_80, sm_90a and sm_100a."""

import pathlib
import subprocess
import sys

import tilelang
import tilelang.language as T
from tilelang import tvm

PACKAGE = pathlib.Path(tilelang.__file__).parent


def gemm(M=128, N=128, K=128, BM=128, BN=128, BK=32):
    @T.prim_func
    def main(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float16")):
        with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=128) as (bx, by):
            a = T.alloc_shared((BM, BK), "float16")
            b = T.alloc_shared((BK, BN), "float16")
            c = T.alloc_fragment((BM, BN), "float32")
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, BK), num_stages=2):
                T.copy(A[by * BM, k * BK], a)
                T.copy(B[k * BK, bx * BN], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * BM, bx * BN])
    return main


def attention(S=128, D=64, BM=64, BN=64):
    scale = D**-0.5 * 1.44269504

    @T.prim_func
    def main(Q: T.Tensor((S, D), "float16"), K: T.Tensor((S, D), "float16"), V: T.Tensor((S, D), "float16"),
             O: T.Tensor((S, D), "float16")):
        with T.Kernel(T.ceildiv(S, BM), threads=128) as bx:
            q = T.alloc_shared((BM, D), "float16")
            k = T.alloc_shared((BN, D), "float16")
            v = T.alloc_shared((BN, D), "float16")
            s = T.alloc_fragment((BM, BN), "float32")
            p = T.alloc_fragment((BM, BN), "float16")
            o = T.alloc_fragment((BM, D), "float32")
            top = T.alloc_fragment((BM,), "float32")
            old = T.alloc_fragment((BM,), "float32")
            part = T.alloc_fragment((BM,), "float32")
            total = T.alloc_fragment((BM,), "float32")
            T.copy(Q[bx * BM, 0], q)
            T.fill(o, 0)
            T.fill(total, 0)
            T.fill(top, -T.infinity("float32"))
            for n in T.Pipelined(T.ceildiv(S, BN), num_stages=1):
                T.copy(K[n * BN, 0], k)
                T.copy(V[n * BN, 0], v)
                T.clear(s)
                T.gemm(q, k, s, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
                T.copy(top, old)
                T.reduce_max(s, top, dim=1, clear=False)
                for i, j in T.Parallel(BM, BN):
                    s[i, j] = T.exp2(s[i, j] * scale - top[i] * scale)
                T.reduce_sum(s, part, dim=1)
                for i in T.Parallel(BM):
                    total[i] = total[i] * T.exp2(old[i] * scale - top[i] * scale) + part[i]
                for i, j in T.Parallel(BM, D):
                    o[i, j] *= T.exp2(old[i] * scale - top[i] * scale)
                T.copy(s, p)
                T.gemm(p, v, o, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(BM, D):
                o[i, j] /= total[i]
            T.copy(o, O[bx * BM, 0])
    return main


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    failed = 0
    for arch in ("sm_80", "sm_90a", "sm_100a"):
        target = {"kind": "cuda", "arch": arch}
        for make in (gemm, attention):
            name = f"tilelang_{make.__name__}_{arch}"
            try:
                with tvm.target.Target(target):
                    source = tilelang.lower(make(), target=target).kernel_source
            except Exception as e:  # TileLang's own refusals
                print(f"{name}: TileLang: {str(e).strip().splitlines()[-1][:200]}")
                failed += 1
                continue
            (out / f"{name}.cu").write_text(source)
            r = subprocess.run(["nvcc", "-std=c++17", "-ptx", f"-arch={arch}", "-I", str(PACKAGE / "src"), "-I",
                                str(PACKAGE / "3rdparty/cutlass/include"), str(out / f"{name}.cu"), "-o",
                                str(out / f"{name}.ptx")], capture_output=True, text=True)
            failed += r.returncode != 0
            print(name if not r.returncode else f"{name}: nvcc: {r.stderr[:300]}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
