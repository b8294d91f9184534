//===- Certificate.cpp - An error bound as a formula in the dims ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Interpreter/Certificate.h"

#include "compiler/Graph/IR/Extents.h"
#include "compiler/Graph/IR/Graph.h"
#include "compiler/Interpreter/Domain.h"
#include "compiler/Interpreter/NormPattern.h"
#include "compiler/Interpreter/ScalarOps.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <cmath>

using namespace mlir;
using namespace tessera;
using namespace tessera::interpreter;
using S = ScalarOp;

namespace {

/// Text with just enough structure not to print 0 + 1*x.
struct Formula {
  std::string text;
  bool isSum = false;

  bool isZero() const { return text == "0"; }
  bool operator==(const Formula &other) const { return text == other.text; }
  std::string factor() const { return isSum ? "(" + text + ")" : text; }
};

Formula atom(const Twine &text) { return {text.str(), false}; }
Formula number(double value) {
  if (value == std::floor(value) && std::fabs(value) < 1e6)
    return atom(Twine(int64_t(value)));
  char text[32];
  snprintf(text, sizeof text, "%.6g", value);
  return atom(text);
}

Formula plus(ArrayRef<Formula> terms) {
  SmallVector<std::pair<std::string, int>> kept;
  for (const Formula &term : terms) {
    if (term.isZero())
      continue;
    auto same = llvm::find_if(
        kept, [&](const auto &entry) { return entry.first == term.text; });
    if (same != kept.end())
      ++same->second;
    else
      kept.emplace_back(term.text, 1);
  }
  if (kept.empty())
    return number(0);
  SmallVector<std::string> parts;
  for (auto &[text, count] : kept) {
    bool sum = StringRef(text).contains(" + ");
    parts.push_back(count == 1 ? text
                    : sum      ? std::to_string(count) + "*(" + text + ")"
                               : std::to_string(count) + "*" + text);
  }
  return {llvm::join(parts, " + "), parts.size() > 1};
}

Formula times(ArrayRef<Formula> factors) {
  SmallVector<std::string> parts;
  for (const Formula &factor : factors) {
    if (factor.isZero())
      return number(0);
    if (factor.text != "1")
      parts.push_back(factor.factor());
  }
  if (parts.empty())
    return number(1);
  return {llvm::join(parts, "*"), parts.size() == 1 &&
                                      !StringRef(parts[0]).starts_with("(") &&
                                      StringRef(parts[0]).contains(" + ")};
}

Formula over(const Formula &a, const Formula &b) {
  if (a.isZero() || b.text == "1")
    return a;
  return atom(a.factor() + "/" +
              (b.isSum || StringRef(b.text).contains('*') ? "(" + b.text + ")"
                                                          : b.text));
}

Formula call(StringRef name, ArrayRef<Formula> arguments) {
  SmallVector<std::string> parts;
  for (const Formula &argument : arguments)
    if (!llvm::is_contained(parts, argument.text))
      parts.push_back(argument.text);
  if (name == "max" && parts.size() == 1)
    return arguments[0];
  return atom(name.str() + "(" + llvm::join(parts, ", ") + ")");
}

/// What is known of a value.
struct Known {
  Formula size = number(0), error = number(0);
  double low = 0;        // of every element, if it is not negative
  bool positive = false; // no element is negative
  bool negative = false; // no element is positive
  bool hasFormula = true;
};

StringRef unitName(Element e) {
  switch (e) {
  case Element::F64:
    return "u64";
  case Element::F16:
    return "u16";
  case Element::BF16:
    return "ub16";
  default:
    return "u32";
  }
}
Formula unit(Element e) { return atom(unitName(e)); }
Formula gamma(Element e, const Formula &n) {
  return call(e == Element::F64 ? "gamma64" : "gamma32", {n});
}

class Analysis {
public:
  explicit Analysis(Certificate &certificate) : certificate(certificate) {}

