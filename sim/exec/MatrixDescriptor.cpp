// The canonical layouts of PTX ISA 9.7.15.5.1.2.1.3.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/MatrixDescriptor.h"

namespace tessera::sim {

MatrixDescriptor::MatrixDescriptor(uint64_t word) {
  auto field = [&](unsigned bit) {
    return uint32_t(word >> bit & 0x3fff) << 4;
  };
  start = field(0);
  leading = field(16);
  stride = field(32);
  baseOffset = unsigned(word >> 49 & 7);
  swizzleBits = (4 - unsigned(word >> 62)) & 3; // 1 is 128 bytes, 3 is 32
}

uint32_t MatrixDescriptor::chunk(bool kMajor, unsigned mn, unsigned k,
                                 unsigned perChunk) const {
  unsigned width = 1u << swizzleBits; // chunks of one swizzled row
  uint32_t at = start;
  if (kMajor) {
    at += mn % 8 * 16 * width + mn / 8 * stride;
    at += k / perChunk * (swizzleBits ? 16 : leading);
  } else {
    unsigned column = mn / perChunk;
    at += k % 8 * 16 * width;
    if (swizzleBits)
      at += column % width * 16 + column / width * leading + k / 8 * stride;
    else
      at += column * stride + k / 8 * leading;
  }
  uint32_t line = (at >> 7) - baseOffset;
  return at ^ (line & (width - 1)) << 4;
}

} // namespace tessera::sim
