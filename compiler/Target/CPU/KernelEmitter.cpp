//===- KernelEmitter.cpp - target-lower-to-cpu: ABI, scalars, control -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CPU/KernelEmitter.h"

#include "compiler/Plan/IR/Plan.h"
#include "compiler/Support/Architectures/X86.h"
#include "compiler/Support/Messages.h"
#include "compiler/Target/CPU/Passes.h"
#include "compiler/Target/IR/Target.h"

#include "llvm/ADT/TypeSwitch.h"

namespace tessera::target {
#define GEN_PASS_DEF_LOWERTOCPUPASS
#include "compiler/Target/CPU/Passes.h.inc"
} // namespace tessera::target

using namespace mlir;
using namespace tessera;
using namespace tessera::target;

SmallVector<Value> KernelEmitter::lookup(ValueRange values) {
  SmallVector<Value> result;
  for (Value value : values)
    result.push_back(lower.values.lookup(value));
  return result;
}

//===----------------------------------------------------------------------===//
// Entry
//===----------------------------------------------------------------------===//

LogicalResult KernelEmitter::run() {
  MLIRContext *context = func.getContext();
  auto pointer = LLVM::LLVMPointerType::get(context);
  Type i64 = builder.getI64Type(), i32 = builder.getI32Type();
  auto type =
      FunctionType::get(context, {pointer, pointer, i64, i64, pointer}, {i32});
  int64_t scratchBytes = func.getScratchBytes().value_or(0);
  builder.setInsertionPoint(func);
  auto config = KernelConfigAttr::get(context, {}, {1, 1}, scratchBytes, 0);
  auto kernel = KernelOp::create(builder, func.getLoc(), func.getSymName(),
                                 type, config, ArrayAttr(), ArrayAttr());
  if (DictionaryAttr decisions = func.getConfigAttr())
    kernel->setAttr("tile.config", decisions);
  Block *entry = &kernel.getBody().emplaceBlock();
  for (Type input : type.getInputs())
    entry->addArgument(input, func.getLoc());
  builder.setInsertionPointToStart(entry);
  readArguments(entry->getArgument(0), entry->getArgument(1));
  Value begin = entry->getArgument(2), end = entry->getArgument(3);
  lower.scratch = entry->getArgument(4);

  Block &body = func.getBody().front();
  Value zero = arith::ConstantOp::create(builder, lower.loc,
                                         builder.getI32IntegerAttr(0));
  bool asserts =
      func.walk([](tile::AssertOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  if (!body.getOps<tile::ChunkOp>().empty()) {
    chunk = {begin, end};
    if (failed(emitBlock(body)))
      return failure();
  } else if (!asserts) {
    auto loop =
        scf::ForOp::create(builder, lower.loc, begin, end, lower.constant(1));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(loop.getBody()->getTerminator());
    program = loop.getInductionVar();
    if (failed(emitBlock(body)))
      return failure();
  } else {
    // The first program that fails is the last that runs.
    lower.status = LLVM::AllocaOp::create(builder, lower.loc, pointer, i32,
                                          lower.constant(1));
    LLVM::StoreOp::create(builder, lower.loc, zero, lower.status);
    auto loop = scf::WhileOp::create(builder, lower.loc, TypeRange(i64),
                                     ValueRange(begin));
    OpBuilder::InsertionGuard guard(builder);
    Block *before = builder.createBlock(&loop.getBefore(), {}, i64, lower.loc);
    Value code = LLVM::LoadOp::create(builder, lower.loc, i32, lower.status);
    Value clean = arith::CmpIOp::create(builder, lower.loc,
                                        arith::CmpIPredicate::eq, code, zero);
    Value more = lower.less(before->getArgument(0), end);
    scf::ConditionOp::create(
        builder, lower.loc,
        arith::AndIOp::create(builder, lower.loc, clean, more),
        before->getArguments());
    Block *after = builder.createBlock(&loop.getAfter(), {}, i64, lower.loc);
    program = after->getArgument(0);
    if (failed(emitBlock(body)))
      return failure();
    scf::YieldOp::create(builder, lower.loc,
                         lower.add(program, lower.constant(1)));
  }
  // Stores past the caches are seen by others only after a fence.
  if (tile::hasStreamingStores(func))
    LLVM::CallIntrinsicOp::create(builder, lower.loc,
                                  builder.getStringAttr("llvm.x86.sse.sfence"),
                                  ValueRange{});
  Value result = zero;
  if (lower.status)
    result = LLVM::LoadOp::create(builder, lower.loc, i32, lower.status);
  ReturnOp::create(builder, lower.loc, result);
  func.erase();
  return success();
}

/// Sizes, strides and scalars as docs/abi.md orders them.
void KernelEmitter::readArguments(Value pointers, Value integers) {
  auto pointer = LLVM::LLVMPointerType::get(func.getContext());
  Type i64 = builder.getI64Type();
  int64_t nextPointer = 0, nextInteger = 0;
  auto integer = [&]() -> Value {
    Value at = lower.pointerTo(integers, lower.constant(nextInteger++), i64);
    auto load = LLVM::LoadOp::create(builder, lower.loc, i64, at, 8);
    load.setInvariant(true);
    return load;
  };
  for (BlockArgument argument : func.getBody().getArguments()) {
    Type type = argument.getType();
    if (auto memref = dyn_cast<MemRefType>(type)) {
      CpuView view;
      view.argument = argument;
      view.element = memref.getElementType();
      Value at = lower.pointerTo(pointers, lower.constant(nextPointer++), i64);
      auto base = LLVM::LoadOp::create(builder, lower.loc, pointer, at, 8);
      base.setInvariant(true);
      view.base = base;
      int64_t offset;
      (void)memref.getStridesAndOffset(view.staticStrides, offset);
      view.staticSizes = llvm::to_vector(memref.getShape());
      for (int64_t size : memref.getShape()) {
        Value given = integer();
        view.sizes.push_back(
            ShapedType::isDynamic(size) ? given : lower.constant(size));
      }
      for (int64_t stride : view.staticStrides) {
        Value given = integer();
        view.strides.push_back(
            ShapedType::isDynamic(stride) ? given : lower.constant(stride));
      }
      view.packing = tile::CpuPacking::of(argument);
      lower.views[argument] = view;
      continue;
    }
    Value given = integer();
    if (type.isInteger(1))
      given = arith::TruncIOp::create(builder, lower.loc, type, given);
    else if (type.isF64())
      given = arith::BitcastOp::create(builder, lower.loc, type, given);
    lower.values.map(argument, given);
  }
}

/// Programs of a group: of AMX only as many as keep their rows of A in the
/// second-level cache, since each step reads 32 of them anew.
Value KernelEmitter::groupOf(tile::ProgramOp op) {
  tile::LoadOp rhs;
  func.walk([&](tile::NestOp nest) {
    if (nest.getUnit() == tile::MatrixUnit::Amx)
      for (auto mma : nest.getBody().getOps<tile::MmaOp>())
        rhs = mma.getRhs().getDefiningOp<tile::LoadOp>();
  });
  Value group = lower.constant(op.getGroup());
  if (!rhs || !op.getTiles()[0])
    return group;
  const CpuView &view = lower.views[rhs.getView()];
  int64_t bytes = op.getTiles()[0] * tile::scratchBytesOf(view.element);
  Value depth = view.sizes[view.deepAxis()];
  depth = arith::MaxSIOp::create(builder, lower.loc, depth, lower.constant(1));
  Value fits = arith::DivUIOp::create(
      builder, lower.loc, lower.constant(x86::level2 / bytes), depth);
  fits = arith::MaxSIOp::create(builder, lower.loc, fits, lower.constant(1));
  return lower.minimum(group, fits);
}

/// First axis slowest; `group` programs of the first axis run before the
/// second moves on.
void KernelEmitter::emitProgram(tile::ProgramOp op) {
  SmallVector<Value> counts, ids(op.getIds().size());
  for (auto [extent, tile] : llvm::zip(op.getExtents(), op.getTiles())) {
    Value size = lower.values.lookup(extent);
    counts.push_back(tile ? lower.ceilDiv(size, lower.constant(tile)) : size);
  }
  Value number = op.getNumber();
  Value rest = number ? lower.values.lookup(number) : program;
  int64_t grouped = op.getGroup() > 1 && counts.size() >= 2 ? 2 : 0;
  auto divide = [&](Value a, Value b) -> Value {
    return arith::DivUIOp::create(builder, lower.loc, a, b);
  };
  auto remainder = [&](Value a, Value b) -> Value {
    return arith::RemUIOp::create(builder, lower.loc, a, b);
  };
  for (int64_t axis = counts.size() - 1; axis >= grouped; --axis) {
    if (axis == 0) {
      ids[0] = rest;
      break;
    }
    ids[axis] = remainder(rest, counts[axis]);
    rest = divide(rest, counts[axis]);
  }
  if (grouped) {
    Value group = groupOf(op);
    Value width = lower.mul(group, counts[1]);
    Value first = lower.mul(divide(rest, width), group);
    Value rows = lower.minimum(lower.sub(counts[0], first), group);
    Value inside = remainder(rest, width);
    ids[0] = lower.add(first, remainder(inside, rows));
    ids[1] = divide(inside, rows);
  }
  for (auto [id, result, extent, tile] :
       llvm::zip(ids, op.getIds(), op.getExtents(), op.getTiles())) {
    if (tile)
      defineRange(result, lower.mul(id, lower.constant(tile)),
                  lower.values.lookup(extent), tile);
    else
      lower.values.map(result, id);
  }
}

void KernelEmitter::defineRange(Value range, Value start, Value extent,
                                int64_t size) {
  Value stop = lower.minimum(lower.add(start, lower.constant(size)), extent);
  Value length = lower.sub(stop, start);
  // A hand-made range may begin past the end.
  if (!range.getDefiningOp<tile::ProgramOp>() && !isa<BlockArgument>(range))
    length =
        arith::MaxSIOp::create(builder, lower.loc, length, lower.constant(0));
  lower.ranges[range] = {start, stop, length};
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

std::pair<Value, Value> KernelEmitter::addressOf(const CpuView &view,
                                                 OperandRange indices) {
  Value offset = lower.constant(0), inside;
  for (auto [axis, index] : llvm::enumerate(indices)) {
    Value number = lower.values.lookup(index);
    offset = lower.add(offset, lower.mul(number, view.strides[axis]));
    if (tile::isInside(index, view.argument, int64_t(axis)))
      continue;
    Value fits =
        arith::CmpIOp::create(builder, lower.loc, arith::CmpIPredicate::ult,
                              number, view.sizes[axis]);
    inside =
        inside ? Value(arith::AndIOp::create(builder, lower.loc, inside, fits))
               : fits;
  }
  if (!inside)
    inside = lower.splatConstant(builder.getBoolAttr(true), 0);
  return {offset, inside};
}

Value KernelEmitter::loadScalar(tile::LoadOp load) {
  const CpuView &view = lower.views[load.getView()];
  auto [offset, inside] = addressOf(view, load.getIndices());
  Type type = computeType(view.element);
  auto guard =
      scf::IfOp::create(builder, lower.loc, TypeRange(type), inside, true);
  OpBuilder::InsertionGuard saved(builder);
  builder.setInsertionPointToStart(guard.thenBlock());
  scf::YieldOp::create(
      builder, lower.loc,
      lower.load(lower.pointerTo(view.base, offset, view.element), view.element,
                 0));
  builder.setInsertionPointToStart(guard.elseBlock());
  scf::YieldOp::create(builder, lower.loc,
                       lower.splatConstant(builder.getZeroAttr(type), 0));
  return guard.getResult(0);
}

void KernelEmitter::storeScalar(tile::StoreOp store) {
  const CpuView &view = lower.views[store.getView()];
  auto [offset, inside] = addressOf(view, store.getIndices());
  Value value = lower.values.lookup(store.getValue());
  auto guard = scf::IfOp::create(builder, lower.loc, inside, false);
  OpBuilder::InsertionGuard saved(builder);
  builder.setInsertionPointToStart(guard.thenBlock());
  lower.store(value, lower.pointerTo(view.base, offset, view.element));
}

void KernelEmitter::atomicScalar(tile::AtomicOp op) {
  const CpuView &view = lower.views[op.getView()];
  auto [offset, inside] = addressOf(view, op.getIndices());
  Value value = lower.values.lookup(op.getValue());
  auto guard = scf::IfOp::create(builder, lower.loc, inside, false);
  OpBuilder::InsertionGuard saved(builder);
  builder.setInsertionPointToStart(guard.thenBlock());
  lower.atomic(op.getKind(), value,
               lower.pointerTo(view.base, offset, view.element));
}

LogicalResult KernelEmitter::emitBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(emitOp(&op)))
      return failure();
  return success();
}

LogicalResult KernelEmitter::emitOp(Operation *op) {
  lower.loc = op->getLoc();
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](tile::ForOp loop) { return emitFor(loop); })
      .Case([&](scf::ForOp loop) { return emitScfFor(loop); })
      .Case([&](scf::IfOp branch) { return emitIf(branch); })
      .Case([&](scf::WhileOp loop) { return emitWhile(loop); })
      .Case([&](tile::ProgramOp program) {
        emitProgram(program);
        return success();
      })
      .Case([&](tile::ChunkOp op) {
        lower.values.map(op.getBegin(), chunk.first);
        lower.values.map(op.getEnd(), chunk.second);
        return success();
      })
      .Case([&](tile::RangeAtOp range) {
        defineRange(range, lower.values.lookup(range.getStart()),
                    lower.values.lookup(range.getExtent()),
                    range.getType().getSize());
        return success();
      })
      .Case([&](tile::RangeStartOp start) {
        lower.values.map(start.getResult(),
                         lower.ranges[start.getRange()].start);
        return success();
      })
      .Case([&](tile::RangeStopOp stop) {
        lower.values.map(stop.getResult(), lower.ranges[stop.getRange()].stop);
        return success();
      })
      .Case([&](tile::DimOp dim) {
        lower.values.map(dim.getResult(),
                         lower.views[dim.getView()].sizes[dim.getAxis()]);
        return success();
      })
      .Case([&](tile::StrideOp stride) {
        lower.values.map(
            stride.getResult(),
            lower.views[stride.getView()].strides[stride.getAxis()]);
        return success();
      })
      .Case([&](tile::PrefetchOp prefetch) {
        emitPrefetch(prefetch);
        return success();
      })
      .Case([&](tile::AllocOp alloc) {
        int64_t offset = alloc.getOffset().value_or(0);
        lower.buffers[alloc.getBuffer()] = lower.pointerTo(
            lower.scratch, lower.constant(offset), builder.getI8Type());
        return success();
      })
      .Case([&](tile::NestOp nest) {
        lower.emitNest(nest);
        return success();
      })
      .Case([&](tile::LoadOp load) {
        lower.values.map(load.getResult(), loadScalar(load));
        return success();
      })
      .Case([&](tile::StoreOp store) {
        storeScalar(store);
        return success();
      })
      .Case([&](tile::AtomicOp atomic) {
        atomicScalar(atomic);
        return success();
      })
      .Case([&](tile::AssertOp check) {
        lower.emitAssert(lower.values.lookup(check.getCondition()),
                         check.getMessage());
        return success();
      })
      .Case([&](tile::PrintOp print) {
        lower.print(print, program);
        return success();
      })
      .Case([&](tile::RandOp rand) {
        lower.values.map(rand.getResult(),
                         lower.random(lower.values.lookup(rand.getSeed()),
                                      lower.values.lookup(rand.getIndex()), 0));
        return success();
      })
      .Default([&](Operation *other) -> LogicalResult {
        StringRef dialect = other->getName().getDialectNamespace();
        if ((dialect != "arith" && dialect != "math") ||
            other->getNumResults() != 1)
          return other->emitOpError()
                 << "is not supported by the CPU target here";
        lower.values.map(
            other->getResult(0),
            lower.elementwise(other, lookup(other->getOperands()), 0));
        return success();
      });
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

