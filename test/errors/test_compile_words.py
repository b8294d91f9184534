"""`fn.compile(A=fp16, D=64)`: what is no element type and no size is refused, not ignored.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import numpy as np
import pytest
import tessera as tsr
from tessera import Tensor, fp16


@tsr.function
def add(x: Tensor["M", "N"], y: Tensor["M", "N"]):
    return x + y


@pytest.mark.parametrize("words,message", [
    (dict(x="fp16"), "x of add takes an element type, not 'fp16'"),
    (dict(x=7), "x of add takes an element type, not 7"),
    (dict(M="abc"), "the size of dim M is an int >= 0, not 'abc'"),
    (dict(M=-3), "the size of dim M is an int >= 0, not -3"),
    (dict(M=2.5), "the size of dim M is an int >= 0, not 2.5"),
    (dict(M=True), "the size of dim M is an int >= 0, not True"),
])
def test_refused(words, message, tmp_path):
    for ask in (add.compile, lambda **w: add.inspect_ir("graph", **w), lambda **w: add.aot(tmp_path, **w)):
        with pytest.raises(tsr.ArgumentError) as error:
            ask(**words)
        assert message in str(error.value) and " fix: " in str(error.value)


def test_taken():
    assert "f16" in add.inspect_ir("graph", x=fp16, y=np.float16)
