"""`tesserac` for GPUs: PTX, bytecode, edited stages, and what it answers where there is none.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = '''
@tsr.kernel
def gemm(A: Tensor["M", "K", fp16], B: Tensor["K", "N", fp16], C: Out["M", "N"]):
    for m, n in tsr.grid(tsr.tile(M, 64), tsr.tile(N, 64)):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, 32):
            acc += A[m, k] @ B[k, n]
        C[m, n] = acc
'''


@pytest.fixture
def tesserac(tmp_path):
    places = [os.environ.get("TESSERA_BIN", ""), ROOT / "build/release/bin", ROOT / "build/dev/bin"]
    found = next((str(pathlib.Path(p) / "tesserac") for p in places if p and (pathlib.Path(p) / "tesserac").exists()), shutil.which("tesserac"))
    assert found, "tesserac is not built: set TESSERA_BIN to the folder that holds it"
    (tmp_path / "gemm.tessera").write_text(SOURCE)
    return lambda *words: subprocess.run([found, *words], cwd=tmp_path, capture_output=True)


def test_ptx_from_source_and_from_an_edited_stage(tesserac, tmp_path):
    direct = tesserac("gemm.tessera", "--target", "sm_80", "--compile-to", "ptx")
    assert direct.returncode == 0, direct.stderr
    assert b".target sm_80" in direct.stdout and b"mma.sync" in direct.stdout and b'.file\t1 "gemm.tessera"' in direct.stdout
    assert tesserac("gemm.tessera", "--target", "sm_80", "--compile-to", "tile", "-o", "tile.mlir").returncode == 0
    text = (tmp_path / "tile.mlir").read_text()
    assert "plan.launch @gemm_0(%A, %B, %C) grid " in text and "block_size = 64 : i64" in text and "shared_bytes = 24576 : i64" in text
    again = tesserac("tile.mlir", "--target", "sm_80", "--compile-to", "ptx")
    assert again.returncode == 0 and again.stdout.count(b"mma.sync") == direct.stdout.count(b"mma.sync")
    # A buffer that lies outside of what the kernel has is refused, in the stage and at the user's line.
    (tmp_path / "tile.mlir").write_text(text.replace("shared_bytes = 24576", "shared_bytes = 4096"))
    refused = tesserac("tile.mlir", "--target", "sm_80", "--compile-to", "ptx")
    assert refused.returncode == 1
    assert b"gemm.tessera:7:" in refused.stderr and b"of shared memory, but the kernel has shared_bytes = 4096" in refused.stderr


def test_bytecode(tesserac):
    done = tesserac("gemm.tessera", "--target", "cudatile:sm_90", "--compile-to", "cudatile")
    assert done.returncode == 0 and done.stdout.startswith(b"\x7fTileIR\x00\x0d\x01")


@pytest.mark.parametrize("target, kind, answer", [
    ("sm_85", "tile", "no target is called 'sm_85'; there are cpu, cpu:avx2, cpu:avx512, sm_70, sm_75, sm_80, sm_86"),
    ("cpu", "ptx", "target cpu has no PTX; it is made for targets like sm_80"),
    ("sm_80", "cudatile", "target sm_80 has no CUDA Tile IR; it is made for targets like cudatile:sm_90"),
    ("cudatile:sm_90", "target", "target cudatile:sm_90 leaves after stage tile-value"),
])
def test_answers(target, kind, answer, tesserac):
    done = tesserac("gemm.tessera", "--target", target, "--compile-to", kind)
    assert done.returncode == 1 and answer in done.stderr.decode()
