"""A program with a mistake, the fix that its message gives, and what the fixed program makes.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import re
import warnings
from typing import NamedTuple

import numpy as np
import tessera as tsr
from tessera.source import without_colour

HEAD = "import numpy as np\nimport tessera as tsr\nfrom tessera import InOut, Out, Region, Tensor, const, fp16, fp32, i8, i64, reduce_sum\n\n\n"
X = np.random.default_rng(5).integers(-8, 9, (50, 70)).astype(np.float32)  # sums and products of them are exact


class Case(NamedTuple):
    name: str
    program: str  # right but for the first of `edits`, which undone make the mistake
    edits: list  # (wrong, right)
    fix: str
    call: object = lambda f: f(X)
    expected: object = None  # or a reference to check against


def load(program, file):
    file.write_text(HEAD + program)
    names: dict = {"__name__": file.stem}
    exec(compile(file.read_text(), str(file), "exec"), names)
    return names["f"]


def said_by(run) -> str:
    """The error that it ends with, or else its remarks."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            run()
        except tsr.TesseraError as error:
            return without_colour(str(error))
    return "".join(without_colour(str(one.message)) + "\n" for one in said if issubclass(one.category, tsr.ScheduleWarning))


def check_fix(case, tmp_path):
    right = case.program
    for wrong, meant in case.edits:
        right = right.replace(wrong, meant)
    mistake = right
    for wrong, meant in case.edits:
        mistake = mistake.replace(meant, wrong)
    text = said_by(lambda: case.call(load(mistake, tmp_path / "mistake.py")))
    text = re.sub(r"  # line \d+$", "", text, flags=re.MULTILINE)  # of a fix for another line
    assert f" fix:  {case.fix}\n" in text, text
    function = load(right, tmp_path / "right.py")
    if callable(case.expected):
        function.check(X, reference=case.expected, show=False)
    else:
        np.testing.assert_array_equal(case.call(function), case.expected)
