"""Makes what test/numerics has (bounds, seeded inputs) usable here.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import importlib.util
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
NUMERICS = HERE.parent / "numerics"
sys.path[:0] = [str(HERE), str(NUMERICS)]

_spec = importlib.util.spec_from_file_location("numerics_inputs", NUMERICS / "conftest.py")
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
inputs = _module.inputs


@pytest.fixture(scope="session")
def tile_tools():
    """tileirdisasm and tileiras."""
    from machines import newest

    found = newest("tileirdisasm"), newest("tileiras")
    if None in found:
        pytest.skip("tileiras is not installed: pip install -r tools/requirements-gpu.txt")
    return found
