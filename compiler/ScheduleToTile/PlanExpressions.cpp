//===- PlanExpressions.cpp - Sizes and scalars as plan text ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/ScheduleToTile/PlanExpressions.h"

#include "compiler/Graph/IR/Messages.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;

std::string tessera::tile::infix(StringRef lhs, StringRef op, StringRef rhs) {
  auto wrap = [](StringRef text) {
    bool simple = text.find_first_of(" -") == StringRef::npos;
    return simple ? text.str() : ("(" + text + ")").str();
  };
  return wrap(lhs) + " " + op.str() + " " + wrap(rhs);
}

std::string tessera::tile::quoted(StringRef text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    if (c == '\n')
      result += "\\n";
    else if (c == '\t')
      result += "\\t";
    else
      result += c;
  }
  return result + "\"";
}

std::string PlanNames::fresh(llvm::StringSet<> &taken, StringRef hint) {
  std::string name;
  for (char c : hint)
    name += llvm::isAlnum(c) || c == '_' || c == '.' || (c & 0x80) ? c : '_';
  if (name.empty())
    name = "t";
  std::string result = name;
  for (unsigned i = 1; !taken.insert(result).second; ++i)
    result = name + "." + std::to_string(i);
  return result;
}

/// Whether a dim's text is a plain name, not an expression.
static bool isName(StringRef text) {
  return !text.empty() && !llvm::isDigit(text.front()) &&
         llvm::all_of(text, [](char c) {
           return llvm::isAlnum(c) || c == '_' || (c & 0x80);
         });
}

/// `H*D`, `S//2` -> `$H * $D`, `$S floordiv 2`; nothing if a name in it is not
/// among `dims` or a sign is unknown.
static std::optional<std::string>
translate(StringRef text, const llvm::StringMap<std::string> &dims) {
  std::string result;
  while (!(text = text.ltrim()).empty()) {
    if (llvm::isAlpha(text.front()) || text.front() == '_' ||
        (text.front() & 0x80)) {
      StringRef name = text.take_while(
          [](char c) { return llvm::isAlnum(c) || c == '_' || (c & 0x80); });
      auto found = dims.find(name);
      if (found == dims.end())
        return std::nullopt;
      result += found->second;
      text = text.drop_front(name.size());
    } else if (llvm::isDigit(text.front())) {
      StringRef digits = text.take_while(llvm::isDigit);
      result += digits;
      text = text.drop_front(digits.size());
    } else if (text.consume_front("//")) {
      result += " floordiv ";
    } else if (text.consume_front("%")) {
      result += " mod ";
    } else if (StringRef("+-*()").contains(text.front())) {
      bool parenthesis = StringRef("()").contains(text.front());
      result += parenthesis ? text.take_front().str()
                            : " " + text.take_front().str() + " ";
      text = text.drop_front();
    } else {
      return std::nullopt;
    }
  }
  return result;
}

/// The axes of an argument whose stride the code takes for known, and those.
static SmallVector<std::pair<int64_t, int64_t>>
getKnownStrides(FunctionOpInterface function, unsigned argument) {
  if (auto unit =
          function.getArgAttrOfType<IntegerAttr>(argument, "gir.unit_axis"))
    return {{unit.getInt(), 1}};
  auto memory = dyn_cast<MemRefType>(function.getArgumentTypes()[argument]);
  auto layout =
      memory ? dyn_cast<StridedLayoutAttr>(memory.getLayout()) : nullptr;
  SmallVector<std::pair<int64_t, int64_t>> known;
  if (layout)
    for (auto [axis, stride] : llvm::enumerate(layout.getStrides()))
      if (!ShapedType::isDynamic(stride))
        known.push_back({axis, stride});
  return known;
}

std::string tile::strideCheck(StringRef tensor, int64_t axis, int64_t rank,
                              int64_t stride) {
  auto text = [&](StringRef what, int64_t axis) {
    return (what + "(" + tensor + ", " + Twine(axis) + ")").str();
  };
  std::string line = "check " + text("stride", axis) +
                     " == " + std::to_string(stride) + " or " +
                     text("size", axis) + " <= 1";
  // Arrays without elements have any strides.
  for (int64_t other = 0; other < rank; ++other)
    if (other != axis)
      line += " or " + text("size", other) + " == 0";
  return line + " : " +
         quoted((tensor.drop_front() + " has stride {" + text("stride", axis) +
                 "} along axis " + Twine(axis) + ", but this version needs " +
                 Twine(stride))
                    .str());
}

