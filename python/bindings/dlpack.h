//===- dlpack.h - The part of DLPack 1.x that calls need --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The structures of the C exchange API (https://dmlc.github.io/dlpack), whose
// layout is fixed for major version 1.

#ifndef TESSERA_PYTHON_BINDINGS_DLPACK_H
#define TESSERA_PYTHON_BINDINGS_DLPACK_H

#include <cstdint>

namespace tessera::python::dlpack {

struct Version {
  uint32_t major, minor;
};

struct Device {
  int32_t type, id;
};
constexpr int32_t cpu = 1;

struct DataType {
  uint8_t code, bits;
  uint16_t lanes;
};

struct Tensor {
  void *data;
  Device device;
  int32_t rank;
  DataType dtype;
  int64_t *sizes;
  int64_t *strides; // in elements
  uint64_t byteOffset;
};

struct ManagedTensor {
  Version version;
  void *context;
  void (*deleter)(ManagedTensor *);
  uint64_t flags;
  Tensor tensor;
};

struct ExchangeHeader {
  Version version;
  const ExchangeHeader *previous;
};

using SetError = void (*)(void *context, const char *kind, const char *text);

struct ExchangeApi {
  ExchangeHeader header;
  int (*allocate)(Tensor *prototype, ManagedTensor **out, void *context,
                  SetError setError);
  int (*exportManaged)(void *object, ManagedTensor **out);
  int (*import)(ManagedTensor *tensor, void **object);
  int (*view)(void *object, Tensor *out); // may be null
  int (*currentStream)(int32_t device, int32_t id, void **stream);
};

} // namespace tessera::python::dlpack

#endif // TESSERA_PYTHON_BINDINGS_DLPACK_H
