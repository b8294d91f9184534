"""One expression as a tensor function and as a tile kernel, so that one test covers both.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import functools

import tessera as tsr

CARRIERS = ("function", "kernel")


@functools.cache
def function(expression: str, names: str = "x y"):
    """`@tsr.function` of the named tensors that returns the expression."""
    text = f"@tsr.function\ndef f({', '.join(names.split())}):\n    return {expression}\n"
    return tsr.compile_source(text, f"<{expression}>").f


@functools.cache
def kernel(expression: str, names: str = "x y", result: str = "fp32", tile: int = 48):
    """The same over vectors, element by element, in tiles that divide nothing."""
    views = names.split()
    arguments = ", ".join(f'{n.upper()}: Tensor["N"]' for n in views)
    loads = "".join(f"        {n} = {n.upper()}[i]\n" for n in views)
    text = (
        f'@tsr.kernel\ndef f({arguments}, R: Out["N", {result}]):\n'
        f"    for i in tsr.grid(tsr.tile(N, {tile})):\n{loads}        R[i] = {expression}\n"
    )
    return tsr.compile_source(text, f"<kernel {expression}>").f


def made(carrier: str, expression: str, names: str = "x y", result: str = "fp32"):
    return function(expression, names) if carrier == "function" else kernel(expression, names, result)


@functools.cache
def row_kernel(expression: str, result: str = "fp32", rows: int = 5, kept: bool = False):
    """A kernel over [M, N] in tiles of whole rows [m, n]; the expression gives one value per row, or a row if `kept`."""
    stored, out = ("R[m, :]", '"M", "N"') if kept else ("R[m]", '"M"')
    text = (
        f'@tsr.kernel\ndef f(X: Tensor["M", "N"], R: Out[{out}, {result}]):\n'
        f"    for m in tsr.grid(tsr.tile(M, {rows})):\n        x = X[m, :]\n        {stored} = {expression}\n"
    )
    return tsr.compile_source(text, f"<row kernel {expression}>").f
