// Memory that never changes, and what plans computed from it and keep.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants have pages of their own, which nobody can write to: what was
// computed from them once is right for as long as they live.
#include "runtime/Constants.h"

#include "runtime/Memory.h"
#include "runtime/Status.h"

#include "tessera-c/runtime.h"
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <sys/mman.h>

namespace tessera::runtime {

std::atomic<int64_t> numConstants{0};

namespace {

struct Constant {
  size_t bytes = 0; // of its pages
  std::vector<std::unique_ptr<Kept>> kept;
};

struct Constants {
  std::mutex mutex;
  std::map<uintptr_t, Constant> byAddress;
  /// Still used by a run when they were dropped.
  std::vector<std::unique_ptr<Kept>> dropped;

  Constant *find(const void *address) {
    auto at = reinterpret_cast<uintptr_t>(address);
    auto it = byAddress.upper_bound(at);
    if (it == byAddress.begin())
      return nullptr;
    --it;
    return at - it->first < it->second.bytes ? &it->second : nullptr;
  }

  void drop(std::unique_ptr<Kept> kept) {
    if (kept->uses)
      dropped.push_back(std::move(kept));
    else
      poolDeallocate(kept->memory);
  }
};

/// Never destroyed: arrays may outlive the statics.
Constants &constants() {
  static auto *all = new Constants();
  return *all;
}

} // namespace

bool findConstant(const void *address) {
  std::lock_guard lock(constants().mutex);
  return constants().find(address);
}

Kept *useKept(const KeptKey &key) {
  std::lock_guard lock(constants().mutex);
  if (Constant *constant = constants().find(key.source))
    for (const std::unique_ptr<Kept> &kept : constant->kept)
      if (kept->key == key) {
        ++kept->uses;
        return kept.get();
      }
  return nullptr;
}

void endUse(Kept *kept) {
  std::lock_guard lock(constants().mutex);
  if (--kept->uses)
    return;
  auto &dropped = constants().dropped;
  auto it =
      std::find_if(dropped.begin(), dropped.end(),
                   [&](const auto &other) { return other.get() == kept; });
  if (it == dropped.end())
    return;
  poolDeallocate(kept->memory);
  dropped.erase(it);
}

void keep(KeptKey key, void *memory) {
  std::lock_guard lock(constants().mutex);
  Constant *constant = constants().find(key.source);
  // Another run may have been faster.
  if (!constant ||
      std::any_of(constant->kept.begin(), constant->kept.end(),
                  [&](const auto &other) { return other->key == key; }))
    return poolDeallocate(memory);
  constant->kept.push_back(
      std::make_unique<Kept>(Kept{std::move(key), memory, 0}));
}

void dropKept(const void *executable) {
  if (!numConstants.load(std::memory_order_acquire))
    return;
  std::lock_guard lock(constants().mutex);
  for (auto &[address, constant] : constants().byAddress) {
    auto gone = std::stable_partition(
        constant.kept.begin(), constant.kept.end(),
        [&](const auto &kept) { return kept->key.executable != executable; });
    for (auto it = gone; it != constant.kept.end(); ++it)
      constants().drop(std::move(*it));
    constant.kept.erase(gone, constant.kept.end());
  }
}

void lockConstantsForFork() { constants().mutex.lock(); }
void unlockConstantsAfterFork() { constants().mutex.unlock(); }

} // namespace tessera::runtime

using namespace tessera::runtime;

tsr_status tsr_constant_create(const void *data, size_t bytes, void **memory) {
  if (tsr_status status =
          refuseNull("tsr_constant_create", {{"memory", memory}}))
    return status;
  *memory = nullptr;
  if (bytes && !data)
    return refuseNull("tsr_constant_create", {{"data", data}});
  size_t length = std::max<size_t>(bytes, 1);
  void *pages = mmap(nullptr, length, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED)
    return makeError(TSR_OUT_OF_MEMORY, "no memory for a constant of " +
                                            std::to_string(bytes) + " bytes");
  if (bytes)
    std::memcpy(pages, data, bytes);
  mprotect(pages, length, PROT_READ);
  std::lock_guard lock(constants().mutex);
  constants().byAddress[reinterpret_cast<uintptr_t>(pages)].bytes = length;
  numConstants.fetch_add(1, std::memory_order_release);
  *memory = pages;
  return nullptr;
}

void tsr_constant_free(void *memory) {
  if (!memory)
    return;
  size_t length;
  {
    std::lock_guard lock(constants().mutex);
    auto it = constants().byAddress.find(reinterpret_cast<uintptr_t>(memory));
    if (it == constants().byAddress.end())
      return;
    length = it->second.bytes;
    for (std::unique_ptr<Kept> &kept : it->second.kept)
      constants().drop(std::move(kept));
    constants().byAddress.erase(it);
    numConstants.fetch_sub(1, std::memory_order_release);
  }
  munmap(memory, length);
}
