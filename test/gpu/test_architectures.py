"""The table of architectures: NVIDIA's assembler agrees with it line by line, and everybody who asks gets its answer.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import re
import subprocess

import pytest
from machines import assemblers

import tessera as tsr
from tessera import architectures, fp16, kernels

# One instruction for each line; registers and memory are those of HEAD.
HEAD = """.version 9.0
.target {arch}
.address_size 64
.visible .entry k(.param .u64 p) {{
.reg .b32 r<8>; .reg .b16 h<4>; .reg .f32 f<8>; .reg .f64 d<32>; .reg .b64 g; .reg .b8 b;
.shared .align 128 .b8 s[1024];
ld.param.u64 g, [p];
{code}
ret;
}}
"""
R4, R2, F4 = "{r0, r1, r2, r3}", "{r0, r1}", "{f0, f1, f2, f3}"
CODE = {
    "ldmatrix": "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {r0}, [s];",
    "cp.async": "cp.async.ca.shared.global [s], [g], 4;",
    "fma.rn.bf16": "fma.rn.bf16 h0, h1, h2, h3;",
    "mma.sp": f"mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {F4}, {R4}, {R4}, {F4}, r4, 0x0;",
    "mbarrier": "mbarrier.init.shared.b64 [s], 1;",
    "cvt.rn.satfinite.e4m3x2.f32": "cvt.rn.satfinite.e4m3x2.f32 h0, f0, f1;",
    "stmatrix": "stmatrix.sync.aligned.m8n8.x1.shared.b16 [s], {r0};",
    "barrier.cluster, mapa": "barrier.cluster.arrive.aligned; mapa.shared::cluster.u32 r0, r1, r2;",
    "cp.async.bulk.tensor": "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [s], [g, {r0}], [s];",
    "setmaxnreg": "setmaxnreg.inc.sync.aligned.u32 232;",
    "wgmma": "wgmma.fence.sync.aligned;",
    "tcgen05": "tcgen05.wait::ld.sync.aligned;",
    "cvt.rn.satfinite.e2m1x2.f32": "cvt.rn.satfinite.e2m1x2.f32 b, f0, f1;",
    "mma.block_scale": f"mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0 "
                       f"{F4}, {R4}, {R2}, {F4}, r4, {{0, 0}}, r5, {{0, 0}};",
}
ARCHS = [name for name in architectures.names() if architectures.arch(name)["assembles"]]


def mma(row) -> str:
    """The instruction of a line of the table of products (mma.sync, dense)."""
    _, a, b, d, m, n, k = row
    per = {"f16": 2, "bf16": 2, "tf32": 1, "f64": 1}.get(a, 4)
    take = lambda letter, count: "{" + ", ".join(f"{letter}{i}" for i in range(count)) + "}"
    wide = a == "f64"
    lhs, rhs = take("d" if wide else "r", m * k // 32 // per), take("d" if wide else "r", k * n // 32 // per)
    sums = take({"f32": "f", "f64": "d", "s32": "r"}.get(d, "r"), m * n // 32 // (2 if d == "f16" else 1))
    kind = ".kind::f8f6f4" if a in ("e3m2", "e2m3", "e2m1") else ""
    return f"mma.sync.aligned.m{m}n{n}k{k}.row.col{kind}.{d}.{a}.{b}.{d} {sums}, {lhs}, {rhs}, {sums};"


def accepts(assembler: str, arch: str, code: str, folder) -> str:
    """What the assembler has against it; "" if nothing."""
    (folder / "k.ptx").write_text(HEAD.format(arch=arch, code=code))
    done = subprocess.run([assembler, "-arch", arch, "k.ptx", "-o", "k.cubin"], cwd=folder, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stderr


@pytest.mark.parametrize("arch", ARCHS)
def test_ptxas_has_what_the_table_has(arch, tmp_path):
    row = architectures.arch(arch)
    forms = [form for form in row["products"] if form[0] == 0]
    code = "\n".join([CODE[name] for name in row["instructions"]] + [mma(form) for form in forms])
    assert accepts(assemblers()[0], arch, code, tmp_path) == ""


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100f", "sm_120", "sm_120a"])
def test_ptxas_refuses_what_the_table_has_not(arch, tmp_path):
    row = architectures.arch(arch)
    absent = {name: code for name, code in CODE.items() if name not in row["instructions"]}
    everything = {tuple(form) for name in ARCHS for form in architectures.arch(name)["products"] if form[0] == 0}
    absent |= {str(form): mma(form) for form in everything - {tuple(form) for form in row["products"]}}
    assert absent
    for name, code in absent.items():
        assert accepts(assemblers()[0], arch, code, tmp_path) != "", f"{arch} takes {name}: {code}"


def test_the_simulator_has_the_same_limits():
    """Shared memory of a block, warps and blocks of an SM, as the simulator's reports have them."""
    from tessera import sim

    ptx = ".version 9.0\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }\n"
    module = sim.Device().load(ptx)
    for name in ARCHS:
        for threads, registers, shared in ((32, 16, 0), (256, 128, 0), (128, 32, 20000), (128, 32, 48000)):
            report = module.launch("k", 1, threads, b"", arch=name, check=False, registers=registers, shared=shared)
            mine = architectures.occupancy(name, threads, registers, shared)
            assert report.occupancy["blocks_per_sm"] == mine["blocks"], (name, threads, registers, shared, report.occupancy, mine)
            assert report.occupancy["max_warps_per_sm"] == architectures.arch(name)["warps_per_sm"]


