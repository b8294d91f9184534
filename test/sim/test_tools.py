# The command line and the pytest plug-in, as a user starts them.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from conftest import ROOT, TOOL, library_path

KERNEL = """import torch, triton, triton.language as tl
@triton.jit
def double(X, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(X + i, 2 * tl.load(X + i, i < n), i < n)
"""
SCRIPT = KERNEL + """import sys
x = torch.ones(int(sys.argv[1]))
double[(4,)](x, 1000, B=256)
print("sum", float(x.sum()))
"""
TEST = KERNEL + """def test_right():
    x = torch.ones(1000)
    double[(4,)](x, 1000, B=256)
    assert (x == 2).all()
def test_wrong():
    x = torch.ones(990)
    double[(4,)](x, 1000, B=256)
"""
PTX = """.version 8.5
.target sm_80
.address_size 64
.visible .entry axpy(.param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n) {
.reg .b32 %i, %n; .reg .f32 %a, %x, %y; .reg .b64 %p, %q, %o; .reg .pred %c;
.shared .align 4 .b8 s[1024];
mov.u32 %i, %tid.x; ld.param.u32 %n, [n]; setp.ge.u32 %c, %i, %n; @%c ret;
mul.wide.u32 %o, %i, 4; ld.param.u64 %p, [x]; add.s64 %p, %p, %o; ld.global.f32 %x, [%p];
ld.param.u64 %q, [y]; add.s64 %q, %q, %o; ld.global.f32 %y, [%q]; ld.param.f32 %a, [a];
fma.rn.f32 %y, %a, %x, %y; st.global.f32 [%q], %y;
st.shared.f32 [s], %y;
ret;
}"""


def call(*words, cwd=None, **environment):
    # As a user who has Python and the tool, and no variable of ours set.
    clean = {k: v for k, v in os.environ.items() if not k.startswith("TESSERA") and k != "PYTHONPATH"}
    path = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, cwd=cwd,
                          env={**clean, "PATH": path, "PYTHONPATH": str(ROOT / "python"), **environment})


def needs_triton():
    pytest.importorskip("triton", reason="triton is not installed")
    if not TOOL.exists():
        pytest.skip(f"{TOOL} is not built")


def test_script(tmp_path):
    needs_triton()
    (tmp_path / "mine.py").write_text(SCRIPT)
    r = call(TOOL, "triton", "mine.py", "--arch", "sm_80", "--check", "--html", "r.html", "1000", cwd=tmp_path,
             TRITON_CACHE_DIR=str(tmp_path / "cache"))  # or the code of another run, with the lines of its file
    assert r.returncode == 0 and "sum 2000.0" in r.stdout, r.stdout + r.stderr
    page = (tmp_path / "r.html").read_text()
    assert "tl.store(X + i" in page and "st.global" in page and "not measured" in page


def test_script_with_a_finding(tmp_path):
    needs_triton()
    (tmp_path / "mine.py").write_text(SCRIPT)
    r = call(TOOL, "triton", "mine.py", "--arch", "sm_80", "990", cwd=tmp_path)
    assert r.returncode == 1 and "Traceback" not in r.stderr
    assert re.search(r"out-of-bounds: .*past the end of 'argument 0'.*mine\.py:5", r.stderr), r.stderr


def test_no_folder_decides_what_runs(tmp_path):
    """Neither the working folder nor the folder the tool was built in."""
    if not TOOL.exists():
        pytest.skip(f"{TOOL} is not built")
    (tmp_path / "tessera").mkdir()
    (tmp_path / "tessera/__init__.py").write_text("print('stranger')")
    r = call(TOOL, "triton", "--help", cwd=tmp_path)
    assert "usage: tessera-sim triton" in r.stdout and "stranger" not in r.stdout, r.stdout + r.stderr
    assert str(ROOT).encode() not in TOOL.read_bytes()


def test_pytest_file(tmp_path):
    needs_triton()
    (tmp_path / "test_mine.py").write_text(TEST)
    r = call(TOOL, "triton", "test_mine.py", "--arch", "sm_80", "-p", "no:cacheprovider", cwd=tmp_path)
    assert r.returncode == 1 and "1 failed, 1 passed" in r.stdout, r.stdout + r.stderr
    r = call(TOOL, "triton", "test_mine.py", "--arch", "sm_80", "-k", "right", cwd=tmp_path)
    assert r.returncode == 0 and "1 passed" in r.stdout, r.stdout + r.stderr


