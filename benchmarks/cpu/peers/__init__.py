"""What a user could pick instead: each peer is a function that makes a call, or says why it is not measured.

Never jax and torch in one process with threads: jax.py talks to a process of its own.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import ctypes
import functools
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile


class Missing(Exception):
    """A peer that cannot be measured here; its text is the reason."""


def shim(source: str, *flags: str) -> ctypes.CDLL:
    """A C++ file of this folder as a library, compiled once per source and flags into the user's cache."""
    made = _library_or_reason(source, flags)
    if isinstance(made, Missing):
        raise made
    return made


@functools.lru_cache
def _library_or_reason(source: str, flags: tuple):
    """What does not compile is not tried again for the next case."""
    try:
        return _library(source, flags)
    except Missing as missing:
        return missing


def _library(source: str, flags: tuple) -> ctypes.CDLL:
    compiler = shutil.which("g++") or shutil.which("clang++-22") or shutil.which("clang++")
    if not compiler:
        raise Missing("no C++ compiler for its C++ API")
    file = pathlib.Path(__file__).with_name(source)
    digest = hashlib.sha256(file.read_bytes() + "\0".join((compiler, *flags)).encode()).hexdigest()[:16]
    folder = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "tessera-benchmarks"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    built = folder / f"{file.stem}-{digest}.so"
    if not built.exists():
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            made = pathlib.Path(scratch) / "shim.so"
            done = subprocess.run([compiler, "-std=c++17", "-O2", "-shared", "-fPIC", str(file), *flags, "-o", str(made)], capture_output=True, text=True)
            if done.returncode:
                raise Missing(f"its shim does not compile: {done.stderr.splitlines()[0] if done.stderr else compiler}")
            made.rename(built)
    if "torch" in sys.modules:  # its libgomp has the same name: one set of threads for both
        import torch  # noqa: F401
    try:
        return ctypes.CDLL(str(built))
    except OSError as error:
        raise Missing(str(error)) from None
