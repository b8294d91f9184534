# Builds PTX by clang, TileLang and MLIR and checks that it all parses.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: build_other_corpus.py OUT [--corpus FOLDER of .cu files] [--tilelang-python PYTHON]

clang 22 builds what it accepts of the CUDA corpus (14 files there; our own
test programs otherwise), MLIR 22 the four files of mlir/, TileLang 0.1.15 with
nvcc the six of tilelang_corpus.py. Every file is then given to `tessera-sim
check`: each instruction must be known to the decoder's tables. A producer that
is not installed is named."""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import conftest  # noqa: E402

# Device code only, without what clang lacks (cuda::barrier, cluster intrinsics ...).
CORPUS = pathlib.Path("/work/shared/ptx-corpus/cuda")


def clang(options):
    if not shutil.which("clang++-22") or not pathlib.Path(options.cuda).exists():
        return None
    stubs = options.out / "stubs"
    stubs.mkdir(exist_ok=True)
    (stubs / "curand_mtgp32_kernel.h").write_text("")
    built = []
    for source in sorted(options.corpus.glob("*.cu")):
        target = options.out / f"clang_{source.stem}.ptx"
        r = subprocess.run(["clang++-22", "-x", "cuda", "--cuda-device-only", "-S", "-O2", "--cuda-gpu-arch=sm_80",
                            f"--cuda-path={options.cuda}", "-Wno-unknown-cuda-version", "-I", str(stubs), str(source),
                            "-o", str(target)], capture_output=True, text=True)
        if r.returncode == 0:
            built.append(target)
    return built


def mlir(options):
    tools = [shutil.which(t) for t in ("mlir-opt-22", "mlir-translate-22", "llc-22")]
    if not all(tools):
        return None
    built = []
    for source in sorted((HERE / "mlir").glob("*.mlir")):
        target = options.out / f"mlir_{source.stem}.ptx"
        arch = re.search(r"sm_\w+", source.stem)[0]
        text = subprocess.run([tools[0], "-convert-nvvm-to-llvm", str(source)], check=True, capture_output=True).stdout
        text = subprocess.run([tools[1], "--mlir-to-llvmir"], input=text, check=True, capture_output=True).stdout
        subprocess.run([tools[2], "-march=nvptx64", f"-mcpu={arch}", "-mattr=+ptx87", "-o", str(target)], input=text,
                       check=True, capture_output=True)
        built.append(target)
    return built


def tilelang(options):
    if not shutil.which("nvcc") or subprocess.run([options.tilelang_python, "-c", "import tilelang"],
                                                  capture_output=True).returncode:
        return None
    out = options.out / "tilelang"
    r = subprocess.run([options.tilelang_python, str(HERE / "tilelang_corpus.py"), str(out)], capture_output=True,
                       text=True)
    if r.returncode:
        print(r.stdout[-2000:])
    return sorted(out.glob("*.ptx"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--corpus", type=pathlib.Path, default=CORPUS if CORPUS.exists() else HERE / "cuda")
    parser.add_argument("--cuda", default="/usr/local/cuda-13.0")
    parser.add_argument("--tilelang-python", default=sys.executable)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    files = []
    for producer in (clang, mlir, tilelang):
        built = producer(options)
        print(f"{producer.__name__}: " + ("not installed" if built is None else f"{len(built)} files"), flush=True)
        files += built or []
    if not files:
        return 1
    return subprocess.run([str(conftest.TOOL), "check", *map(str, files)]).returncode


if __name__ == "__main__":
    sys.exit(main())
