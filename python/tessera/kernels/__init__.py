"""Kernels that ship with Tessera, written in Tessera.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from .attention import flash_attention
from .gemm import gemm, linear_gelu
from .rows import layer_norm, softmax

__all__ = ["flash_attention", "gemm", "layer_norm", "linear_gelu", "softmax"]