def test_plugin(tmp_path):
    needs_triton()
    (tmp_path / "test_mine.py").write_text(TEST + """def test_report(sim_driver):
    test_right()
    assert sim_driver.last_report.ok and sim_driver.arch == 120
""")
    r = call(sys.executable, "-m", "pytest", "-p", "tessera.sim.pytest_plugin", "--sim-arch", "sm_120", "--sim-check",
             "--sim-seed", "4", "test_mine.py", cwd=tmp_path,
             TESSERA_SIM_LIBRARY=str(library_path))
    assert "1 failed, 2 passed" in r.stdout and "argument 0" in r.stdout, r.stdout + r.stderr


def run_axpy(tmp_path, *options):
    if not TOOL.exists():
        pytest.skip(f"{TOOL} is not built")
    (tmp_path / "k.ptx").write_text(PTX)
    return call(TOOL, "run", "k.ptx", "--block", "128", "--arg", "range:f32:100", "--arg", "zeros:f32:100", "--arg",
                "f32:2.5", "--arg", "u32:100", *options, cwd=tmp_path)


def test_run(tmp_path):
    # 128 threads store different values to one word: a race.
    r = run_axpy(tmp_path)
    assert r.returncode == 1 and "race: write-after-write" in r.stdout and "PTX line 11" in r.stdout
    r = run_axpy(tmp_path, "--no-check", "--count", "--registers", "40")
    assert r.returncode == 0, r.stdout + r.stderr
    # 40 registers: 1280 per warp, 51 warps in 65536, 12 blocks of four.
    assert "occupancy: 12 blocks, 48 of 64 warps (75 %) per multiprocessor, limited by registers; registers: 40" \
        in r.stdout
    assert "time on a GPU: not measured" in r.stdout and "cp.async in flight at most: 0 groups" in r.stdout
    data = json.loads(run_axpy(tmp_path, "--no-check", "--count", "--json").stdout)
    assert data["occupancy"]["registers"] == "not measured" and data["counts"]["time"] == "not measured"
    assert data["shared_variables"] == [{"name": "s", "offset": 0, "bytes": 1024}]
    (tmp_path / "r.json").write_text(json.dumps(data))
    page = call(sys.executable, "-m", "tessera.sim.html", "r.json", "k.ptx", cwd=tmp_path,
                TESSERA_SIM_LIBRARY=str(library_path)).stdout
    assert "fma.rn.f32" in page and "not measured" in page and page.count("<table>") == 1


def test_run_a_cluster(tmp_path):
    if not TOOL.exists():
        pytest.skip(f"{TOOL} is not built")
    (tmp_path / "k.ptx").write_text(""".version 8.5
.target sm_90
.address_size 64
.visible .entry k() {
.reg .b32 %n; .reg .pred %p;
mov.u32 %n, %cluster_nctaid.x; setp.ne.u32 %p, %n, 2; @%p trap;
elect.sync %n|%p, -1; setp.ne.u32 %p, %n, 0; @%p trap;
ret;
}""")
    run = (TOOL, "run", "k.ptx", "--arch", "sm_90", "--grid", "4,2", "--block", "32")
    assert call(*run, "--cluster", "2", "--seed", "1", cwd=tmp_path).returncode == 0
    assert "trap" in call(*run, "--cluster", "2,2", "--seed", "1", "--elect-by-seed", cwd=tmp_path).stdout
    assert "trap" in call(*run, "--cluster", "4", cwd=tmp_path).stdout
    assert "is not a multiple of the cluster of 3x1x1" in call(*run, "--cluster", "3", cwd=tmp_path).stderr
    assert "--elect-by-seed needs --seed" in call(TOOL, "exec", "--elect-by-seed", "true", cwd=tmp_path).stderr


