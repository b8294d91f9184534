"""What the documents say of NVIDIA GPUs that is not so (mission-map.md, X3-X5, X7, X8, X11-X13, X15, X23): each with what is real, tested.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import os
import pathlib
import re
import shutil
import subprocess

import bounds
import numpy as np
import pytest
from machines import assemblers

import tessera as tsr
from tessera import Out, Tensor, architectures, fp8_e4m3, fp16, fp32, kernels, sim
from tessera.target import TargetIRCompiler

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFIG = "config = #tessera_target.kernel_config<grid = [128, 64], block = [256, 1], shared = {shared}, regs = {regs}>"


@pytest.fixture
def tesserac(tmp_path):
    """Target IR that a person wrote, compiled for an architecture: PTX, or what was said."""
    places = [os.environ.get("TESSERA_BIN", ""), ROOT / "build/release/bin", ROOT / "build/dev/bin"]
    tool = next((str(pathlib.Path(p) / "tesserac") for p in places if p and (pathlib.Path(p) / "tesserac").exists()), shutil.which("tesserac"))

    def compile_text(text, arch):
        (tmp_path / "k.mlir").write_text('module attributes {tessera.stage = "target", tessera.format = 2 : i64} {\n' + text + "\n}\n")
        done = subprocess.run([tool, "k.mlir", "--target", arch, "--compile-to", "ptx"], cwd=tmp_path, capture_output=True, text=True)
        return done.stdout if done.returncode == 0 else done.stderr

    return compile_text


@pytest.fixture
def ptxas(tmp_path):
    """"" where every assembler takes the text, else what the first that does not says."""

    def assemble(ptx, arch):
        (tmp_path / "k.ptx").write_text(ptx)
        for assembler in assemblers():
            done = subprocess.run([assembler, "-v", "-arch", arch, "k.ptx", "-o", "k.cubin"], cwd=tmp_path, capture_output=True, text=True)
            if done.returncode:
                return done.stdout + done.stderr
        return ""

    if not assemblers():
        pytest.skip("ptxas is not installed")
    return assemble


def module(arch, body, version="8.8"):
    return f".version {version}\n.target {arch}\n.address_size 64\n.visible .entry k()\n{{\n{body}\n}}\n"


# ---- X3 ---------------------------------------------------------------------------------------------


def test_x3_sm_70_is_text(ptxas):
    """The overview makes cubins for sm_70; CUDA 13 has no assembler for it. We write its PTX, which assembles for sm_75 and runs on the simulator."""
    version = kernels.gemm.compile(target="sm_70", A=fp16, B=fp16, BLOCK_M=32, BLOCK_N=32, BLOCK_K=32)
    assert ".target sm_70" in version.ptx
    assert ptxas(version.ptx, "sm_75") == ""
    assert "sm_70" in ptxas(version.ptx, "sm_70")
    with pytest.raises(tsr.CompileError, match="CUDA 13 has no assembler for sm_70; this target is PTX text only"):
        version.cubin
    a, b = (np.random.default_rng(0).integers(-3, 4, shape).astype(np.float16) for shape in ((33, 20), (20, 40)))
    got = kernels.gemm(a, b, target="sim:sm_70", BLOCK_M=32, BLOCK_N=32, BLOCK_K=32)
    assert np.array_equal(got.astype(np.float64), a.astype(np.float64) @ b.astype(np.float64))


# ---- X4 ---------------------------------------------------------------------------------------------

# Lines 116-126 of the usage guide, and the shapes of seeds/002, lines 524 and 749; the arguments and the block that it leaves out are added.
HOPPER = """
tessera_target.kernel @hopper_optimized_kernel(%A_desc: i64, %B_desc: i64, %C_acc: !llvm.array<8 x f32>) config = #tessera_target.kernel_config<grid = [], block = [128, 1], shared = 0, regs = 0> attributes {{arch = "{arch}"}} {{
  %result = tessera_target.tensor_core "wgmma"
    (%A_desc, %B_desc, %C_acc)
    shape = {shape}
    precision = "{precision}"
    layout = "nt"
    : (i64, i64, !llvm.array<8 x f32>) -> !llvm.array<8 x f32>
}}"""


@pytest.mark.parametrize("precision, shape, said", [
    ("tf32", "[64, 256, 32]", "wgmma of tf32 has shape [64, N, 8], not [64, 256, 32]; K = 32 is 4 steps of 8"),
    ("bf16", "[64, 256, 32]", "wgmma of bf16 has shape [64, N, 16], not [64, 256, 32]; K = 32 is 2 steps of 16"),
    ("bf16", "[128, 256, 32]", "wgmma of bf16 has shape [64, N, 16], not [128, 256, 32]; K = 32 is 2 steps of 16"),
    ("fp16", "[64, 260, 16]", "wgmma of fp16 has shape [64, N, 16], not [64, 260, 16]"),
])
def test_x4_shapes_of_wgmma(precision, shape, said, tesserac):
    """The documents have wgmma of tf32 and bf16 with K = 32 and M = 128; M is 64, K 8 and 16, and 32 for FP8 only."""
    message = tesserac(HOPPER.format(arch="sm_90", shape=shape, precision=precision), "sm_90")
    assert said in message and re.search(r"k\.mlir:4:\d+", message), message


def test_x4_the_right_shapes(tesserac):
    """They are not refused for their shape: what is missing is our code for wgmma, the Hopper half."""
    for precision, shape in (("tf32", "[64, 256, 8]"), ("bf16", "[64, 256, 16]"), ("fp8_e4m3", "[64, 256, 32]")):
        assert "not yet: code for wgmma" in tesserac(HOPPER.format(arch="sm_90", shape=shape, precision=precision), "sm_90")


@tsr.kernel
def doubled(X: Tensor["N"], Y: Out["N"]):
    for n in tsr.grid(tsr.tile(N, 64)):
        Y[n] = X[n] * 2


def test_x4_wgmma_is_sm_90a_only(tesserac, ptxas):
    """"sm_90" is accepted and means sm_90a, with a remark; sm_100 has no wgmma. NVIDIA's assembler agrees."""
    assert "wgmma of bf16 needs sm_90a only, but the kernel is for sm_100a" in tesserac(HOPPER.format(arch="sm_100a", shape="[64, 256, 16]", precision="bf16"), "sm_100a")
    with pytest.warns(tsr.ScheduleWarning, match="target sm_90 is compiled as sm_90a: wgmma exists only there"):
        assert TargetIRCompiler(target_architecture="sm_90").compile(doubled).version(X=tsr.fp32).chip == "sm_90a"
    fence = "wgmma.fence.sync.aligned; ret;"
    assert ptxas(module("sm_90a", fence), "sm_90a") == "" and ptxas(module("sm_90", fence), "sm_90") and ptxas(module("sm_100a", fence), "sm_100a")


