"""Right kernels that mistakes are made in. Whole numbers, so that sums and products are exact.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

INPUTS = {
    "x": "rng.integers(-8, 9, (50, 70)).astype(np.float32)",
    "w": "rng.integers(-8, 9, (70, 40)).astype(np.float32)",
    "v": "rng.integers(-8, 9, (70,)).astype(np.float32)",
    "u": "rng.integers(-8, 9, (50,)).astype(np.float32)",
    "h": "rng.integers(-8, 9, (50, 70)).astype(np.float16)",
    "g": "rng.integers(-8, 9, (70, 40)).astype(np.float16)",
    "q": "rng.integers(-8, 9, (40, 70)).astype(np.int8)",
    "z": "rng.integers(-8, 9, (3, 50, 70)).astype(np.float32)",
    "i": "rng.integers(0, 20, (70,))",
    "j": "rng.integers(0, 20, (50, 70)).astype(np.int32)",
}


def program(text: str, *inputs: str, call: str = "") -> str:
    """The definitions, the inputs they need, and the call."""
    made = "\n".join(["rng = np.random.default_rng(7)", *(f"{name} = {INPUTS[name]}" for name in inputs)])
    return f"{text.strip()}\n\n\n{made}\nresult = {call or f'f({chr(44).join(inputs)})'.replace(',', ', ')}"


SCALE = program('''
@tsr.kernel
def f(X: Tensor["N"], Y: Out["N"], factor: fp32, BN: const = 32):
    for n in tsr.grid(tsr.tile(N, BN)):
        Y[n] = X[n] * factor
''', "v", call="f(v, factor=3.0)")

ADD = program('''
@tsr.kernel
def f(left: Tensor["M", "N", fp32], right: Tensor["M", "N", fp32], total: Out["M", "N"], BM: const = 16, BN: const = 32):
    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN)):
        total[m, n] = tsr.maximum(left[m, n] + right[m, n], 0.0)
''', "x", call="f(x, x * 2)")

ROW_SUMS = program('''
@tsr.kernel
def f(X: Tensor["M", "N"], sums: Out["M"], BM: const = 16, BN: const = 32):
    for m in tsr.grid(tsr.tile(M, BM)):
        acc = tsr.zeros(m)
        for n in tsr.tile(N, BN):
            acc += tsr.sum(X[m, n], n)
        sums[m] = acc
''', "x")

ROW_PEAKS = program('''
@tsr.kernel
def f(X: Tensor["M", "N"], peaks: Out["M"], lows: Out["M"], BM: const = 16, BN: const = 32):
    for m in tsr.grid(tsr.tile(M, BM)):
        top = tsr.full(-tsr.inf, m)
        bottom = tsr.full(tsr.inf, m)
        for n in tsr.tile(N, BN):
            tile = X[m, n]
            top = tsr.maximum(top, tsr.max(tile, n))
            bottom = tsr.minimum(bottom, tsr.min(tile, n))
        peaks[m] = top
        lows[m] = bottom
''', "x")

PRODUCT = program('''
@tsr.kernel
def f(A: Tensor["M", "K"], B: Tensor["K", "N"], P: Out["M", "N"], BM: const = 32, BN: const = 32, BK: const = 16):
    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN), group=4):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, BK):
            acc += A[m, k] @ B[k, n]
        P[m, n] = acc
''', "x", "w")

PRODUCT_WITH_BIAS = program('''
@tsr.kernel.schedule(num_warps=4, num_stages=2)
def f(A: Tensor["M", "K"], B: Tensor["K", "N"], bias: Tensor["M"], P: Out["M", "N"], BM: const = 32, BN: const = 32):
    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN)):
        product = A[m, :] @ B[:, n]
        P[m, n] = tsr.relu(product + bias[m])
''', "x", "w", "u")

HALF_PRODUCT = program('''
@tsr.kernel
def f(A: Tensor["M", "K", fp16], B: Tensor["K", "N", fp16], P: Out["M", "N", fp32], BM: const = 32, BN: const = 32, BK: const = 16):
    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN)):
        acc = tsr.zeros(m, n)
        for k in tsr.tile(K, BK):
            acc += A[m, k] @ B[k, n]
        P[m, n] = acc * 0.5
''', "h", "g")

BATCH = program('''
@tsr.kernel
def f(X: Tensor["B", "M", "N"], means: Out["B", "M"], BM: const = 16):
    for b, m in tsr.grid(B, tsr.tile(M, BM)):
        means[b, m] = tsr.sum(X[b, m, :], N)
''', "z")

TRANSPOSED = program('''
@tsr.kernel
def f(X: Tensor["M", "N"], turned: Out["N", "M"], BM: const = 16, BN: const = 16):
    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN)):
        turned[n, m] = X[m, n].T
''', "x")

SOFTMAX = program('''
@tsr.kernel
def f(X: Tensor["M", "N"], Y: Out["M", "N"], BM: const = 4):
    for m in tsr.grid(tsr.tile(M, BM)):
        row = X[m, :].to(fp32)
        weights = tsr.exp(row - tsr.max(row, N))
        Y[m, :] = weights / tsr.sum(weights, N)
''', "x")

STEPS = program('''
@tsr.kernel
def f(X: Tensor["N"], steps: Out["N"], BN: const = 32):
    for n in tsr.grid(tsr.tile(N, BN)):
        steps[n] = X[n] - X[N - 1]
''', "v")

MASKED = program('''
@tsr.kernel
def f(X: Tensor["M", "N"], Y: Out["M", "N"], limit: i64, BM: const = 16, BN: const = 16):
    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN)):
        tile = X[m, n]
        keep = (m.index >= n.index) & (n.index < limit)
        Y[m, n] = tsr.where(keep, tile, 0.0)
''', "x", call="f(x, limit=20)")

COUNTS = program('''
@tsr.kernel
def f(labels: Tensor["N", i64], counts: Region[reduce_sum, Tensor["K", fp32]], BN: const = 32):
    for n in tsr.grid(tsr.tile(N, BN)):
        tsr.atomic_add(counts, (labels[n],), 1.0)


counted = np.zeros(20, np.float32)
''', "i", call="(f(i, counted), counted)[1]")

GATHER = program('''
@tsr.kernel
def f(table: Tensor["M", "N"], labels: Tensor["K", i64], rows: Out["K", "N"], BK: const = 16, BN: const = 32):
    for k, n in tsr.grid(tsr.tile(K, BK), tsr.tile(N, BN)):
        rows[k, n] = table[labels[k], n]
''', "x", "i")

NORM = program('''
@tsr.kernel
def f(X: Tensor["M", "N", fp16], weight: Tensor["N", fp32], Y: Out["M", "N"], eps: const = 1e-5, BM: const = 4):
    for m in tsr.grid(tsr.tile(M, BM)):
        row = X[m, :].to(fp32)
        centred = row - tsr.mean(row, N)
        scale = tsr.rsqrt(tsr.mean(centred * centred, N) + eps)
        Y[m, :] = centred * scale * weight[:]
''', "h", "v")

LOADS = program('''
@tsr.kernel
def f(X: Tensor["M", "N"], Y: Out["M", "N"], BM: const = 16, BN: const = 32):
    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN)):
        tile = tsr.load(X, (m, n))
        tsr.store(Y, (m, n), tsr.abs(tile) + 1.0)
''', "x")

BY_HAND = program('''
@tsr.kernel
def f(X: Tensor["M", "N"], Y: Out["M", "N"], BM: const = 16):
    for m in tsr.grid(tsr.tile(M, BM)):
        first = tsr.range_at(N, 0, 8)
        Y[m, :] = X[m, :] * tsr.sum(X[m, first], first)
''', "x")

WHOLE_NUMBERS = program('''
@tsr.kernel
def f(X: Tensor["M", "N", i32], Y: Out["M", "N", i32], shift: i32, BM: const = 16, BN: const = 32):
    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN)):
        tile = X[m, n] * 3 + shift
        Y[m, n] = tsr.where(tile > 10, tile % 7, -tile)
''', "j", call="f(j, shift=2)")

IN_PLACE = program('''
@tsr.kernel
def f(state: InOut["M", "N"], update: Tensor["M", "N"], rate: fp32, BM: const = 16, BN: const = 32):
    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN)):
        state[m, n] = state[m, n] * 0.5 + update[m, n] * rate


counted = np.ones((50, 70), np.float32)
''', "x", call="(f(counted, x, rate=2.0), counted)[1]")

HALVED = program('''
@tsr.kernel
def f(X: Tensor["M", "N", fp16], Y: Out["M", "N", fp16], BM: const = 16, BN: const = 32):
    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN)):
        tile = X[m, n]
        Y[m, n] = tile * 0.5
''', "h")

CAUSAL = program('''
@tsr.kernel
def f(Q: Tensor["M", "K"], V: Tensor["N", "K"], scores: Out["M", "N"], causal: const = True, BM: const = 16, BN: const = 16):
    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN)):
        s = Q[m, :] @ V[n, :].T
        if causal:
            s = tsr.where(m.index >= n.index, s, 0.0)
        scores[m, n] = s
''', "x", call="f(x, x * 2)")

WINDOW = program('''
@tsr.kernel
def f(X: Tensor["M", "N"], Y: Out["M", "N"], BM: const = 16, BN: const = 32):
    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN)):
        before = X[m.index - 1, n]
        after = X[m.index + 1, n]
        Y[m, n] = (before + X[m, n] + after) * 0.25
''', "x")

ROW_SCANS = program('''
@tsr.kernel
def f(X: Tensor["M", "N"], Y: Out["M", "N"], place: Out["M", i64], BM: const = 8):
    for m in tsr.grid(tsr.tile(M, BM)):
        row = X[m, :]
        Y[m, :] = tsr.cumsum(row, N)
        place[m] = tsr.argmax(row, N)
''', "x")

CARRIED_SCAN = program('''
@tsr.kernel
def f(X: Tensor["M", "N"], Y: Out["M", "N"], BM: const = 16, BN: const = 32):
    for m in tsr.grid(tsr.tile(M, BM)):
        carry = tsr.zeros(m)
        for n in tsr.tile(N, BN):
            tile = X[m, n]
            Y[m, n] = tsr.cumsum(tile, n) + carry
            carry += tsr.sum(tile, n)
''', "x")

COLUMN_SUMS = program('''
@tsr.kernel
def f(X: Tensor["M", "N"], sums: Region[reduce_sum, Tensor["N"]], BM: const = 16, BN: const = 32):
    for m, n in tsr.grid(tsr.tile(M, BM), tsr.tile(N, BN)):
        tsr.atomic_add(sums, (n,), tsr.sum(X[m, n], m))


counted = np.zeros(70, np.float32)
''', "x", call="(f(x, counted), counted)[1]")

LINEAR = program('''
@tsr.kernel
def f(X: Tensor["M", "N"], W: Tensor["K", "N"], P: Out["M", "K"], BM: const = 16, BK: const = 16, BN: const = 32):
    for m, k in tsr.grid(tsr.tile(M, BM), tsr.tile(K, BK)):
        acc = tsr.zeros(m, k)
        for n in tsr.tile(N, BN):
            acc += X[m, n] @ W[k, n].T
        P[m, k] = acc
''', "x", call="f(x, x * 2)")

DIFFERENCES = program('''
@tsr.kernel
def f(X: Tensor["N"], D: Out["N-1"], BN: const = 32):
    for n in tsr.grid(tsr.tile(N - 1, BN)):
        D[n] = X[n.index + 1] - X[n.index]
''', "v")

POOLED = program('''
@tsr.kernel
def f(X: Tensor["M", "N"], Y: Out["M//2", "N//2"], BM: const = 4, BN: const = 16):
    for m, n in tsr.grid(tsr.tile(M // 2, BM), tsr.tile(N // 2, BN)):
        acc = tsr.zeros(m, n)
        for a in tsr.unroll(2):
            for b in tsr.unroll(2):
                acc += X[2 * m.index + a, 2 * n.index + b]
        Y[m, n] = acc * 0.25
''', "x")

ATTENTION = program('''
@tsr.kernel
def f(Q: Tensor["M", "K"], V: Tensor["N", "K"], Y: Out["M", "K"], BM: const = 16, BN: const = 16):
    for m in tsr.grid(tsr.tile(M, BM)):
        query = Q[m, :]
        top, total, acc = tsr.full(tsr.lowest, m), tsr.zeros(m), tsr.zeros(m, K)
        for n in tsr.tile(N, BN):
            scores = query @ V[n, :].T * 0.125
            new = tsr.maximum(top, tsr.max(scores, n))
            p, fix = tsr.exp(scores - new), tsr.exp(top - new)
            total = total * fix + tsr.sum(p, n)
            acc = acc * fix + p @ V[n, :]
            top = new
        Y[m, :] = acc / total
''', "x", call="f(x, x * 2)")

QUANTISED = program('''
@tsr.kernel
def f(A: Tensor["M", "N", fp16], W: Tensor["K", "N", i8], S: Tensor["K", fp32], P: Out["M", "K", fp16], BM: const = 16, BK: const = 16, BN: const = 32):
    for m, k in tsr.grid(tsr.tile(M, BM), tsr.tile(K, BK)):
        acc = tsr.zeros(m, k)
        for n in tsr.tile(N, BN):
            acc += A[m, n] @ W[k, n].to(fp16).T
        P[m, k] = acc * S[k]
''', "h", "q", call="f(h, q, np.linspace(1, 2, 40).astype(np.float32))")

NORM_OF_SUM = program('''
@tsr.kernel
def f(X: Tensor["M", "N"], R: Tensor["M", "N"], scale: Tensor["N"], Y: Out["M", "N"], S: Out["M", "N"], eps: const = 1e-5, BM: const = 2):
    for m in tsr.grid(tsr.tile(M, BM)):
        row = X[m, :] + R[m, :]
        centred = row - tsr.mean(row, dim=1)
        variance = tsr.mean(centred * centred, dim=1)
        S[m, :] = row
        Y[m, :] = centred * tsr.rsqrt(variance + eps) * scale[:]
''', "x", "v", call="f(x, x * 2, v)")

MOMENTUM = program('''
@tsr.kernel
def f(state: InOut["N"], G: Tensor["N"], M1: InOut["N"], lr: fp32, steps: int, beta: const = 0.5, BN: const = 32):
    for n in tsr.grid(tsr.tile(N, BN)):
        moved = beta * M1[n] + (1 - beta) * G[n]
        M1[n] = moved
        state[n] = state[n] - lr * moved / steps.to(fp32)


counted, before = np.ones(70, np.float32), np.ones(70, np.float32)
''', "v", call="(f(counted, v, before, lr=2.0, steps=4), counted)[1]")

SPLIT = program('''
@tsr.kernel
def f(A: Tensor["M", "N"], B: Tensor["N", "K"], P: Region[reduce_sum, Tensor["M", "K"]], PART: const = 32, BM: const = 32, BK: const = 32, BN: const = 16):
    for m, k, part in tsr.grid(tsr.tile(M, BM), tsr.tile(K, BK), tsr.tile(N, PART)):
        acc = tsr.zeros(m, k)
        for n in tsr.tile(N, BN, start=part.start, stop=part.stop):
            acc += A[m, n] @ B[n, k]
        tsr.atomic_add(P, (m, k), acc)


counted = np.zeros((50, 40), np.float32)
''', "x", "w", call="(f(x, w, counted), counted)[1]")

TILES = [SPLIT, POOLED, ATTENTION, QUANTISED, NORM_OF_SUM, MOMENTUM, CARRIED_SCAN, COLUMN_SUMS, LINEAR, DIFFERENCES,
         SCALE, ADD, ROW_SUMS, ROW_PEAKS, PRODUCT, PRODUCT_WITH_BIAS, HALF_PRODUCT, BATCH, TRANSPOSED, SOFTMAX, STEPS, MASKED, COUNTS, GATHER, NORM, LOADS, BY_HAND,
         WHOLE_NUMBERS, IN_PLACE, HALVED, CAUSAL, WINDOW, ROW_SCANS]
