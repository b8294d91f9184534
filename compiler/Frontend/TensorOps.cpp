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
    "einsum",      "conv1d",  "conv2d",     "conv3d",
    "sort",        "argsort", "topk",       "reduce",
    "scan",        "rand",    "dropout",    "batch_norm",
    "group_norm",  "pad",     "roll",       "flip",
    "tril",        "triu",    "scatter",    "max_pool2d",
    "avg_pool2d",  "fft",     "mma_scaled", "mma_sparse",
    "ptx",         "one_hot", "repeat",     "repeat_interleave",
    "tile",        "std",     "norm",       "outer",
    "cumlogsumexp"};
/// Of kernels.
static const llvm::StringSet<> kernelNames = {
    "load",       "store",       "atomic_add", "atomic_max",   "atomic_min",
    "atomic_cas", "atomic_xchg", "program_id", "num_programs", "range_at",
    "mma",        "grid",        "filled"};

std::vector<Callable> listTensorOperations() {
  std::vector<Callable> result;
  for (const auto &[name, entry] : TensorOps::getEntries())
    result.push_back({name, entry.function, entry.method});
  return result;
}

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
  if (name == "breakpoint")
    return callBreakpoint(context, *this, arguments, site);
  auto found = getEntries().find(name.str());
  if (found != getEntries().end() && found->second.function)
    return dispatch(found->second, name, arguments, site);
  std::vector<std::string> given = quoteArguments(context, arguments, site);
  if (laterNames.contains(name)) {
    useCorrection(name, given, /*isNumPy=*/false);
    (void)context.notYet(site.nameRange, "tsr." + name.str() + " in a function",
                         getLaterFix(name, given));
    return failure();
  }
  if (kernelNames.contains(name)) {
    std::string fix = "@tsr.kernel above the def";
    if (name == "mma")
      fix = fillForeign(given.size() > 2 ? "$2 + $0 @ $1" : "$0 @ $1", given);
    else if (name == "load" && !given.empty())
      fix = given[0];
    return fail(site.nameRange,
                "tsr." + name.str() + " is for kernels, not for functions",
                fix);
  }
  Diagnostic &diagnostic =
      context.error(site.nameRange, "tessera has no '" + name.str() + "'");
  if (found != getEntries().end()) {
    std::string rest;
    for (size_t i = 1; i < given.size(); ++i)
      rest += (i > 1 ? ", " : "") + given[i];
    diagnostic.setFix((given.empty() ? std::string("x") : given[0]) + "." +
                      name.str() + "(" + rest + ")");
    return failure();
  }
  explainUnknown(context, diagnostic, ForeignKind::Function, name, arguments,
                 site, getCallNames());
  if (diagnostic.fix.empty())
    diagnostic.setFix("@tsr.function above a def " + name.str() +
                      "(...) of your own, or its result as an argument");
  return failure();
}

