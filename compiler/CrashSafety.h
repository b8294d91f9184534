//===- CrashSafety.h - Mistakes of ours, caught -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A mistake in the compiler must not take the user's process with it. What LLVM
// calls fatal, and signals on the thread that compiles, end the compilation;
// the user gets one line and a file that repeats it.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_CRASHSAFETY_H
#define TESSERA_COMPILER_CRASHSAFETY_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <string>

namespace tessera {

/// Runs `body` on this thread. Returns what ended it early ("signal 11
/// (Segmentation fault)", or the reason LLVM gave); empty if it came to its
/// end. What it held when it crashed is lost.
std::string runSafely(llvm::function_ref<void()> body);

/// A pass that makes a mistake, for tests of what happens then: "segv",
/// "abort", "fatal" (LLVM's), "silent" (fails without a word) or "wrong-ir".
std::unique_ptr<mlir::Pass> createMistakePass(llvm::StringRef kind);

} // namespace tessera

#endif // TESSERA_COMPILER_CRASHSAFETY_H
