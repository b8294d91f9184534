"""Graph IR texts for the tests of the interpreter, from a line per op.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import os
import pathlib
import subprocess

import ml_dtypes
import numpy as np
from tessera.oracle import Stage

MLIR = {
    "f64": "f64", "f32": "f32", "f16": "f16", "bf16": "bf16", "i8": "i8", "i32": "i32", "i64": "i64", "bool": "i1",
    "f8e4m3": "f8E4M3FN", "f8e5m2": "f8E5M2",
}
NUMPY = {
    "f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i8": np.int8, "i32": np.int32,
    "i64": np.int64, "bool": np.bool_, "f8e4m3": ml_dtypes.float8_e4m3fn, "f8e5m2": ml_dtypes.float8_e5m2,
}


def tensor(dtype, rank) -> str:
    """tensor<?x?xf32>; `rank` may also be a shape."""
    axes = "".join("?x" if size is None else f"{size}x" for size in ((None,) * rank if isinstance(rank, int) else rank))
    return f"tensor<{axes}{MLIR[dtype]}>"


def graph(arguments: dict, body: str, results: list, stage="graph") -> str:
    """A module of one function f. `arguments`: name -> (dtype, rank); `results`: (value, dtype, rank)."""
    given = ", ".join(f'%{name}: {tensor(*spec)} {{gir.name = "{name}"}}' for name, spec in arguments.items())
    types = ", ".join(tensor(*r[1:]) for r in results)
    back = ", ".join(f"%{r[0]}" for r in results)
    return (f'module attributes {{tessera.format = 2 : i64, tessera.stage = "{stage}"}} {{\n'
            f"  func.func @f({given}) -> ({types}) {{\n{body}\n    return {back} : {types}\n  }}\n}}\n")


def run(text: str, given: dict, domain="exact", checked=False, **options) -> list:
    """The results: arrays of their dtype (exact), of float64 (reference) or of bits (ring)."""
    outcome = Stage.of_text(text, "test.mlir", checked=checked).run(given, domain, **options)
    assert not any(r.poison for r in outcome.results)
    return [r.of(domain) for r in outcome.results]


def decomposed(text: str) -> str:
    """After the pass that makes primitives of composites."""
    tool = pathlib.Path(os.environ["TESSERA_BIN"]) / "tessera-opt"
    done = subprocess.run([tool, "--graph-to-schedule-decompose-composites"], input=text, capture_output=True, text=True, check=True)
    return done.stdout


def bits(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def assert_same_bits(got, want, what="") -> None:
    """Bit for bit; NaNs are all alike."""
    assert got.dtype == want.dtype and got.shape == want.shape, f"{what}: {got.dtype} {got.shape}, wanted {want.dtype} {want.shape}"
    if got.dtype.kind in "ib":
        bad = got != want
    else:
        with np.errstate(all="ignore"):
            bad = (bits(got) != bits(want)) & ~(np.isnan(got.astype(np.float64)) & np.isnan(want.astype(np.float64)))
    if bad.any():
        at = tuple(np.argwhere(bad)[0])
        raise AssertionError(f"{what}: {bad.sum()} of {bad.size} differ, first at {at}: got {got[at]!r}, want {want[at]!r}")
