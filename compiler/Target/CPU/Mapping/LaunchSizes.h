//===- LaunchSizes.h - What a kernel asks for, in a plan's words -*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_TARGET_CPU_MAPPING_LAUNCHSIZES_H
#define TESSERA_COMPILER_TARGET_CPU_MAPPING_LAUNCHSIZES_H

#include "compiler/Plan/IR/IntegerBuilder.h"
#include "compiler/Tile/IR/Tile.h"

namespace tessera::cpu {

/// An extent that `kernel`, which is launched, has: a number, a size of a view
/// or a scalar. Null if the plan cannot know it.
mlir::Value extentOf(plan::LaunchOp launch, tile::FuncOp kernel,
                     mlir::Value value, plan::IntegerBuilder &make);

} // namespace tessera::cpu

#endif // TESSERA_COMPILER_TARGET_CPU_MAPPING_LAUNCHSIZES_H
