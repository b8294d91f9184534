"""From PTX to machine code: the newest assembler, spills, failures, several machines at once, the same bytes every time.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import hashlib
import os
import pathlib
import subprocess
import sys

import pytest

import tessera as tsr
from tessera import assemble, fp16, kernels

ROOT = pathlib.Path(__file__).resolve().parents[2]


def tool(folder: pathlib.Path, name: str, body: str) -> pathlib.Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """Puts tools of ours before all others."""
    monkeypatch.setenv("TESSERA_CACHE", "off")

    def put(name, body):
        path = tool(tmp_path / "bin", name, body)
        monkeypatch.setenv("PATH", f"{path.parent}{os.pathsep}{os.environ['PATH']}")
        return str(path)

    return put


def test_the_newest_is_taken(tools, tmp_path, monkeypatch):
    new = tools("ptxas", 'echo "Cuda compilation tools, release 99.1, V99.1.7"')
    assert assemble.find("ptxas") == new
    old = tool(tmp_path / "bin", "ptxas", 'echo "Cuda compilation tools, release 9.1, V9.1.7"')
    assemble.version.cache_clear(), assemble._find.cache_clear()
    assert assemble.find("ptxas") != str(old)  # 9.1 is older than any there is, though it is first on the PATH
    # A package of the Python registry is found too.
    package = tool(tmp_path / "site/nvidia/cu99/bin", "ptxas", 'echo "release 98.0, V98.0.1"')
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    assert assemble.find("ptxas") == str(package)


def test_a_failing_tool_is_a_diagnostic_with_a_reproducer(tools):
    tools("ptxas", 'case "$1" in --version) echo "release 99.1, V99.1.7";; *) echo "ptxas fatal : Unexpected instruction" >&2; exit 255;; esac')
    version = kernels.softmax.compile(target="sm_80", N=96)
    with pytest.raises(tsr.InternalError, match=r"softmax for sm_80: ptxas refuses it: ptxas fatal : Unexpected instruction(.|\n)*its input is (\S+\.ptx)") as raised:
        version.cubin
    path = pathlib.Path(str(raised.value).split("its input is ")[1].split(",")[0])
    assert path.read_text() == version.ptx and (path.stat().st_mode & 0o777) == 0o600
    said = path.with_suffix(".txt").read_text()
    assert "-arch sm_80" in said and str(path) in said and "Unexpected instruction" in said


def test_a_crashing_tool_is_one_too(tools):
    tools("ptxas", 'case "$1" in --version) echo "release 99.1, V99.1.7";; *) kill -SEGV $$;; esac')
    with pytest.raises(tsr.InternalError, match="ptxas died of signal 11"):
        kernels.softmax.compile(target="sm_80", N=97).cubin


def test_spills_are_errors_unless_allowed(tools, monkeypatch):
    real = assemble.find("ptxas")
    # Few registers: the assembler must spill.
    few = "sed -i 's/^.reqntid/.maxnreg 32 .reqntid/' kernel.ptx"
    tools("ptxas", f'case "$1" in --version) echo "release 99.1, V99.1.7";; *) {few}; exec {real} "$@";; esac')
    version = kernels.gemm.compile(target="sm_80", A=fp16, B=fp16, BLOCK_K=32)
    with pytest.raises(tsr.CompileError, match=r"kernel gemm_0 needs more than \d+ registers, [1-9]\d* bytes spill to memory(.|\n)*allow_spills"):
        version.cubin
    monkeypatch.setattr(tsr.knobs._knobs["allow_spills"], "value", True)
    assert version.cubin.startswith(b"\x7fELF")


def test_all_machines_at_once():
    versions = kernels.gemm.compile(targets=["sm_75", "sm_80", "sm_89", "sm_120a"], A=fp16, B=fp16, BLOCK_M=64, BLOCK_N=64)
    assert list(versions) == ["sm_75", "sm_80", "sm_89", "sm_120a"]
    assert all(version._made and version.cubin.startswith(b"\x7fELF") for version in versions.values())
    assert len({version.cubin for version in versions.values()}) == 4


def test_line_information():
    """The machine code names the user's file."""
    assert b"gemm.py" in kernels.gemm.compile(target="sm_80", A=fp16, B=fp16).cubin


PROGRAM = """
import hashlib, sys
sys.path.insert(0, {folder!r})
import tessera as tsr
from program import double
version = double.compile(target="sm_80", X=tsr.fp16)
print(hashlib.sha256(version.ptx.encode()).hexdigest(), hashlib.sha256(version.cubin).hexdigest())
"""
KERNEL = '''
import tessera as tsr
from tessera import Out, Tensor

@tsr.kernel
def double(X: Tensor["M", "N"], Y: Out["M", "N"]):
    for m, n in tsr.grid(tsr.tile(M, 64), tsr.tile(N, 64)):
        Y[m, n] = X[m, n] + X[m, n]
'''


def test_the_same_bytes_in_another_folder(tmp_path):
    """PTX and machine code do not depend on where the program, or the process, is."""
    seen = []
    for name in ("here", "some/where/else"):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        (folder / "program.py").write_text(KERNEL)
        environment = {**os.environ, "TESSERA_CACHE": "off", "PYTHONHASHSEED": str(len(seen) + 1)}
        done = subprocess.run([sys.executable, "-c", PROGRAM.format(folder=str(folder))], cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        seen.append(done.stdout)
    assert seen[0] == seen[1] and len(seen[0].split()) == 2


def test_the_same_bytes_again():
    """Of a shipped kernel, compiled anew."""
    first, second = (kernels.gemm.lower("ptx", "sm_80", A=fp16, B=fp16) for _ in range(2))
    assert hashlib.sha256(first.encode()).digest() == hashlib.sha256(second.encode()).digest()
