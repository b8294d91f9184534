"""Matrix products: f32, bf16, f16 and i8, 30 shapes, against torch (MKL, oneDNN inside), bare oneDNN, OpenBLAS and jax.

    python benchmarks/cpu/gemm.py [--quick] [--threads 1,2] [--only 1024] [--json out.json]

Outputs are given. `onednn` takes row-major operands as it likes; `onednn_packed` has its weights packed once, `onednn_reorder` packs them
in every call; `torch_packed` is torch's own oneDNN with packed weights. Ours packs in every call; `constant` is `function` with a right
operand that `tsr.constant` made: packed once.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import harness
import torch
from harness import Case
from peers import Missing, onednn, openblas

import tessera as tsr
from tessera import Tensor, kernels

SQUARES = (64, 96, 128, 192, 256, 384, 512, 768, 1000, 1023, 1024, 1536, 2048)
SKINNY = ((1, 4096, 4096), (4, 4096, 4096), (16, 4096, 4096), (64, 4096, 4096), (4096, 16, 4096), (4096, 64, 1024), (128, 4096, 1024),
          (1024, 128, 4096), (32, 32, 16384), (2048, 2048, 64), (4096, 4096, 32), (1000, 17, 333))
BATCHED = ((8, 128, 128, 64), (16, 256, 256, 64), (8, 512, 512, 64), (32, 64, 64, 64), (4, 512, 512, 512))
QUICK = {"256", "1000", "1024", "16x4096x4096", "16x256x256x64"}
TOLERANCE = {"float32": 1e-5, "bfloat16": 1.6e-2, "float16": 2e-3, "int8": 1e-12}


@tsr.function
def matmul(a: Tensor["M", "K"], b: Tensor["K", "N"]):
    return a @ b


@tsr.function
def batched_matmul(a: Tensor["B", "M", "K"], b: Tensor["B", "K", "N"]):
    return a @ b


def shapes():
    for n in SQUARES:
        yield str(n), 0, n, n, n
    for m, n, k in SKINNY:
        yield f"{m}x{n}x{k}", 0, m, n, k
    for batch, m, n, k in BATCHED:
        yield f"{batch}x{m}x{n}x{k}", batch, m, n, k


def packed_by_torch(a, b):
    """torch's oneDNN with a weight in its own layout, as its frozen graphs use it."""
    if a.dim() == 3 or a.dtype == torch.int8:
        raise Missing("torch packs weights of linear layers only")
    weight = torch.ops.mkldnn._reorder_linear_weight(b.T.contiguous(), a.shape[0])
    return lambda: torch.ops.mkldnn._linear_pointwise(a, weight, None, "none", [], "")


def product(name: str, batch: int, m: int, n: int, k: int, dtype, options) -> Case:
    torch.manual_seed(0)
    lead = (batch,) if batch else ()
    integer, text = dtype == torch.int8, str(dtype).removeprefix("torch.")
    if integer:
        a, b = torch.randint(-128, 128, (*lead, m, k), dtype=dtype), torch.randint(-128, 128, (*lead, k, n), dtype=dtype)
    else:
        a, b = torch.randn(*lead, m, k).to(dtype), torch.randn(*lead, k, n).to(dtype)
    result = torch.int32 if integer else dtype
    c = torch.empty(*lead, m, n, dtype=result)
    out = torch.empty_like(c)

    def given(call):  # what was computed is looked at, not what was returned
        def run():
            call()
            return c

        return run

    def by_torch():
        if integer:
            if batch:
                raise Missing("torch._int_mm has no batch")
            return lambda: torch._int_mm(a, b, out=out)
        return lambda: torch.matmul(a, b, out=out)

    kernel = kernels.batched_gemm if batch else kernels.gemm
    constants = {"ACC": tsr.i32} if integer else {}
    function = batched_matmul if batch else matmul
    ours = {"function": lambda: lambda: function(a, b, out=c), "kernel": lambda: lambda: kernel(a, b, c, **constants)}
    if integer:  # 8-bit integers are for kernels
        ours = {"kernel": ours["kernel"]}

        def kept():
            weights = tsr.constant(b)
            return lambda: kernel(a, weights, c, **constants)
    else:
        def kept():
            weights = tsr.constant(b)
            return lambda: function(a, weights, out=c)
    ours["constant"] = kept
    peers = {
        "torch": by_torch,
        "onednn": lambda: given(onednn.Call(onednn.PLAIN, a, b, c)),
        "onednn_packed": lambda: given(onednn.Call(onednn.PACKED, a, b, c)),
        "onednn_reorder": lambda: given(onednn.Call(onednn.REORDER, a, b, c)),
        "torch_packed": lambda: packed_by_torch(a, b),
        "openblas": lambda: given(openblas.call(a, b, c)),
        "jax": lambda: options.jax.call("matmul", arrays=[[list(t.shape), text] for t in (a, b)]),
    }
    if options.quick or integer:
        peers.pop("jax")
    if integer:
        peers.pop("torch_packed")
    size = a.element_size()
    return Case(name, text, 2.0 * max(batch, 1) * m * n * k, max(batch, 1) * (size * (m * k + k * n) + c.element_size() * m * n), ours, peers,
                shape={"batch": batch, "m": m, "n": n, "k": k}, amx=dtype in (torch.bfloat16, torch.int8), tolerance=TOLERANCE[text],
                group=f"gemm {text}")


def constant(n: int, dtype, options) -> Case:
    """The right operand is a captured constant: packed once, before anything is timed."""
    case = product(f"{n} constant", 0, n, n, n, dtype, options)
    torch.manual_seed(0)  # as product() has them
    a, weights = torch.randn(n, n).to(dtype), torch.randn(n, n).to(dtype)
    weights, c = tsr.constant(weights), torch.empty(n, n, dtype=dtype)

    @tsr.function
    def times_weights(a: Tensor["M", "K"]):
        return a @ weights

    case.ours = {"function": lambda: lambda: times_weights(a, out=c)}
    case.peers = {name: case.peers[name] for name in ("torch", "onednn_packed", "torch_packed")}
    case.group += " constant"
    return case


def cases(options):
    for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.int8):
        for name, batch, m, n, k in shapes():
            if not options.wants(name, dtype, quick=name in QUICK and dtype in (torch.float32, torch.bfloat16)):
                continue
            yield product(name, batch, m, n, k, dtype, options)
    for dtype in (torch.float32, torch.bfloat16):
        for n in (1024, 2048):
            if options.wants(f"{n} constant", dtype, quick=False):
                yield constant(n, dtype, options)


if __name__ == "__main__":
    harness.main(__doc__, "gemm", cases)