# ---- X5 ---------------------------------------------------------------------------------------------

# (arch, the document's instruction, the operands that make the right one whole)
SPELLINGS = [
    ("sm_90a", "cp.async.bulk.tensor.2d.shared.global", "[%r1], [%rd1, {%r2, %r3}], [%r4]"),
    ("sm_100a", "tcgen05.alloc.tmem", "[%r1], 32"),
    ("sm_100a", "tcgen05.mma.cta_group::2.async.m128n256k32.f16.f16.f32", "[%r1], %rd1, %rd2, %r2, %p1"),
    ("sm_100a", "tcgen05.bar.cta_group::2", "[%r1]"),
]
REGISTERS = ".reg .b32 %r<5>;\n.reg .b64 %rd<3>;\n.reg .pred %p<2>;\n"


@pytest.mark.parametrize("arch, wrong, operands", SPELLINGS)
def test_x5_instructions_that_ptx_does_not_have(arch, wrong, operands, tesserac, ptxas):
    """Lines 144-168 of the usage guide: ptxas takes none of the four; the verifier prints the one that is meant, which ptxas takes."""
    text = f'tessera_target.kernel @k(%n: i32) attributes {{arch = "{arch}"}} {{\n  tessera_target.ptx_instr "{wrong}" (%n) : (i32) -> ()\n}}'
    message = tesserac(text, arch)
    assert f"PTX has no '{wrong}'" in message and "k.mlir:3:" in message, message
    right = re.search(r"it is spelt '(\S+)'", message)[1]
    assert ptxas(module(arch, f"{REGISTERS}{wrong} {operands};\nret;"), arch) != ""
    assert ptxas(module(arch, f"{REGISTERS}{right} {operands};\nret;"), arch) == ""


# ---- X7, X8 -------------------------------------------------------------------------------------------


def test_x7_shared_memory_beyond_48_kib_is_dynamic(ptxas):
    """The guide's CUDA kernel has 160 KiB of static shared memory and is launched with 48; for sm_80 ptxas refuses it (for sm_90a it does not, 13.4 either). Ours asks at the launch, and runs."""
    assert "too much shared data" in ptxas(module("sm_80", ".reg .b32 %r<2>;\n.shared .align 128 .b8 tiles[163840];\nld.volatile.shared.u32 %r1, [tiles];\nret;"), "sm_80")
    words = dict(BLOCK_M=128, BLOCK_N=128, BLOCK_K=64)
    version = kernels.gemm.compile(target="sm_80", A=fp16, B=fp16, **words)
    (shared,) = {kernel["shared"] for kernel in version.kernels}
    assert shared > 48 * 1024 and ".extern .shared" in version.ptx and ptxas(version.ptx, "sm_80") == ""
    a, b = (np.random.default_rng(0).integers(-3, 4, shape).astype(np.float16) for shape in ((130, 136), (136, 132)))
    got = kernels.gemm(a, b, target="sim:sm_80", **words)
    assert np.array_equal(got.astype(np.float64), a.astype(np.float64) @ b.astype(np.float64))


