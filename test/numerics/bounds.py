"""Derived error bounds: values in float64 that carry how far a computed result may be from them.

An `Approx` holds the exact value (float64, itself far more precise than what is tested) and a
bound on the absolute error of the computed one. Each operation propagates the bounds of its operands to first order
and higher (products of bounds are kept), and adds its own rounding: `u` is the unit roundoff of the type it computes in. Sums and
matrix products may be taken in any order: n terms cost gamma(n) = n u / (1 - n u).

So a bound follows from the program, the dims, the types and the inputs; no tolerance is picked by hand. Tests of
this file show that the bounds have teeth: accumulating in the storage type or dropping one element breaks them.

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

from __future__ import annotations

import numpy as np

UNIT = {"fp64": 2.0**-53, "fp32": 2.0**-24, "fp16": 2.0**-11, "bf16": 2.0**-8, "i32": 0.0, "i64": 0.0, "bool": 0.0}
# Half the spacing of subnormals: the absolute error of a rounding near zero. (AMX flushes
# subnormals of f32, hence the smallest normal for f32.)
TINY = {"fp64": 2.0**-1074, "fp32": 2.0**-126, "fp16": 2.0**-25, "bf16": 2.0**-126, "i32": 0.0, "i64": 0.0, "bool": 0.0}
# Tensor cores add the products of 8 k at once, cut toward zero to 24 fraction bits, and cut the sum to f32: by the published models (docs/simulator.md)
# at most (9 * 2^-24 + 2^-23) of the largest term per 8 k, which is less than 2^-23 per k.
UNIT["mma"], TINY["mma"] = 2.0**-23, 2.0**-126
ULPS = 2  # what docs/language.md promises of exp, log, tanh, ...


def gamma(n: int, u: float) -> float:
    return n * u / (1 - n * u)


def compute_type(dtype: str) -> str:
    """The type an op on `dtype` computes and accumulates in."""
    return "fp32" if dtype in ("fp16", "bf16") else dtype


class Approx:
    """An exact value and a bound on the error of the computed one; `dtype` is the type it is stored in."""

    __array_priority__ = 100

    def __init__(self, value, error=0.0, dtype="fp32"):
        self.value = np.asarray(value, dtype=np.float64)
        self.error = np.broadcast_to(np.asarray(error, dtype=np.float64), self.value.shape)
        self.dtype = dtype

    # ---- roundings --------------------------------------------------------------------------

    def rounded(self, dtype=None) -> "Approx":
        """After rounding to `dtype`."""
        dtype = dtype or self.dtype
        return Approx(self.value, self.error + UNIT[dtype] * (np.abs(self.value) + self.error) + TINY[dtype], dtype)

    def to(self, dtype) -> "Approx":
        exact = UNIT[dtype] <= UNIT[self.dtype] and not (dtype == "fp16" and self.dtype == "bf16")
        return Approx(self.value, self.error, dtype) if exact else Approx(self.value, self.error, dtype).rounded()

    def _other(self, other) -> "Approx":
        if isinstance(other, Approx):
            return other
        return Approx(other, 0.0, self.dtype).rounded()  # a Python number becomes one of our dtype

    # ---- arithmetic: each rounds once to its dtype --------------------------------------------

    def __add__(self, other):
        o = self._other(other)
        return Approx(self.value + o.value, self.error + o.error, self.dtype).rounded()

    __radd__ = __add__

    def __sub__(self, other):
        o = self._other(other)
        return Approx(self.value - o.value, self.error + o.error, self.dtype).rounded()

    def __rsub__(self, other):
        return self._other(other) - self

    def __neg__(self):
        return Approx(-self.value, self.error, self.dtype)

    def __mul__(self, other):
        o = self._other(other)
        error = np.abs(self.value) * o.error + np.abs(o.value) * self.error + self.error * o.error
        return Approx(self.value * o.value, error, self.dtype).rounded()

    __rmul__ = __mul__

    def __truediv__(self, other):
        o = self._other(other)
        low = np.abs(o.value) - o.error  # the smallest the divisor can be
        with np.errstate(divide="ignore", invalid="ignore"):
            quotient = self.value / o.value
            error = np.where(low > 0, (self.error + np.abs(quotient) * o.error) / low, np.inf)
        return Approx(quotient, error, self.dtype).rounded()

    def __rtruediv__(self, other):
        return self._other(other) / self

    def smooth(self, function, slope) -> "Approx":
        """A function within ULPS of its type; `slope(value, error)` bounds its derivative nearby."""
        with np.errstate(all="ignore"):
            value = function(self.value)
            moved = slope(self.value, self.error) * self.error
        u, tiny = UNIT[compute_type(self.dtype)], TINY[compute_type(self.dtype)]
        inner = moved + 2 * ULPS * u * (np.abs(value) + moved) + ULPS * tiny
        result = Approx(value, np.where(self.error == 0, 2 * ULPS * u * np.abs(value) + ULPS * tiny, inner), self.dtype)
        return result if compute_type(self.dtype) == self.dtype else result.rounded()

    def exp(self):
        return self.smooth(np.exp, lambda v, e: np.exp(v + e))

    def tanh(self):
        return self.smooth(np.tanh, lambda v, e: 1.0)

    def erf(self):
        import math

        return self.smooth(np.vectorize(math.erf, otypes=[float]), lambda v, e: 2 / np.sqrt(np.pi))

    def log(self):
        return self.smooth(np.log, lambda v, e: 1 / np.maximum(v - e, 1e-300))

    def sqrt(self):
        return self.smooth(np.sqrt, lambda v, e: 0.5 / np.sqrt(np.maximum(v - e, 1e-300)))

    def rsqrt(self):
        return self.smooth(lambda v: 1 / np.sqrt(v), lambda v, e: 0.5 * np.maximum(v - e, 1e-300) ** -1.5)

    def sigmoid(self):
        return (1.0 + (-self).exp()).rounded()._reciprocal()

    def _reciprocal(self):
        return Approx(1.0, 0.0, self.dtype) / self

    # ---- reductions, in any order -----------------------------------------------------------

    def sum(self, axis=-1, keepdims=False, terms=None) -> "Approx":
        """In the accumulate type, rounded once to the storage type."""
        n = terms or self.value.shape[axis]
        u = UNIT[compute_type(self.dtype)]
        size = (np.abs(self.value) + self.error).sum(axis=axis, keepdims=keepdims)
        error = self.error.sum(axis=axis, keepdims=keepdims) + gamma(max(n, 1), u) * size
        result = Approx(self.value.sum(axis=axis, keepdims=keepdims), error, self.dtype)
        return result if compute_type(self.dtype) == self.dtype else result.rounded()

    def max(self, axis=-1, keepdims=False) -> "Approx":
        return Approx(self.value.max(axis=axis, keepdims=keepdims), self.error.max(axis=axis, keepdims=keepdims), self.dtype)

    def matmul(self, other: "Approx", accumulate=None) -> "Approx":
        """Products summed in the accumulate type in any order; not rounded to storage yet."""
        acc = accumulate or compute_type(self.dtype)
        k = self.value.shape[-1]
        a, b = np.abs(self.value), np.abs(other.value)
        error = a @ other.error + self.error @ b + self.error @ other.error
        error = error + gamma(k + 1, UNIT[acc]) * ((a + self.error) @ (b + other.error)) + (k + 1) * TINY[acc]
        return Approx(self.value @ other.value, error, acc)

    def __matmul__(self, other):
        """As functions have it: rounded once to the operands' dtype."""
        result = self.matmul(other)
        return result if result.dtype == self.dtype else Approx(result.value, result.error, self.dtype).rounded()

    @property
    def T(self):
        return Approx(np.swapaxes(self.value, -1, -2), np.swapaxes(self.error, -1, -2), self.dtype)

    def __getitem__(self, index):
        return Approx(self.value[index], self.error[index], self.dtype)


