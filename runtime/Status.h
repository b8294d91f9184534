// Errors as values inside the runtime: tsr_status objects and how to make them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_RUNTIME_STATUS_H
#define TESSERA_RUNTIME_STATUS_H

#include "tessera-c/runtime.h"
#include <initializer_list>
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

/// A pointer that a caller passed, by the name of its parameter.
struct GivenPointer {
  const char *name;
  const void *pointer;
};

/// The error for the first that is NULL; success if none is.
tsr_status refuseNull(const char *function,
                      std::initializer_list<GivenPointer> given);

} // namespace tessera::runtime

#endif
