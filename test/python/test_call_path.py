"""Direct calls (python/bindings/call.cpp): what is remembered, and every guard that a later call must pass.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import gc
import sys
import threading
import time
import types

import numpy as np
import pytest

import tessera as tsr
from tessera import InOut, Out, Tensor, const

torch = pytest.importorskip("torch")

FACTOR = 2.0
WEIGHTS = np.arange(8, dtype=np.float32)


@tsr.function
def add(x, y):
    return x + y


@tsr.function
def scaled(x):
    return x * FACTOR


@tsr.function
def weighted(x):
    return x * WEIGHTS


@tsr.function
def nested(x):
    return scaled(x) + 1.0


@tsr.kernel
def copy(X: Tensor["M", "N"], Y: Out["M", "N"], SIZE: const = 32, alpha: float = 1.0):
    for m, n in tsr.grid(tsr.tile(M, SIZE), tsr.tile(N, SIZE)):
        Y[m, n] = X[m, n] * alpha


@tsr.kernel
def double(X: InOut["N"]):
    for n in tsr.grid(tsr.tile(N, 64)):
        X[n] = X[n] + X[n]


@tsr.function
def two(x):
    return x + 1.0, x * 2.0


@pytest.fixture
def direct(monkeypatch):
    """Says whether calls were direct."""
    slow = []
    real = type(add)._call_slowly

    def counted(self, *args, **kwargs):
        slow.append(self)
        return real(self, *args, **kwargs)

    monkeypatch.setattr(type(add), "_call_slowly", counted)

    def was_direct(fn, *args, **kwargs):
        slow.clear()
        was_direct.result = fn(*args, **kwargs)
        return not slow

    for fn in (add, scaled, weighted, nested, copy, double, two):
        fn._forget()
    return was_direct


def f32(*shape):
    return np.arange(1, 1 + int(np.prod(shape)), dtype=np.float32).reshape(shape)


@pytest.mark.parametrize("make", [lambda a: a, torch.from_numpy], ids=["numpy", "torch"])
def test_the_second_call_is_direct(direct, make):
    x, y = make(f32(8)), make(f32(8))
    assert not direct(add, x, y)
    assert direct(add, x, y)
    assert type(direct.result) is type(x) and direct.result.dtype == x.dtype
    np.testing.assert_array_equal(np.asarray(direct.result), 2 * f32(8))
    assert direct(add, make(f32(100)), make(f32(100)))  # sizes are not part of the key
    np.testing.assert_array_equal(np.asarray(direct.result), 2 * f32(100))


def test_keywords_and_constants(direct):
    x = f32(5, 7)
    copy(x, alpha=3.0)
    assert direct(copy, x, alpha=4.0)
    np.testing.assert_array_equal(direct.result, 4 * x)
    assert not direct(copy, alpha=4.0, X=x)
    assert not direct(copy, x, alpha=4)  # an int is another version
    assert not direct(copy, x, SIZE=16)
    assert direct(copy, x, SIZE=16)
    assert not direct(copy, x, SIZE=8)
    np.testing.assert_array_equal(direct.result, x)


def test_several_results_and_none(direct):
    two(f32(3))
    assert direct(two, f32(9))
    a, b = direct.result
    np.testing.assert_array_equal(a, f32(9) + 1)
    np.testing.assert_array_equal(b, f32(9) * 2)
    x = f32(9)
    double(x)
    assert direct(double, x)
    assert direct.result is None
    np.testing.assert_array_equal(x, 4 * f32(9))


@pytest.mark.parametrize("make", [lambda a: a, torch.from_numpy], ids=["numpy", "torch"])
def test_out(direct, make):
    x, out = make(f32(8)), make(np.zeros(8, np.float32))
    add(x, x, out=out)
    assert direct(add, x, x, out=out)
    assert direct.result is out
    wide = make(np.zeros(16, np.float32))[::2]
    assert not direct(add, x, x, out=wide)  # written along its last axis: by a copy
    assert direct.result is wide
    np.testing.assert_array_equal(np.asarray(wide), 2 * f32(8))


def test_out_of_a_kernel_may_have_any_strides(direct):
    x = f32(4, 4)
    for _ in range(2):
        wide = np.zeros((4, 8), np.float32)
        copy(x, out=wide[:, ::2])
        np.testing.assert_array_equal(wide[:, ::2], x)
        assert (wide[:, 1::2] == 0).all()
        tall = np.zeros((8, 4), np.float32)
        copy(x, out=tall[::2])
        np.testing.assert_array_equal(tall[::2], x)
    assert direct(copy, x, out=tall[::2])


def test_every_part_of_the_key_is_guarded(direct):
    x = f32(4, 6)
    add(x, x)
    assert direct(add, x, x)
    for other in (x.astype(np.float64), x[:, ::2], x.T, x[0], x[:, :1], x[:1], x.astype(np.int32), x.astype(">f4").astype("=f4")[::-1, ::-1]):
        add._forget()
        add(x, x)
        direct(add, other, other)
        np.testing.assert_array_equal(direct.result, other + other)
    add._forget()
    add(x, x)
    assert not direct(add, x, x[:, :1])  # broadcasts
    np.testing.assert_array_equal(direct.result, x + x[:, :1])
    add._forget()
    add(x, x[:, :1])
    assert not direct(add, x, x)
    np.testing.assert_array_equal(direct.result, x + x)
    tx = torch.from_numpy(x)
    assert not direct(add, tx, tx)
    assert isinstance(direct.result, torch.Tensor)
    assert not direct(add, np.asfortranarray(x), x)


def test_whole_dims_are_guarded(direct):
    @tsr.kernel
    def rows(X: Tensor["M", "N"], Y: Out["M", "N"]):
        for m in tsr.grid(tsr.tile(M, 4)):
            Y[m, :] = X[m, :] + 1.0

    rows(f32(3, 5))
    assert direct(rows, f32(9, 5))
    assert not direct(rows, f32(3, 6))
    np.testing.assert_array_equal(direct.result, f32(3, 6) + 1)


def test_outside_names_are_guarded(direct, monkeypatch):
    module = sys.modules[__name__]
    x = f32(8)
    nested(x), scaled(x), weighted(x)
    assert direct(nested, x) and direct(scaled, x) and direct(weighted, x)
    monkeypatch.setattr(module, "FACTOR", float("2.0"))  # equal, but another object
    assert direct(scaled, x)
    monkeypatch.setattr(module, "FACTOR", 3.0)
    assert not direct(scaled, x)
    np.testing.assert_array_equal(direct.result, 3 * x)
    assert not direct(nested, x)
    np.testing.assert_array_equal(direct.result, 3 * x + 1)
    monkeypatch.setattr(module, "FACTOR", 3)
    assert not direct(scaled, x)
    monkeypatch.setattr(module, "WEIGHTS", f32(8))  # an array is an argument: another of its kind will do
    assert direct(weighted, x)
    np.testing.assert_array_equal(direct.result, x * x)
    WEIGHTS[0] = 7
    np.testing.assert_array_equal(weighted(x), x * WEIGHTS)
    monkeypatch.setattr(module, "WEIGHTS", f32(8).astype(np.float64))
    assert not direct(weighted, x)
    monkeypatch.setattr(module, "WEIGHTS", f32(1))
    assert not direct(weighted, x)
    np.testing.assert_array_equal(direct.result, x)


def test_closures_attributes_and_hidden_builtins_are_guarded(direct):
    space = {"tsr": tsr, "__name__": __name__}
    config = types.SimpleNamespace(scale=2.0)

    def make():
        factor = 5.0

        @tsr.function
        def inner(x):
            return x * factor + config.scale

        def change(value):
            nonlocal factor
            factor = value

        return inner, change

    inner, change = make()
    x = f32(4)
    inner(x)
    assert direct(inner, x)
    change(6.0)
    assert not direct(inner, x)
    np.testing.assert_array_equal(direct.result, 6 * x + 2)
    config.scale = 4.0
    assert not direct(inner, x)
    np.testing.assert_array_equal(direct.result, 6 * x + 4)
    config = types.SimpleNamespace(scale=1.0)
    assert not direct(inner, x)
    np.testing.assert_array_equal(direct.result, 6 * x + 1)
    fn = tsr.compile_source("import tessera as tsr\n@tsr.function\ndef f(x):\n    return abs(x)\n")
    del space, fn


def message(call):
    with pytest.raises(tsr.ArgumentError) as caught:
        call()
    frames = []
    trace = caught.value.__traceback__
    while trace:
        frames.append(trace.tb_frame.f_code.co_filename)
        trace = trace.tb_next
    # At most the frame that raised is ours.
    assert sum("/tessera/" in f for f in frames) <= 1, frames
    return str(caught.value)


def test_direct_calls_fail_with_the_words_of_slow_ones():
    def wrong_dims():
        copy(f32(4, 4), np.zeros((4, 5), np.float32))

    def overlapping():
        x = f32(8, 8)
        copy(x[:4], x[2:6])

    def overlapping_out():
        x = f32(8)
        add(x[:4], x[:4], out=x[2:6])

    def read_only():
        x = f32(8)
        x.flags.writeable = False
        double(x)

    def read_only_out():
        x = f32(8)
        x.flags.writeable = False
        add(f32(8), f32(8), out=x)

    def misaligned():
        x = np.frombuffer(bytearray(33), np.uint8)[1:].view(np.float32)
        add(x, x)

    def crooked():
        x = np.zeros(8, np.dtype([("a", "f4"), ("b", "i1")]))["a"]
        add(x, x)

    for call in (crooked, wrong_dims, overlapping, overlapping_out, read_only, read_only_out, misaligned):
        for fn in (add, copy, double):
            fn._forget()
        slow = message(call)
        copy(f32(4, 4), np.zeros((4, 4), np.float32))
        add(f32(8), f32(8))
        add(f32(8), f32(8), out=f32(8))
        double(f32(8))
        assert message(call) == slow


def test_pending_negation_of_torch(direct):
    z = torch.complex(torch.ones(8), torch.arange(8.0))
    x = torch.arange(16.0)[::2]
    add(x, x)
    assert direct(add, x, x)
    for view in (z.conj().imag, z.conj().imag.unsqueeze(-1), z.conj().imag[3]):
        add(torch.zeros_like(view).clone(), torch.zeros_like(view).clone())
        np.testing.assert_array_equal(np.asarray(add(view, view).resolve_neg()), 2 * view.resolve_neg().numpy())


def test_a_parameter_of_torch_and_requires_grad(direct):
    p = torch.nn.Parameter(torch.ones(8))
    with torch.no_grad():
        add(p, p)
        assert direct(add, p, p)
    assert type(direct.result) is torch.Tensor and (direct.result == 2).all()


def test_empty_and_scalars(direct):
    add(f32(8), f32(8))
    assert direct(add, f32(8)[:0], f32(8)[:0])
    assert direct.result.shape == (0,)
    add(np.float32(1) + np.zeros((), np.float32), np.zeros((), np.float32))
    zero = np.ones((), np.float32)
    add(zero, zero)
    assert direct(add, zero, zero) and direct.result.shape == () and direct.result == 2


def test_dtypes_keep_their_library(direct):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for dtype in (np.float64, np.float16, ml_dtypes.bfloat16, np.int32, np.int64):
        x = np.arange(8).astype(dtype)
        add(x, x)
        assert direct(add, x, x)
        assert direct.result.dtype == x.dtype
        np.testing.assert_array_equal(direct.result, x + x)
    for dtype in (torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.int64):
        x = torch.arange(8).to(dtype)
        add(x, x)
        assert direct(add, x, x)
        assert direct.result.dtype == dtype and (direct.result == x + x).all()


def test_many_ways_are_forgotten_oldest_first(direct):
    for size in range(2, 50):
        copy(f32(4, 4), SIZE=size)
    assert copy._remembered <= 32
    assert direct(copy, f32(4, 4), SIZE=49)
    assert direct(copy, f32(4, 4), SIZE=30)  # found by its numbers, not by asking all that are newer
    assert not direct(copy, f32(4, 4), SIZE=2)


def test_tuned_kernels(direct, tmp_path):
    @tsr.kernel.autotune(space={"B": [16, 32]}, key=["N"], cache=str(tmp_path))
    def tuned(X: Tensor["N"], Y: Out["N"], B: const = 16):
        for n in tsr.grid(tsr.tile(N, B)):
            Y[n] = X[n] + 1.0

    tuned(f32(100))
    assert direct(tuned, f32(100))
    np.testing.assert_array_equal(direct.result, f32(100) + 1)
    assert not direct(tuned, f32(101))  # another key: tuned anew
    tsr.knobs.tune = "off"
    try:
        tuned(f32(102))
        assert not direct(tuned, f32(102))  # nothing was chosen
    finally:
        tsr.knobs.tune = None


def test_nothing_leaks():
    x = f32(8)
    weighted(x)
    counts = [sys.getrefcount(o) for o in (x, WEIGHTS)]
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(5000):
        weighted(x)
    for _ in range(200):
        with pytest.raises(tsr.ArgumentError):
            add(x, f32(9))
    gc.collect()
    assert len(gc.get_objects()) - before < 100
    after = [sys.getrefcount(o) for o in (x, WEIGHTS)]
    assert counts == after


def test_a_function_in_a_cycle_is_collected():
    import weakref

    def make():
        big = np.ones(8, np.float32)

        @tsr.function
        def f(x):
            return x + big

        f(big)
        assert f._remembered == 1
        f.self = f
        return weakref.ref(f)

    ref = make()
    gc.collect()
    assert ref() is None


def test_threads_share_one_function():
    results = []

    def work(dtype):
        for n in range(1, 200):
            x = np.full(n % 17 + 2, n, dtype)
            y = add(x, x)
            results.append(y.dtype == dtype and (y == 2 * n).all())

    threads = [threading.Thread(target=work, args=(d,)) for d in (np.float32, np.float64, np.int32, np.int64)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 4 * 199 and all(results)


def test_other_threads_run_during_long_kernels():
    n = 768
    a = np.ones((n, n), np.float32)

    @tsr.function
    def chain(x):
        y = x @ x
        return y @ y

    chain(a)
    chain(a)
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.0005)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.perf_counter()
    while time.perf_counter() - start < 20:
        begin = time.perf_counter()
        chain(a)
        end = time.perf_counter()
        inside = sum(begin < t < end for t in ticks)
        if inside >= 3:
            break
    stop.set()
    thread.join()
    assert inside >= 3, "the interpreter was held during a kernel of some milliseconds"
