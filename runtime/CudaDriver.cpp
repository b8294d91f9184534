// Loads a CUDA driver library; its errors as texts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/CudaDriver.h"

#include "runtime/Status.h"

#include <cstdlib>
#include <dlfcn.h>
#include <map>
#include <memory>
#include <mutex>

namespace tessera::runtime {

std::string CudaDriver::describe(CudaResult code) const {
  const char *name = nullptr, *text = nullptr;
  if (getErrorName(code, &name) || !name)
    return "CUDA error " + std::to_string(code);
  std::string result = name;
  if (!getErrorString(code, &text) && text)
    result += std::string(" (") + text + ")";
  if (const char *more = simMessage ? simMessage() : nullptr; more && *more)
    result += std::string(": ") + more;
  return result;
}

tsr_status CudaDriver::error(CudaResult code, const std::string &what) const {
  return makeError(code == cudaOutOfMemory ? TSR_OUT_OF_MEMORY
                                           : TSR_DEVICE_ERROR,
                   what + ": " + describe(code));
}

static tsr_status noDriver(const std::string &why) {
  return makeError(TSR_UNSUPPORTED, "there is no CUDA driver: " + why);
}

static tsr_status open(const std::string &path, CudaDriver &driver) {
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *why = dlerror();
    return noDriver(why ? why : path + " can't be loaded");
  }
  const char *missing = nullptr;
  auto find = [&](auto &member, const char *name, bool isOptional) {
    void *address = dlsym(library, name);
    member =
        reinterpret_cast<std::remove_reference_t<decltype(member)>>(address);
    if (!address && !isOptional && !missing)
      missing = name;
  };
#define TESSERA_FIND(member, name, parameters)                                 \
  find(driver.member, #name, false);
  TESSERA_CUDA_FUNCTIONS(TESSERA_FIND)
#undef TESSERA_FIND
#define TESSERA_FIND(result, member, name, parameters)                         \
  find(driver.member, #name, true);
  TESSERA_CUDA_OPTIONAL_FUNCTIONS(TESSERA_FIND)
#undef TESSERA_FIND
  if (missing)
    return noDriver(path + " has no function " + missing +
                    "; CUDA 11.4 or newer is needed");
  driver.path = path;
  if (CudaResult code = driver.init(0))
    return noDriver(path + ": " + driver.describe(code));
  if (CudaResult code = driver.driverGetVersion(&driver.version))
    return noDriver(path + ": " + driver.describe(code));
  return nullptr;
}

tsr_status loadCudaDriver(const char *given, const CudaDriver *&driver) {
  const char *chosen = given;
  if (!chosen)
    chosen = std::getenv("TESSERA_CUDA_DRIVER");
  std::string path = chosen && *chosen ? chosen : "libcuda.so.1";
  // Drivers are never unloaded: their threads outlive everything.
  static auto &mutex = *new std::mutex;
  static auto &known = *new std::map<std::string, std::unique_ptr<CudaDriver>>;
  std::lock_guard lock(mutex);
  auto it = known.find(path);
  if (it == known.end()) {
    auto made = std::make_unique<CudaDriver>();
    // A failure is not remembered: a driver may be installed meanwhile.
    if (tsr_status status = open(path, *made))
      return status;
    it = known.emplace(path, std::move(made)).first;
  }
  driver = it->second.get();
  return nullptr;
}

} // namespace tessera::runtime
