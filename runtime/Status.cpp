// Errors as values inside the runtime: tsr_status objects and how to make them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/Status.h"

#include <new>
#include <utility>

namespace tessera::runtime {

static tsr_status_object &sharedOutOfMemory() {
  static tsr_status_object object{TSR_OUT_OF_MEMORY, "out of memory"};
  return object;
}

tsr_status outOfMemory() { return &sharedOutOfMemory(); }

tsr_status makeError(int32_t code, std::string message) {
  auto *status = new (std::nothrow) tsr_status_object{code, std::move(message)};
  return status ? status : outOfMemory();
}

tsr_status refuseNull(const char *function,
                      std::initializer_list<GivenPointer> given) {
  for (const GivenPointer &each : given)
    if (!each.pointer)
      return makeError(TSR_INVALID_ARGUMENT,
                       std::string(function) + ": " + each.name + " is NULL");
  return nullptr;
}

} // namespace tessera::runtime

using namespace tessera::runtime;

int32_t tsr_status_code(tsr_status status) {
  return status ? status->code : TSR_OK;
}

const char *tsr_status_message(tsr_status status) {
  return status ? status->message.c_str() : "";
}

tsr_status tsr_status_create(int32_t code, const char *message) {
  return tessera::runtime::makeError(code, message ? message : "");
}

void tsr_status_free(tsr_status status) {
  if (status != &sharedOutOfMemory())
    delete status;
}
