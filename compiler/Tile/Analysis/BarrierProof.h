//===- BarrierProof.h - No race and no deadlock, for any trip count -*- C++
//-*-//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is proved, of a kernel at the mapped level of a GPU:
//   * no thread reads shared memory before what it reads was copied there,
//     waited for and made visible by a barrier
//   * no thread writes, or lets a copy write, bytes that another may still be
//     reading or writing
//   * the same for arrays of the user that the kernel both reads and writes
//   * no copy is under way when the kernel ends
//   * every barrier is reached by all threads
//
// Why it ends, and holds for any number of turns. Threads of a block run alike;
// they may be apart, but never by more than the code between two barriers (a
// phase). So the protocol's state is small: for each slot of each buffer
// whether it is empty, being filled (by which group, counted from the newest),
// filled since the last barrier, or ready, and whether it was read since the
// last barrier; and the slots the loops carry. A loop's body maps such states
// to such states, of which there are finitely many: they are followed until one
// repeats. Every state at a loop's head is also one in which the loop may end,
// so all trip counts are covered, zero included. For the pipeline of three
// stages:
//
//   head, turn 0   slot 0 group 1, slot 1 group 0, slot 2 empty   reading 0
//   wait 1         slot 0 filled                                (for me)
//   barrier        slot 0 ready                                 (for all)
//   copy, commit   slot 2 group 0, slot 1 group 1
//   read slot 0    slot 0 ready, read
//   head, turn 1   slot 0 ready, read; slot 1 group 1, slot 2 group 0; reading
//   1
//   ...
//   head, turn 4   as turn 1: done
//
// The model:
//   * branches and trip counts depend only on what all threads know; else a
//     region may hold no barrier
//   * an op with `scratch` (a byte offset) waits for all threads, writes there,
//     waits again and reads; with `unguarded` it leaves out the first wait
//   * slots are constants, or follow by arithmetic from what loops carry
// What does not fit is refused, not waved through.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TILE_ANALYSIS_BARRIERPROOF_H
#define TESSERA_COMPILER_TILE_ANALYSIS_BARRIERPROOF_H

#include "compiler/Tile/IR/Tile.h"

#include <string>

namespace tessera::tile {

struct BarrierVerdict {
  enum class Kind : uint8_t { Proved, Refuted, OutsideModel };
  Kind kind = Kind::Proved;
  /// Refuted: what meets what. OutsideModel: what is not modelled.
  std::string problem;
  mlir::Operation *at = nullptr, *other = nullptr;
  std::string otherRole; // what `other` did
  /// The events that lead there, as a table: turn, what happens, where, line.
  std::string schedule;
  /// Different states of the protocol, at loop heads and at the end.
  int64_t states = 0;

  explicit operator bool() const { return kind == Kind::Proved; }
};

BarrierVerdict proveBarriers(FuncOp kernel);

} // namespace tessera::tile

#endif // TESSERA_COMPILER_TILE_ANALYSIS_BARRIERPROOF_H
