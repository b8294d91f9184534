//===- NVIDIA.h - The NVIDIA target: from Tile IR to PTX --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Input is a module of `tile.func`s (value level) and `plan.func`s.
//
//   OpPassManager: buildNvidiaMappedPipeline -> stage "tile" (mapped)
//                  buildNvidiaTargetPipeline -> stage "target"
//   emitPtx(module at stage "target")        -> PTX text; kernels have the ABI
//                                               of docs/abi.md section 7
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TARGET_NVIDIA_NVIDIA_H
#define TESSERA_COMPILER_TARGET_NVIDIA_NVIDIA_H

#include "compiler/Support/Architectures/Nvidia.h"
#include "compiler/Target/Machine.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"

#include <string>

namespace tessera::target {

struct NvidiaOptions {
  nvidia::Arch arch = {8, 0, 0};
  /// The architecture's name, as LLVM and users write it.
  std::string chip = "sm_80";
  int optLevel = 3;
  bool verifyEach = false;
  /// Off only where wrong kernels are made on purpose (test/gpu).
  bool proveBarriers = true;
};

/// Options of a target as users write it: a name of the table of architectures
/// (compiler/Support/Architectures); "sm_90" is promoted to "sm_90a".
llvm::FailureOr<NvidiaOptions> parseNvidiaTarget(llvm::StringRef target);
NvidiaOptions nvidiaOptions(const CompileOptions &options);

/// The row of the list of machines.
const Machine &nvidiaMachine();

void buildNvidiaMappedPipeline(mlir::OpPassManager &manager,
                               const NvidiaOptions &options = {});
void buildNvidiaTargetPipeline(mlir::OpPassManager &manager,
                               const NvidiaOptions &options = {});

/// `module` is at stage "target"; it is not changed.
llvm::FailureOr<std::string> emitPtx(mlir::ModuleOp module,
                                     const NvidiaOptions &options = {},
                                     PreparePasses prepare = {});
/// LLVM IR after optimisation.
llvm::FailureOr<std::string> emitNvidiaLLVMIR(mlir::ModuleOp module,
                                              const NvidiaOptions &options = {},
                                              PreparePasses prepare = {});

/// What translating to LLVM needs in the context's registry.
void registerNvidiaTranslations(mlir::DialectRegistry &registry);
/// The passes and pipelines, for command-line tools.
void registerNvidiaPasses();

} // namespace tessera::target

#endif // TESSERA_COMPILER_TARGET_NVIDIA_NVIDIA_H
