"""The element types of the language, and how NumPy, ml_dtypes and torch call them.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations


class dtype:
    """An element type: `tsr.fp16`. Compares equal to itself only."""

    __slots__ = ("name", "bits", "storage")

    def __init__(self, name: str, bits: int, storage: str):
        self.name = name
        self.bits = bits
        self.storage = storage  # the token of docs/abi.md; "" if never stored

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self):
        return (by_name, (self.name,))


fp64 = dtype("fp64", 64, "f64")
fp32 = dtype("fp32", 32, "f32")
tf32 = dtype("tf32", 32, "")
fp16 = dtype("fp16", 16, "f16")
bf16 = dtype("bf16", 16, "bf16")
fp8_e4m3 = dtype("fp8_e4m3", 8, "f8e4m3")
fp8_e5m2 = dtype("fp8_e5m2", 8, "f8e5m2")
fp8_e4m3fnuz = dtype("fp8_e4m3fnuz", 8, "")
fp6_e2m3 = dtype("fp6_e2m3", 6, "f6e2m3")
fp6_e3m2 = dtype("fp6_e3m2", 6, "f6e3m2")
fp4_e2m1 = dtype("fp4_e2m1", 4, "f4e2m1")
i8 = dtype("i8", 8, "i8")
i16 = dtype("i16", 16, "i16")
i32 = dtype("i32", 32, "i32")
i64 = dtype("i64", 64, "i64")
u8 = dtype("u8", 8, "u8")
u16 = dtype("u16", 16, "u16")
u32 = dtype("u32", 32, "u32")
u64 = dtype("u64", 64, "u64")
bool_ = dtype("bool", 8, "bool")
complex64 = dtype("complex64", 64, "c64")

_all = {
    d.name: d
    for d in (
        fp64, fp32, tf32, fp16, bf16, fp8_e4m3, fp8_e5m2, fp8_e4m3fnuz, fp6_e2m3, fp6_e3m2, fp4_e2m1,
        i8, i16, i32, i64, u8, u16, u32, u64, bool_, complex64,
    )
}
_by_storage = {d.storage: d for d in _all.values() if d.storage}

# The names other libraries use, as str(their dtype) without the module.
_foreign = {
    "float64": fp64, "float32": fp32, "float16": fp16, "bfloat16": bf16,
    "float8_e4m3fn": fp8_e4m3, "float8_e5m2": fp8_e5m2, "float8_e4m3fnuz": fp8_e4m3fnuz,
    "float6_e2m3fn": fp6_e2m3, "float6_e3m2fn": fp6_e3m2, "float4_e2m1fn": fp4_e2m1,
    "int8": i8, "int16": i16, "int32": i32, "int64": i64,
    "uint8": u8, "uint16": u16, "uint32": u32, "uint64": u64,
    "bool": bool_, "complex64": complex64,
    "half": fp16, "float": fp32, "double": fp64, "long": i64, "int": i32,
}
_cache: dict = {}


def by_name(name: str) -> dtype:
    return _all[name]


def by_storage(token: str) -> dtype:
    """The dtype whose storage type is `token` ("f32"), as docs/abi.md spells it."""
    return _by_storage[token]


def as_dtype(value) -> dtype | None:
    """Our dtype for `value`: one of ours, NumPy's, ml_dtypes' or torch's; None if it is none."""
    if isinstance(value, dtype):
        return value
    try:
        return _cache[value]
    except (KeyError, TypeError):
        pass
    if value is bool:
        return bool_
    found = None
    module = type(value).__module__.partition(".")[0]
    if module == "torch" and type(value).__name__ == "dtype":
        found = _foreign.get(str(value).partition(".")[2])
    elif module == "numpy" and hasattr(value, "name"):
        found = _foreign.get(value.name)
    elif isinstance(value, type) and value.__module__.partition(".")[0] in ("numpy", "ml_dtypes"):
        import numpy

        found = _foreign.get(numpy.dtype(value).name)
    if found is not None:
        _cache[value] = found
    return found


def known_storage(token: str):
    """The type with this storage, or None."""
    return _by_storage.get(token)


_numpy: dict = {}


def to_numpy(token: str):
    """NumPy's dtype for a storage type; ml_dtypes provides what NumPy lacks."""
    found = _numpy.get(token)
    if found is None:
        import numpy

        ours = _by_storage[token]
        theirs = next(name for name, d in _foreign.items() if d is ours)
        if hasattr(numpy, theirs) or theirs == "bool":
            found = numpy.dtype(theirs)
        else:
            import ml_dtypes

            found = numpy.dtype(getattr(ml_dtypes, theirs))
        _numpy[token] = found
    return found


_torch: dict = {}


def to_torch(token: str):
    found = _torch.get(token)
    if found is None:
        import torch

        ours = _by_storage[token]
        theirs = next(name for name, d in _foreign.items() if d is ours)
        found = _torch[token] = getattr(torch, theirs)
    return found
