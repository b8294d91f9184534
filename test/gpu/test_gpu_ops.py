"""Every op of Tile IR as PTX on the simulator, at odd extents: against NumPy, the CPU's machine code and derived bounds; with races,
uninitialised reads and accesses out of bounds as errors.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import re

import numpy as np
import pytest

import tessera as tsr
from tessera import Out, Region, Tensor, const, fp16, fp32, i64, oracle, reduce_max, reduce_min, reduce_sum
from tessera.fuzz import runner

TARGET = "sim:sm_80"
EXTENTS = [(1, 1), (7, 65), (33, 17), (130, 63)]


def agree(fn, arguments: dict, exact: bool, expected=None):
    """The PTX gives what the CPU gives (bit for bit if exact, else both within the bound), and what NumPy gives."""
    outcome = runner.Outcome(0)
    runner.check_call(fn, arguments, exact, outcome, stages=(), targets=(TARGET,))
    assert outcome.columns[TARGET] == "ok", outcome.columns
    got = runner.as_list(oracle._compiled(fn, (), dict(arguments), TARGET))
    assert exact or expected is None, "NumPy rounds elsewhere: the bound is enough"
    for g, e in zip(got, expected or []):
        assert g.dtype == e.dtype
        np.testing.assert_array_equal(g, e)
    return got


def whole(rng, *shape, dtype=np.float32, low=-4, high=5):
    return rng.integers(low, high, shape).astype(dtype)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


# ---- layouts that change ---------------------------------------------------------------------


@tsr.kernel
def row_and_column(X: Tensor["M", "N"], Y: Out["M", "N"], BM: const = 16, BN: const = 32):
    """The tile by rows and by columns: X / (sum of its row) as one user wants it, transposed as the other."""
    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN)):
        x = X[m, n]
        y = tsr.exp(x * 0.5) + 1.0
        Y[m, n] = y / tsr.sum(y, n) + tsr.sum(y.T, m)


@pytest.mark.parametrize("m, n", EXTENTS)
@pytest.mark.parametrize("blocks", [(16, 32), (7, 33), (64, 64)])
def test_tiles_by_rows_and_by_columns(m, n, blocks, rng):
    x = rng.standard_normal((m, n)).astype(np.float32)
    agree(row_and_column, {"X": x, "BM": blocks[0], "BN": blocks[1]}, exact=False)


@tsr.kernel
def product_and_operand(A: Tensor["M", "K", fp16], B: Tensor["K", "N", fp16], C: Out["M", "N", fp32], D: Out["M", "N", fp32], BM: const = 32, BN: const = 16):
    """A result of a tensor core, and what was loaded by rows."""
    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN)):
        acc = A[m, :] @ B[:, n]
        C[m, n] = acc + tsr.cumsum(acc, n)
        D[m, n] = tsr.maximum(acc, tsr.sum(acc, m))


@pytest.mark.parametrize("m, k, n", [(7, 16, 9), (33, 17, 65), (64, 40, 24)])
def test_results_of_products_change_threads(m, k, n, rng):
    a, b = whole(rng, m, k, dtype=np.float16), whole(rng, k, n, dtype=np.float16)
    agree(product_and_operand, {"A": a, "B": b}, exact=True)


# ---- reductions that find, scans -------------------------------------------------------------


@tsr.kernel
def find(X: Tensor["M", "N"], H: Out["M", i64], L: Out["M", i64], BM: const = 8, BN: const = 32):
    for m in tsr.grid(tsr.tile(M, BM)):
        H[m] = tsr.argmax(X[m, :], dim=-1)
        L[m] = tsr.argmin(X[m, :], dim=-1)


@pytest.mark.parametrize("m, n", EXTENTS)
@pytest.mark.parametrize("dtype", (np.float32, np.float16, np.int32))
def test_argmax(m, n, dtype, rng):
    x = whole(rng, m, n, dtype=dtype)
    agree(find, {"X": x}, True, [x.argmax(-1), x.argmin(-1)])


def test_argmax_of_nan_and_infinities():
    x = np.array([[1, np.nan, 3, np.nan], [-np.inf, -np.inf, -np.inf, -np.inf], [np.inf, 0, np.inf, 1]], np.float32)
    agree(find, {"X": x}, True, [x.argmax(-1), x.argmin(-1)])


@tsr.kernel
def find_along_columns(X: Tensor["M", "N"], H: Out["N", i64], BM: const = 16, BN: const = 16):
    """In tiles that do not begin at 0: positions in the dim."""
    for n in tsr.grid(tsr.tile(N, BN)):
        best = tsr.full(-100.0, n)
        where = tsr.full(-1, n, dtype=i64)
        for m in tsr.tile(M, BM):
            x = X[m, n]
            high = tsr.max(x, m)
            where = tsr.where(high > best, tsr.argmax(x, m), where)
            best = tsr.maximum(best, high)
        H[n] = where


@pytest.mark.parametrize("m, n", EXTENTS)
def test_argmax_counts_from_the_start_of_the_dim(m, n, rng):
    x = whole(rng, m, n, low=-50, high=50)
    agree(find_along_columns, {"X": x}, True, [x.argmax(0)])


@tsr.kernel
def scans(X: Tensor["M", "N"], R: Out["M", "N"], C: Out["M", "N"], H: Out["M", "N"], BM: const = 8):
    for m in tsr.grid(tsr.tile(M, BM)):
        x = X[m, :]
        R[m, :] = tsr.cumsum(x, dim=1)
        C[m, :] = tsr.cumsum(x, dim=0)
        H[m, :] = tsr.cummax(x, dim=1)


@pytest.mark.parametrize("m, n", EXTENTS)
@pytest.mark.parametrize("dtype", (np.float32, np.int32, np.int64, np.float64))
def test_scans(m, n, dtype, rng):
    x = whole(rng, m, n, dtype=dtype)
    columns = np.concatenate([x[i : i + 8].cumsum(0) for i in range(0, m, 8)]).astype(dtype)
    agree(scans, {"X": x}, True, [x.cumsum(1).astype(dtype), columns, np.maximum.accumulate(x, 1)])


@tsr.kernel
def long_scan(X: Tensor["N"], P: Out["N"], BN: const = 1024):
    for n in tsr.grid(tsr.tile(N, BN)):
        P[n] = tsr.cumprod(X[n], n)


@pytest.mark.parametrize("n", (1, 33, 1000, 1500))
def test_cumprod_over_many_warps(n, rng):
    x = rng.choice([1.0, -1.0], n).astype(np.float32)
    agree(long_scan, {"X": x}, True, [np.concatenate([x[i : i + 1024].cumprod() for i in range(0, n, 1024)])])


# ---- gathers, scatters, atomics --------------------------------------------------------------


@tsr.kernel
def rows_of_a_table(T: Tensor["V", "N"], I: Tensor["M", i64], Y: Out["M", "N"], BM: const = 16, BN: const = 32):
    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN)):
        Y[m, n] = T[I[m], n]


def test_neighbours_of_different_rows(rng):
    """x[i[n], n]: elements that are neighbours in the tile lie in different rows of x (the generator's seed 30224)."""
    @tsr.function
    def pick(x, i):
        return tsr.gather(x, 0, i)

    x, i = rng.standard_normal((12, 16)).astype(np.float32), rng.integers(0, 12, (8, 16))
    assert np.array_equal(pick(x, i, target="sim:sm_80"), np.take_along_axis(x, i, 0))



@pytest.mark.parametrize("m, n", EXTENTS)
@pytest.mark.parametrize("dtype", (np.float32, np.float16, np.int64, np.bool_))
def test_gather(m, n, dtype, rng):
    table, index = whole(rng, 11, n, dtype=dtype, low=0, high=2 if dtype is np.bool_ else 9), rng.integers(-3, 14, m)
    inside = (index >= 0) & (index < 11)
    expected = np.where(inside[:, None], table[np.clip(index, 0, 10)], np.zeros((), dtype)).astype(dtype)
    agree(rows_of_a_table, {"T": table, "I": index}, True, [expected])


@tsr.kernel
def scatter_rows(X: Tensor["M", "N"], I: Tensor["M", i64], V: Tensor["K"], Y: tsr.InOut["K", "N"], BM: const = 16):
    for m in tsr.grid(tsr.tile(M, BM)):
        Y[I[m], :] = X[m, :] * 2.0


@pytest.mark.parametrize("m, n", EXTENTS)
def test_scatter(m, n, rng):
    k = m + 5
    x, index = whole(rng, m, n), rng.permutation(k)[:m]
    index[: m // 3] += 1000  # out of bounds: writes nothing
    y = np.zeros((k, n), np.float32)
    expected = y.copy()
    for i, row in zip(index, x):
        if i < k:
            expected[i] = row * 2
    agree(scatter_rows, {"X": x, "I": index, "V": np.zeros(k, np.float32), "Y": y}, True, [expected])


@tsr.kernel
def add_at(I: Tensor["N", i64], X: Tensor["N"], H: Region[reduce_sum, Tensor["B"]]):
    for n in tsr.grid(tsr.tile(N, 64)):
        tsr.atomic_add(H, (I[n],), X[n])


@tsr.kernel
def max_at(I: Tensor["N", i64], X: Tensor["N"], H: Region[reduce_max, Tensor["B"]]):
    for n in tsr.grid(tsr.tile(N, 64)):
        tsr.atomic_max(H, (I[n],), X[n])


@tsr.kernel
def min_at(I: Tensor["N", i64], X: Tensor["N"], H: Region[reduce_min, Tensor["B"]]):
    for n in tsr.grid(tsr.tile(N, 64)):
        tsr.atomic_min(H, (I[n],), X[n])


@pytest.mark.parametrize("dtype", ("fp32", "fp64", "i32", "i64", "fp16"))
@pytest.mark.parametrize("kind", ("sum", "max", "min"))
def test_atomics(kind, dtype, rng):
    """`red` where the machine has it, else compare and swap; many threads at one place."""
    numpy = {"fp32": np.float32, "fp64": np.float64, "i32": np.int32, "i64": np.int64, "fp16": np.float16}[dtype]
    index, x = rng.integers(-1, 6, 333), whole(rng, 333, dtype=numpy)
    h = np.full(5, 1, numpy)
    expected = h.copy()
    at = {"sum": np.add, "max": np.maximum, "min": np.minimum}[kind].at
    inside = (index >= 0) & (index < 5)
    at(expected, index[inside], x[inside])
    fn = {"sum": add_at, "max": max_at, "min": min_at}[kind]
    agree(fn, {"I": index, "X": x, "H": h}, True, [expected])
    ptx = fn._versions[fn.last_spec.key].ptx
    direct = kind == "sum" and dtype != "fp16" or dtype in ("i32", "i64")
    assert ("red.relaxed" in ptx) == direct and ("atom.relaxed.gpu.global.cas" in ptx) != direct


# ---- shapes ----------------------------------------------------------------------------------


@tsr.function
def shapes(x: Tensor["M", "N"]):
    return tsr.cat([x.reshape(-1), x.reshape(-1) * 2.0])


@pytest.mark.parametrize("m, n", EXTENTS)
def test_reshape_and_cat(m, n, rng):
    x = whole(rng, m, n)
    agree(shapes, {"x": x}, True, [np.concatenate([x.reshape(-1), 2 * x.reshape(-1)])])


# ---- control, random numbers ------------------------------------------------------------------


@tsr.kernel
def halve(X: Tensor["M", "N"], limit: i64, Y: Out["M", "N"], BM: const = 8):
    """Loops until the tile is small: a condition that all threads compute, a carried tile."""
    for m in tsr.grid(tsr.tile(M, BM)):
        x = X[m, :]
        turns = 0
        while turns < limit:
            x = x * 0.5 + tsr.sum(x, dim=1) * 0.0
            turns += 1
        Y[m, :] = x


@pytest.mark.parametrize("m, n", EXTENTS)
def test_while(m, n, rng):
    x = whole(rng, m, n)
    agree(halve, {"X": x, "limit": 3}, True, [x / 8])


@tsr.kernel
def noise(X: Tensor["N"], seed: i64, Y: Out["N", fp32], BN: const = 128):
    for n in tsr.grid(tsr.tile(N, BN)):
        Y[n] = tsr.rand(seed, n.index)


@pytest.mark.parametrize("n", (1, 127, 1000))
def test_random_numbers_are_the_same_everywhere(n):
    agree(noise, {"X": np.zeros(n, np.float32), "seed": 2**40 + 17}, True)


# ---- products ----------------------------------------------------------------------------------


@tsr.kernel
def computed_operands(A: Tensor["M", "K"], B: Tensor["K", "N"], C: Out["M", "N"], BM: const = 16, BN: const = 16, BK: const = 16):
    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN)):
        acc = tsr.zeros(m, n, dtype=C.dtype)
        for k in tsr.tile(K, BK):
            acc += (A[m, k] + A[m, k]) @ (B[k, n] - 1)
        C[m, n] = acc


