// The 32 bits that tell shape and types of a tcgen05.mma (PTX ISA 9.7.16.4.2).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/ptx/Types.h"
#include <cstdint>
#include <string>

namespace tessera::sim {

enum class ProductKind : uint8_t {
  F16,
  TF32,
  F8F6F4,
  I8,
  MXF8F6F4,
  MXF4,
  MXF4NVF4,
};

struct InstructionDescriptor {
  unsigned m = 0, n = 0, k = 0;
  ptx::Type aType = ptx::Type::None, bType = ptx::Type::None,
            dType = ptx::Type::None;
  bool isSparse = false, saturates = false;
  bool aNegated = false, bNegated = false;
  bool aKMajor = true, bKMajor = true;
  unsigned selector = 0;           // of the sparsity metadata
  unsigned scaleA = 0, scaleB = 0; // the byte of the first scale factor
  ptx::Type scaleType = ptx::Type::None;

  /// Elements of K that A holds.
  unsigned storedK() const { return isSparse ? k / 2 : k; }
};

/// What an instruction says itself.
struct ProductForm {
  ProductKind kind = ProductKind::F16;
  bool isSparse = false, isWeightStationary = false;
  unsigned blocks = 1;     // of .cta_group
  unsigned scaleCount = 0; // scale factors along K; 0: not scaled
};

/// Fills `to`, or says which rule of the ISA is broken ("not supported: ..." if
/// it is the simulator that cannot).
std::string readDescriptor(const ProductForm &form, uint32_t word,
                           InstructionDescriptor &to);

} // namespace tessera::sim