static void emptyBody(OpBuilder &, Location, Value, ValueRange) {}

void KernelEmitter::emitPrefetch(tile::PrefetchOp op) {
  const CpuView &view = lower.views[op.getView()];
  Value inside; // or not: a prefetch reads nothing
  Value start = lower.tileStart(op.getView(), op.getIndices(), inside);
  int64_t rowAxis = -1;
  for (auto [axis, index] : llvm::enumerate(op.getIndices()))
    if (rowAxis < 0 && isa<tile::RangeType>(index.getType()))
      rowAxis = int64_t(axis);
  Value rows = op.getIndices()[rowAxis], columns = op.getIndices().back();
  int64_t bytes = tile::scratchBytesOf(view.element);
  auto loop = scf::ForOp::create(builder, lower.loc, lower.constant(0),
                                 lower.ranges[rows].length, lower.constant(1));
  OpBuilder::InsertionGuard saved(builder);
  builder.setInsertionPoint(loop.getBody()->getTerminator());
  Value row =
      lower.mul(lower.offsetAlong(view, rowAxis, loop.getInductionVar()),
                lower.constant(bytes));
  int64_t size = cast<tile::RangeType>(columns.getType()).getSize();
  for (int64_t line = 0; line < size * bytes; line += x86::cacheLine)
    lower.prefetch(start, lower.addConstant(row, line));
}

