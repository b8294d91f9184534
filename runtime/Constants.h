// Memory that never changes, and what plans computed from it and keep.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TESSERA_RUNTIME_CONSTANTS_H
#define TESSERA_RUNTIME_CONSTANTS_H

#include <atomic>
#include <cstdint>
#include <vector>

namespace tessera::runtime {

/// How many constants there are: most processes have none, and ask nothing.
extern std::atomic<int64_t> numConstants;

/// Does the address lie in memory of tsr_constant_create?
bool findConstant(const void *address);
inline bool isConstant(const void *address) {
  return numConstants.load(std::memory_order_acquire) && findConstant(address);
}

/// What was kept: the executable and its temporary, the address, sizes and
/// strides of the constant it was made of, and its own sizes.
struct KeptKey {
  const void *executable;
  int32_t temporary;
  const void *source;
  std::vector<int64_t> numbers;
  bool operator==(const KeptKey &) const = default;
};

/// Memory of the pool, filled once; it stays until nobody uses it and its
/// constant or its executable is gone.
struct Kept {
  KeptKey key;
  void *memory;
  int64_t uses;
};

/// What was kept under this key, for one use; null if there is nothing.
Kept *useKept(const KeptKey &key);
void endUse(Kept *kept);
/// Takes memory of the pool, filled by a run.
void keep(KeptKey key, void *memory);
/// Of an executable that goes away.
void dropKept(const void *executable);

/// Called around fork.
void lockConstantsForFork();
void unlockConstantsAfterFork();

} // namespace tessera::runtime

#endif
