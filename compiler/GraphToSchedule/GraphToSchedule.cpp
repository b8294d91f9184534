//===- GraphToSchedule.cpp - Groups become sched.fuse ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/GraphToSchedule/Fusion.h"
#include "compiler/GraphToSchedule/Passes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "mlir/IR/IRMapping.h"

namespace tessera::schedule {
#define GEN_PASS_DEF_GRAPHTOSCHEDULEPASS
#include "compiler/GraphToSchedule/Passes.h.inc"
} // namespace tessera::schedule

using namespace mlir;
using namespace tessera;
using namespace tessera::graph;
using namespace tessera::schedule;

namespace {

/// What `schedule-decide` knows a kind of kernel by.
tile::NumericsKind getNumerics(const Group &group) {
  switch (group.kind) {
  case Group::Kind::Map:
    return tile::NumericsKind::Elementwise;
  case Group::Kind::Rows:
    return group.reducesLast ? tile::NumericsKind::Rows
                             : tile::NumericsKind::Columns;
  case Group::Kind::Gemm:
    return tile::NumericsKind::Gemm;
  case Group::Kind::Attention:
    return tile::NumericsKind::Attention;
  case Group::Kind::Scan:
    return tile::NumericsKind::Scan;
  case Group::Kind::Concat:
    return tile::NumericsKind::Copy;
  case Group::Kind::Partial:
    return tile::NumericsKind::Partial;
  }
  llvm_unreachable("a kind of group");
}

/// Rewrites one function by the groups `Fusion` finds, block by block.
class Rewriter {
public:
  explicit Rewriter(func::FuncOp function)
      : function(function),
        schedule(function->getAttrOfType<DictionaryAttr>("gir.schedule")) {}

  LogicalResult run() { return rewrite(function.getBody().front()); }

private:
  LogicalResult rewrite(Block &body) {
    auto fuses = schedule ? schedule.getAs<IntegerAttr>("fuse") : IntegerAttr();
    Fusion fusion(body, !fuses || fuses.getInt() != 0);
    for (Operation &op : llvm::make_early_inc_range(body)) {
      if (Group *group = fusion.groupOf(&op)) {
        buildFuse(*group);
      } else if (isControlFlow(&op)) {
        if (failed(rewriteControl(&op)))
          return failure();
      } else if (fusion.isOutside(&op) || isa<DimOp, CheckEqualOp>(op)) {
        settle(&op);
      } else if (isa<CheckOp, ReportIndexOp, graph::PrintOp>(op)) {
        for (OpOperand &operand : op.getOpOperands())
          operand.set(shown(&op, operand.get()));
      } else if (op.hasTrait<OpTrait::IsTerminator>()) {
        finish(&op);
      } else if (!isa<FuseOp>(op) && op.getDialect()->getNamespace() != "gir" &&
                 !isa<PartialOp>(op)) {
        return op.emitOpError() << "has no place in a function of Graph IR";
      }
    }
    // What became part of a kernel, or was computed for nobody.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
      if (isa<BindDimsOp>(op) ||
          (op.use_empty() && isMemoryEffectFree(&op) && !isa<FuseOp>(op) &&
           !op.hasTrait<OpTrait::IsTerminator>())) {
        // Another op may get its address.
        for (Value result : op.getResults())
          inMemory.erase(result);
        op.erase();
      }
    return success();
  }

  /// Where a value of the graph is in memory.
  Value memory(Value value) {
    Value found = inMemory.lookup(value);
    return found ? found : value;
  }

  std::string nextName() {
    return (function.getName() + "_" + Twine(count++)).str();
  }

  /// Starts a kernel before `op`, with an empty body.
  std::pair<FuseOp, Block *> makeFuse(Operation *op, Value value,
                                      tile::NumericsKind kind) {
    OpBuilder builder(op);
    auto fuse = FuseOp::create(
        builder, value.getLoc(), value.getType(),
        builder.getStringAttr(nextName()), ValueRange(),
        tile::NumericsAttr::get(builder.getContext(), kind, 0, 1));
    return {fuse, &fuse.getBody().emplaceBlock()};
  }

