"""What only tiles have: axes lined up by identity, absent elements, gathers, atomics, several results, ranges by hand.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import bounds
import ml_dtypes
import numpy as np
import pytest
from conftest import EXTENTS, NUMPY, Inputs

import tessera as tsr
from tessera import InOut, Out, Region, Tensor, const, fp16, fp32, i64, reduce_max, reduce_min, reduce_sum


@tsr.kernel
def bias_and_scale(X: Tensor["M", "N"], row: Tensor["M"], column: Tensor["N"], Y: Out["M", "N"], BM: const = 7, BN: const = 33):
    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN)):
        Y[m, n] = X[m, n] * row[m] + column[n]


@tsr.kernel
def outer(row: Tensor["M"], column: Tensor["N"], Y: Out["M", "N"]):
    for m, n in tsr.grid(tsr.tile(M, 5), tsr.tile(N, 9)):
        Y[m, n] = row[m] * column[n]


@pytest.mark.parametrize("extent", EXTENTS)
def test_axes_line_up_by_identity(extent, inputs):
    x, row, column = inputs.small_integers(13, extent), inputs.small_integers(13), inputs.small_integers(extent)
    np.testing.assert_array_equal(bias_and_scale(x, row, column), x * row[:, None] + column)
    np.testing.assert_array_equal(bias_and_scale(x.T, column, row), x.T * column[:, None] + row)
    np.testing.assert_array_equal(outer(row, column), row[:, None] * column)


def test_tile_sizes_are_free(inputs):
    x, row, column = inputs.small_integers(20, 50), inputs.small_integers(20), inputs.small_integers(50)
    want = x * row[:, None] + column
    for bm, bn in ((1, 1), (3, 17), (20, 50), (64, 64), (1, 100), (128, 2)):
        np.testing.assert_array_equal(bias_and_scale(x, row, column, BM=bm, BN=bn), want, err_msg=f"{bm}, {bn}")


def test_strided_results(inputs):
    x, row, column = inputs.small_integers(20, 50), inputs.small_integers(20), inputs.small_integers(50)
    for name, out in Inputs.views(np.zeros((20, 50), np.float32)):
        assert bias_and_scale(x, row, column, out) is None
        np.testing.assert_array_equal(out, x * row[:, None] + column, err_msg=name)


@tsr.kernel
def transposed(X: Tensor["M", "N"], Y: Out["N", "M"]):
    for m, n in tsr.grid(tsr.tile(M, 7), tsr.tile(N, 20)):
        Y[n, m] = X[m, n].T


@tsr.kernel
def permuted(X: Tensor["A", "B", "C"], Y: Out["C", "A", "B"]):
    for a, b, c in tsr.grid(A, tsr.tile(B, 5), tsr.tile(C, 9)):
        Y[c, a, b] = X[a, b, c].permute(c, b)


@pytest.mark.parametrize("extent", EXTENTS)
def test_transposes(extent, inputs):
    x = inputs.small_integers(9, extent)
    np.testing.assert_array_equal(transposed(x), x.T)
    y = inputs.small_integers(3, extent, 8)
    np.testing.assert_array_equal(permuted(y), y.transpose(2, 0, 1))


@tsr.kernel
def row_sums(X: Tensor["M", "N"], total: Out["M"], top: Out["M"], where: Out["M", i64], BM: const = 4, BN: const = 32):
    for m in tsr.grid(tsr.tile(M, BM)):
        s, t = tsr.zeros(m), tsr.full(-tsr.inf, m)
        for n in tsr.tile(N, BN):
            x = X[m, n]
            s += tsr.sum(x, n)
            t = tsr.maximum(t, tsr.max(x, n))
        total[m] = s
        top[m] = t
        where[m] = tsr.argmax(X[m, :], dim=-1)


@pytest.mark.parametrize("columns", [n for n in EXTENTS if n])
def test_loops_over_tiles_and_several_results(columns, inputs):
    x = inputs.small_integers(11, columns)
    total, top, where = row_sums(x)
    np.testing.assert_array_equal(total, x.sum(-1))
    np.testing.assert_array_equal(top, x.max(-1))
    np.testing.assert_array_equal(where, x.argmax(-1))


@tsr.kernel
def filled(X: Tensor["M", "N"], absent: Out["M"], real: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 4)):
        p, q = tsr.full(1, m), tsr.full(1, m)
        for n in tsr.tile(N, 16):
            p *= tsr.prod(X[m, n], n)
            q *= tsr.prod(X[m, n].filled(2), n)
        absent[m] = p
        real[m] = q


def test_absent_elements_are_skipped_until_filled(inputs):
    x = inputs.small_integers(6, 35, low=1, high=2)
    absent, real = filled(x)
    np.testing.assert_array_equal(absent, np.ones(6))
    np.testing.assert_array_equal(real, np.full(6, 2.0**13))  # 48 - 35 elements of 2


@tsr.kernel
def lookup(T: Tensor["R", "N"], I: Tensor["K"], Y: Out["K", "N"]):
    for k, n in tsr.grid(tsr.tile(K, 6), tsr.tile(N, 16)):
        Y[k, n] = T[I[k], n]


@tsr.kernel
def scatter(X: Tensor["K", "N"], I: Tensor["K"], Y: InOut["R", "N"]):
    for k, n in tsr.grid(tsr.tile(K, 6), tsr.tile(N, 16)):
        Y[I[k], n] = X[k, n]


def test_gather_and_scatter(inputs):
    table = inputs.small_integers(9, 33, low=1, high=9)
    rows = np.array([0, 8, 3, 9, -1, 2**40, 4])
    good = (rows >= 0) & (rows < 9)
    np.testing.assert_array_equal(lookup(table, rows), np.where(good[:, None], table[np.clip(rows, 0, 8)], 0))
    y, x = np.zeros((9, 33), np.float32), inputs.small_integers(7, 33)
    expected = y.copy()
    expected[rows[good]] = x[good]
    scatter(x, rows, y)
    np.testing.assert_array_equal(y, expected)


@tsr.kernel
def add_into(X: Tensor["M", "N"], Y: InOut["M", "N"]):
    for m, n in tsr.grid(tsr.tile(M, 8), tsr.tile(N, 32)):
        Y[m, n] += X[m, n]


@tsr.kernel
def column_sum(X: Tensor["M", "N"], S: Region[reduce_sum, Tensor["N"]]):
    for m, n in tsr.grid(tsr.tile(M, 8), tsr.tile(N, 32)):
        tsr.atomic_add(S, (n,), tsr.sum(X[m, n], m))


@tsr.kernel
def column_ends(X: Tensor["M", "N"], high: Region[reduce_max, Tensor["N"]], low: Region[reduce_min, Tensor["N"]]):
    for m, n in tsr.grid(tsr.tile(M, 8), tsr.tile(N, 32)):
        tsr.atomic_max(high, (n,), tsr.max(X[m, n], m))
        tsr.atomic_min(low, (n,), tsr.min(X[m, n], m))


@pytest.mark.parametrize("dtype", ("fp32", "i32", "fp64", "i64"))
def test_updates_in_place(dtype, inputs):
    x, y = inputs.small_integers(100, 65, dtype=dtype), inputs.small_integers(100, 65, dtype=dtype)
    want = x + y
    add_into(x, y)
    np.testing.assert_array_equal(y, want)
    total = inputs.small_integers(65, dtype=dtype)
    want = total + x.sum(0)
    column_sum(x, total)
    np.testing.assert_array_equal(total, want)
    high, low = inputs.small_integers(65, dtype=dtype), inputs.small_integers(65, dtype=dtype)
    expected = np.maximum(high, x.max(0)), np.minimum(low, x.min(0))
    column_ends(x, high, low)
    np.testing.assert_array_equal(high, expected[0])
    np.testing.assert_array_equal(low, expected[1])


@tsr.kernel
def by_hand(X: Tensor["N"], Y: Out["N"], first: i64):
    for p in tsr.grid(tsr.tile(N, 10)):
        r = tsr.range_at(N, p.start + first, 10)
        x = X[r].filled(-1)
        Y[p] = tsr.zeros(p) + tsr.sum(x, r)


@pytest.mark.parametrize("first", (0, 3, 10, 95, 1000))
def test_ranges_by_hand(first):
    x = np.arange(100, dtype=np.float32) + 1
    got = by_hand(x, first=first)
    padded = np.concatenate([x, np.full(2000, -1, np.float32)])
    for p in range(0, 100, 10):
        np.testing.assert_array_equal(got[p : p + 10], padded[p + first : p + first + 10].sum())


def test_a_range_that_starts_before_the_dim_is_empty():
    x = np.arange(100, dtype=np.float32) + 1
    got = by_hand(x, first=-13)
    for p in range(0, 100, 10):
        want = -10.0 if p < 13 else x[p - 13 : p - 3].sum()  # -1 for each of ten absent elements
        np.testing.assert_array_equal(got[p : p + 10], want)
    with pytest.raises(tsr.CompileError, match="a range starts at 0 or later, not at -1"):
        tsr.compile_source(
            '@tsr.kernel\ndef f(X: Tensor["N"], Y: Out["N"]):\n    for n in tsr.grid(tsr.tile(N, 8)):\n'
            "        r = tsr.range_at(N, -1, 8)\n        Y[n] = tsr.sum(X[r], r) + X[n]\n"
        ).f(x)


@tsr.kernel
def masked(X: Tensor["M", "N"], Y: Out["M", "N"], Z: InOut["M", "N"]):
    for m, n in tsr.grid(tsr.tile(M, 4), tsr.tile(N, 16)):
        above = n.index > m.index
        Y[m, n] = tsr.load(X, (m, n), mask=above, pad=7)
        tsr.store(Z, (m, n), X[m, n], mask=above)


def test_masks_of_the_full_form(inputs):
    x, z = inputs.small_integers(9, 35), inputs.small_integers(9, 35)
    above = np.arange(35) > np.arange(9)[:, None]
    expected = np.where(above, x, z)
    np.testing.assert_array_equal(masked(x, Z=z), np.where(above, x, 7))
    np.testing.assert_array_equal(z, expected)


@tsr.kernel
def branches(X: Tensor["N"], Y: Out["N"], limit: i64, double: bool):
    for n in tsr.grid(tsr.tile(N, 8)):
        x = X[n]
        if n.start >= limit:
            x = x * 10
        elif double:
            x = x * 2
        k = 0
        while k < 3:
            x = x + 1
            k += 1
        for j in range(2):
            x = x - j
        Y[n] = x if double else -x


def test_control_flow_on_scalars():
    x = np.arange(40, dtype=np.float32)
    for double in (False, True):
        y = np.where(np.arange(40) // 8 * 8 >= 16, x * 10, x * 2 if double else x) + 3 - 1
        np.testing.assert_array_equal(branches(x, limit=16, double=double), y if double else -y)


@tsr.kernel
def tile_softmax(X: Tensor["M", "N"], Y: Out["M", "N"]):
    for m in tsr.grid(tsr.tile(M, 3)):
        Y[m, :] = tsr.softmax(X[m, :], dim=-1)


@pytest.mark.parametrize("dtype", ("fp32", "fp16", "bf16", "fp64"))
def test_softmax_of_tiles(dtype, inputs):
    x = inputs.normal(10, 127, dtype=dtype, scale=3)
    bounds.check(tile_softmax(x), bounds.softmax(bounds.exact(x, dtype)), dtype)


@tsr.kernel
def joined(X: Tensor["M", 8], Y: Tensor["M", 8], total: Out["M"], where: Out["M", i64]):
    for m in tsr.grid(tsr.tile(M, 5)):
        both = tsr.cat((X[m, :].filled(0), Y[m, :].filled(0)), dim=1)
        total[m] = tsr.sum(both, dim=1)
        where[m] = tsr.argmax(both, dim=1)


def test_cat_of_tiles(inputs):
    x, y = inputs.small_integers(13, 8), inputs.small_integers(13, 8)
    both = np.concatenate([x, y], 1)
    total, where = joined(x, y)
    np.testing.assert_array_equal(total, both.sum(1))
    np.testing.assert_array_equal(where, both.argmax(1))


@tsr.kernel
def low_level(X: Tensor["N"], Y: Out["N"]):
    for n in tsr.grid(tsr.tile(N, 16)):
        Y[n] = X[n] + tsr.program_id(0) * 1000 + tsr.num_programs(0)


def test_program_ids():
    x = np.arange(50, dtype=np.float32)
    np.testing.assert_array_equal(low_level(x), x + np.arange(50) // 16 * 1000 + 4)


@tsr.kernel
def doubled(X: Tensor["M", "N"], Y: Out["M", "K"]):
    for m in tsr.grid(M):
        x = X[m, :]
        Y[m, :] = tsr.cat([x, x * 2])


def test_cat_is_stored_to_a_whole_axis():
    x = np.arange(15, dtype=np.float32).reshape(5, 3)
    y = np.zeros((5, 6), np.float32)
    doubled(x, y)
    np.testing.assert_array_equal(y, np.concatenate([x, 2 * x], 1))


@tsr.kernel
def empty_axes(X: Tensor["M", "N"], Y: Out["M", "N"], total: Out["M"], top: Out["M"]):
    for m in tsr.grid(tsr.tile(M, 4)):
        x = X[m, :]
        Y[m, :] = tsr.exp(x)
        total[m] = tsr.sum(x, dim=1)
        top[m] = tsr.max(x, dim=1)


def test_a_whole_axis_may_be_empty():
    """Found by the program generator: it was refused."""
    y, total, top = empty_axes(np.zeros((7, 0), np.float32))
    assert y.shape == (7, 0)
    np.testing.assert_array_equal(total, np.zeros(7))
    np.testing.assert_array_equal(top, np.full(7, -np.inf))


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("source", ["bool", "int8", "int32", "int64", "float16", "bfloat16", "float32", "float64"])
def test_conversions_to_eight_bits(source, name):
    """i8 was read as the bits of an fp8, wider ints and fp64 ended in the compiler. From fp64 it is rounded once: the neighbours of a tie tell."""
    torch = pytest.importorskip("torch")
    narrow, wide = getattr(torch, name), getattr(torch, source)
    most = float(torch.finfo(narrow).max)
    codes = torch.arange(256, dtype=torch.uint8).view(narrow).double()
    codes = codes[torch.isfinite(codes)]
    values = torch.arange(-128, 128).double()
    if wide.is_floating_point:
        ties = torch.sort(codes).values.unique()
        ties = (ties[1:] + ties[:-1]) / 2
        values = torch.cat([codes, ties, ties * (1 + 2.0**-40), ties * (1 - 2.0**-40), torch.tensor([1e5, -1e5, float("inf"), float("nan")]).double()])
    elif source in ("int32", "int64"):
        values = torch.cat([values, torch.tensor([1000, -(2**31), 2**31 - 1]).double()])
    given = values.to(wide)
    exact = given.double().clamp(-most, most).numpy()
    # ml_dtypes rounds fp64 twice: the nearest code by hand, of two the even one.
    bits = np.arange(256, dtype=np.uint8)
    known = bits.view(getattr(ml_dtypes, name)).astype(np.float64)
    away = np.abs(np.nan_to_num(exact)[:, None] - np.where(np.isfinite(known), known, np.inf))
    nearest = np.where(away == away.min(axis=1, keepdims=True), bits & 1, 2).argmin(axis=1)
    expected = np.where(np.isnan(exact), np.nan, known[nearest])

    @tsr.kernel
    def convert(X: Tensor["N"], Y: Out["N"], DTYPE: const, B: const = 16):
        for n in tsr.grid(tsr.tile(N, B)):
            Y[n] = X[n].to(DTYPE)

    got = torch.empty(len(given), dtype=narrow)
    convert(given, got, {"float8_e4m3fn": tsr.fp8_e4m3, "float8_e5m2": tsr.fp8_e5m2}[name])
    np.testing.assert_array_equal(got.double().numpy(), expected)


@pytest.mark.parametrize("dtype", ("fp32", "bf16", "i64"))
@pytest.mark.parametrize("op", ("argmax", "argmin"))
def test_the_place_of_an_extreme_of_nothing(op, dtype):
    """-1, as at every other stage: not the start of the range, which looks like a place."""
    @tsr.kernel
    def parts(X: Tensor["N"], Y: Out["P", i64]):
        for p in tsr.grid(P):
            r = tsr.range_at(N, p * 8, 8)
            Y[p] = OP(X[r], r)

    @tsr.kernel
    def rows(X: Tensor["M", "N"], Y: Out["M", i64]):
        for m in tsr.grid(tsr.tile(M, 4)):
            Y[m] = OP(X[m, :], dim=1)

    OP = getattr(tsr, op)
    x = np.arange(13).astype(NUMPY[dtype])
    for target in ("cpu", "cpu:avx2", "sim:sm_80"):
        got = np.zeros(3, np.int64)
        parts(x, got, target=target)
        np.testing.assert_array_equal(got, (7, 12, -1) if op == "argmax" else (0, 8, -1))
        np.testing.assert_array_equal(rows(np.zeros((3, 0), NUMPY[dtype]), target=target), (-1, -1, -1))
