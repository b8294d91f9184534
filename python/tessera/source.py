"""The source text of a function, as it stands in its file or notebook cell.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import ast
import difflib
import dis
import functools
import inspect
import itertools
import linecache
import os
import re
import sys
import textwrap
import types

from .errors import CompileError


def relative(path: str) -> str:
    """The path as a user would write it: relative if it is below the current folder."""
    try:
        short = os.path.relpath(path)
    except ValueError:  # another drive
        return path
    return path if short.startswith("..") else short


def render(file: str, line: int, begin: int, end: int, text: str, message: str, fix: str = "", notes: tuple = (), colour: bool = False) -> str:
    """A message as the compiler writes it; `begin` and `end` are columns from 0 in `text`."""

    def painted(code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if colour else text

    begin, end = len(text[:begin].expandtabs()), len(text[:end].expandtabs())
    rows = [painted("1", f"{relative(file)}:{line}:{begin + 1}: ") + painted("1;31", "error: ") + painted("1", message)]
    if text.strip():
        rows += [f"{line:5} | {text.expandtabs().rstrip()}", f"      | {' ' * begin}" + painted("1;32", "^" + "~" * (end - begin - 1))]
    rows += [note(each, colour).rstrip("\n") for each in notes if each]
    if fix:
        rows.append(" " + painted("1;32", "fix:  ") + fix.replace("\n", "\n       "))
    return "\n".join(rows) + "\n"


_COLOUR = re.compile("\x1b\\[[0-9;]*m")


def without_colour(text: str) -> str:
    return _COLOUR.sub("", text)


def number_in(value):
    """1 of "1", 2.5 of "2.5"; None of what is no number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return int(number) if number.is_integer() else number


def note(text: str, colour: bool) -> str:
    """A note as the compiler writes it."""
    return f" \x1b[1;36mnote: \x1b[0m{text}\n" if colour else f" note: {text}\n"


def before_fix(message: str, line: str) -> str:
    """The message with one more line, before its fix if it has one."""
    rows = message.rstrip("\n").split("\n")
    at = next((i for i, row in enumerate(rows) if without_colour(row).startswith(" fix:")), len(rows))
    return "\n".join(rows[:at]) + "\n" + line + "\n".join(rows[at:]) + ("\n" if rows[at:] else "")


def is_import(frame) -> bool:
    """Whether the frame stands at `from ... import ...`."""
    return dis.opname[frame.f_code.co_code[frame.f_lasti]] == "IMPORT_FROM"


def _innermost() -> tuple:
    """The innermost frame that is not ours, and the one of ours that it called; None where there is none."""
    inner, frame = None, sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "tessera":
        inner, frame = frame, frame.f_back
    return frame, inner


def user_frame():
    """The innermost frame that is not ours; None if there is none."""
    return _innermost()[0]