ValueResult TensorOps::method(const SemaValue &object, llvm::StringRef name,
                              const CallArguments &arguments,
                              const OpSite &site) {
  auto found = getEntries().find(name.str());
  const Expr *expr = site.operands.empty() ? nullptr : site.operands.front();
  SourceRange where = expr ? expr->range : site.range;
  if (object.kind == ValueKind::Tuple && name == "append" && context.isInLoop())
    return fail(site.nameRange,
                "a list cannot grow in a loop whose turns are known only at "
                "the call",
                (context.unrollFix.empty() ? "turns that are known"
                                           : context.unrollFix) +
                    ", and tsr.unroll in place of range; or a @tsr.kernel that "
                    "stores into an Out in each turn");
  if (!object.isTensor() && !object.isNumber()) {
    Diagnostic &diagnostic =
        context.error(site.nameRange,
                      describe(object) + " has no method '" + name.str() + "'");
    if (!explainForeign(context, diagnostic, ForeignKind::Method, name,
                        arguments, site, expr) ||
        diagnostic.fix.empty())
      diagnostic.setFix("methods of tensors: x.sum(dim=-1), x.to(fp16)");
    return failure();
  }
  if (found != getEntries().end() && found->second.method) {
    CallArguments all;
    all.arguments.push_back({"", object, expr, where});
    llvm::append_range(all.arguments, arguments.arguments);
    return dispatch(found->second, name, std::move(all), site);
  }
  if (laterNames.contains(name)) {
    std::vector<std::string> given = quoteArguments(context, arguments, site);
    useCorrection(name, given, /*isNumPy=*/false);
    given.insert(given.begin(), nameOf(object, expr));
    (void)context.notYet(site.nameRange, "." + name.str(),
                         getLaterFix(name, given));
    return failure();
  }
  if (name == "t" || name == "T") {
    return fail(site.nameRange, "a tensor has no method '" + name.str() + "'",
                nameOf(object, expr) + ".T");
  }
  Diagnostic &diagnostic = context.error(
      site.nameRange, "a tensor has no method '" + name.str() + "'; " +
                          nameOf(object, expr) + " is " + describe(object));
  std::string listed;
  for (const std::string &text : quoteArguments(context, arguments, site))
    listed += (listed.empty() ? "" : ", ") + text;
  if (found != getEntries().end()) {
    diagnostic.setFix("tsr." + name.str() + "(" + nameOf(object, expr) +
                      (listed.empty() ? "" : ", " + listed) + ")");
    return failure();
  }
  std::vector<std::string> known;
  for (const auto &[known_, entry] : getEntries())
    if (entry.method)
      known.push_back(known_);
  explainUnknown(context, diagnostic, ForeignKind::Method, name, arguments,
                 site, known, expr);
  if (std::string slices =
          getSlicesFix(object, name, arguments, nameOf(object, expr));
      !slices.empty())
    diagnostic.setFix(slices);
  if (diagnostic.fix.empty())
    diagnostic.setFix("@tsr.function above a def " + name.str() +
                      "(...) of your own, or its result as an argument");
  return failure();
}

