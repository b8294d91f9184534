# Scores the error messages of blind_cases*.py: line, caret, both sides, fix.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import ast
import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import blind_cases  # noqa: E402
import blind_cases_2  # noqa: E402
import blind_cases_3  # noqa: E402
import blind_cases_4  # noqa: E402
import blind_cases_5  # noqa: E402

CASES = blind_cases.CASES
SETS = {"first": CASES, "second": blind_cases_2.CASES,
        "third": blind_cases_3.CASES, "fourth": blind_cases_4.CASES,
        "fifth": blind_cases_5.CASES}

GOOD_ENOUGH = 23

HEADER = re.compile(
    r"^(?P<file>[^:\n]+):(?P<line>\d+)(?::(?P<col>\d+))?: error: (?P<text>.*)$",
    re.MULTILINE)
SOURCE = re.compile(r"^\s*\d+ \|")
CARETS = re.compile(r"^\s*\| ?(?P<under>[ ~^]*\^.*)$")
FIX = re.compile(r"^\s*fix:\s*(?P<text>.*)$")
COMPILER_TEXT = re.compile(
    r"mlir|llvm|%\d|%[a-z]\w* ?[=:]|\bloc\(|memref<|tensor<|![a-z]+\.|"
    r"\b(?:gir|sched|arith|scf|builtin)\.\w|std::|\b0x[0-9a-f]{6,}|Traceback|"
    r'File "[^"]*", line|object at 0x|nanobind|pybind|<class |site-packages',
    re.IGNORECASE)


def choices(wanted):
    return wanted if isinstance(wanted, tuple) else (wanted,)


def says(text, wanted, program_file):
    """Whether `text` has any of `wanted`, each taken as whole words."""
    for one in choices(wanted):
        if one.startswith("@"):
            place = rf"(?:\blines? |{re.escape(program_file)}:){one[1:]}(?!\d)"
            if re.search(place, text):
                return True
            continue
        before = r"(?<!\w)" if re.match(r"\w", one) else ""
        after = r"(?!\w)" if re.search(r"\w$", one) else ""
        if re.search(before + re.escape(one) + after, text):
            return True
    return False


def split(message):
    """The message as (header match, caret column, prose, fix lines).

    Prose is the error and its notes; the source line echoed under the error is
    left out of it, since it repeats every name whatever the error says.
    """
    header = HEADER.search(message)
    if not header:
        return None, None, message, []
    column, prose, fixes = None, [header["text"]], []
    part = "error"
    for line in message[header.end():].splitlines():
        fix, carets = FIX.match(line), CARETS.match(line)
        if fix:
            part = "fix"
            fixes.append(fix["text"])
        elif re.match(r"\s*(?:note|remark):", line):
            part = "note"
            prose.append(line)
        elif part == "fix":
            fixes.append(line)
        elif part == "error" and carets:
            if column is None:
                column = carets["under"].index("^") + 1
        elif part == "error" and SOURCE.match(line):
            pass
        else:
            prose.append(line)
    return header, column, "\n".join(prose), [f for f in fixes if f.strip()]


def score(case, message, program_file, call_file):
    """What a good message would have and `message` has not; [] is good."""
    missing = []
    header, column, prose, fixes = split(message)
    if not header:
        missing.append("'file:line:col: error:'")
    elif case.line is None:
        if not re.search(rf"{re.escape(call_file)}:\d+", message):
            missing.append("the call's file and line")
        else:
            last = len(case.call.splitlines())
            if not re.search(rf"{re.escape(call_file)}:{last}(?!\d)", message):
                missing.append(f"call line {last}")
    elif Path(header["file"]).name != program_file:
        missing.append(f"the program's file (says {header['file']})")
    elif int(header["line"]) != case.line:
        missing.append(f"line {case.line} (says {header['line']})")
    elif case.caret is not None:
        source = case.program.splitlines()[case.line - 1]
        columns = [source.index(c) + 1 for c in choices(case.caret)]
        if column not in columns:
            missing.append(f"caret at column {columns} (is {column})")
        elif header["col"] != str(column):
            missing.append(f"column {column} (header says {header['col']})")
    for wanted in case.mentions:
        if not says(prose, wanted, program_file):
            missing.append("mention " + " | ".join(choices(wanted)))
    if case.fix is not None:
        text = re.sub(r"\s+", " ", " ".join(fixes))
        if not text or not any(c in text for c in choices(case.fix)):
            missing.append("fix with " + (" | ".join(choices(case.fix)) or "?"))
    found = COMPILER_TEXT.search(message)
    if found:
        missing.append(f"no compiler text (has {found.group(0)!r})")
    return missing


