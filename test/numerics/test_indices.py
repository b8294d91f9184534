"""Indices in functions, op by op as torch has them: what counts from the end, what is refused, what is ignored.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import numpy as np
import pytest

import tessera as tsr
from tessera import kernels, oracle

torch = pytest.importorskip("torch")


@tsr.function
def rows(x, i):
    return x[i]


@tsr.function
def columns(x, i):
    return x[:, i]


@tsr.function
def taken(x, i):
    return tsr.take(x, i, dim=1)


@tsr.function
def selected(x, i):
    return tsr.index_select(x, 0, i)


@tsr.function
def embedded(x, i):
    return tsr.embedding(i, x)


@tsr.function
def gathered(x, i):
    return tsr.gather(x, 1, i)


@tsr.function
def computed(x, i):
    return tsr.exp(x)[i * 2 - 1]


@tsr.function
def in_a_loop(x, i):
    s = tsr.zeros(x.shape[1])
    for turn in range(3):
        s = s + tsr.sum(x[i + turn], dim=0)
    return s


X = np.arange(35, dtype=np.float32).reshape(5, 7)


def check(fn, args, expected):
    """What it computes and what torch does are both within the bound."""
    bound = oracle.bounds(fn, *args)[0]
    oracle.assert_within(fn(*args), bound)
    oracle.assert_within(np.asarray(expected), bound)


@pytest.mark.parametrize("dtype", (np.int64, np.int32))
@pytest.mark.parametrize("fn,torch_fn,axis", [
    (rows, lambda x, i: x[i], 0), (columns, lambda x, i: x[:, i], 1), (selected, lambda x, i: torch.index_select(x, 0, i), 0),
    (embedded, lambda x, i: torch.nn.functional.embedding(i, x), 0), (taken, lambda x, i: torch.index_select(x, 1, i), 1),
    (gathered, lambda x, i: torch.gather(x, 1, i.long()), 1)], ids=lambda v: getattr(v, "__name__", ""))
def test_as_torch_has_it(fn, torch_fn, axis, dtype):
    size = X.shape[axis]
    wraps = fn in (rows, columns)
    for values in ([0, size - 1, 2], [size], [-1], [-size], [-size - 1], [2**31 - 1], [-(2**31)], [], [0, 1, size, 2]):
        index = np.array(values, dtype)
        if fn is gathered:
            index = np.tile(index, (5, 1))
        good = all((-size if wraps else 0) <= v < size for v in values)
        try:
            expected = torch_fn(torch.from_numpy(X), torch.from_numpy(index)).numpy()
        except (IndexError, RuntimeError):
            expected = None
        if expected is None and dtype == np.int32 and good:
            continue  # torch wants int64 there
        assert (expected is not None) == good, (values, expected)
        if good:
            assert np.array_equal(fn(X, index), expected)
        else:
            with pytest.raises(tsr.ArgumentError, match=r"test_indices.py:\d+:\d+: error: index -?\d+ in i, but axis"):
                fn(X, index)
            with pytest.raises(tsr.ArgumentError, match="index"):  # and each time: direct calls too
                fn(X, index)


def test_computed_indices_and_loops():
    check(computed, (X, np.array([0, 1, 2])), np.exp(X.astype(np.float64))[[-1, 1, 3]])
    with pytest.raises(tsr.ArgumentError, match="index 5 in i \\* 2 - 1"):
        computed(X, np.array([1, 3]))
    i = np.array([0, 2])
    assert np.array_equal(in_a_loop(X, i), sum(X[i + t].sum(0) for t in range(3)))
    with pytest.raises(tsr.ArgumentError, match="index 5 in"):
        in_a_loop(X, np.array([0, 3]))


def test_the_fix_is_accepted():
    @tsr.function
    def clamped(x, i):
        return x[tsr.clamp(i, 0, x.shape[0] - 1)]

    with pytest.raises(tsr.ArgumentError) as refused:
        rows(X, np.array([9]))
    assert "fix:  tsr.clamp(i, 0, x.shape[0] - 1)" in str(refused.value)
    assert np.array_equal(clamped(X, np.array([9, -3])), X[[4, 0]])


def test_indices_that_cannot_be_outside_are_not_checked():
    @tsr.function
    def best(x: tsr.Tensor[5, 7]):
        return tsr.gather(x, 1, tsr.argmax(x, dim=1, keepdim=True))

    assert np.array_equal(best(X), X.max(1, keepdims=True))
    assert "check_indices" not in best.inspect_ir("graph") and "report_index" not in best.inspect_ir("sched")


def test_gather_of_more_rows_than_there_are():
    index = np.zeros((6, 2), np.int64)
    with pytest.raises(RuntimeError):
        torch.gather(torch.from_numpy(X), 1, torch.from_numpy(index))
    with pytest.raises(tsr.TesseraError, match="axis 0 of i is 6, but that of x is 5"):
        gathered(X, index)
    assert np.array_equal(gathered(X, index[:3]), X[:3, :1].repeat(2, 1))


@tsr.function
def loss(x, t):
    return tsr.cross_entropy(x, t)


@tsr.function
def loss_of_each(x, t):
    return tsr.cross_entropy(x, t, reduction="none")


@tsr.function
def loss_without_two(x, t):
    return tsr.cross_entropy(x, t, ignore_index=2, reduction="sum")


@pytest.mark.parametrize("targets", ([0, 6, 3, 1, 2], [0, -100, 3, -100, 2], [-100] * 5), ids=str)
def test_cross_entropy_ignores_as_torch_does(targets):
    t = torch.tensor(targets)
    for fn, options in ((loss, {}), (loss_of_each, {"reduction": "none"})):
        expected = torch.nn.functional.cross_entropy(torch.from_numpy(X), t, **options).numpy()
        check(fn, (X, t.numpy()), expected)
    ignoring = np.where(t.numpy() < 0, 2, t.numpy())
    expected = torch.nn.functional.cross_entropy(torch.from_numpy(X), torch.from_numpy(ignoring), ignore_index=2, reduction="sum")
    check(loss_without_two, (X, ignoring), expected)


@pytest.mark.parametrize("target", (7, -1, -101, 2**40))
def test_a_target_that_is_no_class_is_refused(target):
    t = np.array([0, 1, target, 2, 3])
    for fn in (loss, loss_of_each):
        with pytest.raises(tsr.ArgumentError, match=f"target {target} in t, but axis 1 of x") as refused:
            fn(X, t)
        said = str(refused.value)
        assert f"fix:  ignore_index={target}" in said if target < 0 else "has size 7: labels run from 0 to 6" in said and "fix:" not in said
    with pytest.raises(tsr.ArgumentError, match="target -100"):
        loss_without_two(X, np.array([0, -100, 1, 2, 3]))


def test_the_kernel_ignores_too():
    t = np.array([0, -100, 3, 9, 6])
    loss, total = np.empty(5, np.float32), np.empty(5, np.float32)
    kernels.cross_entropy(X, t, loss, total)
    expected = torch.nn.functional.cross_entropy(torch.from_numpy(X), torch.tensor([0, -100, 3, 0, 6]), reduction="none").numpy()
    expected[3] = np.nan
    for values in (loss, expected):
        oracle.assert_within(values, oracle.bounds(kernels.cross_entropy, X, t, loss, total)[0])
    d = np.empty_like(X)
    kernels.cross_entropy_gradient(X, t, total, np.ones(5, np.float32), d)
    assert not d[1].any() and d[0].any()


def test_check_reports_them():
    for fn, args in ((rows, (X, np.array([1, 5]))), (loss, (X, np.array([0, 1, 2, 3, 7])))):
        with pytest.raises(tsr.RunError, match=r"test_indices.py:\d+:\d+: error: (index 5|target 7) in"):
            fn.check(*args, show=False)
