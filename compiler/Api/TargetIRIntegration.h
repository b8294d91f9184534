//===- TargetIRIntegration.h - Compiling from C++ ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For programs that build or read MLIR modules themselves:
//
//   mlir::MLIRContext context;
//   auto module = tessera::target::parseModule(text, &context);
//   tessera::target::TargetLoweringOptions options;
//   options.targetPlatform = "cpu";
//   tessera::target::TesseraTargetIRIntegration integration(&context);
//   auto result = integration.compileModule(module, options);
//   if (!result.success)
//     std::cerr << result.error_message;
//
// The package `find_package(Tessera COMPONENTS Compiler)` brings it. Spellings
// are those of the documents this project was asked for (docs/names.md).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_API_TARGETIRINTEGRATION_H
#define TESSERA_COMPILER_API_TARGETIRINTEGRATION_H

#include "compiler/Graph/IR/Graph.h"
#include "compiler/Target/IR/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>

namespace tessera::graph {
using TesseraGraphDialect = GraphDialect;
} // namespace tessera::graph

namespace tessera::target {

using TesseraTargetDialect = TargetDialect;

struct TargetLoweringOptions {
  std::string targetPlatform = "cpu"; ///< "cpu" or "cuda"
  /// "sm_80" and so on; on the CPU "avx2", "avx512" or empty: this machine.
  std::string targetArchitecture;
  int optimizationLevel = 3;
  /// Without them products use the vector units; only the CPU can do without.
  bool enableTensorCores = true;
  /// The report lists the time of every pass.
  bool enableProfiling = false;
};

struct CompilationResult {
  bool success = false;
  /// LLVM IR on the CPU, PTX for CUDA.
  std::string kernel_code;
  /// A C launcher: on the CPU for tessera-c/runtime.h, linked with the kernels;
  /// for CUDA for tessera-c/device.h, with the PTX in it.
  std::string host_code;
  /// Every figure was measured in this run, or says "not measured".
  std::string performance_report;
  std::string error_message;
};

/// The module in `text`, at any stage; null if it is none (the diagnostics of
/// the context say why). Loads the dialects it needs.
mlir::OwningOpRef<mlir::ModuleOp> parseModule(const std::string &text,
                                              mlir::MLIRContext *context);

class TesseraTargetIRIntegration {
public:
  explicit TesseraTargetIRIntegration(mlir::MLIRContext *context);

  /// The module is not changed.
  CompilationResult compileModule(mlir::ModuleOp module,
                                  const TargetLoweringOptions &options);
  CompilationResult
  compileModule(const mlir::OwningOpRef<mlir::ModuleOp> &module,
                const TargetLoweringOptions &options) {
    return compileModule(module ? *module : mlir::ModuleOp(), options);
  }

private:
  mlir::MLIRContext *context;
};

} // namespace tessera::target

#endif // TESSERA_COMPILER_API_TARGETIRINTEGRATION_H
