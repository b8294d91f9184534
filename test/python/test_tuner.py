"""`fn.tune()`: spaces, what may win, several processes, what is said.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import tessera as tsr
from tessera import InOut, Out, Tensor, const, judge, search, tuner
from tessera.space import Space, memory_limit, name_of


def scale(X: Tensor["M", "N"], Y: Out["M", "N"], BLOCK: const = 64):
    for m, n in tsr.grid(M, tsr.tile(N, BLOCK)):
        Y[m, n] = X[m, n] * 3.0


def wrong_at_32(X: Tensor["M", "N"], Y: Out["M", "N"], BLOCK: const = 64):
    for m, n in tsr.grid(M, tsr.tile(N, BLOCK)):
        if BLOCK == 32:
            Y[m, n] = X[m, n] * 3.0000007
        else:
            Y[m, n] = X[m, n] * 3.0


def wrong_far_out(X: Tensor["M", "N"], Y: Out["M", "N"], BLOCK: const = 64):
    for m, n in tsr.grid(M, tsr.tile(N, BLOCK)):
        if BLOCK == 32:
            if m > 150:
                Y[m, n] = X[m, n] * 3.001
            else:
                Y[m, n] = X[m, n] * 3.0
        else:
            Y[m, n] = X[m, n] * 3.0


def leaves_out(X: Tensor["M", "N"], Y: Out["M", "N"], BLOCK: const = 64):
    for m, n in tsr.grid(M, tsr.tile(N, BLOCK)):
        if BLOCK == 32:
            if m < M - 1:
                Y[m, n] = X[m, n] * 3.0
        else:
            Y[m, n] = X[m, n] * 3.0


def wrong_in_place(X: InOut["M", "N"], BLOCK: const = 64):
    for m, n in tsr.grid(M, tsr.tile(N, BLOCK)):
        if BLOCK == 32:
            X[m, n] = X[m, n] + X[m, n] * 0.5000005
        else:
            X[m, n] = X[m, n] + X[m, n] * 0.5


@tsr.function
def softmax(x: Tensor["M", "N"]):
    return tsr.softmax(x, dim=-1)


@tsr.function
def product(x: Tensor["M", "K"], w: Tensor["K", "N"]):
    return tsr.relu(x @ w)


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.fixture
def wrong_is_quickest(monkeypatch):
    """The candidate with BLOCK = 32 would always win."""
    monkeypatch.setattr(tuner, "_measure", lambda race, candidate, default: (1e-9, 1e-9) if candidate.config.get("BLOCK") == 32 else (1.0, 1.0))


@pytest.mark.parametrize("numerics", ["fixed", "open"])
@pytest.mark.parametrize("body", [wrong_at_32, wrong_far_out, leaves_out, wrong_in_place])
def test_a_wrong_candidate_never_wins(tmp_path, wrong_is_quickest, body, numerics):
    fn = tsr.kernel(body)
    X = normal(203, 300)
    found = fn.tune(X.copy(), space=dict(BLOCK=[64, 32, 128]), numerics=numerics, cache=str(tmp_path))
    states = {entry["config"]["BLOCK"]: entry["state"] for entry in found.tried}
    assert states[32] in ("wrong", "bits") and states[64] == states[128] == "ok"
    assert found.best["BLOCK"] != 32 and found.rejected[0].get("why")
    # The same without the mistake does win, so it is the mistake that was found.
    right = tsr.kernel(scale).tune(X, space=dict(BLOCK=[64, 32, 128]), numerics=numerics, cache=str(tmp_path))
    assert right.best == {"BLOCK": 32}


@pytest.mark.parametrize("numerics", ["fixed", "open"])
def test_a_wrong_candidate_of_torch_never_wins(tmp_path, wrong_is_quickest, numerics):
    torch = pytest.importorskip("torch")
    X = torch.from_numpy(normal(203, 300))
    for dtype in (torch.float32, torch.bfloat16):
        found = tsr.kernel(wrong_far_out).tune(X.to(dtype), space=dict(BLOCK=[64, 32]), numerics=numerics, cache=str(tmp_path))
        # In bfloat16 3 * 1.0003 is 3: there the two are the same.
        assert found.best["BLOCK"] == (64 if dtype == torch.float32 else 32), found


def test_without_an_oracle_only_the_same_bits_win(tmp_path, wrong_is_quickest, monkeypatch):
    monkeypatch.setattr(judge.Judge, "_small", lambda self: None)
    monkeypatch.setattr(judge.Judge, "_windows", lambda self: [])
    found = tsr.kernel(wrong_at_32).tune(normal(20, 300), space=dict(BLOCK=[64, 32]), numerics="open", cache=str(tmp_path))
    assert found.best == {"BLOCK": 64} and found.rejected[0]["state"] == "bits"


def test_arguments_are_not_touched(tmp_path):
    X = normal(50, 300)
    kept = X.copy()
    tsr.kernel(wrong_in_place).tune(X, space=dict(BLOCK=[64, 32, 128]), cache=str(tmp_path))
    np.testing.assert_array_equal(X, kept)


def test_the_schedules_own_space(tmp_path):
    X, W = normal(64, 96), normal(96, 128, seed=1)
    before = product(X, W)
    found = product.tune(X, W, budget=6, seconds=30, cache=str(tmp_path))
    names = set(found.best)
    assert {"tile.M", "tile.N", "tile.K", "unroll"} <= names
    assert found.best["tile.K"] == found.default["tile.K"]  # another order of summation: not under "fixed"
    after = product(X, W)
    assert after.tobytes() == before.tobytes()
    row = next(line for line in product.explain().splitlines() if "tile N" in line)
    assert "tuner" in row and str(found.best["tile.N"]) in row
    again = product.tune(X, W, budget=6, seconds=30, cache=str(tmp_path))
    assert again.measured == 0 and again.best == found.best
    other = product(X[:10], W)  # another key: nothing is measured, the default runs
    assert other.tobytes() == before[:10].tobytes()


def test_open_numerics_stays_within_bounds(tmp_path):
    X = normal(33, 700)
    found = softmax.tune(X, budget=8, numerics="open", cache=str(tmp_path), space={"tile.N": [1024, 256, 512], "unroll": [0, 4]})
    assert all(entry["state"] == "ok" for entry in found.tried), found
    tsr.function(softmax._fn).check(X, show=False)


def test_kernels_without_a_space(tmp_path):
    found = tsr.kernel(scale).tune(normal(20, 300), budget=4, cache=str(tmp_path))
    assert "BLOCK" in found.best and len(found.tried) == 4


def test_adding_a_value_measures_only_that(tmp_path):
    text = '''
import sys
import numpy as np
import tessera as tsr
from tessera import Out, Tensor, const, tuner
seen, real = [], tuner._measure
def measure(race, candidate, default):
    seen.append(candidate.config["BLOCK"])
    return real(race, candidate, default)
tuner._measure = measure

@tsr.kernel.autotune(space=dict(BLOCK=SPACE), key=["N"], cache=sys.argv[1])
def scale(X: Tensor["M", "N"], Y: Out["M", "N"], BLOCK: const = 64):
    for m, n in tsr.grid(M, tsr.tile(N, BLOCK)):
        Y[m, n] = X[m, n] * 3.0

scale(np.ones((20, 300), np.float32))
print(seen)
'''

    def run(space):
        (tmp_path / "program.py").write_text(text.replace("SPACE", space))
        return json.loads(subprocess.run([sys.executable, tmp_path / "program.py", tmp_path / "c"], check=True, capture_output=True, text=True).stdout)

    assert run("[32, 64, 128]") == [32, 64, 128]
    assert run("[32, 64, 128, 256]") == [256]
    assert run("[64, 16, 128]") == [16]


SHARED = '''
import sys, time, json, pathlib
import numpy as np
sys.path.insert(0, {here!r})
import tessera as tsr
from tessera import tuner
from test_tuner import scale
seen, real = [], tuner._measure
def measure(race, candidate, default):
    seen.append(candidate.config)
    time.sleep(0.05)
    return real(race, candidate, default)
tuner._measure = measure
fn = tsr.kernel(scale)
me = pathlib.Path({folder!r}) / ("ready" + sys.argv[1])
me.touch()
while len(list(me.parent.glob("ready*"))) < 2:
    time.sleep(0.01)
found = fn.tune(np.ones((20, 300), np.float32), space=dict(BLOCK=[16, 32, 64, 128], unroll=[1, 2, 4, 8]), strategy={strategy!r}, budget={budget}, cache={cache!r})
print(json.dumps([seen, found.best, len(found.tried)]))
'''


@pytest.mark.parametrize("strategy, budget", [("exhaustive", 100), ("tpe", 8), ("random", 8)])
def test_two_processes_share_a_study(tmp_path, strategy, budget):
    text = SHARED.format(here=os.path.dirname(__file__), cache=str(tmp_path / "c"), folder=str(tmp_path), strategy=strategy, budget=budget)
    (tmp_path / "program.py").write_text(text)
    both = [subprocess.Popen([sys.executable, tmp_path / "program.py", str(k)], stdout=subprocess.PIPE, text=True) for k in range(2)]
    outputs = [json.loads(process.communicate(timeout=120)[0]) for process in both]
    measured = [name_of(config) for seen, _, _ in outputs for config in seen]
    assert len(measured) == len(set(measured)), "a configuration was measured twice"
    assert all(seen for seen, _, _ in outputs), "one of them did all the work"
    if strategy == "exhaustive":
        assert len(measured) == 16
        assert outputs[0][1] == outputs[1][1]
    elif search.load_optuna() is not None:
        [journal] = (tmp_path / "c").glob("*.journal")
        assert journal.stat().st_mode & 0o077 == 0
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend

        study = search.load_optuna().load_study(study_name=journal.stem, storage=JournalStorage(JournalFileBackend(str(journal))))
        told = {trial.user_attrs["config"] for trial in study.trials if trial.state.name == "COMPLETE" and "config" in trial.user_attrs}
        assert budget <= len(measured) <= budget + 1 and len(told & set(measured)) >= len(measured) - 1


def test_an_interrupt_from_outside_keeps_the_best(tmp_path):
    text = '''
import sys, time
import numpy as np
import tessera as tsr
from tessera import Out, Tensor, const, tuner
real = tuner._measure
def measure(race, candidate, default):
    time.sleep(0.2)
    return real(race, candidate, default)
tuner._measure = measure

@tsr.kernel
def scale(X: Tensor["M", "N"], Y: Out["M", "N"], BLOCK: const = 64):
    for m, n in tsr.grid(M, tsr.tile(N, BLOCK)):
        Y[m, n] = X[m, n] * 3.0

X = np.ones((20, 300), np.float32)
found = scale.tune(X, space=dict(BLOCK=[16, 32, 64, 128, 256], unroll=[1, 2, 4, 8]), cache=sys.argv[1], progress=True)
assert (scale(X) == 3).all()
print(found.interrupted, len(found.tried), found.by, found.seconds is not None)
'''
    (tmp_path / "program.py").write_text(text)
    process = subprocess.Popen([sys.executable, tmp_path / "program.py", tmp_path / "c"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for _ in range(3):
        process.stderr.readline()  # three configurations are done
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    interrupted, tried, by, timed = out.split()
    assert (interrupted, by, timed) == ("True", "tuner", "True") and 3 <= int(tried) < 20, out + err


def test_progress_is_silent_unless_asked(tmp_path, capfd):
    fn = tsr.kernel(scale)
    fn.tune(normal(20, 300), space=dict(BLOCK=[64, 32]), cache=str(tmp_path / "a"))
    assert capfd.readouterr().err == ""
    fn.tune(normal(20, 300), space=dict(BLOCK=[64, 32]), cache=str(tmp_path / "b"), progress=True)
    assert capfd.readouterr().err.count("tuning scale") == 2


def test_the_documents_dictionary(tmp_path):
    """Lines 199 to 221 of the usage guide, in Python."""
    given = dict(
        tile_sizes=[[64, 64], [128, 64], [128, 128], [256, 64]],
        thread_mappings=["#tessera_target.thread_config<[16, 16], 4>", ([32, 8], 4), ([32, 16], 8)],
        memory_layouts=["row_major", "column_major", "swizzled"],
        pipeline_stages=[2, 3, 4],
        objectives=dict(minimize="latency", maximize="occupancy", constraint="memory < 48KB"),
        search_strategy="bayesian_optimization",
        evaluation_budget=6,
        parallel_evaluations=4,
    )
    X, W = normal(70, 96), normal(96, 80, seed=1)
    found = tsr.function(product._fn).tune(X, W, autotuning=given, cache=str(tmp_path))
    assert set(found.best) == {"tile.M", "tile.K", "threads"} and found.tried
    assert all([entry["config"]["tile.M"], entry["config"]["tile.K"]] in given["tile_sizes"] for entry in found.tried)
    # As a decorator, for a kernel.
    from tessera.kernels import gemm

    fn = tsr.kernel.autotune(autotuning={**given, "objectives": {"constraint": "memory < 1B"}}, cache=str(tmp_path))(gemm._fn)
    np.testing.assert_array_equal(fn(X, W), fn(X, W))
    fn = tsr.kernel.autotune(autotuning=given, cache=str(tmp_path))(gemm._fn)
    fn(X, W)
    assert set(fn.options.tuning.space) == {"BLOCK_M", "BLOCK_N", "threads"}
    assert fn.options.tuning.key == ["M", "K", "N"] and fn.options.tuning.budget == 6 and fn.options.tuning.strategy == "tpe"


@pytest.mark.parametrize("given, said, fix", [
    (dict(tile_size=[[64, 64]]), "no key of autotuning is called 'tile_size'", "tile_sizes"),
    (dict(search_strategy="baysian_optimization"), "no search strategy", "bayesian_optimization"),
    (dict(objectives=dict(minimise="latency")), "no objective", "minimize"),
    (dict(objectives=dict(minimize="latencies")), "no quantity to minimize", "latency"),
    (dict(objectives=dict(constraint="registers < 5")), "a constraint is like", "memory < 48KB"),
    (dict(tile_sizes=[64, 64]), "tile_sizes is a list of lists", "tile_sizes="),
    (dict(tile_sizes=[[8] * 9]), "has 9 sizes per choice", "tile_sizes="),
    (dict(memory_layouts=["rowmajor"]), "no memory layout", "row_major"),
    (dict(evaluation_budget=0), "positive int", "evaluation_budget"),
])
def test_mistakes_in_the_dictionary(tmp_path, given, said, fix):
    with pytest.raises(tsr.CompileError) as error:
        softmax.tune(normal(4, 8), autotuning=given, cache=str(tmp_path))
    assert said in str(error.value) and fix in str(error.value).partition("fix:")[2] and "test_tuner.py" in str(error.value)


def test_mistakes_of_the_call(tmp_path):
    with pytest.raises(tsr.CompileError, match="no search strategy is called 'bayes'"):
        softmax.tune(normal(4, 8), strategy="bayes", cache=str(tmp_path))
    with pytest.raises(tsr.CompileError, match="leaves no point"):
        softmax.tune(normal(4, 8), space={"unroll": [1]}, where="unroll > 1", cache=str(tmp_path))
    with pytest.raises(tsr.ArgumentError, match="has no parameter z"):
        softmax.tune(z=normal(4, 8))
    with pytest.raises(tsr.ArgumentError, match=r"(?s)has no parameter second; .* seconds=, .*fix:  seconds=8"):
        softmax.tune(normal(4, 8), second=8)


def test_names_that_nothing_reads(tmp_path):
    """They would win by chance: every point is the same program."""
    with pytest.raises(tsr.CompileError, match=r"(?s)test_tuner.py.*'BLOK', which scale does not have.*fix:  space=dict\(BLOCK=\[8, 16\]\)"):
        tsr.kernel(scale).tune(normal(20, 300), space=dict(BLOK=[8, 16]), cache=str(tmp_path))
    with pytest.raises(tsr.CompileError, match=r"(?s)'tileN'.*fix:  space=\{'tile.N': \[8\]\}"):
        softmax.tune(normal(4, 8), space=dict(tileN=[8]), cache=str(tmp_path))
    with pytest.raises(tsr.CompileError, match=r"(?s)'BLOK', which scale does not have"):
        tsr.kernel.autotune(space=dict(BLOK=[8, 16]), key=["N"], cache=str(tmp_path))(scale)(normal(20, 300))


def test_memory_limits():
    assert memory_limit("memory < 48KB") == 48 * 1024 - 1 and memory_limit("memory <= 1MiB") == 1 << 20 and memory_limit("memory<100") == 99


def test_without_optuna(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    reminded = []
    monkeypatch.setattr(search, "remind", reminded.append)
    found = tsr.kernel(scale).tune(normal(20, 300), space=dict(BLOCK=[16, 32, 64, 128], unroll=[1, 2, 4]), budget=5, strategy="tpe", cache=str(tmp_path))
    assert len(found.tried) == 5 and "pip install optuna" in reminded[0]


def test_tpe_asks_where_it_is_quick(tmp_path, monkeypatch):
    """On a made landscape TPE finds the valley with a tenth of the points, most of the time."""
    if search.load_optuna() is None:
        pytest.skip("Optuna is not installed")
    from tessera.records import Records

    hits = 0
    for seed in range(6):
        space = Space.of_dict({name: list(range(8)) for name in "abc"})
        records = Records(str(tmp_path / str(seed)), "x")
        study = search.sampler("tpe", space, records, 51, seed)
        best = float("inf")
        for _ in range(51):
            config = study.ask()
            value = sum((v - 5) ** 2 for v in config.values()) + 1.0
            records.publish(config, "ok", seconds=value, ratio=value)
            study.tell(config, value)
            best = min(best, value)
        hits += best <= 4.0  # the best 27 of 512 points
    assert hits >= 5


def test_the_command(tmp_path):
    (tmp_path / "mine.py").write_text('''
import tessera as tsr
from tessera import Out, Tensor, const

@tsr.kernel
def scale(X: Tensor["M", "N"], Y: Out["M", "N"], BLOCK: const = 64):
    for m, n in tsr.grid(M, tsr.tile(N, BLOCK)):
        Y[m, n] = X[m, n] * 3.0

@tsr.function
def softmax(x: Tensor["M", "N"]):
    return tsr.softmax(x, dim=-1)
''')

    def run(*words):
        return subprocess.run([sys.executable, "-m", "tessera", "tune", *words, "--cache", str(tmp_path / "c")], capture_output=True, text=True)

    done = run(str(tmp_path / "mine.py"), "--dims", "M=20", "--size", "64", "--budget", "3", "--seconds", "20")
    assert done.returncode == 0, done.stderr
    assert "kernel scale: M = 20, N = 64" in done.stdout and "function softmax" in done.stdout and done.stdout.count("3 measured now") == 2
    assert "tuning scale 3/3" in done.stderr
    done = run(str(tmp_path / "mine.py") + ":scale", "--dims", "M=20", "--size", "64", "--budget", "3", "--quiet")
    assert "0 measured now" in done.stdout and "softmax" not in done.stdout and done.stderr == ""
    assert run(str(tmp_path / "mine.py") + ":scal").returncode == 2
    assert run(str(tmp_path / "mine.py"), "--dims", "Q=1").returncode == 2


def test_time_is_limited_and_spent_once(tmp_path):
    fn, X = tsr.kernel(scale), normal(20, 300)
    space = dict(BLOCK=[16, 32, 64, 128, 256], unroll=[1, 2, 4, 8])
    start = time.monotonic()
    found = fn.tune(X, space=space, seconds=0.5, cache=str(tmp_path))
    assert time.monotonic() - start < 8 and 0 < len(found.tried) < 20
    again = tsr.kernel(scale).tune(X, space=space, seconds=0.5, cache=str(tmp_path))
    assert again.measured == 0 and again.best == found.best
    assert pathlib.Path(tmp_path).stat().st_mode & 0o022 == 0


def test_off_measures_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(tsr.knobs, "tune", "off")
    found = tsr.kernel(scale).tune(normal(20, 300), space=dict(BLOCK=[64, 32]), cache=str(tmp_path))
    assert found.measured == 0 and found.best == {"BLOCK": 64} and found.by == "default"


def test_a_sample_of_tuned_kernels():
    """`python test/python/tuned_kernels.py --count 1000` is the whole of it."""
    import tuned_kernels

    found = tuned_kernels.sweep(8, 60, seed=5000)
    assert found["kernels"] >= 3 and not found["bad"]


def test_the_sample_would_see_a_wrong_winner(monkeypatch):
    import tuned_kernels

    monkeypatch.setattr(judge.Judge, "verdict", lambda self, candidate: ("ok", ""))
    planted = next(case for case in map(tuned_kernels.make, range(1, 100, 2)) if case.wrong is not None)
    said = []
    found = tuned_kernels.sweep(1, 60, seed=planted.seed, show=said.append)
    assert found["bad"] and "the wrong configuration won" in said[0] and "the oracle rejects" in said[0]


def test_the_sample_would_see_a_corrupted_buffer(monkeypatch):
    import tuned_kernels
    from tessera import candidates

    monkeypatch.setattr(candidates, "copy_of", lambda value: value)  # no private copies
    said = []
    found = tuned_kernels.sweep(1, 60, seed=2, show=said.append)
    assert found["bad"] and "tuning wrote to" in said[0]
