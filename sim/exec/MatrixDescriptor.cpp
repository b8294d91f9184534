// The canonical layouts of PTX ISA 9.7.15.5.1.2.1.3 and 9.7.16.3.3.
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

MatrixDescriptor MatrixDescriptor::ofTensorCore(uint64_t word,
                                                std::string &problem) {
  MatrixDescriptor m(word);
  auto mode = unsigned(word >> 61);
  constexpr uint8_t bits[8] = {0, 3, 3, 0, 2, 0, 1, 0};
  m.swizzleBits = bits[mode];
  m.keeps32 = mode == 1;
  if ((word >> 46 & 7) != 1)
    problem = "bits 46 to 48 are not 0b001";
  else if (word >> 53 & 0xff)
    problem = "bits 53 to 60 are not 0";
  else if (mode == 3 || mode == 5 || mode == 7)
    problem = "there is no swizzling mode " + std::to_string(mode);
  else if (word >> 52 & 1)
    problem = "not supported: absolute addresses of the leading dimension";
  return m;
}

uint32_t MatrixDescriptor::chunk(bool kMajor, unsigned mn, unsigned k,
                                 unsigned perChunk) const {
  unsigned width = 1u << swizzleBits; // chunks of one swizzled row
  uint32_t at = start;
  if (kMajor) {
    at += mn % 8 * 16 * width + mn / 8 * stride;
    at += k / perChunk * (swizzleBits ? 16 : leading);
  } else {
    unsigned column = mn / perChunk, rows = keeps32 ? 4 : 8;
    at += k % rows * 16 * width;
    if (swizzleBits)
      at += column % width * 16 + column / width * leading + k / rows * stride;
    else
      at += column * stride + k / 8 * leading;
  }
  uint32_t line = (at >> 7) - baseOffset;
  if (keeps32)
    return at ^ (line & 3) << 5;
  return at ^ (line & (width - 1)) << 4;
}

} // namespace tessera::sim
