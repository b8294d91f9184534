// The layouts of tensor memory; see TensorLayout.h.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/TensorLayout.h"

namespace tessera::sim {

unsigned registersOf(MoveShape shape) {
  switch (shape) {
  case MoveShape::Lanes16Bits128:
    return 2;
  case MoveShape::Lanes16Bits256:
    return 4;
  default:
    return 1;
  }
}

unsigned columnsOf(MoveShape shape, unsigned registers) {
  switch (shape) {
  case MoveShape::Lanes16Bits64:
  case MoveShape::Lanes16Bits128:
  case MoveShape::Lanes16Bits256:
    return 2 * registers; // 32 threads share 16 lanes
  default:
    return registers;
  }
}

TensorCell movedCell(MoveShape shape, unsigned thread, unsigned reg,
                     unsigned split) {
  unsigned g = thread >> 2, t = thread & 3;
  switch (shape) {
  case MoveShape::Lanes32Bits32:
    return {thread, reg};
  case MoveShape::Lanes16Bits64:
    return {g + 8 * (t & 1), 2 * reg + (t >> 1)};
  case MoveShape::Lanes16Bits128:
    return {g + 8 * (reg & 1), 4 * (reg >> 1) + t};
  case MoveShape::Lanes16Bits256:
    return {g + 8 * (reg >> 1 & 1), 8 * (reg >> 2) + 2 * t + (reg & 1)};
  case MoveShape::Lanes16Bits32x2:
    break;
  }
  return {thread % 16, reg + (thread >= 16 ? split : 0)};
}

unsigned operandLane(DataPath path, unsigned m) {
  return path == DataPath::HalfLanes ? m % 16 + m / 16 * 32 : m;
}

unsigned accumulatorColumns(DataPath path, unsigned N) {
  return path == DataPath::Halves     ? N / 2
         : path == DataPath::Quarters ? N / 4
                                      : N;
}

TensorCell accumulatorCell(DataPath path, unsigned m, unsigned n, unsigned N) {
  unsigned each = accumulatorColumns(path, N);
  unsigned rows = path == DataPath::Quarters ? 32 : 64;
  if (path == DataPath::Halves || path == DataPath::Quarters)
    return {m + n / each * rows, n % each};
  return {operandLane(path, m), n};
}

MetadataPlace metadataPlace(bool isWide, unsigned m, unsigned c) {
  if (isWide) // 16 lanes hold 16 rows twice: the low and the high half of K
    return {m % 8 + m / 16 * 16 + c / 4 * 8, 0, m / 8 % 2 * 16 + c % 4 * 4};
  return {m, c / 8, c % 8 * 4};
}

} // namespace tessera::sim
