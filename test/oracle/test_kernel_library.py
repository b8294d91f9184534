"""Every shipped kernel through `check`: all stages, the compiled CPU and torch in float64, within derived bounds, at odd extents.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import importlib
import pathlib

import ml_dtypes
import numpy as np
import pytest
import torch

from tessera import kernels

NUMPY = {"fp32": np.float32, "fp16": np.float16, "bf16": ml_dtypes.bfloat16}
gradients = importlib.import_module("tessera.kernels.attention_gradient")
rows = importlib.import_module("tessera.kernels.rows")
fourier = importlib.import_module("tessera.kernels.fourier")
columns, plan = (importlib.import_module(f"tessera.kernels.fourier_{name}") for name in ("columns", "plan"))
SMALL = dict(BLOCK_M=16, BLOCK_N=16)


def normal(*shape, dtype="fp32", seed=0):
    return np.random.default_rng((seed, *shape)).standard_normal(shape).astype(NUMPY[dtype])


def wide(*arrays):
    return [torch.tensor(np.asarray(x).astype(np.float64)) for x in arrays]


def grown(*arrays):
    return [x.requires_grad_() for x in wide(*arrays)]


def values(*tensors):
    return tuple(t.detach().numpy() for t in tensors)


def in_float64(got, want):
    """Two computations of float64: off by far less than a float32 could be."""
    assert got.dtype in (np.float64, np.complex128) and np.abs(got - want).max() <= 2.0**-40 * np.abs(want).max()


def attention64(q, k, v, causal=False, window=0):
    share = q.shape[1] // k.shape[1]
    s, t = q.shape[2], k.shape[2]
    scores = q @ k.repeat_interleave(share, 1).transpose(2, 3) / q.shape[3] ** 0.5
    at, key = torch.arange(s)[:, None] + t - s, torch.arange(t)
    if causal:
        scores = scores.masked_fill(at < key, -torch.inf)
    if window:
        scores = scores.masked_fill(at >= key + window, -torch.inf)
    return torch.softmax(scores, -1).nan_to_num(0) @ v.repeat_interleave(share, 1), scores


@pytest.mark.parametrize("causal, window", ((False, 0), (True, 0), (True, 7), (False, 9)))
@pytest.mark.parametrize("dtype", ("fp32", "bf16"))
def test_attention(dtype, causal, window):
    q, k, v = normal(1, 4, 19, 16, dtype=dtype), normal(1, 2, 35, 16, dtype=dtype, seed=1), normal(1, 2, 35, 16, dtype=dtype, seed=2)
    kernels.flash_attention.check(q, k, v, causal=causal, window=window, **SMALL,
                                  reference=lambda Q, K, V: values(attention64(*wide(Q, K, V), causal, window)[0]))


@pytest.mark.parametrize("causal", (False, True))
@pytest.mark.parametrize("dtype", ("fp32", "fp16"))
def test_the_gradient_of_attention(dtype, causal):
    q, k, v, do = (normal(1, h, n, 16, dtype=dtype, seed=i) for i, (h, n) in enumerate(((4, 19), (2, 35), (2, 35), (4, 19))))

    def forward(Q, K, V):
        o, scores = attention64(*wide(Q, K, V), causal)
        return values(o, torch.logsumexp(scores, -1) / np.log(2))

    kernels.attention_with_sums.check(q, k, v, causal=causal, **SMALL, reference=forward)
    # The kernels below are told apart from the roundings of those before them: they get float64's sums, rounded once.
    o, l = forward(q, k, v)
    p = gradients.row_products(o.astype(q.dtype), do)
    gradients.row_products.check(o.astype(q.dtype), do, reference=lambda O, dO: values((wide(O)[0] * wide(dO)[0]).sum(-1)))
    given = (q, k, v, l.astype(np.float32), p, do)

    def by_hand(Q, K, V, L, P, dO):
        Q, K, V, L, P, dO = wide(Q, K, V, L, P, dO)
        _, scores = attention64(Q, K, V, causal)
        share = Q.shape[1] // K.shape[1]
        weights = torch.exp2(scores / np.log(2) - L[..., None])
        grouped = lambda x: x.unflatten(1, (-1, share)).sum(2)  # noqa: E731
        ds = weights * (dO @ V.repeat_interleave(share, 1).transpose(2, 3) - P[..., None]) / Q.shape[3] ** 0.5
        return ds @ K.repeat_interleave(share, 1), grouped(ds.transpose(2, 3) @ Q), grouped(weights.transpose(2, 3) @ dO)

    gradients.gradient_of_keys.check(*given, causal=causal, **SMALL, reference=lambda Q, K, V, L, P, dO: values(*by_hand(Q, K, V, L, P, dO)[1:]))
    gradients.gradient_of_queries.check(*given, causal=causal, **SMALL, reference=lambda Q, K, V, L, P, dO: values(by_hand(Q, K, V, L, P, dO)[0]))

    def at_once(Q, K, V, L, P, dO, X):
        dq, dk, dv = by_hand(Q, K, V, L, P, dO)
        return values(wide(X)[0] + dq.transpose(2, 3) * Q.shape[3] ** 0.5, dk, dv)

    before = normal(*q.shape[:2], q.shape[3], q.shape[2], seed=7)
    gradients.gradients_by_heads.check(*given, before, causal=causal, **SMALL, reference=at_once)
    # And what was done by hand is the gradient.
    q64, k64, v64 = grown(q, k, v)
    o64, scores = attention64(q64, k64, v64, causal)
    o64.backward(*wide(do))
    sums = torch.logsumexp(scores, -1).detach() / np.log(2)
    ours = by_hand(q, k, v, sums.numpy(), (o64.detach() * wide(do)[0]).sum(-1).numpy(), do)
    for mine, theirs in zip(ours, (q64, k64, v64)):
        in_float64(mine.numpy(), theirs.grad.numpy())


@pytest.mark.parametrize("dtype", ("fp32", "bf16"))
def test_norms(dtype):
    x, w, b, dy = normal(9, 37, dtype=dtype), normal(37, dtype=dtype), normal(37, dtype=dtype, seed=1), normal(9, 37, dtype=dtype, seed=1)
    F = torch.nn.functional
    kernels.layer_norm.check(x, w, b, reference=lambda X, weight, bias: values(F.layer_norm(wide(X)[0], (37,), *wide(weight, bias))))
    kernels.rms_norm.check(x, w, reference=lambda X, weight: values(F.rms_norm(wide(X)[0], (37,), *wide(weight), 1e-6)))

    def layer(X, weight, dY):
        x, w = grown(X, weight)
        F.layer_norm(x, (37,), w).backward(*wide(dY))
        return values(x.grad, x.mean(1), 1 / torch.sqrt(x.var(1, correction=0) + 1e-5))

    def rms(X, weight, dY):
        x, w = grown(X, weight)
        F.rms_norm(x, (37,), w, 1e-6).backward(*wide(dY))
        return values(x.grad, 1 / torch.sqrt((x * x).mean(1) + 1e-6))

    rows.layer_norm_input_gradient.check(x, w, dy, reference=layer)
    rows.rms_norm_input_gradient.check(x, w, dy, reference=rms)
    mean, scale = (v.astype(np.float32) for v in layer(x, w, dy)[1:])

    def weights(X, dY, mean, scale):
        X, dY, mean, scale = wide(X, dY, mean, scale)
        return values((dY * (X - mean[:, None]) * scale[:, None]).sum(0), dY.sum(0))

    rows.layer_norm_weight_gradient.check(x, dy, mean, scale, **SMALL, reference=weights)
    rows.rms_norm_weight_gradient.check(x, dy, scale, **SMALL, reference=lambda X, dY, scale: weights(X, dY, np.zeros(9), scale)[:1])


@pytest.mark.parametrize("causal", (False, True))
@pytest.mark.parametrize("dtype", ("fp32", "bf16"))
def test_the_gradient_of_attention_has_the_same_bits_by_one_kernel_and_by_two(monkeypatch, dtype, causal):
    q, do = (normal(2, 4, 70, 80, dtype=dtype, seed=i) for i in range(2))
    k, v = (normal(2, 2, 200, 80, dtype=dtype, seed=i) for i in range(2, 4))
    o, l = kernels.attention_with_sums(q, k, v, causal=causal)
    used = []
    results = []
    for threads, kernel in ((1, "gradients_by_heads"), (64, "gradient_of_queries")):
        monkeypatch.setattr(gradients.tsr, "num_threads", lambda threads=threads: threads)
        call = getattr(gradients, kernel)
        monkeypatch.setattr(gradients, kernel, lambda *args, call=call, kernel=kernel, **kwargs: used.append(kernel) or call(*args, **kwargs))
        results.append(kernels.attention_gradient(q, k, v, o, l, do, causal=causal))
    assert used == ["gradients_by_heads", "gradient_of_queries"]
    for one, two in zip(*results):
        np.testing.assert_array_equal(one, two)


def test_the_pieces_are_put_together():
    """The pieces are checked above; what calls them all gives their bits."""
    x, w, dy = normal(70, 130), normal(130), normal(70, 130, seed=1)
    dx, mean, scale = rows.layer_norm_input_gradient(x, w, dy)
    for got, want in zip(kernels.layer_norm_gradient(x, w, dy), (dx, *rows.layer_norm_weight_gradient(x, dy, mean, scale))):
        np.testing.assert_array_equal(got, want)
    dx, scale = rows.rms_norm_input_gradient(x, w, dy)
    for got, want in zip(kernels.rms_norm_gradient(x, w, dy), (dx, rows.rms_norm_weight_gradient(x, dy, scale))):
        np.testing.assert_array_equal(got, want)
    q, k, v, do = (normal(1, 2, 19, 16, seed=i) for i in range(4))
    o, l = kernels.attention_with_sums(q, k, v)
    p = gradients.row_products(o, do)
    wanted = (gradients.gradient_of_queries(q, k, v, l, p, do), *gradients.gradient_of_keys(q, k, v, l, p, do))
    for got, want in zip(kernels.attention_gradient(q, k, v, o, l, do), wanted):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", ("fp32", "fp16"))
def test_softmax_and_its_gradient(dtype):
    x, dy = normal(9, 37, dtype=dtype), normal(9, 37, dtype=dtype, seed=1)
    y = kernels.softmax(x)
    kernels.softmax.check(x, reference=lambda X: values(torch.softmax(wide(X)[0], -1)))

    def gradient(Y, dY):
        y, dy = wide(Y, dY)
        return values(y * (dy - (y * dy).sum(1, keepdim=True)))

    kernels.softmax_gradient.check(y, dy, reference=gradient)


@pytest.mark.parametrize("dtype", ("fp32", "bf16"))
def test_cross_entropy(dtype):
    x, label, d = normal(9, 37, dtype=dtype), np.arange(9) * 4 % 37, normal(9)

    def forward(X, label):
        x = wide(X)[0]
        return values(torch.nn.functional.cross_entropy(x, torch.tensor(label), reduction="none"), torch.logsumexp(x, 1))

    def backward(X, label, total, dLoss):
        x, total, d = wide(X, total, dLoss)
        return values((torch.exp(x - total[:, None]) - torch.nn.functional.one_hot(torch.tensor(label), 37)) * d[:, None])

    kernels.cross_entropy.check(x, label, BLOCK_N=16, reference=forward)
    kernels.cross_entropy_gradient.check(x, label, forward(x, label)[1].astype(np.float32), d, BLOCK_N=16, reference=backward)


@pytest.mark.parametrize("dtype", ("fp32", "fp16"))
def test_batches_and_groups(dtype):
    a, w = normal(3, 19, 21, dtype=dtype), normal(3, 21, 23, dtype=dtype)
    blocks = dict(SMALL, BLOCK_K=16)
    kernels.batched_gemm.check(a, w, **blocks, reference=lambda A, W: values(wide(A)[0] @ wide(W)[0]))
    tokens, start = normal(57, 21, dtype=dtype), np.array([0, 20, 20, 57])

    def each(A, W, start):
        a, w = wide(A, W)
        return values(torch.cat([a[i:j] @ w[g] for g, (i, j) in enumerate(zip(start, start[1:]))]))

    kernels.grouped_gemm.check(tokens, w, start, **blocks, reference=each)


def test_weights_of_four_bits():
    weights = normal(128, 37)
    words, scale = kernels.quantise(weights, group=64)
    whole = kernels.dequantise(words, scale, group=64)
    # A value is off by at most half a step; the step of a group and column is its scale.
    step = np.broadcast_to(scale[None, :, None, :], (8, 2, 8, 37)).reshape(128, 37)
    assert (np.abs(whole.astype(np.float64) - weights) <= step * (0.5 + 2.0**-20)).all()
    a = normal(19, 128, dtype="fp16")
    kernels.gemm_w4a16.check(a, words, scale, GROUP=64, **SMALL,
                             reference=lambda A: values(wide(A)[0] @ (torch.tensor(whole.astype(np.float64)))))


@pytest.mark.parametrize("n", (1, 7, 12, 36))
def test_fourier(n):
    """The kernel within its bound; the whole transform against NumPy's at the kernel's bound on these tables."""
    x = normal(3, n) + 1j * normal(3, n, seed=1)
    x = x.astype(np.complex64)
    p, q, tables = fourier._tables(n, -1, "float32")
    rows_ = x.reshape(3, p, q)

    def exact(XR, XI, FR, FI, TR, TI, GR, GI):
        part = lambda a, b: np.asarray(a, np.float64) + 1j * np.asarray(b, np.float64)  # noqa: E731
        y = ((part(FR, FI) @ part(XR, XI)) * part(TR, TI) @ part(GR, GI)).transpose(0, 2, 1)
        return y.real, y.imag

    fourier.transform.check(rows_.real, rows_.imag, *tables, reference=exact)


def work(rows_, columns_, gap):
    """Memory of a program's own; with a gap kernels do not know its strides."""
    return np.zeros((1, 1, rows_, 2, columns_ + gap), np.float32)[..., :columns_]


