// Rules of tensor maps, and the order of a box in shared memory (PTX ISA 5.5).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/TensorMap.h"

#include <algorithm>

namespace tessera::sim {

using ptx::Type;

unsigned elementBits(TensorType type) {
  constexpr uint8_t bits[] = {8,  16, 32, 32, 64, 64, 16, 32,
                              64, 16, 32, 32, 32, 4,  4,  6};
  static_assert(sizeof bits == size_t(TensorType::Count));
  return bits[size_t(type)];
}

bool isPadded(TensorType type) {
  return type == TensorType::B4x16P64 || type == TensorType::B6x16P32;
}

bool isFloat(TensorType type) {
  return type >= TensorType::F16 && type <= TensorType::TF32Ftz;
}

Type scalarType(TensorType type) {
  constexpr Type types[] = {Type::None, Type::None, Type::U32,  Type::S32,
                            Type::U64,  Type::S64,  Type::F16,  Type::F32,
                            Type::F64,  Type::BF16, Type::F32,  Type::None,
                            Type::None, Type::None, Type::None, Type::None};
  static_assert(std::size(types) == size_t(TensorType::Count));
  return types[size_t(type)];
}

static uint64_t span(Swizzle swizzle) {
  constexpr uint64_t spans[] = {~0ull, 32, 64, 128, 96};
  return spans[size_t(swizzle)];
}

std::string checkTensorMap(const TensorMap &m) {
  if (m.rank > 4)
    return "the rank must be 1 to 5";
  if (m.type >= TensorType::Count)
    return "there is no such element type";
  if (m.swizzle > Swizzle::Bytes96 || m.atom > SwizzleAtom::Bytes64)
    return "there is no such swizzle";
  if (m.interleave > 2)
    return "there is no such interleave layout";
  unsigned bits = elementBits(m.type);
  bool padded = isPadded(m.type);
  uint64_t unit = padded || m.interleave == 2 ? 32 : 16;
  if (!m.base || m.base % unit)
    return "the global address must be a multiple of " + std::to_string(unit);
  for (unsigned d = 1; d <= m.rank; ++d) {
    uint64_t s = m.stride[d - 1];
    if (s % unit || s >= 1ull << 40)
      return "stride " + std::to_string(d - 1) + " must be a multiple of " +
             std::to_string(unit) + " and less than 2^40";
  }
  for (unsigned d = 0; d <= m.rank; ++d)
    if (m.step[d] > 7)
      return "element strides must be 1 to 8";
  uint64_t dim0 = m.dim[0] + 1ull, box0 = m.box[0] + 1ull;
  if (padded && dim0 % 128)
    return "dimension 0 of a padded type must be a multiple of 128";
  if (m.type == TensorType::B4x16 && dim0 % 2)
    return "dimension 0 of a 4-bit type must be a multiple of 2";
  if (padded && box0 != 128)
    return "box 0 of a padded type must be 128";
  uint64_t inner = padded ? box0 : box0 * bits / 8;
  if (!m.interleave && (box0 * bits % 128 && !padded))
    return "box 0 must be a multiple of 16 bytes";
  if (m.swizzle != Swizzle::None && !m.interleave && inner > span(m.swizzle))
    return "box 0 has " + std::to_string(inner) +
           " bytes, the swizzle takes at most " +
           std::to_string(span(m.swizzle));
  if (m.atom != SwizzleAtom::Bytes16 && m.swizzle != Swizzle::Bytes128)
    return "only the swizzle of 128 bytes has other atoms than 16 bytes";
  if (padded &&
      ((m.swizzle != Swizzle::None && m.swizzle != Swizzle::Bytes128) ||
       m.atom == SwizzleAtom::Bytes32Flip8))
    return "a padded type has no swizzle or one of 128 bytes, without a flip";
  if (m.fillNaN > 1)
    return "there is no such fill";
  if (m.fillNaN && !isFloat(m.type))
    return "only floating-point elements can be filled with NaN";
  if (m.interleave) {
    if (m.rank < 2)
      return "an interleaved tensor has rank 3 to 5";
    if (m.interleave == 2 && m.swizzle != Swizzle::Bytes32)
      return "32-byte interleaving needs the swizzle of 32 bytes";
    if (padded || m.swizzle == Swizzle::Bytes96)
      return "this type or swizzle cannot be interleaved";
    // The ISA's example has one slice of channels as dimension 0; what a
    // larger one means is in a figure only.
    uint64_t slice = 16u * m.interleave;
    if (dim0 * bits != slice * 8 || box0 != dim0 || m.step[0])
      return "not supported: an interleaved tensor whose dimension 0 is not "
             "one slice of " +
             std::to_string(slice) + " bytes";
  }
  return "";
}

std::string encodeTiled(const TiledTensor &t, TensorMap &map) {
  if (t.rank < 1 || t.rank > 5)
    return "the rank must be 1 to 5";
  if (!t.dims || !t.box || !t.steps || (t.rank > 1 && !t.strides))
    return "an array is missing";
  if (t.type >= unsigned(TensorType::Count))
    return "there is no such element type";
  if (t.interleave > 2 || t.swizzle > 6 || t.promotion > 3 || t.fill > 1)
    return "there is no such interleave, swizzle, promotion or fill";
  map = TensorMap();
  map.base = t.base;
  map.rank = uint8_t(t.rank - 1);
  map.type = TensorType(t.type);
  map.interleave = uint8_t(t.interleave);
  // CUtensorMapSwizzle: 3 is 128 bytes, 4 to 6 the same with other atoms.
  map.swizzle = Swizzle(std::min(t.swizzle, 3u));
  map.atom = SwizzleAtom(t.swizzle > 3 ? t.swizzle - 3 : 0);
  map.fillNaN = uint8_t(t.fill);
  for (unsigned d = 0; d < t.rank; ++d) {
    if (t.dims[d] < 1 || t.dims[d] > 1ull << 32)
      return "dimensions must be 1 to 2^32";
    if (t.box[d] < 1 || t.box[d] > 256)
      return "box sizes must be 1 to 256";
    if (t.steps[d] < 1 || t.steps[d] > 8)
      return "element strides must be 1 to 8";
    map.dim[d] = uint32_t(t.dims[d] - 1);
    map.box[d] = uint8_t(t.box[d] - 1);
    map.step[d] = uint8_t(t.steps[d] - 1);
    if (d)
      map.stride[d - 1] = t.strides[d - 1];
  }
  return checkTensorMap(map);
}

uint32_t swizzled(const TensorMap &m, uint32_t a) {
  uint32_t line = a >> 7;
  switch (m.swizzle) {
  case Swizzle::None:
    return a;
  case Swizzle::Bytes32:
  case Swizzle::Bytes96:
    return a ^ (line & 1) << 4;
  case Swizzle::Bytes64:
    return a ^ (line & 3) << 4;
  case Swizzle::Bytes128:
    break;
  }
  switch (m.atom) {
  case SwizzleAtom::Bytes16:
    return a ^ (line & 7) << 4;
  case SwizzleAtom::Bytes32:
    return a ^ (line & 3) << 5;
  case SwizzleAtom::Bytes32Flip8:
    return a ^ (line & 3) << 5 ^ (line & 1) << 3;
  case SwizzleAtom::Bytes64:
    return a ^ (line & 1) << 6;
  }
  return a;
}

std::string encodeIm2col(const TiledTensor &t, const Im2colBox &box,
                         TensorMap &map) {
  if (t.rank < 3 || t.rank > 5)
    return "the rank of im2col must be 3 to 5";
  if (!box.lower || !box.upper)
    return "an array is missing";
  if (box.channels < 1 || box.channels > 256)
    return "channels per pixel must be 1 to 256";
  if (box.pixels < 1 || box.pixels > 1024)
    return "pixels per column must be 1 to 1024";
  TiledTensor tiled = t;
  uint32_t sizes[5] = {box.channels, 1, 1, 1, 1};
  tiled.box = sizes;
  if (std::string why = encodeTiled(tiled, map); !why.empty())
    return why;
  map.isIm2col = 1;
  map.pixels = uint16_t(box.pixels - 1);
  const int limit = t.rank == 3 ? 1 << 15 : t.rank == 4 ? 1 << 7 : 1 << 4;
  for (unsigned k = 0; k < t.rank - 2; ++k) {
    for (int corner : {box.lower[k], box.upper[k]})
      if (corner < -limit || corner >= limit)
        return "corners of the pixel box must be " + std::to_string(-limit) +
               " to " + std::to_string(limit - 1) + " for this rank";
    map.lower[k] = int16_t(box.lower[k]);
    map.upper[k] = int16_t(box.upper[k]);
  }
  return "";
}

static uint32_t rowBytes(const TensorMap &m) {
  return isPadded(m.type) ? m.count(0) : m.count(0) * elementBits(m.type) / 8;
}

uint32_t boxBytes(const TensorMap &m, bool isFourRows) {
  uint64_t bytes = rowBytes(m);
  if (m.isIm2col)
    return uint32_t(bytes * (m.pixels + 1u));
  for (unsigned d = 1; d <= m.rank; ++d)
    bytes *= m.count(d);
  return uint32_t(std::min<uint64_t>(isFourRows ? 4 * bytes : bytes, ~0u));
}

namespace {

/// Collects the pieces of a box, row by row.
struct BoxWalk {
  const TensorMap &map;
  const TensorBox &box;
  std::vector<AsyncOp::Piece> pieces;

