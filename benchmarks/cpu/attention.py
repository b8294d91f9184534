"""Attention: forward, S 128 to 8192, head sizes 64, 80 and 128, causal and full, grouped heads, and backward; against torch's SDPA, unfused torch and jax.

    python benchmarks/cpu/attention.py [--quick] [--threads 1,2] [--only S2048] [--json out.json]

`kernel` is kernels.flash_attention with a given output, `function` tsr.attention in a function. One batch entry; 8 heads, 4 at S 4096, 2 at
S 8192. Operations are those of the scores that are needed: half of them if causal.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import harness
import torch
from harness import Case
from peers import Missing

import tessera as tsr
from tessera import Tensor, kernels

HEADS = {128: 8, 512: 8, 2048: 8, 4096: 4, 8192: 2}
GROUPED = ((512, 64), (2048, 128))
QUICK = {"S512 D64 full", "S2048 D128 causal"}
TOLERANCE = {"float32": 2e-5, "bfloat16": 3e-2}


@tsr.function
def full(q: Tensor["B", "H", "S", "D"], k: Tensor["B", "HK", "S", "D"], v: Tensor["B", "HK", "S", "D"]):
    return tsr.attention(q, k, v)


@tsr.function
def masked(q: Tensor["B", "H", "S", "D"], k: Tensor["B", "HK", "S", "D"], v: Tensor["B", "HK", "S", "D"]):
    return tsr.attention(q, k, v, causal=True)


def unfused(q, k, v, causal: bool):
    """matmul, softmax, matmul: what one writes without a fused kernel."""
    group, size = q.shape[1] // k.shape[1], q.shape[2]
    mask = torch.ones(size, size, dtype=torch.bool).tril() if causal else None

    def run():
        keys, values = (k, v) if group == 1 else (k.repeat_interleave(group, 1), v.repeat_interleave(group, 1))
        scores = q @ keys.transpose(-2, -1) * q.shape[-1] ** -0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        return torch.softmax(scores, -1) @ values

    return run


def attention(size: int, depth: int, causal: bool, heads: int, key_heads: int, dtype, name: str, options) -> Case:
    torch.manual_seed(0)
    text = str(dtype).removeprefix("torch.")
    q = torch.randn(1, heads, size, depth).to(dtype)
    k, v = (torch.randn(1, key_heads, size, depth).to(dtype) for _ in range(2))
    out = torch.empty_like(q)

    def by_unfused():
        if size > 4096:
            raise Missing("its scores would take seconds per call")
        return unfused(q, k, v, causal)

    def by_jax():
        if options.quick or size > 2048:
            raise Missing("only up to S 2048: seconds per call")
        return options.jax.call("attention_causal" if causal else "attention", arrays=[[list(t.shape), text] for t in (q, k, v)])

    function, grouped = masked if causal else full, heads != key_heads
    return Case(
        name, text, 4.0 * heads * size * size * depth / (2 if causal else 1), q.element_size() * (2 * q.numel() + 2 * k.numel()),
        ours={"kernel": lambda: lambda: kernels.flash_attention(q, k, v, out, causal=causal),
              "function": lambda: lambda: function(q, k, v, out=out)},
        peers={"sdpa": lambda: lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=grouped),
               "unfused": by_unfused, "jax": by_jax},
        shape={"s": size, "d": depth, "causal": causal, "heads": heads, "key_heads": key_heads},
        amx=dtype == torch.bfloat16, tolerance=TOLERANCE[text], group=f"attention {text}")


def backward(size: int, depth: int, causal: bool, dtype, name: str, options) -> Case:
    """dQ, dK, dV from what the forward pass kept, against torch's gradient of its SDPA."""
    torch.manual_seed(0)
    text, heads = str(dtype).removeprefix("torch."), HEADS[size]
    q, k, v, grad = (torch.randn(1, heads, size, depth).to(dtype) for _ in range(4))

    def by_kernel():
        out, sums = kernels.attention_with_sums(q, k, v, causal=causal)
        return lambda: kernels.attention_gradient(q, k, v, out, sums, grad, causal=causal)

    def by_torch():
        leaves = [t.clone().requires_grad_() for t in (q, k, v)]
        result = torch.nn.functional.scaled_dot_product_attention(*leaves, is_causal=causal)
        return lambda: torch.autograd.grad(result, leaves, grad, retain_graph=True)

    return Case(name, text, 10.0 * heads * size * size * depth / (2 if causal else 1), 8 * q.numel() * q.element_size(), {"kernel": by_kernel},
                {"sdpa": by_torch}, shape={"s": size, "d": depth, "causal": causal, "heads": heads, "key_heads": heads}, amx=dtype == torch.bfloat16,
                tolerance=TOLERANCE[text] * 4, group=f"attention backward {text}")


def cases(options):
    for dtype in (torch.float32, torch.bfloat16):
        for size, heads in HEADS.items():
            for depth in (64, 80, 128):
                for causal in (False, True):
                    name = f"S{size} D{depth} {'causal' if causal else 'full'}"
                    if options.wants(name, dtype, name in QUICK):
                        yield attention(size, depth, causal, heads, heads, dtype, name, options)
        for size, depth in GROUPED:
            for causal in (False, True):
                name = f"S{size} D{depth} {'causal' if causal else 'full'} GQA 8:2"
                if options.wants(name, dtype, False):
                    yield attention(size, depth, causal, 8, 2, dtype, name, options)
        for size, depth in ((512, 64), (2048, 64), (2048, 128)):
            for causal in (False, True):
                name = f"S{size} D{depth} {'causal' if causal else 'full'} backward"
                if options.wants(name, dtype, False):
                    yield backward(size, depth, causal, dtype, name, options)


if __name__ == "__main__":
    harness.main(__doc__, "attention", cases)
