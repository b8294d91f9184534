# CuTe DSL's own compile and launch paths, on the simulator.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pytest
from cute_launch import cute, host, tensor

import cutlass
import torch
from cutlass.cute.runtime import from_dlpack
from cutlass.utils import HardwareInfo


@cute.kernel
def add_one(a: cute.Tensor, b: cute.Tensor):
    at = cute.arch.thread_idx()[0] + cute.arch.block_idx()[0] * cute.arch.block_dim()[0]
    b[at] = a[at] + cutlass.Float32(1)


@cute.jit
def add_one_everywhere(a: cute.Tensor, b: cute.Tensor):
    add_one(a, b).launch(grid=(cute.size(a) // 32, 1, 1), block=(32, 1, 1))


@cute.kernel
def two_write_one(a: cute.Tensor):
    lane = cute.arch.thread_idx()[0]
    a[lane // 2] = cutlass.Float32(lane)


@cute.jit
def race(a: cute.Tensor):
    two_write_one(a).launch(grid=(1, 1, 1), block=(32, 1, 1))


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
def test_jit_and_compile(arch):
    host.activate(arch, check=True)
    a, b = torch.rand(128), torch.zeros(128)
    add_one_everywhere(tensor(a), tensor(b))
    assert (b == a + 1).all()
    b.zero_()
    compiled = cute.compile(add_one_everywhere, tensor(a), tensor(b))
    compiled(tensor(a), tensor(b))
    assert (b == a + 1).all()


def test_compiled_programs_outlive_a_host():
    host.activate("sm_90a", check=True)
    a, b = torch.rand(64), torch.zeros(64)
    compiled = cute.compile(add_one_everywhere, tensor(a), tensor(b))
    compiled(tensor(a), tensor(b))
    active = host.activate("sm_90a", check=True, adversarial=True, seed=1)
    b.zero_()
    compiled(tensor(a), tensor(b))
    assert (b == a + 1).all() and active.last_report.ok


@pytest.mark.parametrize("options", ["", "--enable-tvm-ffi"])
def test_findings_are_raised(options):
    active = host.activate("sm_90a", check=True)
    a = torch.zeros(32)
    if options:
        pytest.importorskip("tvm_ffi", reason="apache-tvm-ffi is not installed")
        compiled = cute.compile(race, from_dlpack(a, enable_tvm_ffi=True), options=options)
    else:
        compiled = cute.compile(race, tensor(a))
    with pytest.raises(host.SimulationError, match="write-after-write race"):
        compiled(a if options else tensor(a))
    assert active.last_report.errors[0]["kind"] == "race"


def test_unwritten_tensors_are_found():
    host.activate("sm_90a", check=True)
    with pytest.raises(host.SimulationError, match="uninit"):
        add_one_everywhere(tensor(torch.empty(32)), tensor(torch.zeros(32)))


def test_tvm_calling_convention():
    pytest.importorskip("tvm_ffi", reason="apache-tvm-ffi is not installed")
    host.activate("sm_100a", check=True)
    a, b = torch.rand(64), torch.zeros(64)
    compiled = cute.compile(add_one_everywhere, *(from_dlpack(t, enable_tvm_ffi=True) for t in (a, b)),
                            options="--enable-tvm-ffi")
    compiled(a, b)
    assert (b == a + 1).all()


def test_hardware_information():
    active = host.activate("sm_90a")
    info = HardwareInfo()
    count = info.get_device_multiprocessor_count()
    assert count == active.board.multiprocessors
    assert info.get_max_active_clusters(2) == count // 2