@pytest.mark.parametrize("gap", (0, 3))
@pytest.mark.parametrize("radices", ((2,), (3,), (4,), (5,), (8,), (2, 3), (3, 2, 2), (2, 2, 2, 3, 2)))
def test_columns_of_a_transform(radices, gap):
    """Every number of points, two stages at once or one, and what they keep in memory; blocks of 3 columns."""
    n = int(np.prod(radices))
    x = normal(1, n, 1, 2, 3, 2)
    kernel, tables = columns.columns(radices, 1, 2, 3), columns.roots(radices, "float32")
    kept = lambda: [work(size, 3, gap) for size in (columns.near(radices), n, n)]  # noqa: E731
    kernel.check(x.copy(), tables, *kept())
    want = np.fft.fft(x[..., 0].astype(float) + 1j * x[..., 1], axis=1)
    kernel(x, tables, *kept())
    assert np.abs(x.view(np.complex64)[..., 0] - want).max() < 2.0**-21 * n


@pytest.mark.parametrize("gap", (0, 3))
@pytest.mark.parametrize("down, along", (((2,), (2,)), ((2, 3), (5,)), ((2, 2, 2), (3, 2)), ((4, 4), (4, 4))))
def test_rows_of_a_transform(down, along, gap):
    p, m = int(np.prod(down)), int(np.prod(along))
    x = normal(1, 1, 2, p, m, 2)
    kernel = columns.rows(down, along, 1, 2)
    tables = columns.roots(down, "float32"), columns.roots(along, "float32"), columns.turns(down, along, "float32")
    kept = lambda: [*(work(size, m, gap) for size in (columns.near(down), p, p)), *(work(size, p, gap) for size in (m, m, columns.near(along)))]  # noqa: E731
    kernel.check(x, *tables, *kept())
    y = kernel(x, *tables, *kept()).view(np.complex64).reshape(2, p * m)
    want = np.fft.fft(x.astype(float).view(complex).reshape(2, p * m))
    assert np.abs(y - want).max() < 2.0**-21 * p * m


