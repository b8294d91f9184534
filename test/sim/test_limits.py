# What a launch may ask for and how long it may take, on every way to launch.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import ctypes
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import tessera.sim as sim
from conftest import CUDA_LIBRARY, ROOT, TOOL
from tessera.sim._native import architectures

PAGE = (ROOT / "docs/simulator.md").read_text()
HEAD = ".version {}\n.target sm_80\n.address_size 64\n"
# Line 5 stores, line 6 jumps back.
ENDLESS = HEAD.format("8.5") + """.visible .entry k(.param .u64 x) { .reg .b64 %p; .reg .b32 %i; .reg .f32 %f; ld.param.u64 %p, [x]; mov.u32 %i, %tid.x;
L: st.global.u32 [%p], 1;
bra L; }"""
STOPPED = re.compile(r"limit: stopped after \d+ warp instructions in block \(0,0,0\); here is where each warp was: "
                     r"warps 0 to 3 lanes 0xffffffff run at PTX line [56]; .*max_instructions \(100000\)")


def kernel(declarations="", parameters="", body="", version="8.5"):
    return HEAD.format(version) + f".visible .entry k({parameters}) {{ {declarations} {body} ret; }}"


def shared(bytes_):
    return kernel(f".shared .align 4 .b8 s[{bytes_}]; .reg .b32 %a;", body="mov.u32 %a, s; st.shared.u32 [%a], 0;")


@pytest.mark.parametrize("options", [{}, {"check": False}, {"check": False, "ring": True}, {"adversarial": True}])
def test_an_endless_kernel_ends(options):
    x = np.zeros(1, np.uint32)
    report = sim.launch(ENDLESS, "k", 1, 128, [x], max_instructions=100000, **options)
    finding = report.errors[-1]
    assert not report.ok and finding["kind"] == "limit" and finding["ptx_line"] in (5, 6)
    if not options.get("adversarial"):
        assert STOPPED.search(report.text()), report.text()


def test_time_is_limited():
    report = sim.launch(ENDLESS, "k", 1, 128, [np.zeros(1, np.uint32)], check=False, max_seconds=0.1)
    assert re.search(r"warp instructions and 0 s in block .* raise max_seconds", report.text()), report.text()


def test_warps_that_stand_apart_are_named_apart_and_not_all():
    text = HEAD.format("8.5") + """.visible .entry k() { .reg .b32 %i; .reg .pred %p; mov.u32 %i, %tid.x; shr.u32 %i, %i, 5;
""" + "".join(f"setp.eq.u32 %p, %i, {k}; @%p bra L{k};\n" for k in range(12)) + "ret;\n" + \
        "".join(f"L{k}: bra L{k};\n" for k in range(12)) + "}"
    message = sim.launch(text, "k", 1, 12 * 32, [], max_instructions=100000).errors[0]["message"]
    assert "warp 7 lanes 0xffffffff run at PTX line 25" in message and "warp 8" not in message and "4 more places" in message


DRIVER = """
import ctypes
cuda = ctypes.CDLL({library!r})
cuda.cuInit(0)
module, function, p = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()
assert cuda.cuModuleLoadData(ctypes.byref(module), {ptx!r}) == 0
assert cuda.cuModuleGetFunction(ctypes.byref(function), module, b"k") == 0
cuda.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(4096))
params = (ctypes.c_void_p * 1)(ctypes.addressof(p))
def launch(grid=(1, 1, 1), block=(1, 1, 1), shared=0, stream=None):
    return cuda.cuLaunchKernel(function, *map(ctypes.c_uint, grid), *map(ctypes.c_uint, block), ctypes.c_uint(shared), stream, params, None)
def allow(bytes):
    return cuda.cuFuncSetAttribute(function, 8, bytes)
def allowed():
    value = ctypes.c_int()
    assert cuda.cuFuncGetAttribute(ctypes.byref(value), 8, function) == 0
    return value.value
"""


def drive(ptx, code, **environment):
    if not (CUDA_LIBRARY / "libcuda.so.1").exists():
        pytest.skip("libcuda.so.1 is not built")
    text = DRIVER.format(library=str(CUDA_LIBRARY / "libcuda.so.1"), ptx=ptx.encode()) + code
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True,
                          env={**os.environ, "TESSERA_SIM_ARCH": "sm_80", **environment})
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_the_driver_ends_an_endless_kernel():
    said = drive(ENDLESS, "assert launch(block=(128, 1, 1)) == 0 and cuda.cuCtxSynchronize() == 702 and launch() == 702",
                 TESSERA_SIM_MAX_INSTRUCTIONS="100000")
    assert STOPPED.search(said), said


