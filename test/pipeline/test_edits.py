"""Edit and resume: five edits at every stage whose text carries the decision, and errors that find the user's line.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import dataclasses
import inspect
import re

import numpy as np
import pytest
import tessera as tsr
from tessera import Out, Tensor, const

STAGES = ("graph", "sched", "tile-value", "tile", "target")


@tsr.function.schedule(target="cpu", tile=dict(N=1024), threads=2)
@tsr.function
def layer(X: Tensor["M", "N"], Y: Tensor["M", "N"]):
    scaled = X * 3.0
    shifted = scaled + Y
    return shifted


@tsr.kernel.schedule(target="cpu", threads=2)
@tsr.kernel
def blocked(X: Tensor["M", "N"], Y: Tensor["M", "N"], Z: Out["M", "N"], BLOCK: const = 1024):
    for m, n in tsr.grid(M, tsr.tile(N, BLOCK)):
        scaled = X[m, n] * 3.0
        Z[m, n] = scaled + Y[m, n]


@tsr.function.schedule(target="cpu", tile=dict(M=128), threads=2)
@tsr.function
def product(X: Tensor["M", "K"], Y: Tensor["K", "N"]):
    scores = X @ Y
    shifted = scores + 3.0
    return shifted


@tsr.function
def total(X: Tensor["M", "N"]):
    doubled = X * 2.0
    return tsr.sum(doubled, axis=1)


# ---- the edits ------------------------------------------------------------------------------


def number(old: int, new: int):
    """Replaces a number wherever it stands alone: in ranges, tile shapes, constants and the plan."""
    return lambda text: re.sub(rf"(?<![\d._])(?<!%c){old}(?!\d)", str(new), text)


def both(*edits):
    def edit(text):
        for one in edits:
            text = one(text)
        return text

    return edit


def word(old: str, new: str):
    return lambda text: text.replace(old, new)


def split_fuse(text: str) -> str:
    """One sched.fuse becomes two: the product is stored, then read by the sum."""
    fuse = re.search(r"    %\w+ = sched\.fuse @layer_0.*?\n    }\n", text, re.S)[0]
    multiply = re.search(r" +(%\w+) = gir\.mul (%\w+), .*\n", fuse)
    add = re.search(r" +(%\w+) = gir\.add .*\n", fuse)
    first = re.sub(r"%\w+ = sched\.fuse @layer_0", "%part = sched.fuse @layer_part", fuse)
    first = first.replace(add[0], "").replace(f"sched.yield {add[1]} ", f"sched.yield {multiply[1]} ")
    second = fuse.replace(multiply[0], "").replace(multiply[1] + ",", multiply[2] + ",")
    second = re.sub(r"(sched\.fuse @layer_0 \([^)]*)%X", r"\1%part", second)
    return text.replace(fuse, first + second)


def split_kernel(text: str) -> str:
    """One kernel becomes two, each with one of the two ops; the plan gets the memory between them."""
    kernel = re.search(r"  (?:tile\.func|tessera_target\.kernel) @layer_0\(.*?\n  }\n", text, re.S)[0]
    first = re.sub(r"arith\.addf (%[\w#]+), %[\w#]+", r"arith.maximumf \1, \1", kernel.replace("@layer_0(", "@layer_part("))
    second = re.sub(r"arith\.mulf (%[\w#]+), %[\w#]+", r"arith.maximumf \1, \1", kernel)
    assert first.count("maximumf") and second.count("maximumf")
    launch = re.search(r" +plan\.launch @layer_0\(%X, %Y, (%\w+)\)(.*)\n", text)
    plan = (
        '%part = plan.alloc "part" [%M, %N] -> !plan.tensor<f32, 2>\n'
        f"plan.launch @layer_part(%X, %Y, %part){launch[2]}\n"
        f"plan.launch @layer_0(%part, %Y, {launch[1]}){launch[2]}\n"
    )
    return text.replace(kernel, first + second).replace(launch[0], plan)


halve = number(1024, 512)
halve_target = both(number(1024, 512), number(1023, 511))
limit = word(" threads 2", " threads 1")
three = word("3.000000e+00", "5.000000e+00")
NO_KERNELS = "graph has no kernels: fusion is decided on the way to sched"
ONE_KERNEL = "a @tsr.kernel is one kernel: its author fused it"
SAME_AS_LAYER = "constants of the packed loops coincide with the size: done on layer"

# program -> edit -> one entry per stage: the edit, or why there is none.
MATRIX = {
    "layer": {
        "tile size": (word("tile.N = 1024", "tile.N = 512"), word("by <1024,", "by <512,"), halve, halve, halve_target),
        "fusion": (NO_KERNELS, split_fuse, split_kernel, split_kernel, split_kernel),
        "threads": (word("threads = 2", "threads = 1"), word("threads <2,", "threads <1,"), limit, limit, limit),
        "one op": (word("gir.add", "gir.sub"), word("gir.add", "gir.sub"), *[word("arith.addf", "arith.subf")] * 3),
        "one constant": (three,) * 5,
    },
    "blocked": {
        "tile size": (halve, halve, halve, halve, halve_target),
        "fusion": (ONE_KERNEL,) * 5,
        "threads": (word("threads = 2", "threads = 1"), word("threads <2,", "threads <1,"), limit, limit, limit),
        "one op": (word("arith.addf", "arith.subf"),) * 5,
        "one constant": (three,) * 5,
    },
    "product": {
        "tile size": (word("tile.M = 128", "tile.M = 64"), word("by <128,", "by <64,"), number(128, 64), number(128, 64), SAME_AS_LAYER),
        "fusion": (NO_KERNELS, "splitting is shown on layer", *["splitting is shown on layer"] * 3),
        "threads": (word("threads = 2", "threads = 1"), word("threads <2,", "threads <1,"), limit, limit, limit),
        "one op": (word("gir.add", "gir.sub"), word("gir.add", "gir.sub"), word("arith.addf", "arith.subf"), word("arith.addf", "arith.subf"),
                   "sums and products are adds, too: done on layer"),
        "one constant": (three,) * 5,
    },
}
PROGRAMS = {"layer": layer, "blocked": blocked, "product": product}


def reference(program: str, edit: str, X, Y):
    constant = 5 if edit == "one constant" else 3
    sign = -1 if edit == "one op" else 1
    X, Y = X.astype(np.float64), Y.astype(np.float64)
    return X @ Y + sign * constant if program == "product" else X * constant + sign * Y


def integers(shape, seed):
    return np.random.default_rng(seed).integers(-8, 9, shape).astype(np.float32)


@dataclasses.dataclass
class Outcome:
    text: str  # of the edited stage
    object: bytes
    plan: str
    result: np.ndarray


@pytest.fixture(scope="module")
def originals():
    """Every program's stage texts, machine code and plan, unedited."""
    made = {}
    for name, fn in PROGRAMS.items():
        version = fn.compile(X=tsr.fp32, Y=tsr.fp32)
        made[name] = {stage: fn.inspect_ir(stage, X=tsr.fp32, Y=tsr.fp32) for stage in STAGES}, version
    return made


