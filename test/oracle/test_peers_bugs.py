"""Bugs of other compilers, each as a program of ours: every stage and the compiled code must be right.

From the threads that `mission-map.md` section 5 cites for pains 1 (silently wrong code), 2 (numbers differ) and 13 (32-bit offsets).
What our ops cannot express yet, or only a GPU target can get wrong, and what adds it:

| thread | pattern | added by |
|---|---|---|
| tile-ai/tilelang#2556, #2612 | `__syncthreads` dropped for part of a block | the PTX simulator's row of `check`; the data flow is a test here |
| tile-ai/tilelang#2613 | loop-back barrier of a warp-specialised GEMM missing | `warp_specialize` on sm_90a; the data flow is a test here |
| tile-ai/tilelang#2699, #2703 | `st.bulk` not seen as a write | bulk stores on sm_100a; the data flow is a test here |
| tile-ai/tilelang#2595 | read hoisted over an atomic of the same buffer | atomics work on a `Region` that the same kernel may not read; kernels in a row are a test here |
| triton-lang/triton#4574, #9080 | TF32 by default on tensor cores | the sm_80 row of `check`; fp32 on the CPU is a test here |
| pytorch/pytorch#195422 | one more of the in-place family | the thread was not to be had; #198270, #198033 and #183575 are tests here |
| triton-lang/triton#1058 | a flat array of more than 2^31 elements, all written | the command for large tensors, outside CI; offsets beyond 2^31 are tests here |

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import ml_dtypes
import numpy as np
import pytest

import tessera as tsr
from tessera import Out, Tensor, const

bf16 = ml_dtypes.bfloat16
BIG = 2**31


def same(fn, *arguments, expected, **constants) -> None:
    """All stages agree within the bound and in the ring, and the compiled result is `expected` to the bit."""
    fn.check(*arguments, **constants, show=False)
    got = fn(*arguments, **constants)
    for one, want in zip(got if isinstance(got, tuple) else (got,), expected if isinstance(expected, tuple) else (expected,)):
        assert one.dtype == want.dtype
        np.testing.assert_array_equal(one.astype(np.float64), want.astype(np.float64))


# ---- pain 1: silently wrong code -------------------------------------------------------------------


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_read_then_overwritten_in_a_pipelined_loop(random, stages):
    """tile-ai/tilelang#2668: with num_stages >= 2, a loop that reads a buffer and then overwrites it read the new contents."""

    @tsr.kernel
    def consume_then_copy(A: Tensor["K", "W"], S: Tensor["W"], O: Out["W"], stages: const = 1):
        for w in tsr.grid(tsr.tile(W, 32)):
            held, acc = S[w], tsr.zeros(w)
            for k in tsr.tile(K, 4, stages=stages):
                acc += held
                held = tsr.sum(A[k, w], k)
            O[w] = acc

    a, s = random.integers(-9, 9, (17, 40)).astype(np.float32), random.integers(-9, 9, 40).astype(np.float32)
    sums = [a[i:i + 4].sum(0) for i in range(0, 17, 4)]
    same(consume_then_copy, a, s, stages=stages, expected=s + sum(sums[:-1]))


def test_read_after_an_atomic(random):
    """tile-ai/tilelang#2595: a read moved before the atomic_add to the same buffer and saw the old contents."""

    @tsr.kernel
    def histogram(I: Tensor["N", tsr.i32], H: tsr.Region[tsr.reduce_sum, Tensor["B"]]):
        for n in tsr.grid(tsr.tile(N, 16)):
            tsr.atomic_add(H, I[n], tsr.full(1.0, n))

    @tsr.function
    def counted(i: Tensor["N", tsr.i32], h: Tensor["B"]):
        after = histogram(i, h)
        return h, after, after / tsr.sum(after)

    i, h = random.integers(0, 8, 50).astype(np.int32), np.ones(8, np.float32)
    after = (h + np.bincount(i, minlength=8)).astype(np.float32)
    same(counted, i, h, expected=(h, after, after / after.sum()))