  void run(func::FuncOp function) {
    for (BlockArgument argument : function.getArguments()) {
      auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                        "gir.name");
      std::string text =
          name ? name.str() : "arg" + std::to_string(argument.getArgNumber());
      taken.insert(text);
      Known known;
      known.size = atom("|" + text + "|");
      values[argument] = known;
    }
    block(function.getBody().front());
    for (Value value :
         function.getBody().front().getTerminator()->getOperands()) {
      Known known = values.lookup(value);
      certificate.results.push_back(known.hasFormula ? known.error.text : "");
    }
  }

private:
  void block(Block &block) {
    for (Operation &op : block.without_terminator())
      visit(&op);
  }

  /// Gives long formulas a name.
  void keep(Value value, Known known) {
    if (known.hasFormula &&
        (known.size.text.size() > 48 || known.error.text.size() > 96)) {
      std::string name = nameOf(value);
      if (known.size.text.size() > 48) {
        certificate.steps.emplace_back("|" + name + "|", known.size.text);
        known.size = atom("|" + name + "|");
      }
      if (known.error.text.size() > 96) {
        certificate.steps.emplace_back("err(" + name + ")", known.error.text);
        known.error = atom("err(" + name + ")");
      }
    }
    values[value] = known;
  }

  std::string nameOf(Value value) {
    std::string name;
    value.getLoc()->walk([&](Location part) {
      auto named = dyn_cast<NameLoc>(part);
      if (!named)
        return WalkResult::advance();
      name = named.getName().str();
      return WalkResult::interrupt();
    });
    if (name.empty() || !llvm::all_of(name, [](char c) {
          return llvm::isAlnum(c) || c == '_';
        }))
      name = "t";
    std::string unique = name;
    for (int i = 2; !taken.insert(unique).second; ++i)
      unique = name + "_" + std::to_string(i);
    return unique;
  }

  /// The text of an extent.
  Formula extent(Value tensor, int64_t axis) {
    graph::Extent found = graph::getExtent(tensor, axis);
    if (found.isConstant())
      return number(double(found.constant));
    if (found.kind == graph::Extent::Kind::Axis) {
      StringRef name = graph::getDimName(found.value, found.axis);
      if (!name.empty())
        return atom(name);
      if (auto argument = dyn_cast<BlockArgument>(found.value)) {
        std::string text = values.lookup(argument).size.text;
        return atom("size(" + StringRef(text).trim('|') + ", " +
                    Twine(found.axis) + ")");
      }
    }
    return atom("size(" + nameOf(tensor) + ", " + Twine(axis) + ")");
  }

  void give(Operation *op, Known known) { keep(op->getResult(0), known); }
  void giveUp(Operation *op, const Twine &why) {
    if (certificate.missing.empty())
      certificate.missing = why.str();
    for (Value result : op->getResults()) {
      Known known;
      known.hasFormula = false;
      values[result] = known;
    }
  }

  /// Each op computes in `in` and rounds to `to`.
  static Formula roundings(Element in, Element to) {
    if (!isFloat(to))
      return number(0);
    return to == in ? unit(in) : plus({unit(to), unit(in)});
  }

  /// Something to divide by: a known lower bound, or an assumption.
  Formula least(Value value, const Known &known) {
    if (known.positive && known.low > 0)
      return number(known.low);
    std::string text = StringRef(known.size.text).starts_with("|")
                           ? known.size.text
                           : "|" + nameOf(value) + "|";
    return atom("min" + text);
  }

  void visit(Operation *op) {
    SmallVector<Known> x;
    for (Value operand : op->getOperands()) {
      x.push_back(values.lookup(operand));
      if (!x.back().hasFormula)
        return giveUp(op, certificate.missing);
    }
    StringRef name = op->getName().stripDialect();
    if (op->getNumResults() == 0)
      return;
    if (isa<graph::ForOp, graph::WhileOp>(op))
      return giveUp(op, "what a loop carries depends on how often it runs");
    if (auto branch = dyn_cast<graph::IfOp>(op))
      return visitIf(branch);
    if (isa<graph::CallKernelOp>(op))
      return giveUp(op, "a kernel's own order of operations");
    std::optional<Element> element = elementOf(op->getResult(0).getType());
    if (!element)
      return giveUp(op, "'" + name + "'");
    Element to = *element;
    Element from = op->getNumOperands()
                       ? elementOf(op->getOperand(0).getType()).value_or(to)
                       : to;
    if (std::optional<S> scalar = scalarOpOf(op))
      return visitScalar(op, *scalar, x, from, to);
    visitOther(op, x, from, to);
  }

