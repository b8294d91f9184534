// What calls on a GPU expect of values that are not known yet.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An `expect` of a plan (docs/abi.md, section 3) does not wait for its value:
// the value is copied into page-locked memory of the host when the stream gets
// there, and looked at by the next synchronisation, or by the next call after
// it has arrived.
#ifndef TESSERA_RUNTIME_EXPECTATIONS_H
#define TESSERA_RUNTIME_EXPECTATIONS_H

#include "runtime/Plan.h"

#include <atomic>
#include <memory>
#include <mutex>

namespace tessera::runtime {

class CudaDevice;

class Expectations {
public:
  /// Copies the i64 at `value` when `stream` gets there. `slots` and `pointers`
  /// are those of the run: the message may name sizes.
  tsr_status add(CudaDevice &device, std::shared_ptr<const Plan> plan,
                 const Step &step, const int64_t *slots, void *const *pointers,
                 const void *value, void *stream);
  /// The error of the first that is not met. All of `waited` (if `hasWaited`)
  /// have arrived; of others those that show.
  tsr_status look(const CudaDevice &device, bool hasWaited,
                  void *waited = nullptr);

private:
  struct Pending {
    std::shared_ptr<const Plan> plan;
    const Step *step;
    std::vector<int64_t> slots;
    std::vector<void *> pointers;
    void *stream;
    volatile int64_t *word;
  };
  static constexpr int64_t notArrived = INT64_MAX;

  std::mutex mutex;
  std::vector<Pending> pending;
  std::vector<volatile int64_t *> unused; // words of page-locked memory
  std::atomic<bool> isEmpty{true};        // so that most calls take no lock
};

} // namespace tessera::runtime

#endif
