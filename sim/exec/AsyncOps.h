// Asynchronous operations in flight: bulk copies, st.async, red.async and the
// arrivals of cp.async.mbarrier.arrive and tcgen05.commit.
//
// An operation is issued, reads its source, writes its destination and then
// signals: an mbarrier (complete-tx or arrive-on) or the group of the thread
// that issued it. When it does so is the queue's choice:
//  * without checking, when it is issued;
//  * with checking, as late as possible: when somebody waits for it or no
//    thread of the cluster can go on;
//  * in adversarial runs, reads and writes at moments the seed picks, in any
//    order, at the latest when no thread can go on.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/exec/Atomic.h"
#include "sim/exec/Warp.h"

namespace tessera::sim {

namespace check {
struct Clock;
}

struct AsyncOp {
  enum Place : uint8_t { Nothing, Global, Shared, Value };
  enum Signal : uint8_t { CompleteTx, BulkGroup, ArriveOn };
  /// Source of a piece that is filled with `fillPattern`.
  static constexpr uint64_t fill = ~0ull;
  /// Contiguous bytes; addresses or offsets as the places say.
  struct Piece {
    uint64_t from, to;
    uint32_t bytes;
    bool operator==(const Piece &) const = default;
  };

  const Inst *inst = nullptr;
  Block *issuer = nullptr;
  uint32_t thread = 0; // of the issuing block, who issued it
  Place from = Nothing, to = Nothing;
  Signal signal = CompleteTx;
  bool hasRead = false; // `data` holds the source
  bool reduces = false;
  bool ring = false;
  bool isPadded = false; // its pieces leave the rest of 16 bytes undefined
  AtomicOp op = AtomicOp::Add;
  ptx::Type type = ptx::Type::None;
  uint16_t byteMask = 0xffff; // of every 16 bytes, which ones are written
  uint64_t fillPattern = 0;   // as of address 0
  std::vector<Piece> pieces;
  std::vector<uint8_t> data;
  /// Whose mbarrier it signals, and whose shared memory it writes: the same,
  /// unless it is a copy of a pair of blocks.
  Block *target = nullptr, *destination = nullptr;
  uint32_t mbarrier = 0; // offset
  uint32_t bytes = 0;    // of the transaction
  uint32_t group = 0;    // bulk group of the thread, from 1
  /// cp.async.mbarrier.arrive: the copies it waits for.
  std::vector<PendingCopy> copies;
  /// tcgen05.commit: so many operations of the issuer's tensor core come
  /// first, and what its arrival tells the checker.
  bool isCommit = false;
  uint64_t tensorOps = 0;
  std::shared_ptr<const check::Clock> released;
  int event = -1; // in the timeline, while counting
};

/// Performs one cp.async.
void performCopy(Block &block, const PendingCopy &copy);

/// The operations that threads of one block issued.
class AsyncQueue {
public:
  explicit AsyncQueue(Block &block) : block(block) {}
  /// Bounds were checked; the checker is told here.
  void issue(std::unique_ptr<AsyncOp> op);
  /// Adversarial runs: some operations make a step.
  void poll();
  /// Somebody waits for the end of a phase of this mbarrier: completes
  /// operations that signal it, in order. False once the phase has ended.
  bool completeFor(Block &owner, uint32_t mbarrier, uint32_t phase);
  /// Nobody can go on: completes one operation; false if there is none.
  bool completeOne();
  /// Bulk groups of a thread up to `group` have read, or are complete.
  void waitGroups(uint32_t thread, uint32_t group, bool readOnly);
  /// The arrivals that wait for cp.async of this thread.
  void completeArrivals(uint32_t thread);
  /// The cluster has ended.
  void completeAll();
  /// Group number that the next bulk operation of the thread belongs to.
  uint32_t openGroup(uint32_t thread);
  void commitGroup(uint32_t thread);

  const std::vector<std::unique_ptr<AsyncOp>> &inFlight() const { return ops; }

private:
  void read(AsyncOp &op);
  void write(AsyncOp &op);
  void complete(size_t index);
  bool isLazy() const;

  static constexpr size_t mostInFlight = 256;
  Block &block;
  std::vector<std::unique_ptr<AsyncOp>> ops; // in the order of issue
  std::vector<uint32_t> committed;           // bulk groups per thread
};

} // namespace tessera::sim
