"""The versions of one function are bounded: the one that was not used for longest goes, and its machine code with it.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import gc
import weakref

import numpy as np
import pytest

import tessera as tsr
from tessera import Out, Tensor, const, fp32


@tsr.function
def shifted(x, by: const = 0):
    return x + by


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(tsr.knobs, "versions", 4)
    shifted.changed()
    yield
    shifted.changed()


def test_the_oldest_goes(few):
    x = np.arange(3, dtype=np.float32)
    assert (shifted(x, 0) == x).all()
    first = weakref.ref(next(iter(shifted._versions.values())))
    for by in range(1, 12):
        for _ in range(3):  # directly, too
            assert (shifted(x, by) == x + by).all()
        assert len(shifted._versions) <= 4 and len(shifted._direct) <= 4
    shifted._forget()
    gc.collect()
    assert first() is None
    assert (shifted(x, 0) == x).all()


def test_the_last_used_stay(few):
    x = np.arange(3, dtype=np.float32)
    shifted(x, 0)
    kept = next(iter(shifted._versions.values()))
    for by in range(1, 9):
        shifted._forget()  # so that each call is looked up
        shifted(x, by)
        shifted._forget()
        shifted(x, 0)
    assert kept in shifted._versions.values()


def test_the_last_call_is_the_last_call():
    """A direct call, then one of `check`, which is none: what is looked at is the latter."""
    @tsr.function
    def doubled(x: Tensor["N"]):
        return x + x

    x = np.ones(37, np.float32)
    for _ in range(3):
        doubled(x)
    assert doubled.last_spec.target == "cpu"
    assert doubled.check(x, target="sm_80", show=False).rows[-1].stage == "sm_80 (simulated)"
    assert doubled.last_spec.target == "sim:sm_80"
    doubled(x)
    assert doubled.last_spec.target == "cpu"


def signs(x) -> list:
    return [float(v) for v in np.copysign(1.0, x)]


def test_constants_are_told_apart_as_the_language_does():
    """0.0 and -0.0, 1 and 1.0 and True are equal in Python: a version of one was taken for the other."""
    global outside

    @tsr.function
    def scaled(x, by: tsr.const):
        return x * by

    @tsr.function
    def captured(x):
        return x * outside

    x, i = np.ones(2, np.float32), np.ones(2, np.int32)
    for zero in (0.0, -0.0, 0.0):
        outside = zero
        assert signs(scaled(x, zero)) == signs(captured(x)) == [np.copysign(1.0, zero)] * 2
    assert scaled(i, 1).dtype == np.int32
    for other in (1.0, True, (1, 2)):
        with pytest.raises(tsr.CompileError):
            scaled(i, other)
    outside = float("nan")
    captured(x)
    known = len(captured._versions)
    outside = float("nan")
    captured._forget()
    captured(x)
    assert len(captured._versions) == known


@pytest.mark.parametrize("carrier", ["function", "kernel"])
def test_a_version_refuses_strides_it_is_not_for(carrier):
    """It read what lies beside them, also behind the array's end."""
    @tsr.function
    def function(X: Tensor["M", "N"]):
        return X * 2

    @tsr.kernel
    def kernel(X: Tensor["M", "N"], Y: Out["M", "N"], B: tsr.const = 8):
        for m, n in tsr.grid(tsr.tile(M, B), tsr.tile(N, B)):
            Y[m, n] = X[m, n] * 2

    fn = {"function": function, "kernel": kernel}[carrier]
    version = fn.compile(target="cpu", X=fp32)
    x = np.arange(48, dtype=np.float32).reshape(6, 8)
    for good in (x, x[::-1], x[::2], np.broadcast_to(x[:1], (6, 8)), x[:, 3:5], x[:, 5:6], x[:0, ::2]):
        np.testing.assert_array_equal(version(good), good * 2)
    for bad in (x.T, x[:, ::-1], x[:, ::2], np.broadcast_to(x[:, :1], (6, 8)), np.asfortranarray(x)):
        with pytest.raises(tsr.ArgumentError, match="X has stride -?[0-9]+ along axis 1, but this version needs 1(.|\n)*fix:  bad.copy\\(\\)\n"):
            version(bad)
        np.testing.assert_array_equal(version(bad.copy(order="C")), bad * 2)
        np.testing.assert_array_equal(fn(bad), bad * 2)