def test_the_tool_ends_an_endless_kernel(tmp_path):
    if not TOOL.exists():
        pytest.skip(f"{TOOL} is not built")
    (tmp_path / "k.ptx").write_text(ENDLESS)
    command = [TOOL, "run", tmp_path / "k.ptx", "--block", "128", "--no-check", "--arg", "zeros:u32:1"]
    for extra, environment in ((["--max-instructions", "100000"], {}), ([], {"TESSERA_SIM_MAX_INSTRUCTIONS": "100000"})):
        done = subprocess.run([*command, *extra], capture_output=True, text=True, env={**os.environ, **environment})
        assert done.returncode == 1 and STOPPED.search(done.stdout), done.stdout + done.stderr
    for extra, environment, why in (
            (["--max-instructions", "many"], {}, "--max-instructions is 'many'; expected a whole number"),
            ([], {"TESSERA_SIM_MAX_SECONDS": "soon"}, "TESSERA_SIM_MAX_SECONDS is 'soon'; expected a number"),
            (["--grid", "4294967297"], {}, "--grid is '4294967297'; expected a whole number from 0 to 4294967295"),
            (["--arch", "sm_81"], {}, "no architecture is called 'sm_81'; the simulator has sm_70, ")):
        done = subprocess.run([*command, *extra], capture_output=True, text=True, env={**os.environ, **environment})
        assert done.returncode == 1 and why in done.stderr, done.stdout + done.stderr


def test_triton_ends_an_endless_kernel(tmp_path):
    pytest.importorskip("triton", reason="triton is not installed")
    script = tmp_path / "endless.py"
    script.write_text("""import torch, triton, triton.language as tl
@triton.jit
def k(X):
    while tl.load(X, volatile=True) == 0:
        tl.store(X + 1, 1)
k[(1,)](torch.zeros(2, dtype=torch.int32))
""")
    code = f"import sys; sys.path.insert(0, {str(ROOT / 'test/sim')!r}); import conftest; from tessera.sim.run import main; " \
           f"sys.exit(main([{str(script)!r}, '--max-instructions', '100000']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1 and re.search(r"limit: stopped after .*endless\.py:[45]", done.stderr), done.stderr


def test_a_session_ends_an_endless_kernel():
    """What `sim:` targets run in."""
    pytest.importorskip("tessera._runtime", reason="the runtime is not built")
    from tessera.sim import driver
    cuda = driver.library()
    with driver.session(check=False, max_instructions=100000) as reports:
        module, function, p = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()
        assert cuda.cuModuleLoadData(ctypes.byref(module), ENDLESS.encode()) == 0
        assert cuda.cuModuleGetFunction(ctypes.byref(function), module, b"k") == 0
        assert cuda.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(4)) == 0
        params = (ctypes.c_void_p * 1)(ctypes.addressof(p))
        assert cuda.cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, 0, None, params, None) == 0
        assert cuda.cuCtxSynchronize() == 702
    (name, report), = reports
    assert name == "k" and STOPPED.search(report.text()), report.text()


SIZES = [((2**31, 1, 1), None, "2147483647x65535x65535"),
         ((1, 65536, 1), None, "65535"), ((1, 1, 65536), None, "65535"), ((0, 1, 1), None, "from 1 to"),
         (None, (1025, 1, 1), "1024x1024x64"), (None, (1, 1, 65), "1024x1024x64"), (None, (32, 32, 2), "2048 threads"),
         (None, (1, 0, 1), "from 1 to")]


@pytest.mark.parametrize("grid, block, why", SIZES)
def test_grids_and_blocks(grid, block, why):
    with pytest.raises(sim.SimError, match=re.escape(why)):
        sim.launch(kernel(), "k", grid or 1, block or 1, [])


def test_sizes_are_not_cut():
    for grid in (2**32 + 1, (1, 2**32), -1):
        with pytest.raises(sim.SimError, match="grid of"):
            sim.launch(kernel(), "k", grid, 1, [])
    with pytest.raises(sim.SimError, match="shared memory"):
        sim.launch(kernel(), "k", 1, 1, [], shared=2**32)


def test_grids_and_blocks_of_the_driver():
    refused = [(g or (1, 1, 1), b or (1, 1, 1)) for g, b, _ in SIZES]
    code = f"for grid, block in {refused}:\n    assert launch(grid, block) == 1, (grid, block)\n" \
           "assert launch((1, 65535, 1)) == 0 and launch(block=(16, 1, 64)) == 0\n" \
           "stream, graph = ctypes.c_void_p(), ctypes.c_void_p()\n" \
           "cuda.cuStreamCreate(ctypes.byref(stream), 0); cuda.cuStreamBeginCapture_v2(stream, 0)\n" \
           "assert launch((1, 65536, 1), stream=stream) == 1\n"
    assert "its sizes go from 1 to 1024x1024x64" in drive(kernel(), code)


@pytest.mark.parametrize("arch", sorted({entry["number"] for entry in architectures().values()}))
def test_shared_memory(arch):
    most = architectures()[f"sm_{arch}"]["shared_per_block"]
    text = shared(1024).replace("sm_80", "sm_70")
    assert sim.launch(text, "k", 1, 1, [], arch=arch, shared=most - 1024).ok
    with pytest.raises(sim.SimError, match=f"{most + 4} bytes of shared memory \\(1024 static, .* sm_{arch} has at most {most}"):
        sim.launch(text, "k", 1, 1, [], arch=arch, shared=most - 1020)


