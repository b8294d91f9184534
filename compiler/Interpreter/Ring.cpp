//===- Ring.cpp - Floats as elements of an integer ring -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ring is the simulator's (sim/exec/RingArithmetic.h): sums and products
// agree bit for bit in any order, so a lost or doubled term shows. exp is
// 5^(x * log2 e): sums become products, also of rescaled ones. Casts between
// floats are opaque, and stages must place them alike.
//
// A pass may compute with the numbers of a program: it folds a product, or
// turns a division by 65 into a product with 1/65. So a cell that stands for
// such a number remembers it, in Cell::error (0: stands for none). What an
// element happens to equal is never looked at, or stages would depend on
// chance; small whole numbers excepted, in every stage alike: sizes are made at
// run time.
//
//===----------------------------------------------------------------------===//

#include "compiler/Interpreter/Domain.h"

#include "sim/exec/RingArithmetic.h"
#include <cmath>
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
    Cell cell = of(ring::constant(typeOf(type), double(value)));
    if (std::isfinite(value))
      cell.error = double(value);
    return cell;
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

  static std::optional<long double> numberOf(const Cell &x) {
    if (x.error == 0)
      return std::nullopt;
    return x.error;
  }
  /// A size, whether a stage knows it or computes it.
  static std::optional<long double> sizeOf(const Cell &x) {
    if (x.integer > 0 && x.integer < 16384)
      return x.integer;
    return numberOf(x);
  }

  /// Of a number of the program it is that number in the other type: a pass may
  /// have converted it.
  Cell change(const Cell &x, Element from, Element to) {
    if (from == to)
      return x;
    if (std::optional<long double> number = numberOf(x))
      return constant(to, roundTo(to, *number));
    return of(ring::convert(typeOf(to), typeOf(from), uint64_t(x.integer)));
  }

  Cell compute(ScalarOp op, Types types, ArrayRef<Cell> x) override {
    ring::Ring r(typeOf(types.in));
    Cell cells[3];
    uint64_t v[3] = {};
    for (size_t i = 0; i < x.size(); ++i) {
      cells[i] = change(x[i], types.from, types.in);
      v[i] = uint64_t(cells[i].integer);
    }
    if (isPredicate(op))
      return Cell::ofInteger(test(op, types, r, v));
    if (std::optional<long double> folded = foldNumbers(op, cells))
      return change(constant(types.in, roundTo(types.in, *folded)), types.in,
                    types.to);
    if (op == ScalarOp::Pow && v[1] == 0) // 1 of whatever: a pass may know
      return change(constant(types.in, 1), types.in, types.to);
    if (op == ScalarOp::Div)
      return change(of(r.mul(v[0], reciprocal(types, r, cells[1]))), types.in,
                    types.to);
    return change(of(evaluate(op, types, r, v)), types.in, types.to);
  }

  static uint64_t number(Types types, long double value) {
    return ring::constant(typeOf(types.in), double(roundTo(types.in, value)));
  }

  /// What a pass may compute: products and quotients of numbers of the program,
  /// and square roots of sizes.
  static std::optional<long double> foldNumbers(ScalarOp op, const Cell *x) {
    if (op == ScalarOp::Sqrt) {
      std::optional<long double> size = sizeOf(x[0]);
      return size && *size > 0 ? std::optional(std::sqrt(*size)) : std::nullopt;
    }
    if (op != ScalarOp::Mul && op != ScalarOp::Div)
      return std::nullopt;
    std::optional<long double> a = numberOf(x[0]);
    std::optional<long double> b =
        op == ScalarOp::Mul ? numberOf(x[1]) : sizeOf(x[1]);
    if (!a || !b)
      return std::nullopt;
    // Of whole numbers the ring's own product is that of the numbers.
    if (op == ScalarOp::Mul && std::trunc(*a) == *a && std::trunc(*b) == *b)
      return std::nullopt;
    return op == ScalarOp::Mul ? *a * *b : *a / *b;
  }

  /// Of a size it is that of 1 / size: a pass may turn a division by it into a
  /// product.
  static uint64_t reciprocal(Types types, const ring::Ring &r, const Cell &x) {
    if (std::optional<long double> size = sizeOf(x))
      return number(types, 1 / *size);
    return r.opaque(ring::rcpTag, uint64_t(x.integer));
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
    case ScalarOp::Exp2Near:
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
    return isFloat(to) ? change(x, from, to) : Cell::with(State::Poison);
  }

  /// The element an op computes with.
  uint64_t changed(const Cell &x, Types types) {
    return uint64_t(change(x, types.from, types.in).integer);
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
    uint64_t total = changed(row[0], types);
    for (const Cell &cell : row.drop_front())
      total = combine(kind, r, total, changed(cell, types));
    return change(of(total), types.in, types.to);
  }
  void scanFloats(Reduction kind, Types types, ArrayRef<Cell> row,
                  llvm::MutableArrayRef<Cell> out) override {
    ring::Ring r(typeOf(types.in));
    Cell total;
    for (size_t i = 0; i < row.size(); ++i) {
      Cell next = change(row[i], types.from, types.in);
      if (i == 0)
        total = next;
      else if (kind == Reduction::Prod) // of numbers, as a loop multiplies them
        total = compute(ScalarOp::Mul, {types.in, types.in, types.in},
                        {total, next});
      else
        total = of(
            combine(kind, r, uint64_t(total.integer), uint64_t(next.integer)));
      out[i] = change(total, types.in, types.to);
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
        elements.push_back(changed(cell, types));
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
        out[i * n + j] = change(of(total & r.mask), types.in, types.to);
      }
  }
  Cell dotFloats(Types types, ArrayRef<Cell> a, ArrayRef<Cell> b,
                 const Cell *start) override {
    ring::Ring r(typeOf(types.in));
    uint64_t total = start ? uint64_t(start->integer) : 0;
    for (size_t i = 0; i < a.size(); ++i)
      total = r.add(total, r.mul(changed(a[i], types), changed(b[i], types)));
    return change(of(total), types.in, types.to);
  }
};

} // namespace

std::unique_ptr<Domain> interpreter::createRingDomain() {
  return std::make_unique<RingDomain>();
}
