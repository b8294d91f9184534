"""What each variant of a plain product buys: all variants against the same schedule without that one, on the calls it is for.

    python benchmarks/cpu/variants.py [--seconds 0.5] [--check]   # --check fails where a variant does not pay

`a @ b` and `a @ w.T` in float32, float16 and bfloat16; the variants and the calls they are for are read from the schedule. Interleaved; the
ratio is the time without the variant / with it, the geometric mean over the calls.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse
import math
import pathlib
import re
import sys

import torch

import tessera as tsr

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import interleaved  # noqa: E402


@tsr.function
def product(a: tsr.Tensor["M", "K"], b: tsr.Tensor["K", "N"]):
    return a @ b


@tsr.function
def turned(a: tsr.Tensor["M", "K"], w: tsr.Tensor["N", "K"]):
    return a @ w.T


VARIANT = re.compile(r"#sched\.variant<(\w+), (\w+), \[[\d, ]+\], <(.*?)>>")
DEPTHS, COLUMNS = (512, 2048), (512, 4096)


def calls_of(when: str) -> list[tuple[int, int, int]]:
    """Sizes M, N, K of calls that a variant is for: its largest and half of it, else what is usual."""
    bounds = {key: (int(least), int(most)) for key, least, most in re.findall(r"(\w+) = \[(\d+), (\d+)\]", when)}

    def sizes(key, usual):
        least, most = bounds.get(key, (0, 0))
        if most:
            return sorted({max(least, most // 2, 1), most})
        return sorted({max(least, size) for size in usual})

    return [(m, n, k) for m in sizes("rows", (512, 2048)) for n in sizes("columns", COLUMNS) for k in sizes("depth", DEPTHS)]


def measure(function, dtype, seconds: float):
    """(variant, calls, geometric mean, least and most ratio) of each variant that a call of this function can take."""
    columns_first = function is turned
    element = {torch.float32: tsr.fp32, torch.float16: tsr.fp16, torch.bfloat16: tsr.bf16}[dtype]
    text = function.inspect_ir("sched", a=element, **{"w" if columns_first else "b": element})
    whole = function.resume(text)
    variants = list(VARIANT.finditer(text))
    for variant in variants:
        name, _, when = variant.groups()
        if columns_first != ("column_major" in when and "not_column_major" not in when):
            continue
        without = function.resume(re.sub(r"\[, ", "[", re.sub(r",? *" + re.escape(variant[0]), "", text)))
        ratios = []
        for m, n, k in calls_of(when):
            a, b = torch.randn(m, k, dtype=torch.float32).to(dtype), torch.randn(k, n, dtype=torch.float32).to(dtype)
            b = b.T.contiguous() if columns_first else b
            found = interleaved.compare(lambda: without(a, b), lambda: whole(a, b), seconds)
            ratios.append(found["ours_over_peer"])
        yield name, len(ratios), math.exp(sum(map(math.log, ratios)) / len(ratios)), min(ratios), max(ratios)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=0.5, help="per call")
    parser.add_argument("--check", action="store_true", help="fail if a variant does not pay")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{interleaved.machine()['cpu']}\n\n{'product':10} {'element':10} {'variant':12} {'calls':>5} {'gain':>7}   least   most")
    idle = []
    for function in (product, turned):
        for dtype in (torch.float32, torch.float16, torch.bfloat16):
            for name, calls, mean, least, most in measure(function, dtype, options.seconds):
                element = str(dtype).removeprefix("torch.")
                print(f"{function.__name__:10} {element:10} {name:12} {calls:5} {mean:6.2f}x  {least:5.2f}x {most:5.2f}x", flush=True)
                if mean <= 1.0:
                    idle.append(f"{element} {name}")
    if idle:
        print(f"\ndo not pay on this machine: {', '.join(idle)}")
    return 1 if idle and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
