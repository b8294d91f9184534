# Names of torch, NumPy, JAX and Triton: what is proposed is accepted and means the same.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each entry of compiler/Frontend/ForeignNames.inc that torch or NumPy can compute: the fix is pasted, compiled and compared."""
import importlib.util
import itertools
import re
from pathlib import Path

import numpy as np
import pytest
import tessera as tsr

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
TABLE = (ROOT / "compiler/Frontend/ForeignNames.inc").read_text()
HEAD = """\
import math
import tessera as tsr
from tessera import Tensor, Out, const, fp64, fp32, fp16, bf16, i64, i32

"""
number = itertools.count()
X = np.array([[-90.0, -8.5, -1.0, -1e-4, 0.0, 0.25, 1.5, 2.5], [1e-6, 0.5, 3.25, 8.0, 20.0, 88.0, 0.75, -2.5]], np.float32)
Y = np.array([[2.0, -3.0, 0.5, 1.0, 4.0, -0.25, 1.5, 7.0], [1.0, 2.5, -1.5, 0.5, 3.0, 5.0, -2.0, 4.0]], np.float32)
Z = np.full((2, 8), 0.25, np.float32)
NAN = np.where(np.abs(X) == 8.0, np.float32(np.nan), X)
I, J = np.arange(16, dtype=np.int64).reshape(2, 8) - 4, np.full((2, 8), 3, np.int64)


def entries(*kinds):
    return {name for kind, name in re.findall(r'^(\w+)\("(\w+)",', TABLE, re.MULTILINE) if kind in kinds}


