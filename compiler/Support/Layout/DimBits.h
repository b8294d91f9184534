// Packs one number per dim into bits and back; private to the layout classes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_SUPPORT_LAYOUT_DIMBITS_H
#define TESSERA_SUPPORT_LAYOUT_DIMBITS_H

#include "compiler/Support/Layout/Layout.h"

#include <cassert>

namespace tessera::layout {

/// Position of the lowest bit of dim `i`; the first dim has the low bits.
inline int bitOffset(const std::vector<Dim> &dims, size_t i) {
  int offset = 0;
  for (size_t d = 0; d < i; ++d)
    offset += dims[d].bits;
  return offset;
}

inline std::optional<int> findDim(const std::vector<Dim> &dims,
                                  std::string_view name) {
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i].name == name)
      return int(i);
  return std::nullopt;
}

inline uint64_t flatten(const std::vector<Dim> &dims, const Index &index) {
  assert(index.size() == dims.size() && "one number for each dim");
  uint64_t bits = 0;
  int offset = 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    assert(index[d] >= 0 && index[d] < dims[d].size() && "out of range");
    bits |= uint64_t(index[d]) << offset;
    offset += dims[d].bits;
  }
  return bits;
}

inline Index unflatten(const std::vector<Dim> &dims, uint64_t bits) {
  Index index;
  for (const Dim &dim : dims) {
    index.push_back(int64_t(bits & (uint64_t(dim.size()) - 1)));
    bits >>= dim.bits;
  }
  return index;
}

} // namespace tessera::layout

#endif // TESSERA_SUPPORT_LAYOUT_DIMBITS_H
