"""What a user does with a printed fix: the programs that pasting it gives, the likeliest first.

A fix stands for what the carets underline, for an expression or statement around them, for the parameter, keyword or assignment that it
begins with, or it is a line of its own. Words around the code (`... before the loop`, `... in place of ...`, `...  # line 9`) say where.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ast
import re

from .message import Message
from .text import Text, edited

MOST = 40  # programs that are tried
_BEFORE_THE_LOOP = re.compile(r"^(?P<code>.*) (?:before|above|outside) the (?:loop|grid)$")
_IN_PLACE = re.compile(r"^(?P<code>.*) in place of (?P<old>.+)$", re.DOTALL)
_FIRST_LINE = re.compile(r"^(?P<code>.*), and (?P<line>.+) as the first line$", re.DOTALL)
_WITH = re.compile(r"^(?P<code>.*?),? with (?P<more>\w+: .+)$", re.DOTALL)
_LINE = re.compile(r"  # line (\d+)$", re.MULTILINE)
_IMPORT = re.compile(r"  # ((?:import|from) .+)$", re.MULTILINE)
_OUTSIDE = re.compile(r"^outside this (?:function|kernel):\n(?P<code>.+)$", re.DOTALL)
_ABOVE = re.compile(r"^(?P<code>@.+?) above (?:the )?.*$")
_AT_TOP = re.compile(r"^(?P<code>(?:import|from) .+?) at the top of the file.*$")
_WITHOUT = re.compile(r"(?:^|, )without this line\b.*$")
_PROSE = re.compile(r"(, or |; | or |, which |, and |, not | before | around | above | inside | in the | where | as | for | if | to )")


def _parses(code: str, mode: str = "exec") -> bool:
    try:
        ast.parse(code, mode=mode)
        return True
    except (SyntaxError, ValueError):
        return False


def _is_keyword(code: str) -> bool:
    return bool(re.match(r"\w+=(?!=)", code)) and "\n" not in code and _parses(f"f({code})", "eval")


def is_code(code: str) -> bool:
    return bool(code.strip()) and (_parses(code) or _parses(f"f({code})", "eval") or _parses(f"x[{code}]", "eval") or _parses(f"def f({code}): pass")
                                   or _parses(f"{code}\n    pass") or _parses(f"{code}\ndef f(): pass"))


def _codes(fix: str) -> list:
    """The code in a fix: all of it, or what stands before the words that explain it."""
    found = [fix] if is_code(fix) else []
    for words in _PROSE.finditer(fix):
        code = fix[: words.start()].rstrip(" ,;")
        if is_code(code) and code not in found and not (words[1] == " to " and code.isidentifier()):
            found.append(code)
        if words[1] in (" or ", ", or "):
            found += [code for code in _codes(fix[words.end() :]) if code not in found]
    return found


def _reindented(code: str, indent: str) -> str:
    return code.replace("\n", "\n" + indent)


class Paste:
    """The places of one program where one message's fix may go."""

    def __init__(self, source: str, message: Message):
        self.text, self.message, self.line = Text(source), message, message.line
        if said := _LINE.search(message.fix):
            self.line = int(said[1])

    def programs(self):
        """The pasted programs, each once."""
        seen = {self.text.source}
        for source in self._pasted():
            if len(seen) > MOST:
                return
            if source not in seen and _parses(source):
                seen.add(source)
                yield source

    # ---- words ------------------------------------------------------------------------------

    def _pasted(self):
        fix = _LINE.sub("", self.message.fix)
        head = ""
        if imports := _IMPORT.search(fix):
            head, fix = imports[1].replace("; ", "\n") + "\n", _IMPORT.sub("", fix)
        fix = re.sub(r"  # .*$", "", fix, flags=re.MULTILINE)
        if fix.startswith(" "):  # the line, moved into the loop before it
            yield from self._moved(fix)
            return
        for source in self._by_words(fix):
            yield head + source

    def _moved(self, line: str):
        for statement in self._statements()[:1]:
            indent = self.text.indent(statement)
            yield edited(self.text.source, [(self.text.line_span(statement), indent + line + "\n")])[0]

    def _by_words(self, fix: str):
        source = self.text.source
        for either in fix.split("; or ")[:-1]:
            yield from self._by_words(either)
        if match := _OUTSIDE.match(fix):
            yield from self._defined_outside(match["code"])
        if match := _AT_TOP.match(fix):
            for statement in self._statements()[:1]:
                yield match["code"] + "\n" + edited(source, [(self.text.line_span(statement), "")])[0]
        if match := _WITHOUT.search(fix):
            yield from self._without_line(fix[: match.start()])
        first = ""
        if match := _FIRST_LINE.match(fix):
            fix, first = match["code"], match["line"]
        if match := _IN_PLACE.match(fix):
            for begin, end in self._found(match["old"]):
                yield self._with_first_line(source[:begin] + match["code"] + source[end:], first)
        if match := _BEFORE_THE_LOOP.match(fix):
            for code in _codes(match["code"]):
                yield from self._before_loops(code)
        if match := _ABOVE.match(fix):
            yield from self._decorated(match["code"])
        if match := _WITH.match(fix):
            for code in _codes(match["code"]):
                for once in filter(_parses, self._code(code)):
                    for name in [p for p in Text(once).parameters if p.arg == match["more"].partition(":")[0]]:
                        yield edited(once, [(Text(once).span(name), match["more"])])[0]
        for code in _codes(fix):
            yield from self._code(code)

    def _without_line(self, rest: str):
        """The statement is left out; what else the fix says is done in the program that is left."""
        for statement in self._statements()[:1]:
            begin, end = self.text.line_span(statement)
            left = self.text.source[:begin] + self.text.source[end:]
            match = _IN_PLACE.match(rest)
            yield left.replace(match["old"], match["code"]) if match else left

    def _found(self, old: str):
        """Where a text stands: on the message's line first, then elsewhere in the definition."""
        source = self.text.source
        spans = [(at.start(), at.end()) for at in re.finditer(re.escape(old), source)]
        return sorted(spans, key=lambda span: abs(self.text.line_of(span[0]) - self.line))[:4]

    def _with_first_line(self, source: str, line: str) -> str:
        if not line or not _parses(source):
            return source
        text = Text(source)
        begin, _ = text.line_span(text.main.body[0])
        return source[:begin] + text.indent(text.main.body[0]) + line + "\n" + source[begin:]

    def _defined_outside(self, code: str):
        """A definition above this one, in place of the statement that the carets are in; a last line says what calls it."""
        code, _, call = code.partition("\nand ")
        text, begin = self.text, self._carets()[0]
        new, _, old = call.partition(" in place of ")
        inner = [node for node in ast.walk(text.main) if isinstance(node, ast.FunctionDef) and node is not text.main and text.span(node)[0] <= begin < text.span(node)[1]]
        for statement in inner + self._statements():
            first = text.starts[text.main.decorator_list[0].lineno - 1] if text.main.decorator_list else text.line_span(text.main)[0]
            pasted = edited(text.source, [((first, first), code + "\n\n\n"), (text.line_span(statement), "")])[0]
            yield pasted.replace(old, new) if old else pasted

    def _decorated(self, code: str):
        text = self.text
        for definition in text.tree.body:
            if isinstance(definition, ast.FunctionDef):
                first = text.starts[(definition.decorator_list or [definition])[0].lineno - 1]
                yield edited(text.source, [((first, first), code + "\n")])[0]

    # ---- code -------------------------------------------------------------------------------

    def _nodes(self) -> list:
        """Nodes on the line that hold the caret, the smallest first."""
        text, found = self.text, []
        begin, _ = self._carets()
        for node in ast.walk(text.tree):
            if hasattr(node, "lineno") and not isinstance(node, (ast.FunctionDef, ast.For, ast.If, ast.While)):
                first, last = text.span(node)
                if first <= begin < last and (self.line == self.message.line or node.lineno == self.line):
                    found.append(node)
        return sorted(found, key=lambda node: text.span(node)[1] - text.span(node)[0])

    def _carets(self) -> tuple:
        text, message = self.text, self.message
        if self.line == message.line:
            return text.offset(self.line, message.begin), text.offset(self.line, message.end)
        row = text.source.splitlines()[self.line - 1]
        return text.offset(self.line, len(row) - len(row.lstrip())), text.offset(self.line, len(row))

    def _statements(self) -> list:
        """Statements that hold the caret, the innermost first; those of its line only, and the blocks they begin."""
        begin, _ = self._carets()
        text = self.text
        found = [node for node in ast.walk(text.tree) if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef)]
        found = [node for node in found if text.span(node)[0] <= begin < text.span(node)[1] or node.lineno == self.line]
        return sorted(found, key=lambda node: text.span(node)[1] - text.span(node)[0])

    def _code(self, code: str):
        text, source = self.text, self.text.source
        begin, end = self._carets()
        if re.match(r"(for|while|if) .*:$", code):
            yield from self._headers(code)
        if code.startswith("@"):
            yield from self._decorators(code)
        if _parses(f"def f({code}): pass") and re.match(r"\w+\s*:", code):
            yield from self._parameters(code)
        if code.startswith("def ") or re.match(r"(import|from) ", code):
            yield from self._lines(code)
        if _is_keyword(code):
            yield from self._keywords(code)
        if "\n" not in code:
            yield source[:begin] + code + source[end:]
            for node in self._nodes():
                if not isinstance(node, ast.stmt) or _parses(code):
                    yield edited(source, [(text.span(node), code)])[0]
        if code.startswith("return"):
            yield from self._at_end(code)
        yield from self._with_lines_before(code)
        if _parses(code):
            yield from self._assignments(code)
            for statement in self._statements():
                yield edited(source, [(text.span(statement), _reindented(code, text.indent(statement)))])[0]
            for statement in self._statements()[:1]:
                yield from self._inserted(code, statement)
            yield from self._before_loops(code)
            yield from self._longer_block(code)

    def _at_end(self, code: str):
        last = self.text.main.body[-1]
        end = self.text.line_span(last)[1]
        yield edited(self.text.source, [((end, end), self.text.indent(last) + code + "\n")])[0]

    def _with_lines_before(self, code: str):
        """`r = ...` and then an expression: the lines go before the statement, the expression to the carets."""
        *lines, last = code.split("\n")
        if not lines or not _parses("\n".join(lines)) or not _parses(last, "eval"):
            return
        for statement in self._statements()[:1]:
            at, indent = self.text.line_span(statement)[0], self.text.indent(statement)
            before = indent + _reindented("\n".join(lines), indent) + "\n"
            for node in self._nodes():
                if not isinstance(node, ast.stmt):
                    yield edited(self.text.source, [((at, at), before), (self.text.span(node), last)])[0]

    def _inserted(self, code: str, statement):
        begin, end = self.text.line_span(statement)
        indent = self.text.indent(statement)
        line = indent + _reindented(code, indent) + "\n"
        yield edited(self.text.source, [((begin, begin), line)])[0]
        yield edited(self.text.source, [((end, end), line)])[0]

    def _before_loops(self, code: str):
        for statement in self._statements()[:1]:
            own = [statement] if isinstance(statement, (ast.For, ast.While)) else []
            for loop in own + self.text.loops_around(statement):
                begin, _ = self.text.line_span(loop)
                indent = self.text.indent(loop)
                yield edited(self.text.source, [((begin, begin), indent + _reindented(code, indent) + "\n")])[0]

    def _longer_block(self, code: str):
        """Code of several statements for those that are there: from the one at the caret, or the first of the same text, to the last."""
        wanted = len(ast.parse(code).body)
        for statement in self._statements():
            parent = self.text.parents[statement]
            body = next((block for block in (getattr(parent, "body", []), getattr(parent, "orelse", [])) if statement in block), [])
            at = body.index(statement) if statement in body else 0
            for first in range(max(0, at - wanted), at + 1):
                for last in range(at, min(len(body), first + wanted + 1)):
                    span = self.text.span(body[first])[0], self.text.span(body[last])[1]
                    yield edited(self.text.source, [(span, _reindented(code, self.text.indent(statement)))])[0]

    def _headers(self, code: str):
        begin, _ = self._carets()
        for node in self._statements() + self.text.loops_around(self._statements()[0] if self._statements() else self.text.main):
            if isinstance(node, (ast.For, ast.While, ast.If)):
                yield edited(self.text.source, [(self.text.header(node), code)])[0]

    def _decorators(self, code: str):
        name = re.match(r"@([\w.]+)", code)[1]
        text = self.text
        for definition in [d for d in text.tree.body if isinstance(d, ast.FunctionDef)]:
            for each in definition.decorator_list:
                if text.span(each)[0] - 1 <= self._carets()[0] < text.span(each)[1] or ast.unparse(each).startswith(name):
                    yield edited(text.source, [((text.span(each)[0] - 1, text.span(each)[1]), code)])[0]
        yield from self._decorated(code)

    def _parameters(self, code: str):
        text, given = self.text, ast.parse(f"def f({code}): pass").body[0].args
        spans = []
        for parameter in given.args:
            old = text.parameter(parameter.arg)
            if old is None:
                continue
            has_default = given.defaults and parameter is given.args[-1]
            default = text.default_of(old)
            end = text.span(default)[1] if has_default and default is not None else text.span(old)[1]
            new = ast.get_source_segment(f"def f({code}): pass", parameter)
            new += f" = {ast.unparse(given.defaults[-1])}" if has_default else ""
            spans.append(((text.span(old)[0], end), new))
        if spans:
            yield edited(text.source, spans)[0]
        elif text.parameters:
            last = text.parameters[-1]
            default = text.default_of(last)
            for at in (text.span(default or last)[1], text.span(text.parameters[0])[0]):
                yield edited(text.source, [((at, at), f", {code}" if at != text.span(text.parameters[0])[0] else f"{code}, ")])[0]

    def _lines(self, code: str):
        text = self.text
        if code.startswith("def ") and code.rstrip().endswith(":"):
            header = text.header(text.main)
            yield edited(text.source, [(header, code)])[0]
        yield code + "\n" + text.source

    def _keywords(self, code: str):
        text, name = self.text, code.partition("=")[0]
        begin, _ = self._carets()
        calls = [node for node in ast.walk(text.tree) if isinstance(node, ast.Call) and node.lineno <= self.line <= node.end_lineno]
        calls.sort(key=lambda node: (not text.span(node)[0] <= begin < text.span(node)[1], text.span(node)[1] - text.span(node)[0]))
        for call in calls:
            for keyword in call.keywords:
                if keyword.arg == name or text.span(keyword)[0] <= begin < text.span(keyword)[1]:
                    yield edited(text.source, [(text.span(keyword), code)])[0]
        for call in calls:
            end = text.span(call)[1] - 1
            yield edited(text.source, [((end, end), (", " if call.args or call.keywords else "") + code)])[0]

    def _assignments(self, code: str):
        """An assignment for the nearest one to the same name."""
        if not (target := re.match(r"(\w+)(?:: \w+)? \+?= ", code)):
            return
        text = self.text
        old = [node for node in ast.walk(text.tree) if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign))
               and ast.unparse(node).startswith(target[1] + " ") or isinstance(node, ast.AnnAssign) and ast.unparse(node).startswith(target[1] + ":")]
        for node in sorted(old, key=lambda node: abs(node.lineno - self.line))[:3]:
            yield edited(text.source, [(text.span(node), _reindented(code, text.indent(node)))])[0]
