# Renders report pages to PNG with a headless browser, to be looked at.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""usage: render_html.py OUT [--browser chromium]

Writes OUT/*.html and OUT/*.png: a CUDA kernel with a race, one with bank
conflicts and uncoalesced accesses, and a Triton matmul (if triton is there);
nvcc is needed for the first two. Then the wrong pipeline of
docs/simulator-hopper.md, its timeline alone (the picture of that document,
docs/images/simulator-hopper.png), and a tcgen05 pipeline in dark colours."""

import argparse
import os
import pathlib
import struct
import subprocess
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from conftest import ROOT  # noqa: E402
import tessera.sim as sim  # noqa: E402

CONFLICTS = """// A transpose without padding: every column access hits one bank.
__global__ void transpose(const float *x, float *y, int n) {
  __shared__ float tile[32][32];
  int i = blockIdx.x * 32 + threadIdx.x, j = blockIdx.y * 32;
  for (int k = threadIdx.y; k < 32; k += 8)
    tile[k][threadIdx.x] = x[(j + k) * n + i];
  __syncthreads();
  for (int k = threadIdx.y; k < 32; k += 8)
    y[(blockIdx.x * 32 + k) * n + j + threadIdx.x] = tile[threadIdx.x][k];
  y[i * n] += 0;  // a column of y: one sector per thread
}
"""


def compile_ptx(source):
    out = source.with_suffix(".ptx")
    subprocess.run(["nvcc", "-ptx", "-lineinfo", "-arch=sm_80", str(source), "-o", str(out)], check=True)
    return out.read_text()


def race(out):
    source = out / "bugs.cu"
    source.write_text((HERE / "bugs.cu").read_text())
    ptx = compile_ptx(source)
    device = sim.Device()
    module = device.load(ptx)
    g = np.zeros(256, np.int32)
    device.expose(g.ctypes.data, g.nbytes, "g")
    report = module.launch("race_missing_sync", 1, 64, struct.pack("<Q", g.ctypes.data), count=True)
    report.kernel = "race_missing_sync"
    return report.html(ptx)


def conflicts(out):
    source = out / "transpose.cu"
    source.write_text(CONFLICTS)
    ptx = compile_ptx(source)
    x, y = np.zeros((64, 64), "f4"), np.zeros((64, 64), "f4")
    report = sim.launch(ptx, None, (2, 2), (32, 8), [x, y, 64], check=False, count=True)
    report.kernel = "transpose"
    return report.html(ptx)


def triton(out):
    import torch
    import triton.language as tl

    import tessera.sim.triton as sim_triton
    import triton_kernels as k
    driver = sim_triton.activate("sm_80", check=True, count=True)
    a, b, c = torch.randn(64, 64).half(), torch.randn(64, 64).half(), torch.zeros(64, 64).half()
    k.matmul[(1,)](a, b, c, 64, 64, 64, 64, 1, 64, 1, 64, 1, BM=64, BN=64, BK=32, GM=8, ACC=tl.float32,
                   PREC="tf32", num_warps=4, num_stages=3)
    return driver.last_report.html(driver.last_report.ptx)


def hopper(out):
    """The page that the document makes."""
    page = out / "hopper-run.html"
    subprocess.run([sys.executable, ROOT / "examples/hopper/run.py", ROOT / "examples/hopper/gemm.ptx", "4", "--check", "--page",
                    page], check=True, capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    return page.read_text()


def hopper_timeline(out):
    page = hopper(out)
    head, begin = page[:page.index("<h1>")], page.index('<p class="legend">')
    return head + page[begin:page.index("<h2>Source and PTX")]


def tcgen05(out):
    import tcgen05_kernels
    import test_tcgen05
    report = test_tcgen05.run_gemm(tcgen05_kernels.GEMM, check=True, count=True)[0]
    return report.html(tcgen05_kernels.GEMM)


PAGES = {race: "1600,1100", conflicts: "1600,1100", triton: "1600,1100", hopper: "1700,1100", hopper_timeline: "1680,390",
         tcgen05: "2400,1100"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--browser", default="chromium")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for make, size in PAGES.items():
        try:
            page = make(options.out)
        except (ImportError, FileNotFoundError) as e:
            print(f"{make.__name__}: left out, {e}")
            continue
        path = options.out / f"{make.__name__}.html"
        path.write_text(page)
        dark = ["--blink-settings=preferredColorScheme=0"] if make is tcgen05 else []
        subprocess.run([options.browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", *dark,
                        f"--window-size={size}", f"--screenshot={path.with_suffix('.png')}",
                        path.resolve().as_uri()], check=True, capture_output=True)
        print(path.with_suffix(".png"))


if __name__ == "__main__":
    main()
