"""What stands in signatures: Tensor["M", "K", fp16], Out[...], InOut[...], Region[...], const, dims.

Python evaluates these; the compiler reads the same text from the source, so the
objects only have to be well-formed and to print nicely.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from .dtypes import as_dtype


class DimName:
    """A dim made by `tsr.dims`; arithmetic on it makes a dim expression."""

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return self.name

    def _join(self, op, other):
        return DimName(f"({self!r} {op} {other!r})")

    def __add__(self, other):
        return self._join("+", other)

    def __sub__(self, other):
        return self._join("-", other)

    def __mul__(self, other):
        return self._join("*", other)

    def __floordiv__(self, other):
        return self._join("//", other)


def dims(names: str) -> tuple[DimName, ...] | DimName:
    """`M, K = tsr.dims("M K")`: dims for annotations that linters understand."""
    made = tuple(DimName(name) for name in names.replace(",", " ").split())
    return made[0] if len(made) == 1 else made


class _Annotation:
    def __init__(self, family: str, items: tuple):
        self.family = family
        self.items = items

    def __repr__(self) -> str:
        return f"{self.family}[{', '.join(map(repr, self.items))}]"


class _Family:
    def __init__(self, name: str, check):
        self._name = name
        self._check = check

    def __getitem__(self, items):
        items = items if isinstance(items, tuple) else (items,)
        for item in items:
            if not self._check(item):
                raise TypeError(f"{self._name}[...] takes dims (strings, ints) and a dtype, not {item!r}")
        return _Annotation(self._name, items)

    def __repr__(self) -> str:
        return self._name


def _is_dim_or_dtype(item) -> bool:
    return isinstance(item, (str, int, DimName)) or as_dtype(item) is not None


Tensor = _Family("Tensor", _is_dim_or_dtype)
Out = _Family("Out", _is_dim_or_dtype)
InOut = _Family("InOut", _is_dim_or_dtype)
Region = _Family("Region", lambda item: isinstance(item, (_Privilege, _Annotation)))


class _Privilege:
    def __init__(self, name: str):
        self.name = name

    def __repr__(self) -> str:
        return self.name


read = _Privilege("read")
write = _Privilege("write")
read_write = _Privilege("read_write")
reduce_sum = _Privilege("reduce_sum")
reduce_max = _Privilege("reduce_max")
reduce_min = _Privilege("reduce_min")


class const:
    """`x: const = 128`: a compile-time parameter."""
