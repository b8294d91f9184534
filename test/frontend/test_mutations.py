# On damaged programs, too, we accept what Python accepts, with its tree, and nothing else.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of the standard library are damaged at random: tokens are dropped, doubled, swapped or replaced. Python's
`ast` decides what must happen: a syntax error must be an error here, a tree must be the same tree, unless it holds a
construct that is refused by name.
"""
import ast
import collections
import random
import re
import warnings

from batch import Request, ask
from python_tree import Printer, Source, annotate
from test_stdlib_agreement import read, stdlib_files

TOKENS = re.compile(r"\"\"\".*?\"\"\"|'[^'\n]*'|\"[^\"\n]*\"|#[^\n]*|\w+|[ \t]+|\n|[-+*/%@&|^<>=!:]=|\*\*|//|<<|>>|->|.", re.S)
WORDS = ("( ) [ ] { } , : ; . = == != < <= > >= + - * / // % @ ** & | ^ ~ << >> += -= @= -> := ... not and or in is if "
         "else elif for while pass break continue return assert def lambda yield await import from as try with match "
         "None True x y 0 1 1.5 0x1f 1_0 'a' \"b\" \n \\ @ # if(x): else: 1if 08 0_7 '' '''").split(" ") + [
    " ", "\n", "\n    ", "\n        ", "\t", "\\\n", "\f", "\n\t"]


def damage(text, choose):
    tokens = TOKENS.findall(text)
    for _ in range(choose.choice((1, 1, 1, 2, 3))):
        at = choose.randrange(len(tokens))
        kind = choose.randrange(5)
        if kind == 0:
            del tokens[at:at + choose.choice((1, 1, 2))]
        elif kind == 1:
            tokens.insert(at, tokens[at])
        elif kind == 2:
            other = choose.randrange(len(tokens))
            tokens[at], tokens[other] = tokens[other], tokens[at]
        elif kind == 3:
            tokens[at] = choose.choice(WORDS)
        else:
            tokens.insert(at, choose.choice(WORDS))
        if not tokens:
            break
    return "".join(tokens)


def small_functions(wanted, choose):
    """Functions at module level with little or nothing in them that is refused."""
    found = []
    paths = list(stdlib_files())
    choose.shuffle(paths)
    for path in paths:
        text = read(path)
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, TypeError):
            continue
        annotate(tree)
        lines = text.split("\n")
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and len(node.refused) < 2 and node.end_lineno - node.lineno < 25:
                found.append("\n".join(lines[node.lineno - 1:node.end_lineno]) + "\n")
                if len(found) == wanted:
                    return found
    return found


def is_ours_alone(tree):
    """What Python's parser lets through and its compiler, or our module level, does not."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arguments):
            names = [arg.arg for arg in node.posonlyargs + node.args + node.kwonlyargs]
            if len(set(names)) != len(names):
                return True
    todo = list(tree.body)
    for node in todo:
        if isinstance(node, ast.Return):
            return True
        if not isinstance(node, ast.FunctionDef):
            todo += getattr(node, "body", []) + getattr(node, "orelse", [])
    return any(isinstance(node, (ast.Import, ast.ImportFrom)) for node in tree.body)


def test_damaged_functions(tessera_ast, capsys):
    choose = random.Random(20260115)
    texts = [damage(text, choose) for text in small_functions(600, choose) for _ in range(20)]
    counts, wrong = collections.Counter(), []
    for text, answer in zip(texts, ask(tessera_ast, [Request("module", text.encode()) for text in texts])):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(text)
        except (SyntaxError, ValueError):
            # A construct may be refused by name before the mistake is found.
            counts["Python: error"] += 1
            if answer.status == "ok":
                wrong.append(f"accepted, but an error in Python:\n{text}")
            continue
        annotate(tree)
        refused = set().union(*[node.refused for node in tree.body]) | ({"\\N escape"} if "\\N" in text else set())
        if answer.status == "error" and is_ours_alone(tree):
            counts["an error only here, by intention"] += 1
        elif any(node.refused for node in tree.body):
            counts["refused"] += 1
            if answer.status != "refused" or answer.construct not in refused:
                wrong.append(f"{answer.status} {answer.construct}, but {refused} in Python:\n{text}\n{answer.text}")
        elif answer.status == "refused" and answer.construct in refused:
            counts["refused"] += 1
        else:
            counts["same tree"] += 1
            body = " ".join(map(Printer(Source(text)).text, tree.body))
            if answer.status != "ok" or not answer.text.endswith(f" [{body}])"):
                wrong.append(f"{answer.status}, a tree in Python:\n{text}\n{body}\n{answer.text}")
    with capsys.disabled():
        print()
        for name, count in sorted(counts.items()):
            print(f"  {count:8} {name}")
        print(f"  {len(wrong):8} disagreements")
    assert not wrong, "\n\n".join(wrong[:10])
    assert counts["same tree"] > 1000 and counts["Python: error"] > 1000
