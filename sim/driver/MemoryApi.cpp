// Allocation, copies, fills, pointer queries.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/driver/Api.h"
#include <cstring>

using namespace tessera::sim;
using namespace tessera::sim::driver;

namespace {

int allocate(DevicePtr *out, size_t bytes, Allocation::Kind kind,
             const char *name) {
  LOCKED;
  if (!bytes) {
    *out = 0;
    return InvalidValue;
  }
  State &s = state();
  if (s.device.memory.bytesInUse() + bytes > s.totalMemory)
    return OutOfMemory;
  *out = s.device.memory.allocate(bytes, kind, name);
  return *out ? Success : OutOfMemory;
}

int release(DevicePtr p) {
  LOCKED;
  if (!p)
    return Success;
  return state().device.memory.release(p) ? Success : InvalidValue;
}

/// Copies, and tells the checker that the bytes are initialised.
int copy(void *stream, DevicePtr to, DevicePtr from, size_t bytes) {
  return enqueue(streamOf(stream), 1, [=] {
    Memory &memory = state().device.memory;
    Allocation *target = memory.find(to);
    if (target && (target->freed || to - target->base + bytes > target->size))
      return problem(InvalidValue, "copy of " + std::to_string(bytes) +
                                       " bytes does not fit into '" +
                                       target->name + "'");
    Allocation *source = memory.find(from);
    if (source && (source->freed || from - source->base + bytes > source->size))
      return problem(InvalidValue, "copy of " + std::to_string(bytes) +
                                       " bytes reads beyond '" + source->name +
                                       "'");
    std::memmove(reinterpret_cast<void *>(to),
                 reinterpret_cast<const void *>(from), bytes);
    memory.copyInitialised(to, from, bytes);
    return int(Success);
  });
}

template <class T> int fill(void *stream, DevicePtr to, T value, size_t count) {
  return enqueue(streamOf(stream), 2, [=] {
    Memory &memory = state().device.memory;
    Allocation *target = memory.find(to);
    if (!target || target->freed ||
        to - target->base + count * sizeof(T) > target->size)
      return int(InvalidValue);
    T *p = reinterpret_cast<T *>(to);
    for (size_t k = 0; k < count; ++k)
      p[k] = value;
    memory.markInitialised(to, count * sizeof(T));
    return int(Success);
  });
}

struct Copy2D {
  size_t srcX, srcY;
  int srcType;
  const void *srcHost;
  DevicePtr srcDevice;
  void *srcArray;
  size_t srcPitch;
  size_t dstX, dstY;
  int dstType;
  void *dstHost;
  DevicePtr dstDevice;
  void *dstArray;
  size_t dstPitch;
  size_t width, height;
};

int copy2D(const Copy2D *c, void *stream) {
  if (c->srcType == 3 || c->dstType == 3)
    return problem(NotSupported, "CUDA arrays are not supported");
  DevicePtr from =
      c->srcType == 1 ? reinterpret_cast<DevicePtr>(c->srcHost) : c->srcDevice;
  DevicePtr to =
      c->dstType == 1 ? reinterpret_cast<DevicePtr>(c->dstHost) : c->dstDevice;
  size_t sourcePitch = c->srcPitch ? c->srcPitch : c->width;
  size_t targetPitch = c->dstPitch ? c->dstPitch : c->width;
  for (size_t row = 0; row < c->height; ++row) {
    int r = copy(stream, to + (c->dstY + row) * targetPitch + c->dstX,
                 from + (c->srcY + row) * sourcePitch + c->srcX, c->width);
    if (r)
      return r;
  }
  return Success;
}

} // namespace