def _position(frame) -> tuple:
    """First and last line, first and last column of what the frame stands at; None where Python does not say."""
    positions = getattr(frame.f_code, "co_positions", tuple)()
    return next(itertools.islice(positions, frame.f_lasti // 2, None), None) or (None,) * 4


class Whole(str):
    """A fix that stands for the user's whole call."""


class Call:
    """A call in the user's text: what it gives, and to whom."""

    def __init__(self, node: ast.Call, file: str, lines: list[str], entered):
        self.func, self.args, self.keywords, self.file, self._lines = node.func, node.args, node.keywords, file, lines
        found, code = entered.f_locals, entered.f_code
        values = found.get("args", ())
        if "method" in found:  # wording.entry
            code = found["method"].__code__
        own = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        is_method = own[:1] == ("self",)
        self.owner = found["self"] if "self" in found else values[0] if values else None
        self.tool = "" if code.co_name in ("_call_slowly", "_run_failed", "__call__") else code.co_name
        self._before = code.co_argcount - is_method  # so many arguments are not the function's
        self.own = own[code.co_argcount if code.co_flags & inspect.CO_VARARGS else is_method :] if self.tool else ()  # the keywords it takes itself
        if not self.tool and ("args" not in found or code.co_name == "_run_failed"):  # which does not get the call's arguments
            self._before = 0
        elif "args" in found and not any(isinstance(each, ast.Starred) for each in self.args):
            passed = len(values) - ("method" in found and is_method) + (0 if "method" in found else self._before)
            self._before -= passed - len(self.args)  # functools.partial gives some

    def text(self, node) -> str:
        """As it stands there; on one line."""
        if node.lineno != node.end_lineno:
            return ast.unparse(node)
        return self._lines[node.lineno - 1].encode()[node.col_offset : node.end_col_offset].decode()

    @property
    def callee(self) -> str:
        return self.text(self.func)

    def __str__(self) -> str:
        return self.written(map(self.text, (*self.args, *self.keywords)))

    def written(self, parts) -> Whole:
        """The call with other arguments."""
        return Whole(f"{self.callee}({', '.join(parts)})")

    def positional(self, count: int | None = None) -> list:
        """The first positional arguments of the function, not those of the tool that calls it."""
        return self.args[max(self._before, 0) :][: None if count is None else max(count + min(self._before, 0), 0)]

    def before(self) -> list[str]:
        return [self.text(each) for each in self.args[: max(self._before, 0)]]

    def argument(self, name: str, position: int | None = None):
        """What gives a parameter its value: an expression, a keyword, a `*xs` or `**more` that may have it; None if nothing does."""
        given = next((each for each in self.keywords if each.arg == name), None)
        if given is None and position is not None and position + self._before >= 0:
            until = self.args[: position + self._before + 1]
            given = next((each for each in until if isinstance(each, ast.Starred)), None)
            given = given or (until[-1] if len(until) > position + self._before else None)
        return given or next((each for each in self.keywords if each.arg is None), None)

    @staticmethod
    def element(given: ast.keyword, index: int):
        """One of the values of a keyword, if they are written out there; else the keyword."""
        values = getattr(given.value, "elts", ())
        return given if index >= len(values) or any(isinstance(each, ast.Starred) for each in values) else values[index]

    def part(self, text: str, fix: str = ""):
        """The argument of this name or text, or else one that the fix is for; with its name where the fix has one."""
        nodes = [node for each in (*self.args, *self.keywords) for node in ast.walk(each)]
        keywords = [each for each in (*self.keywords, *nodes) if isinstance(each, ast.keyword) and each.arg]
        named = re.match(r"(\w+)=(?!=)", fix)
        for name in (named[1] if named else "", text.rstrip("=")):
            if found := next((each for each in keywords if each.arg == name), None):
                return found
        found = next((each for each in nodes if isinstance(each, ast.expr) and text and self.text(each) == text), None)
        return found or (next((each for each in nodes if isinstance(each, ast.Constant) and each.value == text), None) if named or fix[:1] == '"' else None)

    def render(self, node, message: str, fix: str = "", notes: tuple = (), colour: bool = False) -> str:
        """A message at a part of the call."""
        row = self._lines[node.lineno - 1].rstrip("\n")
        begin, end = (len(row.encode()[:c].decode(errors="ignore")) for c in (node.col_offset, node.end_col_offset))
        return render(self.file, node.lineno, begin, end if node.lineno == node.end_lineno else len(row), row, message, fix, notes, colour)


def at_user(message: str, fix: str = "", part: str = "") -> str:
    """A message at the user's call or decorator; the caret stands under `part` of it, if that is there."""
    frame = user_frame()
    if frame is None:
        return f"error: {message}\n" + (f" fix:  {fix}\n" if fix else "")
    call = call_of_user()
    node = call.func if call and isinstance(fix, Whole) else call.part(part, fix) if call and part else None
    if node is not None:
        return call.render(node, message, fix)
    file, line = frame.f_code.co_filename, frame.f_lineno
    first, last, begin, end = _position(frame)
    lines = linecache.getlines(file, frame.f_globals)
    if first is None or begin is None or not 0 < first <= len(lines):
        text = lines[line - 1] if 0 < line <= len(lines) else ""
        begin, end = len(text) - len(text.lstrip()), len(text.rstrip())
        return render(file, line, begin, end, text.rstrip("\n"), message, fix)
    for number in range(first, min(last or first, len(lines)) + 1):
        row = lines[number - 1].rstrip("\n")
        # With its quotes, if the fix has them.
        part = next((text for text in (f'"{part}"', f"'{part}'") if fix[:1] == '"' and text in row), part)
        start = row.find(part, begin if number == first else 0) if part else -1
        if start >= 0:
            return render(file, number, start, start + len(part), row, message, fix)
    row = lines[first - 1].rstrip("\n")
    columns = [len(row.encode()[:c].decode(errors="ignore")) for c in (begin, end)]
    return render(file, first, columns[0], columns[1] if first == last else len(row), row, message, fix)


def _value(node, frame):
    """What a name, or an attribute of one, is in a frame, without running anything; None if it is not known."""
    if isinstance(node, ast.Name):
        return next((scope[node.id] for scope in (frame.f_locals, frame.f_globals, frame.f_builtins) if node.id in scope), None)
    owner = _value(node.value, frame) if isinstance(node, ast.Attribute) else None
    found = inspect.getattr_static(owner, node.attr, None) if owner is not None else None
    return getattr(found, "__func__", found)


def _is_foreign(callee, entered) -> bool:
    """Whether this is a callable of others, such as `map`, which calls us with arguments of its own."""
    if isinstance(callee, (functools.partial, types.MethodType)):
        return "args" not in entered.f_locals  # so how many of them it gives is not known
    if not callable(callee):
        return False
    return not any(str(getattr(each, "__module__", "")).startswith("tessera") for each in (type(callee), callee))


def call_of_user() -> Call | None:
    """The call that the user's frame stands at; None where Python does not say or the text is not there."""
    frame, entered = _innermost()
    if frame is None or entered is None:
        return None
    first, last, begin, end = _position(frame)
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)
    if first is None or begin is None or not 0 < first <= last <= len(lines):
        return None
    rows = [row.encode() for row in lines[first - 1 : last]]
    rows[-1] = rows[-1][:end]
    rows[0] = rows[0][begin:]
    try:
        found = ast.parse(b"(" + b"".join(rows) + b")", mode="eval").body
    except (SyntaxError, ValueError):
        return None
    if not isinstance(found, ast.Call) or _is_foreign(_value(found.func, frame), entered):
        return None
    for node in ast.walk(found):  # to places in the file
        if hasattr(node, "lineno"):
            node.col_offset += begin - 1 if node.lineno == 1 else 0
            node.end_col_offset += begin - 1 if node.end_lineno == 1 else 0
            node.lineno, node.end_lineno = node.lineno + first - 1, node.end_lineno + first - 1
    return Call(found, frame.f_code.co_filename, lines, entered)


def value_of_user(node):
    """What an expression of the user's call is, if it is a name or an attribute; else None."""
    return _value(node, user_frame())


def variable_of_user(names, test) -> str:
    """The first of these names that the user's frame has with a value that passes the test; else ""."""
    frame = user_frame()
    return next((name for name in names if frame is not None and test(_value(ast.Name(name), frame))), "")


def made_above_user() -> list[str]:
    """Names that lines above the user's call give fresh arrays, np.empty(...) or np.zeros(...), in the order of the lines."""
    frame = user_frame()
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)[:frame.f_lineno] if frame is not None else []
    found = (re.match(r"\s*(\w+(?:, *\w+)*) *= *\(?[\w.]*(?:empty|zeros)\w*\(", line) for line in lines)
    return list(dict.fromkeys(name for each in found if each for name in re.findall(r"\w+", each[1])))


