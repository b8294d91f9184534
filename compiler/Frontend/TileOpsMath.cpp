//===- TileOpsMath.cpp - Functions of elements ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "compiler/Frontend/Operations.h"
#include "compiler/Frontend/TileOps.h"
#include "compiler/Tile/IR/Activations.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

#include <limits>
#include <numbers>

using namespace mlir;

namespace tessera::frontend {

static const char *const unaryNames[] = {
    "abs",   "exp",     "exp2", "log",  "log2", "log1p", "sqrt",
    "rsqrt", "sin",     "cos",  "tanh", "erf",  "floor", "ceil",
    "round", "sigmoid", "gelu", "silu", "relu", "isnan", "isfinite"};
static const char *const reductionNames[] = {
    "sum", "max", "min",    "prod",   "mean",     "var",
    "any", "all", "argmax", "argmin", "logsumexp"};
static const char *const scanNames[] = {"cumsum", "cumprod", "cummax"};

/// Forms that are parsed and refused until they are there.
static const char *getMarked(llvm::StringRef name) {
  return llvm::StringSwitch<const char *>(name)
      .Cases({"atomic_cas", "atomic_xchg"},
             "tsr.atomic_cas and tsr.atomic_xchg")
      .Case("mma_scaled", "tsr.mma_scaled")
      .Case("mma_sparse", "tsr.mma_sparse")
      .Cases({"reduce", "scan"}, "reductions with a function of your own")
      .Cases({"sort", "topk"}, "tsr.sort and tsr.topk on tiles")
      .Case("ptx", "tsr.ptx")
      .Default(nullptr);
}

static const char *const graphNames[] = {
    "matmul", "layer_norm",  "rms_norm",   "attention",
    "einsum", "conv2d",      "embedding",  "cross_entropy",
    "linear", "log_softmax", "batch_norm", "scaled_dot_product_attention"};

static std::vector<std::string> getTileCalls() {
  std::vector<std::string> names = {
      "tile",       "grid",       "unroll",   "zeros",      "ones",
      "full",       "arange",     "load",     "store",      "atomic_add",
      "atomic_max", "atomic_min", "mma",      "mma_sparse", "mma_scaled",
      "where",      "maximum",    "minimum",  "clamp",      "fma",
      "softmax",    "cdiv",       "range_at", "program_id", "num_programs",
      "cat",        "rand",       "pow",      "inf",        "nan",
      "lowest"};
  names.insert(names.end(), std::begin(unaryNames), std::end(unaryNames));
  names.insert(names.end(), std::begin(reductionNames),
               std::end(reductionNames));
  names.insert(names.end(), std::begin(scanNames), std::end(scanNames));
  return names;
}

std::vector<std::string> TileOps::getCallNames() const {
  return getTileCalls();
}

std::vector<Callable> listTileOperations() {
  // Not of tiles: ranges, the grid, memory and constants.
  static const llvm::StringSet<> plain = {
      "tile",       "grid",  "unroll",     "zeros",        "ones",
      "full",       "load",  "store",      "atomic_add",   "atomic_max",
      "atomic_min", "where", "program_id", "num_programs", "range_at",
      "arange",     "cdiv",  "rand",       "inf",          "nan",
      "lowest",     "cat",   "mma",        "mma_sparse",   "mma_scaled"};
  std::vector<Callable> result;
  for (const std::string &name : getTileCalls())
    result.push_back({name, true, !plain.contains(name)});
  for (const char *name : {"to", "permute", "expand", "reshape", "filled"})
    result.push_back({name, false, true});
  return result;
}

/// A graph op on tiles, or where it belongs.
static std::string getTileFix(SemaContext &context, llvm::StringRef name,
                              const CallArguments &arguments,
                              const OpSite &site) {
  std::vector<std::string> given = quoteArguments(context, arguments, site);
  std::string x = given.empty() ? "x" : given[0];
  if (name == "matmul")
    return fillForeign("$0 @ $1", given);
  if (std::string product = name == "einsum" && given.size() == 3
                                ? getEinsumFix(context, given)
                                : "";
      !product.empty())
    return product;
  if (name == "linear")
    return fillForeign("$0 @ $1.T", given);
  if (name == "log_softmax")
    return fillForeign("$0 - tsr.logsumexp($0, dim=-1)", given);
  if (name == "rms_norm")
    return fillForeign("$0 * tsr.rsqrt(tsr.mean($0 * $0, dim=-1) + 1e-5)",
                       given);
  if (name == "layer_norm")
    return fillForeign("($0 - tsr.mean($0, dim=-1)) * "
                       "tsr.rsqrt(tsr.var($0, dim=-1) + 1e-5)",
                       given);
  return "call tsr." + name.str() + " in a @tsr.function";
}

/// What to write until a marked form is there.
static std::string getMarkedFix(llvm::StringRef name) {
  return llvm::StringSwitch<std::string>(name)
      .Cases({"atomic_cas", "atomic_xchg"}, "tsr.atomic_add, tsr.atomic_max or "
                                            "tsr.atomic_min")
      .Case("mma_scaled", "tsr.mma(a.to(fp16) * sa, b.to(fp16) * sb, acc)")
      .Case("mma_sparse", "tsr.mma(a, b, acc)")
      .Case("reduce", "tsr.sum, tsr.max, tsr.min or tsr.prod")
      .Case("scan", "tsr.cumsum, tsr.cumprod or tsr.cummax")
      .Cases({"sort", "topk"}, "sort in the calling code; the largest of an "
                               "axis n is tsr.max(x, n), at tsr.argmax(x, n)")
      .Case("breakpoint", "print(\"x =\", x)")
      .Default("operations of tessera: the compiler chooses instructions");
}

ValueResult TileOps::unknownCall(llvm::StringRef name,
                                 const CallArguments &arguments,
                                 const OpSite &site) {
  if (const char *marked = getMarked(name)) {
    (void)context.notYet(site.range, marked, getMarkedFix(name));
    return failure();
  }
  if (llvm::is_contained(graphNames, name)) {
    context
        .error(site.range, "tsr." + name.str() +
                               " is an operation of functions, on whole "
                               "tensors; inside a kernel there are tiles")
        .setFix(getTileFix(context, name, arguments, site));
    return failure();
  }
  Diagnostic &diagnostic =
      context.error(site.nameRange, "tsr has no '" + name.str() + "'");
  explainUnknown(context, diagnostic, ForeignKind::Function, name, arguments,
                 site, getCallNames());
  if (diagnostic.fix.empty())
    diagnostic.setFix(
        "@tsr.function above a def " + name.str() + "(...) of your own, and " +
        name.str() + "(" +
        llvm::join(quoteArguments(context, arguments, site), ", ") + ")");
  return failure();
}

ValueResult TileOps::call(llvm::StringRef name, const CallArguments &arguments,
                          const OpSite &site) {
  if (name == "breakpoint")
    return callBreakpoint(context, *this, arguments, site);
  if (llvm::is_contained(unaryNames, name))
    return callUnary(name, arguments, site);
  if (llvm::is_contained(reductionNames, name))
    return callReduction(name, arguments, site);
  if (llvm::is_contained(scanNames, name))
    return callScan(name, arguments, site);
  if (name == "maximum" || name == "minimum")
    return callExtremum(name == "maximum", arguments, site);
  if (name == "where")
    return callWhere(arguments, site);
  if (name == "clamp")
    return callClamp(arguments, site);
  if (name == "fma")
    return callFma(arguments, site);
  if (name == "cdiv")
    return callCdiv(arguments, site);
  if (name == "rand")
    return callRand(arguments, site);
  if (name == "pow")
    return callPow(arguments, site);
  if (name == "softmax")
    return callSoftmax(arguments, site);
  if (name == "zeros" || name == "full" || name == "ones")
    return callFull(name, arguments, site);
  if (name == "arange")
    return callArange(arguments, site);
  if (name == "range_at")
    return callRangeAt(arguments, site);
  if (name == "cat")
    return callCat(arguments, site);
  if (name == "program_id" || name == "num_programs")
    return callProgramId(name, arguments, site);
  if (name == "mma")
    return callMma(arguments, site);
  if (name == "mma_sparse" || name == "mma_scaled")
    return callExtendedMma(name, arguments, site);
  if (name == "load")
    return callLoad(arguments, site);
  if (name == "store")
    return callStore(arguments, site);
  if (name == "atomic_add" || name == "atomic_max" || name == "atomic_min")
    return callAtomic(name, arguments, site);
  return unknownCall(name, arguments, site);
}

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

mlir::Value TileOps::emitActivation(llvm::StringRef name, DType dtype,
                                    mlir::Value x, Location at) {
  OpBuilder &b = builder();
  DType wide = dtype == DType::FP64 ? DType::FP64 : DType::FP32;
  x = castElements(x, dtype, wide, at);
  auto create = name == "gelu"   ? tile::createGelu
                : name == "silu" ? tile::createSilu
                                 : tile::createSigmoid;
  mlir::Value result = create(b, at, x, /*isNear=*/dtype != wide);
  return castElements(result, wide, dtype, at);
}

mlir::Value TileOps::emitUnary(llvm::StringRef name, DType dtype, mlir::Value x,
                               Location at) {
  OpBuilder &b = builder();
  Type type = x.getType();
  if (name == "abs") {
    if (isFloat(dtype))
      return math::AbsFOp::create(b, at, x);
    // math.absi takes no index.
    mlir::Value zero = makeConstant(ConstantData(int64_t(0)), dtype, type, at);
    mlir::Value negated = arith::SubIOp::create(b, at, zero, x);
    return arith::MaxSIOp::create(b, at, x, negated);
  }
  if (name == "relu") {
    mlir::Value zero = makeConstant(ConstantData(int64_t(0)), dtype, type, at);
    return emitExtremum(true, dtype, x, zero, at);
  }
  if (name == "isnan")
    return arith::CmpFOp::create(b, at, arith::CmpFPredicate::UNO, x, x);
  if (name == "isfinite") {
    mlir::Value magnitude = math::AbsFOp::create(b, at, x);
    mlir::Value infinity = makeConstant(
        ConstantData(std::numeric_limits<double>::infinity()), dtype, type, at);
    return arith::CmpFOp::create(b, at, arith::CmpFPredicate::OLT, magnitude,
                                 infinity);
  }
  if (name == "gelu" || name == "silu" || name == "sigmoid")
    return emitActivation(name, dtype, x, at);
  if (name == "exp")
    return math::ExpOp::create(b, at, x);
  if (name == "exp2")
    return math::Exp2Op::create(b, at, x);
  if (name == "log")
    return math::LogOp::create(b, at, x);
  if (name == "log2")
    return math::Log2Op::create(b, at, x);
  if (name == "log1p")
    return math::Log1pOp::create(b, at, x);
  if (name == "sqrt")
    return math::SqrtOp::create(b, at, x);
  if (name == "rsqrt")
    return math::RsqrtOp::create(b, at, x);
  if (name == "sin")
    return math::SinOp::create(b, at, x);
  if (name == "cos")
    return math::CosOp::create(b, at, x);
  if (name == "tanh")
    return math::TanhOp::create(b, at, x);
  if (name == "erf")
    return math::ErfOp::create(b, at, x);
  if (name == "floor")
    return math::FloorOp::create(b, at, x);
  if (name == "ceil")
    return math::CeilOp::create(b, at, x);
  return math::RoundEvenOp::create(b, at, x); // round
}

ValueResult TileOps::callUnary(llvm::StringRef name,
                               const CallArguments &arguments,
                               const OpSite &site) {
  std::string callee = "tsr." + name.str();
  llvm::SmallVector<llvm::StringRef> parameters = {"x"};
  if (name == "gelu")
    parameters.push_back("*approximate");
  FailureOr<BoundArguments> bound =
      bindArguments(context, callee, arguments, parameters, 1, site);
  if (failed(bound))
    return failure();
  if (name == "gelu" && (*bound)[1]) {
    if (failed(getChoice(context, *(*bound)[1], "approximate", {"none"},
                         {"tanh"})))
      return failure();
  }
  const CallArgument &argument = *(*bound)[0];
  ValueResult decayed = context.decay(argument.value, argument.where);
  if (failed(decayed))
    return failure();
  SemaValue x = *decayed;
  if (failed(checkOperand(x, argument.expr, argument.where, callee)))
    return failure();
  if (x.isConstant() && isMathFunction(name)) {
    ConstantData data[] = {x.constant};
    FoldResult folded = foldMath(name, data);
    if (folded)
      return SemaValue::makeConstant(folded.value);
    context.error(site.range, folded.error)
        .setFix(callee + "(tsr.maximum(" + context.quote(argument.where) +
                ", 1e-6))");
    return failure();
  }
  PromotionOperand operand = x.getPromotionOperand();
  DType dtype = operand.dtype;
  bool integral = name == "abs" || name == "relu";
  if (!isFloat(dtype) && !(integral && isInteger(dtype))) {
    if (!operand.weak) {
      context
          .error(argument.where, callee + " needs floats, but " +
                                     nameOf(x, argument.expr) + " is " +
                                     describe(x))
          .setFix(context.quote(argument.where) + ".to(fp32)");
      return failure();
    }
    dtype = DType::FP64;
  }
  bool predicate = name == "isnan" || name == "isfinite";
  OpSite inner = site;
  inner.operands = {argument.expr};
  return elementwise({&x}, dtype, operand.weak, predicate ? DType::Bool : dtype,
                     inner,
                     [&](llvm::ArrayRef<mlir::Value> values, Location at) {
                       return emitUnary(name, dtype, values[0], at);
                     });
}

//===----------------------------------------------------------------------===//
// Two and more operands
//===----------------------------------------------------------------------===//

/// The values of bound arguments as operands of one op.
static FailureOr<std::vector<SemaValue>>
getOperands(SemaContext &context, const BoundArguments &bound, size_t first,
            size_t count, OpSite &site) {
  std::vector<SemaValue> values;
  site.operands.clear();
  for (size_t i = first; i < first + count; ++i) {
    ValueResult value = context.decay(bound[i]->value, bound[i]->where);
    if (failed(value))
      return failure();
    values.push_back(*value);
    site.operands.push_back(bound[i]->expr);
  }
  return values;
}

mlir::Value TileOps::emitExtremum(bool max, DType dtype, mlir::Value left,
                                  mlir::Value right, Location at) {
  OpBuilder &b = builder();
  if (isFloat(dtype)) {
    if (max)
      return arith::MaximumFOp::create(b, at, left, right);
    return arith::MinimumFOp::create(b, at, left, right);
  }
  if (dtype == DType::Bool) {
    if (max)
      return arith::OrIOp::create(b, at, left, right);
    return arith::AndIOp::create(b, at, left, right);
  }
  if (max)
    return arith::MaxSIOp::create(b, at, left, right);
  return arith::MinSIOp::create(b, at, left, right);
}

ValueResult TileOps::callExtremum(bool max, const CallArguments &arguments,
                                  const OpSite &site) {
  std::string callee = max ? "tsr.maximum" : "tsr.minimum";
  FailureOr<BoundArguments> bound =
      bindArguments(context, callee, arguments, {"a", "b"}, 2, site);
  if (failed(bound))
    return failure();
  OpSite inner = site;
  FailureOr<std::vector<SemaValue>> values =
      getOperands(context, *bound, 0, 2, inner);
  if (failed(values))
    return failure();
  const SemaValue &a = (*values)[0], &b = (*values)[1];
  if (a.isConstant() && b.isConstant() && a.constant.isNumber() &&
      b.constant.isNumber()) {
    auto op = max ? CompareOperator::Gt : CompareOperator::Lt;
    return foldCompare(op, b.constant, a.constant).value.isTrue() ? b : a;
  }
  FailureOr<Promotion> promotion = promoteAll(callee, {&a, &b}, inner);
  if (failed(promotion))
    return failure();
  return elementwise(
      {&a, &b}, promotion->dtype, promotion->weak, promotion->dtype, inner,
      [&](llvm::ArrayRef<mlir::Value> v, Location at) {
        return emitExtremum(max, promotion->dtype, v[0], v[1], at);
      });
}

ValueResult TileOps::callWhere(const CallArguments &arguments,
                               const OpSite &site) {
  FailureOr<BoundArguments> bound = bindArguments(
      context, "tsr.where", arguments, {"cond", "a", "b"}, 3, site);
  if (failed(bound))
    return failure();
  OpSite inner = site;
  FailureOr<std::vector<SemaValue>> values =
      getOperands(context, *bound, 1, 2, inner);
  if (failed(values))
    return failure();
  const CallArgument &test = *(*bound)[0];
  const SemaValue &cond = test.value;
  const SemaValue &a = (*values)[0], &b = (*values)[1];
  if (cond.isConstant() && cond.constant.isBool() && !a.isTile() && !b.isTile())
    return cond.constant.isTrue() ? a : b;
  bool boolean = (cond.isTile() || cond.isScalar() || cond.isConstant()) &&
                 cond.getPromotionOperand().dtype == DType::Bool;
  bool isSwapped = a.getPromotionOperand().dtype == DType::Bool && a.isTile();
  if (!boolean && isSwapped) {
    const std::vector<CallArgument> &given = arguments.arguments;
    context
        .error(site.range, "tsr.where takes the condition first, but " +
                               nameOf(cond, test.expr) + " is " +
                               describe(cond))
        .setFix("tsr.where(" + context.quote(given[1].where) + ", " +
                context.quote(given[0].where) + ", " +
                context.quote(given[2].where) + ")");
    return failure();
  }
  if (!boolean) {
    context
        .error(test.where, "the condition of tsr.where is a bool, but " +
                               nameOf(cond, test.expr) + " is " +
                               describe(cond))
        .setFix(context.quote(test.where) + " != 0");
    return failure();
  }
  remarkStartsCompared(test, a, b);
  FailureOr<Promotion> promotion = promoteAll("tsr.where", {&a, &b}, inner);
  if (failed(promotion))
    return failure();
  DType dtype = promotion->dtype;
  // Numbers only: a tile of them has the default dtype.
  bool weak = promotion->weak && !cond.isTile();
  if (promotion->weak && cond.isTile() && isFloat(dtype))
    dtype = DType::FP32;
  FailureOr<Alignment> alignment = align({&cond, &a, &b}, inner);
  if (failed(alignment))
    return failure();
  Location at = context.loc(site.range);
  mlir::Value test1 = cond.isTile() ? spread(cond, DType::Bool, *alignment, at)
                                    : makeScalar(cond, DType::Bool, at);
  mlir::Value first = spread(a, dtype, *alignment, at);
  mlir::Value second = spread(b, dtype, *alignment, at);
  mlir::Value result =
      arith::SelectOp::create(builder(), at, test1, first, second);
  if (alignment->axes.empty())
    return SemaValue::makeScalar(result, dtype, weak);
  return SemaValue::makeTile(result, dtype, alignment->axes,
                             alignment->complete);
}

ValueResult TileOps::callClamp(const CallArguments &arguments,
                               const OpSite &site) {
  FailureOr<BoundArguments> bound = bindArguments(
      context, "tsr.clamp", arguments, {"x", "min", "max"}, 1, site);
  if (failed(bound))
    return failure();
  CallArgument x = *(*bound)[0];
  if (!(*bound)[1] && !(*bound)[2]) {
    context
        .error(site.range, "tsr.clamp needs min=, max= or both; it takes x, "
                           "min=, max=")
        .setFix("tsr.clamp(" + context.quote(x.where) + ", 0.0, 1.0)");
    return failure();
  }
  for (int i : {1, 2}) {
    const CallArgument *limit = (*bound)[i];
    if (!limit || limit->value.isNone())
      continue;
    CallArguments both;
    both.arguments = {x, *limit};
    both.arguments[1].keyword.clear();
    both.arguments[0].keyword.clear();
    ValueResult next = callExtremum(i == 1, both, site);
    if (failed(next))
      return failure();
    x.value = *next;
  }
  return x.value;
}

ValueResult TileOps::callFma(const CallArguments &arguments,
                             const OpSite &site) {
  FailureOr<BoundArguments> bound =
      bindArguments(context, "tsr.fma", arguments, {"a", "b", "c"}, 3, site);
  if (failed(bound))
    return failure();
  OpSite inner = site;
  FailureOr<std::vector<SemaValue>> values =
      getOperands(context, *bound, 0, 3, inner);
  if (failed(values))
    return failure();
  const SemaValue *operands[] = {&(*values)[0], &(*values)[1], &(*values)[2]};
  FailureOr<Promotion> promotion = promoteAll("tsr.fma", operands, inner);
  if (failed(promotion))
    return failure();
  DType dtype = promotion->dtype;
  if (!isFloat(dtype)) {
    if (!promotion->weak) {
      context.error(site.range, "tsr.fma needs floats").setFix("a * b + c");
      return failure();
    }
    dtype = DType::FP64;
  }
  return elementwise(operands, dtype, promotion->weak, dtype, inner,
                     [&](llvm::ArrayRef<mlir::Value> v, Location at) {
                       return math::FmaOp::create(builder(), at, v[0], v[1],
                                                  v[2]);
                     });
}

ValueResult TileOps::callPow(const CallArguments &arguments,
                             const OpSite &site) {
  FailureOr<BoundArguments> bound =
      bindArguments(context, "tsr.pow", arguments, {"a", "b"}, 2, site);
  if (failed(bound))
    return failure();
  OpSite inner = site;
  FailureOr<std::vector<SemaValue>> values =
      getOperands(context, *bound, 0, 2, inner);
  if (failed(values))
    return failure();
  return binary(BinaryOperator::Pow, (*values)[0], (*values)[1], inner);
}

ValueResult TileOps::callCdiv(const CallArguments &arguments,
                              const OpSite &site) {
  FailureOr<BoundArguments> bound =
      bindArguments(context, "tsr.cdiv", arguments, {"a", "b"}, 2, site);
  if (failed(bound))
    return failure();
  OpSite inner = site;
  FailureOr<std::vector<SemaValue>> values =
      getOperands(context, *bound, 0, 2, inner);
  if (failed(values))
    return failure();
  const SemaValue &a = (*values)[0], &b = (*values)[1];
  if (auto divisor = b.getConstantInt(); divisor && *divisor == 0) {
    context.error(site.range, "division by zero: tsr.cdiv by 0")
        .setFix("tsr.cdiv(a, max(b, 1))");
    return failure();
  }
  if (auto dividend = a.getConstantInt(), divisor = b.getConstantInt();
      dividend && divisor)
    return SemaValue::makeConstant(-foldBinary(BinaryOperator::FloorDiv,
                                               ConstantData(-*dividend),
                                               ConstantData(*divisor))
                                        .value.asInt());
  FailureOr<Promotion> promotion = promoteAll("tsr.cdiv", {&a, &b}, inner);
  if (failed(promotion))
    return failure();
  if (!isInteger(promotion->dtype)) {
    context.error(site.range, "tsr.cdiv divides ints")
        .setFix("tsr.ceil(a / b)");
    return failure();
  }
  return elementwise({&a, &b}, promotion->dtype, promotion->weak,
                     promotion->dtype, inner,
                     [&](llvm::ArrayRef<mlir::Value> v, Location at) {
                       return emitCeilDiv(promotion->dtype, v[0], v[1], at);
                     });
}

/// tsr.rand(seed, m, n), or (m, n), for an index that differs in each element:
/// true, with an error.
bool TileOps::reportRandAxes(const CallArguments &arguments,
                             const OpSite &site) {
  std::string seed = "0", index;
  const std::vector<CallArgument> &given = arguments.arguments;
  for (auto [i, argument] : llvm::enumerate(given)) {
    const SemaValue &value = argument.value;
    bool isTile = value.isTile() && value.axes.size() == 1;
    if (i == 0 && value.isNumber()) {
      seed = context.quote(argument.where);
      continue;
    }
    if (value.kind != ValueKind::Range && !isTile)
      return false;
    const Axis &axis = isTile ? *value.axes[0] : *value.axis;
    if (!axis.dim)
      return false;
    bool isSum = llvm::StringRef(index).contains(' ');
    std::string front = isSum ? "(" + index + ")" : index;
    index = (index.empty() ? "" : front + " * " + axis.dim->name + " + ") +
            context.quote(argument.where) + (isTile ? "" : ".index");
  }
  bool isRange = given.size() == 2 && given[1].value.kind == ValueKind::Range;
  if (given.size() < 2 || (given.size() == 2 && seed != "0" && !isRange) ||
      index.empty() || (given.size() == 2 && given[0].value.isNumber()))
    return false;
  context
      .error(site.range, "tsr.rand takes a seed and the index of the number: "
                         "one index for each element")
      .setFix("tsr.rand(" + seed + ", " + index + ")");
  return true;
}

ValueResult TileOps::callRand(const CallArguments &arguments,
                              const OpSite &site) {
  if (reportRandAxes(arguments, site))
    return failure();
  FailureOr<BoundArguments> bound =
      bindArguments(context, "tsr.rand", arguments, {"seed", "index"}, 2, site);
  if (failed(bound))
    return failure();
  OpSite inner = site;
  FailureOr<std::vector<SemaValue>> values =
      getOperands(context, *bound, 0, 2, inner);
  if (failed(values))
    return failure();
  const SemaValue &seed = (*values)[0], &index = (*values)[1];
  for (int i : {0, 1}) {
    const SemaValue &value = (*values)[i];
    bool fits = (value.isNumber() || (i == 1 && value.isTile())) &&
                isInteger(value.getPromotionOperand().dtype);
    if (fits)
      continue;
    context
        .error((*bound)[i]->where,
               std::string(i == 0 ? "the seed of tsr.rand is an int"
                                  : "the index of tsr.rand is an int or a "
                                    "tile of ints") +
                   ", not " + describe(value))
        .setFix(i == 0
                    ? "tsr.rand(0, " + context.quote((*bound)[1]->where) + ")"
                : value.kind == ValueKind::Range
                    ? context.quote((*bound)[i]->where) + ".index"
                    : asObject(context.quote((*bound)[i]->where)) + ".to(i64)");
    return failure();
  }
  Location at = context.loc(site.range);
  Alignment alignment{index.axes, index.complete};
  mlir::Value where = spread(index, DType::I64, alignment, at);
  auto result =
      tile::RandOp::create(builder(), at, getType(DType::FP32, index.axes),
                           makeScalar(seed, DType::I64, at), where);
  return SemaValue::makeTile(result, DType::FP32, index.axes, index.complete);
}

} // namespace tessera::frontend
