"""No gradient is dropped without a word: until they exist, a call that would have to carry one is an error, each time.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import numpy as np
import pytest

import tessera as tsr

torch = pytest.importorskip("torch")


@tsr.function
def double(x):
    return x + x


@tsr.function
def scaled(x, s: tsr.fp32):
    return x * s


@tsr.kernel
def copy(X: tsr.Tensor["N"], Y: tsr.Out["N"]):
    for n in tsr.grid(tsr.tile(N, 64)):  # noqa: F821
        Y[n] = X[n]


WEIGHT = torch.nn.Parameter(torch.ones(3))


@tsr.function
def captured(x):
    return x * WEIGHT


def needs():
    return torch.ones(3, requires_grad=True)


CALLS = {
    "argument": lambda: double(needs()),
    "parameter of a module": lambda: double(torch.nn.Parameter(torch.ones(3))),
    "result of torch": lambda: double(needs() * 2),
    "kernel": lambda: copy(needs()),
    "keyword": lambda: double(x=needs()),
    "captured": lambda: captured(torch.ones(3)),
    "scalar": lambda: scaled(torch.ones(3), torch.tensor(2.0, requires_grad=True)),
    "out": lambda: double(torch.ones(3), out=needs()),
    "constant": lambda: tsr.constant(needs()),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_each_call_is_an_error(call):
    with torch.no_grad():  # such calls are direct from the second on
        for _ in range(3):
            call()
    for _ in range(3):
        with pytest.raises(tsr.ArgumentError, match="requires a gradient"):
            call()
    with torch.inference_mode():
        call()


def test_a_direct_call_is_an_error_too():
    """The way of the call is remembered from tensors that require none."""
    x = torch.ones(3)
    for _ in range(3):
        double(x)
    for _ in range(3):
        with pytest.raises(tsr.ArgumentError, match="x requires a gradient, but none flows through tessera yet"):
            double(needs())
    assert double(needs().detach()).tolist() == [2.0] * 3


def test_the_fix_is_in_the_message():
    with pytest.raises(tsr.ArgumentError) as error:
        double(needs())
    assert "fix:  needs().detach()\n" in str(error.value) and "\n note: " in str(error.value)


def test_looking_asks_for_no_gradient():
    assert double.check(needs(), show=False)
    assert np.asarray(double.run(needs())).tolist() == [2.0] * 3


@tsr.kernel
def increment(X: tsr.InOut["N"]):
    for n in tsr.grid(tsr.tile(N, 64)):  # noqa: F821
        X[n] += 1.0


WRITES = {
    "InOut": lambda w: increment(w),
    "Out": lambda w: copy(torch.ones(3), w),
    "out=": lambda w: double(torch.ones(3), out=w),
    "strided out=": lambda w: double(torch.ones(3), out=w.reshape(1, 3).expand(1, 3)[0]),
    "version": lambda w: increment.compile(X=tsr.fp32)(w),
    "simulator": lambda w: copy(torch.ones(3), w, target="sim:sm_80"),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_autograd_notices_what_a_call_writes(write):
    """As after torch's own operations in place: it had saved the old elements for the gradient."""
    for _ in range(3):  # the first call is not direct
        w, x = torch.full((3,), 2.0), needs()
        y = (x * w).sum()
        write(w)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.backward()


def test_reading_writes_nothing():
    w, x = torch.full((3,), 2.0), needs()
    y = (x * w).sum()
    for _ in range(3):
        double(w)
        copy(w)
    y.backward()
    assert x.grad.tolist() == [2.0] * 3
