// tcgen05: the tensor core of sm_100a, its memory and what is in flight.
//
// Products, copies from shared memory and shifts are issued by one thread. They
// are done in the order of issue, which is more than the ISA promises; the
// checker knows what it promises. When they are done is
//  * without checking, when they are issued;
//  * with checking, as late as possible: when somebody waits for the mbarrier
//    of a tcgen05.commit behind them;
//  * in adversarial runs, at a moment the seed picks.
// tcgen05.ld and tcgen05.st are issued by a warp and are done by the time of
// tcgen05.wait; a register that a load in flight fills is there when it is
// read. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/exec/BulkCopy.h"
#include "sim/exec/InstructionDescriptor.h"
#include "sim/exec/TensorLayout.h"
#include "sim/exec/TensorMemory.h"
#include "sim/exec/Warp.h"
#include <deque>
#include <unordered_map>

namespace tessera::sim {

/// A tensor-memory address operand.
struct TensorAddress {
  Ref base = noRef;
  uint32_t offset = 0;
  uint32_t of(Warp &w, unsigned l) const {
    return w.reg<uint32_t>(base)[l] + offset;
  }
};
TensorAddress decodeTensorAddress(Decoder &d, const ptx::Operand &o);

/// tcgen05.ld and tcgen05.st.
struct MovePlan {
  MoveShape shape = MoveShape::Lanes32Bits32;
  bool isStore = false, packs = false;
  unsigned split = 0; // of 16x32bx2, in columns
  TensorAddress address;
  std::vector<Ref> registers;
  std::vector<unsigned> numbers; // as the function numbers them
  // .red
  Ref reduced = noRef;
  ptx::Type type = ptx::Type::None;
  bool isMax = false, absolute = false, keepsNaN = false;

  /// Columns of one half that it touches.
  unsigned columns() const {
    return columnsOf(shape, unsigned(registers.size())) * (packs ? 2 : 1);
  }
};

struct TensorMove {
  const Inst *inst = nullptr;
  const Code *code = nullptr;
  uint8_t *base[2] = {nullptr, nullptr}; // registers and constants
  uint32_t address = 0;
  uint32_t number = 0;          // of the warp's loads or stores, from 1
  std::vector<uint32_t> values; // of a store: 32 for each register
  bool done = false;
  bool isUsed = false; // a load: a register of it was read
};

/// The loads and stores of one warp that it has not waited for.
class TensorMoves {
public:
  explicit TensorMoves(Warp &warp) : warp(warp) {}
  void issue(TensorMove move);
  /// All stores, or all loads, are done.
  void wait(bool stores);
  /// An instruction is about to use registers.
  void touch(const Inst &inst, const Code &code, uint32_t pc, uint32_t active);
  /// Adversarial runs: perhaps one of them is done.
  void poll();
  void exited();

private:
  void perform(TensorMove &move);
  /// Tells the checker of loads that have ended, and forgets them.
  void forgetLoads();

  Warp &warp;
  std::vector<TensorMove> moves; // in the order of issue
  uint32_t issued[2] = {0, 0};   // loads, stores
};

/// tcgen05.mma.
struct ProductPlan {
  ProductForm form;
  bool aInTensorMemory = false;
  unsigned scaleD = 0; // the exponent of scale-input-d
  TensorAddress d, aAddress, scaleA, scaleB, metadata;
  Ref a = noRef, b = noRef, instruction = noRef, accumulates = noRef;
  Ref zeroColumns = noRef;
  std::vector<Ref> disabled;
};

/// tcgen05.cp.
struct CopyPlan {
  TensorAddress to;
  Ref from = noRef;
  unsigned rows = 0, bytes = 0; // of what is copied
  enum Spread : uint8_t { Once, FirstAndThird, Pairs, All } spread = Once;
  unsigned packedBits = 0; // 4 or 6: decompressed into bytes
  bool isPair = false;
};

/// A product, a copy or a shift.
struct TensorOp {
  enum Kind : uint8_t { Product, Copy, Shift } kind = Product;
  const Inst *inst = nullptr;
  uint32_t thread = 0;   // of the block
  uint32_t number = 0;   // of the thread's operations, from 1
  uint32_t address = 0;  // D, or the destination
  uint64_t a = 0, b = 0; // descriptors, or an address of A
  uint32_t instruction = 0, scaleA = 0, scaleB = 0, metadata = 0;
  uint64_t zeroColumns = 0;
  std::array<uint32_t, 8> disabled = {}; // lanes of D that stay
  bool accumulates = false;
  bool isPair = false; // of both blocks of a pair
  InstructionDescriptor shape;
};

/// What one operation touches in one block. Chunks are 16 bytes of shared
/// memory.
struct TensorUse {
  std::vector<uint32_t> chunks;
  std::vector<TensorRegion> reads, writes;
};
/// What it will touch in `block`; faults if a descriptor is wrong, or a place
/// outside of what there is.
TensorUse productUses(Warp &w, unsigned lane, const TensorOp &op, Block &block);
TensorUse transferUses(Warp &w, unsigned lane, const TensorOp &op,
                       Block &block);
/// The part of `block`; a pair's blocks have one each.
void multiply(Block &block, const TensorOp &op);
void copyToTensorMemory(Block &block, const TensorOp &op);
void shiftRows(Block &block, const TensorOp &op);
/// A column of B that a zero-column mask blanks out.
bool isZeroColumn(uint64_t descriptor, unsigned m, unsigned n, unsigned N);

/// What tcgen05 has in one block.
class TensorUnit {
public:
  explicit TensorUnit(Block &block) : block(block) {}
  TensorMemory memory;

  void issue(Warp &w, unsigned lane, TensorOp op);
  /// Does the first `sequence` operations.
  void completeUpTo(uint64_t sequence);
  void completeAll() { completeUpTo(issued); }
  /// Adversarial runs: perhaps the oldest operation is done.
  void poll();
  /// Operations issued so far, all in all and by a thread.
  uint64_t sequence() const { return issued; }
  uint32_t issuedBy(uint32_t thread) const;
  /// All instructions of a kernel have one .cta_group.
  void useGroup(Warp &w, const Inst &inst, bool isPair);

private:
  void perform(const TensorOp &op);

  static constexpr size_t mostInFlight = 256;
  Block &block;
  std::deque<TensorOp> ops;
  uint64_t issued = 0;
  const Inst *grouped[2] = {}; // the first ones of .cta_group::1 and ::2
  std::unordered_map<uint32_t, uint32_t> perThread;
};

/// The block's, which is made when it is first needed.
TensorUnit &tensorUnit(Block &block);
/// Faults on a machine without tcgen05.
void requireTensorUnit(Warp &w);
/// The block itself, or the pair that it is in, by rank. Faults if the other
/// one is not there.
std::vector<Block *> blocksOf(Block &block, bool isPair);
/// Faults if a region of the block is not allocated.
void requireAllocated(Warp &w, unsigned lane, Block &block,
                      const TensorRegion &region, const char *what);
/// Products and copies are in flight for a while.
bool isLazy(const Block &block);

// One per file.
void decodeTensorAllocation(Decoder &d, Inst &inst);
void decodeTensorMove(Decoder &d, Inst &inst);
void decodeTensorCommit(Decoder &d, Inst &inst);
void decodeTensorProduct(Decoder &d, Inst &inst);
void decodeTensorTransfer(Decoder &d, Inst &inst);

} // namespace tessera::sim