def as_float64(array) -> np.ndarray:
    if hasattr(array, "detach"):
        array = array.detach().double().numpy()
    return np.asarray(array).astype(np.float64)


def exact(array, dtype) -> Approx:
    """An input: it is what it is."""
    return Approx(as_float64(array), 0.0, dtype)


def violations(computed, expected: Approx) -> np.ndarray:
    """Indices where the computed result is further from the exact one than the bound; NaN and infinity must agree."""
    got = as_float64(computed)
    assert got.shape == expected.value.shape, f"shape {got.shape}, expected {expected.value.shape}"
    special = ~np.isfinite(expected.value)
    same = (got == expected.value) | (np.isnan(got) & np.isnan(expected.value))
    with np.errstate(invalid="ignore"):
        near = np.abs(got - expected.value) <= expected.error
    return np.argwhere(~np.where(special, same, near))


def check(computed, expected: Approx, what="") -> None:
    bad = violations(computed, expected)
    if len(bad):
        at = tuple(bad[0])
        got, want, bound = as_float64(computed)[at], expected.value[at], expected.error[at]
        raise AssertionError(
            f"{what}: {len(bad)} of {expected.value.size} elements are outside the bound; first at {at}: "
            f"got {got!r}, exact {want!r}, off by {abs(got - want):.3g}, bound {bound:.3g}"
        )


