// The C interface, where it is more than a function of one component.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/CpuFeatures.h"
#include "runtime/Executable.h"
#include "runtime/Status.h"

#include "tessera-c/device.h"
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <unordered_map>
#include <utility>

using namespace tessera::runtime;

struct tsr_plan {
  std::shared_ptr<const Plan> plan;
};

struct tsr_executable {
  Executable executable;
};

const char *tsr_dtype_name(int32_t dtype) {
  return isDtype(dtype) ? dtypeInfo(dtype).name : nullptr;
}

int32_t tsr_dtype_bits(int32_t dtype) {
  return isDtype(dtype) ? dtypeInfo(dtype).bits : 0;
}

tsr_status tsr_plan_parse(const char *text, size_t size, tsr_plan **plan) {
  if (tsr_status status =
          refuseNull("tsr_plan_parse", {{"text", text}, {"plan", plan}}))
    return status;
  *plan = nullptr;
  auto parsed = std::make_shared<Plan>();
  if (tsr_status status = parsePlan({text, size}, *parsed))
    return status;
  *plan = new (std::nothrow) tsr_plan{std::move(parsed)};
  return *plan ? nullptr : outOfMemory();
}

void tsr_plan_free(tsr_plan *plan) { delete plan; }

const char *tsr_plan_function(const tsr_plan *plan) {
  return plan ? plan->plan->function.c_str() : nullptr;
}

int32_t tsr_plan_num_tensors(const tsr_plan *plan) {
  return plan ? plan->plan->numArguments : 0;
}

static tsr_status noSuch(const char *what, int32_t index) {
  return makeError(TSR_INVALID_ARGUMENT, std::string("there is no ") + what +
                                             " " + std::to_string(index));
}

tsr_status tsr_plan_tensor(const tsr_plan *plan, int32_t index,
                           tsr_tensor_info *info) {
  if (tsr_status status =
          refuseNull("tsr_plan_tensor", {{"plan", plan}, {"info", info}}))
    return status;
  if (index < 0 || index >= plan->plan->numArguments)
    return noSuch("tensor", index);
  const Tensor &tensor = plan->plan->tensors[static_cast<size_t>(index)];
  tsr_tensor_info all{};
  all.struct_size = info->struct_size;
  all.name = tensor.name.c_str();
  all.dtype = tensor.dtype;
  all.rank = tensor.rank;
  all.mode = tensor.mode;
  all.may_be_absent = tensor.mayBeAbsent;
  std::memcpy(info, &all, std::min(info->struct_size, sizeof all));
  return nullptr;
}

int32_t tsr_plan_num_scalars(const tsr_plan *plan) {
  return plan ? static_cast<int32_t>(plan->plan->scalars.size()) : 0;
}

tsr_status tsr_plan_scalar(const tsr_plan *plan, int32_t index,
                           const char **name, int32_t *dtype) {
  if (tsr_status status =
          refuseNull("tsr_plan_scalar",
                     {{"plan", plan}, {"name", name}, {"dtype", dtype}}))
    return status;
  if (index < 0 || index >= tsr_plan_num_scalars(plan))
    return noSuch("scalar", index);
  const Scalar &scalar = plan->plan->scalars[static_cast<size_t>(index)];
  *name = scalar.name.c_str();
  *dtype = scalar.type == ScalarType::Int     ? TSR_I64
           : scalar.type == ScalarType::Float ? TSR_F64
                                              : TSR_BOOL;
  return nullptr;
}

int32_t tsr_plan_num_kernels(const tsr_plan *plan) {
  return plan ? static_cast<int32_t>(plan->plan->kernels.size()) : 0;
}

const char *tsr_plan_kernel(const tsr_plan *plan, int32_t index) {
  if (index < 0 || index >= tsr_plan_num_kernels(plan))
    return nullptr;
  return plan->plan->kernels[static_cast<size_t>(index)].c_str();
}

int64_t tsr_plan_scratch(const tsr_plan *plan) {
  int64_t most = 0;
  if (plan)
    for (const Launch &launch : plan->plan->launches)
      if (launch.scratch.kind == Expression::Kind::Constant)
        most = std::max(most, launch.scratch.value);
  return most;
}

static tsr_status checkFeatures(const Plan &plan) {
  if (!plan.chip.empty())
    return makeError(TSR_INVALID_ARGUMENT,
                     plan.function + " is compiled for " + plan.chip +
                         "; its kernels are images, not functions");
  for (const std::string &feature : plan.features)
    if (std::string missing = missingCpuFeature(feature); !missing.empty())
      return makeError(TSR_UNSUPPORTED,
                       plan.function + " can't run here: " + missing);
  return nullptr;
}

