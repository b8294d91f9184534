"""Whole functions: element-wise and reduction chains, MLPs, a transformer layer, 2-D FFT; against torch eager, torch.compile and jax.

    python benchmarks/cpu/chains.py [--quick] [--threads 1,2] [--only mlp] [--json out.json]

All as a user calls them: results are made by the call. `constant`: ours with weights from `tsr.constant`; `torch.compile frozen` has them as parameters
that Inductor may fold and pack (`freezing`), both before anything is timed.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import harness
import torch
from harness import Case
from peers import Missing
from torch.nn import functional

import tessera as tsr
from tessera import Tensor, kernels

TOLERANCE = {"float32": 1e-4, "bfloat16": 3e-2}


@tsr.function
def gelu_scale_add(x: Tensor["M", "N"], w: Tensor["N"], b: Tensor["N"], r: Tensor["M", "N"]):
    return tsr.gelu(x * w + b) + r


@tsr.function
def gate(x: Tensor["M", "N"], y: Tensor["M", "N"]):
    return tsr.silu(x) * y


@tsr.function
def mean_square(x: Tensor["M", "N"]):
    return tsr.mean(x * x, dim=-1)


@tsr.function
def log_sum_exp(x: Tensor["M", "N"]):
    top = tsr.max(x, dim=-1, keepdim=True)
    return tsr.log(tsr.sum(tsr.exp(x - top), dim=-1, keepdim=True)) + top


@tsr.function
def column_sums(x: Tensor["M", "N"]):
    return tsr.sum(tsr.tanh(x), dim=0)


@tsr.function
def add_layer_norm(x: Tensor["M", "N"], r: Tensor["M", "N"], w: Tensor["N"], b: Tensor["N"]):
    return tsr.layer_norm(x + r, (x.shape[-1],), w, b)


@tsr.function
def mlp(x: Tensor["M", "K"], w: Tensor["K", "H"], b: Tensor["H"], v: Tensor["H", "N"], c: Tensor["N"]):
    return tsr.gelu(x @ w + b) @ v + c


@tsr.function
def gated_mlp(x: Tensor["M", "K"], w: Tensor["K", "H"], u: Tensor["K", "H"], v: Tensor["H", "N"]):
    return (tsr.silu(x @ w) * (x @ u)) @ v


@tsr.function
def layer(x: Tensor["B", "S", "E"], n1: Tensor["E"], wq: Tensor["E", "E"], wk: Tensor["E", "E"], wv: Tensor["E", "E"], wo: Tensor["E", "E"],
          n2: Tensor["E"], w1: Tensor["E", "F"], w2: Tensor["F", "E"]):
    """A transformer layer: heads of 64, rms_norm before attention and before the MLP."""
    B, S, E = x.shape
    h = tsr.rms_norm(x, (E,), n1, 1e-6)
    q = (h @ wq).reshape(B, S, E // 64, 64).transpose(1, 2)
    k = (h @ wk).reshape(B, S, E // 64, 64).transpose(1, 2)
    v = (h @ wv).reshape(B, S, E // 64, 64).transpose(1, 2)
    x = x + tsr.attention(q, k, v, causal=True).transpose(1, 2).reshape(B, S, E) @ wo
    return x + tsr.gelu(tsr.rms_norm(x, (E,), n2, 1e-6) @ w1) @ w2


def torch_layer(x, n1, wq, wk, wv, wo, n2, w1, w2):
    B, S, E = x.shape
    h = functional.rms_norm(x, (E,), n1, 1e-6)
    q, k, v = ((h @ w).reshape(B, S, E // 64, 64).transpose(1, 2) for w in (wq, wk, wv))
    x = x + functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(B, S, E) @ wo
    return x + functional.gelu(functional.rms_norm(x, (E,), n2, 1e-6) @ w1) @ w2


class Frozen(torch.nn.Module):
    """A function whose weights are parameters."""

    def __init__(self, function, weights):
        super().__init__()
        self.function = function
        self.weights = torch.nn.ParameterList(torch.nn.Parameter(w, requires_grad=False) for w in weights)

    def forward(self, x):
        return self.function(x, *self.weights)


# name: ours, torch's, letters of the arguments' shapes, passes over [M, N] in bytes, the peer of jax
CHAINS = {
    "gelu(x*w+b)+r": (gelu_scale_add, lambda x, w, b, r: functional.gelu(x * w + b) + r, ("MN", "N", "N", "MN"), 3, "gelu_scale_add"),
    "silu(x)*y": (gate, lambda x, y: functional.silu(x) * y, ("MN", "MN"), 3, "gate"),
    "mean(x*x)": (mean_square, lambda x: (x * x).mean(-1), ("MN",), 1, "mean_square"),
    "logsumexp": (log_sum_exp, lambda x: torch.logsumexp(x, -1, keepdim=True), ("MN",), 1, ""),
    "sum(tanh(x)), columns": (column_sums, lambda x: torch.tanh(x).sum(0), ("MN",), 1, ""),
    "layer_norm(x+r)": (add_layer_norm, lambda x, r, w, b: functional.layer_norm(x + r, (x.shape[-1],), w, b), ("MN", "MN", "N", "N"), 3, ""),
}
SIZES = ((4096, 4096), (512, 1024))
MLPS = ((128, 1024, 4096), (1024, 1024, 4096), (2048, 512, 2048))
LAYERS = ((1, 128), (1, 512), (1, 2048), (8, 128), (4, 512), (8, 512))


def case(name, text, flops, bytes, ours, peer, arguments, options, jax="", group="", amx=False, shape=None, weights=False) -> Case:
    """`weights`: all arguments but the first are some."""

    def compiled():
        if options.quick and "silu" not in name:
            raise Missing("not in --quick")
        torch._dynamo.reset()
        call = torch.compile(peer, dynamic=False)
        return lambda: call(*arguments)

    def by_jax():
        if options.quick or not jax:
            raise Missing("not in --quick" if jax else "not written for jax")
        return options.jax.call(jax, arrays=[[list(t.shape), text] for t in arguments])

    def kept():
        given = (arguments[0], *map(tsr.constant, arguments[1:]))
        return lambda: ours(*given)

    def frozen():
        if options.quick:
            raise Missing("not in --quick")
        module = Frozen(peer, arguments[1:])
        torch._dynamo.reset()
        with torch._inductor.config.patch(freezing=True), torch.no_grad():
            call = torch.compile(module, dynamic=False)
            call(arguments[0])

        def run():
            with torch.no_grad():
                return call(arguments[0])

        return run

    mine = {"function": lambda: lambda: ours(*arguments)} | ({"constant": kept} if weights else {})
    peers = {"torch": lambda: lambda: peer(*arguments), "torch.compile": compiled} | ({"torch.compile frozen": frozen} if weights else {}) | {"jax": by_jax}
    return Case(name, text, flops, bytes, mine, peers, shape=shape or {},
                amx=amx, tolerance=TOLERANCE[text], group=f"{group} {text}")


def chain(name, dtype, rows, columns, options) -> Case:
    torch.manual_seed(0)
    ours, peer, letters, passes, jax = CHAINS[name]
    arguments = [torch.randn(*((rows, columns) if letter == "MN" else (columns,))).to(dtype) for letter in letters]
    bytes = passes * rows * columns * arguments[0].element_size()
    text = str(dtype).removeprefix("torch.")
    return case(f"{name} {rows}x{columns}", text, 0.0, bytes, ours, peer, arguments, options, jax, "chain", shape={"rows": rows, "columns": columns})


def block(kind, dtype, rows, width, hidden, options) -> Case:
    torch.manual_seed(0)
    text = str(dtype).removeprefix("torch.")
    made = lambda *shape: (torch.randn(*shape) * shape[0] ** -0.5).to(dtype)  # noqa: E731
    x = torch.randn(rows, width).to(dtype)
    if kind == "mlp":
        arguments = (x, made(width, hidden), made(hidden), made(hidden, width), made(width))
        ours, peer, products = mlp, lambda x, w, b, v, c: functional.gelu(x @ w + b) @ v + c, 2
    else:
        arguments = (x, made(width, hidden), made(width, hidden), made(hidden, width))
        ours, peer, products = gated_mlp, lambda x, w, u, v: (functional.silu(x @ w) * (x @ u)) @ v, 3
    bytes = sum(t.numel() for t in (*arguments, x)) * x.element_size()
    return case(f"{kind} {rows}x{width}x{hidden}", text, 2.0 * products * rows * width * hidden, bytes, ours, peer, arguments, options,
                "mlp" if kind == "mlp" else "", "mlp", amx=dtype == torch.bfloat16, shape={"m": rows, "k": width, "h": hidden}, weights=True)


def transformer(batch, size, dtype, options, width=512) -> Case:
    torch.manual_seed(0)
    text = str(dtype).removeprefix("torch.")
    made = lambda *shape: (torch.randn(*shape) * shape[0] ** -0.5).to(dtype)  # noqa: E731
    x, n1, n2 = torch.randn(batch, size, width).to(dtype), torch.ones(width, dtype=dtype), torch.ones(width, dtype=dtype)
    arguments = (x, n1, *(made(width, width) for _ in range(4)), n2, made(width, 4 * width), made(4 * width, width))
    flops = batch * size * (2.0 * width * 12 * width + 2.0 * size * width)
    bytes = sum(t.numel() for t in (*arguments, x)) * x.element_size()
    return case(f"layer B{batch} S{size} E{width}", text, flops, bytes, layer, torch_layer, arguments, options, "", "layer",
                amx=dtype == torch.bfloat16, shape={"batch": batch, "s": size, "e": width}, weights=True)


def fourier(n: int, options) -> Case:
    import math

    torch.manual_seed(0)
    x = torch.randn(n, n, dtype=torch.complex64)
    array = x.numpy()

    def by_jax():
        if options.quick:
            raise Missing("not in --quick")
        return options.jax.call("fft2", arrays=[[[n, n], "complex64"]])

    # The usual count of a fast transform, 5 N log2 N, whatever a program does.
    return Case(f"fft2 {n}", "float32", 5.0 * n * n * 2 * math.log2(n), 4 * x.numel() * 8, {"kernel": lambda: lambda: kernels.fft2(array)},
                {"torch": lambda: lambda: torch.fft.fft2(x), "jax": by_jax}, shape={"n": n}, tolerance=1e-5, group="fft2 complex64")


def cases(options):
    both = (torch.float32, torch.bfloat16)
    for dtype in both:
        for rows, columns in SIZES:
            for name in CHAINS:
                if options.wants(f"{name} {rows}x{columns}", dtype, rows == 4096 and name in ("silu(x)*y", "mean(x*x)")):
                    yield chain(name, dtype, rows, columns, options)
    for dtype in both:
        for kind in ("mlp", "gated_mlp"):
            for rows, width, hidden in MLPS:
                if options.wants(f"{kind} {rows}x{width}x{hidden}", dtype, kind == "mlp" and rows == 1024):
                    yield block(kind, dtype, rows, width, hidden, options)
    for batch, size in LAYERS:
        if options.wants(f"layer B{batch} S{size} E512", torch.bfloat16, (batch, size) == (1, 512)):
            yield transformer(batch, size, torch.bfloat16, options)
    for n in (256, 512, 1000, 1024, 2048):
        if options.wants(f"fft2 {n}", torch.float32, n == 512):
            yield fourier(n, options)


if __name__ == "__main__":
    harness.main(__doc__, "chains", cases)
