// A matrix in shared memory as a 64-bit descriptor tells it (PTX ISA
// 9.7.15.5.1.2 for wgmma, 9.7.16.4.1 for tcgen05): 8 x 16-byte groups of rows,
// two strides, and a swizzle that exchanges 16-byte chunks by bits of their
// address.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string>

namespace tessera::sim {

struct MatrixDescriptor {
  uint32_t start, leading, stride; // bytes
  unsigned baseOffset;             // of the swizzle's pattern, in 128 bytes
  unsigned swizzleBits;            // 0 none, 1 to 3: 32, 64, 128 bytes
  bool keeps32 = false; // 128 bytes, of which pairs of chunks stay together

  explicit MatrixDescriptor(uint64_t word);
  /// Of tcgen05, or what is wrong with it in `problem`.
  static MatrixDescriptor ofTensorCore(uint64_t word, std::string &problem);
  /// Shared address of the 16 bytes that start at element (mn, k), with
  /// `perChunk` elements: neighbours in k if `kMajor`, otherwise in mn.
  uint32_t chunk(bool kMajor, unsigned mn, unsigned k, unsigned perChunk) const;
};

} // namespace tessera::sim
