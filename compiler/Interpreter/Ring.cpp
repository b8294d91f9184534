//===- Ring.cpp - Floats as elements of an integer ring -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ring is the simulator's (sim/exec/RingArithmetic.h): sums and products
// agree bit for bit in any order, so a lost or doubled term shows. exp is
// 5^(x * log2 e): sums become products, also of rescaled ones. Casts between
// floats are opaque, and stages must place them alike.
//
//===----------------------------------------------------------------------===//

#include "compiler/Interpreter/Domain.h"

#include "sim/exec/RingArithmetic.h"
#include <cmath>
#include <map>
#include <numbers>

using namespace tessera;
using namespace tessera::interpreter;
using llvm::ArrayRef;
using sim::ptx::Type;
namespace ring = sim::ring;

static Type typeOf(Element e) {
  switch (e) {
  case Element::F16:
    return Type::F16;
  case Element::BF16:
    return Type::BF16;
  case Element::TF32:
    return Type::TF32;
  case Element::F64:
    return Type::F64;
  default:
    return Type::F32;
  }
}

namespace {

class RingDomain : public Domain {
public:
  llvm::StringRef name() const override { return "ring"; }
  Cell constant(Element type, long double value) override {
    if (!isFloat(type))
      return Cell::ofInteger(wrapTo(type, int64_t(value)));
    uint64_t element = ring::constant(typeOf(type), double(value));
    // Large whole numbers share their elements with small ones.
    if (std::trunc(value) != value || std::fabs(value) < 16384)
      literals.try_emplace({type, element}, value);
    return of(element);
  }
  Cell fromBits(Element type, uint64_t bits) override {
    if (!isFloat(type))
      return Cell::ofInteger(wrapTo(type, int64_t(bits)));
    return of(ring::Ring(typeOf(type)).element(bits));
  }
  uint64_t toBits(Element type, const Cell &cell) override {
    return uint64_t(cell.integer);
  }
  bool knowsComposedScalars() const override { return false; }
  bool knowsComposedRows() const override { return false; }
  std::string refuse(ScalarOp op) override {
    if (infoOf(op).ring != RingClass::Excluded)
      return {};
    return ("'" + infoOf(op).name + "' of floats is excluded from ring mode")
        .str();
  }
  std::string refuseCast(Element from, Element to) override {
    auto small = [](Element e) {
      return e == Element::F8E4M3 || e == Element::F8E5M2;
    };
    if (small(from) || small(to) ||
        (isFloat(from) && !isFloat(to) && to != Element::I1))
      return ("a cast from " + nameOf(from) + " to " + nameOf(to) +
              " is excluded from ring mode")
          .str();
    return {};
  }

protected:
  static Cell of(uint64_t element) { return Cell::ofInteger(int64_t(element)); }

  /// Of a number of the program it is that number in the other type: a pass may
  /// have converted it.
  uint64_t change(const Cell &x, Element from, Element to) {
    if (from == to)
      return uint64_t(x.integer);
    auto known = literals.find({from, uint64_t(x.integer)});
    if (known != literals.end())
      return uint64_t(constant(to, roundTo(to, known->second)).integer);
    return ring::convert(typeOf(to), typeOf(from), uint64_t(x.integer));
  }

  Cell compute(ScalarOp op, Types types, ArrayRef<Cell> x) override {
    ring::Ring r(typeOf(types.in));
    uint64_t v[3] = {};
    for (size_t i = 0; i < x.size(); ++i)
      v[i] = change(x[i], types.from, types.in);
    if (isPredicate(op))
      return Cell::ofInteger(test(op, types, r, v));
    std::optional<long double> folded = foldNumbers(op, types.in, v);
    // Square roots of sizes too: a pass may compute them where a size is known.
    if (op == ScalarOp::Sqrt && v[0] > 0 && v[0] < 16384)
      folded = std::sqrt((long double)v[0]);
    if (folded)
      return of(change(constant(types.in, roundTo(types.in, *folded)), types.in,
                       types.to));
    Cell result = of(evaluate(op, types, r, v));
    return of(change(result, types.in, types.to));
  }

