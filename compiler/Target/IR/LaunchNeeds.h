//===- LaunchNeeds.h - What a launch gives a kernel -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_TARGET_IR_LAUNCHNEEDS_H
#define TESSERA_COMPILER_TARGET_IR_LAUNCHNEEDS_H

#include "compiler/Plan/Export.h"

namespace tessera::target {

/// Scratch, block and shared memory of a mapped or lowered kernel; nothing of
/// one that is not mapped yet.
plan::LaunchNeeds launchNeeds(mlir::Operation *kernel);

} // namespace tessera::target

#endif // TESSERA_COMPILER_TARGET_IR_LAUNCHNEEDS_H
