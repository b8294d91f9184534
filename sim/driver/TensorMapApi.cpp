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
  if (rank < 1 || rank > 5)
    return refused("the rank must be 1 to 5");
  if (!dims || !box || !steps || (rank > 1 && !strides))
    return refused("an array is missing");
  if (type >= unsigned(TensorType::Count))
    return refused("there is no such element type");
  if (interleave > 2 || swizzle > 6 || promotion > 3 || fill > 1)
    return refused("there is no such interleave, swizzle, promotion or fill");
  TensorMap map;
  map.base = reinterpret_cast<uint64_t>(base);
  map.rank = uint8_t(rank - 1);
  map.type = TensorType(type);
  map.interleave = uint8_t(interleave);
  constexpr SwizzleAtom atoms[] = {SwizzleAtom::Bytes16, SwizzleAtom::Bytes32,
                                   SwizzleAtom::Bytes32Flip8,
                                   SwizzleAtom::Bytes64};
  map.swizzle = swizzle > 3 ? Swizzle::Bytes128 : Swizzle(swizzle);
  map.atom = swizzle > 3 ? atoms[swizzle - 3] : SwizzleAtom::Bytes16;
  map.fillNaN = fill;
  for (unsigned d = 0; d < rank; ++d) {
    if (dims[d] < 1 || dims[d] > 1ull << 32)
      return refused("dimensions must be 1 to 2^32");
    if (box[d] < 1 || box[d] > 256)
      return refused("box sizes must be 1 to 256");
    if (steps[d] < 1 || steps[d] > 8)
      return refused("element strides must be 1 to 8");
    map.dim[d] = uint32_t(dims[d] - 1);
    map.box[d] = uint8_t(box[d] - 1);
    map.step[d] = uint8_t(steps[d] - 1);
    if (d)
      map.stride[d - 1] = strides[d - 1];
  }
  if (std::string why = checkTensorMap(map); !why.empty())
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

CU cuTensorMapEncodeIm2col(void *, ...) {
  LOCKED;
  return refused("not supported: im2col modes are not modelled");
}
CU cuTensorMapEncodeIm2colWide(void *, ...) {
  LOCKED;
  return refused("not supported: im2col modes are not modelled");
}
