//===- PlanExpressions.h - Arguments and integers of a plan -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plan computes sizes by itself: the arguments of a function or kernel become
// the head of a `plan.func`, and what a kernel computes of them before its grid
// becomes integers of the plan.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_SCHEDULETOTILE_PLANEXPRESSIONS_H
#define TESSERA_COMPILER_SCHEDULETOTILE_PLANEXPRESSIONS_H

#include "compiler/Plan/IR/Plan.h"
#include "compiler/ScheduleToTile/Passes.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace tessera::tile {

/// An empty plan of that name for a CPU; `builder` is set to its body.
plan::FuncOp createPlan(mlir::OpBuilder &builder, mlir::Location loc,
                        llvm::StringRef name);

/// A check that ends a run if code for a stride gets an array with another.
void checkStride(mlir::OpBuilder &builder, mlir::Location loc,
                 mlir::Value tensor, llvm::StringRef name, int64_t axis,
                 int64_t stride);

/// The arguments of a function or kernel: tensors, scalars and dims, with what
/// binds and checks them, where `builder` is.
class PlanHeader {
public:
  PlanHeader(mlir::FunctionOpInterface function, mlir::OpBuilder &builder);

  llvm::ArrayRef<mlir::Value> getValues() const { return values; }
  mlir::Value get(unsigned argument) const { return values[argument]; }
  llvm::StringRef nameOf(unsigned argument) const { return names[argument]; }
  /// The size of an axis of an argument: a number, or a dim.
  mlir::Value sizeOf(unsigned argument, int64_t axis) const {
    return sizes[argument][axis];
  }
  bool isScalar(unsigned argument) const { return scalars[argument]; }

private:
  mlir::Value axisOf(llvm::StringRef name, int64_t known, unsigned argument,
                     int64_t axis);

  mlir::FunctionOpInterface function;
  mlir::OpBuilder &builder;
  llvm::SmallVector<mlir::Value> values;
  llvm::SmallVector<std::string> names;
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> sizes;
  llvm::SmallVector<bool> scalars;
  llvm::StringMap<mlir::Value> dims;  ///< and scalars that sizes may name
  llvm::StringMap<mlir::Value> bound; ///< dims alone
  llvm::StringSet<> checked;
};

/// Integers and conditions of a kernel as those of a plan that calls it;
/// `operands` are the plan's in the order of the kernel's arguments.
class KernelIntegers {
public:
  KernelIntegers(llvm::ArrayRef<mlir::Value> operands, mlir::OpBuilder &builder)
      : operands(operands), builder(builder) {}

  /// Fails with an error if it is not made of sizes and integer scalars.
  mlir::FailureOr<mlir::Value> get(mlir::Value value);

private:
  mlir::FailureOr<mlir::Value> make(mlir::Value value);

  llvm::ArrayRef<mlir::Value> operands;
  mlir::OpBuilder &builder;
  llvm::DenseMap<mlir::Value, mlir::Value> known;
};

/// The number of a kernel's programs.
mlir::FailureOr<mlir::Value> gridOf(FuncOp kernel,
                                    llvm::ArrayRef<mlir::Value> operands,
                                    mlir::OpBuilder &builder);

/// Checks of what a kernel asserts of a call.
mlir::LogicalResult writeAsserts(FuncOp kernel,
                                 llvm::ArrayRef<mlir::Value> operands,
                                 mlir::OpBuilder &builder);

} // namespace tessera::tile

#endif // TESSERA_COMPILER_SCHEDULETOTILE_PLANEXPRESSIONS_H
