"""tesserac: every stage of the documents' programs, numbered dumps, resuming; the user's names and lines in each.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import pathlib
import re

import pytest

import tessera as tsr

ROOT = pathlib.Path(__file__).resolve().parents[2]
STAGES = ("graph", "sched", "tile-value", "tile", "target")


def documented_kernels() -> str:
    """The code of language.md, section 10."""
    text = (ROOT / "docs/language.md").read_text()
    section = text[text.index("## 10 ") : text.index("## 11 ")]
    return re.search(r"```python\n(.*?)```", section, re.S)[1]


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """(file, options, the names a reader looks for) of each program."""
    folder = tmp_path_factory.mktemp("programs")
    kernels = folder / "kernels.tessera"
    kernels.write_text("import tessera as tsr\nimport math\n\n" + documented_kernels())
    return {
        "gemm": (kernels, ["--function", "gemm"], ("acc", "C")),
        "flash_attention": (kernels, ["--function", "flash_attention", "--dims", "D=64"], ("hk", "top", "s", "p", "acc", "den")),
        "causal": (kernels, ["--function", "flash_attention", "--dims", "D=64", "--constants", "causal=True"], ("hk", "s", "acc")),
        "guide": (ROOT / "test/numerics/attention.tessera", ["--dims", "D=64"], ("q", "k", "v")),
    }


NAMES = ("gemm", "flash_attention", "causal", "guide")


def remarks(text: str, file) -> set[int]:
    """The user's lines that a stage's text names."""
    return {int(line) for line in re.findall(rf"// {re.escape(str(file))}:(\d+):\d+$", text, re.M)}


@pytest.mark.parametrize("program", NAMES)
def test_every_stage(program, programs, tesserac, tmp_path):
    file, options, names = programs[program]
    dumps = tmp_path / "dumps"
    done = tesserac(file, *options, "--verify-each", "--dump-stages-to", dumps, "-o", tmp_path / "whole.o")
    assert done.returncode == 0, done.stderr
    assert sorted(p.name for p in dumps.iterdir()) == [*(f"{i:02}-{stage}.mlir" for i, stage in enumerate(STAGES)), "05-object.o"]
    assert (dumps / "05-object.o").read_bytes() == (tmp_path / "whole.o").read_bytes()
    code, plan = (tmp_path / "whole.o").read_bytes(), (tmp_path / "whole.plan").read_text()
    assert code.startswith(b"\x7fELF") and plan.startswith("tessera.plan 1\n")
    source = file.read_text().splitlines()
    for i, stage in enumerate(STAGES):
        done = tesserac(file, *options, "--compile-to", stage)
        assert done.returncode == 0, done.stderr
        text = done.stdout
        assert text == (dumps / f"{i:02}-{stage}.mlir").read_text()
        assert f'tessera.stage = "{stage}"' in text and "tessera.format = 2" in text

        # The user's names and lines.
        for name in names:
            assert re.search(rf"%{name}(_\d+)?\b", text), (stage, name)
        lines = remarks(text, file)
        assert lines and max(lines) <= len(source)
        assert len(lines) >= 3 or program == "guide", (stage, lines)
        with_result = [row for row in text.splitlines() if re.match(r" +%[\w:, ]+ = ", row)]
        # A constant that several lines share belongs to none of them.
        unmarked = [row for row in with_result if "  // " not in row and "arith.constant" not in row]
        assert not unmarked, (stage, unmarked[:3])

        # Going on from that text gives the same object, by its own word or by ours.
        dumped = dumps / f"{i:02}-{stage}.mlir"
        for more in ([], ["--compile-from", stage]):
            done = tesserac(dumped, *more, "-o", tmp_path / "resumed.o")
            assert done.returncode == 0, done.stderr
            assert (tmp_path / "resumed.o").read_bytes() == code
            assert (tmp_path / "resumed.plan").read_text() == plan
        wrong = STAGES[(i + 1) % len(STAGES)]
        done = tesserac(dumped, "--compile-from", wrong, "-o", tmp_path / "wrong.o")
        assert done.returncode == 1 and f"is at stage '{stage}', not {wrong}" in done.stderr


@pytest.mark.parametrize("program", NAMES)
def test_llvm(program, programs, tesserac):
    file, options, _ = programs[program]
    done = tesserac(file, *options, "--compile-to", "llvm")
    assert done.returncode == 0 and "define" in done.stdout


def test_going_back_is_refused(programs, tesserac, tmp_path):
    file, options, _ = programs["gemm"]
    tesserac(file, *options, "--compile-to", "tile", "-o", tmp_path / "tile.mlir")
    done = tesserac(tmp_path / "tile.mlir", "--compile-to", "graph")
    assert done.returncode == 1 and "already at stage tile, past graph" in done.stderr
    done = tesserac(file, *options, "--compile-to", "tiles")
    assert done.returncode == 1 and "no stage is called 'tiles'; there are graph, sched" in done.stderr


def test_tessera_opt_reads_what_tesserac_prints(programs, tesserac, tessera_opt, tmp_path):
    """The stages are plain MLIR: passes can be run on them one by one."""
    file, options, _ = programs["guide"]
    tesserac(file, *options, "--compile-to", "graph", "-o", tmp_path / "graph.mlir")
    done = tessera_opt(tmp_path / "graph.mlir", "--schedule-pipeline", "--schedule-to-tile-pipeline")
    assert done.returncode == 0, done.stderr
    assert "tile.func" in done.stdout and "plan.func" in done.stdout


def double(x: tsr.Tensor["N"]):
    return x + x


@pytest.mark.parametrize(("stage", "target"), (("sass", "sm_80"), ("cubin", "cpu"), ("tiles", "sm_75"), ("target", "cudatile:sm_90"), ("mlir", "sim:sm_80"), ("ptx", "cpu")))
def test_the_fix_for_a_stage_is_accepted(stage, target):
    function = tsr.function(double)
    with pytest.raises(tsr.ArgumentError) as error:
        function.inspect_ir(stage, target=target)
    assert eval(re.search(r" fix:  (.*)", str(error.value))[1], {"function": function})
