//===- Axes.h - Axes of a kernel's ops, traced to its result ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each axis of a value inside a kernel is an axis of the kernel's result (the
// number of that axis), the loop of a reduction (a number from `firstLoop`), or
// repeated (-1).
//
//   y[i, j] = e[i, j] / sum(e, j)[i]        the result's axes: 0, 1
//     sum                                   [0]        computed once per row
//     e, read by the division               [0, 1]
//     e, read by the sum                    [0, loop]  a second pass over the
//     row
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_SCHEDULE_IR_AXES_H
#define TESSERA_COMPILER_SCHEDULE_IR_AXES_H

#include "compiler/Schedule/IR/Payload.h"

namespace tessera::schedule {

using AxisMap = llvm::SmallVector<int64_t, 4>;

/// Axes from here on are loops of reductions.
inline constexpr int64_t firstLoop = 1000;

/// Reads its operands where they are, at another place.
bool isInnerView(mlir::Operation *op);

/// Always a view of memory.
bool isOuterView(mlir::Operation *op);

/// Whether this operand must be in memory, whatever kernel reads it.
bool wantsMemory(mlir::OpOperand &use);

/// The axes of an operand whose op has a result with the axes `map`; `number`
/// tells the loops of one reduction from those of another.
AxisMap getOperandAxes(mlir::OpOperand &use, const AxisMap &map,
                       int64_t number);

/// The axes of a kernel's result that its reductions keep: a program computes
/// each of them once.
AxisMap getGridAxes(FuseOp fuse);

/// As graph::getExtent, of a value inside a kernel or out of one, in terms of
/// what the function has outside of kernels.
graph::Extent getOuterExtent(mlir::Value tensor, int64_t axis);

} // namespace tessera::schedule

#endif // TESSERA_COMPILER_SCHEDULE_IR_AXES_H
