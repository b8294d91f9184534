//===- DecomposeComposites.cpp - Composites become primitives -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/GraphToSchedule/Passes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include <limits>
#include <numbers>

namespace tessera::schedule {
#define GEN_PASS_DEF_DECOMPOSECOMPOSITESPASS
#include "compiler/GraphToSchedule/Passes.h.inc"
} // namespace tessera::schedule

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;
using schedule::rankOf;
using schedule::tensorType;

namespace {

/// A full reduction of a longer axis is made of chunks of this size.
constexpr int64_t partialChunk = 16384;

/// Builds primitives at one place, with the location of the composite.
struct Primitives {
  OpBuilder builder;
  Location loc;

  explicit Primitives(Operation *op) : builder(op), loc(op->getLoc()) {}

  static Type innerType(Type type) {
    return type.isF64() ? type : Float32Type::get(type.getContext());
  }

  Value cast(Value value, Type element) {
    if (tensorType(value).getElementType() == element)
      return value;
    return CastOp::create(builder, loc, tensorType(value).clone(element), value,
                          builder.getStringAttr("rn"));
  }
  /// The value in the type composites compute in, which the user may choose.
  Value inner(Value value, std::optional<Type> accumulate = {}) {
    return cast(value, accumulate.value_or(
                           innerType(tensorType(value).getElementType())));
  }

