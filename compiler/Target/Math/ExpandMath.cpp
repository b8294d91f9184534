// Patterns and pass that put the expansions in place of math ops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/Math/ExpandMath.h"

#include "compiler/Target/Math/Double.h"
#include "compiler/Target/Math/Expansions.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <functional>

namespace tessera::target {
#define GEN_PASS_DECL_EXPANDMATHPASS
#define GEN_PASS_DEF_EXPANDMATHPASS
#include "compiler/Target/Math/Passes.h.inc"

namespace {

using namespace mlir;

/// f32, or a vector or tensor of f32 with fixed shape.
bool isExpandable(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.hasStaticShape() && tensor.getElementType().isF32();
  if (auto vector = dyn_cast<VectorType>(type))
    return !vector.isScalable() && vector.getElementType().isF32();
  return type.isF32();
}

/// math.exp %x -> arith ops, and likewise for each function of one argument
template <typename Op> struct ExpandUnary : OpRewritePattern<Op> {
  using Expansion = std::function<F(FloatEmitter &, F)>;
  /// `near`: the expansion of an op that says fastmath<afn>.
  ExpandUnary(MLIRContext *context, Expansion expansion, bool avx512 = false,
              Expansion near = nullptr)
      : OpRewritePattern<Op>(context), expansion(std::move(expansion)),
        near(std::move(near)), avx512(avx512) {}

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!isExpandable(op.getType()))
      return rewriter.notifyMatchFailure(op, "not f32 of fixed shape");
    FloatEmitter emitter(rewriter, op.getLoc(), op.getType());
    if (auto vector = dyn_cast<VectorType>(op.getType()))
      emitter.avx512 = avx512 && vector.getRank() == 1 &&
                       vector.getNumElements() >= 16 &&
                       llvm::isPowerOf2_64(vector.getNumElements());
    bool isNear =
        near && bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::afn);
    F result =
        (isNear ? near : expansion)(emitter, emitter.wrap(op.getOperand()));
    rewriter.replaceOp(op, result.value);
    return success();
  }

  Expansion expansion, near;
  bool avx512;
};

/// math.powf %x, %y -> arith ops
struct ExpandPower : OpRewritePattern<math::PowFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::PowFOp op,
                                PatternRewriter &rewriter) const override {
    if (!isExpandable(op.getType()))
      return rewriter.notifyMatchFailure(op, "not f32 of fixed shape");
    FloatEmitter emitter(rewriter, op.getLoc(), op.getType());
    F result = expandPow(emitter, emitter.wrap(op.getLhs()),
                         emitter.wrap(op.getRhs()));
    rewriter.replaceOp(op, result.value);
    return success();
  }
};

/// math.powf %x, 3.0 -> (x * x) * x: 1.29 ULP
struct MultiplyForPower : OpRewritePattern<math::PowFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::PowFOp op,
                                PatternRewriter &rewriter) const override {
    Type element = getElementTypeOrSelf(op.getType());
    Value power = op.getRhs();
    if (auto broadcast = power.getDefiningOp<vector::BroadcastOp>())
      power = broadcast.getSource();
    llvm::APFloat exponent(0.0);
    if (!(element.isF32() || element.isF64()) ||
        !matchPattern(power, m_ConstantFloat(&exponent)))
      return rewriter.notifyMatchFailure(op, "not f32 or f64 to a constant");
    if (!exponent.isExactlyValue(3.0))
      return rewriter.notifyMatchFailure(op, "not the third power");
    Value x = op.getLhs();
    Value square = arith::MulFOp::create(rewriter, op.getLoc(), x, x);
    rewriter.replaceOpWithNewOp<arith::MulFOp>(op, square, x);
    return success();
  }
};

/// math.sincos %x -> arith ops, with one argument reduction for both
struct ExpandSineCosine : OpRewritePattern<math::SincosOp> {
  ExpandSineCosine(MLIRContext *context, const ExpandMathOptions &options)
      : OpRewritePattern(context), options(options) {}

