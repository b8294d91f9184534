"""`@tsr.kernel.autotune`: what is tried, what may win, what is remembered.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import tessera as tsr
from tessera import InOut, Out, Tensor, const, tuner
from tessera.space import holds, name_of


def gemm(A: Tensor["M", "K"], B: Tensor["K", "N"], C: Out["M", "N"], BLOCK_M: const = 64, BLOCK_N: const = 64, BLOCK_K: const = 64):
    for m, n in tsr.grid(tsr.tile(M, BLOCK_M), tsr.tile(N, BLOCK_N)):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, BLOCK_K):
            acc += A[m, k] @ B[k, n]
        C[m, n] = acc


def row_sum(A: Tensor["M", "N"], S: Out["M"], BLOCK: const = 512):
    for m in tsr.grid(M):
        acc: tsr.fp32 = 0.0
        for n in tsr.tile(N, BLOCK):
            acc += tsr.sum(A[m, n])
        S[m] = acc


def double(X: InOut["M", "N"], BLOCK: const = 256):
    for m, n in tsr.grid(M, tsr.tile(N, BLOCK)):
        X[m, n] = X[m, n] * 2.0


def integers(*shape, seed=0):
    return np.random.default_rng(seed).integers(-8, 9, shape).astype(np.float32)


A, B = integers(90, 300), integers(300, 130, seed=1)


@pytest.fixture
def measured(monkeypatch):
    """The configurations that were measured, in order."""
    seen = []
    real = tuner._measure

    def measure(race, candidate, default):
        seen.append(candidate.config)
        return real(race, candidate, default)

    monkeypatch.setattr(tuner, "_measure", measure)
    return seen


def records(folder) -> list[dict]:
    """Per key: what is known of each configuration, by its name."""
    found = []
    for path in sorted(pathlib.Path(folder).glob("*.jsonl")):
        lines = [json.loads(line) for line in path.read_text().splitlines() if line]
        found.append({name_of(line["config"]): line for line in lines if line.get("state") not in (None, "claimed", "given up")})
    return found


def test_space_where_and_result(tmp_path, measured):
    fn = tsr.kernel.autotune(space=dict(BLOCK_M=[32, 64], BLOCK_N=[32, 64, 128]), key=["M", "N", "K"],
                             where="BLOCK_M * BLOCK_N <= 4096", cache=str(tmp_path / "c"))(gemm)
    np.testing.assert_array_equal(fn(A, B), A.astype(np.float64) @ B)
    [record] = records(tmp_path / "c")
    tried = [json.loads(name) for name in record]
    assert len(tried) == 5 and all(t["BLOCK_M"] * t["BLOCK_N"] <= 4096 for t in tried)
    best = min((entry["ratio"], name) for name, entry in record.items() if entry["state"] == "ok")[1]
    assert [choice.config for choice in fn._choices.values()] == [json.loads(best)]
    assert len(measured) == 5
    fn(A, B)
    assert len(measured) == 5  # the key is known
    fn(A[:80], B)
    assert len(measured) == 10 and len(records(tmp_path / "c")) == 2  # M is part of the key


@pytest.mark.parametrize("strategy", ["auto", "random", "tpe"])
def test_budget(tmp_path, measured, strategy):
    fn = tsr.kernel.autotune(space=dict(BLOCK_M=[16, 32, 64], BLOCK_N=[16, 32, 64]), key=["M"], budget=3, strategy=strategy, cache=str(tmp_path / "c"))(gemm)
    fn(A, B)
    [record] = records(tmp_path / "c")
    assert len(record) == 3 and len({name_of(config) for config in measured}) == len(measured) == 3
    assert json.dumps({"BLOCK_M": 16, "BLOCK_N": 16}) in record  # the default is always tried


def test_mistakes_are_errors(tmp_path):
    with pytest.raises(tsr.CompileError, match="leaves no point"):
        tsr.kernel.autotune(space=dict(BLOCK_M=[64]), key=["M"], where="BLOCK_M < 0", cache=str(tmp_path))(gemm)(A, B)
    with pytest.raises(tsr.CompileError, match="names BLOCK_X"):
        tsr.kernel.autotune(space=dict(BLOCK_M=[64]), key=["M"], where="BLOCK_X < 0", cache=str(tmp_path))(gemm)(A, B)
    with pytest.raises(tsr.CompileError, match="names, numbers, arithmetic"):
        tsr.kernel.autotune(space=dict(BLOCK_M=[64]), key=["M"], where="open('x')", cache=str(tmp_path))(gemm)(A, B)
    with pytest.raises(tsr.CompileError, match="key names 'Q'"):
        tsr.kernel.autotune(space=dict(BLOCK_M=[64]), key=["Q"], cache=str(tmp_path))(gemm)(A, B)
    with pytest.raises(tsr.CompileError, match="numerics is"):
        tsr.kernel.autotune(space=dict(BLOCK_M=[64]), key=["M"], numerics="loose")(gemm)


@pytest.mark.parametrize("where, fix", [
    ("BM * BN <= 4096 && BM < BN", "BM * BN <= 4096 and BM < BN"),
    ("BM<BN||BM==64", "BM<BN or BM==64"),
    ("BM != 32 && !(BM >= BN)", "BM != 32 and not (BM >= BN)"),
    ("(BM < BN) & (BN <= 64)", "BM < BN and BN <= 64"),
    ("BM < BN and", None),
    ("BM => BN", None),
    ("max(BM, BN) <= 64", None),
])
def test_constraints_in_other_words(where, fix):
    """What cannot be mended gets no condition of ours."""
    config = dict(BM=32, BN=64)
    with pytest.raises(tsr.CompileError) as refused:
        holds(where, config)
    said = str(refused.value)
    assert said.endswith(f' fix:  where="{fix}"\n') if fix else "fix:" not in said, said
    assert fix is None or isinstance(holds(fix, config), bool)


def test_a_constraint_of_c_in_the_decorator_and_the_call(tmp_path):
    for refused in (lambda: tsr.kernel.autotune(space=dict(BLOCK_M=[32, 64]), key=["M"], where="BLOCK_M < 64 && BLOCK_M > 8", cache=str(tmp_path))(gemm)(A, B),
                    lambda: tsr.kernel(gemm).tune(A, B, space=dict(BLOCK_M=[32, 64]), where="BLOCK_M < 64 && BLOCK_M > 8", cache=str(tmp_path))):
        with pytest.raises(tsr.CompileError, match="is no expression; in Python && is 'and'\n(?:.*\n)* fix:  where=\"BLOCK_M < 64 and BLOCK_M > 8\"\n"):
            refused()


PROGRAM = '''
import sys
import numpy as np
import tessera as tsr
from tessera import tuner
sys.path.insert(0, {here!r})
from test_autotune import A, B, gemm
count = 0
real = tuner._measure
def measure(*arguments):
    global count
    count += 1
    return real(*arguments)
tuner._measure = measure
fn = tsr.kernel.autotune(space=dict(BLOCK_M=[16, 32, 64]), key=["M"], cache={cache!r})(gemm)
np.testing.assert_array_equal(fn(A, B), A.astype(np.float64) @ B)
[best] = fn._choices.values()
print(count, best.config)
'''


def test_other_processes_reuse_the_cache(tmp_path):
    cache = str(tmp_path / "c")

    def run(**environment):
        text = PROGRAM.format(here=os.path.dirname(__file__), cache=cache)
        path = tmp_path / "program.py"
        path.write_text(text)
        done = subprocess.run([sys.executable, str(path)], env={**os.environ, **environment}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        count, _, best = done.stdout.strip().partition(" ")
        return int(count), best

    assert run(TESSERA_TUNE="cached") == (0, str({"BLOCK_M": 16}))  # nothing known: the default
    assert not records(cache)
    count, best = run()
    assert count == 3
    [record] = records(cache)
    for mode in ("on", "cached"):
        assert run(TESSERA_TUNE=mode) == (0, best)
    # Damaged lines count for nothing: what they said is measured again.
    [path] = pathlib.Path(cache).glob("*.jsonl")
    whole = path.read_text()
    path.write_text(whole[: len(whole) // 2] + "\n")
    count = run()[0]
    assert 0 < count <= 3
    assert run() == (0, run()[1])
    path.write_text("no JSON\n[]\n{}\n" + whole[:20])
    assert run()[0] == 3
    # Another configuration wins if the file says so: it is read, not ignored.
    for line in record.values():
        line["ratio"] = 1.0 if "32" not in json.dumps(line["config"]) else 1e-9
    path.write_text("".join(json.dumps(line) + "\n" for line in record.values()))
    assert run(TESSERA_TUNE="cached") == (0, str({"BLOCK_M": 32}))
    # A folder that others may write to is not believed.
    os.chmod(cache, 0o777)
    assert run(TESSERA_TUNE="cached") == (0, str({"BLOCK_M": 16}))


def test_off_uses_the_default(tmp_path, measured, monkeypatch):
    monkeypatch.setattr(tsr.knobs, "tune", "off")
    fn = tsr.kernel.autotune(space=dict(BLOCK_M=[32, 64]), key=["M"], cache=str(tmp_path / "c"))(gemm)
    np.testing.assert_array_equal(fn(A, B), A.astype(np.float64) @ B)
    assert not measured and not records(tmp_path / "c")


def test_fixed_numerics_skips_other_bits(tmp_path, monkeypatch):
    """Sums by blocks of 512 and of 64 round differently: under "fixed" only the default's bits may win."""
    X = np.random.default_rng(5).standard_normal((4, 5000)).astype(np.float32)
    wanted = tsr.kernel(row_sum)(X, BLOCK=512)
    assert (wanted != tsr.kernel(row_sum)(X, BLOCK=64)).any(), "the inputs must tell the orders apart"
    monkeypatch.setattr(tuner, "_measure", lambda race, candidate, default: (1.0, 1.0) if candidate.config["BLOCK"] == 512 else (1e-9, 1e-9))
    for numerics, winner in (("fixed", 512), ("open", 64)):
        folder = tmp_path / numerics
        fn = tsr.kernel.autotune(space=dict(BLOCK=[512, 64]), key=["N"], numerics=numerics, cache=str(folder))(row_sum)
        got = fn(X)
        [record] = records(folder)
        [choice] = fn._choices.values()
        assert choice.config == {"BLOCK": winner}
        if numerics == "fixed":
            assert record[json.dumps({"BLOCK": 64})]["state"] == "bits"
            np.testing.assert_array_equal(got, wanted)


