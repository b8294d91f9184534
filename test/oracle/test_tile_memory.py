"""The mapped level has teeth: a wait, a barrier, an offset, a mask ... edited away in the text of a stage is noticed.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import re

import numpy as np
import pytest
import tessera as tsr
from tessera import InOut, Out, Tensor, const, fp16, fp32
from tessera.oracle import Stage


@tsr.kernel
def gemm(A: Tensor["M", "K"], B: Tensor["K", "N"], C: Out["M", "N"], BK: const = 16):
    for m, n in tsr.grid(tsr.tile(M, 32), tsr.tile(N, 32)):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, BK, stages=1):
            acc += A[m, k] @ B[k, n]
        C[m, n] = acc


@tsr.kernel
def pipelined(A: Tensor["M", "K"], B: Tensor["K", "N"], C: Out["M", "N"], STAGES: const = 3):
    for m, n in tsr.grid(tsr.tile(M, 32), tsr.tile(N, 32)):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, 16, stages=STAGES):
            acc += A[m, k] @ B[k, n]
        C[m, n] = acc


@tsr.kernel
def soft(X: Tensor["M", "N"], Y: Out["M", "N"]):
    for m in tsr.grid(tsr.tile(M, 4)):
        n = tsr.range_at(N, 0, 32)
        x = X[m, n]
        e = tsr.exp(x - tsr.max(x, n))
        Y[m, n] = e / tsr.sum(e, n)


@tsr.kernel
def padded(X: Tensor["M", "N"], Y: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 4)):
        n = tsr.range_at(N, 0, 32)
        Y[m] = tsr.sum(X[m, n].filled(5), n)


@tsr.function
def twice(X: Tensor["M", "N"], n):
    Y = X * 2
    for i in range(n):
        Y = Y + tsr.sum(Y, dim=1, keepdim=True)
    return Y


GEMM = {"A": (35, 40), "B": (40, 33)}
WANT = {
    "gemm": lambda A, B: A.astype(np.float64) @ B.astype(np.float64),
    "padded": lambda X: X.sum(1) + 5 * (32 - X.shape[1]),
}


def inputs(shapes, dtype, seed=0):
    random = np.random.default_rng(seed)
    return {name: random.integers(-3, 4, shape).astype(dtype) for name, shape in shapes.items()}


def run(text, given, seeds=range(4), **options):
    """Results for each seed; None where the interpreter objects, with its words."""
    outcomes, words = [], []
    try:
        program = Stage.of_text(text, "edited.mlir", checked=False, **options)
    except tsr.TesseraError as error:
        return [None], [str(error)]
    for seed in seeds:
        try:
            results = program.run(given, seed=seed).results
            outcomes.append(None if any(r.poison for r in results) else [r.array for r in results])
            words.append("a poison result" if outcomes[-1] is None else "")
        except tsr.TesseraError as error:
            outcomes.append(None)
            words.append(str(error))
    return outcomes, words


def without(pattern, number=0):
    """Drops the line that holds the `number`-th match."""
    def edit(text):
        lines = text.splitlines(keepends=True)
        found = [i for i, line in enumerate(lines) if re.search(pattern, line)]
        assert len(found) > number, f"no {pattern}"
        del lines[found[number]]
        return "".join(lines)

    return edit


def change(pattern, new, count=1):
    def edit(text):
        edited, times = re.subn(pattern, new, text, count=count)
        assert times, f"no {pattern}"
        return edited

    return edit


def gemm_text(target, dtype=fp16):
    return gemm.inspect_ir("tile", target=target, A=dtype, B=dtype)


# ---- GPUs: waits and barriers ---------------------------------------------------------------


def test_the_unedited_text_is_right():
    given = inputs(GEMM, np.float16)
    outcomes, words = run(gemm_text("sm_80"), given)
    assert not any(words)
    for (got,) in outcomes:
        assert np.array_equal(got.astype(np.float64), WANT["gemm"](**given))


@pytest.mark.parametrize("edit,words", [
    (without(r"tile\.wait"), "a copy is still writing: there was no wait for it|copy is still under way"),
    (without(r"tile\.barrier", 0), "may still be reading: there was no barrier since"),
    (without(r"tile\.barrier", 1), "other threads have written: there was no barrier since"),
    (change(r"pending = 0", "pending = 1"), "a copy is still writing: there was no wait for it|copy is still under way"),
    (change(r"tile\.alloc \{offset = (?!0 )\d+", "tile.alloc {offset = 128"), "still under way|overwritten by another buffer|written since the last barrier"),
    (change(r"shared_bytes = \d+", "shared_bytes = 1024"), "the buffer ends at byte"),
    (change(r"( +plan\.launch .*? grid )(%\w+)", r"%less = arith.constant -1 : index\n%programs = arith.addi \2, %less : index\n\1%programs"), "the plan launches 3 programs, but the kernel's grid has 4"),
], ids=["no wait", "no barrier before the copies", "no barrier after the wait", "waits for too little", "buffers overlap", "too little memory", "a program less"])
def test_a_gpu_kernel(edit, words):
    outcomes, said = run(edit(gemm_text("sm_80")), inputs(GEMM, np.float16))
    assert all(outcome is None for outcome in outcomes)
    for text in said:
        assert re.search(words, text), text
    if "no wait" in words or "barrier since" in words:
        assert "test_tile_memory.py:" in said[0]  # the user's line


@pytest.mark.parametrize("stages", (2, 3, 4))
@pytest.mark.parametrize("k", (1, 16, 20, 40, 90))
def test_a_pipeline_is_right_for_any_number_of_turns(stages, k):
    given = inputs({"A": (35, k), "B": (k, 33)}, np.float16)
    text = pipelined.inspect_ir("tile", target="sm_80", A=fp16, B=fp16, STAGES=stages)
    assert f"tile.wait pending = {stages - 2}" in text
    outcomes, words = run(text, given)
    assert not any(words), words
    for (got,) in outcomes:
        assert np.array_equal(got.astype(np.float64), WANT["gemm"](**given))


@pytest.mark.parametrize("edit,words", [
    (without(r"tile\.wait pending = 1"), "a copy is still writing: there was no wait for it|copy is still under way"),
    (without(r"tile\.wait pending = 0"), "the kernel ends while this copy is still under way"),
    (without(r"tile\.barrier"), "other threads have written: there was no barrier since|may still be reading|written since the last barrier"),
    (change(r"pending = 1", "pending = 2"), "a copy is still writing: there was no wait for it|copy is still under way"),
    (change(r"\{commit, ", "{", count=0), "a copy is still writing: there was no wait for it|copy is still under way"),
    (change(r"(local_load .* slot )%reading\w*", r"\1%filling"), "a copy is still writing|not written since"),
], ids=["no wait", "no wait at the end", "no barrier", "waits for too little", "no groups", "another slot"])
def test_a_pipeline(edit, words):
    text = pipelined.inspect_ir("tile", target="sm_80", A=fp16, B=fp16)
    filling = re.search(r"(%filling\w*) = %\w+\)", text)[1]
    edited = edit(text)
    edited = re.sub(r"(local_load .* slot )%filling\b", rf"\1{filling}", edited)
    outcomes, said = run(edited, inputs({"A": (35, 90), "B": (90, 33)}, np.float16))
    assert all(outcome is None for outcome in outcomes)
    for what in said:
        assert re.search(words, what), what
    assert "test_tile_memory.py:" in said[0]  # the user's line


def test_a_mask_of_a_gpu_kernel():
    """Positions that do not exist are computed on a GPU: a sum without its mask counts them."""
    given = {"X": np.random.default_rng(0).standard_normal((5, 21)).astype(np.float32) - 10}
    text = soft.inspect_ir("tile", target="sm_80", X=fp32)
    (want, *_), words = run(text, given)
    assert not any(words)
    selects = re.findall(r"(%\S+) = arith\.select (%\S+), (%\S+), (%\S+) :", text)
    assert len(selects) >= 2
    seen = 0  # the exponential of what is masked already is 0: a second mask may change nothing
    for result, _, value, _ in selects:
        edited = re.sub(re.escape(result) + r"\b(?! =)", value, text)
        outcomes, _ = run(edited, given, seeds=(0,))
        seen += outcomes[0] is None or not np.array_equal(outcomes[0][0], want[0])
    assert seen >= 1, selects


# ---- CPUs: buffers of scratch memory --------------------------------------------------------


def all_offsets_to(value):
    return change(r"tile\.alloc \{offset = \d+", f"tile.alloc {{offset = {value}", count=0)


@pytest.mark.parametrize("edit,words", [
    (all_offsets_to(0), "not written since it was allocated, or was overwritten by another buffer"),
    (change(r"scratch_bytes = (?!0 )\d+", "scratch_bytes = 64"), "the buffer ends at byte"),
    (without(r"tile\.local_store", 1), "not written since it was allocated"),
    (change(r"repeat \[32: dim0\*1 -> offset\*32, ", "repeat [32: dim0*1 -> offset*16, ", 0), "two elements into one place"),
    (change(r"repeat \[32: dim0\*1 -> offset\*32, ", "repeat [16: dim0*1 -> offset*32, ", 0), "the buffer's layout holds 16 positions along axis 0, the buffer has 32"),
    (change(r"tile\.range<16> -> tensor<32x16xf16>", "tile.range<16> -> tensor<32x16xf16>", 1), ""),
], ids=["shared bytes", "too little memory", "never written", "layout overlaps itself", "layout too small", "no edit"])
def test_a_cpu_kernel(edit, words):
    given = inputs(GEMM, np.float16)
    outcomes, said = run(edit(gemm_text("cpu")), given)
    if not words:
        for (got,) in outcomes:
            assert np.array_equal(got.astype(np.float64), WANT["gemm"](**given))
        return
    assert all(outcome is None for outcome in outcomes)
    assert re.search(words, said[0]), said[0]


@pytest.mark.parametrize("old,new", [("32", "31"), ("32", "33")])
def test_a_tile_off_by_one(old, new):
    """Wrong steps of the grid leave elements unwritten, or write them twice."""
    given = inputs(GEMM, np.float16)
    kernels, plan = gemm_text("cpu").split("plan.func")
    assert f"%c{old} = arith.constant {old} : index" in plan
    text = f"{kernels}plan.func" + plan.replace(f"arith.constant {old} : index", f"arith.constant {new} : index")
    outcomes, words = run(text, given)
    assert all(o is None for o in outcomes) or new == "31", words
    if new == "31":  # 35 and 33: as many programs
        assert all(o is not None for o in outcomes)


def test_vectors_leave_garbage_past_the_end():
    """`keep_rest` protects what was filled; without it the fill is gone."""
    given = inputs({"X": (5, 21)}, np.float32)
    text = padded.inspect_ir("tile", X=fp32)
    (good, *_), words = run(text, given)
    assert not any(words) and np.array_equal(good[0], WANT["padded"](**given))
    outcomes, said = run(change(r"keep_rest", "drop_rest", count=0)(text), given)
    assert all(o is None for o in outcomes) and "vectors leave garbage" in said[0]


def test_amx_needs_zeros():
    text = gemm.inspect_ir("tile", A=tsr.bf16, B=tsr.bf16, BK=64)
    if "zero_padding" not in text:
        pytest.skip("this processor has no AMX")
    import ml_dtypes

    given = inputs(GEMM, ml_dtypes.bfloat16)
    (good, *_), words = run(text, given)
    assert not any(words) and np.array_equal(good[0].astype(np.float64), WANT["gemm"](**given).astype(ml_dtypes.bfloat16).astype(np.float64))
    outcomes, said = run(change(r"zero_padding", "no_padding", count=0)(text), given)
    assert all(o is None for o in outcomes) and "of a packed view has zero_padding" in said[0]  # into the packed view
    outcomes, said = run(change(r"(local_store .*)zero_padding", r"\1no_padding", count=0)(text), inputs({"A": (20, 40), "B": (40, 31)}, ml_dtypes.bfloat16))
    assert all(o is None for o in outcomes) and "of a buffer" in said[0]


NEST = """module attributes {tessera.format = 2 : i64, tessera.stage = "tile"} {
  tile.func @turn(%X: memref<4x4xf32, strided<[?, ?]>> {gir.name = "X", gir.mode = "in"}, %Y: memref<4x4xf32, strided<[?, ?]>> {gir.name = "Y", gir.mode = "out"}) {
    %zero = arith.constant 0 : index
    %four = arith.constant 4 : index
    %one = arith.constant 1 : index
    %i = tile.program extents(%one) tiles = [0] : index
    %a = tile.range_at %zero of %four : !tile.range<4>
    %b = tile.range_at %zero of %four : !tile.range<4>
    %s = tile.alloc : !tile.buffer<4x4xf32, scratch>
    tile.nest [%a, %b] {vector_axis = 1 : i64} : (!tile.range<4>, !tile.range<4>) -> () {
      %x = tile.load %X[%a, %b] : memref<4x4xf32, strided<[?, ?]>>, !tile.range<4>, !tile.range<4> -> tensor<4x4xf32>
      tile.local_store %x, %s : tensor<4x4xf32>, !tile.buffer<4x4xf32, scratch>
    }
    tile.nest [%a, %b] {vector_axis = 1 : i64} : (!tile.range<4>, !tile.range<4>) -> () {
      %x = tile.local_load %s : !tile.buffer<4x4xf32, scratch> -> tensor<4x4xf32>
      %t = tile.transpose %x [PERMUTATION] : tensor<4x4xf32> -> tensor<4x4xf32>
      tile.local_store %t, %s : tensor<4x4xf32>, !tile.buffer<4x4xf32, scratch>
    }
    tile.nest [%a, %b] {vector_axis = 1 : i64} : (!tile.range<4>, !tile.range<4>) -> () {
      %x = tile.local_load %s : !tile.buffer<4x4xf32, scratch> -> tensor<4x4xf32>
      tile.store %x, %Y[%a, %b] : tensor<4x4xf32>, memref<4x4xf32, strided<[?, ?]>>, !tile.range<4>, !tile.range<4>
    }
    tile.return
  }
}
"""


def test_a_nest_may_update_in_place_but_not_across():
    """A nest runs element by element: a transpose in place depends on its loops."""
    given = inputs({"X": (4, 4)}, np.float32)
    (good, *_), words = run(NEST.replace("PERMUTATION", "0, 1"), given)
    assert not any(words) and np.array_equal(good[0], given["X"])
    outcomes, said = run(NEST.replace("PERMUTATION", "1, 0"), given)
    assert all(o is None for o in outcomes) and "the same loop nest writes for another element" in said[0]


# ---- plans ----------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", ["tile-value", "tile"])
def test_a_plan_with_a_loop(stage):
    given = {**inputs({"X": (5, 7)}, np.float32), "n": 3}
    want = given["X"] * 2
    for _ in range(3):
        want = want + want.sum(1, keepdims=True)
    assert np.array_equal(twice(given["X"], 3), want)
    text = twice.inspect_ir(stage)
    outcomes, words = run(text, given)
    assert not any(words), words
    for (got,) in outcomes:
        assert np.array_equal(got, want)
    # A launch less: what it should have written is poison.
    launch = r"launch @(?!\w+_stream\()"  # those are for large results
    for number in range(len(re.findall(launch, text))):
        outcomes, words = run(without(launch, number)(text), given)
        assert all(o is None or not np.array_equal(o[0], want) for o in outcomes), number
    # A check that fails is the user's error.
    outcomes, words = run(text, {**given, "X": np.zeros((5, 0), np.float32)})
    assert not any(words)


@tsr.kernel
def shifted(X: InOut["N"]):
    for n in tsr.grid(tsr.tile(N, 4)):
        X[n] = X[n] + tsr.sum(X[tsr.range_at(N, n.start + 4, 4)])


@tsr.kernel
def doubled(X: Tensor["N"], Y: Out["N"]):
    for n in tsr.grid(tsr.tile(N, 4)):
        Y[n] = X[n] * 2


def test_programs_that_read_what_others_write():
    """The order of programs would show: poison, whatever the seed."""
    given = inputs({"X": (12,)}, np.float32)
    outcomes, said = run(shifted.inspect_ir("tile-value", X=fp32), given)
    assert any(o is None for o in outcomes)
    assert any("another program of the grid writes" in text for text in said)


def test_a_range_that_leaves_its_array():
    given = inputs({"X": (10,)}, np.float32)
    text = doubled.inspect_ir("tile-value", X=fp32)
    ten = re.sub(r"tile\.program extents\((%\w+)\)", "tile.program extents(%more)", text)
    ten = re.sub(r"( +)(%\w+) = tile\.dim (.*)\n", r"\g<0>\1%two = arith.constant 2 : index\n\1%more = arith.addi \2, %two : index\n", ten, count=1)
    outcomes, said = run(ten, given)
    assert all(o is None for o in outcomes)
    assert re.search("position 10 of axis 0 of .*, which has 10", said[0]), said[0]
