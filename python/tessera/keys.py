"""What a compiled version is made from, as bytes: the key of the disk cache.

Two keys are equal only if the compiler, given one or the other, writes the same code. The front
end is not needed to make one, so that a version that is on disk is found without it.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import functools
import os
import struct
from importlib.util import find_spec

from . import _runtime, disk, machines
from .disk import FORMAT, pack, sha256
from .knobs import knobs

_NOTE, _BUILD_ID = 4, 3  # PT_NOTE, NT_GNU_BUILD_ID


class NoKey(Exception):
    """This cannot be cached."""


def build_id(path: str) -> str:
    """The build id that the linker wrote into a library; a digest of the whole file if it wrote none."""
    try:
        with open(path, "rb") as file:
            head = file.read(4096)
            (offset,) = struct.unpack_from("<Q", head, 32)
            size, count = struct.unpack_from("<HH", head, 54)
            for i in range(count):
                kind, _, begin, _, _, length = struct.unpack_from("<IIQQQQ", head, offset + i * size)
                if kind != _NOTE:
                    continue
                file.seek(begin)
                notes, at = file.read(length), 0
                while at + 12 <= len(notes):
                    name, data, which = struct.unpack_from("<III", notes, at)
                    at += 12 + (name + 3) // 4 * 4
                    if which == _BUILD_ID and data:
                        return notes[at : at + data].hex()
                    at += (data + 3) // 4 * 4
            return file_digest(path)
    except (OSError, struct.error):
        raise NoKey(path) from None


def file_digest(path: str) -> str:
    digest = sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


@functools.cache
def build() -> tuple:
    """The compiler, the runtime and LLVM, as they were linked."""
    core = find_spec("tessera._core")
    if core is None or not core.origin:
        raise NoKey("no compiler")
    libraries = [path for path in _runtime.LLVM_LIBRARIES.split(":") if path]
    return ("build", build_id(core.origin), build_id(_runtime.__file__), _runtime.LLVM_VERSION, *map(build_id, libraries))


@functools.lru_cache(maxsize=8)
def _tool_digest(path: str, _size: int, _changed: int) -> str:
    return file_digest(path)


def tool(path: str) -> str:
    """The digest of an external tool."""
    path = os.path.realpath(path)
    info = os.stat(path)
    return _tool_digest(path, info.st_size, info.st_mtime_ns)


def machine(target: str) -> str:
    """What of this processor decides on the code; "cpu:avx2" and the like are the same everywhere."""
    return _runtime.cpu_signature() if machines.of(target).is_this else ""


def switches(opts) -> dict:
    """The knobs that change code, or what a function's options say instead."""
    return {"opt_level": knobs.opt_level if opts.opt_level is None else opts.opt_level, "debug": knobs.debug}


def places(fn, captured: dict) -> list[tuple]:
    """Where the function and what it calls stand: file, line, column."""
    source = fn.source
    found = [(source.file, source.first_line, source.column_offset)]
    for entry in captured.values():
        if entry[0] == "function":
            found += places(entry[1], entry[1].capture()[0])
    return found


def program(fn, captured: dict, around: tuple = ()) -> tuple:
    """A function with everything it refers to."""
    if any(fn is outer for outer in around):
        raise NoKey("it refers to itself")
    names = []
    for name, entry in captured.items():
        if entry[0] == "function":
            inner = entry[1]
            opts = inner.options
            entry = ("function", program(inner, inner.capture()[0], (*around, fn)), opts.accum, opts.policy or "", opts.precision or "",
                     inner.body_constants(opts, "cpu"), opts.schedule_for("cpu"))
        names.append((name, entry))
    return ("program", fn.kind, fn.source.text, tuple(names))


def names(fn) -> bytes:
    """For the outside names of a function."""
    return pack(("names", FORMAT, build(), fn.kind, fn.source.text))


def signature(fn, captured: dict) -> bytes:
    """For the parameters of a function."""
    return pack(("signature", FORMAT, build(), program(fn, captured)))


def version(fn, spec) -> bytes:
    """For the plan of a version."""
    opts = fn._options_for(spec)
    return pack((
        "version", FORMAT, build(), program(fn, spec.captured), tuple(spec.arguments), spec.target, machine(spec.target),
        fn.body_constants(opts, spec.target, spec.dtype), opts.schedule_for(spec.target, spec.dtype), opts.policy or "deterministic", opts.accum, opts.precision or "ieee", switches(opts),
    ))


def placed(inputs: bytes, fn, captured: dict) -> bytes:
    """For a plan that names lines of the source: the same, at this place."""
    return pack((inputs, places(fn, captured)))


def kernel(inputs: bytes, plan: str, name: str) -> bytes:
    """For the machine code of one kernel of a plan: never that of another plan."""
    return pack(("kernel", FORMAT, sha256(inputs).digest(), sha256(plan.encode()).digest(), name))


def assembled(text: bytes, tool_path: str, words: list[str]) -> bytes:
    """For what an external tool makes."""
    return pack(("assembled", FORMAT, tool(tool_path), list(words), text))


def usable() -> bool:
    """Whether the cache may answer: who wants to see the compiler work gets the compiler."""
    return not knobs.dump and not knobs.verify


def store():
    return disk.store() if usable() else None


def remembered(key, make):
    """What the front end says of a text, without the front end if it is on disk."""
    found = store()
    try:
        inputs = key() if found is not None else None
    except (NoKey, TypeError):
        inputs = None
    return make() if inputs is None else found.find(inputs, make)
