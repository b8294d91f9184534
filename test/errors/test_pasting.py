"""Where a printed fix goes: the forms that messages have, pasted into the program they are about.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import pytest
from tessera.fuzz.mistakes.message import Message, read
from tessera.fuzz.mistakes.paste import Paste

HEAD = "import tessera as tsr\nfrom tessera import Out, Tensor, const\n\n\n"
SUMS = '''@tsr.kernel
def f(X: Tensor["M", "N"], S: Out["M"], BM: const = 16):
    for m in tsr.grid(tsr.tile(M, BM)):
        acc = tsr.zeros(m)
        for n in tsr.tile(N, 32):
            acc += tsr.sum(X[m, n], n)
        S[m] = acc
'''
WHERE = '''@tsr.function
def f(x):
    y = tsr.where(x > 0, x, 0.0)
    return y
'''
ACT = '''@tsr.function
def act(t):
    return t * 2.0


@tsr.function
def f(x):
    return act(x)
'''
CASES = {
    "at the carets": (SUMS, "X[m, n]", "X[n, m]", "X[n, m]", "X[m, n]"),
    "an expression around the carets": (SUMS, "X[m, n]", "X[n, m]", "n, m", "X[m, n]"),
    "a keyword": (SUMS, "const = 16", "const = 16.5", "16.5", "16"),
    "a parameter with its default": (SUMS, "BM: const = 16", "BM = 16", "BM", "BM: const = 16"),
    "a parameter without its default": (SUMS, "BM: const", "BM", "tsr.tile(M, BM)", "BM: const"),
    "before the loop": (SUMS, "        acc = tsr.zeros(m)\n", "", "acc +=", "acc = tsr.zeros(m) before the loop"),
    "another line": (SUMS, "tsr.zeros(m)", "0.0", "acc += tsr", "acc = tsr.zeros(m)  # line 8"),
    "a header": (SUMS, "for n in tsr.tile(N, 32):", "for n in range(0, N, 32):", "range(0, N, 32)", "for n in tsr.tile(N, 32):"),
    "in place of": (SUMS, "tsr.tile(M, BM)", "tsr.cdiv(M, BM)", "tsr.grid", "tsr.tile(M, BM) in place of tsr.cdiv(M, BM)"),
    "words behind": (SUMS, "X[m, n]", "X[n, m]", "X[n, m]", "X[m, n], or another index"),
    "a statement for an if": (WHERE, "y = tsr.where(x > 0, x, 0.0)", "if x > 0:\n        y = x\n    else:\n        y = 0.0", "x > 0:", "y = tsr.where(x > 0, x, 0.0)"),
    "a definition outside": (ACT, ACT, "@tsr.function\ndef f(x):\n    act = lambda t: t * 2.0\n    return act(x)\n", "lambda",
                             "outside this function:\n@tsr.function\ndef act(t):\n    return t * 2.0"),
    "a decorator": (ACT, "@tsr.function\ndef act", "def act", "act(x)", "@tsr.function above def act"),
}


@pytest.mark.parametrize(("program", "meant", "wrong", "caret", "fix"), CASES.values(), ids=CASES)
def test_the_right_program_is_among_the_pasted(program, meant, wrong, caret, fix):
    right = HEAD + program
    mistake = right.replace(meant, wrong, 1)
    at = mistake.index(caret)
    line = mistake.count("\n", 0, at) + 1
    begin = at - (mistake.rfind("\n", 0, at) + 1)
    pasted = list(Paste(mistake, Message(line, begin, begin + len(caret), "", fix)).programs())
    assert right in pasted, f"{len(pasted)} pasted\n" + "\n".join(pasted[:4])
    assert right not in Paste(mistake, Message(line, begin, begin + len(caret), "", "nothing_of_the_kind()")).programs()


def test_a_message_is_read():
    text = "prog.py:7:20: error: k covers dim K\n    7 |             acc += A[k, m]\n      |                    ^~~~~~~\n note: prog.py:2:13: A\n fix:  A[m, k]\n       B\nelse.py:1:1: error: x\n fix:  y\n"
    found = read(text, "/tmp/prog.py")
    assert (found.line, found.begin, found.end, found.fix) == (7, 19, 26, "A[m, k]\nB")
    assert read(text, "/tmp/other.py").line == 0
