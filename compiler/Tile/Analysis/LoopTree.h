//===- LoopTree.h - A kernel's launch as loops over nests -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What models of speed read: how often each nest of a launch runs, how many
// vectors it has, which bytes it touches, and which loops lead to other bytes.
// Lengths are those that exist: the last tile of a dim is shorter. A machine
// makes the tree of its mapped kernels (Target/Machine.h).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TILE_ANALYSIS_LOOPTREE_H
#define TESSERA_COMPILER_TILE_ANALYSIS_LOOPTREE_H

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tessera::tile {

/// Bytes that one run of a nest reads or writes; `along`: the loops that lead
/// to other bytes.
struct Touch {
  std::string array; ///< an argument of the launch, or memory of the thread
  double bytes = 0;
  std::set<std::string> along;
  bool write = false;
  bool streams = false; ///< written past the caches
  bool scratch = false; ///< memory of the thread
};

/// A block of a matrix step in registers: rows x columns x depth, `vectors` of
/// `lanes` per row (0: a block of AMX).
struct MatrixBlock {
  std::string unit;
  double rows = 0, columns = 0, depth = 0;
  int64_t vectors = 0, lanes = 0;
  bool reloads = false; ///< the accumulators come from memory
  bool thin = false;    ///< eight steps of k for all columns at a time
  int64_t step = 32;    ///< positions of k that one AMX instruction takes
};

/// One run of a nest.
struct NestRun {
  double rows = 0;                    ///< inner loops that are started
  double turns = 0;                   ///< turns of them
  double vectors = 0;                 ///< vectors along them
  std::map<std::string, int64_t> ops; ///< how many for each vector
  double chained = 0; ///< vectors that wait for the one before, per accumulator
  double sums = 0;    ///< vectors that are summed up at the end of a row
  double wide = 1;    ///< registers of a vector
  std::optional<MatrixBlock> matrix;
  std::vector<Touch> touches;
};

/// A loop, or a run of a nest: one of the two is set.
struct LoopTree {
  double trips = 1;
  std::string name;
  std::vector<std::unique_ptr<LoopTree>> body;
  std::optional<NestRun> run;
};

/// What a launch gives a kernel.
struct LaunchArguments {
  std::vector<std::vector<int64_t>> shapes;    ///< of its views, in order
  std::vector<std::string> arrays;             ///< their names
  std::vector<std::optional<int64_t>> scalars; ///< its other arguments
};

struct LaunchLoops {
  LoopTree tree;       ///< its body: one turn of everything
  std::string unknown; ///< what cannot be followed, in words; empty: nothing
};

} // namespace tessera::tile

#endif // TESSERA_COMPILER_TILE_ANALYSIS_LOOPTREE_H
