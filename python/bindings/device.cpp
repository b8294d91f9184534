//===- device.cpp - GPUs, their memory, streams and events, for Python ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tessera-c/device.h"

#include "python/bindings/executable.h"
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

using namespace tessera;
namespace nb = nanobind;

namespace {

/// A GPU; lives as long as the process.
struct CudaDevice {
  tsr_device *handle = nullptr;
  tsr_device_info info{};
};

void *pointer(uintptr_t address) { return reinterpret_cast<void *>(address); }

/// Without the interpreter's lock: the driver may wait, or run a kernel.
template <typename Body> void call(Body body) {
  tsr_status status;
  {
    nb::gil_scoped_release release;
    status = body();
  }
  python::checkStatus(status);
}

CudaDevice *wrap(tsr_device *handle) {
  auto *device = new CudaDevice{handle, {}};
  device->info.struct_size = sizeof device->info;
  python::checkStatus(tsr_device_get_info(handle, &device->info));
  return device;
}

} // namespace

tsr_device *python::deviceOf(nb::handle device) {
  return device.is_none() ? nullptr : nb::cast<CudaDevice &>(device).handle;
}

/// What an object of another library is, by DLPack: (address, sizes, strides,
/// code, bits, ordinal, who keeps it alive). None if it is not on a GPU.
static nb::object viewByDLPack(nb::object object) {
  auto *array = new nb::ndarray<>(nb::cast<nb::ndarray<>>(object));
  nb::capsule owner(array, [](void *kept) noexcept {
    delete static_cast<nb::ndarray<> *>(kept);
  });
  if (array->device_type() != nb::device::cuda::value)
    return nb::none();
  nb::list sizes, strides;
  for (size_t axis = 0; axis < array->ndim(); ++axis) {
    sizes.append(array->shape(axis));
    strides.append(array->stride(axis));
  }
  return nb::make_tuple(reinterpret_cast<uintptr_t>(array->data()),
                        nb::tuple(sizes), nb::tuple(strides),
                        int(array->dtype().code), int(array->dtype().bits),
                        array->device_id(), owner);
}

static void bindMemory(nb::class_<CudaDevice> &device) {
  device
      .def("allocate",
           [](CudaDevice &device, size_t bytes, uintptr_t stream) {
             void *memory = nullptr;
             call([&] {
               return tsr_device_allocate(device.handle, bytes, pointer(stream),
                                          &memory);
             });
             return reinterpret_cast<uintptr_t>(memory);
           })
      .def("deallocate",
           [](CudaDevice &device, uintptr_t memory, uintptr_t stream) {
             tsr_device_deallocate(device.handle, pointer(memory),
                                   pointer(stream));
           })
      .def("copy",
           [](CudaDevice &device, uintptr_t to, uintptr_t from, size_t bytes,
              uintptr_t stream) {
             call([&] {
               return tsr_device_copy(device.handle, pointer(to), pointer(from),
                                      bytes, pointer(stream));
             });
           })
      .def("release_cached_memory",
           [](CudaDevice &device) {
             call([&] {
               return tsr_device_release_cached_memory(device.handle);
             });
           })
      .def("set_memory_cache_limit",
           [](CudaDevice &device, uint64_t bytes) {
             tsr_device_set_memory_cache_limit(device.handle, bytes);
           })
      .def_prop_ro("memory_stats", [](CudaDevice &device) {
        tsr_memory_stats stats{};
        stats.struct_size = sizeof stats;
        python::checkStatus(tsr_device_get_memory_stats(device.handle, &stats));
        nb::dict all;
        all["bytes_in_use"] = stats.bytes_in_use;
        all["peak_bytes_in_use"] = stats.peak_bytes_in_use;
        all["bytes_cached"] = stats.bytes_cached;
        all["allocations"] = stats.allocations;
        all["pool_hits"] = stats.pool_hits;
        return all;
      });
}

