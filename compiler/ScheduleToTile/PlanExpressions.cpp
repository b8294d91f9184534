//===- PlanExpressions.cpp - Arguments and integers of a plan -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/ScheduleToTile/PlanExpressions.h"

#include "compiler/Plan/IR/IntegerBuilder.h"
#include "compiler/Support/Messages.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::tile;
using plan::IntegerBuilder;

plan::FuncOp tessera::tile::createPlan(OpBuilder &builder, Location loc,
                                       StringRef name) {
  auto func =
      plan::FuncOp::create(builder, loc, name, "cpu", ArrayAttr(), ArrayAttr());
  Block &body = func.getBody().emplaceBlock();
  builder.setInsertionPointToEnd(&body);
  auto end = plan::ReturnOp::create(builder, loc);
  builder.setInsertionPoint(end);
  return func;
}

//===----------------------------------------------------------------------===//
// Dims
//===----------------------------------------------------------------------===//

/// Whether a dim's text is a plain name, not an expression.
static bool isName(StringRef text) {
  return !text.empty() && !llvm::isDigit(text.front()) &&
         llvm::all_of(text, [](char c) {
           return llvm::isAlnum(c) || c == '_' || (c & 0x80);
         });
}

namespace {
/// `H*D`, `S//2` over the dims that are known; null if a name in it is not, or
/// a sign is unknown.
class DimParser {
public:
  DimParser(StringRef text, const llvm::StringMap<Value> &dims,
            IntegerBuilder &make)
      : text(text), dims(dims), make(make) {}

  Value parse() {
    Value value = sum();
    return text.ltrim().empty() ? value : Value();
  }

private:
  bool accept(StringRef sign) {
    text = text.ltrim();
    return text.consume_front(sign);
  }

  Value sum() {
    Value value = product();
    while (value) {
      bool more = accept("+");
      if (!more && !accept("-"))
        break;
      Value next = product();
      value = !next  ? Value()
              : more ? make.add(value, next)
                     : make.sub(value, next);
    }
    return value;
  }

  Value product() {
    Value value = factor();
    while (value) {
      char sign = accept("//")  ? '/'
                  : accept("*") ? '*'
                  : accept("%") ? '%'
                                : 0;
      if (!sign)
        break;
      Value next = factor();
      value = !next         ? Value()
              : sign == '*' ? make.mul(value, next)
              : sign == '/' ? make.floordiv(value, next)
                            : make.mod(value, next);
    }
    return value;
  }

  Value factor() {
    if (accept("(")) {
      Value value = sum();
      return accept(")") ? value : Value();
    }
    if (accept("-")) {
      Value value = factor();
      return value ? make.sub(0, value) : Value();
    }
    text = text.ltrim();
    StringRef digits = text.take_while(llvm::isDigit);
    StringRef name = text.take_while(
        [](char c) { return llvm::isAlnum(c) || c == '_' || (c & 0x80); });
    int64_t number;
    if (!digits.empty() && digits.size() == name.size()) {
      text = text.drop_front(digits.size());
      return digits.getAsInteger(10, number) ? Value() : make.number(number);
    }
    text = text.drop_front(name.size());
    return dims.lookup(name);
  }

  StringRef text;
  const llvm::StringMap<Value> &dims;
  IntegerBuilder &make;
};
} // namespace

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

