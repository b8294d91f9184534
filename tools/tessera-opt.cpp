//===- tessera-opt.cpp - Runs passes on the text of any stage -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Dialects.h"
#include "compiler/StageText.h"
#include "compiler/Testing/Mutate.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tessera::registerDialects(registry);
  tessera::registerMachineDialects(registry);
  tessera::registerPasses();
  tessera::testing::registerPasses();
  mlir::registerTransformsPasses();
  auto [input, output] = mlir::registerAndParseCLIOptions(
      argc, argv, "Tessera pass driver\n", registry);
  // MLIR's parser has no bounds of its own. What comes through a pipe is not
  // looked at.
  if (input != "-")
    if (auto buffer = llvm::MemoryBuffer::getFile(input)) {
      unsigned line, column;
      std::string excess =
          tessera::findExcess((*buffer)->getBuffer(), line, column);
      if (!excess.empty()) {
        llvm::errs() << input << ":" << line << ":" << column
                     << ": error: " << excess << "\n";
        return 1;
      }
    }
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, input, output, registry));
}
