"""A miscompile planted after any pass is found, and that pass is named; the whole campaign is `miscompiles.py`.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import miscompiles
import pytest

from tessera import bisect


@pytest.mark.parametrize("kind", ["small", "special", "large"])
def test_no_pass_of_ours_changes_a_result(kind):
    for fn, args in miscompiles.inputs(kind).items():
        report = bisect.bisect(fn, args, {}, "cpu")
        assert report, report


@pytest.mark.parametrize("fn", miscompiles.inputs("small"), ids=lambda fn: fn.__name__)
def test_every_kernel_is_launched(fn):
    """Or what is planted there is not seen; but kernels for results past the caches, which are too large to interpret."""
    names, launched = zip(*(miscompiles.kernels(fn, kind) for kind in miscompiles.KINDS if fn in miscompiles.inputs(kind)))
    assert {name for name in names[0] if not name.endswith("_stream")} == set().union(*launched)


def test_planted_miscompiles_are_located():
    result = miscompiles.campaign(miscompiles.sample(seeds=2, places=100))
    count = result["count"]
    assert count["mutants"] >= 40
    assert count.get("located", 0) + count.get("refused by a later pass", 0) >= 0.9 * (count["mutants"] - count["survived, equivalent by argument"]), result
    assert count["located elsewhere"] == 0, result["elsewhere"]


def test_the_reproducer(tmp_path):
    """What bisect writes: the program before and after the pass, and inputs that show it."""
    fn = miscompiles.gemm
    args = miscompiles.inputs("small")[fn]
    number, name, _ = next(p for p in miscompiles.passes_of(fn, args) if p[1] == "schedule-to-tile")
    for seed in range(10):
        report = bisect.bisect(fn, args, {}, "cpu", folder=str(tmp_path / str(seed)), plant=(number, seed))
        if not report:
            break
    assert report.culprit.name == "schedule-to-tile" and report.reproducer
    files = {path.name for path in (tmp_path / str(seed)).iterdir()}
    assert {"before.mlir", "after.mlir", "README.txt"} <= files
    text = (tmp_path / str(seed) / "README.txt").read_text()
    assert "schedule-to-tile changes the result" in text and "smallest made inputs: M=" in text
    assert "the first pass whose result differs: schedule-to-tile" in str(report)