def test_fixed_numerics_does_not_trust_easy_inputs(tmp_path, monkeypatch):
    """Sums of small integers have the same bits in every order; the next caller's numbers would not."""
    monkeypatch.setattr(tuner, "_measure", lambda race, candidate, default: (1.0, 1.0) if candidate.config["BLOCK"] == 512 else (1e-9, 1e-9))
    fn = tsr.kernel.autotune(space=dict(BLOCK=[512, 64]), key=["N"], cache=str(tmp_path))(row_sum)
    fn(integers(4, 5000))
    assert [choice.config for choice in fn._choices.values()] == [{"BLOCK": 512}]


def test_interrupt_keeps_the_best(tmp_path, monkeypatch):
    real, calls = tuner._measure, []

    def measure(race, candidate, default):
        calls.append(candidate.config)
        if len(calls) == 3:  # first, second, then Ctrl-C
            raise KeyboardInterrupt
        return float(10 - len(calls)), float(10 - len(calls))

    monkeypatch.setattr(tuner, "_measure", measure)
    fn = tsr.kernel.autotune(space=dict(BLOCK_M=[16, 32, 64, 128]), key=["M"], cache=str(tmp_path / "c"))(gemm)
    np.testing.assert_array_equal(fn(A, B), A.astype(np.float64) @ B)
    [record] = records(tmp_path / "c")
    assert len(record) == 2 and [choice.config for choice in fn._choices.values()] == [{"BLOCK_M": 32}]
    # Another process goes on where this one stopped: what was measured is not measured again.
    calls.clear()
    monkeypatch.setattr(tuner, "_measure", lambda *a: (calls.append(a[1].config), real(*a))[1])
    again = tsr.kernel.autotune(space=dict(BLOCK_M=[16, 32, 64, 128]), key=["M"], cache=str(tmp_path / "c"))(gemm)
    again(A, B)
    assert calls == [{"BLOCK_M": 64}, {"BLOCK_M": 128}]