PRODUCTS = [(1, 1, 1), (7, 65, 17), (33, 17, 65)]


@pytest.mark.parametrize("m, k, n", PRODUCTS)
@pytest.mark.parametrize("dtype", (np.float32, np.float64))
def test_products_of_computed_tiles(m, k, n, dtype, rng):
    a, b = whole(rng, m, k, dtype=dtype), whole(rng, k, n, dtype=dtype)
    agree(computed_operands, {"A": a, "B": b}, True, [(2 * a) @ (b - 1)])


@tsr.function
def matmul(a, b):
    return a @ b


@pytest.mark.parametrize("m, k, n", PRODUCTS)
@pytest.mark.parametrize("dtype", (np.int32, np.int64, np.float64))
def test_products_of_loaded_tiles(m, k, n, dtype, rng):
    a, b = whole(rng, m, k, dtype=dtype), whole(rng, k, n, dtype=dtype)
    agree(matmul, {"a": a, "b": b}, True, [a @ b])


@pytest.mark.parametrize("m, k", [(1, 1), (65, 33), (7, 130)])
@pytest.mark.parametrize("dtype", (np.float16, np.float32, np.int32))
def test_a_matrix_times_a_vector(m, k, dtype, rng):
    a, b = whole(rng, m, k, dtype=dtype, low=-2, high=3), whole(rng, k, dtype=dtype, low=-2, high=3)
    agree(matmul, {"a": a, "b": b}, True, [(a.astype(np.float64) @ b).astype(dtype)])
    agree(matmul, {"a": b, "b": np.ascontiguousarray(a.T)}, True, [(a.astype(np.float64) @ b).astype(dtype)])


