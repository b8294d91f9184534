#!/usr/bin/env python3
# Fits the polynomials of target-expand-math and writes Coefficients.h.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fits the minimax polynomials behind compiler/Target/Math.

    python3 tools/math/fit_polynomials.py            # print every fit's error
    python3 tools/math/fit_polynomials.py --write    # and write Coefficients.h
    python3 tools/math/fit_polynomials.py --check    # fail if it is stale

How. A fit minimises max |weight * (p - f)| over 400 points, by a linear
program; the function is evaluated in 40 digits (mpmath). The leading coefficients are then rounded to float32 one at a time,
the rest being fitted again after each rounding, so that later coefficients
absorb what rounding an earlier one cost. The printed figure is log2 of the
largest weighted error with every coefficient rounded; the error of evaluating
the polynomial in float32 comes on top, and tools/math/exhaustive.py measures
both together.
"""

import argparse
import pathlib
import struct
import sys

import mpmath as mp
import scipy.optimize

mp.mp.dps = 40
ROOT = pathlib.Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "compiler/Target/Math/Coefficients.h"


def f32(x):
    """Rounds to the nearest float32 (through float64: harmless for constants
    that are not within 2^-29 of a tie)."""
    return mp.mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def split(x, parts):
    """x as a sum of float32 values, most significant first."""
    out = []
    for _ in range(parts):
        out.append(f32(x))
        x -= out[-1]
    return out


def grid(lo, hi, n):
    """Chebyshev-spaced points, ends included."""
    lo, hi = mp.mpf(lo), mp.mpf(hi)
    return [
        (lo + hi) / 2 - (hi - lo) / 2 * mp.cos(mp.pi * i / (n - 1))
        for i in range(n)
    ]


def minimax(points, target, weight, powers):
    """Coefficients of sum c_j x^powers[j], minimax on the discrete points.

    A linear program and not Remez's exchange: once leading coefficients are
    fixed, the remaining powers vanish at 0 and alternation no longer holds.
    Powers of x/xmax and errors in units of 2^-30 keep it well scaled."""
    unit = mp.mpf(2) ** 30
    xmax = max(abs(x) for x in points)
    rows, bounds = [], []
    for x, t, w in zip(points, target, weight):
        row = [float(unit * w * (x / xmax) ** p) for p in powers]
        rhs = float(unit * w * t)
        rows += [row + [-1.0], [-c for c in row] + [-1.0]]
        bounds += [rhs, -rhs]
    n = len(powers)
    result = scipy.optimize.linprog(
        [0.0] * n + [1.0], rows, bounds, bounds=[(None, None)] * (n + 1),
        method="highs-ds")
    assert result.status == 0, result.message
    return [mp.mpf(result.x[j]) / xmax**p for j, p in enumerate(powers)]


def fit(function, lo, hi, degree, weight=None, fixed=(), points=400):
    """Polynomial of the degree with float32 coefficients; `fixed` are given
    leading ones. Returns the coefficients and the largest weighted error."""
    xs = grid(lo, hi, points)
    ys = [function(x) for x in xs]
    ws = [weight(x) if weight else mp.mpf(1) for x in xs]
    done = [mp.mpf(c) for c in fixed]
    while len(done) <= degree:
        rest = [y - sum(c * x**j for j, c in enumerate(done)) for x, y in zip(xs, ys)]
        powers = list(range(len(done), degree + 1))
        done.append(f32(minimax(xs, rest, ws, powers)[0]))
    error = max(
        abs(w * (sum(c * x**j for j, c in enumerate(done)) - y))
        for x, y, w in zip(xs, ys, ws)
    )
    return done, error


def near_zero(f, drop, divide):
    """x -> (f(x) - first `drop` Taylor terms) / x^divide, stable at 0."""
    terms = mp.taylor(f, 0, drop + 12)

    def g(x):
        if abs(x) < mp.mpf("1e-3"):
            return sum(c * x ** (j - divide) for j, c in enumerate(terms) if j >= divide)
        return (f(x) - sum(c * x**j for j, c in enumerate(terms[:drop]))) / x**divide

    return g


def in_square(g):
    """u -> g(sqrt u), for an even g."""
    return lambda u: g(mp.sqrt(u))


def build():
    """Every constant of Coefficients.h: (name, comment, values, error)."""
    ln2 = mp.log(2)
    out = []

    def constant(name, comment, values):
        out.append((name, comment, values, None))

    def poly(name, comment, result):
        out.append((name, comment, result[0], result[1]))

    # exp, expm1: e^r = 1 + r + r^2 q(r), |r| <= ln2/2 with room for the
    # rounding of k. Relative to expm1(r) ~ r.
    half = ln2 / 2 * mp.mpf("1.001")
    q = near_zero(mp.exp, 2, 2)
    poly("expTail", "e^r = 1 + r + r^2 q(r), |r| <= ln2/2",
         fit(q, -half, half, 4, lambda r: max(abs(r), mp.mpf("1e-3"))))
    constant("ln2Fma", "ln2 = sum, for use with fma", split(ln2, 2))
    constant("log2e", "1/ln2 = sum", split(1 / ln2, 2))
    constant("twoLog2e", "2/ln2 = sum", split(2 / ln2, 2))

    # exp2: 2^r on |r| <= 1/2.
    poly("exp2Poly", "2^r, |r| <= 1/2",
         fit(lambda r: mp.power(2, r), mp.mpf("-0.5005"), mp.mpf("0.5005"), 6,
             lambda r: mp.power(2, -r), fixed=[1]))

    # Weights that are rounded to 16 bits: the fraction counts from below.
    poly("exp2Weight", "2^r, 0 <= r <= 1, to 13 bits",
         fit(lambda r: mp.power(2, r), 0, 1, 4, lambda r: mp.power(2, -r),
             fixed=[1]))

    # log: log(1+f) = f + f^2 R(f), f in [-1/3, 1/3].
    third = mp.mpf(1) / 3
    poly("logTail", "log(1+f) = f + f^2 R(f), |f| <= 1/3",
         fit(near_zero(mp.log1p, 2, 2), -third, third, 8,
             lambda f: max(abs(f), mp.mpf("1e-3"))))
    log2p1 = lambda f: mp.log1p(f) / ln2
    poly("log2Tail", "log2(1+f) = f/ln2 + f^2 R(f), |f| <= 1/3",
         fit(near_zero(log2p1, 2, 2), -third, third, 8,
             lambda f: max(abs(f), mp.mpf("1e-3"))))

    # sin, cos on |r| <= pi/4, with room for the rounding of k.
    quarter = (mp.pi / 4 * mp.mpf("1.002")) ** 2
    poly("sinTail", "sin(r) = r + r^3 S(r^2), |r| <= pi/4",
         fit(in_square(near_zero(mp.sin, 2, 3)), 0, quarter, 2,
             lambda u: max(u, mp.mpf("1e-3"))))
    poly("cosTail", "cos(r) = 1 - r^2/2 + r^4 C(r^2), |r| <= pi/4",
         fit(in_square(near_zero(mp.cos, 3, 4)), 0, quarter, 2,
             lambda u: max(u * u, mp.mpf("1e-4"))))
    constant("twoOverPi", "2/pi", split(2 / mp.pi, 1))
    constant("piOver2", "pi/2 = sum", split(mp.pi / 2, 2))
    first = f32(mp.pi / 2)
    second = mp.nint((mp.pi / 2 - first) * 2**34) / 2**34
    constant("piOver2Parts", "pi/2 = sum; the second part has 10 bits",
             [first, second] + split(mp.pi / 2 - first - second, 1))

    # tanh(x) = x + x^3 T(x^2), |x| <= 0.75.
    limit = mp.mpf("0.75")
    poly("tanhTail", "tanh(x) = x + x^3 T(x^2), |x| <= 0.75",
         fit(in_square(near_zero(mp.tanh, 2, 3)), 0, limit**2, 5,
             lambda u: max(u, mp.mpf("1e-3"))))

    # erf near zero: x + x E(x^2); elsewhere 1 - 2^L(t), L = log2 erfc.
    e = mp.mpf(1)
    poly("erfSmall", "erf(x) = x + x E(x^2), |x| <= 1",
         fit(lambda u: (mp.erf(mp.sqrt(u)) / mp.sqrt(u) if u > 0
                        else 2 / mp.sqrt(mp.pi)) - 1, 0, e * e, 6,
             lambda u: 1 / (mp.erf(mp.sqrt(u)) / mp.sqrt(u) if u > 0
                            else 2 / mp.sqrt(mp.pi))))
    poly("erfLarge", "log2(erfc(t)), 1 <= t <= 4; weight erfc(t)",
         fit(lambda t: mp.log(mp.erfc(t)) / ln2, 1, 4, 6,
             lambda t: mp.erfc(t) * ln2))

    # erfc: exp(-t^2) y Q(y - 1/2), y = 1 / (1 + t/2), relative to itself.
    middle = mp.mpf("0.5")

    def scaled(z):
        t = (1 / (z + middle) - 1) * 2
        return mp.exp(t * t) * mp.erfc(t) / (z + middle)

    poly("erfcTail", "exp(t^2) erfc(t) = y Q(y - 1/2), y = 1 / (1 + t/2), t <= 10.2",
         fit(scaled, 1 / (1 + middle * mp.mpf("10.2")) - middle, middle, 9,
             lambda z: 1 / scaled(z), points=120))

    # erfc to 13 bits, for results rounded to 16-bit floats.
    poly("erfcNear", "log2(erfc(t)), 0 <= t <= 10.5, to 13 bits",
         fit(lambda t: mp.log(mp.erfc(t)) / ln2, 0, mp.mpf("10.5"), 10,
             lambda t: ln2, points=200))

    # pow: log2(m) = z (c0 + c1 u + u^2 Q(u)), z = (m-1)/(m+1), u = z^2.
    zmax = (third / (2 + third)) ** 2
    zmax = max(zmax, (third / (2 - third)) ** 2)

    def atanh_ratio(u):  # log2(m)/z
        z = mp.sqrt(u)
        return 2 * mp.atanh(z) / z / ln2 if u > 0 else 2 / ln2

    c0, c1 = 2 / ln2, 2 / ln2 / 3

    def tail(u):
        if u < mp.mpf("1e-6"):
            return 2 / ln2 * (mp.mpf(1) / 5 + u / 7 + u * u / 9)
        return (atanh_ratio(u) - c0 - c1 * u) / u**2

    poly("powTail", "log2(m)/z = 2/ln2 (1 + u/3) + u^2 Q(u), z=(m-1)/(m+1), u=z^2",
         fit(tail, 0, zmax, 3, lambda u: max(u * u, mp.mpf("1e-8"))))
    constant("powC1", "2/(3 ln2) = sum", split(c1, 2))
    return out


def literal(x):
    text = float(x).hex()  # exact: every value is a float32
    mantissa, exponent = text.split("p")
    mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}p{exponent}f"


def render(constants):
    lines = [
        "// Constants of the math expansions, fitted by tools/math/"
        "fit_polynomials.py.",
        "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception",
        "//",
        "// Generated: do not edit. Polynomials list the lowest power first.",
        "",
        "#ifndef TESSERA_TARGET_MATH_COEFFICIENTS_H",
        "#define TESSERA_TARGET_MATH_COEFFICIENTS_H",
        "",
        "namespace tessera::target::coefficients {",
        "// clang-format off",
    ]
    for name, comment, values, error in constants:
        note = f"; error 2^{mp.nstr(mp.log(error, 2), 4)}" if error else ""
        lines += ["", f"/// {comment}{note}"]
        body = ",\n    ".join(literal(v) for v in values)
        lines.append(f"inline constexpr float {name}[] = {{\n    {body}}};")
    lines += ["", "// clang-format on",
              "} // namespace tessera::target::coefficients", "",
              "#endif // TESSERA_TARGET_MATH_COEFFICIENTS_H", ""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help=f"write {OUTPUT.name}")
    parser.add_argument("--check", action="store_true", help="fail if it is stale")
    args = parser.parse_args()
    constants = build()
    for name, _, values, error in constants:
        if error:
            print(f"{name:10} degree {len(values) - 1}: error 2^"
                  f"{mp.nstr(mp.log(error, 2), 5)}")
    text = render(constants)
    if args.write:
        OUTPUT.write_text(text)
    if args.check and OUTPUT.read_text() != text:
        sys.exit(f"error: {OUTPUT} is stale; run with --write")


if __name__ == "__main__":
    main()
