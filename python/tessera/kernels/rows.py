"""Row by row: softmax, layer_norm and rms_norm, and the gradients of the norms.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import tessera as tsr
from tessera import Out, Tensor, const, fp32


@tsr.kernel.schedule(target="cpu", BLOCK=1)
def softmax(X: Tensor["M", "N"], Y: Out["M", "N"], BLOCK: const = 4):
    """exp(x - max) / sum along the last axis, in fp32."""
    for m in tsr.grid(tsr.tile(M, BLOCK)):
        x = X[m, :].to(fp32)
        e = tsr.exp(x - tsr.max(x, N))
        Y[m, :] = e * (1 / tsr.sum(e, N))


@tsr.kernel
def softmax_gradient(Y: Tensor["M", "N"], dY: Tensor["M", "N"], dX: Out["M", "N"], BLOCK: const = 4):
    """From the forward pass's result."""
    for m in tsr.grid(tsr.tile(M, BLOCK)):
        y, dy = Y[m, :].to(fp32), dY[m, :].to(fp32)
        dX[m, :] = y * (dy - tsr.sum(y * dy, N))


@tsr.kernel
def layer_norm(X: Tensor["M", "N"], weight: Tensor["N"], bias: Tensor["N"], Y: Out["M", "N"], eps: const = 1e-5, BLOCK: const = 4):
    """(x - mean) / sqrt(var + eps) * weight + bias along the last axis, in fp32."""
    for m in tsr.grid(tsr.tile(M, BLOCK)):
        x = X[m, :].to(fp32)
        x = x - tsr.mean(x, N)
        y = x * tsr.rsqrt(tsr.mean(x * x, N) + eps)
        Y[m, :] = y * weight[:].to(fp32) + bias[:].to(fp32)


@tsr.kernel
def rms_norm(X: Tensor["M", "N"], weight: Tensor["N"], Y: Out["M", "N"], eps: const = 1e-6, BLOCK: const = 4):
    """x / sqrt(mean of squares + eps) * weight along the last axis, in fp32."""
    for m in tsr.grid(tsr.tile(M, BLOCK)):
        x = X[m, :].to(fp32)
        Y[m, :] = x * tsr.rsqrt(tsr.mean(x * x, N) + eps) * weight[:].to(fp32)


# The gradients take what is cheap to compute again from X: one kernel goes along the rows, one along the columns.


@tsr.kernel
def layer_norm_input_gradient(X: Tensor["M", "N"], weight: Tensor["N"], dY: Tensor["M", "N"], dX: Out["M", "N"],
                              mean: Out["M", fp32], scale: Out["M", fp32], eps: const = 1e-5, BLOCK: const = 4):
    """Also gives each row's mean and 1 / sqrt(var + eps), for the gradient of weight."""
    for m in tsr.grid(tsr.tile(M, BLOCK)):
        x, dy = X[m, :].to(fp32), dY[m, :].to(fp32) * weight[:].to(fp32)
        average = tsr.mean(x, N)
        x = x - average
        s = tsr.rsqrt(tsr.mean(x * x, N) + eps)
        x = x * s
        dX[m, :] = (dy - tsr.mean(dy, N) - x * tsr.mean(dy * x, N)) * s
        mean[m] = average
        scale[m] = s


@tsr.kernel
def layer_norm_weight_gradient(X: Tensor["M", "N"], dY: Tensor["M", "N"], mean: Tensor["M", fp32], scale: Tensor["M", fp32],
                               dW: Out["N", fp32], dB: Out["N", fp32], BLOCK_M: const = 64, BLOCK_N: const = 64):
    for n in tsr.grid(tsr.tile(N, BLOCK_N)):
        dw, db = tsr.zeros(n), tsr.zeros(n)
        for m in tsr.tile(M, BLOCK_M):
            dy = dY[m, n].to(fp32)
            dw += tsr.sum(dy * (X[m, n].to(fp32) - mean[m]) * scale[m], m)
            db += tsr.sum(dy, m)
        dW[n] = dw
        dB[n] = db


def layer_norm_gradient(X, weight, dY, eps: float = 1e-5, target=None):
    """dX, dWeight, dBias of layer_norm."""
    dX, mean, scale = layer_norm_input_gradient(X, weight, dY, eps=eps, target=target)
    return dX, *layer_norm_weight_gradient(X, dY, mean, scale, target=target)


@tsr.kernel
def rms_norm_input_gradient(X: Tensor["M", "N"], weight: Tensor["N"], dY: Tensor["M", "N"], dX: Out["M", "N"], scale: Out["M", fp32],
                            eps: const = 1e-6, BLOCK: const = 4):
    for m in tsr.grid(tsr.tile(M, BLOCK)):
        x, dy = X[m, :].to(fp32), dY[m, :].to(fp32) * weight[:].to(fp32)
        s = tsr.rsqrt(tsr.mean(x * x, N) + eps)
        x = x * s
        dX[m, :] = (dy - x * tsr.mean(dy * x, N)) * s
        scale[m] = s


@tsr.kernel
def rms_norm_weight_gradient(X: Tensor["M", "N"], dY: Tensor["M", "N"], scale: Tensor["M", fp32], dW: Out["N", fp32],
                             BLOCK_M: const = 64, BLOCK_N: const = 64):
    for n in tsr.grid(tsr.tile(N, BLOCK_N)):
        dw = tsr.zeros(n)
        for m in tsr.tile(M, BLOCK_M):
            dw += tsr.sum(dY[m, n].to(fp32) * X[m, n].to(fp32) * scale[m], m)
        dW[n] = dw


def rms_norm_gradient(X, weight, dY, eps: float = 1e-6, target=None):
    """dX, dWeight of rms_norm."""
    dX, scale = rms_norm_input_gradient(X, weight, dY, eps=eps, target=target)
    return dX, rms_norm_weight_gradient(X, dY, scale, target=target)
