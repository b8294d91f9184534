//===- Rows.cpp - Composites of one row -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Interpreter/Rows.h"

#include <cmath>
#include <numbers>

using namespace tessera;
using namespace tessera::interpreter;
using llvm::ArrayRef;
using S = ScalarOp;
using Real = long double;

static constexpr Real infinity = std::numeric_limits<Real>::infinity();

Row interpreter::castRow(Domain &domain, ArrayRef<Cell> row, Element from,
                         Element to) {
  Row result;
  for (const Cell &cell : row)
    result.push_back(domain.cast(cell, from, to));
  return result;
}

Cell Steps::finiteMax(ArrayRef<Cell> row, bool keepPlusInf) const {
  Cell max = reduce(Reduction::Max, row);
  Cell test = keepPlusInf ? max : one(S::Abs, max);
  Cell limit = domain.constant(in, keepPlusInf ? -infinity : infinity);
  return select(compare(S::Eq, test, limit), number(0), max);
}

/// Whether reals can be used: the domain has them and every cell is there.
static bool isDirect(Domain &domain, ArrayRef<Cell> row) {
  return domain.knowsComposedRows() &&
         llvm::all_of(row, [](const Cell &cell) { return cell.present(); });
}
/// A result on reals, as a value of the type.
static Cell give(Domain &domain, Element in, Real value) {
  return domain.constant(in, value);
}

static Real largest(ArrayRef<Cell> x) {
  Real max = -infinity;
  for (const Cell &cell : x) {
    if (std::isnan(cell.real))
      return cell.real;
    max = std::max(max, cell.real);
  }
  return max;
}

Row interpreter::softmaxRow(Domain &domain, Element in, ArrayRef<Cell> x,
                            bool log, bool near) {
  Row result;
  if (isDirect(domain, x)) {
    Real max = largest(x), sum = 0;
    if (max == -infinity) // a row of only minus infinity gives 0
      max = 0;
    for (const Cell &cell : x)
      sum += std::exp(cell.real - max);
    if (sum == 0)
      sum = 1;
    for (const Cell &cell : x) {
      Real shifted = cell.real - max;
      result.push_back(give(
          domain, in, log ? shifted - std::log(sum) : std::exp(shifted) / sum));
    }
    return result;
  }
  Steps step{domain, in};
  Cell max = step.finiteMax(x, /*keepPlusInf=*/true);
  Row shifted, e;
  for (const Cell &cell : x) {
    shifted.push_back(step.two(S::Sub, cell, max));
    e.push_back(
        near ? step.one(S::Exp2Near, step.two(S::Mul, shifted.back(),
                                              step.number(std::numbers::log2e)))
             : step.one(S::Exp, shifted.back()));
  }
  Cell sum = step.reduce(Reduction::Sum, e);
  Cell empty = step.compare(S::Eq, sum, step.number(0));
  Cell safe = step.select(empty, step.number(1), sum);
  Cell last =
      log ? step.one(S::Log, safe) : step.two(S::Div, step.number(1), safe);
  for (size_t i = 0; i < x.size(); ++i)
    result.push_back(log ? step.two(S::Sub, shifted[i], last)
                         : step.two(S::Mul, e[i], last));
  return result;
}

Cell interpreter::logsumexpRow(Domain &domain, Element in, ArrayRef<Cell> x) {
  if (isDirect(domain, x)) {
    Real max = largest(x), sum = 0;
    if (std::isinf(max))
      max = 0;
    for (const Cell &cell : x)
      sum += std::exp(cell.real - max);
    return give(domain, in, std::log(sum) + max);
  }
  Steps step{domain, in};
  Cell max = step.finiteMax(x, /*keepPlusInf=*/false);
  Row e;
  for (const Cell &cell : x)
    e.push_back(step.one(S::Exp, step.two(S::Sub, cell, max)));
  return step.two(S::Add, step.one(S::Log, step.reduce(Reduction::Sum, e)),
                  max);
}

static Real meanOf(ArrayRef<Cell> x) {
  Real sum = 0;
  for (const Cell &cell : x)
    sum += cell.real;
  return sum / Real(x.size());
}

Cell interpreter::meanRow(Domain &domain, Element in, ArrayRef<Cell> x) {
  if (isDirect(domain, x))
    return give(domain, in, meanOf(x));
  Steps step{domain, in};
  return step.two(S::Div, step.reduce(Reduction::Sum, x),
                  step.count(int64_t(x.size())));
}

Cell interpreter::varianceRow(Domain &domain, Element in, ArrayRef<Cell> x,
                              int64_t correction) {
  int64_t divisor = std::max<int64_t>(int64_t(x.size()) - correction, 0);
  if (isDirect(domain, x)) {
    Real mean = meanOf(x), sum = 0;
    for (const Cell &cell : x)
      sum += (cell.real - mean) * (cell.real - mean);
    return give(domain, in, sum / Real(divisor));
  }
  Steps step{domain, in};
  Cell mean = meanRow(domain, in, x);
  Row squares;
  for (const Cell &cell : x) {
    Cell d = step.two(S::Sub, cell, mean);
    squares.push_back(step.square(d));
  }
  return step.two(S::Div, step.reduce(Reduction::Sum, squares),
                  step.count(divisor));
}

Row interpreter::normRow(Domain &domain, Element in, ArrayRef<Cell> x, Real eps,
                         bool rms) {
  Row result;
  if (isDirect(domain, x)) {
    Real mean = rms ? 0 : meanOf(x), sum = 0;
    for (const Cell &cell : x)
      sum += (cell.real - mean) * (cell.real - mean);
    Real factor = 1 / std::sqrt(sum / Real(x.size()) + eps);
    for (const Cell &cell : x)
      result.push_back(Cell::ofReal((cell.real - mean) * factor));
    return result;
  }
  Steps step{domain, in};
  Row centred(x), squares;
  if (!rms) {
    Cell mean = meanRow(domain, in, x);
    for (Cell &cell : centred)
      cell = step.two(S::Sub, cell, mean);
  }
  for (const Cell &cell : centred)
    squares.push_back(step.square(cell));
  Cell variance = meanRow(domain, in, squares);
  Cell factor =
      step.one(S::Rsqrt, step.two(S::Add, variance, step.number(eps)));
  for (const Cell &cell : centred)
    result.push_back(step.two(S::Mul, cell, factor));
  return result;
}
