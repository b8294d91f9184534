//===- LoopUses.h - Which axes the variables of loops index -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where an index and a loop disagree, either may be wrong. All uses together
// say which: in
//
//   for k in tsr.tile(N, BK):
//       acc += A[m, k] @ B[k, n]
//
// `k` indexes axes of dim K twice and none of N, so it is the loop.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_FRONTEND_LOOPUSES_H
#define TESSERA_COMPILER_FRONTEND_LOOPUSES_H

#include "compiler/Frontend/SemaImpl.h"

namespace tessera::frontend {

struct LoopUse {
  std::string name; // of the variable
  const For *loop = nullptr;
  const Expr *target = nullptr; // the name
  const Expr *extent = nullptr; // K of tsr.tile(K, BK), or of a grid
  const Expr *size = nullptr;   // BK; null if there is none
  std::set<std::string> dims;   // of the axes it indexes
  unsigned count = 0;
};

/// The names of an array's dims; empty for a name that is none.
using DimNames =
    llvm::function_ref<llvm::SmallVector<std::string>(llvm::StringRef)>;

/// Calls `visit` with each index of each access, and the dim of its axis.
void walkIndices(const SemaContext &context, DimNames dimsOf,
                 llvm::function_ref<void(const Subscript &, const Expr *,
                                         const std::string &)>
                     visit);

/// One for each variable of each loop over tiles, outer loops first.
std::vector<LoopUse> collectLoopUses(const SemaContext &context,
                                     DimNames dimsOf);

/// The variable of a loop over a dim; empty if there is none, or if the indices
/// have it already.
std::string findLoop(const SemaContext &context, const Dim &dim,
                     llvm::StringRef indices);

/// The dim of every axis that a variable indexes; empty if there are several,
/// or none.
std::string findIndexedDim(const SemaContext &context, llvm::StringRef name,
                           DimNames dimsOf);

/// Whether a range lies within another, line by line.
bool isWithin(const SourceRange &inner, const SourceRange &outer);

} // namespace tessera::frontend

#endif // TESSERA_COMPILER_FRONTEND_LOOPUSES_H
