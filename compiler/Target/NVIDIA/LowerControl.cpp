//===- LowerControl.cpp - target-lower-to-nvidia: ABI, scalars, loops -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/IR/Target.h"
#include "compiler/Target/NVIDIA/NvidiaLowering.h"
#include "compiler/Target/NVIDIA/Passes.h"
#include "compiler/Tile/Transforms/GpuLayouts.h"
#include "compiler/Tile/Transforms/ProgramOrder.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace tessera::target {
#define GEN_PASS_DEF_LOWERTONVIDIAPASS
#include "compiler/Target/NVIDIA/Passes.h.inc"
} // namespace tessera::target

using namespace mlir;
using namespace tessera;
using namespace tessera::target;

//===----------------------------------------------------------------------===//
// Programs and ranges
//===----------------------------------------------------------------------===//

void NvidiaLowering::lowerProgram(tile::ProgramOp op) {
  SmallVector<Value> counts;
  for (auto [extent, tile] : llvm::zip(op.getExtents(), op.getTiles())) {
    Value size = scalars.lookup(extent);
    counts.push_back(tile ? Value(arith::CeilDivUIOp::create(builder, loc, size,
                                                             index(tile)))
                          : size);
  }
  Value number =
      arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), block);
  SmallVector<Value> ids = tile::placesOf(builder, loc, op, counts, number);
  for (auto [id, result, extent, tile] :
       llvm::zip(ids, op.getIds(), op.getExtents(), op.getTiles())) {
    if (tile == 1) // A program has at least one position.
      ranges[result] = {id, add(id, index(1)), i32(1)};
    else if (tile)
      defineRange(result, mul(id, index(tile)), scalars.lookup(extent), tile);
    else
      scalars.map(result, id);
  }
}

void NvidiaLowering::defineRange(Value range, Value start, Value extent,
                                 int64_t size) {
  Value stop = builder.createOrFold<arith::MinSIOp>(
      loc, add(start, index(size)), extent);
  Value length =
      builder.createOrFold<arith::MaxSIOp>(loc, sub(stop, start), index(0));
  ranges[range] = {start, stop,
                   builder.createOrFold<arith::IndexCastOp>(
                       loc, builder.getI32Type(), length)};
}

//===----------------------------------------------------------------------===//
// Loops: every register of a carried tile is carried
//===----------------------------------------------------------------------===//

NvidiaLowering::Registers NvidiaLowering::flatten(ValueRange values) {
  Registers flat;
  for (Value value : values) {
    if (isa<RankedTensorType>(value.getType()))
      flat.append(tiles[value]);
    else
      flat.push_back(scalars.lookup(value));
  }
  return flat;
}

void NvidiaLowering::unflatten(ValueRange values, ValueRange flat) {
  for (Value value : values) {
    if (!isa<RankedTensorType>(value.getType())) {
      scalars.map(value, flat.front());
      flat = flat.drop_front();
      continue;
    }
    int64_t count = ThreadLayout(value).registers();
    tiles[value] = Registers(flat.take_front(count));
    flat = flat.drop_front(count);
  }
}

LogicalResult NvidiaLowering::lowerFor(tile::ForOp op) {
  int64_t size = op.getSize();
  Value stop = scalars.lookup(op.getStop());
  auto loop = scf::ForOp::create(builder, loc, scalars.lookup(op.getStart()),
                                 stop, index(size), flatten(op.getInits()));
  {
    OpBuilder::InsertionGuard guard(builder);
    if (loop.getNumResults() == 0)
      loop.getBody()->getTerminator()->erase();
    builder.setInsertionPointToStart(loop.getBody());
    defineRange(op.getRange(), loop.getInductionVar(), stop, size);
    unflatten(ValueRange(op.getCarried()),
              ValueRange(loop.getRegionIterArgs()));
    if (failed(lowerBlock(op.getBody().front())))
      return failure();
    auto yield = cast<tile::YieldOp>(op.getBody().front().getTerminator());
    scf::YieldOp::create(builder, loc, flatten(yield.getValues()));
  }
  unflatten(op.getResults(), loop.getResults());
  return success();
}