LogicalResult KernelEmitter::emitFor(tile::ForOp loop) {
  Value start = lower.values.lookup(loop.getStart());
  Value stop = lower.values.lookup(loop.getStop()), end = stop;
  if (loop.getAtLeastOnce()) {
    stop = arith::MaxSIOp::create(builder, lower.loc, start, stop);
    end = arith::MaxSIOp::create(builder, lower.loc, stop,
                                 lower.addConstant(start, 1));
  }
  auto made = scf::ForOp::create(builder, lower.loc, start, end,
                                 lower.constant(loop.getSize()),
                                 lookup(loop.getInits()), emptyBody);
  OpBuilder::InsertionGuard saved(builder);
  builder.setInsertionPointToEnd(made.getBody());
  defineRange(loop.getRange(), made.getInductionVar(), stop, loop.getSize());
  lower.values.map(loop.getCarried(), made.getRegionIterArgs());
  Block &body = loop.getBody().front();
  if (failed(emitBlock(body)))
    return failure();
  scf::YieldOp::create(builder, lower.loc,
                       lookup(body.getTerminator()->getOperands()));
  lower.values.map(loop.getResults(), made.getResults());
  return success();
}

LogicalResult KernelEmitter::emitScfFor(scf::ForOp loop) {
  auto made = scf::ForOp::create(builder, lower.loc,
                                 lower.values.lookup(loop.getLowerBound()),
                                 lower.values.lookup(loop.getUpperBound()),
                                 lower.values.lookup(loop.getStep()),
                                 lookup(loop.getInitArgs()), emptyBody);
  OpBuilder::InsertionGuard saved(builder);
  builder.setInsertionPointToEnd(made.getBody());
  lower.values.map(loop.getInductionVar(), made.getInductionVar());
  lower.values.map(loop.getRegionIterArgs(), made.getRegionIterArgs());
  if (failed(emitBlock(*loop.getBody())))
    return failure();
  scf::YieldOp::create(builder, lower.loc, lookup(loop.getYieldedValues()));
  lower.values.map(loop.getResults(), made.getResults());
  return success();
}

