//===- Launches.h - What a call of known sizes launches ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For models and reports: nothing runs. Arrays are taken to be row-major
// without gaps, at aligned addresses, and no constants.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_PLAN_LAUNCHES_H
#define TESSERA_COMPILER_PLAN_LAUNCHES_H

#include "compiler/Plan/IR/Plan.h"

#include <map>

namespace tessera::plan {

/// What is known of a call.
struct CallSizes {
  std::map<std::string, std::vector<int64_t>> shapes = {}; ///< of arguments
  std::map<std::string, int64_t> dims = {}; ///< of arguments without a shape
  bool assume = false;   ///< sizes of our choice for what is not known
  bool everyArm = false; ///< both arms of branches; unknown shapes are empty
};

struct LaunchedTensor {
  std::string name;
  std::vector<int64_t> shape;
  int64_t bytes = 0; ///< of the array; of a view, those of what it shows
};

struct Launched {
  std::string kernel;
  int64_t programs = 0;
  std::optional<int64_t> work, threads;
  std::vector<LaunchedTensor> tensors;
  std::vector<std::optional<int64_t>> scalars; ///< integers that are known
};

struct Launches {
  std::vector<Launched> all;                            ///< in order
  std::vector<std::pair<std::string, int64_t>> assumed; ///< of our choice
  std::string unknown; ///< what stopped the walk, in words; empty if nothing
};

Launches launchesOf(FuncOp func, const CallSizes &call);

} // namespace tessera::plan

#endif // TESSERA_COMPILER_PLAN_LAUNCHES_H
