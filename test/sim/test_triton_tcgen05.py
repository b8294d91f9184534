# Triton kernels whose dots are tcgen05 (sm_100), checked, with a seed and without.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels are those of test_triton.py, test_triton_tma.py, test_triton_wgmma.py and test_triton_clusters.py, with the same
bounds; each of the modules' functions asks `drivers` for its machine."""

import os

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
triton = pytest.importorskip("triton", reason="triton is not installed")
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
import triton.language as tl  # noqa: E402

import tessera.sim.triton as sim_triton  # noqa: E402
import test_triton  # noqa: E402
import test_triton_clusters as clusters  # noqa: E402
import test_triton_tma as tma  # noqa: E402
import test_triton_wgmma as wgmma  # noqa: E402


def drivers(*_, seeds=2, words=("tcgen05.mma",), **__):
    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8))
    for seed in range(seeds):
        torch.manual_seed(5)
        driver = sim_triton.activate("sm_100", check=True, adversarial=seed > 0, seed=seed)
        yield driver
        assert all(word in driver.last_report.ptx for word in words)
        assert not [e for e in driver.last_report.errors if e["kind"] != "remark"]


@triton.jit
def matmul_two_blocks(A, B, C, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    total = tl.zeros((BM, BN), tl.float32)
    for x in range(0, K, BK):
        total = tl.dot(A.load([0, x]), B.load([x, 0]), total)
    C.store([0, 0], total.to(tl.float16))


def two_blocks():
    """Triton 3.9 lets each of the blocks multiply for itself (.cta_group::1)."""
    for _ in drivers(words=("tcgen05.mma", "barrier.cluster")):
        a, b, c = torch.randn(256, 192).half(), torch.randn(192, 128).half(), torch.zeros(256, 128).half()
        matmul_two_blocks[(1,)](tma.describe(a, 256, 64), tma.describe(b, 64, 128), tma.describe(c, 256, 128), 192, BM=256, BN=128,
                                BK=64, num_warps=4, num_ctas=2)
        wgmma.close(c, a.double() @ b.double(), 2.0**-10 * wgmma.magnitude(a, b))


def plain(test, *arguments, words=("tcgen05.mma",)):
    """A test of test_triton.py."""
    return lambda: [test(driver, *arguments) for driver in drivers(words=words)]


F32, F16, BF16 = torch.float32, torch.float16, torch.bfloat16
KERNELS = {
    "matmul_f16": lambda: wgmma.test_matmul_with_pointers(F16, tl.float32, 2**-19),
    "matmul_f16_f16": lambda: wgmma.test_matmul_with_pointers(F16, tl.float16, 2**-10),
    "matmul_bf16": lambda: wgmma.test_matmul_with_pointers(BF16, tl.float32, 2**-19),
    "matmul_tf32": lambda: wgmma.test_matmul_with_pointers(F32, tl.float32, 2**-10),
    "matmul_e4m3": lambda: wgmma.test_matmul_with_pointers(torch.float8_e4m3fn, tl.float32, 2**-12),
    "matmul_e5m2": lambda: wgmma.test_matmul_with_pointers(torch.float8_e5m2, tl.float32, 2**-12),
    "matmul_eight_warps": wgmma.test_two_warp_groups,
    "matmul_descriptors": wgmma.test_matmul_with_descriptors,
    "matmul_persistent": wgmma.test_matmul_persistent,
    "matmul_specialised": wgmma.test_matmul_warp_specialised,
    "matmul_two_blocks": two_blocks,
    "attention_specialised": wgmma.test_attention_warp_specialised,
    "attention_descriptors": lambda: tma.test_attention("sm_100"),
    "matmul_partial_tiles": lambda: tma.test_matmul("sm_100"),
    "attention_forward": plain(test_triton.test_attention_forward, True, 64, F16),
    "attention_backward": plain(test_triton.test_attention_backward),
    "grouped": plain(test_triton.test_grouped_gemm),
    "splitk": plain(test_triton.test_matmul_splitk),
    "mxfp8": plain(test_triton.test_matmul_block_scaled, "mxfp8"),
    "mxfp4": plain(test_triton.test_matmul_block_scaled, "mxfp4"),
    "nvfp4": plain(test_triton.test_matmul_block_scaled, "nvfp4"),
}


@pytest.mark.parametrize("name", KERNELS)
def test_kernel(name, monkeypatch):
    for module in (wgmma, tma, clusters):
        monkeypatch.setattr(module, "drivers", drivers)
    KERNELS[name]()
