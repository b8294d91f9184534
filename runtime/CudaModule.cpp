// The kernels of a plan on one GPU: choosing an image, loading it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/CudaModule.h"

#include "runtime/Status.h"

#include <algorithm>

namespace tessera::runtime {

bool fits(CudaArch image, bool isCubin, CudaArch device) {
  bool isSame = image.major == device.major && image.minor == device.minor;
  if (image.suffix == 'a')
    return isSame;
  bool isNewer = image.major == device.major && image.minor <= device.minor;
  if (image.suffix == 'f' || isCubin)
    return isNewer;
  return isNewer || image.major < device.major;
}

/// Best first: cubins before PTX, newer before older, special before general.
static std::vector<const CudaImage *>
candidates(const std::vector<CudaImage> &images, CudaArch device) {
  std::vector<const CudaImage *> found;
  for (const CudaImage &image : images)
    if (fits(image.arch, image.isCubin(), device))
      found.push_back(&image);
  std::sort(found.begin(), found.end(),
            [](const CudaImage *a, const CudaImage *b) {
              auto rank = [](const CudaImage &image) {
                return std::tuple(image.isCubin(), image.arch.major,
                                  image.arch.minor, image.arch.suffix != 0);
              };
              return rank(*a) > rank(*b);
            });
  return found;
}

CudaModule::~CudaModule() {
  ContextScope scope(device);
  if (module && !scope.code)
    device.driver->moduleUnload(module);
}

/// Errors that say "not this image", after which another may do: no binary for
/// the GPU, invalid image or PTX, an unsupported PTX version, JIT missing.
static bool isAboutImage(CudaResult code) {
  for (CudaResult known : {200, 209, 218, 221, 222, 223, 300})
    if (code == known)
      return true;
  return false;
}

tsr_status CudaModule::load(const Plan &plan,
                            const std::vector<CudaImage> &images,
                            CudaDevice &device,
                            std::unique_ptr<CudaModule> &out) {
  const CudaDriver &driver = *device.driver;
  std::string gpu = device.name + " (" + device.arch.text() + ")";
  std::vector<const CudaImage *> order = candidates(images, device.arch);
  if (order.empty()) {
    std::string have;
    for (const CudaImage &image : images)
      have += (have.empty() ? "" : ", ") + image.arch.text() +
              (image.isCubin() ? "" : " (PTX)");
    return makeError(TSR_UNSUPPORTED,
                     plan.function + " has no kernels for " + gpu +
                         "; it has " + (have.empty() ? "none at all" : have));
  }
  ContextScope scope(device);
  if (scope.code)
    return driver.error(scope.code, "using " + gpu);
  std::unique_ptr<CudaModule> made(new CudaModule(device));
  std::string refused;
  for (const CudaImage *image : order) {
    char log[2048] = {};
    int options[] = {5, 6}; // CU_JIT_ERROR_LOG_BUFFER, ..._SIZE_BYTES
    void *values[] = {log, reinterpret_cast<void *>(sizeof log - 1)};
    CudaResult code = driver.moduleLoadDataEx(
        &made->module, image->data.c_str(), 2, options, values);
    if (!code)
      break;
    made->module = nullptr;
    refused += (refused.empty() ? "" : "; ") + image->arch.text() +
               (image->isCubin() ? " cubin: " : " PTX: ") +
               driver.describe(code) + (*log ? std::string("\n") + log : "");
    if (!isAboutImage(code) || image == order.back())
      return makeError(code == cudaOutOfMemory ? TSR_OUT_OF_MEMORY
                                               : TSR_DEVICE_ERROR,
                       "loading the kernels of " + plan.function + " on " +
                           gpu + ": " + refused);
  }
  if (tsr_status status = made->bind(plan))
    return status;
  out = std::move(made);
  return nullptr;
}

tsr_status CudaModule::bind(const Plan &plan) {
  const CudaDriver &driver = *device.driver;
  functions.resize(plan.kernels.size());
  for (size_t i = 0; i < functions.size(); ++i) {
    CudaResult code = driver.moduleGetFunction(&functions[i], module,
                                               plan.kernels[i].c_str());
    if (code)
      return makeError(
          TSR_MISSING_SYMBOL,
          plan.function + " needs the kernel " + plan.kernels[i] +
              ", which its image does not have: " + driver.describe(code));
  }
  std::vector<int32_t> limits(functions.size(), staticShared);
  for (const Launch &launch : plan.launches) {
    auto index = static_cast<size_t>(launch.kernel);
    const std::string &name = plan.kernels[index];
    size_t offset, size;
    auto words = static_cast<size_t>(launch.numWords);
    if (driver.funcGetParamInfo &&
        (!driver.funcGetParamInfo(functions[index], words, &offset, &size) ||
         (words && driver.funcGetParamInfo(functions[index], words - 1, &offset,
                                           &size))))
      return makeError(TSR_INTERNAL, "kernel " + name + " does not take the " +
                                         std::to_string(words) +
                                         " parameters that the plan of " +
                                         plan.function + " gives it");
    if (launch.shared <= limits[index])
      continue;
    // A variant that the plan may never take: an error if it is launched.
    if (launch.shared > device.sharedPerBlock)
      continue;
    limits[index] = launch.shared;
    // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    if (CudaResult code =
            driver.funcSetAttribute(functions[index], 8, launch.shared))
      return driver.error(code, "giving kernel " + name + " " +
                                    std::to_string(launch.shared) +
                                    " bytes of shared memory");
  }
  return nullptr;
}

} // namespace tessera::runtime
