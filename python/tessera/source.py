"""The source text of a function, as it stands in its file or notebook cell.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import inspect
import linecache
import os
import types

from .errors import CompileError


def relative(path: str) -> str:
    """The path as a user would write it: relative if it is below the current folder."""
    try:
        short = os.path.relpath(path)
    except ValueError:  # another drive
        return path
    return path if short.startswith("..") else short


class Source:
    """Text, file and first line of one function."""

    __slots__ = ("text", "file", "first_line", "column_offset")

    def __init__(self, text: str, file: str, first_line: int, column_offset: int = 0):
        self.text, self.file, self.first_line, self.column_offset = text, file, first_line, column_offset


def of_function(fn: types.FunctionType) -> Source:
    """Finds the lines of `fn`, decorators included."""
    code = fn.__code__
    file = code.co_filename
    # A notebook's cells and files are in linecache; what was typed at the plain prompt is nowhere.
    linecache.checkcache(file)
    lines = linecache.getlines(file, fn.__globals__)
    if not lines:
        raise CompileError(
            f"{file}:1: error: the source of '{fn.__name__}' is not in a file Python can read\n"
            " fix:  save it, or tsr.compile_source(text)\n"
        )
    first = code.co_firstlineno
    block = inspect.getblock(lines[first - 1 :])
    return Source("".join(block), relative(file), first)
