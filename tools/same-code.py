"""Whether two builds compile programs to the same code: for moves and rewrites that must not change it.

    python tools/same-code.py > before.txt      # with the one build
    python tools/same-code.py > after.txt       # with the other
    diff before.txt after.txt

A line for each program and machine: digests of the plan and of the LLVM IR (on GPUs the PTX) of all its kernels, or the error. The programs are
generated (python -m tessera.fuzz) from seeds, and the kernels that ship in the forms of benchmarks/gpu_compile_time.py.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import argparse
import hashlib
import os
import pathlib
import re
import sys
import tempfile
import warnings

os.environ["TESSERA_CACHE"] = "off"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "benchmarks"))

from gpu_compile_time import HEADLINE  # noqa: E402
from tessera import TesseraError, arguments, machines  # noqa: E402
from tessera.arguments import Spec  # noqa: E402
from tessera.fuzz.generate import generate  # noqa: E402

TARGETS = ("cpu:avx2", "cpu:avx512", "sm_80")


def code(compilation, target: str) -> str:
    made = compilation.emit("llvm" if machines.of(target).in_process else "ptx")
    return f"{digest(compilation.plan)} {digest(made)}"


def digest(text: str) -> str:
    """Without the folders of the sources, which stand in it for profilers and messages of asserts."""
    text = re.sub(r"(/[\w.-]+)+/([\w-]+\.py)", r"\2", text)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def generated(seed: int, target: str, folder: str) -> str:
    program = generate(seed)
    fn = program.load(folder)

    def start():
        specs, _, _ = arguments.argument_specs(fn, arguments.bind(fn, (), program.arguments()), "cpu")
        return fn._start(Spec(specs, fn.capture()[0], target, fn.options.tuned))

    return code(fn._with_key(start), target)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=100)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        rows = [(f"seed {seed}", lambda target, seed=seed: generated(seed, target, folder)) for seed in range(1, given.seeds + 1)]
        rows += [(name, lambda target, fn=fn, words=words: code(fn._start(arguments.spec_from_words(fn, target, words)), target))
                 for name, (fn, words) in HEADLINE.items()]
        for number, (name, make) in enumerate(rows):
            if sys.stderr.isatty():
                print(f"\r{number + 1} of {len(rows)}", end="", file=sys.stderr)
            for target in TARGETS:
                try:
                    found = make(target)
                except (TesseraError, NotImplementedError) as error:
                    found = "refused: " + str(error).splitlines()[0].replace(folder, "")
                print(name, target, found, flush=True)


if __name__ == "__main__":
    main()
