//===- StageText.h - A stage as text, and back ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every stage can be printed, edited and read again. The text shows the user's
// names (%acc) and, at the end of each line, the user's line:
//
//   %acc = tile.mma %a, %b, %x : ...   // gemm.py:6:20
//
// Reading takes those remarks back as locations, so an error found after an
// edit still points at the user's code. The module says which stage it is and
// which version of the format it has; another one is refused.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_STAGETEXT_H
#define TESSERA_COMPILER_STAGETEXT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>

namespace tessera {

/// Raised when a stage's text would no longer be read as it was meant.
inline constexpr int64_t stageFormatVersion = 2;

/// Marks `module` as being at `stage` (an attribute that is printed).
void setStage(mlir::ModuleOp module, llvm::StringRef stage);

/// The stage `module` says it is at; empty if it does not say.
llvm::StringRef getStage(mlir::ModuleOp module);

std::string printStage(mlir::ModuleOp module);

/// "gemm.py:6:20", the place in the user's source; empty if the location knows
/// none.
std::string sourcePlace(mlir::Location loc);

/// Splits "  %x = op ...  // gemm.py:6:20" at the last remark of that form.
bool splitRemark(llvm::StringRef line, llvm::StringRef &file, unsigned &row,
                 unsigned &column);

/// Why this text is refused before MLIR's parser sees it, which has no bounds
/// of its own: it is too long, has too many ops, is nested too deeply or names
/// a field by a huge number. Empty if it is fine; else also the line and
/// column.
std::string findExcess(llvm::StringRef text, unsigned &line, unsigned &column);

/// Reads a stage's text. Errors are emitted as diagnostics of `context`, at
/// positions in `name`.
mlir::OwningOpRef<mlir::ModuleOp> parseStage(mlir::MLIRContext *context,
                                             llvm::StringRef text,
                                             llvm::StringRef name);

} // namespace tessera

#endif // TESSERA_COMPILER_STAGETEXT_H
