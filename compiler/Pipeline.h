//===- Pipeline.h - The whole compiler, stage by stage ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_PIPELINE_H
#define TESSERA_COMPILER_PIPELINE_H

#include "compiler/Target/CPU/CPU.h"
#include "compiler/Target/NVIDIA/NVIDIA.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

#include <functional>
#include <string>
#include <vector>

namespace tessera {

/// What every stage may want to know; never read from the environment.
struct CompileOptions {
  /// "cpu" (this machine), "cpu:avx2" (any x86-64-v3), "sm_80" (NVIDIA, PTX),
  /// "cudatile:sm_90" (NVIDIA, CUDA Tile IR).
  std::string target = "cpu";
  int optLevel = 3;
  /// Run MLIR's verifier after every pass.
  bool verifyEach = false;
  /// If not empty, every stage is written there as NN-name.mlir.
  std::string dumpDirectory;
  /// Stands before the names of kernels in the object file, not in the plan.
  std::string symbolPrefix;
  /// For tests, "segv@tile": a mistake (see CrashSafety.h) on the way to a
  /// stage.
  std::string mistake;
};

struct Stage {
  llvm::StringLiteral name; // The word `inspect_ir` and `--compile-to` take.
  /// Adds the passes that bring a module from the stage before to this one.
  void (*build)(mlir::OpPassManager &, const CompileOptions &);
  /// Adds the pass that checks this stage's closed list of ops.
  void (*check)(mlir::OpPassManager &);
};

/// All stages, in the order they run.
llvm::ArrayRef<Stage> stages();

/// "graph, sched, tile-value, tile, target".
std::string stageNames();

/// Which compiler of Target/ a target's name belongs to.
enum class Machine { None, Cpu, Nvidia, CudaTile };
Machine machineOf(llvm::StringRef target);
/// "cpu, cpu:avx2, cpu:avx512, sm_80 ...", for messages.
std::string targetNames();

/// What the CPU target needs of `options`.
target::CpuOptions cpuOptions(const CompileOptions &options);
target::NvidiaOptions nvidiaOptions(const CompileOptions &options);

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

} // namespace tessera

#endif // TESSERA_COMPILER_PIPELINE_H
