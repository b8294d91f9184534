"""`tessera doctor`: what works on this machine, and what to install for the rest. It changes nothing and asks no network.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys

from .knobs import colour, knobs

_COLOURS = {"ok": "32", "missing": "33", "broken": "31"}


@dataclasses.dataclass
class Finding:
    """One line: ok, missing (something else works), or broken (nothing works until it is mended)."""

    name: str
    state: str
    text: str
    fix: str = ""


def cpu() -> Finding:
    """By the test that the runtime makes before it loads kernels: CPUID, and the system's permission."""
    from ._runtime import missing_cpu_feature

    if platform.machine() not in ("x86_64", "AMD64"):
        return Finding("cpu", "broken", f"{platform.machine()}: kernels are compiled for x86-64 only")
    lacking = [missing_cpu_feature(feature) for feature in ("avx2", "fma")]
    if any(lacking):
        return Finding("cpu", "broken", f"{next(filter(None, lacking))}; kernels need an x86-64-v3 processor (2013 or newer)")
    levels = {"avx512": ("avx512f", "avx512bw", "avx512vl"), "amx": ("amx-tile", "amx-bf16")}
    found = [name for name, features in levels.items() if not any(map(missing_cpu_feature, features))]
    return Finding("cpu", "ok", " + ".join(["avx2", *found]))


def threads() -> Finding:
    from ._runtime import num_threads, threading

    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return Finding("threads", "ok", f"{num_threads()} of {available}, by {threading()}")


def compiler() -> Finding:
    """Compiles and runs one function."""
    import numpy

    from . import files

    try:
        add = files.compile_source("import tessera as tsr\n\n@tsr.function\ndef add(x, y):\n    return x + y\n").add
        x = numpy.arange(5, dtype=numpy.float32)
        good = bool((add(x, x) == 2 * x).all())
    except Exception as error:  # whatever it is, it is the answer
        return Finding("compiler", "broken", f"{type(error).__name__}: {error}")
    return Finding("compiler", "ok" if good else "broken", "compiled x + y and ran it" if good else "x + y is wrong")


def _version_of(command: str) -> str | None:
    """The version a tool of NVIDIA prints; None if it can't be run."""
    try:
        run = subprocess.run([command, "--version"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"release ([0-9.]+)(?:, V([0-9.]+))?", run.stdout)
    return found and (found.group(2) or found.group(1))


def find_tool(name: str) -> str | None:
    """On PATH, in a CUDA toolkit, or in NVIDIA's Python packages."""
    on_path = shutil.which(name)
    if on_path:
        return on_path
    places = [pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "bin"]
    nvidia = importlib.util.find_spec("nvidia")
    for root in list(nvidia.submodule_search_locations or ()) if nvidia else ():
        places += sorted(pathlib.Path(root).glob("*/bin"))
    for place in places:
        if os.access(place / name, os.X_OK):
            return str(place / name)
    return None


def tool(name: str, package: str) -> Finding:
    path = find_tool(name)
    if path is None:
        return Finding(name, "missing", "not found", f"pip install {package}")
    version = _version_of(path)
    if version is None:
        return Finding(name, "missing", f"{path} doesn't say its version", f"pip install {package}")
    return Finding(name, "ok", f"{version}, {path}")


def gpu() -> Finding:
    from . import cuda
    from .errors import DeviceError

    try:
        found = cuda.device()
    except DeviceError as error:
        return Finding("gpu", "missing", str(error))
    return Finding("gpu", "ok", f"{found.name}, {cuda.target_of(found)}, driver for CUDA {found.driver_version // 1000}.{found.driver_version % 1000 // 10}; "
                   "`tessera gpu-selftest` tries the kernels")


def library(name: str, needs: str) -> Finding:
    """A Python package, without importing it."""
    if importlib.util.find_spec(name) is None:
        return Finding(name, "missing", "not installed", f"pip install {name}: {needs}")
    try:
        return Finding(name, "ok", importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, "ok", "installed")


def cache() -> Finding:
    from . import disk

    folder = disk.folder()
    if not folder:
        return Finding("cache", "ok", "off (TESSERA_CACHE)")
    try:
        found = disk.Store(folder)
    except (disk.Refused, OSError) as problem:
        return Finding("cache", "missing", f"{folder} {problem}; everything is compiled again in every process", "set TESSERA_CACHE, or chmod 700")
    entries = found.entries()
    return Finding("cache", "ok", f"{found.folder}, {len(entries)} entries, {sum(e[1] for e in entries) / 1e6:.1f} of {found.limit / 1e6:.0f} MB")


def examine() -> list[Finding]:
    return [
        cpu(),
        threads(),
        compiler(),
        library("torch", "tensors of torch in and out"),
        tool("ptxas", "nvidia-cuda-nvcc"),
        tool("tileiras", "nvidia-cuda-tileiras"),
        gpu(),
        cache(),
    ]


def main(arguments: list[str]) -> int:
    unknown = [a for a in arguments if a != "--json"]
    if unknown:
        print(f"tessera doctor takes --json, not {unknown[0]}", file=sys.stderr)
        return 2
    findings = examine()
    if "--json" in arguments:
        print(json.dumps([dataclasses.asdict(f) for f in findings], indent=1))
    else:
        from . import __version__

        paint = colour(sys.stdout)
        print(f"tessera {__version__}, Python {platform.python_version()}, {pathlib.Path(__file__).parent}")
        for f in findings:
            state = f"\033[{_COLOURS[f.state]}m{f.state:8}\033[0m" if paint else f"{f.state:8}"
            print(f"  {f.name:9} {state} {f.text}" + (f"  ({f.fix})" if f.fix else ""))
    return 1 if any(f.state == "broken" for f in findings) else 0
