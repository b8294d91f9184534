# mbarriers and bulk copies: results, reports of planted bugs, deadlocks.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import re
import shutil
import subprocess

import numpy as np
import pytest

import tessera.sim as sim
from hopper_kernels import PIPELINE, PIPELINE_BUGS, STORE, STORE_BUGS, broken, line_of

TILES = 5


def run(text, block, **options):
    g = np.arange(TILES * 64, dtype=np.float32)
    o = np.zeros(TILES * 64, np.float32)
    report = sim.launch(text, "k", 1, block, [g, o, TILES], arch="sm_90a", max_instructions=300000, **options)
    return report, g, o


@pytest.mark.parametrize("text, block", [(PIPELINE, 96), (STORE, 64)], ids=["pipeline", "store"])
@pytest.mark.parametrize("seed", range(25))
def test_correct(text, block, seed):
    for check in (False, True):
        report, g, o = run(text, block, check=check, seed=seed, adversarial=seed > 0)
        assert report.ok, report.text()
        np.testing.assert_array_equal(o, 2 * g)
        assert not [e for e in report.errors if e["kind"] != "remark"]


CASES = [(PIPELINE, 96, name, *bug) for name, bug in PIPELINE_BUGS.items()] + \
        [(STORE, 64, name, *bug) for name, bug in STORE_BUGS.items()]


@pytest.mark.parametrize("text, block, name, changes, kinds, places", CASES, ids=[c[2] for c in CASES])
def test_planted_bug(text, block, name, changes, kinds, places):
    text = broken(text, changes)
    lines = {line_of(text, place) for place in places}
    for seed in range(8):
        report, _, _ = run(text, block, seed=seed, adversarial=seed > 0)
        named = {int(n) for e in report.errors if e["kind"] in kinds.split()
                 for n in re.findall(r"PTX line (\d+)", e["message"])}
        assert not report.ok and named & lines, f"seed {seed}: expected {kinds} at {lines}: {report.text()}"


@pytest.mark.skipif(not shutil.which("ptxas"), reason="ptxas is not on PATH")
def test_ptxas_accepts_the_kernels(tmp_path):
    texts = {"pipeline": PIPELINE, "store": STORE}
    texts.update({case[2]: broken(case[0], case[3]) for case in CASES})
    for name, text in texts.items():
        path = tmp_path / f"{name}.ptx"
        path.write_text(text)
        done = subprocess.run(["ptxas", "-arch=sm_90a", path, "-o", tmp_path / "out.cubin"], capture_output=True,
                              text=True)
        assert done.returncode == 0, name + done.stderr
