"""fn.run: stages of Python programs, in every domain, against the compiled code.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import os
import pathlib
import subprocess

import ml_dtypes
import numpy as np
import pytest
import tessera as tsr
import torch
from tessera import Out, Tensor, const, fp32
from tessera.oracle import Stage

STAGES = ("graph", "sched", "tile-value", "tile", "target")
INTERPRETED = STAGES[:-1]
TABLE = np.arange(5, dtype=np.float32)


@tsr.function
def mixed(x: Tensor["M", "K", fp32], w: Tensor["K", "N", fp32], s: fp32, n):
    y = x @ w
    for i in range(n):
        y = y * s + i
    if n > 1:
        y = y + 1
    return y, tsr.sum(x + TABLE, dim=0), tsr.max(y)


@tsr.function
def rows(x: Tensor["M", "N"]):
    y = tsr.softmax(x * 2, dim=-1)
    return tsr.layer_norm(tsr.gelu(y) + x, (x.shape[1],))


@tsr.function
def heads(q: Tensor["B", "S", "D"], k: Tensor["B", "T", "D"], v: Tensor["B", "T", "D"], scale: fp32):
    # Not a constant: a pass may fold constants, and the ring's are no numbers.
    return tsr.softmax(q @ k.mT * scale, dim=-1) @ v


@tsr.kernel
def gemm(A: Tensor["M", "K"], B: Tensor["K", "N"], C: Out["M", "N"], BLOCK_M: const = 32, BLOCK_N: const = 16, BLOCK_K: const = 8):
    for m, n in tsr.grid(tsr.tile(M, BLOCK_M), tsr.tile(N, BLOCK_N), group=2):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, BLOCK_K):
            acc += A[m, k] @ B[k, n]
        C[m, n] = acc


@tsr.function
def calls(a: Tensor["M", "K"], b: Tensor["K", "N"]):
    c = gemm(a, b)
    return tsr.softmax(tsr.gelu(c), dim=-1), tsr.sum(c)


@tsr.function
def chatty(x: Tensor["M"], n):
    assert n < 5, "n is too large"
    print("n is", n)
    return x + 1


def integers(random, *shape):
    return random.integers(-3, 4, shape).astype(np.float32)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_stages_agree_on_integers(n, random):
    x, w = integers(random, 7, 5), integers(random, 9, 5).T
    want = x @ w
    for i in range(n):
        want = want * 2 + i
    want = want + (n > 1)
    for stage in STAGES:
        y, sums, top = mixed.run(x, w, 2.0, n, stage=stage)
        assert np.array_equal(y, want) and np.array_equal(sums, (x + TABLE).sum(0)) and top == want.max(), stage


@pytest.mark.parametrize("m, k, n", [(37, 21, 45), (1, 1, 1), (32, 8, 16), (3, 0, 5), (0, 4, 4)])
def test_kernels(m, k, n, random):
    a, b = integers(random, m, k), integers(random, k, n)
    for stage in STAGES:
        assert np.array_equal(gemm.run(a, b, stage=stage), a @ b), stage
        given = np.full((m, n), np.nan, np.float32)
        assert np.array_equal(gemm.run(a, b, given, stage=stage), a @ b) and np.isnan(given).all(), stage
        assert calls.run(a, b, stage=stage)[1] == (a @ b).sum()


@pytest.mark.parametrize("shape", [(1, 5), (0, 5), (64, 5)])
def test_extents(shape, random):
    x, w = integers(random, *shape), integers(random, 5, 3)
    for stage in STAGES:
        assert np.array_equal(mixed.run(x, w, 1.0, 0, stage=stage)[0], x @ w)


def test_strides_do_not_matter(random):
    wide = integers(random, 9, 15)
    for x in (wide[::2, ::3], wide[::-1, 4:9], np.asfortranarray(wide[:, :5]), np.broadcast_to(wide[:1, :5], (4, 5))):
        w = integers(random, 5, 4)
        for stage in STAGES:
            assert np.array_equal(mixed.run(x, w, 1.0, 0, stage=stage)[0], x @ w)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
def test_the_reference_does_not_depend_on_the_dtype(dtype, random):
    x = random.integers(-8, 9, (5, 7)).astype(dtype)
    exact = rows.run(x, domain="exact")
    reference = rows.run(x, domain="reference")
    assert exact.dtype == x.dtype and reference.dtype == np.float64
    wide = torch.from_numpy(x.astype(np.float64))
    want = torch.nn.functional.layer_norm(torch.nn.functional.gelu(torch.softmax(wide * 2, -1)) + wide, (7,))
    np.testing.assert_allclose(reference, want.numpy(), rtol=1e-10)
    np.testing.assert_allclose(rows.run(x, stage="sched", domain="reference"), reference, rtol=1e-6)  # eps is a value of f32 there


def test_torch_and_ml_dtypes(random):
    x = torch.randn(5, 7).to(torch.bfloat16)
    got = rows.run(x)
    assert got.dtype == ml_dtypes.bfloat16
    same = rows.run(x.view(torch.int16).numpy().view(ml_dtypes.bfloat16))
    assert np.array_equal(got.view(np.uint16), same.view(np.uint16))


@pytest.mark.parametrize("fn, shapes", [(rows, [(7, 5)]), (heads, [(2, 5, 4), (2, 170, 4), (2, 170, 4)]), (gemm, [(37, 21), (21, 45)]), (calls, [(37, 21), (21, 45)])])
def test_the_ring_agrees_bit_for_bit_between_stages(fn, shapes, random):
    inputs = [random.integers(0, 2**31, shape, dtype=np.uint32).view(np.float32) for shape in shapes]
    more = [0.7] if fn is heads else []

    def ring(stage):
        made = fn.run(*inputs, *more, stage=stage, domain="ring")
        return made[0] if isinstance(made, tuple) else made

    graph = ring("graph")
    assert graph.dtype == np.uint32
    for stage in INTERPRETED[1:]:
        assert np.array_equal(graph, ring(stage)), stage
    assert len(np.unique(graph)) > graph.size // 2  # and they are not all 0
    inputs[0].view(np.uint32)[(0,) * inputs[0].ndim] ^= 4  # one element changed: so does the result
    assert not np.array_equal(ring("graph"), graph)


def test_prints_and_checks(capsys):
    x = np.zeros(2, np.float32)
    for stage in INTERPRETED:
        chatty.run(x, 3, stage=stage)
        assert capsys.readouterr().out == "n is 3\n"
        with pytest.raises(tsr.TesseraError, match="n is too large"):
            chatty.run(x, 7, stage=stage)


def test_errors_are_at_the_users_line():
    with pytest.raises(tsr.TesseraError) as error:
        chatty.run(np.zeros(2, np.float32), 7)
    assert "test_run.py" in str(error.value) and "assert n < 5" in str(error.value)


@tsr.kernel
def holes(x: Tensor["N"], y: Out["N"], BLOCK: const = 4):
    for n in tsr.grid(tsr.tile(N, BLOCK)):
        tsr.store(y, (n,), x[n], mask=n.index != 5)


def test_what_nobody_writes_is_poison():
    x = np.arange(7, dtype=np.float32)
    for stage in INTERPRETED:
        with pytest.raises(tsr.RunError, match=r"1 of 7 elements of result 0 are never written, or made of such; the first is \(5,\)"):
            holes.run(x, stage=stage)


def test_wrong_words():
    x = np.zeros((2, 2), np.float32)
    with pytest.raises(tsr.ArgumentError, match="no stage is called 'schedule'"):
        rows.run(x, stage="schedule")
    with pytest.raises(tsr.ArgumentError, match="no domain is called 'float'"):
        rows.run(x, domain="float")
    with pytest.raises(tsr.ArgumentError, match="machine code"):
        rows.run(x, stage="target", domain="ring")


def test_arguments_are_not_written(random):
    x = integers(random, 3, 5)
    before = x.copy()
    mixed.run(x, integers(random, 5, 2), 2.0, 2, stage="sched")
    assert np.array_equal(x, before)


def test_traces_have_names_and_lines(random):
    from tessera import oracle

    program, values = oracle.prepare(rows, (integers(random, 3, 4),), {}, "graph")
    trace = program.run(values, trace=True).trace
    softmax = [(place, made) for op, place, made in trace if op == "gir.softmax"]
    assert len(softmax) == 1 and "test_run.py:" in softmax[0][0] and softmax[0][1][0].name == "y"
    np.testing.assert_allclose(softmax[0][1][0].values.sum(1), 1, rtol=1e-6)


def test_text_of_a_stage_runs_like_the_stage(random):
    x = integers(random, 3, 4)
    rows(x)
    for stage in INTERPRETED:
        text = rows.inspect_ir(stage)
        again = Stage.of_text(text, "<rows>").run({"x": x}).results[0].array
        assert np.array_equal(again, rows.run(x, stage=stage))


def test_the_command(tmp_path, random):
    tool = pathlib.Path(os.environ["TESSERA_BIN"]) / "tessera-run"
    x = integers(random, 3, 4)
    rows(x)
    (tmp_path / "rows.mlir").write_text(rows.inspect_ir("graph"))
    np.save(tmp_path / "x.npy", x)
    for stage, domain in (("graph", "exact"), ("sched", "reference"), ("sched", "exact")):
        done = subprocess.run([tool, "rows.mlir", f"--stage={stage}", f"--domain={domain}", "--input", "x=x.npy", "--output", "y"],
                              cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert np.array_equal(np.load(tmp_path / "y0.npy"), rows.run(x, stage=stage, domain=domain))
    shown = subprocess.run([tool, "rows.mlir", "--dims", "M=2,N=3", "--seed", "5"], cwd=tmp_path, capture_output=True, text=True)
    assert shown.returncode == 0 and shown.stdout.startswith("f32 (2, 3) [")
    bad = subprocess.run([tool, "rows.mlir", "--dims", "M=2"], cwd=tmp_path, capture_output=True, text=True)
    assert bad.returncode == 1 and "the size of an axis of x is not known; give --dims N=7" in bad.stderr
    (tmp_path / "rows.tessera").write_text("")
    for words, said in (
        (["rows.mlir", "--input", "z=1", "--dims", "M=2,N=3"], "there is no parameter z; there are x"),
        (["rows.mlir", "--dims", "M=2,N=3,Z=4"], "no parameter has the dim Z"),
        (["rows.tessera"], "tesserac rows.tessera --compile-to graph | tessera-run -"),
    ):
        bad = subprocess.run([tool, *words], cwd=tmp_path, capture_output=True, text=True)
        assert bad.returncode == 1 and said in bad.stderr


def test_the_ring_list():
    tool = pathlib.Path(os.environ["TESSERA_BIN"]) / "tessera-run"
    shown = subprocess.run([tool, "--list", "ring"], capture_output=True, text=True).stdout
    kinds = dict(line.split(": ") for line in shown.splitlines())
    readme = (pathlib.Path(__file__).parents[2] / "compiler/Interpreter/README.md").read_text()
    assert shown.strip() in readme, "compiler/Interpreter/README.md: run tessera-run --list ring again"
    assert {"add", "mul", "exp", "maximum"} <= set(kinds["exact"].split()) and "tanh" in kinds["opaque"].split() and "and" in kinds["excluded"].split()


def test_speed():
    """20,000 programs at every stage: a program of 20 ops of 130 x 130 elements stays below 50 ms."""
    import time

    @tsr.function
    def program(x: Tensor["M", "N", fp32], w: Tensor["N", "N", fp32]):
        y = x @ w
        for _ in tsr.unroll(6):
            y = tsr.exp(y * 0.01) + x - tsr.maximum(y, x)
        return tsr.softmax(y @ w, dim=-1)

    from tessera import oracle

    random = np.random.default_rng(0)
    x, w = (random.standard_normal((130, 130)).astype(np.float32) for _ in range(2))
    stage, values = oracle.prepare(program, (x, w), {}, "graph")
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        stage.run(values)
        times.append(time.perf_counter() - begin)
    print(f"\n130 x 130, two products, 31 more ops: {min(times) * 1e3:.0f} ms")
    assert min(times) < 2