  template <typename Op> Value unary(Value value) {
    return Op::create(builder, loc, value.getType(), value);
  }
  template <typename Op> Value binary(Value a, Value b) {
    return Op::create(builder, loc, a.getType(), a, b);
  }
  Value compare(CompareKind kind, Value a, Value b) {
    return CompareOp::create(
        builder, loc, tensorType(a).clone(builder.getI1Type()), kind, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return SelectOp::create(builder, loc, a.getType(), condition, a, b);
  }

  /// The dynamic sizes of a value, as operands of a broadcast or reshape.
  SmallVector<Value> sizesOf(Value value) {
    SmallVector<Value> sizes;
    for (int64_t axis = 0; axis < rankOf(value); ++axis)
      if (tensorType(value).isDynamicDim(axis))
        sizes.push_back(materialize(builder, loc, getExtent(value, axis)));
    return sizes;
  }

  /// `value` with its axis i as axis `axes[i]` of the shape of `like`.
  Value broadcast(Value value, ArrayRef<int64_t> axes, Value like) {
    auto type = tensorType(like).clone(tensorType(value).getElementType());
    if (type == value.getType())
      return value;
    return BroadcastOp::create(builder, loc, type, value, axes, sizesOf(like));
  }

  /// A number everywhere in the shape and type of `like`.
  Value number(double value, Value like) {
    return everywhere(
        builder.getFloatAttr(tensorType(like).getElementType(), value), like);
  }
  Value integer(int64_t value, Value like) {
    return everywhere(
        builder.getIntegerAttr(tensorType(like).getElementType(), value), like);
  }
  Value everywhere(TypedAttr value, Value like) {
    auto type = RankedTensorType::get({}, value.getType());
    Value scalar =
        ConstantOp::create(builder, loc,
                           llvm::cast<ElementsAttr>(DenseElementsAttr::get(
                               type, llvm::cast<Attribute>(value))));
    return broadcast(scalar, {}, like);
  }

  Value reduce(ReduceKind kind, Value value, ArrayRef<int64_t> axes) {
    return int64_t(axes.size()) == rankOf(value) && rankOf(value) > 0
               ? reduceAll(kind, value)
               : reduceOnce(kind, value, axes);
  }
  Value reduceOnce(ReduceKind kind, Value value, ArrayRef<int64_t> axes) {
    return ReduceOp::create(builder, loc, reducedType(value, axes), kind, value,
                            axes, TypeAttr(), 1);
  }
  static RankedTensorType reducedType(Value value, ArrayRef<int64_t> axes) {
    SmallVector<int64_t> shape;
    for (int64_t axis = 0; axis < rankOf(value); ++axis)
      if (!llvm::is_contained(axes, axis))
        shape.push_back(tensorType(value).getDimSize(axis));
    return RankedTensorType::get(shape, tensorType(value).getElementType());
  }
  /// Reduction over all axes. Leading axes give programs; the long axis of a
  /// vector is cut into chunks.
  Value reduceAll(ReduceKind kind, Value x) {
    if (rankOf(x) > 1) {
      auto axes = llvm::to_vector(llvm::seq<int64_t>(1, rankOf(x)));
      return reduceOnce(kind, reduceOnce(kind, x, axes), {0});
    }
    int64_t size = tensorType(x).getDimSize(0);
    if (!ShapedType::isDynamic(size) && size <= partialChunk)
      return reduceOnce(kind, x, {0});
    auto integer = [&](int64_t value) {
      return materialize(builder, loc, Extent::get(value));
    };
    Value extent = materialize(builder, loc, getExtent(x, 0));
    Value chunks =
        binary<FloorDivOp>(binary<AddOp>(extent, integer(partialChunk - 1)),
                           integer(partialChunk));
    auto type = RankedTensorType::get({ShapedType::kDynamic},
                                      tensorType(x).getElementType());
    Value partial = schedule::PartialOp::create(
        builder, loc, type,
        *schedule::symbolizePartialKind(stringifyReduceKind(kind)), x,
        partialChunk, chunks);
    return reduceOnce(kind, partial, {0});
  }

  /// Spreads the result of a reduction over `axes` back to the shape of `like`.
  Value spread(Value reduced, ArrayRef<int64_t> axes, Value like) {
    SmallVector<int64_t> kept;
    for (int64_t axis = 0; axis < rankOf(like); ++axis)
      if (!llvm::is_contained(axes, axis))
        kept.push_back(axis);
    return broadcast(reduced, kept, like);
  }

  /// How many elements `axes` hold, less `less`, as a float like `like`.
  Value count(Value value, ArrayRef<int64_t> axes, int64_t less, Value like) {
    Value size;
    for (int64_t axis : axes) {
      Value one = materialize(builder, loc, getExtent(value, axis));
      size = size ? binary<MulOp>(size, one) : one;
    }
    if (!size) // of rank 0
      size = materialize(builder, loc, Extent::get(1));
    if (less != 0)
      size = binary<SubOp>(size, integer(less, size));
    if (less > 0)
      size = binary<MaximumOp>(size, integer(0, size));
    Value scalar = cast(size, tensorType(like).getElementType());
    return broadcast(scalar, {}, like);
  }

  /// The largest element, or 0 where that is infinite: x - it is then never
  /// inf - inf, and exp of it is 0 for a row of only minus infinity.
  Value finiteMax(Value value, ArrayRef<int64_t> axes, bool keepPlusInf) {
    Value max = reduce(ReduceKind::Max, value, axes);
    constexpr double inf = std::numeric_limits<double>::infinity();
    Value test = keepPlusInf ? max : unary<AbsOp>(max);
    Value infinite =
        compare(CompareKind::Eq, test, number(keepPlusInf ? -inf : inf, max));
    return select(infinite, number(0, max), max);
  }
};

/// x, but not minus infinity: that times 0 would be NaN where the limit is 0.
Value bounded(Primitives &p, Value x) {
  bool wide = tensorType(x).getElementType().isF64();
  return p.binary<MaximumOp>(
      x, p.number(wide ? std::numeric_limits<double>::lowest()
                       : std::numeric_limits<float>::lowest(),
                  x));
}

/// By tanh; gelu by erf is element-wise as it is.
Value gelu(Primitives &p, Value x) {
  Value half = p.binary<MulOp>(p.number(0.5, x), bounded(p, x));
  Value cube = p.binary<MulOp>(p.binary<MulOp>(x, x), x);
  Value sum = p.binary<AddOp>(x, p.binary<MulOp>(p.number(0.044715, x), cube));
  double scale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  Value inside = p.unary<TanhOp>(p.binary<MulOp>(p.number(scale, x), sum));
  return p.binary<MulOp>(half, p.binary<AddOp>(p.number(1, x), inside));
}

/// Exponentials that are summed and rounded to 16 bits need not be nearer than
/// 13 bits.
bool isRounded(SoftmaxOp op) {
  Type to = tensorType(op.getResult()).getElementType();
  Type in = op.getAccumulate().value_or(
      Primitives::innerType(tensorType(op.getInput()).getElementType()));
  return !op.getLog() && in.isF32() && to.getIntOrFloatBitWidth() == 16;
}

Value softmax(Primitives &p, SoftmaxOp op) {
  Value x = p.inner(op.getInput(), op.getAccumulate());
  int64_t axis[] = {int64_t(op.getAxis())};
  Value max = p.finiteMax(x, axis, /*keepPlusInf=*/true);
  Value shifted = p.binary<SubOp>(x, p.spread(max, axis, x));
  Value e;
  if (isRounded(op)) {
    e = p.unary<Exp2Op>(
        p.binary<MulOp>(shifted, p.number(std::numbers::log2e, x)));
    e.getDefiningOp()->setAttr("near", p.builder.getUnitAttr());
  } else {
    e = p.unary<ExpOp>(shifted);
  }
  Value sum = p.reduce(ReduceKind::Sum, e, axis);
  // The sum is 0 only for a row without a finite element.
  Value empty = p.compare(CompareKind::Eq, sum, p.number(0, sum));
  Value safe = p.select(empty, p.number(1, sum), sum);
  if (op.getLog())
    return p.binary<SubOp>(shifted, p.spread(p.unary<LogOp>(safe), axis, x));
  Value inverse = p.binary<DivOp>(p.number(1, safe), safe);
  return p.binary<MulOp>(e, p.spread(inverse, axis, x));
}

Value logsumexp(Primitives &p, Value x, ArrayRef<int64_t> axes) {
  Value max = p.finiteMax(x, axes, /*keepPlusInf=*/false);
  Value e = p.unary<ExpOp>(p.binary<SubOp>(x, p.spread(max, axes, x)));
  Value sum = p.reduce(ReduceKind::Sum, e, axes);
  return p.binary<AddOp>(p.unary<LogOp>(sum), max);
}

Value layerNorm(Primitives &p, LayerNormOp op) {
  Value x = p.inner(op.getInput(), op.getAccumulate());
  SmallVector<int64_t> axes;
  for (int64_t i = rankOf(x) - op.getAxes(); i < rankOf(x); ++i)
    axes.push_back(i);
  if (!op.getRms()) {
    Value sum = p.reduce(ReduceKind::Sum, x, axes);
    Value mean = p.binary<DivOp>(sum, p.count(x, axes, 0, sum));
    x = p.binary<SubOp>(x, p.spread(mean, axes, x));
  }
  Value squares = p.reduce(ReduceKind::Sum, p.binary<MulOp>(x, x), axes);
  Value variance = p.binary<DivOp>(squares, p.count(x, axes, 0, squares));
  Value eps = p.number(op.getEps().convertToDouble(), variance);
  Value factor = p.unary<RsqrtOp>(p.binary<AddOp>(variance, eps));
  Value result = p.binary<MulOp>(x, p.spread(factor, axes, x));
  Type element = tensorType(x).getElementType();
  bool weight = true;
  for (Value parameter : op.getParameters()) {
    Value wide = p.broadcast(p.cast(parameter, element), axes, x);
    result =
        weight ? p.binary<MulOp>(result, wide) : p.binary<AddOp>(result, wide);
    weight = false;
  }
  return result;
}

/// logsumexp(row) - row[target]
Value crossEntropy(Primitives &p, CrossEntropyOp op) {
  Value logits = op.getLogits(), targets = op.getTargets();
  int64_t axis = rankOf(logits) - 1;
  Value total = logsumexp(p, p.inner(logits, op.getAccumulate()), {axis});
  SmallVector<int64_t> shape(tensorType(targets).getShape());
  shape.push_back(1);
  Value column = ReshapeOp::create(
      p.builder, p.loc,
      RankedTensorType::get(shape, tensorType(targets).getElementType()),
      targets, p.sizesOf(targets));
  auto type = RankedTensorType::get(shape, tensorType(logits).getElementType());
  Value picked = GatherOp::create(p.builder, p.loc, type, logits, column, axis);
  Value flat = ReshapeOp::create(
      p.builder, p.loc,
      tensorType(targets).clone(tensorType(logits).getElementType()), picked,
      p.sizesOf(targets));
  // Only one of the two may know a size.
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, axis));
  Value loss =
      p.binary<SubOp>(p.broadcast(total, axes, op),
                      p.broadcast(p.inner(flat, op.getAccumulate()), axes, op));
  Value target = p.cast(targets, p.builder.getI64Type());
  Value counted =
      p.compare(CompareKind::Ne, target, p.integer(op.getIgnored(), target));
  return p.select(p.broadcast(counted, axes, op), loss, p.number(0, loss));
}

