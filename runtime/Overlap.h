// Do two strided views of memory share a byte?
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_RUNTIME_OVERLAP_H
#define TESSERA_RUNTIME_OVERLAP_H

#include "runtime/Dtype.h"

#include <cstdint>

namespace tessera::runtime {

/// A tensor in memory. Sizes are not negative.
struct MemoryView {
  const void *data;
  Dtype dtype;
  int32_t rank;
  const int64_t *sizes;
  const int64_t *strides; // in elements
};

/// The bits [begin, end) between the lowest and the highest element.
struct BitInterval {
  int64_t begin = 0, end = 0;

  bool isEmpty() const { return begin == end; }
  bool meets(const BitInterval &other) const {
    return begin < other.end && other.begin < end;
  }
};

/// What axes span, in elements relative to element (0, ..., 0). False if that
/// is more than any memory holds, so that all later arithmetic fits.
inline bool spanOf(int32_t rank, const int64_t *sizes, const int64_t *strides,
                   int64_t &low, int64_t &high, bool &isEmpty) {
  constexpr int64_t limit = int64_t{1} << 55;
  low = high = 0;
  isEmpty = false;
  for (int32_t axis = 0; axis < rank; ++axis) {
    if (sizes[axis] == 0) {
      isEmpty = true;
      return true;
    }
    int64_t extent;
    if (__builtin_mul_overflow(sizes[axis] - 1, strides[axis], &extent) ||
        extent > limit || extent < -limit)
      return false;
    (extent < 0 ? low : high) += extent;
  }
  return low > -limit && high < limit;
}

/// False as for spanOf. Empty if the view has no elements.
inline bool bitInterval(const MemoryView &view, BitInterval &interval) {
  int64_t low, high;
  bool isEmpty;
  interval = {};
  if (!spanOf(view.rank, view.sizes, view.strides, low, high, isEmpty))
    return false;
  if (isEmpty)
    return true;
  int64_t bits = dtypeInfo(view.dtype).bits;
  auto base = static_cast<int64_t>(reinterpret_cast<uintptr_t>(view.data)) * 8;
  interval = {base + low * bits, base + (high + 1) * bits};
  return true;
}

enum class Overlap : uint8_t {
  None,
  Certain,
  Possible, // deciding would take too long
};

/// Exact for views whose strides nest, in practice for all. Worth calling only
/// if the intervals of the two meet. Precondition: both have an interval.
Overlap overlapOf(const MemoryView &a, const MemoryView &b);

/// Do two different elements of the view share memory?
Overlap selfOverlapOf(const MemoryView &view);

} // namespace tessera::runtime

#endif