  static uint64_t number(Types types, long double value) {
    return ring::constant(typeOf(types.in), double(roundTo(types.in, value)));
  }

  /// Products and quotients of numbers of the program, which a pass may have
  /// computed.
  std::optional<long double> foldNumbers(ScalarOp op, Element type,
                                         const uint64_t *x) const {
    if (op != ScalarOp::Mul && op != ScalarOp::Div)
      return std::nullopt;
    auto a = literals.find({type, x[0]}), b = literals.find({type, x[1]});
    if (a == literals.end() || b == literals.end() || b->second == 0 ||
        !std::isfinite(a->second) || !std::isfinite(b->second))
      return std::nullopt;
    // Of whole numbers the ring's own product is that of the numbers.
    if (op == ScalarOp::Mul && std::trunc(a->second) == a->second &&
        std::trunc(b->second) == b->second)
      return std::nullopt;
    return op == ScalarOp::Mul ? a->second * b->second : a->second / b->second;
  }

  /// Of a number of the program it is that of 1 / number: a pass may turn a
  /// division by it into a product.
  uint64_t reciprocal(Types types, const ring::Ring &r, uint64_t x) const {
    auto known = literals.find({types.in, x});
    if (known == literals.end() || known->second == 0)
      return r.opaque(ring::rcpTag, x);
    return number(types, 1 / known->second);
  }

  uint64_t evaluate(ScalarOp op, Types types, const ring::Ring &r,
                    const uint64_t *x) const {
    auto more = [&](unsigned operands) {
      uint64_t tag = ring::firstFreeTag + unsigned(op), y = r.opaque(tag, x[0]);
      return operands == 1 ? y : r.opaque(tag, (y << 1) + x[1]);
    };
    switch (op) {
    case ScalarOp::Neg:
      return r.neg(x[0]);
    case ScalarOp::Abs:
      return r.opaque(ring::absTag, x[0]);
    case ScalarOp::Exp:
      return r.exp2(r.mul(x[0], number(types, std::numbers::log2e)));
    case ScalarOp::Exp2:
      return r.exp2(x[0]);
    case ScalarOp::Log:
      return r.mul(r.opaque(ring::lg2Tag, x[0]),
                   number(types, std::numbers::ln2));
    case ScalarOp::Log2:
      return r.opaque(ring::lg2Tag, x[0]);
    case ScalarOp::Sqrt:
      return r.opaque(ring::sqrtTag, x[0]);
    case ScalarOp::Rsqrt:
      return r.opaque(ring::rsqrtTag, x[0]);
    case ScalarOp::Sin:
      return r.opaque(ring::sinTag, x[0]);
    case ScalarOp::Cos:
      return r.opaque(ring::cosTag, x[0]);
    case ScalarOp::Tanh:
      return r.opaque(ring::tanhTag, x[0]);
    case ScalarOp::Relu:
      return r.isLowest(x[0]) ? 0 : x[0];
    case ScalarOp::Add:
      return r.add(x[0], x[1]);
    case ScalarOp::Sub:
      return r.add(x[0], r.neg(x[1]));
    case ScalarOp::Mul:
      return r.mul(x[0], x[1]);
    case ScalarOp::Div:
      return r.mul(x[0], reciprocal(types, r, x[1]));
    case ScalarOp::Maximum:
    case ScalarOp::MaxNum:
      return r.less(x[0], x[1]) ? x[1] : x[0];
    case ScalarOp::Minimum:
    case ScalarOp::MinNum:
      return r.less(x[1], x[0]) ? x[1] : x[0];
    case ScalarOp::Fma:
      return r.add(r.mul(x[0], x[1]), x[2]);
    default:
      return more(infoOf(op).operands);
    }
  }

