//===- SplitProducts.cpp - Parts of a long sum beside each other ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product of few programs and a long K leaves threads without work. For each
// product of a function
//
//   @f_parts(..., %parts)   a program for a part of K: its sum into %parts
//   @f_sum(..., %parts)     adds them, in order, and goes on like @f
//
// and a branch in the plan. Sizes alone choose, never the number of threads:
// the same bits everywhere.
//
//===----------------------------------------------------------------------===//

#include "compiler/Support/Architectures/X86.h"
#include "compiler/Target/CPU/Mapping/LaunchSizes.h"
#include "compiler/Target/CPU/Mapping/Passes.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/StringExtras.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

namespace tessera::cpu {
#define GEN_PASS_DEF_SPLITPRODUCTSPASS
#include "compiler/Target/CPU/Mapping/Passes.h.inc"
} // namespace tessera::cpu

using namespace mlir;
using namespace tessera;
using namespace tessera::cpu;
using namespace tessera::tile;

namespace {

// Where nobody said how many parts: at least two of as many positions, for no
// more programs than that.
constexpr int64_t positions = x86::splitPositions,
                  programs = x86::splitPrograms;

/// A function that computes one product: what it consists of.
struct Product {
  FuncOp func;
  ProgramOp program;
  FillOp zero;
  ForOp loop;

  static std::optional<Product> of(FuncOp func);

  /// Of the program, those that the product's elements have: axes without a
  /// tile, then rows and columns.
  SmallVector<unsigned> axes();
  SmallVector<Value> indices(Value part);
};

std::optional<Product> Product::of(FuncOp func) {
  std::optional<NumericsAttr> numerics = func.getNumerics();
  if (!numerics || numerics->getKind() != NumericsKind::Gemm)
    return std::nullopt; // a user's kernel is what its text says
  Product product{func, {}, {}, {}};
  for (Operation &op : func.getBody().front()) {
    if (auto program = dyn_cast<ProgramOp>(op)) {
      product.program = program;
    } else if (auto loop = dyn_cast<ForOp>(op)) {
      if (product.loop)
        return std::nullopt;
      product.loop = loop;
    } else if (op.getNumRegions() > 0) {
      return std::nullopt;
    }
  }
  ForOp loop = product.loop;
  if (!product.program || !loop || loop.getNumResults() != 1 ||
      !matchPattern(loop.getStart(), m_Zero()))
    return std::nullopt;
  Block &turn = loop.getBody().front();
  auto mma = turn.getTerminator()->getOperand(0).getDefiningOp<MmaOp>();
  product.zero = loop.getInits()[0].getDefiningOp<FillOp>();
  if (!mma || mma.getAcc() != turn.getArgument(1) || !product.zero ||
      product.zero.getRanges().size() != 2 ||
      !llvm::all_of(product.zero.getRanges(),
                    [](Value range) {
                      return range.getDefiningOp<ProgramOp>() != nullptr;
                    }) ||
      product.axes().size() != product.program.getIds().size())
    return std::nullopt;
  return product;
}

SmallVector<unsigned> Product::axes() {
  SmallVector<unsigned> numbers;
  for (OpResult id : program->getResults())
    if (!isa<RangeType>(id.getType()))
      numbers.push_back(id.getResultNumber());
  for (Value range : zero.getRanges())
    numbers.push_back(cast<OpResult>(range).getResultNumber());
  return numbers;
}

SmallVector<Value> Product::indices(Value part) {
  SmallVector<Value> all = {part};
  for (unsigned axis : axes())
    all.push_back(program.getIds()[axis]);
  return all;
}

class Splitter {
public:
  Splitter(Product product, int64_t number) : product(product), number(number) {
    while (views < product.func.getNumArguments() &&
           isa<MemRefType>(product.func.getArgumentTypes()[views]))
      ++views;
  }

  void build() {
    buildParts();
    buildSum();
  }
  /// Lets the plan choose the parts instead of a launch of the function.
  void rewrite(plan::LaunchOp launch);

private:
  /// A copy of the function with one more view, the parts.
  struct Variant {
    FuncOp func;
    SmallVector<unsigned> kept; ///< arguments of the function that it has
  };
  Variant copyOf(StringRef suffix, StringRef mode);
  void dropUnused(Variant &variant);
  void buildParts();
  void buildSum();
  Value partsOf(Variant &variant) {
    return variant.func.getBody().getArgument(views);
  }
  void launchOf(Variant &variant, plan::LaunchOp launch, Value partial,
                Value grid, Value work, IntegerAttr threads,
                OpBuilder &builder);

