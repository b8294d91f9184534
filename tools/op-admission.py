#!/usr/bin/env python3
"""Op admission: an op of the language has a reference, a bound, a rule of the program generator and tests, or CI fails.

    python tools/op-admission.py            # writes docs/reference/admission.md
    python tools/op-admission.py --check    # fails if an op lacks something, or the page is stale

The table is made from what exists: the ops from TableGen, the references from the interpreter's handlers, precision and ring class from
ScalarOps.def, the generator's seeds from generating programs and looking at their IR, the tests from the files that name the op.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import pathlib
import re
import sys
import tempfile
import warnings

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
SEEDS = 1200
STRUCTURE = {"gir.yield", "gir.condition", "gir.kernel", "tile.func", "tile.return", "tile.yield", "tile.nest_yield"}
# Ops the generator does not reach, and why.
NOT_GENERATED = {
    "gir.print": "writes a line; test/numerics/test_print.py",
    "gir.check": "fails a call; test/numerics/test_control_flow.py",
    "gir.report_index": "what gir.check_indices becomes; test/numerics/test_indices.py",
    "gir.bind_dims": "names axes, computes nothing",
    "tile.print": "writes a line; test/numerics/test_print.py",
    "tile.assert": "fails a launch; debug builds",
    "tile.rand": "random numbers: the same on every target, test/numerics/test_tile_ops.py",
    "tile.filled": "sums of it are not stored by generated kernels, test/numerics/test_tile_ops.py",
    "tile.cat": "tiles of whole axes, test/numerics/test_tile_ops.py",
    "tile.reshape": "tiles of whole axes, test/numerics/test_tile_ops.py",
}
# Defined and verified, but refused by the mapped contract until a machine is lowered to with them.
NOT_LOWERED = {"tile.mma_async", "tile.mma_wait", "tile.roles"}
# What Bound.cpp derives for ops that are not scalar ones.
BOUNDS = {
    "reduce": "gamma(n) of the magnitudes; max, min exact", "scan": "gamma(i) of the magnitudes", "gemm": "gamma(k) of the magnitudes", "mma": "gamma(k) of the magnitudes",
    "softmax": "of its steps", "layer_norm": "of its steps", "cross_entropy": "of its steps", "attention": "of its steps, a rescaling per 16 keys", "cast": "one rounding",
    "atomic": "one rounding each", "store": "one rounding",
}
GPU = "GPU pipelines; compiler/Tile/test, test/gpu"


def table_gen(path: str, dialect: str) -> list:
    return [f"{dialect}.{name}" for name in re.findall(r'^def \w+ : \w+<"(\w+)"', (ROOT / path).read_text(), re.M)]


def reached(wanted: set) -> dict:
    """op -> the first seed whose program has it."""
    from tessera import oracle
    from tessera.fuzz import generate

    found, missing = {}, set(wanted)
    word = re.compile(r"\b((?:gir|tile)\.[a-z_0-9]+)\b")
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(SEEDS):
            if not missing:
                break
            program = generate(seed)
            stage, _ = oracle.prepare(program.load(folder), (), program.arguments(), "graph")
            for name in ("graph", "tile-value", "tile"):
                stage.compilation.lower(name)
                for op in set(word.findall(stage.compilation.print())) & missing:
                    found[op] = seed
                    missing.discard(op)
    return found


def tests_of(op: str, texts: dict) -> list:
    pattern = re.compile(rf"\b{re.escape(op)}\b")
    short = re.compile(rf"\btsr\.{re.escape(op.partition('.')[2])}\b")
    return [name for name, text in texts.items() if pattern.search(text) or short.search(text)]


def rows():
    from tessera import compiler

    handled = set(compiler.interpreted_ops())
    scalars = {name: (precision, ring) for name, _, precision, ring in compiler.scalar_ops()}
    scalars["select"] = ("exact", "exact")
    ops = [op for op in table_gen("compiler/Graph/IR/GraphOps.td", "gir") + table_gen("compiler/Tile/IR/TileOps.td", "tile") if op not in STRUCTURE | NOT_LOWERED]
    mapped = (ROOT / "compiler/Tile/IR/TileOps.td").read_text().partition("// Mapped level")[2]
    gpu = {f"tile.{name}" for name in re.findall(r'^def \w+ : \w+<"(\w+)"', mapped, re.M)}
    seeds = reached({op for op in ops if op not in NOT_GENERATED})
    texts = {}
    for path in [*ROOT.glob("test/**/*.py"), *ROOT.glob("compiler/**/test/*.mlir"), *ROOT.glob("test/**/*.mlir")]:
        texts[path.relative_to(ROOT).as_posix()] = path.read_text(errors="replace")
    for op in ops:
        name = op.partition(".")[2]
        precision, ring = scalars.get(name, ("", ""))
        bound = {"exact": "exact", "rounded": "one rounding", "2 ulp": "2 ULP", "composed": "as docs/language.md says"}.get(precision) or BOUNDS.get(name, "exact (moves or names values)")
        generated = f"seed {seeds[op]}" if op in seeds else NOT_GENERATED.get(op) or (GPU if op in gpu else "")
        tests = tests_of(op, texts)
        yield op, "yes" if op in handled else "", bound, ring or "exact", generated, f"{len(tests)}: {tests[0]}" if tests else ""


def main() -> int:
    found = list(rows())
    lacking = [f"{op} has no {what}" for op, *cells in found for what, cell in zip(("reference", "bound", "ring class", "rule of the generator", "test"), cells) if not cell]
    page = ["<!-- Generated by tools/op-admission.py. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception -->", "# Op admission", "",
            "Each op has a reference in the interpreter, a derived bound, a class in the ring, a rule of the program generator (the first seed that reaches it) and tests (how many files name it, and one of them).", "",
            "| op | reference | bound | ring | generated | tests |", "|---|---|---|---|---|---|"]
    page += ["| " + " | ".join(f"`{cell}`" if i == 0 else cell for i, cell in enumerate(row)) + " |" for row in found]
    text = "\n".join(page) + "\n"
    path = ROOT / "docs/reference/admission.md"
    if "--check" in sys.argv:
        shape = lambda t: re.sub(r"seed \d+|\d+: \S+", "", t)
        if not path.exists() or shape(path.read_text()) != shape(text):
            lacking.append("docs/reference/admission.md is stale; run tools/op-admission.py")
    else:
        path.write_text(text)
    print("\n".join(lacking) or f"admission ok ({len(found)} ops)")
    return bool(lacking)


if __name__ == "__main__":
    sys.exit(main())
