"""softmax, layer_norm and rms_norm: with given outputs as a fraction of the non-temporal copy, as a user calls them, and into fresh pages.

    python benchmarks/cpu/rows.py [--quick] [--threads 1,2] [--only softmax] [--json out.json]

* `given`: the output is there and mapped. `copy_stream` is the non-temporal copy of the same array into another, in the same rounds.
* `user`: the call makes its result; ours comes from the pool.
* `fresh`: the pool is emptied before each of our calls, so that every page is new, as torch's are.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import harness
import torch
from harness import Case
from peers import Missing, stream_copy
from pooled_results import fresh, layer_norm, softmax

import tessera as tsr
from tessera import Tensor, kernels

SHAPES = ((4096, 4096), (16384, 768), (1024, 32000), (512, 1024))
TOLERANCE = {"float32": 1e-5, "bfloat16": 2e-2}


@tsr.function
def rms_norm(x: Tensor["M", "N"], w: Tensor["N"]):
    return tsr.rms_norm(x, (x.shape[-1],), w, 1e-6)


def operation(name: str, x, w, b):
    """(our function and kernel, torch's, their arguments)"""
    functional = torch.nn.functional
    return {
        "softmax": (softmax, kernels.softmax, lambda x: torch.softmax(x, -1), (x,)),
        "layer_norm": (layer_norm, kernels.layer_norm, lambda x, w, b: functional.layer_norm(x, (x.shape[-1],), w, b), (x, w, b)),
        "rms_norm": (rms_norm, kernels.rms_norm, lambda x, w: functional.rms_norm(x, (x.shape[-1],), w, 1e-6), (x, w)),
    }[name]


def case(name: str, how: str, rows: int, columns: int, dtype, options) -> Case:
    torch.manual_seed(0)
    text = str(dtype).removeprefix("torch.")
    x, w, b = torch.randn(rows, columns).to(dtype), torch.randn(columns).to(dtype), torch.randn(columns).to(dtype)
    out, theirs = torch.empty_like(x), torch.empty_like(x)
    function, kernel, peer, arguments = operation(name, x, w, b)
    bytes = 2 * x.numel() * x.element_size()

    def compiled():
        if options.quick:
            raise Missing("not in --quick")
        torch._dynamo.reset()
        call = torch.compile(peer, dynamic=False)
        return lambda: call(*arguments)

    def by_torch_out():
        if name != "softmax":
            raise Missing("torch has no out= for it")
        return lambda: torch.softmax(x, -1, out=theirs)

    def by_jax():
        if options.quick:
            raise Missing("not in --quick")
        return options.jax.call(name, arrays=[[list(t.shape), text] for t in arguments])

    if how == "given":
        ours = {"function": lambda: lambda: function(*arguments, out=out), "kernel": lambda: lambda: (kernel(*arguments, out), out)[1]}
        peers = {"torch": lambda: lambda: peer(*arguments), "torch_out": by_torch_out, "copy_stream": lambda: stream_copy.call(theirs, x, options.threads)}
    elif how == "user":
        ours = {"function": lambda: lambda: function(*arguments)}
        peers = {"torch": lambda: lambda: peer(*arguments), "torch.compile": compiled, "jax": by_jax}
    else:
        ours = {"function": lambda: fresh(lambda: function(*arguments))}
        peers = {"torch": lambda: lambda: peer(*arguments)}
    return Case(f"{name} {rows}x{columns} {how}", text, 0.0, bytes, ours, peers, shape={"rows": rows, "columns": columns, "how": how},
                tolerance=TOLERANCE[text], group=f"{name} {text} {how}")


def cases(options):
    for dtype in (torch.float32, torch.bfloat16):
        for rows, columns in SHAPES:
            for name in ("softmax", "layer_norm", "rms_norm"):
                for how in ("given", "user", "fresh"):
                    if how == "fresh" and rows != 4096:
                        continue
                    if options.wants(f"{name} {rows}x{columns} {how}", dtype, rows == 4096 and how != "fresh" and name != "rms_norm"):
                        yield case(name, how, rows, columns, dtype, options)


if __name__ == "__main__":
    harness.main(__doc__, "rows", cases)
