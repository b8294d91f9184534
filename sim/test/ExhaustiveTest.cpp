// Every input: unary instructions on 16 bits, binary ones on pairs of bytes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/test/Run.h"
#include <algorithm>
#include <cmath>

using namespace tessera::sim;
using namespace tessera::sim::test;

namespace {

std::vector<uint16_t> allHalves() {
  std::vector<uint16_t> v(65536);
  for (size_t k = 0; k < v.size(); ++k)
    v[k] = uint16_t(k);
  return v;
}
double valueOf(uint16_t v, bool bf) {
  return bf ? double(std::bit_cast<float>(uint32_t(v) << 16))
            : double(std::bit_cast<_Float16>(v));
}

TEST(Exhaustive, HalfSigns) {
  Harness h;
  auto a = allHalves();
  for (bool bf : {false, true}) {
    std::string type = bf ? ".bf16 %d, %a;" : ".f16 %d, %a;";
    auto neg = h.map<uint16_t, uint16_t>("neg" + type, 1, a);
    auto abs = h.map<uint16_t, uint16_t>("abs" + type, 1, a);
    for (uint16_t x : a) {
      if (std::isnan(valueOf(x, bf))) {
        ASSERT_TRUE(std::isnan(valueOf(neg[x], bf)));
        ASSERT_TRUE(std::isnan(valueOf(abs[x], bf)));
        continue;
      }
      ASSERT_EQ(neg[x], x ^ 0x8000);
      ASSERT_EQ(abs[x], x & 0x7fff);
    }
  }
}

TEST(Exhaustive, HalfToWider) {
  Harness h;
  auto a = allHalves();
  for (bool bf : {false, true}) {
    std::string from = bf ? ".bf16 %d, %a;" : ".f16 %d, %a;";
    auto single = h.map<uint32_t, uint16_t>("cvt.f32" + from, 1, a);
    std::vector<uint64_t> wide;
    if (!bf)
      wide = h.map<uint64_t, uint16_t>("cvt.f64" + from, 1, a);
    for (uint16_t x : a) {
      double want = valueOf(x, bf);
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(std::bit_cast<float>(single[x])));
        continue;
      }
      ASSERT_EQ(single[x], std::bit_cast<uint32_t>(float(want)));
      if (!bf)
        ASSERT_EQ(wide[x], std::bit_cast<uint64_t>(want));
    }
  }
}

/// Rounds to an integer; nothing here is large enough to lose digits.
double rounded(double x, int mode) {
  switch (mode) {
  case 0: { // to nearest, ties to even
    double low = std::floor(x), rest = x - low;
    if (rest != 0.5)
      return rest < 0.5 ? low : low + 1;
    return std::fmod(low, 2) == 0 ? low : low + 1;
  }
  case 1:
    return std::trunc(x);
  case 2:
    return std::floor(x);
  default:
    return std::ceil(x);
  }
}
const char *const roundings[] = {"rni", "rzi", "rmi", "rpi"};

template <class T>
void toInteger(Harness &h, const std::vector<uint16_t> &a, bool bf,
               const char *type) {
  using U = std::make_unsigned_t<T>;
  for (int mode = 0; mode < 4; ++mode) {
    std::string op = std::string("cvt.") + roundings[mode] + "." + type +
                     (bf ? ".bf16" : ".f16") + " %d, %a;";
    auto d = h.map<U, uint16_t>(op, 1, a);
    for (uint16_t x : a) {
      double v = valueOf(x, bf);
      if (std::isnan(v)) // 0 up to 32 bits; 64 bits: the top bit
        continue;
      double r = std::isinf(v) ? v : rounded(v, mode);
      // 2^63 and the like are exact; the next integers below are not.
      double low = double(std::numeric_limits<T>::min());
      double high = std::ldexp(1.0, std::numeric_limits<T>::digits);
      T want = r < low     ? std::numeric_limits<T>::min()
               : r >= high ? std::numeric_limits<T>::max()
                           : T(r);
      ASSERT_EQ(T(d[x]), want) << op << " " << v;
    }
  }
}
TEST(Exhaustive, HalfToInteger) {
  Harness h;
  auto a = allHalves();
  for (bool bf : {false, true}) {
    toInteger<int16_t>(h, a, bf, "s16");
    toInteger<uint16_t>(h, a, bf, "u16");
    toInteger<int32_t>(h, a, bf, "s32");
    toInteger<uint32_t>(h, a, bf, "u32");
    toInteger<int64_t>(h, a, bf, "s64");
    toInteger<uint64_t>(h, a, bf, "u64");
  }
}

