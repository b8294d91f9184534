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
//
// Bulk copies, st.async and red.async are agents of their own: what signals
// an mbarrier is known to who saw its phase complete, what belongs to a bulk
// group to who waited for the group (and from there on by the usual ways).
// wgmma reads shared memory as such an agent too, one for every warp; tcgen05
// has one for the operations of each thread (TensorMemoryChecker.cpp).
//
// The blocks of a cluster have a checker each; the state of a byte of shared
// memory is with the block that owns it, whoever accesses it. A block's memory
// is gone when the block is: what others did to it must be ordered before the
// end of one of its threads (ClusterChecker.cpp).
//
// Asynchronous agents use the async proxy: a generic access before them must
// have a fence.proxy.async on the way, which a second clock, `fenced`,
// remembers. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/check/Semantics.h"
#include "sim/exec/Access.h"
#include "sim/exec/TensorMemory.h"
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>

namespace tessera::sim {
struct TensorOp;
struct TensorUse;
} // namespace tessera::sim

namespace tessera::sim::check {

/// What somebody knows of all threads: for a block either one epoch for all
/// of its threads or one for each, whichever is larger.
struct Clock {
  struct BlockView {
    uint32_t uniform = 0;
    std::vector<uint32_t> each; // empty, or one per thread
    /// Asynchronous agents and their epochs, by number.
    std::vector<std::pair<uint32_t, uint32_t>> agents;
    uint32_t of(uint32_t thread) const;
    void know(uint32_t agent, uint32_t epoch);
    void join(const BlockView &other);
  };
  using View = std::unordered_map<uint64_t, BlockView>;
  View blocks;
  /// What is ordered before later accesses of another proxy as well: the
  /// async proxy to shared and to global memory, reads of tensor maps.
  View fenced[proxyCount];

