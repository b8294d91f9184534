"""print, assert and tsr.breakpoint, in kernels and functions.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import ml_dtypes
import numpy as np
import pytest

import tessera as tsr
from tessera import Out, Tensor, fp16


@tsr.kernel
def shows(X: Tensor["M", "N"], Y: Out["M", "N"]):
    for m in tsr.grid(tsr.tile(M, 2)):
        x = X[m, :]
        print("x is", x, "and its sum", tsr.sum(x))
        Y[m, :] = x


def test_a_kernel_prints_tiles_with_its_program_ids(capsys):
    x = np.arange(9, dtype=np.float32).reshape(3, 3) / 2
    np.testing.assert_array_equal(shows(x), x)
    assert capsys.readouterr().out == (
        "shows[m=0] x is [[0, 0.5, 1], [1.5, 2, 2.5]] and its sum 7.5\n"
        "shows[m=1] x is [[3, 3.5, 4], [--, --, --]] and its sum 10.5\n"
    )


@tsr.kernel
def scalars(X: Tensor["N"], Y: Out["N"], alpha, count, flag):
    for n, b in tsr.grid(tsr.tile(N, 4), 2):
        if n.id == 1:
            print("alpha", alpha, "count", count, "flag", flag, "stop", n.stop)
        Y[n] = X[n]


def test_scalars_and_conditions(capsys):
    scalars(np.zeros(6, np.float32), alpha=0.1, count=7, flag=True)
    assert capsys.readouterr().out == (
        "scalars[n=1, b=0] alpha 0.1 count 7 flag True stop 6\n"
        "scalars[n=1, b=1] alpha 0.1 count 7 flag True stop 6\n"
    )


@tsr.kernel
def narrow(X: Tensor["N", tsr.bf16], Y: Out["N", tsr.bf16]):
    for n in tsr.grid(tsr.tile(N, 4)):
        x = X[n]
        print("x", x, X[1])
        Y[n] = x


def test_bf16_is_printed(capsys):
    """It ended in an internal error on CPUs without bf16's instructions."""
    narrow((np.arange(4) / 4).astype(ml_dtypes.bfloat16))
    assert capsys.readouterr().out == "narrow[n=0] x [0, 0.25, 0.5, 0.75] 0.25\n"


@tsr.kernel
def many(X: Tensor["N"], Y: Out["N"]):
    for n in tsr.grid(tsr.tile(N, 1)):
        print(X[n])
        Y[n] = X[n]


def test_order_does_not_depend_on_threads(capsys):
    before = tsr.num_threads()
    texts = []
    try:
        for threads in (1, 2, 2, 2):
            tsr.set_num_threads(threads)
            many(np.arange(200, dtype=np.float32))
            texts.append(capsys.readouterr().out)
    finally:
        tsr.set_num_threads(before)
    assert texts[0].splitlines() == [f"many[n={i}] [{i}]" for i in range(200)]
    assert len(set(texts)) == 1


@tsr.function
def traces(x: Tensor["M", "N"], n):
    print("shape", M, N)
    for i in range(n):
        x = x * 2.0
        print("turn", i, x, tsr.max(x) > 4.0)
    return x


def test_a_function_prints_in_order(capsys):
    traces(np.array([[1, -1], [2.5, 0]], np.float32), 2)
    assert capsys.readouterr().out == (
        "shape 2 2\n"
        "turn 0 [[2, -2], [5, 0]] True\n"
        "turn 1 [[4, -4], [10, 0]] True\n"
    )


@tsr.function
def plain(x):
    print(x)
    return x


@pytest.mark.parametrize("dtype, want", [
    (np.float64, "[0.1, -0, inf, nan]"), (np.float16, "[0.099976, -0, inf, nan]"), (np.float32, "[0.1, -0, inf, nan]")])
def test_floats(dtype, want, capsys):
    plain(np.array([0.1, -0.0, np.inf, np.nan], dtype))
    assert capsys.readouterr().out == want + "\n"


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_ints(dtype, capsys):
    plain(np.array([[1], [-7]], dtype))
    plain(np.array([], dtype))
    plain(np.array([True, False]))
    assert capsys.readouterr().out == "[[1], [-7]]\n[]\n[True, False]\n"


def test_views_and_large_arrays(capsys):
    x = np.arange(4000, dtype=np.int64).reshape(40, 100)
    plain(x[::-2, ::-1])
    text = capsys.readouterr().out
    assert text.startswith("[[3999, 3998, 3997, ..., 3902, 3901, 3900],\n [")
    assert text.endswith("[199, 198, 197, ..., 102, 101, 100]]\n")
    assert "..." in text and len(text) < 1000


@tsr.kernel
def checked(X: Tensor["N"], Y: Out["N"]):
    for n in tsr.grid(tsr.tile(N, 4)):
        x = X[n]
        assert x >= 0, "x must not be negative"
        tsr.breakpoint("after the check")
        Y[n] = x


@tsr.function
def checked_function(x: Tensor["M", "N"], limit):
    tsr.breakpoint("start")
    assert tsr.max(x) < limit, "x reaches {limit}"
    assert x == x, "no NaN"
    return x


@pytest.fixture
def debug():
    tsr.knobs.debug = True
    yield
    tsr.knobs.debug = None


def test_asserts_are_checked_in_debug_builds(debug, capsys):
    x = np.array([1, 2, 3, 4, 5], np.float32)
    np.testing.assert_array_equal(checked(x), x)
    assert capsys.readouterr().out == "checked[n=0] breakpoint after the check\nchecked[n=1] breakpoint after the check\n"
    with pytest.raises(tsr.TesseraError, match="x must not be negative"):
        checked(-x)
    y = x.reshape(1, 5)
    np.testing.assert_array_equal(checked_function(y, 6.0), y)
    assert capsys.readouterr().out.endswith("breakpoint start\n")
    with pytest.raises(tsr.TesseraError, match="x reaches {limit}"):
        checked_function(y, 5.0)
    y[0, 2] = np.nan
    with pytest.raises(tsr.TesseraError, match="no NaN|x reaches"):
        checked_function(y, 6.0)


def test_and_cost_nothing_in_others(capsys):
    x = np.array([-1, 2], np.float32)
    np.testing.assert_array_equal(checked(x), x)
    y = x.reshape(1, 2)
    np.testing.assert_array_equal(checked_function(y, 0.0), y)
    assert capsys.readouterr().out == ""
    assert "tile.assert" not in checked.inspect_ir("graph")
    assert "gir.check" not in checked_function.inspect_ir("graph")


@tsr.function
def half(x: Tensor["N", fp16]):
    y = x + 1.0
    print("y", y.to(tsr.fp32))
    return y


def test_print_changes_no_bits(capsys):
    x = np.linspace(0, 1, 33).astype(np.float16)
    np.testing.assert_array_equal(half(x), (x.astype(np.float32) + 1).astype(np.float16))
    assert capsys.readouterr().out.startswith("y [1, ")
