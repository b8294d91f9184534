//===- PlanLaunch.h - Launches in the text of a plan ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pass that makes variants of a kernel lets the plan choose between them:
// the line that launches the kernel is replaced by a branch.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TILE_TRANSFORMS_PLANLAUNCH_H
#define TESSERA_COMPILER_TILE_TRANSFORMS_PLANLAUNCH_H

#include "compiler/Tile/IR/Tile.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace tessera::tile {

/// "  launch @f(%a, %b; $n, 4) grid $g": the parts of such a line.
struct PlanLaunch {
  llvm::StringRef indent, symbol, rest; // rest: " grid $g"
  llvm::SmallVector<llvm::StringRef> views, scalars;

  static std::optional<PlanLaunch> parse(llvm::StringRef line);
  /// The same launch of another kernel.
  std::string of(llvm::StringRef kernel) const;
  /// The lines that launch `kernel` instead, with the same arguments, where
  /// `condition` holds; `line` is this launch.
  void choose(llvm::StringRef condition, llvm::StringRef kernel,
              llvm::StringRef line,
              llvm::SmallVectorImpl<std::string> &lines) const;
  /// A size that `func`, the kernel, asks for, in the plan's words; nothing if
  /// the plan cannot know.
  std::string extent(FuncOp func, mlir::Value value) const;
  /// "$g" in parentheses, and what stands behind it.
  std::pair<std::string, llvm::StringRef> gridAndMore() const;
};

/// Calls `replace` for each line of a plan that launches `kernel`, with where
/// to put the lines that stand instead.
void replaceLaunches(
    mlir::ModuleOp module, llvm::StringRef kernel,
    llvm::function_ref<void(const PlanLaunch &, llvm::StringRef line,
                            llvm::SmallVectorImpl<std::string> &)>
        replace);

} // namespace tessera::tile

#endif // TESSERA_COMPILER_TILE_TRANSFORMS_PLANLAUNCH_H