PlanHeader::PlanHeader(FunctionOpInterface function, PlanNames &names,
                       std::vector<std::string> &header,
                       std::vector<std::string> &body) {
  unsigned count = function.getNumArguments();
  auto attribute = [&](unsigned i, StringRef key) -> StringRef {
    auto text = function.getArgAttrOfType<StringAttr>(i, key);
    return text ? text.getValue() : "";
  };
  auto shapeOf = [&](unsigned i) {
    return dyn_cast<ShapedType>(function.getArgumentTypes()[i]);
  };
  // Scalars first: a dim of the same name steps aside.
  llvm::StringMap<std::string> dims;
  for (unsigned i = 0; i < count; ++i) {
    StringRef name = attribute(i, "gir.name");
    std::string hint = name.empty() ? "arg" + std::to_string(i) : name.str();
    bool scalar = !shapeOf(i) || function.getArgAttr(i, "gir.scalar");
    scalars.push_back(scalar);
    texts.push_back(scalar ? "$" + names.integer(hint)
                           : "%" + names.tensor(hint));
    Type element = getElementTypeOrSelf(function.getArgumentTypes()[i]);
    if (scalar && element.isInteger(64) && isName(name))
      dims[name] = texts.back();
  }
  llvm::StringMap<std::string> bound;
  for (unsigned i = 0; i < count; ++i) {
    auto axes = function.getArgAttrOfType<ArrayAttr>(i, "gir.dims");
    if (scalars[i] || !axes)
      continue;
    for (Attribute axis : axes) {
      StringRef name = cast<StringAttr>(axis).getValue();
      if (isName(name) && !bound.contains(name)) {
        bound[name] = "$" + names.integer(name);
        dims[name] = bound[name];
      }
    }
  }
  llvm::StringSet<> checked;
  for (unsigned i = 0; i < count; ++i) {
    sizes.emplace_back();
    Type type = function.getArgumentTypes()[i];
    if (scalars[i]) {
      header.push_back("arg " + texts[i] + " " +
                       planType(getElementTypeOrSelf(type)).str());
      continue;
    }
    auto axes = function.getArgAttrOfType<ArrayAttr>(i, "gir.dims");
    SmallVector<std::string> words;
    for (int64_t axis = 0; axis < shapeOf(i).getRank(); ++axis) {
      StringRef name = axes && axis < int64_t(axes.size())
                           ? cast<StringAttr>(axes[axis]).getValue()
                           : "";
      int64_t known = shapeOf(i).getDimSize(axis);
      bool isStatic = !ShapedType::isDynamic(known);
      std::string text;
      if (isName(name)) {
        text = bound[name];
        if (isStatic && checked.insert(name).second)
          body.push_back("check " + text + " == " + std::to_string(known) +
                         " : " +
                         quoted((name + " is {" + text +
                                 "}, but this version is for " + Twine(known))
                                    .str()));
      } else if (isStatic) {
        text = std::to_string(known);
      } else if (std::optional<std::string> made = translate(name, dims);
                 made && !name.empty()) {
        text = *made;
      } else {
        // A name of our own, so that sizes can refer to it.
        text = "$" +
               names.integer(texts[i].substr(1) + "." + std::to_string(axis));
      }
      words.push_back(text);
      sizes.back().push_back(isStatic ? std::to_string(known) : text);
    }
    StringRef mode = attribute(i, "gir.mode");
    if (mode.empty())
      mode = "in";
    if (mode.starts_with("reduce"))
      mode = "reduce";
    header.push_back("arg " + texts[i] + " " + mode.str() + " " +
                     planType(getElementTypeOrSelf(type)).str() + " [" +
                     llvm::join(words, ", ") + "]");
    // Who calls need not be the one who chose this version.
    for (auto [axis, stride] : getKnownStrides(function, i))
      if (axis >= 0)
        body.push_back(
            strideCheck(texts[i], axis, shapeOf(i).getRank(), stride));
  }
}

/// Empty of comparisons without signs, which a plan does not have.
static StringRef spellingOf(arith::CmpIPredicate predicate) {
  static constexpr StringRef signs[] = {"==", "!=", "<", "<=", ">", ">="};
  return unsigned(predicate) < std::size(signs) ? signs[unsigned(predicate)]
                                                : StringRef();
}

namespace {

/// Indices and integers of a kernel over its arguments.
class HostExpressions {
public:
  explicit HostExpressions(ArrayRef<std::string> operands)
      : operands(operands) {}
  HostExpressions(ArrayRef<std::string> operands, PlanNames &names,
                  std::vector<std::string> &body)
      : operands(operands), names(&names), body(&body) {}

  FailureOr<std::string> get(Value value) {
    auto known = texts.find(value);
    if (known != texts.end())
      return known->second;
    FailureOr<std::string> text = make(value);
    constexpr size_t mostText = 200;
    if (succeeded(text) && body && text->size() > mostText) {
      std::string name = "$" + names->integer("s");
      body->push_back("let " + name + " = " + *text);
      text = name;
    }
    if (succeeded(text))
      texts[value] = *text;
    return text;
  }

private:
  FailureOr<std::string> make(Value value);

