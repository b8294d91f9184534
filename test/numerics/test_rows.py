"""Row kernels of the CPU: rows longer than what is kept of them, maxima with NaN, results that keep their axis.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import re

import numpy as np
import pytest
import torch

import tessera as tsr
from tessera import Tensor, kernels

TYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


@tsr.function
def softmax(x: Tensor["M", "N"]):
    return tsr.softmax(x, dim=-1)


@tsr.function
def twice(x: Tensor["M", "N"]):
    """Two values that a later pass over the row needs again, and one of them in the passes between."""
    e = tsr.exp(x)
    t = tsr.tanh(e / tsr.sum(e, dim=-1, keepdim=True))
    return e + t / tsr.sum(t, dim=-1, keepdim=True)


@tsr.function
def of_dear(x: Tensor["M", "N"]):
    """Keeps two rows; the last pass needs one of them."""
    return tsr.softmax(tsr.gelu(x), dim=-1)


@tsr.function
def extremes(x: Tensor["M", "N"]):
    return tsr.max(x, dim=-1), tsr.min(x, dim=-1), tsr.max(x, dim=0)


@tsr.function
def log_sum_exp(x: Tensor["M", "N"]):
    top = tsr.max(x, dim=-1, keepdim=True)
    return tsr.log(tsr.sum(tsr.exp(x - top), dim=-1, keepdim=True)) + top


@tsr.function
def scale_add(x: Tensor["M", "N"], w: Tensor["N"], b: Tensor["N"]):
    return x * w + b - x


@tsr.function
def centred(x: Tensor["M", "N"], w: Tensor["N"], b: Tensor["N"]):
    return tsr.layer_norm(x, (x.shape[-1],), w, b)


@tsr.function
def scaled(x: Tensor["M", "N"], w: Tensor["N"], b: Tensor["N"]):
    return tsr.rms_norm(x, (x.shape[-1],), w) + b


@tsr.function
def spread(x: Tensor["M", "N"], w: Tensor["N"], b: Tensor["N"]):
    e = tsr.exp(x)  # kept for the passes, not for the results
    away = tsr.mean(tsr.abs(e - tsr.mean(e, axis=-1, keepdims=True)), axis=-1, keepdims=True)
    return x * away * w + b


@tsr.function
def weighted(x: Tensor["B", "M", "N"], w: Tensor["M", "N"]):
    return x / tsr.mean(x, axis=-1, keepdims=True) * w


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("size", [1, 1000, 1024, 4097, 32768, 32769, 40000, 66000])
def test_softmax_of_rows_of_any_length(size, dtype):
    torch.manual_seed(size)
    x = (4 * torch.randn(3, size)).to(TYPES[dtype])
    want = torch.softmax(x.double(), -1)
    error = (softmax(x).double() - want).abs() / want
    assert error.max() < {"float32": 4e-6, "bfloat16": 2.0**-8}[dtype]


@pytest.mark.parametrize("size", [5, 1024, 33000])
def test_two_kept_rows(size):
    x = torch.randn(2, size)
    e = x.double().exp()
    t = (e / e.sum(-1, keepdim=True)).tanh()
    want = e + t / t.sum(-1, keepdim=True)
    assert ((twice(x).double() - want).abs() / want).max() < 4e-6


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("rows, size", [(1, 512), (2, 1024), (3, 992), (40, 4096), (17, 1056), (5, 32768), (4, 32832)])
def test_results_written_beside_the_next_row_have_the_same_bits(rows, size, dtype):
    """Past the caches a row's results are written while the next row is computed (Mapping/RowStores.h)."""
    torch.manual_seed(rows)
    x = (4 * torch.randn(rows, size)).to(TYPES[dtype])
    x[rows // 2, size // 3] = float("nan")
    for function in (softmax.__wrapped__, twice.__wrapped__, of_dear.__wrapped__):
        delayed, at_once = (tsr.function.schedule(stream=stream)(function) for stream in (2, 0))
        out = torch.empty_like(x)
        delayed(x, out=out)
        loop = re.compile(r"tile\.chunk .*\n(.*\n)+? *%\S+ = scf\.for .* iter_args")  # what a row leaves to the next program
        assert loop.search(delayed.inspect_ir("tile")) and "tile.chunk" not in at_once.inspect_ir("tile")
        assert torch.equal(out.view(torch.uint8), at_once(x).view(torch.uint8))


@pytest.mark.parametrize("dtype", list(TYPES))
@pytest.mark.parametrize("rows, size", [(1, 512), (2, 1024), (3, 992), (40, 4096), (17, 1056), (21, 2048), (5, 2049), (4, 32832), (9, 140000)])
def test_normed_rows_written_together_have_the_same_bits(rows, size, dtype):
    """Nothing is kept of a row but its mean and deviation: short rows are written beside the next one; of long ones four together while they are near,
    and those left one by one."""
    torch.manual_seed(rows)
    x, w, b = ((4 * torch.randn(*shape)).to(TYPES[dtype]) for shape in ((rows, size), (size,), (size,)))
    for function in (centred.__wrapped__, scaled.__wrapped__, spread.__wrapped__):
        delayed, at_once = (tsr.function.schedule(stream=stream)(function) for stream in (2, 0))
        out = torch.empty_like(x)
        delayed(x, w, b, out=out)
        assert torch.equal(out.view(torch.uint8), at_once(x, w, b).view(torch.uint8))


@pytest.mark.parametrize("dtype", list(TYPES))
def test_rows_whose_passes_take_lanes_in_two_orders(dtype):
    """bf16 is taken in pairs where it is contiguous; what is gathered is not, so the two are not one loop."""

    def mixed(x: Tensor["M", "N"], z: Tensor["N", "M"]):
        return tsr.where(z.T <= x, tsr.min(x, dim=-1, keepdim=True), x)

    torch.manual_seed(0)
    x, z = torch.randn(9, 1056).to(TYPES[dtype]), torch.randn(1056, 9).to(TYPES[dtype])
    delayed, at_once = (tsr.function.schedule(stream=stream)(mixed) for stream in (2, 0))
    out = torch.empty_like(x)
    delayed(x, z, out=out)
    assert torch.equal(out.view(torch.uint8), at_once(x, z).view(torch.uint8))


@pytest.mark.parametrize("shape", [(3, 5, 1024), (2, 1, 1056), (7, 2, 64)])
def test_rows_of_several_axes_written_together_have_the_same_bits(shape):
    torch.manual_seed(0)
    x, w = torch.randn(*shape), torch.randn(*shape[1:])
    delayed, at_once = (tsr.function.schedule(stream=stream)(weighted.__wrapped__) for stream in (2, 0))
    out = torch.empty_like(x)
    delayed(x, w, out=out)
    assert torch.equal(out, at_once(x, w))


@pytest.mark.parametrize("dtype", list(TYPES))
@pytest.mark.parametrize("size", [7, 64, 1000, 1024, 2049])
def test_extremes_keep_nan(size, dtype):
    """A NaN anywhere in a row is the row's maximum and minimum; all other rows have theirs, exactly."""
    torch.manual_seed(0)
    places = sorted({0, 1, 15, 16, 17, 63, size // 2, size - 2, size - 1} & set(range(size)))
    x = torch.randn(len(places) + 1, size).to(TYPES[dtype])
    for row, place in enumerate(places):
        x[row, place] = float("nan")
    greatest, least, column = extremes(x)
    for ours, theirs in ((greatest, x.amax(-1)), (least, x.amin(-1)), (column, x.amax(0))):
        np.testing.assert_array_equal(ours.float().numpy(), theirs.float().numpy())
    assert torch.isnan(greatest).tolist() == [True] * len(places) + [False]


@pytest.mark.parametrize("fill", [float("-inf"), float("inf"), -0.0])
def test_extremes_of_special_rows(fill):
    x = torch.full((2, 300), fill)
    greatest, least, _ = extremes(x)
    assert torch.equal(greatest, x.amax(-1)) and torch.equal(least, x.amin(-1))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_result_that_keeps_its_axis_has_loops_for_its_row(dtype):
    x = torch.randn(8, 3000).to(TYPES[dtype])
    want = torch.logsumexp(x.double(), -1, keepdim=True)
    assert (log_sum_exp(x).double() - want).abs().max() < {"float32": 1e-5, "bfloat16": 0.1}[dtype]
    assert 'sched.tile 1 by <1024, [256, 512, 1024, 2048, 4096], default> as loop {name = "N"}' in log_sum_exp.inspect_ir("sched")
    # Whether it is worth several threads is a matter of the row, too.
    assert "work $M * $N" in log_sum_exp.compile(x={"float32": tsr.fp32, "bfloat16": tsr.bf16}[dtype]).plan


def special(rows, size, seed=0):
    """bf16 with NaN of any bits, infinities, subnormals and zeros among numbers of all sizes."""
    bits = np.random.default_rng(seed).integers(0, 1 << 16, (rows, size)).astype(np.uint16)
    bits[:, ::7] = np.resize(np.array([0xFFFF, 0x7FFF, 0x7F81, 0x7F80, 0xFF80, 0x0001, 0x8001, 0x007F, 0x8000, 0x0000], np.uint16), bits[:, ::7].shape)
    return torch.from_numpy(bits.view(np.int16)).view(torch.bfloat16)


@pytest.mark.parametrize("apart", [1, 2])
@pytest.mark.parametrize("size", [1, 2, 15, 16, 31, 32, 33, 63, 64, 65, 127, 1000, 4097])
def test_lines_of_bf16_are_rounded_after_each_op(size, apart):
    """Even and odd places of a line are two registers (NestPairs.cpp). torch rounds each op, too: the same bits."""
    x, w, b = special(3 * apart, size + 3)[::apart, 3:], special(1, size, 1)[0], special(1, size, 2)[0]
    ours, theirs = scale_add(x, w, b), x * w + b - x
    assert torch.equal(torch.isnan(ours), torch.isnan(theirs))
    assert torch.equal(ours[~torch.isnan(ours)].view(torch.int16), theirs[~torch.isnan(theirs)].view(torch.int16))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("size", [1, 31, 32, 33, 65, 1000, 4097, 33000])
def test_sums_of_lines_of_16_bits(size, dtype):
    torch.manual_seed(size)
    x, w, b = (torch.randn(*shape).to(TYPES[dtype]) for shape in ((3, size), (size,), (size,)))
    want = torch.nn.functional.layer_norm(x.double(), (size,), w.double(), b.double())
    error = (centred(x, w, b).double() - want).abs() / (want.abs() + 1e-3)
    assert error.max() < {"bfloat16": 2.0**-8, "float16": 2.0**-10}[dtype]


@pytest.mark.parametrize("block", [1, 4])
@pytest.mark.parametrize("rows, size, skip", [(2101, 1024, 0), (2101, 1024, 3), (2101, 1001, 0)])
def test_kernels_with_large_results(rows, size, skip, block):
    """Past the caches where the result begins at a line and its rows do, too; the last block has one row."""
    torch.manual_seed(0)
    x, out = torch.randn(rows, size), torch.empty(rows * size + 64)
    out = out[-out.data_ptr() // 4 % 16 + skip :][: rows * size].view(rows, size)
    kernels.softmax(x, out, BLOCK=block)
    want = torch.softmax(x.double(), -1)
    assert ((out.double() - want).abs() / want).max() < 4e-6