/// "x[:, :32], x[:, 32:64], x[:, 64:]" for x.chunk(3, dim=1) and x.split(32,
/// 1).
std::string TensorOps::getSlicesFix(const SemaValue &object,
                                    llvm::StringRef name,
                                    const CallArguments &arguments,
                                    const std::string &text) {
  bool isChunk = name == "chunk";
  if (!isChunk && name != "split")
    return "";
  int64_t axis = 0, rank = rankOf(object);
  std::optional<int64_t> number;
  for (auto [i, argument] : llvm::enumerate(arguments.arguments)) {
    std::optional<int64_t> value = argument.value.getConstantInt();
    if (!value)
      return "";
    if (argument.keyword == "dim" || argument.keyword == "axis" || i == 1)
      axis = *value < 0 ? *value + rank : *value;
    else
      number = value;
  }
  if (!number || *number < 1 || axis < 0 || axis >= rank)
    return "";
  const Dim &dim = *object.dims[axis];
  bool isKnown = dim.size >= 0;
  if (!isChunk && !isKnown)
    return "";
  int64_t part = isChunk ? llvm::divideCeil(std::max<int64_t>(dim.size, 0),
                                            uint64_t(*number))
                         : *number,
          count = isChunk ? *number : llvm::divideCeil(dim.size, part);
  if (count < 2 || count > 8)
    return "";
  // Where the size is not known: parts of D // 3 elements.
  auto position = [&](int64_t i) {
    if (isKnown)
      return std::to_string(i * part);
    std::string each = dim.name + " // " + std::to_string(*number);
    return i == 1 ? each : std::to_string(i) + " * (" + each + ")";
  };
  std::string result, before;
  for (int64_t i = 0; i < axis; ++i)
    before += ":, ";
  for (int64_t i = 0; i < count; ++i)
    result += (i ? ", " : "") + text + "[" + before +
              (i ? position(i) : std::string()) + ":" +
              (i + 1 < count ? position(i + 1) : std::string()) + "]";
  return result;
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
                    nameOf(object, expr) +
                        (rank > 2 ? ".mT" : ", which has no axes to swap"));
      if (rank < 2)
        return fail(site.nameRange,
                    ".mT needs 2 axes or more, but " + nameOf(object, expr) +
                        " is " + describeShape(object),
                    nameOf(object, expr));
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
                nameOf(object, expr) +
                    (name == "size" ? ".numel()" : "." + name.str() + "()"));
  Diagnostic &diagnostic = context.error(
      site.nameRange,
      (object.isTensor() ? std::string("a tensor") : describe(object)) +
          " has no attribute '" + name.str() +
          "'; a tensor has shape, dtype, ndim, T, mT");
  if (name == "at") { // x.at[mask].set(v), of JAX
    std::string x = nameOf(object, expr);
    // "[:, 0].set(0.0)" stands behind it.
    std::string text = context.quoteBehind(site.nameRange);
    llvm::StringRef behind = text;
    auto [indices, rest] = behind.drop_front(behind.empty() ? 0 : 1).split(']');
    llvm::SmallVector<llvm::StringRef> parts;
    indices.split(parts, ',');
    std::string mask;
    for (auto [i, part] : llvm::enumerate(parts)) {
      int64_t place;
      llvm::StringRef index = part.trim();
      if (!index.getAsInteger(10, place))
        mask = getPlaceMask(x, rank, i, place);
      else if (parts.size() == 1 && !index.contains(':'))
        mask = index.str();
    }
    // Up to the bracket that closes set(.
    int depth = 0;
    size_t end = 0;
    llvm::StringRef value = rest;
    if (value.consume_front(".set("))
      for (depth = 1; end < value.size() && depth; ++end)
        depth += (value[end] == '(') - (value[end] == ')');
    if (!behind.starts_with("[") || mask.empty() || end == 0 || depth || !expr)
      return failure();
    diagnostic.setFix("tsr.where(" + mask + ", " +
                      value.take_front(end - 1).trim().str() + ", " + x + ")");
    size_t length = size_t(value.data() - behind.data()) + end;
    diagnostic.where = {site.range.file,
                        expr->range.begin,
                        {site.nameRange.end.line,
                         uint32_t(site.nameRange.end.column + length)}};
    return failure();
  }
  std::vector<std::string> near =
      nearestNames(name.str(), {"shape", "dtype", "ndim", "T", "mT"});
  // x.max(dim=1).values of torch: a maximum is its values alone.
  if (name == "values" && object.isTensor())
    diagnostic.setFix(nameOf(object, expr));
  else if (!near.empty())
    diagnostic.setFix(nameOf(object, expr) + "." + near.front());
  else if (!explainForeign(context, diagnostic, ForeignKind::Attribute, name,
                           {}, site, expr) ||
           diagnostic.fix.empty())
    diagnostic.setFix(nameOf(object, expr) + ".shape");
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

std::string TensorOps::getTensorFix(const CallArgument &argument,
                                    llvm::StringRef callee) const {
  const SemaValue &value = argument.value;
  std::string text = context.quote(argument.where);
  if (value.kind == ValueKind::Tuple)
    return callee == "cat" || callee == "stack" || value.elements.empty()
               ? "tsr." + callee.str() + "((a, b), dim=0)"
               : "tsr.stack(" + text + ")";
  if (value.kind == ValueKind::Builtin || value.kind == ValueKind::Function ||
      value.kind == ValueKind::Method)
    return text + "(x)";
  if (value.isConstant() && value.constant.isNone())
    return "leave it out, or a tensor parameter";
  if (value.isNumber())
    return "tsr.full(" + text + ", M, N)";
  return "a tensor parameter: x: Tensor[\"M\", \"N\"]";
}

ValueResult TensorOps::operand(const CallArgument &argument,
                               llvm::StringRef callee) {
  if (argument.value.isTensor() || argument.value.isNumber())
    return context.decay(argument.value, argument.where);
  return fail(argument.where,
              callee.str() + " needs a tensor, but " +
                  context.quote(argument.where) + " is " +
                  describe(argument.value),
              getTensorFix(argument, callee));
}

