// Launches: on the threads of the CPU, or on a GPU.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/Dtype.h"
#include "runtime/Memory.h"
#include "runtime/Parallel.h"
#include "runtime/Print.h"
#include "runtime/Run.h"
#include "runtime/Status.h"
#include "runtime/Trace.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>

namespace tessera::runtime {

namespace {
/// What the threads of a launch share.
struct LaunchState {
  tsr_kernel_fn kernel;
  void *const *pointers;
  const int64_t *integers;
  size_t scratchBytes;
  const char *name; // null unless somebody traces
  std::mutex mutex; // guards `code`
  std::atomic<int64_t> failedBegin{std::numeric_limits<int64_t>::max()};
  int32_t code = 0;
  mutable PrintQueue prints = {};

  static constexpr int32_t noScratch = std::numeric_limits<int32_t>::min();

  int32_t runRange(int64_t begin, int64_t end) const {
    void *scratch = threadScratch(scratchBytes);
    if (!scratch && scratchBytes)
      return noScratch;
    PrintScope scope(prints);
    if (!name)
      return kernel(pointers, integers, begin, end, scratch);
    tsr_trace_event event{};
    event.kind = TSR_TRACE_RANGE;
    event.kernel = name;
    event.begin = begin;
    event.end = end;
    event.start_ns = traceClock();
    int32_t code = kernel(pointers, integers, begin, end, scratch);
    event.end_ns = traceClock();
    reportTrace(event);
    return code;
  }