TEST(Exhaustive, HalfToIntegralHalf) {
  Harness h;
  auto a = allHalves();
  for (int mode = 0; mode < 4; ++mode) {
    std::string op = std::string("cvt.") + roundings[mode] + ".f16.f16 %d, %a;";
    auto d = h.map<uint16_t, uint16_t>(op, 1, a);
    for (uint16_t x : a) {
      double v = valueOf(x, false);
      if (std::isnan(v)) {
        ASSERT_TRUE(std::isnan(valueOf(d[x], false)));
        continue;
      }
      double r = std::isinf(v) ? v : std::copysign(rounded(v, mode), v);
      ASSERT_EQ(d[x], std::bit_cast<uint16_t>(_Float16(r))) << op << " " << v;
    }
  }
}

TEST(Exhaustive, IntegerToHalf) {
  Harness h;
  auto a = allHalves();
  auto s = h.map<uint16_t, uint16_t>("cvt.rn.f16.s16 %d, %a;", 1, a);
  auto u = h.map<uint16_t, uint16_t>("cvt.rn.f16.u16 %d, %a;", 1, a);
  for (uint16_t x : a) {
    // The compiler's own conversion rounds to nearest even.
    ASSERT_EQ(s[x], std::bit_cast<uint16_t>(_Float16(float(int16_t(x)))));
    ASSERT_EQ(u[x], std::bit_cast<uint16_t>(_Float16(float(x)))) << x;
  }
}

/// All 65,536 pairs of bytes, in all four places at once.
TEST(Exhaustive, BytePairs) {
  Harness h;
  std::vector<uint32_t> a(65536), b(65536), c(65536, 1000);
  auto spread = [](unsigned v, unsigned k) {
    return (v & 255) | ((v + 37 * k) & 255) << 8 | ((v + 91 * k) & 255) << 16 |
           (v ^ 255) << 24;
  };
  for (unsigned k = 0; k < 65536; ++k) {
    a[k] = spread(k & 255, 1);
    b[k] = spread(k >> 8, 3);
  }
  struct {
    const char *name;
    int (*f)(int, int);
  } ops[] = {{"vadd4", [](int x, int y) { return x + y; }},
             {"vsub4", [](int x, int y) { return x - y; }},
             {"vavrg4",
              [](int x, int y) { // halves go up, for negative sums down
                return x + y >= 0 ? (x + y + 1) >> 1 : (x + y) >> 1;
              }},
             {"vabsdiff4", [](int x, int y) { return std::abs(x - y); }},
             {"vmin4", [](int x, int y) { return std::min(x, y); }},
             {"vmax4", [](int x, int y) { return std::max(x, y); }}};
  auto byte = [](uint32_t v, int k, bool isSigned) {
    return isSigned ? int(int8_t(v >> 8 * k)) : int(uint8_t(v >> 8 * k));
  };
  const char *types[] = {".u32", ".s32"};
  for (auto &op : ops)
    for (int signs = 0; signs < 8; ++signs)
      for (int second = 0; second < 3; ++second) { // nothing, sat, add
        bool sd = signs & 1, sa = signs & 2, sb = signs & 4;
        std::string text = std::string(op.name) + types[sd] + types[sa] +
                           types[sb] +
                           (second == 1   ? ".sat"
                            : second == 2 ? ".add"
                                          : "") +
                           " %d, %a, %b, %c;";
        auto d = h.map<uint32_t, uint32_t>(text, 3, a, b, c);
        for (unsigned n = 0; n < 65536; ++n) {
          uint32_t want = second == 2 ? c[n] : 0;
          for (int k = 0; k < 4; ++k) {
            int r = op.f(byte(a[n], k, sa), byte(b[n], k, sb));
            if (second == 1)
              r = sd ? std::clamp(r, -128, 127) : std::clamp(r, 0, 255);
            want = second == 2 ? want + uint32_t(r)
                               : want | (uint32_t(r) & 255) << 8 * k;
          }
          ASSERT_EQ(d[n], want) << text << " a=" << a[n] << " b=" << b[n];
        }
      }
  const char *comparisons[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  for (int cmp = 0; cmp < 6; ++cmp)
    for (int signs = 0; signs < 4; ++signs) {
      bool sa = signs & 1, sb = signs & 2;
      std::string text = std::string("vset4") + types[sa] + types[sb] + "." +
                         comparisons[cmp] + " %d, %a, %b, %c;";
      auto d = h.map<uint32_t, uint32_t>(text, 3, a, b, c);
      for (unsigned n = 0; n < 65536; ++n) {
        uint32_t want = 0;
        for (int k = 0; k < 4; ++k) {
          int x = byte(a[n], k, sa), y = byte(b[n], k, sb);
          bool yes[] = {x == y, x != y, x<y, x <= y, x> y, x >= y};
          want |= uint32_t(yes[cmp]) << 8 * k;
        }
        ASSERT_EQ(d[n], want) << text << " a=" << a[n] << " b=" << b[n];
      }
    }
}

} // namespace