@pytest.mark.skipif(not shutil.which("nvcc"), reason="nvcc is not on PATH")
def test_exec_refuses_with_advice(tmp_path):
    if not TOOL.exists():
        pytest.skip(f"{TOOL} is not built")
    source = ROOT / "test" / "sim" / "cuda" / "vector_add.cu"

    def build(name, *flags):
        subprocess.run(["nvcc", "-std=c++17", *flags, str(source), "-o", str(tmp_path / name)], check=True)
        return call(TOOL, "exec", "--arch", "sm_80", "--check", tmp_path / name)

    static = build("static", "-cudart", "static", "-arch=sm_80")
    assert static.returncode == 1 and "nvcc -cudart shared" in static.stderr, static.stderr
    sass = build("sass", "-cudart", "shared", "-gencode", "arch=compute_80,code=sm_80")
    assert sass.returncode != 0 and "code=compute_80" in sass.stderr, sass.stderr
    good = build("good", "-cudart", "shared", "-gencode", "arch=compute_80,code=compute_80")
    assert good.returncode == 0 and good.stdout.rstrip().endswith("ok"), good.stdout + good.stderr
    again = call(TOOL, "exec", "--count", "--report", tmp_path / "r.json", tmp_path / "good")
    assert again.returncode == 0, again.stdout + again.stderr
    page = call(sys.executable, "-m", "tessera.sim.html", tmp_path / "r.json",
                TESSERA_SIM_LIBRARY=str(library_path)).stdout
    assert "global sectors" in page and "<!doctype html>" in page


def test_no_compiler_is_needed():
    r = call(sys.executable, "-S", "-c", """import sys, types
sys.path.insert(0, %r)
sys.modules["tessera._core"] = None  # as if it were not built
import tessera.sim._native, tessera
try:
    tessera.function
except ImportError as e:
    print("needs the compiler" in str(e))
""" % str(ROOT / "python"), TESSERA_SIM_LIBRARY=str(library_path))
    assert r.stdout == "True\n", r.stdout + r.stderr


def test_counts_of_asynchronous_work(tmp_path):
    """The text says what the JSON says; kernels without copies say nothing of them."""
    if not TOOL.exists():
        pytest.skip(f"{TOOL} is not built")
    tiles = 7
    run = (TOOL, "run", ROOT / "examples/hopper/gemm.ptx", "--arch", "sm_90a", "--block", "160", "--count", "--arg",
           f"zeros:f32:{tiles * 768}", "--arg", "zeros:f32:2048", "--arg", f"u32:{tiles}")
    fixed = tmp_path / "k.ptx"
    fixed.write_text((ROOT / "examples/hopper/gemm.ptx").read_text().replace("%phase, %k, 1, 1", "%phase, %k, 2, 1"))
    run = (*run[:2], fixed, *run[3:])
    text, counts = call(*run).stdout, json.loads(call(*run, "--json").stdout)["counts"]
    (load,) = counts["tma"]
    assert load == {"operation": "load", "from": "global", "to": "shared", "tensor": False, "multicast": False,
                    "requests": tiles, "bytes": 3072 * tiles, "delivered": 3072 * tiles}
    assert f"TMA load, global to shared: {tiles} requests, {3072 * tiles} bytes\n" in text
    waits = counts["mbarrier_waits"]
    assert waits["waits"] == (4 + 1) * tiles >= waits["had_to_wait"] > 0
    assert f"mbarrier waits: {waits['waits']}, of which {waits['had_to_wait']} had to wait\n" in text
    assert counts["tensor_instructions"] == {"wgmma.m64n32k16.f32.f16.f16": tiles}
    assert f"tensor instructions: wgmma.m64n32k16.f32.f16.f16: {tiles}\n" in text
    assert counts["pipeline_depth"] == {"copies": 4, "bytes": 4 * 3072, "phases": 4, "groups": 0}
    assert f"pipeline of a block, at most: 4 copies in flight, {4 * 3072} bytes, 4 phases ahead, 0 bulk groups\n" in text
    (tmp_path / "axpy.ptx").write_text(PTX)
    axpy = call(TOOL, "run", tmp_path / "axpy.ptx", "--count", "--arg", "zeros:f32:8", "--arg", "zeros:f32:8", "--arg",
                "f32:2", "--arg", "u32:8", "--block", "8").stdout
    assert "cp.async in flight" in axpy
    for word in ("TMA", "mbarrier", "tensor", "pipeline"):
        assert word not in axpy
