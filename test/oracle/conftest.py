"""Where the tests of the oracle find each other, and inputs with a seed of their own.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import pathlib
import sys
import zlib

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))


@pytest.fixture
def random(request):
    return np.random.default_rng(zlib.crc32(request.node.nodeid.encode()))
