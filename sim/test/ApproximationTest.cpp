// `.approx` instructions against MPFR, within the errors the ISA states.
// TESSERA_SIM_SAMPLES=10000000 runs the long version.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/test/Run.h"
#include <mpfr.h>
#include <random>

using namespace tessera::sim;
using namespace tessera::sim::test;

namespace {

/// Bit patterns of all magnitudes, and values between -400 and 400.
std::vector<uint32_t> inputs(size_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint32_t> v(n);
  for (size_t k = 0; k < n; ++k) {
    uint64_t r = random();
    if (k % 8 == 0) {
      const uint32_t edges[] = {0,          1,          0x007fffff, 0x00800000,
                                0x3f800000, 0x3f7fffff, 0x3f000000, 0x40000000,
                                0x7f7fffff, 0x7f800000, 0x7fc00000, 0x42fc0000};
      v[k] = edges[r % 12] | uint32_t(r >> 32 & 1) << 31;
    } else if (k % 2) {
      v[k] = uint32_t(r);
    } else {
      v[k] = std::bit_cast<uint32_t>(
          float((double(r >> 11) / 0x1p53 - 0.5) * 800));
    }
  }
  return v;
}

/// A function of MPFR, to 60 bits.
using Exact = int (*)(mpfr_t, const mpfr_t, mpfr_rnd_t);
int reciprocal(mpfr_t r, const mpfr_t x, mpfr_rnd_t m) {
  return mpfr_ui_div(r, 1, x, m);
}

struct Value {
  mpfr_t x, y, r;
  Value() { mpfr_inits2(60, x, y, r, static_cast<mpfr_ptr>(nullptr)); }
  ~Value() { mpfr_clears(x, y, r, static_cast<mpfr_ptr>(nullptr)); }
  double operator()(Exact f, double a) {
    mpfr_set_d(x, a, MPFR_RNDN);
    f(r, x, MPFR_RNDN);
    return mpfr_get_d(r, MPFR_RNDN);
  }
  double divide(double a, double b) {
    mpfr_set_d(x, a, MPFR_RNDN);
    mpfr_set_d(y, b, MPFR_RNDN);
    mpfr_div(r, x, y, MPFR_RNDN);
    return mpfr_get_d(r, MPFR_RNDN);
  }
};

/// The distance of neighbouring f32 at `x`.
double ulp(double x) {
  int e;
  std::frexp(x, &e);
  return std::ldexp(1.0, std::max(e - 24, -149));
}
/// Half a unit of the result's own format: an exact result rounded.
double slack(double want) { return std::fabs(want) * 0x1p-24 + 0x1p-150; }

/// `bound(x, exact)` is the largest error the ISA allows, or negative where
/// it promises nothing.
template <class F> void approximation(const char *op, Exact f, F bound) {
  Harness h;
  size_t n = samples();
  auto a = inputs(n, 13);
  auto d = h.map<uint32_t, uint32_t>(std::string(op) + " %d, %a;", 1, a);
  Value value;
  for (size_t k = 0; k < n; ++k) {
    float x = std::bit_cast<float>(a[k]), got = std::bit_cast<float>(d[k]);
    double want = value(f, x);
    if (want != want) {
      ASSERT_NE(got, got) << op << " " << x;
    } else if (std::fabs(want) > 0x1.fffffep127) {
      ASSERT_TRUE(std::isinf(got) || std::fabs(got) == 0x1.fffffep127f)
          << op << " " << x;
    } else if (bound(double(x), want) >= 0) {
      ASSERT_LE(std::fabs(got - want), bound(double(x), want) + slack(want))
          << op << " " << x << " got " << got << " want " << want;
    }
  }
}

TEST(Approximation, Single) {
  auto relative = [](double e) {
    return [e](double, double want) { return std::fabs(want) * e; };
  };
  approximation("rcp.approx.f32", reciprocal,
                [](double, double want) { return ulp(want); });
  approximation("sqrt.approx.f32", mpfr_sqrt, relative(0x1p-23));
  approximation("rsqrt.approx.f32", mpfr_rec_sqrt, relative(std::exp2(-22.9)));
  approximation("ex2.approx.f32", mpfr_exp2,
                [](double, double want) { return 2 * ulp(want); });
  approximation("lg2.approx.f32", mpfr_log2, [](double x, double want) {
    return x > 0.5 && x < 2 ? 0x1p-22 : std::fabs(want) * 0x1p-22;
  });
  approximation("tanh.approx.f32", mpfr_tanh, relative(0x1p-11));
  auto circle = [](double x, double) {
    constexpr double pi = 3.14159265358979;
    return std::fabs(x) <= 2 * pi     ? std::exp2(-20.5)
           : std::fabs(x) <= 100 * pi ? std::exp2(-14.7)
                                      : -1.0;
  };
  approximation("sin.approx.f32", mpfr_sin, circle);
  approximation("cos.approx.f32", mpfr_cos, circle);
}

TEST(Approximation, Division) {
  Harness h;
  size_t n = samples();
  auto a = inputs(n, 31), b = inputs(n, 32);
  Value value;
  for (bool full : {false, true}) {
    std::string op = full ? "div.full.f32" : "div.approx.f32";
    auto d = h.map<uint32_t, uint32_t>(op + " %d, %a, %b;", 2, a, b);
    for (size_t k = 0; k < n; ++k) {
      float x = std::bit_cast<float>(a[k]), y = std::bit_cast<float>(b[k]);
      float got = std::bit_cast<float>(d[k]);
      double want = value.divide(x, y), m = std::fabs(y);
      if (!full && m > 0x1p126 && m < 0x1p128) { // says the ISA
        if (std::isinf(x) || x != x)
          ASSERT_NE(got, got) << op << " " << x << " " << y;
        else
          ASSERT_TRUE(got == 0 && std::signbit(got) == std::signbit(x * y))
              << op << " " << x << " " << y;
      } else if (want != want) {
        ASSERT_NE(got, got) << op << " " << x << " " << y;
      } else if (std::fabs(want) > 0x1.fffffep127) {
        ASSERT_TRUE(std::isinf(got) || std::fabs(got) == 0x1.fffffep127f);
      } else if (full || m >= 0x1p-126 || m == 0) {
        ASSERT_LE(std::fabs(got - want), 2 * ulp(want))
            << op << " " << x << " " << y;
      }
    }
  }
}

/// Every 16-bit input.
TEST(Approximation, Half) {
  Harness h;
  Value value;
  std::vector<uint16_t> a(65536);
  for (size_t k = 0; k < a.size(); ++k)
    a[k] = uint16_t(k);
  auto number = [](uint16_t v, bool bf) {
    return bf ? double(std::bit_cast<float>(uint32_t(v) << 16))
              : double(std::bit_cast<_Float16>(v));
  };
  for (bool bf : {false, true})
    for (bool tanh : {false, true}) {
      std::string op = std::string(tanh ? "tanh.approx" : "ex2.approx") +
                       (bf ? (tanh ? ".bf16" : ".ftz.bf16") : ".f16");
      auto d = h.map<uint16_t, uint16_t>(op + " %d, %a;", 1, a);
      double error = tanh ? (bf ? 0x1p-8 : std::exp2(-10.987))
                          : (bf ? 0x1p-7 : std::exp2(-9.9));
      double largest = bf ? 0x1.fep127 : 65504;
      double least = bf ? 0x1p-126 : 0x1p-24;
      for (uint16_t bits : a) {
        double x = number(bits, bf), got = number(d[bits], bf);
        double want = value(tanh ? mpfr_tanh : mpfr_exp2, x);
        if (want != want)
          ASSERT_NE(got, got) << op << " " << x;
        else if (want > largest)
          ASSERT_TRUE(std::isinf(got) || got == largest) << op << " " << x;
        else
          ASSERT_LE(std::fabs(got - want),
                    (tanh ? error : want * error) + least)
              << op << " " << x;
      }
    }
}

} // namespace
