# Builds PTX by clang (14 files of the CUDA corpus) and checks that it parses.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: build_other_corpus.py OUT [--corpus /work/shared/ptx-corpus/cuda]

The TileLang files come from tilelang_kernels.py, the MLIR ones from the
compiler's own NVPTX tests."""

import argparse
import pathlib
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("out", type=pathlib.Path)
parser.add_argument("--corpus", type=pathlib.Path, default=pathlib.Path("/work/shared/ptx-corpus/cuda"))
parser.add_argument("--cuda", default="/usr/local/cuda-13.0")
parser.add_argument("--tool", default="/tmp/build-sim/tessera-sim")
options = parser.parse_args()
options.out.mkdir(parents=True, exist_ok=True)
(options.out / "curand_mtgp32_kernel.h").write_text("")
built = []
for source in sorted(options.corpus.glob("*.cu")):
    target = options.out / f"{source.stem}.ptx"
    r = subprocess.run(["clang++-22", "-x", "cuda", "--cuda-device-only", "-S", "-O2",
                        "--cuda-gpu-arch=sm_80", f"--cuda-path={options.cuda}",
                        "-Wno-unknown-cuda-version", "-I", str(options.out), str(source), "-o",
                        str(target)], capture_output=True, text=True)
    if r.returncode == 0:
        built.append(target)
print(f"clang built {len(built)} files")
sys.exit(subprocess.run([options.tool, "check", *map(str, built)]).returncode if built else 1)