void tessera::tile::checkStride(OpBuilder &builder, Location loc, Value tensor,
                                StringRef name, int64_t axis, int64_t stride) {
  IntegerBuilder make(builder, loc);
  Value given = make.stride(tensor, axis);
  SmallVector<Value> any = {make.eq(given, stride),
                            make.le(make.size(tensor, axis), 1)};
  // Arrays without elements have any strides.
  int64_t rank = cast<plan::PlanTensorType>(tensor.getType()).getRank();
  for (int64_t other = 0; other < rank; ++other)
    if (other != axis)
      any.push_back(make.eq(make.size(tensor, other), 0));
  plan::CheckOp::create(builder, loc, make.any(any),
                        (escapeBraces(name) + " has stride {} along axis " +
                         Twine(axis) + ", but this version needs " +
                         Twine(stride))
                            .str(),
                        given);
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

static plan::Mode modeNamed(StringRef mode) {
  if (mode.starts_with("reduce"))
    return plan::Mode::Reduce;
  return plan::symbolizeMode(mode).value_or(plan::Mode::In);
}

/// An integer or number as a plan has it.
static Type scalarType(Type element) {
  MLIRContext *context = element.getContext();
  if (element.isInteger(1))
    return element;
  return isa<FloatType>(element) ? Type(Float64Type::get(context))
                                 : Type(IndexType::get(context));
}

Value PlanHeader::axisOf(StringRef name, int64_t known, unsigned argument,
                         int64_t axis) {
  Location loc = function.getLoc();
  IntegerBuilder make(builder, loc);
  bool isStatic = !ShapedType::isDynamic(known);
  if (isName(name)) {
    Value dim = bound[name];
    if (isStatic && checked.insert(name).second)
      plan::CheckOp::create(builder, loc, make.eq(dim, known),
                            (escapeBraces(name) +
                             " is {}, but this version is for " + Twine(known))
                                .str(),
                            dim);
    return dim;
  }
  if (isStatic)
    return make.number(known);
  if (!name.empty())
    if (Value made = DimParser(name, dims, make).parse())
      return made;
  // A name of our own, so that sizes can refer to it.
  return plan::DimOp::create(builder, loc, builder.getIndexType(),
                             names[argument] + "." + std::to_string(axis));
}

PlanHeader::PlanHeader(FunctionOpInterface function, OpBuilder &builder)
    : function(function), builder(builder) {
  unsigned count = function.getNumArguments();
  Location loc = function.getLoc();
  auto attribute = [&](unsigned i, StringRef key) -> StringRef {
    auto text = function.getArgAttrOfType<StringAttr>(i, key);
    return text ? text.getValue() : "";
  };
  auto shapeOf = [&](unsigned i) {
    return dyn_cast<ShapedType>(function.getArgumentTypes()[i]);
  };
  // Scalars first: sizes may name them.
  values.resize(count);
  for (unsigned i = 0; i < count; ++i) {
    StringRef name = attribute(i, "gir.name");
    names.push_back(name.empty() ? "arg" + std::to_string(i) : name.str());
    Type element = getElementTypeOrSelf(function.getArgumentTypes()[i]);
    scalars.push_back(!shapeOf(i) || function.getArgAttr(i, "gir.scalar"));
    if (!scalars.back())
      continue;
    values[i] =
        plan::ScalarOp::create(builder, loc, scalarType(element), names.back());
    if (element.isInteger(64) && isName(name))
      dims[name] = values[i];
  }
  auto axesOf = [&](unsigned i) {
    return function.getArgAttrOfType<ArrayAttr>(i, "gir.dims");
  };
  for (unsigned i = 0; i < count; ++i)
    if (ArrayAttr axes = scalars[i] ? ArrayAttr() : axesOf(i))
      for (Attribute axis : axes)
        if (StringRef name = cast<StringAttr>(axis).getValue();
            isName(name) && !bound.contains(name)) {
          bound[name] =
              plan::DimOp::create(builder, loc, builder.getIndexType(), name);
          dims[name] = bound[name];
        }
  sizes.resize(count);
  for (unsigned i = 0; i < count; ++i) {
    if (scalars[i])
      continue;
    ArrayAttr axes = axesOf(i);
    SmallVector<Value> all;
    for (int64_t axis = 0; axis < shapeOf(i).getRank(); ++axis) {
      StringRef name = axes && axis < int64_t(axes.size())
                           ? cast<StringAttr>(axes[axis]).getValue()
                           : "";
      int64_t known = shapeOf(i).getDimSize(axis);
      all.push_back(axisOf(name, known, i, axis));
      sizes[i].push_back(ShapedType::isDynamic(known)
                             ? all.back()
                             : IntegerBuilder(builder, loc).number(known));
    }
    auto type = plan::PlanTensorType::get(
        function.getContext(),
        getElementTypeOrSelf(function.getArgumentTypes()[i]),
        shapeOf(i).getRank());
    values[i] = plan::ArgOp::create(builder, loc, type, names[i],
                                    modeNamed(attribute(i, "gir.mode")), all);
    // Who calls need not be the one who chose this version.
    for (auto [axis, stride] : getKnownStrides(function, i))
      if (axis >= 0)
        checkStride(builder, loc, values[i], names[i], axis, stride);
  }
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

FailureOr<Value> KernelIntegers::get(Value value) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  FailureOr<Value> made = make(value);
  if (succeeded(made))
    known[value] = *made;
  return made;
}

FailureOr<Value> KernelIntegers::make(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return operands[argument.getArgNumber()];
  Operation *op = value.getDefiningOp();
  Location loc = op->getLoc();
  IntegerBuilder integers(builder, loc);
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) {
    if (value.getType().isInteger(1))
      return arith::ConstantIntOp::create(builder, loc, constant.getZExtValue(),
                                          1)
          .getResult();
    return integers.number(constant.getSExtValue());
  }
  if (auto dim = dyn_cast<DimOp>(op)) {
    auto view = dyn_cast<BlockArgument>(dim.getView());
    if (!view)
      return dim.emitOpError() << "of something else than an argument";
    return integers.size(operands[view.getArgNumber()], dim.getAxis());
  }
  SmallVector<Value> in;
  auto refuse = [&]() -> FailureOr<Value> {
    return op->emitOpError()
           << "cannot be part of what is computed before the grid: use sizes, "
              "integer arguments, + - * // min max and comparisons";
  };
  if (!isOfPlan(op))
    return refuse();
  for (Value operand : op->getOperands()) {
    FailureOr<Value> made = get(operand);
    if (failed(made))
      return failure();
    in.push_back(*made);
  }
  using Result = Value;
  Value made =
      llvm::TypeSwitch<Operation *, Result>(op)
          .Case<arith::IndexCastOp, arith::ExtSIOp, arith::ExtUIOp,
                arith::IndexCastUIOp>([&](auto) -> Result {
            return in[0].getType().isInteger(1)
                       ? arith::IndexCastUIOp::create(
                             builder, loc, builder.getIndexType(), in[0])
                       : in[0];
          })
          .Case([&](arith::SelectOp) -> Result {
            return arith::SelectOp::create(builder, loc, in[0], in[1], in[2]);
          })
          .Case([&](arith::CmpIOp compare) -> Result {
            return integers.compare(compare.getPredicate(), in[0], in[1]);
          })
          .Case<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(
              [&](auto logical) -> Result {
                return decltype(logical)::create(builder, loc, in[0], in[1]);
              })
          .Case([&](arith::RemUIOp) { return integers.mod(in[0], in[1]); })
          .Case([&](arith::AddIOp) { return integers.add(in[0], in[1]); })
          .Case([&](arith::SubIOp) { return integers.sub(in[0], in[1]); })
          .Case([&](arith::MulIOp) { return integers.mul(in[0], in[1]); })
          .Case<arith::FloorDivSIOp, arith::DivUIOp>(
              [&](auto) { return integers.floordiv(in[0], in[1]); })
          .Case<arith::CeilDivSIOp, arith::CeilDivUIOp>(
              [&](auto) { return integers.ceildiv(in[0], in[1]); })
          .Case<arith::MinSIOp, arith::MinUIOp>(
              [&](auto) { return integers.min(in[0], in[1]); })
          .Case<arith::MaxSIOp, arith::MaxUIOp>(
              [&](auto) { return integers.max(in[0], in[1]); })
          .Default([](Operation *) { return Value(); });
  if (!made)
    return refuse();
  return made;
}