  void put(uint64_t global, uint32_t shared, uint32_t bytes) {
    if (!bytes || (box.isStore && global == AsyncOp::fill))
      return;
    AsyncOp::Piece piece{global, shared, bytes};
    if (box.isStore)
      std::swap(piece.from, piece.to);
    // Neighbours of an unswizzled row are one piece.
    if (!pieces.empty()) {
      AsyncOp::Piece &last = pieces.back();
      bool follows = (global == AsyncOp::fill && last.from == AsyncOp::fill) ||
                     (global != AsyncOp::fill && last.from != AsyncOp::fill &&
                      piece.from == last.from + last.bytes);
      if (follows && piece.to == last.to + last.bytes) {
        last.bytes += bytes;
        return;
      }
    }
    pieces.push_back(piece);
  }

  /// `start` is the global address of element 0 of the tensor's row, which
  /// may lie outside; `a` the shared address of the box's row.
  void row(uint64_t start, bool isInside, uint32_t a) {
    int64_t bits = elementBits(map.type), size = map.dim[0] + 1ll;
    int64_t first = box.at[0], count = map.count(0);
    // Elements of the box that the tensor has.
    int64_t low = std::clamp<int64_t>(-first, 0, count);
    int64_t high = std::clamp<int64_t>(size - first, low, count);
    if (!isInside)
      low = high = 0;
    if (isPadded(map.type)) {
      uint32_t bytes = uint32_t(bits * 2);
      for (int64_t e = 0; e < count; e += 16) {
        bool inside = e >= low && e < high;
        put(inside ? start + uint64_t((first + e) * bits / 8) : AsyncOp::fill,
            swizzled(map, a + uint32_t(e)), bytes);
      }
      return;
    }
    int64_t lowByte = low * bits / 8, highByte = high * bits / 8;
    // The smallest unit a swizzle moves.
    int64_t chunk = map.atom == SwizzleAtom::Bytes32Flip8 ? 8 : 16;
    int64_t end = count * bits / 8;
    for (int64_t b = 0; b < end;) {
      int64_t to = std::min(end, (b / chunk + 1) * chunk);
      if (b < lowByte)
        to = std::min(to, lowByte);
      else if (b < highByte)
        to = std::min(to, highByte);
      bool inside = b >= lowByte && b < highByte;
      put(inside ? start + uint64_t(first * bits / 8 + b) : AsyncOp::fill,
          swizzled(map, a + uint32_t(b)), uint32_t(to - b));
      b = to;
    }
  }

