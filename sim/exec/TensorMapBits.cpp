// Tensor maps whose bits another compiler's host code sets, without the driver.
//
// CuTe DSL's host code writes eight words instead of calling
// cuTensorMapEncodeTiled. No document says what the bits mean: they are those
// that changed when maps of every rank, type, swizzle and size were made with
// nvidia-cutlass-dsl 4.8.1. What never changed has to be as it was.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/TensorMap.h"
#include <cstring>

namespace tessera::sim {

namespace {
/// Part of a 64-bit word.
uint64_t bits(uint64_t word, unsigned first, unsigned count) {
  return word >> first & ((1ull << count) - 1);
}

enum : unsigned { // of the low half of word 1
  versionBit = 1,
  rankAt = 4,     // 3 bits, minus one
  typeAt = 7,     // 4 bits
  swizzleAt = 13, // 2 bits
  tf32Bit = 16,
  promotionAt = 17, // 2 bits, no effect
  atomAt = 19,      // 2 bits
  largeBit = 21,    // at least 128 KiB, no effect
};
constexpr uint64_t knownBits =
    1ull << versionBit | 7ull << rankAt | 15ull << typeAt | 3ull << swizzleAt |
    1ull << tf32Bit | 3ull << promotionAt | 3ull << atomAt | 1ull << largeBit;

/// Their numbers are those of tensormap.replace up to 10.
bool typeOf(uint64_t number, bool tf32, TensorType &type) {
  constexpr TensorType types[] = {
      TensorType::U8,     TensorType::U16, TensorType::U32,  TensorType::S32,
      TensorType::U64,    TensorType::S64, TensorType::F16,  TensorType::F32,
      TensorType::F32Ftz, TensorType::F64, TensorType::BF16, TensorType::B4x16};
  if (number >= std::size(types) || (tf32 && types[number] != TensorType::F32))
    return false;
  type = tf32 ? TensorType::TF32 : types[number];
  return true;
}
} // namespace

bool hasForeignBits(const void *bytes) {
  uint64_t word[2];
  std::memcpy(word, bytes, sizeof word);
  // The word of ours is zero, but for a bit that others clear.
  return bits(word[1], versionBit, 1);
}

std::string readForeignBits(TensorMap &map) {
  if (!hasForeignBits(&map))
    return "";
  uint64_t word[8];
  std::memcpy(word, &map, sizeof word);
  static_assert(sizeof word == foreignBytes);
  if (bits(word[1], 0, 32) & ~knownBits)
    return "not supported: bits of a tensor map, set by a host program, whose "
           "meaning is not known";
  TensorMap m;
  m.base = word[0];
  m.rank = bits(word[1], rankAt, 3);
  if (!typeOf(bits(word[1], typeAt, 4), bits(word[1], tf32Bit, 1), m.type))
    return "not supported: the element type of a tensor map that a host "
           "program made from bits";
  m.swizzle = Swizzle(bits(word[1], swizzleAt, 2));
  m.atom = SwizzleAtom(bits(word[1], atomAt, 2));
  for (unsigned k = 0; k < 4; ++k) {
    // In units of 16 bytes; the highest four bits are together in word 3.
    uint64_t low = bits(word[1 + (k + 1) / 2], k % 2 ? 0 : 32, 32);
    m.stride[k] = (low | bits(word[3], 32 + 4 * k, 4) << 32) * 16;
  }
  for (unsigned d = 0; d < 5; ++d) {
    m.dim[d] = bits(word[4 + d / 2], d % 2 * 32, 32);
    m.step[d] = bits(word[6], 32 + 3 * d, 3);
    m.box[d] = d ? bits(word[7], 8 * (d - 1), 8) : bits(word[6], 56, 8);
  }
  map = m;
  return "";
}

} // namespace tessera::sim