tsr_status tsr_executable_create_lazy(const tsr_plan *plan,
                                      tsr_resolve_fn resolve, void *context,
                                      tsr_executable **executable) {
  if (tsr_status status =
          refuseNull("tsr_executable_create_lazy",
                     {{"plan", plan}, {"executable", executable}}))
    return status;
  *executable = nullptr;
  if (!resolve)
    return refuseNull("tsr_executable_create_lazy", {{"resolve", nullptr}});
  if (tsr_status status = checkFeatures(*plan->plan))
    return status;
  *executable =
      new (std::nothrow) tsr_executable{{plan->plan, resolve, context}};
  return *executable ? nullptr : outOfMemory();
}

tsr_status tsr_executable_create(const tsr_plan *plan,
                                 const tsr_symbol *symbols, size_t num_symbols,
                                 tsr_executable **executable) {
  if (tsr_status status =
          refuseNull("tsr_executable_create",
                     {{"plan", plan}, {"executable", executable}}))
    return status;
  *executable = nullptr;
  if (tsr_status status = checkFeatures(*plan->plan))
    return status;
  std::unordered_map<std::string_view, tsr_kernel_fn> table;
  if (num_symbols && !symbols)
    return refuseNull("tsr_executable_create", {{"symbols", symbols}});
  for (size_t i = 0; i < num_symbols; ++i)
    if (symbols[i].name)
      table.emplace(symbols[i].name, symbols[i].function);
  std::vector<tsr_kernel_fn> kernels;
  for (const std::string &name : plan->plan->kernels) {
    auto it = table.find(name);
    if (it == table.end() || !it->second)
      return makeError(TSR_MISSING_SYMBOL, plan->plan->function +
                                               " needs the kernel " + name +
                                               ", which was not provided");
    kernels.push_back(it->second);
  }
  *executable = new (std::nothrow) tsr_executable{{plan->plan, kernels}};
  return *executable ? nullptr : outOfMemory();
}

tsr_status tsr_executable_create_cuda(const tsr_plan *plan,
                                      const tsr_image *images,
                                      size_t num_images,
                                      tsr_executable **executable) {
  if (tsr_status status =
          refuseNull("tsr_executable_create_cuda",
                     {{"plan", plan}, {"executable", executable}}))
    return status;
  *executable = nullptr;
  const Plan &parsed = *plan->plan;
  if (parsed.chip.empty())
    return makeError(TSR_INVALID_ARGUMENT,
                     parsed.function + " is compiled for the CPU");
  std::vector<CudaImage> copies;
  if (num_images && !images)
    return refuseNull("tsr_executable_create_cuda", {{"images", images}});
  for (size_t i = 0; i < num_images; ++i) {
    CudaImage image;
    if (tsr_status status = refuseNull("tsr_executable_create_cuda",
                                       {{"images[].arch", images[i].arch},
                                        {"images[].data", images[i].data}}))
      return status;
    if (!parseArch(images[i].arch, image.arch))
      return makeError(TSR_INVALID_ARGUMENT,
                       parsed.function + ": no architecture is called '" +
                           images[i].arch + "'");
    image.data.assign(static_cast<const char *>(images[i].data),
                      images[i].size);
    copies.push_back(std::move(image));
  }
  *executable =
      new (std::nothrow) tsr_executable{{plan->plan, std::move(copies)}};
  return *executable ? nullptr : outOfMemory();
}

tsr_status tsr_executable_load(const tsr_executable *executable,
                               tsr_device *device) {
  if (tsr_status status =
          refuseNull("tsr_executable_load",
                     {{"executable", executable}, {"device", device}}))
    return status;
  const CudaModule *module;
  return executable->executable.moduleFor(device->cuda, module);
}

void tsr_executable_free(tsr_executable *executable) { delete executable; }

tsr_status tsr_executable_run(const tsr_executable *executable,
                              const tsr_call *call) {
  if (tsr_status status = refuseNull(
          "tsr_executable_run", {{"executable", executable}, {"call", call}}))
    return status;
  if (call->struct_size < offsetof(tsr_call, device))
    return makeError(TSR_INVALID_ARGUMENT,
                     "tsr_call.struct_size is not set to sizeof(tsr_call)");
  return executable->executable.run(*call);
}