  LogicalResult matchAndRewrite(math::SincosOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getOperand().getType();
    if (!isExpandable(type))
      return rewriter.notifyMatchFailure(op, "not f32 of fixed shape");
    FloatEmitter emitter(rewriter, op.getLoc(), type);
    auto [sine, cosine] =
        expandSinCos(emitter, emitter.wrap(op.getOperand()), options);
    rewriter.replaceOp(op, {sine.value, cosine.value});
    return success();
  }

  ExpandMathOptions options;
};

/// math.exp %x : f16 -> truncf (math.exp (extf %x)), and likewise for bf16
template <typename Op> struct ComputeInF32 : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    Type type = op->getResult(0).getType();
    auto vector = dyn_cast<VectorType>(type);
    Type element = vector ? vector.getElementType() : type;
    if (!(element.isF16() || element.isBF16()) || isa<TensorType>(type) ||
        (vector && vector.isScalable()))
      return rewriter.notifyMatchFailure(op, "not f16 or bf16 of fixed shape");
    Type f32 = rewriter.getF32Type();
    Type wide = vector ? Type(vector.clone(f32)) : f32;
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(
          arith::ExtFOp::create(rewriter, op.getLoc(), wide, operand));
    SmallVector<Type> types(op->getNumResults(), wide);
    auto computed = Op::create(rewriter, op.getLoc(), types, operands);
    SmallVector<Value> results;
    for (Value result : computed->getResults())
      results.push_back(
          arith::TruncFOp::create(rewriter, op.getLoc(), type, result));
    rewriter.replaceOp(op, results);
    return success();
  }
};

struct ExpandMathPass : impl::ExpandMathPassBase<ExpandMathPass> {
  explicit ExpandMathPass(const ExpandMathOptions &options = {}) {
    branchOnLargeArguments = options.branchOnLargeArguments;
    expandDoubles = options.expandDoubles;
    avx512 = options.avx512;
  }

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    ExpandMathOptions options;
    options.branchOnLargeArguments = branchOnLargeArguments;
    options.expandDoubles = expandDoubles;
    options.avx512 = avx512;
    populateExpandMathPatterns(patterns, options);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
  }
};

} // namespace

Value FloatEmitter::onRegisters(
    StringRef name,
    llvm::function_ref<SmallVector<Value>(int64_t lane)> operands) {
  auto type = cast<VectorType>(shape);
  auto one = VectorType::get({16}, builder.getF32Type());
  auto number = [&](TypedAttr attr) -> Value {
    return arith::ConstantOp::create(builder, loc, attr);
  };
  SmallVector<Value> parts;
  for (int64_t lane = 0; lane < type.getNumElements(); lane += 16) {
    SmallVector<Value> arguments = operands(lane);
    // Unmasked: what masked lanes would have, all lanes, this rounding.
    arguments.push_back(constant(one, builder.getF32FloatAttr(0)));
    arguments.push_back(number(builder.getI16IntegerAttr(-1)));
    arguments.push_back(number(builder.getI32IntegerAttr(4)));
    parts.push_back(LLVM::CallIntrinsicOp::create(builder, loc, one,
                                                  builder.getStringAttr(name),
                                                  arguments)
                        .getResult(0));
  }
  return joined(builder, loc, parts);
}

Value register16(OpBuilder &builder, Location loc, Value vector, int64_t lane) {
  if (cast<VectorType>(vector.getType()).getNumElements() == 16)
    return vector;
  SmallVector<int64_t> lanes = llvm::to_vector(llvm::seq(lane, lane + 16));
  return vector::ShuffleOp::create(builder, loc, vector, vector, lanes);
}

Value joined(OpBuilder &builder, Location loc, SmallVector<Value> parts) {
  while (parts.size() > 1) {
    SmallVector<Value> pairs;
    int64_t size = cast<VectorType>(parts[0].getType()).getNumElements();
    SmallVector<int64_t> lanes =
        llvm::to_vector(llvm::seq<int64_t>(0, 2 * size));
    for (size_t i = 0; i + 1 < parts.size(); i += 2)
      pairs.push_back(vector::ShuffleOp::create(builder, loc, parts[i],
                                                parts[i + 1], lanes));
    parts = pairs;
  }
  return parts[0];
}

