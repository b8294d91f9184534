"""Products beyond `@`: 2:4 sparse, with factors for blocks (MX), and fp32 at tf32's precision; on machines that have them and that don't.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import importlib.util
import re

import ml_dtypes
import numpy as np
import pytest
import tessera as tsr
from tessera import bf16, fp8_e4m3, fp16, fp32, kernels, oracle

SMALL = dict(BLOCK_M=32, BLOCK_N=32)


def normal(*shape, seed=0):
    return np.random.default_rng((seed, *shape)).standard_normal(shape)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16], ids=["fp16", "bf16"])
@pytest.mark.parametrize("target", ["cpu", "sim:sm_75", "sim:sm_80", "sim:sm_120a"])
def test_sparse(dtype, target):
    """Against the spread-out matrix, at extents that no tile divides."""
    kept, meta = kernels.sparsify(normal(45, 160).astype(dtype))
    b = normal(160, 50, seed=1).astype(dtype)
    got = kernels.gemm_sparse(kept, meta, b, **SMALL, target=target)
    (bound,) = oracle.bounds(kernels.gemm, kernels.densify(kept, meta), b, **SMALL, BLOCK_K=32)
    oracle.assert_within(got, bound)


def test_sparse_is_one_instruction():
    ptx = kernels.gemm_sparse.compile(target="sm_80", A=fp16, B=fp16).ptx
    assert ptx.count("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32") == 32 and "mma.sync" not in ptx
    assert "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32" in kernels.gemm_sparse.compile(target="sm_120a", A=bf16, B=bf16).ptx
    assert "mma.sync.aligned.m16n8k8" in kernels.gemm_sparse.compile(target="sm_75", A=fp16, B=fp16, **SMALL).ptx


def test_sparsify_keeps_the_two_largest():
    dense = np.array([[1, -5, 2, 3] * 8], np.float32)
    kept, meta = kernels.sparsify(dense)
    assert kept.tolist() == [[-5, 3] * 8] and meta.view(np.uint32).tolist() == [[0xDDDDDDDD]]
    assert kernels.densify(kept, meta).tolist() == [[0, -5, 0, 3] * 8]


@pytest.mark.parametrize("target", ["cpu", "sim:sm_80", "sim:sm_89", "sim:sm_120a"])
def test_mx(target):
    a, sa = kernels.quantise_mx(normal(45, 160) * np.exp2(np.arange(45) - 20)[:, None])
    b, sb = kernels.quantise_mx(normal(160, 50, seed=1), axis=0)
    got = np.zeros((45, 50), np.float32)
    kernels.gemm_mx(a, sa, b, sb, got, **SMALL, target=target)
    x, y = kernels.dequantise_mx(a, sa), kernels.dequantise_mx(b, sb, axis=0)
    assert (np.abs(got - x @ y) <= 162 * 2.0**-24 * (np.abs(x) @ np.abs(y))).all()


def test_factors_at_the_ends():
    """The smallest one is a subnormal of fp32, the byte 255 is NaN."""
    a, b = np.ones((1, 32), ml_dtypes.float8_e4m3fn), np.ones((32, 2), ml_dtypes.float8_e4m3fn)
    for target in ("cpu", "sim:sm_80"):
        got = np.zeros((1, 2), np.float32)
        kernels.gemm_mx(a, np.array([[0]], np.int8), b, np.array([[127, -1]], np.int8), got, **SMALL, target=target)
        assert got[0, 0] == 32 * 2.0**-127 and np.isnan(got[0, 1])


def test_mx_is_one_instruction():
    words = dict(A=fp8_e4m3, B=fp8_e4m3, C=fp32)
    ptx = kernels.gemm_mx.compile(target="sm_120a", **words).ptx
    assert "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0" in ptx
    assert "block_scale" not in kernels.gemm_mx.compile(target="sm_89", **words, **SMALL).ptx


@pytest.mark.parametrize("target", ["cpu", "sim:sm_75", "sim:sm_80"])
def test_tf32(target):
    a, b = normal(45, 70).astype(np.float32), normal(70, 50, seed=1).astype(np.float32)
    exact = a.astype(np.float64) @ b
    off = np.abs(kernels.gemm(a, b, PRECISION="tf32", **SMALL, target=target) - exact).max()
    assert (off > 1e-4) == (target == "sim:sm_80")  # who has it uses it
    (bound,) = oracle.bounds(kernels.gemm, a, b, PRECISION="tf32", **SMALL)
    oracle.assert_within(kernels.gemm(a, b, PRECISION="tf32", **SMALL, target=target), bound)
    assert ("tf32" in kernels.gemm.compile(target="sm_80", A=fp32, B=fp32, PRECISION="tf32").ptx) and "tf32" not in kernels.gemm.compile(target="sm_80", A=fp32, B=fp32).ptx


def test_precision_of_a_function():
    @tsr.precision("tf32")
    @tsr.function
    def product(a, b):
        return a @ b

    a, b = normal(45, 70).astype(np.float32), normal(70, 50, seed=1).astype(np.float32)
    assert np.abs(product(a, b, target="sim:sm_80") - a.astype(np.float64) @ b).max() > 1e-4
    assert 'precision = "tf32"' in product.inspect_ir("graph")
    product.check(a, b, target="sm_80")


def test_whole_numbers_are_exact_in_tf32():
    a, b = (np.random.default_rng(i).integers(-1024, 1024, s).astype(np.float32) for i, s in enumerate(((33, 40), (40, 17))))
    assert np.array_equal(kernels.gemm(a, b, PRECISION="tf32", **SMALL, target="sim:sm_80"), a @ b)


@pytest.mark.parametrize("call, says", [
    ("tsr.mma_sparse(A[m, h], E[m, v], B[k, n])", "for 64 positions of k a has 32 and meta has 64 / 32, not 32 and 4"),
    ("tsr.mma_sparse(A[m, h], S[m, w], B[k, n])", "the positions of tsr.mma_sparse are i32, not i8"),
    ("tsr.mma_sparse(A[m, h], E[m, w], B[k, n], tsr.zeros(n, m))", "the accumulator of tsr.mma_sparse is an fp32 tile [m, n]"),
    ("tsr.mma_scaled(A[m, h], S[m, w], B[k, n], S[m, w])", "multiplies tiles of one dtype, fp8_e4m3 or fp8_e5m2, not fp16 and fp16"),
    ("tsr.mma_sparse(A[m, h], E[m, w], 3)", "b of tsr.mma_sparse is a tile of two axes"),
])
def test_mistakes(call, says, tmp_path):
    source = f"""
