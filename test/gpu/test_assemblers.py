"""NVIDIA's own tools take what we write: ptxas without spills, tileiras for two machines.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import re
import subprocess

import pytest
from machines import assemblers

import tessera as tsr
from tessera import bf16, fp16, fp32, kernels

PRODUCTS = ("mma.sync.aligned.m16n8k16", "ldmatrix.sync.aligned.m8n8.x4", "cp.async.cg.shared.global")
KERNELS = [
    ("gemm fp16", kernels.gemm, dict(A=fp16, B=fp16), PRODUCTS),
    ("gemm bf16", kernels.gemm, dict(A=bf16, B=bf16), PRODUCTS),
    ("gemm fp32", kernels.gemm, dict(A=fp32, B=fp32), ("fma.rn.f32", "cp.async.cg.shared.global")),
    ("softmax fp32", kernels.softmax, dict(X=fp32, N=777), ("shfl.sync.bfly",)),
    ("softmax fp16", kernels.softmax, dict(X=fp16, N=4096), ("shfl.sync.bfly", "bar")),
    ("attention 64", kernels.flash_attention, dict(Q=fp16, K=fp16, V=fp16, D=64), (*PRODUCTS, ".trans")),
    ("attention 128 causal", kernels.flash_attention, dict(Q=bf16, K=bf16, V=bf16, D=128, causal=True), PRODUCTS),
    ("linear_gelu", kernels.linear_gelu, dict(X=bf16, W=bf16, bias=bf16), PRODUCTS),
]


@pytest.mark.parametrize("assembler", assemblers())
@pytest.mark.parametrize("name, fn, words, promised", KERNELS, ids=[k[0] for k in KERNELS])
def test_ptxas(name, fn, words, promised, assembler, tmp_path):
    ptx = fn.compile(target="sm_80", **words).ptx
    for instruction in promised:
        assert instruction in ptx
    plain = re.sub(r"ex2\.approx\S*", "", ptx)  # docs/decisions/2026-11-15-exponentials-by-the-machine.md
    assert "approx" not in plain and ".ftz" not in plain and "__nv_" not in plain  # our own functions, IEEE arithmetic
    (tmp_path / "k.ptx").write_text(ptx)
    done = subprocess.run([assembler, "-v", "-arch", "sm_80", "k.ptx", "-o", "k.cubin"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", done.stderr + done.stdout)
    assert found == [("0", "0", "0")], done.stderr


def test_there_is_an_assembler():
    assert assemblers(), "no ptxas: pip install -r tools/requirements-gpu.txt, or put CUDA's bin on the PATH"


@pytest.mark.parametrize("name, fn, words, promised", KERNELS, ids=[k[0] for k in KERNELS])
def test_bank_conflicts_from_the_layouts(name, fn, words, promised):
    """Each access to shared memory in the mapped stage says how often it takes more passes than it must."""
    text = fn.inspect_ir("tile", target="sm_80", **words)
    accesses = re.findall(r"tile\.(?:cp_async|local_load) .*?conflicts = (\d+)", text)
    assert set(accesses) <= {"0"}, accesses
    assert bool(accesses) == ("cp.async.cg.shared.global" in promised)
    assert len(accesses) == text.count("tile.cp_async") + text.count("tile.local_load")


def test_report():
    text = kernels.gemm.compile(target="sm_80", A=fp16, B=fp16).report
    assert re.search(r"gemm_0: 256 threads, 65536 bytes of shared memory; \d+ registers, 0 bytes spilled", text)
    assert len(re.findall(r"gemm\.py:\d+:27: copy into shared memory: 0 bank conflicts", text)) == 1
    assert text.count(": 0 bank conflicts") == 4 and text.endswith("time: not measured: nothing was run")


TILES = [
    ("gemm", kernels.gemm, dict(A=fp16, B=fp16), "mmaf"),
    ("gemm bf16", kernels.gemm, dict(A=bf16, B=bf16), "mmaf"),
    ("softmax", kernels.softmax, dict(X=fp32, N=200), "reduce"),
    ("softmax fp16", kernels.softmax, dict(X=fp16, N=64), "reduce"),
    ("attention", kernels.flash_attention, dict(Q=fp16, K=fp16, V=fp16, D=64), "mmaf"),
]


@pytest.mark.parametrize("name, fn, words, op", TILES, ids=[k[0] for k in TILES])
def test_tileiras(name, fn, words, op, tile_tools, tmp_path):
    disassembler, compiler = tile_tools
    bytecode = fn.compile(target="cudatile:sm_90", **words).bytecode
    assert bytecode.startswith(b"\x7fTileIR\x00\x0d\x01")
    (tmp_path / "k.tilebc").write_bytes(bytecode)
    shown = subprocess.run([disassembler, "k.tilebc"], cwd=tmp_path, capture_output=True, text=True)
    assert shown.returncode == 0 and re.search(rf"\b{op}\b", shown.stdout), shown.stderr
    assert not re.search(r"= exp\b|= exp2\b", shown.stdout)  # our own functions here too
    for machine in ("sm_90", "sm_100"):
        done = subprocess.run([compiler, "--gpu-name", machine, "k.tilebc", "-o", f"k.{machine}.cubin"], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / f"k.{machine}.cubin").read_bytes().startswith(b"\x7fELF")


def test_cudatile_says_what_it_cannot_do():
    with pytest.raises(tsr.CompileError, match="not yet: a range that does not start at a multiple of a power of two, or ends before its dim"):
        kernels.flash_attention.compile(target="cudatile:sm_90", Q=fp16, K=fp16, V=fp16, D=64, causal=True)
    with pytest.raises(tsr.errors.ArgumentError, match="leaves after stage tile-value.*; there are graph, sched and tile-value"):
        kernels.softmax.inspect_ir("target", target="cudatile:sm_90", N=64)
