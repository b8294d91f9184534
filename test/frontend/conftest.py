# Finds tessera-ast, or builds it: it takes seconds and needs no MLIR.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(pathlib.Path(__file__).parent))


def find_tool():
    for folder in (os.environ.get("TESSERA_BUILD"), ROOT / "build"):
        if folder and (pathlib.Path(folder) / "bin/tessera-ast").exists():
            return pathlib.Path(folder) / "bin/tessera-ast"
    return None


@pytest.fixture(scope="session")
def tessera_ast(tmp_path_factory):
    """Path of tessera-ast: TESSERA_AST, TESSERA_BUILD/bin, build/bin, or built here."""
    tool = os.environ.get("TESSERA_AST") or find_tool()
    if tool:
        return str(tool)
    build = tmp_path_factory.mktemp("frontend")
    configure = ["cmake", "-G", "Ninja", "-S", str(ROOT / "compiler/Frontend"), "-B", str(build)]
    if shutil.which("clang++-22"):
        configure.append("-DCMAKE_CXX_COMPILER=clang++-22")
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", str(build), "tessera-ast"], check=True, stdout=subprocess.DEVNULL)
    return str(build / "bin/tessera-ast")
