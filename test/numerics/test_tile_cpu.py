# The CPU target on hand-written Tile IR, against NumPy in float64.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import bounds
import numpy as np
import pytest
from tile_cpu import compile_tile, find_tool

pytestmark = pytest.mark.skipif(find_tool() is None, reason="tessera-emit-object is not built")

EXTENTS = [0, 1, 7, 63, 65, 127, 1000]
TARGETS = ["cpu", "cpu:avx2"]


def view(rank, element="f32", unit=True):
    strides = ["?"] * rank
    if unit and rank:
        strides[-1] = "1"
    return f"memref<{'?x' * rank}{element}, strided<[{', '.join(strides)}]>>"


def elementwise(body, element="f32", size=64, unit=True):
    v, t = view(1, element, unit), f"tensor<{size}x{element}>"
    r = f"!tile.range<{size}>"
    return f"""
tile.func @k(%x: {v}, %y: {v}, %z: {v}) {{
  %n = tile.dim %x, 0 : {v}
  %i = tile.program extents(%n) tiles = [{size}] : {r}
  %a = tile.load %x[%i] : {v}, {r} -> {t}
  %b = tile.load %y[%i] : {v}, {r} -> {t}
  {body}
  tile.store %c, %z[%i] : {t}, {v}, {r}
  tile.return
}}"""


