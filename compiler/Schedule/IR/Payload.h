//===- Payload.h - What stands inside a sched.fuse --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The payload of a kernel is `gir` itself, restricted to primitives
// (docs/decisions/2026-11-15-schedule-payload.md). This header is the one place
// that sorts those ops into kinds; GraphToSchedule fuses by kind,
// ScheduleToTile emits by kind, and the contract check lists them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_SCHEDULE_IR_PAYLOAD_H
#define TESSERA_COMPILER_SCHEDULE_IR_PAYLOAD_H

#include "compiler/Graph/IR/Extents.h"
#include "compiler/Graph/IR/Graph.h"
#include "compiler/Schedule/IR/Schedule.h"

namespace tessera::schedule {

inline mlir::RankedTensorType tensorType(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}
inline int64_t rankOf(mlir::Value value) { return tensorType(value).getRank(); }

/// Result element i depends on element i of each operand, nothing else.
bool isElementwise(mlir::Operation *op);

/// A composite that must be decomposed before fusion.
bool isComposite(mlir::Operation *op);

/// Whether `form` can compute this product or attention of a kernel. `turned`
/// reads the right operand where it lies in memory; `row`, a sum along each
/// column of it, is of f32 matrices.
bool canSpecialize(mlir::Operation *op, VariantForm form);

/// Whether only a call says the head size of Q or of V.
bool hasOpenHead(graph::AttentionOp op);

/// How a reshape maps axes: the first `front` and the last `back` axes of both
/// shapes are the same; the axes between are merged and split in row-major
/// order.
struct ReshapeParts {
  int64_t front = 0, back = 0;
  int64_t mergedAxes = 0; ///< axes of the input between front and back

  /// The reshape is a view for any strides of its input.
  bool isView() const { return mergedAxes <= 1; }
};
ReshapeParts getReshapeParts(graph::ReshapeOp op);

/// For a reshape that only adds and drops axes of extent 1: for each axis of
/// the result its axis of the input, -1 for a new one. Nothing otherwise.
std::optional<llvm::SmallVector<int64_t>> getUnitReshape(graph::ReshapeOp op);

/// A type whose values the plan can hold between kernels: tensor<i64>,
/// tensor<i1>.
bool isPlanInteger(mlir::Type type);

/// A run-time scalar: made of scalar arguments, sizes, constants and integers
/// that control flow carries.
bool isScalar(mlir::Value value);

/// A scalar that the plan can compute: an integer or boolean expression.
bool isPlanExpression(mlir::Value value);

} // namespace tessera::schedule

#endif // TESSERA_COMPILER_SCHEDULE_IR_PAYLOAD_H
