// GPUs behind CUDA drivers: opening them, contexts, copies.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/CudaDevice.h"

#include "runtime/Status.h"

#include <charconv>
#include <memory>

namespace tessera::runtime {

std::string CudaArch::text() const {
  std::string result = "sm_" + std::to_string(major * 10 + minor);
  return suffix ? result + suffix : result;
}

bool parseArch(std::string_view text, CudaArch &arch) {
  if (text.substr(0, 3) != "sm_")
    return false;
  int number = 0;
  const char *end = text.data() + text.size();
  auto [rest, code] = std::from_chars(text.data() + 3, end, number);
  if (code != std::errc() || number < 10 || number > 999)
    return false;
  arch = {number / 10, number % 10, 0};
  if (rest != end && (*rest == 'a' || *rest == 'f'))
    arch.suffix = *rest++;
  return rest == end;
}

ContextScope::ContextScope(const CudaDevice &device) : driver(*device.driver) {
  void *current = nullptr;
  code = driver.ctxGetCurrent(&current);
  if (code || current == device.context)
    return;
  code = driver.ctxPushCurrent(device.context);
  isPushed = !code;
}

ContextScope::~ContextScope() {
  void *ignored;
  if (isPushed)
    driver.ctxPopCurrent(&ignored);
}

// Numbers of CUdevice_attribute.
static constexpr int attributeMultiprocessors = 16, attributeMajor = 75,
                     attributeMinor = 76, attributeSharedOptin = 97;

tsr_status CudaDevice::open(const CudaDriver &given, int32_t number) {
  driver = &given;
  ordinal = number;
  int handle = 0, count = 0;
  if (CudaResult code = driver->deviceGetCount(&count))
    return driver->error(code, "counting GPUs");
  if (number < 0 || number >= count)
    return makeError(TSR_UNSUPPORTED,
                     "there is no GPU " + std::to_string(number) + ": " +
                         driver->path + " has " + std::to_string(count));
  char text[256] = {};
  CudaResult code = driver->deviceGet(&handle, number);
  if (!code)
    code = driver->deviceGetName(text, sizeof text - 1, handle);
  if (!code)
    code = driver->deviceGetAttribute(&arch.major, attributeMajor, handle);
  if (!code)
    code = driver->deviceGetAttribute(&arch.minor, attributeMinor, handle);
  if (!code)
    code = driver->deviceGetAttribute(&multiprocessors,
                                      attributeMultiprocessors, handle);
  if (!code)
    code = driver->deviceGetAttribute(&sharedPerBlock, attributeSharedOptin,
                                      handle);
  size_t memory = 0;
  if (!code)
    code = driver->deviceTotalMem(&memory, handle);
  // The primary context is the one that PyTorch and the CUDA runtime use.
  if (!code)
    code = driver->primaryCtxRetain(&context, handle);
  if (code)
    return driver->error(code, "opening GPU " + std::to_string(number));
  name = text;
  totalMemory = memory;
  return nullptr;
}

tsr_status findCudaDevice(const char *driverPath, int32_t ordinal,
                          tsr_device *&device) {
  const CudaDriver *driver = nullptr;
  if (tsr_status status = loadCudaDriver(driverPath, driver))
    return status;
  static auto &mutex = *new std::mutex;
  static auto &known = *new std::vector<std::unique_ptr<tsr_device>>;
  std::lock_guard lock(mutex);
  for (const auto &entry : known)
    if (entry->cuda.driver == driver && entry->cuda.ordinal == ordinal) {
      device = entry.get();
      return nullptr;
    }
  if (known.size() == CudaDevice::maxDevices)
    return makeError(TSR_UNSUPPORTED, "more than 64 GPUs in one process");
  auto made = std::make_unique<tsr_device>();
  if (tsr_status status = made->cuda.open(*driver, ordinal))
    return status;
  made->cuda.index = static_cast<int32_t>(known.size());
  device = made.get();
  known.push_back(std::move(made));
  return nullptr;
}

static CudaPointer asPointer(const void *memory) {
  return reinterpret_cast<CudaPointer>(memory);
}

tsr_status CudaDevice::read(void *to, const void *from, size_t bytes,
                            void *stream) {
  ContextScope scope(*this);
  CudaResult code = scope.code;
  if (!code)
    code = driver->memcpyDtoHAsync(to, asPointer(from), bytes, stream);
  if (!code)
    code = driver->streamSynchronize(stream);
  return code ? driver->error(code, "reading from " + name)
              : expected.look(*this, true, stream);
}

tsr_status CudaDevice::copy(void *to, const void *from, size_t bytes,
                            void *stream) {
  if (!bytes)
    return nullptr;
  ContextScope scope(*this);
  CudaResult code = scope.code;
  if (!code)
    code = driver->memcpyAsync(asPointer(to), asPointer(from), bytes, stream);
  return code ? driver->error(code, "copying " + std::to_string(bytes) +
                                        " bytes on " + name)
              : nullptr;
}

} // namespace tessera::runtime
