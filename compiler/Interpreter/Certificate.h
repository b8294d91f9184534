//===- Certificate.h - An error bound as a formula in the dims --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An a-priori analysis of Graph IR: how large values and their errors may be,
// as text in the dims (K), the inputs' largest magnitudes (|A|) and the unit
// roundoffs. To first order in the latter. A value with a long formula gets a
// line of its own, by the user's name for it:
//
//   |s| <= D*|q|*|k|
//   err(s) <= gamma32(D)*D*|q|*|k|
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_INTERPRETER_CERTIFICATE_H
#define TESSERA_COMPILER_INTERPRETER_CERTIFICATE_H

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace tessera::interpreter {

struct Certificate {
  /// (symbol, what it is at most): in the order they are needed.
  std::vector<std::pair<std::string, std::string>> steps;
  /// The error of each result; "" if it is no formula of the dims.
  std::vector<std::string> results;
  /// Why, for the results that have none.
  std::string missing;
};

/// Of the module's one function.
llvm::FailureOr<Certificate> certify(mlir::ModuleOp module);

} // namespace tessera::interpreter

#endif // TESSERA_COMPILER_INTERPRETER_CERTIFICATE_H
