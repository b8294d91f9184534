//===- Pipeline.h - The whole compiler, stage by stage ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_PIPELINE_H
#define TESSERA_COMPILER_PIPELINE_H

#include "compiler/Target/Machine.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

#include <functional>
#include <string>
#include <vector>

namespace tessera {

struct Stage {
  llvm::StringLiteral name; // The word `inspect_ir` and `--compile-to` take.
  /// Adds the passes that bring a module from the stage before to this one.
  void (*build)(mlir::OpPassManager &, const CompileOptions &);
  /// Adds the pass that checks this stage's closed list of ops.
  void (*check)(mlir::OpPassManager &);
};

/// The stages of every machine, in the order they run; then come the emissions
/// of the machine (Target/Machine.h).
llvm::ArrayRef<Stage> stages();

/// "graph, sched, tile-value, tile, target".
std::string stageNames();

/// The time one pass took.
struct PassTime {
  std::string pass;
  double milliseconds;
};

/// Called after each pass with the stage it leads to, its name, the module.
using PassObserver =
    std::function<void(llvm::StringRef, llvm::StringRef, mlir::ModuleOp)>;

/// The pass that runs on this thread, or that failed last; empty if none.
const std::string &runningPass();

/// Whether `module` keeps the contract of the stage it says it is at: for text,
/// which anybody may have edited.
mlir::LogicalResult checkStage(mlir::ModuleOp module);

/// Runs `module`, which says at which stage it is (see StageText.h; a module
/// that says nothing has just left the front end), down to stage `last`.
mlir::LogicalResult lowerTo(mlir::ModuleOp module, llvm::StringRef last,
                            const CompileOptions &options,
                            std::vector<PassTime> *times = nullptr,
                            PassObserver observer = nullptr);

/// What the target's machine calls `name` ("ptx", "object"), of the whole
/// module or of one kernel. Goes down to the stage it is made of; `module`
/// stays there.
llvm::FailureOr<std::string> emit(mlir::ModuleOp module, llvm::StringRef name,
                                  const CompileOptions &options,
                                  std::vector<PassTime> *times = nullptr,
                                  llvm::StringRef kernel = "");

} // namespace tessera

#endif // TESSERA_COMPILER_PIPELINE_H
