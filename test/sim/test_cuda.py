# Unmodified CUDA programs, built by nvcc -cudart shared, on the simulator.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each program checks its own results and prints ok. Needs nvcc 13 on PATH.
TESSERA_SIM_CHECK=1 and TESSERA_SIM_SEED=n are passed through."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import CUDA_LIBRARY

HERE = pathlib.Path(__file__).resolve().parent / "cuda"
BUILD = pathlib.Path(os.environ.get("TESSERA_SIM_CUDA_BUILD", "/tmp/tessera-sim-cuda"))
LIBRARY = CUDA_LIBRARY
PROGRAMS = sorted(p.stem for p in HERE.glob("*.cu")
                  if p.stem not in ("rdc_a", "rdc_b", "cub_algorithms", "tma_matmul", "clusters"))
ARCHS = ["75", "80", "90"]
pytestmark = [
    pytest.mark.skipif(not shutil.which("nvcc"), reason="nvcc is not on PATH"),
    pytest.mark.skipif(not (LIBRARY / "libcudart.so.13").exists(),
                       reason=f"{LIBRARY}/libcudart.so.13 is not built"),
]
PTX = [f for a in ARCHS for f in ("-gencode", f"arch=compute_{a},code=compute_{a}")]


def build(name, sources, flags):
    BUILD.mkdir(parents=True, exist_ok=True)
    target = BUILD / name
    files = [HERE / s for s in sources] + [HERE / "check.h"]
    if target.exists() and all(target.stat().st_mtime > f.stat().st_mtime for f in files):
        return target
    subprocess.run(["nvcc", "-std=c++17", "-cudart", "shared", "-lineinfo", "--threads", "2", *flags,
                    *map(str, files[:-1]), "-o", str(target)], check=True, capture_output=True)
    return target


def run(program, arch, **environment):
    result = subprocess.run(
        [str(program)], capture_output=True, text=True, timeout=300,
        env={**os.environ, "LD_LIBRARY_PATH": str(LIBRARY), "TESSERA_SIM_ARCH": f"sm_{arch}",
             **environment})
    assert result.returncode == 0 and result.stdout.rstrip().endswith("ok"), \
        result.stdout + result.stderr
    return result


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, arch):
    result = run(build(name, [f"{name}.cu"], PTX), arch)
    if os.environ.get("TESSERA_SIM_CHECK") == "1" and name != "illegal_address":
        assert "tessera-sim:" not in result.stderr, result.stderr
    if name == "print":
        assert ("n=42 hex=ff long=-5000000000 f=1.500 c=z s=text u=4000000000 %"
                in result.stdout)
    if name == "illegal_address":
        assert "illegal_address.cu:4" in result.stderr


@pytest.mark.parametrize("compression", ["default", "all", "speed", "none"])
def test_fat_binary_forms(compression):
    extra = {"default": [], "all": ["-Xfatbin", "-compress-all"],
             "speed": ["--compress-mode=speed"], "none": ["-Xfatbin", "-compress=false"]}
    run(build(f"vector_add_{compression}", ["vector_add.cu"], PTX + extra[compression]), "80")


def test_relocatable_device_code():
    run(build("rdc", ["rdc_a.cu", "rdc_b.cu"], ["-rdc=true", "-arch=sm_80"]), "80")


def test_sass_only_is_refused_with_advice():
    target = build("sass_only", ["vector_add.cu"], ["-gencode", "arch=compute_80,code=sm_80"])
    with pytest.raises(AssertionError, match="code=compute_80"):
        run(target, "80")


@pytest.mark.parametrize("arch", ARCHS)
def test_cub(arch):
    run(build("cub_algorithms", ["cub_algorithms.cu"], PTX), arch)


SM_90A = ["-gencode", "arch=compute_90a,code=compute_90a"]


@pytest.mark.parametrize("seed", range(4))
def test_tensor_maps(seed):
    options = {"TESSERA_SIM_SEED": str(seed)} if seed else {}
    program = build("tma_matmul", ["tma_matmul.cu"], SM_90A)
    run(program, "90a", **options)
    result = run(program, "90a", TESSERA_SIM_CHECK="1", **options)
    findings = [line for line in result.stderr.splitlines() if "tessera-sim:" in line and "remark" not in line]
    assert not findings, result.stderr


def test_missing_proxy_fence():
    program = build("tma_matmul_no_fence", ["tma_matmul.cu"], [*SM_90A, "-DNO_FENCE"])
    result = subprocess.run([str(program)], capture_output=True, text=True, env={
        **os.environ, "LD_LIBRARY_PATH": str(LIBRARY), "TESSERA_SIM_ARCH": "sm_90a", "TESSERA_SIM_CHECK": "1"})
    source = (HERE / "tma_matmul.cu").read_text().splitlines()
    line = next(i + 1 for i, text in enumerate(source) if "s.c[row + 4 * i][column] = sum[i]" in text)
    assert "proxy-fence" in result.stderr and f"tma_matmul.cu:{line}" in result.stderr, result.stderr


@pytest.mark.parametrize("environment", [{}, {"TESSERA_SIM_CHECK": "1"}, {"TESSERA_SIM_CHECK": "1", "TESSERA_SIM_SEED": "3"}],
                         ids=["plain", "checked", "seed"])
def test_clusters(environment):
    target = build("clusters", ["clusters.cu"], ["-gencode", "arch=compute_90,code=compute_90"])
    result = run(target, "90", **environment)
    # What the program provokes, and nothing else.
    refused = re.findall(r"tessera-sim: (.*)", result.stderr)
    assert refused and all("multiple of the cluster" in r or "NON_PORTABLE_CLUSTER_SIZE_ALLOWED" in r for r in refused), refused
