"""Programs that are not Python functions: `.tessera` files and texts.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import pathlib
import types

from . import compiler, language, source
from .errors import CompileError, FileError
from .function import Function
from .knobs import colour
from .wording import entry


def _names() -> dict:
    """What a `.tessera` file has without importing: `tsr`, `math` and the names of tessera."""
    import math

    import tessera

    names = {name: getattr(tessera, name) for name in tessera.__all__}
    for name in language.__all__:
        names.pop(name, None)  # only as tsr.zeros: `max` and `sum` are Python's here
    names.update(tsr=tessera, tessera=tessera, math=math)
    return names


@entry
def compile_source(text: str, name: str = "<source>") -> types.SimpleNamespace:
    """The functions and kernels of a program text, as attributes."""
    if not isinstance(text, str):
        raise CompileError(source.at_user(f"tsr.compile_source takes the text of a program, not {type(text).__name__}",
                                          "tsr.load_file(path)" if isinstance(text, pathlib.Path) else 'tsr.compile_source("""...""")', "compile_source"))
    lines = text.splitlines(keepends=True)
    found = compiler.parse_module(text, name, colour())
    names = _names()
    made = types.SimpleNamespace()
    for function, first, last, decorators in found:
        piece = source.Source("".join(lines[first - 1 : last]), name, first)
        kind = "kernel" if any("kernel" in d for d in decorators) else "function"
        fn = Function(None, kind, text=piece, names=names)
        fn.__name__ = fn.__qualname__ = function
        fn.__module__ = name
        _apply(fn, decorators, names)
        names[function] = fn
        setattr(made, function, fn)
    return made


def _apply(fn: Function, decorators: list[str], names: dict) -> None:
    """Decorators with options (`@tsr.accum(fp32)`); only calls of tessera's own names are evaluated."""
    import ast

    for text in decorators:
        tree = ast.parse(text, mode="eval").body
        called = tree.func if isinstance(tree, ast.Call) else tree
        root = called
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name) or root.id not in ("tsr", "tessera", "function", "kernel", "accum", "policy", "precision"):
            place = fn.source
            row = place.text.splitlines()[0]
            raise CompileError(source.render(place.file, place.first_line, 0, len(row), row, f"'@{text}' is no decorator of the language",
                                             "@tsr.function or @tsr.kernel"))
        if not isinstance(tree, ast.Call):
            continue
        arguments = [_value(a, names) for a in tree.args]
        keywords = {k.arg: _value(k.value, names) for k in tree.keywords}
        maker = names[root.id]
        for part in reversed(list(_chain(called))):
            maker = getattr(maker, part)
        maker(*arguments, **keywords)(fn)


def _chain(node):
    import ast

    while isinstance(node, ast.Attribute):
        yield node.attr
        node = node.value


def _value(node, names: dict):
    """A literal, a dtype, or dict(...) of them."""
    import ast

    if isinstance(node, ast.Name) and node.id in names:
        return names[node.id]
    if isinstance(node, ast.Attribute):
        return getattr(_value(node.value, names), node.attr)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        return {k.arg: _value(k.value, names) for k in node.keywords}
    if isinstance(node, ast.Dict):
        return {_value(k, names): _value(v, names) for k, v in zip(node.keys, node.values)}
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_value(e, names) for e in node.elts]
    return ast.literal_eval(node)


@entry
def load_file(path) -> types.SimpleNamespace:
    """The functions and kernels of a `.tessera` or `.tss` file."""
    try:
        path = pathlib.Path(path)
        text = path.read_text(encoding="utf-8")
    except (OSError, TypeError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        there = sorted(p.name for p in path.parent.glob("*.ts*")) if isinstance(path, pathlib.Path) and path.parent.is_dir() else []
        near = source.nearest(path.name, there, there[0] if there else "") if there else ""
        raise FileError(source.at_user(f"{str(path)!r} cannot be read: {why}",
                                       f'tsr.load_file("{path.parent / near}")' if near else 'tsr.load_file("program.tessera")', str(path))) from None
    return compile_source(text, source.relative(str(path)))