def test_arguments_are_updated_once(tmp_path):
    """Tuning runs every candidate several times, on copies."""
    X = integers(10, 700)
    wanted = X * 2
    fn = tsr.kernel.autotune(space=dict(BLOCK=[64, 128, 256]), key=["N"], cache=str(tmp_path / "c"))(double)
    fn(X)
    np.testing.assert_array_equal(X, wanted)
    view = integers(10, 1400)[:, ::2]
    whole, wanted = view.base.copy(), view * 2
    fn(view)
    np.testing.assert_array_equal(view, wanted)
    np.testing.assert_array_equal(view.base[:, 1::2], whole[:, 1::2])


def test_schedule_keys_can_be_tuned(tmp_path):
    fn = tsr.kernel.autotune(space=dict(threads=[1, 2], unroll=[1, 4]), key=["M"], cache=str(tmp_path / "c"))(gemm)
    np.testing.assert_array_equal(fn(A, B), A.astype(np.float64) @ B)
    [record] = records(tmp_path / "c")
    assert len(record) == 4 and all(entry["seconds"] > 0 for entry in record.values())


def test_explain_says_who_decided(tmp_path):
    fn = tsr.kernel.autotune(space=dict(BLOCK_M=[64, 32]), key=["M"], cache=str(tmp_path / "c"))(gemm)
    tsr.knobs.tune = "off"
    try:
        fn(A, B)
    finally:
        tsr.knobs.tune = None
    [row] = [line for line in fn.explain().splitlines() if line.startswith("gemm") and " BLOCK_M " in line]
    assert "default" in row and "tuner" not in row
