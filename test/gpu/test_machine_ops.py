"""Kernels that a person wrote in Target IR: memcpy, tensor_core, ptx_instr as PTX that NVIDIA's assembler takes and the simulator runs.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys

import numpy as np
import pytest
from machines import assemblers

import tessera as tsr
from tessera import Out, Tensor, sim

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODULE = 'module attributes {{tessera.stage = "target", tessera.format = 2 : i64}} {{\n{body}\n}}\n'
# Two buffers; a copy that all threads take part in, one that waits; a product of 16 x 8 x 16 from registers.
COPY = """
tessera_target.kernel @copy(%from: !llvm.ptr<1>, %to: !llvm.ptr<1>, %size: i64) attributes {{arch = "{arch}", config = #tessera_target.kernel_config<grid = [1], block = [64, 1], shared = 2048, regs = 0>}} {{
  %n = arith.constant 1000 : i64
  %unused = tessera_target.allocate %n pool = "shared" align = 128 zero_initialize = false : i64 -> !llvm.ptr<3>
  %buffer = tessera_target.allocate %n pool = "shared" align = 128 zero_initialize = false : i64 -> !llvm.ptr<3>
  tessera_target.memcpy %buffer, %from, %size kind = "global_to_shared" async = {asynchronous} : !llvm.ptr<3>, !llvm.ptr<1>, i64
  tessera_target.memcpy %unused, %from, %size kind = "global_to_shared" async = false : !llvm.ptr<3>, !llvm.ptr<1>, i64
  tessera_target.memcpy %to, %buffer, %size kind = "shared_to_global" async = false : !llvm.ptr<1>, !llvm.ptr<3>, i64
  tessera_target.return
}}
"""
PRODUCT = """
tessera_target.kernel @product(%p: !llvm.ptr<1>) attributes {arch = "sm_80", config = #tessera_target.kernel_config<grid = [1], block = [32, 1], shared = 0, regs = 64>, tessera.debug_info = {source_location = "FlashAttention.tessera:42", variable_names = ["Q_tile"], optimization_level = 0 : i64}} {
  %one = arith.constant dense<1006648320> : vector<4xi32>
  %two = arith.constant dense<1073758208> : vector<2xi32>
  %zero = arith.constant dense<0.0> : vector<4xf32>
  %d = tessera_target.tensor_core "mma" (%one, %two, %zero) shape = [16, 8, 16] layout = "nt" precision = "fp16" : (vector<4xi32>, vector<2xi32>, vector<4xf32>) -> vector<4xf32>
  %i = arith.constant 0 : i32
  %x = llvm.extractelement %d[%i : i32] : vector<4xf32>
  %bits = arith.constant 1 : i32
  %reversed = tessera_target.ptx_instr "brev.b32" (%bits) {constraints = {operand0 = "r"}, latency = 4 : i64} : (i32) -> i32
  %y = arith.bitcast %reversed : i32 to f32
  %true = arith.constant true
  tessera_target.assert %true message = "Invalid matrix dimensions"
  %sum = arith.addf %x, %y : f32
  llvm.store %sum, %p : f32, !llvm.ptr<1>
  tessera_target.return
}
"""


@pytest.fixture
def ptx_of(tmp_path):
    """A module, or the kernels of one, as PTX that every assembler took; or what was said."""
    places = [os.environ.get("TESSERA_BIN", ""), ROOT / "build/release/bin", ROOT / "build/dev/bin"]
    tesserac = next((str(pathlib.Path(p) / "tesserac") for p in places if p and (pathlib.Path(p) / "tesserac").exists()), shutil.which("tesserac"))

    def make(body, arch):
        (tmp_path / "k.mlir").write_text(body if body.startswith("module") else MODULE.format(body=body))
        done = subprocess.run([tesserac, "k.mlir", "--target", arch, "--compile-to", "ptx"], cwd=tmp_path, capture_output=True, text=True)
        if done.returncode:
            return done.stderr
        for assembler in assemblers():
            (tmp_path / "k.ptx").write_text(done.stdout)
            taken = subprocess.run([assembler, "-arch", arch, "k.ptx", "-o", "k.cubin"], cwd=tmp_path, capture_output=True, text=True)
            assert taken.returncode == 0, taken.stderr
        return done.stdout

    return make


@pytest.mark.parametrize("arch, asynchronous", [("sm_80", "true"), ("sm_80", "false"), ("sm_75", "false")])
def test_copies(arch, asynchronous, ptx_of):
    ptx = ptx_of(COPY.format(arch=arch, asynchronous=asynchronous), arch)
    assert ("cp.async" in ptx) == (arch == "sm_80")
    device = sim.Device()
    source, target = (np.arange(1000, dtype=np.uint8) * step for step in (3, 0))
    for size in (1000, 16, 7, 0):
        target[:] = 0
        for array in (source, target):
            device.expose(array.ctypes.data, array.nbytes, "array")
        report = device.load(ptx).launch("copy", 1, 64, struct.pack("<QQq", source.ctypes.data, target.ctypes.data, size), arch=arch, check=True)
        for array in (source, target):
            device.unexpose(array.ctypes.data)
        assert report.ok, report.text()
        assert np.array_equal(target[:size], source[:size]) and not target[size:].any()


def test_products_and_instructions(ptx_of):
    ptx = ptx_of(PRODUCT, "sm_80")
    assert "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" in ptx and "brev.b32" in ptx and "__assertfail" in ptx and ".maxnreg 64" in ptx
    device = sim.Device()
    result = np.zeros(1, np.float32)
    device.expose(result.ctypes.data, 4, "result")
    report = device.load(ptx).launch("product", 1, 32, struct.pack("<Q", result.ctypes.data), arch="sm_80", check=False)
    device.unexpose(result.ctypes.data)
    assert report.ok, report.text()
    one, two = np.array([1006648320, 1073758208], np.int32).view(np.float16).reshape(2, 2).astype(float)
    # 16 products of 1 by 2, and -0.0 (the reversed 1)
    assert result[0] == 16 * one[0] * two[0] == 32


def test_what_does_not_fit_is_said(ptx_of):
    assert "need 2024 bytes of shared memory, its config has shared = 1024" in ptx_of(COPY.format(arch="sm_80", asynchronous="true").replace("shared = 2048", "shared = 1024"), "sm_80")
    assert "the kernel is for sm_80, but is compiled for sm_75" in ptx_of(COPY.format(arch="sm_80", asynchronous="true"), "sm_75")


CHECKED = """
tessera_target.kernel @checked(%p: !llvm.ptr<1>, %least: i32) attributes {threads = #tessera_target.thread_config<[16, 4], 1>, tessera.debug_info = {source_location = "FlashAttention.tessera:42", variable_names = ["Q_tile"], optimization_level = 0}} {
  %i = tessera_target.ptx_instr "mov.u32" (%least) : (i32) -> i32
  %zero = arith.constant 0 : i32
  %positive = arith.cmpi sgt, %i, %zero : i32
  tessera_target.assert %positive message = "Invalid matrix dimensions"
  llvm.store %i, %p : i32, !llvm.ptr<1>
}
"""


def launch(ptx, name, block, arguments, arrays, arch="sm_80"):
    device = sim.Device()
    for array in arrays:
        device.expose(array.ctypes.data, array.nbytes, "array")
    try:
        return device.load(ptx).launch(name, 1, block, arguments, arch=arch, check=True)
    finally:
        for array in arrays:
            device.unexpose(array.ctypes.data)


def test_an_assertion_stops_the_kernel_and_names_its_line(ptx_of):
    ptx = ptx_of(CHECKED, "sm_80")
    # thread_config is the block, debug_info the kernel's place in the source.
    assert ".reqntid 16, 4" in ptx and '"FlashAttention.tessera"' in ptx
    result = np.zeros(1, np.int32)
    with pytest.raises(sim.SimError, match="needs blocks of 16x4x1 threads"):
        launch(ptx, "checked", (1, 1), struct.pack("<Qi", result.ctypes.data, 7), [result])
    good = launch(ptx, "checked", (16, 4), struct.pack("<Qi", result.ctypes.data, 7), [result])
    assert result[0] == 7, good.text()
    report = launch(ptx, "checked", (16, 4), struct.pack("<Qi", result.ctypes.data, -1), [result])
    line = MODULE.format(body=CHECKED).split("tessera_target.assert")[0].count("\n") + 1
    assert not report.ok and f"k.mlir:{line}" in report.text() and "Invalid matrix dimensions" in report.text(), report.text()
    assert report.errors[0]["kind"] == "assert", report.text()
    assert result[0] == 7, "nothing was stored after the assertion"


def test_breakpoints(ptx_of):
    body = CHECKED.replace("  llvm.store", '  tessera_target.breakpoint label = "before_gemm"\n  llvm.store')
    ptx = ptx_of(body, "sm_80")
    assert "brkpt; // before_gemm" in ptx
    result = np.zeros(1, np.int32)
    report = launch(ptx, "checked", (16, 4), struct.pack("<Qi", result.ctypes.data, 7), [result])
    line = MODULE.format(body=body).split("tessera_target.breakpoint")[0].count("\n") + 1
    assert not report.ok and f"k.mlir:{line}" in report.text() and result[0] == 0, report.text()


ZERO = """
tessera_target.kernel @zero(%p: !llvm.ptr<1>) config = #tessera_target.kernel_config<grid = [1], block = [8, 4], shared = 512, regs = 0> {
  %n = arith.constant 300 : i64
  %buffer = tessera_target.allocate %n zero_initialize = ZERO pool = "shared" : !llvm.ptr<3>
  tessera_target.memcpy %p, %buffer, %n kind = "shared_to_global" : !llvm.ptr<1>, !llvm.ptr<3>
}
"""


def test_memory_is_zero_where_it_is_asked_for(ptx_of):
    result = np.full(304, 7, np.uint8)
    report = launch(ptx_of(ZERO.replace("ZERO", "true"), "sm_80"), "zero", (8, 4), struct.pack("<Q", result.ctypes.data), [result])
    assert report.ok and not result[:300].any() and (result[300:] == 7).all(), report.text()
    report = launch(ptx_of(ZERO.replace("ZERO", "false"), "sm_80"), "zero", (8, 4), struct.pack("<Q", result.ctypes.data), [result])
    assert not report.ok, "what nobody wrote was read"


# Registers of a fragment as vectors: a product, its operands loaded by ldmatrix, both by their PTX names.
VECTORS = """
tessera_target.kernel @vectors(%from: !llvm.ptr<1>, %to: !llvm.ptr<1>) config = #tessera_target.kernel_config<grid = [1], block = [32, 1], shared = 512, regs = 0> attributes {arch = "sm_80"} {
  %n = arith.constant 512 : i64
  %buffer = tessera_target.allocate %n pool = "shared" align = 128 : !llvm.ptr<3>
  tessera_target.memcpy %buffer, %from, %n kind = "global_to_shared" async = true : !llvm.ptr<3>, !llvm.ptr<1>
  tessera_target.ptx_instr "cp.async.wait_all" () : () -> ()
  %id = arith.constant 0 : i32
  tessera_target.ptx_instr "bar.sync" (%id) {constraints = {operand0 = "n"}} : (i32) -> ()
  %lane = nvvm.read.ptx.sreg.tid.x : i32
  %c16 = arith.constant 16 : i32
  %offset = arith.muli %lane, %c16 : i32
  %row = llvm.getelementptr %buffer[%offset] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  %a = tessera_target.ptx_instr "ldmatrix.sync.aligned.m8n8.x4.shared.b16" (%row) : (!llvm.ptr<3>) -> vector<4xi32>
  %b = arith.constant dense<1006648320> : vector<2xi32>
  %c = arith.constant dense<1.0> : vector<4xf32>
  %d = tessera_target.ptx_instr "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" (%a, %b, %c) : (vector<4xi32>, vector<2xi32>, vector<4xf32>) -> vector<4xf32>
  %place = llvm.getelementptr %to[%offset] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8
  tessera_target.ptx_instr "st.global.v4.f32" (%place, %d) : (!llvm.ptr<1>, vector<4xf32>) -> ()
}
"""


def test_vectors_of_registers(ptx_of):
    a = np.random.default_rng(0).integers(-8, 8, (16, 16)).astype(np.float16)
    # ldmatrix takes four 8 x 8 matrices, rows of 16 bytes one behind the other: (rows 0-7, k 0-7), (8-15, 0-7), (0-7, 8-15), (8-15, 8-15)
    memory = np.ascontiguousarray(np.stack([a[:8, :8], a[8:, :8], a[:8, 8:], a[8:, 8:]]))
    got = np.zeros((32, 4), np.float32)
    report = launch(ptx_of(VECTORS, "sm_80"), "vectors", 32, struct.pack("<QQ", memory.ctypes.data, got.ctypes.data), [memory, got])
    assert report.ok, report.text()
    # b is 1 everywhere: sums of rows, plus 1; thread 4 r + c has rows r, r, r + 8, r + 8
    sums = a.astype(np.float32).sum(1) + 1
    rows = np.arange(32) // 4
    assert np.array_equal(got, np.stack([sums[rows], sums[rows], sums[rows + 8], sums[rows + 8]], 1))
    assert np.array([1006648320], np.int32).view(np.float16).tolist() == [1, 1]


def test_the_example_of_the_documents(ptx_of):
    """docs/target-ir.md: the same product, without the 1."""
    text = re.search(r"```mlir\n(module.*?)```", (ROOT / "docs/target-ir.md").read_text(), re.S)[1]
    ptx = ptx_of(text, "sm_80")
    assert '"product.tessera"' in ptx
    a = np.random.default_rng(1).integers(-8, 8, (16, 16)).astype(np.float16)
    memory, got = np.ascontiguousarray(np.stack([a[:8, :8], a[8:, :8], a[:8, 8:], a[8:, 8:]])), np.zeros((32, 4), np.float32)
    report = launch(ptx, "product", 32, struct.pack("<QQ", memory.ctypes.data, got.ctypes.data), [memory, got])
    assert report.ok, report.text()
    assert np.array_equal(got[::4, 0], a[:8].astype(np.float32).sum(1)) and np.array_equal(got[::4, 2], a[8:].astype(np.float32).sum(1))


def test_the_table_of_instructions_is_the_simulators():
    done = subprocess.run([sys.executable, ROOT / "tools/generate-ptx-opcodes.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_cluster_is_asked_for(ptx_of):
    body = CHECKED.replace("{threads", '{arch = "sm_90", cluster = array<i64: 4, 2, 1>, threads')
    assert ".reqnctapercluster 4, 2, 1" in ptx_of(body, "sm_90a")


@tsr.kernel
def positive(x: Tensor["N"], y: Out["N"]):
    for n in tsr.grid(tsr.tile(N, 64)):
        v = x[n]
        assert v >= 0, "x is negative"
        y[n] = v


def test_an_assertion_of_the_language(monkeypatch):
    """In debug builds; the thread that meets it stops the launch. Elements past the end (100 of 128) are none of its business."""
    monkeypatch.setattr(tsr.knobs, "debug", True)
    x = np.arange(100, dtype=np.float32)
    assert np.array_equal(positive(x, target="sim:sm_80"), x)
    x[70] = -1
    line = next(i for i, text in enumerate(pathlib.Path(__file__).read_text().splitlines(), 1) if 'assert v >= 0' in text)
    with pytest.raises(tsr.ArgumentError, match=rf"x is negative(?s:.)*test_machine_ops.py:{line}, block \(1,0,0\) thread \(\d+,0,0\)"):
        positive(x, target="sim:sm_80")
    monkeypatch.setattr(tsr.knobs, "debug", False)
    assert np.array_equal(positive(x, target="sim:sm_80"), x), "other builds leave it out"
