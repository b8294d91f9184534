//===- CompileOptions.h - What every stage may want to know -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef TESSERA_COMPILER_COMPILEOPTIONS_H
#define TESSERA_COMPILER_COMPILEOPTIONS_H

#include <string>

namespace tessera {

/// Never read from the environment.
struct CompileOptions {
  /// "cpu" (this machine), "cpu:avx2" (any x86-64-v3), "sm_80" (NVIDIA, PTX),
  /// "cudatile:sm_90" (NVIDIA, CUDA Tile IR).
  std::string target = "cpu";
  int optLevel = 3;
  /// Run MLIR's verifier after every pass.
  bool verifyEach = false;
  /// If not empty, every stage is written there as NN-name.mlir, and what
  /// the machine emits beside them.
  std::string dumpDirectory;
  /// Stands before the names of kernels in the object file, not in the plan.
  std::string symbolPrefix;
  /// For tests, "segv@tile": a mistake (see CrashSafety.h) on the way to a
  /// stage.
  std::string mistake;
};

} // namespace tessera

#endif // TESSERA_COMPILER_COMPILEOPTIONS_H
