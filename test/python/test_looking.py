"""What a function says of itself between calls: the last version, attributes of the other machine, gradients, knobs.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import subprocess
import sys

import numpy as np
import pytest

import tessera as tsr
from tessera import Out, Tensor, fp16


def double(x):
    return x + x


def test_without_words_it_is_the_last_call():
    fn = tsr.function(double)
    single, half = np.ones((3, 4), np.float32), np.ones((3, 4), np.float16)
    for _ in range(3):  # the later ones are direct
        fn(single)
        fn(half)
    assert "tensor<?x?xf16>" in fn.inspect_ir("graph")
    fn(single)
    assert fn._last_direct is not None
    assert "tensor<?x?xf32>" in fn.inspect_ir("graph") and "x: fp32" in fn.explain()
    fn(half)
    assert "tensor<?x?xf16>" in fn.inspect_ir("graph") and "x: fp16" in fn.explain()


def test_another_target_takes_the_types_of_the_last_call():
    fn = tsr.function(double)
    fn(np.ones((3, 4), np.float16))
    assert "x: fp16" in fn.explain(target="sm_80")
    assert "b16" in fn.compile(target="sm_80").ptx


def test_words_win_over_the_last_call():
    @tsr.kernel
    def copy(X: Tensor["M", "N"], Y: Out["M", "N"]):
        for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 16)):
            Y[m, n] = X[m, n]

    copy(np.ones((3, 4), np.float32))
    assert "xf16" in copy.inspect_ir("graph", X=fp16)


def test_explain_of_a_gpu_has_no_threads_and_names_what_is_automatic():
    fn = tsr.function(double)
    fn(np.ones((3, 4), np.float32))
    assert "threads" in fn.explain() and " all " in fn.explain() and " auto " in fn.explain()
    assert "threads" not in fn.explain(target="sm_80")


def test_names_of_the_other_machine():
    fn = tsr.function(double)
    fn(np.ones(3, np.float32))
    with pytest.raises(AttributeError, match=r"(?s)compiled for cpu, which has no ptx.*double.compile\(target=\"sm_80\"\).ptx"):
        fn.compile().ptx
    with pytest.raises(AttributeError, match="has no attribute 'resource'; it has .*resources"):
        fn.compile().resource
    assert not hasattr(fn.compile(), "__cuda_array_interface__")


def test_arithmetic_on_a_function():
    with pytest.raises(TypeError, match=r"double is a function; call it"):
        tsr.function(double) + 1


def test_debug_reaches_functions_that_were_called():
    @tsr.function
    def checked(x):
        assert tsr.sum(x) < 0, "negative"
        return x + x

    x = np.ones(3, np.float32)
    checked(x), checked(x)
    tsr.knobs.debug = True
    try:
        with pytest.raises(tsr.TesseraError, match="negative"):
            checked(x)
    finally:
        tsr.knobs.debug = None
    checked(x)


def test_threads_are_a_number():
    with pytest.raises(tsr.TesseraError, match="must be int, not 'x'"):
        tsr.set_num_threads("x")


def test_a_function_of_stdin_has_one_frame_of_ours():
    text = "import tessera as tsr\n@tsr.function\ndef f(x): return x\nf(1)\n"
    done = subprocess.run([sys.executable, "-"], input=text, capture_output=True, text=True)
    assert "the source of 'f' is not in a file" in done.stderr
    assert done.stderr.count('  File "') <= 2


def test_an_output_that_is_never_written():
    @tsr.kernel
    def reads(X: Tensor["M"], Y: Out["M"]):
        for m in tsr.grid(tsr.tile(M, 16)):
            x = X[m]

    with pytest.raises(tsr.CompileError, match="Y is Out, but the kernel reads never writes it"):
        reads(np.ones(3, np.float32))


def test_pythons_bool_is_a_dtype():
    @tsr.function
    def both(x: Tensor["N", bool]):
        return x & x

    assert both(np.array([True, False])).tolist() == [True, False]


@pytest.mark.parametrize("given, meant", [("sm80", "sm_80"), ("sim:sm80", "sim:sm_80"), ("sm90a", "sm_90a")])
def test_a_target_without_its_underscore(given, meant):
    with pytest.raises(tsr.CompileError, match=f"it is spelt '{meant}'"):
        tsr.function(double).compile(target=given)
