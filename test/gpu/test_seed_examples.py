"""The documents' examples on NVIDIA GPUs (must-show 6 of the NVIDIA half): the usage guide's attention and the overview's FP8 product.

Changed against the documents:
* seeds/001, lines 27-37: `import math` and `from tessera import Tensor` added; nothing else.
* seeds/001, lines 40-76 (C++): "sm_90" is "sm_80"; test/python/test_cpp_compiler.py compiles and runs that program.
* seeds/004, section 12 is five steps without code; the kernel is ours. It is for sm_89, the first machine with mma.sync of FP8.
Everything runs on the simulator: there is no GPU here.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math
import os
import pathlib
import re
import subprocess

import bounds
import numpy as np
import pytest
from machines import assemblers

import tessera as tsr
from tessera import Out, Tensor, accum, const, fp8_e4m3, fp16, fp32
from tessera import _core as compiler
from tessera.errors import RunError
from tessera.gpu import SimVersion

torch = pytest.importorskip("torch")
ROOT = pathlib.Path(__file__).resolve().parents[2]


@tsr.function
def flash_attention(q: Tensor["B", "H", "S", "D"], 
                   k: Tensor["B", "H", "S", "D"],
                   v: Tensor["B", "H", "S", "D"]) -> Tensor["B", "H", "S", "D"]:
    scale = 1.0 / math.sqrt(q.shape[-1])
    scores = tsr.matmul(q, k.transpose(-2, -1)) * scale
    probs = tsr.softmax(scores, dim=-1)
    return tsr.matmul(probs, v)


@tsr.kernel.autotune(space=dict(BLOCK_M=[64, 128], BLOCK_N=[64, 128], num_stages=[2, 3]), key=["M", "N", "K"])
@accum(fp32)
@tsr.kernel
def fp8_gemm(A: Tensor["M", "K", fp8_e4m3], B: Tensor["K", "N", fp8_e4m3], C: Out["M", "N", fp32], BLOCK_M: const = 64, BLOCK_N: const = 64):
    for m, n in tsr.grid(tsr.tile(M, BLOCK_M), tsr.tile(N, BLOCK_N)):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, 64):
            acc += A[m, k] @ B[k, n]
        C[m, n] = acc


def fp8(rng, *shape):
    return torch.tensor(rng.standard_normal(shape).astype(np.float32)).to(torch.float8_e4m3fn)


# ---- the usage guide's attention ----------------------------------------------------------------


def test_the_guides_attention_on_sm_80(inputs):
    q, k, v = (inputs.normal(1, 2, 67, 64, dtype="fp16") for _ in range(3))
    got = flash_attention(q, k, v, target="sim:sm_80")
    for head in range(2):
        e = lambda a: bounds.exact(a[0, head], "fp16")
        bounds.check(got[0, head], bounds.attention(e(q), e(k), e(v), accumulate="mma"), f"head {head}")
    version = flash_attention._versions[flash_attention.last_spec.key]
    assert ".target sm_80" in version.ptx and "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" in version.ptx and "cp.async" in version.ptx


@pytest.mark.parametrize("dtype", ["fp16", "fp32"])
@pytest.mark.parametrize("size", [64, 192, 256, 512])
def test_every_head_fits_its_registers(dtype, size):
    """`.cubin` refuses spills; ptxas prefers some to fewer blocks on a multiprocessor and is asked again."""
    words = dict.fromkeys("qkv", getattr(tsr, dtype))
    for target in ("sm_80", "sm_90"):
        assert flash_attention.compile(target=target, D=size, **words).cubin


@pytest.mark.parametrize("dtype", ["fp16", "fp32"])
def test_a_wide_head_is_spread_over_warps(inputs, dtype):
    """Sixteen rows of 512 numbers are too many registers for one warp: its columns belong to several."""
    q, k, v = (inputs.normal(1, 1, 37, 512, dtype=dtype) for _ in range(3))
    got = flash_attention(q, k, v, target="sim:sm_80")
    e = lambda a: bounds.exact(a[0, 0], dtype)
    bounds.check(got[0, 0], bounds.attention(e(q), e(k), e(v), accumulate="mma"), "head")


def test_check_shows_the_whole_table(inputs, capsys):
    q, k, v = (inputs.normal(1, 1, 67, 64, dtype="fp16") for _ in range(3))
    flash_attention.check(q, k, v, target="sm_80")
    table = capsys.readouterr().out
    rows = [line.split() for line in table.splitlines() if re.match(r"(stage|graph|sched|tile-value|tile|cpu|sm_80) ", line)]
    assert rows[0] == ["stage", "max", "error", "bound", "ring", "races", "barriers", "conflicts", "registers", "spills"]
    assert [" ".join(row[:-8]) if row[-1] != "-" or row[0] in ("cpu", "sm_80") else row[0] for row in rows[1:]] == [
        "graph", "sched", "tile-value", "tile", "cpu (compiled)", "sm_80 (simulated)"], table
    ours = rows[-1][2:]
    error, bound, races, barriers, conflicts, registers, spills = (ours[i] for i in (0, 1, 3, 4, 5, 6, 7))
    assert float(error) <= float(bound) and races == "none" and barriers == "proved" and conflicts == "0", table
    assert spills == "0" and 0 < int(registers) <= 255, table


# ---- the overview's section 12 --------------------------------------------------------------------


def test_step_2_shapes_and_the_fp8_policy():
    text = fp8_gemm.inspect_ir("graph", target="sm_89")
    assert 'gir.dims = ["M", "K"]' in text and 'gir.dims = ["K", "N"]' in text and 'gir.dims = ["M", "N"]' in text
    assert "f8E4M3FN" in text and "gir.accum = f32" in text


def test_step_3_the_search_space():
    text = fp8_gemm.inspect_ir("sched", target="sm_89")
    assert 'sched.autotune {BLOCK_M = [64, 128], BLOCK_N = [64, 128], num_stages = [2, 3]} key ["M", "N", "K"] budget = 100 numerics = "fixed"' in text


def test_step_3_on_the_command_line(tmp_path):
    """A program file has its decorators read by `tesserac`."""
    (tmp_path / "scale.tessera").write_text("""