def test_radices():
    assert [plan.radices(n) for n in (1, 2, 256, 1000, 7, 22)] == [(), (2,), (8, 8, 4), (8, 5, 5, 5), None, None]
    assert all(np.prod(plan.radices(n)) == n for n in range(1, 3000) if plan.radices(n))
    assert [plan.halves(n) for n in (5, 14, 256, 1000)] == [None, None, ((4, 4), (4, 4)), ((8, 5), (5, 5))]
    assert all(np.prod(np.concatenate(plan.halves(n))) == n for n in range(1, 3000) if plan.halves(n))


def test_whole_transforms():
    """In float64. A term of a result has met at most P + Q sums and 12 roundings, of products and of the tables' own; NumPy's fewer."""
    for shape, axis in (((3, 60), -1), ((60, 3), 0), ((2, 127), -1)):
        x = (normal(*shape) + 1j * normal(*shape, seed=1)).astype(np.complex128)
        p, q, _ = fourier._tables(shape[axis], -1, "float64")
        bound = 4 * (p + q + 12) * 2.0**-53 * np.abs(x).sum(axis, keepdims=True)
        forth = fourier.fft(x, axis)
        assert (np.abs(forth - np.fft.fft(x, axis=axis)) <= bound).all()
        assert (np.abs(fourier.fft(forth, axis, inverse=True) - x) <= 2 * bound).all()
    for shape in ((2, 24, 30), (243, 486), (7, 4), (14, 22), (4, 3)):  # the last three as products
        picture = normal(*shape).astype(np.float64)
        in_float64(kernels.fft2(picture), np.fft.fft2(picture))
        in_float64(kernels.fft2(picture, inverse=True), np.fft.ifft2(picture))
    with pytest.raises(ValueError):
        fourier.fft(np.zeros((3, 0)))


def test_each_file_is_short():
    folder = pathlib.Path(kernels.__file__).parent
    for path in folder.glob("*.py"):
        assert len(path.read_text().splitlines()) < 150, path.name
