# im2col tensor copies against pixels enumerated one by one.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import shutil
import struct
import subprocess

import numpy as np
import pytest

import tessera.sim as sim
from hopper_kernels import HEAD
from tessera.sim.tensor_map import encode_im2col, encode_tiled

SIZE = 4096


def kernel(rank, store=False, change=lambda text: text):
    """One copy between the tensor and 4096 bytes of shared memory, which come from `o` and go back to it."""
    names = ["c", "w", "h", "d", "n"]
    at = ", ".join(f"%c{k}" for k in range(rank))
    offsets = ", ".join(f"%f{k}" for k in range(rank - 2))
    load = "\n".join(f"ld.param.u32 %c{k}, [{names[k]}];" for k in range(rank))
    load += "\n" + "\n".join(f"ld.param.u32 %v, [f{k}]; cvt.u16.u32 %f{k}, %v;" for k in range(rank - 2))
    if store:
        copy = f"""fence.proxy.async.shared::cta;
@!%p cp.async.bulk.tensor.{rank}d.global.shared::cta.im2col_no_offs.bulk_group [%m, {{{at}}}], [tile];
@!%p cp.async.bulk.commit_group; @!%p cp.async.bulk.wait_group 0;"""
    else:
        copy = f"""@!%p mbarrier.arrive.expect_tx.shared.b64 _, [full], %n;
@!%p cp.async.bulk.tensor.{rank}d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [tile], [%m, {{{at}}}], [full], {{{offsets}}};
WAIT: mbarrier.try_wait.parity.shared.b64 %q, [full], 0; @!%q bra WAIT;"""
    return change(HEAD + f""".visible .entry k(.param .align 64 .b8 map[128], .param .u64 o, .param .u32 bytes, .param .u32 c, .param .u32 w,
.param .u32 h, .param .u32 d, .param .u32 n, .param .u32 f0, .param .u32 f1, .param .u32 f2)
{{
.reg .pred %p, %q; .reg .b16 %f<3>; .reg .b32 %t, %a, %v, %n, %i, %c<5>; .reg .b64 %m, %o, %x;
.shared .align 1024 .b8 tile[{SIZE}]; .shared .align 8 .b64 full;
{load}
mov.u64 %m, map; cvta.param.u64 %m, %m; ld.param.u64 %o, [o]; ld.param.u32 %n, [bytes]; mov.u32 %t, %tid.x; setp.ne.u32 %p, %t, 0;
@!%p mbarrier.init.shared.b64 [full], 1;
shl.b32 %i, %t, 2; cvt.u64.u32 %x, %i; add.s64 %o, %o, %x; mov.u32 %a, tile; add.u32 %a, %a, %i; mov.u32 %i, 0;
FILL: ld.global.u32 %v, [%o]; st.shared.u32 [%a], %v; add.s64 %o, %o, 128; add.u32 %a, %a, 128; add.u32 %i, %i, 128;
setp.lt.u32 %q, %i, {SIZE}; @%q bra FILL;
fence.proxy.async.shared::cta;
bar.sync 0;
{copy}
bar.sync 0;
mov.u32 %i, 0;
DUMP: sub.s64 %o, %o, 128; sub.u32 %a, %a, 128; ld.shared.u32 %v, [%a]; st.global.u32 [%o], %v; add.u32 %i, %i, 128;
setp.lt.u32 %q, %i, {SIZE}; @%q bra DUMP;
ret;
}}
""")


def launch(map_, tensor, tile, size, at, offsets, store=False, **options):
    rank = len(at)
    device = sim.Device()
    for array in (tensor, tile):
        device.expose(array.ctypes.data, array.nbytes, "array")
    params = map_ + struct.pack("<QI5i3I", tile.ctypes.data, size, *(at + [0] * 5)[:5], *(list(offsets) + [0] * 3)[:3])
    report = device.load(kernel(rank, store)).launch("k", 1, 32, params, arch="sm_90a", **options)
    assert report.ok, report.text()


def pixels(shape, lower, upper, steps, at, count):
    """The base positions from `at` on, [count][W, H, D, N]: all the pixels of the bounding box are listed, W first."""
    spatial = shape[1:-1]
    ranges = [range(lo, size + up, step) for lo, up, size, step in zip(lower, upper, spatial, steps)]
    everything = [()]
    for values in [range(at[-1], at[-1] + 64)] + ranges[::-1]:
        everything = [(*rest, v) for rest in everything for v in values]
    positions = [p[:0:-1] + (p[0],) for p in everything]
    first = positions.index(tuple(at[1:]))
    return positions[first:first + count]


