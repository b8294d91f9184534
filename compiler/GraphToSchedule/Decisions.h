//===- Decisions.h - The first decisions for a kernel -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_GRAPHTOSCHEDULE_DECISIONS_H
#define TESSERA_COMPILER_GRAPHTOSCHEDULE_DECISIONS_H

#include "compiler/GraphToSchedule/Fusion.h"
#include "compiler/Schedule/IR/Model.h"

namespace tessera::schedule {

/// Writes `sched.tile`, `sched.place` and `sched.pipeline` for a group at the
/// builder's position. `schedule` is what the user's decorators said (may be
/// null). Returns the numerics class.
tile::NumericsAttr writeDecisions(mlir::OpBuilder &builder, const Group &group,
                                  mlir::DictionaryAttr schedule, Model model);

/// Gives a kernel of a product, or of attention, the variants that pay for some
/// calls.
void offerVariants(FuseOp fuse, mlir::DictionaryAttr schedule, Model model);

/// Writes the decisions for a copy of `value`.
tile::NumericsAttr writeCopyDecisions(mlir::OpBuilder &builder,
                                      mlir::Value value,
                                      mlir::DictionaryAttr schedule,
                                      Model model);

/// The keys of a user's `gir.kernel` that are no constants of its body.
void writeKernelDecisions(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::DictionaryAttr schedule, bool products,
                          Model model);

} // namespace tessera::schedule

#endif // TESSERA_COMPILER_GRAPHTOSCHEDULE_DECISIONS_H