def test_sm_90_is_promoted_with_a_remark():
    with pytest.warns(tsr.ScheduleWarning, match="target sm_90 is compiled as sm_90a: wgmma exists only there"):
        version = kernels.softmax.compile(target="sm_90", N=64)
    assert version.chip == "sm_90a" and ".target sm_90a" in version.ptx


def test_sm_70_is_text_only():
    """CUDA 13 cannot assemble it; its text is good for a newer machine, and runs on the simulator (mission map X3)."""
    version = kernels.gemm.compile(target="sm_70", A=fp16, B=fp16)
    assert ".target sm_70" in version.ptx and "mma.sync" not in version.ptx and "cp.async" not in version.ptx and "ldmatrix" not in version.ptx
    with pytest.raises(tsr.CompileError, match="CUDA 13 has no assembler for sm_70; this target is PTX text only"):
        version.cubin
    assert all(used.startswith("not measured: ") for used in version.resources.values())


def test_sm_70_text_assembles_for_sm_75(tmp_path):
    (tmp_path / "k.ptx").write_text(kernels.gemm.compile(target="sm_70", A=fp16, B=fp16).ptx)
    for assembler in assemblers():
        done = subprocess.run([assembler, "-arch", "sm_75", "k.ptx", "-o", "k.cubin"], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_unknown_names_list_the_known_ones():
    with pytest.raises(tsr.CompileError, match=r"no NVIDIA architecture is called 'sm_85'; there are sm_70, sm_75, sm_80.*sm_121f(.|\n)*target=\"sm_80\""):
        kernels.softmax.compile(target="sm_85", N=64)
    with pytest.raises(tsr.CompileError, match="CUDA Tile IR is for sm_80 and newer"):
        kernels.softmax.compile(target="cudatile:sm_75", N=64)


def test_order_is_by_number():
    """"sm_100" < "sm_90" as strings; Blackwell would be refused (mission map X15)."""
    assert "sm_100" < "sm_90" and architectures.order("sm_100") > architectures.order("sm_90")
    assert [architectures.order(n) for n in architectures.names()] == sorted(architectures.order(n) for n in architectures.names())
    assert architectures.has_mma("sm_100", "bf16", "bf16", "f32")


def test_occupancy_is_reported_not_promised():
    """128 registers x 256 threads are two blocks, a quarter of an SM (X11); 48 KB is no limit of sm_90 (X12)."""
    found = architectures.occupancy("sm_90", 256, 128, 49152)
    assert found == {"blocks": 2, "warps": 16, "fraction": 0.25, "limiter": "registers"}
    assert architectures.arch("sm_90")["shared_per_block"] == 227 * 1024
    assert architectures.occupancy("sm_90", 128, 64, 200 * 1024)["blocks"] == 1


def test_what_a_machine_lacks_is_said_at_the_line():
    with pytest.raises(tsr.CompileError, match=r"gemm.py:\d+:\d+: error: target sm_86 has no product of fp8_e4m3 .*m16n8k32.f32.e4m3.e4m3.f32 needs sm_89 and newer"):
        kernels.gemm.compile(target="sm_86", A=tsr.fp8_e4m3, B=tsr.fp8_e4m3, C=tsr.fp32)


@pytest.mark.parametrize("arch, dtype, words, form", [
    ("sm_75", "fp16", {}, "m16n8k8.row.col.f32.f16.f16.f32"),
    ("sm_80", "fp16", {}, "m16n8k16.row.col.f32.f16.f16.f32"),
    ("sm_75", "i8", dict(C="i32", ACC="i32"), "m8n8k16.row.col.s32.s8.s8.s32"),
    ("sm_86", "i8", dict(C="i32", ACC="i32"), "m16n8k32.row.col.s32.s8.s8.s32"),
    ("sm_89", "fp8_e4m3", dict(C="fp32"), "m16n8k32.row.col.f32.e4m3.e4m3.f32"),
    ("sm_120a", "fp8_e5m2", dict(C="fp32"), "m16n8k32.row.col.f32.e5m2.e5m2.f32"),
    ("sm_80", "fp64", dict(C="fp64", ACC="fp64"), "m8n8k4.row.col.f64.f64.f64.f64"),
    ("sm_75", "bf16", {}, None),
    ("sm_80", "fp32", {}, None),
])
def test_the_instruction_is_the_tables(arch, dtype, words, form):
    """The decision stands in the Tile IR and in the PTX; where there is none, products are fused multiply-adds in fp32."""
    types = {name: getattr(tsr, value) for name, value in words.items()}
    version = kernels.gemm.compile(target=arch, A=getattr(tsr, dtype), B=getattr(tsr, dtype), BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, **types)
    found = set(re.findall(r"mma\.sync\.aligned\.(\S+)", version.ptx))
    assert found == ({form} if form else set())
    assert ("cp.async" in version.ptx) == ("cp.async" in architectures.arch(arch)["instructions"])
    assert bool(form) or "fma.rn.f32" in version.ptx
