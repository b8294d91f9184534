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


def dims(names: str, *more) -> tuple[DimName, ...] | DimName:
    """`M, K = tsr.dims("M K")`: dims for annotations that linters understand."""
    if more or not isinstance(names, str) or not names.strip():
        from . import source
        from .errors import CompileError

        words = " ".join(str(name) for name in (names, *more) if isinstance(name, str)) or "M N"
        left = ", ".join(words.split())
        raise CompileError(source.at_user("tsr.dims takes one string with all names" + (f", not {len(more) + 1} arguments" if more else f", not {names!r}"),
                                          f'{left} = tsr.dims("{words}")', "tsr.dims"))
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
                self._refuse(item, items)
        return _Annotation(self._name, items)

    def _refuse(self, item, items) -> None:
        from . import source
        from .errors import CompileError

        def shown(part) -> str:
            return str(part) if as_dtype(part) is not None or isinstance(part, DimName) else repr(part).replace("'", '"')

        flat = []
        for part in items:
            flat += part if isinstance(part, (list, tuple, set)) else [part]
        if self._name == "Region":
            message = f"Region[...] takes a privilege (read, write, read_write, reduce_sum, reduce_max, reduce_min) and a Tensor[...], not {item!r}"
            near = source.nearest(item, ("read", "write", "read_write", "reduce_sum", "reduce_max", "reduce_min"), "reduce_sum")
            fix = f'Region[{near}, Tensor["M"]]'
        else:
            name = getattr(item, "__name__", None) if isinstance(item, type) else None
            message = f"{self._name}[...] takes dims (strings, ints) and a dtype, not {name or shown(item)}"
            known = {"float": "fp32", "int": "i64", "bool": "bool", "complex": "complex64"}
            kept = [known.get(getattr(part, "__name__", ""), "") or '"M"' if not self._check(part) else shown(part) for part in flat]
            fix = f"{self._name}[{', '.join(kept)}]"
        raise CompileError(source.at_user(message, fix, self._name + "["))

    def __call__(self, *args, **kwargs):
        from . import source
        from .errors import CompileError

        raise CompileError(source.at_user(
            f"{self._name} is written with brackets in a signature and is not called; arguments are NumPy or torch arrays",
            f'{self._name}["M", "N"]', self._name))

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
