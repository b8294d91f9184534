# Asks `tessera-ast --batch` about many texts at once.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import subprocess
import tempfile
from typing import NamedTuple


class Request(NamedTuple):
    kind: str  # module, function, expression
    text: bytes
    line: int = 1
    column: int = 0


class Answer(NamedTuple):
    status: str  # ok, refused, error
    text: str  # the tree, or the rendered errors
    construct: str = ""


def ask(tool, requests):
    """One answer per request, in order. A crash of the tool is an error here."""
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stdout:
        for kind, text, line, column in requests:
            stdin.write(b"%s %d %d %d\n" % (kind.encode(), line, column, len(text)))
            stdin.write(text)
        stdin.seek(0)
        subprocess.run([tool, "--batch"], stdin=stdin, stdout=stdout, check=True)
        stdout.seek(0)
        answers = []
        while header := stdout.readline():
            status, size, *construct = header.decode().rstrip("\n").split(" ", 2)
            text = stdout.read(int(size)).decode()
            assert stdout.read(1) == b"\n"
            answers.append(Answer(status, text, construct[0] if construct else ""))
    assert len(answers) == len(requests)
    return answers
