//===- Passes.h - Plans: passes ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_PLAN_PASSES_H
#define TESSERA_COMPILER_PLAN_PASSES_H

#include "compiler/Plan/IR/Plan.h"

#include "mlir/Pass/Pass.h"

namespace tessera::plan {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Plan/Passes.h.inc"

} // namespace tessera::plan

#endif // TESSERA_COMPILER_PLAN_PASSES_H
