// Register tiles and packed panels of CPU matrix kernels, as layouts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A micro-kernel keeps an mr x nr tile of C in vector registers and walks along
// k. It reads A by columns of mr and B by rows of nr, so both are copied
// ("packed") into panels in which that order is contiguous:
//
//     A (m, k):  [M/mr][K][mr]        B (k, n):  [N/nr][K][nr]
//
// With dot-product instructions on narrow types (VNNI, AMX) `group` consecutive
// k stand together: [M/mr][K/g][mr][g] and [N/nr][K/g][nr][g].
//
// Each of these is a layout from source position to panel offset, made of axes.
// The code generator asks it for loops, steps and contiguous runs, and never
// spells an offset formula out:
//
//     Layout panels = packedB(k, n, tile.nr, /*group=*/1);
//     for (const PackLoop &loop : packLoops(panels)) ...  // outermost first

#ifndef TESSERA_SUPPORT_LAYOUT_CPUTILES_H
#define TESSERA_SUPPORT_LAYOUT_CPUTILES_H

#include "compiler/Support/Layout/Layout.h"

namespace tessera::layout {

//===----------------------------------------------------------------------===//
// Register tiles
//===----------------------------------------------------------------------===//

/// What a micro-kernel has to live with.
struct VectorMachine {
  int64_t lanes = 16;      ///< elements of C in one register
  int64_t registers = 32;  ///< architectural vector registers
  int64_t fmaPerCycle = 2; ///< multiply-adds issued per cycle
  int64_t fmaLatency = 4;  ///< cycles until a result can be used
  int64_t loadsPerCycle = 2;
  /// Can a multiply-add take one operand broadcast from memory? Then A needs
  /// no register.
  bool broadcastOperand = true;
};

VectorMachine avx512Machine(int64_t elementBytes); ///< 32 zmm
VectorMachine avx2Machine(int64_t elementBytes);   ///< 16 ymm, no broadcast

struct RegisterTile {
  int64_t mr = 1;      ///< rows of C
  int64_t vectors = 1; ///< registers per row of C
  int64_t lanes = 1;   ///< elements per register
  int64_t nr() const { return vectors * lanes; }
  int64_t accumulators() const { return mr * vectors; }
  /// Vector loads and broadcasts per multiply-add: lower is better.
  double loadsPerFma() const {
    return double(mr + vectors) / double(mr * vectors);
  }
  bool operator==(const RegisterTile &) const = default;
};

/// All tiles that fit: accumulators, one row of B, and A's broadcast; for `n`
/// columns, if they are known.
std::vector<RegisterTile> registerTiles(const VectorMachine &machine,
                                        int64_t n = 0);

/// The tile that loses least. In this order: cycles per useful element of an
/// m x n result (tails and latency counted; 0 means "large"), elements computed
/// in vain, loads per multiply-add, columns.
RegisterTile chooseRegisterTile(const VectorMachine &machine, int64_t m = 0,
                                int64_t n = 0);

/// (element, register) -> (dim0, dim1): which register of the micro-kernel
/// holds which part of C. Registers count along a row first.
Layout accumulatorLayout(const RegisterTile &tile);

/// Rows and columns of C in AMX tiles of 16 x 16, from the same rule: a tile
/// register for each part of C, A and B.
struct AmxBlock {
  int64_t tilesM = 1, tilesN = 1;
};
AmxBlock chooseAmxBlock(int64_t tileRegisters = 8);

//===----------------------------------------------------------------------===//
// Packed panels: (dim0, dim1) -> offset
//===----------------------------------------------------------------------===//

/// A (m, k) in panels of mr rows. Extents are rounded up to whole panels and
/// groups; the extra positions are padding that the copy fills with zeros.
Layout packedA(int64_t m, int64_t k, int64_t mr, int64_t group = 1);
/// B (k, n) in panels of nr columns.
Layout packedB(int64_t k, int64_t n, int64_t nr, int64_t group = 1);

/// One loop of a copy: `extent` steps, each `sourceStep` positions along
/// source dim `dim`, and `offsetStep` elements in the panel.
struct PackLoop {
  std::string dim;
  int64_t extent = 1;
  int64_t sourceStep = 1;
  int64_t offsetStep = 1;
  bool operator==(const PackLoop &) const = default;
};

/// Loops that visit the panel in the order of its memory, outermost first.
/// Bits of an atom count as loops of 2, joined where they follow each other.
/// Nullopt for a swizzled atom, whose offsets no set of loops adds up to.
std::optional<std::vector<PackLoop>> packLoops(const Layout &panel);

/// Elements that follow each other both along source dim `dim` and in the
/// panel: the longest vector copy.
int64_t contiguousRun(const Layout &panel, std::string_view dim);

/// Must the copy transpose, given that the source is contiguous along `dim`?
/// True if neighbours along `dim` are not neighbours in the panel.
bool needsTranspose(const Layout &panel, std::string_view dim);

} // namespace tessera::layout

#endif // TESSERA_SUPPORT_LAYOUT_CPUTILES_H
