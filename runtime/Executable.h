// A plan with its kernels, ready to run.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_RUNTIME_EXECUTABLE_H
#define TESSERA_RUNTIME_EXECUTABLE_H

#include "runtime/CudaModule.h"
#include "runtime/Overlap.h"
#include "runtime/Plan.h"

#include <atomic>
#include <memory>
#include <mutex>

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
  void **launchParameters; // on a GPU: the address of each integer
  int32_t liveTemporaries;
};

class Executable {
public:
  /// `kernels` as the plan lists them.
  Executable(std::shared_ptr<const Plan> plan,
             const std::vector<tsr_kernel_fn> &kernels);
  /// Asks `resolve` for each kernel when it is first launched.
  Executable(std::shared_ptr<const Plan> plan, tsr_resolve_fn resolve,
             void *context);
  /// For GPUs.
  Executable(std::shared_ptr<const Plan> plan, std::vector<CudaImage> images);
  ~Executable();
  Executable(const Executable &) = delete;
  Executable &operator=(const Executable &) = delete;

  tsr_status run(const tsr_call &call) const;
  /// The kernels on this GPU, loaded when first asked for.
  tsr_status moduleFor(CudaDevice &device, const CudaModule *&module) const {
    module = modules[static_cast<size_t>(device.index)].load(
        std::memory_order_acquire);
    return module ? nullptr : loadModule(device, module);
  }

  /// Ends a run with an error after that many passes of loops; 0 means never.
  /// For tests with plans that nobody has reasoned about.
  int64_t loopLimit = 0;

private:
  friend class Run;
  Frame *acquireFrame() const;
  void releaseFrame(Frame *frame) const;
  Frame *makeFrame() const;

  /// The kernel with this number in the plan.
  tsr_status kernelAt(int32_t index, tsr_kernel_fn &kernel) const {
    kernel =
        kernels[static_cast<size_t>(index)].load(std::memory_order_acquire);
    return kernel ? nullptr : resolveKernel(index, kernel);
  }
  tsr_status loadModule(CudaDevice &device, const CudaModule *&module) const;
  tsr_status resolveKernel(int32_t index, tsr_kernel_fn &kernel) const;

  std::shared_ptr<const Plan> plan;
  /// Null: not asked for yet.
  mutable std::vector<std::atomic<tsr_kernel_fn>> kernels;
  tsr_resolve_fn resolve = nullptr;
  void *resolveContext = nullptr;
  // Of a plan for GPUs.
  std::vector<CudaImage> images;
  mutable std::vector<std::atomic<const CudaModule *>> modules; // per device
  mutable std::mutex loading;
  /// Frames nobody uses. As many runs at the same time are free of allocation.
  mutable std::atomic<Frame *> freeFrames[8] = {};
};

} // namespace tessera::runtime

#endif
