// Builds the layouts that hardware prescribes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Support/Layout/Instances.h"

#include <algorithm>
#include <cassert>

namespace tessera::layout {

Layout rowMajor(int64_t rows, int64_t columns) {
  if (exactLog2(rows) && exactLog2(columns))
    return Layout::identity(columns, "dim1", "offset")
        .product(Layout::identity(rows, "dim0", "offset"))
        .sublayout({"dim0", "dim1"}, {"offset"});
  Layout layout = Layout().withDims({"dim0", "dim1"}, {"offset"});
  layout = *layout.withAxis({columns, "dim1", 1, "offset", 1});
  return *layout.withAxis({rows, "dim0", 1, "offset", columns});
}

Layout columnMajor(int64_t rows, int64_t columns) {
  // The row-major layout of the transposed tile, its two inputs exchanged.
  return rowMajor(columns, rows)
      .renamedIn("dim0", "$")
      .renamedIn("dim1", "dim0")
      .renamedIn("$", "dim1")
      .sublayout({"dim0", "dim1"}, {"offset"});
}

Layout xorSwizzle(int64_t rows, int64_t columns, int64_t vec, int64_t perPhase,
                  int64_t maxPhase) {
  std::optional<int> rowBits = exactLog2(rows), columnBits = exactLog2(columns);
  std::optional<int> first = exactLog2(perPhase), phases = exactLog2(maxPhase);
  assert(rowBits && columnBits && first && phases && exactLog2(vec) &&
         "a swizzle is made of powers of two");
  assert(vec * maxPhase <= columns && "the phases do not fit the row");
  std::vector<Index> down, across;
  for (int b = 0; b < *rowBits; ++b) {
    int64_t offset = columns << b;
    if (b >= *first && b < *first + *phases)
      offset ^= vec << (b - *first);
    down.push_back({offset});
  }
  for (int b = 0; b < *columnBits; ++b)
    across.push_back({int64_t(1) << b});
  return Layout({{"dim0", *rowBits}, {"dim1", *columnBits}},
                {{"offset", *rowBits + *columnBits}}, {down, across});
}

Swizzle chooseSwizzle(int64_t columns, int64_t elementBytes,
                      int64_t vectorBytes) {
  constexpr int64_t bankBytes = 128; // 32 banks of 4 bytes
  Swizzle swizzle;
  swizzle.vec = std::max<int64_t>(1, vectorBytes / elementBytes);
  // Rows that share one line of all banks need no XOR among themselves.
  int64_t rowBytes = columns * elementBytes;
  swizzle.perPhase = std::max<int64_t>(1, bankBytes / rowBytes);
  // One phase of an access covers 128 bytes: that many lanes differ in row.
  int64_t lanes = bankBytes / std::max<int64_t>(4, vectorBytes);
  swizzle.maxPhase = std::max<int64_t>(1, lanes / swizzle.perPhase);
  swizzle.maxPhase =
      std::min(swizzle.maxPhase, std::max<int64_t>(1, columns / swizzle.vec));
  return swizzle;
}

Layout tmaSwizzle(int64_t rows, int64_t elementBytes, int64_t swizzleBytes) {
  assert((swizzleBytes == 32 || swizzleBytes == 64 || swizzleBytes == 128) &&
         "TMA swizzles by 32, 64 or 128 bytes");
  return xorSwizzle(rows, swizzleBytes / elementBytes, 16 / elementBytes,
                    128 / swizzleBytes, swizzleBytes / 16);
}

/// Elements of a register, then what `rows` adds, then steps of four lanes
/// along k: the bits of a fragment's registers.
static std::vector<Index> fragmentRegisters(int64_t k, int64_t perRegister,
                                            int kAxis, bool sixteenRows) {
  std::vector<Index> bases;
  auto along = [&](int axis, int64_t step) {
    Index base = {0, 0};
    base[axis] = step;
    bases.push_back(base);
  };
  for (int64_t j = 1; j < perRegister; j *= 2)
    along(kAxis, j);
  if (sixteenRows)
    along(1 - kAxis, 8);
  for (int64_t step = 4 * perRegister; step < k; step *= 2)
    along(kAxis, step);
  return bases;
}

Layout mmaA(int64_t m, int64_t k, int64_t perRegister) {
  std::vector<Index> registers = fragmentRegisters(k, perRegister, 1, m == 16);
  return Layout(
      {{"register", int(registers.size())}, {"lane", 5}},
      {{"dim0", *exactLog2(m)}, {"dim1", *exactLog2(k)}},
      {registers,
       {{0, perRegister}, {0, 2 * perRegister}, {1, 0}, {2, 0}, {4, 0}}});
}

Layout mmaB(int64_t k, int64_t perRegister) {
  std::vector<Index> registers = fragmentRegisters(k, perRegister, 0, false);
  return Layout(
      {{"register", int(registers.size())}, {"lane", 5}},
      {{"dim0", *exactLog2(k)}, {"dim1", 3}},
      {registers,
       {{perRegister, 0}, {2 * perRegister, 0}, {0, 1}, {0, 2}, {0, 4}}});
}

Layout mmaC(int64_t m) {
  std::vector<Index> registers = {{0, 1}};
  if (m == 16)
    registers.push_back({8, 0});
  return Layout({{"register", int(registers.size())}, {"lane", 5}},
                {{"dim0", *exactLog2(m)}, {"dim1", 3}},
                {registers, {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}});
}

Layout mmaM16N8K16A() { return mmaA(16, 16, 2); }
Layout mmaM16N8K16B() { return mmaB(16, 2); }
Layout mmaM16N8K16C() { return mmaC(16); }

Layout ldmatrixX4Addresses() {
  return Layout(
      {{"register", 3}, {"lane", 5}}, {{"dim0", 4}, {"dim1", 4}},
      {{{0, 1}, {0, 2}, {0, 4}}, {{1, 0}, {2, 0}, {4, 0}, {8, 0}, {0, 8}}});
}

Layout ldmatrixX4Result() {
  // An 8x8 matrix over a warp: two elements per lane, four lanes per row. The
  // matrices are the high register bits, first down, then across.
  Layout matrix({{"register", 1}, {"lane", 5}}, {{"dim0", 3}, {"dim1", 3}},
                {{{0, 1}}, {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}});
  Layout order({{"register", 2}}, {{"dim0", 1}, {"dim1", 1}},
               {{{1, 0}, {0, 1}}});
  return matrix.product(order);
}

Layout amxTileA(int64_t elementBytes) {
  assert(exactLog2(elementBytes) && elementBytes <= 4);
  return rowMajor(16, 64 / elementBytes);
}

Layout amxTileB(int64_t elementBytes) {
  assert(exactLog2(elementBytes) && elementBytes <= 4);
  int64_t group = 4 / elementBytes;
  return Layout::identity(group, "dim0", "offset")
      .product(Layout::identity(16, "dim1", "offset"))
      .product(Layout::identity(16, "dim0", "offset"));
}

} // namespace tessera::layout
