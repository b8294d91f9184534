//===- PlanExpressions.h - Sizes and scalars as plan text -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plan (docs/abi.md, section 3) computes sizes by itself, so every integer
// of Schedule IR that stands outside kernels becomes a piece of text over named
// dims, scalar arguments and loaded values.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_SCHEDULETOTILE_PLANEXPRESSIONS_H
#define TESSERA_COMPILER_SCHEDULETOTILE_PLANEXPRESSIONS_H

#include "compiler/ScheduleToTile/Passes.h"

#include "llvm/ADT/StringSet.h"

#include <map>

namespace tessera::tile {

/// "a b" with both sides in parentheses where needed.
std::string infix(llvm::StringRef lhs, llvm::StringRef op, llvm::StringRef rhs);

/// A text as a string of a plan, quotes included.
std::string quoted(llvm::StringRef text);

/// Names of a plan, each given once. `%` and `$` names do not meet.
class PlanNames {
public:
  std::string tensor(llvm::StringRef hint) { return fresh(tensors, hint); }
  std::string integer(llvm::StringRef hint) { return fresh(integers, hint); }

private:
  static std::string fresh(llvm::StringSet<> &taken, llvm::StringRef hint);
  llvm::StringSet<> tensors, integers;
};

/// The step that ends a run if code for a stride gets an array with another.
std::string strideCheck(llvm::StringRef tensor, int64_t axis, int64_t rank,
                        int64_t stride);

/// The argument lines of a function or kernel: names its tensors, scalars and
/// dims, and writes the lines that bind and check them.
class PlanHeader {
public:
  PlanHeader(mlir::FunctionOpInterface function, PlanNames &names,
             std::vector<std::string> &header, std::vector<std::string> &body);

  /// `%x` of a tensor argument, `$s` of a scalar one.
  llvm::StringRef nameOf(unsigned argument) const { return texts[argument]; }
  /// The size of an axis of an argument: a number, or `$M`.
  std::string sizeOf(unsigned argument, int64_t axis) const {
    return sizes[argument][axis];
  }
  bool isScalar(unsigned argument) const { return scalars[argument]; }

private:
  llvm::SmallVector<std::string> texts;
  llvm::SmallVector<llvm::SmallVector<std::string>> sizes;
  llvm::SmallVector<bool> scalars;
};

/// The grid of a kernel's tile.program as an expression over its arguments:
/// `operands` are the plan's names in the order of the kernel's arguments.
/// Fails with an error if an extent is not made of sizes and integer scalars.
mlir::FailureOr<std::string> gridOf(FuncOp kernel,
                                    llvm::ArrayRef<std::string> operands);

/// The checks of what a kernel asserts of a call; `operands` as above.
mlir::LogicalResult writeAsserts(FuncOp kernel,
                                 llvm::ArrayRef<std::string> operands,
                                 PlanNames &names,
                                 std::vector<std::string> &body);

} // namespace tessera::tile

#endif // TESSERA_COMPILER_SCHEDULETOTILE_PLANEXPRESSIONS_H
