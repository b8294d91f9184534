"""Kernels that ship with Tessera, written in Tessera.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from .attention import attention_variable, flash_attention
from .attention_gradient import attention_gradient, attention_with_sums
from .cross_entropy import cross_entropy, cross_entropy_gradient
from .fourier import fft, fft2
from .gemm import batched_gemm, gemm, gemm_split_k, grouped_gemm, linear_gelu
from .quantised import dequantise, dequantise_mx, gemm_fp8_blocks, gemm_mx, gemm_w4a16, quantise, quantise_mx
from .rows import layer_norm, layer_norm_gradient, rms_norm, rms_norm_gradient, softmax, softmax_gradient
from .sparse import densify, gemm_sparse, sparsify

__all__ = [
    "attention_gradient", "attention_variable", "attention_with_sums", "batched_gemm", "cross_entropy", "cross_entropy_gradient",
    "densify", "dequantise", "dequantise_mx", "fft", "fft2", "flash_attention", "gemm", "gemm_fp8_blocks", "gemm_mx", "gemm_sparse",
    "gemm_w4a16", "grouped_gemm", "layer_norm", "layer_norm_gradient", "linear_gelu", "quantise", "quantise_mx", "rms_norm",
    "rms_norm_gradient", "softmax", "softmax_gradient", "sparsify",
]
