//===- GpuInstructions.h - The instruction of each product ------*- C++ -*-===//
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

#ifndef TESSERA_COMPILER_TILE_TRANSFORMS_GPUINSTRUCTIONS_H
#define TESSERA_COMPILER_TILE_TRANSFORMS_GPUINSTRUCTIONS_H

#include "compiler/Support/Architectures/Nvidia.h"
#include "compiler/Support/Layout/GpuTiles.h"
#include "compiler/Tile/IR/Tile.h"

namespace tessera::tile {

/// A form of mma.sync.
struct MmaInstruction {
  nvidia::MmaRow::Instruction kind = nvidia::MmaRow::Sync;
  layout::MmaShape shape;
  std::string a, b, d; ///< types as PTX spells them
  std::string text;    ///< "m16n8k16.f32.f16.f16.f32"
};

/// What stands on the op; nullopt: a loop of fused multiply-adds. Without a
/// mark 16-bit floats are multiplied by m16n8k16, others by fma.
std::optional<MmaInstruction> instructionOf(MmaOp mma);

/// Marks the product with the table's largest form for its types, or fma
/// where the machine has none; fp8 without one is refused with the table's
/// line.
mlir::LogicalResult chooseInstruction(MmaOp mma, const nvidia::Arch &arch);

/// The table's line for a sparse or scaled product; null if the machine has
/// none that fits its types and sizes.
const nvidia::MmaRow *extendedInstruction(MmaOp mma, const nvidia::Arch &arch);

/// The machine a mapped kernel is for (`arch`); sm_80 if it does not say.
nvidia::Arch archOf(FuncOp func);

} // namespace tessera::tile

#endif // TESSERA_COMPILER_TILE_TRANSFORMS_GPUINSTRUCTIONS_H