@pytest.mark.parametrize("made", ["compiled", "resumed"])
def test_a_version_is_called_as_the_function_is(made):
    """It took any keyword, any number of arguments and out= without a word, and had no defaults."""
    @tsr.function
    def product(x: Tensor["M", "K"], w: Tensor["K", "N"], s: fp32 = 1.0):
        return (x @ w) * s

    x, w = np.ones((6, 5), np.float32), np.ones((5, 7), np.float32)
    version = product.compile(target="cpu") if made == "compiled" else product.resume(product.inspect_ir("sched"))
    for s in (1.0, 2.0):
        np.testing.assert_array_equal(version(x, w, s), 5 * s * np.ones((6, 7)))
        np.testing.assert_array_equal(version(w=w, x=x, s=s), version(x, w, s))
    np.testing.assert_array_equal(version(x, w), version(x, w, 1.0))
    y = np.full((6, 7), -1, np.float32)
    assert version(x, w, out=y) is y and (y == 5).all()
    for args, words in (((x, w), {"nonsense": 1}), ((x, w, 1.0, 2.0), {}), ((x, w), {"target": "cpu"}), ((x,), {}), (([1.0], w), {}), ((x, None), {}),
                        ((x, w), {"out": "text"}), ((x, w.astype(np.float64)), {})):
        with pytest.raises(tsr.ArgumentError, match=r"test_versions.py:\d+:\d+: error: "):
            version(*args, **words)
    torch = pytest.importorskip("torch")
    with pytest.raises(tsr.ArgumentError, match="requires a gradient"):
        version(torch.ones(6, 5).requires_grad_(), torch.ones(5, 7))


def test_numbers_that_a_version_has_are_not_given():
    """A resumed text took other values for its constants without a word, and compile(s=3.0) dropped the number."""
    @tsr.function
    def scaled(x: Tensor["N"], s=2.0, flip=False):
        return -x * s if flip else x * s

    @tsr.kernel
    def narrow(X: Tensor["N"], Y: Out["N"], s: fp32 = 2.0, B: const = 4):
        for n in tsr.grid(tsr.tile(N, B)):
            Y[n] = X[n] * s

    x = np.arange(3, dtype=np.float32)
    scaled(x)
    resumed = scaled.resume(scaled.inspect_ir("graph"))
    np.testing.assert_array_equal(resumed(x), x * 2)
    for words in ({"s": 3.0}, {"flip": True}):
        with pytest.raises(tsr.ArgumentError, match="part of the edited text"):
            resumed(x, **words)
    np.testing.assert_array_equal(narrow.compile(target="cpu", X=fp32, s=3.0)(x), x * 3)
    np.testing.assert_array_equal(narrow.compile(target="cpu", X=fp32)(x, s=5.0), x * 5)
    with pytest.raises(tsr.ArgumentError, match="s is given, but 3.0 in this version"):
        narrow.compile(target="cpu", X=fp32, s=3.0)(x, s=4.0)


def test_constants_for_the_floats_of_a_kernel():
    """A literal there ended in a segmentation fault, an int was read as the bits of a float."""
    @tsr.kernel
    def scale(X: Tensor["N"], Y: Out["N"], a: fp32, B: const = 32):
        for n in tsr.grid(tsr.tile(N, B)):
            Y[n] = X[n] * a

    @tsr.function
    def by_float(x):
        return scale(x, a=2.5)

    @tsr.function
    def by_int(x):
        return scale(x, a=-3)

    @tsr.function
    def narrowed(x, a: fp32):
        return scale(x, a=a)

    x = np.arange(5, dtype=np.float32)
    np.testing.assert_array_equal(by_float(x), x * np.float32(2.5))
    np.testing.assert_array_equal(by_int(x), x * np.float32(-3))
    np.testing.assert_array_equal(narrowed(x, 0.1), x * np.float32(0.1))
