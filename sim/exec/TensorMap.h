// Tensor maps: what cuTensorMapEncodeTiled makes and tensor copies read.
//
// CUtensorMap is opaque, so its 128 bytes are ours, and those of host programs
// that know the machine's are understood (TensorMapBits.cpp). A map of zeros
// that tensormap.replace then fills must be complete: zero means "none"
// everywhere, and sizes are kept minus one where they cannot be zero.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/exec/AsyncOps.h"

namespace tessera::sim {

/// Element types by their number in CUtensorMapDataType.
enum class TensorType : uint8_t {
  U8,
  U16,
  U32,
  S32,
  U64,
  S64,
  F16,
  F32,
  F64,
  BF16,
  F32Ftz,
  TF32,
  TF32Ftz,
  B4x16,    // sixteen 4-bit elements in 8 bytes
  B4x16P64, // the same, in shared memory with 8 bytes of padding
  B6x16P32, // sixteen 6-bit elements in 12 bytes, padded to 16
  Count
};

/// CUtensorMapSwizzle without the atomicities, and the 96 bytes that only
/// tensormap.replace knows.
enum class Swizzle : uint8_t { None, Bytes32, Bytes64, Bytes128, Bytes96 };
/// Bytes that stay together when 128 bytes are swizzled.
enum class SwizzleAtom : uint8_t { Bytes16, Bytes32, Bytes32Flip8, Bytes64 };

struct alignas(64) TensorMap {
  uint64_t base = 0;
  /// CUTLASS and Triton clear bit 21 of this word, maps of CuTe DSL set bit 1.
  uint64_t notOurs = 0;
  uint64_t stride[4] = {}; // bytes, of dimensions 1 to 4
  uint32_t dim[5] = {};    // minus one
  uint8_t box[5] = {};     // minus one
  uint8_t step[5] = {};    // traversal strides, minus one
  uint8_t rank = 0;        // minus one
  TensorType type = TensorType::U8;
  uint8_t interleave = 0; // 0 none, 1 16 bytes, 2 32 bytes
  Swizzle swizzle = Swizzle::None;
  SwizzleAtom atom = SwizzleAtom::Bytes16;
  uint8_t fillNaN = 0;
  /// im2col: pixels of a column minus one, and the corners of the bounding box
  /// in W, H and D; box[0] is the channels of a pixel.
  uint8_t isIm2col = 0, notUsed = 0;
  uint16_t pixels = 0;
  int16_t lower[3] = {}, upper[3] = {};
  uint8_t reserved[28] = {};

  unsigned ranks() const { return rank + 1u; }
  /// Elements of the box that are copied along a dimension.
  uint32_t count(unsigned d) const {
    // Without interleaving, the stride of dimension 0 is ignored.
    uint32_t s = d ? step[d] + 1u : 1;
    return (box[d] + s) / s;
  }
};
static_assert(sizeof(TensorMap) == 128);

unsigned elementBits(TensorType type); // in global memory
bool isPadded(TensorType type);
bool isFloat(TensorType type);
/// The type of reductions, or None.
ptx::Type scalarType(TensorType type);

/// Turns a map that a host program made from bits into one of ours, and says
/// what is not known of it; leaves one of ours as it is.
std::string readForeignBits(TensorMap &map);
/// Whether the map at `bytes` is one of those, which take 64 bytes.
bool hasForeignBits(const void *bytes);
constexpr unsigned foreignBytes = 64;

/// What breaks a rule of cuTensorMapEncodeTiled (CUDA driver API) or of the
/// ISA (9.7.9.27.1.1), or nothing.
std::string checkTensorMap(const TensorMap &map);

/// Arguments of cuTensorMapEncodeTiled.
struct TiledTensor {
  unsigned type = 0, rank = 0;
  uint64_t base = 0;
  const uint64_t *dims = nullptr, *strides = nullptr;
  const uint32_t *box = nullptr, *steps = nullptr;
  unsigned interleave = 0, swizzle = 0, promotion = 0, fill = 0;
};
/// Fills `map`, or says which rule is broken ("not supported: ..." if it is
/// the simulator that cannot).
std::string encodeTiled(const TiledTensor &tensor, TensorMap &map);

/// Arguments of cuTensorMapEncodeIm2col beside those of a tiled tensor.
struct Im2colBox {
  const int *lower = nullptr, *upper = nullptr;
  uint32_t channels = 0, pixels = 0;
};
/// The same; `tensor.box` is not used.
std::string encodeIm2col(const TiledTensor &tensor, const Im2colBox &box,
                         TensorMap &map);

/// Where a byte of the dense box, at shared address `a`, is put.
uint32_t swizzled(const TensorMap &map, uint32_t a);

/// One copy of a box.
struct TensorBox {
  int64_t at[5] = {};      // first element in every dimension
  bool isFourRows = false; // .tile::gather4, scatter4
  int64_t rows[4] = {};
  bool isIm2col = false;
  int64_t offsets[3] = {}; // of the filter, in W, H and D
  uint32_t shared = 0;
  bool isStore = false;
};
/// Bytes the box takes in shared memory, which are those of the transaction.
uint32_t boxBytes(const TensorMap &map, bool isFourRows);
/// The contiguous pieces of the copy; what lies outside of the tensor is
/// filled by a load (AsyncOp::fill) and skipped by a store.
std::vector<AsyncOp::Piece> boxPieces(const TensorMap &map,
                                      const TensorBox &box);

} // namespace tessera::sim
