# What Report.text() says of asynchronous work.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import re
import subprocess

import numpy as np
import pytest

import tessera.sim as sim
from cluster_kernels import pipeline
from conftest import ROOT, TOOL
from tcgen05_kernels import GEMM
from test_clusters import fetch
from test_tcgen05 import run_gemm

TILES = 12


def lines(text):
    return [line for line in text.splitlines() if re.match("TMA|bytes saved|st.async|mbarrier|tensor|pipeline", line)]


def test_it_is_what_the_command_line_says(tmp_path):
    if not TOOL.exists():
        pytest.skip(f"{TOOL} is not built")
    kernel = tmp_path / "k.ptx"
    kernel.write_text((ROOT / "examples/hopper/gemm.ptx").read_text().replace("%phase, %k, 1, 1", "%phase, %k, 2, 1"))
    report = sim.launch(kernel.read_text(), "gemm", 1, 160, [np.zeros(TILES * 768, np.float32), np.zeros(2048, np.float32), TILES],
                        arch="sm_90a", count=True, check=False)
    told = subprocess.run([TOOL, "run", kernel, "--arch", "sm_90a", "--block", "160", "--count", "--no-check", "--arg",
                           f"zeros:f32:{TILES * 768}", "--arg", "zeros:f32:2048", "--arg", f"u32:{TILES}"],
                          capture_output=True, text=True, check=True).stdout
    assert len(lines(told)) == 4 and lines(report.text()) == lines(told)


def test_tensor_memory_and_its_products():
    """128 x 32 twice, from 2 x 5 tiles of K = 16."""
    text = run_gemm(GEMM, count=True)[0].text()
    assert "\ntensor instructions: tcgen05.mma.cta_group::1.kind::f16.m128n32k16: 10\n" in text
    assert "\ntensor memory of a block, at most: 32 columns\n" in text


def test_multicasts():
    """Two clusters of two blocks: five tiles of two boxes of 256 bytes, each for both blocks."""
    text = fetch(pipeline(2), 2, count=True, arch="sm_90a")[0].text()
    assert "\nTMA load, global to shared, multicast: 20 requests, 5120 bytes, 10240 delivered\n" in text
    assert "\nbytes saved by multicast: 5120\n" in text


def test_nothing_is_said_of_what_is_not_there():
    axpy = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }"
    assert lines(sim.launch(axpy, "k", 1, 32, [], count=True).text()) == []