  ArrayRef<std::string> operands;
  PlanNames *names = nullptr;
  std::vector<std::string> *body = nullptr;
  llvm::DenseMap<Value, std::string> texts;
};

} // namespace

FailureOr<std::string> HostExpressions::make(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return operands[argument.getArgNumber()];
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return std::to_string(value.getType().isInteger(1)
                              ? int64_t(constant.getZExtValue())
                              : constant.getSExtValue());
  Operation *op = value.getDefiningOp();
  if (auto dim = dyn_cast<DimOp>(op)) {
    auto view = dyn_cast<BlockArgument>(dim.getView());
    if (!view)
      return dim.emitOpError() << "of something else than an argument";
    return "size(" + operands[view.getArgNumber()] + ", " +
           std::to_string(dim.getAxis()) + ")";
  }
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::ExtUIOp,
          arith::IndexCastUIOp>(op))
    return get(op->getOperand(0));
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    SmallVector<std::string> parts;
    for (Value operand : select->getOperands()) {
      FailureOr<std::string> part = get(operand);
      if (failed(part))
        return failure();
      parts.push_back(*part);
    }
    return "select(" + llvm::join(parts, ", ") + ")";
  }
  bool logical = op->getNumResults() == 1 && value.getType().isInteger(1);
  StringRef sign =
      llvm::TypeSwitch<Operation *, StringRef>(op)
          .Case([](arith::CmpIOp op) { return spellingOf(op.getPredicate()); })
          .Case([&](arith::AndIOp) { return logical ? "and" : ""; })
          .Case([&](arith::OrIOp) { return logical ? "or" : ""; })
          // Of what is true or false.
          .Case([&](arith::XOrIOp) { return logical ? "!=" : ""; })
          .Case([](arith::RemUIOp) { return "mod"; })
          .Case([](arith::AddIOp) { return "+"; })
          .Case([](arith::SubIOp) { return "-"; })
          .Case([](arith::MulIOp) { return "*"; })
          .Case<arith::FloorDivSIOp, arith::DivUIOp>(
              [](auto) { return "floordiv"; })
          .Case<arith::CeilDivSIOp, arith::CeilDivUIOp>(
              [](auto) { return "ceildiv"; })
          .Case<arith::MinSIOp, arith::MinUIOp>([](auto) { return "min"; })
          .Case<arith::MaxSIOp, arith::MaxUIOp>([](auto) { return "max"; })
          .Default([](Operation *) { return ""; });
  if (sign.empty())
    return op->emitOpError()
           << "cannot be part of what is computed before the grid: use sizes, "
              "integer arguments, + - * // min max and comparisons";
  FailureOr<std::string> lhs = get(op->getOperand(0));
  FailureOr<std::string> rhs = get(op->getOperand(1));
  if (failed(lhs) || failed(rhs))
    return failure();
  if (sign == "min" || sign == "max")
    return (sign + "(" + *lhs + ", " + *rhs + ")").str();
  return infix(*lhs, sign, *rhs);
}

FailureOr<std::string> tessera::tile::gridOf(FuncOp kernel,
                                             ArrayRef<std::string> operands) {
  ProgramOp program;
  kernel->walk([&](ProgramOp op) { program = op; });
  if (!program)
    return std::string("1");
  std::string grid;
  HostExpressions expressions(operands);
  for (auto [extent, tile] :
       llvm::zip(program.getExtents(), program.getTiles())) {
    FailureOr<std::string> text = expressions.get(extent);
    if (failed(text))
      return failure();
    // A negative extent has no programs.
    std::string factor =
        tile > 0 ? infix(*text, "ceildiv", std::to_string(tile)) : *text;
    grid = grid.empty() ? factor : infix(grid, "*", factor);
  }
  return grid;
}

LogicalResult tessera::tile::writeAsserts(FuncOp kernel,
                                          ArrayRef<std::string> operands,
                                          PlanNames &names,
                                          std::vector<std::string> &body) {
  HostExpressions expressions(operands, names, body);
  llvm::StringSet<> written;
  WalkResult done = kernel.walk([&](AssertOp check) {
    if (!check.getAtCall())
      return WalkResult::advance();
    FailureOr<std::string> holds = expressions.get(check.getCondition());
    if (failed(holds))
      return WalkResult::interrupt();
    std::string line = "check " + *holds + " : " +
                       quoted(graph::placeText(check.getLoc()) +
                              graph::escapeBraces(check.getMessage()));
    if (written.insert(line).second)
      body.push_back(line);
    return WalkResult::advance();
  });
  if (done.wasInterrupted())
    return failure();
  return success();
}
