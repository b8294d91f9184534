// What a run needs of the machine it runs on: memory, and reading it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The steps of a plan are the same everywhere (Run.cpp); only memory and
// launches differ (Launch.cpp). `stream` is the CPU's nothing and CUDA's
// CUstream: what is given back on it may be handed out again for it.
#ifndef TESSERA_RUNTIME_DEVICE_H
#define TESSERA_RUNTIME_DEVICE_H

#include "tessera-c/runtime.h"
#include <cstddef>

namespace tessera::runtime {

class Device {
public:
  /// Aligned to 64 bytes or more. TSR_OUT_OF_MEMORY says only that.
  virtual tsr_status allocate(size_t bytes, void *stream, void *&memory) = 0;
  virtual void deallocate(void *memory, void *stream) = 0;
  /// Waits for what the stream has to do before.
  virtual tsr_status read(void *to, const void *from, size_t bytes,
                          void *stream) = 0;

protected:
  ~Device() = default; // devices live as long as the process
};

Device &cpuDevice();

} // namespace tessera::runtime

#endif