@tsr.kernel.autotune(space=dict(BLOCK=[64, 128]), key=["N"], budget=7)
def scale(x: Tensor["N"], y: Out["N"], BLOCK: const = 64):
    for n in tsr.grid(tsr.tile(N, BLOCK)):
        y[n] = x[n] * 2.0
""")
    places = [os.environ.get("TESSERA_BIN", ""), ROOT / "build/release/bin", ROOT / "build/dev/bin"]
    tesserac = next(str(pathlib.Path(p) / "tesserac") for p in places if p and (pathlib.Path(p) / "tesserac").exists())
    done = subprocess.run([tesserac, "scale.tessera", "--compile-to", "sched"], cwd=tmp_path, capture_output=True, text=True)
    assert 'sched.autotune {BLOCK = [64, 128]} key ["N"] budget = 7 numerics = "fixed"' in done.stdout, done.stderr + done.stdout


def test_step_4_the_pipeline_in_tile_ir():
    """Copies run ahead: begun before the loop and, in it, for a later turn; a wait and a barrier before what is read."""
    text = fp8_gemm.inspect_ir("tile", target="sm_89")
    before, loop = text.split("tile.for", 1)
    loop = loop.split("tile.yield", 1)[0]
    assert before.count("tile.cp_async") == 4 and loop.count("tile.cp_async") == 2  # two turns ahead, two operands
    order = [re.search(r"tile\.(wait pending = 1|barrier|cp_async|local_load|mma)", line)[1] for line in loop.splitlines() if re.search(r"tile\.(wait|barrier|cp_async|local_load|mma)", line)]
    assert order == ["wait pending = 1", "barrier", "cp_async", "cp_async", "local_load", "local_load", "mma"], order
    assert "instruction = #tile.instruction<sync 16 x 8 x 32>" in loop


def test_step_5_products_accumulate_in_fp32(tmp_path):
    assert "f32.e4m3.e4m3.f32" in fp8_gemm.inspect_ir("target", target="sm_89")
    ptx = fp8_gemm.inspect_ir("ptx", target="sm_89")
    products = set(re.findall(r"mma\.sync\.\S+", ptx))
    assert products == {"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"}
    assert "cp.async.cg.shared.global" in ptx and "cp.async.commit_group" in ptx and "cp.async.wait_group" in ptx
    (tmp_path / "k.ptx").write_text(ptx)
    for assembler in assemblers():
        done = subprocess.run([assembler, "-arch", "sm_89", "k.ptx", "-o", "k.cubin"], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_the_fp8_product_is_right_at_every_stage(capsys):
    """`check` compares the stages, the CPU and the PTX on the simulator within the derived bound; extents fill no tile."""
    rng = np.random.default_rng(0)
    a, b = fp8(rng, 70, 144), fp8(rng, 144, 80)
    fp8_gemm.check(a, b, target="sm_89")
    assert re.search(r"sm_89 \(simulated\) .* none +proved", capsys.readouterr().out)


def test_an_fp8_product_without_its_barrier():
    """Tile IR without `tile.barrier`: the proof refuses it, and the simulator, asked without the proof, finds the race; both name the product's line."""
    rng = np.random.default_rng(1)
    a, b = fp8(rng, 64, 256), fp8(rng, 256, 64)
    text = fp8_gemm.inspect_ir("tile", target="sm_89")
    lines = text.split("\n")
    (barrier,) = [i for i, line in enumerate(lines) if re.match(r" *tile\.barrier\b", line)]
    place = re.search(r"test_seed_examples\.py:\d+", lines[barrier])[0]
    edited = "\n".join(lines[:barrier] + lines[barrier + 1 :])

    def run(text):
        options = {**fp8_gemm._options("sm_89"), "mistake": "unproved"}
        return SimVersion(fp8_gemm, "sim:sm_89", compiler.compile_text(text, "edited", options), None)(a, b)

    fp8_gemm.resume(text, target="sm_89")  # as it was: proved
    assert torch.equal(run(text), fp8_gemm(a, b, target="sim:sm_89"))  # and what `check` found right
    with pytest.raises(tsr.CompileError) as refused:
        fp8_gemm.resume(edited, target="sm_89")
    assert place in str(refused.value) and "there was no barrier since" in str(refused.value)
    assert re.search(r"turn +what happens +memory +line", str(refused.value))
    with pytest.raises(RunError) as seen:
        run(edited)
    assert "race" in str(seen.value) and place in str(seen.value)
