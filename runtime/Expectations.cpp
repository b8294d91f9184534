// What calls on a GPU expect of values that are not known yet.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/Expectations.h"

#include "runtime/CudaDevice.h"
#include "runtime/Status.h"

namespace tessera::runtime {

tsr_status Expectations::add(CudaDevice &device,
                             std::shared_ptr<const Plan> plan, const Step &step,
                             const int64_t *slots, void *const *pointers,
                             const void *value, void *stream) {
  ContextScope scope(device);
  CudaResult code = scope.code;
  std::lock_guard lock(mutex);
  if (!code && unused.empty()) {
    constexpr size_t words = 512;
    void *memory = nullptr;
    code = device.driver->memHostAlloc(&memory, words * sizeof(int64_t), 0);
    for (size_t i = 0; !code && i < words; ++i)
      unused.push_back(static_cast<int64_t *>(memory) + i);
  }
  if (code)
    return device.driver->error(code, "page-locked memory on " + device.name);
  volatile int64_t *word = unused.back();
  *word = notArrived;
  code = device.driver->memcpyDtoHAsync(const_cast<int64_t *>(word),
                                        reinterpret_cast<CudaPointer>(value),
                                        sizeof *word, stream);
  if (code)
    return device.driver->error(code, "reading from " + device.name);
  unused.pop_back();
  auto numSlots = static_cast<size_t>(plan->numSlots);
  size_t numTensors = plan->tensors.size();
  pending.push_back({std::move(plan),
                     &step,
                     {slots, slots + numSlots},
                     {pointers, pointers + numTensors},
                     stream,
                     word});
  isEmpty.store(false, std::memory_order_release);
  return nullptr;
}

tsr_status Expectations::look(const CudaDevice &device, bool hasWaited,
                              void *waited) {
  if (isEmpty.load(std::memory_order_acquire))
    return nullptr;
  std::lock_guard lock(mutex);
  std::string text;
  int64_t others = 0;
  std::erase_if(pending, [&](Pending &each) {
    int64_t value = *each.word;
    bool isThere = value != notArrived || (hasWaited && each.stream == waited);
    if (!isThere)
      return false;
    unused.push_back(each.word);
    each.slots[static_cast<size_t>(each.step->c)] = value;
    ExprInputs inputs{each.slots.data(), each.pointers.data(),
                      [](const void *) { return false; }};
    int64_t holds = 0;
    ExprError error =
        evaluate(each.step->expr, each.plan->code.data(), inputs, holds);
    if (error == ExprError::None && holds)
      return true;
    if (text.empty())
      text = renderMessage(*each.plan,
                           each.plan->checks[static_cast<size_t>(each.step->a)],
                           inputs);
    else
      ++others;
    return true;
  });
  isEmpty.store(pending.empty(), std::memory_order_release);
  if (text.empty())
    return nullptr;
  text += "; found on " + device.name + " after the call";
  if (others)
    text += ", with " + std::to_string(others) + " more";
  return makeError(TSR_CHECK_FAILED, text);
}

} // namespace tessera::runtime