# ---- composites: as docs/language.md defines them, f32 inside and one output rounding ----------


def inside(x: Approx) -> Approx:
    return Approx(x.value, x.error, compute_type(x.dtype))


def outside(x: Approx, dtype: str) -> Approx:
    return Approx(x.value, x.error, dtype) if x.dtype == dtype else Approx(x.value, x.error, dtype).rounded()


def softmax(x: Approx, axis=-1) -> Approx:
    y = inside(x)
    e = (y - y.max(axis=axis, keepdims=True)).exp()
    # exp may be computed as exp2 of a scaled argument: one more rounding of the argument.
    slack = UNIT[y.dtype] * 2 * np.abs(y.value - y.value.max(axis=axis, keepdims=True)) * e.value
    e = Approx(e.value, e.error + slack, e.dtype)
    total = e.sum(axis=axis, keepdims=True)
    return outside(e / total, x.dtype)


def layer_norm(x: Approx, weight=None, bias=None, eps=1e-5, rms=False) -> Approx:
    y = inside(x)
    n = y.value.shape[-1]
    if not rms:
        y = y - y.sum(keepdims=True) / n
    scale = ((y * y).sum(keepdims=True) / n + eps).rsqrt()
    y = y * scale
    if weight is not None:
        y = y * inside(weight)
    if bias is not None:
        y = y + inside(bias)
    return outside(y, x.dtype)


def gelu(x: Approx) -> Approx:
    y = inside(x)
    result = y * 0.5 * ((y * float(np.float32(2**-0.5))).erf() + 1.0)
    if y.dtype != x.dtype:  # docs/language.md, section 7
        result = Approx(result.value, result.error + 2**-13 * np.abs(result.value), result.dtype)
    return outside(result, x.dtype)


def silu(x: Approx) -> Approx:
    y = inside(x)
    return outside(y * y.sigmoid(), x.dtype)


def attention(q: Approx, k: Approx, v: Approx, causal=False, scale=None, block=16, accumulate=None) -> Approx:
    """softmax(q k^T scale) v with f32 inside. `block`: the smallest key block a schedule may use; each
    block may rescale the running sums once (two more roundings and one exp), P may be rounded to v's dtype."""
    d, s, t = q.value.shape[-1], q.value.shape[-2], k.value.shape[-2]
    scale = 1 / np.sqrt(d) if scale is None else scale
    acc = compute_type(q.dtype)

    def product(a, b):
        sums = a.matmul(b, accumulate)
        return Approx(sums.value, sums.error, acc)

    scores = product(q, k.T) * Approx(scale * np.log2(np.e), 0, acc).rounded()
    visible = np.arange(s)[:, None] + (t - s) >= np.arange(t)[None, :] if causal else np.ones((s, t), bool)
    masked = np.where(visible, scores.value, -np.inf)
    with np.errstate(invalid="ignore"):
        top = np.where(np.isfinite(masked.max(-1, keepdims=True)), masked.max(-1, keepdims=True), 0)
    shift = np.where(visible, scores.value - top, -np.inf)
    # Relative error of each weight: its argument's error (2^x: times ln 2), the subtraction, exp2, the rescalings.
    u = UNIT[acc]
    steps = -(-t // block)
    with np.errstate(invalid="ignore"):
        argument = np.where(visible, 2 * scores.error + scores.error.max(-1, keepdims=True), 0) + 3 * u * np.where(visible, np.abs(shift), 0)
    relative = np.expm1(argument * np.log(2) + (2 * ULPS + 2) * u + steps * (2 * ULPS + 3) * u + steps * u * np.abs(np.where(visible, scores.value, 0)).max(-1, keepdims=True))
    if v.dtype != acc:  # made to 13 bits, then rounded (docs/language.md, section 7)
        relative = relative + 2**-13
    weights = Approx(np.exp2(shift), relative * np.exp2(shift) + TINY[acc], acc)
    total = weights.sum(keepdims=True, terms=t + steps)
    p = weights if v.dtype == acc else Approx(weights.value, weights.error, v.dtype).rounded()
    p = Approx(p.value, p.error, acc)
    top_product = product(p, inside(v))
    extra = gamma(2 * steps + 1, u) * ((np.abs(p.value) + p.error) @ np.abs(v.value))
    numerator = Approx(top_product.value, top_product.error + extra, acc)
    with np.errstate(invalid="ignore", divide="ignore"):
        result = numerator / total
    empty = ~visible.any(-1)
    value = np.where(empty[:, None], 0.0, result.value)
    error = np.where(empty[:, None], 0.0, result.error)
    return outside(Approx(value, error, acc), q.dtype)
