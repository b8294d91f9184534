#!/usr/bin/env python3
"""Prints docs/reference/ops.md: every operation that programs can call, its arguments, and where it differs from torch.

Names come from the tables of the front end, arguments from what it says about a wrong one, so that the page is complete and
right; tools/generate-docs.py writes it. Only the notes stand here: an operation without one means what torch's does.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import re
import sys

import numpy as np
import tessera as tsr
from tessera import _core

# What takes any number of arguments, or is none.
WRITTEN = {
    "tile": "dim, size, start=, stop=, stages=", "grid": "*axes, group=, persistent=", "unroll": "n", "inf": "", "nan": "", "lowest": "",
    "zeros": "*axes, dtype=", "ones": "*axes, dtype=", "full": "value, *axes, dtype=", "permute": "*axes", "expand": "*axes", "reshape": "*sizes",
}
NOTES = {
    "any": {
        "round": "half to even", "var": "correction=1, as in torch (divided by n - correction, or 0 if that is less); NumPy's ddof is 0; sums are of the dtype: fp32 overflows where torch has fp64 inside", "argmax": "positions are i64; of equal elements the first", "argmin": "positions are i64; of equal elements the first",
        "max": "by an axis: the values only, without positions; maximum is of two", "min": "by an axis: the values only, without positions; minimum is of two",
        "cummax": "the values only, without positions", "maximum": "NaN if one of the two is", "minimum": "NaN if one of the two is", "fma": "a * b + c with one rounding",
        "where": "numbers on either side take the other's dtype", "gelu": 'approximate="tanh" or "none"', "pow": "of ints: wraps; a negative exponent gives 0, but for 1 and -1",
        "cdiv": "of ints, rounded up; by 0 it is 0", "sum": "dim=() is an error: torch means all axes, NumPy none; fp16 and bf16 are summed in fp32 and rounded once; ints keep their dtype and wrap (torch: i64), x.to(i64) before it does not; bools are counted in i64", "mean": "fp16 and bf16 are summed in fp32 and rounded once",
    },
    "function": {
        "softmax": "a row of only -inf is 0 (torch: NaN)", "log_softmax": "a row of only -inf is -inf (torch: NaN)", "matmul": "fp32 accumulates in fp32, 16-bit floats too, rounded once", "attention": "softmax(q @ k.T * scale) @ v without the matrix of scores; causal: the last query sees every key; attn_mask= and dropout_p= are not there yet", "scaled_dot_product_attention": "as attention; is_causal with as many queries as keys, where torch means the same", "take": "indices must be in the axis, none negative",
        "index_select": "indices must be in the axis, none negative", "embedding": "indices must be in the axis, none negative", "gather": "indices must be in the axis, none negative",
        "view": "a reshape: it never fails for strides", "to": "a float becomes an int toward zero; out of range saturates, NaN is 0", "zeros": "sizes or a shape; fp32 unless dtype=", "ones": "sizes or a shape; fp32 unless dtype=",
        "full": "as torch: the shape, then the value", "expand": "only axes of size 1 and new ones in front", "arange": "i64 of ints",
    },
    "kernel": {
        "tile": "for k in tsr.tile(K, 64): ranges over a dim", "grid": "for m, n in tsr.grid(...): one program for each; exactly one per kernel, outermost", "unroll": "for i in tsr.unroll(n): i is a constant",
        "zeros": "by ranges, not sizes: tsr.zeros(m, n); fp32 unless dtype=", "ones": "by ranges, not sizes", "full": "the value, then ranges: tsr.full(0.0, m, n)",
        "load": "A[m, k] in full", "store": "C[m, n] = x in full", "atomic_add": "on a Region[reduce_sum]", "atomic_max": "on a Region[reduce_max]", "atomic_min": "on a Region[reduce_min]",
        "mma": "a @ b + acc in one op", "mma_sparse": "two of four elements of a, section 6 of language.md", "mma_scaled": "fp8 with a factor for 32 elements, section 6 of language.md",
        "range_at": "a range by hand: tsr.range_at(M, start, 64)", "rand": "Philox: the same bits on every target, uniform in [0, 1)", "cat": "refuses axes with absent elements", "arange": "an axis of its own; n is a constant",
        "inf": "a constant", "nan": "a constant", "lowest": "the least finite number of the dtype it meets", "program_id": "the number of this program along a grid axis", "num_programs": "how many programs there are along it",
        "to": "a float becomes an int toward zero; out of range saturates, NaN is 0", "filled": "makes absent elements real", "permute": "by ranges: x.permute(n, m)", "expand": "by ranges: x.expand(n)", "reshape": "refuses axes with absent elements",
        "softmax": "over one axis of the tile, not of the dim",
    },
}
PROGRAMS = {
    "function": "import tessera as tsr\n\n@tsr.function\ndef f(x):\n    return {call}\n",
    "kernel": 'import tessera as tsr\n\n@tsr.kernel\ndef f(X: Tensor["M"], Y: Out["M"]):\n    for m in tsr.grid(tsr.tile(M, 16)):\n        x = X[m]\n        Y[m] = {call}\n',
}


def arguments(kind: str, name: str, is_function: bool) -> str:
    """What the compiler says that a call takes."""
    if kind == "kernel" and name in WRITTEN:
        return WRITTEN[name]
    call = f"tsr.{name}(no_such=0)" if is_function else f"x.{name}(no_such=0)"
    try:
        tsr.compile_source(PROGRAMS[kind].format(call=call)).f(np.zeros(8, np.float32))
    except tsr.TesseraError as error:
        found = re.search(r"; (?:it|tsr\.\w+|\.\w+) takes (.*)", str(error))
        if found:
            return re.sub(r"^no arguments$", "", found[1].split(", called at")[0])
    if name in WRITTEN:
        return WRITTEN[name].replace("*axes", "*sizes")
    sys.exit(f"tsr.{name} in a {kind}: what it takes is not known; add it to WRITTEN")


def table(kind: str) -> str:
    rows = ["| operation | as | arguments | note |", "|---|---|---|---|"]
    for name, is_function, is_method in sorted(_core.operations(kind == "kernel")):
        ways = "both" if is_function and is_method else "function" if is_function else "method"
        note = NOTES[kind].get(name) or NOTES["any"].get(name, "")
        rows.append(f"| `{name}` | {ways} | {arguments(kind, name, is_function)} | {note} |".replace("  |", " |"))
    return "\n".join(rows)


def page() -> str:
    known = {name for kernel in (False, True) for name, _, _ in _core.operations(kernel)}
    stale = [name for notes in NOTES.values() for name in notes if name not in known]
    if stale:
        sys.exit(f"notes on operations that are not there: {', '.join(stale)}")
    return f"""# Operations
What programs can call, op by op. "both": `tsr.name(x, ...)` and `x.name(...)` are the same. An argument with `=` can be left out. Beside these there are the operators
of Python, `x[...]`, `x.T` and `x.shape`, `x.dtype`, `x.ndim` ([language.md](../language.md) says how); other names get an error that says what to write instead.

## On tensors, in functions
Names and arguments are torch's; `axis=` and `keepdims=` are accepted for `dim=` and `keepdim=`. Axes line up by position, as in torch, but a named dim is never repeated.
In a method the first argument is the tensor before the dot.

{table("function")}

## On tiles, in kernels
Axes line up by identity, so there is no `keepdim=`; an axis is given as a range (`tsr.sum(x, n)`) or as `dim=`. Elements outside of a dim do not exist: reductions, scans, `@` and
stores skip them.

{table("kernel")}
"""


if __name__ == "__main__":
    print(page(), end="")
