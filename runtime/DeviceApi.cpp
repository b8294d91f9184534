// The C interface of devices.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/CudaModule.h"
#include "runtime/Status.h"

#include "tessera-c/device.h"
#include <algorithm>
#include <cstring>

using namespace tessera::runtime;

/// Calls `body(driver)` with the device's context; an error begins with `what`.
template <typename Body>
static tsr_status inContext(const tsr_device *device, const char *what,
                            Body body) {
  if (tsr_status status = refuseNull(what, {{"device", device}}))
    return status;
  ContextScope scope(device->cuda);
  const CudaDriver &driver = *device->cuda.driver;
  CudaResult code = scope.code ? scope.code : body(driver);
  return code ? driver.error(code, what + (" on " + device->cuda.name))
              : nullptr;
}

tsr_status tsr_cuda_device(const char *driver, int32_t ordinal,
                           tsr_device **device) {
  if (tsr_status status = refuseNull("tsr_cuda_device", {{"device", device}}))
    return status;
  *device = nullptr;
  return findCudaDevice(driver, ordinal, *device);
}

tsr_status tsr_cuda_device_count(const char *path, int32_t *count) {
  if (tsr_status status =
          refuseNull("tsr_cuda_device_count", {{"count", count}}))
    return status;
  *count = 0;
  const CudaDriver *driver = nullptr;
  if (tsr_status status = loadCudaDriver(path, driver))
    return status;
  CudaResult code = driver->deviceGetCount(count);
  return code ? driver->error(code, "counting GPUs") : nullptr;
}

tsr_status tsr_cuda_device_of(const char *path, const void *pointer,
                              tsr_device **device) {
  if (tsr_status status =
          refuseNull("tsr_cuda_device_of", {{"device", device}}))
    return status;
  *device = nullptr;
  const CudaDriver *driver = nullptr;
  if (tsr_status status = loadCudaDriver(path, driver))
    return status;
  int ordinal = 0;
  constexpr int deviceOrdinal = 9; // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
  if (CudaResult code = driver->pointerGetAttribute(
          &ordinal, deviceOrdinal, reinterpret_cast<CudaPointer>(pointer)))
    return driver->error(code, "asking whose memory an array is in");
  return tsr_cuda_device(path, ordinal, device);
}

tsr_status tsr_device_get_info(const tsr_device *device,
                               tsr_device_info *info) {
  if (tsr_status status = refuseNull("tsr_device_get_info",
                                     {{"device", device}, {"info", info}}))
    return status;
  const CudaDevice &cuda = device->cuda;
  tsr_device_info all{};
  all.struct_size = info->struct_size;
  all.name = cuda.name.c_str();
  all.driver = cuda.driver->path.c_str();
  all.ordinal = cuda.ordinal;
  all.major = cuda.arch.major;
  all.minor = cuda.arch.minor;
  all.driver_version = cuda.driver->version;
  all.multiprocessors = cuda.multiprocessors;
  all.shared_per_block = cuda.sharedPerBlock;
  all.total_memory = cuda.totalMemory;
  std::memcpy(info, &all, std::min(info->struct_size, sizeof all));
  return nullptr;
}

tsr_status tsr_device_allocate(tsr_device *device, size_t bytes, void *stream,
                               void **memory) {
  if (tsr_status status = refuseNull("tsr_device_allocate",
                                     {{"device", device}, {"memory", memory}}))
    return status;
  return device->cuda.allocate(bytes, stream, *memory);
}

void tsr_device_deallocate(tsr_device *device, void *memory, void *stream) {
  if (device)
    device->cuda.deallocate(memory, stream);
}

tsr_status tsr_device_copy(tsr_device *device, void *to, const void *from,
                           size_t bytes, void *stream) {
  if (tsr_status status = refuseNull("tsr_device_copy", {{"device", device}}))
    return status;
  return device->cuda.copy(to, from, bytes, stream);
}

tsr_status tsr_device_get_memory_stats(const tsr_device *device,
                                       tsr_memory_stats *stats) {
  if (tsr_status status = refuseNull("tsr_device_get_memory_stats",
                                     {{"device", device}, {"stats", stats}}))
    return status;
  tsr_memory_stats all = device->cuda.memoryStats();
  all.struct_size = stats->struct_size;
  std::memcpy(stats, &all, std::min(stats->struct_size, sizeof all));
  return nullptr;
}

