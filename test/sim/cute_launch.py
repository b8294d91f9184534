# Launches kernels in CuTe DSL; what the tests of test_cute_*.py share.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The package nvidia-cutlass-dsl pins others than the rest of the tests do, so
it has an environment of its own (docs/simulator.md, "CuTe DSL")."""

import importlib.util

import pytest

MISSING = [name for name in ("cutlass", "torch") if importlib.util.find_spec(name) is None]
if MISSING:
    pytest.skip(f"not installed: {', '.join(MISSING)} (nvidia-cutlass-dsl has the first)", allow_module_level=True)

import tessera.sim.cute as host  # noqa: E402

host.activate("sm_90a", check=True)

import cutlass  # noqa: E402
import cutlass.cute as cute  # noqa: E402
from cutlass.cute.runtime import from_dlpack  # noqa: E402

import torch  # noqa: E402

NARROW = {torch.float8_e4m3fn: cutlass.Float8E4M3FN, torch.float8_e5m2: cutlass.Float8E5M2}
TORCH = {cutlass.Float16: torch.float16, cutlass.BFloat16: torch.bfloat16, cutlass.Float32: torch.float32,
         cutlass.TFloat32: torch.float32, cutlass.Int8: torch.int8, cutlass.Uint8: torch.uint8,
         **{value: key for key, value in NARROW.items()}}


def tensor(value):
    """CuTe's view of a torch tensor; rows are aligned as TMA wants them."""
    narrow = NARROW.get(value.dtype)  # which DLPack does not know
    view = from_dlpack(value if narrow is None else value.view(torch.uint8), assumed_align=16)
    if narrow is not None:
        view.element_type = narrow
    return view


def integers(dtype, rows, columns, transposed=False, seed=0):
    """Small integers of an element type, and the same in float64; transposed: the first dimension is contiguous."""
    low, high = (0, 5) if dtype is cutlass.Uint8 else (-3, 4)
    values = torch.randint(low, high, (rows, columns), generator=torch.Generator().manual_seed(seed))
    data = values.to(TORCH[dtype])
    return data.t().contiguous().t() if transposed else data, values.double().numpy()


def launch(kernel, *values, arch="sm_90a", grid=1, block=32, cluster=None, shared=0, **options):
    """Runs a kernel of one to four tensors, with checks, and returns the report."""
    active = host.activate(arch, check=True, **options)
    shape = {"grid": (grid, 1, 1), "block": (block, 1, 1), "smem": shared}
    if cluster:
        shape["cluster"] = (cluster, 1, 1)

    @cute.jit
    def one(a: cute.Tensor):
        kernel(a).launch(**shape)

    @cute.jit
    def two(a: cute.Tensor, b: cute.Tensor):
        kernel(a, b).launch(**shape)

    @cute.jit
    def three(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
        kernel(a, b, c).launch(**shape)

    [one, two, three][len(values) - 1](*map(tensor, values))
    return active.last_report


@cute.jit
def barriers(count: cutlass.Constexpr, arrivals: cutlass.Constexpr = 1):
    """A number of mbarriers that every thread of the block may use on return."""
    made = cute.arch.alloc_smem(cutlass.Int64, count, alignment=8)
    if cute.arch.thread_idx()[0] == 0:
        for i in cutlass.range_constexpr(count):
            cute.arch.mbarrier_init(made + i, arrivals)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    return made


def run(function, *values, arch="sm_90a", **options):
    """Calls a function of the host with checks, and returns the report of what it launched last."""
    active = host.activate(arch, check=True, **options)
    function(*map(tensor, values))
    return active.last_report
