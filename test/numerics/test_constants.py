"""tsr.constant: what calls prepare of a weight is kept; results are the same bits.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import gc
import subprocess
import sys
import threading

import ml_dtypes
import numpy
import pytest

import tessera as tsr
from tessera import Tensor, i32, kernels

DTYPES = {"f32": numpy.float32, "bf16": ml_dtypes.bfloat16, "f16": numpy.float16}


@tsr.function
def product(a: Tensor["M", "K"], b: Tensor["K", "N"]):
    return a @ b


@tsr.function
def turned(a: Tensor["M", "K"], b: Tensor["N", "K"]):
    return a @ b.T


def numbers(*shape, dtype=numpy.float32, seed=0):
    return numpy.random.default_rng(seed).standard_normal(shape).astype(dtype)


def in_use() -> int:
    gc.collect()
    return tsr.memory_stats()["bytes_in_use"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m, k, n", [(1, 70, 130), (3, 64, 512), (32, 300, 96), (33, 1100, 70), (200, 64, 64), (150, 257, 1025)])
def test_the_same_bits(dtype, m, k, n):
    a, b = numbers(m, k, dtype=DTYPES[dtype]), numbers(k, n, dtype=DTYPES[dtype], seed=1)
    expected, weights = product(a, b).view("u1"), tsr.constant(b)
    for _ in range(3):
        assert (product(a, weights).view("u1") == expected).all()
    columns = numpy.ascontiguousarray(b.T)
    expected, other = turned(a, columns).view("u1"), tsr.constant(columns)
    for _ in range(2):
        assert (turned(a, other).view("u1") == expected).all()


def test_integers_and_kernels():
    rng = numpy.random.default_rng(0)
    a, b = (rng.integers(-128, 127, size, dtype=numpy.int8) for size in ((70, 130), (130, 200)))
    weights, c = tsr.constant(b), numpy.zeros((70, 200), numpy.int32)
    for _ in range(2):
        c[:] = 0
        kernels.gemm(a, weights, c, ACC=i32)
        assert (c == a.astype(numpy.int32) @ b.astype(numpy.int32)).all()


def test_packed_once_and_given_back():
    weights = tsr.constant(numbers(512, 512, dtype=ml_dtypes.bfloat16))
    a = numbers(256, 512, dtype=ml_dtypes.bfloat16)
    out = numpy.empty((256, 512), ml_dtypes.bfloat16)
    before = in_use()
    product(a, weights, out=out)
    kept = in_use() - before
    if kept == 0:
        pytest.skip("this processor's products pack nothing at this size")
    assert kept >= weights.nbytes
    for _ in range(3):
        product(a, weights, out=out)
    assert in_use() == before + kept
    product(a, weights[:, :256], out=out[:, :256])  # a view of it is a constant, too, but another operand
    assert in_use() > before + kept
    del weights
    assert in_use() == before


def test_captured():
    b = numbers(300, 200, dtype=ml_dtypes.bfloat16)
    a = numbers(100, 300, dtype=ml_dtypes.bfloat16, seed=2)
    weights = tsr.constant(b)

    @tsr.function
    def layer(a: Tensor["M", "K"]):
        return a @ weights

    for _ in range(3):
        assert (layer(a).view("u1") == product(a, b).view("u1")).all()
    weights = tsr.constant(-b)  # another constant under the same name
    assert (layer(a).view("u1") == product(a, -b).view("u1")).all()


def test_many_threads_at_once():
    b = numbers(700, 600, dtype=ml_dtypes.bfloat16)
    a = numbers(100, 700, dtype=ml_dtypes.bfloat16, seed=2)
    expected, wrong = product(a, b).view("u1"), []
    for _ in range(5):
        weights = tsr.constant(b)

        def work(weights=weights):
            for _ in range(5):
                if not (product(a, weights).view("u1") == expected).all():
                    wrong.append(1)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


def test_it_cannot_be_written():
    b = numbers(20, 30)
    weights = tsr.constant(b)
    with pytest.raises(ValueError, match="read-only"):
        weights[0, 0] = 1
    with pytest.raises(ValueError):
        weights.flags.writeable = True
    b[:] = 0  # a copy
    assert (weights != 0).all()
    with pytest.raises(tsr.ArgumentError):
        product(numbers(20, 20), numbers(20, 30), out=weights)


def test_torch():
    torch = pytest.importorskip("torch")
    b = torch.randn(130, 140).to(torch.bfloat16)
    a = torch.randn(40, 130).to(torch.bfloat16)
    weights = tsr.constant(torch.nn.Parameter(b).detach())
    assert weights.dtype == b.dtype and weights.shape == b.shape and torch.equal(weights, b)
    for _ in range(2):
        assert torch.equal(product(a, weights), product(a, b))
    # Memory that torch writes to would make what was kept wrong: it cannot.
    code = "import torch, tessera as tsr; w = tsr.constant(torch.ones(4)); print('made', flush=True); w[0] = 2; print('written')"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout == "made\n" and run.returncode < 0


def test_sizes_of_nothing_and_other_things():
    assert product(numbers(3, 0), tsr.constant(numbers(0, 4))).tolist() == [[0.0] * 4] * 3
    assert tsr.constant(numpy.array(3.0)).shape == ()
    with pytest.raises(tsr.ArgumentError, match="takes an array, not str"):
        tsr.constant("w")