  /// Pixels of the bounding box in order, from the start on; each is read at
  /// the filter's offset.
  void column() {
    int64_t at[5];
    std::copy_n(box.at, 5, at);
    unsigned last = map.rank;
    for (uint32_t p = 0, a = box.shared; p <= map.pixels; ++p) {
      uint64_t start = map.base;
      bool isInside = true;
      for (unsigned d = 1; d <= last; ++d) {
        int64_t c = at[d] + (d < last ? box.offsets[d - 1] : 0);
        isInside &= c >= 0 && c <= int64_t(map.dim[d]);
        start += uint64_t(c) * map.stride[d - 1];
      }
      row(start, isInside, a);
      a += rowBytes(map);
      for (unsigned d = 1; d <= last; ++d) {
        at[d] += d < last ? map.step[d] + 1 : 1;
        if (d == last || at[d] <= int64_t(map.dim[d]) + map.upper[d - 1])
          break;
        at[d] = map.lower[d - 1];
      }
    }
  }

  uint32_t walk(unsigned d, uint64_t start, bool isInside, uint32_t a) {
    if (d == 0) {
      row(start, isInside, a);
      return a + rowBytes(map);
    }
    for (uint32_t k = 0; k < map.count(d); ++k) {
      int64_t c = box.at[d] + int64_t(k) * (map.step[d] + 1);
      bool inside = isInside && c >= 0 && c <= int64_t(map.dim[d]);
      a = walk(d - 1, start + uint64_t(c) * map.stride[d - 1], inside, a);
    }
    return a;
  }
};

} // namespace

std::vector<AsyncOp::Piece> boxPieces(const TensorMap &map,
                                      const TensorBox &box) {
  BoxWalk walk{map, box, {}};
  if (map.isIm2col) {
    walk.column();
    return std::move(walk.pieces);
  }
  if (!box.isFourRows) {
    walk.walk(map.rank, map.base, true, box.shared);
    return std::move(walk.pieces);
  }
  uint32_t a = box.shared;
  for (int64_t r : box.rows) {
    bool inside = r >= 0 && r <= int64_t(map.dim[1]);
    walk.row(map.base + uint64_t(r) * map.stride[0], inside, a);
    a += rowBytes(map);
  }
  return std::move(walk.pieces);
}

} // namespace tessera::sim