# ---- float64 functions ---------------------------------------------------------------------------


@tsr.kernel
def double_functions(X: Tensor["N"], E: Out["N"], E2: Out["N"], L: Out["N"], L2: Out["N"], L1: Out["N"], S: Out["N"], C: Out["N"], T: Out["N"], F: Out["N"], R: Out["N"]):
    for n in tsr.grid(tsr.tile(N, 64)):
        x = X[n]
        E[n] = tsr.exp(x)
        E2[n] = tsr.exp2(x)
        L[n] = tsr.log(tsr.abs(x))
        L2[n] = tsr.log2(tsr.abs(x))
        L1[n] = tsr.log1p(tsr.abs(x))
        S[n] = tsr.sin(x)
        C[n] = tsr.cos(x)
        T[n] = tsr.tanh(x)
        F[n] = tsr.erf(x)
        R[n] = tsr.rsqrt(tsr.abs(x))


def test_double_functions_within_2_ulp(rng):
    mpmath = pytest.importorskip("mpmath")
    small = rng.standard_normal(60) * 10.0 ** rng.integers(-12, 2, 60)
    edges = [1.0, -1.0, 0.5, 2.0, 1 + 2**-52, 1 - 2**-53, np.pi / 2, np.pi, 22.0, 1e5, -1e9 / 7, 0.7071067811865476, 700.0, -740.0, 5e-324]
    x = np.concatenate([small, rng.uniform(-6, 6, 60), edges])
    with mpmath.workdps(60):
        by = {"E": mpmath.exp, "E2": lambda v: mpmath.mpf(2) ** v, "L": lambda v: mpmath.log(abs(v)), "L2": lambda v: mpmath.log(abs(v), 2), "L1": lambda v: mpmath.log1p(abs(v)),
              "S": mpmath.sin, "C": mpmath.cos, "T": mpmath.tanh, "F": mpmath.erf, "R": lambda v: 1 / mpmath.sqrt(abs(v))}
        results = double_functions(x, target=TARGET)
        for (name, exact), got in zip(by.items(), results):
            for v, g in zip(x, got):
                want = exact(mpmath.mpf(float(v)))
                nearest = float(want)
                if np.isinf(nearest):
                    assert g == nearest, (name, v)
                    continue
                off = abs(mpmath.mpf(float(g)) - want) / mpmath.mpf(float(np.spacing(abs(nearest))))
                assert off <= 2, f"{name}({v!r}) is {g!r}, expected {nearest!r}, off by {float(off):.2f} ULP"


