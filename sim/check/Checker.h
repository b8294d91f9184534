// Finds races, uninitialised reads and misuse of barriers while a kernel runs.
//
// Order is tracked by vector clocks. Every thread has an epoch that grows when
// it releases something; what a thread knows of the others is a Clock. A byte
// remembers its last writer and its readers since; an access must know of all
// of them. A block-wide barrier makes one Clock that all its threads share
// (`uniform`: everything up to an epoch for all threads of the block), so the
// usual kernel costs two comparisons per byte.
//
// Releases: bar/barrier, bar.warp.sync, mbarrier arrive, st/atom/red .release,
// fence before a strong write. Acquires: the matching waits and strong reads,
// fence after a strong read. `red` never acquires. Two strong accesses whose
// scopes include both threads do not race. cp.async writes belong to the
// issuing thread but happen at its wait; until then nobody may touch the
// destination.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/exec/Access.h"
#include <memory>
#include <unordered_map>

namespace tessera::sim::check {

/// What somebody knows of all threads: for a block either one epoch for all
/// of its threads or one for each, whichever is larger.
struct Clock {
  struct BlockView {
    uint32_t uniform = 0;
    std::vector<uint32_t> each; // empty, or one per thread
  };
  std::unordered_map<uint64_t, BlockView> blocks;

  uint32_t of(uint64_t block, unsigned thread) const {
    auto it = blocks.find(block);
    if (it == blocks.end())
      return 0;
    uint32_t e = it->second.uniform;
    if (!it->second.each.empty())
      e = std::max(e, it->second.each[thread]);
    return e;
  }
  void join(const Clock &other);
  void know(uint64_t block, unsigned thread, uint32_t epoch,
            unsigned threadsPerBlock);
};
using ClockPtr = std::shared_ptr<const Clock>;

/// One access, as remembered per byte.
struct Mark {
  uint32_t thread = ~0u; // in its block
  uint32_t block = ~0u;
  uint32_t epoch = 0;
  const Inst *inst = nullptr;
};

struct ByteState {
  Mark write;
  Mark read;                                  // the last reader
  std::unique_ptr<std::vector<Mark>> readers; // further concurrent readers
  const Inst *pendingCopy = nullptr;          // cp.async on its way
  uint32_t pendingThread = 0;
};

struct ThreadState {
  uint32_t epoch = 1;
  ClockPtr known;
  ClockPtr released; // snapshot at the last releasing fence
  ClockPtr pending;  // seen by strong reads, not yet acquired by a fence
};

struct SyncVariable {
  ClockPtr released;
};

class Checker;

/// The part of the checker that belongs to one block.
struct BlockChecker {
  Checker &owner;
  Block &block;
  std::vector<ThreadState> threads;
  std::vector<ByteState> shared;
  std::vector<uint8_t> sharedWritten; // 0, 1, or sharedNobody
  static constexpr uint8_t sharedNobody = 2;
  std::vector<std::vector<std::pair<unsigned, uint32_t>>> arrivals;
  std::unordered_map<uint32_t, SyncVariable> mbarriers; // current phase
  std::unordered_map<uint32_t, SyncVariable> mbarrierDone;
  std::unordered_map<uint32_t, SyncVariable> sharedSync;
  std::vector<uint64_t> mbarrierPlaces;

  BlockChecker(Checker &owner, Block &block);
  /// `values`: the bytes one lane is about to write, if they are known.
  void access(Warp &w, const Inst &i, uint32_t mask, const Access &at,
              unsigned bytes, AccessKind kind, const uint8_t *values = nullptr);
  void note(Warp &w, const Inst &i, const char *kind, std::string message,
            uint64_t address);
  void fence(Warp &w, const Inst &i, uint32_t mask);
  void warpSync(Warp &w, uint32_t mask);
  void arriveBarrier(Warp &w, unsigned id, uint32_t mask);
  void completeBarrier(unsigned id, bool all);
  void divergentBarrier(Warp &w, const Inst &i, uint32_t mask);
  void exited(Warp &w, uint32_t mask);
  void finished();
  void mbarrierInit(Warp &w, const Inst &i, unsigned lane, uint32_t offset);
  void mbarrierInval(Warp &w, const Inst &i, unsigned lane, uint32_t offset);
  void mbarrierArrive(Warp &w, const Inst &i, unsigned lane, uint32_t offset);
  void mbarrierWait(Warp &w, const Inst &i, unsigned lane, uint32_t offset);
  void copyIssued(Warp &w, const PendingCopy &copy);
  void copyDone(Warp &w, const PendingCopy &copy);

  /// What thread `t` knows plus its own past; the thread's epoch moves on.
  ClockPtr release(unsigned t);
  void acquire(unsigned t, const ClockPtr &clock);

private:
  void checkByte(ByteState &byte, Warp &w, const Inst &i, unsigned lane,
                 uint64_t address, bool isShared, AccessKind kind,
                 bool sameValue = false);
  void synchronise(Warp &w, const Inst &i, unsigned lane, SyncVariable &v,
                   AccessKind kind);
  bool ordered(const Mark &mark, unsigned thread) const;
  void outsideVariables(Warp &w, const Inst &i, unsigned lane, uint64_t address,
                        unsigned bytes);
  void nearestWriter(uint64_t address, Report &r) const;
  void reportRace(Warp &w, const Inst &i, unsigned lane, const Mark &other,
                  uint64_t address, bool isShared, const char *what);
};

class Checker {
public:
  explicit Checker(Launch &launch);
  ~Checker();
  std::unique_ptr<BlockChecker> startBlock(Block &block);
  void finish();

  Launch &launch;
  unsigned threadsPerBlock;
  static constexpr unsigned pageBits = 8;
  /// State of global bytes, by page.
  std::unordered_map<uint64_t, std::unique_ptr<std::vector<ByteState>>> pages;
  std::unordered_map<uint64_t, SyncVariable> globalSync; // by byte address
  ByteState &globalByte(uint64_t address);

private:
  uint64_t lastPage = ~0ull;
  std::vector<ByteState> *lastStates = nullptr;
};

} // namespace tessera::sim::check