/// The largest index that lies outside, or the smallest integer.
void checkIndices(Primitives &p, CheckIndicesOp op) {
  Value index = p.cast(op.getIndices(), p.builder.getI64Type());
  Value size = p.broadcast(op.getSize(), {}, index);
  Value first = p.integer(0, index);
  if (op.getWraps())
    first = p.unary<NegOp>(size);
  Value within = p.binary<AndOp>(p.compare(CompareKind::Ge, index, first),
                                 p.compare(CompareKind::Lt, index, size));
  if (auto ignored = op.getIgnored())
    within = p.binary<OrOp>(
        within, p.compare(CompareKind::Eq, index, p.integer(*ignored, index)));
  constexpr int64_t none = std::numeric_limits<int64_t>::min();
  Value worst =
      p.select(within, p.integer(none, index),
               p.binary<MaximumOp>(index, p.integer(none + 1, index)));
  if (rankOf(worst) > 0)
    worst = p.reduce(ReduceKind::Max, worst,
                     llvm::to_vector(llvm::seq<int64_t>(0, rankOf(worst))));
  ReportIndexOp::create(p.builder, p.loc, worst, op.getSize(),
                        op.getMessageAttr());
}

Value reduction(Primitives &p, ReduceOp op) {
  Value x = op.getInput();
  Type from = tensorType(x).getElementType();
  SmallVector<int64_t> axes(op.getAxes());
  llvm::sort(axes);
  ReduceKind kind = op.getKind();
  if (kind == ReduceKind::Argmax || kind == ReduceKind::Argmin)
    return {};
  bool adds = kind == ReduceKind::Sum || kind == ReduceKind::Prod ||
              kind >= ReduceKind::Mean;
  Type accumulate = from;
  if (op.getAccumulate())
    accumulate = *op.getAccumulate();
  else if (isa<FloatType>(from))
    accumulate = Primitives::innerType(from);
  else if (kind >= ReduceKind::Mean)
    accumulate = Primitives::innerType(tensorType(op).getElementType());
  if (adds)
    x = p.cast(x, accumulate);
  switch (kind) {
  case ReduceKind::Mean: {
    Value sum = p.reduce(ReduceKind::Sum, x, axes);
    return p.binary<DivOp>(sum, p.count(x, axes, 0, sum));
  }
  case ReduceKind::Var: {
    Value sum = p.reduce(ReduceKind::Sum, x, axes);
    Value mean = p.binary<DivOp>(sum, p.count(x, axes, 0, sum));
    Value d = p.binary<SubOp>(x, p.spread(mean, axes, x));
    Value squares = p.reduce(ReduceKind::Sum, p.binary<MulOp>(d, d), axes);
    return p.binary<DivOp>(squares,
                           p.count(x, axes, op.getCorrection(), squares));
  }
  case ReduceKind::Logsumexp:
    return logsumexp(p, x, axes);
  default:
    return p.reduce(kind, x, axes);
  }
}