def test_double_functions_at_the_edges():
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan], np.float64)
    with np.errstate(all="ignore"):
        a = np.abs(x)
        expected = [np.exp(x), np.exp2(x), np.log(a), np.log2(a), np.log1p(a), np.sin(x), np.cos(x), np.tanh(x), None, 1 / np.sqrt(a)]
    for got, want in zip(double_functions(x, target=TARGET), expected):
        if want is not None:
            np.testing.assert_array_equal(got, want)
            numbers = ~np.isnan(want)
            np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(want[numbers]))


# ---- random programs -----------------------------------------------------------------------------


def test_random_programs(tmp_path):
    """The same 25 seeds each time, here without the interpreter's stages; many: python -m tessera.fuzz run --target sim:sm_80"""
    from tessera.fuzz import generate

    programs = [p for p in map(generate, range(60)) if sum(int(np.prod(i.shape)) for i in p.inputs) < 4000][:25]
    assert len(programs) == 25
    bad = []
    for program in programs:
        outcome = runner.check_program(program, str(tmp_path), (), (TARGET,))
        if outcome.status != "ok" or outcome.columns[TARGET] != "ok":
            bad.append(f"python -m tessera.fuzz check {program.seed} --target {TARGET}: {outcome.status} at {outcome.where}: {outcome.detail[:300]} {outcome.columns}")
    assert not bad, "\n".join(bad)