  void visitIf(graph::IfOp op) {
    bool certain = values.lookup(op.getCondition()).error.isZero();
    block(op.getThenRegion().front());
    block(op.getElseRegion().front());
    auto yields = [](Region &region) {
      return region.front().getTerminator()->getOperands();
    };
    for (auto [result, a, b] :
         llvm::zip(op.getResults(), yields(op.getThenRegion()),
                   yields(op.getElseRegion()))) {
      Known first = values.lookup(a), second = values.lookup(b), known;
      known.hasFormula = first.hasFormula && second.hasFormula && certain;
      known.size = call("max", {first.size, second.size});
      known.error = first.error == second.error
                        ? first.error
                        : call("max", {first.error, second.error});
      known.low = std::min(first.low, second.low);
      known.positive = first.positive && second.positive;
      known.negative = first.negative && second.negative;
      keep(result, known);
    }
    if (!certain && certificate.missing.empty())
      certificate.missing = "a branch that roundings may tip";
  }

  void visitScalar(Operation *op, S scalar, ArrayRef<Known> x, Element from,
                   Element to) {
    if (!isFloat(from) || isPredicate(scalar))
      return visitDecision(op, scalar, x, from);
    Element in = computeType(from);
    if (in == to)
      if (Value normed; auto norm = matchWrittenNorm(op, normed)) {
        Formula n = number(1);
        for (int64_t axis : norm->axes)
          n = times({n, extent(norm->squares, axis)});
        return give(op,
                    normalized(values.lookup(normed).error, n, norm->eps, in));
      }
    Formula u = roundings(in, to), a = x[0].size, ea = x[0].error;
    // Within 2 ULP: four unit roundoffs.
    Formula two =
        plus({times({number(4), unit(in)}), to == in ? number(0) : unit(to)});
    Known known;
    switch (scalar) {
    case S::Neg:
      known = x[0];
      std::swap(known.positive, known.negative);
      known.low = 0;
      return give(op, known);
    case S::Abs:
    case S::Relu:
      known = x[0];
      known.positive = true;
      known.negative = false;
      if (!x[0].positive)
        known.low = 0;
      return give(op, known);
    case S::Floor:
    case S::Ceil:
    case S::Round:
    case S::Trunc:
      known.size = plus({a, number(1)});
      known.error = ea.isZero() ? ea : plus({ea, number(1)});
      return give(op, known);
    case S::Add:
    case S::Sub:
      known.size = plus({a, x[1].size});
      known.positive =
          x[0].positive && (scalar == S::Add ? x[1].positive : x[1].negative);
      known.low = known.positive && scalar == S::Add ? x[0].low + x[1].low : 0;
      known.error = plus({ea, x[1].error, times({u, known.size})});
      return give(op, known);
    case S::Mul:
      known.size = times({a, x[1].size});
      known.positive = (x[0].positive && x[1].positive) ||
                       op->getOperand(0) == op->getOperand(1);
      known.error = plus({times({a, x[1].error}), times({x[1].size, ea}),
                          times({u, known.size})});
      return give(op, known);
    case S::Fma:
      known.size = plus({times({a, x[1].size}), x[2].size});
      known.error = plus({times({a, x[1].error}), times({x[1].size, ea}),
                          x[2].error, times({u, known.size})});
      return give(op, known);
    case S::Div: {
      Formula low = least(op->getOperand(1), x[1]);
      known.size = over(a, low);
      known.positive = x[0].positive && x[1].positive;
      known.error =
          plus({over(ea, low), over(times({known.size, x[1].error}), low),
                times({u, known.size})});
      return give(op, known);
    }
    case S::Maximum:
    case S::Minimum:
    case S::MaxNum:
    case S::MinNum:
      known.size = call("max", {a, x[1].size});
      known.error = ea == x[1].error      ? ea
                    : x[1].error.isZero() ? ea
                                          : call("max", {ea, x[1].error});
      known.positive = x[0].positive && x[1].positive;
      known.low = std::min(x[0].low, x[1].low);
      return give(op, known);
    case S::Exp:
    case S::Exp2:
    case S::Exp2Near:
      known.size = x[0].negative ? number(1)
                                 : call(scalar == S::Exp ? "exp" : "exp2", {a});
      known.positive = true;
      known.error = plus(
          {times({known.size, ea}),
           times({scalar == S::Exp2Near || isNarrow(to)
                      ? plus({number(0x1p-13), to == in ? number(0) : unit(to)})
                      : two,
                  known.size})});
      return give(op, known);
    case S::Tanh:
    case S::Erf:
    case S::Sin:
    case S::Cos:
    case S::Sigmoid:
      known.size = number(1);
      known.positive = scalar == S::Sigmoid ||
                       (x[0].positive && scalar != S::Sin && scalar != S::Cos);
      known.error = plus({scalar == S::Erf ? times({number(1.13), ea}) : ea,
                          scalar == S::Sigmoid && to != in
                              ? plus({number(0x1p-12), unit(to)})
                              : two});
      return give(op, known);
    case S::Log1p:
      if (!x[0].positive)
        break;
      known.size = call("log1p", {a});
      known.positive = true;
      known.error = plus({ea, times({two, known.size})});
      return give(op, known);
    case S::Log:
    case S::Log2: {
      Formula low = least(op->getOperand(0), x[0]);
      known.size = call("max", {call("abs", {call("log", {low})}),
                                call("abs", {call("log", {a})})});
      if (scalar == S::Log2)
        known.size = times({number(1.4427), known.size});
      known.error =
          plus({over(times({number(scalar == S::Log ? 1 : 1.4427), ea}), low),
                times({two, known.size})});
      return give(op, known);
    }
    case S::Sqrt:
      known.size = call("sqrt", {a});
      known.positive = true;
      known.low = std::sqrt(x[0].low);
      known.error = plus({ea.isZero()    ? ea
                          : x[0].low > 0 ? over(ea, number(2 * known.low))
                                         : call("sqrt", {ea}),
                          times({u, known.size})});
      return give(op, known);
    case S::Rsqrt: {
      Formula low = least(op->getOperand(0), x[0]);
      known.size = over(number(1), call("sqrt", {low}));
      known.positive = true;
      known.error =
          plus({over(times({known.size, ea}), times({number(2), low})),
                times({two, known.size})});
      return give(op, known);
    }
    case S::Silu:
    case S::Gelu:
    case S::GeluTanh:
      known.size = a;
      known.error =
          plus({times({number(1.13), ea}),
                times({in == Element::F64
                           ? times({number(16),
                                    plus({number(1), times({a, a})}), unit(in)})
                       : scalar == S::Gelu && to != in ? number(0x1p-13)
                       : scalar == S::Silu && to != in
                           ? number(0x1p-12)
                           : times({number(8), unit(in)}),
                       a}),
                to == in ? number(0) : times({unit(to), a})});
      return give(op, known);
    default:
      break;
    }
    giveUp(op, "'" + infoOf(scalar).name + "' of floats");
  }

