"""Makes what test/numerics has (bounds, seeded inputs) usable here.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import importlib.util
import os
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


@pytest.fixture(scope="module")
def machine():
    """The device of the simulator's driver, as if it were CUDA's."""
    from tessera import cuda
    from tessera.sim import driver

    before = os.environ.get("TESSERA_CUDA_DRIVER")
    os.environ["TESSERA_CUDA_DRIVER"] = driver.library().path
    yield cuda.device()
    if before is None:
        del os.environ["TESSERA_CUDA_DRIVER"]
    else:
        os.environ["TESSERA_CUDA_DRIVER"] = before
    cuda.device.cache_clear()
