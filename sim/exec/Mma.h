// What an mma instruction needs at run time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/exec/TensorCore.h"
#include "sim/exec/Warp.h"

namespace tessera::sim {

struct MmaPlan {
  unsigned m = 0, k = 0;
  ptx::Type aType, bType;
  unsigned elementBits = 16, perReg = 2, aRegs = 0, bRegs = 0;
  bool halfC = false, halfD = false, saturate = false, integer = false;
  bool aSigned = false, bSigned = false, containers = false, fullK = false;
  bool aRow = true, bRow = false, ordered = false;
  unsigned bitOp = 0; // 1 and, 2 xor
  Ref a[8], b[8], c[8], d[8];
  Ref metadata = noRef;
  unsigned selector = 0;
  ptx::Type scaleType = ptx::Type::None;
  unsigned scaleCount = 0;
  Ref scaleA = noRef, scaleB = noRef, byteA = noRef, byteB = noRef,
      threadA = noRef, threadB = noRef;
};

const Format *tensorFormat(ptx::Type type);
/// Sparse products: the column that the n-th kept element of a row stands in,
/// as the metadata of the warp's lanes say.
unsigned keptColumn(const uint32_t *metadata, unsigned row, unsigned n,
                    unsigned elementBits, unsigned selector);
int32_t signOf(uint32_t raw, unsigned bits, bool isSigned);
/// Adds C to the products and writes D of an integer mma.
void finishInteger(Warp &w, const MmaPlan &p, const int64_t (*d)[8]);

} // namespace tessera::sim
