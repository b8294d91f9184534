//===- ListenToLLVM.h - Errors of LLVM as diagnostics -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM ends the process at an error in the code generator, unless somebody
// listens.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_COMPILER_TARGET_LISTENTOLLVM_H
#define TESSERA_COMPILER_TARGET_LISTENTOLLVM_H

#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/BuiltinOps.h"

namespace tessera::target {

class ListenToLLVM {
public:
  ListenToLLVM(llvm::LLVMContext &context, mlir::ModuleOp module)
      : module(module) {
    context.setDiagnosticHandlerCallBack(hear, this);
  }
  /// Whether there was an error; it was emitted at the module.
  bool any() const { return heard; }

private:
  static void hear(const llvm::DiagnosticInfo *info, void *self) {
    if (info->getSeverity() != llvm::DS_Error)
      return;
    std::string text;
    llvm::raw_string_ostream stream(text);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info->print(printer);
    auto &listener = *static_cast<ListenToLLVM *>(self);
    listener.heard = true;
    listener.module.emitError() << "LLVM: " << text;
  }

  mlir::ModuleOp module;
  bool heard = false;
};

/// LLVM's own verifier, on what we and its passes made.
inline mlir::LogicalResult verifyLLVM(const llvm::Module &made,
                                      mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (llvm::verifyModule(made, &stream))
    return module.emitError() << "LLVM: " << text;
  return mlir::success();
}

} // namespace tessera::target

#endif // TESSERA_COMPILER_TARGET_LISTENTOLLVM_H