CU cuMemAlloc_v2(DevicePtr *p, size_t n) {
  LOCKED;
  return allocate(p, n, Allocation::Device, "device memory");
}
CU cuMemFree_v2(DevicePtr p) { return release(p); }
CU cuMemAllocPitch_v2(DevicePtr *p, size_t *pitch, size_t width, size_t height,
                      unsigned) {
  LOCKED;
  *pitch = (width + 511) / 512 * 512;
  return allocate(p, *pitch * height, Allocation::Device, "pitched memory");
}
CU cuMemAllocHost_v2(void **p, size_t n) {
  LOCKED;
  return allocate(reinterpret_cast<DevicePtr *>(p), n, Allocation::Host,
                  "pinned memory");
}
CU cuMemHostAlloc(void **p, size_t n, unsigned) {
  LOCKED;
  return cuMemAllocHost_v2(p, n);
}
CU cuMemFreeHost(void *p) { return release(reinterpret_cast<DevicePtr>(p)); }
CU cuMemHostGetDevicePointer_v2(DevicePtr *d, void *h, unsigned) {
  LOCKED;
  *d = reinterpret_cast<DevicePtr>(h);
  return state().device.memory.find(*d) ? Success : InvalidValue;
}
CU cuMemHostGetFlags(unsigned *flags, void *) {
  LOCKED;
  *flags = 2;
  return Success;
}
CU cuMemHostRegister_v2(void *p, size_t n, unsigned) {
  LOCKED;
  state().device.memory.expose(reinterpret_cast<DevicePtr>(p), n,
                               "registered host memory");
  return Success;
}
CU cuMemHostUnregister(void *p) {
  LOCKED;
  state().device.memory.unexpose(reinterpret_cast<DevicePtr>(p));
  return Success;
}
CU cuMemAllocManaged(DevicePtr *p, size_t n, unsigned) {
  LOCKED;
  return allocate(p, n, Allocation::Managed, "managed memory");
}
CU cuMemAllocAsync(DevicePtr *p, size_t n, void *) {
  LOCKED;
  return allocate(p, n, Allocation::Device, "pool memory");
}
CU cuMemAllocFromPoolAsync(DevicePtr *p, size_t n, void *, void *) {
  LOCKED;
  return allocate(p, n, Allocation::Device, "pool memory");
}
CU cuMemFreeAsync(DevicePtr p, void *stream) {
  LOCKED;
  return enqueue(streamOf(stream), 11, [p] { return release(p); });
}
CU cuMemGetInfo_v2(size_t *free, size_t *total) {
  LOCKED;
  *total = state().totalMemory;
  *free = *total - state().device.memory.bytesInUse();
  return Success;
}
CU cuMemGetAddressRange_v2(DevicePtr *base, size_t *size, DevicePtr p) {
  LOCKED;
  Allocation *a = state().device.memory.find(p);
  if (!a || a->freed)
    return InvalidValue;
  if (base)
    *base = a->base;
  if (size)
    *size = a->size;
  return Success;
}
CU cuMemPrefetchAsync_v2(DevicePtr, size_t, uint64_t, unsigned, void *) {
  LOCKED;
  return Success;
}
CU cuMemAdvise_v2(DevicePtr, size_t, int, uint64_t) { return Success; }

namespace {
int pool; // one pool; its address is the handle
}
CU cuDeviceGetDefaultMemPool(void **p, int) {
  LOCKED;
  *p = &pool;
  return Success;
}
CU cuDeviceGetMemPool(void **p, int) {
  LOCKED;
  *p = &pool;
  return Success;
}
CU cuDeviceSetMemPool(int, void *) { return Success; }
CU cuMemPoolCreate(void **p, const void *) {
  LOCKED;
  *p = &pool;
  return Success;
}
CU cuMemPoolDestroy(void *) { return Success; }
CU cuMemPoolTrimTo(void *, size_t) { return Success; }
CU cuMemPoolSetAttribute(void *, int, void *) { return Success; }
CU cuMemPoolGetAttribute(void *, int, void *value) {
  LOCKED;
  std::memset(value, 0, 8);
  return Success;
}