def arguments_of(program):
    shapes = ((70, 300), (300, 130)) if program == "product" else ((37, 1500), (37, 1500))
    return [integers(shape, seed) for seed, shape in enumerate(shapes)]


CELLS = [(p, e, s) for p, edits in MATRIX.items() for e in edits for s in STAGES]
table: dict = {}


@pytest.mark.parametrize("program, edit, stage", CELLS, ids=["-".join(c).replace(" ", "_") for c in CELLS])
def test_edit(program, edit, stage, originals, tesserac, tmp_path):
    apply = MATRIX[program][edit][STAGES.index(stage)]
    if isinstance(apply, str):
        table[program, edit, stage] = f"- ({apply})"
        return
    texts, before = originals[program]
    edited = apply(texts[stage])
    assert edited != texts[stage], "the stage's text does not carry this decision"
    version = PROGRAMS[program].resume(edited)
    X, Y = arguments_of(program)

    # The result changes only when it should.
    np.testing.assert_array_equal(version(X, Y), reference(program, edit, X, Y))

    # The code changes accordingly.
    code_changed = version.artifact.object != before.artifact.object
    if edit == "threads":
        assert " threads 1" in version.plan and " threads 2" not in version.plan
        assert not code_changed, "a thread limit is the plan's alone"
    else:
        assert code_changed
    if edit == "tile size":
        old, new = ("128", "64") if program == "product" else ("1024", "512")
        assert f"ceildiv {new}" in version.plan and f"ceildiv {old}" not in version.plan
    if edit == "fusion":
        launches = lambda plan: len(re.findall(r"launch @(?!\w+_stream\()", plan))
        assert launches(version.plan) == launches(before.plan) + 1

    # tesserac does the same.
    path = tmp_path / "edited.mlir"
    path.write_text(edited)
    done = tesserac(path, "--compile-from", stage, "-o", tmp_path / "edited.o")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "edited.o").read_bytes() == version.artifact.object
    assert (tmp_path / "edited.plan").read_text() == version.plan

    # Every later stage shows it.
    seen = []
    for later in STAGES[STAGES.index(stage) + 1 :]:
        lowered = tesserac(path, "--compile-to", later)
        assert lowered.returncode == 0, lowered.stderr
        assert lowered.stdout != texts[later]
        seen.append(later)
    table[program, edit, stage] = ("plan" if edit == "threads" else "code") + " changed" + (f", seen in {', '.join(seen)}" if seen else "")


