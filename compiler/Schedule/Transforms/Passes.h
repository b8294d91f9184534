//===- Passes.h - Schedule IR: passes and pipeline --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_SCHEDULE_TRANSFORMS_PASSES_H
#define TESSERA_COMPILER_SCHEDULE_TRANSFORMS_PASSES_H

#include "compiler/Schedule/IR/Model.h"
#include "compiler/Schedule/IR/Payload.h"

#include "mlir/Pass/Pass.h"

namespace tessera::schedule {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Schedule/Transforms/Passes.h.inc"

/// Adds stage 2 to `pm`: Graph IR in, Schedule IR out.
void buildSchedulePipeline(mlir::OpPassManager &pm,
                           Model model = Model::Caches);

/// The passes of this stage and of the step into it, for command-line drivers.
void registerSchedulePipeline();

} // namespace tessera::schedule

#endif // TESSERA_COMPILER_SCHEDULE_TRANSFORMS_PASSES_H
