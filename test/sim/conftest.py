# Makes tessera.sim importable from the source tree and finds what was built.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The simulator needs none of the compiler. Everything lies beside
libtessera_sim.so: TESSERA_SIM_LIBRARY chooses another build."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from tessera.sim._native import library_path  # noqa: E402

# libcuda.so.1 and libcudart.so.13
CUDA_LIBRARY = library_path.parent / "cuda"
# tessera-sim: beside the library, or in bin/ of the whole project's build
TOOL = next((p for p in (library_path.parent / "tessera-sim",
                         library_path.parent.parent / "bin" / "tessera-sim") if p.exists()),
            library_path.parent / "tessera-sim")