def cdiv(a, b):
    return -(-a // b)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("n", EXTENTS)
def test_add(n, target):
    kernel = compile_tile(elementwise("%c = arith.addf %a, %b : tensor<64xf32>"), target)
    rng = np.random.default_rng(n)
    x, y = rng.standard_normal((2, n)).astype(np.float32)
    z = np.full(n, np.nan, np.float32)
    assert kernel.call("k", [x, y, z], grid=cdiv(n, 64)) == 0
    np.testing.assert_array_equal(z, x + y)


@pytest.mark.parametrize("n", EXTENTS)
def test_relu_nan_and_odd_tile(n):
    body = """%zero = arith.constant dense<0.0> : tensor<200xf32>
  %c = arith.maximumf %a, %zero : tensor<200xf32>"""
    kernel = compile_tile(elementwise(body, size=200))
    x = np.random.default_rng(n).standard_normal(n).astype(np.float32)
    x[::5] = np.nan
    z = np.zeros(n + 3, np.float32)
    kernel.call("k", [x, x, z[:n]], grid=cdiv(n, 200))
    np.testing.assert_array_equal(z[:n], np.maximum(x, 0))
    assert (z[n:] == 0).all()


@pytest.mark.parametrize("stride", [1, 2, -1, -3, 0])
def test_any_stride(stride):
    kernel = compile_tile(
        elementwise("%c = arith.mulf %a, %b : tensor<64xf32>", unit=False))
    n = 100
    base = np.random.default_rng(1).standard_normal(n * 4).astype(np.float32)
    x = np.lib.stride_tricks.as_strided(base[-1:] if stride < 0 else base, (n,), (stride * 4,))
    out = np.zeros(2 * n, np.float32)
    z = out[::-2]
    kernel.call("k", [x, base[:n], z], grid=cdiv(n, 64))
    np.testing.assert_array_equal(z, x * base[:n])
    assert (out[::2] == 0).all()


def bf16_round(x):
    bits = np.asarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def bf16_float(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_half_types_round_after_each_op(element, target):
    t = f"tensor<64x{element}>"
    body = f"""%p = arith.mulf %a, %b : {t}
  %c = arith.addf %p, %a : {t}"""
    kernel = compile_tile(elementwise(body, element), target)
    rng = np.random.default_rng(3)
    n = 1000
    if element == "f16":
        x, y = rng.standard_normal((2, n)).astype(np.float16)
        x[:4] = [6e-8, -6e-8, np.inf, np.nan]  # subnormal
        z = np.zeros(n, np.float16)
        kernel.call("k", [x, y, z], grid=cdiv(n, 64))
        np.testing.assert_array_equal(z, x * y + x)
    else:
        x, y = (bf16_round(v) for v in rng.standard_normal((2, n)))
        x[:2] = 1  # the smallest subnormal
        z = np.zeros(n, np.uint16)
        kernel.call("k", [x, y, z], grid=cdiv(n, 64))
        fx, fy = bf16_float(x), bf16_float(y)
        product = bf16_float(bf16_round(fx * fy))
        np.testing.assert_array_equal(z, bf16_round(product + fx))


SOFTMAX = open(__file__.replace("test_tile_cpu.py", "tile/softmax.mlir")).read()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("n", EXTENTS[1:])
@pytest.mark.parametrize("m", [1, 7])
def test_softmax_in_a_loop(m, n, target):
    kernel = compile_tile(SOFTMAX, target)
    x = (np.random.default_rng(n).standard_normal((m, n)) * 5).astype(np.float32)
    y = np.full((m, n + 5), 7, np.float32)
    kernel.call("softmax", [x, y[:, :n]], grid=cdiv(m, 4))
    bounds.check(y[:, :n], bounds.softmax(bounds.exact(x, "fp32")), "softmax")
    assert (y[:, n:] == 7).all()


def reduce_kernel(kind, axis, element="f32", shape=(24, 40)):
    v, t = view(2, element), f"tensor<{shape[0]}x{shape[1]}x{element}>"
    out = "i64" if kind.startswith("arg") else element
    kept = shape[1 - axis]
    v1 = view(1, out)
    r0, r1 = (f"!tile.range<{s}>" for s in shape)
    keep = "%i" if axis == 1 else "%j"
    rk = r0 if axis == 1 else r1
    return f"""
tile.func @k(%x: {v}, %y: {v1}) {{
  %zero = arith.constant 0 : index
  %m = tile.dim %x, 0 : {v}
  %n = tile.dim %x, 1 : {v}
  %one = arith.constant 1 : index
  %p = tile.program extents(%one) tiles = [0] : index
  %i = tile.range_at %zero of %m : {r0}
  %j = tile.range_at %zero of %n : {r1}
  %a = tile.load %x[%i, %j] : {v}, {r0}, {r1} -> {t}
  %s = tile.reduce {kind} %a axis = {axis} : {t} -> tensor<{kept}x{out}>
  tile.store %s, %y[{keep}] : tensor<{kept}x{out}>, {v1}, {rk}
  tile.return
}}"""


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("kind", ["sum", "max", "min", "prod", "argmax", "argmin"])
@pytest.mark.parametrize("m,n", [(24, 40), (7, 33), (1, 1), (17, 16)])
def test_reduce(kind, axis, m, n):
    kernel = compile_tile(reduce_kernel(kind, axis))
    x = np.random.default_rng(n).standard_normal((m, n)).astype(np.float32)
    if kind.startswith("arg"):
        x = np.round(x)  # ties
    y = np.full(n if axis == 0 else m, -1, np.int64 if kind.startswith("arg") else np.float32)
    kernel.call("k", [x, y])
    want = getattr(np, kind)(x.astype(np.float64), axis=axis)
    roundings = bounds.gamma(x.shape[axis], bounds.UNIT["fp32"])
    error = {"sum": roundings * np.abs(x.astype(np.float64)).sum(axis), "prod": roundings * np.abs(want) + bounds.TINY["fp32"]}
    bounds.check(y, bounds.Approx(want, error.get(kind, 0.0)), kind)


def test_reduce_of_nothing_and_nan():
    x = np.zeros((5, 0), np.float32)
    for kind, want in [("sum", 0), ("max", -np.inf), ("prod", 1)]:
        y = np.full(5, 9, np.float32)
        compile_tile(reduce_kernel(kind, 1)).call("k", [x, y])
        np.testing.assert_array_equal(y, np.full(5, want, np.float32))
    x = np.ones((3, 40), np.float32)
    x[1, 17] = np.nan
    y = np.zeros(3, np.float32)
    compile_tile(reduce_kernel("max", 1)).call("k", [x, y])
    np.testing.assert_array_equal(y, [1, np.nan, 1])
    place = np.zeros(3, np.int64)
    compile_tile(reduce_kernel("argmax", 1)).call("k", [x, place])
    np.testing.assert_array_equal(place, [0, 17, 0])


def gemm(element="f32", acc="f32", bm=64, bn=64, bk=32, unit=True, trans=False):
    a, b, c = view(2, element, unit), view(2, element, unit), view(2, acc, unit)
    rm, rn, rk = (f"!tile.range<{s}>" for s in (bm, bn, bk))
    tc = f"tensor<{bm}x{bn}x{acc}>"
    zero = "0" if acc.startswith("i") else "0.0"
    load_b = f"%y = tile.load %b[%k, %n] : {b}, {rk}, {rn} -> tensor<{bk}x{bn}x{element}>"
    kdim = f"tile.dim %a, 1 : {a}"
    if trans:
        load_b = f"""%yt = tile.load %b[%n, %k] : {b}, {rn}, {rk} -> tensor<{bn}x{bk}x{element}>
    %y = tile.transpose %yt [1, 0] : tensor<{bn}x{bk}x{element}> -> tensor<{bk}x{bn}x{element}>"""
    return f"""
tile.func @k(%a: {a}, %b: {b}, %c: {c}) {{
  %zero = arith.constant 0 : index
  %M = tile.dim %a, 0 : {a}
  %K = {kdim}
  %N = tile.dim %c, 1 : {c}
  %m, %n = tile.program extents(%M, %N) tiles = [{bm}, {bn}] {{group = 8 : i64}} : {rm}, {rn}
  %z = arith.constant {zero} : {acc}
  %acc0 = tile.fill %z [%m, %n] : {acc}, {rm}, {rn} -> {tc}
  %r = tile.for %k = %zero to %K carry(%acc = %acc0) : {rk}, ({tc}) {{
    %x = tile.load %a[%m, %k] : {a}, {rm}, {rk} -> tensor<{bm}x{bk}x{element}>
    {load_b}
    %d = tile.mma %x, %y, %acc : tensor<{bm}x{bk}x{element}>, tensor<{bk}x{bn}x{element}>, {tc}
    tile.yield %d : {tc}
  }}
  tile.store %r, %c[%m, %n] : {tc}, {c}, {rm}, {rn}
  tile.return
}}"""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", [(64, 64, 32), (1, 1, 1), (65, 127, 63), (7, 80, 100), (130, 3, 0)])
@pytest.mark.parametrize("element,acc", [("f32", "f32"), ("f64", "f64"), ("f16", "f32"), ("i32", "i32")])
def test_gemm(shape, element, acc, target):
    m, n, k = shape
    kernel = compile_tile(gemm(element, acc), target)
    dtype = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i32": np.int32}[element]
    rng = np.random.default_rng(m)
    if element == "i32":
        a, b = rng.integers(-9, 9, (m, k)).astype(dtype), rng.integers(-9, 9, (k, n)).astype(dtype)
    else:
        a, b = rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)
    c = np.full((m, n), 77, np.float32 if acc == "f32" else dtype)
    kernel.call("k", [a, b, c], grid=cdiv(m, 64) * cdiv(n, 64))
    names = {"f32": "fp32", "f64": "fp64", "f16": "fp16", "i32": "i32"}
    want = bounds.exact(a, names[element]).matmul(bounds.exact(b, names[element]))
    # The reference of fp64 is float64 as well: two such errors.
    bounds.check(c, bounds.Approx(want.value, want.error * (2 if element == "f64" else 1)), element)


@pytest.mark.parametrize("trans", [False, True])
def test_gemm_strides_and_transposed(trans):
    kernel = compile_tile(gemm(unit=trans, trans=trans))
    rng = np.random.default_rng(5)
    m, n, k = 70, 90, 50
    a = rng.standard_normal((m, k)).astype(np.float32)
    b = rng.standard_normal((k, n)).astype(np.float32)
    given = np.ascontiguousarray(b.T) if trans else np.asfortranarray(b)
    aa = a if trans else np.asfortranarray(a)
    c = np.zeros((m, n), np.float32)
    kernel.call("k", [aa, given, c], grid=4, parts=3)
    bounds.check(c, bounds.exact(a, "fp32").matmul(bounds.exact(b, "fp32")), "gemm")


@pytest.mark.parametrize("flags", [(), ("--no-amx",)])
@pytest.mark.parametrize("trans", [False, True])
@pytest.mark.parametrize("shape", [(64, 64, 32), (1, 1, 1), (65, 127, 63), (7, 80, 100), (130, 3, 0)])
def test_gemm_bf16(shape, trans, flags):
    m, n, k = shape
    kernel = compile_tile(gemm("bf16", "f32", trans=trans), flags=flags)
    rng = np.random.default_rng(m)
    a, b = bf16_round(rng.standard_normal((m, k))), bf16_round(rng.standard_normal((k, n)))
    c = np.full((m, n), 77, np.float32)
    given = np.ascontiguousarray(b.T) if trans else b
    kernel.call("k", [a, given, c], grid=cdiv(m, 64) * cdiv(n, 64))
    bounds.check(c, bounds.exact(bf16_float(a), "bf16").matmul(bounds.exact(bf16_float(b), "bf16")), "gemm")


FLASH = open(__file__.replace("test_tile_cpu.py", "tile/flash-attention.mlir")).read()


def flash(element):
    if element == "f32":  # no conversion: name the values directly
        text = FLASH.replace("NARROW", "").replace("%pv,", "%p,")
        text = text.replace("ROUND", "").replace("tile.store %o,", "tile.store %result,")
        return text.replace("ELEM", "f32")
    text = FLASH.replace("NARROW", "%pv = arith.truncf %p : tensor<128x64xf32> to tensor<128x64xELEM>")
    text = text.replace("ROUND", "%o = arith.truncf %result : tensor<128x64xf32> to tensor<128x64xELEM>")
    return text.replace("ELEM", element)


@pytest.mark.parametrize("element,flags", [("f32", ()), ("f16", ()), ("bf16", ()), ("bf16", ("--no-amx",))])
@pytest.mark.parametrize("s,t,d", [(128, 128, 64), (1, 1, 1), (130, 200, 64), (200, 130, 48), (65, 127, 63)])
def test_flash_attention(element, flags, s, t, d):
    kernel = compile_tile(flash(element), flags=flags)
    rng = np.random.default_rng(s)
    q, k, v = (rng.standard_normal((2, h, n, d)) for h, n in ((4, s), (2, t), (2, t)))
    if element == "bf16":
        arrays = [bf16_round(x) for x in (q, k, v)]
        q, k, v = (bf16_float(x).astype(np.float64) for x in arrays)
        o = np.zeros((2, 4, s, d), np.uint16)
    else:
        dtype = {"f32": np.float32, "f16": np.float16}[element]
        arrays = [x.astype(dtype) for x in (q, k, v)]
        q, k, v = (x.astype(np.float64) for x in arrays)
        o = np.full((2, 4, s, d), 9, dtype)
    scale = float(np.log2(np.e) / np.sqrt(d))
    kernel.call("attention", [*arrays, o], [scale], grid=2 * 4 * cdiv(s, 128), parts=3)
    got = bf16_float(o) if element == "bf16" else o.astype(np.float64)
    dtype = {"f32": "fp32", "f16": "fp16", "bf16": "bf16"}[element]
    for batch in range(2):
        for head in range(4):
            e = [bounds.exact(x[batch, i], dtype) for x, i in ((q, head), (k, head // 2), (v, head // 2))]
            bounds.check(got[batch, head], bounds.attention(*e, causal=True), f"head {batch}, {head}")


V1, R, T64 = view(1), "!tile.range<64>", "tensor<64xf32>"


@pytest.mark.parametrize("m,n", [(5, 40), (24, 33), (1, 1)])
@pytest.mark.parametrize("axis", [0, 1])
def test_scan(axis, m, n):
    v, t = view(2), "tensor<24x40xf32>"
    kernel = compile_tile(f"""
tile.func @k(%x: {v}, %y: {v}) {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %p = tile.program extents(%one) tiles = [0] : index
  %m = tile.dim %x, 0 : {v}
  %n = tile.dim %x, 1 : {v}
  %i = tile.range_at %zero of %m : !tile.range<24>
  %j = tile.range_at %zero of %n : !tile.range<40>
  %a = tile.load %x[%i, %j] : {v}, !tile.range<24>, !tile.range<40> -> {t}
  %s = tile.scan sum %a axis = {axis} : {t}
  tile.store %s, %y[%i, %j] : {t}, {v}, !tile.range<24>, !tile.range<40>
  tile.return
}}""")
    x = np.random.default_rng(m).standard_normal((m, n)).astype(np.float32)
    y = np.zeros_like(x)
    kernel.call("k", [x, y])
    wide = x.astype(np.float64)
    error = bounds.gamma(x.shape[axis], bounds.UNIT["fp32"]) * np.cumsum(np.abs(wide), axis)
    bounds.check(y, bounds.Approx(np.cumsum(wide, axis), error), "cumsum")


def test_gather_scatter_and_masks():
    vi, ti = view(1, "i64"), "tensor<64xi64>"
    kernel = compile_tile(f"""
tile.func @k(%x: {V1}, %at: {vi}, %y: {V1}, %z: {V1}) {{
  %n = tile.dim %at, 0 : {vi}
  %i = tile.program extents(%n) tiles = [64] : {R}
  %where = tile.load %at[%i] : {vi}, {R} -> {ti}
  %a = tile.load %x[%where] : {V1}, {ti} -> {T64}
  tile.store %a, %y[%i] : {T64}, {V1}, {R}
  %zero = arith.constant dense<0.0> : {T64}
  %positive = arith.cmpf ogt, %a, %zero : {T64}
  %kept = tile.load %x[%i] mask(%positive : tensor<64xi1>) {{pad = 5.0 : f32}} : {V1}, {R} -> {T64}
  tile.store %kept, %z[%where] mask(%positive : tensor<64xi1>) : {T64}, {V1}, {ti}
  tile.return
}}""")
    rng = np.random.default_rng(0)
    n = 150
    x = rng.standard_normal(n).astype(np.float32)
    at = rng.permutation(n).astype(np.int64)
    at[::10] = -1
    at[1::10] = n + 7
    y, z = np.full(n, 9, np.float32), np.full(n, 3, np.float32)
    kernel.call("k", [x, at, y, z], grid=3)
    inside = (at >= 0) & (at < n)
    want = np.where(inside, x[np.clip(at, 0, n - 1)], 0)
    np.testing.assert_array_equal(y, want)
    expected = np.full(n, 3, np.float32)
    for i in range(n):
        if inside[i] and want[i] > 0:
            expected[at[i]] = x[i]
    np.testing.assert_array_equal(z, expected)


def test_atomics_and_assert():
    kernel = compile_tile(f"""
tile.func @k(%x: {V1}, %y: {V1}) {{
  %n = tile.dim %x, 0 : {V1}
  %zero = arith.constant 0 : index
  %i = tile.program extents(%n) tiles = [64] : {R}
  %j = tile.range_at %zero of %n : {R}
  %a = tile.load %x[%i] : {V1}, {R} -> {T64}
  %big = arith.constant dense<100.0> : {T64}
  %ok = arith.cmpf olt, %a, %big : {T64}
  tile.assert %ok, "too big" : tensor<64xi1>
  tile.atomic sum %a, %y[%j] : {T64}, {V1}, {R}
  tile.return
}}""")
    x = np.arange(99, dtype=np.float32)
    y = np.zeros(64, np.float32)
    assert kernel.call("k", [x, y], grid=2) == 0
    want = x[:64].copy()
    want[:35] += x[64:]
    np.testing.assert_array_equal(y, want)
    x[70] = 101
    assert kernel.call("k", [x, y], grid=2) == 1


def test_control_flow_carries_tiles():
    kernel = compile_tile(f"""
tile.func @k(%x: {V1}, %y: {V1}, %steps: i64) {{
  %n = tile.dim %x, 0 : {V1}
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %i = tile.program extents(%n) tiles = [64] : {R}
  %count = arith.index_cast %steps : i64 to index
  %a0 = tile.load %x[%i] : {V1}, {R} -> {T64}
  %b0 = arith.constant dense<1.0> : {T64}
  %a, %b = scf.for %s = %zero to %count step %one iter_args(%a1 = %a0, %b1 = %b0) -> ({T64}, {T64}) {{
    %c = arith.addf %a1, %b1 : {T64}
    scf.yield %b1, %c : {T64}, {T64}
  }}
  %three = arith.constant 3 : index
  %many = arith.cmpi sgt, %count, %three : index
  %r = scf.if %many -> ({T64}) {{
    %d = arith.mulf %b, %b : {T64}
    scf.yield %d : {T64}
  }} else {{
    scf.yield %b : {T64}
  }}
  %w, %e = scf.while (%w0 = %zero, %e0 = %r) : (index, {T64}) -> (index, {T64}) {{
    %go = arith.cmpi slt, %w0, %three : index
    scf.condition(%go) %w0, %e0 : index, {T64}
  }} do {{
  ^bb0(%w1: index, %e1: {T64}):
    %w2 = arith.addi %w1, %one : index
    %e2 = arith.addf %e1, %a0 : {T64}
    scf.yield %w2, %e2 : index, {T64}
  }}
  tile.store %e, %y[%i] : {T64}, {V1}, {R}
  tile.return
}}""")
    x = np.random.default_rng(2).integers(-3, 4, 100).astype(np.float32)
    for steps in (0, 1, 5):
        y = np.zeros(100, np.float32)
        kernel.call("k", [x, y], [steps], grid=2)
        a, b = x, np.ones_like(x)
        for _ in range(steps):
            a, b = b, a + b
        np.testing.assert_array_equal(y, (b * b if steps > 3 else b) + 3 * x)


def test_filled_reshape_cat_rand():
    kernel = compile_tile(f"""
tile.func @k(%x: {V1}, %y: {V1}, %z: {V1}, %seed: i64) {{
  %n = tile.dim %x, 0 : {V1}
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %p = tile.program extents(%one) tiles = [0] : index
  %i = tile.range_at %zero of %n : {R}
  %a = tile.load %x[%i] : {V1}, {R} -> {T64}
  %v = arith.constant 7.0 : f32
  %f = tile.filled %a, %v : {T64}, f32
  %g = tile.reshape %f : {T64} -> tensor<4x16xf32>
  %s = tile.reduce sum %g axis = 0 : tensor<4x16xf32> -> tensor<16xf32>
  %t = tile.cat %s, %s axis = 0 : (tensor<16xf32>, tensor<16xf32>) -> tensor<32xf32>
  %size = tile.dim %y, 0 : {V1}
  %j = tile.range_at %zero of %size : !tile.range<32>
  tile.store %t, %y[%j] : tensor<32xf32>, {V1}, !tile.range<32>
  %index = tile.index %i : {R} -> tensor<64xi64>
  %r = tile.rand %seed, %index : i64, tensor<64xi64> -> {T64}
  tile.store %r, %z[%i] : {T64}, {V1}, {R}
  tile.return
}}""")
    x = np.arange(50, dtype=np.float32)
    y, z = np.zeros(32, np.float32), np.zeros(50, np.float32)
    kernel.call("k", [x, y, z], [12345])
    full = np.concatenate([x, np.full(14, 7, np.float32)]).reshape(4, 16).sum(0)
    np.testing.assert_array_equal(y, np.concatenate([full, full]))

    def philox(seed, index):
        key = [seed & 0xFFFFFFFF, seed >> 32]
        c = [index & 0xFFFFFFFF, index >> 32, 0, 0]
        for _ in range(10):
            p0, p1 = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
            c = [(p1 >> 32) ^ c[1] ^ key[0], p1 & 0xFFFFFFFF,
                 (p0 >> 32) ^ c[3] ^ key[1], p0 & 0xFFFFFFFF]
            key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
        return np.float32((c[0] >> 8) * 2.0**-24)

    np.testing.assert_array_equal(z, [philox(12345, i) for i in range(50)])


def test_matrix_times_vector_and_f64_math():
    v2, vd = view(2, "f64"), view(1, "f64")
    kernel = compile_tile(f"""
tile.func @k(%a: {v2}, %x: {vd}, %y: {vd}) {{
  %zero = arith.constant 0 : index
  %M = tile.dim %a, 0 : {v2}
  %K = tile.dim %a, 1 : {v2}
  %m = tile.program extents(%M) tiles = [16] : !tile.range<16>
  %k = tile.range_at %zero of %K : !tile.range<40>
  %t = tile.load %a[%m, %k] : {v2}, !tile.range<16>, !tile.range<40> -> tensor<16x40xf64>
  %u = tile.load %x[%k] : {vd}, !tile.range<40> -> tensor<40xf64>
  %z = arith.constant dense<0.5> : tensor<16xf64>
  %r = tile.mma %t, %u, %z : tensor<16x40xf64>, tensor<40xf64>, tensor<16xf64>
  %e = math.exp %r : tensor<16xf64>
  %s = math.tanh %e : tensor<16xf64>
  tile.store %s, %y[%m] : tensor<16xf64>, {vd}, !tile.range<16>
  tile.return
}}""")
    rng = np.random.default_rng(8)
    a, x, y = rng.standard_normal((37, 33)), rng.standard_normal(33), np.zeros(37)
    kernel.call("k", [a, x, y], grid=3)
    sums = bounds.exact(a, "fp64").matmul(bounds.exact(x, "fp64")) + 0.5
    # The reference is float64 as well: two such errors.
    want = sums.exp().tanh()
    bounds.check(y, bounds.Approx(want.value, 2 * want.error), "tanh(exp(a x))")


def test_in_place_update():
    kernel = compile_tile(elementwise("%c = arith.addf %a, %b : tensor<64xf32>").replace(
        "tile.store %c, %z", "tile.store %c, %x"))
    x = np.arange(130, dtype=np.float32)
    y, z = x[::-1].copy(), x.copy()
    kernel.call("k", [x, y, z], grid=3)
    np.testing.assert_array_equal(x, z + y)