def load(text, folder):
    path = folder / f"prog{next(number)}.py"
    path.write_text(HEAD + text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


def refused_fix(text, arrays, folder):
    """The fix that the one mistake of the program gets."""
    with pytest.raises(tsr.CompileError) as refused:
        load(text, folder)(*arrays)
    found = re.search(r"^ fix: +(.*)", str(refused.value), re.MULTILINE)
    return found[1] if found else ""


def function(expression, arrays):
    return f"@tsr.function\ndef f({', '.join('xyz'[:len(arrays)])}):\n    return {expression}\n"


def kernel(expression, arrays):
    loads = "".join(f"        {name} = {name.upper()}[m, :]\n" for name in "xyz"[:len(arrays)])
    parameters = ", ".join(f'{name.upper()}: Tensor["M", "N"]' for name in "xyz"[:len(arrays)])
    return f"@tsr.kernel\ndef f({parameters}, R: Out[\"M\", \"N\"]):\n    for m in tsr.grid(tsr.tile(M, 2)):\n{loads}        R[m, :] = ({expression}).to(R.dtype)\n"


def t(value):
    return torch.from_numpy(value)


# name, the call, its arrays, what it is there; None: computed by torch's or F's function of the name.
ELEMENTWISE = [
    *((name, f"tsr.{name}(x, y)", (X, Y), None) for name in (
        "subtract", "multiply", "divide", "true_divide", "floor_divide", "remainder", "fmod", "eq", "not_equal", "ne", "greater", "gt", "greater_equal", "ge", "less",
        "lt", "less_equal", "le", "logical_and", "logical_or", "logical_xor", "fmax", "fmin", "logaddexp", "mse_loss", "l1_loss")),
    *((name, f"tsr.{name}(x)", (X,), None) for name in (
        "negative", "positive", "square", "reciprocal", "logical_not", "absolute", "sign", "sgn", "expm1", "tan", "sinh", "cosh", "isinf", "trunc", "fix", "leaky_relu",
        "elu", "relu6", "hardtanh", "hardsigmoid", "hardswish", "softplus", "softsign", "mish", "logsigmoid")),
    *((name, f"tsr.{name}(x, y)", (I, J), None) for name in (
        "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift", "logical_and", "logical_or", "logical_xor", "floor_divide", "remainder")),
    *((name, f"tsr.{name}(x)", (I,), None) for name in ("bitwise_not", "logical_not", "negative", "square", "sign")),
    ("mod", "tsr.mod(x, y)", (X, Y), np.mod), ("rint", "tsr.rint(x)", (X,), np.rint), ("around", "tsr.around(x)", (X,), np.around), ("fabs", "tsr.fabs(x)", (X,), np.fabs),
    ("power", "tsr.power(x, y)", (np.abs(X[:, :4]) + 0.5, Y[:, :4]), np.power), ("log10", "tsr.log10(x)", (np.abs(X) + 0.5,), None),
    ("xlogy", "tsr.xlogy(x, y)", (X, np.abs(Y)), None), ("expit", "tsr.expit(x)", (X,), torch.special.expit), ("swish", "tsr.swish(x)", (X,), F.silu),
    ("log_sigmoid", "tsr.log_sigmoid(x)", (X,), F.logsigmoid), ("soft_sign", "tsr.soft_sign(x)", (X,), F.softsign), ("hard_swish", "tsr.hard_swish(x)", (X,), F.hardswish),
    ("leaky_relu", "tsr.leaky_relu(x, 0.2)", (X,), lambda x: F.leaky_relu(x, 0.2)), ("hardtanh", "tsr.hardtanh(x, -2.0, 3.0)", (X,), lambda x: F.hardtanh(x, -2.0, 3.0)),
    ("lerp", "tsr.lerp(x, y, z)", (X, Y, Z), None), ("addcmul", "tsr.addcmul(x, y, z)", (X, Y, Z), None), ("addcdiv", "tsr.addcdiv(x, y, z)", (X, Y, Z), None),
    ("fmax", "tsr.fmax(x, y)", (NAN, Y), None), ("fmin", "tsr.fmin(x, y)", (NAN, Y), None), ("masked_fill", "tsr.masked_fill(x, x > 1, 5.0)", (X,), lambda x: x.masked_fill(x > 1, 5.0)),
    ("float_power", "tsr.float_power(x, y)", (np.abs(X[:, :4]) + 0.5, Y[:, :4]), None),
]
TENSORS = [
    ("amax", "tsr.amax(x, dim=1)", (X,), lambda x: x.amax(1)), ("amin", "tsr.amin(x, dim=0)", (X,), lambda x: x.amin(0)), ("amax", "x.amax(dim=-1)", (X,), lambda x: x.amax(-1)),
    ("nansum", "tsr.nansum(x, dim=1)", (NAN,), lambda x: x.nansum(1)), ("nanmean", "tsr.nanmean(x, dim=1)", (NAN,), lambda x: x.nanmean(1)),
    ("count_nonzero", "tsr.count_nonzero(x, dim=1)", (X,), lambda x: torch.count_nonzero(x, dim=1)), ("average", "tsr.average(x, 1)", (X,), lambda x: np.average(x, 1)),
    ("std", "tsr.std(x, dim=1)", (X,), lambda x: x.std(1)), ("std", "x.std(dim=1)", (X,), lambda x: x.std(1)), ("norm", "tsr.norm(x)", (Y,), torch.norm),
    ("softmin", "tsr.softmin(x, dim=-1)", (Y,), lambda x: F.softmin(x, -1)), ("mv", "tsr.mv(x, y)", (Y, X[0]), torch.mv), ("addmm", "tsr.addmm(x, y, z)", (Y[:, :2], Y, Z.T.copy()), torch.addmm),
    ("vdot", "tsr.vdot(x, y)", (X[0], Y[0]), torch.vdot), ("inner", "tsr.inner(x, y)", (X[0], Y[0]), torch.inner), ("outer", "tsr.outer(x, y)", (X[0], Y[0]), torch.outer),
    ("concatenate", "tsr.concatenate((x, y), axis=1)", (X, Y), lambda x, y: np.concatenate((x, y), 1)), ("hstack", "tsr.hstack((x, y))", (X, Y), lambda x, y: torch.hstack((x, y))),
    ("hstack", "tsr.hstack((x, y))", (X[0], Y[0]), lambda x, y: torch.hstack((x, y))), ("vstack", "tsr.vstack((x, y))", (X, Y), lambda x, y: torch.vstack((x, y))),
    ("vstack", "tsr.vstack((x, y))", (X[0], Y[0]), lambda x, y: torch.vstack((x, y))), ("ravel", "tsr.ravel(x)", (X,), torch.ravel), ("expand_dims", "tsr.expand_dims(x, 1)", (X,), lambda x: np.expand_dims(x, 1)),
    ("einsum", 'tsr.einsum("ij,jk->ik", x, y)', (X, Y.T.copy()), lambda x, y: x @ y), ("einsum", 'tsr.einsum("ij,kj->ik", x, y)', (X, Y), lambda x, y: x @ y.T),
    ("trans", "tsr.trans(x)", (X,), lambda x: x.T), ("divmod", "divmod(x, y)[1]", (X, Y), lambda x, y: torch.remainder(x, y)),
]
TILES = [
    ("zeros_like", "tsr.zeros_like(x)", (NAN,), torch.zeros_like), ("ones_like", "tsr.ones_like(x)", (NAN,), torch.ones_like),
    ("full_like", "tsr.full_like(x, 3.0)", (NAN,), lambda x: torch.full_like(x, 3.0)), ("squeeze", "tsr.squeeze(x)", (X,), lambda x: x), ("add_", "x.add(y)", (X, Y), torch.add),
    ("mul", "x.mul(y)", (X, Y), torch.mul), ("float", "x.float()", (X,), lambda x: x), ("clone", "x.clone()", (X,), lambda x: x), ("bool", "x.bool()", (X,), lambda x: x != 0),
]
IDS = dict(ids=lambda case: f"{case[0]}-{case[1]}" if isinstance(case, tuple) else str(case))


def wanted(case):
    name, _, arrays, there = case
    there = there or getattr(torch, name, None) or getattr(F, name, None) or getattr(torch.special, name)
    try:
        result = there(*map(t, arrays))
    except TypeError:  # a ufunc
        result = there(*arrays)
    return np.asarray(result)


def compare(got, exact):
    got, exact = np.asarray(got, np.float64), np.asarray(exact, np.float64)
    np.testing.assert_allclose(got.reshape(exact.shape), exact, rtol=5e-6, atol=1e-30)


@pytest.mark.parametrize("case", [*ELEMENTWISE, *TENSORS], **IDS)
def test_fix_in_a_function_means_the_same(case, tmp_path):
    name, call, arrays, _ = case
    try:
        result = load(function(call, arrays), tmp_path)(*arrays)  # tessera has it: no fix, the same meaning
    except tsr.CompileError:
        fix = refused_fix(function(call, arrays), arrays, tmp_path)
        assert fix and "(...)" not in fix, fix
        tail = call.rpartition(")")[2] if call.startswith("divmod") else ""
        result = load(function(f"({fix}){tail}" if tail else fix, arrays), tmp_path)(*arrays)
    compare(result, wanted(case))


@pytest.mark.parametrize("case", [case for case in (*ELEMENTWISE, *TILES) if case[2][0].shape == (2, 8) and case[0] not in ("mse_loss", "l1_loss")], **IDS)
def test_fix_in_a_kernel_means_the_same(case, tmp_path):
    name, call, arrays, _ = case
    exact = wanted(case)
    out = np.empty((2, 8), exact.dtype if exact.dtype != np.bool_ else np.float32)
    try:
        program = load(kernel(call, arrays), tmp_path)
        program(*arrays, out)
    except tsr.CompileError:
        fix = refused_fix(kernel(call, arrays), (*arrays, out), tmp_path)
        assert fix and "(...)" not in fix, fix
        load(kernel(fix, arrays), tmp_path)(*arrays, out)
    compare(out, exact)


@pytest.mark.parametrize("name", sorted({"logcumsumexp", "chunk", "split", "cummin", "erfc", "atan2", "asin", "acos", "selu", "celu", "prelu", "median", "sort", "roll", "diff", "cov"}))
@pytest.mark.parametrize("shape", [function, kernel])
def test_a_name_we_do_not_have_is_no_other_one(name, shape, tmp_path):
    out = () if shape is function else (np.empty((2, 8), np.float32),)
    for call in (f"tsr.{name}(x)", f"x.{name}()"):
        fix = refused_fix(shape(call, (X,)), (X, *out), tmp_path)
        ours = {each for each, _, _ in tsr.compiler.operations(shape is kernel)} if hasattr(tsr, "compiler") else set()
        assert fix and not re.match(r"(?:tsr|x)\.\w+\(", fix), fix
        assert name not in ours


def test_no_function_of_torch_or_numpy_is_taken_for_a_misspelling(tmp_path):
    """A proposal for a name that they have comes from the table, or there is none."""
    from tessera import _core

    words = (ROOT / "compiler/Frontend/ForeignWords.inc").read_text()
    spec = importlib.util.spec_from_file_location("words", ROOT / "compiler/Frontend/generate-foreign-words.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    missing = [word for word in module.words() if not _core.is_foreign_word(word)]
    assert not missing, "run compiler/Frontend/generate-foreign-words.py"
    assert words.count('"') > 200
    assert module.ours() >= {name for kernel in (False, True) for name, _, _ in _core.operations(kernel)} - {"inf", "nan", "lowest"}


@pytest.mark.parametrize("name", ["softmaxx", "sofmax", "relue", "exponent"])
def test_misspellings_are_still_found(name, tmp_path):
    fix = refused_fix(function(f"tsr.{name}(x)", (X,)), (X,), tmp_path)
    assert name == "exponent" or fix.startswith(("tsr.softmax", "tsr.relu")), fix


def test_outside_of_programs():
    with pytest.raises(AttributeError, match=r"fix:  tsr\.max\(x\), inside"):
        tsr.amax
    with pytest.raises(AttributeError) as refused:
        tsr.logcumsumexp
    assert "tsr.logsumexp" not in str(refused.value) and "$" not in str(refused.value)
