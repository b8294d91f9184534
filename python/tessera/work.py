"""How many operations and bytes a call takes, counted from the tile-value stage and the plan of the version that runs it.

Operations: additions, multiplications, comparisons of two values and functions such as `exp` count one, a multiply-add two; elements
that do not exist (tiles past the end of a dim) are not counted. Bytes: arguments and results, each once.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import dataclasses

from .arguments import Spec


@dataclasses.dataclass
class KernelWork:
    """Of one launch. `products` are the operations of matrix products among `flops`, by the operands' dtype."""

    name: str
    flops: float = 0.0
    products: dict = dataclasses.field(default_factory=dict)
    unknown: str = ""  # what could not be counted

    @property
    def dtype(self) -> str:
        """What most of the products are made of; "" if they are not most of the work."""
        return max(self.products, key=self.products.get) if sum(self.products.values()) > 0.5 * self.flops else ""


def of_version(fn, spec: Spec, sizes: dict) -> dict[str, list[KernelWork]]:
    """Kernel -> its launches, of what a call runs; `sizes`: shapes by name of the arguments."""
    compilation = fn._with_key(lambda: fn._start(spec))
    compilation.lower("tile-value")
    launches: dict = {}
    for kernel, *counts in compilation.work({name: [int(size) for size in shape] for name, shape in sizes.items()}):
        launches.setdefault(kernel, []).append(KernelWork(kernel, *counts))
    return launches
