# tcgen05 of a pair of blocks: layouts, kinds, allocation, planted bugs.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What lies where is CuTe's (mma_traits_sm100_frag.hpp, tmem_frg_2sm and tmem_sf_frg): block r has rows r*M/2 on of A and D and
rows r*N/2 on of B. With M = 128 the two halves of D's columns lie one below the other, A in tensor memory stands twice, and
each half of the lanes has the scale factors of its own columns of B."""

import shutil
import subprocess

import numpy as np
import pytest

import tessera.sim as sim
from hopper_kernels import broken, line_of
from tcgen05_pair_kernels import GEMM, GEMM_BUGS, LOAD_ROWS, MULTICAST, TENSOR, operation_kernel
from tensor_matrices import K, TYPES, place, place_metadata, place_operand, place_scales, raw, sparse
from tensor_memory_kernels import COLUMNS, WORDS
from test_tcgen05_mma import D, KINDS, Product, integers, truncated
from test_tensor_memory import found
from test_wgmma import cute


def d_index(m, n):
    """[m / 2][n] lanes and columns of a block's part of D."""
    layout = ((64, 1), ((n // 2, 2), (128, 64))) if m == 128 else ((128, 1), (n, 128))
    v = cute(*layout[0], np.arange(m // 2))[:, None] + cute(*layout[1], np.arange(n))[None, :]
    return v % 128, v // 128


def place_scales_of_b(memory, scales, column, first):
    """tmem_sf_frg of 2x2 data paths: (((32, n/2/32), 2, 2), factors): (((1, 512), 64, 32), 128)."""
    rows, count = scales.shape
    flat = memory.view(np.uint8)
    low, high = np.arange(rows) % (rows // 2), np.arange(rows) // (rows // 2)
    for copy in range(2):
        v = low % 32 + low // 32 * 512 + 64 * high + 32 * copy
        v = v[:, None] + 128 * np.arange(count)[None, :]
        flat[v % 128, 4 * column + first + v // 128] = scales


def run(operation, images, memories, words, **options):
    out = memories.copy()
    issuer = options.pop("issuer", 0)
    options = {"check": True, "arch": "sm_100a", **options}
    report = sim.launch(operation_kernel(images.shape[1], operation, issuer), "k", 2, 128, [images, out, words], cluster=2,
                        shared=images.shape[1], **options)
    assert report.ok and not report.errors, report.text()
    return out


def check(kind, a, b, d, m, n, rng, swizzles=("128", "128"), k_major=(True, True), gaps=(0, 0), a_in_tmem=False, is_sparse=False,
          scales=0, scale_type="ue8m0", ids=(0, 0), modifiers="", disabled=0, enable=1, **options):
    k = K[kind] * (2 if is_sparse else 1)
    packed = kind in ("mxf4", "mxf4nvf4")
    (_, a_bits, a_code), (_, b_bits, b_code) = TYPES[a], TYPES[b]
    if packed:
        a_code = b_code = 1
    whole, bt = integers(a, (m, k), rng), integers(b, (n, k), rng)
    x, stored, codes = truncated(a, whole).astype(np.float64), whole, None
    if is_sparse:
        x, stored, codes = sparse(truncated(a, whole), kind, rng)
    y = truncated(b, bt).astype(np.float64)
    c = rng.integers(-9, 10, (m, n)).astype(D[d][0])
    factors = []
    if scales:
        factors = [Product.scale_bits(scale_type, (rows, scales), rng) for rows in (m, n)]
        x, y = (v * Product.scale_value(scale_type, f).repeat(k // scales, 1) for v, f in zip((x, y), factors))
    at = {"d": 8, "a": 320, "sfa": 400, "sfb": 416, "meta": 440}
    memories = rng.integers(0, 1 << 32, (2, 128, COLUMNS), dtype=np.uint64).astype(np.uint32)
    images = rng.integers(0, 256, (2, 1 << 17)).astype(np.uint8)
    lanes, columns = d_index(m, n)
    columns = columns + at["d"]
    words = dict.fromkeys(WORDS, 0)
    for rank in (0, 1):
        half, rows = slice(rank * m // 2, (rank + 1) * m // 2), slice(rank * n // 2, (rank + 1) * n // 2)
        used = 0
        if a_in_tmem:
            part = np.concatenate([stored[half]] * (2 if m == 128 else 1))
            place_operand(memories[rank], part, a_bits, packed, 128, at["a"])
        else:
            words["da"], used = place(images[rank], stored[half], a_bits, swizzles[0], k_major[0], 0, packed, gaps[0])
        words["db"], more = place(images[rank], bt[rows], b_bits, swizzles[1], k_major[1], used, packed, gaps[1])
        if scales:
            place_scales(memories[rank], factors[0][half], at["sfa"], ids[0])
            (place_scales_of_b if m == 128 else place_scales)(memories[rank], factors[1], at["sfb"], ids[1])
        if is_sparse:
            place_metadata(memories[rank], codes[half], kind, 128, False, at["meta"])
        memories[rank][lanes, columns] = raw(c[half])
        if d == "f16":
            memories[rank][lanes, columns] |= np.uint32(0xABCD0000)
    images = np.ascontiguousarray(images[:, :(used + more + 2047) // 2048 * 2048])
    low = ids[1] << 4 | (scale_type == "ue8m0") << 23 | m >> 7 << 27 | ids[0] << 29 if scales else D[d][1] << 4 | m >> 4 << 24
    words["idesc"] = low | is_sparse << 2 | a_code << 7 | b_code << 10 | (not k_major[0]) << 15 | (not k_major[1]) << 16 | n >> 3 << 17
    words.update(at, enable=enable)
    more_lanes = [disabled >> 32 * k & 0xFFFFFFFF for k in range(8)]
    for k4 in range(4):
        words[f"m{k4}"] = more_lanes[k4]
    values = np.array([words[name] for name in WORDS] + more_lanes[4:], np.uint64)
    instruction = f"tcgen05.mma{'.sp' if is_sparse else ''}.cta_group::2.kind::{kind}{'.block_scale' if scales else ''}{modifiers} [%dd], " \
        f"{'[%aa]' if a_in_tmem else '%da'}, %db,{' [%me],' if is_sparse else ''} %id,{' [%sa], [%sb],' if scales else ''}" \
        f"{' {' + ', '.join(f'%m{k}' for k in range(8)) + '},' if disabled else ''} %e;"
    got = run(instruction, images, memories, values, **options)
    want = x @ y.T + (c.astype(np.float64) if enable else 0)
    for rank in (0, 1):
        expected = memories[rank].copy()
        value = raw(want[rank * m // 2:(rank + 1) * m // 2].astype(D[d][0])).astype(np.uint32)
        stays = np.array([disabled >> (128 * rank + lane) & 1 for lane in range(128)], bool)[lanes]
        expected[lanes, columns] = np.where(stays, expected[lanes, columns], value)
        np.testing.assert_array_equal(got[rank], expected)


@pytest.mark.parametrize("kind, a, b, d", KINDS)
@pytest.mark.parametrize("m", [128, 256])
def test_shapes(kind, a, b, d, m):
    rng = np.random.default_rng(m)
    for n in (32, 96, 256):
        check(kind, a, b, d, m, n, rng)
    check(kind, a, b, d, m, 64, rng, enable=0, swizzles=("none", "64"), gaps=(0, 1), seed=2, adversarial=True, issuer=1)


@pytest.mark.parametrize("kind, a, b, d", [KINDS[0], KINDS[4], KINDS[6]])
@pytest.mark.parametrize("swizzle", ["none", "32", "64", "128"])
def test_every_swizzle(kind, a, b, d, swizzle):
    rng = np.random.default_rng(1)
    for m in (128, 256):
        for majors in ((True, True), (False, True), (True, False), (False, False)):
            check(kind, a, b, d, m, 256, rng, swizzles=(swizzle, swizzle), k_major=majors, gaps=(1, 2), check=False)


@pytest.mark.parametrize("kind, a, b, d", KINDS)
def test_a_in_tensor_memory(kind, a, b, d):
    rng = np.random.default_rng(2)
    for m in (128, 256):
        check(kind, a, b, d, m, 64, rng, a_in_tmem=True)


@pytest.mark.parametrize("kind, a, b, scales, scale_type", [
    ("mxf8f6f4", "e4m3", "e5m2", 1, "ue8m0"), ("mxf8f6f4", "e2m1", "e3m2", 1, "ue8m0"), ("mxf4", "e2m1", "e2m1", 2, "ue8m0"),
    ("mxf4nvf4", "e2m1", "e2m1", 2, "ue8m0"), ("mxf4nvf4", "e2m1", "e2m1", 4, "ue4m3"), ("mxf4nvf4", "e2m1", "e2m1", 4, "ue8m0")])
def test_block_scaling(kind, a, b, scales, scale_type):
    rng = np.random.default_rng(3)
    modifiers = {("mxf4nvf4", 2): ".block32", ("mxf4nvf4", 4): ".block16"}.get((kind, scales), "")
    last = 4 - scales
    for m in (128, 256):
        for n in (64, 256):
            check(kind, a, b, "f32", m, n, rng, scales=scales, scale_type=scale_type, ids=(0, last), modifiers=modifiers,
                  a_in_tmem=n == 64)


@pytest.mark.parametrize("kind, a, b, d", [k for k in KINDS if k[0] != "i8" or k[1] == "s8"])
def test_sparse(kind, a, b, d):
    rng = np.random.default_rng(4)
    check(kind, a, b, d, 256, 64, rng, is_sparse=True)
    check(kind, a, b, d, 256, 64, rng, is_sparse=True, a_in_tmem=True)


def test_disabled_lanes():
    """Four registers for each block, those of the even one first; the ISA only gives their number."""
    rng = np.random.default_rng(5)
    for disabled in (1, 1 << 255, (1 << 128) - 1, ((1 << 128) - 1) << 128, int(rng.integers(1, 1 << 62)) << 100):
        for m in (128, 256):
            check("f16", "f16", "f16", "f32", m, 32, rng, disabled=disabled)


def test_copies_and_shifts():
    """Each block's shared memory goes to its own tensor memory; both are shifted."""
    rng = np.random.default_rng(6)
    memories = rng.integers(0, 1 << 32, (2, 128, COLUMNS), dtype=np.uint64).astype(np.uint32)
    images = rng.integers(0, 256, (2, 4096)).astype(np.uint8)
    words = np.zeros(len(WORDS) + 4, np.uint64)
    words[WORDS.index("da")] = 8 << 16 | 16 << 32 | 1 << 46
    words[WORDS.index("d")] = 40
    got = run("tcgen05.cp.cta_group::2.128x256b [%dd], %da;", images, memories, words)
    want = memories.copy()
    rows = images.reshape(2, 16, 2, 8, 16).transpose(0, 1, 3, 2, 4).reshape(2, 128, 32)
    want[:, :, 40:48] = np.ascontiguousarray(rows).view(np.uint32)
    np.testing.assert_array_equal(got, want)
    words[WORDS.index("d")] = 32 << 16 | 16
    got = run("tcgen05.shift.cta_group::2.down [%dd];", images, memories, words, seed=3, adversarial=True)
    want = memories.copy()
    want[:, 32:63, 16:24] = memories[:, 33:64, 16:24]
    np.testing.assert_array_equal(got, want)


TILES = 4


def run_gemm(text, cluster=2, grid=4, **options):
    """Clusters of two blocks, each with the same matrices."""
    rng = np.random.default_rng(7)
    a, b = (rng.integers(-3, 4, (2, TILES, rows, 16)).astype(np.float16) for rows in (256, 32))
    g, o = np.zeros((2, 2 * TILES, 4608), np.uint8), np.zeros((2, 2, 128, 32), np.float32)
    for rank in (0, 1):
        for k, (x, y) in enumerate(zip(a.reshape(-1, 2, 128, 16)[:, rank], b.reshape(-1, 2, 16, 16)[:, rank])):
            place(g[rank, k], np.ascontiguousarray(x), 16, "none", True, 0, False, 0)
            place(g[rank, k], np.ascontiguousarray(y), 16, "none", True, 4096, False, 0)
    report = sim.launch(text, "k", grid, 192, [g, o, TILES], arch="sm_100a", cluster=cluster, max_instructions=300000, **options)
    return report, o.reshape(2, 256, 32), np.einsum("xtmk,xtnk->xmn", a.astype(np.float64), b.astype(np.float64))


@pytest.mark.parametrize("seed", range(20))
def test_the_right_kernel_is_silent(seed):
    for check in (False, True):
        report, o, want = run_gemm(GEMM, grid=2, check=check, seed=seed, adversarial=seed > 0)
        assert report.ok and not report.errors, report.text()
        np.testing.assert_array_equal(o, want)


@pytest.mark.parametrize("name", GEMM_BUGS)
def test_planted_bug(name):
    changes, kinds, places = GEMM_BUGS[name]
    found(broken(GEMM, changes), lambda text, **options: run_gemm(text, grid=2, **options), kinds, places)


@pytest.mark.parametrize("cluster, message", [(1, "needs a cluster of an even number of blocks, this one has 1"),
                                              (3, "needs a cluster of an even number of blocks, this one has 3")])
def test_pairs_need_a_cluster(cluster, message):
    report, *_ = run_gemm(GEMM, cluster, grid=cluster)
    assert not report.ok and message in report.text()


def run_tensor(text, **options):
    from tessera.sim.tensor_map import encode_tiled
    g = np.arange(16 * 64, dtype=np.uint16).reshape(16, 64)
    encoded = encode_tiled(1, g.ctypes.data, [64, 16], [128], [64, 8])
    o = np.zeros((2, 16, 64), np.uint16)
    device = sim.Device()
    for array in (g, o):
        device.expose(array.ctypes.data, array.nbytes, "array")
    options = {"arch": "sm_100a", "max_instructions": 100000, **options}
    report = device.load(text).launch("k", 2, 32, bytes(encoded) + int(o.ctypes.data).to_bytes(8, "little"), cluster=2, **options)
    return report, o, g


@pytest.mark.parametrize("copies, rows", [(LOAD_ROWS, (0, 8)), (MULTICAST, (0, 0))])
def test_tensor_copies_signal_the_other_block(copies, rows):
    text = TENSOR.replace("COPIES", copies)
    for seed in range(8):
        for check in (False, True):
            report, o, g = run_tensor(text.replace("16; @%p bra MORE", "8; @%p bra MORE"), check=check, seed=seed, adversarial=seed > 0)
            assert report.ok and not report.errors, report.text()
            for rank in (0, 1):
                np.testing.assert_array_equal(o[rank, :8], g[rows[rank]:rows[rank] + 8])


@pytest.mark.parametrize("changes, kinds, places", [
    ({"told": "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;"}, "async-copy", ("copy", "read")),
    ({"expect": "@%p mbarrier.arrive.expect_tx.shared.b64 _, [full], 1024;"}, "expect-tx", ("copy",)),
    ({"copy": LOAD_ROWS.replace(".cta_group::2", "")}, "illegal-instruction", ("copy",))])
def test_planted_tensor_copy_bug(changes, kinds, places):
    found(broken(TENSOR.replace("COPIES", LOAD_ROWS).replace("16; @%p bra MORE", "8; @%p bra MORE"), changes), run_tensor, kinds, places)


@pytest.mark.skipif(not shutil.which("ptxas"), reason="ptxas is not on PATH")
def test_ptxas_accepts_the_kernels(tmp_path):
    operations = ["tcgen05.mma.cta_group::2.kind::f16 [%dd], %da, %db, %id, {%m0, %m1, %m2, %m3, %m4, %m5, %m6, %m7}, %e;",
                  "tcgen05.mma.cta_group::2.kind::f16 [%dd], [%aa], %db, %id, %e;",
                  "tcgen05.mma.sp.cta_group::2.kind::f16 [%dd], %da, %db, [%me], %id, %e;",
                  "tcgen05.mma.cta_group::2.kind::mxf4nvf4.block_scale.block16 [%dd], %da, %db, %id, [%sa], [%sb], %e;",
                  "tcgen05.cp.cta_group::2.64x128b.warpx2::01_23 [%dd], %da;", "tcgen05.shift.cta_group::2.down [%dd];"]
    texts = [GEMM, operation_kernel(2048, "\n".join(operations))]
    texts += [broken(GEMM, changes) for name, (changes, *_) in GEMM_BUGS.items() if name != "another_cta_group"]
    for text in texts:
        (tmp_path / "k.ptx").write_text(text)
        done = subprocess.run(["ptxas", "-arch=sm_100a", tmp_path / "k.ptx", "-o", tmp_path / "out"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
