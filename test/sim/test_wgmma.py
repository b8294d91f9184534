# wgmma: every layout against CuTe's algebra, numbers, and planted bugs.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The layouts are computed a second time here, from the canonical layouts of PTX ISA 9.7.15.5.1.2.1.3 and
CUTLASS's fragment layouts (mma_traits_sm90_gmma.hpp), element by element."""

import math
import re
import shutil
import subprocess
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import tessera.sim as sim
from hopper_kernels import broken, line_of
from wgmma_kernels import (GEMM, GEMM_BUGS, HEAD, LOAD_A, MOVED, NEIGHBOURS, NO_BARRIER_AFTER, ONE_RELEASE, REGISTERS,
                           REGISTERS_BUGS, RENAMED,
                           product_kernel)


def cute(shape, stride, index):
    """The offset of a linear (colexicographic) index in a layout."""
    if not isinstance(shape, tuple):
        return index * stride
    offset = 0
    for s, d in zip(shape, stride):
        offset += cute(s, d, index % size(s))
        index //= size(s)
    return offset


def size(shape):
    return int(np.prod([size(s) for s in shape])) if isinstance(shape, tuple) else shape


SWIZZLES = {"none": 0, "128": 1, "64": 2, "32": 3}  # as descriptors name them


def address(swizzle, k_major, rows, depth, element, start, leading, stride):
    """[rows, depth] byte addresses of a matrix in shared memory."""
    t = 16 // element
    w = {"none": 1, "32": 2, "64": 4, "128": 8}[swizzle]
    lbo, sbo = leading // element, stride // element
    if k_major:
        mn = ((8, rows // 8), (w * t, sbo))
        k = ((t, depth // t), (1, lbo if swizzle == "none" else t))
    elif swizzle == "none":
        mn = ((t, 1, rows // t), (1, t, sbo))
        k = ((8, depth // 8), (t, lbo))
    else:
        mn = ((t, w, max(rows // t // w, 1)), (1, t, lbo))
        k = ((8, depth // 8), (w * t, sbo))
    rows_at, depth_at = cute(*mn, np.arange(rows)), cute(*k, np.arange(depth))
    at = start + (rows_at[:, None] + depth_at[None, :]) * element
    bits = {"none": 0, "32": 1, "64": 2, "128": 3}[swizzle]
    return at ^ ((at >> 7 & (1 << bits) - 1) << 4)  # Swizzle<bits, 4, 3>


def descriptor(swizzle, start, leading, stride, base=0):
    def field(x):
        return (x & 0x3FFFF) >> 4
    return field(start) | field(leading) << 16 | field(stride) << 32 | base << 49 | SWIZZLES[swizzle] << 62


def strides(swizzle, k_major, rows, depth, element, rng):
    """Leading and stride offsets and the bytes of a matrix, with gaps of any size."""
    t, w = 16 // element, {"none": 1, "32": 2, "64": 4, "128": 8}[swizzle]
    atom = 128 * w
    gap = int(rng.integers(0, 3)) * atom
    if k_major:
        if swizzle == "none":
            stride = depth // t * atom + gap
            return atom, stride, rows // 8 * stride
        return 16, atom + gap, rows // 8 * (atom + gap)
    if swizzle == "none":  # stride: next T rows; leading: next 8 of K
        leading = rows // t * atom + gap
        return leading, atom, depth // 8 * leading
    blocks = max(rows // t // w, 1)
    leading = depth // 8 * atom + gap
    return leading, atom, blocks * leading


D_LAYOUT = lambda n: (((4, 8, 4), (2, 2, n // 8)), ((128, 1, 16), (64, 8, 512)))  # noqa: E731
A_LAYOUTS = {2: (((4, 8, 4), (2, 2, 2)), ((128, 1, 16), (64, 8, 512))),
             1: (((4, 8, 4), (4, 2, 2)), ((256, 1, 16), (64, 8, 1024))),
             4: (((4, 8, 4), (2, 2)), ((64, 1, 16), (8, 256)))}


def fragment_index(layout, rows=64):
    """For thread and value: row and column."""
    (threads, values), (thread_strides, value_strides) = layout
    at = cute(threads, thread_strides, np.arange(128))[:, None] + cute(values, value_strides, np.arange(size(values)))
    return at % rows, at // rows


TYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "e4m3": ml_dtypes.float8_e4m3fn,
         "e5m2": ml_dtypes.float8_e5m2, "s8": np.int8, "u8": np.uint8}
FLOATS = {"f16": np.float16, "f32": np.float32, "s32": np.int32}


def numbers(name, shape, rng):
    return rng.integers(0 if name == "u8" else -3, 4, shape).astype(TYPES[name])


def place(image, at, matrix):
    flat = image.view(np.uint8)
    raw = np.ascontiguousarray(matrix).view(np.uint8).reshape(*matrix.shape, -1)
    for b in range(raw.shape[-1]):
        flat[at + b] = raw[..., b]


class Product:
    """One wgmma with everything around it."""

    def __init__(self, d, a, b, n, rng, a_swizzle="128", b_swizzle="128", a_k_major=True, b_k_major=True,
                 a_in_registers=False, scale=1, signs=(1, 1), modifiers="", make=numbers, fragments=None):
        self.d, self.n = d, n
        self.element = np.dtype(TYPES[a]).itemsize
        self.k = 32 // self.element
        self.a, self.b = make(a, (64, self.k), rng), make(b, (n, self.k), rng)
        self.c = fragments if fragments is not None else rng.integers(-9, 10, (64, n)).astype(FLOATS[d])
        image = rng.integers(0, 256, 1 << 17).astype(np.uint8) & 0x37  # between them no NaN
        a_at = 0
        la, sa, bytes_a = strides(a_swizzle, a_k_major, 64, self.k, self.element, rng)
        b_at = a_at + (bytes_a + 1023) // 1024 * 1024
        lb, sb, bytes_b = strides(b_swizzle, b_k_major, n, self.k, self.element, rng)
        place(image, address(a_swizzle, a_k_major, 64, self.k, self.element, a_at, la, sa), self.a)
        place(image, address(b_swizzle, b_k_major, n, self.k, self.element, b_at, lb, sb), self.b)
        self.image = image[:(b_at + bytes_b + 2047) // 2048 * 2048]
        self.descriptors = descriptor(a_swizzle, a_at, la, sa), descriptor(b_swizzle, b_at, lb, sb)
        suffix = ""
        if d != "s32":
            suffix = f", {signs[0]}, {signs[1]}"
            if self.element == 2:
                suffix += ("" if a_in_registers else f", {1 - a_k_major}") + f", {1 - b_k_major}"
        registers = n // (4 if d == "f16" else 2)
        self.text = product_kernel(f"m64n{n}k{self.k}", f"{d}.{a}.{b}{modifiers}", len(self.image), registers,
                                   a_in_registers, suffix)
        self.scale, self.signs = scale, signs

    def run(self, arch="sm_90a", **options):
        rows, columns = fragment_index(A_LAYOUTS[self.element])
        fa = np.ascontiguousarray(self.a[rows, columns]).view(np.uint32).reshape(128, 4)
        rows, columns = fragment_index(D_LAYOUT(self.n))
        fd = np.ascontiguousarray(self.c[rows, columns]).view(np.uint32)
        meta = np.zeros(128, np.uint32)
        report = sim.launch(self.text, "k", 1, 128, [self.image, fa, fd, *self.descriptors, self.scale, meta],
                            arch=arch, shared=len(self.image), **options)
        assert report.ok, report.text()
        assert not report.errors, report.text()
        result = np.zeros_like(self.c)
        result[rows, columns] = fd.view(self.c.dtype).reshape(128, -1)
        return result

    def expected(self):
        product = self.a.astype(np.float64) @ self.b.astype(np.float64).T * self.signs[0] * self.signs[1]
        return (product + (self.c if self.scale else 0)).astype(self.c.dtype)


DENSE = [("f32", "f16", "f16"), ("f16", "f16", "f16"), ("f32", "bf16", "bf16"), ("f32", "tf32", "tf32"),
         ("f32", "e4m3", "e4m3"), ("f16", "e5m2", "e4m3"), ("f32", "e4m3", "e5m2"), ("s32", "s8", "s8"),
         ("s32", "u8", "s8"), ("s32", "s8", "u8"), ("s32", "u8", "u8")]
SIZES = [8, 16, 24, 32, 64, 80, 128, 176, 256]


@pytest.mark.parametrize("d, a, b", DENSE, ids=lambda x: x)
@pytest.mark.parametrize("swizzle", SWIZZLES)
def test_every_layout(d, a, b, swizzle):
    """All swizzles and majors of A and of B, A in registers too, against the second formula."""
    rng = np.random.default_rng(len(swizzle) * 100 + DENSE.index((d, a, b)))
    majors = [True, False] if np.dtype(TYPES[a]).itemsize == 2 else [True]
    for n in SIZES:
        for a_k_major in majors:
            for b_k_major in majors:
                w = {"none": 1, "32": 2, "64": 4, "128": 8}[swizzle]
                if not b_k_major and n % (8 * w):
                    continue  # B does not fill its atoms
                for a_in_registers in (False, True):
                    p = Product(d, a, b, n, rng, swizzle, swizzle, a_k_major, b_k_major, a_in_registers,
                                scale=int(rng.integers(2)), signs=tuple(rng.choice([-1, 1], 2)) if d != "s32" else (1, 1))
                    np.testing.assert_array_equal(p.run(check=bool(rng.integers(2))), p.expected(),
                                                  f"n {n} majors {a_k_major} {b_k_major} registers {a_in_registers}")


@pytest.mark.parametrize("swizzle", ["32", "64", "128"])
@pytest.mark.parametrize("name", ["f16", "tf32", "e4m3"])
def test_a_step_along_k(swizzle, name):
    """A tile of several K is read by moving the start address, as real kernels do."""
    rng = np.random.default_rng(5)
    width = {"32": 2, "64": 4, "128": 8}[swizzle]
    for step in range(width // 2):
        p = Product("f32", name, name, 64, rng, swizzle, swizzle)
        t = 16 // p.element
        depth = width * t
        image = rng.integers(0, 256, 1 << 15).astype(np.uint8) & 0x37
        slices = slice(step * p.k, (step + 1) * p.k)
        words = []
        for at, rows in ((0, p.a), (1 << 14, p.b)):
            whole = numbers(name, (64, depth), rng)
            whole[:, slices] = rows
            place(image, address(swizzle, True, 64, depth, p.element, at, 0, 128 * width), whole)
            words.append(descriptor(swizzle, at + 32 * step, 16, 128 * width))
        p.image, p.descriptors = image, words
        p.text = product_kernel(f"m64n64k{p.k}", f"f32.{name}.{name}", len(image), 32,
                                suffix=", 1, 1, 0, 0" if name == "f16" else ", 1, 1")
        np.testing.assert_array_equal(p.run(check=True), p.expected(), f"step {step}")


@pytest.mark.parametrize("swizzle", ["32", "64", "128"])
def test_base_offset(swizzle):
    """A pattern that does not start at its natural boundary."""
    rng = np.random.default_rng(6)
    span = {"32": 2, "64": 4, "128": 8}[swizzle]  # lines of 128 bytes
    for base in range(1, span):
        p = Product("f32", "f16", "f16", 8, rng, swizzle, swizzle)
        image = rng.integers(0, 256, 1 << 14).astype(np.uint8) & 0x37
        words = []
        for at, rows in ((0, p.a), (1 << 13, p.b)):
            start = at + 128 * base
            there = address(swizzle, True, len(rows), p.k, 2, 0, 0, 128 * span)
            place(image, start + there, rows)
            words.append(descriptor(swizzle, start, 16, 128 * span, base))
        p.image, p.descriptors = image, words
        p.text = product_kernel("m64n8k16", "f32.f16.f16", len(image), 4, suffix=", 1, 1, 0, 0")
        np.testing.assert_array_equal(p.run(check=True), p.expected(), f"base {base}")


def test_bits():
    rng = np.random.default_rng(1)
    for n in (8, 24, 48, 256):
        a, b = rng.integers(0, 1 << 32, (64, 8), np.uint32), rng.integers(0, 1 << 32, (n, 8), np.uint32)
        c = rng.integers(-99, 99, (64, n)).astype(np.int32)
        image = np.zeros(1 << 14, np.uint8)
        place(image, address("32", True, 64, 8, 4, 0, 0, 256), a)
        place(image, address("32", True, n, 8, 4, 4096, 0, 256), b)
        text = product_kernel(f"m64n{n}k256", "s32.b1.b1.and.popc", len(image), n // 2)
        rows, columns = fragment_index(D_LAYOUT(n))
        fd = c[rows, columns]
        words = [descriptor("32", at, 16, 256) for at in (0, 4096)]
        report = sim.launch(text, "k", 1, 128, [image, np.zeros(512, np.uint32), fd, *words, 1, np.zeros(128, np.uint32)],
                            arch="sm_90a", shared=len(image), check=True)
        assert report.ok, report.text()
        want = c + np.bitwise_count(a[:, None] & b[None]).sum(2)
        np.testing.assert_array_equal(fd, want[rows, columns])


@pytest.mark.parametrize("element, selectors", [(2, (0, 1)), (4, (0, 1)), (1, (0,))], ids=["f16", "tf32", "e4m3"])
def test_sparse(element, selectors):
    """Metadata as CUTLASS lays it out (mma_traits_sm90_gmma_sparse.hpp)."""
    rng = np.random.default_rng(element)
    name = {2: "f16", 4: "tf32", 1: "e4m3"}[element]
    k = 64 // element
    for n in (8, 64):
        for selector in selectors:
            whole, kept = np.zeros((64, k)), np.zeros((64, k // 2))
            meta = np.zeros(128, np.uint32)
            for row in range(64):
                for n_chunk in range(k // (2 if element == 4 else 4)):
                    warp, r = row // 16 * 32, row % 16
                    values = rng.integers(1, 4, 2)
                    if element == 4:
                        where = int(rng.integers(2))
                        whole[row, 2 * n_chunk + where] = kept[row, n_chunk] = values[0]
                        lane, bit = 4 * (r % 8) + 2 * selector + n_chunk // 4, 16 * (r // 8) + 4 * (n_chunk % 4)
                        meta[warp + lane] |= np.uint32((0x4, 0xE)[where] << bit)
                        continue
                    pair = sorted(rng.choice(4, 2, replace=False))
                    for j in (0, 1):
                        whole[row, 4 * n_chunk + pair[j]] = kept[row, 2 * n_chunk + j] = values[j]
                    if element == 2:
                        lane, bit = 4 * (r % 8) + 2 * selector + n_chunk // 4, 16 * (r // 8) + 4 * (n_chunk % 4)
                    else:
                        lane, bit = 4 * (r % 8) + r // 8 + 2 * (n_chunk // 8), 4 * (n_chunk % 8)
                    meta[warp + lane] |= np.uint32(int(pair[0] | pair[1] << 2) << bit)
            b = numbers(name, (n, k), rng)
            c = rng.integers(-9, 9, (64, n)).astype(np.float32)
            image = np.zeros(1 << 15, np.uint8)
            place(image, address("128", True, 64, k // 2, element, 0, 0, 1024), kept.astype(TYPES[name]))
            place(image, address("128", True, n, k, element, 8192, 0, 1024), b)
            words = [descriptor("128", at, 16, 1024) for at in (0, 8192)]
            rows, columns = fragment_index(A_LAYOUTS[element])
            fa = np.ascontiguousarray(kept.astype(TYPES[name])[rows, columns]).view(np.uint32).reshape(128, 4)
            for in_registers in (False, True):
                majors = "" if element != 2 else ", 0" if in_registers else ", 0, 0"
                text = product_kernel(f"m64n{n}k{k}", f"f32.{name}.{name}", len(image), n // 2, in_registers,
                                      ", 1, -1" + majors, selector)
                rows, columns = fragment_index(D_LAYOUT(n))
                fd = c[rows, columns]
                report = sim.launch(text, "k", 1, 128, [image, fa, fd, *words, 1, meta], arch="sm_90a",
                                    shared=len(image), check=True)
                assert report.ok, report.text()
                want = c - whole @ b.astype(np.float64).T
                np.testing.assert_array_equal(fd, want[rows, columns].astype(np.float32))


def normal(name, shape, rng):
    return rng.standard_normal(shape).astype(np.float32).astype(TYPES[name])


def truncated(x):
    """tf32 keeps 10 bits of the significand."""
    return (x.view(np.uint32) & 0xFFFFE000).view(np.float32) if x.dtype == np.float32 else x


@pytest.mark.parametrize("d, a, b, bits", [("f32", "f16", "f16", 24), ("f32", "bf16", "bf16", 24),
                                           ("f32", "tf32", "tf32", 24), ("f16", "f16", "f16", 11),
                                           ("f32", "e4m3", "e4m3", 13), ("f16", "e5m2", "e5m2", 11)])
def test_numbers(d, a, b, bits):
    """Within the error of one rounding in f64; mode hw cuts each of the aligned products to F bits."""
    rng = np.random.default_rng(3)
    for _ in range(3):
        p = Product(d, a, b, 32, rng, make=normal, fragments=rng.standard_normal((64, 32)).astype(FLOATS[d]))
        x, y, c = (truncated(v).astype(np.float64) for v in (p.a, p.b, p.c))
        c = p.c.astype(np.float64)
        exact = x @ y.T + c
        ieee, hw = p.run(tensor="ieee"), p.run()
        np.testing.assert_array_equal(ieee, exact.astype(FLOATS[d]))
        largest = np.maximum(np.abs(x[:, None] * y[None]).max(2), np.abs(c))
        fraction = 13 if p.element == 1 else 25
        bound = (p.k + 1) * 2.0**(1 - fraction) * 2 * largest + 2.0**(1 - bits) * np.abs(exact)
        error = np.abs(hw.astype(np.float64) - exact)
        assert (error <= bound).all()
        assert error.max() > 0
        if p.element == 1 and d == "f32":
            assert not (hw.view(np.uint32) & 0x3FF).any()  # 13 bits stay
        assert (hw != ieee).any() or d == "f16"


def parts(x, lowest):
    """Significand in [1, 2), or less for subnormal numbers, and exponent."""
    if x == 0:
        return Fraction(0), -126
    exponent = max(math.frexp(x)[1] - 1, lowest)
    return Fraction(float(x)) / Fraction(2)**exponent, exponent


def as_the_models_say(a, b, c, lowest, fraction, half, kept):
    """arXiv 2511.10909: align all to the largest exponent, cut, add exactly, round once."""
    terms = [parts(c, -14 if half else -126)]
    for x, y in zip(a, b):
        (s, e), (t, f) = parts(x, lowest), parts(y, lowest)
        terms.append((s * t, e + f))
    largest = max(e for _, e in terms)
    total = sum(math.trunc(s * Fraction(2)**(e - largest + fraction)) for s, e in terms) * Fraction(2)**(largest - fraction)
    if half:
        return np.float16(float(total))
    if not total:
        return np.float32(0)
    exponent = math.frexp(float(total))[1] - 1
    unit = Fraction(2)**(exponent - kept)
    return np.float32(float(math.trunc(total / unit) * unit))


@pytest.mark.parametrize("d, name, lowest", [("f32", "f16", -14), ("f16", "f16", -14), ("f32", "bf16", -126),
                                             ("f32", "tf32", -126), ("f32", "e4m3", -6), ("f16", "e4m3", -6)])
def test_bits_of_mode_hw(d, name, lowest):
    rng = np.random.default_rng(9)
    small = name == "e4m3"
    for scale in (1, 30):
        p = Product(d, name, name, 8, rng, make=lambda *a: (normal(*a).astype(np.float32) * scale).astype(TYPES[name]),
                    fragments=(rng.standard_normal((64, 8)) * 50).astype(FLOATS[d]))
        got = p.run()
        x, y = (truncated(m).astype(np.float64) for m in (p.a, p.b))
        want = [[as_the_models_say(x[i], y[j], float(p.c[i, j]), lowest, 13 if small else 25, d == "f16",
                                   13 if small else 23) for j in range(8)] for i in range(64)]
        np.testing.assert_array_equal(got, np.array(want))


def test_special_values():
    """Infinities and NaN, of which a negated one stays."""
    rng = np.random.default_rng(4)
    p = Product("f32", "f16", "f16", 8, rng, a_in_registers=True, signs=(-1, 1))
    p.a[3, 5], p.a[20, 1], p.b[:] = np.inf, np.nan, 1
    p.image[:] = np.frombuffer(np.float16(1).tobytes() * (len(p.image) // 2), np.uint8)
    got = p.run()
    assert (got[3] == -np.inf).all() and np.isnan(got[20]).all()
    assert (got.view(np.uint32)[20] == 0x7FFFFFFF).all() and np.isfinite(got[[0, 1, 2, 4, 19, 21]]).all()


def test_saturation():
    for modifiers, want in (("", -(1 << 31) + 32 * 127 * 127 - 1), (".satfinite", (1 << 31) - 1)):
        p = Product("s32", "s8", "s8", 8, np.random.default_rng(0), modifiers=modifiers,
                    make=lambda name, shape, rng: np.full(shape, 127, np.int8),
                    fragments=np.full((64, 8), (1 << 31) - 1, np.int32))
        assert (p.run() == want).all()


@pytest.mark.parametrize("name", ["f16", "bf16", "tf32"])
def test_ring(name):
    """Elements of the ring: integers modulo 2^31, or 2^15."""
    for d in ("f32", "f16") if name == "f16" else ("f32",):
        bits = 31 if d == "f32" else 15
        raw = {"tf32": np.uint32}.get(name, np.uint16)

        def make(_, shape, rng):
            return rng.integers(0, 1000, shape).astype(raw).view(TYPES[name])
        p = Product(d, name, name, 16, np.random.default_rng(0), make=make, signs=(1, -1))
        p.c = np.random.default_rng(1).integers(0, 1 << 15, (64, 16)).astype(f"u{p.c.itemsize}").view(FLOATS[d])
        x, y = (m.view(raw).astype(np.int64) for m in (p.a, p.b))
        c = p.c.view(f"u{p.c.itemsize}").astype(np.int64)
        got = p.run(ring=True)
        np.testing.assert_array_equal(got.view(f"u{p.c.itemsize}"), (c - x @ y.T) % (1 << bits))


TILES = 5


def tiles(rng):
    a, b = rng.integers(-3, 4, (TILES, 64, 16)), rng.integers(-3, 4, (TILES, 32, 16))
    rows, columns = fragment_index(D_LAYOUT(32))
    return a.astype(np.float16), b.astype(np.float16), np.einsum("tmk,tnk->mn", a, b)[rows, columns]


def run_gemm(text, **options):
    a, b, want = tiles(np.random.default_rng(2))
    g, o = np.zeros((TILES, 3072), np.uint8), np.zeros((128, 16), np.float32)
    for k in range(TILES):
        place(g[k], address("none", True, 64, 16, 2, 0, 128, 256), a[k])
        place(g[k], address("none", True, 32, 16, 2, 2048, 128, 256), b[k])
    report = sim.launch(text, "k", 1, 160, [g, o, TILES], arch="sm_90a", max_instructions=300000, **options)
    return report, o, want


def run_registers(text, **options):
    a, b, want = tiles(np.random.default_rng(2))
    g, o = np.zeros((TILES, 3072), np.uint8), np.zeros((128, 16), np.float32)
    for k in range(TILES):
        g[k, :2048] = np.ascontiguousarray(a[k][fragment_index(A_LAYOUTS[2])]).view(np.uint8).reshape(-1)
        place(g[k], address("none", True, 32, 16, 2, 2048, 128, 256), b[k])
    report = sim.launch(text, "k", 1, 128, [g, o, TILES], arch="sm_90a", max_instructions=300000, **options)
    return report, o, want


KERNELS = {"gemm": (run_gemm, GEMM), "registers": (run_registers, REGISTERS),
           "renamed": (run_registers, broken(REGISTERS, RENAMED)),
           "neighbours": (run_registers, broken(REGISTERS, NEIGHBOURS)),
           "no_barrier_after": (run_registers, broken(REGISTERS, NO_BARRIER_AFTER)),
           "one_release": (run_gemm, broken(GEMM, ONE_RELEASE))}


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("seed", range(20))
def test_correct_kernels(name, seed):
    run, text = KERNELS[name]
    for check in (False, True):
        report, o, want = run(text, check=check, seed=seed, adversarial=seed > 0)
        assert report.ok and not report.errors, report.text()
        np.testing.assert_array_equal(o, want)


BUGS = [(run_gemm, GEMM, name, *bug) for name, bug in GEMM_BUGS.items()] + \
       [(run_registers, REGISTERS, name, *bug) for name, bug in REGISTERS_BUGS.items()]


@pytest.mark.parametrize("run, text, name, changes, kinds, places", BUGS, ids=[b[2] for b in BUGS])
def test_planted_bug(run, text, name, changes, kinds, places):
    text = broken(text, changes)
    lines = {line_of(text, place) for place in places}
    for seed in range(6):
        report, _, _ = run(text, check=True, seed=seed, adversarial=seed > 0)
        named = {int(n) for e in report.errors if e["kind"] in kinds.split()
                 for n in re.findall(r"PTX line (\d+)", e["message"])}
        assert not report.ok and named & lines, \
            f"seed {seed}: expected {kinds} at {lines}: {report.text()}"


def test_a_move_after_the_fence_is_a_remark():
    text = broken(GEMM, MOVED)
    report, o, want = run_gemm(text, check=True)
    assert report.ok and [e["kind"] for e in report.errors] == ["remark"], report.text()
    assert report.errors[0]["ptx_line"] == line_of(text, "mma") and "no wgmma.fence" in report.errors[0]["message"]
    np.testing.assert_array_equal(o, want)


def test_a_copy_without_proxy_fence_is_a_remark():
    """CUTLASS leaves the fence out after cp.async, and only there."""
    text = broken(REGISTERS, {"load_a": f"{LOAD_A} cp.async.ca.shared.global [%s], [%b+2048], 8; cp.async.wait_all;",
                              "write": "", "proxy_fence": ""})
    report, o, want = run_registers(text, check=True)
    assert report.ok and [e["kind"] for e in report.errors] == ["remark"], report.text()
    assert "no fence.proxy.async" in report.errors[0]["message"]
    np.testing.assert_array_equal(o, want)
    report, _, _ = run_registers(broken(text, {"barrier": ""}), check=True)
    assert {e["kind"] for e in report.errors} >= {"async-copy"}


def test_results_of_a_broken_kernel_depend_on_the_seed():
    """Without checking, a product in flight shows in the results."""
    results = set()
    for seed in range(1, 20):
        _, o, _ = run_gemm(broken(GEMM, GEMM_BUGS["no_wait_at_the_end"][0]), seed=seed, adversarial=True)
        results.add(o.tobytes())
    assert len(results) > 1


@pytest.mark.skipif(not shutil.which("ptxas"), reason="ptxas is not on PATH")
def test_ptxas_accepts_the_kernels(tmp_path):
    texts = {name: text for name, (_, text) in KERNELS.items()}
    texts["f16"] = Product("f32", "f16", "f16", 8, np.random.default_rng(0)).text
    texts["s8"] = Product("s32", "s8", "u8", 24, np.random.default_rng(0), a_in_registers=True).text
    for name, text in texts.items():
        path = tmp_path / f"{name}.ptx"
        path.write_text(text)
        done = subprocess.run(["ptxas", "-arch=sm_90a", path, "-o", tmp_path / "out.cubin"], capture_output=True,
                              text=True)
        assert done.returncode == 0, name + done.stderr


@pytest.mark.parametrize("old, new, message", [
    ("m64n32k16", "m64n36k16", "N must be a multiple of 8"), ("m64n32k16", "m64n32k8", "K does not fit"),
    ("f32.f16.f16", "f32.f16.bf16", "do not go together"), ("f32.f16.f16", "s32.f16.f16", "do not go together"),
    (", 1, 1, 0, 0;", ", 1, 2, 0, 0;", "must be 1 or -1"), (", 1, 1, 0, 0;", ", 1, 1, 2, 0;", "must be 0 or 1"),
    (", 1, 1, 0, 0;", ", 1, 1, 0;", "needs imm-trans-b"), ("%c14, %c15}", "%c14}", "vector of 16 registers, found 15"),
    ("wait_group.sync.aligned 1", "wait_group.sync.aligned -1", "must not be negative"),
])
def test_refused_forms(old, new, message):
    assert old in GEMM
    with pytest.raises(sim.SimError, match=message):
        run_gemm(GEMM.replace(old, new))


def test_other_machines_have_no_wgmma():
    p = Product("f32", "f16", "f16", 8, np.random.default_rng(0))
    with pytest.raises(AssertionError, match="sm_90a only"):
        p.run(arch="sm_100")


SETMAXNREG = HEAD + """.visible .entry k()
{
.reg .b32 %t; .reg .pred %p;
mov.u32 %t, %tid.x; shr.u32 %t, %t, 5; setp.eq.u32 %p, %t, 1;
@%p bra OTHER;
setmaxnreg.dec.sync.aligned.u32 40;
bra DONE;
OTHER:
setmaxnreg.dec.sync.aligned.u32 COUNT;
DONE:
ret;
}
"""


def test_setmaxnreg():
    def run(count):
        return sim.launch(SETMAXNREG.replace("COUNT", str(count)), "k", 1, 128, [], arch="sm_90a", check=True)
    assert run(40).ok  # another place, but the same
    assert [e["kind"] for e in run(48).errors] == ["wgmma-misuse"]
    for wrong in (16, 264, 44):
        with pytest.raises(sim.SimError, match="multiple of 8 from 24 to 256"):
            run(wrong)
