//===- Domain.cpp - What all domains have in common -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Interpreter/Domain.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>
#include <numbers>

using namespace tessera;
using namespace tessera::interpreter;
using llvm::ArrayRef;
using llvm::SmallVector;

Domain::~Domain() = default;

std::unique_ptr<Domain> interpreter::createDomain(llvm::StringRef name) {
  if (name == "exact")
    return createExactDomain();
  if (name == "reference")
    return createReferenceDomain();
  if (name == "ring")
    return createRingDomain();
  if (name == "bound")
    return createBoundDomain();
  return nullptr;
}

/// Poison beats absence.
static State worst(ArrayRef<Cell> cells) {
  State state = State::Present;
  for (const Cell &cell : cells)
    state = std::max(state, cell.state);
  return state;
}

/// An integer computed from others: uncertain if one is (domain Bound).
static Cell certainAs(Cell result, ArrayRef<Cell> from) {
  for (const Cell &cell : from)
    result.error = std::max(result.error, cell.error);
  return result;
}

/// The first cell in that state: poison knows where it came from.
static const Cell &firstWith(State state, ArrayRef<Cell> cells) {
  return *llvm::find_if(cells,
                        [&](const Cell &cell) { return cell.state == state; });
}

static Cell ofOptional(std::optional<int64_t> value) {
  return value ? Cell::ofInteger(*value) : Cell::with(State::Poison);
}

Cell Domain::apply(ScalarOp op, Types types, ArrayRef<Cell> x) {
  if (op == ScalarOp::Select) {
    if (!x[0].present())
      return x[0];
    // An element exists where it exists in all operands.
    if (x[1].state == State::Absent || x[2].state == State::Absent)
      return Cell::with(State::Absent);
    return select(x[0], x[1], x[2], types.to);
  }
  if (State state = worst(x); state != State::Present)
    return firstWith(state, x);
  if (isFloat(types.from)) {
    if (isComposed(op) && !knowsComposedScalars())
      return compose(op, types, x[0]);
    return compute(op, types, x);
  }
  int64_t values[3];
  for (size_t i = 0; i < x.size(); ++i)
    values[i] = x[i].integer;
  return certainAs(ofOptional(referenceInteger(op, types.from, values)), x);
}

