// Element types: names, widths, alignment.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/Dtype.h"

#include "tessera-c/runtime.h"
#include <iterator>

namespace tessera::runtime {

// Indexed by the TSR_ enumeration.
static constexpr DtypeInfo table[] = {
    {"f64", 64, 8},   {"f32", 32, 4},   {"f16", 16, 2},   {"bf16", 16, 2},
    {"f8e4m3", 8, 1}, {"f8e5m2", 8, 1}, {"f6e2m3", 6, 1}, {"f6e3m2", 6, 1},
    {"f4e2m1", 4, 1}, {"i8", 8, 1},     {"i16", 16, 2},   {"i32", 32, 4},
    {"i64", 64, 8},   {"u8", 8, 1},     {"u16", 16, 2},   {"u32", 32, 4},
    {"u64", 64, 8},   {"bool", 8, 1},   {"c64", 64, 4},
};
static_assert(std::size(table) == TSR_NUM_DTYPES);

const DtypeInfo &dtypeInfo(Dtype dtype) { return table[dtype]; }

bool isDtype(int32_t number) { return number >= 0 && number < TSR_NUM_DTYPES; }

Dtype dtypeFromName(std::string_view name) {
  for (Dtype dtype = 0; dtype < TSR_NUM_DTYPES; ++dtype)
    if (name == table[dtype].name)
      return dtype;
  return -1;
}

bool bytesOfElements(Dtype dtype, int64_t elements, int64_t &bytes) {
  int64_t bits;
  if (__builtin_mul_overflow(elements, int64_t{table[dtype].bits}, &bits) ||
      __builtin_add_overflow(bits, int64_t{7}, &bits))
    return false;
  bytes = bits / 8;
  return true;
}

} // namespace tessera::runtime
