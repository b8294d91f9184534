# Conversions of the small formats against ml_dtypes, exhaustively.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import numpy as np
import pytest

import tessera.sim as sim

ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
FORMATS = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
           "e2m3": ml_dtypes.float6_e2m3fn, "e3m2": ml_dtypes.float6_e3m2fn,
           "e2m1": ml_dtypes.float4_e2m1fn}
BITS = {"e4m3": 8, "e5m2": 8, "e2m3": 6, "e3m2": 6, "e2m1": 4}


def kernel(op, source, target):
    """One thread per element: %a (and %b) in, %d out."""
    return f"""
.version 8.8
.target sm_120a
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y) {{
.reg .b32 %i, %t, %w; .reg .b64 %p, %q, %o; .reg .b{source} %a; .reg .b{target} %d; .reg .b8 %n;
.reg .b32 %z;
mov.u32 %i, %ctaid.x; mov.u32 %w, %ntid.x; mov.u32 %t, %tid.x; mad.lo.s32 %i, %i, %w, %t;
ld.param.u64 %p, [x]; mul.wide.u32 %o, %i, {source // 8}; add.s64 %p, %p, %o;
ld.global.b{source} %a, [%p]; mov.b32 %z, 0;
{op}
ld.param.u64 %q, [y]; mul.wide.u32 %o, %i, {target // 8}; add.s64 %q, %q, %o;
st.global.b{target} [%q], %d; ret;
}}"""


def run(op, data, target):
    data = np.ascontiguousarray(data)
    out = np.zeros(len(data), f"u{target // 8}")
    assert len(data) % 256 == 0
    report = sim.launch(kernel(op, data.itemsize * 8, target), "k", len(data) // 256, 256,
                        [data, out], arch="sm_120", check=False)
    assert report.ok, report.text()
    return out


@pytest.mark.parametrize("name", FORMATS)
def test_to_half(name):
    """Every pair of values of the format."""
    bits = BITS[name]
    values = np.arange(1 << bits, dtype=np.uint8)
    want = values.view(FORMATS[name]).astype(np.float64)
    if name == "e2m1":  # two in one byte: all 256 pairs
        pairs = np.arange(256, dtype=np.uint16)
        op = "{ .reg .b8 n; cvt.u8.u16 n, %a; cvt.rn.f16x2.e2m1x2 %d, n; }"
        low, high = pairs & 15, pairs >> 4
    else:
        both = np.arange(1 << 2 * bits, dtype=np.uint16)  # every pair
        low, high = both & len(values) - 1, both >> bits
        pairs = (high << 8 | low).astype(np.uint16)
        op = f"cvt.rn.f16x2.{name}x2 %d, %a;"
    got = run(op, pairs, 32)
    for half, index in ((got & 0xFFFF, low), (got >> 16, high)):
        half = half.astype(np.uint16).view(np.float16).astype(np.float64)
        np.testing.assert_array_equal(half, want[index])


def inputs():
    """All f16 values as f32, neighbours of ties, and random bits."""
    halves = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float32)
    rng = np.random.default_rng(3)
    random = rng.integers(0, 2**32, 65536, dtype=np.uint32).view(np.float32)
    nudged = (halves.view(np.uint32) + rng.integers(-1, 2, 65536)).astype(np.uint32).view(np.float32)
    small = (rng.standard_normal(65536) * np.exp2(rng.integers(-12, 10, 65536))).astype(np.float32)
    return np.concatenate([halves, random, nudged, small])


@pytest.mark.parametrize("name", FORMATS)
def test_from_single(name):
    x = inputs()
    limit = float(ml_dtypes.finfo(FORMATS[name]).max)
    with np.errstate(all="ignore"):
        clipped = np.where(np.isnan(x), x, np.clip(x, -limit, limit))
        if name in ("e4m3", "e5m2"):
            want = clipped.astype(FORMATS[name]).view(np.uint8)
            want = np.where(np.isnan(x), 0x7F, want)
        else:  # no NaN: the largest positive value
            want = np.where(np.isnan(x), limit, clipped).astype(FORMATS[name]).view(np.uint8)
    target = 16
    if name == "e2m1":
        op = ("{ .reg .b8 n; cvt.rn.satfinite.e2m1x2.f32 n, %z, %a; cvt.u16.u8 %d, n; }")
    else:
        op = f"cvt.rn.satfinite.{name}x2.f32 %d, %z, %a;"
    got = run(op, x.view(np.uint32), target)
    assert (got >> (4 if name == "e2m1" else 8) == 0).all()  # the upper element is +0
    wrong = np.flatnonzero(got != want)
    assert not len(wrong), f"{len(wrong)} wrong, first {x[wrong[0]]!r}: {got[wrong[0]]:#x}, want {want[wrong[0]]:#x}"


@pytest.mark.parametrize("name", ["e4m3", "e5m2"])
def test_from_half_pairs(name):
    """Every f16 value."""
    h = np.arange(65536, dtype=np.uint32)
    x = h.astype(np.uint16).view(np.float16).astype(np.float32)
    limit = float(ml_dtypes.finfo(FORMATS[name]).max)
    with np.errstate(all="ignore"):
        want = np.where(np.isnan(x), 0x7F,
                        np.clip(x, -limit, limit).astype(FORMATS[name]).view(np.uint8))
    got = run(f"cvt.rn.satfinite.{name}x2.f16x2 %d, %a;", h | h << 16, 16)
    np.testing.assert_array_equal(got & 0xFF, want)
    np.testing.assert_array_equal(got >> 8, want)


def test_bfloat16():
    x = inputs()
    with np.errstate(all="ignore"):
        want = x.astype(ml_dtypes.bfloat16).view(np.uint16)
    got = run("cvt.rn.bf16.f32 %d, %a;", x.view(np.uint32), 16)
    np.testing.assert_array_equal(np.where(np.isnan(x), 0x7FFF, want), got)


def test_tf32_rounds_ties_away():
    x = inputs()
    x = x[np.isfinite(x)][:131072]
    u = x.view(np.uint32)
    want = ((u + 0x1000) & 0xFFFFE000).astype(np.uint32)
    got = run("cvt.rna.tf32.f32 %d, %a;", u, 32)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("mode", ["rz", "rp"])
def test_ue8m0(mode):
    x = np.abs(inputs())
    e = np.frexp(np.where(np.isfinite(x) & (x > 0), x, 1).astype(np.float64))
    exponent = e[1] - 1 + ((e[0] != 0.5) & (mode == "rp"))
    want = np.clip(exponent + 127, 0, 254)
    want = np.where(x == 0, 0, np.where(np.isinf(x), 254, np.where(np.isnan(x), 255, want)))
    got = run(f"cvt.{mode}.satfinite.ue8m0x2.f32 %d, %z, %a;", x.view(np.uint32), 16)
    np.testing.assert_array_equal(got & 0xFF, want)
