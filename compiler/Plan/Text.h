//===- Text.h - Names and strings of a plan's text --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_PLAN_TEXT_H
#define TESSERA_COMPILER_PLAN_TEXT_H

#include "llvm/ADT/StringSet.h"

#include <string>

namespace tessera::plan {

/// A text as a string of a plan, quotes included.
std::string quoted(llvm::StringRef text);

/// Names of a plan, each given once. `%` and `$` names do not meet.
class PlanNames {
public:
  std::string tensor(llvm::StringRef hint) { return fresh(tensors, hint); }
  std::string integer(llvm::StringRef hint) { return fresh(integers, hint); }

private:
  static std::string fresh(llvm::StringSet<> &taken, llvm::StringRef hint);
  llvm::StringSet<> tensors, integers;
};

} // namespace tessera::plan

#endif // TESSERA_COMPILER_PLAN_TEXT_H