  /// Integers, comparisons, selects: exact of exact operands.
  void visitDecision(Operation *op, S scalar, ArrayRef<Known> x, Element from) {
    Known known;
    known.size = isPredicate(scalar) ? number(1) : x[0].size;
    bool certain =
        llvm::all_of(x, [](const Known &each) { return each.error.isZero(); });
    if (scalar == S::Select) {
      known.size = call("max", {x[1].size, x[2].size});
      known.error = x[1].error == x[2].error ? x[1].error
                                             : plus({x[1].error, x[2].error});
      if (!x[0].error.isZero()) // either arm
        known.error = plus({x[1].size, x[2].size, known.error});
      known.positive = x[1].positive && x[2].positive;
      known.low = std::min(x[1].low, x[2].low);
      return give(op, known);
    }
    if (!isPredicate(scalar)) {
      if (scalar == S::Add || scalar == S::Sub)
        known.size = plus({x[0].size, x[1].size});
      else if (scalar == S::Mul)
        known.size = times({x[0].size, x[1].size});
      else if (x.size() == 2)
        known.size = plus({x[0].size, x[1].size});
    }
    known.error = certain ? number(0) : known.size;
    give(op, known);
  }

  void visitOther(Operation *op, ArrayRef<Known> x, Element from, Element to) {
    Known known;
    if (auto constant = dyn_cast<graph::ConstantOp>(op))
      return visitConstant(constant, to);
    if (isa<graph::DimOp, graph::ArangeOp>(op)) {
      known.size =
          extent(isa<graph::DimOp>(op) ? op->getOperand(0) : op->getResult(0),
                 isa<graph::DimOp>(op) ? cast<graph::DimOp>(op).getAxis() : 0);
      known.positive = true;
      return give(op, known);
    }
    if (isa<graph::BroadcastOp, graph::TransposeOp, graph::ReshapeOp,
            graph::SliceOp>(op))
      return give(op, x[0]);
    if (isa<graph::TakeOp, graph::GatherOp>(op)) {
      known = x[0];
      known.low = 0;
      if (!x[1].error.isZero())
        known.error = plus({x[0].size, x[0].size, x[0].error});
      return give(op, known);
    }
    if (auto concat = dyn_cast<graph::ConcatOp>(op)) {
      known = x[0];
      SmallVector<Formula> sizes, errors;
      for (const Known &each : x) {
        sizes.push_back(each.size);
        errors.push_back(each.error);
        known.positive &= each.positive;
        known.low = std::min(known.low, each.low);
      }
      known.size = call("max", sizes);
      known.error = call("max", errors);
      return give(op, known);
    }
    if (auto select = dyn_cast<graph::SelectOp>(op))
      return visitDecision(op, S::Select, x, from);
    if (isa<graph::CastOp>(op)) {
      known = x[0];
      if (!isFloat(to) && !known.error.isZero())
        known.error = plus({known.error, number(1)});
      else if (isFloat(to) && (!isFloat(from) || bitsOf(to) < bitsOf(from) ||
                               (bitsOf(to) == bitsOf(from) && to != from)))
        known.error = plus({known.error, times({unit(to), known.size})});
      return give(op, known);
    }
    if (auto gemm = dyn_cast<graph::GemmOp>(op))
      return visitGemm(gemm, x, from, to);
    if (auto reduce = dyn_cast<graph::ReduceOp>(op)) {
      Formula n = number(1);
      for (int64_t axis : reduce.getAxes())
        n = times({n, extent(reduce.getInput(), axis)});
      return visitReduce(op, graph::stringifyReduceKind(reduce.getKind()), n,
                         reduce.getAccumulate(), reduce.getCorrection(), x[0],
                         from, to);
    }
    if (auto scan = dyn_cast<graph::ScanOp>(op))
      return visitReduce(op, graph::stringifyReduceKind(scan.getKind()),
                         extent(scan.getInput(), scan.getAxis()),
                         scan.getAccumulate(), 0, x[0], from, to);
    if (auto softmax = dyn_cast<graph::SoftmaxOp>(op)) {
      Element in = inner(softmax.getAccumulate(), from);
      Formula n = extent(softmax.getInput(), softmax.getAxis());
      Formula r = exponent(x[0], in);
      if (in == Element::F32 && isNarrow(to)) // exp2 of a product, to 13 bits
        r = plus({times({number(3), r}), number(0x1p-13)});
      if (softmax.getLog()) {
        known.size = plus({times({number(2), x[0].size}), call("log", {n})});
        known.error =
            plus({times({number(2), x[0].error}), times({number(2), r}),
                  gamma(in, n), times({number(8), unit(in), known.size})});
        known.negative = true;
      } else {
        known.size = number(1);
        known.positive = true;
        known.error = plus({times({number(2), r}), gamma(in, n),
                            times({number(2), unit(in)})});
      }
      return giveRounded(op, known, in, to);
    }
    if (auto norm = dyn_cast<graph::LayerNormOp>(op))
      return visitNorm(norm, x, from, to);
    if (auto entropy = dyn_cast<graph::CrossEntropyOp>(op)) {
      Element in = inner(entropy.getAccumulate(), from);
      Value logits = entropy.getLogits();
      Formula n = extent(
          logits, cast<RankedTensorType>(logits.getType()).getRank() - 1);
      known.size = plus({times({number(2), x[0].size}), call("log", {n})});
      known.error =
          plus({times({number(2), x[0].error}), exponent(x[0], in),
                gamma(in, n), times({number(8), unit(in), known.size})});
      return giveRounded(op, known, in, to);
    }
    if (auto attention = dyn_cast<graph::AttentionOp>(op))
      return visitAttention(attention, x, from, to);
    giveUp(op, "'" + op->getName().getStringRef() + "'");
  }

