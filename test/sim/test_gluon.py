# Gluon: Triton's kernels that say themselves who copies, multiplies and waits, checked, under several seeds.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="triton is not installed")
from triton.experimental.gluon import language as gl  # noqa: E402
from triton.experimental.gluon.language.nvidia.blackwell import TensorMemoryLayout  # noqa: E402
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor, TensorDescriptorIm2Col  # noqa: E402

import gluon_kernels as k  # noqa: E402
from test_triton_tma_kernels import drivers, normal, product, within  # noqa: E402


def describe(tensor, *block, split=()):
    """`split` is what a step to the second block of a cluster moves."""
    layout = gl.NVMMASharedLayout.get_default_for(list(block), gl.float16, cga_layout=[list(split)] if split else None)
    return TensorDescriptor.from_tensor(tensor, list(block), layout)


@pytest.mark.parametrize("kernel, arch, word", [(k.matmul_wgmma, "sm_90", "wgmma"), (k.matmul_tcgen05, "sm_100", "tcgen05.mma")],
                         ids=["wgmma", "tcgen05"])
def test_matmul(kernel, arch, word):
    """Five tiles through a ring of three."""
    for _ in drivers(arch, word, "setmaxnreg", seeds=3):
        a, b, c = normal(128, 320), normal(128, 320), torch.zeros(128, 128).half()
        kernel[(2, 1)](describe(a, 64 if arch == "sm_90" else 128, 64), describe(b, 128, 64),
                       describe(c, 64 if arch == "sm_90" else 128, 128), 320, STAGES=3, num_warps=4)
        within(c, *product(a, b.T))


def test_pair():
    for _ in drivers("sm_100", "tcgen05.mma.cta_group::2", seeds=3):
        a, b, c = normal(256, 192), normal(192, 128), torch.zeros(256, 128).half()
        layout = TensorMemoryLayout((128, 128), col_stride=1, cga_layout=[[1, 0]], two_ctas=True)
        k.matmul_pair[(1, 1)](describe(a, 256, 64, split=(1, 0)), describe(b, 64, 128, split=(0, 1)),
                              describe(c, 256, 128, split=(1, 0)), 192, ACC=layout, num_warps=4, num_ctas=2)
        within(c, *product(a, b))


def test_claimed():
    """Six tiles; with four multiprocessors some blocks never begin."""
    for _ in drivers("sm_100", "clusterlaunchcontrol.try_cancel", seeds=3):
        a, b, c = normal(256, 64), normal(192, 64), torch.zeros(256, 192).half()
        k.matmul_claimed[(6,)](describe(a, 128, 64), describe(b, 64, 64), describe(c, 128, 64), 64, 3, num_warps=4)
        within(c, *product(a, b.T))


def test_convolution():
    for _ in drivers("sm_90", "im2col", seeds=3):
        x, w, y = normal(2, 8, 8, 64), normal(9, 64, 64), torch.zeros(128, 64).half()
        layout = gl.NVMMASharedLayout.get_default_for([128, 64], gl.float16)
        pixels = TensorDescriptorIm2Col(x, list(x.shape), list(x.stride()), [128, 64], layout, element_strides=[1, 1, 1, 1],
                                        pixel_box_lower_corner=[-1, -1], pixel_box_upper_corner=[-1, -1])
        k.convolution[(1,)](pixels, describe(w.reshape(576, 64), 64, 64), describe(y, 128, 64), TAPS=3, num_warps=4)
        weights = w.double().reshape(3, 3, 64, 64).permute(3, 2, 0, 1)
        picture = x.double().permute(0, 3, 1, 2)
        want, size = (torch.nn.functional.conv2d(p, q, padding=1).permute(0, 2, 3, 1).reshape(128, 64)
                      for p, q in ((picture, weights), (picture.abs(), weights.abs())))
        within(y, want, 576 * 2.0**-24 * size + 2.0**-11 * want.abs())