def test_shared_memory_of_the_driver():
    drive(shared(1024), """
assert allowed() == 47 << 10 and launch(shared=47 << 10) == 0
assert launch(shared=(47 << 10) + 1) == 1
assert allow((162 << 10) + 1) == 1 and allowed() == 47 << 10
assert allow(162 << 10) == 0 and launch(shared=162 << 10) == 0 and launch(shared=(162 << 10) + 1) == 1
""")
    drive(shared(1024), "assert allow(99 << 10) == 1 and allow(98 << 10) == 0", TESSERA_SIM_ARCH="sm_89")


def test_what_ptxas_refuses():
    assert sim.launch(shared(48 << 10), "k", 1, 1, []).ok
    with pytest.raises(sim.SimError, match="49156 bytes of static shared memory, at most 49152"):
        sim.launch(shared((48 << 10) + 4), "k", 1, 1, [])
    two = shared(24 << 10).replace("st.shared", "mov.u32 %a, t; st.shared").replace(".reg", ".shared .align 8 .b8 t[24580]; .reg")
    with pytest.raises(sim.SimError, match="bytes of static shared memory, at most 49152"):
        sim.launch(two, "k", 1, 1, [])
    for version, most in (("8.0", 4096), ("8.1", 32764)):
        for bytes_ in (most, most + 4):
            text = kernel(parameters=f".param .align 4 .b8 p[{bytes_}]", version=version)
            if bytes_ == most:
                assert sim.launch(text, "k", 1, 1, [bytes(bytes_)]).ok
            else:
                with pytest.raises(sim.SimError, match=f"{bytes_} bytes of parameters, at most {most}"):
                    sim.launch(text, "k", 1, 1, [bytes(bytes_)])
    text = kernel("".join(f".local .align 4 .b8 l{i}[262144]; " for i in range(3)) + ".reg .b64 %a;",
                  body="".join(f"mov.u64 %a, l{i};" for i in range(3)))
    with pytest.raises(sim.SimError, match="'l2' of 262144 bytes does not fit into the 524288 bytes of local memory"):
        sim.launch(text, "k", 1, 1, [])


def test_clusters():
    with pytest.raises(sim.SimError, match="cluster of 2 blocks; sm_80 has no clusters"):
        sim.launch(kernel(), "k", 2, 1, [], cluster=2)
    with pytest.raises(sim.SimError, match="cluster of 16 blocks; sm_120 has at most 8"):
        sim.launch(kernel(), "k", 16, 1, [], arch="sm_120", cluster=16)


def test_architectures_are_those_of_the_page_and_of_the_compiler():
    names = list(architectures())
    row = re.search(r"^Architectures: (.*?)\.$", PAGE, re.M | re.S)[1]
    assert re.findall(r"`(sm_\w+)`", row) == names
    for name in names:
        number = int(re.search(r"\d+", name)[0])
        assert sim.launch(kernel().replace("sm_80", "sm_70"), "k", 1, 1, [], arch=name).ok
        assert architectures()[name]["number"] == number
    for wrong in ("sm_81", "sm_80a", "sm_90f", "sm_900", "80x", 42, "gfx942", ""):
        with pytest.raises(sim.SimError, match="no architecture is called .*; the simulator has sm_70, .*sm_90a.*sm_121f"):
            sim.launch(kernel(), "k", 1, 1, [], arch=wrong)
    try:
        from tessera import _runtime
    except ImportError:
        pytest.skip("the runtime is not built")
    for name in _runtime.arch_names():
        theirs, ours = _runtime.arch(name), architectures()[name]
        for key in ("shared_per_block", "shared_per_sm", "registers_per_sm", "warps_per_sm", "blocks_per_sm"):
            assert theirs[key] == ours[key], (name, key)
        assert theirs["cluster_non_portable"] == ours["cluster"], name


def test_an_unknown_architecture_is_no_gpu():
    if not (CUDA_LIBRARY / "libcuda.so.1").exists():
        pytest.skip("libcuda.so.1 is not built")
    code = f"import ctypes; cuda = ctypes.CDLL({str(CUDA_LIBRARY / 'libcuda.so.1')!r}); assert cuda.cuInit(0) == 100"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "TESSERA_SIM_ARCH": "sm_8"})
    assert done.returncode == 0 and "no architecture is called 'sm_8'" in done.stderr, done.stderr


def test_no_message_speaks_of_halves():
    """A user does not know how the work was divided."""
    found = [path for folder in ("sim", "python") for path in (ROOT / folder).rglob("*")
             if path.suffix in (".py", ".cpp", ".h") and re.search(r"second half|not supported yet", path.read_text())]
    assert not found and "second half" not in PAGE