FailureOr<SemaValue> TensorOps::tensorOperand(const CallArgument &argument,
                                              llvm::StringRef callee) {
  if (argument.value.isTensor())
    return argument.value;
  return fail(argument.where,
              callee.str() + " needs a tensor, but " +
                  context.quote(argument.where) + " is " +
                  describe(argument.value),
              getTensorFix(argument, callee));
}

FailureOr<bool> TensorOps::flag(const CallArgument *argument, bool otherwise,
                                llvm::StringRef what) {
  if (!argument)
    return otherwise;
  if (argument->value.isConstant() &&
      (argument->value.constant.isBool() || argument->value.constant.isInt()))
    return argument->value.constant.isTrue();
  return fail(getValueRange(*argument),
              what.str() + " must be True or False, but " +
                  quoteValue(context, *argument) + " is " +
                  describe(argument->value),
              what.str() + "=True");
}

FailureOr<double> TensorOps::number(const CallArgument *argument,
                                    double otherwise, llvm::StringRef what) {
  if (!argument)
    return otherwise;
  if (argument->value.isConstant() && argument->value.constant.isNumber())
    return argument->value.constant.asFloat();
  return fail(getValueRange(*argument),
              what.str() + " must be a constant number, but " +
                  quoteValue(context, *argument) + " is " +
                  describe(argument->value),
              what.str() + "=1e-5, or a parameter " + what.str() + ": const");
}

/// dim="N": the axis of that dim; else the last one.
static std::string getAxisFix(const CallArgument &argument,
                              const SemaValue &tensor) {
  int64_t found = -1;
  if (argument.value.isConstant() && argument.value.constant.isString())
    for (auto [i, dim] : llvm::enumerate(tensor.dims))
      if (dim && dim->name == argument.value.constant.asString())
        found = int64_t(i);
  return (argument.keyword.empty() ? "" : argument.keyword + "=") +
         std::to_string(found);
}

FailureOr<int64_t> TensorOps::axis(const CallArgument &argument,
                                   const SemaValue &tensor, int64_t extra) {
  int64_t rank = rankOf(tensor) + extra;
  if (argument.value.kind == ValueKind::Dim) {
    Dim *dim = argument.value.dim;
    auto *found = llvm::find(tensor.dims, dim);
    if (found != tensor.dims.end())
      return found - tensor.dims.begin();
    Diagnostic &diagnostic = context.error(
        getValueRange(argument),
        "no axis of " + describeShape(tensor) + " is " + dim->name);
    diagnostic.addNote(dim->where, "dim " + dim->name);
    diagnostic.setFix("dim=-1");
    return failure();
  }
  std::optional<int64_t> index;
  if (argument.value.isConstant() && argument.value.constant.isInt())
    index = argument.value.constant.asInt();
  if (!index)
    return fail(getValueRange(argument),
                "an axis is a constant int or a dim, but " +
                    quoteValue(context, argument) + " is " +
                    describe(argument.value),
                getAxisFix(argument, tensor));
  if (*index < -rank || *index >= rank) {
    std::string axes = std::to_string(rankOf(tensor)) +
                       (rankOf(tensor) == 1 ? " axis" : " axes");
    Diagnostic &diagnostic =
        context.error(getValueRange(argument),
                      "there is no axis " + std::to_string(*index) + " in " +
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
      return fail(getValueRange(*argument),
                  "axis " + std::to_string(*one) + " is named twice",
                  "dim=" + std::to_string(*one));
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
  if (dim) {
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

LogicalResult TensorOps::store(const SemaValue &object,
                               ArrayRef<SemaValue> indices,
                               const SemaValue &value, const OpSite &site) {
  std::string name = object.name.empty() ? "a tensor" : object.name;
  return fail(site.range,
              "a function does not write into " + name +
                  "; it makes new tensors",
              getStoreFix(context, object, name, value, indices, site));
}

std::unique_ptr<OpLibrary> createTensorOps(SemaContext &context) {
  context.getContext()->loadDialect<graph::GraphDialect>();
  return std::make_unique<TensorOps>(context);
}

} // namespace tessera::frontend
