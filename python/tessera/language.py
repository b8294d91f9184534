"""The names of the language inside kernels and functions.

They mean something only to the compiler; calling one from plain Python says so.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

from .errors import CompileError

_names = """
tile grid unroll program_id num_programs cdiv range_at load store atomic_add atomic_max atomic_min atomic_cas atomic_xchg
zeros ones full arange mma mma_scaled mma_sparse fma sum max min prod mean var any all argmax argmin logsumexp cumsum cumprod cummax
reduce scan sort topk rand where maximum minimum clamp abs exp exp2 log log2 log1p sqrt rsqrt sin cos tanh erf sigmoid floor ceil
round isnan isfinite gelu silu relu softmax log_softmax layer_norm rms_norm cross_entropy attention scaled_dot_product_attention matmul
einsum conv2d cat concat stack reshape transpose permute squeeze unsqueeze flatten expand take gather index_select embedding zeros_like
ones_like full_like breakpoint ptx pow
""".split()


def _make(name: str):
    def placeholder(*args, **kwargs):
        from . import source

        if name == "cdiv" and len(args) == 2 and not kwargs and isinstance(args[0], int) and isinstance(args[1], int) and args[1]:
            return -(-args[0] // args[1])  # of plain ints, as in a program

        if name in ("zeros", "ones", "full", "arange", "where", "load", "store", "cat", "stack", "reshape", "rand"):
            fix = f"np.{name}(...) here, tsr.{name} inside a @tsr.function" if name not in ("load", "store", "rand", "cat") else f"tsr.{name} inside a @tsr.kernel"
        else:
            fix = f"@tsr.function\ndef f(x):\n    return tsr.{name}(x)"
        if name in ("tile", "grid", "unroll", "program_id", "num_programs", "range_at"):
            fix = "@tsr.kernel above the def that uses it"
        raise CompileError(source.at_user(
            f"tsr.{name} works inside @tsr.function and @tsr.kernel; plain Python has no tiles", fix, f"tsr.{name}"))

    placeholder.__name__ = placeholder.__qualname__ = name
    placeholder.__tessera_name__ = name
    placeholder.__doc__ = f"`{name}` of the language, docs/language.md."
    return placeholder


for _name in _names:
    globals()[_name] = _make(_name)

inf = float("inf")
nan = float("nan")


class _Lowest(float):
    """The lowest finite number of whatever dtype it meets."""

    __tessera_name__ = "lowest"

    def __repr__(self):
        return "tsr.lowest"


lowest = _Lowest(-3.4028234663852886e38)

__all__ = [*_names, "inf", "nan", "lowest"]