def test_unedited_text_gives_the_same_code(originals):
    for name, (texts, before) in originals.items():
        for stage in STAGES:
            again = PROGRAMS[name].resume(texts[stage])
            assert again.artifact.object == before.artifact.object, (name, stage)
            assert again.plan == before.plan, (name, stage)


def test_resumed_text_keeps_names_and_lines(originals, tesserac, tmp_path):
    """Graph text, resumed down to a stage, prints that stage as the source does (but for the columns of parameters)."""
    lines = lambda text: re.sub(r"(// .*:\d+):\d+$", r"\1", text.strip(), flags=re.M)
    texts, _ = originals["layer"]
    path = tmp_path / "layer.mlir"
    path.write_text(texts["graph"])
    for stage in STAGES:
        assert lines(tesserac(path, "--compile-to", stage).stdout) == lines(texts[stage]), stage


def test_the_matrix(capsys):
    """Prints what the tests above found; every cell has an entry."""
    if len(table) != len(CELLS):
        pytest.skip("only with the whole file")
    lines = [f"{'program':8} {'edit':13} {'stage':11} outcome"]
    lines += [f"{p:8} {e:13} {s:11} {table[p, e, s]}" for p, e, s in CELLS]
    with capsys.disabled():
        print("\n" + "\n".join(lines))
    assert sum("changed" in outcome for outcome in table.values()) >= 45


# ---- errors ---------------------------------------------------------------------------------


def line_of(fn, code: str) -> tuple[str, int]:
    """The file and line of `code` in `fn`."""
    lines, first = inspect.getsourcelines(fn.__wrapped__)
    at = next(i for i, line in enumerate(lines) if code in line)
    return fn.source.file, first + at


def break_addi(text):
    """llvm.add is not on the target's closed list."""
    return re.sub(r"arith\.addi (%\w+, %\w+ : i64)", r"llvm.add \1", text, count=1)


SUM, TIMES = "tsr.sum(doubled", "X * 2.0"
MISTAKES = [
    ("graph", word("axes = [1]", "axes = [7]"), "axis", SUM),
    ("graph", word("gir.mul", "arith.mulf"), "may not stand in", TIMES),
    ("sched", word("gir.reduce sum", "gir.reduce mean"), "may not stand in a sched.fuse", SUM),
    ("sched", word("by <1024,", "by <-4,"), "a tile has 1 to", SUM),
    ("sched", word("place threads <0,", "place thread <0,"), "[threads, vector, unroll, group, num_warps, pack, split_k, stream, fuse]", SUM),
    ("tile-value", word("axis = 0", "axis = 3"), "axis", SUM),
    ("tile-value", word("arith.mulf", "arith.mullf"), "arith.mullf", TIMES),
    ("tile", word("vector_axis = 0", "vector_axis = 4"), "vector_axis = 4", SUM),
    ("tile", word("unroll = ", "lanes = 6 : i64, unroll = "), "power of two", SUM),
    ("target", break_addi, "'llvm.add' may not stand in a kernel of the CPU", "def total"),
]


@pytest.mark.parametrize("stage, edit, message, code", MISTAKES, ids=[f"{m[0]}-{i}" for i, m in enumerate(MISTAKES)])
def test_error_shows_the_users_line(stage, edit, message, code, tesserac, tmp_path):
    text = total.inspect_ir(stage, X=tsr.fp32)
    edited = edit(text)
    assert edited != text
    with pytest.raises(tsr.CompileError) as caught:
        total.resume(edited)
    error = str(caught.value)
    file, line = line_of(total, code) if code != "def total" else (total.source.file, None)
    if line is None:  # the program itself: any line of it
        found = re.search(re.escape(file) + r":(\d+):\d+: error:", error)
        lines, first = inspect.getsourcelines(total.__wrapped__)
        assert found and first <= int(found[1]) < first + len(lines), error
        line = int(found[1])
    assert f"{file}:{line}:" in error, error
    assert message in error
    source_line = open(file).read().splitlines()[line - 1]
    shown = error.splitlines()
    at = next(i for i, row in enumerate(shown) if row.rstrip().endswith(source_line.rstrip()))
    assert "^" in shown[at + 1], error
    assert f"stage {stage}" in error, error

    path = tmp_path / "edited.mlir"
    path.write_text(edited)
    done = tesserac(path, "-o", tmp_path / "x.o")
    assert done.returncode == 1
    said = done.stderr.replace(str(path), "<total, edited>").rstrip()
    assert error.startswith(said) and "fix:" in error[len(said) - 1:] + said


