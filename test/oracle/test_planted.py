"""The miscompiles of test/oracle/planted still apply to our passes, and their programs are right without them; planting is `planted.py`.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import shutil
import subprocess
import sys

import planted
import pytest

sys.path.insert(0, str(planted.PATCHES))
import shown_by  # noqa: E402

STAGES = {"graph", "sched", "tile-value", "tile", "target"}


def test_each_patch_has_a_program():
    assert planted.names() == sorted(shown_by.PROGRAMS) and len(planted.names()) >= 20
    assert {planted.pass_of(name).split()[0] for name in planted.names()} == STAGES


@pytest.mark.skipif(shutil.which("git") is None, reason="git applies patches")
def test_each_patch_applies():
    for name in planted.names():
        done = subprocess.run(["git", "apply", "--check", planted.PATCHES / f"{name}.patch"], cwd=planted.REPOSITORY, capture_output=True, text=True)
        assert done.returncode == 0, f"{name}: {done.stderr}mend the patch: the code it makes wrong has moved"


@pytest.mark.parametrize("name", planted.names())
def test_its_program_is_right_without_it(name):
    fn, arguments = shown_by.PROGRAMS[name]
    fn.check(*arguments, show=False)
    report = fn.bisect(*arguments)
    assert report, report
