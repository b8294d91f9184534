"""What an array means beyond its bytes is honoured or refused: at the first call and at direct ones.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import warnings

import numpy as np
import pytest

import tessera as tsr

torch = pytest.importorskip("torch")


@tsr.function
def same(x):
    return x + 0.0


def after(plain, value):
    """The results of three calls on `value`, after direct ones on `plain`."""
    for _ in range(3):
        same(plain)
    return [same(value) for _ in range(3)]


@pytest.mark.parametrize("make", [
    lambda: torch._neg_view(torch.arange(6.0)),
    lambda: torch.complex(torch.arange(6.0), torch.arange(6.0) + 1).conj().imag,
    lambda: torch.complex(torch.arange(4.0), torch.arange(4.0) + 1).conj().imag[1:2],
    lambda: torch._neg_view(torch.arange(6.0).reshape(2, 3)).T,
], ids=["odd strides", "imaginary part", "one element", "turned"])
def test_a_pending_negation(make):
    value = make()
    assert value.is_neg()
    for result in after(torch.empty_like(value.resolve_neg()), value):
        assert torch.equal(result, value.clone())


class Doubled(torch.Tensor):
    """Means something else by its elements."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return super().__torch_function__(function, types, args, kwargs or {})


def sparse():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.eye(3).to_sparse_csr()


def nested():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])


def quantised():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)


class Lying(np.ndarray):
    shape = property(lambda self: (1000,))


class Plain(torch.Tensor):
    """Adds nothing."""


REFUSED = {
    "subclass": (lambda: torch.ones(3).as_subclass(Doubled), "Doubled, which may mean something else"),
    "meta": (lambda: torch.ones(3, device="meta"), "is a meta tensor"),
    "coordinates": (lambda: torch.eye(3).to_sparse(), "layout torch.sparse_coo"),
    "rows": (sparse, "layout torch.sparse_csr"),
    "nested": (nested, "nested"),
    "quantised": (quantised, "quantised|which no kernel computes with"),
    "masked": (lambda: np.ma.masked_array(np.ones(3, np.float32), [0, 1, 0]), "masked array"),
    "matrix": (lambda: np.asmatrix(np.ones((3, 3), np.float32)), "numpy.matrix, which may mean something else"),
    "lying shape": (lambda: np.ones(4, np.float32).view(Lying), "Lying, which may mean something else"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    make, message = REFUSED[name]
    value = make()
    plain = np.ones(3, np.float32) if isinstance(value, np.ndarray) else torch.ones(3)
    for _ in range(3):
        same(plain)
    for _ in range(3):
        with pytest.raises(tsr.ArgumentError, match=message):
            same(value)


@pytest.mark.parametrize("name", ["subclass", "coordinates", "masked", "matrix", "lying shape"])
def test_the_fix_is_accepted(name):
    """What the message proposes is written in its place."""
    x = REFUSED[name][0]()
    with pytest.raises(tsr.ArgumentError) as error:
        same(x)
    fix = next(line.partition("fix:")[2].strip() for line in str(error.value).splitlines() if "fix:" in line)
    same(eval(fix, {"x": x, "np": np, "torch": torch}))  # in this module's words


def test_taken(tmp_path):
    values = np.arange(6, dtype=np.float32)
    mapped = np.memmap(tmp_path / "x", np.float32, "w+", shape=(6,))
    mapped[:] = values
    assert all(r.tolist() == values.tolist() for r in after(values, mapped))
    assert all(r.tolist() == [1.0, 1.0] for r in after(torch.ones(2), torch.ones(2).as_subclass(Plain)))


def test_transformations_of_torch():
    with pytest.raises(tsr.ArgumentError, match="torch.func"):
        torch.func.vmap(same)(torch.ones(2, 3))


def test_a_constant_has_plain_elements():
    with pytest.raises(tsr.ArgumentError, match="masked array"):
        tsr.constant(np.ma.masked_array(np.ones(3, np.float32), [0, 1, 0]))


def test_what_is_not_what_it_stands_for_is_not_written():
    """The copy that holds the values of a negated view was written, after it was freed; constants ended the process."""
    @tsr.function
    def doubled(x):
        return x * 2

    @tsr.kernel
    def incremented(X: tsr.InOut["N"]):
        for n in tsr.grid(tsr.tile(N, 8)):
            X[n] = X[n] + 1

    x, constant = torch.arange(3.0), tsr.constant(torch.ones(3))
    for _ in range(3):
        for bad in (torch._neg_view(torch.zeros(3)), constant):
            with pytest.raises(tsr.ArgumentError, match="read-only|is a constant"):
                doubled(x, out=bad)
            with pytest.raises(tsr.ArgumentError, match="read-only|is a constant"):
                incremented(bad)
    assert constant.tolist() == [1, 1, 1]
    assert tsr.constant(torch._neg_view(torch.ones(2))).tolist() == [-1, -1]


def test_destinations_that_are_copied_into_do_not_overlap():
    @tsr.function
    def both(x):
        return x + 1, x * 10

    x, room = np.arange(4, dtype=np.float32), np.zeros(8, np.float32)
    both(x, out=(room[::2], room[1::2]))
    assert room.tolist() == [1, 0, 2, 10, 3, 20, 4, 30]
    for bad in ((room[::2], room[::2]), (room[::2], room[:4]), (np.lib.stride_tricks.as_strided(room, (4,), (0,)), np.empty(4, np.float32))):
        with pytest.raises(tsr.ArgumentError, match="overlaps"):
            both(x, out=bad)
