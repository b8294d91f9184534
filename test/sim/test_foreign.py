# Code nobody here wrote: CUTLASS gemms, TileLang kernels.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""TESSERA_SIM_CUTLASS names the include folder of CUTLASS (e.g. of the
package nvidia-cutlass: cutlass_library/source/include)."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

from test_cuda import LIBRARY, build, pytestmark, run  # noqa: F401

CUTLASS = os.environ.get("TESSERA_SIM_CUTLASS", "")


@pytest.mark.skipif(not CUTLASS, reason="TESSERA_SIM_CUTLASS is not set")
def test_cutlass_gemms():
    target = build("cutlass_gemm", ["../cuda_cutlass_gemm.cu"],
                   ["-I", CUTLASS, "-I", str(pathlib.Path(CUTLASS).parent / "tools/util/include"),
                    "-I", str(pathlib.Path(__file__).parent), "--expt-relaxed-constexpr",
                    "-gencode", "arch=compute_80,code=compute_80"])
    run(target, "80")


@pytest.mark.skipif(not CUTLASS, reason="TESSERA_SIM_CUTLASS is not set")
@pytest.mark.timeout(1200)  # nvcc needs minutes
def test_cutlass_gemms_of_hopper():
    target = build("cutlass_gemm_sm90", ["../cuda_cutlass_gemm_sm90.cu"],
                   ["-I", CUTLASS, "-I", str(pathlib.Path(CUTLASS).parent / "tools/util/include"),
                    "-I", str(pathlib.Path(__file__).parent), "--expt-relaxed-constexpr", f"-L{LIBRARY}", "-l:libcuda.so.1",
                    "-gencode", "arch=compute_90a,code=compute_90a"])
    for seed in range(4):
        result = run(target, "90a", TESSERA_SIM_CHECK="1", **({"TESSERA_SIM_SEED": str(seed)} if seed else {}))
        wrong = [line for line in result.stderr.splitlines() if ": remark: " not in line]
        assert not wrong, wrong
    # Its elected lane has to be lane 0 (docs/simulator.md, "Real defects").
    with pytest.raises(AssertionError, match="no thread of the block can go on"):
        run(target, "90a", TESSERA_SIM_SEED="1,elect")


def test_tilelang_kernels():
    pytest.importorskip("tilelang", reason="tilelang is not installed")
    script = pathlib.Path(__file__).with_name("tilelang_kernels.py")
    result = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert result.returncode == 0 and len(re.findall("^ok ", result.stdout, re.M)) == 10, result.stdout + result.stderr


@pytest.mark.parametrize("arch", ["sm_90a", "sm_100a"])
@pytest.mark.timeout(900)
def test_flash_attention_4(arch):
    pytest.importorskip("flash_attn.cute", reason="flash-attn-4 is not installed")
    script = pathlib.Path(__file__).with_name("cute_attention.py")
    result = subprocess.run([sys.executable, "-W", "ignore", str(script), arch], capture_output=True, text=True)
    assert result.returncode == 0 and len(re.findall("^ok ", result.stdout, re.M)) == 4, result.stdout + result.stderr


@pytest.mark.parametrize("arch", ["sm_90a", "sm_100a"])
@pytest.mark.timeout(900)
def test_quack(arch):
    pytest.importorskip("quack", reason="quack-kernels is not installed")
    script = pathlib.Path(__file__).with_name("cute_quack.py")
    result = subprocess.run([sys.executable, "-W", "ignore", str(script), arch], capture_output=True, text=True)
    assert result.returncode == 0 and len(re.findall("^ok ", result.stdout, re.M)) == 7, result.stdout + result.stderr