def module_of_user(name: str, otherwise: str) -> str:
    """How the user's frame calls a module."""
    frame, module = user_frame(), sys.modules.get(name)
    scope = {**frame.f_globals, **frame.f_locals} if frame is not None and module is not None else {}
    found = [key for key, value in scope.items() if value is module]
    return otherwise if otherwise in found or not found else found[0]


def is_statement_of_user() -> bool:
    """Whether the call that the user's frame stands at is a line of its own: nobody takes what it returns."""
    frame = user_frame()
    first, last, begin, end = _position(frame) if frame is not None else (None,) * 4
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals) if first is not None else []
    if begin is None or not 0 < first <= last <= len(lines):
        return False
    before, behind = lines[first - 1].encode()[:begin], lines[last - 1].encode()[end:]
    return not before.strip() and behind.strip()[:1] in (b"", b"#", b";")


def loop_until(file: str, line: int, column: int, end: str) -> str:
    """"for i in range(1, END):" where the name at that place is the variable of a loop over a range; else ""."""
    lines = linecache.getlines(file)[:line]
    name = re.match(r"[A-Za-z_]\w*", lines[-1][column - 1:]) if lines else None
    for above in reversed(lines) if name else ():
        if loop := re.match(rf"\s*for {name[0]} in range\(([^(),]*,\s*)?[^(),]*(,[^()]*)?\):", above):
            return f"for {name[0]} in range({loop[1] or ''}{end}{loop[2] or ''}):"
    return ""


