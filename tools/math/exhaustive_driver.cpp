// Measures expanded math functions against libm in double precision.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linked by tools/math/exhaustive.py with the compiled expansions, each of them
// in two forms: tsr_<name> on vectors and tsr_<name>_scalar. Prints one line of
// JSON per function.
//
// The error is |got - exact| in units of the float32 spacing at the exact
// value, where "exact" is a double: its own error is below 2^-27 of such a
// unit. Infinity counts as 2^128, so a result may overflow where rounding says
// so. NaN must meet NaN, and signs must agree, zeros included.

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

constexpr int chunk = 4096;

#define FOR_EACH_UNARY(X)                                                      \
  X(exp) X(exp2) X(expm1) X(log) X(log2) X(log1p) X(sin) X(cos) X(tanh) X(erf)

extern "C" {
#define DECLARE(NAME)                                                          \
  void tsr_##NAME(const float *, float *);                                     \
  void tsr_##NAME##_scalar(const float *, float *);
FOR_EACH_UNARY(DECLARE)
DECLARE(rsqrt)
#undef DECLARE
void tsr_powf(const float *, const float *, float *);
void tsr_powf_scalar(const float *, const float *, float *);
#ifdef __AVX512F__
// glibc's vector functions: double precision, at most 4 ULP of it.
#define DECLARE(NAME) __m512d _ZGVeN8v_##NAME(__m512d);
FOR_EACH_UNARY(DECLARE)
#undef DECLARE
__m512d _ZGVeN8vv_pow(__m512d, __m512d);
#endif
}

namespace {

using Unary = void (*)(const float *, float *);
using Reference = void (*)(const double *, double *);

#ifdef __AVX512F__
#define REFERENCE(NAME)                                                        \
  void reference_##NAME(const double *x, double *y) {                          \
    for (int i = 0; i < chunk; i += 8)                                         \
      _mm512_storeu_pd(y + i, _ZGVeN8v_##NAME(_mm512_loadu_pd(x + i)));        \
  }
#else
#define REFERENCE(NAME)                                                        \
  void reference_##NAME(const double *x, double *y) {                          \
    for (int i = 0; i < chunk; ++i)                                            \
      y[i] = std::NAME(x[i]);                                                  \
  }
#endif
FOR_EACH_UNARY(REFERENCE)
#undef REFERENCE

void reference_rsqrt(const double *x, double *y) {
  for (int i = 0; i < chunk; ++i)
    y[i] = 1.0 / std::sqrt(x[i]);
}

#define LIBM(NAME)                                                             \
  double libm_##NAME(double x) { return std::NAME(x); }
FOR_EACH_UNARY(LIBM)
#undef LIBM
double libm_rsqrt(double x) { return 1.0 / std::sqrt(x); }

struct Function {
  const char *name;
  Unary vector, scalar;
  Reference reference;
  double (*libm)(double);
};

