//===- PlanWriterImpl.h - What writing a plan needs to know -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to Plan*.cpp: PlanWriter.cpp has lifetimes, integers and launches,
// PlanViews.cpp the views of memory, PlanControl.cpp branches and loops,
// PlanVersions.cpp which version of a product a call takes.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_SCHEDULETOTILE_PLANWRITERIMPL_H
#define TESSERA_COMPILER_SCHEDULETOTILE_PLANWRITERIMPL_H

#include "compiler/Plan/IR/IntegerBuilder.h"
#include "compiler/ScheduleToTile/KernelBuilder.h"
#include "compiler/ScheduleToTile/PlanExpressions.h"
#include "compiler/ScheduleToTile/PlanWriter.h"

namespace tessera::tile {

/// The user's name of a value, or nothing.
llvm::StringRef hintOf(mlir::Value value);

class PlanWriter {
public:
  PlanWriter(mlir::OpBuilder &builder, mlir::func::FuncOp function,
             const KernelTable &kernels, KernelTexts &texts)
      : builder(builder), function(function), kernels(kernels), texts(texts),
        at(builder),
        plan(createPlan(at, function.getLoc(), function.getName())),
        arguments(function, at) {}

  mlir::LogicalResult run();

private:
  /// Memory between kernels.
  struct Tensor {
    mlir::Value memory; ///< of the plan
    std::string name;
    int64_t unitAxis = -1; ///< the axis of stride 1, if one is known
  };

  // -- Arguments, results, lifetimes ---------------------------------------

  void readArguments();

  /// Results are written where the caller wants them; their last axis has
  /// stride 1 unless `gir.unit_axis` says otherwise.
  void makeResults();

  /// The input of a call that a kernel updates in place to make this result;
  /// nothing if the result is memory of its own.
  mlir::Value updatedInput(mlir::OpResult result);
  /// The arguments of a kernel in the order a call gives them.
  static llvm::SmallVector<unsigned> callOrder(FuncOp kernel);
  static llvm::StringRef modeOf(FuncOp kernel, unsigned argument);

  /// The memory a value lives in: what a view looks at, what a kernel updates.
  mlir::Value baseOf(mlir::Value value);

  void findLastUses(mlir::Block &block);

  // -- Integers --------------------------------------------------------------

  plan::IntegerBuilder integersAt(mlir::Location loc) { return {at, loc}; }

  mlir::Value sizeOf(mlir::Value value, int64_t axis);

  mlir::Value valueOf(const graph::Extent &extent);

  /// The size of a value inside a kernel, seen from outside.
  mlir::Value insideSize(schedule::FuseOp fuse, mlir::Value value,
                         int64_t axis);

  mlir::Value memorySize(mlir::Value value, int64_t axis);

  mlir::Value callSize(graph::CallKernelOp call, mlir::OpResult result,
                       int64_t axis);

  /// An integer or boolean scalar of the function as one of the plan.
  mlir::Value integer(mlir::Value value);

  mlir::Value makeInteger(mlir::Value value);

  // -- Steps -----------------------------------------------------------------

  /// Gives a value memory of its own.
  void allocate(mlir::Value value);

  mlir::MemRefType memoryType(mlir::Value value);

  /// The steps of all ops of a block.
  mlir::LogicalResult writeBlock(mlir::Block &block);
  mlir::LogicalResult write(schedule::FuseOp fuse);

  mlir::LogicalResult write(schedule::VersionsOp op);
  mlir::LogicalResult writeVersion(schedule::VersionsOp op,
                                   mlir::Region &region);
  /// Whether a call is one of these; null if the layout of its operands says
  /// that it is not.
  mlir::Value conditionOf(schedule::WhenAttr when, schedule::FuseOp general);
  /// No head is larger than the tile that holds it whole.
  void checkHead(schedule::FuseOp fuse);
  /// The sum's length of a product, the head size of attention.
  mlir::Value depthOf(schedule::FuseOp fuse);
  mlir::LogicalResult launch(schedule::FuseOp fuse, const Interface &interface);

  /// The steps of `variant` where the condition holds; what follows is written
  /// into the other arm.
  mlir::LogicalResult
  writeVariant(mlir::Value condition, mlir::Location loc,
               llvm::function_ref<mlir::LogicalResult()> variant);

  /// The symbol of an equal kernel made before (`kernel` is then erased), or
  /// its own.
  std::string shared(FuncOp kernel);

  /// A rough guess in nanoseconds: elements of the largest value, or products.
  mlir::Value workOf(schedule::FuseOp fuse);

  void view(mlir::Value value, mlir::Value source, mlir::Value offset,
            llvm::ArrayRef<mlir::Value> strides, int64_t unitAxis);
  mlir::Value strideOf(mlir::Value source, int64_t axis);

  mlir::LogicalResult write(graph::TransposeOp op);

  mlir::LogicalResult write(graph::BroadcastOp op);

  mlir::LogicalResult write(graph::SliceOp op);

  mlir::LogicalResult write(graph::ReshapeOp op);

  mlir::LogicalResult write(graph::CheckEqualOp op);

  mlir::LogicalResult write(graph::CheckOp op);
  mlir::LogicalResult write(graph::ReportIndexOp op);

  /// A kernel of one program that prints its arguments.
  mlir::LogicalResult write(graph::PrintOp op);

  mlir::LogicalResult write(graph::CallKernelOp op);

  /// The kernel was compiled for strides that this value may not have.
  void checkStrides(mlir::MemRefType view, mlir::Value value);

  // -- Branches and loops ----------------------------------------------------

  /// What a block learns about sizes and integers is forgotten at its end.
  struct Knowledge {
    llvm::DenseMap<mlir::Value, mlir::Value> integers;
    std::map<std::pair<void *, int64_t>, mlir::Value> sizes;
  };
  Knowledge remember() const { return {integers, sizes}; }
  void forget(Knowledge before);

  mlir::LogicalResult write(graph::IfOp op);
  mlir::LogicalResult writeArm(graph::IfOp op, mlir::Region &region);
  mlir::LogicalResult write(graph::ForOp op);
  mlir::LogicalResult write(graph::WhileOp op);
  /// The values of a turn, `arguments` of the loop, as the plan's: its memory,
  /// and `carried`, the integers in order.
  void bindCarried(mlir::ValueRange arguments, mlir::ValueRange inits,
                   mlir::ValueRange carried);
  /// The integers of the next turn; memory is swapped.
  llvm::SmallVector<mlir::Value> finishTurn(mlir::ValueRange inits,
                                            mlir::Block &body);

  mlir::OpBuilder &builder; ///< where kernels go
  mlir::func::FuncOp function;
  const KernelTable &kernels;
  KernelTexts &texts;
  mlir::OpBuilder at; ///< where steps go
  plan::FuncOp plan;
  PlanHeader arguments;
  llvm::DenseMap<mlir::Value, Tensor> tensors;
  llvm::DenseSet<mlir::Value> results;
  llvm::DenseMap<mlir::Value, mlir::Value> integers;
  std::map<std::pair<void *, int64_t>, mlir::Value> sizes;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>> lastUses;
  llvm::DenseSet<mlir::Value> lateResults;
  /// Written into the memory of another value: what an arm yields.
  llvm::DenseSet<mlir::Value> placed;
  /// At entry nothing is loaded or carried: such a size is late.
  bool isEntry = false, isLate = false;
  bool failedExpression = false;
  unsigned prints = 0;
};

} // namespace tessera::tile

#endif // TESSERA_COMPILER_SCHEDULETOTILE_PLANWRITERIMPL_H
