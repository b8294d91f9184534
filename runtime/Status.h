// Errors as values inside the runtime: tsr_status objects and how to make them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_RUNTIME_STATUS_H
#define TESSERA_RUNTIME_STATUS_H

#include "tessera-c/runtime.h"
#include <string>

struct tsr_status_object {
  int32_t code;
  std::string message;
};

namespace tessera::runtime {

/// A new error that the receiver owns.
tsr_status makeError(int32_t code, std::string message);

/// The error for "no memory", which itself needs none.
tsr_status outOfMemory();

} // namespace tessera::runtime

#endif