@tsr.function
def attention(q: Tensor["B", "H", "S", "D"], k: Tensor["B", "H", "S", "D"], v: Tensor["B", "H", "S", "D"]) -> Tensor["B", "H", "S", "D"]:
    scores = tsr.matmul(q, k.transpose(-2, -1)) * 0.125
    return tsr.matmul(tsr.softmax(scores, dim=-1), v)


@pytest.mark.parametrize("length", (1, 67, 127, 129))
def test_x8_any_length(length, inputs):
    """The guide's host code refuses lengths that are no multiple of 128, which all of these are."""
    q, k, v = (inputs.normal(1, 1, length, 64, dtype="fp16") for _ in range(3))
    got = attention(q, k, v, target="sim:sm_80")
    e = lambda a: bounds.exact(a[0, 0], "fp16")
    bounds.check(got[0, 0], bounds.attention(e(q), e(k), e(v), accumulate="mma"), f"length {length}")


# ---- X11, X12 -----------------------------------------------------------------------------------------


def test_x11_occupancy_is_computed(tesserac, ptxas):
    """128 registers and 256 threads are called "high occupancy" (and 85-95 % promised): two blocks, a quarter of an SM. Advice is not printed."""
    assert architectures.occupancy("sm_90", 256, 128, 49152) == {"blocks": 2, "warps": 16, "fraction": 0.25, "limiter": "registers"}
    ptx = tesserac(f"tessera_target.kernel @optimized_flash_attention() {CONFIG.format(shared=49152, regs=128)} attributes {{arch = \"sm_90\"}} {{ tessera_target.return }}", "sm_90")
    assert ".reqntid 256" in ptx and ".maxnreg 128" in ptx and ptxas(ptx, "sm_90a") == ""
    report = sim.Device().load(ptx).launch("optimized_flash_attention", 1, 256, b"", arch="sm_90a", registers=128)
    assert report.occupancy["blocks_per_sm"] == 2 and report.occupancy["limited_by"] == "registers", report.occupancy
    gemm = TargetIRCompiler(target_platform="sim", target_architecture="sm_80").compile(kernels.gemm)
    gemm(np.zeros((8, 8), np.float16), np.zeros((8, 8), np.float16))
    assert re.search(r"gemm_0: \d+ blocks of an SM of sm_80, \d+% of its warps, limited by (registers|shared memory)", gemm.performance_report)


@pytest.mark.parametrize("arch, limit", [("sm_75", 65536), ("sm_80", 166912), ("sm_86", 101376), ("sm_89", 101376), ("sm_90a", 232448), ("sm_100a", 232448), ("sm_120a", 101376)])
def test_x12_shared_memory_of_each_machine(arch, limit, tesserac, ptxas):
    """48 KB "optimal for SM_90", 192 KB elsewhere, `memory < 48KB` as a constraint: the limits are the machines' (CUDA programming guide, compute capabilities)."""
    assert architectures.arch(arch)["shared_per_block"] == limit
    kernel = "tessera_target.kernel @k() {config} attributes {{arch = \"{arch}\"}} {{\n  tessera_target.return\n}}"
    ptx = tesserac(kernel.format(config=CONFIG.format(shared=limit, regs=0), arch=arch), arch)
    assert ptxas(ptx, arch) == ""
    fits = lambda shared: sim.Device().load(ptx).launch("k", 1, 256, b"", arch=arch, shared=shared).occupancy["blocks_per_sm"]
    assert fits(limit) >= 1
    with pytest.raises(sim.SimError, match=f"asks for {limit + 1} bytes of shared memory .*at most {limit}"):
        fits(limit + 1)
    message = tesserac(kernel.format(config=CONFIG.format(shared=limit + 1, regs=0), arch=arch), arch)
    assert f"a block of {arch} has {limit} bytes of shared memory, not {limit + 1}" in message


# ---- X13 ----------------------------------------------------------------------------------------------

CLUSTER = "tessera_target.kernel @k() config = #tessera_target.kernel_config<grid = [], block = [128, 1], shared = {shared}, regs = 0> attributes {{arch = \"{arch}\", cluster = array<i64: {cluster}>}} {{\n  tessera_target.return\n}}"


