// A plan with its kernels, ready to run: frames and their reuse.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/Executable.h"

#include "runtime/Constants.h"
#include "runtime/Run.h"
#include "runtime/Status.h"

#include <cstdlib>
#include <new>

namespace tessera::runtime {

Executable::Executable(std::shared_ptr<const Plan> givenPlan,
                       const std::vector<tsr_kernel_fn> &given)
    : plan(std::move(givenPlan)), kernels(given.size()) {
  for (size_t i = 0; i < given.size(); ++i)
    kernels[i].store(given[i], std::memory_order_relaxed);
}

Executable::Executable(std::shared_ptr<const Plan> givenPlan,
                       tsr_resolve_fn resolve, void *context)
    : plan(std::move(givenPlan)), kernels(plan->kernels.size()),
      resolve(resolve), resolveContext(context) {}

Executable::Executable(std::shared_ptr<const Plan> givenPlan,
                       std::vector<CudaImage> given)
    : plan(std::move(givenPlan)), images(std::move(given)),
      modules(CudaDevice::maxDevices) {}

tsr_status Executable::loadModule(CudaDevice &device,
                                  const CudaModule *&module) const {
  std::lock_guard lock(loading);
  auto &place = modules[static_cast<size_t>(device.index)];
  module = place.load(std::memory_order_acquire);
  if (module)
    return nullptr;
  std::unique_ptr<CudaModule> made;
  if (tsr_status status = CudaModule::load(*plan, images, device, made))
    return status;
  module = made.release();
  place.store(module, std::memory_order_release);
  return nullptr;
}

/// No lock is held meanwhile: what `resolve` waits for is its own business, and
/// the answer is the same for all who ask.
tsr_status Executable::resolveKernel(int32_t index,
                                     tsr_kernel_fn &kernel) const {
  const std::string &name = plan->kernels[static_cast<size_t>(index)];
  if (tsr_status status = resolve(resolveContext, name.c_str(), &kernel))
    return status;
  if (!kernel)
    return makeError(TSR_MISSING_SYMBOL, plan->function + " needs the kernel " +
                                             name + ", which was not provided");
  kernels[static_cast<size_t>(index)].store(kernel, std::memory_order_release);
  return nullptr;
}

/// One block of memory: the frame, then its arrays (all of 8-byte items).
Frame *Executable::makeFrame() const {
  size_t numTensors = plan->tensors.size();
  auto numSlots = static_cast<size_t>(plan->numSlots);
  auto numArguments = static_cast<size_t>(plan->numArguments);
  auto numPointers = static_cast<size_t>(plan->maxLaunchPointers);
  auto numIntegers = static_cast<size_t>(plan->maxLaunchIntegers);
  size_t numParameters = plan->chip.empty() ? 0 : numIntegers;
  size_t words = numSlots + 2 * numTensors + 2 * numArguments + numPointers +
                 numIntegers + numParameters;
  void *memory = std::calloc(1, sizeof(Frame) + words * 8);
  if (!memory)
    return nullptr;
  auto *frame = new (memory) Frame();
  auto *next = reinterpret_cast<char *>(frame + 1);
  auto place = [&](auto *&array, size_t count) {
    array = reinterpret_cast<std::remove_reference_t<decltype(array)>>(next);
    next += count * sizeof *array;
  };
  place(frame->slots, numSlots);
  place(frame->pointers, numTensors);
  place(frame->owners, numTensors);
  place(frame->intervals, numArguments);
  place(frame->launchPointers, numPointers);
  place(frame->launchIntegers, numIntegers);
  place(frame->launchParameters, numParameters);
  for (size_t i = 0; i < numParameters; ++i)
    frame->launchParameters[i] = frame->launchIntegers + i;
  return frame;
}

Frame *Executable::acquireFrame() const {
  for (std::atomic<Frame *> &place : freeFrames)
    if (place.load(std::memory_order_relaxed))
      if (Frame *frame = place.exchange(nullptr, std::memory_order_acquire))
        return frame;
  return makeFrame();
}

void Executable::releaseFrame(Frame *frame) const {
  for (std::atomic<Frame *> &place : freeFrames) {
    Frame *expected = nullptr;
    if (place.compare_exchange_strong(expected, frame,
                                      std::memory_order_release,
                                      std::memory_order_relaxed))
      return;
  }
  std::free(frame);
}

Executable::~Executable() {
  dropKept(this);
  for (std::atomic<Frame *> &place : freeFrames)
    std::free(place.load());
  for (auto &module : modules)
    delete module.load();
}

tsr_status Executable::run(const tsr_call &call) const {
  bool isGpu = !plan->chip.empty();
  CudaDevice *cuda = nullptr;
  const CudaModule *module = nullptr;
  if (isGpu) {
    tsr_device *device =
        call.struct_size >= sizeof(tsr_call) ? call.device : nullptr;
    if (!device)
      return makeError(TSR_INVALID_ARGUMENT,
                       plan->function + " is compiled for " + plan->chip +
                           ", but the call names no GPU");
    cuda = &device->cuda;
    if (tsr_status status = cuda->expected.look(*cuda, false))
      return status;
    if (tsr_status status = moduleFor(*cuda, module))
      return status;
  }
  Frame *frame = acquireFrame();
  if (!frame)
    return outOfMemory();
  Run run(*this, call, *frame, cuda, module);
  tsr_status status = run.bindArguments();
  if (!status && cuda)
    status = run.exposeArguments();
  if (!status)
    status = run.runSteps();
  run.cleanUp();
  releaseFrame(frame);
  return status;
}

} // namespace tessera::runtime
