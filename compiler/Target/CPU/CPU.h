//===- CPU.h - The CPU target: from Tile IR to object code ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Input is a module of `tile.func`s (value level) and `plan.func`s.
//
//   OpPassManager: buildCpuMappedPipeline   -> stage "tile" (mapped)
//                  buildCpuTargetPipeline   -> stage "target"
//   emitCpuObject(module at stage "target") -> an ELF object; kernels have the
//                                              ABI of docs/abi.md section 2
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TARGET_CPU_CPU_H
#define TESSERA_COMPILER_TARGET_CPU_CPU_H

#include "compiler/Target/Machine.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"

#include <string>

namespace tessera::target {

struct CpuOptions {
  /// Empty: this machine's. "x86-64-v3" is what `cpu:avx2` means.
  std::string cpu;
  /// LLVM's form, "+avx512f,-amx-tile"; empty: what `cpu` has.
  std::string features;
  int optLevel = 3;
  bool verifyEach = false;
  /// Multiply bf16 and i8 by AMX if the machine has it.
  bool allowAmx = true;
  /// Stands before the names of kernels in the object file.
  std::string symbolPrefix;

  /// Names and features of this machine where none are given.
  CpuOptions resolved() const;
  bool has(llvm::StringRef feature) const;
  bool hasAmx() const { return allowAmx && has("amx-bf16") && has("amx-int8"); }
  int64_t vectorBytes() const; ///< of the resolved features: 64 or 32
};

/// Options of a target as users write it: "cpu", "cpu:avx2", "cpu:<name>".
llvm::FailureOr<CpuOptions> parseCpuTarget(llvm::StringRef target);
CpuOptions cpuOptions(const CompileOptions &options);

/// The row of the list of machines.
const Machine &cpuMachine();

void buildCpuMappedPipeline(mlir::OpPassManager &manager,
                            const CpuOptions &options = {});
void buildCpuTargetPipeline(mlir::OpPassManager &manager,
                            const CpuOptions &options = {});

/// `module` is at stage "target"; it is not changed. The object has all kernels
/// of the module, or only the one called `kernel`.
llvm::FailureOr<llvm::SmallVector<char>>
emitCpuObject(mlir::ModuleOp module, const CpuOptions &options = {},
              llvm::StringRef kernel = "", PreparePasses prepare = {});
llvm::FailureOr<std::string> emitLLVMIR(mlir::ModuleOp module,
                                        const CpuOptions &options = {},
                                        PreparePasses prepare = {});
/// The machine's assembly text.
llvm::FailureOr<std::string> emitCpuAssembly(mlir::ModuleOp module,
                                             const CpuOptions &options = {});

/// What translating to LLVM needs in the context's registry. emitCpuObject
/// adds it by itself; a driver may call it early.
void registerCpuTranslations(mlir::DialectRegistry &registry);
/// The passes and pipelines, for command-line tools.
void registerCpuPasses();

/// A launch of a mapped kernel, for models of speed.
tile::LaunchLoops cpuLoopTree(tile::FuncOp func,
                              const tile::LaunchArguments &given);

} // namespace tessera::target

#endif // TESSERA_COMPILER_TARGET_CPU_CPU_H