  static Element inner(std::optional<Type> chosen, Element from) {
    return chosen ? *elementOf(*chosen) : computeType(from);
  }
  void giveRounded(Operation *op, Known known, Element in, Element to) {
    if (to != in && isFloat(to))
      known.error = plus({known.error, times({unit(to), known.size})});
    give(op, known);
  }
  /// The relative error of exp(x - max): the argument's error, its subtraction
  /// and the function.
  static Formula exponent(const Known &x, Element in) {
    return plus({times({number(2), x.error}),
                 times({number(2), unit(in), x.size}),
                 times({number(6), unit(in)})});
  }

  void visitConstant(graph::ConstantOp op, Element to) {
    Known known;
    double top = 0, low = INFINITY;
    if (auto dense = dyn_cast<DenseElementsAttr>(op.getValue())) {
      auto see = [&](double value) {
        top = std::max(top, std::fabs(value));
        low = std::min(low, value);
      };
      if (isa<FloatType>(dense.getElementType()))
        for (const APFloat &value : dense.getValues<APFloat>()) {
          bool lost;
          APFloat wide = value;
          wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                       &lost);
          see(wide.convertToDouble());
        }
      else
        for (const APInt &value : dense.getValues<APInt>())
          see(double(value.getSExtValue()));
    }
    known.size = number(top);
    known.positive = low >= 0;
    known.low = low >= 0 && std::isfinite(low) ? low : 0;
    give(op, known);
  }

  void visitGemm(graph::GemmOp op, ArrayRef<Known> x, Element from,
                 Element to) {
    auto rank = cast<RankedTensorType>(op.getLhs().getType()).getRank();
    Formula k = extent(op.getLhs(), rank - (op.getTransposeLhs() ? 2 : 1));
    Element in = op.getAccumulate() ? *elementOf(*op.getAccumulate())
                 : isFloat(from)    ? computeType(from)
                                    : from;
    Known known;
    known.size = times({k, x[0].size, x[1].size});
    known.positive = x[0].positive && x[1].positive;
    if (isFloat(in))
      known.error = plus({times({k, x[0].size, x[1].error}),
                          times({k, x[1].size, x[0].error}),
                          times({gamma(in, k), known.size})});
    // Both operands may be cut.
    if (int bits = keptBits(op.getPrecision()))
      known.error = plus(
          {known.error, times({number(std::ldexp(2.01, -bits)), known.size})});
    giveRounded(op, known, in, to);
  }

  void visitReduce(Operation *op, StringRef kind, const Formula &n,
                   std::optional<Type> chosen, int64_t correction,
                   const Known &x, Element from, Element to) {
    Element in = isFloat(from) ? inner(chosen, from) : from;
    Known known = x;
    known.low = 0;
    if (kind == "max" || kind == "min") {
      known.low = x.low;
      return give(op, known);
    }
    if (kind == "any" || kind == "all" || kind.starts_with("arg")) {
      known.size = kind.starts_with("arg") ? n : number(1);
      known.positive = true;
      known.error = x.error.isZero() ? number(0) : known.size;
      return give(op, known);
    }
    if (kind == "sum" || kind == "mean") {
      Formula count = kind == "sum" ? n : number(1);
      known.size = times({count, x.size});
      known.error = times({count, x.error});
      if (isFloat(in))
        known.error =
            plus({known.error, times({gamma(in, n), known.size}),
                  kind == "mean" ? times({unit(in), known.size}) : number(0)});
      return giveRounded(op, known, in, to);
    }
    if (kind == "var") {
      Formula scale = correction
                          ? over(n, plus({n, number(-double(correction))}))
                          : number(1);
      Formula d =
          plus({times({number(2), x.error}), times({gamma(in, n), x.size}),
                times({number(3), unit(in), x.size})});
      known.size = times({number(4), scale, x.size, x.size});
      known.positive = true;
      known.error =
          plus({times({number(4), scale, x.size, d}),
                times({gamma(in, plus({n, number(3)})), known.size})});
      return giveRounded(op, known, in, to);
    }
    if (kind == "logsumexp") {
      known.size = plus({x.size, call("log", {n})});
      known.positive = false;
      known.error = plus({x.error, exponent(x, in), gamma(in, n),
                          times({number(6), unit(in), known.size})});
      return giveRounded(op, known, in, to);
    }
    giveUp(op, "'" + kind + "' of floats");
  }

  /// d / sqrt(mean(d * d) + eps) of n elements, each of which is off by at most
  /// `d`. |d| / sqrt(...) <= sqrt(n), and the mean of |d| is at most the root,
  /// so that the factor's relative error is that of d over sqrt(eps).
  static Known normalized(const Formula &d, const Formula &n, double eps,
                          Element in) {
    Formula root = number(std::sqrt(eps));
    Known known;
    known.size = call("sqrt", {n});
    known.error =
        plus({over(d, root),
              times({known.size,
                     plus({over(d, root), gamma(in, plus({n, number(3)})),
                           times({number(7), unit(in)})})})});
    return known;
  }

  void visitNorm(graph::LayerNormOp op, ArrayRef<Known> x, Element from,
                 Element to) {
    Element in = inner(op.getAccumulate(), from);
    auto rank = cast<RankedTensorType>(op.getInput().getType()).getRank();
    Formula n = number(1);
    for (int64_t axis = rank - int64_t(op.getAxes()); axis < rank; ++axis)
      n = times({n, extent(op.getInput(), axis)});
    Formula d = op.getRms() ? x[0].error
                            : plus({times({number(2), x[0].error}),
                                    times({gamma(in, n), x[0].size}),
                                    times({number(3), unit(in), x[0].size})});
    Known known = normalized(d, n, op.getEps().convertToDouble(), in);
    for (size_t i = 1; i < x.size(); ++i) {
      if (i == 1) {
        known.error = plus({times({x[i].size, known.error}),
                            times({known.size, x[i].error}),
                            times({unit(in), known.size, x[i].size})});
        known.size = times({known.size, x[i].size});
      } else {
        known.size = plus({known.size, x[i].size});
        known.error =
            plus({known.error, x[i].error, times({unit(in), known.size})});
      }
    }
    giveRounded(op, known, in, to);
  }

  void visitAttention(graph::AttentionOp op, ArrayRef<Known> x, Element from,
                      Element to) {
    Element in = computeType(from);
    auto rank = cast<RankedTensorType>(op.getQ().getType()).getRank();
    Formula d = extent(op.getQ(), rank - 1), t = extent(op.getK(), rank - 2);
    Formula scale =
        op.getScale() ? x[3].size : over(number(1), call("sqrt", {d}));
    Known scores, known;
    scores.size = times({scale, d, x[0].size, x[1].size});
    scores.error =
        plus({times({scale, d, x[0].size, x[1].error}),
              times({scale, d, x[1].size, x[0].error}),
              times({plus({gamma(in, d), times({number(4), unit(in)})}),
                     scores.size})});
    // Blocks of 16 keys or more may each rescale what was summed up.
    Formula r = plus(
        {exponent(scores, in),
         times({call("ceil", {over(t, number(16))}), number(7), unit(in)})});
    known.size = x[2].size;
    known.positive = x[2].positive;
    known.error = plus(
        {x[2].error,
         times({plus({times({number(2), r}), times({number(2), gamma(in, t)}),
                      // Weights to 13 bits, and rounded.
                      isNarrow(from) ? plus({number(0x1p-12), unit(from)})
                                     : number(0),
                      times({number(4), unit(in)})}),
                x[2].size})});
    giveRounded(op, known, in, to);
  }

  Certificate &certificate;
  llvm::DenseMap<Value, Known> values;
  llvm::StringSet<> taken;
};

} // namespace

FailureOr<Certificate> interpreter::certify(ModuleOp module) {
  Certificate certificate;
  func::FuncOp only;
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isPrivate())
      only = function;
  if (!only) {
    certificate.missing = "a kernel's own order of operations";
    return certificate;
  }
  Analysis(certificate).run(only);
  return certificate;
}