LogicalResult NvidiaLowering::lowerScfFor(scf::ForOp op) {
  auto loop = scf::ForOp::create(
      builder, loc, scalars.lookup(op.getLowerBound()),
      scalars.lookup(op.getUpperBound()), scalars.lookup(op.getStep()),
      flatten(op.getInitArgs()));
  {
    OpBuilder::InsertionGuard guard(builder);
    if (loop.getNumResults() == 0)
      loop.getBody()->getTerminator()->erase();
    builder.setInsertionPointToStart(loop.getBody());
    scalars.map(op.getInductionVar(), loop.getInductionVar());
    unflatten(ValueRange(op.getRegionIterArgs()),
              ValueRange(loop.getRegionIterArgs()));
    if (failed(lowerBlock(*op.getBody())))
      return failure();
    scf::YieldOp::create(builder, loc, flatten(op.getYieldedValues()));
  }
  unflatten(op.getResults(), loop.getResults());
  return success();
}

SmallVector<Type> NvidiaLowering::flatTypes(ValueRange values) {
  SmallVector<Type> types;
  for (Value value : values) {
    int64_t count = isa<RankedTensorType>(value.getType())
                        ? ThreadLayout(value).registers()
                        : 1;
    types.append(count, getElementTypeOrSelf(value));
  }
  return types;
}

LogicalResult NvidiaLowering::lowerWhile(scf::WhileOp op) {
  auto loop = scf::WhileOp::create(builder, loc, flatTypes(op.getResults()),
                                   flatten(op.getInits()));
  OpBuilder::InsertionGuard guard(builder);
  auto enter = [&](Block *from, Region &to) {
    Block &block = to.emplaceBlock();
    for (Type type : flatTypes(ValueRange(from->getArguments())))
      block.addArgument(type, loc);
    unflatten(ValueRange(from->getArguments()),
              ValueRange(block.getArguments()));
    builder.setInsertionPointToEnd(&block);
    return lowerBlock(*from);
  };
  Location at = loc;
  if (failed(enter(op.getBeforeBody(), loop.getBefore())))
    return failure();
  scf::ConditionOp condition = op.getConditionOp();
  scf::ConditionOp::create(builder, at,
                           scalars.lookup(condition.getCondition()),
                           flatten(condition.getArgs()));
  if (failed(enter(op.getAfterBody(), loop.getAfter())))
    return failure();
  scf::YieldOp::create(builder, at, flatten(op.getYieldOp().getResults()));
  unflatten(op.getResults(), loop.getResults());
  return success();
}

LogicalResult NvidiaLowering::lowerIf(scf::IfOp op) {
  bool hasElse = !op.getElseRegion().empty();
  auto branch = scf::IfOp::create(builder, loc, flatTypes(op.getResults()),
                                  scalars.lookup(op.getCondition()), hasElse);
  for (auto [from, to] :
       {std::pair(&op.getThenRegion(), &branch.getThenRegion()),
        std::pair(&op.getElseRegion(), &branch.getElseRegion())}) {
    if (from->empty())
      continue;
    OpBuilder::InsertionGuard guard(builder);
    Block &block = to->front();
    if (!block.empty())
      block.back().erase();
    builder.setInsertionPointToEnd(&block);
    if (failed(lowerBlock(from->front())))
      return failure();
    scf::YieldOp::create(builder, loc,
                         flatten(from->front().getTerminator()->getOperands()));
  }
  unflatten(op.getResults(), branch.getResults());
  return success();
}

