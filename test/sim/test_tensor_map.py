# Tensor maps and tile copies against a second, slow implementation.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The model walks the box byte by byte and finds a swizzled byte in the tables
that the PTX ISA prints (5.5.7); the simulator has address arithmetic."""

import ctypes
import itertools
import random
import re
import shutil
import struct
import subprocess

import numpy as np
import pytest

import tessera.sim as sim
from hopper_kernels import HEAD, broken, line_of
from tessera.sim._native import library_path

# The driver under a name of its own: other tests of this process may load a real libcuda.so.1.
DRIVER = library_path.parent / "libtessera_cuda.so"
if not DRIVER.exists():
    pytest.skip(f"{DRIVER} is not built", allow_module_level=True)
cuda = ctypes.CDLL(str(DRIVER))

# name: (CUtensorMapDataType, bits of an element in global memory)
TYPES = {"u8": (0, 8), "u16": (1, 16), "u32": (2, 32), "s32": (3, 32), "u64": (4, 64), "s64": (5, 64), "f16": (6, 16),
         "f32": (7, 32), "f64": (8, 64), "bf16": (9, 16), "f32_ftz": (10, 32), "tf32": (11, 32), "tf32_ftz": (12, 32),
         "b4x16": (13, 4), "b4x16_p64": (14, 4), "b6x16_p32": (15, 6)}
FLOATS = {"f16", "f32", "f64", "bf16", "f32_ftz", "tf32", "tf32_ftz"}
PADDED = {"b4x16_p64": 8, "b6x16_p32": 12}  # bytes of data in every 16 of shared memory

# Rows of 128 bytes: which 16-byte cell of the dense row stands where.
SWIZZLES = {
    "none": (0, None, ["01234567"]),
    "32": (1, 32, ["01234567", "10325476"]),
    "64": (2, 64, ["01234567", "10325476", "23016745", "32107654"]),
    "128": (3, 128, ["01234567", "10325476", "23016745", "32107654", "45670123", "54761032", "67452301", "76543210"]),
    "128_atom32": (4, 128, ["01234567", "23016745", "45670123", "67452301"]),
    "128_atom32_flip8": (5, 128, ["01234567", "23016745", "45670123", "67452301"]),
    "128_atom64": (6, 128, ["01234567", "45670123"]),
}


def place(swizzle, address):
    line, cell, byte = address // 128, address % 128 // 16, address % 16
    rows = SWIZZLES[swizzle][2]
    cell = rows[line % len(rows)].index(str(cell))
    if "flip" in swizzle and line % 2:
        byte ^= 8
    return line * 128 + cell * 16 + byte


class Case:
    """A tensor, a box and where it is copied to; chosen by a seed, legal."""

    def __init__(self, seed, type_=None, swizzle=None, rank=None, store=False):
        r = self.random = random.Random(seed)
        self.type = type_ or r.choice(list(TYPES))
        if store and self.type in PADDED:
            self.type = "u8"
        self.bits = TYPES[self.type][1]
        padded = self.type in PADDED
        allowed = [s for s in SWIZZLES if not padded or (s in ("none",) or s.startswith("128")) and "flip" not in s]
        self.swizzle = swizzle if swizzle in allowed else r.choice(allowed)
        self.rank = rank or r.randint(1, 5)
        span = SWIZZLES[self.swizzle][1] or r.choice([16, 64, 128, 256])
        if padded:
            box0 = 128
        else:
            box0 = min(256, 16 * r.randint(1, span // 16) * 8 // self.bits)
            if box0 * self.bits % 128:
                box0 = 128 // self.bits
        limit = {1: 1, 2: 24, 3: 6, 4: 4, 5: 3}[self.rank]
        self.box = [box0] + [r.randint(1, limit) for _ in range(self.rank - 1)]
        self.step = [1] + [r.choice([1, 1, 1, 2, 3]) for _ in range(self.rank - 1)]
        self.dims = [r.randint(1, 2) * 128 if padded else 2 * r.randint(1, 200)]
        self.dims += [r.randint(1, 9) for _ in range(self.rank - 1)]
        unit = 32 if padded else 16
        self.strides, row = [], (self.dims[0] * self.bits + 7) // 8
        for d in range(1, self.rank):
            row = (row + unit - 1) // unit * unit + unit * r.randint(0, 1)
            self.strides.append(row)
            row *= self.dims[d]
        self.bytes = max(row, 16)
        self.fill = self.type in FLOATS and r.random() < .5
        self.shared = 128 * r.randint(0, 9)
        low = 0 if store else -4
        self.at = [r.randint(low, d) for d in self.dims]
        self.at[0] = 128 * r.randint(min(0, low), 1) if padded else self.at[0] // 2 * 2
        # A base that starts an allocation of exactly this many bytes.
        storage = np.zeros(self.bytes + 64, np.uint8)
        skip = -storage.ctypes.data % 32
        self.memory = storage[skip:skip + self.bytes]
        self.memory[:] = np.frombuffer(r.randbytes(self.bytes), np.uint8)
        self.count = [box0] + [-(-b // s) for b, s in zip(self.box[1:], self.step[1:])]
        self.row = box0 if padded else box0 * self.bits // 8
        self.total = self.row * int(np.prod(self.count[1:], dtype=int))
        self.transaction = self.total * PADDED.get(self.type, 16) // 16  # CUTLASS and Triton expect it without the padding

    def encode(self, **changes):
        raw = (ctypes.c_uint8 * 192)()
        skip = -ctypes.addressof(raw) % 64
        args = dict(out=ctypes.addressof(raw) + skip, type=TYPES[self.type][0], rank=self.rank,
                    base=self.memory.ctypes.data, dims=self.dims, strides=self.strides, box=self.box, step=self.step,
                    interleave=0, swizzle=SWIZZLES[self.swizzle][0], promotion=2, fill=int(self.fill))
        args.update(changes)
        a64 = lambda v: (ctypes.c_uint64 * 5)(*v)  # noqa: E731
        a32 = lambda v: (ctypes.c_uint32 * 5)(*v)  # noqa: E731
        code = cuda.cuTensorMapEncodeTiled(
            ctypes.c_void_p(args["out"]), args["type"], args["rank"], ctypes.c_void_p(args["base"]), a64(args["dims"]),
            a64(args["strides"]), a32(args["box"]), a32(args["step"]), args["interleave"], args["swizzle"],
            args["promotion"], args["fill"])
        return code, bytes(raw)[skip:skip + 128]

    def walk(self):
        """(global byte or None, shared byte) for every byte of the box that holds data."""
        q = 0
        for outer in itertools.product(*(range(n) for n in reversed(self.count[1:]))):
            at = [c + k * s for c, k, s in zip(self.at[1:], reversed(outer), self.step[1:])]
            inside = all(0 <= c < n for c, n in zip(at, self.dims[1:]))
            start = sum(c * s for c, s in zip(at, self.strides))
            for b in range(self.row):
                if self.type in PADDED:
                    if b % 16 >= PADDED[self.type]:
                        q += 1
                        continue
                    c0, byte = self.at[0] + b // 16 * 16, b % 16
                    source = start + c0 * self.bits // 8 + byte
                else:
                    c0 = self.at[0] + b * 8 // self.bits
                    source = start + self.at[0] * self.bits // 8 + b
                good = inside and 0 <= c0 < self.dims[0]
                yield source if good else None, place(self.swizzle, self.shared + q)
                q += 1


def kernel(rank, store, operation=""):
    coordinates = ", ".join(f"%c{d}" for d in range(rank))
    copy = f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes " \
           f"[%a], [%m, {{{coordinates}}}], [b];"
    if store:
        name = "cp.reduce.async.bulk.tensor" if operation else "cp.async.bulk.tensor"
        copy = f"{name}.{rank}d.global.shared::cta{operation}.tile.bulk_group [%m, {{{coordinates}}}], [%a];"
    load = "\n".join(f"ld.param.s32 %c{d}, [c+{4 * d}];" for d in range(5))
    end = "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" if store else \
        "W: mbarrier.try_wait.parity.shared.b64 %p, [b], 0; @!%p bra W;"
    return HEAD + f""".extern .shared .align 1024 .b8 s[];
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 o, .param .align 4 .b8 c[20],
.param .u32 at, .param .u32 bytes, .param .u32 size)
{{
.reg .pred %p; .reg .b32 %t, %a, %s, %v, %n, %i, %c<5>; .reg .b64 %m, %o, %w;
.shared .align 8 .b64 b;
{load}
mov.u64 %m, map; cvta.param.u64 %m, %m; ld.param.u64 %o, [o];
ld.param.u32 %a, [at]; mov.u32 %s, s; add.u32 %a, %a, %s; ld.param.u32 %n, [size];
mov.u32 %t, %tid.x; mov.u32 %i, %t; shl.b32 %i, %i, 2;
FILL:
setp.ge.u32 %p, %i, %n; @%p bra FILLED;
cvt.u64.u32 %w, %i; add.s64 %w, %w, %o; ld.global.u32 %v, [%w];
mov.u32 %s, s; add.u32 %s, %s, %i; st.shared.u32 [%s], %v;
add.u32 %i, %i, 128; bra FILL;
FILLED:
setp.eq.u32 %p, %t, 0; @%p mbarrier.init.shared.b64 [b], 1;
fence.proxy.async.shared::cta;
bar.sync 0;
@!%p bra ISSUED;
ld.param.u32 %v, [bytes];
mbarrier.arrive.expect_tx.shared.b64 _, [b], {'0' if store else '%v'};
{copy}
{end if store else ''}
ISSUED:
{'' if store else end}
bar.sync 0;
mov.u32 %i, %t; shl.b32 %i, %i, 2;
DUMP:
setp.ge.u32 %p, %i, %n; @%p bra END;
mov.u32 %s, s; add.u32 %s, %s, %i; ld.shared.u32 %v, [%s];
cvt.u64.u32 %w, %i; add.s64 %w, %w, %o; st.global.u32 [%w], %v;
add.u32 %i, %i, 128; bra DUMP;
END:
ret;
}}
"""


def launch(case, store=False, operation="", map_=None, rank=None, change=lambda text: text, **options):
    code, encoded = case.encode()
    assert code == 0
    shared = np.frombuffer(random.Random(5).randbytes((case.shared + case.total + 1023) // 1024 * 1024), np.uint8).copy()
    before = shared.copy()
    device = sim.Device()
    device.expose(case.memory.ctypes.data, case.memory.nbytes, "tensor")
    device.expose(shared.ctypes.data, shared.nbytes, "shared")
    at = (case.at + [0] * 5)[:5]
    params = (map_ or encoded) + struct.pack("<Q5iIII", shared.ctypes.data, *at, case.shared, case.transaction, shared.nbytes)
    module = device.load(change(kernel(rank or case.rank, store, operation)))
    report = module.launch("k", 1, 32, params, arch="sm_90a", shared=shared.nbytes, **options)
    return report, before, shared


def fill_byte(case, address):
    if not case.fill:
        return 0
    width = case.bits // 8
    return 0x7f if address % width == width - 1 else 0xff


def check_load(case, **options):
    report, before, shared = launch(case, **options)
    assert report.ok, report.text()
    for source, to in case.walk():
        before[to] = fill_byte(case, to) if source is None else case.memory[source]
    if case.type in PADDED:  # the ISA leaves the padding open
        data = {to for _, to in case.walk()}
        base = case.shared
        pad = [a for a in range(base, base + case.total) if a not in data]
        before[pad] = shared[pad]
    np.testing.assert_array_equal(shared, before, err_msg=str(vars(case)))


@pytest.mark.parametrize("swizzle", SWIZZLES)
@pytest.mark.parametrize("type_", TYPES)
def test_load(type_, swizzle):
    for seed in range(4):
        check_load(Case(f"{seed}{type_}{swizzle}", type_, swizzle, rank=[2, 2, 3, 5][seed]), check=seed == 0)


@pytest.mark.parametrize("rank", range(1, 6))
def test_load_ranks(rank):
    outside = 0
    for seed in range(40):
        case = Case(seed, rank=rank)
        outside += any(source is None for source, _ in case.walk())
        check_load(case, check=seed % 4 == 0, adversarial=seed % 4 == 1, seed=seed)
    assert outside > 8


@pytest.mark.parametrize("rank", range(1, 6))
def test_store(rank):
    written = 0
    for seed in range(40):
        case = Case(seed, rank=rank, store=True)
        expected = case.memory.copy()
        report, before, shared = launch(case, store=True, check=seed % 4 == 0, adversarial=seed % 4 == 1, seed=seed)
        assert report.ok, report.text()
        for target, source in case.walk():
            if target is not None:
                expected[target] = before[source]
                written += 1
        np.testing.assert_array_equal(shared, before)
        np.testing.assert_array_equal(case.memory, expected, err_msg=str(vars(case)))
    assert written > 1000


def test_store_by_all_lanes():
    """CUTLASS lets a whole warp execute the same store; it is one."""
    def by_all(text):
        text, count = re.subn(r"@!%p bra ISSUED;\n.*\n.*\n", "", text)
        assert count == 1
        return text
    for seed in range(8):
        case = Case(seed, rank=3, store=True)
        expected = case.memory.copy()
        report, before, _ = launch(case, store=True, change=by_all, check=True, adversarial=seed % 2 == 1, seed=seed)
        assert report.ok and not report.errors, report.text()
        for target, source in case.walk():
            if target is not None:
                expected[target] = before[source]
        np.testing.assert_array_equal(case.memory, expected)


@pytest.mark.parametrize("operation, type_", [(".add", "s32"), (".min", "u64"), (".max", "s64"), (".or", "u32"),
                                              (".inc", "u32"), (".add", "f32"), (".add", "f16")])
def test_reduce(operation, type_):
    dtype = {"s32": np.int32, "u64": np.uint64, "s64": np.int64, "u32": np.uint32, "f32": np.float32,
             "f16": np.float16}[type_]
    functions = {".add": np.add, ".min": np.minimum, ".max": np.maximum, ".or": np.bitwise_or,
                 ".inc": lambda o, b: np.where(o >= b, 0, o + 1).astype(o.dtype)}
    changed = 0
    for seed in range(5):
        case = Case(seed, type_, rank=2, store=True)
        old = case.memory.view(dtype)
        old[:] = np.arange(old.size) % 50
        new = old.copy()
        report, before, _ = launch(case, store=True, operation=operation)
        assert report.ok, report.text()
        values, touched = np.zeros(case.bytes, np.uint8), np.zeros(case.bytes, bool)
        for target, source in case.walk():
            if target is not None:
                values[target], touched[target] = before[source], True
        b = values.view(dtype)
        if type_ == "f32":  # subnormals are flushed
            b = np.where(np.abs(b) < np.finfo(dtype).tiny, 0, b)
        with np.errstate(all="ignore"):
            expected = np.where(touched.view(f"u{new.itemsize}") != 0, functions[operation](new, b), new)
        np.testing.assert_array_equal(case.memory.view(dtype), expected)
        changed += touched.sum()
    assert changed > 100


FOUR = HEAD.replace("sm_90a", "sm_100a") + """.visible .entry k(.param .align 64 .b8 map[128], .param .u64 o, .param .align 4 .b8 c[20])
{
.reg .pred %p; .reg .b32 %a, %v, %i, %c<5>; .reg .b64 %m, %o;
.shared .align 128 .b8 s[256]; .shared .align 8 .b64 b;
ld.param.s32 %c0, [c]; ld.param.s32 %c1, [c+4]; ld.param.s32 %c2, [c+8]; ld.param.s32 %c3, [c+12]; ld.param.s32 %c4, [c+16];
mov.u64 %m, map; cvta.param.u64 %m, %m; mov.u32 %a, s;
mbarrier.init.shared.b64 [b], 1;
mbarrier.arrive.expect_tx.shared.b64 _, [b], 256;
cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [%a], [%m, {%c0, %c1, %c2, %c3, %c4}], [b];
W: mbarrier.try_wait.parity.shared.b64 %p, [b], 0; @!%p bra W;
add.s32 %c1, %c1, 4; add.s32 %c2, %c2, 4; add.s32 %c3, %c3, 4; add.s32 %c4, %c4, 4;
cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%m, {%c0, %c1, %c2, %c3, %c4}], [%a];
cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;
ret;
}
"""


def test_four_rows():
    case = Case(0, "f32", "none", rank=2)
    case.dims, case.strides, case.box, case.step, case.fill = [24, 10], [96], [16, 1], [1, 1], 0
    storage = np.zeros(24 * 10 + 16, np.float32)
    skip = -storage.ctypes.data % 64 // 4
    case.memory = storage[skip:skip + 240]
    case.memory[:] = np.arange(240)
    rows = [3, 0, 5, 1]
    before = case.memory.reshape(10, 24).copy()
    expected = before.copy()
    for r in rows:
        expected[r + 4, 12:] = before[r, 12:]  # 16 columns from 12, of which 12 are there
    device = sim.Device()
    device.expose(case.memory.ctypes.data, case.memory.nbytes, "tensor")
    params = case.encode()[1] + struct.pack("<Q5i", 0, 12, *rows)
    report = device.load(FOUR).launch("k", 1, 1, params, arch="sm_100a")
    assert report.ok, report.text()
    np.testing.assert_array_equal(case.memory.reshape(10, 24), expected)


# A kernel that makes a map of zeros, as Triton does, and copies with it.
DEVICE_CODES = {"f32_ftz": 8, "f64": 9, "bf16": 10}  # others as on the host
EDIT = HEAD.replace("sm_90a", "sm_100a") + """.visible .entry k(.param .u64 base, .param .u64 map, .param .u64 o)
{
.reg .pred %p, %q; .reg .b32 %t, %a, %v; .reg .b64 %base, %m, %o, %w;
.shared .align 128 .b8 made[128]; .shared .align 1024 .b8 s[1024]; .shared .align 8 .b64 b;
ld.param.u64 %base, [base]; ld.param.u64 %m, [map]; ld.param.u64 %o, [o];
mov.u32 %t, %tid.x; shl.b32 %v, %t, 2; mov.u32 %a, made; add.u32 %a, %a, %v; st.shared.u32 [%a], 0;
bar.warp.sync -1; //@warp_sync
setp.ne.u32 %p, %t, 0; @%p bra EDITED;
tensormap.replace.tile.global_address.shared::cta.b1024.b64 [made], %base;
FIELDS
mbarrier.init.shared.b64 [b], 1;
EDITED:
bar.warp.sync -1; //@warp_sync_2
tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%m], [made], 128; //@publish
bar.sync 0; //@barrier
@%p bra ISSUED;
fence.proxy.tensormap::generic.acquire.gpu [%m], 128; //@acquire
mbarrier.arrive.expect_tx.shared.b64 _, [b], TOTAL;
cp.async.bulk.tensor.RANKd.shared::cta.global.tile.mbarrier::complete_tx::bytes [s], [%m, {COORDINATES}], [b]; //@copy
ISSUED:
W: mbarrier.try_wait.parity.shared.b64 %q, [b], 0; @!%q bra W;
mul.wide.u32 %w, %t, 4; add.s64 %w, %w, %o; mov.u32 %a, s; shl.b32 %v, %t, 2; add.u32 %a, %a, %v;
ld.shared.u32 %v, [%a]; st.global.u32 [%w], %v;
ret;
}
"""
EDIT_BUGS = {
    "no_acquire": ({"acquire": ""}, "proxy-fence", "copy"),
    "release_is_no_acquire": ({"acquire": "fence.proxy.tensormap::generic.release.gpu;"}, "proxy-fence", "copy"),
    "acquire_of_another_map": ({"acquire": "fence.proxy.tensormap::generic.acquire.gpu [%m+128], 128;"}, "proxy-fence", "copy"),
    "no_warp_sync": ({"warp_sync_2": ""}, "race", "publish"),
}


def edited(case, text=EDIT, **options):
    fields = [f"tensormap.replace.tile.rank.shared::cta.b1024.b32 [made], {case.rank - 1};",
              f"tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [made], "
              f"{DEVICE_CODES.get(case.type, TYPES[case.type][0])};"]
    code = SWIZZLES[case.swizzle][0]
    fields.append(f"tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [made], {min(code, 3)};")
    if code > 3:
        fields.append(f"tensormap.replace.tile.swizzle_atomicity.shared::cta.b1024.b32 [made], {code - 3};")
    if case.fill:
        fields.append("tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [made], 1;")
    for d in range(case.rank):
        for name, values in (("box_dim", case.box), ("global_dim", case.dims), ("element_stride", case.step)):
            fields.append(f"tensormap.replace.tile.{name}.shared::cta.b1024.b32 [made], {d}, {values[d]};")
        if d:
            fields.append(f"tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [made], {d - 1}, "
                          f"{case.strides[d - 1]};")
    text = text.replace("FIELDS", "\n".join(fields)).replace("TOTAL", str(case.transaction)).replace("RANK", str(case.rank))
    text = text.replace("COORDINATES", ", ".join(map(str, case.at)))
    made, o = np.zeros(256, np.uint8), np.zeros(1024, np.uint8)
    made = made[-made.ctypes.data % 128:][:128]
    device = sim.Device()
    for array, name in ((case.memory, "tensor"), (made, "map"), (o, "o")):
        device.expose(array.ctypes.data, array.nbytes, name)
    params = struct.pack("<QQQ", case.memory.ctypes.data, made.ctypes.data, o.ctypes.data)
    return device.load(text).launch("k", 1, 32, params, arch="sm_100a", **options), made, text


@pytest.mark.parametrize("type_", TYPES)
def test_a_map_made_by_a_kernel_is_the_host_s(type_):
    tried = 0
    for seed in range(12):
        case = Case(seed, type_)
        if case.total > 1024:
            continue
        tried += 1
        report, made, _ = edited(case, seed=seed, adversarial=seed > 3)
        assert not [e for e in report.errors if e["kind"] not in ("remark", "uninitialised")], report.text()
        assert bytes(made) == case.encode()[1]
    assert tried > 2


@pytest.mark.parametrize("name", EDIT_BUGS)
def test_fences_of_tensor_maps(name):
    case = Case(2, "f32", "none", rank=2)
    case.dims, case.strides, case.box, case.step, case.total, case.at = [32, 4], [128], [32, 1], [1, 1], 128, [0, 1]
    case.memory = np.zeros(512 + 32, np.uint8)
    case.memory = case.memory[-case.memory.ctypes.data % 32:][:512]
    changes, kind, place_ = EDIT_BUGS[name]
    text = broken(EDIT, changes)
    report, _, text = edited(case, text)
    lines = [e["ptx_line"] for e in report.errors if e["kind"] == kind]
    assert line_of(text, place_) in lines, report.text()


INVALID, NOT_SUPPORTED = 1, 801
RULES = [
    dict(rank=0), dict(rank=6), dict(base=8), dict(base=0), dict(type=16), dict(swizzle=7), dict(interleave=3),
    dict(dims=[0, 8]), dict(dims=[2**32 + 1, 8]), dict(strides=[136]), dict(strides=[2**40]), dict(box=[0, 8]),
    dict(box=[32, 257]), dict(box=[31, 8]), dict(box=[64, 8], swizzle=1), dict(step=[1, 0]), dict(step=[1, 9]),
    dict(type=3, fill=1), dict(type=14), dict(interleave=1), dict(fill=2), dict(promotion=4),
]


@pytest.mark.parametrize("changes", RULES, ids=str)
def test_rules_of_encoding(changes):
    case = Case(1, "f16", "none", rank=2)
    case.dims, case.strides, case.box, case.step = [64, 8], [128], [32, 8], [1, 1]
    assert case.encode()[0] == 0
    if changes.get("base") == 8:
        changes = dict(base=case.memory.ctypes.data + 8)
    assert case.encode(**changes)[0] == INVALID
    assert case.encode(out=case.memory.ctypes.data + 16)[0] == INVALID


def test_interleaved_slices():
    """One slice of channels as dimension 0, as in the ISA's example; a larger one is refused."""
    case = Case(1, "f16", "none", rank=3)
    case.dims, case.strides, case.box, case.step = [8, 5, 3], [16, 80], [8, 2, 2], [1, 1, 1]
    assert case.encode(interleave=1)[0] == 0
    assert case.encode(interleave=1, dims=[16, 5, 3])[0] == NOT_SUPPORTED
    assert case.encode(interleave=2)[0] == INVALID  # needs the swizzle of 32 bytes


