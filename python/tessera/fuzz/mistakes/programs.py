"""Right programs to make mistakes in: written ones under other names and sizes, generated ones, and kernels that ship.

A program ends in `result = f(...)`; its inputs are made in the lines above, as a user's file has them.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import os
import re

from ..generate import generate
from ..randomness import Random
from .functions import FUNCTIONS
from .tiles import TILES

HEAD = """import math

import numpy as np
import tessera as tsr
from tessera import InOut, Out, Region, Tensor, bf16, const, fp16, fp32, fp64, i8, i32, i64, reduce_sum

"""
# Names that users have; the first row is what the programs are written in. Dims, and the ranges over them.
DIMS = (("M", "N", "K"), ("ROWS", "COLS", "INNER"), ("S", "D", "T"), ("H", "W", "C"))
RANGES = {"M": "m", "N": "n", "K": "k", "ROWS": "row", "COLS": "col", "INNER": "inner", "S": "s", "D": "d", "T": "t", "H": "h", "W": "w", "C": "c"}
SIZES = {"50": (37, 50, 64, 41), "70": (70, 35, 96, 67), "40": (40, 24, 33, 48)}
FUNCTION_NAMES = ("f", "run", "compute", "layer", "transform")


def renamed(source: str, random: Random) -> str:
    """The program under other names and with other sizes."""
    names = dict(zip(DIMS[0], random.pick(DIMS)))
    words = {**names, **{RANGES[old]: RANGES[new] for old, new in names.items()}}
    taken = set(re.findall(r"\b[A-Za-z_]\w*", source)) - set(words)
    if taken & set(words.values()):
        words = {}
    words.update({size: str(random.pick(others)) for size, others in SIZES.items()})
    words["f"] = random.pick(FUNCTION_NAMES)
    return re.sub(r"(?<![\w.])(\w+)\b", lambda at: words.get(at[1], at[1]), source)


def written(random: Random) -> str:
    return HEAD + renamed(random.pick(TILES + FUNCTIONS).strip("\n"), random) + "\n"


def generated(random: Random) -> str:
    """A program of the generator, with its inputs as lines."""
    program = generate(random.below(10**6))
    lines = [line for line in program.text().splitlines() if not line.startswith("#")]
    head = lines.index("import tessera as tsr")
    lines.insert(head, "import numpy as np")
    lines.append("\n\nfrom tessera.fuzz.program import Input  # noqa: E402\n")
    given = [i for i in program.inputs if i.mode != "out" and not i.default]
    lines += [f"{i.name} = {i.scalar if i.scalar is not None else f'{i!r}.make()'}" for i in given]
    lines.append(f"result = f({', '.join(f'{i.name}={i.name}' for i in given)})")
    return "\n".join(lines) + "\n"


MADE = {"M": 37, "N": 24, "K": 40, "B": 2}
SHIPPED = (
    ("rows.py", "softmax", "X=MN"), ("rows.py", "softmax_gradient", "Y=MN dY=MN"), ("rows.py", "layer_norm", "X=MN weight=N bias=N"), ("rows.py", "rms_norm", "X=MN weight=N"),
    ("gemm.py", "gemm", "A=MK B=KN"), ("gemm.py", "linear_gelu", "X=MK W=NK bias=N"), ("gemm.py", "batched_gemm", "A=BMK W=BKN"),
)


def shipped(random: Random) -> str:
    """One kernel of tessera/kernels, cut out of its file with what the file imports."""
    import ast

    file, name, inputs = random.pick(SHIPPED)
    path = os.path.join(os.path.dirname(__file__), os.pardir, os.pardir, "kernels", file)
    with open(path) as opened:
        source = opened.read()
    lines, tree = source.splitlines(), ast.parse(source)
    node = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name)
    text = "\n".join(lines[node.decorator_list[0].lineno - 1 : node.end_lineno])
    made = ["rng = np.random.default_rng(7)"]
    given = [each.split("=") for each in inputs.split()]
    made += [f"{array} = rng.standard_normal(({', '.join(str(MADE[d]) for d in dims)},)).astype(np.float32)" for array, dims in given]
    made.append(f"result = {name}({', '.join(array for array, _ in given)})")
    return HEAD + "\n" + text + "\n\n\n" + "\n".join(made) + "\n"


KINDS = {written: 6, generated: 3, shipped: 1}


def program(random: Random) -> str:
    return random.weighted(KINDS)(random)