/// What a thread holds beyond the tile is true already (MaskAbsent).
void NvidiaLowering::lowerAssert(tile::AssertOp op) {
  Value holds;
  if (isa<RankedTensorType>(op.getCondition().getType()))
    for (Value truth : tiles[op.getCondition()])
      holds = both(holds, truth);
  else
    holds = scalars.lookup(op.getCondition());
  AssertOp::create(builder, loc, holds, op.getMessageAttr());
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult NvidiaLowering::lowerOp(Operation *op) {
  loc = op->getLoc();
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<tile::ReturnOp, tile::YieldOp, scf::YieldOp, scf::ConditionOp,
            tile::AllocOp>([](auto) { return success(); })
      .Case([&](tile::ProgramOp program) {
        return lowerProgram(program), success();
      })
      .Case([&](tile::RangeAtOp range) {
        defineRange(range, scalars.lookup(range.getStart()),
                    scalars.lookup(range.getExtent()),
                    range.getType().getSize());
        return success();
      })
      .Case([&](tile::RangeStartOp start) {
        scalars.map(start.getResult(), ranges[start.getRange()].start);
        return success();
      })
      .Case([&](tile::RangeStopOp stop) {
        scalars.map(stop.getResult(), ranges[stop.getRange()].stop);
        return success();
      })
      .Case([&](tile::DimOp dim) {
        scalars.map(dim.getResult(), views[dim.getView()].sizes[dim.getAxis()]);
        return success();
      })
      .Case([&](tile::IndexOp index) { return lowerIndex(index), success(); })
      .Case([&](tile::FillOp fill) {
        ThreadLayout layout(fill.getResult());
        tiles[fill] =
            Registers(layout.registers(), scalars.lookup(fill.getValue()));
        return success();
      })
      .Case([&](tile::BroadcastOp broadcast) {
        return lowerBroadcast(broadcast), success();
      })
      .Case([&](tile::TransposeOp transpose) {
        // Axes get other names; nobody moves.
        if (auto found = packed.find(transpose.getInput());
            found != packed.end()) {
          Registers words = found->second;
          packed[transpose] = words;
        } else {
          Registers words = tiles[transpose.getInput()];
          tiles[transpose] = words;
        }
        return success();
      })
      .Case([&](tile::ConvertLayoutOp convert) {
        return lowerConvert(convert), success();
      })
      .Case([&](tile::ReshapeOp reshape) {
        return lowerReshape(reshape), success();
      })
      .Case([&](tile::CatOp cat) { return lowerCat(cat), success(); })
      .Case([&](tile::ScanOp scan) { return lowerScan(scan), success(); })
      .Case([&](tile::RandOp rand) { return lowerRand(rand), success(); })
      .Case(
          [&](tile::AtomicOp atomic) { return lowerAtomic(atomic), success(); })
      .Case([&](tile::AssertOp check) { return lowerAssert(check), success(); })
      .Case([&](tile::ReduceOp reduce) { return lowerReduce(reduce); })
      .Case([&](tile::MmaOp mma) {
        return tile::usesFma(mma) ? lowerFma(mma) : lowerMma(mma), success();
      })
      .Case([&](tile::LoadOp load) { return lowerLoad(load); })
      .Case([&](tile::StoreOp store) {
        return lowerScalarStore(store), success();
      })
      .Case([&](tile::CpAsyncOp copy) {
        lowerCopy(copy);
        if (asyncCopies() && copy.getCommit())
          NVVM::CpAsyncCommitGroupOp::create(builder, loc);
        return success();
      })
      .Case([&](tile::LocalLoadOp load) { return lowerLocalLoad(load); })
      .Case([&](tile::WaitOp wait) {
        if (asyncCopies())
          NVVM::CpAsyncWaitGroupOp::create(builder, loc, wait.getPending());
        return success();
      })
      .Case([&](tile::BarrierOp) {
        NVVM::Barrier0Op::create(builder, loc);
        return success();
      })
      .Case([&](tile::ForOp loop) { return lowerFor(loop); })
      .Case([&](scf::ForOp loop) { return lowerScfFor(loop); })
      .Case([&](scf::IfOp branch) { return lowerIf(branch); })
      .Case([&](scf::WhileOp loop) { return lowerWhile(loop); })
      .Case([&](arith::SelectOp select) -> LogicalResult {
        if (maskedBy.contains(select))
          return lowerMasked(select), success();
        scalars.map(select.getResult(),
                    scalarOp(select, {scalars.lookup(select.getCondition()),
                                      scalars.lookup(select.getTrueValue()),
                                      scalars.lookup(select.getFalseValue())}));
        return success();
      })
      .Case([&](arith::ConstantOp constant) -> LogicalResult {
        if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue())) {
          Value value = arith::ConstantOp::create(
              builder, loc, cast<TypedAttr>(dense.getSplatValue<Attribute>()));
          ThreadLayout layout(constant.getResult());
          tiles[constant] = Registers(layout.registers(), value);
          return success();
        }
        builder.clone(*op, scalars);
        return success();
      })
      .Default([&](Operation *other) -> LogicalResult {
        if (!isa_and_present<arith::ArithDialect, math::MathDialect>(
                other->getDialect()))
          return other->emitError()
                 << "'" << other->getName() << "' has no form on an NVIDIA GPU";
        SmallVector<Value> operands;
        for (Value operand : other->getOperands())
          operands.push_back(scalars.lookup(operand));
        scalars.map(other->getResult(0), scalarOp(other, operands));
        return success();
      });
}