def small():
    case = Case(3, "f32", "128", rank=2)
    case.at = [0, 0]
    return case


def test_a_swizzle_beyond_shared_memory():
    """Rows of 32 bytes: the first fills a quarter of a line of 128, and is swizzled to its other end."""
    case = small()
    case.dims, case.strides, case.box, case.step, case.total = [8, 4], [32], [8, 1], [1, 1], 32
    case.memory = np.zeros(256, np.uint8)
    case.memory = case.memory[-case.memory.ctypes.data % 128:][:128]
    for shared, good in ((0, True), (768, False), (896, False)):
        case.shared = shared
        code, encoded = case.encode()
        text = kernel(2, False).replace("ld.param.u32 %n, [size];", "mov.u32 %n, 0;")
        device = sim.Device()
        device.expose(case.memory.ctypes.data, case.memory.nbytes, "tensor")
        params = encoded + struct.pack("<Q5iIII", 0, 0, 0, 0, 0, 0, shared, 32, 0)
        report = device.load(text).launch("k", 1, 32, params, arch="sm_90a", shared=shared + 32, check=False)
        assert report.ok == good and (good or "past the end of the dynamic shared memory" in report.text()), report.text()


def test_faults():
    case = small()
    report, _, _ = launch(case, rank=3)
    assert "the tensor map has rank 2, the instruction 3" in report.text()
    report, _, _ = launch(case, map_=bytes(128))
    assert "the tensor map is not valid" in report.text()
    case.shared = 64
    report, _, _ = launch(case)
    assert "is not aligned to 128 bytes" in report.text() and report.errors[0]["kind"] == "misaligned"
    case = small()
    case.dims, case.strides, case.box, case.step = [32, 4], [128], [32, 4], [1, 1]
    case.memory, case.total, case.shared = np.zeros(127 + 512, np.uint8), 512, 0
    case.memory = case.memory[-case.memory.ctypes.data % 128:][:511]
    report, _, _ = launch(case)
    assert "1 bytes past the end of 'tensor' of 511 bytes" in report.text()
    case = small()
    case.at = [-4, 0]
    report, _, _ = launch(case, store=True)
    assert "coordinate 0 of a tensor store is -4" in report.text()


@pytest.mark.skipif(not shutil.which("ptxas"), reason="ptxas is not on PATH")
def test_ptxas_accepts_the_kernels(tmp_path):
    texts = [(kernel(rank, store), "sm_90a") for rank in range(1, 6) for store in (False, True)]
    texts += [(kernel(2, True, ".add"), "sm_90a"), (FOUR, "sm_100a")]
    for text, arch in texts:
        path = tmp_path / "k.ptx"
        path.write_text(text)
        done = subprocess.run(["ptxas", f"-arch={arch}", path, "-o", tmp_path / "k.cubin"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
