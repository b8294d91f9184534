//===- Reference.cpp - Floats that are never rounded ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reals are x86's 80-bit long double: 11 bits more than f64, and the C library
// has every function in it.
//
//===----------------------------------------------------------------------===//

#include "compiler/Interpreter/Domain.h"

#include <cmath>

using namespace tessera;
using namespace tessera::interpreter;
using llvm::ArrayRef;

namespace {

long double combine(Reduction kind, long double a, long double b) {
  long double pair[] = {a, b};
  switch (kind) {
  case Reduction::Prod:
    return a * b;
  case Reduction::Max:
    return referenceReal(ScalarOp::Maximum, pair);
  case Reduction::Min:
    return referenceReal(ScalarOp::Minimum, pair);
  default:
    return a + b;
  }
}

class Reference : public Domain {
public:
  llvm::StringRef name() const override { return "reference"; }
  Cell constant(Element type, long double value) override {
    return isFloat(type) ? Cell::ofReal(value)
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
  Cell compute(ScalarOp op, Types types, ArrayRef<Cell> x) override {
    long double values[3];
    for (size_t i = 0; i < x.size(); ++i)
      values[i] = x[i].real;
    long double value = referenceReal(op, values);
    return isPredicate(op) ? Cell::ofInteger(value != 0) : Cell::ofReal(value);
  }
  Cell convert(const Cell &x, Element from, Element to,
               Rounding rounding) override {
    if (!isFloat(from))
      return Cell::ofReal((long double)x.integer);
    if (isFloat(to))
      return x;
    long double limit = std::ldexp(1.0L, int(bitsOf(to)) - 1);
    if (std::isnan(x.real))
      return Cell::ofInteger(0);
    if (x.real >= limit)
      return Cell::ofInteger(int64_t((uint64_t(1) << (bitsOf(to) - 1)) - 1));
    return Cell::ofInteger(int64_t(x.real < -limit ? -limit : x.real));
  }
  Cell reduceFloats(Reduction kind, Types types, ArrayRef<Cell> row) override {
    long double total = row[0].real;
    for (const Cell &cell : row.drop_front())
      total = combine(kind, total, cell.real);
    return Cell::ofReal(total);
  }
  void scanFloats(Reduction kind, Types types, ArrayRef<Cell> row,
                  llvm::MutableArrayRef<Cell> out) override {
    long double total = row[0].real;
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0)
        total = combine(kind, total, row[i].real);
      out[i] = Cell::ofReal(total);
    }
  }
  Cell dotFloats(Types types, ArrayRef<Cell> a, ArrayRef<Cell> b,
                 const Cell *start) override {
    long double total = start ? start->real : 0;
    for (size_t i = 0; i < a.size(); ++i)
      total += a[i].real * b[i].real;
    return Cell::ofReal(total);
  }
};

} // namespace

std::unique_ptr<Domain> interpreter::createReferenceDomain() {
  return std::make_unique<Reference>();
}
