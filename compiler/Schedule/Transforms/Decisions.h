//===- Decisions.h - The first decisions for a kernel -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_SCHEDULE_TRANSFORMS_DECISIONS_H
#define TESSERA_COMPILER_SCHEDULE_TRANSFORMS_DECISIONS_H

#include "compiler/Schedule/IR/Axes.h"
#include "compiler/Schedule/IR/Model.h"

namespace tessera::schedule {

/// Writes `sched.tile`, `sched.place` and `sched.pipeline` at the start of a
/// kernel, and completes its numerics class. `schedule` is what the user's
/// decorators said (may be null).
void writeDecisions(FuseOp fuse, mlir::DictionaryAttr schedule, Model model);

/// Gives a kernel of a product, or of attention, the variants that pay for some
/// calls.
void offerVariants(FuseOp fuse, mlir::DictionaryAttr schedule, Model model);

/// The keys of a user's `gir.kernel` that are no constants of its body.
void writeKernelDecisions(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::DictionaryAttr schedule, bool products,
                          Model model);

} // namespace tessera::schedule

#endif // TESSERA_COMPILER_SCHEDULE_TRANSFORMS_DECISIONS_H
