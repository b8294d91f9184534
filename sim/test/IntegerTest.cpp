// Integer and bit instructions of every width against 128-bit arithmetic.
// TESSERA_SIM_SAMPLES=10000000 runs the long version.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/test/Run.h"
#include <algorithm>
#include <random>

using namespace tessera::sim;
using namespace tessera::sim::test;

namespace {

using Wide = __int128;

template <class U> std::vector<U> numbers(size_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<U> v(n);
  constexpr unsigned bits = sizeof(U) * 8;
  const uint64_t edges[] = {0,
                            1,
                            2,
                            bits - 1,
                            bits,
                            bits + 1,
                            (1ull << (bits - 1)) - 1,
                            1ull << (bits - 1),
                            ~0ull,
                            ~1ull};
  for (size_t k = 0; k < n; ++k) {
    uint64_t r = random();
    v[k] = U(k % 5 == 0 ? edges[r % 10] : r >> (k % 3 ? 0 : r % bits));
  }
  return v;
}

/// D is the result's, U the operands' unsigned type.
template <class D, class U> struct Checker {
  Harness h;
  size_t n = samples();
  std::vector<U> a = numbers<U>(n, 21), b = numbers<U>(n, 22),
                 c = numbers<U>(n, 23);
  template <class F>
  void operator()(const std::string &op, int arity, F expected) {
    auto d = h.map<D, U>(op, unsigned(arity), a, b, c);
    for (size_t k = 0; k < n; ++k)
      ASSERT_EQ(d[k], D(expected(a[k], b[k], c[k])))
          << op << " a=" << a[k] << " b=" << b[k] << " c=" << c[k];
  }
};

/// The operations that exist for every signed and unsigned integer type.
template <class T> void arithmetic(const std::string &type) {
  using U = std::make_unsigned_t<T>;
  constexpr unsigned bits = sizeof(T) * 8;
  Checker<U, U> check;
  using Product = unsigned __int128; // of 64-bit numbers: wraps
  auto v = [](U x) { return Wide(T(x)); };
  auto product = [&](U x, U y) { return Product(v(x)) * Product(v(y)); };
  auto op = [&](const char *name, int arity) {
    return std::string(name) + "." + type + " %d, %a" +
           (arity > 1 ? ", %b" : "") + (arity > 2 ? ", %c;" : ";");
  };
  check(op("add", 2), 2, [&](U x, U y, U) { return v(x) + v(y); });
  check(op("sub", 2), 2, [&](U x, U y, U) { return v(x) - v(y); });
  check(op("mul.lo", 2), 2, [&](U x, U y, U) { return product(x, y); });
  if (bits < 64)
    check(op("mul.hi", 2), 2, [&](U x, U y, U) { return v(x) * v(y) >> bits; });
  else // the product of two unsigned 64-bit numbers needs all 128 bits
    check(op("mul.hi", 2), 2, [&](U x, U y, U) {
      if (std::is_signed_v<T>)
        return U((v(x) * v(y)) >> bits);
      return U((unsigned __int128)(x)*y >> bits);
    });
  check(op("mad.lo", 3), 3,
        [&](U x, U y, U z) { return product(x, y) + Product(v(z)); });
  check(op("min", 2), 2, [&](U x, U y, U) { return std::min(v(x), v(y)); });
  check(op("max", 2), 2, [&](U x, U y, U) { return std::max(v(x), v(y)); });
  check(op("sad", 3), 3, [&](U x, U y, U z) {
    return v(z) + (v(x) < v(y) ? v(y) - v(x) : v(x) - v(y));
  });
  // Division by zero: all ones; the remainder is the dividend.
  check(op("div", 2), 2,
        [&](U x, U y, U) { return y ? v(x) / v(y) : Wide(-1); });
  check(op("rem", 2), 2, [&](U x, U y, U) { return y ? v(x) % v(y) : v(x); });
  if (std::is_signed_v<T>) {
    check(op("abs", 1), 1, [&](U x, U, U) { return v(x) < 0 ? -v(x) : v(x); });
    check(op("neg", 1), 1, [&](U x, U, U) { return -v(x); });
  }
}

TEST(Integer, Arithmetic16) {
  arithmetic<int16_t>("s16");
  arithmetic<uint16_t>("u16");
}
TEST(Integer, Arithmetic32) {
  arithmetic<int32_t>("s32");
  arithmetic<uint32_t>("u32");
}
TEST(Integer, Arithmetic64) {
  arithmetic<int64_t>("s64");
  arithmetic<uint64_t>("u64");
}

TEST(Integer, Wide) {
  Checker<uint64_t, uint32_t> check;
  check("mul.wide.s32 %d, %a, %b;", 2, [](uint32_t x, uint32_t y, uint32_t) {
    return int64_t(int32_t(x)) * int32_t(y);
  });
  check("mul.wide.u32 %d, %a, %b;", 2,
        [](uint32_t x, uint32_t y, uint32_t) { return uint64_t(x) * y; });
  Checker<uint32_t, uint16_t> narrow;
  narrow("mul.wide.s16 %d, %a, %b;", 2, [](uint16_t x, uint16_t y, uint16_t) {
    return int32_t(int16_t(x)) * int16_t(y);
  });
  narrow("mul.wide.u16 %d, %a, %b;", 2, [](uint16_t x, uint16_t y, uint16_t) {
    return uint32_t(x) * uint32_t(y);
  });
  Checker<uint32_t, uint32_t> same;
  auto low24 = [](uint32_t x) { return int64_t(int32_t(x << 8) >> 8); };
  same("mul24.lo.s32 %d, %a, %b;", 2, [&](uint32_t x, uint32_t y, uint32_t) {
    return uint64_t(low24(x) * low24(y));
  });
  same("mul24.hi.u32 %d, %a, %b;", 2, [](uint32_t x, uint32_t y, uint32_t) {
    return uint64_t(x & 0xffffff) * (y & 0xffffff) >> 16;
  });
  same("mad24.lo.u32 %d, %a, %b, %c;", 3,
       [](uint32_t x, uint32_t y, uint32_t z) {
         return uint64_t(x & 0xffffff) * (y & 0xffffff) + z;
       });
}

TEST(Integer, VectorRegisters) {
  Checker<uint64_t, uint32_t> check;
  check("{ .reg .v2 .b32 r; mov.b32 r.x, %a; mov.b32 r.y, %b; "
        "mov.b64 %d, r; }",
        2,
        [](uint32_t x, uint32_t y, uint32_t) { return uint64_t(y) << 32 | x; });
  check("{ .reg .v4 .b32 r, s; mov.b32 r.r, %a; "
        "mov.b32 r.g, %b; mov.b32 r.b, %a; mov.b32 r.a, %b; "
        "mov.b32 s.x, r.w; mov.b32 s.y, r.z; mov.b64 %d, {s.x, s.y}; }",
        2,
        [](uint32_t x, uint32_t y, uint32_t) { return uint64_t(x) << 32 | y; });
}

TEST(Integer, Carry) {
  Checker<uint32_t, uint32_t> check;
  // A 64-bit sum from halves: the high one gets the carry.
  check("add.cc.u32 %d, %a, %b; addc.u32 %d, %c, %a;", 3,
        [](uint32_t x, uint32_t y, uint32_t z) {
          return uint64_t(z) + x + ((uint64_t(x) + y) >> 32);
        });
  check("sub.cc.u32 %d, %a, %b; subc.u32 %d, %c, %a;", 3,
        [](uint32_t x, uint32_t y, uint32_t z) { return z - x - (x < y); });
  check("mad.lo.cc.u32 %d, %a, %b, %c; madc.hi.u32 %d, %a, %b, %c;", 3,
        [](uint32_t x, uint32_t y, uint32_t z) {
          uint64_t low = uint64_t(x) * y & 0xffffffff;
          return (uint64_t(x) * y >> 32) + z + ((low + z) >> 32);
        });
  Checker<uint64_t, uint64_t> wide;
  wide("add.cc.u64 %d, %a, %b; addc.u64 %d, %c, %a;", 3,
       [](uint64_t x, uint64_t y, uint64_t z) {
         return z + x + uint64_t(x + y < x);
       });
}

template <class U> void bitwise(const std::string &bits) {
  Checker<U, U> check;
  constexpr unsigned width = sizeof(U) * 8;
  using S = std::make_signed_t<U>;
  std::string t = ".b" + bits + " %d, %a", both = t + ", %b;";
  check("and" + both, 2, [](U x, U y, U) { return x & y; });
  check("or" + both, 2, [](U x, U y, U) { return x | y; });
  check("xor" + both, 2, [](U x, U y, U) { return x ^ y; });
  check("not" + t + ";", 1, [](U x, U, U) { return ~x; });
  check("cnot" + t + ";", 1, [](U x, U, U) { return x == 0; });
  // Shift amounts are 32-bit; amounts beyond the width are clamped.
  for (unsigned n : {0u, 1u, 7u, width - 1, width, width + 1, 255u, ~0u}) {
    std::string by = ", " + std::to_string(n) + ";";
    auto amount = std::min(n, width);
    check("shl" + t + by, 1, [&](U x, U, U) {
      return amount == width ? Wide(0) : Wide(x) << amount;
    });
    check("shr.u" + bits + " %d, %a" + by, 1, [&](U x, U, U) {
      return amount == width ? Wide(0) : Wide(x) >> amount;
    });
    check("shr.s" + bits + " %d, %a" + by, 1,
          [&](U x, U, U) { return Wide(S(x)) >> amount; });
  }
}
TEST(Integer, Bitwise) {
  bitwise<uint16_t>("16");
  bitwise<uint32_t>("32");
  bitwise<uint64_t>("64");
}

template <class U> void counting(const std::string &bits) {
  Checker<uint32_t, U> check;
  using S = std::make_signed_t<U>;
  constexpr int width = sizeof(U) * 8;
  auto highest = [](U x) {
    for (int k = width - 1; k >= 0; --k)
      if (x >> k & 1)
        return k;
    return -1;
  };
  check("popc.b" + bits + " %d, %a;", 1, [](U x, U, U) {
    int n = 0;
    for (; x; x &= x - 1)
      ++n;
    return n;
  });
  check("clz.b" + bits + " %d, %a;", 1,
        [&](U x, U, U) { return width - 1 - highest(x); });
  check("bfind.u" + bits + " %d, %a;", 1,
        [&](U x, U, U) { return highest(x); });
  check("bfind.s" + bits + " %d, %a;", 1,
        [&](U x, U, U) { return highest(S(x) < 0 ? U(~x) : x); });
  check("bfind.shiftamt.u" + bits + " %d, %a;", 1, [&](U x, U, U) {
    return highest(x) < 0 ? -1 : width - 1 - highest(x);
  });
  Checker<U, U> same;
  same("brev.b" + bits + " %d, %a;", 1, [](U x, U, U) {
    U r = 0;
    for (int k = 0; k < width; ++k)
      r |= U(x >> k & 1) << (width - 1 - k);
    return r;
  });
  // Fields at every position; the length is an immediate here.
  for (unsigned length : {0u, 1u, 13u, unsigned(width), 255u})
    for (unsigned position :
         {0u, 5u, unsigned(width) - 1, unsigned(width), 200u}) {
      std::string tail =
          ", " + std::to_string(position) + ", " + std::to_string(length) + ";";
      // How many of the field's bits lie in the register.
      unsigned inside = position < unsigned(width)
                            ? std::min(length, unsigned(width) - position)
                            : 0;
      U ones = inside == unsigned(width) ? U(~U(0)) : U((U(1) << inside) - 1);
      unsigned at = position < unsigned(width) ? position : 0;
      for (bool isSigned : {false, true})
        same(std::string("bfe.") + (isSigned ? "s" : "u") + bits + " %d, %a" +
                 tail,
             1, [&](U x, U, U) {
               unsigned top =
                   std::min(position + length - 1, unsigned(width) - 1);
               bool sign = isSigned && length && (x >> top & 1);
               return (x >> at & ones) | (sign ? U(~ones) : U(0));
             });
      same("bfi.b" + bits + " %d, %a, %b" + tail, 2, [&](U x, U y, U) {
        return (y & ~U(ones << at)) | U((x & ones) << at);
      });
    }
}
TEST(Integer, BitsAndFields) {
  counting<uint32_t>("32");
  counting<uint64_t>("64");
}

TEST(Integer, Special) {
  Checker<uint32_t, uint32_t> check;
  using U = uint32_t;
  for (unsigned table : {0x96u, 0xe8u, 0xcau, 0x1du})
    check("lop3.b32 %d, %a, %b, %c, " + std::to_string(table) + ";", 3,
          [&](U x, U y, U z) {
            U r = 0;
            for (int k = 0; k < 32; ++k)
              r |= (table >>
                        ((x >> k & 1) * 4 + (y >> k & 1) * 2 + (z >> k & 1)) &
                    1)
                   << k;
            return r;
          });
  for (bool left : {true, false})
    for (bool wrap : {true, false})
      check(std::string("shf.") + (left ? "l" : "r") +
                (wrap ? ".wrap" : ".clamp") + ".b32 %d, %a, %b, %c;",
            3, [&](U x, U y, U z) {
              U n = wrap ? z & 31 : std::min(z, 32u);
              Wide pair = Wide(y) << 32 | x;
              return left ? U(uint64_t(pair << n >> 32)) : U(pair >> n);
            });
  for (bool clamp : {true, false}) {
    std::string mode = clamp ? "clamp" : "wrap";
    check("bmsk." + mode + ".b32 %d, %a, %b;", 2, [&](U x, U y, U) {
      uint64_t from = clamp ? x : x & 31, length = clamp ? y : y & 31;
      U r = 0;
      for (uint64_t k = 0; k < 32; ++k)
        r |= U(k >= from && k - from < length) << k;
      return r;
    });
    for (bool isSigned : {false, true})
      check("szext." + mode + (isSigned ? ".s32" : ".u32") + " %d, %a, %b;", 2,
            [&](U x, U y, U) {
              U n = clamp ? std::min(y, 32u) : y & 31;
              if (n == 32)
                return x;
              U low = x & U((1ull << n) - 1);
              bool sign = isSigned && n && (x >> (n - 1) & 1);
              return sign ? low | ~U((1ull << n) - 1) : low;
            });
  }
  check("and.b32 %b, %b, 31; and.b32 %c, %c, 15; sub.s32 %c, %c, 8; "
        "fns.b32 %d, %a, %b, %c;",
        3, [](U x, U y, U z) {
          int base = int(y & 31), offset = int(z & 15) - 8;
          if (offset == 0)
            return x >> base & 1 ? U(base) : ~0u;
          int left = std::abs(offset);
          for (int p = base; p >= 0 && p < 32; p += offset > 0 ? 1 : -1)
            if (x >> p & 1 && --left == 0)
              return U(p);
          return ~0u;
        });
  struct {
    const char *mode;
    int pick[4][4];
  } modes[] = {
      {"f4e", {{3, 2, 1, 0}, {4, 3, 2, 1}, {5, 4, 3, 2}, {6, 5, 4, 3}}},
      {"b4e", {{5, 6, 7, 0}, {6, 7, 0, 1}, {7, 0, 1, 2}, {0, 1, 2, 3}}},
      {"rc8", {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}}},
      {"ecl", {{3, 2, 1, 0}, {3, 2, 1, 1}, {3, 2, 2, 2}, {3, 3, 3, 3}}},
      {"ecr", {{0, 0, 0, 0}, {1, 1, 1, 0}, {2, 2, 1, 0}, {3, 2, 1, 0}}},
      {"rc16", {{1, 0, 1, 0}, {3, 2, 3, 2}, {1, 0, 1, 0}, {3, 2, 3, 2}}}};
  for (auto &m : modes)
    check(std::string("prmt.b32.") + m.mode + " %d, %a, %b, %c;", 3,
          [&](U x, U y, U z) {
            uint64_t bytes = uint64_t(y) << 32 | x;
            U r = 0;
            for (int k = 0; k < 4; ++k) // the table names the high byte first
              r |= U(bytes >> 8 * m.pick[z & 3][3 - k] & 255) << 8 * k;
            return r;
          });
  for (bool sa : {false, true})
    for (bool sb : {false, true}) {
      std::string types = std::string(sa ? ".s32" : ".u32") +
                          (sb ? ".s32" : ".u32") + " %d, %a, %b, %c;";
      auto part = [](U x, int at, int bits, bool isSigned) {
        U v = x >> at & ((1u << bits) - 1);
        return isSigned ? int(v << (32 - bits)) >> (32 - bits) : int(v);
      };
      check("dp4a" + types, 3, [&](U x, U y, U z) {
        for (int k = 0; k < 4; ++k)
          z += U(part(x, 8 * k, 8, sa) * part(y, 8 * k, 8, sb));
        return z;
      });
      for (int high : {0, 1})
        check(std::string("dp2a.") + (high ? "hi" : "lo") + types, 3,
              [&](U x, U y, U z) {
                for (int k = 0; k < 2; ++k)
                  z += U(part(x, 16 * k, 16, sa) *
                         part(y, 16 * high + 8 * k, 8, sb));
                return z;
              });
    }
}

} // namespace