  Product product;
  int64_t number;     // of parts; 0: nobody said
  unsigned views = 0; // arguments before the scalars
  Variant parts, sum;
};

Splitter::Variant Splitter::copyOf(StringRef suffix, StringRef mode) {
  OpBuilder builder(product.func);
  Variant variant{cast<FuncOp>(builder.clone(*product.func)), {}};
  FuncOp func = variant.func;
  func.setName((product.func.getName() + suffix).str());
  // Few programs read the same: what they pack themselves is enough.
  func.setAsIs(true);
  SmallVector<int64_t> shape(product.axes().size() + 1, ShapedType::kDynamic);
  SmallVector<int64_t> strides(shape);
  strides.back() = 1;
  auto tile = cast<RankedTensorType>(product.zero.getType());
  auto type =
      MemRefType::get(shape, tile.getElementType(),
                      StridedLayoutAttr::get(builder.getContext(), 0, strides));
  NamedAttribute attributes[] = {
      builder.getNamedAttr("gir.mode", builder.getStringAttr(mode)),
      builder.getNamedAttr("gir.name", builder.getStringAttr("parts"))};
  (void)func.insertArgument(views, type, builder.getDictionaryAttr(attributes),
                            product.loop.getLoc());
  return variant;
}

/// Erases what nothing needs any more, and the arguments that only it had.
void Splitter::dropUnused(Variant &variant) {
  Block &body = variant.func.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      op.erase();
  llvm::BitVector unused(body.getNumArguments());
  for (auto [i, argument] : llvm::enumerate(body.getArguments())) {
    if (argument.use_empty())
      unused.set(i);
    else if (i != views)
      variant.kept.push_back(i < views ? i : i - 1);
  }
  (void)variant.func.eraseArguments(unused);
}

/// @f_parts: a program for each part of the sum.
void Splitter::buildParts() {
  parts = copyOf("_parts", "out");
  Product copy = *Product::of(parts.func);
  Location loc = copy.loop.getLoc();
  // After the loop its sum is stored, and nothing else.
  Block &body = parts.func.getBody().front();
  while (body.back().getPrevNode() != copy.loop)
    body.back().getPrevNode()->erase();

  OpBuilder builder(copy.program);
  SmallVector<unsigned> axes = copy.axes();
  SmallVector<Value> extents(axes.size() + 1);
  auto extent = [&](unsigned axis) -> Value {
    return DimOp::create(builder, loc, partsOf(parts), axis);
  };
  Value count = extents[0] = extent(0);
  for (auto [at, axis] : llvm::enumerate(axes))
    extents[axis + 1] = extent(at + 1);
  SmallVector<int64_t> tiles = {0};
  llvm::append_range(tiles, copy.program.getTiles());
  SmallVector<Type> types = {builder.getIndexType()};
  llvm::append_range(types, copy.program->getResultTypes());
  auto program = ProgramOp::create(builder, loc, types, extents,
                                   builder.getDenseI64ArrayAttr(tiles),
                                   builder.getI64IntegerAttr(1), UnitAttr());
  Value part = program.getIds()[0];
  SmallVector<Value> indices = {part};
  for (unsigned axis : axes)
    indices.push_back(program.getIds()[axis + 1]);
  copy.program->replaceAllUsesWith(program.getIds().drop_front());
  copy.program.erase();

  // Whole turns of the loop, as many in each part but the last ones.
  builder.setInsertionPoint(copy.loop);
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value size = number(copy.loop.getSize()), stop = copy.loop.getStop();
  Value each = arith::CeilDivSIOp::create(builder, loc, stop, count);
  Value turns = arith::CeilDivSIOp::create(builder, loc, each, size);
  auto startOf = [&](Value which) -> Value {
    Value before = arith::MulIOp::create(builder, loc, which, turns);
    return arith::MulIOp::create(builder, loc, before, size);
  };
  Value next = arith::AddIOp::create(builder, loc, part, number(1));
  copy.loop.getStartMutable().assign(startOf(part));
  copy.loop.getStopMutable().assign(
      arith::MinSIOp::create(builder, loc, startOf(next), stop));
  builder.setInsertionPointAfter(copy.loop);
  StoreOp::create(builder, loc, copy.loop.getResult(0), partsOf(parts), indices,
                  Value(), ArrayAttr(), DictionaryAttr());
  dropUnused(parts);
}

/// @f_sum: the sum of the parts stands for the product.
void Splitter::buildSum() {
  sum = copyOf("_sum", "in");
  Product copy = *Product::of(sum.func);
  Location loc = copy.loop.getLoc();
  OpBuilder builder(copy.loop);
  Value first = arith::ConstantIndexOp::create(builder, loc, 0);
  Value step = arith::ConstantIndexOp::create(builder, loc, 1);
  Value count = DimOp::create(builder, loc, partsOf(sum), 0);
  auto loop = scf::ForOp::create(
      builder, loc, first, count, step, copy.loop.getInits(),
      [&](OpBuilder &inner, Location, Value part, ValueRange carried) {
        Value tile = LoadOp::create(inner, loc, carried[0].getType(),
                                    partsOf(sum), copy.indices(part), Value(),
                                    ArrayAttr(), TypedAttr(), DictionaryAttr());
        Value total;
        if (isa<FloatType>(getElementTypeOrSelf(tile.getType())))
          total = arith::AddFOp::create(inner, loc, carried[0], tile);
        else
          total = arith::AddIOp::create(inner, loc, carried[0], tile);
        scf::YieldOp::create(inner, loc, total);
      });
  copy.loop->replaceAllUsesWith(loop.getResults());
  copy.loop.erase();
  dropUnused(sum);
}

void Splitter::launchOf(Variant &variant, plan::LaunchOp launch, Value partial,
                        Value grid, Value work, IntegerAttr threads,
                        OpBuilder &builder) {
  SmallVector<Value> tensors, numbers;
  for (unsigned argument : variant.kept)
    if (argument < views)
      tensors.push_back(launch.getTensors()[argument]);
    else
      numbers.push_back(launch.getScalars()[argument - views]);
  tensors.push_back(partial);
  plan::LaunchOp::create(builder, launch.getLoc(), variant.func.getName(),
                         tensors, numbers, grid, work, threads);
}

void Splitter::rewrite(plan::LaunchOp launch) {
  OpBuilder builder(launch);
  Location loc = launch.getLoc();
  plan::IntegerBuilder before(builder, loc);
  Value deep = extentOf(launch, product.func, product.loop.getStop(), before);
  SmallVector<Value> sizes;
  for (unsigned axis : product.axes())
    sizes.push_back(extentOf(launch, product.func,
                             product.program.getExtents()[axis], before));
  if (!deep || llvm::is_contained(sizes, Value()))
    return;
  Value grid = launch.getGrid();
  Value pays = number ? before.gt(deep, product.loop.getSize())
                      : before.all({before.ge(deep, 2 * positions),
                                    before.le(grid, programs)});
  auto choice = scf::IfOp::create(builder, loc, pays, /*withElseRegion=*/true);
  builder.setInsertionPointToStart(choice.thenBlock());
  plan::IntegerBuilder make(builder, loc);
  Value count = number ? make.number(number) : make.floordiv(deep, positions);
  SmallVector<Value> shape = {count};
  llvm::append_range(shape, sizes);
  auto type = plan::PlanTensorType::get(
      launch.getContext(), getElementTypeOrSelf(product.zero.getType()),
      int64_t(shape.size()));
  Value partial = plan::AllocOp::create(
      builder, loc, type, (product.func.getName() + ".parts").str(), shape,
      Value());
  launchOf(parts, launch, partial, make.mul(count, grid), launch.getWork(),
           launch.getThreadsAttr(), builder);
  launchOf(sum, launch, partial, grid, make.product(sizes), IntegerAttr(),
           builder);
  launch->moveBefore(choice.elseBlock(), choice.elseBlock()->begin());
}

struct SplitProductsPass
    : tessera::cpu::impl::SplitProductsPassBase<SplitProductsPass> {
  using SplitProductsPassBase::SplitProductsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (FuncOp func : llvm::to_vector(module.getOps<FuncOp>())) {
      int64_t number = func.getDecision("split_k").value_or(0);
      std::optional<Product> product = Product::of(func);
      if (!product || func.getAsIs() || number == 1) // never
        continue;
      Splitter splitter(*product, number);
      splitter.build();
      plan::forEachLaunch(module, func.getName(), [&](plan::LaunchOp launch) {
        splitter.rewrite(launch);
      });
    }
  }
};

} // namespace
