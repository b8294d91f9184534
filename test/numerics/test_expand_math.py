# The math expansions are within 2 ULP of libm and right at special values.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the fast form of tools/math/exhaustive.py: every 257th float32."""

import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "math"))
import exhaustive  # noqa: E402

OPT = exhaustive.find_opt()
pytestmark = pytest.mark.skipif(OPT is None, reason="tessera-opt is not built")


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    return exhaustive.build(tmp_path_factory.mktemp("math"), OPT)


@pytest.fixture(scope="module")
def branching_driver(tmp_path_factory):
    return exhaustive.build(tmp_path_factory.mktemp("branching"), OPT,
                            pass_options="=branch-on-large-arguments=true")


@pytest.fixture(scope="module")
def narrow_driver(tmp_path_factory):
    """Vectors of another width, which LLVM splits or widens."""
    return exhaustive.build(tmp_path_factory.mktemp("narrow"), OPT,
                            vector_width=4)


def check(executable, name, stride, pairs=1 << 21):
    result = exhaustive.measure(executable, name, stride, pairs, 0, 2)
    assert exhaustive.verdict(result) is None, exhaustive.verdict(result)
    # The sample must be able to see an error at all: nothing is exact here.
    assert result["max_ulp"] > 0.5
    assert result["inputs"] >= min(pairs, (1 << 32) // stride)


@pytest.mark.parametrize("name", exhaustive.FUNCTIONS)
def test_within_2_ulp(driver, name):
    check(driver, name, stride=257)


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_branch_on_large_arguments(branching_driver, name):
    check(branching_driver, name, stride=257)


@pytest.mark.parametrize("name", exhaustive.FUNCTIONS)
def test_other_vector_width(narrow_driver, name):
    check(narrow_driver, name, stride=65537, pairs=1 << 16)


def test_verdict_rejects_what_breaks_the_contract():
    good = {"max_ulp": 1.9, "at": "", "at_y": "", "wrong_specials": 0,
            "wrong_at": "", "wrong_at_y": "", "scalar_differs": 0}
    assert exhaustive.verdict(good) is None
    for key, value in [("max_ulp", 2.1), ("wrong_specials", 1),
                       ("scalar_differs", 1)]:
        assert exhaustive.verdict({**good, key: value}) is not None


@pytest.mark.parametrize("name", ["exp", "exp2"])
def test_exponentials_of_this_cpu(name):
    """As compiled here, with AVX-512's own instructions where it has them: every 4,099th float32, whole vectors and a tail."""
    import numpy as np

    import tessera as tsr
    from tessera import Tensor

    @tsr.function
    def ours(x: Tensor["N"]):
        return tsr.exp(x) if name == "exp" else tsr.exp2(x)

    x = np.arange(0, 1 << 32, 4099, dtype=np.uint64).astype(np.uint32).view(np.float32)
    x = np.concatenate([x, np.float32([np.inf, -np.inf, np.nan, 0, -0.0, 88.72283, 88.72284, -103.97208, -103.97209, -104, 3e38, -3e38])])
    with np.errstate(all="ignore"):
        exact = getattr(np, name)(x.astype(np.float64))
        want = exact.astype(np.float32)
    got = ours(x)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(x))
    np.testing.assert_array_equal(np.isinf(got), np.isinf(want))
    finite = np.isfinite(want)
    error = np.abs(got[finite] - exact[finite]) / np.maximum(np.spacing(want[finite]), 2.0**-149)
    assert 0.5 < error.max() <= 1
