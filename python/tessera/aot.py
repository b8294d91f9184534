"""`fn.aot("dir", ...)`: a header, a static and a shared library and a CMake target, for programs without Python.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import itertools
import json
import pathlib
import re

from . import _core, gpu, machines, source
from .arguments import Spec, spec_from_words
from .dtypes import as_dtype
from .errors import ArgumentError, CompileError, FileError
from .targets import is_later, meant_by

# What runs on every x86-64 processor since 2013, and faster where it can.
LEVELS = {"cpu": ("cpu:avx512", "cpu:avx2"), "cpu:avx2": ("cpu:avx2",), "cpu:avx512": ("cpu:avx512",)}


def runtime_directory() -> str:
    """The folder with libTesseraRuntime.a: of the wheel, or of the build the extension is from."""
    beside = pathlib.Path(_core.__file__).resolve().parent
    for folder in (beside / "lib", beside.parents[1] / "runtime"):
        if (folder / "libTesseraRuntime.a").exists():
            return str(folder)
    return ""


def _is_ahead(target) -> bool:
    return target in LEVELS or isinstance(target, str) and gpu.is_gpu(target) and machines.of(target).on_device


def _meant(name: str) -> str:
    """The target whose code runs where this one would."""
    meant = machines.of(meant_by(name) or "cpu").compiled_as
    return meant if _is_ahead(meant) else "cpu"


def _choices(words: dict) -> list[dict]:
    """`Q=fp16, D=[64, 128]` as one dict per combination."""
    lists = [[(name, one) for one in (value if isinstance(value, (list, tuple)) else [value])] for name, value in words.items()]
    return [dict(combination) for combination in itertools.product(*lists)]


def _with_outputs(function, arguments: list, words: dict) -> list:
    """Outs that a Python caller may leave out are given in C++: with the dtype that `words` or the annotation says, or else the first tensor's."""
    first = next((a[1] for a in arguments if a[0] == "tensor"), "fp32")
    result = []
    for parameter, argument in zip(function.parameters, arguments):
        if argument[0] == "omitted":
            known = as_dtype(words.get(parameter.name))
            rank = len(parameter.dims)
            argument = ("tensor", known.name if known else parameter.dtype or first, (-1,) * rank, rank - 1)
        result.append(argument)
    return result


def _any_strides(arguments: list) -> list:
    return [(*a[:3], -1) if a[0] == "tensor" else a for a in arguments]


def _age(target: str) -> tuple:
    number, suffix = re.fullmatch(r"sm_(\d+)([af]?)", target).groups()
    return divmod(int(number), 10) + (suffix,)


def build(function, directory, targets=("cpu",), name: str | None = None, **words) -> list[str]:
    """Compiles every version and writes the library; the files."""
    levels, targets = [], [targets] if isinstance(targets, str) else targets
    for target in targets:
        if not _is_ahead(target):
            kind = "not yet" if is_later(str(target)) else "no such target"
            every = dict.fromkeys(each if _is_ahead(each) else _meant(str(each)) for each in targets)
            raise CompileError(source.at_user(f"{kind}: {target!r}, ahead of time; there are {', '.join(LEVELS)}, sm_80 ...",
                                              f"targets={json.dumps(list(every))}", str(target)))
        levels += [level for level in LEVELS.get(target, (target,)) if level not in levels]
    # The first version that a GPU can run is taken: the newest of them.
    levels.sort(key=lambda level: _age(level) if machines.of(level).on_device else (0, 0, ""), reverse=True)
    name = name or function.__name__
    if not name.isidentifier():
        raise ArgumentError(source.at_user(f"{name!r} cannot name a library", 'name="kernels"', name))
    versions = []
    for chosen in _choices(words):
        for level in levels:
            spec = spec_from_words(function, level, chosen)
            if any(value[0] == "array" for value in spec.captured.values() if isinstance(value, tuple)):
                raise CompileError(source.at_user(f"not yet: {function.__name__} captures an array; pass it as an argument"))
            given = _with_outputs(function, list(spec.arguments), chosen)
            variants = [given] if _any_strides(given) == given else [given, _any_strides(given)]
            for arguments in variants:
                prefix = f"{name}_{function.__name__}_v{len(versions)}_"
                asked = Spec(arguments, spec.captured, level, spec.tuned)
                if machines.of(level).on_device:
                    made = gpu.GpuVersion(function, level, function._start(asked), asked)
                    versions.append((made.plan, b"", "", arguments, made.images))
                    continue
                artifact = function._start(asked, symbol_prefix=prefix).finish()
                versions.append((artifact.plan, artifact.object, prefix, arguments, []))
    try:
        return _core.write_library(name, [(function.__name__, versions)], str(directory), runtime_directory())
    except FileError as error:
        raise FileError(source.at_user(str(error).strip(), f'{function.__name__}.aot("build"), a folder that can be written', str(directory))) from None