#define ENTRY(NAME)                                                            \
  {#NAME, tsr_##NAME, tsr_##NAME##_scalar, reference_##NAME, libm_##NAME},
const Function functions[] = {FOR_EACH_UNARY(ENTRY) ENTRY(rsqrt)};
#undef ENTRY

struct Worst {
  double ulp = 0.0;
  uint32_t x = 0, y = 0;
  uint64_t wrongSpecials = 0, scalarDiffers = 0, count = 0;
  uint32_t wrongAt = 0, wrongAtY = 0;

  void merge(const Worst &other) {
    if (other.ulp > ulp)
      ulp = other.ulp, x = other.x, y = other.y;
    if (other.wrongSpecials && !wrongSpecials)
      wrongAt = other.wrongAt, wrongAtY = other.wrongAtY;
    wrongSpecials += other.wrongSpecials;
    scalarDiffers += other.scalarDiffers;
    count += other.count;
  }
};

double clampToFloatRange(double v) {
  return v > 0x1p128 ? 0x1p128 : v < -0x1p128 ? -0x1p128 : v;
}

/// The error in ULP, or a negative number for a wrong special case.
double ulpError(float got, double exact) {
  exact = clampToFloatRange(exact);
  double value = clampToFloatRange(got);
  uint64_t bits = std::bit_cast<uint64_t>(exact) & 0x7ff0000000000000;
  double spacing = std::bit_cast<double>(bits) * 0x1p-23;
  spacing = spacing < 0x1p-149 ? 0x1p-149 : spacing;
  double error = std::fabs(value - exact) / spacing;
  bool sameNan = (got != got) == (exact != exact);
  bool sameSign = (std::bit_cast<uint32_t>(got) >> 31) ==
                  (std::bit_cast<uint64_t>(exact) >> 63);
  bool isNan = exact != exact;
  return isNan ? (sameNan ? 0.0 : -1.0)
               : ((sameNan && sameSign) ? error : -1.0);
}

void accumulate(Worst &worst, const float *x, const float *y, const float *got,
                const double *exact) {
  double errors[chunk], largest = 0.0, smallest = 0.0;
  for (int i = 0; i < chunk; ++i) {
    errors[i] = ulpError(got[i], exact[i]);
    largest = errors[i] > largest ? errors[i] : largest;
    smallest = errors[i] < smallest ? errors[i] : smallest;
  }
  worst.count += chunk;
  if (largest <= worst.ulp && smallest >= 0.0)
    return;
  for (int i = 0; i < chunk; ++i) {
    uint32_t xBits = std::bit_cast<uint32_t>(x[i]);
    uint32_t yBits = y ? std::bit_cast<uint32_t>(y[i]) : 0;
    if (errors[i] > worst.ulp)
      worst.ulp = errors[i], worst.x = xBits, worst.y = yBits;
    if (errors[i] < 0.0) {
      if (!worst.wrongSpecials)
        worst.wrongAt = xBits, worst.wrongAtY = yBits;
      ++worst.wrongSpecials;
    }
  }
}

Worst sweep(const Function &function, uint64_t first, uint64_t last,
            uint64_t stride, double deadline) {
  Worst worst;
  std::vector<float> x(chunk), got(chunk), scalar(chunk);
  std::vector<double> wide(chunk), exact(chunk);
  auto start = std::chrono::steady_clock::now();
  uint64_t chunks = 0;
  for (uint64_t base = first; base < last; base += chunk * stride, ++chunks) {
    for (int i = 0; i < chunk; ++i) {
      uint64_t bits = base + i * stride;
      x[i] = std::bit_cast<float>(uint32_t(bits < last ? bits : first));
      wide[i] = x[i];
    }
    function.vector(x.data(), got.data());
    function.reference(wide.data(), exact.data());
    // The vector reference and the scalar form are checked on a sample.
    if (chunks % 64 == 0) {
      function.scalar(x.data(), scalar.data());
      for (int i = 0; i < chunk; ++i) {
        bool bothNan = got[i] != got[i] && scalar[i] != scalar[i];
        if (!bothNan && std::memcmp(&got[i], &scalar[i], sizeof(float)))
          ++worst.scalarDiffers;
      }
      for (int i = 0; i < chunk; ++i)
        exact[i] = function.libm(wide[i]);
    }
    accumulate(worst, x.data(), nullptr, got.data(), exact.data());
    std::chrono::duration<double> spent =
        std::chrono::steady_clock::now() - start;
    if (deadline > 0 && spent.count() > deadline)
      break;
  }
  return worst;
}

//===----------------------------------------------------------------------===//
// pow: pairs instead of all arguments
//===----------------------------------------------------------------------===//

uint64_t nextRandom(uint64_t &state) {
  state += 0x9e3779b97f4a7c15;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

const uint32_t specialBits[] = {
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x00800000,
    0x3f7fffff, 0x3f800000, 0x3f800001, 0xbf800000, 0xbf800001, 0xbf7fffff,
    0x3f000000, 0xbf000000, 0x40000000, 0xc0000000, 0x40400000, 0xc0400000,
    0x40600000, 0xc0600000, 0x4b800000, 0x4b7fffff, 0xcb7fffff, 0x4b000001,
    0xcb000001, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000,
    0xffc00000, 0x42fe0000, 0xc3150000, 0x43000000, 0x3e99999a, 0xbe99999a};

/// Pairs of three kinds: any bits; results spread over the whole float range
/// (where the error of log2 counts most); small integer exponents.
void pair(uint64_t kind, uint64_t &state, float &x, float &y) {
  uint64_t r = nextRandom(state);
  uint32_t low = uint32_t(r), high = uint32_t(r >> 32);
  x = std::bit_cast<float>(low);
  y = std::bit_cast<float>(high);
  if (kind % 4 == 0)
    return;
  if (kind % 4 == 3) {
    y = float(int(high % 65) - 32);
    return;
  }
  x = std::fabs(x);
  if (kind % 4 == 1) // near 1: exponents reach the millions
    x = std::bit_cast<float>(0x3f800000 - 0x200000 + (low & 0x3fffff));
  double target = (double(high) * 0x1p-32) * 300.0 - 160.0;
  double log = std::log2(double(x));
  y = float(log != 0.0 ? target / log : target);
}

Worst sweepPow(uint64_t pairs, double deadline) {
  Worst worst;
  std::vector<float> x(chunk), y(chunk), got(chunk), scalar(chunk);
  std::vector<double> exact(chunk);
  auto start = std::chrono::steady_clock::now();
  uint64_t state = 42;
  constexpr int specials = sizeof(specialBits) / sizeof(specialBits[0]);
  for (uint64_t done = 0; done < pairs; done += chunk) {
    for (int i = 0; i < chunk; ++i) {
      if (done == 0 && i < specials * specials) {
        x[i] = std::bit_cast<float>(specialBits[i / specials]);
        y[i] = std::bit_cast<float>(specialBits[i % specials]);
      } else {
        pair(i, state, x[i], y[i]);
      }
    }
    tsr_powf(x.data(), y.data(), got.data());
    for (int i = 0; i < chunk; ++i)
      exact[i] = std::pow(double(x[i]), double(y[i]));
    if (done % (64 * chunk) == 0) {
      tsr_powf_scalar(x.data(), y.data(), scalar.data());
      for (int i = 0; i < chunk; ++i) {
        bool bothNan = got[i] != got[i] && scalar[i] != scalar[i];
        if (!bothNan && std::memcmp(&got[i], &scalar[i], sizeof(float)))
          ++worst.scalarDiffers;
      }
    }
    accumulate(worst, x.data(), y.data(), got.data(), exact.data());
    std::chrono::duration<double> spent =
        std::chrono::steady_clock::now() - start;
    if (deadline > 0 && spent.count() > deadline)
      break;
  }
  return worst;
}

/// Best time per element over a chunk of ordinary arguments, in cache.
template <typename Call> double nanosecondsPerElement(Call call) {
  double best = 1e30;
  for (int repeat = 0; repeat < 200; ++repeat) {
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 10; ++i)
      call();
    std::chrono::duration<double> spent =
        std::chrono::steady_clock::now() - start;
    best = std::min(best, spent.count());
  }
  return best * 1e9 / (10.0 * chunk);
}

std::vector<float> ordinaryArguments() {
  std::vector<float> x(chunk);
  for (int i = 0; i < chunk; ++i)
    x[i] = 0.1f + 9.9f * float(i) / float(chunk);
  return x;
}

void print(const char *name, const Worst &worst, double seconds,
           double nanoseconds) {
  std::printf("{\"function\": \"%s\", \"max_ulp\": %.4f, \"at\": \"0x%08x\", "
              "\"at_y\": \"0x%08x\", \"wrong_specials\": %llu, "
              "\"wrong_at\": \"0x%08x\", \"wrong_at_y\": \"0x%08x\", "
              "\"scalar_differs\": %llu, \"inputs\": %llu, "
              "\"seconds\": %.2f, \"ns_per_element\": %.3f}\n",
              name, worst.ulp, worst.x, worst.y,
              (unsigned long long)worst.wrongSpecials, worst.wrongAt,
              worst.wrongAtY, (unsigned long long)worst.scalarDiffers,
              (unsigned long long)worst.count, seconds, nanoseconds);
  std::fflush(stdout);
}

} // namespace

