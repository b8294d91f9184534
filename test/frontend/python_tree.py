# What Python's own `ast` says about a text, in the words of tessera-ast.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two questions about a node of Python's tree:

* which constructs in it are not part of the Tessera language (`refused_in`), and
* how tessera-ast must print it (`Printer`).
"""
import ast
import json
import re
import struct

REFUSED = {
    ast.Try: "try", ast.TryStar: "try", ast.Raise: "raise", ast.With: "with", ast.ClassDef: "class",
    ast.Global: "global", ast.Nonlocal: "nonlocal", ast.Delete: "del", ast.Match: "match",
    ast.AsyncFunctionDef: "async", ast.AsyncFor: "async", ast.AsyncWith: "async",
    ast.Import: "import", ast.ImportFrom: "import", ast.FunctionDef: "nested function",
    ast.Yield: "yield", ast.YieldFrom: "yield", ast.Await: "await", ast.Lambda: "lambda",
    ast.ListComp: "list comprehension", ast.SetComp: "set comprehension", ast.DictComp: "dict comprehension",
    ast.GeneratorExp: "generator expression", ast.NamedExpr: ":=", ast.Set: "set",
    ast.JoinedStr: "f-string", ast.Starred: "starred",
}
LEAVES = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)


class Source:
    """A file's text, for what the tree does not tell: characters instead of bytes, and escapes."""

    def __init__(self, text):
        self.lines = text.split("\n")
        self.ascii = text.isascii()

    def column(self, line, offset):
        """1-based character column of a byte offset."""
        if self.ascii or (text := self.lines[line - 1]).isascii():
            return offset + 1
        return len(text.encode()[:offset].decode()) + 1

    def segment(self, node):
        return ast.get_source_segment("\n".join(self.lines), node) or ""


def refused_here(node, parent):
    """The construct that this node itself is refused for, or None."""
    kind = type(node)
    if kind is ast.Constant:
        value = node.value
        if type(value) is bytes:
            return "bytes"
        if type(value) is complex:
            return "complex"
        if type(value) is str and not value.isascii() and re.search("[\ud800-\udfff]", value):
            return "surrogate escape"
        return None
    if kind is ast.Starred and type(parent) is ast.Call:
        return None
    if kind is ast.Dict:
        return "dict unpacking" if None in node.keys else None
    if kind is ast.For:
        return "for-else" if node.orelse else None
    if kind is ast.While:
        return "while-else" if node.orelse else None
    return REFUSED.get(kind)


class Found:
    """What a walk over a file's tree meets."""

    def __init__(self):
        self.functions = []
        self.multiline = []  # lines on which a string goes on


def annotate(node, parent=None, found=None, met=None):
    """Sets `refused`, the constructs in the node and below it, on every statement, and adds them to `found`.

    Of a function it leaves out that the function itself may be a nested one.
    """
    met = met or Found()
    outer = found
    if found is None or isinstance(node, ast.stmt):
        found = set()
    for name in node._fields:
        value = getattr(node, name)
        if type(value) is list:
            for item in value:
                if isinstance(item, ast.AST):
                    annotate(item, node, found, met)
        elif isinstance(value, ast.AST) and not isinstance(value, LEAVES):
            annotate(value, node, found, met)
    if type(node) is ast.arguments:
        if node.vararg:
            found.add("*args")
        if node.kwarg:
            found.add("**kwargs")
    elif type(node) is ast.Constant and node.lineno != node.end_lineno:
        met.multiline.append(node.end_lineno)
    here = refused_here(node, parent)
    if isinstance(node, ast.stmt):
        if type(node) in (ast.FunctionDef, ast.AsyncFunctionDef):
            met.functions.append(node)
        node.refused = found | {here} if here and type(node) is not ast.FunctionDef else found
        if outer is not None:
            outer |= found
    if here and outer is not None:
        outer.add(here)
    return met