  static bool test(ScalarOp op, Types types, const ring::Ring &r,
                   const uint64_t *x) {
    switch (op) {
    case ScalarOp::IsNan:
    case ScalarOp::Unordered:
      return false;
    case ScalarOp::Ordered:
      return true;
    case ScalarOp::IsFinite: // |x| < infinity, as the tile level has it
      return r.less(r.opaque(ring::absTag, x[0]), r.mask);
    case ScalarOp::Eq:
    case ScalarOp::UnorderedEq:
      return x[0] == x[1];
    case ScalarOp::Ne:
    case ScalarOp::OrderedNe:
      return x[0] != x[1];
    case ScalarOp::Lt:
    case ScalarOp::UnorderedLt:
      return r.less(x[0], x[1]);
    case ScalarOp::Le:
    case ScalarOp::UnorderedLe:
      return !r.less(x[1], x[0]);
    case ScalarOp::Gt:
    case ScalarOp::UnorderedGt:
      return r.less(x[1], x[0]);
    default:
      return !r.less(x[0], x[1]);
    }
  }

  /// Floats to integers are refused before (refuseCast).
  Cell convert(const Cell &x, Element from, Element to,
               Rounding rounding) override {
    if (!isFloat(from))
      return of(uint64_t(x.integer) & ring::Ring(typeOf(to)).mask);
    return isFloat(to) ? of(change(x, from, to)) : Cell::with(State::Poison);
  }

  static uint64_t combine(Reduction kind, const ring::Ring &r, uint64_t a,
                          uint64_t b) {
    switch (kind) {
    case Reduction::Prod:
      return r.mul(a, b);
    case Reduction::Max:
      return r.less(a, b) ? b : a;
    case Reduction::Min:
      return r.less(b, a) ? b : a;
    default:
      return r.add(a, b);
    }
  }
  Cell reduceFloats(Reduction kind, Types types, ArrayRef<Cell> row) override {
    ring::Ring r(typeOf(types.in));
    uint64_t total = change(row[0], types.from, types.in);
    for (const Cell &cell : row.drop_front())
      total = combine(kind, r, total, change(cell, types.from, types.in));
    return of(change(of(total), types.in, types.to));
  }
  void scanFloats(Reduction kind, Types types, ArrayRef<Cell> row,
                  llvm::MutableArrayRef<Cell> out) override {
    ring::Ring r(typeOf(types.in));
    uint64_t total = 0;
    for (size_t i = 0; i < row.size(); ++i) {
      uint64_t next = change(row[i], types.from, types.in);
      total = i == 0 ? next : combine(kind, r, total, next);
      out[i] = of(change(of(total), types.in, types.to));
    }
  }
  void multiplyFloats(Types types, size_t m, size_t n, size_t k,
                      ArrayRef<Cell> a, ArrayRef<Cell> b,
                      llvm::MutableArrayRef<Cell> out) override {
    ring::Ring r(typeOf(types.in));
    bool lowest = false;
    auto prepare = [&](ArrayRef<Cell> cells) {
      std::vector<uint64_t> elements;
      for (const Cell &cell : cells) {
        elements.push_back(change(cell, types.from, types.in));
        lowest |= r.isLowest(elements.back());
      }
      return elements;
    };
    std::vector<uint64_t> left = prepare(a), right = prepare(b);
    if (lowest) // it swallows what it meets
      return Domain::multiplyFloats(types, m, n, k, a, b, out);
    for (size_t i = 0; i < m; ++i)
      for (size_t j = 0; j < n; ++j) {
        uint64_t total = 0;
        for (size_t x = 0; x < k; ++x)
          total += left[i * k + x] * right[j * k + x];
        out[i * n + j] = of(change(of(total & r.mask), types.in, types.to));
      }
  }
  Cell dotFloats(Types types, ArrayRef<Cell> a, ArrayRef<Cell> b,
                 const Cell *start) override {
    ring::Ring r(typeOf(types.in));
    uint64_t total = start ? uint64_t(start->integer) : 0;
    for (size_t i = 0; i < a.size(); ++i)
      total = r.add(total, r.mul(change(a[i], types.from, types.in),
                                 change(b[i], types.from, types.in)));
    return of(change(of(total), types.in, types.to));
  }

private:
  /// The numbers of the program, by type and element.
  std::map<std::pair<Element, uint64_t>, long double> literals;
};

} // namespace

std::unique_ptr<Domain> interpreter::createRingDomain() {
  return std::make_unique<RingDomain>();
}
