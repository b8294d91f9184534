// Which bytes of an allocation have been written.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tessera::sim::check {

struct GlobalShadow {
  std::vector<uint8_t> written; // one byte per byte
  explicit GlobalShadow(uint64_t size) : written(size, 0) {}
  void markInitialised(uint64_t at, uint64_t size) {
    if (at < written.size())
      std::fill_n(written.begin() + at,
                  std::min<uint64_t>(size, written.size() - at), 1);
  }
};

} // namespace tessera::sim::check
