// A warp: 32 lanes that run in groups.
//
// A group is a set of lanes at one program counter. A divergent branch splits
// a group; two groups that meet at one place of one frame merge again. The
// group at the lowest program counter of the deepest call runs first, which
// rejoins the two sides of an `if` and lets the lanes that left a loop wait
// for the rest; after a quantum another group gets its turn, so that a lane
// may wait for a lane that is behind it (independent thread scheduling).
// Instructions with a member mask wait until those lanes have arrived.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/exec/Code.h"
#include "sim/exec/Memory.h"
#include <bit>
#include <cstring>

namespace tessera::sim {

struct Block;
class WgmmaQueue;
class TensorMoves;
namespace check {
class UnwrittenValues;
}

/// The registers of one active call.
struct Frame {
  const Code *code = nullptr;
  Frame *parent = nullptr;
  uint8_t *registers = nullptr;
  uint32_t localBase = 0;
  unsigned depth = 0;
  uint32_t returnPc[32] = {}; // per lane, in the parent
  std::vector<std::unique_ptr<Frame>> children;
  std::unique_ptr<uint8_t[]> storage;
};

struct Group {
  enum State : uint8_t {
    Ready,
    AtBlockBarrier, // arrived, waits for the barrier to complete
    AtWarpSync,     // waits for lanes of `members`
    Converging,     // at an aligned barrier, other lanes may still come
    AtMbarrier,     // waits for a phase of an mbarrier, up to a time limit
    AtClusterBarrier,
    AtWarpGroup,    // at wgmma.wait_group, other warps have still to issue
    AtTensorMemory, // at tcgen05.alloc, not enough columns are free
    AtRegisterPool, // at setmaxnreg.inc, not enough registers are free
  };
  uint32_t mask = 0;
  uint32_t pc = 0;
  Frame *frame = nullptr;
  State state = Ready;
  uint32_t members = 0;
  unsigned barrier = 0;         // number, or offset of the mbarrier
  bool parity = false;          // of the phase waited for
  bool timedOut = false;        // the wait returns whatever it finds
  const Inst *failed = nullptr; // the wait that failed last
  uint32_t missed = ~0u; // while counting: an mbarrier it came to too early
  uint64_t wakeTurn = 0;
};

struct PendingCopy {
  uint32_t shared;
  uint64_t global;
  uint8_t bytes, copied; // bytes beyond `copied` are zero
  uint8_t lane;
  uint32_t group; // commit number of the lane when it was issued
  const Inst *inst;
  bool done = false; // its bytes are there, though nobody waited for them
};

struct Warp {
  uint8_t *base[2] = {nullptr, nullptr}; // registers, constants
  Block *block = nullptr;
  const Inst *inst = nullptr; // the one being executed
  Frame *frame = nullptr;
  unsigned index = 0;     // in the block
  uint32_t existing = 0;  // lanes that were started
  uint32_t live = 0;      // lanes that have not exited
  uint32_t groupMask = 0; // lanes of the running group
  bool yield = false;     // set by instructions that should let others run
  bool outOfTurn = false; // the running group is not the lowest one
  bool tracing = false;   // report accesses to checker or counters
  std::vector<Group> groups;
  std::unique_ptr<Frame> root;
  uint32_t carry = 0; // CC.CF per lane
  uint32_t localStride = 0;
  std::vector<uint8_t> local;     // [lane][byte]
  std::vector<uint32_t> stackTop; // of alloca, per lane
  std::vector<PendingCopy> copies;
  uint32_t copyGroup[32] = {};
  /// While counting: bytes per commit group that a lane has not waited for;
  /// the last one is still open.
  std::vector<std::vector<uint32_t>> inFlight;
  /// Once it executed wgmma, unless products are computed at once.
  std::shared_ptr<WgmmaQueue> wgmma;
  uint32_t wgmmaGroups = 0; // committed
  /// Once it executed tcgen05.ld or st, unless they are done at once.
  std::shared_ptr<TensorMoves> tensorMoves;
  /// Once it has values of tensor memory that nobody has written.
  std::shared_ptr<check::UnwrittenValues> unwritten;
  uint32_t storesUnwritten = 0; // lanes, by the instruction that runs
  bool tracksRegisters = false; // of one of these three
  /// Set by an instruction that has to wait and to come again.
  Group::State awaits = Group::Ready;
  uint64_t cachedLow = 1, cachedHigh = 0, cachedGeneration = 0;
  bool cachedWritable = false;

  template <class T> T *reg(Ref ref) {
    return reinterpret_cast<T *>(base[ref >> 31] + (ref & ~constantPool));
  }
  uint32_t &pred(Ref ref) { return *reg<uint32_t>(ref); }
  bool done() const { return live == 0; }
  /// Some group need not wait for another warp.
  bool canRun() const;
  /// Runs up to `budget` instructions; false if nothing could run.
  bool run(uint64_t budget);
  void start(Block &owner, unsigned number, const Code &code);
  uint8_t *localAt(unsigned lane, uint32_t offset, unsigned bytes);
  /// Calls f(warp) for the other warps of its warp group.
  template <class F> void forWarpGroup(F f);
  /// The others of its warp group that wait for this one look again.
  void wakeWarpGroup();
  /// Sets a predicate for the lanes of `mask` only.
  void setPred(Ref ref, uint32_t mask, uint32_t value) {
    uint32_t &p = pred(ref);
    p = (p & ~mask) | (value & mask);
  }

private:
  friend struct Block;
  int pick();
  void execute(unsigned index, uint64_t &budget);
  Frame *childFrame(Frame *parent, const Code &code);
  void enterFrame(Frame *to);
  void exitLanes(unsigned index, uint32_t mask);
  void split(unsigned index, uint32_t mask, uint32_t pc);
  bool mergeAt(unsigned index);
  void doCall(unsigned index, const Inst &inst, uint32_t mask);
  void doReturn(unsigned index, uint32_t mask);
  bool doWarpSync(unsigned index, const Inst &inst);
  void doBarrier(unsigned index, const Inst &inst);
  void reachBarrier(unsigned index, const Inst &inst);
  bool doMbarrierWait(unsigned index, const Inst &inst, uint32_t active);
  void initFrame(Frame &f);
};

/// Calls `f(lane)` for the lanes of `mask`; a full warp is one plain loop that
/// the compiler turns into vector code.
template <class F>
inline __attribute__((always_inline)) void forLanes(uint32_t mask, F f) {
  if (mask == ~0u) {
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety) interleave(enable)
#elif defined(__GNUC__)
#pragma GCC ivdep
#endif
    for (unsigned l = 0; l < 32; ++l)
      f(l);
  } else {
    for (uint32_t m = mask; m; m &= m - 1)
      f(unsigned(std::countr_zero(m)));
  }
}

/// A fault ends the launch.
struct Fault {
  enum Kind : uint8_t {
    IllegalAddress,
    MisalignedAddress,
    Trap,
    Assert,
    IllegalInstruction,
    TensorMemory, // not allocated, another warp's, no permit
    Deadlock,
    Limit,       // more instructions or time than the launch may take
    ExitedBlock, // its shared memory is not there any more
    Stopped      // another thread ended the launch
  } kind;
  std::string message;
  uint64_t address = 0;
  int lane = -1; // of the running warp, if one is to blame
  /// Of a deadlock at an mbarrier: a wait that does not end, and whose it is.
  const Inst *inst = nullptr;
  std::string thread = {};
};

} // namespace tessera::sim