def definition_of_user() -> str:
    """The text of the `def` that the decorator at the user's frame stands on; "" if there is none."""
    frame = user_frame()
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)[frame.f_lineno - 1:] if frame is not None else []
    at = next((k for k, line in enumerate(lines) if not line.lstrip().startswith("@")), len(lines))
    if at == 0 or at == len(lines) or not lines[at].lstrip().startswith("def "):
        return ""
    indent = len(lines[at]) - len(lines[at].lstrip())
    body = itertools.takewhile(lambda line: not line.strip() or len(line) - len(line.lstrip()) > indent or line.lstrip().startswith(")"), lines[at + 1:])
    return "".join([lines[at], *body])


def call_without(name: str, attribute: str | None = None) -> str:
    """"k(x, y)" where the user's line has k[grid](x, y), or k.attribute(x, y) if an attribute is named."""
    frame = user_frame()
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno, frame.f_globals).strip() if frame else ""
    try:
        nodes = list(ast.walk(ast.parse(line)))
    except SyntaxError:
        return ""
    for node in nodes:
        func = getattr(node, "func", None)
        is_meant = isinstance(func, ast.Subscript) if attribute is None else isinstance(func, ast.Attribute) and func.attr == attribute
        if is_meant and ast.unparse(func.value).split(".")[-1] == name:
            node.func = func.value
            return ast.unparse(node)
    return ""


def at_place(file: str, line: int, column: int, message: str, fix: str = "") -> str:
    """A message at a place of the user's program (columns from 0); the caret stands under the name or number there."""
    lines = linecache.getlines(file)
    text = lines[line - 1].rstrip("\n") if 0 < line <= len(lines) else ""
    end = re.compile(r"[-+]?\w*").match(text, column).end() if column < len(text) else column
    return render(file, line, column, max(end, column + 1), text, message, fix)


def nearest(name, known, otherwise: str = "") -> str:
    """The name that was meant."""
    listed = [str(k) for k in known]
    short = "".join(word[:1] for word in str(name).split("_"))  # BM for BLOCK_M
    same = [k for k in listed if k.lower() == str(name).lower() and k != name] or [k for k in listed if len(short) > 1 and k.lower() == short.lower()]
    same = same or [k for k in listed if min(len(k), len(str(name))) > 2 and k != name and (k.startswith(str(name)) or str(name).startswith(k))]
    found = same or difflib.get_close_matches(str(name), listed, 1, 0.5)
    return found[0] if found else otherwise


def is_foreign(name: str) -> bool:
    """Whether torch, NumPy, JAX or Triton have an operation of this name, which is then no misspelling of ours."""
    from . import compiler

    return compiler.foreign_name("function", str(name)) is not None or compiler.is_foreign_word(str(name))


def foreign(kind: str, name: str) -> tuple[str, str] | None:
    """What a name of Triton, NumPy or torch is here, and why (compiler/Frontend/ForeignNames.inc)."""
    from . import compiler

    return compiler.foreign_name(kind, name)


class Source:
    """Text, file and first line of one function; the lines of the whole file, until they are verified."""

    __slots__ = ("text", "file", "first_line", "column_offset", "lines")

    def __init__(self, text: str, file: str, first_line: int, column_offset: int = 0, lines: list[str] | None = None):
        self.text, self.file, self.first_line, self.column_offset, self.lines = text, file, first_line, column_offset, lines


def find_keyword(source: Source, method: str, key: str, part: str = ""):
    """Where a decorator `...method(key=...)` of the source has this keyword, or one inside of its value: line, columns, text; None if nowhere."""
    lines = source.text.splitlines()
    indent = len(lines[0]) - len(lines[0].lstrip())
    try:
        tree = ast.parse(textwrap.dedent(source.text))
    except SyntaxError:
        return None
    for decorator in getattr(tree.body[0], "decorator_list", ()):
        if isinstance(decorator, ast.Call) and getattr(decorator.func, "attr", "") == method:
            for keyword in decorator.keywords:
                if keyword.arg == key:
                    inner = (node for node in ast.walk(keyword) if isinstance(node, ast.keyword) and node.arg == part)
                    keyword = next(inner, keyword)
                    row = lines[keyword.lineno - 1]
                    end = keyword.end_col_offset + indent if keyword.end_lineno == keyword.lineno else len(row)
                    return source.first_line + keyword.lineno - 1, keyword.col_offset + indent, end, row
    return None


def find_definition(source: Source) -> tuple:
    """The name in the `def` of the source: line, columns, text."""
    for number, row in enumerate(source.text.splitlines()):
        if found := re.match(r"\s*(?:async )?def (\w+)", row):
            return source.first_line + number, *found.span(1), row
    return source.first_line, 0, 1, source.text.partition("\n")[0]


