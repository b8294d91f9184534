"""Movement, reductions, products, control flow and checks of Graph IR, interpreted, against NumPy.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import numpy as np
import pytest
import tessera as tsr
from modules import MLIR, NUMPY, assert_same_bits, graph, run
from tessera.oracle import Stage

SIZES = "    %m = gir.dim %x, 0 : tensor<?x?xf32>\n    %n = gir.dim %x, 1 : tensor<?x?xf32>\n"
SHAPES = [(7, 5), (1, 9), (5, 1), (0, 4), (3, 0)]


def one(body, result, rank=2, dtype="f32", arguments=None):
    return graph(arguments or {"x": ("f32", 2)}, body, [(result, dtype, rank)])


# ---- movement ---------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_movement(shape, random):
    x = random.standard_normal(shape).astype(np.float32)
    m, n = shape
    cases = {
        "transpose": ("    %y = gir.transpose %x [1, 0] : tensor<?x?xf32> -> tensor<?x?xf32>", 2, x.T),
        "reshape": (SIZES + "    %k = gir.mul %m, %n : tensor<i64>\n    %y = gir.reshape %x sizes(%k) : tensor<?x?xf32> -> tensor<?xf32>", 1, x.reshape(-1)),
        "dim": ("    %y = gir.dim %x, 1 : tensor<?x?xf32>", 0, np.int64(n)),
        "arange": (SIZES + "    %y = gir.arange %n : tensor<?xi64>", 1, np.arange(n)),
        "concat": ("    %y = gir.concat %x, %x, %x axis = 1 : (tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>", 2,
                   np.concatenate([x, x, x], 1)),
        "broadcast": (SIZES + "    %y = gir.broadcast %x axes = [0, 2] sizes(%m, %n) : tensor<?x?xf32> -> tensor<?x3x?xf32>", (None, 3, None),
                      np.broadcast_to(x[:, None], (m, 3, n))),
    }
    for name, (body, rank, want) in cases.items():
        dtype = "f32" if name not in ("dim", "arange") else "i64"
        assert_same_bits(run(one(body, "y", rank, dtype), {"x": x})[0], np.asarray(want), name)


def test_broadcast_of_size_one():
    text = graph({"x": ("f32", (1, None))}, "    %n = gir.dim %x, 1 : tensor<1x?xf32>\n    %c = gir.constant dense<4> : tensor<i64>\n"
                 "    %y = gir.broadcast %x axes = [0, 1] sizes(%c, %n) : tensor<1x?xf32> -> tensor<?x?xf32>", [("y", "f32", 2)])
    x = np.arange(3, dtype=np.float32)[None]
    assert_same_bits(run(text, {"x": x})[0], np.repeat(x, 4, 0))


@pytest.mark.parametrize("start, step, size", [(0, 1, 5), (1, 2, 2), (4, -1, 5), (4, -2, 3), (3, 1, 0), (0, 3, 2)])
def test_slice(start, step, size, random):
    x = random.standard_normal((5, 7)).astype(np.float32)
    body = (f"    %s = gir.constant dense<{start}> : tensor<i64>\n    %z = gir.constant dense<2> : tensor<i64>\n    %n = gir.constant dense<{size}> : tensor<i64>\n"
            f"    %k = gir.constant dense<2> : tensor<i64>\n"
            f"    %y = gir.slice %x starts(%s, %z) steps = [{step}, 2] sizes(%n, %k) : tensor<?x?xf32> -> tensor<?x?xf32>")
    rows = [start + i * step for i in range(size)]
    assert_same_bits(run(one(body, "y"), {"x": x})[0], x[rows][:, [2, 4]])


def test_a_slice_beyond_its_axis_is_an_error():
    body = ("    %z = gir.constant dense<0> : tensor<i64>\n    %n = gir.constant dense<6> : tensor<i64>\n"
            "    %y = gir.slice %x starts(%z, %z) steps = [1, 1] sizes(%n, %n) : tensor<?x?xf32> -> tensor<?x?xf32>")
    with pytest.raises(tsr.RunError, match="elements 0 to 5 of axis 0, which has 5"):
        run(one(body, "y"), {"x": np.zeros((5, 9), np.float32)})


def test_take_and_gather_read_zero_outside(random):
    x, i = random.standard_normal((5, 7)).astype(np.float32), np.array([[0, 4, -1], [5, 2, 2**40]])
    inside = np.where((i >= 0) & (i < 5), i, 0)
    take = one("    %y = gir.take %x, %i axis = 0 : tensor<?x?xf32>, tensor<?x?xi64> -> tensor<?x?x?xf32>", "y", 3,
               arguments={"x": ("f32", 2), "i": ("i64", 2)})
    want = np.where(((i >= 0) & (i < 5))[..., None], x[inside], 0).astype(np.float32)
    assert_same_bits(run(take, {"x": x, "i": i})[0], want)
    gather = one("    %y = gir.gather %x, %i axis = 1 : tensor<?x?xf32>, tensor<?x?xi64> -> tensor<?x?xf32>", "y", 2,
                 arguments={"x": ("f32", 2), "i": ("i64", 2)})
    j = np.array([[0, 6, 7], [-3, 1, 1]])
    want = np.where((j >= 0) & (j < 7), np.take_along_axis(x[:2], np.clip(j, 0, 6), 1), 0).astype(np.float32)
    assert_same_bits(run(gather, {"x": x, "i": j})[0], want)


def test_constants():
    text = graph({}, '    %a = gir.constant dense<[1.5, -0.0, 0x7FC0]> : tensor<3xbf16>\n    %b = gir.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi32>\n'
                 "    %c = gir.constant dense<true> : tensor<2xi1>", [("a", "bf16", (3,)), ("b", "i32", (2, 2)), ("c", "bool", (2,))])
    a, b, c = run(text, {})
    assert_same_bits(a, np.array([1.5, -0.0, np.nan], NUMPY["bf16"]))
    assert b.tolist() == [[1, -2], [3, 4]] and c.tolist() == [True, True]


# ---- reductions -------------------------------------------------------------------------------


def reduction(kind, axes, rank, dtype="f32", result=None, extra=""):
    result = result or dtype
    left = rank - len(axes)
    source = "x".join("?" * rank) + ("x" if rank else "")
    target = "".join("?x" for _ in range(left))
    return graph({"x": (dtype, rank)}, f"    %y = gir.reduce {kind} %x axes = {list(axes)}{extra} : tensor<{source}{MLIR[dtype]}> -> tensor<{target}{MLIR[result]}>",
                 [("y", result, left)])


NEUTRAL = {"sum": 0, "prod": 1, "max": -np.inf, "min": np.inf}


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("kind", ["sum", "prod", "max", "min", "mean", "var", "logsumexp"])
def test_reductions(kind, axes, random):
    for shape in ((3, 7, 5), (1, 1, 9), (2, 0, 3)):
        x = random.standard_normal(shape).astype(np.float32)
        got = run(reduction(kind, axes, 3), {"x": x}, "reference")[0]
        wide = x.astype(np.longdouble)
        count = np.prod([shape[axis] for axis in axes])
        if count == 0 and kind in ("mean", "var"):  # 0 / 0, as torch: a divisor is not below 0
            assert np.all(np.isnan(got))
            continue
        if count == 1 and kind == "var":
            assert np.all(np.isnan(got))
            continue
        with np.errstate(all="ignore"):
            if kind == "logsumexp":
                want = np.log(np.exp(wide).sum(axes))
            elif kind == "var":
                want = wide.var(axes, ddof=1)
            elif kind in ("max", "min"):
                want = getattr(np, kind)(wide, axes, initial=NEUTRAL[kind])
            else:
                want = getattr(np, kind)(wide, axes)
        np.testing.assert_allclose(got, want.astype(np.float64), rtol=2.0**-50, atol=0)


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "f64"])
def test_sums_go_left_to_right_in_the_accumulate_type(dtype, random):
    x = random.standard_normal((3, 50)).astype(NUMPY[dtype])
    inner = np.float64 if dtype == "f64" else np.float32
    total = np.zeros(3, inner)
    for column in x.T.astype(inner):
        total = total + column
    text = reduction("sum", (1,), 2, dtype)
    assert_same_bits(run(text, {"x": x})[0], total.astype(NUMPY[dtype]))
    if dtype == "f16":  # another accumulate type, said by the user, rounds at each step
        total = np.zeros(3, np.float16)
        for column in x.T:
            total = total + column
        assert_same_bits(run(reduction("sum", (1,), 2, dtype, extra=" {accumulate = f16}"), {"x": x})[0], total)


def test_empty_reductions_give_the_neutral_element():
    x = np.zeros((2, 0), np.float32)
    for kind, value in NEUTRAL.items():
        assert run(reduction(kind, (1,), 2), {"x": x})[0].tolist() == [value] * 2
    integers = np.zeros((2, 0), np.int32)
    for kind, value in {"sum": 0, "prod": 1, "max": -(2**31), "min": 2**31 - 1}.items():
        assert run(reduction(kind, (1,), 2, "i32"), {"x": integers})[0].tolist() == [value] * 2
    booleans = np.zeros((2, 0), np.bool_)
    assert run(reduction("any", (1,), 2, "bool"), {"x": booleans})[0].tolist() == [False] * 2
    assert run(reduction("all", (1,), 2, "bool"), {"x": booleans})[0].tolist() == [True] * 2
    assert run(reduction("argmax", (1,), 2, "f32", "i64"), {"x": x})[0].tolist() == [0, 0]


def test_nan_and_ties():
    x = np.array([[1, 5, 5, 2], [3, np.nan, 9, np.nan], [-np.inf, -np.inf, -np.inf, -np.inf], [-0.0, 0.0, -0.0, 0.0]], np.float32)
    assert run(reduction("argmax", (1,), 2, "f32", "i64"), {"x": x})[0].tolist() == [1, 1, 0, 0]
    assert run(reduction("argmin", (1,), 2, "f32", "i64"), {"x": x})[0].tolist() == [0, 1, 0, 0]
    assert_same_bits(run(reduction("max", (1,), 2), {"x": x})[0], np.array([5, np.nan, -np.inf, 0.0], np.float32))
    assert_same_bits(run(reduction("min", (1,), 2), {"x": x})[0], np.array([1, np.nan, -np.inf, -0.0], np.float32))


def test_integer_and_boolean_reductions(random):
    x = random.integers(-(2**31), 2**31, (4, 9)).astype(np.int32)
    assert_same_bits(run(reduction("sum", (0,), 2, "i32"), {"x": x})[0], x.sum(0, dtype=np.int32))
    b = random.random((4, 9)) < 0.3
    assert_same_bits(run(reduction("any", (1,), 2, "bool"), {"x": b})[0], b.any(1))
    assert_same_bits(run(reduction("all", (1,), 2, "bool"), {"x": b})[0], b.all(1))


@pytest.mark.parametrize("kind, function", [("sum", np.cumsum), ("prod", np.cumprod), ("max", np.maximum.accumulate), ("min", np.minimum.accumulate)])
@pytest.mark.parametrize("axis", [0, 1])
def test_scans(kind, function, axis, random):
    x = random.standard_normal((6, 7)).astype(np.float32)
    text = graph({"x": ("f32", 2)}, f"    %y = gir.scan {kind} %x axis = {axis} : tensor<?x?xf32> -> tensor<?x?xf32>", [("y", "f32", 2)])
    assert_same_bits(run(text, {"x": x})[0], function(x, axis).astype(np.float32))
    assert run(text, {"x": np.zeros((0, 3), np.float32)})[0].shape == (0, 3)


# ---- products ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "f64", "i32", "i64"])
@pytest.mark.parametrize("flags", ["", "transpose_lhs", "transpose_rhs", "transpose_lhs transpose_rhs"])
def test_gemm_of_small_integers_is_exact(flags, dtype, random):
    for batch, m, k, n in ((2, 5, 7, 3), (1, 1, 1, 1), (3, 2, 0, 4), (0, 2, 2, 2)):
        a, b = random.integers(-3, 4, (batch, m, k)), random.integers(-3, 4, (batch, k, n))
        want = (a @ b).astype(NUMPY[dtype])
        x = np.swapaxes(a, 1, 2) if "lhs" in flags else a
        z = np.swapaxes(b, 1, 2) if "rhs" in flags else b
        t = f"tensor<?x?x?x{MLIR[dtype]}>"
        text = graph({"x": (dtype, 3), "z": (dtype, 3)}, f"    %y = gir.gemm %x, %z {flags} : {t}, {t} -> {t}", [("y", dtype, 3)])
        assert_same_bits(run(text, {"x": x.astype(NUMPY[dtype]), "z": z.astype(NUMPY[dtype])})[0], want)


def test_gemm_rounds_once(random):
    x, z = (random.standard_normal((9, 9)).astype(np.float16) for _ in range(2))
    text = graph({"x": ("f16", 2), "z": ("f16", 2)}, "    %y = gir.gemm %x, %z : tensor<?x?xf16>, tensor<?x?xf16> -> tensor<?x?xf16>", [("y", "f16", 2)])
    total = np.zeros((9, 9), np.float32)
    for i in range(9):  # products of halves are exact in f32
        total = total + x[:, i : i + 1].astype(np.float32) * z[i : i + 1].astype(np.float32)
    assert_same_bits(run(text, {"x": x, "z": z})[0], total.astype(np.float16))
    assert np.any(total.astype(np.float16) != (x @ z)) or True


# ---- control flow and checks ------------------------------------------------------------------

LOOP = """
    %zero = gir.constant dense<0> : tensor<i64>
    %y = gir.for %zero to %n step 2 init(%x) : tensor<?xf32> -> tensor<?xf32> {
    ^bb0(%i: tensor<i64>, %a: tensor<?xf32>):
      %f = gir.cast %i : tensor<i64> -> tensor<f32>
      %k = gir.dim %x, 0 : tensor<?xf32>
      %w = gir.broadcast %f axes = [] sizes(%k) : tensor<f32> -> tensor<?xf32>
      %b = gir.add %a, %w : tensor<?xf32>
      gir.yield %b : tensor<?xf32>
    }"""
BRANCH = """
    %three = gir.constant dense<3> : tensor<i64>
    %c = gir.compare gt %n, %three : tensor<i64> -> tensor<i1>
    %k = gir.dim %x, 0 : tensor<?xf32>
    %y = gir.if %c sizes(%k) -> (tensor<?xf32>) {
      %a = gir.neg %x : tensor<?xf32>
      gir.yield %a : tensor<?xf32>
    } else {
      gir.yield %x : tensor<?xf32>
    }"""
WHILE = """
    %one = gir.constant dense<1> : tensor<i64>
    %y = gir.while init(%n) : tensor<i64> -> tensor<i64> {
    ^bb0(%a: tensor<i64>):
      %more = gir.compare gt %a, %one : tensor<i64> -> tensor<i1>
      gir.condition %more
    } do {
    ^bb0(%a: tensor<i64>):
      %b = gir.shr %a, %one : tensor<i64>
      gir.yield %b : tensor<i64>
    }"""


@pytest.mark.parametrize("n", [-3, 0, 1, 3, 4, 9])
def test_control_flow(n):
    x, given = np.arange(5, dtype=np.float32), {"x": ("f32", 1), "n": ("i64", 0)}
    assert run(graph(given, LOOP, [("y", "f32", 1)]), {"x": x, "n": n})[0].tolist() == (x + sum(range(0, n, 2))).tolist()
    assert run(graph(given, BRANCH, [("y", "f32", 1)]), {"x": x, "n": n})[0].tolist() == (-x if n > 3 else x).tolist()
    assert run(graph(given, WHILE, [("y", "i64", 0)]), {"x": x, "n": n})[0] == (n if n <= 1 else 1)


def test_an_endless_loop_ends_in_an_error():
    body = WHILE.replace("gir.shr %a, %one", "gir.add %a, %one")
    with pytest.raises(tsr.RunError, match="takes more than 10000 steps"):
        run(graph({"n": ("i64", 0)}, body, [("y", "i64", 0)]), {"n": 5}, max_work=10_000)


def test_a_huge_array_ends_in_an_error():
    body = "    %y = gir.arange %n : tensor<?xi64>"
    with pytest.raises(tsr.RunError, match="too large to interpret"):
        run(graph({"n": ("i64", 0)}, body, [("y", "i64", 1)]), {"n": 2**40})


def test_checks_name_their_values():
    body = '    %m = gir.dim %x, 0 : tensor<?xf32>\n    gir.check_equal %m, %n, "x has {lhs} rows, but n is {rhs}"\n'
    text = graph({"x": ("f32", 1), "n": ("i64", 0)}, body, [("x", "f32", 1)])
    assert run(text, {"x": np.zeros(3, np.float32), "n": 3})[0].shape == (3,)
    with pytest.raises(tsr.RunError, match="x has 3 rows, but n is 4"):
        run(text, {"x": np.zeros(3, np.float32), "n": 4})
    body = '    %z = gir.constant dense<0> : tensor<i64>\n    %c = gir.compare gt %n, %z : tensor<i64> -> tensor<i1>\n    gir.check %c, "n must be positive"\n'
    with pytest.raises(tsr.RunError, match="n must be positive"):
        run(graph({"n": ("i64", 0)}, body, [("n", "i64", 0)]), {"n": 0})


def test_prints():
    text = graph({"x": ("f32", 2), "n": ("i64", 0)}, '    gir.print "x is {} and n {}", %x, %n : tensor<?x?xf32>, tensor<i64>', [("n", "i64", 0)])
    outcome = Stage.of_text(text, checked=False).run({"x": np.array([[1.5, -2], [np.nan, np.inf]], np.float32), "n": 7})
    assert outcome.printed == ["x is [[1.5, -2], [nan, inf]] and n 7"]


def test_calls():
    text = """module attributes {tessera.format = 2 : i64, tessera.stage = "graph"} {
  func.func private @twice(%x: tensor<?xf32>) -> tensor<?xf32> {
    %y = gir.add %x, %x : tensor<?xf32>
    return %y : tensor<?xf32>
  }
  func.func @f(%x: tensor<?xf32> {gir.name = "x"}) -> tensor<?xf32> {
    gir.bind_dims %x ["M"] : tensor<?xf32>
    %a = func.call @twice(%x) : (tensor<?xf32>) -> tensor<?xf32>
    %b = func.call @twice(%a) : (tensor<?xf32>) -> tensor<?xf32>
    return %b : tensor<?xf32>
  }
}
"""
    assert run(text, {"x": np.arange(3, dtype=np.float32)})[0].tolist() == [0, 4, 8]


def test_axes_of_one_name_must_agree():
    text = graph({"x": ("f32", 1), "z": ("f32", 1)}, "", [("x", "f32", 1)])
    text = text.replace('gir.name = "x"', 'gir.name = "x", gir.dims = ["M"]').replace('gir.name = "z"', 'gir.name = "z", gir.dims = ["M"]')
    with pytest.raises(tsr.RunError, match="x and z disagree on M: 3 from x, 4 from z"):
        run(text, {"x": np.zeros(3, np.float32), "z": np.zeros(4, np.float32)})


def test_an_unknown_op_is_named():
    text = graph({"x": ("f32", 1)}, "    %y = math.cbrt %x : tensor<?xf32>", [("y", "f32", 1)])
    with pytest.raises(tsr.RunError, match="no reference for 'math.cbrt'"):
        run(text, {"x": np.zeros(3, np.float32)})


def test_every_graph_op_is_executed():
    """The handlers are the ops of the dialect, less terminators and what only stands in kernels."""
    from tessera import compiler

    table = (__import__("pathlib").Path(__file__).parents[2] / "compiler/Graph/IR/GraphOps.td").read_text()
    import re

    ops = {f"gir.{name}" for name in re.findall(r'Graph_(?:Op|Unary|Binary|Predicate)<"(\w+)"', table)}
    terminators = {"gir.yield", "gir.condition"}
    kernels = {"gir.kernel", "gir.call_kernel"}  # executed with the tile level
    assert ops - terminators - kernels - set(compiler.interpreted_ops()) == set()
    assert len(ops) > 60
