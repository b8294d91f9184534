# tcgen05.cp and tcgen05.shift: every shape, format and swizzle against CuTe's algebra.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The lanes that get a row are those of CUTLASS's copy_traits_sm100.hpp (SM100_UTCCP): a map from bit of the tile to bit of
tensor memory, whose broadcast modes have stride 0 in the source."""

import shutil
import subprocess

import numpy as np
import pytest

import tessera.sim as sim
from tensor_matrices import chunk_address, chunks_of
from tensor_memory_kernels import COLUMNS, WORDS, operation_kernel
from test_wgmma import cute

DP = 1 << 14  # bits of a lane: 512 columns

# rows, bits of a row, and for each copy of them the shape and stride of the rows in lanes
SHAPES = {"128x256b": (128, 256, ((128,), (DP,)), ()), "128x128b": (128, 128, ((128,), (DP,)), ()),
          "4x256b": (4, 256, ((4,), (32 * DP,)), ()), "32x128b.warpx4": (32, 128, ((32,), (DP,)), (0, 32, 64, 96)),
          "64x128b.warpx2::02_13": (64, 128, ((64,), (DP,)), (0, 64)),
          "64x128b.warpx2::01_23": (64, 128, ((32, 2), (DP, 64 * DP)), (0, 32))}


def run(operation, image, memory, words, **options):
    text = operation_kernel(len(image), operation)
    out = memory.copy()
    values = np.array([words.get(name, 0) for name in WORDS], np.uint64)
    report = sim.launch(text, "k", 1, 128, [image, out, values], arch="sm_100a", shared=len(image), check=True, **options)
    assert report.ok and not report.errors, report.text()
    return out


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("swizzle", ["none", "32", "64", "128"])
@pytest.mark.parametrize("source", [None, "b6x16_p32", "b4x16_p64"])
def test_every_copy(shape, swizzle, source):
    rng = np.random.default_rng(len(shape))
    rows, bits, layout, copies = SHAPES[shape]
    bits_each = {None: 8, "b6x16_p32": 6, "b4x16_p64": 4}[source]
    for column, gap in ((0, 0), (300, 2)):
        values = rng.integers(0, 1 << bits_each, (rows, bits // 8)).astype(np.uint8)
        chunks = chunks_of(values, bits_each, False)
        width = {"none": 1, "32": 2, "64": 4, "128": 8}[swizzle]
        leading, stride = (128, 256 + 128 * gap) if swizzle == "none" else (16, 128 * width * (1 + gap))
        lines = max(rows, 8)
        at = chunk_address(swizzle, True, lines, bits // 128, None, 0, leading, stride)[:rows]
        image = rng.integers(0, 256, (int(at.max()) + 2048) // 2048 * 2048).astype(np.uint8)
        for b in range(16):
            image[at + b] = chunks[..., b]
        word = leading >> 4 << 16 | stride >> 4 << 32 | 1 << 46 | {"none": 0, "128": 2, "64": 4, "32": 6}[swizzle] << 61
        memory = rng.integers(0, 1 << 32, (128, COLUMNS), dtype=np.uint64).astype(np.uint32)
        lane = 31 if shape == "4x256b" else 0
        want = memory.copy()
        flat = want.view(np.uint8).reshape(-1)
        first = cute(*layout, np.arange(rows)) // 8
        for copy in copies or (0,):
            to = first + (copy + lane) * DP // 8 + 4 * column
            for byte in range(bits // 8):
                flat[to + byte] = values[:, byte] << (2 if bits_each == 4 else 0)
        for seed in (0, 1):
            got = run(f"tcgen05.cp.cta_group::1.{shape}{'.b8x16.' + source if source else ''} [%dd], %da;", image, memory,
                      {"da": word, "d": lane << 16 | column}, seed=seed, adversarial=seed > 0)
            np.testing.assert_array_equal(got, want)


def test_shift():
    """Rows 1 to 31 of a quarter move to 0 to 30."""
    rng = np.random.default_rng(0)
    image = np.zeros(2048, np.uint8)
    for lane, column in ((0, 0), (32, 8), (96, 504)):
        memory = rng.integers(0, 1 << 32, (128, COLUMNS), dtype=np.uint64).astype(np.uint32)
        want = memory.copy()
        want[lane:lane + 31, column:column + 8] = memory[lane + 1:lane + 32, column:column + 8]
        np.testing.assert_array_equal(run("tcgen05.shift.cta_group::1.down [%dd];", image, memory, {"d": lane << 16 | column}), want)


@pytest.mark.parametrize("operation, words, message", [
    ("tcgen05.cp.cta_group::1.128x256b [%dd], %da;", {"d": 506}, "column 512 of tensor memory does not exist"),
    ("tcgen05.cp.cta_group::1.128x256b [%dd], %da;", {"d": 16 << 16}, "is in lane 16: it is 0"),
    ("tcgen05.shift.cta_group::1.down [%dd];", {"d": 16 << 16}, "a multiple of 32"),
    ("tcgen05.cp.cta_group::1.128x256b [%dd], %da;", {"da": 0}, "bits 46 to 48")])
def test_wrong_operands(operation, words, message):
    image, memory = np.zeros(8192, np.uint8), np.zeros((128, COLUMNS), np.uint32)
    with pytest.raises(AssertionError, match=message):
        run(operation, image, memory, {"da": 1 << 46 | 8 << 16 | 16 << 32, **words})


@pytest.mark.parametrize("operation, message", [
    ("tcgen05.cp.cta_group::1.64x128b [%dd], %da;", "needs a shape"), ("tcgen05.cp.cta_group::1.32x128b.warpx2::02_13 [%dd], %da;", "needs a shape"),
    ("tcgen05.cp.cta_group::1.128x128b.b8x16 [%dd], %da;", "decompresses"), ("tcgen05.shift.cta_group::1 [%dd];", "needs .down")])
def test_refused_forms(operation, message):
    with pytest.raises(sim.SimError, match=message):
        run(operation, np.zeros(2048, np.uint8), np.zeros((128, COLUMNS), np.uint32), {})


@pytest.mark.skipif(not shutil.which("ptxas"), reason="ptxas is not on PATH")
def test_ptxas_accepts_the_kernels(tmp_path):
    operations = [f"tcgen05.cp.cta_group::1.{shape}{source} [%dd], %da;" for shape in SHAPES
                  for source in ("", ".b8x16.b6x16_p32", ".b8x16.b4x16_p64")] + ["tcgen05.shift.cta_group::1.down [%dd];"]
    path = tmp_path / "k.ptx"
    path.write_text(operation_kernel(2048, "\n".join(operations)))
    done = subprocess.run(["ptxas", "-arch=sm_100a", path, "-o", tmp_path / "out"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_scale_factors_arrive_where_a_product_reads_them():
    """128 rows of four bytes, four rows in 16 bytes as CUTLASS has them: .32x128b.warpx4 makes the layout of scale factors."""
    from test_tcgen05_mma import Product
    rng = np.random.default_rng(1)
    p = Product("mxf4nvf4", "e2m1", "e2m1", "f32", 128, 128, rng, scales=4, scale_type="ue4m3", modifiers=".block16")
    image = np.zeros(len(p.image) + 2048, np.uint8)
    image[:len(p.image)] = p.image
    scales = p.memory.view(np.uint8).reshape(128, -1)[:32, 1600:1616].copy(), p.memory.view(np.uint8).reshape(128, -1)[:32, 1664:1680].copy()
    for k, values in enumerate(scales):
        image[len(p.image) + 512 * k:][:512] = values.reshape(-1)
    p.memory[:, 400:420] = 0xFFFFFFFF
    copies = "\n".join(f"add.s64 %n, %o, {1 << 46 | 16 >> 4 << 16 | 128 >> 4 << 32 | len(p.image) + 512 * k >> 4}; "
                       f"tcgen05.cp.cta_group::1.32x128b.warpx4 [%s{'ab'[k]}], %n;" for k in (0, 1))
    out = run(copies + p.instruction, image, p.memory, dict(zip(WORDS, (int(w) for w in p.words))))
    np.testing.assert_array_equal(out[p.lanes, p.columns].view(np.float32), p.exact().astype(np.float32))
