"""Every address of the compiled CPU code is 64-bit, or its value is proved to be small: `target-check-addresses` on real programs.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import os
import pathlib
import re
import subprocess

import ml_dtypes
import numpy as np
import pytest
from tessera import fuzz, kernels, oracle

TOOL = pathlib.Path(os.environ.get("TESSERA_BIN", "")) / "tessera-opt"
SEEDS = range(40)


def check(fn, args, kwargs, target) -> tuple[int, int]:
    """(addresses and masks, those cut below 64 bits) of the program at stage target; fails if one is not proved."""
    program, _ = oracle.prepare(fn, args, kwargs, "target", target)
    done = subprocess.run([TOOL, "--target-check-addresses=count=true", "-", "-o", os.devnull], input=program.compilation.print(), capture_output=True, text=True)
    assert done.returncode == 0, f"{fn.__name__} for {target}:\n{done.stderr}"
    counted = re.search(r"(\d+) addresses and masks, made of \d+ integers, of which (\d+) are cut", done.stderr)
    return int(counted[1]), int(counted[2])


def shipped(dtype):
    x, y = np.zeros((40, 70), dtype), np.zeros((70, 33), dtype)
    q = np.zeros((1, 2, 40, 64), dtype)
    yield kernels.gemm, (x, y)
    yield kernels.flash_attention, (q, q, q)
    yield kernels.softmax, (x,)
    yield kernels.layer_norm, (x, x[0], x[0])


@pytest.mark.parametrize("target", ["cpu", "cpu:avx2"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_shipped_kernels(dtype, target):
    for fn, args in shipped(dtype):
        addresses, cut = check(fn, args, {}, target)
        assert addresses > 0
        print(f"\n{fn.__name__} {np.dtype(dtype).name} {target}: {addresses} addresses and masks, {cut} cut and proved", end="")


@pytest.mark.parametrize("seed", SEEDS)
def test_generated_programs(seed, tmp_path):
    program = fuzz.generate(seed)
    check(program.load(str(tmp_path)), (), program.arguments(), "cpu")
