"""Composites: their direct reference against torch, against what they decompose into, and their special rows.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import numpy as np
import pytest
import tessera as tsr
import torch
from modules import MLIR, NUMPY, assert_same_bits, decomposed, graph, run
from tessera.oracle import Stage

inf = np.inf


def softmax(dtype="f32", axis=1, log=False):
    flag = " {log}" if log else ""
    return graph({"x": (dtype, 2)}, f"    %y = gir.softmax %x axis = {axis}{flag} : tensor<?x?x{MLIR[dtype]}>", [("y", dtype, 2)])


def layer_norm(dtype="f32", rms=False, parameters=2):
    names = ["w", "b"][:parameters]
    given = {"x": (dtype, 2), **{n: (dtype, 1) for n in names}}
    values = ", ".join(f"%{n}" for n in given)
    types = ", ".join([f"tensor<?x?x{dtype}>"] + [f"tensor<?x{dtype}>"] * parameters)
    return graph(given, f"    %y = gir.layer_norm {values} axes = 1 eps = 1.0e-05{' rms' if rms else ''} : {types} -> tensor<?x?x{dtype}>", [("y", dtype, 2)])


def cross_entropy(dtype="f32", result="f32"):
    return graph({"x": (dtype, 2), "t": ("i64", 1)},
                 f"    %y = gir.cross_entropy %x, %t : tensor<?x?x{dtype}>, tensor<?xi64> -> tensor<?x{result}>", [("y", result, 1)])


def reduce(kind, dtype="f32"):
    return graph({"x": (dtype, 2)}, f"    %y = gir.reduce {kind} %x axes = [1] : tensor<?x?x{dtype}> -> tensor<?x{dtype}>", [("y", dtype, 1)])


def unary(op, dtype="f32"):
    name, _, flag = op.partition(" ")
    return graph({"x": (dtype, 2)}, f"    %y = gir.{name} %x {flag} : tensor<?x?x{dtype}>", [("y", dtype, 2)])


def attention(dtype="f32", causal=False, scale=False):
    given = {n: (dtype, 4) for n in "qkv"} | ({"s": ("f32", 0)} if scale else {})
    t = f"tensor<?x?x?x?x{MLIR[dtype]}>"
    return graph(given, f"    %y = gir.attention %q, %k, %v {'scale(%s : tensor<f32>) ' if scale else ''}{'causal ' if causal else ''}: {t}, {t}, {t} -> {t}", [("y", dtype, 4)])


def as64(x):
    return torch.from_numpy(np.asarray(x).astype(np.float64))


REFERENCES = {
    "softmax": (softmax(), lambda x: torch.softmax(x, 1)),
    "softmax of columns": (softmax(axis=0), lambda x: torch.softmax(x, 0)),
    "log softmax": (softmax(log=True), lambda x: torch.log_softmax(x, 1)),
    "rms norm": (layer_norm(rms=True, parameters=0), lambda x: x / torch.sqrt((x * x).mean(1, keepdim=True) + 1e-5)),
    "layer norm": (layer_norm(parameters=0), lambda x: torch.nn.functional.layer_norm(x, x.shape[1:])),
    "logsumexp": (reduce("logsumexp"), lambda x: torch.logsumexp(x, 1)),
    "mean": (reduce("mean"), lambda x: x.mean(1)),
    "var": (reduce("var"), lambda x: x.var(1)),
    "gelu tanh": (unary("gelu {tanh}"), lambda x: torch.nn.functional.gelu(x, approximate="tanh")),
    "gelu": (unary("gelu"), torch.nn.functional.gelu),
    "silu": (unary("silu"), torch.nn.functional.silu),
    "sigmoid": (unary("sigmoid"), torch.sigmoid),
}
WHOLE = ("gelu", "silu", "sigmoid")  # element-wise as they are until tiles
DECOMPOSED = [name for name in REFERENCES if name not in WHOLE]


@pytest.mark.parametrize("name", REFERENCES)
def test_against_torch(name, random):
    text, function = REFERENCES[name]
    for shape in ((7, 5), (1, 33), (3, 2)):
        x = (random.standard_normal(shape) * 3).astype(np.float32)
        np.testing.assert_allclose(run(text, {"x": x}, "reference")[0], function(as64(x)).numpy(), rtol=1e-13, atol=1e-15)


def test_layer_norm_with_weight_and_bias(random):
    x, w, b = (random.standard_normal(s).astype(np.float32) for s in ((7, 5), 5, 5))
    want = torch.nn.functional.layer_norm(as64(x), (5,), as64(w), as64(b)).numpy()
    np.testing.assert_allclose(run(layer_norm(), {"x": x, "w": w, "b": b}, "reference")[0], want, rtol=1e-12, atol=1e-14)


def test_cross_entropy_against_torch(random):
    x, t = random.standard_normal((7, 5)).astype(np.float32), random.integers(0, 5, 7)
    want = torch.nn.functional.cross_entropy(as64(x), torch.from_numpy(t), reduction="none").numpy()
    np.testing.assert_allclose(run(cross_entropy(), {"x": x, "t": t}, "reference")[0], want, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("heads, key_heads, s, t", [(2, 2, 5, 5), (4, 2, 3, 7), (2, 1, 7, 4), (1, 1, 1, 1), (2, 2, 3, 0)])
def test_attention_against_torch(causal, heads, key_heads, s, t, random):
    q = random.standard_normal((2, heads, s, 6)).astype(np.float32)
    k, v = (random.standard_normal((2, key_heads, t, 6)).astype(np.float32) for _ in range(2))
    got = run(attention(causal=causal), {"q": q, "k": k, "v": v}, "reference")[0]
    wide = [as64(a).repeat_interleave(heads // a.shape[1], 1) for a in (q, k, v)]
    scores = wide[0] @ wide[1].transpose(-1, -2) / np.sqrt(6)
    if causal:
        seen = torch.arange(s)[:, None] + (t - s) >= torch.arange(t)[None]
        scores = scores.masked_fill(~seen, -inf)
    want = torch.nan_to_num(torch.softmax(scores, -1), nan=0.0) @ wide[2]
    np.testing.assert_allclose(got, want.numpy(), rtol=1e-12, atol=1e-14)


def test_attention_scale(random):
    q, k, v = (random.standard_normal((1, 1, 4, 3)).astype(np.float32) for _ in range(3))
    got = run(attention(scale=True), {"q": q, "k": k, "v": v, "s": 0.25}, "reference")[0]
    want = torch.softmax(as64(q) @ as64(k).transpose(-1, -2) * 0.25, -1) @ as64(v)
    np.testing.assert_allclose(got, want.numpy(), rtol=1e-12)


# ---- against the decomposition ----------------------------------------------------------------


def ring_bits(random, shape):
    return random.integers(0, 2**31, shape, dtype=np.uint32).view(np.float32)


@pytest.mark.parametrize("name", DECOMPOSED)
def test_against_the_decomposition(name, random):
    text, _ = REFERENCES[name]
    parts = decomposed(text)
    # The composite itself is gone.
    composites = ("softmax", "layer_norm", "reduce mean", "reduce var", "reduce logsumexp", "gelu")
    assert not [op for op in composites if f"gir.{op} " in parts]
    for shape in ((7, 5), (1, 1), (3, 33)):
        x = (random.standard_normal(shape) * 2).astype(np.float32)
        if name == "var" and shape[1] == 1:
            continue
        whole, pieces = (run(t, {"x": x}, "reference")[0] for t in (text, parts))
        # Constants (eps, sqrt(2 / pi)) are values of f32 in the parts.
        tolerance = 2.0**-22 if name in ("rms norm", "layer norm", "gelu tanh") else 2.0**-48
        np.testing.assert_allclose(whole, pieces, rtol=tolerance, atol=tolerance * 2.0**-8)
        bits = ring_bits(random, shape)
        assert_same_bits(run(text, {"x": bits}, "ring")[0], run(parts, {"x": bits}, "ring")[0], name)


@pytest.mark.parametrize("name", WHOLE)
def test_whole_functions_in_the_ring(name, random):
    """In tiles they are spelled out, as the interpreter computes them: equal bits, in f32 (16-bit floats are no ring)."""
    text, _ = REFERENCES[name]
    bits = ring_bits(random, (7, 5))
    program = Stage.of_text(text, "test.mlir")
    program.compilation.lower("tile-value")
    parts = program.compilation.print()
    assert f"gir.{name} " not in parts
    tiles = Stage(program.compilation).run({"x": bits}, "ring").results[0].of("ring")
    assert_same_bits(run(text, {"x": bits}, "ring")[0], tiles, name)


def test_cross_entropy_against_its_decomposition(random):
    x, t = random.standard_normal((7, 5)).astype(np.float32), np.array([0, 4, 2, -1, 5, 1, 3])
    parts = decomposed(cross_entropy())
    np.testing.assert_allclose(run(cross_entropy(), {"x": x, "t": t}, "reference")[0], run(parts, {"x": x, "t": t}, "reference")[0], rtol=2.0**-48)
    x = ring_bits(random, (7, 5))
    assert_same_bits(run(cross_entropy(), {"x": x, "t": t}, "ring")[0], run(parts, {"x": x, "t": t}, "ring")[0])


def test_a_wrong_decomposition_is_noticed(random):
    """Any one op of the decomposition changed: reference or ring must tell."""
    text, _ = REFERENCES["softmax"]
    parts = decomposed(text)
    x, bits = (random.standard_normal((5, 7)) * 2).astype(np.float32), ring_bits(random, (5, 7))
    missed = []
    for old, new in (("gir.reduce max", "gir.reduce min"), ("gir.reduce sum", "gir.reduce max"), ("gir.exp ", "gir.exp2 "), ("gir.sub", "gir.add"),
                     ("gir.div", "gir.mul"), ("gir.mul", "gir.add"), ("dense<1.0", "dense<2.0")):
        assert old in parts
        broken = parts.replace(old, new)
        same = np.allclose(run(broken, {"x": x}, "reference")[0], run(text, {"x": x}, "reference")[0], rtol=1e-9)
        if same and np.array_equal(run(broken, {"x": bits}, "ring")[0], run(text, {"x": bits}, "ring")[0]):
            missed.append(old)
    assert missed == []


def test_narrow_attention_is_excluded_from_the_ring():
    with pytest.raises(tsr.RunError, match="attention of f16 is excluded from ring mode"):
        run(attention("f16"), {n: np.zeros((1, 1, 2, 2), np.float16) for n in "qkv"}, "ring")


# ---- special rows, at every stage and compiled ------------------------------------------------


@tsr.function
def host(x):
    """Any function can take up the text of a stage."""
    return x


def at_stage(text, stage, given):
    program = Stage.of_text(text, "test.mlir")
    program.compilation.lower(stage)
    if stage != "target":
        return Stage(program.compilation).run(given).results[0].array
    return host.resume(program.compilation.print())(**given)


def everywhere(text, given):
    """The exact results at graph, which each other stage and the compiled code must share, special values included."""
    first = run(text, given)[0]
    unit = 2.0**-7 if first.dtype.itemsize == 2 else 1e-5
    for stage in ("sched", "tile-value", "tile", "target"):
        other = at_stage(text, stage, given)
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(first.astype(np.float64), other.astype(np.float64), rtol=unit, atol=1e-30, err_msg=stage)
    return first


ROWS = np.array([[-inf, -inf, -inf], [-inf, 0, 0], [inf, 0, 0], [np.nan, 0, 0], [0, 0, 0]], np.float32)


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "f64"])
def test_special_rows_of_softmax(dtype):
    x = ROWS.astype(NUMPY[dtype])
    got = everywhere(softmax(dtype), {"x": x}).astype(np.float64)
    assert got[0].tolist() == [0, 0, 0]  # a row of only minus infinity gives 0
    assert got[1].tolist() == [0, 0.5, 0.5]
    assert np.isnan(got[2:4]).all()
    assert everywhere(softmax(dtype), {"x": x[:, :0]}).shape == (5, 0)
    assert everywhere(softmax(dtype), {"x": x[:0]}).shape == (0, 3)


def test_special_rows_of_logsumexp():
    got = everywhere(reduce("logsumexp"), {"x": ROWS})
    assert got[0] == -inf and got[2] == inf and np.isnan(got[3])
    assert everywhere(reduce("logsumexp"), {"x": ROWS[:, :0]}).tolist() == [-inf] * 5


def test_special_rows_of_cross_entropy():
    got = everywhere(cross_entropy(), {"x": ROWS, "t": np.array([0, 1, 0, 1, 2])})
    np.testing.assert_allclose(got[[1, 4]], [np.log(2), np.log(3)], rtol=1e-6)
    assert np.isnan(got[[0, 2, 3]]).all()  # inf - inf, or a NaN in the row


def test_special_rows_of_layer_norm():
    x = np.array([[1, 1, 1], [np.nan, 0, 0], [inf, 0, 0]], np.float32)
    got = everywhere(layer_norm(parameters=0), {"x": x})
    assert got[0].tolist() == [0, 0, 0] and np.isnan(got[1:]).all()


@pytest.mark.parametrize("op", ["sigmoid", "silu", "gelu", "gelu {tanh}"])
def test_ends_of_functions(op):
    got = everywhere(unary(op), {"x": np.array([[-inf, inf, np.nan, -0.0, 0.0, -200, 200]], np.float32)})[0]
    zero = 0.5 if op == "sigmoid" else 0.0
    assert got[0] == 0 and got[1] == (1 if op == "sigmoid" else inf) and np.isnan(got[2]) and got[3] == zero and got[4] == zero
    assert abs(got[5]) < 1e-30 and got[6] == (1 if op == "sigmoid" else 200)


def test_special_rows_of_attention():
    q = np.zeros((1, 1, 4, 2), np.float32)
    k, v = np.zeros((1, 1, 2, 2), np.float32), np.array([1, 2, 3, 4], np.float32).reshape(1, 1, 2, 2)
    got = everywhere(attention(causal=True), {"q": q, "k": k, "v": v})[0, 0]
    assert got[:2].tolist() == [[0, 0], [0, 0]]  # queries before the first key see none
    assert got[2].tolist() == [1, 2] and got[3].tolist() == [2, 3]
    none = {"q": q, "k": k[:, :, :0], "v": v[:, :, :0]}
    assert not everywhere(attention(), none).any()
    k[0, 0, 1] = np.nan
    assert np.isnan(everywhere(attention(), {"q": q, "k": k, "v": v})).all()
