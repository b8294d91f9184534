#!/usr/bin/env python3
"""Fits exp(x^2) erfc(x) on [1, 6] by a polynomial in t = 2 / (2 + x), for the float64 erf of compiler/Target/Math/Double.cpp.

    python3 tools/math/fit_doubles.py       # prints the coefficients, the lowest power first, and the largest relative error

SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import mpmath

mpmath.mp.dps = 50
DEGREE = 19


def value(t):
    x = 2 / t - 2
    return mpmath.exp(x * x) * mpmath.erfc(x)


def main() -> None:
    low, high = mpmath.mpf(2) / 8, mpmath.mpf(2) / 3
    coefficients = [float(c) for c in mpmath.chebyfit(value, [low, high], DEGREE + 1)][::-1]
    points = [low + (high - low) * i / 400 for i in range(401)]
    worst = max(abs(mpmath.polyval([mpmath.mpf(c) for c in coefficients[::-1]], t) / value(t) - 1) for t in points)
    print(",\n".join(f"    {c.hex()}" for c in coefficients))
    print(f"// largest relative error {float(worst):.2e}, of a double's 2^-53 = 1.11e-16")


if __name__ == "__main__":
    main()