  static uint32_t of(const View &view, uint64_t block, uint32_t thread) {
    auto it = view.find(block);
    return it == view.end() ? 0 : it->second.of(thread);
  }
  uint32_t of(uint64_t block, uint32_t thread) const {
    return of(blocks, block, thread);
  }
  void join(const Clock &other);
  void know(uint64_t block, unsigned thread, uint32_t epoch,
            unsigned threadsPerBlock);
};
using ClockPtr = std::shared_ptr<const Clock>;

/// Numbers that stand for asynchronous agents where a thread's could: what
/// signals the mbarrier at 8 * n, the writes and the reads of the bulk groups
/// of thread n, the reads of the wgmma groups of warp n. Epochs are phases of
/// the mbarrier and numbers of groups.
constexpr uint32_t firstAgent = 1u << 28;
constexpr uint32_t mbarrierAgent = 1u << 28, bulkWriteAgent = 2u << 28,
                   bulkReadAgent = 3u << 28, wgmmaAgent = 4u << 28;
/// The start of a block, which who passed barrier.cluster knows of.
constexpr uint32_t startAgent = 5u << 28;
/// tcgen05: products, copies and shifts of a thread; loads and stores of a
/// warp. Their epochs are numbers of operations.
constexpr uint32_t tensorAgent = 6u << 28, tensorLoadAgent = 7u << 28,
                   tensorStoreAgent = 8u << 28;
/// Epoch of what has not happened yet: nobody knows it.
constexpr uint32_t inFlight = ~0u;

/// One access, as remembered per byte.
struct Mark {
  uint32_t thread = ~0u; // in its block, or an agent
  uint32_t block = ~0u;
  uint32_t epoch = 0;
  /// Of an agent's access: the thread, and the rank of its block in the
  /// cluster from bit 16.
  uint32_t issuer = 0;
  const Inst *inst = nullptr;
  bool isAsync() const { return inst && thread >= firstAgent; }
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
  /// Of barrier.cluster, so far.
  uint32_t clusterArrivals = 0, clusterWaits = 0;
  ClockPtr known;
  ClockPtr released; // snapshot at the last releasing fence
  ClockPtr pending;  // seen by strong reads, not yet acquired by a fence
};

struct SyncVariable {
  ClockPtr released;
};

/// What is known of an mbarrier object.
struct MbarrierState {
  ClockPtr arriving;  // what arrivals of the current phase released
  ClockPtr completed; // what somebody who sees the last phase complete learns
  Mark init;
  uint32_t epoch = 1;         // of the current phase; never goes back
  uint32_t first = 1;         // of phase 0
  uint32_t observed = 0;      // the last epoch that somebody saw complete
  std::vector<uint32_t> seen; // the last epoch each thread saw complete
  /// Copies that completed in epochs nobody saw yet.
  struct Copy {
    uint32_t epoch, thread;
    Block *issuer;
    const Inst *inst;
  };
  std::vector<Copy> unseenCopies;
};

/// What all warps of a warp group have to execute alike; without `inst`,
/// setmaxnreg with the same values.
struct WarpGroupStep {
  const Inst *inst = nullptr;
  uint64_t a = 0, b = 0; // descriptors
  bool accumulates = false;
};

/// Four warps, and how far each of them is.
struct WarpGroup {
  std::vector<WarpGroupStep> steps;
  std::vector<const Inst *> places; // who executed them first
  size_t done[4] = {};
  bool isReported = false;
};

/// "shared address 0x10" of a block, without one "global address 0x7f..", and
/// "the cp.async.bulk at PTX line 12".
std::string where(uint64_t address, const Block *shared);
std::string opName(const Inst &inst, const Launch &launch);

/// One access to tensor memory.
struct TensorMark {
  enum Kind : uint8_t {
    None,
    Load,
    Store,
    Product,
    Copy,
    CopyRows,
    Shift,
    Free
  };
  Kind kind = None;
  bool isWrite = false;
  bool isUnknown = false; // it writes what nobody has written
  uint32_t agent = 0, epoch = 0;
  uint32_t block = 0;
  uint32_t thread = 0, threadEpoch = 0; // who issued it, and when
  uint64_t shape = 0; // of a product: accumulator and instruction descriptor
  const Inst *inst = nullptr;
};
/// 16 lanes of one column.
struct TensorCellState {
  TensorMark write;
  std::vector<TensorMark> reads; // since, one per agent
};

class Checker;
struct GridTrace;

/// The part of the checker that belongs to one block.
struct BlockChecker {
  Checker &owner;
  Block &block;
  std::vector<ThreadState> threads;
  std::vector<ByteState> shared;
  std::vector<uint8_t> sharedWritten; // 0, 1, or one of these
  static constexpr uint8_t sharedNobody = 2, sharedMbarrier = 3;
  /// Written with a value of tensor memory that nobody had written.
  static constexpr uint8_t sharedUnknown = 4;
  std::vector<std::vector<std::pair<unsigned, uint32_t>>> arrivals;
  std::unordered_map<uint32_t, MbarrierState> mbarriers; // by offset
  std::unordered_map<uint32_t, SyncVariable> sharedSync;
  /// The last access of a thread of another block to this block's memory.
  struct RemoteUse {
    uint32_t block, thread, epoch;
    uint32_t phase; // of barrier.cluster that the thread arrives in next
    uint32_t address;
    uint32_t mbarrierEpoch; // of the phase it takes part in; 0: none
    const Inst *inst;
  };
  std::unordered_map<uint64_t, RemoteUse> remoteUses; // by block and thread
  /// Copies from this block's memory to another block that have ended: by the
  /// agent that tells of their end.
  std::map<std::pair<uint32_t, uint32_t>, Mark> remoteReads;
  struct OpenBulk {
    uint32_t thread, group;
    const Inst *inst;
  };
  std::vector<OpenBulk> openBulk;       // groups whose reads nobody waited for
  std::vector<WarpGroup> warpGroups[2]; // wgmma, setmaxnreg
  /// What the lanes of a warp know together.
  struct WarpView {
    std::array<ClockPtr, 32> known;
    ClockPtr joined;
  };
  std::vector<WarpView> warpViews;
  /// Of tensor memory, by column and group of lanes; empty until it is used.
  std::vector<TensorCellState> tensorCells;
  /// By thread: agents and operations that its own products follow in the
  /// tensor core, so that the end of these is the end of those as well.
  std::map<uint32_t, std::map<std::pair<uint32_t, uint32_t>, uint32_t>>
      tensorFollows;

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
  // check/ClusterChecker.cpp
  void clusterArrive(Warp &w, const Inst &i, uint32_t mask);
  void clusterWait(Warp &w, const Inst &i, uint32_t mask);
  /// A thread of this block uses the shared memory of another one.
  void remoteUse(Warp &w, const Inst &i, unsigned lane, BlockChecker &there,
                 uint64_t address, uint32_t mbarrierEpoch = 0);
  // check/AsyncChecker.cpp
  void fenceProxy(Warp &w, uint32_t mask, uint8_t proxies);
  /// A tensor copy reads its map from global memory.
  void tensorMapRead(Warp &w, const Inst &i, unsigned lane, uint64_t address);
  void mbarrierInit(Warp &w, const Inst &i, unsigned lane, uint32_t offset,
                    bool isLive);
  void mbarrierInval(Warp &w, const Inst &i, unsigned lane, uint32_t offset);
  /// Any use but init: must come after it.
  void mbarrierUse(Warp &w, const Inst &i, unsigned lane, uint32_t offset);
  void mbarrierArrive(Warp &w, const Inst &i, unsigned lane, uint32_t offset);
  /// The current phase is complete.
  void mbarrierPhase(uint32_t offset);
  /// A thread sees that the phase before the current one is complete.
  void mbarrierWait(Warp &w, const Inst &i, unsigned lane, uint32_t offset);
  /// A wait with a token of this phase.
  void mbarrierToken(Warp &w, const Inst &i, unsigned lane, uint32_t offset,
                     uint32_t phase);
  void asyncIssued(const AsyncOp &op);
  /// It wrote, and is about to signal its mbarrier.
  void asyncDone(const AsyncOp &op);
  /// The issuing thread waited for the copies of cp.async.mbarrier.arrive.
  void asyncObserved(const AsyncOp &op);
  void bulkWaited(uint32_t thread, uint32_t group, bool readOnly);
  // check/WgmmaChecker.cpp
  /// The next step of a warp that its warp group has to take together.
  void warpGroupStep(Warp &w, const Inst &i, uint32_t mask,
                     const WarpGroupStep &step);
  /// A wgmma reads these 16-byte chunks of shared memory.
  void wgmmaIssued(Warp &w, const Inst &i, const std::vector<uint32_t> &chunks,
                   uint32_t group);
  void wgmmaWaited(Warp &w, uint32_t group);
  // check/GridTrace.cpp
  /// griddepcontrol.wait
  void gridWaited(Warp &w, uint32_t mask);
  // check/TensorMemoryChecker.cpp
  void tensorFence(Warp &w, uint32_t mask, bool isAfter);
  /// tcgen05.ld or tcgen05.st.
  /// A load returns a column that nobody has written, if there is one.
  std::optional<uint32_t> tensorMoved(Warp &w, const Inst &i, bool isStore,
                                      uint32_t number,
                                      const std::vector<TensorRegion> &regions);
  /// The warp knows of the end of its first loads, or stores.
  void tensorWaited(Warp &w, bool stores, uint32_t number);
  /// A product, a copy or a shift of a thread of this block uses tensor and
  /// shared memory of `of`, the own block or the other one of its pair.
  void tensorIssued(Warp &w, unsigned lane, const TensorOp &op, Block &of,
                    const TensorUse &use);
  void tensorFreed(Warp &w, const Inst &i, const TensorRegion &region);
  /// What the arrival of a tcgen05.commit behind so many operations releases.
  ClockPtr tensorCommitted(uint32_t thread, uint32_t number);
  void report(const char *kind, Warp &w, const Inst &i, unsigned lane,
              uint64_t address, const Inst *other, const std::string &message);
  void copyIssued(Warp &w, const PendingCopy &copy);
  void copyDone(Warp &w, const PendingCopy &copy);

