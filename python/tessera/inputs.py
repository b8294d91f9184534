"""Inputs for a function or kernel, made from its signature: for `tessera check` and `tessera-bisect`.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import argparse
import importlib.util
import pathlib
import re
import shlex
import sys

import numpy as np

from . import arrays, source
from .dtypes import as_dtype, by_name, to_numpy
from .errors import ArgumentError, FileError
from .function import Function

# Extents of dims nobody gave, in the order they appear: batch-like ones (not of the last two axes), and the others.
_BATCH, _ODD = (2, 3, 1), (33, 40, 17, 65, 7, 5)


def dims_of(fn, args: tuple, kwargs: dict) -> dict:
    """The named dims of a call."""
    from . import arguments

    bound, found = arguments.bind(fn, args, kwargs), {}
    for p in fn.parameters:
        array = arrays.describe(bound[p.name]) if p.dims and p.name in bound and arrays.is_array(bound[p.name]) else None
        for dim, size in zip(p.dims or (), array.sizes if array else ()):
            if dim.isidentifier():
                found.setdefault(dim, size)
    return found


def _extent(dim: str, dims: dict, batch: bool) -> int:
    if dim.isdigit():
        return int(dim)
    choices = _BATCH if batch else _ODD
    for name in re.findall(r"[A-Za-z_]\w*", dim):
        if name not in dims:
            dims[name] = choices[len(dims) % len(choices)]
    return eval(dim, {"__builtins__": {}}, dims)  # names, integers and arithmetic: the front end has parsed it


def fill_dims(fn, dims: dict, size: int) -> dict:
    """All named dims of a function: those given, else `size`, or 4 for batch-like ones."""
    found = {}
    for p in fn.parameters:
        for axis, dim in enumerate(p.dims or ()):
            for name in re.findall(r"[A-Za-z_]\w*", dim):
                found.setdefault(name, dims.get(name, 4 if axis < len(p.dims) - 2 else size))
    return found


def make(fn, dims: dict, seed: int = 0, dtype: str = "fp32", like: dict | None = None) -> dict:
    """Arguments by name. `like`: a call whose dtypes and scalars to take."""
    random, dims, made = np.random.default_rng(seed), dict(dims), {}
    for p in fn.parameters:
        known = (like or {}).get(p.name)
        if p.kind in ("out", "const") and p.name not in (like or {}):
            continue
        if p.kind == "const" or (known is not None and not arrays.is_array(known)):
            made[p.name] = known
            continue
        if p.kind == "out":
            continue
        if p.kind == "scalar" or (p.dims is None and p.has_default):
            if not p.has_default:
                made[p.name] = int(random.integers(1, 4)) if p.dtype in ("i32", "i64") else float(random.integers(1, 4))
            continue
        if p.dims is None:
            raise ArgumentError(source.at_user(f"{p.name} of {fn.__name__} has no annotation, so no input can be made for it", f'{p.name}: Tensor["M", "N"]'))
        element = arrays.describe(known).dtype if known is not None else by_name(p.dtype or dtype)
        shape = [_extent(dim, dims, axis < len(p.dims) - 2) for axis, dim in enumerate(p.dims)]
        if element.storage in ("i32", "i64"):
            made[p.name] = random.integers(0, 3, shape).astype(to_numpy(element.storage))
        elif element.storage == "bool":
            made[p.name] = random.integers(0, 2, shape).astype(bool)
        else:
            made[p.name] = random.standard_normal(shape).astype(to_numpy(element.storage))
    return made


def load(place: str) -> list[Function]:
    """The functions of `file.py`, or the one of `file.py:name`."""
    path, _, name = place.rpartition(":") if re.search(r":[A-Za-z_]\w*$", place) else (place, "", "")
    file = pathlib.Path(path)
    if not file.exists():
        raise FileError(f"error: there is no file {path}\n")
    if file.suffix in (".tessera", ".tss"):
        from .files import load_file

        found = vars(load_file(str(file)))
    else:
        spec = importlib.util.spec_from_file_location(file.stem.replace("-", "_"), file)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        found = vars(module)
    functions = {key: value for key, value in found.items() if isinstance(value, Function) and value.source.file.endswith(file.name)}
    if name and name not in functions:
        raise ArgumentError(f"error: {path} has no function {name!r}; it has {', '.join(functions) or 'none'}\n")
    return [functions[name]] if name else list(functions.values())


def check_dims(dims: dict, functions: list[Function]) -> None:
    """Every dim that is given belongs to one of the functions."""
    known = sorted({name for fn in functions for p in fn.parameters for dim in p.dims or () for name in re.findall(r"[A-Za-z_]\w*", dim)})
    unknown = [name for name in dims if name not in known]
    if unknown:
        free = [name for name in known if name not in dims]
        meant = {name: name if name in known else source.nearest(name, free) for name in dims}
        fits = all(meant.values()) and len(set(meant.values())) == len(dims)
        fix = f" fix:  --dims {','.join(f'{meant[name]}={size}' for name, size in dims.items())}\n" if fits else ""
        raise ArgumentError(f"error: no dim is called {' or '.join(map(repr, unknown))}; there are {', '.join(known) or 'none'}\n{fix}")


def _dims(text: str) -> dict:
    pairs = [part.partition("=") for part in text.split(",") if part]
    if any(not value.isdigit() for _, _, value in pairs):
        one = r"([A-Za-z_]\w*)\s*[=:\s]\s*(\d+)"
        is_clear = re.fullmatch(rf"\s*{one}(?:[,;\s]+{one})*\s*", text)
        fix = f"\n fix:  --dims {','.join(map('='.join, re.findall(one, text)))}" if is_clear else ""
        raise argparse.ArgumentTypeError(f"dims are M=65,N=127, not {text!r}{fix}")
    return {name.strip(): int(value) for name, _, value in pairs}


def parsed(parser: argparse.ArgumentParser, words: list[str] | None) -> argparse.Namespace:
    """The words of a command; dims that stand apart are an error with the command in which they are joined."""
    words = sys.argv[1:] if words is None else words
    begin = next((i + (word == "--dims") for i, word in enumerate(words) if word.partition("=")[0] == "--dims"), len(words))
    end = next((i for i in range(begin + 1, len(words)) if not re.fullmatch(r",|,?(?:[A-Za-z_]\w*=\d+,?)+", words[i])), len(words))
    if end > begin + 1:
        joined = ",".join(word.strip(",") for word in words[begin:end] if word != ",")
        given = " ".join(["--dims"] * (words[begin][:2] != "--") + words[begin:end])
        parser.error(f"{given}: dims are joined by commas\n fix:  {parser.prog} {shlex.join([*words[:begin], joined, *words[end:]])}")
    return parser.parse_args(words)


def _dtype(text: str) -> str:
    known = as_dtype(text) or (by_name(text) if text in ("fp64", "fp32", "fp16", "bf16", "i32", "i64", "bool") else None)
    if known is None:
        raise argparse.ArgumentTypeError(f"no dtype is called {text!r}")
    return known.name


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dims", type=_dims, default={}, help="M=65,N=127; what is left out is odd and small")
    parser.add_argument("--dtype", type=_dtype, default="fp32", help="of arrays without one in their annotation")
    parser.add_argument("--seed", type=int, default=0)