CU cuMemcpy(DevicePtr to, DevicePtr from, size_t n) {
  LOCKED;
  return copy(nullptr, to, from, n);
}
CU cuMemcpyAsync(DevicePtr to, DevicePtr from, size_t n, void *s) {
  LOCKED;
  return copy(s, to, from, n);
}
CU cuMemcpyHtoD_v2(DevicePtr to, const void *from, size_t n) {
  LOCKED;
  return copy(nullptr, to, reinterpret_cast<DevicePtr>(from), n);
}
CU cuMemcpyDtoH_v2(void *to, DevicePtr from, size_t n) {
  LOCKED;
  return copy(nullptr, reinterpret_cast<DevicePtr>(to), from, n);
}
CU cuMemcpyDtoD_v2(DevicePtr to, DevicePtr from, size_t n) {
  LOCKED;
  return copy(nullptr, to, from, n);
}
CU cuMemcpyHtoDAsync_v2(DevicePtr to, const void *from, size_t n, void *s) {
  LOCKED;
  return copy(s, to, reinterpret_cast<DevicePtr>(from), n);
}
CU cuMemcpyDtoHAsync_v2(void *to, DevicePtr from, size_t n, void *s) {
  LOCKED;
  return copy(s, reinterpret_cast<DevicePtr>(to), from, n);
}
CU cuMemcpyDtoDAsync_v2(DevicePtr to, DevicePtr from, size_t n, void *s) {
  LOCKED;
  return copy(s, to, from, n);
}
CU cuMemcpy2D_v2(const void *c) {
  LOCKED;
  return copy2D(static_cast<const Copy2D *>(c), nullptr);
}
CU cuMemcpy2DUnaligned_v2(const void *c) { return cuMemcpy2D_v2(c); }
CU cuMemcpy2DAsync_v2(const void *c, void *s) {
  LOCKED;
  return copy2D(static_cast<const Copy2D *>(c), s);
}

CU cuMemsetD8_v2(DevicePtr p, unsigned char v, size_t n) {
  LOCKED;
  return fill(nullptr, p, v, n);
}
CU cuMemsetD16_v2(DevicePtr p, unsigned short v, size_t n) {
  LOCKED;
  return fill(nullptr, p, v, n);
}
CU cuMemsetD32_v2(DevicePtr p, unsigned v, size_t n) {
  LOCKED;
  return fill(nullptr, p, v, n);
}
CU cuMemsetD8Async(DevicePtr p, unsigned char v, size_t n, void *s) {
  LOCKED;
  return fill(s, p, v, n);
}
CU cuMemsetD16Async(DevicePtr p, unsigned short v, size_t n, void *s) {
  LOCKED;
  return fill(s, p, v, n);
}
CU cuMemsetD32Async(DevicePtr p, unsigned v, size_t n, void *s) {
  LOCKED;
  return fill(s, p, v, n);
}
CU cuMemsetD2D8Async(DevicePtr p, size_t pitch, unsigned char v, size_t width,
                     size_t height, void *s) {
  LOCKED;
  for (size_t row = 0; row < height; ++row)
    if (int r = fill(s, p + row * pitch, v, width))
      return r;
  return Success;
}
CU cuMemsetD2D8_v2(DevicePtr p, size_t pitch, unsigned char v, size_t width,
                   size_t height) {
  LOCKED;
  return cuMemsetD2D8Async(p, pitch, v, width, height, nullptr);
}

CU cuPointerGetAttribute(void *out, int attribute, DevicePtr p) {
  LOCKED;
  Allocation *a = state().device.memory.find(p);
  switch (attribute) {
  case 2: // memory type: 1 host, 2 device
    if (!a || a->freed)
      return InvalidValue;
    *static_cast<unsigned *>(out) = a->kind == Allocation::Host ? 1 : 2;
    return Success;
  case 3: // device pointer; host memory is visible to kernels as it is
    *static_cast<DevicePtr *>(out) = p;
    return Success;
  case 4:
    *static_cast<DevicePtr *>(out) = p;
    return Success;
  case 8: // managed
    *static_cast<unsigned *>(out) = a && a->kind == Allocation::Managed;
    return a ? Success : InvalidValue;
  case 9: // device ordinal
    *static_cast<int *>(out) = 0;
    return a ? Success : InvalidValue;
  case 11:
    *static_cast<DevicePtr *>(out) = a ? a->base : 0;
    return a ? Success : InvalidValue;
  case 12:
    *static_cast<size_t *>(out) = a ? a->size : 0;
    return a ? Success : InvalidValue;
  default:
    return a ? NotSupported : InvalidValue;
  }
}
CU cuPointerGetAttributes(unsigned count, int *attributes, void **out,
                          DevicePtr p) {
  LOCKED;
  for (unsigned k = 0; k < count; ++k)
    cuPointerGetAttribute(out[k], attributes[k], p);
  return Success;
}