def run_case(case, number, folder, error_type):
    """Define the program, make the call, return (message, what is missing)."""
    program = folder / f"prog{number}.py"
    program.write_text(case.program)
    call = folder / f"app{number}.py"
    call.write_text(case.call + "\n")
    spec = importlib.util.spec_from_file_location(
        f"blind_prog{number}", program)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
        names = dict(vars(module), np=np, __name__=f"blind_app{number}")
        exec(compile(call.read_text(), str(call), "exec"), names)
    except error_type as error:
        message = str(error).replace(str(folder) + "/", "")
        return message, score(case, message, program.name, call.name)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        return text, [f"a Tessera error (raised {text.splitlines()[0]})"]
    finally:
        del sys.modules[spec.name]
    return "", ["any error: it was accepted"]


@pytest.mark.parametrize("cases", SETS.values(), ids=SETS.keys())
def test_blind_mistakes_get_good_errors(cases, tmp_path):
    from tessera.errors import TesseraError

    good, table, poor = 0, [], []
    for number, case in enumerate(cases, 1):
        message, missing = run_case(case, number, tmp_path, TesseraError)
        good += not missing
        table.append(f"{number:3} {'poor' if missing else 'good'}  "
                     f"{case.name:52} {'; '.join(missing)}".rstrip())
        if missing:
            poor.append(f"--- {number} {case.name}\n{message}")
    print(*table, f"{good} of {len(cases)} good", *poor, sep="\n")
    assert good >= GOOD_ENOUGH, f"only {good} of {len(cases)} are good"


@pytest.mark.parametrize("cases", SETS.values(), ids=SETS.keys())
def test_cases_are_well_formed(cases):
    assert len(cases) == 25
    assert len({case.name for case in cases}) == 25
    for case in cases:
        tree = ast.parse(case.program)
        ast.parse(case.call)
        assert any(isinstance(n, ast.FunctionDef) for n in tree.body), case.name
        lines = case.program.splitlines()
        if case.line is not None and case.caret is not None:
            for caret in choices(case.caret):
                assert caret in lines[case.line - 1], (case.name, caret)
        assert case.mentions, case.name


GOOD = '''\
prog2.py:7:34: error: m covers dim M, but axis 0 of bias is N
    7 |         C[m, n] = X[m, n] + bias[m]
      |                                  ^
 note: prog2.py:5:33: bias: Tensor["N"]
 note: prog2.py:6:9: for m, n in tsr.grid(tsr.tile(M, 32), tsr.tile(N, 32))
 fix:  bias[n]
'''


def test_the_score_tells_good_from_poor():
    case = next(c for c in CASES if "bias indexed" in c.name)

    def missing(message):
        return score(case, message, "prog2.py", "app2.py")

    assert missing(GOOD) == []
    worse = {
        "line 7": GOOD.replace("prog2.py:7:34", "prog2.py:6:34"),
        "program's file": GOOD.replace("prog2.py:7:34", "other.py:7:34"),
        "caret at": GOOD.replace(" " * 34 + "^", " " * 9 + "^"),
        "column 34": GOOD.replace(":7:34", ":7:12"),
        "mention bias": GOOD.replace("of bias", "of it").replace(
            "bias: Tensor", "Tensor"),
        "mention @5": GOOD.replace("prog2.py:5:33: ", ""),
        "fix with": GOOD.replace("bias[n]", "?"),
        "compiler text": GOOD + "see %0 = tile.load",
        "error:": "KeyError: 'm'",
    }
    for expected, message in worse.items():
        assert message != GOOD, expected
        assert any(expected in m for m in missing(message)), expected

    call = next(c for c in CASES if "wrong axis" in c.name)
    text = ("prog17.py:5:1: error: x (4 x 32 x 64) and weight (32) disagree on"
            " D: 64 from x, 32 from weight, called at app17.py:2\n")
    assert score(call, text, "prog17.py", "app17.py") == []
    assert score(call, text.replace("app17.py:2", "app17.py:1"),
                 "prog17.py", "app17.py") == ["call line 2"]
    assert score(call, text.replace("64", "?"), "prog17.py", "app17.py") == [
        "mention 64"]
