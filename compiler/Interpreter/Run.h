//===- Run.h - Interpreting a module, for tools and Python ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrays go in and come out as bytes; nobody outside needs to know cells.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_INTERPRETER_RUN_H
#define TESSERA_COMPILER_INTERPRETER_RUN_H

#include "compiler/Interpreter/Interpreter.h"

#include <string>
#include <vector>

namespace tessera::interpreter {

/// An array of the caller's: row-major, elements as docs/abi.md has them.
struct HostArray {
  std::string name;  // of the parameter, or of the traced value
  std::string dtype; // "f32", "bool" ...
  std::vector<int64_t> shape;
  std::string bytes;            // row-major
  std::vector<int64_t> strides; // of the caller's memory; empty: any
  /// Results only. Floats, not rounded (exact, reference, bound) ...
  std::vector<double> values;
  /// ... and domain bound: how far a computed one may be away.
  std::vector<double> errors;
  /// Elements that are poison; empty if none is.
  std::vector<int64_t> poison;
};

/// The result of one op, for traces.
struct TraceEntry {
  std::string op, location; // "gir.add", "gemm.py:6:20"
  std::vector<HostArray> results;
};

struct RunRequest {
  std::string function; // empty: the module's entry
  std::string domain = "exact";
  std::vector<HostArray> arguments; // by name, in any order
  uint64_t seed = 0;
  uint64_t maxWork = uint64_t(1) << 36;
  /// Also the results of every op that are arrays of the outermost function.
  bool trace = false;
};

/// What a program does that is hardly meant ("race", "outside"), and how often.
struct RunRemark {
  std::string kind, location, text;
  int64_t count;
};

struct RunOutcome {
  std::vector<HostArray> results;
  std::vector<RunRemark> remarks;
  std::vector<std::string> printed;
  std::vector<std::string> launched; ///< names of kernels that ran
  std::vector<TraceEntry> trace;
};

/// A parameter of the function a module is entered by.
struct RunParameter {
  std::string name, mode; // "in", "out", "inout", "reduce_sum" ...
  std::string dtype;      // of docs/abi.md
  /// One per axis: a name, a number, an expression, or "" if it has none.
  std::vector<std::string> dims;
};
llvm::FailureOr<std::vector<RunParameter>>
runParameters(mlir::ModuleOp module, llvm::StringRef function);

/// Errors are diagnostics of the module's context.
llvm::LogicalResult runModule(mlir::ModuleOp module, const RunRequest &request,
                              RunOutcome &outcome);

llvm::FailureOr<Array> toArray(const HostArray &host, Domain &domain);
HostArray fromArray(const Array &array, Domain &domain);

} // namespace tessera::interpreter

#endif // TESSERA_COMPILER_INTERPRETER_RUN_H
