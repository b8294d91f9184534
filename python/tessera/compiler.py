"""The extension with the compiler in it. LLVM takes a while to load, so that is done when something of it is used.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import importlib


def __getattr__(name: str):
    if name.startswith("__"):
        raise AttributeError(name)
    value = getattr(importlib.import_module("tessera._core"), name)
    globals()[name] = value
    return value
