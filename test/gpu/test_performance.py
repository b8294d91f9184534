"""What is known of a kernel's speed without its GPU.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import json

import numpy as np
import pytest

import tessera as tsr
from tessera import architectures, kernels
from tessera.performance import classify, machine_mix


def test_a_product():
    a, b = np.ones((256, 128), np.float16), np.ones((128, 256), np.float16)
    report = kernels.gemm.performance_report(a, b, target="sm_80")
    [kernel] = report.kernels
    assert kernel.operations["fp16"] == 2 * 256 * 128 * 256, "every product once: the extents are whole tiles"
    assert report.bytes == a.nbytes + b.nbytes + 256 * 256 * 2
    assert kernel.bank_conflicts == 0 and kernel.spills == 0 and 0 < kernel.registers <= 255
    assert 0 < kernel.occupancy <= 1 and kernel.limited_by
    assert kernel.executed["matrix"] * 2 * 16 * 8 * 16 >= kernel.operations["fp16"]
    peak = architectures.arch("sm_80")["peak"]
    what, seconds = report.bound
    assert what == "memory" and seconds == report.bytes / (peak["bandwidth"] * 1e9)
    assert "time: not measured" in str(report)
    data = json.loads(report.json())
    assert data["time"] == "not measured: nothing was run on a GPU" and data["kernels"][0]["registers"] == kernel.registers
    page = report.html()
    assert page.startswith("<!doctype html>") and "roofline" in page.lower() and "<svg" in page


def test_rows_use_no_matrix_unit():
    report = kernels.softmax.performance_report(np.ones((8, 64), np.float32), target="sm_80")
    [kernel] = report.kernels
    assert set(kernel.operations) == {"fp32"} and "matrix" not in kernel.executed


def test_machine_instructions_have_classes():
    wanted = {"HMMA.16816.F32": "matrix", "LDSM.16.M88.4": "shared memory", "LDGSTS.E.BYPASS.128": "copies", "LDG.E.128": "global memory",
              "LDL.64": "local memory (spills)", "FFMA": "fp32", "IMAD.WIDE": "integer and moves", "BAR.SYNC.DEFER_BLOCKING": "barriers",
              "BRA": "control", "LDS.128": "shared memory", "DFMA": "fp64", "SHFL.BFLY": "shuffles"}
    assert {opcode: classify(opcode) for opcode in wanted} == wanted
    text = "\t.section\t.text.k,\"ax\"\n        /*0000*/                   IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28] ;\n        /*0010*/              @!P0 LDG.E R2, [R4.64] ;\n"
    assert machine_mix(text) == {"k": {"integer and moves": 1, "global memory": 1}}


def test_a_machine_that_is_none():
    with pytest.raises(tsr.ArgumentError, match="no architecture is called 'sm_81'"):
        kernels.softmax.performance_report(np.ones((8, 64), np.float32), target="sm_81")
