// Device memory: who owns which bytes, and the generic address windows.
//
// Global memory is ordinary host memory, so a global address is a host
// address. Shared, local and parameter memory live in windows of the generic
// address space that no host pointer can fall into.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

namespace tessera::sim {

constexpr uint64_t sharedWindow = 0x8000000000000000ull;
constexpr uint64_t localWindow = 0x9000000000000000ull;
constexpr uint64_t paramWindow = 0xA000000000000000ull;
constexpr uint64_t functionWindow = 0xB000000000000000ull;
constexpr uint64_t windowMask = 0xF000000000000000ull;
/// Shared addresses carry the rank of the block in its cluster from this bit.
constexpr unsigned clusterRankShift = 24;

namespace check {
struct GlobalShadow;
}

struct Allocation {
  uint64_t base = 0, size = 0;
  enum Kind : uint8_t { Device, Host, Managed, Module, External } kind = Device;
  bool readOnly = false;
  bool freed = false;
  std::string name;                // what a report calls it
  std::unique_ptr<uint8_t[]> data; // empty for External
  std::shared_ptr<check::GlobalShadow> shadow;
  bool initialised = false; // all bytes count as written
};

class Memory {
public:
  Memory();
  ~Memory();

  /// Allocates zero-filled memory whose bytes count as uninitialised.
  uint64_t allocate(uint64_t size, Allocation::Kind kind, std::string name);
  /// False if `base` is not the start of a live allocation.
  bool release(uint64_t base);
  /// Makes host memory of somebody else visible to kernels.
  void expose(uint64_t base, uint64_t size, std::string name);
  void unexpose(uint64_t base);
  /// The live or freed allocation that holds `address`, or null.
  Allocation *find(uint64_t address);
  /// The same without the parent's.
  Allocation *findOwn(uint64_t address);
  /// The allocation nearest to `address`, for reports.
  std::string describe(uint64_t address);
  /// Marks bytes as written by the host.
  void markInitialised(uint64_t base, uint64_t size);
  /// A copy: what nobody wrote at `from` counts as unwritten at `to`.
  void copyInitialised(uint64_t to, uint64_t from, uint64_t size);
  /// Nobody watched what a kernel wrote: all bytes may be written.
  void markAllInitialised();
  /// One byte per byte of the allocation at `base`, 1: written; false if there
  /// is none of that size.
  bool setWritten(uint64_t base, const uint8_t *written, uint64_t size);
  bool getWritten(uint64_t base, uint8_t *written, uint64_t size);
  uint64_t bytesInUse() const { return inUse; }
  /// Called for an unknown address; may expose() it and return true.
  std::function<bool(uint64_t)> resolver;
  std::atomic<uint64_t> generation{1}; // changes when the map does
  /// Whose allocations are visible here too. They must not change while a
  /// kernel runs on this memory.
  Memory *parent = nullptr;

private:
  std::map<uint64_t, std::unique_ptr<Allocation>> live, freed;
  std::mutex mutex;
  uint64_t inUse = 0, freedBytes = 0;
  std::vector<uint64_t> freedOrder;
};

} // namespace tessera::sim
