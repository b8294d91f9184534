"""`tessera.target.TargetIRCompiler`, lines 578-610 of the usage guide (changed: the device, and the imports it forgets).

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math
import subprocess

import bounds
import numpy as np
import pytest

import tessera
from tessera import kernels
from tessera.target import TargetIRCompiler

torch = pytest.importorskip("torch")


class TesseraFlashAttention(torch.nn.Module):
    def __init__(self, head_dim, target_arch="sm_90", platform="sim"):
        super().__init__()
        self.head_dim = head_dim
        self.scale = 1.0 / math.sqrt(head_dim)
        self.platform = platform
        self.compiled_kernel = self._compile_kernel(target_arch)

    def _compile_kernel(self, target_arch):
        @tessera.function
        def flash_attention_impl(q, k, v):
            scores = tessera.matmul(q, k.transpose(-2, -1)) * self.scale
            probs = tessera.softmax(scores, dim=-1)
            return tessera.matmul(probs, v)

        compiler = TargetIRCompiler(
            target_platform=self.platform,
            target_architecture=target_arch,
            optimization_level=3,
            enable_tensor_cores=True,
            enable_autotuning=True
        )
        return compiler.compile(flash_attention_impl)

    def forward(self, q, k, v):
        return self.compiled_kernel(q, k, v)


@pytest.mark.parametrize("arch", ["sm_80", "sm_75"])
def test_the_guides_attention(arch):
    """Any length (mission map X8), dynamic shared memory where it is needed (X7), and PTX to look at."""
    attention = TesseraFlashAttention(64, target_arch=arch)
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 2, 67, 64, dtype=torch.half) for _ in range(3))
    got = attention(q, k, v)
    for head in range(2):
        e = lambda a: bounds.exact(a[0, head], "fp16")
        bounds.check(got[0, head], bounds.attention(e(q), e(k), e(v), accumulate="mma"), f"head {head}")
    ptx = attention.compiled_kernel.kernel_code
    assert f".target {arch}" in ptx and "mma.sync" in ptx
    assert "of an SM of " + arch in attention.compiled_kernel.performance_report


def test_what_it_is_for():
    assert TargetIRCompiler(target_architecture="sm_90").architecture["name"] == "sm_90a"
    with pytest.raises(tessera.ArgumentError, match="no platform is called 'cudda'; there are cuda, sim, cpu"):
        TargetIRCompiler(target_platform="cudda")
    with pytest.raises(tessera.CompileError, match="no NVIDIA architecture is called 'sm_91'"):
        TargetIRCompiler(target_architecture="sm_91")
    compiled = TargetIRCompiler(target_platform="cpu").compile(kernels.softmax)
    assert (compiled(np.zeros((2, 4), "float32")) == 0.25).all()  # exact: 1 / 4


def test_the_guides_arguments(tmp_path):
    """target_platform="cuda", "sm_90": without a GPU a call says so at the function's line; its PTX, for sm_90a, is there and assembles."""
    from machines import assemblers

    attention = TesseraFlashAttention(128, target_arch="sm_90", platform="cuda")
    q = torch.zeros(1, 1, 100, 128, dtype=torch.half)
    with pytest.warns(tessera.ScheduleWarning, match="target sm_90 is compiled as sm_90a"):
        with pytest.raises(tessera.ArgumentError, match=r"test_target_compiler.py:\d+:\d+: error: flash_attention_impl is compiled for sm_90, but its arguments are not on a GPU"):
            attention(q, q, q)
    ptx = attention.compiled_kernel.kernel_code
    assert ".target sm_90a" in ptx and "mma.sync" in ptx and "cp.async" in ptx
    (tmp_path / "k.ptx").write_text(ptx)
    for assembler in assemblers():
        done = subprocess.run([assembler, "-arch", "sm_90a", "k.ptx", "-o", "k.cubin"], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_the_optimization_level_is_llvms():
    """Other code, the same bits: floats are never reassociated."""
    x = np.random.default_rng(0).standard_normal((5, 70)).astype(np.float32)
    found = {}
    for level in (0, 1, 3):
        compiled = TargetIRCompiler(target_platform="sim", target_architecture="sm_80", optimization_level=level).compile(kernels.softmax)
        found[level] = compiled(x), len(compiled.kernel_code.splitlines())
    assert all(np.array_equal(found[level][0], found[3][0]) for level in (0, 1))
    assert found[0][1] > found[3][1]
