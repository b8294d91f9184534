"""A sample of tools/gpu-matrix.py, which runs every kernel, type and architecture: here the corners.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import importlib.util
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("gpu_matrix", ROOT / "tools/gpu-matrix.py")
matrix = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(matrix)
KERNELS = {kernel.name: kernel for kernel in matrix.ALL}

CELLS = [
    ("gemm", "fp16", "sm_75"), ("gemm", "bf16", "sm_75"), ("gemm", "i8", "sm_75"), ("gemm", "i8", "sm_86"), ("gemm", "fp64", "sm_80"),
    ("gemm", "fp8_e4m3", "sm_89"), ("gemm", "fp8_e5m2", "sm_120a"), ("gemm", "fp16", "sm_120a"),
    ("gemm", "tf32", "sm_80"), ("attention d64", "fp16", "sm_75"), ("attention causal d128", "bf16", "sm_75"), ("softmax", "fp32", "sm_75"),
    ("gemm_sparse", "as written", "sm_86"), ("gemm_mx", "as written", "sm_120a"),
]


@pytest.mark.parametrize("kernel, dtype, arch", CELLS, ids=[" ".join(cell) for cell in CELLS])
def test_cell(kernel, dtype, arch):
    found = matrix.cell(KERNELS[kernel], dtype, arch)
    assert found["mark"] == "ok", found
    assert found["spills"] == 0 and len(found["assemblers"]) >= 1, found
    if kernel == "gemm":
        assert found["bank_conflicts"] == 0 and found["coalescing"] >= 0.95, found


def test_blanks_are_lines_of_the_table():
    assert matrix.cell(KERNELS["gemm"], "fp8_e4m3", "sm_86") == {"mark": "", "why": "mma.sync of e4m3: sm_89 and newer"}
    assert matrix.cell(KERNELS["gemm"], "mxfp4 (block scaled)", "sm_120a")["mark"] == "not done"
    assert matrix.cell(KERNELS["gemm"], "mxfp4 (block scaled)", "sm_89")["mark"] == ""


def test_a_wrong_result_is_seen(monkeypatch):
    """The bound has teeth: a product without its last column of A is outside of it."""
    right = matrix.product
    monkeypatch.setattr(matrix, "product", lambda a, b, dtype: right(a[:, :-1], b[:-1], dtype))
    found = matrix.cell(KERNELS["gemm"], "fp16", "sm_80")
    assert found["mark"] == "WRONG" and "outside the bound" in found["why"]