/// A scan in another type than its own.
Value scan(Primitives &p, ScanOp op) {
  if (!op.getAccumulate())
    return {};
  Value x = p.cast(op.getInput(), *op.getAccumulate());
  return ScanOp::create(p.builder, p.loc, x.getType(), op.getKind(), x,
                        op.getAxis(), TypeAttr());
}

struct DecomposeCompositesPass
    : schedule::impl::DecomposeCompositesPassBase<DecomposeCompositesPass> {
  void runOnOperation() override {
    SmallVector<Operation *> worklist;
    getOperation()->walk([&](Operation *op) {
      if (schedule::isComposite(op) ||
          isa<ReduceOp, GemmOp, ScanOp, CheckIndicesOp>(op))
        worklist.push_back(op);
    });
    for (Operation *op : worklist) {
      Primitives p(op);
      if (auto check = dyn_cast<CheckIndicesOp>(op)) {
        checkIndices(p, check);
        check.erase();
        continue;
      }
      Value result =
          llvm::TypeSwitch<Operation *, Value>(op)
              .Case([&](GeluOp o) { return gelu(p, p.inner(o.getInput())); })
              .Case([&](SoftmaxOp o) { return softmax(p, o); })
              .Case([&](LayerNormOp o) { return layerNorm(p, o); })
              .Case([&](CrossEntropyOp o) { return crossEntropy(p, o); })
              .Case([&](ReduceOp o) { return reduction(p, o); })
              .Case([&](GemmOp o) { return gemm(p, o); })
              .Case([&](ScanOp o) { return scan(p, o); })
              .Default([](Operation *) { return Value(); });
      if (!result)
        continue;
      result = p.cast(result, tensorType(op->getResult(0)).getElementType());
      // The last op computes the user's variable: it keeps the name.
      op->getResult(0).replaceAllUsesWith(result);
      op->erase();
    }
  }

  /// Does it lie in memory? Else every row would compute it again.
  static bool isStored(Value value) {
    while (auto *op = value.getDefiningOp()) {
      if (!isa<ReshapeOp, TransposeOp>(op))
        return isa<GemmOp, AttentionOp, CallKernelOp>(op);
      value = op->getOperand(0);
    }
    return true;
  }

  /// A matrix by a vector reads each element once: a sum along rows, without
  /// panels. (16-bit floats have AMX, or tensor cores.)
  static Value byVector(Primitives &p, GemmOp op) {
    Value lhs = op.getLhs(), rhs = op.getRhs();
    int64_t rank = rankOf(lhs);
    Type element = tensorType(lhs).getElementType();
    int64_t one = op.getTransposeRhs() ? rank - 2 : rank - 1;
    SmallVector<int64_t> column(tensorType(lhs).getShape().drop_back());
    column.push_back(1);
    if (op.getType() != RankedTensorType::get(column, element) ||
        !(element.isF32() || element.isF64()) || op.getTransposeLhs() ||
        tensorType(rhs).getDimSize(one) != 1 || !isStored(rhs) ||
        op.getAccumulate().value_or(element) != element ||
        op.getPrecision() != "ieee")
      return {};
    auto reshape = [&](Value value, ArrayRef<int64_t> shape) -> Value {
      return ReshapeOp::create(p.builder, p.loc,
                               RankedTensorType::get(shape, element), value,
                               p.sizesOf(value));
    };
    SmallVector<int64_t> shape(tensorType(rhs).getShape());
    shape.erase(shape.begin() + one);
    auto axes = llvm::to_vector(llvm::seq<int64_t>(0, rank - 2));
    axes.push_back(rank - 1);
    Value product =
        p.binary<MulOp>(lhs, p.broadcast(reshape(rhs, shape), axes, lhs));
    Value sum;
    if (rank == 2 && tensorType(lhs).getDimSize(0) == 1)
      sum = p.reduce(
          ReduceKind::Sum,
          reshape(product, tensorType(product).getShape().drop_front()), {0});
    else
      sum = p.reduce(ReduceKind::Sum, product, {rank - 1});
    return reshape(sum, column);
  }

  /// Transposed operands become views, so that a kernel reads one order.
  static Value gemm(Primitives &p, GemmOp op) {
    if (Value sum = byVector(p, op))
      return sum;
    if (!op.getTransposeLhs() && !op.getTransposeRhs())
      return {};
    auto swap = [&](Value value) -> Value {
      auto axes = llvm::to_vector(llvm::seq<int64_t>(0, rankOf(value)));
      SmallVector<int64_t> shape(tensorType(value).getShape());
      std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
      std::swap(shape[axes.size() - 1], shape[axes.size() - 2]);
      return TransposeOp::create(
          p.builder, p.loc,
          RankedTensorType::get(shape, tensorType(value).getElementType()),
          value, axes);
    };
    Value lhs = op.getTransposeLhs() ? swap(op.getLhs()) : op.getLhs();
    Value rhs = op.getTransposeRhs() ? swap(op.getRhs()) : op.getRhs();
    return GemmOp::create(p.builder, p.loc, op.getType(), lhs, rhs, UnitAttr(),
                          UnitAttr(), op.getAccumulateAttr(),
                          op.getPrecisionAttr());
  }
};

} // namespace
