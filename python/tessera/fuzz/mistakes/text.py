"""A program as text and as Python's syntax tree: nodes are found in the tree, and the text is edited where they stand.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ast
import dataclasses


class Text:
    """A program's text; spans are (begin, end) offsets in it."""

    def __init__(self, source: str):
        self.source = source
        self.tree = ast.parse(source)
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def offset(self, line: int, column: int) -> int:
        """Of a line from 1 and a column from 0; programs are ASCII, so bytes are characters."""
        return self.starts[line - 1] + column

    def line_of(self, offset: int) -> int:
        return self.source.count("\n", 0, offset) + 1

    def span(self, node) -> tuple:
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)

    def get(self, node) -> str:
        begin, end = self.span(node)
        return self.source[begin:end]

    def header(self, node) -> tuple:
        """The span of a statement up to its body."""
        begin, end = self.span(node)
        body = getattr(node, "body", None)
        if not body:
            return begin, end
        colon = self.source.rindex(":", begin, self.span(body[0])[0])
        return begin, colon + 1

    def line_span(self, node) -> tuple:
        """The lines of a statement, with the indentation and the last line's end."""
        last = min(node.end_lineno, len(self.starts) - 1)
        return self.starts[node.lineno - 1], self.starts[last]

    def indent(self, node) -> str:
        return " " * node.col_offset

    # ---- what is there -----------------------------------------------------------------------

    @property
    def definitions(self) -> list:
        return [node for node in self.tree.body if isinstance(node, ast.FunctionDef) and node.decorator_list]

    @property
    def main(self) -> ast.FunctionDef:
        """The function or kernel that the program's call is about: the last one."""
        return self.definitions[-1]

    @property
    def is_kernel(self) -> bool:
        return any("kernel" in ast.unparse(d) for d in self.main.decorator_list)

    @property
    def is_generated(self) -> bool:
        """Whether nobody meant anything by it: shapes fit by chance where axes have no names."""
        return "tessera.fuzz.program" in self.source

    @property
    def call(self) -> ast.Call:
        """The call of the last line, `result = f(...)`."""
        calls = (node for node in ast.walk(self.tree.body[-1]) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name))
        return next(call for call in calls if call.func.id == self.main.name)

    def inside(self, *kinds, where=lambda node: True) -> list:
        """Nodes in the main definition's body, docstrings left out."""
        found = (node for statement in self.main.body for node in ast.walk(statement))
        return [node for node in found if isinstance(node, kinds) and where(node)]

    def calls_of(self, *names: str) -> list:
        """Calls of `tsr.name` in the body."""
        return self.inside(ast.Call, where=lambda call: self.name_of(call) in names)

    @staticmethod
    def name_of(call: ast.Call) -> str:
        """`sum` of `tsr.sum(...)`; "" of other calls."""
        func = call.func
        return func.attr if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == "tsr" else ""

    @property
    def parameters(self) -> list:
        return self.main.args.args + self.main.args.kwonlyargs

    def parameter(self, name: str):
        return next((p for p in self.parameters if p.arg == name), None)

    def default_of(self, parameter: ast.arg):
        args = self.main.args
        known = dict(zip([a.arg for a in args.args[::-1]], args.defaults[::-1]))
        known.update({a.arg: d for a, d in zip(args.kwonlyargs, args.kw_defaults) if d is not None})
        return known.get(parameter.arg)

    def annotation(self, parameter: ast.arg) -> str:
        return ast.unparse(parameter.annotation) if parameter.annotation else ""

    def dims(self, parameter: ast.arg) -> list:
        """The dims of `Tensor["M", "N"]` as they are written, dtype left out; [] without an annotation."""
        inside = getattr(parameter.annotation, "slice", None)
        each = inside.elts if isinstance(inside, ast.Tuple) else [inside] if inside is not None else []
        return [e for e in each if isinstance(e, ast.Constant)]

    def statement(self, node) -> ast.stmt:
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def loops_around(self, node) -> list:
        """Loops that hold a node, the innermost first."""
        found = []
        while node in self.parents:
            node = self.parents[node]
            if isinstance(node, (ast.For, ast.While)):
                found.append(node)
        return found

    def grid(self):
        """The loop over the grid; None if there is none."""
        return next((loop for loop in self.inside(ast.For) if "tsr.grid" in self.get(loop.iter)), None)

    def assignments(self, target=ast.expr, where=lambda node: True) -> list:
        """Assignments, each alone on one line, to a target of that kind."""
        return self.inside(ast.Assign, where=lambda n: n.lineno == n.end_lineno and isinstance(n.targets[0], target) and where(n))

    def assigned_choices(self) -> list:
        """Calls tsr.where(condition, x, y) that are all of what is assigned to a name."""
        return [c for c in self.calls_of("where") if len(c.args) == 3 and isinstance(self.parents[c], ast.Assign) and isinstance(self.parents[c].targets[0], ast.Name)]

    def uses(self, name: str) -> list:
        return self.inside(ast.Name, where=lambda node: node.id == name)


@dataclasses.dataclass
class Mistake:
    """`wrong` is `right` with a mistake; the caret belongs into one of `places`, spans of `wrong`."""

    right: str
    wrong: str
    places: list


def edited(source: str, edits: list) -> tuple:
    """The text with [(span, new text)] applied, and the spans of the new texts."""
    result, spans, at = "", [], 0
    for (begin, end), new in sorted(edits):
        result += source[at:begin]
        spans.append((len(result), len(result) + len(new)))
        result += new
        at = end
    return result + source[at:], spans


def mistake(text: Text, *edits, places=None) -> Mistake:
    """A mistake of [(node or span, new text)]; `places` of the wrong program: a function of its Text and the new spans, if not these."""
    wrong, spans = edited(text.source, [(e if isinstance(e, tuple) else text.span(e), new) for e, new in edits])
    if places is not None:
        spans = [p if isinstance(p, tuple) else Text(wrong).span(p) for p in places(Text(wrong), spans)]
    return Mistake(text.source, wrong, [s for s in spans if s[0] < s[1]])
