"""Operations as users write them, one by one, against torch eager: a search for losses beside the shapes of benchmarks/cpu.

    python benchmarks/cpu_survey.py [--threads 1] [--only argmax] [--below 0.8]   # --below: only these, and exit 1 if there are any

The ratio is torch's time / ours, the median of 9 interleaved rounds. Results of the call: pooled memory, as a user gets it.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse
import sys

import interleaved
import torch
import torch.nn.functional as functional

import tessera as tsr
from tessera import Tensor


@tsr.function
def linear(x: Tensor["M", "K"], w: Tensor["N", "K"]):
    return x @ w.T


@tsr.function
def linear_relu(x: Tensor["M", "K"], w: Tensor["N", "K"], b: Tensor["N"]):
    return tsr.relu(x @ w.T + b)


@tsr.function
def turned(a: Tensor["K", "M"], b: Tensor["K", "N"]):
    return a.T @ b


@tsr.function
def by_vector(a: Tensor["M", "K"], v: Tensor["K"]):
    return a @ v


@tsr.function
def vector_by(v: Tensor["K"], b: Tensor["K", "N"]):
    return v @ b


@tsr.function
def batched(a: Tensor["B", "M", "K"], b: Tensor["B", "K", "N"]):
    return a @ b


@tsr.function
def batched_turned(a: Tensor["B", "M", "K"], b: Tensor["B", "N", "K"]):
    return a @ b.mT


@tsr.function
def sum_of_columns(x: Tensor["M", "N"]):
    return tsr.sum(x, axis=0)


@tsr.function
def sum_of_rows(x: Tensor["M", "N"]):
    return tsr.sum(x, axis=1)


@tsr.function
def sum_of_all(x: Tensor["M", "N"]):
    return tsr.sum(x)


@tsr.function
def greatest(x: Tensor["M", "N"]):
    return tsr.max(x, axis=1)


@tsr.function
def place_of_greatest(x: Tensor["M", "N"]):
    return tsr.argmax(x, axis=1)


@tsr.function
def running_sum(x: Tensor["M", "N"]):
    return tsr.cumsum(x, axis=1)


@tsr.function
def variance(x: Tensor["M", "N"]):
    return tsr.var(x, axis=1)


@tsr.function
def softmax_of_columns(x: Tensor["M", "N"]):
    return tsr.softmax(x, axis=0)


@tsr.function
def cube(x: Tensor["M", "N"]):
    return x ** 3


@tsr.function
def gelu(x: Tensor["M", "N"]):
    return tsr.gelu(x)


@tsr.function
def silu(x: Tensor["M", "N"]):
    return tsr.silu(x)


@tsr.function
def tanh(x: Tensor["M", "N"]):
    return tsr.tanh(x)


@tsr.function
def exp(x: Tensor["M", "N"]):
    return tsr.exp(x)


@tsr.function
def add(x: Tensor["M", "N"], y: Tensor["M", "N"]):
    return x + y


@tsr.function
def choose(x: Tensor["M", "N"], y: Tensor["M", "N"]):
    return tsr.where(x > y, x, y)


@tsr.function
def loss(x: Tensor["M", "N"], t: Tensor["M"]):
    return tsr.cross_entropy(x, t)


@tsr.function
def rows_of_a_table(x: Tensor["V", "N"], i: Tensor["M"]):
    return x[i]


def cases(dtype):
    """(name, our function, torch's, arguments)"""
    made = lambda *shape: torch.randn(*shape).to(dtype)  # noqa: E731
    for m, n, k in ((1, 4096, 4096), (1, 4096, 1024), (8, 4096, 4096), (8, 4096, 1024), (64, 1024, 1024), (512, 1024, 1024), (2048, 1024, 1024)):
        yield f"x @ w.T {m}x{n}x{k}", linear, functional.linear, (made(m, k), made(n, k))
    yield "relu(x @ w.T + b) 512x1024x1024", linear_relu, lambda x, w, b: functional.relu(functional.linear(x, w, b)), (made(512, 1024), made(1024, 1024), made(1024))
    for m, n, k in ((256, 256, 2048), (1024, 1024, 1024)):
        yield f"a.T @ b {m}x{n}x{k}", turned, lambda a, b: a.T @ b, (made(k, m), made(k, n))
    yield "a @ v 4096x4096", by_vector, torch.mv, (made(4096, 4096), made(4096))
    yield "v @ b 4096x4096", vector_by, torch.matmul, (made(4096), made(4096, 4096))
    for b, m, n, k in ((64, 1, 4096, 64), (32, 8, 512, 64), (32, 128, 128, 64)):
        yield f"a @ b {b}x{m}x{n}x{k}", batched, torch.bmm, (made(b, m, k), made(b, k, n))
        yield f"a @ b.mT {b}x{m}x{n}x{k}", batched_turned, lambda a, b: torch.bmm(a, b.mT), (made(b, m, k), made(b, n, k))
    x, y = made(2048, 4096), made(2048, 4096)
    for ours, peer in ((sum_of_columns, lambda x: x.sum(0)), (sum_of_rows, lambda x: x.sum(1)), (sum_of_all, torch.sum), (greatest, lambda x: x.amax(1)),
                       (place_of_greatest, lambda x: x.argmax(1)), (running_sum, lambda x: x.cumsum(1)), (variance, lambda x: x.var(1, correction=0)),
                       (softmax_of_columns, lambda x: torch.softmax(x, 0)), (cube, lambda x: x ** 3), (gelu, functional.gelu), (silu, functional.silu),
                       (tanh, torch.tanh), (exp, torch.exp)):
        yield f"{ours.__name__} 2048x4096", ours, peer, (x,)
    yield "add 2048x4096", add, torch.add, (x, y)
    yield "choose 2048x4096", choose, lambda x, y: torch.where(x > y, x, y), (x, y)
    yield "loss 512x32000", loss, functional.cross_entropy, (made(512, 32000), torch.randint(0, 32000, (512,)))
    yield "rows_of_a_table 2048 of 32000x1024", rows_of_a_table, lambda x, i: x[i], (made(32000, 1024), torch.randint(0, 32000, (2048,)))
    yield "gelu 64x256", gelu, functional.gelu, (made(64, 256),)
    yield "sum_of_rows 64x256", sum_of_rows, lambda x: x.sum(1), (made(64, 256),)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--below", type=float)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    lost = 0
    for dtype in (torch.float32, torch.bfloat16):
        for name, ours, peer, arguments in cases(dtype):
            title = f"{str(dtype).removeprefix('torch.'):9} {name}"
            if options.only not in title:
                continue
            found = interleaved.compare(lambda: ours(*arguments), lambda: peer(*arguments), seconds=0.3, rounds=9)
            ratio = 1 / found["ours_over_peer"]
            lost += options.below is not None and ratio < options.below
            if options.below is None or ratio < options.below:
                print(f"{title:50} {ratio:6.2f}   {found['ours_s'] * 1e6:9.0f} us, torch {found['peer_s'] * 1e6:9.0f} us", flush=True)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