def _block(lines: list[str]) -> list[str]:
    """The lines of the function that begins with the first: up to one that is indented no deeper, outside of brackets and strings.

    Python's tokenizer, which `inspect.getblock` uses, takes milliseconds to load; Python's parser knows as well where
    a cut is wrong.
    """
    indent = len(lines[0]) - len(lines[0].lstrip())
    starts = (" " * indent + "def ", " " * indent + "async def ")
    head = "if 1:\n" if indent else ""
    begin = next((i for i, line in enumerate(lines) if line.startswith(starts)), None)
    tries = 0
    for end in range(begin + 1, len(lines) + 1) if begin is not None and lines[0][:indent].isspace() == (indent > 0) else ():
        row = lines[end].lstrip() if end < len(lines) else ""
        if end < len(lines) and (not row or row[0] == "#" or len(lines[end]) - len(row) > indent):
            continue
        block = lines[:end]
        while not block[-1].strip() or block[-1].lstrip()[0] == "#":
            block.pop()
        tries += 1
        if tries > 20:
            break
        try:
            tree = ast.parse(head + "".join(block))
        except (SyntaxError, ValueError):
            continue
        inner = tree.body[0].body if indent else tree.body
        if len(inner) == 1 and isinstance(inner[0], (ast.FunctionDef, ast.AsyncFunctionDef)):
            return block
        break
    return inspect.getblock(lines)


def of_function(fn: types.FunctionType) -> Source:
    """Finds the lines of `fn`, decorators included, as they stand now: `verify` says later whether they are what Python runs."""
    code = fn.__code__
    file = code.co_filename
    # A notebook's cells and files are in linecache; what was typed at the plain prompt is nowhere.
    linecache.checkcache(file)
    lines = linecache.getlines(file, fn.__globals__)
    first = code.co_firstlineno
    if not lines[first - 1 :]:
        raise CompileError(
            f"{file}:{first}: error: the source of '{fn.__name__}' is not in a file Python can read: save it in a file and import that, "
            f"or give its text to tsr.compile_source(text).{fn.__name__}\n"
        )
    block = _block(lines[first - 1 :])
    return Source("".join(block), relative(file), first, lines=lines)


_compiled: dict = {}  # by file: its lines, and what Python makes of them by name and first line; the last one only


def _codes(file: str, lines: list[str]) -> dict:
    """The whole file is compiled: instructions depend on what it imports."""
    known = _compiled.get(file)
    if known is None or known[0] is not lines:
        try:
            waiting, found = [compile("".join(lines), file, "exec", dont_inherit=True)], {}
        except (SyntaxError, ValueError):
            waiting, found = [], {}
        while waiting:
            inner = [c for c in waiting.pop().co_consts if isinstance(c, types.CodeType)]
            found.update({(c.co_name, c.co_firstlineno): c for c in inner})
            waiting += inner
        _compiled.clear()
        known = _compiled[file] = (lines, found)
    return known[1]


def _same_code(a: types.CodeType, b: types.CodeType) -> bool:
    """Whether they compute the same: instructions, constants and names, those of inner functions too."""
    if (a.co_code, a.co_names, a.co_varnames, a.co_argcount, len(a.co_consts)) != (b.co_code, b.co_names, b.co_varnames, b.co_argcount, len(b.co_consts)):
        return False
    inner = types.CodeType
    return all(_same_code(x, y) if isinstance(x, inner) and isinstance(y, inner) else type(x) is type(y) and repr(x) == repr(y)
               for x, y in zip(a.co_consts, b.co_consts))


def verify(fn: types.FunctionType, source: Source) -> None:
    """An error if the text is not that of the function Python runs: its file was changed before it was read, or an import hook rewrote it."""
    code = fn.__code__
    found = _codes(code.co_filename, source.lines).get((code.co_name, code.co_firstlineno))
    source.lines = None
    if found is not None and _same_code(found, code):
        return
    # pytest rewrites the asserts of test files; all else there is the text's.
    if found is not None and "@pytest_ar" in fn.__globals__ and set(found.co_names) - {"AssertionError"} <= set(code.co_names):
        return
    raise CompileError(
        f"{source.file}:{source.first_line}: error: the text here is not the '{fn.__name__}' that Python runs: the file was changed after it was imported\n"
        f" fix:  import it again: importlib.reload({fn.__module__})\n"
    )