  /// An operand inside the kernel: a member's clone, a constant, a scalar that
  /// is computed again, or an argument.
  Value inside(Value value, FuseOp fuse, OpBuilder &builder,
               IRMapping &mapping) {
    if (Value found = mapping.lookupOrNull(value))
      return found;
    Operation *op = value.getDefiningOp();
    if (op && (isa<ConstantOp>(op) ||
               (isScalar(value) && !isPlanExpression(value)))) {
      for (Value operand : op->getOperands())
        inside(operand, fuse, builder, mapping);
      return builder.clone(*op, mapping)->getResult(0);
    }
    Value argument =
        fuse.getBody().front().addArgument(value.getType(), value.getLoc());
    fuse.getInputsMutable().append(memory(value));
    mapping.map(value, argument);
    return argument;
  }

  void buildFuse(Group &group) {
    Value result = group.root->getResult(0);
    auto [fuse, body] = makeFuse(group.root, result, getNumerics(group));
    OpBuilder builder = OpBuilder::atBlockEnd(body);
    SmallVector<Operation *> members;
    for (auto &[op, maps] : group.members)
      members.push_back(op);
    llvm::sort(members, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
    IRMapping mapping;
    for (Operation *op : members) {
      for (Value operand : op->getOperands())
        inside(operand, fuse, builder, mapping);
      builder.clone(*op, mapping);
    }
    schedule::YieldOp::create(builder, fuse.getLoc(), mapping.lookup(result));
    inMemory[result] = fuse.getResult(0);
  }

  /// A kernel that copies `value` (in memory, or a scalar) to fresh memory.
  Value copy(Operation *before, Value value) {
    auto [fuse, body] = makeFuse(before, value, tile::NumericsKind::Copy);
    OpBuilder builder = OpBuilder::atBlockEnd(body);
    IRMapping mapping;
    Value mapped = inside(value, fuse, builder, mapping);
    schedule::YieldOp::create(builder, fuse.getLoc(), mapped);
    return fuse.getResult(0);
  }

  /// How a user's kernel uses its tensor arguments, in order.
  SmallVector<StringRef> modesOf(CallKernelOp call) {
    SmallVector<StringRef> modes;
    auto wrapper = SymbolTable::lookupNearestSymbolFrom<schedule::KernelOp>(
        call, call.getKernelAttr());
    if (!wrapper)
      return modes;
    for (auto kernel : wrapper.getBody().getOps<graph::KernelOp>())
      for (unsigned i = 0; i < kernel.getNumArguments(); ++i) {
        auto mode = kernel.getArgAttrOfType<StringAttr>(i, "gir.mode");
        modes.push_back(mode ? mode.getValue() : "in");
      }
    return modes;
  }

  /// A kernel updates memory in place; the value before must survive.
  void copyUpdated(CallKernelOp call) {
    unsigned input = 0;
    for (StringRef mode : modesOf(call)) {
      if (mode == "out")
        continue;
      if (mode != "in")
        call.getInputsMutable()[input].set(copy(call, call.getInputs()[input]));
      ++input;
    }
  }

  /// Whether a kernel writes this value into fresh memory.
  bool isWritten(Value value) {
    auto call = value.getDefiningOp<CallKernelOp>();
    if (!call)
      return isa_and_present<FuseOp, IfOp>(value.getDefiningOp()) &&
             !isScalar(value);
    unsigned result = 0;
    for (StringRef mode : modesOf(call)) {
      if (mode == "in")
        continue;
      if (result++ == cast<OpResult>(value).getResultNumber())
        return mode == "out";
    }
    return false;
  }

  /// An op that stays outside kernels reads memory.
  void settle(Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      operand.set(memory(operand.get()));
    if (auto call = dyn_cast<CallKernelOp>(op))
      copyUpdated(call);
    auto reshape = dyn_cast<ReshapeOp>(op);
    if (!reshape || getReshapeParts(reshape).isView())
      return;
    // Merged axes need row-major memory, which only kernels' results are.
    Value input = reshape.getInput();
    if (!input.getDefiningOp<FuseOp>())
      reshape.getInputMutable().set(copy(op, input));
  }

  /// A condition, bound or carried integer: what the plan computes, or reads
  /// from memory.
  Value planInteger(Operation *before, Value value) {
    if (isPlanExpression(value))
      return value;
    return isScalar(value) ? copy(before, value) : memory(value);
  }

  /// What is printed or checked: a scalar of the plan, or memory.
  Value shown(Operation *before, Value value) {
    bool argument = isa<BlockArgument>(value) && isScalar(value);
    return argument ? value : planInteger(before, value);
  }

  /// Carried tensors start in memory that nobody else knows: the loop swaps it
  /// with what each turn computes.
  LogicalResult rewriteControl(Operation *op) {
    unsigned first = op->getNumOperands();
    if (isa<ForOp, WhileOp>(op))
      first -= op->getNumResults();
    for (OpOperand &operand : op->getOpOperands()) {
      Value value = operand.get();
      if (operand.getOperandNumber() < first ||
          isPlanInteger(value.getType())) {
        operand.set(planInteger(op, value));
        continue;
      }
      Value stored = memory(value);
      // A view of it that was made before would show what is swapped in.
      bool viewed = llvm::any_of(stored.getUsers(), [](Operation *user) {
        return isa<TransposeOp, BroadcastOp, SliceOp, ReshapeOp>(user);
      });
      bool own = value.hasOneUse() && stored.getDefiningOp<FuseOp>() &&
                 stored.getParentBlock() == op->getBlock() && !viewed;
      operand.set(own ? stored : copy(op, stored));
    }
    for (Region &region : op->getRegions())
      if (failed(rewrite(region.front())))
        return failure();
    return success();
  }

  /// Results are memory of their own: not an argument, not a view, not twice
  /// the same, not from outside the block, and nobody reads them as row-major,
  /// which a caller's need not be. Integers between blocks are the plan's.
  void finish(Operation *op) {
    bool returns = isa<func::ReturnOp>(op);
    llvm::SmallDenseSet<Value> seen;
    for (OpOperand &operand : op->getOpOperands()) {
      if (!returns && isPlanInteger(operand.get().getType())) {
        operand.set(planInteger(op, operand.get()));
        continue;
      }
      Value value = memory(operand.get());
      bool reshaped = llvm::any_of(value.getUsers(), [](Operation *user) {
        return isa<ReshapeOp>(user);
      });
      if (!isWritten(value) || value.getParentBlock() != op->getBlock() ||
          !seen.insert(value).second || reshaped)
        value = copy(op, value);
      operand.set(value);
    }
  }

  func::FuncOp function;
  DictionaryAttr schedule;
  DenseMap<Value, Value> inMemory;
  int64_t count = 0;
};

/// dim(x + y, 0) -> dim(x, 0): sizes refer to arguments.
void resolveDims(func::FuncOp function) {
  function->walk([](DimOp op) {
    Extent extent = getExtent(op.getResult());
    if (extent.kind == Extent::Kind::Axis && extent.value == op.getInput() &&
        extent.axis == int64_t(op.getAxis()))
      return;
    OpBuilder builder(op);
    op.getResult().replaceAllUsesWith(
        materialize(builder, op.getLoc(), extent));
    op.erase();
  });
}

/// gir.kernel -> sched.kernel
void wrapKernel(graph::KernelOp kernel) {
  OpBuilder builder(kernel);
  auto wrapper = schedule::KernelOp::create(
      builder, kernel.getLoc(), kernel.getSymName(),
      tile::NumericsAttr::get(builder.getContext(),
                              tile::NumericsKind::AsWritten, 0, 1));
  Block &body = wrapper.getBody().emplaceBlock();
  kernel->moveBefore(&body, body.end());
}

struct GraphToSchedulePass
    : schedule::impl::GraphToSchedulePassBase<GraphToSchedulePass> {
  void runOnOperation() override {
    SmallVector<graph::KernelOp> kernels(
        getOperation().getOps<graph::KernelOp>());
    for (graph::KernelOp kernel : kernels)
      wrapKernel(kernel);
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      resolveDims(function);
      if (failed(Rewriter(function).run()))
        return signalPassFailure();
    }
  }
};

} // namespace
