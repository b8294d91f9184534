# tcgen05.mma: every kind, layout and option against products in float64.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small integers show that every element is where CuTe's algebra (tensor_matrices.py) says; normal numbers that the
result is within the error of the model that docs/simulator.md names."""

import shutil
import subprocess

import ml_dtypes
import numpy as np
import pytest

import tessera.sim as sim
from tensor_matrices import (K, TYPES, d_index, place, place_metadata, place_operand, place_scales, raw, sparse,
                             zero_columns)
from tensor_memory_kernels import COLUMNS, WORDS, operation_kernel

D = {"f16": (np.float16, 0), "f32": (np.float32, 1), "s32": (np.int32, 2)}


def integers(name, shape, rng):
    """Small ones that every type has."""
    return rng.integers(0 if name == "u8" else -2, 4, shape).astype(np.float32).astype(TYPES[name][0])


def normal(name, shape, rng):
    return rng.standard_normal(shape).astype(np.float32).astype(TYPES[name][0])


def truncated(name, x):
    return (x.view(np.uint32) & 0xFFFFE000).view(np.float32) if name == "tf32" else x


class Product:
    """One tcgen05.mma with everything around it."""

    def __init__(self, kind, a, b, d, m, n, rng, make=integers, swizzles=("128", "128"), k_major=(True, True), gaps=(0, 0),
                 a_in_tmem=False, ws=False, is_sparse=False, scales=0, scale_type="ue8m0", ids=(0, 0), negated=(0, 0),
                 enable=1, disabled=0, scale_d=None, zero=None, modifiers="", saturate=0, lane=0, c=None):
        self.kind, self.m, self.n, self.d_type = kind, m, n, d
        k = self.k = K[kind] * (2 if is_sparse else 1)
        packed = kind in ("mxf4", "mxf4nvf4")
        (_, a_bits, a_code), (_, b_bits, b_code) = TYPES[a], TYPES[b]
        if packed:
            a_code = b_code = 1
        shift = zero >> 56 & 63 if zero else 0
        whole, bt = make(a, (m, k), rng), make(b, (n + 32 if shift else n, k), rng)
        memory = self.memory = rng.integers(0, 1 << 32, (128, COLUMNS), dtype=np.uint64).astype(np.uint32)
        image = rng.integers(0, 256, 1 << 17).astype(np.uint8)
        at = {"d": lane << 16 | 8, "a": lane << 16 | 320, "sfa": 400, "sfb": 416, "meta": 440}
        x = truncated(a, whole).astype(np.float64)
        stored = whole
        if is_sparse:
            x, stored, codes = sparse(truncated(a, whole), kind, rng)
            place_metadata(memory, codes, kind, m, ws, at["meta"])
        y = truncated(b, bt).astype(np.float64)
        words = dict.fromkeys(WORDS, 0)
        used = 0
        if a_in_tmem:
            place_operand(memory, stored, a_bits, packed, m, at["a"])
        else:
            words["da"], used = place(image, stored, a_bits, swizzles[0], k_major[0], 0, packed, gaps[0])
        words["db"], more = place(image, bt, b_bits, swizzles[1], k_major[1], used, packed, gaps[1])
        self.image = image[:(used + more + 2047) // 2048 * 2048]
        self.lanes, self.columns = d_index(m, n, ws)
        self.lanes, self.columns = self.lanes + lane, self.columns + 8
        dtype, d_code = D[d]
        self.c = rng.integers(-9, 10, (m, n)).astype(dtype) if c is None else c
        memory[self.lanes, self.columns] = raw(self.c)
        if d == "f16":  # the upper half of a column is nobody's
            memory[self.lanes, self.columns] |= np.uint32(0xABCD0000)
        if shift:
            y = y[shift:shift + n]
        else:
            y = y[:n]
        if zero:
            y = np.where(zero_columns(zero, m, n)[:, None], 0, y)
        self.x, self.y = x * (1 - 2 * negated[0]), y * (1 - 2 * negated[1])
        if scales:
            bits = [self.scale_bits(scale_type, (rows, scales), rng) for rows in (m, n)]
            for name, value, first in zip(("sfa", "sfb"), bits, ids):
                place_scales(memory, value, at[name], first)
            factors = [self.scale_value(scale_type, v).repeat(k // scales, 1) for v in bits]
            self.x, self.y = self.x * factors[0], self.y * factors[1]
        low = ids[1] << 4 | (scale_type == "ue8m0") << 23 | m >> 7 << 27 | ids[0] << 29 if scales else d_code << 4 | m >> 4 << 24
        words["idesc"] = low | is_sparse << 2 | saturate << 3 | a_code << 7 | b_code << 10 | negated[0] << 13 | negated[1] << 14 \
            | (not k_major[0]) << 15 | (not k_major[1]) << 16 | n >> 3 << 17
        words.update({name: value for name, value in at.items()}, enable=enable, zero=zero or 0)
        for k4 in range(4):
            words[f"m{k4}"] = disabled >> 32 * k4 & 0xFFFFFFFF
        self.words = np.array([words[name] for name in WORDS], np.uint64)
        self.enable, self.scale_d, self.disabled = enable, scale_d, disabled
        self.instruction = f"tcgen05.mma{'.ws' if ws else ''}{'.sp' if is_sparse else ''}.cta_group::1.kind::{kind}" \
            f"{'.block_scale' if scales else ''}{modifiers} [%dd], {'[%aa]' if a_in_tmem else '%da'}, %db," \
            f"{' [%me],' if is_sparse else ''} %id,{' [%sa], [%sb],' if scales else ''}" \
            f"{' {%m0, %m1, %m2, %m3},' if disabled else ''} %e{'' if scale_d is None else f', {scale_d}'}{', %zero' if zero else ''};"
        self.text = operation_kernel(len(self.image), self.instruction)

    @staticmethod
    def scale_bits(kind, shape, rng):
        return rng.integers(124, 131, shape).astype(np.uint8) if kind == "ue8m0" else rng.integers(0x28, 0x50, shape).astype(np.uint8)

    @staticmethod
    def scale_value(kind, bits):
        return 2.0**(bits.astype(np.int64) - 127) if kind == "ue8m0" else bits.view(ml_dtypes.float8_e4m3fn).astype(np.float64)

    def exact(self):
        c = self.c.astype(np.float64) * 2.0**-(self.scale_d or 0) if self.enable else 0
        return self.x @ self.y.T + c

    def run(self, **options):
        memory = self.memory.copy()
        options = {"arch": "sm_100a", "check": True, **options}
        report = sim.launch(self.text, "k", 1, 128, [self.image, memory, self.words], shared=len(self.image), **options)
        assert report.ok and not report.errors, report.text()
        rest = np.ones((128, COLUMNS), bool)
        rest[self.lanes, self.columns] = False
        np.testing.assert_array_equal(memory[rest], self.memory[rest])
        got = np.ascontiguousarray(memory[self.lanes, self.columns])
        stays = np.array([self.disabled >> lane & 1 for lane in range(128)], bool)[self.lanes]
        np.testing.assert_array_equal(got[stays], self.memory[self.lanes, self.columns][stays])
        if self.d_type == "f16":
            value = (got & 0xFFFF).astype(np.uint16).view(np.float16)
        else:
            value = got.view(D[self.d_type][0])
        return np.where(stays, 0, value), stays

    def check(self, **options):
        got, stays = self.run(**options)
        want = self.exact()
        np.testing.assert_array_equal(got, np.where(stays, 0, want.astype(D[self.d_type][0])))


KINDS = [("f16", "f16", "f16", "f32"), ("f16", "bf16", "bf16", "f32"), ("f16", "f16", "f16", "f16"), ("tf32", "tf32", "tf32", "f32"),
         ("i8", "s8", "u8", "s32"), ("i8", "u8", "s8", "s32"), ("f8f6f4", "e4m3", "e5m2", "f32"), ("f8f6f4", "e4m3", "e4m3", "f16"),
         ("f8f6f4", "e2m3", "e2m1", "f32"), ("f8f6f4", "e2m1", "e3m2", "f32"), ("f8f6f4", "e3m2", "e4m3", "f32")]
SHAPES = [(128, 8, False), (128, 96, False), (128, 256, False), (64, 16, False), (64, 48, False), (32, 64, True), (64, 128, True), (128, 64, True)]


@pytest.mark.parametrize("kind, a, b, d", KINDS)
@pytest.mark.parametrize("m, n, ws", SHAPES)
def test_shapes(kind, a, b, d, m, n, ws):
    rng = np.random.default_rng(m + n)
    Product(kind, a, b, d, m, n, rng, ws=ws).check()
    Product(kind, a, b, d, m, n, rng, ws=ws, enable=0, swizzles=("none", "64"), gaps=(0, 1)).check(seed=2, adversarial=True)
    if not ws:  # the upper halves of the lanes
        Product(kind, a, b, d, m, n, rng, lane=16 if m == 64 else 0).check(check=False)


@pytest.mark.parametrize("kind, a, b, d", [KINDS[0], KINDS[3], KINDS[4], KINDS[6], KINDS[8]])
@pytest.mark.parametrize("swizzle", ["none", "32", "64", "128"])
def test_every_swizzle(kind, a, b, d, swizzle):
    """K-major and, where the ISA has it, MN-major, with gaps of all kinds."""
    rng = np.random.default_rng(1)
    small = min(TYPES[a][1], TYPES[b][1]) < 8
    for majors in [(True, True)] if kind == "tf32" or small else [(True, True), (False, True), (True, False), (False, False)]:
        for gaps in ((0, 0), (1, 2)):
            for m, n in ((128, 64), (64, 128)):
                Product(kind, a, b, d, m, n, rng, swizzles=(swizzle, swizzle), k_major=majors, gaps=gaps).check(check=gaps[0] == 0)


def test_transposed_tf32():
    """Only with atoms of 32 bytes."""
    rng = np.random.default_rng(2)
    for majors, swizzles in (((False, True), ("128x32", "128")), ((True, False), ("64", "128x32")), ((False, False), ("128x32", "128x32"))):
        for n in (32, 64):
            Product("tf32", "tf32", "tf32", "f32", 128, n, rng, k_major=majors, swizzles=swizzles, gaps=(1, 1)).check()


@pytest.mark.parametrize("kind, a, b, d", KINDS)
def test_a_in_tensor_memory(kind, a, b, d):
    rng = np.random.default_rng(3)
    for m, lane in ((128, 0), (64, 0), (64, 16)):
        Product(kind, a, b, d, m, 32, rng, a_in_tmem=True, lane=lane).check()


@pytest.mark.parametrize("kind, a, b, scales, scale_type", [
    ("mxf8f6f4", "e4m3", "e5m2", 1, "ue8m0"), ("mxf8f6f4", "e2m1", "e3m2", 1, "ue8m0"), ("mxf8f6f4", "e2m3", "e4m3", 1, "ue8m0"),
    ("mxf4", "e2m1", "e2m1", 2, "ue8m0"), ("mxf4nvf4", "e2m1", "e2m1", 2, "ue8m0"), ("mxf4nvf4", "e2m1", "e2m1", 4, "ue4m3"),
    ("mxf4nvf4", "e2m1", "e2m1", 4, "ue8m0")])
def test_block_scaling(kind, a, b, scales, scale_type):
    rng = np.random.default_rng(4)
    names = {("mxf8f6f4", 1): ["", ".scale_vec::1X", ".block32"], ("mxf4", 2): ["", ".scale_vec::2X", ".block32"],
             ("mxf4nvf4", 2): [".scale_vec::2X", ".block32"], ("mxf4nvf4", 4): [".scale_vec::4X", ".block16"]}[kind, scales]
    steps = range(0, 4, scales)
    for n in (8, 64, 256):
        for first in steps:
            p = Product(kind, a, b, "f32", 128, n, rng, scales=scales, scale_type=scale_type, ids=(first, steps[-1] - first),
                        modifiers=names[n % len(names)], a_in_tmem=n == 64 and first == 0, negated=(1, 0))
            p.check(check=n < 256)


@pytest.mark.parametrize("kind, a, b, d", [k for k in KINDS if k[0] != "i8" or k[1] == "s8"])
def test_sparse(kind, a, b, d):
    rng = np.random.default_rng(5)
    for m, n, ws in ((128, 64, False), (128, 64, True), (64, 128, True), (32, 64, True)):
        Product(kind, a, b, d, m, n, rng, is_sparse=True, ws=ws).check()
    Product(kind, a, b, d, 128, 64, rng, is_sparse=True, a_in_tmem=True).check()


@pytest.mark.parametrize("kind, a, b, scales, scale_type", [("mxf8f6f4", "e4m3", "e2m1", 1, "ue8m0"), ("mxf4", "e2m1", "e2m1", 2, "ue8m0"),
                                                            ("mxf4nvf4", "e2m1", "e2m1", 4, "ue4m3")])
def test_sparse_block_scaling(kind, a, b, scales, scale_type):
    rng = np.random.default_rng(6)
    Product(kind, a, b, "f32", 128, 64, rng, scales=scales, scale_type=scale_type, is_sparse=True,
            modifiers=".block16" if scales == 4 else ".block32").check()


def test_options():
    rng = np.random.default_rng(7)
    for negated in ((1, 0), (0, 1), (1, 1)):
        Product("f16", "bf16", "bf16", "f32", 128, 16, rng, negated=negated).check()
    for scale in (0, 1, 5, 15):
        Product("f16", "f16", "f16", "f32", 128, 16, rng, scale_d=scale).check()
        Product("tf32", "tf32", "tf32", "f32", 64, 16, rng, scale_d=scale).check()
    for disabled in (1, 1 << 127, (1 << 128) - 1, 0xFFFF << 32, int(rng.integers(1, 1 << 62)) << 40):
        Product("f16", "f16", "f16", "f32", 128, 16, rng, disabled=disabled).check()
        Product("i8", "s8", "s8", "s32", 64, 16, rng, disabled=disabled).check()
    for collector in ("fill", "use", "lastuse", "discard"):
        Product("f16", "f16", "f16", "f32", 128, 16, rng, modifiers=f".collector::a::{collector}").check()
        Product("f16", "f16", "f16", "f32", 64, 64, rng, ws=True, modifiers=f".collector::b2::{collector}").check()


def test_saturation():
    for saturate, want in ((0, -(1 << 31) + 32 * 127 * 127 - 1), (1, (1 << 31) - 1)):
        p = Product("i8", "s8", "s8", "s32", 128, 8, np.random.default_rng(0), saturate=saturate,
                    make=lambda name, shape, rng: np.full(shape, 127, np.int8), c=np.full((128, 8), (1 << 31) - 1, np.int32))
        assert (p.run()[0] == want).all()


ZERO = 1 << 39


@pytest.mark.parametrize("m, zero, masks", [
    (128, 3 << 48 | 4 << 40, ["0"]),  # the examples of PTX ISA 9.7.16.4.3, least significant bits last
    (128, ZERO | 3 << 48 | 2 << 40, ["11100001110000"]),
    (64, ZERO | 3 << 48 | 2 << 40 | 1 << 32, ["11100001110000111", "00001110000111" + "0000"]),
    (32, ZERO | 3 << 48 | 2 << 40 | 3 << 32 | 1 << 24 | 2 << 16 | 1 << 8 | 2 << 56, ["00001110000111", "0000111000011", "11100001110" + "0", "111000011100" + "0"])])
def test_zero_columns(m, zero, masks):
    n = 64
    drawn = zero_columns(zero, m, n).reshape(len(masks) if m != 128 else 1, -1)
    for part, mask in enumerate(masks):
        if zero >> 39 & 1:
            assert "".join("1" if v else "0" for v in drawn[part][:len(mask)][::-1]).endswith(mask[-11:]), part
    for kind, a, b, d in (KINDS[0], KINDS[4]):
        Product(kind, a, b, d, m, n, np.random.default_rng(8), ws=True, zero=zero).check()


def largest(p):
    """Of the products and the addend, by element of D."""
    return np.maximum(np.abs(p.x[:, None] * p.y[None]).max(2), np.abs(p.c.astype(np.float64)))


@pytest.mark.parametrize("kind, a, b, d", [k for k in KINDS if k[0] != "i8"])
def test_numbers(kind, a, b, d):
    """Cut to 25 bits below the largest, then rounded once: f32 toward zero, f16 to nearest."""
    rng = np.random.default_rng(9)
    dtype = D[d][0]
    for is_sparse in (False, True):
        p = Product(kind, a, b, d, 128, 32, rng, make=normal, is_sparse=is_sparse, c=rng.standard_normal((128, 32)).astype(dtype))
        exact, terms = p.exact(), p.k + 1
        hw, ieee = (p.run(tensor=mode)[0].astype(np.float64) for mode in ("hw", "ieee"))
        np.testing.assert_array_equal(ieee, exact.astype(dtype).astype(np.float64))
        # a product of two significands below 2 is below 4, so 2 bits above its exponent
        bound = terms * 2.0**-25 * 4 * largest(p) + np.abs(exact) * (2.0**-11 if d == "f16" else 2.0**-23) + 2.0**-25
        error = np.abs(hw - exact)
        assert (error <= bound).all() and error.max() > 0


@pytest.mark.parametrize("kind, a, scales, scale_type", [("mxf8f6f4", "e4m3", 1, "ue8m0"), ("mxf4", "e2m1", 2, "ue8m0"),
                                                         ("mxf4nvf4", "e2m1", 4, "ue4m3")])
def test_scaled_numbers(kind, a, scales, scale_type):
    rng = np.random.default_rng(10)
    p = Product(kind, a, a, "f32", 128, 32, rng, make=normal, scales=scales, scale_type=scale_type,
                modifiers=".block16" if scales == 4 else "", c=rng.standard_normal((128, 32)).astype(np.float32))
    exact = p.exact()
    bits = 25 if scales == 1 else 35
    sums = largest(p) * (1 if scales == 1 else 64)
    bound = (p.k + 1) * 2.0**-bits * 64 * sums + np.abs(exact) * 2.0**-23
    got = p.run()[0].astype(np.float64)
    assert (np.abs(got - exact) <= bound).all() and np.abs(got - exact).max() > 0
    np.testing.assert_array_equal(p.run(tensor="ieee")[0], exact.astype(np.float32))


def test_special_values():
    rng = np.random.default_rng(11)
    p = Product("f16", "f16", "f16", "f32", 128, 8, rng, swizzles=("none", "none"), a_in_tmem=True)
    flat = p.memory.view(np.float16).reshape(128, -1)
    flat[3, 640 + 5], flat[70, 640 + 1] = np.inf, np.nan
    p.image[:] = np.frombuffer(np.float16(1).tobytes() * (len(p.image) // 2), np.uint8)
    got = p.run()[0]
    assert (got[3] == np.inf).all() and np.isnan(got[70]).all() and np.isfinite(got[[0, 1, 2, 4, 69, 71]]).all()
    # a NaN scale factor
    p = Product("mxf8f6f4", "e4m3", "e4m3", "f32", 128, 32, rng, scales=1)
    p.memory.view(np.uint8).reshape(128, -1)[[5, 37, 69, 101], 4 * 401] = 255  # of row 37
    got = p.run()[0]
    assert np.isnan(got[37]).all() and np.isfinite(np.delete(got, 37, 0)).all()


@pytest.mark.parametrize("change, message", [
    (lambda w: w ^ 7 << 7, "the type of matrix A is 7"), (lambda w: w ^ 1 << 2, "it says sparse, the instruction dense"),
    (lambda w: w ^ 1 << 6, "a reserved bit"), (lambda w: w ^ 1 << 3, "saturation is for integers"),
    (lambda w: w ^ 3 << 4, "the type of matrix D is 2"), (lambda w: w & ~(0x3F << 17), "N is a multiple of 8"),
    (lambda w: w ^ 1 << 25, "M is 64 or 128"), (lambda w: w ^ 1 << 7, "different types")])
def test_instruction_descriptors_are_checked(change, message):
    p = Product("f16", "f16", "f16", "f32", 128, 16, np.random.default_rng(0))
    p.words[2] = change(int(p.words[2]))
    with pytest.raises(AssertionError, match=message):
        p.run()


@pytest.mark.parametrize("change, message", [
    (lambda w: w ^ 1 << 46, "bits 46 to 48"), (lambda w: w | 1 << 55, "bits 53 to 60"), (lambda w: w | 7 << 61, "no swizzling mode 7"),
    (lambda w: w | 1 << 52, "not supported: absolute"), (lambda w: w & ~(7 << 61) | 1 << 61, "swizzling of 32-byte atoms is for transposed"),
    (lambda w: w + 0x3800, "the block has")])
def test_matrix_descriptors_are_checked(change, message):
    p = Product("f16", "f16", "f16", "f32", 128, 16, np.random.default_rng(0))
    p.words[1] = np.uint64(change(int(p.words[1])))
    with pytest.raises(AssertionError, match=message):
        p.run()


@pytest.mark.parametrize("options, message", [
    ({"is_sparse": True}, "M = 64 with a sparse A"), ({"ws": True, "a_in_tmem": True, "n": 64}, "A in tensor memory"),
    ({"lane": 16, "m": 128}, "is in lane 16: it is 0")])
def test_refused_products(options, message):
    options = {"m": 64, "n": 16, **options}
    if options.get("lane"):
        p = Product("f16", "f16", "f16", "f32", 128, 16, np.random.default_rng(0))
        p.words[3] |= np.uint64(options["lane"] << 16)
    else:
        p = Product("f16", "f16", "f16", "f32", rng=np.random.default_rng(0), **options)
    with pytest.raises(AssertionError, match=message):
        p.run()


@pytest.mark.parametrize("old, new, message", [
    (".kind::f16", ".kind::f16.ashift", "direction is not published"), (".kind::f16", "", "needs one .kind"),
    (".kind::f16", ".kind::mxf4", "needs .block_scale"), ("%e;", "%e, 16;", "from 0 to 15"), ("%id, %e;", "%e;", "operands, expected|bits"),
    ("%id, %e", "%id, {%m0, %m1}, %e", "4 registers for each block"),
    (".kind::f16", ".kind::f16.block16", "has no scale factors")])
def test_refused_forms(old, new, message):
    p = Product("f16", "f16", "f16", "f32", 128, 16, np.random.default_rng(0))
    assert old in p.instruction
    p.text = p.text.replace(p.instruction, p.instruction.replace(old, new))
    with pytest.raises(sim.SimError, match=message):
        p.run()


@pytest.mark.skipif(not shutil.which("ptxas"), reason="ptxas is not on PATH")
def test_ptxas_accepts_the_kernels(tmp_path):
    rng = np.random.default_rng(0)
    products = [Product(*k, 128, 64, rng, ws=ws, is_sparse=s, a_in_tmem=t) for k in KINDS[::3] for ws in (0, 1) for s in (0, 1) for t in (0, 1)]
    products += [Product("mxf4nvf4", "e2m1", "e2m1", "f32", 128, 64, rng, scales=4, modifiers=".scale_vec::4X", is_sparse=s) for s in (0, 1)]
    products += [Product("mxf8f6f4", "e4m3", "e4m3", "f32", 128, 64, rng, scales=1), Product("mxf4", "e2m1", "e2m1", "f32", 128, 64, rng, scales=2),
                 Product("f16", "f16", "f16", "f32", 128, 64, rng, scale_d=3), Product("f16", "f16", "f16", "f32", 128, 64, rng, disabled=5),
                 Product("f16", "f16", "f16", "f32", 128, 64, rng, ws=True, zero=ZERO)]
    for p in products:
        path = tmp_path / "k.ptx"
        path.write_text(p.text)
        done = subprocess.run(["ptxas", "-arch=sm_100a", path, "-o", tmp_path / "out"], capture_output=True, text=True)
        assert done.returncode == 0, p.instruction + done.stderr
