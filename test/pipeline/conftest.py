"""Finds the command-line tools.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def find_tool(name: str) -> str:
    places = [os.environ.get("TESSERA_BIN"), ROOT / "build/release/bin", ROOT / "build/dev/bin"]
    for place in places:
        if place and (pathlib.Path(place) / name).exists():
            return str(pathlib.Path(place) / name)
    found = shutil.which(name)
    if found is None:
        pytest.fail(f"{name} is not built: set TESSERA_BIN to the folder that holds it")
    return found


def runner(name: str):
    tool = find_tool(name)
    return lambda *arguments: subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True)


@pytest.fixture(scope="session")
def tesserac():
    """Runs tesserac; gives the finished process."""
    return runner("tesserac")


@pytest.fixture(scope="session")
def tessera_opt():
    return runner("tessera-opt")
