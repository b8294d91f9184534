//===- tessera-emit-object.cpp - Tile IR to a CPU object file -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tessera-emit-object kernel.mlir -o kernel.o [--target cpu:avx2]
//                     [--stage tile|target|llvm|asm|object] [--time]
// Reads a module of tile.func (value level). Stage texts go to the output too;
// the numerics tests link the object and call it through ctypes.
//
//===----------------------------------------------------------------------===//

#include "compiler/Target/CPU/CPU.h"
#include "compiler/Target/IR/Target.h"
#include "compiler/Tile/IR/Tile.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"
#include "mlir/Dialect/AMX/AMXDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"

#include <chrono>

using namespace mlir;
namespace cl = llvm::cl;

static cl::opt<std::string> input(cl::Positional, cl::Required);
static cl::opt<std::string> output("o", cl::init("-"));
static cl::opt<std::string> targetName("target", cl::init("cpu"));
static cl::opt<std::string> stage("stage", cl::init("object"));
static cl::opt<int> optLevel("O", cl::Prefix, cl::init(3));
static cl::opt<bool> noAmx("no-amx");
static cl::opt<bool> showTimes("time");

static double now() {
  using namespace std::chrono;
  return duration<double, std::milli>(steady_clock::now().time_since_epoch())
      .count();
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::ParseCommandLineOptions(argc, argv, "Tile IR to a CPU object file\n");
  auto options = tessera::target::parseCpuTarget(targetName);
  if (failed(options)) {
    llvm::errs() << "error: no CPU target is called '" << targetName << "'\n";
    return 1;
  }
  options->optLevel = optLevel;
  options->allowAmx = !noAmx;
  double start = now();
  DialectRegistry registry;
  registry.insert<tessera::tile::TileDialect, tessera::target::TargetDialect,
                  memref::MemRefDialect, amx::AMXDialect, LLVM::LLVMDialect,
                  vector::VectorDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module =
      parseSourceFile<ModuleOp>(input, ParserConfig(&context));
  if (!module)
    return 1;
  double parsed = now();
  PassManager mapped(&context, ModuleOp::getOperationName());
  tessera::target::buildCpuMappedPipeline(mapped, *options);
  PassManager lowered(&context, ModuleOp::getOperationName());
  tessera::target::buildCpuTargetPipeline(lowered, *options);
  if (failed(mapped.run(*module)) ||
      (stage != "tile" && failed(lowered.run(*module))))
    return 1;
  double ready = now();

  std::string error;
  auto file = openOutputFile(output, &error);
  if (!file) {
    llvm::errs() << error << "\n";
    return 1;
  }
  if (stage == "tile" || stage == "target") {
    module->print(file->os());
  } else if (stage == "llvm" || stage == "asm") {
    auto text = stage == "llvm"
                    ? tessera::target::emitLLVMIR(*module, *options)
                    : tessera::target::emitCpuAssembly(*module, *options);
    if (failed(text))
      return 1;
    file->os() << *text;
  } else {
    auto bytes = tessera::target::emitCpuObject(*module, *options);
    if (failed(bytes))
      return 1;
    file->os().write(bytes->data(), bytes->size());
  }
  file->keep();
  if (showTimes)
    llvm::errs() << llvm::format("parse %.1f ms, lower %.1f ms, emit %.1f ms\n",
                                 parsed - start, ready - parsed, now() - ready);
  return 0;
}