# ---- what the checks are worth -----------------------------------------------------------------


@pytest.mark.parametrize("fn, arguments", [(long_scan, {"X": np.ones(1000, np.float32)}), (find_along_columns, {"X": np.ones((40, 17), np.float32)})])
def test_results_are_compared(fn, arguments, monkeypatch):
    """A wrong element of the PTX's result is noticed."""
    right = oracle._compiled

    def wrong(fn, args, kwargs, target):
        made = np.array(right(fn, args, kwargs, target))
        if target == TARGET:
            made[-1] += 1
        return made

    monkeypatch.setattr(oracle, "_compiled", wrong)
    with pytest.raises(runner.Mismatch, match=re.escape(TARGET)):
        agree(fn, arguments, True)


@pytest.mark.parametrize("fn, arguments", [
    (product_and_operand, {"A": np.ones((40, 24), np.float16), "B": np.ones((24, 40), np.float16)}),
    (computed_operands, {"A": np.ones((20, 20), np.float32), "B": np.ones((20, 40), np.float32), "BM": 32, "BN": 32}),
])
def test_without_their_barriers_exchanges_race(fn, arguments):
    """What passes through shared memory, with the barriers cut out of the PTX."""
    right = fn(**arguments, target=TARGET)
    version = fn._versions[fn.last_spec.key]
    broken = version.with_ptx("\n".join(line for line in version.ptx.splitlines() if "bar.sync" not in line and "barrier" not in line))
    assert broken.ptx != version.ptx and right is not None
    with pytest.raises(tsr.RunError, match="race|uninitialised"):
        broken(*(value for name, value in arguments.items() if not name.startswith("B") or len(name) == 1))