/// driver <function> <stride> <pairs for pow> <seconds per function> <threads>
int main(int argc, char **argv) {
  if (argc != 6)
    return 2;
  std::string name = argv[1];
  uint64_t stride = std::strtoull(argv[2], nullptr, 10);
  uint64_t pairs = std::strtoull(argv[3], nullptr, 10);
  double seconds = std::strtod(argv[4], nullptr);
  unsigned threads = std::strtoul(argv[5], nullptr, 10);
  auto start = std::chrono::steady_clock::now();
  auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         start)
        .count();
  };
  if (name == "powf") {
    Worst worst = sweepPow(pairs, seconds);
    double spent = elapsed();
    std::vector<float> x = ordinaryArguments(), y(chunk);
    print("powf", worst, spent, nanosecondsPerElement([&] {
            tsr_powf(x.data(), x.data(), y.data());
          }));
    return 0;
  }
  for (const Function &function : functions) {
    if (name != function.name)
      continue;
    std::vector<Worst> parts(threads);
    std::vector<std::thread> pool;
    uint64_t total = uint64_t(1) << 32, share = total / threads;
    for (unsigned t = 0; t < threads; ++t)
      pool.emplace_back([&, t] {
        parts[t] =
            sweep(function, t * share,
                  t + 1 == threads ? total : (t + 1) * share, stride, seconds);
      });
    for (std::thread &thread : pool)
      thread.join();
    Worst worst;
    for (const Worst &part : parts)
      worst.merge(part);
    double spent = elapsed();
    std::vector<float> x = ordinaryArguments(), y(chunk);
    print(function.name, worst, spent,
          nanosecondsPerElement([&] { function.vector(x.data(), y.data()); }));
    return 0;
  }
  std::fprintf(stderr, "error: unknown function %s\n", argv[1]);
  return 2;
}
