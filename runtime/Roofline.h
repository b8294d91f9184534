// What this machine's cores and memory can do, measured.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_RUNTIME_ROOFLINE_H
#define TESSERA_RUNTIME_ROOFLINE_H

#include "tessera-c/roofline.h"
#include <string>

namespace tessera::runtime::roofline {

/// Bytes of this machine's data caches as the system tells them; L1 and L2 of
/// one core. Guesses where it doesn't.
struct Caches {
  size_t l1, l2, l3;
};
Caches caches();

/// Empty if this roof can be measured here, else why not.
std::string whyNot(int32_t roof);

} // namespace tessera::runtime::roofline

#endif
