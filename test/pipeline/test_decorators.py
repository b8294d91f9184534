"""tesserac reads what stands above a program, as Python does.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import re

PROGRAM = '''
@tsr.kernel.schedule(threads=4)
@tsr.kernel.schedule(target="cpu", threads=1, vector=8, BLOCK=32)
@tsr.kernel.schedule(target="sm_90a", BLOCK=128)
def scale(X: Tensor["N"], Y: Out["N"], BLOCK: const = 16):
    for n in tsr.grid(tsr.tile(N, BLOCK)):
        Y[n] = X[n] * 2

@tsr.policy("fast")
@tsr.accum(fp64)
@tsr.function.schedule(tile=dict(N=512))
def scaled(x: Tensor["N"]):
    return scale(x * x + x) + tsr.cumsum(x, dim=0)
'''


def test_schedules_policies_and_accumulators(tesserac, tmp_path):
    path = tmp_path / "scale.tessera"
    path.write_text(PROGRAM)
    alone = tesserac(path, "--function", "scale", "--compile-to", "tile-value").stdout
    assert re.search(r"ceildivsi %\d+, %c32 ", alone) and "threads 1" in alone and "vector = 8" in alone
    called = tesserac(path, "--compile-to", "tile-value").stdout
    [launch] = [line for line in called.splitlines() if "launch @scale_" in line]
    assert "threads 1" in launch and re.search(r"ceildivsi %\d+, %c32 ", called)
    graph = tesserac(path, "--compile-to", "graph").stdout
    assert "gir.fma" in graph and "accumulate = f64" in graph and 'gir.policy = "fast"' in graph
    assert "sched.tile 0 by <512" in tesserac(path, "--compile-to", "sched").stdout


def test_a_schedule_for_a_dtype(tesserac, tmp_path):
    """That of the first array; written first, it still goes before the target's own."""
    path = tmp_path / "scale.tessera"
    path.write_text(PROGRAM.replace("@tsr.kernel.schedule(threads=4)", '@tsr.kernel.schedule(target="cpu", dtype=fp16, BLOCK=64)'))
    tile = lambda *types: tesserac(path, "--function", "scale", *types, "--compile-to", "tile-value").stdout  # noqa: E731
    block = lambda *types: re.findall(r"ceildivsi %\d+, %c(\d+) ", tile(*types))  # noqa: E731
    assert block("--types", "X=fp16") == ["64"] and "vector = 8" in tile("--types", "X=fp16")
    assert block("--types", "X=bf16") == block("--types", "Y=fp16") == block() == ["32"]
    path.write_text(PROGRAM.replace("threads=4", "dtype=4"))
    done = tesserac(path, "--compile-to", "graph")
    assert done.returncode == 1 and "error: dtype of a schedule is a dtype, that of the first array" in done.stderr


def test_mistakes(tesserac, tmp_path):
    path = tmp_path / "scale.tessera"
    path.write_text(PROGRAM.replace("threads=4", "thread=4"))
    done = tesserac(path, "--compile-to", "graph")
    assert done.returncode == 1
    assert done.stderr.replace(str(tmp_path) + "/", "") == (
        "scale.tessera:2:22: error: scale has no schedule key 'thread'\n"
        "    2 | @tsr.kernel.schedule(thread=4)\n"
        "      |                      ^~~~~~~~\n"
        " fix:  threads=...\n"
    )
    path.write_text(PROGRAM.replace('"fast"', '"quick"'))
    done = tesserac(path, "--compile-to", "graph")
    assert 'a policy is "deterministic", "strict" or "fast"' in done.stderr


def test_names_that_do_not_exist(tesserac, tmp_path):
    path = tmp_path / "scale.tessera"
    path.write_text(PROGRAM)
    for option in ("--constants", "--types"):
        done = tesserac(path, "--function", "scale", option, "Z=fp32" if option == "--types" else "Z=3", "--compile-to", "graph")
        assert done.returncode == 1 and done.stderr == f"error: {option} Z: there is no such parameter\n"