FailureOr<Value> tessera::tile::gridOf(FuncOp kernel, ArrayRef<Value> operands,
                                       OpBuilder &builder) {
  ProgramOp program;
  kernel->walk([&](ProgramOp op) { program = op; });
  IntegerBuilder make(builder, kernel.getLoc());
  KernelIntegers integers(operands, builder);
  SmallVector<Value> factors;
  if (program)
    for (auto [extent, tile] :
         llvm::zip(program.getExtents(), program.getTiles())) {
      FailureOr<Value> size = integers.get(extent);
      if (failed(size))
        return failure();
      // A negative extent has no programs.
      factors.push_back(tile > 0 ? make.ceildiv(*size, tile) : *size);
    }
  return make.product(factors);
}

LogicalResult tessera::tile::writeAsserts(FuncOp kernel,
                                          ArrayRef<Value> operands,
                                          OpBuilder &builder) {
  KernelIntegers integers(operands, builder);
  llvm::DenseSet<std::pair<Value, StringRef>> written;
  WalkResult done = kernel.walk([&](AssertOp check) {
    if (!check.getAtCall())
      return WalkResult::advance();
    FailureOr<Value> holds = integers.get(check.getCondition());
    if (failed(holds))
      return WalkResult::interrupt();
    if (written.insert({*holds, check.getMessage()}).second)
      plan::CheckOp::create(builder, check.getLoc(), *holds,
                            placeText(check.getLoc()) +
                                escapeBraces(check.getMessage()),
                            ValueRange());
    return WalkResult::advance();
  });
  return failure(done.wasInterrupted());
}