def test_x13_clusters(tesserac, ptxas):
    """Clusters of {8, 4, 1} are 32 blocks: 8 are portable, 16 with the launch's permission. 256 KB "distributed" memory is no pool: a block has its own 227 KiB."""
    said = tesserac(CLUSTER.format(shared=0, arch="sm_90", cluster="8, 4, 1"), "sm_90")
    assert "a cluster of sm_90a has at most 8 blocks (16 where the launch allows what is not portable), not 32" in said
    assert "a block of sm_90a has 232448 bytes of shared memory, not 262144" in tesserac(CLUSTER.format(shared=262144, arch="sm_90", cluster="4, 2, 1"), "sm_90")
    assert "clusters need sm_90 and newer, but the kernel is for sm_89" in tesserac(CLUSTER.format(shared=0, arch="sm_89", cluster="2, 1, 1"), "sm_89")
    ptx = tesserac(CLUSTER.format(shared=0, arch="sm_90", cluster="4, 2, 1"), "sm_90")
    assert ".reqnctapercluster 4, 2, 1" in ptx and ptxas(ptx, "sm_90a") == ""


# ---- X15 ----------------------------------------------------------------------------------------------


def test_x15_architectures_are_not_strings():
    """`architecture >= "sm_90"` refuses Blackwell: "sm_100" < "sm_90". A name is (major, minor, suffix), and what a machine has is a table."""
    assert "sm_100" < "sm_90"
    assert architectures.order("sm_100a") > architectures.order("sm_90a") > architectures.order("sm_89")
    has = lambda arch, name: name in architectures.arch(arch)["instructions"]
    assert [has(arch, "wgmma") for arch in ("sm_89", "sm_90a", "sm_100a", "sm_120a")] == [False, True, False, False]
    assert [has(arch, "tcgen05") for arch in ("sm_89", "sm_90a", "sm_100a", "sm_120a")] == [False, False, True, False]
    version = TargetIRCompiler(target_architecture="sm_100").compile(kernels.gemm).version(A=fp16, B=fp16)
    assert ".target sm_100" in version.ptx and "mma.sync" in version.ptx and "cp.async" in version.ptx


# ---- X23 ----------------------------------------------------------------------------------------------

MMA = """tessera_target.kernel @k(%a: vector<4xi32>, %b: vector<2xi32>, %c: vector<4xf32>) attributes {{arch = "{arch}"}} {{
  %d = tessera_target.tensor_core "mma" (%a, %b, %c) shape = {shape} precision = "{precision}" : (vector<4xi32>, vector<2xi32>, vector<4xf32>) -> vector<4xf32>
}}"""


@pytest.mark.parametrize("arch, precision, shape, said", [
    ("sm_86", "fp8_e4m3", "[16, 8, 32]", "mma of fp8_e4m3 needs sm_89 and newer, but the kernel is for sm_86"),
    ("sm_90", "fp4_e2m1", "[16, 8, 32]", "mma of fp4_e2m1 needs sm_120f and their families, but the kernel is for sm_90a"),
    ("sm_75", "bf16", "[16, 8, 16]", "mma of bf16 needs sm_80 and newer, but the kernel is for sm_75"),
    ("sm_100a", "fp4_e2m1", "[16, 8, 32]", "it has tcgen05"),
])
def test_x23_types_are_not_everywhere(arch, precision, shape, said, tesserac):
    """FP4 and FP6 "everywhere": mma of FP8 from sm_89, of bf16 from sm_80, of FP4 and FP6 on sm_120, and on sm_100 through tcgen05 only."""
    message = tesserac(MMA.format(arch=arch, precision=precision, shape=shape), arch)
    assert said in message, message


@tsr.kernel
def stored_fp8(A: Tensor["M", "K", fp8_e4m3], B: Tensor["K", "N", fp8_e4m3], C: Out["M", "N", fp32]):
    for m, n in tsr.grid(tsr.tile(M, 32), tsr.tile(N, 32)):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, 32):
            acc += A[m, k].to(fp16) @ B[k, n].to(fp16)
        C[m, n] = acc


def test_x23_storage_is_everywhere():
    """fp8 in memory, converted in the program, multiplied in fp16 on a machine without fp8 products; without the conversion it is refused."""
    torch = pytest.importorskip("torch")
    with pytest.raises(tsr.CompileError, match="target sm_80 has no product of fp8_e4m3"):
        kernels.gemm.compile(target="sm_80", A=fp8_e4m3, B=fp8_e4m3, C=fp32)
    random = np.random.default_rng(0)
    a, b = (torch.tensor(random.integers(-8, 9, shape).astype(np.float32)).to(torch.float8_e4m3fn) for shape in ((33, 48), (48, 40)))
    got = stored_fp8(a, b, target="sim:sm_80")
    assert torch.equal(got.double(), a.double() @ b.double())
