"""Random programs through every stage and the machine code; and that the machinery notices what is wrong.

    pytest test/oracle/test_fuzz.py -s              # 200 programs from a seed that changes with the compiler, which is printed; for x86-64-v3, too
    python -m tessera.fuzz run --seeds 0:20000      # many

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import io
import os
import pathlib
import statistics
import subprocess

import numpy as np
import pytest

from tessera import oracle
from tessera.fuzz import campaign, generate, runner, shrink
from tessera.fuzz.program import Input, Line, Program, load_file
from tessera.fuzz.randomness import Random

PROGRAMS = 200


def seed_of_this_compiler() -> int:
    """New with every change of the compiler, and the same for everyone who has it: what passed for its author passes again."""
    done = subprocess.run(["git", "rev-parse", "HEAD:compiler"], cwd=pathlib.Path(__file__).parent, capture_output=True, text=True)
    return int(done.stdout[:12], 16) % 10**9 * 1000 if done.returncode == 0 else 0


def test_programs_from_a_fresh_seed(capsys):
    first = seed_of_this_compiler()
    seeds = f"--seeds {first}:{first + PROGRAMS} --target cpu:avx2"
    outcomes = campaign.fuzz(range(first, first + PROGRAMS), os.cpu_count() or 1, 80, io.StringIO(), show=False, targets=("cpu:avx2",))
    bad = [o for o in outcomes if o["status"] not in runner.NOT_BAD]
    with capsys.disabled():
        print(f"\npython -m tessera.fuzz run {seeds}\n{campaign.histogram(outcomes)}")
    assert not bad, f"again: python -m tessera.fuzz run {seeds}\n" + "\n".join(f"seed {o['seed']}: {o['status']} at {o['where']}: {o['detail'][:500]}" for o in bad)
    assert len(outcomes) >= PROGRAMS / 4, "too slow to mean much"


def test_what_programs_are_made_of():
    programs = [generate(seed) for seed in range(400)]
    share = lambda wanted: sum(wanted <= set(p.tags) for p in programs) / len(programs)
    assert statistics.median(len(p.ops) for p in programs) >= 8
    assert share({"contraction", "reduction"}) >= 0.3
    assert share({"loop"}) >= 0.2
    assert 0.25 < sum(p.kind == "kernel" for p in programs) / len(programs) < 0.6
    assert 0.3 < sum(p.exact for p in programs) / len(programs) < 0.7
    extents = {n for p in programs for i in p.inputs for n in i.shape}
    assert {0, 1, 7, 63, 65, 127} <= extents
    views = {i.view for p in programs for i in p.inputs}
    assert views == {"contiguous", "transposed", "sliced", "negative", "broadcast"}


def test_a_seed_is_a_program():
    for seed in (0, 1, 17, 123456789012):
        a, b = generate(seed), generate(seed)
        assert a.text() == b.text()
        for (name, x), (_, y) in zip(a.arguments().items(), b.arguments().items()):
            np.testing.assert_array_equal(x, y, err_msg=name)
    # The numbers of SplitMix64 are the same everywhere.
    assert [Random(1).bits() % 1000, Random(2).bits() % 1000] == [Random(1).bits() % 1000, Random(2).bits() % 1000]


@pytest.mark.parametrize("exact", (True, False))
def test_a_wrong_element_is_noticed(exact, tmp_path, monkeypatch):
    """One element of the machine code's result off by a thousandth (or by one)."""
    right, changed = oracle._compiled, []

    def wrong(*args):
        results = [np.array(r) for r in runner.as_list(right(*args))]
        for r in results:
            flat = r.reshape(-1)
            if flat.size and r.dtype.kind not in "bV" and r.dtype != np.bool_ and np.isfinite(flat[-1].astype(np.float64)):
                flat[-1] = flat[-1] + (1 if exact else max(abs(float(flat[-1])), 0.1) * 0.1)
                changed.append(True)
        return tuple(results)

    seen = total = 0
    for seed in range(60):
        program = generate(seed)
        if program.exact != exact:
            continue
        monkeypatch.setattr(oracle, "_compiled", wrong)
        changed.clear()
        outcome = runner.check_program(program, str(tmp_path), ("graph",))
        total += bool(changed)
        seen += outcome.status == "mismatch"
    # A rounding of bf16, or a value that has lost its digits, may hide a tenth.
    assert total > 15 and seen >= 0.9 * total, f"{seen} of {total}"


def test_shrinking(monkeypatch):
    """A program that is bad because of one op becomes little more than that op."""
    monkeypatch.setattr(shrink, "outcome_of", lambda p, stages=(), targets=(): {"status": "mismatch" if "cumsum" in p.text() and "return" in p.text() else "ok", "where": "cpu", "detail": ""})
    found = 0
    for seed in range(200):
        program = generate(seed)
        if program.kind == "function" and "cumsum" in program.ops:
            small, outcome = shrink.shrink(program, show=False)
            assert outcome["status"] == "mismatch" and "cumsum" in small.text()
            assert sum(1 for _ in small.walk()) <= 3, small.text()
            found += 1
    assert found > 3


def test_a_reproducer_runs(tmp_path):
    program = Program(0, "function", True, [Input("x", "fp32", (3, 4), seed=1)], [Line("y = x + 1.0", ("y",), ("x",), ("add",))], ["y"])
    path = program.reproducer(str(tmp_path), "again.py", "nothing is wrong here")
    import subprocess
    import sys

    ran = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0 and "all columns agree: cpu" in ran.stdout, ran.stderr


def test_the_log_resumes(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"seed": 1, "status": "ok"}\n{"seed": 2, "sta')
    assert [o["seed"] for o in campaign.read_log(str(path))] == [1]


def test_compiling_is_deterministic(tmp_path):
    """The text of a stage does not depend on what was compiled before, nor on where memory lies. (A reference into a hash table outlived
    an insertion: now and then a loop began with another tensor's memory.)"""
    # Nested loops, the outer ones unrolled: what the rewriting of one block left behind was found by another's.
    half = lambda *shape: np.ones(shape, np.float16)
    loops = (load_file(os.path.join(os.path.dirname(__file__), "nested_loops.py")), {"x2": half(7, 3), "x5": half(3, 9), "x12": half(9), "n": 2})
    programs = [p for p in map(generate, range(400)) if p.kind == "function" and sum(op in ("for", "while", "if") for op in p.ops) >= 2][:12]
    loaded = [loops] + [(p.load(str(tmp_path)), p.arguments()) for p in programs]
    seen = [set() for _ in loaded]
    for _ in range(3):
        for texts, (fn, arguments) in zip(seen, loaded):
            texts.add(oracle.prepare(fn, (), arguments, "tile-value")[0].compilation.print())
            seen[0].add(oracle.prepare(loops[0], (), loops[1], "tile-value")[0].compilation.print())
    assert [name for name, texts in zip(["nested", *(p.seed for p in programs)], seen) if len(texts) != 1] == []


@pytest.mark.parametrize("seed", (17294, 446826729119, 773265980046))
def test_seeds_that_were_mismatches_of_the_ring_alone(seed, tmp_path):
    """Canonicalisation computes with constants in the reals; the third had the axes of a `where` of three in another order."""
    outcome = runner.check_program(generate(seed), str(tmp_path))
    assert outcome.status == "ok", outcome.detail
