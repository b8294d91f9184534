# Makes tessera.sim importable from the source tree.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The simulator needs none of the compiler. If the compiler's extension is
not built, a bare parent package stands in for tessera/__init__.py."""

import pathlib
import sys
import types

_python = pathlib.Path(__file__).resolve().parents[2] / "python"
sys.path.insert(0, str(_python))
try:
    import tessera  # noqa: F401
except ImportError:
    for name in [n for n in sys.modules if n.split(".")[0] == "tessera"]:
        del sys.modules[name]
    package = types.ModuleType("tessera")
    package.__path__ = [str(_python / "tessera")]
    sys.modules["tessera"] = package
