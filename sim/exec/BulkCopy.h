// What linear and tensor bulk copies share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "sim/check/Semantics.h"
#include "sim/exec/Access.h"
#include "sim/exec/Decode.h"

namespace tessera::sim {

/// An address operand; these instructions have up to three.
struct Address {
  Ref base = noRef;
  uint8_t width = 8;
  int64_t offset = 0;
  bool reachesCluster = false;

  uint64_t of(Warp &w, unsigned l) const {
    return width == 4 ? uint32_t(w.reg<uint32_t>(base)[l] + uint32_t(offset))
                      : w.reg<uint64_t>(base)[l] + uint64_t(offset);
  }
};
Address decodeAddress(Decoder &d, const ptx::Operand &o, ptx::Space space);

struct BulkPlan {
  AsyncOp::Place from = AsyncOp::Nothing, to = AsyncOp::Nothing;
  AsyncOp::Signal signal = AsyncOp::CompleteTx;
  Address source, destination, mbarrier;
  Ref size = noRef, blocks = noRef, byteMask = noRef;
  std::vector<Ref> values;
  bool reduces = false, ring = false;
  bool reachesAll = false; // all blocks of the cluster
  bool isPair = false; // .cta_group::2: may signal the other block of the pair
  AtomicOp op = AtomicOp::Add;
  ptx::Type type = ptx::Type::None;
};

/// The blocks that get the data, the own one unless it is a multicast to
/// others; faults if one is not there. `place` is where the destination's
/// address lies: each block gets the data at the same offset.
std::vector<Block *> destinations(Warp &w, unsigned lane, const BulkPlan &plan,
                                  const SharedPlace &place);
/// The operation of one lane, of so many bytes, still without its pieces.
std::unique_ptr<AsyncOp> beginCopy(Warp &w, const Inst &i, unsigned lane,
                                   const BulkPlan &plan, uint32_t bytes);
/// Fills in the group, or the mbarrier, for data that goes to the block
/// `target`: it is there, or in the other block of a pair.
void signalAt(Warp &w, const Inst &inst, unsigned lane, const BulkPlan &plan,
              Block &target, AsyncOp &op);
/// Issues the operation for each of the blocks.
void issueTo(Warp &w, const Inst &inst, unsigned lane, const BulkPlan &plan,
             const std::vector<Block *> &targets, std::unique_ptr<AsyncOp> op);
void countBytes(Warp &w, const Inst &inst, uint64_t bytes);
/// Which reductions the ISA lists for a type and the place of the result.
bool isReductionDefined(AtomicOp op, ptx::Type type, bool global);

} // namespace tessera::sim
