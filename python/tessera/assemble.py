"""From PTX to machine code: the newest ptxas there is, its failures as diagnostics, several machines at once.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from functools import lru_cache

from . import keys
from .errors import CompileError, InternalError

PACKAGES = {"ptxas": "nvidia-cuda-nvcc", "nvdisasm": "nvidia-cuda-nvdisasm", "tileiras": "nvidia-cuda-tileiras"}
# Where packages of the Python registry put NVIDIA's tools, below a folder of sys.path.
_IN_PACKAGES = ("nvidia/cu*/bin", "nvidia/cuda_nvcc/bin", "nvidia/cuda_nvdisasm/bin", "triton/backends/nvidia/bin")
MOST_REGISTERS = 255  # of a thread, on every machine


def places(tool: str) -> list[str]:
    """Every one there is: on the PATH, in CUDA's folders, in packages of the Python registry."""
    folders = os.environ.get("PATH", "").split(os.pathsep)
    folders += [os.path.join(os.environ[name], "bin") for name in ("CUDA_HOME", "CUDA_PATH") if name in os.environ]
    folders += sorted(glob.glob("/usr/local/cuda*/bin")) + ["/opt/cuda/bin"]
    folders += [found for folder in sys.path for pattern in _IN_PACKAGES for found in sorted(glob.glob(os.path.join(folder or ".", pattern)))]
    paths = dict.fromkeys(os.path.realpath(path) for folder in folders if folder and (path := shutil.which(tool, path=folder)))
    return list(paths)


@lru_cache(None)
def version(path: str, changed: float) -> tuple[int, ...]:
    """(13, 4, 92) of "release 13.4, V13.4.92"; () of a tool that says none."""
    try:
        said = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ()
    found = re.search(r"\bV(\d+(?:\.\d+)+)", said) or re.search(r"\brelease (\d+(?:\.\d+)+)", said)
    return tuple(int(part) for part in found[1].split(".")) if found else ()


@lru_cache(None)
def _find(tool: str, search: tuple) -> str | None:
    found = places(tool)
    if len(found) <= 1:
        return found[0] if found else None
    return max(reversed(found), key=lambda path: version(path, os.path.getmtime(path)))  # of equal ones the first


def find(tool: str) -> str | None:
    """The newest one."""
    return _find(tool, (os.environ.get("PATH"), os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), *sys.path))


def need(tool: str) -> str:
    path = find(tool)
    if path is None:
        does = {"nvdisasm": "shows machine code as text"}.get(tool, "makes machine code of what Tessera writes")
        raise CompileError(f"error: {tool} is not on the PATH, in CUDA's folders or in a Python package; it {does}\n fix:  pip install {PACKAGES[tool]}\n")
    return path


def save_reproducer(source: bytes, command: list[str], said: str, suffix: str) -> str:
    """The input of a tool that failed, and beside it what was run and what it said; the input's path."""
    name = f"tessera-{os.path.basename(command[0])}-{hashlib.sha256(source).hexdigest()[:12]}"
    path = os.path.join(tempfile.gettempdir(), name + suffix)
    words = [path if word == "@source" else "/dev/null" if word == "@target" else word for word in command]
    for file, text in ((path, source), (os.path.join(tempfile.gettempdir(), name + ".txt"), f"{' '.join(words)}\n{said}".encode())):
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o600)
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(text)
    return path


def run(command: list[str], source: bytes, suffix: str, for_what: str) -> dict:
    """Runs a tool whose words "@source" and "@target" are its files; what it made and what it said."""
    with tempfile.TemporaryDirectory() as folder:
        # Relative names: what the tool writes must not depend on the folder.
        names = {"@source": "kernel" + suffix, "@target": "kernel.cubin"}
        with open(os.path.join(folder, names["@source"]), "wb") as file:
            file.write(source)
        done = subprocess.run([names.get(word, word) for word in command], cwd=folder, capture_output=True, text=True)
        said = done.stderr + done.stdout
        if done.returncode == 0:
            with open(os.path.join(folder, names["@target"]), "rb") as file:
                return {"cubin": file.read(), "said": said}
    tool = os.path.basename(command[0])
    how = f"died of signal {-done.returncode}" if done.returncode < 0 else "refuses it"
    first = next((line for line in said.splitlines() if "error" in line.lower() or "fatal" in line.lower()), said.strip().splitlines()[0] if said.strip() else "")
    path = save_reproducer(source, command, said, suffix)
    raise InternalError(f"{for_what}: {tool} {how}: {first.strip()}\nnote: its input is {path}, what was run and said is beside it (.txt)\n")


def ptxas(ptx: str, chip: str, for_what: str, words: tuple = ()) -> dict:
    """`cubin` and what ptxas `said`; from the disk cache if it was there."""
    path = need("ptxas")
    options = ["-v", "-arch", chip, *words]
    # Line numbers of our `.loc`s, for profilers and nvdisasm.
    command = [path, *options, "-lineinfo", "@source", "-o", "@target"]
    source, store = ptx.encode(), keys.store()

    def make() -> dict:
        made = run(command, source, ".ptx", for_what)
        if "--maxrregcount" in str(words) or not any(known["registers"] < MOST_REGISTERS for known in spilling(made["said"])):
            return made
        # It kept some registers in memory so that more blocks fit on a multiprocessor, not because it had to.
        with contextlib.suppress(InternalError):  # an old ptxas does not know the word
            again = run([*command[:1], "--minnctapersm=1", *command[1:]], source, ".ptx", for_what)
            if not spilling(again["said"]):
                return again
        return made

    return make() if store is None else store.get(keys.assembled(source, path, command[1:]), make)


def resources(said: str) -> dict:
    """What `ptxas -v` says of each kernel."""
    result = {}
    for name, body in re.findall(r"Compiling entry function '([^']+)'(.*?)(?=Compiling entry function|\Z)", said, re.S):
        numbers = {key: int(n) for n, key in re.findall(r"(\d+) bytes (stack frame|spill stores|spill loads|smem)", body)}
        result[name] = {
            "registers": int(re.search(r"Used (\d+) registers", body)[1]),
            "spill_stores": numbers.get("spill stores", 0),
            "spill_loads": numbers.get("spill loads", 0),
            "shared": numbers.get("smem", 0),
        }
    return result


def spilling(said: str) -> list[dict]:
    return [known for known in resources(said).values() if known["spill_stores"] + known["spill_loads"]]


def refuse_spills(name: str, target: str, used: dict) -> None:
    """Registers that go through memory are an error: a slow kernel nobody asked for."""
    for kernel, known in used.items():
        spilled = known["spill_stores"] + known["spill_loads"]
        if spilled:
            raise CompileError(
                f"error: {name} for {target}: kernel {kernel} needs more than {known['registers']} registers, {spilled} bytes spill to memory\n"
                " fix:  smaller tiles or more warps (num_warps=8), or tsr.knobs.allow_spills = True\n")
