"""Every op of the tile levels at graph, sched, tile-value and tile, against NumPy on numbers whose sums are exact.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import numpy as np
import pytest
import tessera as tsr
from tessera import InOut, Out, Region, Tensor, const, fp16, fp32, i64, reduce_max, reduce_min, reduce_sum
from tessera.oracle import Stage, prepare

STAGES = ("graph", "sched", "tile-value", "tile")
EXTENTS = (0, 1, 7, 16, 33)


def integers(random, *shape, dtype=np.float32, low=-4, high=5):
    return random.integers(low, high, shape).astype(dtype)


def everywhere(fn, *args, want, seeds=(0, 1, 2), stages=STAGES, target="cpu", **kwargs):
    """The same bits at every stage and for every legal order."""
    want = want if isinstance(want, tuple) else (want,)
    for stage in stages:
        program, values = prepare(fn, args, kwargs, stage, target)
        for seed in seeds:
            outcome = program.run(values, seed=seed)
            assert len(outcome.results) == len(want), stage
            for got, expected in zip(outcome.results, want):
                assert not got.poison, (stage, seed, got.poison[:4])
                assert got.array.dtype == expected.dtype and got.array.shape == expected.shape, (stage, got.array.dtype, got.array.shape)
                assert np.array_equal(got.array, expected, equal_nan=True), (stage, seed, got.array, expected)


# ---- views ----------------------------------------------------------------------------------


@tsr.kernel
def copy(X: Tensor["M", "N"], Y: Out["M", "N"], BM: const = 8, BN: const = 5):
    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN), group=2):
        Y[m, n] = X[m, n]


@pytest.mark.parametrize("m", EXTENTS)
@pytest.mark.parametrize("n", EXTENTS)
def test_load_and_store(m, n, random):
    x = integers(random, m, n)
    everywhere(copy, x, want=x)


@pytest.mark.parametrize("view", ["transposed", "sliced", "reversed"])
def test_strided_arguments(view, random):
    x = integers(random, 9, 14)
    x = {"transposed": np.asfortranarray(x), "sliced": x[1::2, ::3], "reversed": x[::-1, ::-1]}[view]
    everywhere(copy, x, want=np.ascontiguousarray(x))


@tsr.kernel
def in_place(X: InOut["N", fp32]):
    for n in tsr.grid(tsr.tile(N, 8)):
        X[n] = X[n] * 2 + n.index.to(fp32)


@pytest.mark.parametrize("n", EXTENTS)
def test_inout_index_and_cast(n, random):
    x = integers(random, n)
    everywhere(in_place, x, want=x * 2 + np.arange(n, dtype=np.float32))


@tsr.kernel
def pick(X: Tensor["K", "D", fp32], I: Tensor["N", i64], Y: Out["N", "D", fp32]):
    for n, d in tsr.grid(tsr.tile(N, 8), tsr.tile(D, 4)):
        Y[n, d] = X[I[n], d]


@pytest.mark.parametrize("n", (0, 1, 13))
def test_a_gather_out_of_bounds_reads_0(n, random):
    x, at = integers(random, 6, 7), integers(random, n, dtype=np.int64, low=-2, high=9)
    want = np.where(((at >= 0) & (at < 6))[:, None], x[np.clip(at, 0, 5)], np.float32(0))
    everywhere(pick, x, at, want=want)


@tsr.kernel
def put(X: Tensor["N", fp32], I: Tensor["N", i64], Y: InOut["K", fp32]):
    for n in tsr.grid(tsr.tile(N, 4)):
        Y[I[n]] = X[n]


def test_a_scatter_out_of_bounds_writes_nothing(random):
    x, at, y = integers(random, 7), np.array([4, -1, 0, 9, 2, 5, 3]), integers(random, 5)
    want = y.copy()
    for value, i in zip(x, at):
        if 0 <= i < 5:
            want[i] = value
    everywhere(put, x, at, y, want=want)


@tsr.kernel
def masked(X: Tensor["N", fp32], M: Tensor["N", tsr.bool], Y: InOut["N", fp32]):
    for n in tsr.grid(tsr.tile(N, 8)):
        x = tsr.load(X, (n,), mask=M[n], pad=7)
        tsr.store(Y, (n,), x + 1, mask=x > 0)


def test_masks(random):
    x, mask, y = integers(random, 19), random.random(19) < 0.5, integers(random, 19)
    loaded = np.where(mask, x, np.float32(7))
    everywhere(masked, x, mask, y, want=np.where(loaded > 0, loaded + 1, y))


@tsr.kernel
def one(X: Tensor["N", fp32], i: i64, Y: Out[1, fp32]):
    for n in tsr.grid(1):
        Y[n] = X[i]


@pytest.mark.parametrize("i", (-1, 0, 4, 5))
def test_a_scalar_out_of_bounds_reads_0(i, random):
    x = integers(random, 5)
    everywhere(one, x, i, want=np.array([x[i] if 0 <= i < 5 else 0], np.float32))


@tsr.kernel
def combine(X: Tensor["N", fp32], S: Region[reduce_sum, Tensor[1, fp32]], T: Region[reduce_max, Tensor[1, fp32]], L: Region[reduce_min, Tensor[1, fp32]]):
    for n in tsr.grid(tsr.tile(N, 8)):
        tsr.atomic_add(S, (0,), tsr.sum(X[n]))
        tsr.atomic_max(T, (0,), tsr.max(X[n]))
        tsr.atomic_min(L, (0,), tsr.min(X[n]))


@pytest.mark.parametrize("n", (0, 1, 35))
def test_atomics_in_any_order(n, random):
    x, s, t, low = integers(random, n), *(integers(random, 1) for _ in range(3))
    everywhere(combine, x, s, t, low, want=(s + x.sum(dtype=np.float32), np.maximum(t, x.max(initial=-np.inf)), np.minimum(low, x.min(initial=np.inf))), seeds=(0, 3, 4))


# ---- tiles ----------------------------------------------------------------------------------


@tsr.kernel
def shapes(X: Tensor["M", "N", fp32], R: Tensor["M", fp32], C: Tensor["N", fp32], Y: Out["N", "M", fp32]):
    for m, n in tsr.grid(tsr.tile(M, 8), tsr.tile(N, 8)):
        x = X[m, n] * 2 + R[m] - C[n]  # broadcasts on either side
        Y[n, m] = x.T + tsr.full(3, n, m)


@pytest.mark.parametrize("m", EXTENTS)
def test_broadcast_transpose_fill(m, random):
    x, r, c = integers(random, m, 11), integers(random, m), integers(random, 11)
    everywhere(shapes, x, r, c, want=(x * 2 + r[:, None] - c).T + 3)


@tsr.kernel
def whole(X: Tensor["N", fp32], Y: Out[24, fp32]):
    for i in tsr.grid(1):
        x = X[tsr.range_at(N, 0, 12)].filled(9)
        Y[:] = tsr.cat((x, x * 2), dim=0)


@pytest.mark.parametrize("n", (0, 1, 5, 12))
def test_filled_and_cat(n, random):
    x = integers(random, n)
    padded = np.concatenate([x, np.full(12 - n, 9, np.float32)])
    everywhere(whole, x, want=np.concatenate([padded, padded * 2]))


@tsr.kernel
def regroup(X: Tensor[12, fp32], Y: Out[3, 4, fp32]):
    for i in tsr.grid(1):
        Y[:, :] = X[:].reshape(3, 4)


def test_reshape(random):
    x = integers(random, 12)
    everywhere(regroup, x, want=x.reshape(3, 4))


@tsr.kernel
def totals(X: Tensor["M", "N", fp32], S: Out["M", fp32], P: Out["M", fp32], T: Out["M", fp32], L: Out["M", fp32]):
    for m in tsr.grid(tsr.tile(M, 4)):
        x = X[m, tsr.range_at(N, 0, 16)]
        S[m] = tsr.sum(x, dim=1)
        P[m] = tsr.prod(x, dim=1)
        T[m] = tsr.max(x, dim=1)
        L[m] = tsr.min(x, dim=1)


@pytest.mark.parametrize("n", (0, 1, 5, 16))
@pytest.mark.parametrize("m", (0, 1, 7))
def test_reductions_skip_absent_elements(m, n, random):
    x = integers(random, m, n, low=-2, high=3)
    want = (x.sum(1), x.prod(1), x.max(1, initial=-np.inf), x.min(1, initial=np.inf))
    everywhere(totals, x, want=tuple(w.astype(np.float32) for w in want))


@tsr.kernel
def half(X: Tensor["N", fp32], Y: Out["N", fp32]):
    for n in tsr.grid(tsr.tile(N, 4)):
        if n.start < 8:
            Y[n] = X[n]


def test_what_nobody_writes_is_poison(random):
    for stage in STAGES:
        program, values = prepare(half, (integers(random, 11),), {}, stage)
        assert program.run(values, seed=1).results[0].poison == [8, 9, 10], stage


@tsr.kernel
def places(X: Tensor["M", "N", fp32], H: Out["M", i64], L: Out["M", i64]):
    for m in tsr.grid(M):
        best, at = tsr.full(-1000, dtype=fp32), tsr.full(-1, dtype=i64)
        for n in tsr.tile(N, 4):
            x = X[m, n]
            at = tsr.where(tsr.max(x) > best, tsr.argmax(x), at)
            best = tsr.maximum(best, tsr.max(x))
        H[m] = at
        L[m] = tsr.argmin(X[m, tsr.range_at(N, 0, 16)])


@pytest.mark.parametrize("n", (1, 4, 7, 13))
def test_positions_are_within_the_dim(n, random):
    x = integers(random, 3, n)
    everywhere(places, x, want=(x.argmax(1), x.argmin(1)))


@tsr.kernel
def running(X: Tensor["M", "N", fp32], S: Out["M", "N", fp32], T: Out["M", "N", fp32]):
    for m in tsr.grid(tsr.tile(M, 4)):
        n = tsr.range_at(N, 0, 16)
        S[m, n] = tsr.cumsum(X[m, n], dim=1)
        T[m, n] = tsr.cummax(X[m, n], dim=1)


@pytest.mark.parametrize("n", (0, 1, 5, 16))
def test_scans(n, random):
    x = integers(random, 6, n)
    everywhere(running, x, want=(x.cumsum(1, dtype=np.float32), np.maximum.accumulate(x, 1) if n else x))


@tsr.kernel
def product(A: Tensor["M", "K"], B: Tensor["K", "N"], C: Out["M", "N", fp32], BK: const = 8):
    for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 16)):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, BK):
            acc += A[m, k] @ B[k, n]
        C[m, n] = acc


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("m,k,n", [(1, 1, 1), (17, 0, 5), (16, 8, 16), (19, 21, 35)])
def test_products(dtype, m, k, n, random):
    import ml_dtypes

    dtype = getattr(ml_dtypes, dtype, None) or np.dtype(dtype)
    a, b = integers(random, m, k).astype(dtype), integers(random, k, n).astype(dtype)
    if dtype == np.float64:
        pytest.skip("C is fp32 here")
    everywhere(product, a, b, want=a.astype(np.float32) @ b.astype(np.float32), BK=32 if m == 19 else 8)


@tsr.kernel
def vectors(A: Tensor["M", "K", fp32], x: Tensor["K", fp32], y: Tensor["M", fp32], R: Out["M", fp32], C: Out["K", fp32], D: Out[1, fp32]):
    for i in tsr.grid(1):
        m, k = tsr.range_at(M, 0, 8), tsr.range_at(K, 0, 8)
        R[m] = A[m, k] @ x[k]
        C[k] = y[m] @ A[m, k]
        D[i] = x[k] @ x[k]


@pytest.mark.parametrize("m,k", [(1, 1), (5, 8), (8, 3), (0, 4)])
def test_products_with_one_axis(m, k, random):
    a, x, y = integers(random, m, k), integers(random, k), integers(random, m)
    everywhere(vectors, a, x, y, want=(a @ x, y @ a, np.array([x @ x], np.float32)))


@tsr.kernel
def noise(X: Tensor["N", fp32], seed: i64, Y: Out["N", fp32]):
    for n in tsr.grid(tsr.tile(N, 8)):
        Y[n] = tsr.rand(seed, n.index)


@pytest.mark.parametrize("seed", (0, 1, -1, 2**40))
def test_random_bits_are_those_of_the_cpu(seed):
    x = np.zeros(21, np.float32)
    want = noise(x, seed)
    everywhere(noise, x, seed, want=want)
    assert len(set(want)) > 15


# ---- control flow ---------------------------------------------------------------------------


@tsr.kernel
def turns(X: Tensor["N", fp32], limit: i64, Y: Out["N", fp32]):
    for n in tsr.grid(tsr.tile(N, 8)):
        x = X[n]
        total = tsr.sum(x)
        i = 0
        while i < limit and total < 100:
            x = x * 2
            total = tsr.sum(x)
            i += 1
        for j in range(limit):
            x = x + j
        if total > 0:
            x = -x
        Y[n] = x


@pytest.mark.parametrize("limit", (0, 1, 4))
def test_while_for_if(limit, random):
    x = integers(random, 21)
    want = []
    for start in range(0, 21, 8):
        part, i = x[start:start + 8].copy(), 0
        while i < limit and part.sum() < 100:
            part, i = part * 2, i + 1
        total = part.sum()
        part = part + sum(range(limit))
        want.append(-part if total > 0 else part)
    everywhere(turns, x, limit, want=np.concatenate(want).astype(np.float32))


@tsr.kernel
def carried(X: Tensor["M", "N", fp32], Y: Out["M", fp32], Z: Out["M", fp32]):
    for m in tsr.grid(tsr.tile(M, 4)):
        a, b = tsr.zeros(m), tsr.full(1, m)
        for n in tsr.tile(N, 4, start=1, stop=N - 1):
            a, b = b + tsr.sum(X[m, n], n), a
        Y[m] = a
        Z[m] = b


@pytest.mark.parametrize("n", (2, 3, 6, 11))
def test_carried_tiles_change_places(n, random):
    x = integers(random, 6, n)
    a, b = np.zeros(6, np.float32), np.ones(6, np.float32)
    for start in range(1, n - 1, 4):
        a, b = b + x[:, start:min(start + 4, n - 1)].sum(1), a
    everywhere(carried, x, want=(a, b))


@tsr.kernel
def speaks(X: Tensor["N", fp32]):
    for n in tsr.grid(tsr.tile(N, 4)):
        print("x", X[n], n.start)


def test_prints_are_those_of_the_compiled_code(random, capfd):
    x = random.standard_normal(6).astype(np.float32)
    speaks(x)
    want = capfd.readouterr().out.splitlines()
    assert len(want) == 2 and "--" in want[1]
    for stage in STAGES:
        program, values = prepare(speaks, (x,), {}, stage)
        for seed in range(4):
            assert program.run(values, seed=seed).printed == want, stage


@tsr.kernel
def claims(X: Tensor["N", fp32], Y: Out["N", fp32]):
    for n in tsr.grid(tsr.tile(N, 4)):
        assert X[n] < 3, "too large"
        Y[n] = X[n]


def test_assertions(random):
    x = np.array([1, 2, 0, 1, 2, 1], np.float32)
    everywhere(claims, x, want=x)
    x[5] = 3
    for stage in STAGES:
        with pytest.raises(tsr.TesseraError, match="too large"):
            claims.run(x, stage=stage)


# ---- calls from functions -------------------------------------------------------------------


@tsr.function
def calls(X: Tensor["M", "N"], n):
    Y = copy(X * 2)
    for i in range(n):
        Y = copy(Y + 1)
    return Y, tsr.sum(Y, dim=1)


@pytest.mark.parametrize("n", (0, 1, 3))
def test_calls_of_kernels(n, random):
    x = integers(random, 5, 6)
    want = x * 2 + n
    everywhere(calls, x, n, want=(want, want.sum(1)))


# ---- domains --------------------------------------------------------------------------------


@tsr.kernel
def soft(X: Tensor["M", "N"], Y: Out["M", "N"]):
    for m in tsr.grid(M):
        n = tsr.range_at(N, 0, 16)
        x = X[m, n]
        e = tsr.exp(x - tsr.max(x))
        Y[m, n] = e / tsr.sum(e)


@pytest.mark.parametrize("domain", ["reference", "ring", "bound"])
def test_domains_agree_between_stages(domain, random):
    x = random.standard_normal((3, 11)).astype(np.float32)
    results = []
    for stage in STAGES:
        program, values = prepare(soft, (x,), {}, stage)
        results += [program.run(values, domain, seed).results[0] for seed in (0, 7)]
    for other in results[1:]:
        assert np.array_equal(results[0].of(domain), other.of(domain))
    if domain == "reference":
        e = np.exp(x.astype(np.longdouble) - x.max(1, keepdims=True))
        assert np.abs(results[0].of(domain) - e / e.sum(1, keepdims=True)).max() < 1e-15


def test_the_observer_sees_tiles(random):
    x = integers(random, 5, 6)
    program, values = prepare(copy, (x,), {}, "tile-value")
    ops = [op for op, _, _ in program.run(values, trace=True).trace]
    assert ops.count("tile.load") == 2
    assert isinstance(program, Stage)
