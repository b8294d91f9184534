"""`fn.certificate()`: the formula holds, and says what the dims do.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import numpy as np
import pytest

import tessera as tsr
from tessera import Tensor, fp16, fp32
from tessera.fuzz import generate


@tsr.function
def gemm(A: Tensor["M", "K", fp16], B: Tensor["K", "N", fp16]):
    return A @ B


def arrays(*shapes, dtype=np.float32):
    return [np.random.default_rng(i).standard_normal(s).astype(dtype) for i, s in enumerate(shapes)]


def test_a_product():
    made = gemm.certificate()
    assert made.errors == ["gamma32(K)*K*|A|*|B| + u16*K*|A|*|B|"]
    assert "|error| <= gamma32(K)*K*|A|*|B| + u16*K*|A|*|B|" in str(made)
    made = gemm.certificate(*arrays((9, 100), (100, 7), dtype=np.float16))
    assert made.dims == {"M": 9, "K": 100, "N": 7}
    assert 0 < made.measured[0] <= made.bounds[0] <= made.formulas[0]
    assert "measured:" in str(made) and "K = 100" in str(made)


def test_the_formula_grows_with_the_dim():
    at = lambda k: gemm.certificate(*arrays((4, k), (k, 4), dtype=np.float16)).formulas[0]
    assert at(1000) > 5 * at(100)


@tsr.function
def block(x: Tensor["S", "D"], w: Tensor["D", "D"], g: Tensor["D"]):
    y = tsr.layer_norm(x, (D,), g)
    h = tsr.gelu(y @ w)
    return tsr.softmax(h, dim=-1), h + x


@pytest.mark.parametrize("dtype", (np.float32, np.float16))
def test_a_block(dtype):
    made = block.certificate(*arrays((12, 33), (33, 33), (33,), dtype=dtype))
    assert all(made.errors) and "|y| <=" in str(made) or "err(y) <=" in str(made)
    for measured, bound, formula in zip(made.measured, made.bounds, made.formulas):
        assert 0 < measured <= bound <= formula


@tsr.function
def loops(x, n):
    for i in range(n):
        x = x * 0.5
    return x


def test_what_has_no_formula_says_so():
    made = loops.certificate(arrays((5,))[0], 3)
    assert made.errors == [""] and "a loop" in str(made)
    assert made.measured[0] <= made.bounds[0]


@tsr.function
def quotient(x: Tensor["N", fp32], y: Tensor["N", fp32]):
    return x / y


def test_a_division_says_what_it_assumes():
    made = quotient.certificate(*arrays((50,), (50,)))
    assert "min|y|" in made.errors[0] and "which must not be 0" in str(made)
    assert made.measured[0] <= made.formulas[0]


def test_formulas_hold_on_random_programs(tmp_path):
    """The a-priori formula is above the bound derived from the inputs, which is above what is measured."""
    checked = 0
    for seed in range(150):
        program = generate(seed)
        if program.kind != "function" or program.exact or "loop" in program.tags:
            continue
        fn = program.load(str(tmp_path))
        made = fn.certificate(**program.arguments(), samples=1)
        for measured, formula in zip(made.measured, made.formulas):
            if formula is not None:
                assert measured <= formula, f"seed {seed}\n{made}\n{program.text()}"
                checked += 1
    assert checked > 20


@tsr.function
def written_layer_norm(x: Tensor["S", "D"]):
    centred = x - tsr.mean(x, dim=-1, keepdim=True)
    return centred * tsr.rsqrt(tsr.mean(centred * centred, dim=-1, keepdim=True) + 1e-5)


@tsr.function
def written_with_var(x: Tensor["S", "D"]):
    return (x - tsr.mean(x, dim=-1, keepdim=True)) / tsr.sqrt(tsr.var(x, dim=-1, keepdim=True, correction=0) + 1e-5)


@tsr.function
def written_rms_norm(x: Tensor["S", "D"]):
    return x / tsr.sqrt(tsr.mean(x**2, dim=-1, keepdim=True) + 1e-6)


@pytest.mark.parametrize("fn", (written_layer_norm, written_with_var, written_rms_norm), ids=lambda f: f.__name__)
def test_norms_that_are_written_out(fn):
    """An error of d is divided by sqrt(eps), not by eps to the power of 3/2 and then multiplied by d."""
    made = fn.certificate(*arrays((12, 64)))
    assert 0 < made.measured[0] <= made.bounds[0] <= made.formulas[0] < 0.1, made
