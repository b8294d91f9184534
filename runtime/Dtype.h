// Element types: names, widths, alignment.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_RUNTIME_DTYPE_H
#define TESSERA_RUNTIME_DTYPE_H

#include <cstdint>
#include <string_view>

namespace tessera::runtime {

/// A number of the TSR_F64 ... TSR_C64 enumeration.
using Dtype = int32_t;

struct DtypeInfo {
  const char *name;
  int32_t bits;
  int32_t alignment; // in bytes
};

/// Precondition: a valid dtype.
const DtypeInfo &dtypeInfo(Dtype dtype);

bool isDtype(int32_t number);

/// -1 if there is no such dtype.
Dtype dtypeFromName(std::string_view name);

/// Bytes that `elements` elements occupy; false if that doesn't fit 63 bits.
bool bytesOfElements(Dtype dtype, int64_t elements, int64_t &bytes);

} // namespace tessera::runtime

#endif
