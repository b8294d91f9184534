"""The gradient of attention, from the row sums that its forward pass keeps; never the scores.

    O, L = attention_with_sums(Q, K, V)
    dQ, dK, dV = attention_gradient(Q, K, V, O, L, dO)

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import math

import tessera as tsr
from tessera import InOut, Out, Tensor, arrays, const, fp32, machines


@tsr.kernel.schedule(target="cpu", BLOCK_M=64, BLOCK_N=1024)
def attention_with_sums(Q: Tensor["B", "H", "S", "D"], K: Tensor["B", "HK", "T", "D"], V: Tensor["B", "HK", "T", "D"],
                        O: Out["B", "H", "S", "D"], L: Out["B", "H", "S", fp32], causal: const = False, BLOCK_M: const = 128, BLOCK_N: const = 64):
    """flash_attention that also gives log2 of each row's sum of 2^scores; +inf for a row without keys."""
    assert H % HK == 0, "H is no multiple of HK"
    scale = math.log2(math.e) / math.sqrt(D)
    for b, h, m in tsr.grid(B, H, tsr.tile(S, BLOCK_M)):
        hk = h // (H // HK)
        q = Q[b, h, m, :]
        top, den, acc = tsr.full(tsr.lowest, m), tsr.zeros(m), tsr.zeros(m, D)
        for n in tsr.tile(T, BLOCK_N, stop=m.stop + T - S if causal else T):
            s = q @ K[b, hk, n, :].T * scale
            if causal:
                s = tsr.where(m.index + (T - S) >= n.index, s, -tsr.inf)
            new = tsr.maximum(top, tsr.max(s, n))
            p, fix = tsr.exp2(s - new), tsr.exp2(top - new)
            den = den * fix + tsr.sum(p, n)
            acc = acc * fix + p.to(V.dtype) @ V[b, hk, n, :]
            top = new
        O[b, h, m, :] = acc * tsr.where(den > 0, 1 / den, 0)
        L[b, h, m] = tsr.where(den > 0, top + tsr.log2(den), tsr.inf)


@tsr.kernel
def row_products(O: Tensor["B", "H", "S", "D"], dO: Tensor["B", "H", "S", "D"], P: Out["B", "H", "S", fp32], BLOCK: const = 32):
    """P = sum of O * dO along D."""
    for b, h, m in tsr.grid(B, H, tsr.tile(S, BLOCK)):
        P[b, h, m] = tsr.sum(O[b, h, m, :].to(fp32) * dO[b, h, m, :].to(fp32), D)


