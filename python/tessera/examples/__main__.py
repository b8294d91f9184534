"""Lists the examples, or runs one.

    python -m tessera.examples             # the list
    python -m tessera.examples gemm        # runs it, and says where the file is
    python -m tessera.examples all

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ast
import difflib
import pathlib
import runpy
import sys


def find() -> dict[str, pathlib.Path]:
    """The files by name: `gemm` for 03-gemm.py. Installed beside this one; in a source tree in examples/."""
    here = pathlib.Path(__file__).resolve().parent
    for folder in (here, here.parents[2] / "examples"):
        files = sorted(file for file in folder.glob("[0-9][0-9]-*") if file.suffix in (".py", ".tessera"))
        if files:
            return {file.stem[3:]: file for file in files}
    return {}


def summary(file: pathlib.Path) -> str:
    if file.suffix == ".tessera":
        return f"a file of the language: tsr.load_file({file.name!r}), or tesserac"
    text = ast.get_docstring(ast.parse(file.read_text())) or ""
    return text.splitlines()[0] if text else ""


def show(file: pathlib.Path) -> None:
    """What is in a file of the language: its text, then every kernel as Tile IR has it."""
    import tessera as tsr

    print(file.read_text())
    loaded = tsr.load_file(str(file))
    for name in dir(loaded):
        if hasattr(getattr(loaded, name), "inspect_ir"):
            print(getattr(loaded, name).inspect_ir("tile-value"))


def main(arguments: list[str]) -> int:
    files = find()
    if not arguments:
        for name, file in files.items():
            print(f"{name:14} {summary(file)}")
        print("\nrun one: python -m tessera.examples " + next(iter(files), "name"))
        return 0
    if arguments == ["all"]:
        arguments = list(files)
    for name in arguments:
        if name not in files:
            near = difflib.get_close_matches(name, files, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            print(f"no example is called {name!r}{hint} There are {', '.join(files)}", file=sys.stderr)
            return 2
    for name in arguments:
        print(f"# {files[name]}")
        if files[name].suffix == ".py":
            runpy.run_path(str(files[name]), run_name="__main__")
        else:
            show(files[name])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
