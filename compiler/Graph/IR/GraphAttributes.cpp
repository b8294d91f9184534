//===- GraphAttributes.cpp - Graph IR: what programs are made of ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What stands on functions, kernels and their arguments: names, modes,
// decisions of the user. Passes take them as they are, so a text must not say
// something else. And the types of values between kernels.
//
//===----------------------------------------------------------------------===//

#include "compiler/Graph/IR/Graph.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace tessera::graph;

static bool isStrings(Attribute value) {
  auto list = dyn_cast<ArrayAttr>(value);
  return list && llvm::all_of(list, llvm::IsaPred<StringAttr>);
}

/// The keys of `gir.schedule` and of the tuner's spaces are checked where they
/// become decisions; here a number is one that a decision can hold.
static bool isSetting(Attribute value) {
  if (auto number = dyn_cast<IntegerAttr>(value))
    return number.getType().isSignlessInteger(1) ||
           (number.getType().isSignlessInteger(64) &&
            number.getInt() >= -(int64_t(1) << 40) &&
            number.getInt() <= int64_t(1) << 40);
  if (auto list = dyn_cast<ArrayAttr>(value))
    return llvm::all_of(list, isSetting);
  return isa<StringAttr, FloatAttr>(value);
}

static bool isSettings(Attribute value) {
  auto entries = dyn_cast_or_null<DictionaryAttr>(value);
  return entries && llvm::all_of(entries, [](NamedAttribute entry) {
           return isSetting(entry.getValue());
         });
}

static bool isTuning(Attribute value) {
  auto entries = dyn_cast<DictionaryAttr>(value);
  if (!entries || !isSettings(entries.get("space")))
    return false;
  Attribute key = entries.get("key");
  auto budget = entries.getAs<IntegerAttr>("budget");
  return key && isStrings(key) && budget && isSetting(budget) &&
         budget.getType().isSignlessInteger(64) &&
         entries.getAs<StringAttr>("numerics");
}

LogicalResult GraphDialect::verifyOperationAttribute(Operation *op,
                                                     NamedAttribute attribute) {
  StringRef name = attribute.getName();
  Attribute value = attribute.getValue();
  bool good = name == "gir.policy" || name == "gir.where"
                  ? isa<StringAttr>(value)
              : name == "gir.accum"    ? isa<TypeAttr>(value)
              : name == "gir.schedule" ? isSettings(value)
              : name == "gir.autotune" ? isTuning(value)
                                       : true;
  if (!good)
    return op->emitOpError() << name << " cannot be " << value;
  return success();
}

/// An attribute of an argument or a result of this type.
static LogicalResult verifyArgument(Operation *op, NamedAttribute attribute,
                                    Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  int64_t rank = shaped && shaped.hasRank() ? shaped.getRank() : 0;
  StringRef name = attribute.getName();
  Attribute value = attribute.getValue();
  bool good = true;
  if (name == "gir.name" || name == "gir.scalar") {
    good = isa<StringAttr>(value) && (name == "gir.name" || rank == 0);
  } else if (name == "gir.mode") {
    static constexpr llvm::StringLiteral modes[] = {
        "in",         "out",        "inout",      "reduce_sum", "reduce_prod",
        "reduce_max", "reduce_min", "reduce_any", "reduce_all"};
    auto mode = dyn_cast<StringAttr>(value);
    good = mode && llvm::is_contained(modes, mode.getValue());
  } else if (name == "gir.dims") {
    good = isStrings(value) && int64_t(cast<ArrayAttr>(value).size()) == rank;
  } else if (name == "gir.unit_axis") {
    auto axis = dyn_cast<IntegerAttr>(value);
    good = axis && axis.getType().isSignlessInteger(64) &&
           axis.getInt() >= -1 && axis.getInt() < rank;
  }
  if (!good)
    return op->emitOpError()
           << name << " of " << type << " cannot be " << value;
  return success();
}

LogicalResult GraphDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                     unsigned number,
                                                     NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function || number >= function.getNumArguments())
    return success();
  return verifyArgument(op, attribute, function.getArgumentTypes()[number]);
}

LogicalResult GraphDialect::verifyRegionResultAttribute(
    Operation *op, unsigned, unsigned number, NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function || number >= function.getNumResults())
    return success();
  return verifyArgument(op, attribute, function.getResultTypes()[number]);
}

/// Whether a value between kernels is of a type that plans have.
static LogicalResult checkType(Operation *op, Type type) {
  constexpr int64_t maxRank = 16; // TSR_MAX_RANK
  constexpr int64_t maxExtent = int64_t(1) << 40;
  auto tensor = dyn_cast<RankedTensorType>(type);
  Type element = tensor ? tensor.getElementType() : Type();
  auto integer = dyn_cast_or_null<IntegerType>(element);
  bool isNumber =
      integer ? integer.isSignless() &&
                    llvm::is_contained({1, 8, 16, 32, 64}, integer.getWidth())
              : element && isa<FloatType>(element) &&
                    element.getIntOrFloatBitWidth() <= 64;
  if (isNumber && !tensor.getEncoding() && tensor.getRank() <= maxRank &&
      llvm::all_of(tensor.getShape(), [](int64_t size) {
        return ShapedType::isDynamic(size) || size <= maxExtent;
      }))
    return success();
  return op->emitError() << "a program computes with tensors of numbers, of up "
                            "to "
                         << maxRank << " axes, not " << type;
}

LogicalResult tessera::graph::verifyTypes(Operation *op) {
  for (Type type : op->getResultTypes())
    if (failed(checkType(op, type)))
      return failure();
  for (Region &region : op->getRegions()) {
    if (!llvm::hasSingleElement(region))
      return op->emitError() << "'" << op->getName() << "' needs one block";
    for (Type type : region.getArgumentTypes())
      if (failed(checkType(op, type)))
        return failure();
  }
  return success();
}

LogicalResult tessera::graph::verifyCall(CallKernelOp call, KernelOp kernel) {
  if (!kernel)
    return call.emitError()
           << "there is no gir.kernel " << call.getKernelAttr();
  unsigned input = 0, output = 0, dynamic = 0;
  bool good = true;
  auto matches = [&](Value value, Type wanted) {
    auto view = dyn_cast<MemRefType>(wanted);
    auto have = dyn_cast<RankedTensorType>(value.getType());
    return have && (view ? have.getRank() == view.getRank() &&
                               have.getElementType() == view.getElementType()
                         : have.getRank() == 0 &&
                               isa<FloatType>(have.getElementType()) ==
                                   isa<FloatType>(wanted));
  };
  for (unsigned i = 0; good && i < kernel.getNumArguments(); ++i) {
    auto given = kernel.getArgAttrOfType<StringAttr>(i, "gir.mode");
    StringRef mode = given ? given.getValue() : "in";
    Type type = kernel.getArgumentTypes()[i];
    if (mode != "out")
      good = input < call.getInputs().size() &&
             matches(call.getInputs()[input++], type);
    if (good && mode != "in") {
      good = output < call.getResults().size() && isa<MemRefType>(type) &&
             matches(call.getResults()[output], type);
      if (good && mode == "out")
        dynamic += cast<RankedTensorType>(call.getResults()[output].getType())
                       .getNumDynamicDims();
      ++output;
    }
  }
  if (good && input == call.getInputs().size() &&
      output == call.getResults().size() && dynamic <= call.getSizes().size())
    return success();
  return call.emitError() << "the call does not give " << call.getKernelAttr()
                          << " what it takes";
}
