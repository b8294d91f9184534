// A plan with its kernels, ready to run.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_RUNTIME_EXECUTABLE_H
#define TESSERA_RUNTIME_EXECUTABLE_H

#include "runtime/Overlap.h"
#include "runtime/Plan.h"

#include <atomic>
#include <memory>

namespace tessera::runtime {

/// The memory of one run; see Plan.h. Kept for the next run, so that a run in
/// the steady state allocates nothing.
struct Frame {
  int64_t *slots;
  void **pointers;        // per tensor
  void **owners;          // per tensor: the pool block of a temporary
  BitInterval *intervals; // per argument
  void **launchPointers;  // the operands of the current launch
  int64_t *launchIntegers;
  int32_t liveTemporaries;
};

class Executable {
public:
  Executable(std::shared_ptr<const Plan> plan,
             std::vector<tsr_kernel_fn> kernels)
      : plan(std::move(plan)), kernels(std::move(kernels)) {}
  ~Executable();
  Executable(const Executable &) = delete;
  Executable &operator=(const Executable &) = delete;

  tsr_status run(const tsr_call &call) const;

  /// Ends a run with an error after that many passes of loops; 0 means never.
  /// For tests with plans that nobody has reasoned about.
  int64_t loopLimit = 0;

private:
  friend class Run;
  Frame *acquireFrame() const;
  void releaseFrame(Frame *frame) const;
  Frame *makeFrame() const;

  std::shared_ptr<const Plan> plan;
  std::vector<tsr_kernel_fn> kernels;
  /// Frames nobody uses. As many runs at the same time are free of allocation.
  mutable std::atomic<Frame *> freeFrames[8] = {};
};

} // namespace tessera::runtime

#endif
