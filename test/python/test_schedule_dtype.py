"""Schedules for one dtype of the first array: `@tsr.kernel.schedule(target="cpu", dtype=i8, BLOCK=64)`.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import numpy as np
import pytest
import tessera as tsr
from tessera import CompileError, Out, Tensor, const, fp16, fp64


@tsr.kernel.schedule(target="cpu", BLOCK=32, threads=2)
@tsr.kernel.schedule(target="cpu", dtype=fp64, BLOCK=64)
@tsr.kernel.schedule(dtype=fp16, BLOCK=8, threads=1)
def scale(BLOCK: const, X: Tensor["N"], Y: Out["N"]):
    for n in tsr.grid(tsr.tile(N, BLOCK)):
        Y[n] = X[n] * 2


def block(spec):
    return spec.arguments[0][1]


@pytest.mark.parametrize("dtype, wanted", ((np.float32, 32), (np.float64, 64), (np.float16, 32)))
def test_the_first_array_chooses(dtype, wanted):
    """For fp16 the more specific target wins. BLOCK stands before the array, and has no value but the schedule's."""
    x = np.arange(100, dtype=dtype)
    y = np.empty_like(x)
    scale(X=x, Y=y)
    np.testing.assert_array_equal(y, x * 2)
    assert block(scale.last_spec) == wanted


def test_what_is_given_goes_first():
    x = np.arange(100.0)
    scale(X=x, Y=np.empty_like(x), BLOCK=16)
    assert block(scale.last_spec) == 16


def test_versions_that_are_compiled_without_arrays():
    assert block(scale.compile(X=fp64).spec) == 64


def test_other_keys():
    assert scale.options.schedule_for("cpu", "fp64") == {"threads": 2}
    assert scale.options.schedule_for("sm_90", "fp16") == {"threads": 1} and scale.options.schedule_for("sm_90", "fp64") == {}


def test_it_is_a_dtype():
    with pytest.raises(CompileError, match="dtype of a schedule is a dtype, that of the first array, not 8"):
        tsr.kernel.schedule(dtype=8, BLOCK=4)