LogicalResult KernelEmitter::emitIf(scf::IfOp branch) {
  SmallVector<Type> types;
  for (Type type : branch.getResultTypes())
    types.push_back(computeType(type));
  bool hasElse = !branch.getElseRegion().empty();
  auto made =
      scf::IfOp::create(builder, lower.loc, types,
                        lower.values.lookup(branch.getCondition()), hasElse);
  for (auto [from, to] : llvm::zip(branch->getRegions(), made->getRegions())) {
    if (from.empty())
      continue;
    Block &block = to.front();
    if (!block.empty())
      block.back().erase();
    OpBuilder::InsertionGuard saved(builder);
    builder.setInsertionPointToEnd(&block);
    if (failed(emitBlock(from.front())))
      return failure();
    scf::YieldOp::create(builder, lower.loc,
                         lookup(from.front().getTerminator()->getOperands()));
  }
  lower.values.map(branch.getResults(), made.getResults());
  return success();
}

LogicalResult KernelEmitter::emitWhile(scf::WhileOp loop) {
  SmallVector<Type> types;
  for (Type type : loop.getResultTypes())
    types.push_back(computeType(type));
  auto made =
      scf::WhileOp::create(builder, lower.loc, types, lookup(loop.getInits()));
  OpBuilder::InsertionGuard saved(builder);
  auto enter = [&](Block *from, Region &to) {
    Block &block = to.emplaceBlock();
    for (Value argument : from->getArguments())
      lower.values.map(argument,
                       block.addArgument(computeType(argument.getType()),
                                         argument.getLoc()));
    builder.setInsertionPointToEnd(&block);
    return emitBlock(*from);
  };
  if (failed(enter(loop.getBeforeBody(), made.getBefore())))
    return failure();
  scf::ConditionOp::create(
      builder, lower.loc,
      lower.values.lookup(loop.getConditionOp().getCondition()),
      lookup(loop.getConditionOp().getArgs()));
  if (failed(enter(loop.getAfterBody(), made.getAfter())))
    return failure();
  scf::YieldOp::create(builder, lower.loc,
                       lookup(loop.getYieldOp().getResults()));
  lower.values.map(loop.getResults(), made.getResults());
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct LowerToCpuPass
    : tessera::target::impl::LowerToCpuPassBase<LowerToCpuPass> {
  using LowerToCpuPassBase::LowerToCpuPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    // Message numbers count from those the plan has already.
    SmallVector<std::string> messages;
    for (plan::FuncOp plan : module.getOps<plan::FuncOp>())
      if (std::optional<ArrayAttr> known = plan.getMessages())
        for (size_t i = messages.size(); i < known->size(); ++i)
          messages.push_back(std::string(1, '\0') + std::to_string(i));
    size_t known = messages.size();
    for (tile::FuncOp func :
         llvm::make_early_inc_range(module.getOps<tile::FuncOp>()))
      if (failed(KernelEmitter(func, vectorBytes, bf16, messages).run()))
        return signalPassFailure();
    addMessages(module, ArrayRef(messages).drop_front(known));
  }

  /// Assertions refer to the plan's messages by number.
  static void addMessages(ModuleOp module, ArrayRef<std::string> messages) {
    if (messages.empty())
      return;
    Builder builder(module.getContext());
    for (plan::FuncOp plan : module.getOps<plan::FuncOp>()) {
      SmallVector<Attribute> all;
      if (std::optional<ArrayAttr> known = plan.getMessages())
        llvm::append_range(all, *known);
      for (const std::string &message : messages)
        all.push_back(builder.getStringAttr(escapeBraces(message)));
      plan.setMessagesAttr(builder.getArrayAttr(all));
    }
  }
};
} // namespace
