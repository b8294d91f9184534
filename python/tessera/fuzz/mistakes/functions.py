"""Right tensor functions that mistakes are made in.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from .tiles import program

ADD = program('''
@tsr.function
def f(x, y):
    total = x + y * 2.0
    return tsr.relu(total)
''', "x", call="f(x, x * 3)")

LINEAR = program('''
@tsr.function
def f(x: Tensor["M", "K"], weight: Tensor["K", "N"], bias: Tensor["M"]):
    product = tsr.matmul(x, weight)
    return tsr.relu(product + bias[:, None])
''', "x", "w", "u")

PERCEPTRON = program('''
@tsr.function
def f(x: Tensor["M", "K", fp32], first: Tensor["K", "N", fp32], second: Tensor["N", "K", fp32]):
    hidden = tsr.maximum(x @ first, 0.0)
    out = hidden @ second
    return x + out * 0.5
''', "x", "w", call="f(x, w, w.T)")

SOFTMAX = program('''
@tsr.function
def f(x: Tensor["M", "N"]):
    top = x.max(dim=-1, keepdim=True)
    weights = tsr.exp(x - top)
    return weights / weights.sum(dim=-1, keepdim=True)
''', "x")

STATISTICS = program('''
@tsr.function
def f(x: Tensor["M", "N"]):
    centre = tsr.mean(x, dim=1)
    spread = tsr.var(x, dim=1, correction=0)
    return centre, spread
''', "x")

ATTENTION = program('''
@tsr.function
def f(q: Tensor["B", "M", "N"], k: Tensor["B", "M", "N"], v: Tensor["B", "M", "N"]):
    scale = 1.0 / math.sqrt(q.shape[-1])
    scores = tsr.matmul(q, k.transpose(-2, -1)) * scale
    weights = tsr.softmax(scores, dim=-1)
    return tsr.matmul(weights, v)
''', "z", call="f(z, z, z)")

CHOICE = program('''
@tsr.function
def f(x: Tensor["M", "N"], limit: fp32):
    small = x < limit
    clipped = tsr.where(small, x, limit)
    return tsr.clamp(clipped, -4.0, 4.0) + tsr.abs(x)
''', "x", call="f(x, 3.0)")

LOOP = program('''
@tsr.function
def f(x: Tensor["M", "N"]):
    state = tsr.zeros((N,))
    for t in range(M):
        state = state * 0.5 + x[t]
    return state
''', "x")

HALVES = program('''
@tsr.function
def f(x: Tensor["M", 70]):
    left, right = x[:, :35], x[:, 35:]
    joined = tsr.cat([right, left], dim=1)
    return joined * 2.0
''', "x").replace("70", "64").replace("35", "32")

HELPER = program('''
@tsr.function
def squared(t):
    return t * t


@tsr.function
def f(x: Tensor["M", "N"], y: Tensor["M", "N"]):
    difference = x - y
    return tsr.sqrt(tsr.sum(squared(difference), dim=1))
''', "x", call="f(x, x * 3)")

LOOKUP = program('''
@tsr.function
def f(labels: Tensor["K", i64], table: Tensor["M", "N"]):
    rows = tsr.embedding(labels, table)
    return rows.sum(dim=0)
''', "i", "x")

SCANS = program('''
@tsr.function
def f(x: Tensor["M", "N"]):
    running = tsr.cumsum(x, dim=1)
    largest = tsr.argmax(x, dim=1)
    return running, largest
''', "x")

RESHAPED = program('''
@tsr.function
def f(x: Tensor["M", 64]):
    heads = x.reshape(M, 4, 16)
    sums = heads.sum(dim=2)
    return sums.transpose(0, 1)
''', "x").replace("70", "64")

HALF = program('''
@tsr.function
def f(x: Tensor["M", "N", fp16], y: Tensor["M", "N", fp32]):
    wide = x.to(fp32)
    return wide * y + 1.0
''', "h", "x")

COUNTED = program('''
@tsr.function
def f(x: Tensor["M", "N", i32]):
    odd = x % 2 == 1
    return tsr.sum(odd.to(i32), dim=0), tsr.sum(x, dim=1)
''', "j")

BRANCH = program('''
@tsr.function
def f(x: Tensor["M", "N"], flag: const = True, times: const = 3):
    y = x
    if flag:
        y = y * 2.0
    for _ in range(times):
        y = y + 1.0
    return y
''', "x", call="f(x, times=2)")

CHOSEN = program('''
@tsr.function
def f(x: Tensor["M", "N"], flag):
    y = x + 1.0
    if flag:
        y = y * 2.0
    return y
''', "x", call="f(x, True)")

NORM = program('''
@tsr.function
def f(x: Tensor["M", "N"], weight: Tensor["N"], eps: const = 1e-5):
    centred = x - tsr.mean(x, dim=-1, keepdim=True)
    scale = tsr.rsqrt(tsr.mean(centred * centred, dim=-1, keepdim=True) + eps)
    return centred * scale * weight
''', "x", "v")

ENDS = program('''
@tsr.function
def f(x: Tensor["M", 70]):
    first, last = x[:, 0], x[:, 69]
    return last - first
''', "x").replace("70", "64").replace("69", "63")

CALLER = program('''
@tsr.kernel
def scaled(X: Tensor["M", "N"], row: Tensor["N"], Y: Out["M", "N"], factor: fp32 = 2.0, BM: const = 16):
    for m in tsr.grid(tsr.tile(M, BM)):
        Y[m, :] = X[m, :] * row[:] * factor


@tsr.function
def f(x: Tensor["M", "N"], row: Tensor["N"]):
    y = scaled(x, row)
    return tsr.relu(y)
''', "x", "v")

DOUBLED = program('''
@tsr.function
def f(x: Tensor["M", "N"]):
    return x * 2.0 + 1.0
''', "x")

BALANCED = program('''
@tsr.function
def f(x: Tensor["B", "M", "N"], row: Tensor["N"], column: Tensor["M"]):
    return x * row + column[:, None]
''', "z", "v", "u")

COLUMNS = program('''
@tsr.function
def f(x: Tensor["M", "N"], weight: Tensor["N"]):
    total = tsr.sum(x, dim=0)
    return total * weight
''', "x", "v")

FUNCTIONS = [CALLER, DOUBLED, BALANCED, COLUMNS,
             ADD, LINEAR, PERCEPTRON, SOFTMAX, STATISTICS, ATTENTION, CHOICE, LOOP, HALVES, HELPER, LOOKUP, SCANS, RESHAPED, HALF, COUNTED, BRANCH, CHOSEN, NORM, ENDS]
