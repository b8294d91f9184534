"""Tests see the compiler work: no code of an earlier run is taken from the disk cache.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import os

os.environ.setdefault("TESSERA_CACHE", "off")
