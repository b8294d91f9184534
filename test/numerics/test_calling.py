"""Calling: scalars, captured names, arrays and closures, kernels and functions in each other, NumPy and torch, threads and fork.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import linecache
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from conftest import NUMPY

import tessera as tsr
from tessera import Out, Tensor, const, fp32, i64

FACTOR = 3
TABLE = np.arange(5, dtype=np.float32)


@tsr.function
def scaled(x):
    return x * FACTOR


@tsr.function
def shifted(x: Tensor["N"]):
    return x + TABLE


@tsr.function
def by_scalars(x, a: fp32, k, flag: bool):
    return tsr.where(flag, x * a + k, x)


@tsr.function
def any_scalar(x, s):
    return x * s


@tsr.function
def several(x):
    return x + 1, x.sum(dim=0), tsr.argmax(x, dim=-1)


@tsr.function
def helper(x):
    return tsr.maximum(x, 0) * 2


@tsr.kernel
def uses_helper(X: Tensor["N"], Y: Out["N"]):
    for n in tsr.grid(tsr.tile(N, 16)):
        Y[n] = helper(X[n]) + 1


@tsr.function
def uses_both(x: Tensor["N"]):
    return helper(uses_helper(x)) - x


@tsr.kernel
def sized(X: Tensor["N"], Y: Out["N"], BLOCK: const = 8, scale: const = 2.0):
    for n in tsr.grid(tsr.tile(N, BLOCK)):
        Y[n] = X[n] * scale


def test_scalars_are_arguments(inputs):
    x = inputs.small_integers(3, 20)
    np.testing.assert_array_equal(by_scalars(x, 2.5, 7, True), x * np.float32(2.5) + 7)
    np.testing.assert_array_equal(by_scalars(x, 2.5, 7, False), x)
    np.testing.assert_array_equal(by_scalars(x, a=0.1, k=-(2**20), flag=True), x * np.float32(0.1) + np.float32(-(2**20)))
    for s in (2, 0.5, np.float64(3.0), np.int64(4)):
        np.testing.assert_array_equal(any_scalar(x, s), x * np.float32(s))
    assert len({v for v in by_scalars._versions}) == 1, "scalars are not part of the key"


def test_constants_are_part_of_the_key(inputs):
    x = inputs.small_integers(50)
    for block, scale in ((8, 2.0), (5, 3.0), (64, 0.5)):
        np.testing.assert_array_equal(sized(x, BLOCK=block, scale=scale), x * np.float32(scale))


def test_a_changed_global_compiles_another_version(inputs):
    global FACTOR
    x = inputs.small_integers(7)
    try:
        for FACTOR in (3, 5, -2.0, 3):
            np.testing.assert_array_equal(scaled(x), x * FACTOR)
            assert scaled.captured["FACTOR"] == FACTOR
        assert len(scaled._versions) == 3
    finally:
        FACTOR = 3


def test_captured_arrays_are_hidden_arguments(inputs):
    global TABLE
    x = inputs.small_integers(5)
    np.testing.assert_array_equal(shifted(x), x + TABLE)
    TABLE[2] = 100  # the same array: no new version, the new value
    np.testing.assert_array_equal(shifted(x), x + TABLE)
    versions = len(shifted._versions)
    TABLE = np.full(5, 9, np.float32)
    np.testing.assert_array_equal(shifted(x), x + 9)
    assert len(shifted._versions) == versions


def test_closures_and_attributes(inputs):
    x = inputs.small_integers(9)

    class Layer:
        def __init__(self, scale):
            self.scale = scale
            self.bias = np.full(9, scale, np.float32)

        def forward(self):
            @tsr.function
            def apply(x):
                return x * self.scale + self.bias

            return apply

    two, five = Layer(2), Layer(5)
    apply = two.forward()
    np.testing.assert_array_equal(apply(x), x * 2 + 2)
    np.testing.assert_array_equal(five.forward()(x), x * 5 + 5)
    two.scale = 7
    np.testing.assert_array_equal(apply(x), x * 7 + 2)


def test_functions_in_kernels_and_kernels_in_functions(inputs):
    x = inputs.small_integers(50)
    inner = np.maximum(x, 0) * 2 + 1
    np.testing.assert_array_equal(uses_helper(x), inner)
    np.testing.assert_array_equal(uses_both(x), np.maximum(inner, 0) * 2 - x)


@tsr.kernel
def doubled(X: Tensor["M", "N"], Y: Out["M", "N"]):
    for m, n in tsr.grid(tsr.tile(M, 4), tsr.tile(N, 8)):
        Y[m, n] = X[m, n] + X[m, n]


@tsr.function
def doubled_as_it_is(x):
    return doubled(x)


@tsr.function
def doubled_times_one(x):
    return doubled(x * 1.0)


@tsr.function
def doubled_either_way(x):
    return doubled(tsr.where(x > 0, x, x))


@pytest.mark.parametrize("fn", (doubled_as_it_is, doubled_times_one, doubled_either_way))
def test_a_kernel_takes_what_folds_to_an_argument(fn, inputs):
    """It was made for a row-major temporary, which is not there any more: the argument has strides of its own."""
    x = inputs.small_integers(8, 12)
    for view in (x, x[:, ::-1], x.T, x[::2, ::3], np.broadcast_to(x[:, :1], (8, 5))):
        np.testing.assert_array_equal(fn(view), 2 * view)


def test_several_results_and_out(inputs):
    x = inputs.small_integers(4, 9)
    a, b, c = several(x)
    for got, want in zip((a, b, c), (x + 1, x.sum(0), x.argmax(-1))):
        np.testing.assert_array_equal(got, want)
    outs = np.zeros((9, 4), np.float32).T, np.zeros(18, np.float32)[::2], np.zeros(4, np.int64)
    got = several(x, out=outs)
    for given, returned, want in zip(outs, got, (x + 1, x.sum(0), x.argmax(-1))):
        assert given is returned
        np.testing.assert_array_equal(given, want)


@pytest.mark.parametrize("dtype", ("fp32", "fp16", "bf16", "fp64", "i32", "i64", "bool"))
def test_torch_in_and_out(dtype, inputs):
    torch = pytest.importorskip("torch")
    known = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16, "fp64": torch.float64, "i32": torch.int32, "i64": torch.int64, "bool": torch.bool}[dtype]
    x = torch.tensor(inputs.small_integers(6, 10)).to(known)
    text = "x.transpose(0, 1)"
    from programs import function

    got = function(text, "x")(x)
    assert isinstance(got, torch.Tensor) and got.dtype == known and torch.equal(got, x.T)
    for view in (x.T, x[::2, 1:], x[:1].expand(6, 10)):
        assert torch.equal(function(text, "x")(view), view.T)
    if dtype != "bool":
        assert torch.equal(function("x + y")(x, x), x + x)


def test_a_notebook_cell(inputs):
    """Cells are known to linecache; nothing is in a file."""
    text = "import tessera as tsr\n\n@tsr.function\ndef cell(x):\n    return x * 2 + 1\n"
    name = "<ipython-input-7-0123456789ab>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space = {}
    exec(compile(text, name, "exec"), space)
    x = inputs.small_integers(5)
    np.testing.assert_array_equal(space["cell"](x), x * 2 + 1)
    broken = text.replace("x * 2 + 1", "x + nothing")
    linecache.cache[name] = (len(broken), None, broken.splitlines(True), name)
    space = {}
    exec(compile(broken, name, "exec"), space)
    with pytest.raises(tsr.CompileError, match=r"ipython-input-7.*:5:\d+: error: .*nothing"):
        space["cell"](x)


def test_the_plain_prompt_is_refused():
    text = "import tessera as tsr, numpy as np\n@tsr.function\ndef f(x):\n    return x\n\nf(np.zeros(3))\n"
    done = subprocess.run([sys.executable, "-i", "-q"], input=text, capture_output=True, text=True, timeout=100, env=dict(os.environ, PYTHONSTARTUP=""))
    assert "<stdin>:1: error: the source of 'f' is not in a file Python can read" in done.stderr
    (line,) = [line for line in done.stderr.splitlines() if "the source of 'f'" in line]
    assert "save it in a file and import that, or give its text to tsr.compile_source(text).f" in line


def test_threads():
    """Eight threads, the same and different functions, compiling and calling at once."""
    shared = tsr.compile_source("@tsr.function\ndef f(x, y):\n    return (x @ y).sum(dim=0)\n").f
    own = [tsr.compile_source(f"@tsr.function\ndef g(x):\n    return x * {i} + tsr.softmax(x, dim=-1) * 0\n").g for i in range(8)]
    start, errors = threading.Barrier(8), []

    def work(i):
        try:
            random = np.random.default_rng(i)
            start.wait()
            for size in (3, 65, 200):
                x, y = random.integers(-3, 4, (size, 40)).astype(np.float32), random.integers(-3, 4, (40, 17)).astype(np.float32)
                for _ in range(20):
                    np.testing.assert_array_equal(shared(x, y), (x @ y).sum(0))
                    np.testing.assert_array_equal(own[i](x), x * i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
    assert not errors, errors[0]
    assert len(shared._versions) == 1


def test_fork():
    """A child calls what the parent compiled, and compiles; it must not hang on the parent's threads."""
    x, y = np.ones((200, 300), np.float32), np.ones((300, 200), np.float32)
    f = tsr.compile_source("@tsr.function\ndef f(x, y):\n    return x @ y\n").f
    np.testing.assert_array_equal(f(x, y), np.full((200, 200), 300))
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(60)
            good = (f(x, y) == 300).all()
            g = tsr.compile_source("@tsr.function\ndef g(x):\n    return x.sum(dim=-1) * 2\n").g
            good = good and (g(x) == 600).all()
            os._exit(0 if good else 1)
        finally:
            os._exit(2)
    _, status = os.waitpid(child, 0)
    assert status == 0, f"the child ended with {status} (14: it hung for 60 s)"
    np.testing.assert_array_equal(f(x, y), np.full((200, 200), 300))
