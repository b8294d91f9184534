//===- LowerToThreads.cpp - simt-lower-to-threads -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/IR/Target.h"
#include "compiler/Target/SIMT/Lowering/KernelLowering.h"
#include "compiler/Target/SIMT/Lowering/Passes.h"
#include "compiler/Target/SIMT/Mapping/BlockLayouts.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

namespace tessera::simt {
#define GEN_PASS_DEF_LOWERTOTHREADSPASS
#include "compiler/Target/SIMT/Lowering/Passes.h.inc"
} // namespace tessera::simt

using namespace mlir;
using namespace tessera;
using namespace tessera::simt;

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult KernelLowering::lowerOp(Operation *op) {
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
        if (usesFma(mma))
          lowerFma(mma);
        else
          machine.lowerProduct(*this, mma);
        return success();
      })
      .Case([&](tile::LoadOp load) { return lowerLoad(load); })
      .Case([&](tile::StoreOp store) {
        return lowerScalarStore(store), success();
      })
      .Case([&](tile::CpAsyncOp copy) {
        lowerCopy(copy);
        if (asyncCopies() && copy.getCommit())
          machine.commitCopies(*this);
        return success();
      })
      .Case([&](tile::LocalLoadOp load) {
        return lowerLocalLoad(load), success();
      })
      .Case([&](tile::WaitOp wait) {
        if (asyncCopies())
          machine.waitForCopies(*this, wait.getPending());
        return success();
      })
      .Case([&](tile::BarrierOp) {
        machine.barrier(builder, loc);
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
                 << "'" << other->getName() << "' has no form on a GPU";
        SmallVector<Value> operands;
        for (Value operand : other->getOperands())
          operands.push_back(scalars.lookup(operand));
        scalars.map(other->getResult(0), scalarOp(other, operands));
        return success();
      });
}

LogicalResult KernelLowering::lowerBlock(Block &body) {
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
  const Machine *machine = machineOf(func);
  if (!machine)
    return failure();
  MLIRContext *context = func.getContext();
  OpBuilder builder(func);
  Location loc = func.getLoc();
  auto global = LLVM::LLVMPointerType::get(context, machine->globalSpace);
  Type i64 = builder.getI64Type();
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
  auto kernel = target::KernelOp::create(
      builder, loc, func.getSymName(), FunctionType::get(context, types, {}),
      target::KernelConfigAttr::get(context, {}, {threads, 1}, bytes, 0),
      ArrayAttr(), ArrayAttr());
  kernel.setMachine(func.getArchAttr());
  Block *entry = &kernel.getBody().emplaceBlock();
  entry->addArguments(types, SmallVector<Location>(types.size(), loc));
  builder.setInsertionPointToStart(entry);

  KernelLowering lowering(builder, func, *machine);
  lowering.threads = threads;
  lowering.tid = machine->threadId(builder, loc);
  lowering.lane = arith::AndIOp::create(builder, loc, lowering.tid,
                                        lowering.i32(machine->lanes - 1));
  lowering.warp = arith::ShRUIOp::create(
      builder, loc, lowering.tid, lowering.i32(llvm::Log2_64(machine->lanes)));
  lowering.block =
      arith::ExtUIOp::create(builder, loc, i64, machine->blockId(builder, loc));
  if (bytes)
    lowering.shared = target::AllocateOp::create(
        builder, loc, lowering.getSharedPointerType(), lowering.i64(bytes),
        builder.getStringAttr("shared"), builder.getI64IntegerAttr(128),
        builder.getBoolAttr(false));
  unsigned next = 0;
  for (BlockArgument argument : func.getBody().getArguments()) {
    auto view = dyn_cast<MemRefType>(argument.getType());
    if (!view) {
      lowering.scalars.map(argument, entry->getArgument(next++));
      continue;
    }
    View memory;
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
  target::ReturnOp::create(builder, loc);
  func.erase();
  return success();
}

namespace {
struct LowerToThreadsPass
    : tessera::simt::impl::LowerToThreadsPassBase<LowerToThreadsPass> {
  using LowerToThreadsPassBase::LowerToThreadsPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    LowerToThreadsPassBase::getDependentDialects(registry);
    registerDialectsOfMachines(registry);
  }

  void runOnOperation() override {
    for (auto func :
         llvm::make_early_inc_range(getOperation().getOps<tile::FuncOp>()))
      if (failed(lowerKernel(func)))
        return signalPassFailure();
  }
};
} // namespace
