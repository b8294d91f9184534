//===- Decorators.h - What stands above a program ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads `@tsr.kernel`, `.schedule`, `.autotune`, `@tsr.policy` and `@tsr.accum`
// for those who have no Python to run them: `tesserac` and C++ programs.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_FRONTEND_DECORATORS_H
#define TESSERA_COMPILER_FRONTEND_DECORATORS_H

#include "compiler/Frontend/Sema.h"

namespace tessera::frontend {

struct ProgramOptions {
  ProgramKind kind = ProgramKind::Function;
  std::string policy; // empty: none given
  ConstantData accum;
  std::string precision = "ieee";
  /// As in SemaRequest; of several schedules the most specific target wins,
  /// and of one target the dtype's.
  std::map<std::string, ConstantData, std::less<>> constants, schedule;
  std::optional<TuningSpace> tuning;
};

/// The options of a definition for this target ("cpu", "cpu:avx2") and, if it
/// is known, the dtype of the first array. An unknown decorator, policy or
/// schedule key is an error at its place.
mlir::FailureOr<ProgramOptions> readDecorators(const FunctionDef &definition,
                                               const CapturedNames &captured,
                                               llvm::StringRef target,
                                               std::optional<DType> dtype,
                                               DiagnosticEngine &diags);

} // namespace tessera::frontend

#endif // TESSERA_COMPILER_FRONTEND_DECORATORS_H