F FloatEmitter::distanceToInteger(F x, bool below) {
  Value rounding = arith::ConstantOp::create(
      builder, loc, builder.getI32IntegerAttr(below ? 9 : 8));
  return {onRegisters("llvm.x86.avx512.mask.reduce.ps.512",
                      [&](int64_t lane) -> SmallVector<Value> {
                        return {register16(builder, loc, x.value, lane),
                                rounding};
                      }),
          this};
}

F FloatEmitter::withinOne(F x) {
  // The smaller one in absolute value, with the sign of the first; a number
  // before NaN.
  Value smaller =
      arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(2));
  Value one = f(1.0f).value;
  return {onRegisters("llvm.x86.avx512.mask.range.ps.512",
                      [&](int64_t lane) -> SmallVector<Value> {
                        return {register16(builder, loc, x.value, lane),
                                register16(builder, loc, one, lane), smaller};
                      }),
          this};
}

F FloatEmitter::scaled(F value, F k) {
  return {onRegisters("llvm.x86.avx512.mask.scalef.ps.512",
                      [&](int64_t lane) -> SmallVector<Value> {
                        return {register16(builder, loc, value.value, lane),
                                register16(builder, loc, k.value, lane)};
                      }),
          this};
}

void populateExpandMathPatterns(RewritePatternSet &patterns,
                                const ExpandMathOptions &options) {
  MLIRContext *context = patterns.getContext();
  if (options.expandDoubles)
    populateExpandDoublePatterns(patterns);
  patterns.add<ExpandUnary<math::ExpOp>>(context, expandExp, options.avx512);
  patterns.add<ExpandUnary<math::Exp2Op>>(context, expandExp2, options.avx512,
                                          expandExp2Weight);
  patterns.add<ExpandUnary<math::ExpM1Op>>(context, expandExpM1);
  patterns.add<ExpandUnary<math::LogOp>>(context, expandLog);
  patterns.add<ExpandUnary<math::Log2Op>>(context, expandLog2);
  patterns.add<ExpandUnary<math::Log1pOp>>(context, expandLog1p);
  patterns.add<ExpandUnary<math::RsqrtOp>>(context, expandRsqrt);
  patterns.add<ExpandUnary<math::TanhOp>>(context, expandTanh);
  patterns.add<ExpandUnary<math::ErfOp>>(context, expandErf);
  patterns.add<ExpandUnary<math::ErfcOp>>(context, expandErfc, options.avx512,
                                          expandErfcNear);
  patterns.add<ExpandUnary<math::SinOp>>(
      context,
      [options](FloatEmitter &e, F x) { return expandSin(e, x, options); });
  patterns.add<ExpandUnary<math::CosOp>>(
      context,
      [options](FloatEmitter &e, F x) { return expandCos(e, x, options); });
  patterns.add<MultiplyForPower>(context, /*benefit=*/2);
  patterns.add<ExpandPower>(context);
  patterns.add<ExpandSineCosine>(context, options);
  patterns.add<ComputeInF32<math::ExpOp>, ComputeInF32<math::Exp2Op>,
               ComputeInF32<math::ExpM1Op>, ComputeInF32<math::LogOp>,
               ComputeInF32<math::Log2Op>, ComputeInF32<math::Log1pOp>,
               ComputeInF32<math::RsqrtOp>, ComputeInF32<math::TanhOp>,
               ComputeInF32<math::ErfOp>, ComputeInF32<math::ErfcOp>,
               ComputeInF32<math::SinOp>, ComputeInF32<math::CosOp>,
               ComputeInF32<math::SincosOp>, ComputeInF32<math::PowFOp>>(
      context);
}

std::unique_ptr<Pass> createExpandMathPass(const ExpandMathOptions &options) {
  return std::make_unique<ExpandMathPass>(options);
}

void registerExpandMathPass() {
  ::mlir::registerPass([] { return createExpandMathPass(); });
}

} // namespace tessera::target
