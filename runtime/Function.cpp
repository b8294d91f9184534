// Functions of libraries built ahead of time: choosing a version.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/Dispatch.h"
#include "runtime/Status.h"

#include "tessera-c/device.h"
#include <atomic>
#include <cstddef>
#include <string>

using namespace tessera::runtime;

/// The images of a version; none for one of the CPU.
static tsr_image_list imagesOf(const tsr_function &function, size_t index) {
  if (!function.images)
    return {};
  return function.images[index];
}

static bool holds(const tsr_guard &guard, const tsr_call &call) {
  return guard.argument >= call.num_tensors ||
         holds(guard, Argument::of(call.tensors[guard.argument]));
}

/// "Q is f32, but this library has f16".
static std::string complain(const tsr_guard &guard, const tsr_call &call,
                            const tsr_plan *plan) {
  tsr_tensor_info info{};
  info.struct_size = sizeof info;
  tsr_status_free(tsr_plan_tensor(plan, guard.argument, &info));
  const tsr_tensor &tensor = call.tensors[guard.argument];
  std::string name = info.name ? info.name : "?";
  if (guard.field == TSR_FIELD_TYPE) {
    const char *given = tsr_dtype_name(tensor.dtype);
    return name + " is " + (given ? given : "of no known dtype") +
           ", but this library has " +
           tsr_dtype_name(static_cast<int32_t>(guard.value));
  }
  bool size = guard.field == TSR_FIELD_SIZE;
  int64_t given = size ? tensor.sizes[guard.axis]
                       : strideOf(Argument::of(tensor), guard.axis);
  return (size ? "size " : "stride ") + std::to_string(guard.axis) + " of " +
         name + " is " + std::to_string(given) + ", but this library has " +
         std::to_string(size ? guard.value : 1);
}

/// The executable of a version, made at its first use.
static tsr_status prepare(const tsr_function &function, size_t index,
                          tsr_executable *&result) {
  std::atomic_ref<tsr_executable *> slot(function.executables[index]);
  result = slot.load(std::memory_order_acquire);
  if (result)
    return nullptr;
  const tsr_version &version = function.versions[index];
  tsr_plan *plan = nullptr;
  tsr_status status = tsr_plan_parse(version.plan, version.plan_size, &plan);
  tsr_image_list list = imagesOf(function, index);
  if (!status)
    status = list.num_images
                 ? tsr_executable_create_cuda(plan, list.images,
                                              list.num_images, &result)
                 : tsr_executable_create(plan, version.symbols,
                                         version.num_symbols, &result);
  tsr_plan_free(plan);
  if (status)
    return status;
  // Of two threads that made one, the first keeps it.
  tsr_executable *expected = nullptr;
  if (!slot.compare_exchange_strong(expected, result,
                                    std::memory_order_acq_rel)) {
    tsr_executable_free(result);
    result = expected;
  }
  return nullptr;
}

/// Why no version fits: what the one with the fewest broken guards asks for.
static tsr_status describeMisfit(const tsr_function &function,
                                 const tsr_call &call, bool onGpu) {
  size_t nearest = 0, fewest = SIZE_MAX;
  for (size_t i = 0; i < function.num_versions; ++i) {
    if ((imagesOf(function, i).num_images != 0) != onGpu)
      continue;
    size_t broken = 0;
    const tsr_version &version = function.versions[i];
    for (size_t g = 0; g < version.num_guards; ++g)
      broken += !holds(version.guards[g], call);
    if (broken < fewest) {
      fewest = broken;
      nearest = i;
    }
  }
  if (fewest == SIZE_MAX)
    return makeError(TSR_UNSUPPORTED,
                     std::string(function.name) + ": this library has no " +
                         (onGpu ? "kernels for GPUs"
                                : "code for the CPU; name a GPU in the call"));
  const tsr_version &version = function.versions[nearest];
  tsr_plan *plan = nullptr;
  if (tsr_status status =
          tsr_plan_parse(version.plan, version.plan_size, &plan))
    return status;
  std::string text = std::string(function.name) + ": ";
  const char *separator = "";
  for (size_t g = 0; g < version.num_guards; ++g) {
    if (holds(version.guards[g], call))
      continue;
    text += separator + complain(version.guards[g], call, plan);
    separator = "; ";
  }
  tsr_plan_free(plan);
  return makeError(TSR_INVALID_ARGUMENT, text);
}

tsr_status tsr_function_run(const tsr_function *function,
                            const tsr_call *call) {
  if (tsr_status status = refuseNull("tsr_function_run",
                                     {{"function", function}, {"call", call}}))
    return status;
  if (function->struct_size < sizeof(tsr_function) ||
      function->guard_format != TSR_GUARD_FORMAT)
    return makeError(TSR_UNSUPPORTED,
                     std::string(function->name) +
                         ": this library was built by another version of "
                         "Tessera; build it again");
  if (call->struct_size < offsetof(tsr_call, device))
    return makeError(TSR_INVALID_ARGUMENT,
                     "tsr_call.struct_size is not set to sizeof(tsr_call)");
  if (call->num_tensors > 0 && !call->tensors)
    return refuseNull("tsr_function_run", {{"call->tensors", call->tensors}});
  tsr_device *device =
      call->struct_size >= sizeof(tsr_call) ? call->device : nullptr;
  tsr_status unsupported = nullptr;
  for (size_t i = 0; i < function->num_versions; ++i) {
    const tsr_version &version = function->versions[i];
    tsr_image_list list = imagesOf(*function, i);
    bool fits = (list.num_images != 0) == (device != nullptr);
    for (size_t g = 0; fits && g < version.num_guards; ++g)
      fits = holds(version.guards[g], *call);
    if (!fits)
      continue;
    tsr_executable *executable = nullptr;
    tsr_status status = nullptr;
    if (device)
      status = tsr_images_fit(list.images, list.num_images, device);
    if (!status)
      status = prepare(*function, i, executable);
    if (!status) {
      tsr_status_free(unsupported);
      return tsr_executable_run(executable, call);
    }
    if (tsr_status_code(status) != TSR_UNSUPPORTED) {
      tsr_status_free(unsupported);
      return status;
    }
    tsr_status_free(unsupported);
    unsupported = status;
  }
  return unsupported ? unsupported
                     : describeMisfit(*function, *call, device != nullptr);
}