import tessera as tsr
from tessera import Tensor, Out, i32, i8

@tsr.kernel
def wrong(A: Tensor["M", "H"], E: Tensor["M", "W", i32], S: Tensor["M", "W", i8], B: Tensor["K", "N"], C: Out["M", "N"]):
    for m, n in tsr.grid(tsr.tile(M, 32), tsr.tile(N, 32)):
        k, h, w, v = tsr.range_at(K, 0, 64), tsr.range_at(H, 0, 32), tsr.range_at(W, 0, 2), tsr.range_at(W, 0, 4)
        C[m, n] = {call}
"""
    (tmp_path / "wrong.py").write_text(source)
    spec = importlib.util.spec_from_file_location("wrong", tmp_path / "wrong.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.raises(tsr.CompileError) as error:
        module.wrong.compile(target="cpu", A=fp16, B=fp16)
    assert says in str(error.value) and "wrong.py:9:" in str(error.value), str(error.value)


# ---- Tile IR that was edited, or is another machine's ----------------------------------------------


def test_tile_ir_of_another_machine():
    text = kernels.gemm.inspect_ir("tile", target="sm_89", A=fp8_e4m3, B=fp8_e4m3, C=fp32)
    kernels.gemm.resume(text, target="sm_89")
    for target in ("sm_80", "sm_75"):
        with pytest.raises(tsr.CompileError, match=f"this Tile IR was mapped for sm_89, not for {target}"):
            kernels.gemm.resume(text, target=target)


@pytest.mark.parametrize(("other", "says"), [("nonsense", "expected one of [fma, sync, sparse, scaled, wgmma, tcgen05]"), ("sync 16 x 8", "expected 'x'"), ("fma 16 x 8 x 16", "fma none"),
                                             ("sync 16 x 8 x 8", "is not the product of these types on sm_80; that is #tile.instruction<sync 16 x 8 x 16>"),
                                             ("wgmma 16 x 8 x 16", "is not the product of these types on sm_80; that is #tile.instruction<sync 16 x 8 x 16>")])
def test_an_instruction_of_other_types(other, says):
    text = kernels.gemm.inspect_ir("tile", target="sm_80", A=fp16, B=fp16)
    assert "#tile.instruction<sync 16 x 8 x 16>" in text
    with pytest.raises(tsr.CompileError, match=re.escape(says)):
        kernels.gemm.resume(text.replace("<sync 16 x 8 x 16>", f"<{other}>"), target="sm_80")


def test_a_product_without_an_instruction_is_resumed():
    text = kernels.gemm.inspect_ir("tile", target="sm_80", A=fp32, B=fp32)
    assert "#tile.instruction<fma>" in text
    kernels.gemm.resume(text, target="sm_80")


def test_k_is_whole():
    """What the factors or positions do not cover is an error, not left out."""
    eight = lambda *shape: np.ones(shape, ml_dtypes.float8_e4m3fn)  # noqa: E731
    with pytest.raises(tsr.TesseraError, match=r"axis 1 must be 32\*S = 64, but is 80"):
        kernels.gemm_mx(eight(4, 80), np.full((4, 2), 127, np.int8), eight(80, 5), np.full((2, 5), 127, np.int8), np.zeros((4, 5), np.float32))
    with pytest.raises(tsr.TesseraError, match=r"axis 1 must be 16\*W = 32, but is 40"):
        kernels.gemm_sparse(np.ones((4, 40), np.float16), np.zeros((4, 2), np.int32), np.ones((80, 5), np.float16))
