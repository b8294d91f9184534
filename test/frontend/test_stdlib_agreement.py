# On every function of the standard library our tree is Python's, or we refuse it by name.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every function in every file of the standard library goes through the C++ parser, cut out of its file with its
decorators as `inspect` does it, in two forms: as it stands, and dedented. Where Python's tree holds nothing that is
outside the language, the printed trees, with all positions, must be equal; otherwise the parser must refuse, and the
construct it names must be in Python's tree.

Most functions hold something that is refused. Of those, every statement that holds nothing such is put into a function
of its own, on its own line, and compared too.
"""
import ast
import collections
import io
import multiprocessing
import pathlib
import sysconfig
import tokenize
import warnings

from batch import Request, ask
from python_tree import Printer, Source, annotate

STDLIB = pathlib.Path(sysconfig.get_path("stdlib"))
# Not part of the standard library, or not Python 3.
OUTSIDE = ("site-packages", "lib2to3/tests/data")


def stdlib_files():
    for path in sorted(STDLIB.rglob("*.py")):
        if not any(part in path.relative_to(STDLIB).as_posix() for part in OUTSIDE):
            yield path


def read(path):
    """The text with Python's line ends, or None if it is no text."""
    data = path.read_bytes()
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
    except (SyntaxError, UnicodeDecodeError):
        return None
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def first_line(node, lines):
    """The line of the first decorator's `@`, or of `def`."""
    line = min([node.lineno] + [decorator.lineno for decorator in node.decorator_list])
    while node.decorator_list and not lines[line - 1].lstrip(" \t\f").startswith("@"):
        line -= 1
    return line


def dedented(lines):
    """(text, blanks removed) if all lines have the same blanks in front."""
    blanks = len(lines[0]) - len(lines[0].lstrip(" "))
    if not blanks or any(line and not line.startswith(" " * blanks) for line in lines):
        return None
    return "\n".join([line[blanks:] for line in lines]), blanks


def clean_statements(body):
    """The largest statements below `body` that hold nothing refused."""
    for node in body:
        if not node.refused and not isinstance(node, ast.FunctionDef):
            yield node
            continue
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            for child in getattr(node, name, ()):
                # A nested function is asked about on its own.
                if isinstance(child, (ast.excepthandler, ast.match_case)):
                    yield from clean_statements(child.body)
                elif not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    yield from clean_statements([child])


def wrapped(node, lines):
    """The statement as the body of a function, if it has its lines to itself."""
    before = lines[node.lineno - 1].encode()[:node.col_offset].decode()
    if not before or before.strip(" \t\f") or lines[node.lineno - 1].lstrip().startswith("elif"):
        return None
    text = "\n".join(["def f():"] + lines[node.lineno - 1:node.end_lineno])
    # What follows on the last line belongs to another statement.
    rest = lines[node.end_lineno - 1].encode()[node.end_col_offset:].decode().strip()
    if rest and not rest.startswith("#"):
        return None
    return text


def outside_the_tree(text):
    """What may be refused in a text, but does not show in Python's tree."""
    refused = {"\\N escape"} if "\\N" in text else set()
    if not text.isascii():
        refused.add("identifier")
    return refused


def questions(path):
    """(what, request, expected tree or None, constructs of which one must be named)"""
    text = read(path)
    if text is None:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    met = annotate(tree)
    multiline = set(met.multiline)
    source = Source(text)
    printer = Printer(source)
    lines = source.lines
    for node in met.functions:
        line = first_line(node, lines)
        cut = lines[line - 1:node.end_lineno]
        body = "\n".join(cut)
        refused = node.refused | outside_the_tree(body)
        expected = None if node.refused else printer.text(node)
        yield "function", Request("function", body.encode(), line), expected, refused
        # Dedenting would change a string that goes on on the next line.
        pair = dedented(cut) if multiline.isdisjoint(range(line, node.end_lineno + 1)) else None
        if pair:
            yield "function, dedented", Request("function", pair[0].encode(), line, pair[1]), expected, refused
        if node.refused:
            for statement in clean_statements(node.body):
                if body := wrapped(statement, lines):
                    yield ("statement", Request("function", body.encode(), statement.lineno - 1),
                           printer.text(statement), outside_the_tree(body))


def statement_of(answer):
    """The body of `def f()` in a printed tree."""
    begin = answer.index(" [] [") + len(" [] [")
    assert answer.endswith("] [] -)")
    return answer[begin:-len("] [] -)")]


def check(job):
    """Asks about some files. Returns the counts and the first disagreements."""
    tool, paths = job
    asked = [(path, *question) for path in paths for question in questions(path)]
    counts = collections.Counter(files=len(paths))
    wrong = []
    for (path, what, request, expected, refused), answer in zip(asked, ask(tool, [q[2] for q in asked])):
        where = f"{path}:{request.line} ({what})"
        counts[what] += 1
        if answer.status == "ok":
            got = statement_of(answer.text) if what == "statement" else answer.text
            if expected is None:
                wrong.append(f"{where}: accepted, but Python's tree holds {sorted(refused)}")
            elif got != expected:
                wrong.append(f"{where}: trees differ\n  Python  {expected}\n  Tessera {got}")
            else:
                counts[f"{what}: same tree"] += 1
        elif answer.status == "refused" and answer.construct in refused:
            counts[f"{what}: refused"] += 1
            counts[f"refused {answer.construct}"] += 1
        else:
            wrong.append(f"{where}: {answer.status} {answer.construct!r}, Python's tree holds {sorted(refused)}\n"
                         f"{answer.text}")
    return counts, wrong


def run(tool, paths, processes=2, size=50):
    paths = list(paths)
    jobs = [(tool, paths[i::max(1, len(paths) // size)]) for i in range(max(1, len(paths) // size))]
    counts, wrong = collections.Counter(), []
    with multiprocessing.Pool(processes) as pool:
        for some, bad in pool.imap_unordered(check, jobs):
            counts += some
            wrong += bad
    return counts, wrong


def test_every_function_of_the_standard_library(tessera_ast, capsys):
    counts, wrong = run(tessera_ast, stdlib_files())
    with capsys.disabled():
        print()
        for name, count in sorted(counts.items()):
            print(f"  {count:8} {name}")
        print(f"  {len(wrong):8} disagreements")
    assert not wrong, "\n".join(wrong[:20])
    # The check is worth nothing if it compares nothing.
    assert counts["files"] > 500
    assert counts["function: same tree"] > 5000
    assert counts["function, dedented: same tree"] > 2000
    assert counts["statement: same tree"] > 10000
