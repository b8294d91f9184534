// Floating-point instructions against MPFR, integers against __int128.
// TESSERA_SIM_SAMPLES=10000000 runs the long version.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/SmallFloat.h"
#include "sim/test/Run.h"
#include <mpfr.h>
#include <random>

using namespace tessera::sim;
using namespace tessera::sim::test;

namespace {

/// Correct rounding into an IEEE format by MPFR, subnormals included.
struct Reference {
  mpfr_t x, y, z, r;
  int precision, emin, emax;
  Reference(int precision, int emin, int emax)
      : precision(precision), emin(emin), emax(emax) {
    mpfr_inits2(60, x, y, z, static_cast<mpfr_ptr>(nullptr));
    mpfr_init2(r, precision);
  }
  ~Reference() { mpfr_clears(x, y, z, r, static_cast<mpfr_ptr>(nullptr)); }
  double operator()(char op, double a, double b, double c, mpfr_rnd_t mode) {
    mpfr_set_emin(-4000);
    mpfr_set_emax(4000);
    mpfr_set_d(x, a, MPFR_RNDN);
    mpfr_set_d(y, b, MPFR_RNDN);
    mpfr_set_d(z, c, MPFR_RNDN);
    int t = op == 'c' ? mpfr_set(r, x, mode) : 0;
    mpfr_set_emin(emin);
    mpfr_set_emax(emax);
    switch (op) {
    case '+':
      t = mpfr_add(r, x, y, mode);
      break;
    case '-':
      t = mpfr_sub(r, x, y, mode);
      break;
    case '*':
      t = mpfr_mul(r, x, y, mode);
      break;
    case '/':
      t = mpfr_div(r, x, y, mode);
      break;
    case 'f':
      t = mpfr_fma(r, x, y, z, mode);
      break;
    case 's':
      t = mpfr_sqrt(r, x, mode);
      break;
    case 'r':
      t = mpfr_ui_div(r, 1, x, mode);
      break;
    case 'c': // the operand may lie outside of the format's range
      t = mpfr_check_range(r, t, mode);
      break;
    }
    mpfr_subnormalize(r, t, mode);
    double result = mpfr_get_d(r, MPFR_RNDN);
    mpfr_set_emin(-4000);
    mpfr_set_emax(4000);
    return result;
  }
};

template <class U> std::vector<U> operands(size_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<U> v(n);
  constexpr int bits = sizeof(U) * 8;
  constexpr int mantissa = bits == 64 ? 52 : bits == 32 ? 23 : 10;
  for (size_t k = 0; k < n; ++k) {
    uint64_t r = random();
    switch (k % 8) {
    case 0: { // boundary values
      const uint64_t one = (uint64_t((1ull << (bits - 2 - mantissa)) - 1))
                           << mantissa;
      const uint64_t inf = (uint64_t((1ull << (bits - 1 - mantissa)) - 1))
                           << mantissa;
      const uint64_t table[] = {0,
                                1,
                                2,
                                (1ull << mantissa) - 1,
                                1ull << mantissa,
                                one,
                                one + 1,
                                one - 1,
                                inf,
                                inf - 1,
                                inf + 1,
                                one + (1ull << mantissa)};
      v[k] = U(table[r % 12] | (r >> 32 & 1) << (bits - 1));
      break;
    }
    case 1:
    case 2: // near one: cancellation and ties
      v[k] =
          U((uint64_t((1ull << (bits - 2 - mantissa)) - 1 + (r >> 60 & 3))
             << mantissa) |
            (r & ((1ull << mantissa) - 1) & ~((1ull << (r >> 32) % 20) - 1)) |
            (r >> 63) << (bits - 1));
      break;
    default:
      v[k] = U(r);
    }
  }
  return v;
}

template <class F, class U> F value(U u) { return std::bit_cast<F>(u); }

template <class F, class U>
void floatOp(const std::string &name, char op, int arity, bool isDouble) {
  Harness h;
  size_t n = samples();
  auto a = operands<U>(n, 1), b = operands<U>(n, 2), c = operands<U>(n, 3);
  struct Mode {
    const char *name;
    mpfr_rnd_t mode;
  };
  const Mode modes[] = {{"rn", MPFR_RNDN},
                        {"rz", MPFR_RNDZ},
                        {"rm", MPFR_RNDD},
                        {"rp", MPFR_RNDU}};
  Reference reference(isDouble ? 53 : 24, isDouble ? -1073 : -148,
                      isDouble ? 1024 : 128);
  for (const Mode &m : modes) {
    std::string text = name + "." + m.name + (isDouble ? ".f64" : ".f32") +
                       " %d, %a" + (arity > 1 ? ", %b" : "") +
                       (arity > 2 ? ", %c" : "") + ";";
    auto d = h.map<U, U>(text, arity, a, b, c);
    size_t differences = 0;
    for (size_t k = 0; k < n; ++k) {
      F want = F(reference(op, value<F>(a[k]), value<F>(b[k]), value<F>(c[k]),
                           m.mode));
      F got = value<F>(d[k]);
      bool same = want != want ? got != got : std::bit_cast<U>(want) == d[k];
      if (!same && ++differences < 4)
        ADD_FAILURE() << text << " a=" << value<F>(a[k])
                      << " b=" << value<F>(b[k]) << " c=" << value<F>(c[k])
                      << " got " << got << " want " << want;
    }
    EXPECT_EQ(differences, 0u) << text;
  }
}

TEST(Arithmetic, SinglePrecision) {
  floatOp<float, uint32_t>("add", '+', 2, false);
  floatOp<float, uint32_t>("sub", '-', 2, false);
  floatOp<float, uint32_t>("mul", '*', 2, false);
  floatOp<float, uint32_t>("div", '/', 2, false);
  floatOp<float, uint32_t>("fma", 'f', 3, false);
  floatOp<float, uint32_t>("sqrt", 's', 1, false);
  floatOp<float, uint32_t>("rcp", 'r', 1, false);
}
TEST(Arithmetic, DoublePrecision) {
  floatOp<double, uint64_t>("add", '+', 2, true);
  floatOp<double, uint64_t>("sub", '-', 2, true);
  floatOp<double, uint64_t>("mul", '*', 2, true);
  floatOp<double, uint64_t>("div", '/', 2, true);
  floatOp<double, uint64_t>("fma", 'f', 3, true);
  floatOp<double, uint64_t>("sqrt", 's', 1, true);
  floatOp<double, uint64_t>("rcp", 'r', 1, true);
}

double halfValue(uint16_t h, bool bf) {
  return bf ? double(std::bit_cast<float>(uint32_t(h) << 16))
            : double(std::bit_cast<_Float16>(h));
}
uint16_t halfBits(double v, bool bf) {
  // v is representable: the conversion is exact.
  return bf ? uint16_t(std::bit_cast<uint32_t>(float(v)) >> 16)
            : std::bit_cast<uint16_t>(_Float16(v));
}

TEST(Arithmetic, HalfPrecision) {
  Harness h;
  size_t n = std::max<size_t>(samples(), 65536);
  for (bool bf : {false, true}) {
    Reference reference(bf ? 8 : 11, bf ? -132 : -23, bf ? 128 : 16);
    auto a = operands<uint16_t>(n, 4), b = operands<uint16_t>(n, 5),
         c = operands<uint16_t>(n, 6);
    for (size_t k = 0; k < 65536; ++k)
      a[k] = uint16_t(k); // every first operand
    struct {
      const char *name;
      char op;
      int arity;
    } ops[] = {
        {"add", '+', 2}, {"sub", '-', 2}, {"mul", '*', 2}, {"fma.rn", 'f', 3}};
    for (auto &op : ops) {
      std::string text = std::string(op.name) + (bf ? ".bf16" : ".f16") +
                         " %d, %a, %b" + (op.arity > 2 ? ", %c;" : ";");
      auto d = h.map<uint16_t, uint16_t>(text, op.arity, a, b, c);
      size_t differences = 0;
      for (size_t k = 0; k < n; ++k) {
        double want = reference(op.op, halfValue(a[k], bf), halfValue(b[k], bf),
                                halfValue(c[k], bf), MPFR_RNDN);
        double got = halfValue(d[k], bf);
        bool same = want != want ? got != got : halfBits(want, bf) == d[k];
        if (!same && ++differences < 4)
          ADD_FAILURE() << text << " " << halfValue(a[k], bf) << " "
                        << halfValue(b[k], bf) << " " << halfValue(c[k], bf)
                        << " got " << got << " want " << want;
      }
      EXPECT_EQ(differences, 0u) << text;
    }
  }
}

TEST(Arithmetic, NarrowingConversions) {
  Harness h;
  size_t n = samples();
  auto a = operands<uint64_t>(n, 7);
  auto f = operands<uint32_t>(n, 8);
  struct {
    const char *name;
    mpfr_rnd_t mode;
  } modes[] = {{"rn", MPFR_RNDN},
               {"rz", MPFR_RNDZ},
               {"rm", MPFR_RNDD},
               {"rp", MPFR_RNDU}};
  Reference single(24, -148, 128), half(11, -23, 16), bf(8, -132, 128);
  for (auto &m : modes) {
    auto d = h.map<uint32_t, uint64_t>(
        std::string("cvt.") + m.name + ".f32.f64 %d, %a;", 1, a);
    for (size_t k = 0; k < n; ++k) {
      double x = std::bit_cast<double>(a[k]);
      float want = float(single('c', x, 0, 0, m.mode));
      float got = std::bit_cast<float>(d[k]);
      ASSERT_TRUE(want != want ? got != got
                               : std::bit_cast<uint32_t>(want) == d[k])
          << m.name << " " << x << " got " << got << " want " << want;
    }
    for (bool isBf : {false, true}) {
      auto e = h.map<uint16_t, uint32_t>(std::string("cvt.") + m.name +
                                             (isBf ? ".bf16" : ".f16") +
                                             ".f32 %d, %a;",
                                         1, f);
      for (size_t k = 0; k < n; ++k) {
        float x = std::bit_cast<float>(f[k]);
        double want = (isBf ? bf : half)('c', x, 0, 0, m.mode);
        ASSERT_TRUE(want != want ? (e[k] & 0x7fff) > (isBf ? 0x7f80 : 0x7c00)
                                 : halfBits(want, isBf) == e[k])
            << m.name << " bf=" << isBf << " " << x << " got "
            << halfValue(e[k], isBf) << " want " << want;
      }
    }
  }
}

TEST(Arithmetic, FloatToInteger) {
  Harness h;
  size_t n = samples();
  auto a = operands<uint32_t>(n, 9);
  std::mt19937 random(1);
  for (size_t k = 0; k < n; k += 2) // values around the integers' range
    a[k] = std::bit_cast<uint32_t>(
        float((double(random()) - 2147483648.0) *
              std::ldexp(1.0, int(random() % 40) - 30)));
  struct {
    const char *name;
    mpfr_rnd_t mode;
  } modes[] = {{"rni", MPFR_RNDN},
               {"rzi", MPFR_RNDZ},
               {"rmi", MPFR_RNDD},
               {"rpi", MPFR_RNDU}};
  mpfr_t r;
  mpfr_init2(r, 80);
  for (auto &m : modes) {
    auto s = h.map<uint32_t, uint32_t>(
        std::string("cvt.") + m.name + ".s32.f32 %d, %a;", 1, a);
    auto u = h.map<uint32_t, uint32_t>(
        std::string("cvt.") + m.name + ".u32.f32 %d, %a;", 1, a);
    auto l = h.map<uint64_t, uint32_t>(
        std::string("cvt.") + m.name + ".s64.f32 %d, %a;", 1, a);
    for (size_t k = 0; k < n; ++k) {
      float x = std::bit_cast<float>(a[k]);
      if (x != x) {
        EXPECT_EQ(s[k], 0u);
        EXPECT_EQ(u[k], 0u);
        EXPECT_EQ(l[k], 1ull << 63);
        continue;
      }
      mpfr_set_flt(r, x, MPFR_RNDN);
      if (mpfr_number_p(r))
        mpfr_rint(r, r, m.mode);
      double v = mpfr_get_d(r, MPFR_RNDN);
      auto clamp = [&](double low, double high) {
        return v < low ? low : v > high ? high : v;
      };
      ASSERT_EQ(int32_t(s[k]), int32_t(clamp(-2147483648.0, 2147483647.0)))
          << m.name << " " << x;
      ASSERT_EQ(u[k], uint32_t(clamp(0, 4294967295.0))) << m.name << " " << x;
      int64_t wide = v >= 9223372036854775808.0   ? INT64_MAX
                     : v < -9223372036854775808.0 ? INT64_MIN
                                                  : int64_t(v);
      ASSERT_EQ(int64_t(l[k]), wide) << m.name << " " << x;
    }
  }
  mpfr_clear(r);
}

TEST(Arithmetic, Integers) {
  Harness h;
  size_t n = samples();
  std::mt19937_64 random(11);
  std::vector<uint32_t> a(n), b(n), c(n);
  const uint32_t edges[] = {0,  1,          2,          31,
                            32, 0x7fffffff, 0x80000000, 0xffffffff};
  for (size_t k = 0; k < n; ++k) {
    a[k] = k % 5 ? uint32_t(random()) : edges[random() % 8];
    b[k] = k % 7 ? uint32_t(random()) >> random() % 32 : edges[random() % 8];
    c[k] = k % 3 ? uint32_t(random()) : edges[random() % 8];
  }
  auto check = [&](const std::string &op, int arity, auto expected) {
    auto d = h.map<uint32_t, uint32_t>(op, arity, a, b, c);
    for (size_t k = 0; k < n; ++k)
      ASSERT_EQ(d[k], uint32_t(expected(a[k], b[k], c[k])))
          << op << " a=" << a[k] << " b=" << b[k] << " c=" << c[k];
  };
  using i64 = int64_t;
  auto s = [](uint32_t v) { return i64(int32_t(v)); };
  check("mul.hi.s32 %d, %a, %b;", 2,
        [&](auto x, auto y, auto) { return (s(x) * s(y)) >> 32; });
  check("mul.hi.u32 %d, %a, %b;", 2,
        [](auto x, auto y, auto) { return uint64_t(x) * y >> 32; });
  check("mad.lo.s32 %d, %a, %b, %c;", 3,
        [&](auto x, auto y, auto z) { return s(x) * s(y) + s(z); });
  check("add.sat.s32 %d, %a, %b;", 2, [&](auto x, auto y, auto) {
    return std::clamp<i64>(s(x) + s(y), INT32_MIN, INT32_MAX);
  });
  check("div.s32 %d, %a, %b;", 2,
        [&](auto x, auto y, auto) { return y ? s(x) / s(y) : i64(-1); });
  check("rem.u32 %d, %a, %b;", 2,
        [](auto x, auto y, auto) { return y ? x % y : x; });
  check("shl.b32 %d, %a, %b;", 2,
        [](auto x, auto y, auto) { return y > 31 ? 0u : x << y; });
  check("shr.s32 %d, %a, %b;", 2,
        [&](auto x, auto y, auto) { return s(x) >> (y > 31 ? 31 : y); });
  check("sad.s32 %d, %a, %b, %c;", 3,
        [&](auto x, auto y, auto z) { return s(z) + std::abs(s(x) - s(y)); });
  check("bfe.u32 %d, %a, %b, 7;", 2, [](auto x, auto y, auto) {
    unsigned p = y & 255;
    return p > 31 ? 0 : x >> p & 127;
  });
  check("bfi.b32 %d, %a, %b, %c, 9;", 3, [](auto x, auto y, auto z) {
    unsigned p = z & 255;
    if (p > 31)
      return y;
    uint32_t m = 511u << p;
    return (y & ~m) | (x << p & m);
  });
  check("popc.b32 %d, %a;", 1, [](auto x, auto, auto) {
    int n = 0;
    for (; x; x &= x - 1)
      ++n;
    return n;
  });
  check("prmt.b32 %d, %a, %b, %c;", 3, [](auto x, auto y, auto z) {
    uint8_t bytes[8];
    std::memcpy(bytes, &x, 4);
    std::memcpy(bytes + 4, &y, 4);
    uint32_t r = 0;
    for (int k = 0; k < 4; ++k) {
      unsigned sel = z >> 4 * k & 15;
      uint8_t v = bytes[sel & 7];
      if (sel > 7)
        v = uint8_t(int8_t(v) >> 7);
      r |= uint32_t(v) << 8 * k;
    }
    return r;
  });
  check("shf.l.wrap.b32 %d, %a, %b, %c;", 3, [](auto x, auto y, auto z) {
    z &= 31;
    return z ? y << z | x >> (32 - z) : y;
  });
  check("dp4a.s32.u32 %d, %a, %b, %c;", 3, [](auto x, auto y, auto z) {
    for (int k = 0; k < 4; ++k)
      z += uint32_t(int8_t(x >> 8 * k) * int(uint8_t(y >> 8 * k)));
    return z;
  });
}

} // namespace
