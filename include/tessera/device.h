// C++17 interface of GPUs: a thin layer over tessera-c/device.h.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   tessera::Device gpu;
//   tessera::Status st = tessera::Device::cuda(0, gpu);
//   tessera::DeviceMemory a;
//   if (st) st = gpu.allocate(bytes, a);
//   if (st) st = gpu.copy(a.data(), host, bytes);
//   if (st) st = kernels::gemm({view(a), view(b), view(c)}, gpu.handle());
//   if (st) st = gpu.copy(host, c.data(), bytes);
//   if (st) st = gpu.synchronize();
//
// Needs neither exceptions nor RTTI.
#ifndef TESSERA_DEVICE_H
#define TESSERA_DEVICE_H

#include "tessera/runtime.h"

#include "tessera-c/device.h"

namespace tessera {

/// Memory of a GPU; given back to its pool when the object dies.
class DeviceMemory {
public:
  DeviceMemory() = default;
  DeviceMemory(DeviceMemory &&other) noexcept { swap(other); }
  DeviceMemory &operator=(DeviceMemory &&other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceMemory() {
    if (memory)
      tsr_device_deallocate(owner, memory, stream);
  }

  void *data() const { return memory; }
  template <typename T> T *as() const { return static_cast<T *>(memory); }

private:
  friend class Device;
  void swap(DeviceMemory &other) {
    std::swap(owner, other.owner);
    std::swap(memory, other.memory);
    std::swap(stream, other.stream);
  }

  tsr_device *owner = nullptr;
  void *memory = nullptr;
  void *stream = nullptr;
};

/// A GPU. Copies are handles of the same one.
class Device {
public:
  /// `driver` null: $TESSERA_CUDA_DRIVER, else libcuda.so.1.
  static Status cuda(int32_t ordinal, Device &device,
                     const char *driver = nullptr) {
    return Status(tsr_cuda_device(driver, ordinal, &device.raw));
  }

  tsr_device *handle() const { return raw; }
  explicit operator bool() const { return raw; }
  tsr_device_info info() const {
    tsr_device_info all{};
    all.struct_size = sizeof all;
    tsr_status_free(tsr_device_get_info(raw, &all));
    return all;
  }

  Status allocate(size_t bytes, DeviceMemory &memory,
                  void *stream = nullptr) const {
    DeviceMemory made;
    Status status(tsr_device_allocate(raw, bytes, stream, &made.memory));
    made.owner = raw;
    made.stream = stream;
    memory = std::move(made);
    return status;
  }
  /// Between host and GPU in any direction.
  Status copy(void *to, const void *from, size_t bytes,
              void *stream = nullptr) const {
    return Status(tsr_device_copy(raw, to, from, bytes, stream));
  }
  Status synchronize(void *stream = nullptr) const {
    return Status(tsr_stream_synchronize(raw, stream));
  }

private:
  tsr_device *raw = nullptr;
};

} // namespace tessera

#endif