CASES = [  # dims C, W, (H, D,) N; corners; channels, pixels; start; filter offset; traversal strides of W, H, D
    ((32, 7, 3), [-1], [-1], 16, 10, [0, -1, 0], [0], [1]),
    ((32, 7, 3), [-1], [-1], 16, 30, [16, 3, 1], [2], [1]),
    ((16, 6, 5, 4), [-1, -1], [-1, -1], 16, 40, [0, 2, 3, 1], [1, 2], [1, 1]),
    ((16, 6, 5, 4), [0, 0], [-2, -2], 16, 20, [0, 0, 0, 0], [2, 1], [1, 1]),
    ((16, 8, 6, 2), [-1, -1], [-1, -1], 16, 30, [0, -1, -1, 0], [0, 0], [2, 2]),
    ((64, 4, 3, 3, 2), [-1, -1, -1], [-1, -1, -1], 32, 50, [32, -1, 0, 1, 0], [2, 0, 1], [1, 1, 1]),
    ((24, 5, 5, 2), [-1, -1], [-1, -1], 16, 16, [16, -1, -1, 0], [0, 0], [1, 1])]  # channels that the tensor does not have


def case_of(case, swizzle=0, steps_of_channels=1):
    shape, lower, upper, channels, count, at, offsets, steps = case
    rng = np.random.default_rng(count)
    tensor = rng.integers(1, 1 << 16, shape[::-1]).astype(np.uint16)  # [N]..[W][C]
    strides = [2 * int(np.prod(shape[:k])) for k in range(1, len(shape))]
    map_ = encode_im2col(1, tensor.ctypes.data, list(shape), strides, lower, upper, channels, count, [1, *steps, 1], swizzle)
    return tensor, map_


@pytest.mark.parametrize("swizzle", [0, 1])
@pytest.mark.parametrize("case", CASES)
def test_load(case, swizzle):
    shape, lower, upper, channels, count, at, offsets, steps = case
    if swizzle and channels * 2 > 32:
        swizzle = 2
    tensor, map_ = case_of(case, swizzle)
    want = np.zeros((count, channels), np.uint16)
    for row, base in enumerate(pixels(shape, lower, upper, steps, at, count)):
        place = [b + o for b, o in zip(base, [*offsets, 0])]
        for c in range(channels):
            index = (*place[::-1], at[0] + c)
            if all(0 <= i < n for i, n in zip(index, tensor.shape)):
                want[row, c] = tensor[index]
    data = want.view(np.uint8).reshape(-1)
    address = np.arange(data.size)
    mask = {0: 0, 1: 1, 2: 3}[swizzle]
    for seed in range(3):
        tile = np.full(SIZE, 0xEE, np.uint8)
        expected = tile.copy()
        expected[address ^ ((address >> 7 & mask) << 4)] = data
        launch(map_, tensor, tile, data.size, at, offsets, check=True, seed=seed, adversarial=seed > 0)
        np.testing.assert_array_equal(tile, expected)


@pytest.mark.parametrize("case", CASES)
def test_store(case):
    shape, lower, upper, channels, count, at, offsets, steps = case
    tensor, map_ = case_of(case)
    before = tensor.copy()
    tile = np.random.default_rng(1).integers(0, 256, SIZE).astype(np.uint8)
    rows = tile.view(np.uint16)[:count * channels].reshape(count, channels)
    for row, base in enumerate(pixels(shape, lower, upper, steps, at, count)):
        for c in range(channels):
            index = (*base[::-1], at[0] + c)
            if all(0 <= i < n for i, n in zip(index, before.shape)):
                before[index] = rows[row, c]
    launch(map_, tensor, tile.copy(), 2 * count * channels, at, [], store=True, check=True)
    np.testing.assert_array_equal(tensor, before)


def test_maps_and_instructions_go_together():
    tensor, map_ = case_of(CASES[2])
    tiled = encode_tiled(1, tensor.ctypes.data, [16, 6, 5, 4], [32, 192, 960], [16, 1, 1, 1])
    with pytest.raises(AssertionError, match="the tensor map is tiled, the instruction for im2col"):
        launch(tiled, tensor, np.zeros(SIZE, np.uint8), 32, [0, 0, 0, 0], [0, 0])


@pytest.mark.parametrize("change, message", [
    ({"lower": [-200, 0]}, "-128 to 127"), ({"channels": 300}, "1 to 256"), ({"pixels": 2000}, "1 to 1024"), ({"channels": 4}, "16 bytes")])
def test_wrong_maps(change, message):
    arguments = {"lower": [0, 0], "upper": [0, 0], "channels": 16, "pixels": 8, **change}
    with pytest.raises(sim.SimError, match=message):
        encode_im2col(1, 4096, [16, 6, 5, 4], [32, 192, 960], **arguments)


@pytest.mark.skipif(not shutil.which("ptxas"), reason="ptxas is not on PATH")
def test_ptxas_accepts_the_kernels(tmp_path):
    for rank in (3, 4, 5):
        for store in (False, True):
            (tmp_path / "k.ptx").write_text(kernel(rank, store))
            done = subprocess.run(["ptxas", "-arch=sm_90a", tmp_path / "k.ptx", "-o", tmp_path / "out"], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
