"""Writes the texts that stage-fuzz starts from: every stage of some programs, for every machine.

    tools/fuzz/stage-corpus.py FOLDER [--small]

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse
from pathlib import Path

import tessera as tsr
from tessera import Out, Tensor, bf16, const, fp16, fp32, i64, kernels

MACHINES = ("cpu:avx2", "cpu:avx512", "sm_75", "sm_80", "sm_90a", "sm_120", "cudatile:sm_90")


@tsr.function
def layer(X: Tensor["M", "N"], W: Tensor["N", "K"], B: Tensor["K"]):
    return tsr.relu(X @ W + B) * 2.0


@tsr.function
def rows(X: Tensor["M", "N"]):
    return tsr.softmax(X, axis=1)


@tsr.function
def moved(X: Tensor["M", "N"], I: Tensor["K", i64]):
    picked = tsr.index_select(X, 0, I)
    return tsr.sum(picked.T, axis=0)


@tsr.kernel
def scaled(X: Tensor["M", "N"], Y: Out["M", "N"], BLOCK: const = 64):
    for m, n in tsr.grid(M, tsr.tile(N, BLOCK)):
        x = X[m, n]
        Y[m, n] = tsr.exp(x - tsr.max(x)) * 0.5


PROGRAMS = {
    "layer": (layer, dict(X=fp32, W=fp32, B=fp32)),
    "layer-bf16": (layer, dict(X=bf16, W=bf16, B=bf16)),
    "rows": (rows, dict(X=fp32)),
    "moved": (moved, dict(X=fp32, I=i64)),
    "scaled": (scaled, dict(X=fp32)),
    "gemm": (kernels.gemm, dict(A=fp16, B=fp16)),
    "layer-norm": (kernels.layer_norm, dict(X=fp32, N=256)),
    "attention": (kernels.flash_attention, dict(Q=fp16, K=fp16, V=fp16, D=64)),
}
LONGEST = 300_000  # a product for the CPU has variants for thin sizes, and megabytes of Target IR
SMALL = {"programs": ("rows", "scaled", "gemm"), "machines": ("cpu:avx2", "sm_80")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--small", action="store_true", help="a few of them, for CI")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    stages = ("graph", "sched", "tile-value", "tile", "target")
    for machine in SMALL["machines"] if options.small else MACHINES:
        for name in SMALL["programs"] if options.small else PROGRAMS:
            function, words = PROGRAMS[name]
            for stage in stages[:3] if machine.startswith("cudatile") else stages:
                try:
                    text = str(function.inspect_ir(stage, target=machine, **words))
                except tsr.TesseraError as error:
                    print(f"{name} at {stage} for {machine}: {str(error).splitlines()[0]}")
                    continue
                if len(text) > LONGEST:
                    print(f"{name} at {stage} for {machine}: {len(text)} bytes are left out")
                    continue
                path = options.folder / f"{name}.{machine.replace(':', '-')}.{stage}.mlir"
                path.write_text(f"// target {machine}\n{text}")


if __name__ == "__main__":
    main()
