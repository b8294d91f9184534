// Who holds which columns of tensor memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sim/exec/TensorMemory.h"

namespace tessera::sim {

TensorMemory::Allocation *TensorMemory::find(uint32_t column) {
  for (Allocation &a : allocations)
    if (!a.freed && column - a.column < a.columns)
      return &a;
  return nullptr;
}

std::optional<uint32_t> TensorMemory::findFree(uint32_t count,
                                               std::mt19937_64 *random,
                                               TensorMemory *other) {
  std::vector<uint32_t> fits;
  for (uint32_t first = 0; first + count <= columns; first += count) {
    bool isFree = true;
    for (uint32_t c = first; c < first + count; c += unit)
      isFree &= !find(c) && (!other || !other->find(c));
    if (isFree)
      fits.push_back(first);
  }
  if (fits.empty())
    return std::nullopt;
  return fits[random ? (*random)() % fits.size() : 0];
}

std::string TensorMemory::describe(uint32_t column) const {
  std::string text = "column " + std::to_string(column) + " of tensor memory ";
  if (column >= columns)
    return text + "does not exist, there are 512";
  for (size_t k = allocations.size(); k-- > 0;) {
    const Allocation &a = allocations[k];
    if (column - a.column < a.columns && a.freed)
      return text + "was deallocated at PTX line " +
             std::to_string(a.freed->line);
  }
  std::string held;
  for (const Allocation &a : allocations)
    if (!a.freed)
      held += (held.empty() ? "" : ", ") + std::to_string(a.column) + " to " +
              std::to_string(a.column + a.columns - 1);
  return text + "is not allocated (the block holds " +
         (held.empty() ? "none" : held) + ")";
}

} // namespace tessera::sim
