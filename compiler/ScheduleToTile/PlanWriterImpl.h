//===- PlanWriterImpl.h - What writing a plan needs to know -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to Plan*.cpp: PlanWriter.cpp has lifetimes, integers and launches,
// PlanViews.cpp the views of memory, PlanControl.cpp branches and loops.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_SCHEDULETOTILE_PLANWRITERIMPL_H
#define TESSERA_COMPILER_SCHEDULETOTILE_PLANWRITERIMPL_H

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
        arguments(function, names, header, body) {}

  mlir::LogicalResult run();

private:
  /// Memory between kernels.
  struct Tensor {
    std::string name;
    int64_t unitAxis = -1; ///< the axis of stride 1, if one is known
    bool temporary = false;
  };

  // -- Arguments, results, lifetimes ---------------------------------------

  void readArguments();

  /// Results are written where the caller wants them; their last axis has
  /// stride 1 unless `gir.unit_axis` says otherwise.
  void nameResults();

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

  std::string sizeOf(mlir::Value value, int64_t axis);

  std::string textOf(const graph::Extent &extent);

  /// The size of a value inside a kernel, seen from outside.
  std::string insideSize(schedule::FuseOp fuse, mlir::Value value,
                         int64_t axis);

  std::string callSize(graph::CallKernelOp call, mlir::OpResult result,
                       int64_t axis);

  /// An integer or boolean scalar as an expression.
  std::string integer(mlir::Value value);

  std::string makeInteger(mlir::Value value);

  // -- Steps -----------------------------------------------------------------

  /// Gives a value memory of its own.
  void allocate(mlir::Value value);

  mlir::MemRefType memoryType(mlir::Value value);

  /// The steps of all ops of a block.
  mlir::LogicalResult writeBlock(mlir::Block &block);
  mlir::LogicalResult write(schedule::FuseOp fuse);

  mlir::LogicalResult writeThin(schedule::FuseOp fuse,
                                llvm::ArrayRef<int64_t> thin,
                                const Interface &interface,
                                const Decisions &decisions);
  std::string thinCondition(schedule::FuseOp fuse,
                            llvm::ArrayRef<int64_t> tiles);
  mlir::LogicalResult launchThin(schedule::FuseOp fuse, llvm::StringRef suffix,
                                 llvm::ArrayRef<int64_t> tiles,
                                 const Interface &interface,
                                 llvm::StringRef numerics = "gemm");
  mlir::LogicalResult launchTurned(schedule::FuseOp fuse,
                                   llvm::ArrayRef<int64_t> tiles,
                                   Interface interface);
  mlir::LogicalResult launch(schedule::FuseOp fuse, llvm::StringRef symbol,
                             const Interface &interface,
                             const Decisions &decisions, int64_t width,
                             bool asIs = false);

  /// The symbol of an equal kernel made before (`kernel` is then erased), or
  /// its own.
  std::string shared(FuncOp kernel);

  /// A rough guess in nanoseconds: elements of the largest value, or products.
  std::string workOf(schedule::FuseOp fuse);

  /// view %t = %x offset ... sizes [...] strides [...]
  void view(mlir::Value value, mlir::Value source, const std::string &offset,
            llvm::ArrayRef<std::string> strides, int64_t unitAxis);
  std::string strideOf(mlir::Value source, int64_t axis);

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
    llvm::DenseMap<mlir::Value, std::string> integers;
    std::map<std::pair<void *, int64_t>, std::string> sizes;
  };
  Knowledge remember() const { return {integers, sizes}; }
  void forget(Knowledge before);

  /// Integers that control flow carries have one name in the whole plan.
  void nameCarried();
  mlir::LogicalResult write(graph::IfOp op);
  mlir::LogicalResult writeArm(graph::IfOp op, mlir::Region &region);
  mlir::LogicalResult write(graph::ForOp op);
  mlir::LogicalResult write(graph::WhileOp op);
  /// let $n = ...: what a loop carries, before its first turn.
  void startLoop(mlir::Operation *loop, mlir::ValueRange inits);
  /// The values of a turn under the names of the carried ones.
  void bindCarried(mlir::Operation *loop, mlir::ValueRange inits,
                   mlir::ValueRange arguments);
  /// set $n = ..., swap %x %y: what it carries, after a turn.
  void finishTurn(mlir::Operation *loop, mlir::Block &body);

  mlir::OpBuilder &builder;
  mlir::func::FuncOp function;
  const KernelTable &kernels;
  KernelTexts &texts;
  PlanNames names;
  std::vector<std::string> header, body;
  PlanHeader arguments;
  llvm::DenseMap<mlir::Value, Tensor> tensors;
  llvm::DenseMap<mlir::Value, std::string> results;
  llvm::DenseMap<mlir::Value, std::string> integers;
  std::map<std::pair<void *, int64_t>, std::string> sizes;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>> lastUses;
  llvm::SmallVector<std::string> lateNames;
  llvm::DenseSet<mlir::Value> lateResults;
  /// Written into the memory of another value: what an arm yields.
  llvm::DenseSet<mlir::Value> placed;
  bool failedExpression = false;
  unsigned prints = 0;
};

} // namespace tessera::tile

#endif // TESSERA_COMPILER_SCHEDULETOTILE_PLANWRITERIMPL_H