LogicalResult NvidiaLowering::lowerBlock(Block &body) {
  Group group;
  for (Operation &op : body) {
    if (onlyMasks.contains(&op))
      continue;
    if (joins(&op, group))
      continue;
    // What makes no code, or only scalars, may come before the group; all else
    // ends it.
    bool early =
        isa<tile::BroadcastOp, tile::FillOp, tile::IndexOp, tile::RangeStartOp,
            tile::RangeStopOp, tile::DimOp, arith::ConstantOp>(op) ||
        (isa_and_present<arith::ArithDialect, math::MathDialect>(
             op.getDialect()) &&
         !isa<RankedTensorType>(op.getResult(0).getType()));
    for (Value operand : op.getOperands())
      if (Operation *def = operand.getDefiningOp())
        early &= !group.members.contains(def);
    if (!early) {
      lowerGroup(group);
      if (joins(&op, group))
        continue;
    }
    if (failed(lowerOp(&op)))
      return failure();
  }
  lowerGroup(group);
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Parameters as docs/abi.md section 7 orders them: for each view its pointer,
/// sizes and strides, then the scalars.
static LogicalResult lowerKernel(tile::FuncOp func) {
  MLIRContext *context = func.getContext();
  OpBuilder builder(func);
  Location loc = func.getLoc();
  auto global = LLVM::LLVMPointerType::get(context, 1);
  Type i64 = builder.getI64Type(), i32 = builder.getI32Type();
  SmallVector<Type> types;
  for (Type type : func.getArgumentTypes()) {
    if (auto view = dyn_cast<MemRefType>(type)) {
      types.push_back(global);
      types.append(2 * view.getRank(), i64);
    } else {
      types.push_back(type);
    }
  }
  int64_t threads = func.getBlockSize().value_or(0),
          bytes = func.getSharedBytes().value_or(0);
  auto kernel = KernelOp::create(
      builder, loc, func.getSymName(), FunctionType::get(context, types, {}),
      KernelConfigAttr::get(context, {}, {threads, 1}, bytes, 0), ArrayAttr(),
      ArrayAttr());
  Block *entry = &kernel.getBody().emplaceBlock();
  entry->addArguments(types, SmallVector<Location>(types.size(), loc));
  builder.setInsertionPointToStart(entry);

  NvidiaLowering lowering(builder, func);
  lowering.threads = threads;
  lowering.tid = NVVM::ThreadIdXOp::create(builder, loc, i32);
  lowering.lane =
      arith::AndIOp::create(builder, loc, lowering.tid, lowering.i32(31));
  lowering.warp =
      arith::ShRUIOp::create(builder, loc, lowering.tid, lowering.i32(5));
  lowering.block = arith::ExtUIOp::create(
      builder, loc, i64, NVVM::BlockIdXOp::create(builder, loc, i32));
  if (bytes)
    lowering.shared = AllocateOp::create(
        builder, loc, LLVM::LLVMPointerType::get(context, 3),
        lowering.i64(bytes), builder.getStringAttr("shared"),
        builder.getI64IntegerAttr(128), builder.getBoolAttr(false));
  unsigned next = 0;
  for (BlockArgument argument : func.getBody().getArguments()) {
    auto view = dyn_cast<MemRefType>(argument.getType());
    if (!view) {
      lowering.scalars.map(argument, entry->getArgument(next++));
      continue;
    }
    GpuView memory;
    int64_t offset;
    if (failed(view.getStridesAndOffset(memory.staticStrides, offset)))
      return func.emitError() << "a view needs strides";
    int64_t bits = view.getElementTypeBitWidth();
    memory.elementBytes = bits == 1 ? 1 : bits / 8;
    memory.address =
        LLVM::PtrToIntOp::create(builder, loc, i64, entry->getArgument(next++));
    auto read = [&](int64_t known) -> Value {
      Value given = entry->getArgument(next++);
      if (!ShapedType::isDynamic(known))
        return lowering.index(known);
      return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                        given);
    };
    for (int64_t size : view.getShape())
      memory.sizes.push_back(read(size));
    for (int64_t stride : memory.staticStrides)
      memory.strides.push_back(read(stride));
    lowering.views[argument] = memory;
  }
  if (failed(lowering.lowerBlock(func.getBody().front())))
    return failure();
  ReturnOp::create(builder, loc);
  func.erase();
  return success();
}

namespace {
struct LowerToNvidiaPass
    : tessera::target::impl::LowerToNvidiaPassBase<LowerToNvidiaPass> {
  using LowerToNvidiaPassBase::LowerToNvidiaPassBase;

  void runOnOperation() override {
    for (auto func :
         llvm::make_early_inc_range(getOperation().getOps<tile::FuncOp>()))
      if (failed(lowerKernel(func)))
        return signalPassFailure();
  }
};
} // namespace