def test_tile_of_48_through_memory_and_back(random):
    """tile-ai/tilelang#2556: the barrier between a write and the read of another thread's element was dropped for 48 threads."""

    @tsr.kernel
    def mirrored(X: Tensor["N"], S: tsr.InOut["N"], Y: Out["N"]):
        for p in tsr.grid(1):
            for n in tsr.tile(N, 48):
                S[n] = X[n] + 1
                Y[n] = S[N - 1 - n.index]

    x = random.standard_normal(48).astype(np.float32)
    mirrored.check(x, np.zeros(48, np.float32), show=False)
    s, y = np.zeros(48, np.float32), np.zeros(48, np.float32)
    mirrored(x, s, y)
    np.testing.assert_array_equal(y, (x + np.float32(1))[::-1])


def test_memory_written_under_a_condition_in_a_loop(random):
    """tile-ai/tilelang#2612: the barrier inside a loop under an `if` was hoisted away."""

    @tsr.kernel
    def alternating(X: Tensor["K", "N"], S: tsr.InOut["N"], Y: Out["K", "N"]):
        for p in tsr.grid(1):
            n = tsr.range_at(N, 0, 64)
            for k in range(K):
                if k % 4 == 0:
                    S[n] = X[k, n]
                Y[k, n] = S[N - 1 - n.index]

    x, s = random.standard_normal((9, 40)).astype(np.float32), np.zeros(40, np.float32)
    alternating.check(x, s, show=False)
    y = np.zeros((9, 40), np.float32)
    alternating(x, s, y)
    np.testing.assert_array_equal(y, np.stack([x[k // 4 * 4][::-1] for k in range(9)]))


def test_one_operand_of_two_products_in_a_loop(random):
    """tile-ai/tilelang#2613: an operand shared by two products was overwritten for the next turn before both had read it."""

    @tsr.kernel
    def pair(A: Tensor["M", "K"], B: Tensor["K", "N"], C: Tensor["K", "N"], X: Out["M", "N"], Y: Out["M", "N"]):
        for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 16)):
            x, y = tsr.zeros(m, n), tsr.zeros(m, n)
            for k in tsr.tile(K, 8):
                a = A[m, k]
                x += a @ B[k, n]
                y += a @ C[k, n]
            X[m, n] = x
            Y[m, n] = y

    a, b, c = (random.integers(-4, 5, shape).astype(np.float32) for shape in ((21, 35), (35, 19), (35, 19)))
    same(pair, a, b, c, expected=(a @ b, a @ c))


def test_cleared_in_every_turn(random):
    """tile-ai/tilelang#2699, #2703: clearing a buffer was not seen as a write, and the sums of the turn before leaked in."""

    @tsr.kernel
    def group_sums(X: Tensor["G", "K", "N"], Y: Out["G", "N"]):
        for n in tsr.grid(tsr.tile(N, 16)):
            for g in range(G):
                acc = tsr.zeros(n)
                for k in tsr.tile(K, 4):
                    acc += tsr.sum(X[g, k, n], k)
                Y[g, n] = acc

    x = random.integers(-9, 10, (3, 10, 21)).astype(np.float32)
    same(group_sums, x, expected=x.sum(1))


def test_nested_modulo(random):
    """tile-ai/tilelang#2955: B[(x % 64) % 7] became B[x % 7], although 7 does not divide 64."""

    @tsr.function
    def nested(x: Tensor["M", "N", tsr.i32], b: Tensor[7]):
        return tsr.take(b, x % 64 % 7, dim=0), (x - 1000) % 64 % 7 // 2

    x, b = np.arange(16 * 64, dtype=np.int32).reshape(16, 64), random.standard_normal(7).astype(np.float32)
    same(nested, x, b, expected=(b[x % 64 % 7], (x - 1000) % 64 % 7 // 2))

    @tsr.kernel
    def by_hand(X: Tensor["M", "N"], B: Tensor[7], Y: Out["M", "N"]):
        for m, n in tsr.grid(tsr.tile(M, 16), tsr.tile(N, 64)):
            Y[m, n] = X[m, n] + B[(m.index * 64 + n.index) % 64 % 7]

    z = random.integers(-5, 5, (16, 64)).astype(np.float32)
    same(by_hand, z, b, expected=z + b[x % 64 % 7])


def test_matrix_times_vector_smaller_than_its_tile():
    """triton-lang/triton#11153: right in the interpreter, wrong as machine code: ones(4, 4) @ ones(4) gave [2, 4, 4, 4]."""

    @tsr.kernel
    def matvec(A: Tensor["M", "N"], X: Tensor["N"], Y: Out["M"]):
        for m in tsr.grid(M):
            total: tsr.fp32 = 0.0
            for n in tsr.tile(N, 16):
                total += tsr.sum(A[m, n] * X[n], n)
            Y[m] = total

    same(matvec, np.ones((4, 4), np.float32), np.ones(4, np.float32), expected=np.full(4, 4, np.float32))


def test_updated_in_place_then_read_mirrored(random):
    """pytorch/pytorch#198270: x.index_put_(..., 2 x), then x.add_(x.flip(0)): the second was fused with the first."""

    @tsr.kernel
    def doubled_then_mirrored(X: tsr.InOut["N"]):
        for p in tsr.grid(1):
            n = tsr.range_at(N, 0, 64)
            X[n] = X[n] * 2
            X[n] = X[n] + X[N - 1 - n.index]

    x = random.integers(-9, 10, 37).astype(np.float32)
    doubled_then_mirrored.check(x.copy(), show=False)
    y = x.copy()
    doubled_then_mirrored(y)
    np.testing.assert_array_equal(y, 2 * x + 2 * x[::-1])

    @tsr.kernel
    def scale(X: tsr.InOut["N"]):
        for n in tsr.grid(tsr.tile(N, 16)):
            X[n] = X[n] * 2

    @tsr.function
    def in_a_function(x: Tensor["N"], at: Tensor["N", tsr.i32]):
        y = scale(x + 0.0)
        return y + tsr.take(y, at, dim=0), x

    at = np.arange(36, -1, -1).astype(np.int32)
    same(in_a_function, x, at, expected=(2 * x + 2 * x[::-1], x))

    @tsr.kernel
    def scale_and_cut(X: tsr.InOut["N"], A: Tensor["K"], Y: Out["K"]):
        for p in tsr.grid(1):
            n, k = tsr.range_at(N, 0, 64), tsr.range_at(K, 0, 64)
            X[n] = X[n] * 2
            Y[k] = X[k.index] + A[k]

    @tsr.function
    def sizes_differ(x: Tensor["N"], a: Tensor["K"]):
        y, z = scale_and_cut(x + 0.0, a)
        return y - 1, z - 1

    same(sizes_differ, x, x[:5], expected=(2 * x - 1, 3 * x[:5] - 1))


@pytest.mark.parametrize("n", [8, 40, 63])
def test_adds_its_own_mirror_in_place(random, n):
    """pytorch/pytorch#198033: x += x.flip(0) read elements it had already written."""

    @tsr.kernel
    def folded(X: tsr.InOut["N"]):
        for p in tsr.grid(1):
            n = tsr.range_at(N, 0, 64)
            X[n] = X[n] + X[N - 1 - n.index]

    x = random.integers(-9, 10, n).astype(np.float32)
    folded.check(x.copy(), show=False)
    y = x.copy()
    folded(y)
    np.testing.assert_array_equal(y, x + x[::-1])


def test_updated_buffer_is_not_reused(random):
    """pytorch/pytorch#183575: the memory of m after m.lerp_(g) was given to a later, unrelated cast."""

    @tsr.kernel
    def lerp(X: tsr.InOut["M", "N"], G: Tensor["M", "N"]):
        for m, n in tsr.grid(tsr.tile(M, 4), tsr.tile(N, 16)):
            X[m, n] = X[m, n] + (G[m, n] - X[m, n]) * 0.25

    @tsr.function
    def step(p: Tensor["M", "N"], m: Tensor["M", "N"], g: Tensor["M", "N"], h: Tensor["M", "N", tsr.bf16]):
        new = lerp(m * 1.0, g)
        moved = p - new * 0.5
        other = h.to(tsr.fp32) * 3.0
        product = other @ other.transpose(0, 1)
        return moved, new, product

    p, m, g = (4.0 * random.integers(-9, 10, (7, 19)).astype(np.float32) for _ in range(3))
    h = random.integers(-9, 10, (7, 19)).astype(np.float32)
    new = m + (g - m) * np.float32(0.25)
    same(step, p, m, g, h.astype(bf16), expected=(p - new * np.float32(0.5), new, (3 * h) @ (3 * h).T))


# ---- pain 2: numbers differ ------------------------------------------------------------------------


def rounded(x) -> np.ndarray:
    return np.asarray(x).astype(bf16)


def test_chain_of_bf16_rounds_after_every_op(random):
    """pytorch/pytorch#168126: a fused chain of bf16 ops drifted from the same ops one by one, up to rtol 117,924."""

    @tsr.function
    def chain(x: Tensor["M", "N", tsr.bf16], y: Tensor["M", "N", tsr.bf16]):
        return ((x * y + x) - x * y) - x

    x, y = (random.standard_normal((9, 33)).astype(bf16) for _ in range(2))
    wide = lambda a: a.astype(np.float32)  # noqa: E731
    product = rounded(wide(x) * wide(y))
    total = rounded(wide(product) + wide(x))
    expected = rounded(wide(rounded(wide(total) - wide(product))) - wide(x))
    assert np.any(expected != 0)  # what a chain in fp32 would not show
    same(chain, x, y, expected=expected)


def test_halves_of_a_bf16_product(random):
    """pytorch/pytorch#168186: a product of two projections in bf16, split in two halves and added, lost its roundings."""

    @tsr.function
    def gated(x: Tensor["M", "K", tsr.bf16], p: Tensor["K", 16, tsr.bf16], g: Tensor["K", 16, tsr.bf16]):
        y = (x @ p) * (x @ g)
        return y[:, :8] + y[:, 8:]

    x, p, g = (random.integers(-3, 4, shape).astype(bf16) for shape in ((9, 20), (20, 16), (20, 16)))
    wide = lambda a: a.astype(np.float32)  # noqa: E731
    y = rounded(wide(rounded(wide(x) @ wide(p))) * wide(rounded(wide(x) @ wide(g))))
    same(gated, x, p, g, expected=rounded(wide(y[:, :8]) + wide(y[:, 8:])))


def test_rounding_before_equality(random):
    """pytorch/pytorch#195214: a bf16 quotient was compared before its rounding: no row had a maximum, and 1 / ties was infinite."""

    @tsr.function
    def ties(x: Tensor["M", "N", tsr.bf16]):
        scaled = x / 11.3137
        top = tsr.max(scaled, dim=1, keepdim=True)
        return tsr.sum((scaled == top).to(tsr.fp32), dim=1)

    x = random.standard_normal((16, 64)).astype(bf16)
    scaled = rounded(x.astype(np.float32) / rounded(11.3137).astype(np.float32))
    expected = (scaled == scaled.max(1, keepdims=True)).sum(1).astype(np.float32)
    assert expected.min() >= 1
    same(ties, x, expected=expected)


def test_bf16_product_and_embeddings_before_a_norm(random):
    """pytorch/pytorch#191433: fp32 embeddings plus a bf16 product, before an RMS norm, shared one buffer."""

    @tsr.function
    def encoded(i: Tensor["B", tsr.i32], e: Tensor["V", "W"], x: Tensor["B", 2, tsr.bf16], w: Tensor[2, "W", tsr.bf16], g: Tensor["W"]):
        y = tsr.take(e, i, dim=0) + (x @ w).to(tsr.fp32)
        return tsr.rms_norm(y, g), y

    i = random.integers(0, 4, 9).astype(np.int32)
    e, g = random.standard_normal((4, 192)).astype(np.float32), random.standard_normal(192).astype(np.float32)
    x, w = random.integers(-5, 6, (9, 2)).astype(bf16), random.integers(-5, 6, (2, 192)).astype(bf16)
    encoded.check(i, e, x, w, g, show=False)
    y = e[i] + rounded(x.astype(np.float32) @ w.astype(np.float32)).astype(np.float32)
    np.testing.assert_array_equal(encoded(i, e, x, w, g)[1], y)


def test_scaled_operand_of_a_users_kernel_is_rounded(random):
    """pytorch/pytorch#132301: k * 0.51 reached the user's attention kernel in fp32 instead of bf16."""

    @tsr.kernel
    def row_sums(K: Tensor["M", "N", tsr.bf16], Y: Out["M", tsr.fp32]):
        for m in tsr.grid(tsr.tile(M, 4)):
            acc = tsr.zeros(m)
            for n in tsr.tile(N, 16):
                acc += tsr.sum(K[m, n].to(tsr.fp32) * 1024.0, n)
            Y[m] = acc

    @tsr.function
    def scaled(k: Tensor["M", "N", tsr.bf16]):
        return row_sums(k * 0.5100697232983947)

    k = random.integers(1, 200, (5, 8)).astype(bf16)
    small = rounded(k.astype(np.float32) * rounded(0.5100697232983947).astype(np.float32))
    same(scaled, k, expected=(small.astype(np.float64).sum(1) * 1024).astype(np.float32))


def test_fp32_products_are_fp32():
    """triton-lang/triton#6265, #4574, #9080: products of fp32 in TF32 by default, which drops what is below 2^-10."""

    @tsr.function
    def product(x: Tensor["M", "K"], y: Tensor["K", "N"]):
        return x @ y

    x = (1 + np.arange(21 * 35).reshape(21, 35) % 7 * 2.0**-20).astype(np.float32)
    y = np.zeros((35, 19), np.float32)
    y[np.arange(19), np.arange(19)] = 1
    same(product, x, y, expected=x[:, :19])


def test_product_and_sum_are_not_contracted():
    """triton-lang/triton 3.9 and pytorch/pytorch#132301's kin: a * b - c is two roundings unless the policy says fast."""

    @tsr.function
    def residue(x: Tensor["N"], y: Tensor["N"]):
        p = x * y
        return x * y - p, tsr.exp(x * y - p)

    x, y = np.full(33, 1.4142135, np.float32), np.full(33, 1.7320508, np.float32)
    same(residue, x, y, expected=(np.zeros(33, np.float32), np.ones(33, np.float32)))

    @tsr.kernel
    def against(X: Tensor["N"], Y: Tensor["N"], P: Tensor["N"], R: Out["N"]):
        for n in tsr.grid(tsr.tile(N, 16)):
            R[n] = X[n] * Y[n] - P[n]

    same(against, x, y, x * y, expected=np.zeros(33, np.float32))


# ---- pain 13: offsets beyond 2^31 ------------------------------------------------------------------


def far_apart(shape: tuple, strides: tuple, values: np.ndarray) -> np.ndarray:
    """A view with these strides, in elements, of memory that is never touched elsewhere: a page per row."""
    span = sum((size - 1) * stride for size, stride in zip(shape, strides)) + 1
    memory = np.zeros(span, values.dtype)
    view = np.lib.stride_tricks.as_strided(memory, shape, tuple(stride * values.dtype.itemsize for stride in strides))
    view[...] = values
    return view


def halves(random, *shape) -> np.ndarray:
    return random.integers(-9, 10, shape).astype(np.float16)


def test_row_stride_times_row(random):
    """triton-lang/triton#6748: offs_m * stride_m in 32 bits: rows beyond 2^31 elements were somewhere else."""

    @tsr.function
    def tripled(x: Tensor["M", "N", tsr.fp16]):
        return x * 3

    x = halves(random, 4, 21)
    same(tripled, far_apart(x.shape, (BIG // 3 + 5, 1), x), expected=x * np.float16(3))


def test_written_beyond(random):
    """triton-lang/triton#1058: a store at an offset beyond 2^31."""

    @tsr.kernel
    def copied(X: Tensor["M", "N", tsr.fp16], Y: Out["M", "N", tsr.fp16]):
        for m, n in tsr.grid(tsr.tile(M, 2), tsr.tile(N, 16)):
            Y[m, n] = X[m, n] + X[m, n]

    x = halves(random, 4, 21)
    copied.check(x, show=False)
    y = far_apart(x.shape, (BIG // 3 + 5, 1), np.zeros_like(x))
    copied(x, y)
    np.testing.assert_array_equal(y, x + x)


def test_batch_offset_of_four_axes(random):
    """fla-org/flash-linear-attention#1080: block offsets of B * T * H * K > 2^31 wrapped and read another sample."""

    @tsr.function
    def summed(x: Tensor["B", "T", "H", "K", tsr.fp16]):
        return tsr.sum(x, dim=3), tsr.max(x, dim=1)

    x = halves(random, 3, 4, 2, 8)
    view = far_apart(x.shape, (BIG // 2 + 64, 512, 64, 1), x)
    same(summed, view, expected=(x.astype(np.float32).sum(3).astype(np.float16), x.max(1)))


def test_row_of_an_index_times_columns(random):
    """databricks/megablocks#185: index * NUM_COLUMNS with an int32 index wrapped negative in a gather of rows."""

    @tsr.function
    def copied(x: Tensor["M", "N", tsr.fp16], rows: Tensor["R", tsr.i32]):
        return tsr.take(x, rows, dim=0)

    x, rows = halves(random, 4, 21), np.array([3, 0, 3, 2, 1], np.int32)
    same(copied, far_apart(x.shape, (BIG // 3 + 5, 1), x), rows, expected=x[rows])


def test_slot_of_a_cache_times_its_stride(random):
    """sgl-project/sglang#20389: loc * stride of a large KV cache in 32 bits; loads and stores of a kernel by an int32 slot."""

    @tsr.kernel
    def moved(L: Tensor["R", tsr.i32], C: Tensor["S", "D", tsr.fp16], Y: Out["R", "D", tsr.fp16]):
        for r, d in tsr.grid(R, tsr.tile(D, 16)):
            Y[r, d] = C[L[r], d]

    @tsr.kernel
    def put(L: Tensor["R", tsr.i32], X: Tensor["R", "D", tsr.fp16], C: tsr.InOut["S", "D", tsr.fp16]):
        for r, d in tsr.grid(R, tsr.tile(D, 16)):
            C[L[r], d] = X[r, d]

    cache, slots = halves(random, 4, 21), np.array([3, 0, 2], np.int32)
    view = far_apart(cache.shape, (BIG // 3 + 5, 1), cache)
    same(moved, slots, view, expected=cache[slots])
    x = halves(random, 3, 21)
    put(slots, x, view)
    cache[slots] = x
    np.testing.assert_array_equal(view, cache)


def test_batch_stride_of_a_product(random):
    """microsoft/dion#102: the offset of the last matrix of a batch, 319 * 7,864,320, in 32 bits."""

    @tsr.function
    def grams(x: Tensor["B", "M", "K", tsr.fp16]):
        return x @ x.transpose(1, 2)

    x = random.integers(-3, 4, (3, 5, 9)).astype(np.float16)
    view = far_apart(x.shape, (BIG // 2 + 64, 16, 1), x)
    same(grams, view, expected=np.einsum("bmk,bnk->bmn", x.astype(np.float32), x.astype(np.float32)).astype(np.float16))
