"""Where NVIDIA's assemblers are.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import os
import pathlib
import shutil
import sysconfig


def newest(tool: str) -> str | None:
    """NVIDIA's newest tools come as Python packages (tools/requirements-gpu.txt), or are in $TESSERA_CUDA_BIN."""
    places = [os.environ.get("TESSERA_CUDA_BIN", ""), pathlib.Path(sysconfig.get_paths()["purelib"]) / "nvidia/cu13/bin"]
    return next((str(pathlib.Path(place) / tool) for place in places if place and (pathlib.Path(place) / tool).exists()), None)


def assemblers() -> list[str]:
    return [path for path in (shutil.which("ptxas"), newest("ptxas")) if path]
