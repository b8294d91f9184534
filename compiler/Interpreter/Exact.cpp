//===- Exact.cpp - Storage semantics --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each op computes in its compute type (f32 or f64, by the processor) and
// rounds once to the result's. Functions that no processor rounds correctly
// are the reference's value, rounded. Sums go left to right in the accumulate
// type; products in sums are fused.
//
//===----------------------------------------------------------------------===//

#include "compiler/Interpreter/Domain.h"

#include <cmath>

using namespace tessera;
using namespace tessera::interpreter;
using llvm::ArrayRef;

namespace {

/// NumPy's: the quotient's floor, found through the exact remainder.
template <typename T> T floorDivide(T a, T b) {
  if (b == 0)
    return a / b;
  T rest = std::fmod(a, b);
  T whole = (a - rest) / b;
  if (rest != 0 && (rest < 0) != (b < 0))
    whole -= 1;
  if (whole == 0)
    return std::copysign(T(0), a / b);
  return std::nearbyint(whole);
}

template <typename T> T modulo(T a, T b) {
  T rest = std::fmod(a, b);
  if (rest == 0)
    return std::copysign(T(0), b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

template <typename T> T maximum(T a, T b) {
  if (std::isnan(a) || std::isnan(b))
    return a + b;
  if (a == b)
    return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

/// In T, which is float or double.
template <typename T> long double computeIn(ScalarOp op, const Cell *x) {
  T a = T(x[0].real);
  switch (op) {
  case ScalarOp::Sqrt:
    return std::sqrt(a);
  case ScalarOp::Add:
    return a + T(x[1].real);
  case ScalarOp::Sub:
    return a - T(x[1].real);
  case ScalarOp::Mul:
    return a * T(x[1].real);
  case ScalarOp::Div:
    return a / T(x[1].real);
  case ScalarOp::FloorDiv:
    return floorDivide(a, T(x[1].real));
  case ScalarOp::Mod:
    return modulo(a, T(x[1].real));
  case ScalarOp::Rem:
    return std::fmod(a, T(x[1].real));
  case ScalarOp::Fma:
    return std::fma(a, T(x[1].real), T(x[2].real));
  default: {
    unsigned operands = infoOf(op).operands;
    long double values[3];
    for (unsigned i = 0; i < operands; ++i)
      values[i] = x[i].real;
    return T(referenceReal(op, values));
  }
  }
}

template <typename T> T combine(Reduction kind, T a, T b) {
  switch (kind) {
  case Reduction::Prod:
    return a * b;
  case Reduction::Max:
    return maximum(a, b);
  case Reduction::Min:
    return -maximum(-a, -b);
  default:
    return a + b;
  }
}

template <typename T> long double reduceIn(Reduction kind, ArrayRef<Cell> row) {
  T total = T(row[0].real);
  for (const Cell &cell : row.drop_front())
    total = combine(kind, total, T(cell.real));
  return total;
}

template <typename T>
long double dotIn(bool exactProducts, ArrayRef<Cell> a, ArrayRef<Cell> b,
                  long double start) {
  T total = T(start);
  if (exactProducts)
    for (size_t i = 0; i < a.size(); ++i)
      total += T(a[i].real) * T(b[i].real);
  else
    for (size_t i = 0; i < a.size(); ++i)
      total = std::fma(T(a[i].real), T(b[i].real), total);
  return total;
}

/// Sums of fused products, left to right, a row of results at a time; `b` is
/// k x n. With the instruction where there is one.
#define MULTIPLY_ROW(T)                                                        \
  [[gnu::target_clones("arch=haswell", "default")]] void multiplyRow(          \
      size_t n, size_t k, const T *a, const T *b, T *sums) {                   \
    for (size_t i = 0; i < k; ++i)                                             \
      for (size_t j = 0; j < n; ++j)                                           \
        sums[j] = std::fma(a[i], b[i * n + j], sums[j]);                       \
  }
MULTIPLY_ROW(float)
MULTIPLY_ROW(double)
#undef MULTIPLY_ROW

template <typename T, typename Finish>
void multiplyIn(size_t m, size_t n, size_t k, ArrayRef<Cell> a,
                ArrayRef<Cell> b, Finish finish) {
  std::vector<T> row(k), other(k * n), sums(n);
  for (size_t j = 0; j < n; ++j)
    for (size_t i = 0; i < k; ++i)
      other[i * n + j] = T(b[j * k + i].real);
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < k; ++j)
      row[j] = T(a[i * k + j].real);
    std::fill(sums.begin(), sums.end(), T(0));
    multiplyRow(n, k, row.data(), other.data(), sums.data());
    for (size_t j = 0; j < n; ++j)
      finish(i * n + j, sums[j]);
  }
}

class Exact : public Domain {
public:
  llvm::StringRef name() const override { return "exact"; }
  Cell constant(Element type, long double value) override {
    return isFloat(type) ? Cell::ofReal(roundTo(type, value))
                         : Cell::ofInteger(wrapTo(type, int64_t(value)));
  }
  Cell fromBits(Element type, uint64_t bits) override {
    return isFloat(type) ? Cell::ofReal(decode(type, bits))
                         : Cell::ofInteger(wrapTo(type, int64_t(bits)));
  }
  uint64_t toBits(Element type, const Cell &cell) override {
    return isFloat(type) ? encode(type, cell.real) : uint64_t(cell.integer);
  }

protected:
  /// Narrower accumulators than f32 (a user's choice) round after each step.
  static bool inDouble(Element e) { return e == Element::F64; }

  Cell compute(ScalarOp op, Types types, ArrayRef<Cell> x) override {
    long double value = inDouble(types.in) ? computeIn<double>(op, x.data())
                                           : computeIn<float>(op, x.data());
    if (isPredicate(op))
      return Cell::ofInteger(value != 0);
    return finish(types, value);
  }
  /// Rounds to the type that is computed in, then to the result's.
  static Cell finish(Types types, long double value) {
    if (isNarrow(types.in))
      value = roundTo(types.in, value);
    if (types.to != types.in)
      value = roundTo(types.to, value);
    return Cell::ofReal(value);
  }

  Cell convert(const Cell &x, Element from, Element to,
               Rounding rounding) override {
    if (!isFloat(from)) // exact in 80 bits
      return Cell::ofReal(roundTo(to, (long double)x.integer));
    if (isFloat(to))
      return Cell::ofReal(rounding == Rounding::Nearest
                              ? roundTo(to, x.real)
                              : roundTowardZero(to, x.real));
    long double limit = std::ldexp(1.0L, int(bitsOf(to)) - 1);
    if (std::isnan(x.real))
      return Cell::ofInteger(0);
    if (x.real >= limit)
      return Cell::ofInteger(int64_t((uint64_t(1) << (bitsOf(to) - 1)) - 1));
    if (x.real < -limit)
      return Cell::ofInteger(int64_t(-limit));
    return Cell::ofInteger(int64_t(x.real));
  }

  Cell reduceFloats(Reduction kind, Types types, ArrayRef<Cell> row) override {
    if (isNarrow(types.in)) {
      Types step{types.in, types.in, types.in};
      long double total = roundTo(types.in, row[0].real);
      for (const Cell &cell : row.drop_front())
        total = finish(step, combine(kind, float(total),
                                     float(roundTo(types.in, cell.real))))
                    .real;
      return finish(types, total);
    }
    return finish(types, inDouble(types.in) ? reduceIn<double>(kind, row)
                                            : reduceIn<float>(kind, row));
  }

  void scanFloats(Reduction kind, Types types, ArrayRef<Cell> row,
                  llvm::MutableArrayRef<Cell> out) override {
    Types step{types.in, types.in, types.in};
    long double total = 0;
    for (size_t i = 0; i < row.size(); ++i) {
      long double next = roundTo(types.in, row[i].real);
      if (i == 0)
        total = next;
      else if (inDouble(types.in))
        total = combine(kind, double(total), double(next));
      else
        total = finish(step, combine(kind, float(total), float(next))).real;
      out[i] = finish(types, total);
    }
  }

  void multiplyFloats(Types types, size_t m, size_t n, size_t k,
                      ArrayRef<Cell> a, ArrayRef<Cell> b,
                      llvm::MutableArrayRef<Cell> out) override {
    if (isNarrow(types.in))
      return Domain::multiplyFloats(types, m, n, k, a, b, out);
    auto put = [&](size_t i, long double value) {
      out[i] = finish(types, value);
    };
    if (inDouble(types.in))
      multiplyIn<double>(m, n, k, a, b, put);
    else
      multiplyIn<float>(m, n, k, a, b, put);
  }

  Cell dotFloats(Types types, ArrayRef<Cell> a, ArrayRef<Cell> b,
                 const Cell *start) override {
    long double first = start ? start->real : 0;
    if (isNarrow(types.in)) {
      Types step{types.in, types.in, types.in};
      for (size_t i = 0; i < a.size(); ++i)
        first = finish(step, std::fma(float(a[i].real), float(b[i].real),
                                      float(first)))
                    .real;
      return finish(types, first);
    }
    // Products of two 16-bit floats are values of f32.
    bool exact = isNarrow(types.from);
    return finish(types, inDouble(types.in) ? dotIn<double>(exact, a, b, first)
                                            : dotIn<float>(exact, a, b, first));
  }
};

} // namespace

std::unique_ptr<Domain> interpreter::createExactDomain() {
  return std::make_unique<Exact>();
}