def quote(text):
    """As JSON writes it, without escapes for what UTF-8 can say and with one for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


SHORT_TO_LONG = {"\\b": "\\u0008", "\\f": "\\u000c", "\\n": "\\u000a", "\\r": "\\u000d", "\\t": "\\u0009"}
ESCAPES = re.compile(r"\\(?:[\\\"]|u[0-9a-f]{4}|[bfnrt])")


def escape(text):
    quoted = quote(text)
    if "\\" not in quoted:
        return quoted
    return ESCAPES.sub(lambda match: SHORT_TO_LONG.get(match[0], match[0]), quoted)


class Printer:
    def __init__(self, source):
        self.column = source.column
        self.out = []

    def text(self, node):
        self.out = []
        self.node(node)
        return "".join(self.out)

    def open(self, name, node):
        column = self.column
        self.out.append(f"({name}@{node.lineno}:{column(node.lineno, node.col_offset)}-"
                        f"{node.end_lineno}:{column(node.end_lineno, node.end_col_offset)}")

    def node(self, node):
        if node is None:
            self.out.append("-")
            return
        name = type(node).__name__
        self.open(name, node)
        if special := SPECIAL.get(name):
            special(self, node)
        else:
            for field in node._fields:
                self.field(getattr(node, field))
        self.out.append(")")

    def field(self, value):
        out = self.out
        out.append(" ")
        if isinstance(value, list):
            out.append("[")
            for index, item in enumerate(value):
                if index:
                    out.append(" ")
                if isinstance(item, LEAVES):
                    out.append(type(item).__name__)
                else:
                    self.node(item)
            out.append("]")
        elif isinstance(value, str):
            out.append(escape(value))
        elif isinstance(value, LEAVES):
            out.append(type(value).__name__)
        else:
            self.node(value)

    def constant(self, node):
        value = node.value
        if type(value) is str:
            text = f" str {escape(value)}"
        elif type(value) is int:
            text = f" int {value}"
        elif type(value) is float:
            text = f" float {struct.pack('>d', value).hex()}"
        else:
            text = " ..." if value is ... else f" {value}"
        self.out.append(text)

    def call(self, node):
        self.field(node.func)
        self.field(node.args)
        self.out.append(" [")
        for index, keyword in enumerate(node.keywords):
            if index:
                self.out.append(" ")
            self.open("keyword", keyword)
            self.field(keyword.arg)
            self.field(keyword.value)
            self.out.append(")")
        self.out.append("]")

    def without_context(self, node):
        for field in node._fields:
            if field != "ctx":
                self.field(getattr(node, field))

    def loop(self, node):
        for field in ("target", "iter", "body") if isinstance(node, ast.For) else ("test", "body"):
            self.field(getattr(node, field))

    def ann_assign(self, node):
        self.field(node.target)
        self.field(node.annotation)
        self.field(node.value)
        self.out.append(f" {node.simple}")

    def assign(self, node):
        self.field(node.targets)
        self.field(node.value)

    def function(self, node):
        args = node.args
        positional = [("posonly", a) for a in args.posonlyargs] + [("arg", a) for a in args.args]
        defaults = [None] * (len(positional) - len(args.defaults)) + args.defaults
        keyword_only = [("kwonly", a) for a in args.kwonlyargs]
        self.out.append(f" {escape(node.name)} [")
        for index, ((kind, arg), default) in enumerate(
                zip(positional + keyword_only, defaults + args.kw_defaults)):
            if index:
                self.out.append(" ")
            self.open(kind, arg)
            self.field(arg.arg)
            self.field(arg.annotation)
            self.field(default)
            self.out.append(")")
        self.out.append("]")
        self.field(node.body)
        self.field(node.decorator_list)
        self.field(node.returns)


SPECIAL = {
    "Constant": Printer.constant, "Call": Printer.call, "For": Printer.loop, "While": Printer.loop,
    "AnnAssign": Printer.ann_assign, "Assign": Printer.assign, "FunctionDef": Printer.function,
    "Name": Printer.without_context, "Attribute": Printer.without_context, "Subscript": Printer.without_context,
    "Starred": Printer.without_context, "Tuple": Printer.without_context, "List": Printer.without_context,
}