  static void member(void *self, int64_t begin, int64_t end) {
    auto &state = *static_cast<LaunchState *>(self);
    // Only the failure of the lowest program is reported: it doesn't depend on
    // the number of threads.
    if (begin > state.failedBegin.load(std::memory_order_relaxed))
      return;
    int32_t code = state.runRange(begin, end);
    if (code == 0)
      return;
    std::lock_guard lock(state.mutex);
    if (begin < state.failedBegin.load(std::memory_order_relaxed)) {
      state.failedBegin.store(begin, std::memory_order_relaxed);
      state.code = code;
    }
  }
};
} // namespace

tsr_status Run::kernelError(const Step &step, int32_t kernel,
                            int32_t code) const {
  const std::string &name = plan.kernels[static_cast<size_t>(kernel)];
  if (code == LaunchState::noScratch)
    return stepError(step, TSR_OUT_OF_MEMORY,
                     "no scratch memory for kernel " + name);
  if (code < 1 || static_cast<size_t>(code) > plan.messages.size())
    return stepError(step, TSR_INTERNAL,
                     "kernel " + name + " returned " + std::to_string(code) +
                         ", which is no message of the plan");
  return makeError(TSR_CHECK_FAILED,
                   renderMessage(plan,
                                 plan.messages[static_cast<size_t>(code - 1)],
                                 inputs()));
}

int64_t Run::operandBytes(const Launch &launch) const {
  int64_t bytes = 0;
  const int32_t *operands = plan.operands.data() + launch.firstOperand;
  for (int32_t i = 0; i < launch.numOperands; ++i) {
    if (std::find(operands, operands + i, operands[i]) != operands + i ||
        !frame.pointers[operands[i]])
      continue;
    const Tensor &tensor = tensorAt(operands[i]);
    int64_t bits = dtypeInfo(tensor.dtype).bits;
    for (int32_t axis = 0; axis < tensor.rank; ++axis)
      if (stridesOf(tensor)[axis] != 0) // a broadcast axis has one element
        bits *= sizesOf(tensor)[axis];
    bytes += bits / 8;
  }
  return bytes;
}

tsr_status Run::launchOnCpu(const Step &step, const Launch &launch) {
  int64_t grid, scratch, threads = std::numeric_limits<int32_t>::max();
  int64_t work = -1;
  ExprError error = eval(launch.grid, grid);
  if (error == ExprError::None)
    error = eval(launch.scratch, scratch);
  if (error == ExprError::None && launch.hasThreads)
    error = eval(launch.threads, threads);
  // The guess of the work may overflow for sizes whose product does.
  if (launch.hasWork && eval(launch.work, work) != ExprError::None)
    work = -1;
  int64_t *integers = frame.launchIntegers;
  for (int32_t i = 0; i < launch.numOperands; ++i) {
    int32_t index = plan.operands[static_cast<size_t>(launch.firstOperand + i)];
    const Tensor &tensor = tensorAt(index);
    frame.launchPointers[i] = frame.pointers[index];
    const int64_t *from = sizesOf(tensor);
    for (int32_t k = 0; k < 2 * tensor.rank; ++k)
      *integers++ = from[k];
  }
  for (int32_t i = 0; i < launch.numScalars && error == ExprError::None; ++i)
    error = eval(listed(launch.firstScalar + i), *integers++);
  if (error != ExprError::None)
    return arithmeticError(step, error);
  if (grid < 0 || scratch < 0)
    return stepError(step, TSR_INTERNAL, "a negative grid or scratch size");
  if (grid == 0)
    return nullptr;

  tsr_kernel_fn kernel;
  if (tsr_status status = executable.kernelAt(launch.kernel, kernel))
    return status;
  auto limit = static_cast<int32_t>(
      std::clamp<int64_t>(threads, 1, std::numeric_limits<int32_t>::max()));
  int32_t team = threadsFor(grid, limit, work);
  LaunchState state{kernel,
                    frame.launchPointers,
                    frame.launchIntegers,
                    static_cast<size_t>(scratch),
                    nullptr,
                    {},
                    {std::numeric_limits<int64_t>::max()},
                    0};
  tsr_trace_event event{};
  if (isTracing()) {
    state.name = plan.kernels[static_cast<size_t>(launch.kernel)].c_str();
    event.kind = TSR_TRACE_LAUNCH;
    event.kernel = state.name;
    event.end = grid;
    event.team = team;
    event.bytes = operandBytes(launch);
    event.start_ns = traceClock();
  }
  if (team == 1)
    state.code = state.runRange(0, grid);
  else
    parallelFor(grid, team, LaunchState::member, &state);
  if (state.name) {
    event.end_ns = traceClock();
    reportTrace(event);
  }
  state.prints.flush();
  return state.code ? kernelError(step, launch.kernel, state.code) : nullptr;
}

/// The kernel's parameters are the words of the frame, in the order of
/// docs/abi.md section 7; where they stand was computed with the frame.
tsr_status Run::launchOnCuda(const Step &step, const Launch &launch) {
  int64_t grid;
  ExprError error = eval(launch.grid, grid);
  int64_t *words = frame.launchIntegers;
  for (int32_t i = 0; i < launch.numOperands; ++i) {
    int32_t index = plan.operands[static_cast<size_t>(launch.firstOperand + i)];
    const Tensor &tensor = tensorAt(index);
    *words++ = static_cast<int64_t>(
        reinterpret_cast<uintptr_t>(frame.pointers[index]));
    const int64_t *from = sizesOf(tensor);
    for (int32_t k = 0; k < 2 * tensor.rank; ++k)
      *words++ = from[k];
  }
  for (int32_t i = 0; i < launch.numScalars && error == ExprError::None; ++i)
    error = eval(listed(launch.firstScalar + i), *words++);
  if (error != ExprError::None)
    return arithmeticError(step, error);
  if (grid < 0 || grid > std::numeric_limits<int32_t>::max())
    return stepError(step, TSR_INTERNAL,
                     "a grid of " + std::to_string(grid) + " blocks");
  if (grid == 0)
    return nullptr;
  if (launch.shared > cuda->sharedPerBlock)
    return makeError(TSR_UNSUPPORTED,
                     "kernel " +
                         plan.kernels[static_cast<size_t>(launch.kernel)] +
                         " needs " + std::to_string(launch.shared) +
                         " bytes of shared memory; " + cuda->name + " has " +
                         std::to_string(cuda->sharedPerBlock));
  ContextScope scope(*cuda);
  CudaResult code = scope.code;
  if (!code)
    code = module->launch(launch, static_cast<unsigned>(grid),
                          frame.launchParameters, stream);
  bool isLate = false;
  if (!code && (call.flags & TSR_CALL_SYNCHRONIZE)) {
    code = cuda->driver->streamSynchronize(stream);
    isLate = true;
  }
  if (!code)
    return nullptr;
  const std::string &name = plan.kernels[static_cast<size_t>(launch.kernel)];
  // Faults of kernels come with whichever call is next: 700 to 799.
  std::string note = !isLate && code >= 700 && code < 800
                         ? "; it may be of an earlier kernel, "
                           "TSR_CALL_SYNCHRONIZE (TESSERA_DEBUG=1) finds which"
                         : "";
  return makeError(
      code == cudaOutOfMemory ? TSR_OUT_OF_MEMORY : TSR_DEVICE_ERROR,
      plan.function + ", kernel " + name + " (" + std::to_string(grid) +
          " blocks of " + std::to_string(launch.block) + " threads) on " +
          cuda->name + ": " + cuda->driver->describe(code) + note);
}

tsr_status Run::launch(const Step &step) {
  const Launch &launch = plan.launches[static_cast<size_t>(step.a)];
  return cuda ? launchOnCuda(step, launch) : launchOnCpu(step, launch);
}

void Run::expose(int32_t index) {
  const CudaDriver &driver = *cuda->driver;
  const Tensor &tensor = tensorAt(index);
  BitInterval bits;
  if (!driver.simExpose ||
      !bitInterval({frame.pointers[index], tensor.dtype, tensor.rank,
                    sizesOf(tensor), stridesOf(tensor)},
                   bits) ||
      bits.isEmpty())
    return;
  auto low = static_cast<uint64_t>(bits.begin) / 8;
  auto high = (static_cast<uint64_t>(bits.end) + 7) / 8;
  driver.simExpose(low, high - low, tensor.name.c_str());
}

tsr_status Run::exposeArguments() {
  for (int32_t i = 0; i < plan.numArguments; ++i)
    if (!(isAbsent(i) && tensorAt(i).sizedInBody))
      expose(i);
  return nullptr;
}

} // namespace tessera::runtime