static void bindStreams(nb::class_<CudaDevice> &device) {
  device
      .def("create_stream",
           [](CudaDevice &device) {
             void *stream = nullptr;
             call([&] { return tsr_stream_create(device.handle, &stream); });
             return reinterpret_cast<uintptr_t>(stream);
           })
      .def("destroy_stream",
           [](CudaDevice &device, uintptr_t stream) {
             tsr_stream_destroy(device.handle, pointer(stream));
           })
      .def("synchronize",
           [](CudaDevice &device, uintptr_t stream) {
             call([&] {
               return tsr_stream_synchronize(device.handle, pointer(stream));
             });
           })
      .def("create_event",
           [](CudaDevice &device) {
             void *event = nullptr;
             call([&] { return tsr_event_create(device.handle, &event); });
             return reinterpret_cast<uintptr_t>(event);
           })
      .def("destroy_event",
           [](CudaDevice &device, uintptr_t event) {
             tsr_event_destroy(device.handle, pointer(event));
           })
      .def("record",
           [](CudaDevice &device, uintptr_t event, uintptr_t stream) {
             call([&] {
               return tsr_event_record(device.handle, pointer(event),
                                       pointer(stream));
             });
           })
      .def("wait",
           [](CudaDevice &device, uintptr_t stream, uintptr_t event) {
             call([&] {
               return tsr_stream_wait(device.handle, pointer(stream),
                                      pointer(event));
             });
           })
      .def("elapsed", [](CudaDevice &device, uintptr_t start, uintptr_t end) {
        float milliseconds = 0;
        call([&] {
          tsr_status status =
              tsr_event_synchronize(device.handle, pointer(end));
          return status ? status
                        : tsr_event_elapsed(device.handle, pointer(start),
                                            pointer(end), &milliseconds);
        });
        return milliseconds;
      });
}

void python::bindDevices(nb::module_ &module) {
  nb::class_<CudaDevice> device(module, "CudaDevice",
                                "A GPU behind a CUDA driver library.");
  device
      .def(
          "__eq__",
          [](CudaDevice &a, nb::handle b) {
            return nb::isinstance<CudaDevice>(b) &&
                   nb::cast<CudaDevice &>(b).handle == a.handle;
          },
          nb::arg("other").none())
      .def("__hash__",
           [](CudaDevice &a) {
             return static_cast<Py_ssize_t>(
                 reinterpret_cast<uintptr_t>(a.handle) >> 4);
           })
      .def_prop_ro("name", [](CudaDevice &d) { return d.info.name; })
      .def_prop_ro("driver", [](CudaDevice &d) { return d.info.driver; })
      .def_prop_ro("ordinal", [](CudaDevice &d) { return d.info.ordinal; })
      .def_prop_ro("capability",
                   [](CudaDevice &d) {
                     return nb::make_tuple(d.info.major, d.info.minor);
                   })
      .def_prop_ro("driver_version",
                   [](CudaDevice &d) { return d.info.driver_version; })
      .def_prop_ro("multiprocessors",
                   [](CudaDevice &d) { return d.info.multiprocessors; })
      .def_prop_ro("shared_per_block",
                   [](CudaDevice &d) { return d.info.shared_per_block; })
      .def_prop_ro("total_memory",
                   [](CudaDevice &d) { return d.info.total_memory; });
  bindMemory(device);
  bindStreams(device);
  module.def(
      "cuda_device",
      [](std::optional<std::string> driver, int32_t ordinal) {
        tsr_device *handle = nullptr;
        call([&] {
          return tsr_cuda_device(driver ? driver->c_str() : nullptr, ordinal,
                                 &handle);
        });
        return wrap(handle);
      },
      nb::arg("driver").none(), nb::arg("ordinal"),
      nb::rv_policy::take_ownership,
      "GPU `ordinal` of a driver library; None: $TESSERA_CUDA_DRIVER or "
      "libcuda.so.1.");
  module.def(
      "cuda_device_count",
      [](std::optional<std::string> driver) {
        int32_t count = 0;
        call([&] {
          return tsr_cuda_device_count(driver ? driver->c_str() : nullptr,
                                       &count);
        });
        return count;
      },
      nb::arg("driver").none());
  module.def("dlpack_view", viewByDLPack);
  module.def(
      "cuda_device_of",
      [](uintptr_t address) {
        tsr_device *handle = nullptr;
        call([&] {
          return tsr_cuda_device_of(nullptr, pointer(address), &handle);
        });
        return wrap(handle);
      },
      nb::rv_policy::take_ownership,
      "The GPU whose memory this address is in.");
}