@tsr.kernel.schedule(target="cpu", BLOCK_M=128, BLOCK_N=64)
def gradient_of_keys(Q: Tensor["B", "H", "S", "D"], K: Tensor["B", "HK", "T", "D"], V: Tensor["B", "HK", "T", "D"],
                     L: Tensor["B", "H", "S", fp32], P: Tensor["B", "H", "S", fp32], dO: Tensor["B", "H", "S", "D"],
                     dK: Out["B", "HK", "T", "D"], dV: Out["B", "HK", "T", "D"], causal: const = False, BLOCK_M: const = 64, BLOCK_N: const = 64):
    """A program has some keys and values, and goes through the queries of the heads that share them."""
    assert H % HK == 0, "H is no multiple of HK"
    scale = math.log2(math.e) / math.sqrt(D)
    for b, hk, n in tsr.grid(B, HK, tsr.tile(T, BLOCK_N)):
        k, v = K[b, hk, n, :], V[b, hk, n, :]
        dk, dv = tsr.zeros(n, D), tsr.zeros(n, D)
        first = tsr.maximum(n.start - (T - S), 0) // BLOCK_M * BLOCK_M if causal else 0
        for g in range(H // HK):
            h = hk * (H // HK) + g
            for m in tsr.tile(S, BLOCK_M, start=first):
                q, do = Q[b, h, m, :], dO[b, h, m, :]
                s = k @ q.T * scale                           # [n, m]
                if causal:
                    s = tsr.where(n.index <= m.index + (T - S), s, -tsr.inf)
                p = tsr.exp2(s - L[b, h, m])
                dv += p.to(V.dtype) @ do
                ds = p * (v @ do.T - P[b, h, m])
                dk += ds.to(V.dtype) @ q
        dK[b, hk, n, :] = dk / math.sqrt(D)
        dV[b, hk, n, :] = dv


@tsr.kernel.schedule(target="cpu", BLOCK_M=64, BLOCK_N=256)
def gradient_of_queries(Q: Tensor["B", "H", "S", "D"], K: Tensor["B", "HK", "T", "D"], V: Tensor["B", "HK", "T", "D"],
                        L: Tensor["B", "H", "S", fp32], P: Tensor["B", "H", "S", fp32], dO: Tensor["B", "H", "S", "D"],
                        dQ: Out["B", "H", "S", "D"], causal: const = False, BLOCK_M: const = 64, BLOCK_N: const = 64):
    scale = math.log2(math.e) / math.sqrt(D)
    for b, h, m in tsr.grid(B, H, tsr.tile(S, BLOCK_M)):
        hk = h // (H // HK)
        q, do, l, rows = Q[b, h, m, :], dO[b, h, m, :], L[b, h, m], P[b, h, m]
        dq = tsr.zeros(m, D)
        for n in tsr.tile(T, BLOCK_N, stop=m.stop + T - S if causal else T):
            k = K[b, hk, n, :]
            s = q @ k.T * scale                               # [m, n]
            if causal:
                s = tsr.where(m.index + (T - S) >= n.index, s, -tsr.inf)
            p = tsr.exp2(s - l)
            ds = p * (do @ V[b, hk, n, :].T - rows)
            dq += ds.to(K.dtype) @ k
        dQ[b, h, m, :] = dq / math.sqrt(D)


@tsr.kernel.schedule(target="cpu", BLOCK_M=128, BLOCK_N=128)
def gradients_by_heads(Q: Tensor["B", "H", "S", "D"], K: Tensor["B", "HK", "T", "D"], V: Tensor["B", "HK", "T", "D"],
                       L: Tensor["B", "H", "S", fp32], P: Tensor["B", "H", "S", fp32], dO: Tensor["B", "H", "S", "D"],
                       X: InOut["B", "H", "D", "S", fp32], dK: Out["B", "HK", "T", "D"], dV: Out["B", "HK", "T", "D"], causal: const = False,
                       BLOCK_M: const = 64, BLOCK_N: const = 64):
    """Both in one: a program has all keys of a head, so that it alone sums X, which is dQ.T * sqrt(D). Five products of blocks, not seven."""
    assert H % HK == 0, "H is no multiple of HK"
    scale = math.log2(math.e) / math.sqrt(D)
    for b, hk in tsr.grid(B, HK):
        for n in tsr.tile(T, BLOCK_N):
            k, v = K[b, hk, n, :], V[b, hk, n, :]
            turned = k.T
            dk, dv = tsr.zeros(n, D), tsr.zeros(n, D)
            first = tsr.maximum(n.start - (T - S), 0) // BLOCK_M * BLOCK_M if causal else 0
            for g in range(H // HK):
                h = hk * (H // HK) + g
                for m in tsr.tile(S, BLOCK_M, start=first):
                    q, do = Q[b, h, m, :], dO[b, h, m, :]
                    s = k @ q.T * scale                           # [n, m]
                    if causal:
                        s = tsr.where(n.index <= m.index + (T - S), s, -tsr.inf)
                    p = tsr.exp2(s - L[b, h, m])
                    dv += p.to(V.dtype) @ do
                    ds = (p * (v @ do.T - P[b, h, m])).to(V.dtype)
                    dk += ds @ q
                    X[b, h, :, m] += turned @ ds
            dK[b, hk, n, :] = dk / math.sqrt(D)
            dV[b, hk, n, :] = dv


@tsr.kernel
def no_gradient(Q: Tensor["B", "H", "S", "D"], X: Out["B", "H", "D", "S", fp32]):
    for b, h in tsr.grid(B, H):
        for m in tsr.tile(S, 256):
            X[b, h, :, m] = tsr.zeros(D, m)


@tsr.kernel
def turned_gradient(Q: Tensor["B", "H", "S", "D"], X: Tensor["B", "H", "D", "S", fp32], dQ: Out["B", "H", "S", "D"], BLOCK: const = 64):
    for b, h, m in tsr.grid(B, H, tsr.tile(S, BLOCK)):
        dQ[b, h, m, :] = X[b, h, :, m].T / math.sqrt(D)


def _is_done_by_heads(K, target: str) -> bool:
    """On a CPU, with heads for four fifths of the threads' time at least."""
    heads, threads = K.shape[0] * K.shape[1], tsr.num_threads()
    return machines.of(target).in_process and not arrays.is_on_gpu(K) and 5 * heads >= 4 * math.ceil(heads / threads) * threads


def attention_gradient(Q, K, V, O, L, dO, causal: bool = False, target: str | None = None, **schedule):
    """dQ, dK, dV of attention_with_sums. On a CPU with heads for all threads by one kernel, else by two; finite numbers give the same bits."""
    P = row_products(O, dO, target=target)
    given = (Q, K, V, L, P, dO)
    if _is_done_by_heads(K, target or "cpu"):
        X = no_gradient(Q, target=target)
        dK, dV = gradients_by_heads(*given, X, causal=causal, target=target, **schedule)
        return turned_gradient(Q, X, target=target), dK, dV
    dK, dV = gradient_of_keys(*given, causal=causal, target=target, **schedule)
    return gradient_of_queries(*given, causal=causal, target=target, **schedule), dK, dV