/// As DecomposeComposites.cpp and Tile/IR/Activations.cpp spell them.
Cell Domain::compose(ScalarOp op, Types types, const Cell &input) {
  Element in = types.in;
  Types same{in, in, in}, test{in, in, Element::I1};
  auto number = [&](long double value) { return this->number(in, value); };
  auto one = [&](ScalarOp op, const Cell &a) { return apply(op, same, {a}); };
  auto two = [&](ScalarOp op, const Cell &a, const Cell &b) {
    return apply(op, same, {a, b});
  };
  auto fma = [&](const Cell &a, const Cell &b, const Cell &c) {
    return apply(ScalarOp::Fma, same, {a, b, c});
  };
  using S = ScalarOp;
  Cell x = cast(input, types.from, in);
  long double lowest = in == Element::F64
                           ? (long double)std::numeric_limits<double>::lowest()
                           : std::numeric_limits<float>::lowest();
  auto nearReciprocal = [&](const Cell &e) {
    Cell d = two(S::Sub, number(-1), e);
    Cell p = fma(d, number(128.0 / 577), number(768.0 / 577));
    p = fma(d, p, number(1696.0 / 577));
    p = fma(d, p, number(1632.0 / 577));
    return two(S::Mul, p, fma(d, p, number(2)));
  };
  auto sigmoid = [&] {
    bool isNear = bitsOf(types.from) < 32;
    Cell size = one(S::Abs, x);
    Cell e = isNear ? one(S::Exp2Near,
                          two(S::Mul, size, number(-std::numbers::log2e)))
                    : one(S::Exp, one(S::Neg, size));
    Cell positive = apply(S::Ge, test, {x, number(0)});
    Cell top = apply(S::Select, same, {positive, number(1), e});
    return isNear ? two(S::Mul, top, nearReciprocal(e))
                  : two(S::Div, top, two(S::Add, number(1), e));
  };
  Cell bounded = two(S::Maximum, x, number(lowest)), result;
  switch (op) {
  case S::Sigmoid:
    result = sigmoid();
    break;
  case S::Silu:
    result = two(S::Mul, bounded, sigmoid());
    break;
  case S::GeluTanh: {
    Cell half = two(S::Mul, number(0.5), bounded);
    Cell cube = two(S::Mul, two(S::Mul, x, x), x);
    Cell sum = two(S::Add, x, two(S::Mul, number(0.044715), cube));
    Cell scale = number(std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
    Cell inside = one(S::Tanh, two(S::Mul, scale, sum));
    result = two(S::Mul, half, two(S::Add, number(1), inside));
    break;
  }
  default: { // Gelu
    bool wide = in == Element::F64;
    double root =
        wide ? std::numbers::sqrt2 / 2 : double(float(std::numbers::sqrt2 / 2));
    double rest = wide ? -4.833646656726457e-17
                       : std::numbers::sqrt2 / 2 - double(float(root));
    Cell scale = number(-root), t = two(S::Mul, x, scale);
    Cell half = two(S::Mul, bounded, number(0.5));
    if (bitsOf(types.from) < 32) {
      result = two(S::Mul, half, one(S::ErfcNear, t));
      break;
    }
    Cell low = fma(x, scale, one(S::Neg, t));
    low = fma(x, number(-rest), low);
    Cell slope = two(S::Minimum, two(S::Maximum, t, number(0)), number(64));
    slope = two(S::Mul, slope, number(-2));
    Cell erfc = one(S::Erfc, t);
    Cell finite = apply(S::Lt, test, {one(S::Abs, low), number(1)});
    low = apply(S::Select, same, {finite, low, number(0)});
    Cell factor = fma(slope, low, number(1));
    result = two(S::Mul, half, two(S::Mul, erfc, factor));
  }
  }
  return cast(result, in, types.to);
}

Cell Domain::cast(const Cell &x, Element from, Element to, Rounding rounding) {
  if (!x.present() || from == to)
    return x;
  if (to == Element::I1) {
    if (!isFloat(from))
      return certainAs(Cell::ofInteger(x.integer != 0), x);
    return apply(ScalarOp::Ne, {from, from, to}, {x, constant(from, 0)});
  }
  if (!isFloat(from) && !isFloat(to))
    return certainAs(Cell::ofInteger(wrapTo(to, x.integer)), x);
  return convert(x, from, to, rounding);
}

Cell Domain::neutral(Reduction kind, Element type) {
  constexpr long double inf = std::numeric_limits<long double>::infinity();
  bool boolean = type == Element::I1;
  uint64_t top = uint64_t(1) << (bitsOf(type) - 1);
  switch (kind) {
  case Reduction::Prod:
    return isFloat(type) ? constant(type, 1) : integer(1);
  case Reduction::Max:
    if (isFloat(type))
      return constant(type, -inf);
    return integer(boolean ? 0 : wrapTo(type, int64_t(top)));
  case Reduction::Min:
    if (isFloat(type))
      return constant(type, inf);
    return integer(boolean ? 1 : wrapTo(type, int64_t(top - 1)));
  case Reduction::All:
    return integer(wrapTo(type, -1));
  case Reduction::Argmax:
  case Reduction::Argmin:
    return integer(-1);
  default:
    return isFloat(type) ? constant(type, 0) : integer(0);
  }
}

static ScalarOp scalarOf(Reduction kind) {
  switch (kind) {
  case Reduction::Prod:
    return ScalarOp::Mul;
  case Reduction::Max:
    return ScalarOp::Maximum;
  case Reduction::Min:
    return ScalarOp::Minimum;
  case Reduction::Any:
    return ScalarOp::Or;
  case Reduction::All:
    return ScalarOp::And;
  case Reduction::Xor:
    return ScalarOp::Xor;
  default:
    return ScalarOp::Add;
  }
}

int64_t Domain::findFloat(bool max, Element type, ArrayRef<Cell> row) {
  Types types{type, type, Element::I1};
  ScalarOp better = max ? ScalarOp::Gt : ScalarOp::Lt;
  size_t best = 0;
  for (size_t i = 0; i < row.size(); ++i) {
    if (compute(ScalarOp::IsNan, types, {row[i]}).integer)
      return int64_t(i);
    if (compute(better, types, {row[i], row[best]}).integer)
      best = i;
  }
  return int64_t(best);
}

Cell Domain::reduce(Reduction kind, Types types, ArrayRef<Cell> row) {
  SmallVector<Cell> present;
  SmallVector<int64_t> positions;
  bool find = kind == Reduction::Argmax || kind == Reduction::Argmin;
  State state = worst(row);
  if (state == State::Poison)
    return firstWith(state, row);
  if (state == State::Absent) {
    for (auto [i, cell] : llvm::enumerate(row))
      if (cell.present()) {
        present.push_back(cell);
        positions.push_back(int64_t(i));
      }
    row = present;
  }
  if (find) {
    if (row.empty())
      return integer(-1);
    int64_t best = 0;
    bool max = kind == Reduction::Argmax;
    if (isFloat(types.from))
      best = findFloat(max, types.from, row);
    else
      for (size_t i = 1; i < row.size(); ++i)
        if (max ? row[i].integer > row[best].integer
                : row[i].integer < row[best].integer)
          best = int64_t(i);
    Cell found = integer(state == State::Absent ? positions[best] : best);
    // Sure unless another may be as large.
    if (isFloat(types.from)) {
      Types test{types.from, types.from, Element::I1};
      for (const Cell &cell : row)
        if (&cell != &row[best])
          found =
              certainAs(found, apply(ScalarOp::Eq, test, {cell, row[best]}));
    } else {
      found = certainAs(found, row);
    }
    return found;
  }
  if (row.empty())
    return cast(neutral(kind, types.in), types.in, types.to);
  SmallVector<Cell> converted;
  if (isFloat(types.in) && !isFloat(types.from)) {
    for (const Cell &cell : row)
      converted.push_back(cast(cell, types.from, types.in));
    row = converted;
    types.from = types.in;
  }
  if (isFloat(types.from))
    return reduceFloats(kind, types, row);
  ScalarOp op = scalarOf(kind);
  int64_t total = row[0].integer;
  for (const Cell &cell : row.drop_front()) {
    int64_t pair[] = {total, cell.integer};
    total = *referenceInteger(op, types.in, pair);
  }
  return certainAs(cast(integer(total), types.in, types.to), row);
}

void Domain::scan(Reduction kind, Types types, ArrayRef<Cell> row,
                  llvm::MutableArrayRef<Cell> out) {
  // Absent cells stay so, poison spreads to the right.
  SmallVector<Cell> present, results;
  const Cell *poison = nullptr;
  for (auto [i, cell] : llvm::enumerate(row)) {
    if (!poison && cell.state == State::Poison)
      poison = &cell;
    out[i] = poison && cell.state != State::Absent ? *poison : cell;
    if (out[i].present())
      present.push_back(cell);
  }
  results.resize(present.size());
  if (!isFloat(types.from)) {
    int64_t total = 0;
    for (auto [i, cell] : llvm::enumerate(present)) {
      int64_t pair[] = {total, cell.integer};
      total = i == 0 ? cell.integer
                     : *referenceInteger(scalarOf(kind), types.in, pair);
      results[i] = certainAs(cast(integer(total), types.in, types.to),
                             ArrayRef<Cell>(present).take_front(i + 1));
    }
  } else if (!present.empty()) {
    scanFloats(kind, types, present, results);
  }
  size_t next = 0;
  for (Cell &cell : out)
    if (cell.present())
      cell = results[next++];
}

Cell Domain::dot(Types types, ArrayRef<Cell> a, ArrayRef<Cell> b,
                 const Cell *start) {
  State state = std::max(worst(a), worst(b));
  if (start && !start->present())
    return *start;
  SmallVector<Cell> left, right;
  if (state != State::Present) {
    for (size_t i = 0; i < a.size(); ++i) {
      // A term that does not exist is not looked at.
      if (a[i].state == State::Absent || b[i].state == State::Absent)
        continue;
      if (!a[i].present() || !b[i].present())
        return a[i].present() ? b[i] : a[i];
      left.push_back(a[i]);
      right.push_back(b[i]);
    }
    a = left;
    b = right;
  }
  if (isFloat(types.from))
    return dotFloats(types, a, b, start);
  uint64_t total = start ? uint64_t(start->integer) : 0;
  if (types.in == Element::I1) {
    for (size_t i = 0; i < a.size(); ++i)
      total |= uint64_t(a[i].integer & b[i].integer);
  } else {
    for (size_t i = 0; i < a.size(); ++i)
      total += uint64_t(a[i].integer) * uint64_t(b[i].integer);
  }
  Cell result =
      cast(integer(wrapTo(types.in, int64_t(total))), types.in, types.to);
  return certainAs(certainAs(result, a), b);
}

void Domain::multiply(Types types, size_t m, size_t n, size_t k,
                      ArrayRef<Cell> a, ArrayRef<Cell> b,
                      llvm::MutableArrayRef<Cell> out) {
  if (isFloat(types.from) && worst(a) == State::Present &&
      worst(b) == State::Present)
    return multiplyFloats(types, m, n, k, a, b, out);
  for (size_t i = 0; i < m; ++i)
    for (size_t j = 0; j < n; ++j)
      out[i * n + j] = dot(types, a.slice(i * k, k), b.slice(j * k, k));
}

void Domain::multiplyFloats(Types types, size_t m, size_t n, size_t k,
                            ArrayRef<Cell> a, ArrayRef<Cell> b,
                            llvm::MutableArrayRef<Cell> out) {
  for (size_t i = 0; i < m; ++i)
    for (size_t j = 0; j < n; ++j)
      out[i * n + j] =
          dotFloats(types, a.slice(i * k, k), b.slice(j * k, k), nullptr);
}
