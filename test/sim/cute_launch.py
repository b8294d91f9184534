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

import cutlass.cute as cute  # noqa: E402
from cutlass.cute.runtime import from_dlpack  # noqa: E402


def tensor(value):
    """CuTe's view of a torch tensor; rows are aligned as TMA wants them."""
    return from_dlpack(value, assumed_align=16)


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
