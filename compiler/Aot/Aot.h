//===- Aot.h - Libraries built ahead of time --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A library is a folder: NAME.h, libNAME.a, libNAME.so (if there is a linker)
// and NAMEConfig.cmake. It holds functions as data (tsr_function, docs/abi.md
// section 6); the runtime chooses the version and checks the call. Nobody needs
// LLVM, Python or this compiler to use it.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_AOT_AOT_H
#define TESSERA_COMPILER_AOT_AOT_H

#include "compiler/Compiler.h"

#include "llvm/Support/Error.h"

#include "tessera-c/runtime.h"
#include <memory>

namespace tessera::aot {

/// Kernels for one GPU architecture: tsr_image.
struct Image {
  std::string arch;
  std::string data;
};

/// Compiled with CompileOptions::symbolPrefix, so that the kernels of all
/// versions can be linked together.
struct Version {
  Artifact artifact;
  std::string symbolPrefix;
  std::vector<tsr_guard> guards; ///< what a call must be like
  /// A version for GPUs has these instead of an object file.
  std::vector<Image> images;
};

struct Function {
  std::string name;
  /// In the order in which they are tried.
  std::vector<Version> versions;
};

struct Library {
  std::string name;
  std::vector<Function> functions;
  /// Folder of libTesseraRuntime.a, for the shared library; may be empty.
  std::string runtimeDirectory;
};

/// The guards of a version with this plan, compiled for these arguments (none
/// of them left out): dtypes, sizes that are constants of it, and strides of 1
/// it relies on.
llvm::Expected<std::vector<tsr_guard>>
guardsFor(const std::string &plan,
          llvm::ArrayRef<frontend::ArgumentSpec> arguments);

/// A folder that exists is added to; files of the same names are replaced. The
/// result lists the files that were written, and why one was not.
llvm::Expected<std::vector<std::string>>
writeLibrary(const Library &library, const std::string &directory);

/// A plan as the runtime reads it.
struct PlanDeleter {
  void operator()(tsr_plan *plan) const { tsr_plan_free(plan); }
};
using PlanHandle = std::unique_ptr<tsr_plan, PlanDeleter>;
llvm::Expected<PlanHandle> readPlan(const std::string &text);
/// Tensor `index`, which must be there.
tsr_tensor_info tensorOf(const PlanHandle &plan, int32_t index);

/// The C++17 header of the library.
llvm::Expected<std::string> writeHeader(const Library &library);

/// An object file with the tables of all functions.
llvm::Expected<std::vector<char>> emitTables(const Library &library);

} // namespace tessera::aot

#endif // TESSERA_COMPILER_AOT_AOT_H
