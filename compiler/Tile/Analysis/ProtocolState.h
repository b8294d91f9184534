//===- ProtocolState.h - What threads may do to a block's memory *- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state that BarrierProof.cpp follows: for each piece of memory that ops
// name as a whole what may be in it, and the numbers that choose slots.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TILE_ANALYSIS_PROTOCOLSTATE_H
#define TESSERA_COMPILER_TILE_ANALYSIS_PROTOCOLSTATE_H

#include "compiler/Tile/IR/Tile.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera::tile {

/// A slot of a buffer, the scratch memory of an op, or an array of the user
/// that the kernel reads and writes.
struct ProtocolObject {
  std::string name;
  bool shared = true;
  int64_t begin = 0, end = 0; // bytes of shared memory
};

/// The memory of a kernel.
struct ProtocolMemory {
  explicit ProtocolMemory(FuncOp kernel);

  std::string name(size_t object) const { return objects[object].name; }

  std::vector<ProtocolObject> objects;
  /// By object: those that share bytes with it, itself included.
  std::vector<llvm::SmallVector<int>> overlaps;
  /// First object and number of slots.
  llvm::DenseMap<mlir::Value, std::pair<int, int64_t>> ofBuffer;
  llvm::DenseMap<mlir::Operation *, int> ofScratch;
  llvm::DenseMap<mlir::Value, int> ofView;
  /// Values that slots are computed from.
  llvm::DenseSet<mlir::Value> tracked;
  /// No wait leaves more groups under way.
  int64_t mostPending = 0;

private:
  void track(mlir::Value value);
};

enum class Content : uint8_t {
  Empty,  ///< nothing, or overwritten through another name
  Flying, ///< a copy is under way
  Landed, ///< written since the last barrier: known to the writers only
  Ready,  ///< visible to all threads
};

struct Cell {
  Content content = Content::Empty;
  /// Of a copy under way: groups closed since its own; -1: not in a group.
  int64_t age = -1;
  bool read = false; // since the last barrier
  /// Of an array: the youngest copy that still reads it, as `age`; -2: none.
  int64_t readAge = -2;
  /// For the story, not part of the state.
  mlir::Operation *writer = nullptr, *reader = nullptr;
};

/// One event on the way to a state.
struct ProtocolStep {
  std::shared_ptr<const ProtocolStep> before;
  mlir::Operation *op;
  std::string what;
  int object; // -1: none
  llvm::SmallVector<int64_t, 2> turns;
};

class ProtocolState {
public:
  explicit ProtocolState(const ProtocolMemory &memory);

  std::vector<Cell> cells;             // by object
  std::map<void *, int64_t> values;    // of tracked values
  llvm::SmallVector<int64_t, 2> turns; // of the loops around, for the story

  /// Equal for states with the same future.
  std::string key() const;
  void set(mlir::Value value, std::optional<int64_t> number);
  /// A number that follows from constants and tracked values.
  std::optional<int64_t> evaluate(mlir::Value value) const;
  void note(mlir::Operation *op, std::string what, int object);
  /// The events from `other` on, up to the last one; without `other` the last
  /// ones. Those that touch other memory are left out.
  std::string schedule(const ProtocolMemory &memory, int object,
                       mlir::Operation *other) const;

private:
  std::shared_ptr<const ProtocolStep> last;
};

/// "file.py:12:3" of a location, or "?".
std::string lineOf(mlir::Location loc);

} // namespace tessera::tile

#endif // TESSERA_COMPILER_TILE_ANALYSIS_PROTOCOLSTATE_H
