// cuTensorMap*: descriptors of tensors for bulk copies.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/driver/Api.h"
#include "sim/exec/TensorMap.h"

using namespace tessera::sim;
using namespace tessera::sim::driver;

static int refused(const std::string &why) {
  bool isOurs = why.starts_with("not supported");
  return problem(isOurs ? NotSupported : InvalidValue, "tensor map: " + why);
}

/// `map` is where the program keeps it: aligned to 64 bytes.
static bool isAligned(const void *map) {
  return map && reinterpret_cast<uintptr_t>(map) % 64 == 0;
}

CU cuTensorMapEncodeTiled(void *out, unsigned type, uint32_t rank, void *base,
                          const uint64_t *dims, const uint64_t *strides,
                          const uint32_t *box, const uint32_t *steps,
                          unsigned interleave, unsigned swizzle,
                          unsigned promotion, unsigned fill) {
  LOCKED;
  if (!isAligned(out))
    return refused("its address must be a multiple of 64");
  TensorMap map;
  TiledTensor tensor{type,      rank,       reinterpret_cast<uint64_t>(base),
                     dims,      strides,    box,
                     steps,     interleave, swizzle,
                     promotion, fill};
  if (std::string why = encodeTiled(tensor, map); !why.empty())
    return refused(why);
  std::memcpy(out, &map, sizeof map);
  return Success;
}

CU cuTensorMapReplaceAddress(void *out, void *base) {
  LOCKED;
  if (!isAligned(out))
    return refused("its address must be a multiple of 64");
  TensorMap map;
  std::memcpy(&map, out, sizeof map);
  map.base = reinterpret_cast<uint64_t>(base);
  if (std::string why = checkTensorMap(map); !why.empty())
    return refused(why);
  std::memcpy(out, &map, sizeof map);
  return Success;
}

CU cuTensorMapEncodeIm2col(void *out, unsigned type, uint32_t rank, void *base,
                           const uint64_t *dims, const uint64_t *strides,
                           const int *lower, const int *upper,
                           uint32_t channels, uint32_t pixels,
                           const uint32_t *steps, unsigned interleave,
                           unsigned swizzle, unsigned promotion,
                           unsigned fill) {
  LOCKED;
  if (!isAligned(out))
    return refused("its address must be a multiple of 64");
  TensorMap map;
  TiledTensor tensor{type,      rank,       reinterpret_cast<uint64_t>(base),
                     dims,      strides,    nullptr,
                     steps,     interleave, swizzle,
                     promotion, fill};
  Im2colBox box{lower, upper, channels, pixels};
  if (std::string why = encodeIm2col(tensor, box, map); !why.empty())
    return refused(why);
  std::memcpy(out, &map, sizeof map);
  return Success;
}
CU cuTensorMapEncodeIm2colWide(void *, ...) {
  LOCKED;
  return refused("not supported: im2col::w modes are not modelled");
}