def test_error_without_the_file_still_names_the_line(tmp_path):
    text = total.inspect_ir("graph", X=tsr.fp32)
    file = total.source.file
    edited = text.replace(file, "gone.py").replace("axes = [1]", "axes = [7]")
    with pytest.raises(tsr.CompileError, match=r"gone\.py:\d+:\d+: error: "):
        total.resume(edited)


@pytest.mark.parametrize("stage", STAGES)
def test_wrong_format_and_stage(stage):
    text = total.inspect_ir(stage, X=tsr.fp32)
    with pytest.raises(tsr.CompileError, match="this text has format 99, but this compiler reads format 2"):
        total.resume(text.replace("tessera.format = 2", "tessera.format = 99"))
    with pytest.raises(tsr.CompileError, match="at stage 'tiles'; there are graph, sched, tile-value, tile, target"):
        total.resume(text.replace(f'tessera.stage = "{stage}"', 'tessera.stage = "tiles"'))
    with pytest.raises(tsr.CompileError, match="does not say its stage"):
        total.resume(text.replace(f', tessera.stage = "{stage}"', ""))
    with pytest.raises(tsr.CompileError, match="does not say its format version"):
        total.resume(text.replace("tessera.format = 2 : i64, ", ""))


@pytest.mark.parametrize("stage", STAGES)
def test_text_of_another_stage(stage):
    """A stage's text under another stage's name breaks that one's contract."""
    text = total.inspect_ir(stage, X=tsr.fp32)
    other = STAGES[(STAGES.index(stage) + 2) % len(STAGES)]
    with pytest.raises(tsr.CompileError, match="may not stand in"):
        total.resume(text.replace(f'tessera.stage = "{stage}"', f'tessera.stage = "{other}"'))


@pytest.mark.parametrize("stage", STAGES)
def test_truncated_text(stage):
    """Cut anywhere, a text is refused (or, where only the end of the last line is lost, still whole)."""
    text = total.inspect_ir(stage, X=tsr.fp32).rstrip()
    for part in range(0, 40):
        cut = text[: len(text) * part // 40]
        with pytest.raises(tsr.CompileError, match="error: "):
            total.resume(cut)


@pytest.mark.parametrize("target", ("sm_75", "sm_80", "sm_90a"))
def test_target_text_of_a_gpu_is_resumed(target):
    """The last stage has all that PTX needs: the same code and plan come out."""
    whole = total.compile(target=target, X=tsr.fp32)
    resumed = total.resume(total.inspect_ir("target", target=target, X=tsr.fp32), target=target)
    code = [[line for line in version.ptx.splitlines() if not line.strip().startswith((".loc", ".file", "//"))] for version in (whole, resumed)]
    assert code[0] == code[1] and whole.plan == resumed.plan


@pytest.mark.parametrize(("stage", "target", "old", "new", "message"), (
    ("tile", "cpu:avx2", "unroll = 4", "unroll = 2147483648", "unroll is 1 to 64, not 2147483648"),
    ("tile", "sm_80", "block_size = ", "block_size = 33", "threads of a block, 32 to 1024"),
    ("tile-value", "cpu:avx2", "tile.dim %result, 0", "tile.dim %result, 9", "axis 9 of a view of rank 1"),
    ("sched", "cpu:avx2", "vector <0,", "vector <2147483648,", "vector cannot be 2147483648"),
))
def test_numbers_that_size_something_have_ranges(stage, target, old, new, message):
    """Such a text took all memory, or ended the compiler; it is refused at its line."""
    text = total.inspect_ir(stage, target=target, X=tsr.fp32)
    assert old in text
    with pytest.raises(tsr.CompileError, match=re.escape(message)) as refused:
        total.resume(text.replace(old, new, 1), target=target)
    assert re.match(r"[^\n]*:\d+:\d+: error: ", str(refused.value))
