//===- ProgramFacts.h - What tools ask of a program -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks, the tuner and reports ask the program, at whatever stage it is, and
// never read its text.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_PROGRAMFACTS_H
#define TESSERA_COMPILER_PROGRAMFACTS_H

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace tessera {

/// A copy into shared memory, or a read of it, that meets its banks so often
/// more than once.
struct BankConflicts {
  std::string op;
  int64_t count;
  std::string place; ///< in the user's source; empty: not known
};

struct ProgramFacts {
  bool hasTiles = false;       ///< is there a tile.func
  bool hasFusions = false;     ///< is there a sched.fuse
  bool hasAttention = false;   ///< is there a gir.attention
  bool hasTensorCores = false; ///< are products made by warps
  bool hasFastPolicy = false;  ///< may roundings between ops be left out
  /// Nothing depends on an order of summation, or is an approximation: an op of
  /// a mapped program has one right result.
  bool isExact = true;
  std::vector<std::string> numerics; ///< orders of summation, of each fusion
  std::vector<std::vector<std::string>> resultDims; ///< names; "": none
  std::vector<BankConflicts> bankConflicts;
};

ProgramFacts factsOf(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_COMPILER_PROGRAMFACTS_H