  /// What thread `t` knows plus its own past; the thread's epoch moves on.
  ClockPtr release(unsigned t);
  void acquire(unsigned t, const ClockPtr &clock);

private:
  void checkByte(ByteState &byte, Warp &w, const Inst &i, unsigned lane,
                 uint64_t address, const Block *shared, AccessKind kind,
                 bool sameValue = false);
  void synchronise(Warp &w, const Inst &i, unsigned lane, SyncVariable &v,
                   AccessKind kind);
  bool ordered(const Mark &mark, unsigned thread) const;
  void outsideVariables(Warp &w, const Inst &i, unsigned lane, uint64_t address,
                        unsigned bytes);
  void nearestWriter(uint64_t address, Report &r) const;
  void reportRace(Warp &w, const Inst &i, unsigned lane, const Mark &other,
                  uint64_t address, const Block *shared, const char *what);
  /// Strong accesses of two threads whose scopes include both never race.
  bool morallyStrong(const Inst &a, const Mark &b) const;
  // check/ClusterChecker.cpp
  /// A block of this cluster, by its number.
  Block &peer(uint32_t linear) const;
  void finishCluster();
  // check/AsyncChecker.cpp
  static Warp &warpOf(const AsyncOp &op);
  /// An agent reads the byte.
  static void rememberReader(ByteState &byte, const Mark &mine);
  Mark agentMark(const AsyncOp &op, bool write) const;
  /// What an operation does to a range, and marks that it was found to be
  /// ordered after: neighbours often have the same.
  struct AsyncRange {
    const AsyncOp &op;
    BlockChecker *shared; // whose memory it is; null for global memory
    bool write;
    Mark mine;
    std::array<Mark, 16> passed = {};
    unsigned next = 0;
  };
  void asyncRange(AsyncRange &range, uint64_t address, uint32_t bytes);
  void asyncByte(ByteState &byte, AsyncRange &range, uint64_t address);
  /// `mark` is ordered before the op, but is it for the async proxy?
  bool checkFence(const Mark &mark, const AsyncOp &op, uint64_t address,
                  const Block *shared, bool write, bool wasWrite);
  void reportAsync(Warp &w, const Inst &i, unsigned lane, const Mark &copy,
                   uint64_t address, const Block *shared, bool copyWrites);
  // check/WgmmaChecker.cpp
  const ClockPtr &knownToWarp(unsigned warp);
  /// An agent reads 16-byte chunks of shared memory in the async proxy for the
  /// threads from `first` on, which know of what they wrote themselves.
  /// The memory is that of `of`.
  void matrixRead(BlockChecker &of, Warp &w, const Inst &i, unsigned lane,
                  const std::vector<uint32_t> &chunks, const Mark &mine,
                  const Clock &known, unsigned first, unsigned count);
  void matrixByte(BlockChecker &of, Warp &w, const Inst &i, unsigned lane,
                  uint32_t address, const Clock &known, bool isOwn);
  void finishWarpGroups();
  void exitAsync(Warp &w, uint32_t mask);
  void finishAsync();
  // check/TensorMemoryChecker.cpp
  std::optional<uint32_t> tensorUse(Warp &w, unsigned lane,
                                    const TensorRegion &region,
                                    const TensorMark &mine, const Clock &known);
  void tensorAgainst(Warp &w, unsigned lane, const TensorMark &mark,
                     const TensorMark &mine, const Clock &known,
                     uint32_t address);
  void finishTensorMemory();
  // check/GridTrace.cpp
  void reportOverlap(Warp &w, const Inst &i, unsigned lane, const Mark &before,
                     uint64_t address, bool wasWrite);
};

class Checker {
public:
  explicit Checker(Launch &launch);
  ~Checker();
  std::unique_ptr<BlockChecker> startBlock(Block &block);
  void finish();
  // check/GridTrace.cpp
  /// What the grid did; the checker is of no use afterwards.
  std::shared_ptr<GridTrace> takeTrace();
  /// The grid before may still run. Its trace is taken over.
  void follow(GridTrace &before);
  std::string gridBefore; // name of its kernel

  Launch &launch;
  unsigned threadsPerBlock;
  static constexpr unsigned pageBits = 8;
  /// State of global bytes, by page.
  std::unordered_map<uint64_t, std::unique_ptr<std::vector<ByteState>>> pages;
  std::unordered_map<uint64_t, SyncVariable> globalSync; // by byte address
  ByteState &globalByte(uint64_t address);
  /// Remarks are made once per instruction.
  bool isNewRemark(const Inst &inst, const char *about) {
    return remarks.insert({&inst, about}).second;
  }

private:
  std::set<std::pair<const Inst *, const char *>> remarks;
  uint64_t lastPage = ~0ull;
  std::vector<ByteState> *lastStates = nullptr;
};

} // namespace tessera::sim::check