tsr_status tsr_device_release_cached_memory(tsr_device *device) {
  if (tsr_status status =
          refuseNull("tsr_device_release_cached_memory", {{"device", device}}))
    return status;
  return device->cuda.releaseCached();
}

void tsr_device_set_memory_cache_limit(tsr_device *device, uint64_t bytes) {
  if (device)
    device->cuda.setCacheLimit(bytes);
}

tsr_status tsr_stream_create(tsr_device *device, void **stream) {
  if (tsr_status status = refuseNull("tsr_stream_create",
                                     {{"device", device}, {"stream", stream}}))
    return status;
  *stream = nullptr;
  return inContext(device, "making a stream", [&](const CudaDriver &driver) {
    return driver.streamCreate(stream, 1); // does not wait for the default one
  });
}

void tsr_stream_destroy(tsr_device *device, void *stream) {
  tsr_status_free(
      inContext(device, "ending a stream", [&](const CudaDriver &driver) {
        return driver.streamDestroy(stream);
      }));
}

tsr_status tsr_stream_synchronize(tsr_device *device, void *stream) {
  if (tsr_status status = inContext(device, "waiting for a stream",
                                    [&](const CudaDriver &driver) {
                                      return driver.streamSynchronize(stream);
                                    }))
    return status;
  return device->cuda.expected.look(device->cuda, true, stream);
}

tsr_status tsr_stream_wait(tsr_device *device, void *stream, void *event) {
  return inContext(device, "waiting for an event",
                   [&](const CudaDriver &driver) {
                     return driver.streamWaitEvent(stream, event, 0);
                   });
}

tsr_status tsr_event_create(tsr_device *device, void **event) {
  if (tsr_status status = refuseNull("tsr_event_create",
                                     {{"device", device}, {"event", event}}))
    return status;
  *event = nullptr;
  return inContext(device, "making an event", [&](const CudaDriver &driver) {
    return driver.eventCreate(event, 0);
  });
}

void tsr_event_destroy(tsr_device *device, void *event) {
  tsr_status_free(
      inContext(device, "ending an event", [&](const CudaDriver &driver) {
        return driver.eventDestroy(event);
      }));
}

tsr_status tsr_event_record(tsr_device *device, void *event, void *stream) {
  return inContext(device, "recording an event", [&](const CudaDriver &driver) {
    return driver.eventRecord(event, stream);
  });
}

tsr_status tsr_event_synchronize(tsr_device *device, void *event) {
  if (tsr_status status = inContext(device, "waiting for an event",
                                    [&](const CudaDriver &driver) {
                                      return driver.eventSynchronize(event);
                                    }))
    return status;
  return device->cuda.expected.look(device->cuda, false);
}

tsr_status tsr_event_elapsed(tsr_device *device, void *start, void *end,
                             float *milliseconds) {
  if (tsr_status status =
          refuseNull("tsr_event_elapsed",
                     {{"device", device}, {"milliseconds", milliseconds}}))
    return status;
  return inContext(device, "timing", [&](const CudaDriver &driver) {
    return driver.eventElapsedTime(milliseconds, start, end);
  });
}

tsr_status tsr_images_fit(const tsr_image *images, size_t num_images,
                          const tsr_device *device) {
  if (tsr_status status = refuseNull("tsr_images_fit", {{"device", device}}))
    return status;
  for (size_t i = 0; images && i < num_images; ++i) {
    if (!images[i].arch || !images[i].data)
      continue;
    CudaArch arch;
    bool isCubin = images[i].size >= 4 && !std::memcmp(images[i].data,
                                                       "\x7f"
                                                       "ELF",
                                                       4);
    if (parseArch(images[i].arch, arch) &&
        fits(arch, isCubin, device->cuda.arch))
      return nullptr;
  }
  return makeError(TSR_UNSUPPORTED, "no kernels for " + device->cuda.name +
                                        " (" + device->cuda.arch.text() + ")");
}
