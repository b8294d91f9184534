// Linear algebra over bits: spans, solving and pseudo-inverses.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_SUPPORT_LAYOUT_BITSPAN_H
#define TESSERA_SUPPORT_LAYOUT_BITSPAN_H

#include <cstdint>
#include <optional>
#include <vector>

namespace tessera::layout {

/// The set of all XORs of some vectors, and how each member was made.
///
/// Vectors are bit masks. `add` keeps a vector only if it is independent of
/// the ones before; so a solution uses the earliest independent vectors, and
/// is unique.
class BitSpan {
public:
  /// Adds a vector that stands for `combination`. False if it was dependent.
  bool add(uint64_t vector, uint64_t combination) {
    reduce(vector, combination);
    if (vector == 0)
      return false;
    rows.push_back({vector, combination});
    return true;
  }

  /// The XOR of the combinations whose vectors sum up to `vector`.
  std::optional<uint64_t> solve(uint64_t vector) const {
    uint64_t combination = 0;
    reduce(vector, combination);
    if (vector != 0)
      return std::nullopt;
    return combination;
  }

  bool contains(uint64_t vector) const { return solve(vector).has_value(); }
  int rank() const { return int(rows.size()); }

private:
  struct Row {
    uint64_t vector, combination;
  };

  void reduce(uint64_t &vector, uint64_t &combination) const {
    for (const Row &row : rows)
      if (vector & (row.vector & -row.vector)) {
        vector ^= row.vector;
        combination ^= row.combination;
      }
  }

  // The lowest set bit of a row is clear in all rows after it.
  std::vector<Row> rows;
};

/// The span of a matrix given by columns; column j stands for bit j.
inline BitSpan spanOf(const std::vector<uint64_t> &columns) {
  BitSpan span;
  for (size_t j = 0; j < columns.size(); ++j)
    span.add(columns[j], uint64_t(1) << j);
  return span;
}

/// Columns of the matrix P with A P A = A and P A P = P. On the image of A,
/// P gives the solution in the earliest independent columns; the lowest unit
/// vectors that complete the image to the whole space go to 0.
inline std::vector<uint64_t> pseudoInverse(const std::vector<uint64_t> &columns,
                                           int outBits) {
  BitSpan span = spanOf(columns);
  for (int i = 0; i < outBits; ++i)
    span.add(uint64_t(1) << i, 0);
  std::vector<uint64_t> inverse;
  for (int i = 0; i < outBits; ++i)
    inverse.push_back(*span.solve(uint64_t(1) << i));
  return inverse;
}

} // namespace tessera::layout

#endif // TESSERA_SUPPORT_LAYOUT_BITSPAN_H
