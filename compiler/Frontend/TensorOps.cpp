//===- TensorOps.cpp - The operations of a @tsr.function: names -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/TensorOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using tessera::graph::Extent;

namespace tessera::frontend {

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// One line per operation; methods and functions are the same.
const std::map<std::string, TensorOps::Entry, std::less<>> &
TensorOps::getEntries() {
  static const auto *entries = [] {
    auto *map = new std::map<std::string, Entry, std::less<>>;
    auto add = [&](Handler handler, std::initializer_list<const char *> names,
                   bool function = true, bool method = true) {
      for (const char *name : names)
        (*map)[name] = {handler, function, method};
    };
    add(&TensorOps::callUnary,
        {"exp", "exp2", "log", "log2", "log1p", "sqrt", "rsqrt", "sin", "cos",
         "tanh", "erf", "sigmoid", "silu"});
    add(&TensorOps::callRounding,
        {"abs", "neg", "relu", "floor", "ceil", "round"});
    add(&TensorOps::callPredicate, {"isnan", "isfinite"});
    add(&TensorOps::callBinary,
        {"add", "sub", "mul", "div", "pow", "maximum", "minimum"});
    add(&TensorOps::callWhere, {"where"}, true, false);
    add(&TensorOps::callClamp, {"clamp", "clip"});
    add(&TensorOps::callFma, {"fma"});
    add(&TensorOps::callGelu, {"gelu"});
    add(&TensorOps::callTo, {"to"}, false, true);
    add(&TensorOps::callNamedCast,
        {"float", "half", "double", "bfloat16", "int", "long", "bool"}, false,
        true);
    add(&TensorOps::callReduce,
        {"sum", "max", "min", "prod", "mean", "var", "any", "all", "argmax",
         "argmin", "logsumexp"});
    add(&TensorOps::callScan, {"cumsum", "cumprod", "cummax"});
    add(&TensorOps::callSoftmax, {"softmax", "log_softmax"});
    add(&TensorOps::callNorm, {"layer_norm", "rms_norm"}, true, false);
    add(&TensorOps::callCrossEntropy, {"cross_entropy"}, true, false);
    add(&TensorOps::callMatmul, {"matmul", "mm", "bmm", "dot"});
    add(&TensorOps::callLinear, {"linear"}, true, false);
    add(&TensorOps::callAttention,
        {"attention", "scaled_dot_product_attention"}, true, false);
    add(&TensorOps::callTranspose, {"transpose", "swapaxes"});
    add(&TensorOps::callPermute, {"permute"});
    add(&TensorOps::callReshape, {"reshape", "view"});
    add(&TensorOps::callFlatten, {"flatten"});
    add(&TensorOps::callUnsqueeze, {"unsqueeze"});
    add(&TensorOps::callSqueeze, {"squeeze"});
    add(&TensorOps::callExpand, {"expand", "broadcast_to"});
    add(&TensorOps::callCat, {"cat", "concat", "stack"}, true, false);
    add(&TensorOps::callTake, {"take", "index_select", "embedding"});
    add(&TensorOps::callGather, {"gather"});
    add(&TensorOps::callFull, {"zeros", "ones", "full"}, true, false);
    add(&TensorOps::callFullLike, {"zeros_like", "ones_like", "full_like"},
        true, false);
    add(&TensorOps::callArange, {"arange"}, true, false);
    add(&TensorOps::callCdiv, {"cdiv"}, true, false);
    add(&TensorOps::callSize, {"size", "dim", "numel"}, false, true);
    return map;
  }();
  return *entries;
}

/// Of the language, but later.
static const llvm::StringSet<> laterNames = {
    "einsum",     "conv1d",     "conv2d",      "conv3d",     "sort",
    "argsort",    "topk",       "reduce",      "scan",       "rand",
    "dropout",    "batch_norm", "group_norm",  "pad",        "roll",
    "flip",       "tril",       "triu",        "scatter",    "max_pool2d",
    "avg_pool2d", "fft",        "mma_scaled",  "mma_sparse", "ptx",
    "breakpoint", "one_hot",    "repeat",      "tile",       "std",
    "norm",       "outer",      "cumlogsumexp"};
/// Of kernels.
static const llvm::StringSet<> kernelNames = {
    "load",       "store",       "atomic_add", "atomic_max",   "atomic_min",
    "atomic_cas", "atomic_xchg", "program_id", "num_programs", "range_at",
    "mma",        "grid",        "filled"};

std::vector<std::string> TensorOps::getCallNames() const {
  std::vector<std::string> names;
  for (const auto &[name, entry] : getEntries())
    if (entry.function)
      names.push_back(name);
  return names;
}

ValueResult TensorOps::call(llvm::StringRef name,
                            const CallArguments &arguments,
                            const OpSite &site) {
  auto found = getEntries().find(name.str());
  if (found != getEntries().end() && found->second.function)
    return dispatch(found->second, name, arguments, site);
  if (laterNames.contains(name)) {
    (void)context.notYet(site.nameRange, "tsr." + name.str());
    return failure();
  }
  if (kernelNames.contains(name))
    return fail(site.nameRange,
                "tsr." + name.str() + " is for kernels, not for functions",
                "@tsr.kernel");
  Diagnostic &diagnostic =
      context.error(site.nameRange, "tessera has no '" + name.str() + "'");
  if (found != getEntries().end()) {
    diagnostic.setFix("x." + name.str() + "(...)");
    return failure();
  }
  std::vector<std::string> near = nearestNames(name.str(), getCallNames());
  if (!near.empty()) {
    std::string fix;
    for (const std::string &candidate : near)
      fix += (fix.empty() ? "tsr." : " or tsr.") + candidate;
    diagnostic.setFix(fix);
  }
  return failure();
}

ValueResult TensorOps::method(const SemaValue &object, llvm::StringRef name,
                              const CallArguments &arguments,
                              const OpSite &site) {
  auto found = getEntries().find(name.str());
  const Expr *expr = site.operands.empty() ? nullptr : site.operands.front();
  SourceRange where = expr ? expr->range : site.range;
  if (!object.isTensor() && !object.isNumber())
    return fail(site.nameRange,
                describe(object) + " has no method '" + name.str() + "'");
  if (found != getEntries().end() && found->second.method) {
    CallArguments all;
    all.arguments.push_back({"", object, expr, where});
    llvm::append_range(all.arguments, arguments.arguments);
    return dispatch(found->second, name, std::move(all), site);
  }
  if (laterNames.contains(name)) {
    (void)context.notYet(site.nameRange, "." + name.str());
    return failure();
  }
  if (name == "t" || name == "T") {
    return fail(site.nameRange, "a tensor has no method '" + name.str() + "'",
                nameOf(object, expr) + ".T");
  }
  Diagnostic &diagnostic = context.error(
      site.nameRange, "a tensor has no method '" + name.str() + "'");
  if (found != getEntries().end()) {
    diagnostic.setFix("tsr." + name.str() + "(" + nameOf(object, expr) +
                      ", ...)");
    return failure();
  }
  std::vector<std::string> known;
  for (const auto &[known_, entry] : getEntries())
    if (entry.method)
      known.push_back(known_);
  std::vector<std::string> near = nearestNames(name.str(), known);
  if (!near.empty())
    diagnostic.setFix(nameOf(object, expr) + "." + near.front() + "(...)");
  return failure();
}

ValueResult TensorOps::dispatch(const Entry &entry, llvm::StringRef name,
                                CallArguments arguments, const OpSite &site) {
  // One spelling of the options; torch's is ours.
  for (CallArgument &argument : arguments.arguments) {
    if (argument.keyword == "axis")
      argument.keyword = "dim";
    else if (argument.keyword == "keepdims")
      argument.keyword = "keepdim";
  }
  NamedCall named{name.str(), std::move(arguments), site};
  return (this->*entry.handler)(named);
}

ValueResult TensorOps::attribute(const SemaValue &object, llvm::StringRef name,
                                 const OpSite &site) {
  int64_t rank = rankOf(object);
  const Expr *expr = site.operands.empty() ? nullptr : site.operands.front();
  if (name == "dtype" && (object.isTensor() || object.isScalar()))
    return SemaValue::makeConstant(object.dtype);
  if (name == "ndim" && (object.isTensor() || object.isNumber()))
    return SemaValue::makeConstant(rank);
  if (object.isTensor()) {
    if (name == "shape") {
      std::vector<SemaValue> sizes;
      for (int64_t i = 0; i < rank; ++i) {
        ValueResult size = sizeValue(object, i, loc(site));
        if (failed(size))
          return failure();
        sizes.push_back(*size);
      }
      return SemaValue::makeTuple(std::move(sizes));
    }
    if (name == "T" || name == "mT") {
      if (name == "T" && rank != 2)
        return fail(site.nameRange,
                    ".T needs 2 axes, but " + nameOf(object, expr) + " is " +
                        describeShape(object),
                    nameOf(object, expr) + (rank > 2 ? ".mT" : ""));
      if (rank < 2)
        return fail(site.nameRange, ".mT needs 2 axes or more, but " +
                                        nameOf(object, expr) + " is " +
                                        describeShape(object));
      SmallVector<int64_t> permutation;
      for (int64_t i = 0; i < rank; ++i)
        permutation.push_back(i);
      std::swap(permutation[rank - 1], permutation[rank - 2]);
      return permute(object, permutation, site);
    }
  }
  auto found = getEntries().find(name.str());
  if (found != getEntries().end() && found->second.method)
    return fail(site.nameRange, "'" + name.str() + "' is a method",
                nameOf(object, expr) + "." + name.str() + "()");
  Diagnostic &diagnostic = context.error(
      site.nameRange, "a tensor has no attribute '" + name.str() + "'");
  std::vector<std::string> near =
      nearestNames(name.str(), {"shape", "dtype", "ndim", "T", "mT"});
  if (!near.empty())
    diagnostic.setFix(nameOf(object, expr) + "." + near.front());
  return failure();
}

//===----------------------------------------------------------------------===//
// What every operation needs
//===----------------------------------------------------------------------===//

LogicalResult TensorOps::fail(SourceRange where, std::string message,
                              std::string fix) {
  context.error(where, std::move(message)).setFix(std::move(fix));
  return failure();
}

mlir::Value TensorOps::emit(llvm::StringRef name, Location location, Type type,
                            ValueRange operands,
                            ArrayRef<NamedAttribute> attributes) {
  OperationState state(location, name, operands, TypeRange(type), attributes);
  Operation *op = context.builder.create(state);
  // Sizes and scalars are worth folding at once; tensors are the pipeline's.
  SmallVector<mlir::Value> folded;
  if (cast<RankedTensorType>(type).getRank() == 0 &&
      succeeded(context.builder.tryFold(op, folded)) && folded.size() == 1) {
    op->erase();
    return folded.front();
  }
  return op->getResult(0);
}

NamedAttribute TensorOps::attr(llvm::StringRef name, mlir::Attribute value) {
  return context.builder.getNamedAttr(name, value);
}
NamedAttribute TensorOps::attr(llvm::StringRef name, int64_t value) {
  return attr(name, context.builder.getI64IntegerAttr(value));
}
NamedAttribute TensorOps::unit(llvm::StringRef name) {
  return attr(name, context.builder.getUnitAttr());
}

Type TensorOps::elementType(DType dtype) {
  return getStorageType(context.getContext(), dtype);
}

FailureOr<BoundArguments> TensorOps::bind(const NamedCall &call,
                                          ArrayRef<llvm::StringRef> parameters,
                                          unsigned required) {
  return bindArguments(context, call.name, call.arguments, parameters, required,
                       call.site);
}

std::string TensorOps::nameOf(const SemaValue &value, const Expr *expr) {
  if (expr)
    return context.quote(expr->range);
  return value.name.empty() ? "it" : value.name;
}

void TensorOps::noteOrigin(Diagnostic &diagnostic, const SemaValue &value,
                           const std::string &name) {
  if (value.origin.isValid())
    diagnostic.addNote(value.origin, name + " is " + describeShape(value));
  else
    diagnostic.addNote({}, name + " is " + describeShape(value));
}

ValueResult TensorOps::operand(const CallArgument &argument,
                               llvm::StringRef callee) {
  if (argument.value.isTensor() || argument.value.isNumber())
    return context.decay(argument.value, argument.where);
  return fail(argument.where, callee.str() + " needs a tensor, but " +
                                  context.quote(argument.where) + " is " +
                                  describe(argument.value));
}

FailureOr<SemaValue> TensorOps::tensorOperand(const CallArgument &argument,
                                              llvm::StringRef callee) {
  if (argument.value.isTensor())
    return argument.value;
  return fail(argument.where, callee.str() + " needs a tensor, but " +
                                  context.quote(argument.where) + " is " +
                                  describe(argument.value));
}

FailureOr<bool> TensorOps::flag(const CallArgument *argument, bool otherwise,
                                llvm::StringRef what) {
  if (!argument)
    return otherwise;
  if (argument->value.isConstant() &&
      (argument->value.constant.isBool() || argument->value.constant.isInt()))
    return argument->value.constant.isTrue();
  return fail(argument->where, what.str() + " must be True or False, but " +
                                   context.quote(argument->where) + " is " +
                                   describe(argument->value));
}

FailureOr<double> TensorOps::number(const CallArgument *argument,
                                    double otherwise, llvm::StringRef what) {
  if (!argument)
    return otherwise;
  if (argument->value.isConstant() && argument->value.constant.isNumber())
    return argument->value.constant.asFloat();
  return fail(argument->where, what.str() + " must be a constant number, but " +
                                   context.quote(argument->where) + " is " +
                                   describe(argument->value));
}

FailureOr<int64_t> TensorOps::axis(const CallArgument &argument,
                                   const SemaValue &tensor, int64_t extra) {
  int64_t rank = rankOf(tensor) + extra;
  if (argument.value.kind == ValueKind::Dim) {
    Dim *dim = argument.value.dim;
    auto *found = llvm::find(tensor.dims, dim);
    if (found != tensor.dims.end())
      return found - tensor.dims.begin();
    Diagnostic &diagnostic =
        context.error(argument.where, "no axis of " + describeShape(tensor) +
                                          " is " + dim->name);
    diagnostic.addNote(dim->where, "dim " + dim->name);
    diagnostic.setFix("dim=-1");
    return failure();
  }
  std::optional<int64_t> index;
  if (argument.value.isConstant() && argument.value.constant.isInt())
    index = argument.value.constant.asInt();
  if (!index)
    return fail(argument.where, "an axis is a constant int or a dim, but " +
                                    context.quote(argument.where) + " is " +
                                    describe(argument.value));
  if (*index < -rank || *index >= rank) {
    std::string axes = std::to_string(rankOf(tensor)) +
                       (rankOf(tensor) == 1 ? " axis" : " axes");
    Diagnostic &diagnostic = context.error(
        argument.where, "there is no axis " + std::to_string(*index) + " in " +
                            (tensor.name.empty() ? "" : tensor.name + ": ") +
                            describeShape(tensor) + ", which has " + axes);
    if (tensor.origin.isValid() && !tensor.name.empty())
      noteOrigin(diagnostic, tensor, tensor.name);
    if (rank > 0)
      diagnostic.setFix("dim=" + std::to_string(*index < 0 ? -rank : -1));
    return failure();
  }
  return *index < 0 ? *index + rank : *index;
}

FailureOr<SmallVector<int64_t>> TensorOps::axes(const CallArgument *argument,
                                                const SemaValue &tensor) {
  SmallVector<int64_t> result;
  if (!argument || argument->value.isNone()) {
    for (int64_t i = 0, e = rankOf(tensor); i < e; ++i)
      result.push_back(i);
    return result;
  }
  for (const CallArgument &part : flattenTuple(*argument)) {
    FailureOr<int64_t> one = axis(part, tensor);
    if (failed(one))
      return failure();
    if (llvm::is_contained(result, *one))
      return fail(argument->where,
                  "axis " + std::to_string(*one) + " is named twice");
    result.push_back(*one);
  }
  llvm::sort(result);
  return result;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

mlir::Value TensorOps::constant(Location location, DType dtype, double value) {
  Type element = elementType(dtype);
  auto type = RankedTensorType::get({}, element);
  mlir::Attribute number =
      isFloat(dtype)
          ? mlir::Attribute(context.builder.getFloatAttr(element, value))
          : mlir::Attribute(
                context.builder.getIntegerAttr(element, int64_t(value)));
  return graph::ConstantOp::create(
      context.builder, location,
      cast<ElementsAttr>(DenseElementsAttr::get(type, number)));
}

mlir::Value TensorOps::constant(Location location, int64_t value) {
  return graph::materialize(context.builder, location, Extent::get(value));
}

/// The lowest finite number of a dtype.
static double lowest(DType dtype) {
  switch (dtype) {
  case DType::FP16:
    return -65504.0;
  case DType::BF16:
    return -0x1.FEp127;
  case DType::FP32:
    return -0x1.FFFFFEp127;
  default:
    return -0x1.FFFFFFFFFFFFFp1023;
  }
}

/// Whether a constant loses digits as an f16 or bf16.
static bool isRoundedAway(double value, Type element) {
  if (!element.isF16() && !element.isBF16())
    return false;
  bool loses;
  llvm::APFloat number(value);
  number.convert(cast<FloatType>(element).getFloatSemantics(),
                 llvm::APFloat::rmNearestTiesToEven, &loses);
  return loses;
}

mlir::Value TensorOps::convert(const SemaValue &value, DType dtype,
                               Location location) {
  Type element = elementType(dtype);
  if (value.kind == ValueKind::Dim) {
    ValueResult size = context.getSize(*value.dim, value.origin);
    return failed(size) ? mlir::Value() : convert(*size, dtype, location);
  }
  if (value.isConstant()) {
    const ConstantData &data = value.constant;
    if (data.isLowest() && isFloat(dtype))
      return constant(location, dtype, lowest(dtype));
    if (isFloat(dtype)) {
      if (!isRoundedAway(data.asFloat(), element))
        return constant(location, dtype, data.asFloat());
      // The rounding stays visible, so that attention can take its scale
      // unrounded; everything else folds it.
      mlir::Value wide = constant(location, DType::FP64, data.asFloat());
      return graph::CastOp::create(context.builder, location,
                                   RankedTensorType::get({}, element), wide,
                                   context.builder.getStringAttr("rn"));
    }
    auto type = RankedTensorType::get({}, element);
    int64_t number = data.isFloat() ? int64_t(data.asFloat()) : data.asInt();
    if (dtype == DType::Bool)
      number = data.isTrue();
    return graph::ConstantOp::create(
        context.builder, location,
        cast<ElementsAttr>(DenseElementsAttr::get(
            type, context.builder.getIntegerAttr(element, number))));
  }
  auto type = cast<RankedTensorType>(value.ssa.getType());
  if (type.getElementType() == element)
    return value.ssa;
  return emit("gir.cast", location, type.clone(element), value.ssa,
              attr("rounding", context.builder.getStringAttr("rn")));
}

SemaValue TensorOps::makeResult(mlir::Value ssa, DType dtype,
                                const TensorShape &shape, bool tensor,
                                bool weak) {
  if (!tensor && shape.rank() == 0)
    return SemaValue::makeScalar(ssa, dtype, weak);
  return SemaValue::makeTensor(ssa, dtype, shape.dims);
}

mlir::Value TensorOps::makeDimSize(Dim &dim, Location location) {
  return graph::DimOp::create(context.builder, location, dim.source, dim.axis);
}

mlir::Value TensorOps::makeScalar(const SemaValue &value, DType dtype,
                                  Location location) {
  return convert(value, dtype, location);
}

ValueResult TensorOps::sizeValue(const SemaValue &tensor, int64_t axis,
                                 Location location) {
  Extent extent = graph::getExtent(tensor.ssa, axis);
  Dim *dim = tensor.dims[axis];
  if (dim && dim->size < 0) {
    // Keeps the name, so that it can stand for the axis.
    SemaValue value;
    value.kind = ValueKind::Dim;
    value.dim = dim;
    return value;
  }
  if (extent.isConstant())
    return SemaValue::makeConstant(extent.constant);
  return SemaValue::makeScalar(
      graph::materialize(context.builder, location, extent), DType::I64,
      /*weak=*/true);
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

LogicalResult TensorOps::store(const SemaValue &object, ArrayRef<SemaValue>,
                               const SemaValue &, const OpSite &site) {
  std::string name = object.name.empty() ? "a tensor" : object.name;
  return fail(site.range,
              "a function does not write into " + name +
                  "; it makes new tensors",
              "tsr.where(...), tsr.cat(...), or a @tsr.kernel");
}

LogicalResult TensorOps::print(llvm::StringRef, ArrayRef<SemaValue>,
                               const OpSite &site) {
  return context.notYet(site.range, "print in a function",
                        "return the value, and print that");
}

LogicalResult TensorOps::assertTrue(const SemaValue &condition,
                                    llvm::StringRef message,
                                    const OpSite &site) {
  // An equality of sizes is checked in every build; the rest is for the check
  // build, which functions do not have yet.
  if (condition.ssa)
    if (auto compare = condition.ssa.getDefiningOp<graph::CompareOp>())
      if (compare.getKind() == graph::CompareKind::Eq &&
          compare.getLhs().getType() ==
              graph::DimOp::sizeType(context.getContext())) {
        std::string text = message.empty() ? "assertion failed" : message.str();
        graph::CheckEqualOp::create(context.builder, loc(site),
                                    compare.getLhs(), compare.getRhs(), text);
        return success();
      }
  return context.notYet(site.range, "an assert on values in a function",
                        "assert sizes, or assert in a @tsr.kernel");
}

std::unique_ptr<OpLibrary> createTensorOps(SemaContext &context) {
  context.getContext()->loadDialect<graph::GraphDialect>();
  return std::make_unique<TensorOps>(context);
}

} // namespace tessera::frontend
