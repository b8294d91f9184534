# tcgen05 in pipelines: right kernels are silent, every planted bug is found.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import re
import shutil
import subprocess

import numpy as np
import pytest

import tessera.sim as sim
from hopper_kernels import broken, line_of
from tcgen05_kernels import (CROSS, CROSS_BUGS, CROSS_REMARKS, GEMM, GEMM_BUGS, GEMM_REMARKS, GEMM_SILENT)
from tensor_matrices import TYPES, place
from test_tensor_memory import found

TILES = 5


def run_gemm(text, **options):
    rng = np.random.default_rng(2)
    a, b = (rng.integers(-3, 4, (2, TILES, rows, 16)).astype(np.float16) for rows in (128, 32))
    g, o = np.zeros((2 * TILES, 5120), np.uint8), np.zeros((2, 128, 32), np.float32)
    for k, (x, y) in enumerate(zip(a.reshape(-1, 128, 16), b.reshape(-1, 32, 16))):
        place(g[k], x, 16, "none", True, 0, False, 0)
        place(g[k], y, 16, "none", True, 4096, False, 0)
    report = sim.launch(text, "k", 1, 192, [g, o, TILES], arch="sm_100a", max_instructions=300000, **options)
    return report, o, np.einsum("xtmk,xtnk->xmn", a.astype(np.float64), b.astype(np.float64))


def run_cross(text, **options):
    rng = np.random.default_rng(3)
    image, o = np.zeros(6144, np.uint8), np.zeros((128, 8), np.float32)
    a, b = (rng.integers(-3, 4, (rows, 32)).astype(np.float32).astype(TYPES["e4m3"][0]) for rows in (128, 8))
    place(image, a, 8, "none", True, 0, False, 0)
    place(image, b, 8, "none", True, 4096, False, 0)
    scales = rng.integers(124, 131, 128).astype(np.uint8), rng.integers(124, 131, 8).astype(np.uint8)
    for at, values in zip((4352, 4864), scales):
        for row, value in enumerate(values):  # row r: lane r % 32, column r / 32, which is a word of the row of 16 bytes
            image[at + 16 * (row % 32) + 4 * (row // 32)] = value
    report = sim.launch(text, "k", 1, 128, [image, o], arch="sm_100a", max_instructions=100000, **options)
    x, y = (m.astype(np.float64) * 2.0**(s.astype(np.float64) - 127)[:, None] for m, s in zip((a, b), scales))
    return report, o, x @ y.T


KERNELS = {"gemm": (run_gemm, GEMM), "cross": (run_cross, CROSS),
           **{name: (run_gemm, broken(GEMM, changes)) for name, changes in GEMM_SILENT.items()}}


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("seed", range(20))
def test_right_kernels_are_silent(name, seed):
    run, text = KERNELS[name]
    for check in (False, True):
        report, o, want = run(text, check=check, seed=seed, adversarial=seed > 0)
        assert report.ok and not report.errors, report.text()
        np.testing.assert_array_equal(o, want)


BUGS = [(run_gemm, GEMM, name, *bug) for name, bug in GEMM_BUGS.items()] + \
       [(run_cross, CROSS, name, *bug) for name, bug in CROSS_BUGS.items()]


@pytest.mark.parametrize("run, text, name, changes, kinds, places", BUGS, ids=[b[2] for b in BUGS])
def test_planted_bug(run, text, name, changes, kinds, places):
    found(broken(text, changes), run, kinds, places)


REMARKS = [(run_gemm, GEMM, *v) for v in GEMM_REMARKS.values()] + [(run_cross, CROSS, *v) for v in CROSS_REMARKS.values()]


@pytest.mark.parametrize("run, text, changes, places", REMARKS, ids=[*GEMM_REMARKS, *CROSS_REMARKS])
def test_a_remark(run, text, changes, places):
    text = broken(text, changes)
    lines = {line_of(text, place) for place in places}
    for seed in range(8):
        report, o, want = run(text, check=True, seed=seed, adversarial=seed > 0)
        assert report.ok and [e["kind"] for e in report.errors] == ["remark"], report.text()
        assert {int(n) for n in re.findall(r"PTX line (\d+)", report.errors[0]["message"])} == lines, report.text()
        np.testing.assert_array_equal(o, want)


def test_results_of_a_broken_kernel_depend_on_the_seed():
    """Without checking, a product in flight shows in the results."""
    results = set()
    for seed in range(1, 20):
        _, o, _ = run_gemm(broken(GEMM, GEMM_BUGS["arrival_instead_of_commit"][0]), seed=seed, adversarial=True)
        results.add(o.tobytes())
    assert len(results) > 1


@pytest.mark.skipif(not shutil.which("ptxas"), reason="ptxas is not on PATH")
def test_ptxas_accepts_the_kernels(tmp_path):
    for name, (_, text) in KERNELS.items():
        path = tmp_path / "k.ptx"
        path.write_text(text)
        done = subprocess.run(["ptxas", "-arch=sm_100a", path, "-o", tmp_path / "out"], capture_output=True, text=True)
        assert done.returncode == 0, name + done.stderr
