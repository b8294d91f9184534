//===- Instructions.h - The instruction of each product ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which form of mma.sync computes a `tile.mma` is decided once, from the table
// of architectures, and stands on the op:
//
//     tile.mma %a, %b, %c {instruction = #tile.instruction<sync 16 x 8 x 16>}
//     tile.mma %a, %b, %c {instruction = #tile.instruction<fma>} : ...
//     tile.mma %a, %b, %c sparse(%e : ...)
//         {instruction = #tile.instruction<sparse 16 x 8 x 32>} : ...
//
// Layouts, copies and the lowering only read it.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TARGET_NVIDIA_INSTRUCTIONS_H
#define TESSERA_COMPILER_TARGET_NVIDIA_INSTRUCTIONS_H

#include "compiler/Support/Architectures/Nvidia.h"
#include "compiler/Support/Layout/GpuTiles.h"
#include "compiler/Tile/IR/Tile.h"

namespace tessera::target {

/// A form of mma.sync.
struct MmaInstruction {
  nvidia::MmaRow::Instruction kind = nvidia::MmaRow::Sync;
  layout::MmaShape shape;
  std::string a, b, d; ///< types as PTX spells them
  std::string text;    ///< "m16n8k16.f32.f16.f16.f32"
};

/// What stands on the op; nullopt: a loop of fused multiply-adds.
std::optional<MmaInstruction> instructionOf(tile::MmaOp mma);

} // namespace tessera::target

#endif // TESSERA_COMPILER_TARGET_NVIDIA_INSTRUCTIONS_H
