//===- CpuMachine.cpp - The CPU's row in the list of machines -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CPU/CPU.h"
#include "compiler/Target/CPU/Mapping/Passes.h"
#include "compiler/Target/CPU/Passes.h"
#include "compiler/Tile/Analysis/LoopTree.h"
#include "compiler/Tile/IR/Tile.h"

#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::target;

CpuOptions tessera::target::cpuOptions(const CompileOptions &options) {
  FailureOr<CpuOptions> parsed = parseCpuTarget(options.target);
  CpuOptions found = succeeded(parsed) ? *parsed : CpuOptions();
  found.optLevel = options.optLevel;
  found.verifyEach = options.verifyEach;
  found.symbolPrefix = options.symbolPrefix;
  return found;
}

/// What kernels use without asking. The runtime checks it, and asks the
/// operating system for AMX.
static ArrayAttr featuresOf(ModuleOp module, const CompileOptions &options) {
  bool amx = false;
  module->walk([&](Operation *op) {
    amx |= llvm::any_of(op->getResultTypes(), [](Type type) {
      return isa<LLVM::LLVMX86AMXType>(type);
    });
  });
  SmallVector<StringRef> names = {"avx2", "fma"};
  if (cpuOptions(options).resolved().vectorBytes() == 64)
    names = {"avx512f", "avx512bw", "avx512vl"};
  if (amx)
    names.append({"amx-tile", "amx-bf16", "amx-int8"});
  return Builder(module.getContext()).getStrArrayAttr(names);
}

const Machine &tessera::target::cpuMachine() {
  static constexpr Emission emissions[] = {
      {"llvm", "LLVM IR", "target", ".ll", /*isText=*/true,
       [](ModuleOp module, const EmitRequest &request) {
         return emitLLVMIR(module, cpuOptions(request.options),
                           request.prepare);
       }},
      {"object", "object code", "target", ".o", /*isText=*/false,
       [](ModuleOp module,
          const EmitRequest &request) -> FailureOr<std::string> {
         auto bytes = emitCpuObject(module, cpuOptions(request.options),
                                    request.kernel, request.prepare);
         if (failed(bytes))
           return failure();
         return std::string(bytes->begin(), bytes->end());
       }},
  };
  static const Machine machine = {
      .name = "cpu",
      .platform = "cpu",
      .example = "cpu",
      .schedules = schedule::Model::Caches,
      .versionPerHead = false,
      .has = [](StringRef t) { return succeeded(parseCpuTarget(t)); },
      .targetNames = [] { return std::string("cpu, cpu:avx2, cpu:avx512"); },
      .targetOf =
          [](StringRef architecture) {
            return architecture.empty() ? "cpu" : ("cpu:" + architecture).str();
          },
      .portable =
          [](StringRef target) {
            return target == "cpu"
                       ? std::vector<std::string>{"cpu:avx512", "cpu:avx2"}
                       : std::vector<std::string>{target.str()};
          },
      .registerDialects = registerCpuTranslations,
      .registerPasses = registerCpuPasses,
      .buildMapped =
          [](OpPassManager &manager, const CompileOptions &options) {
            buildCpuMappedPipeline(manager, cpuOptions(options));
          },
      .buildTarget =
          [](OpPassManager &manager, const CompileOptions &options) {
            buildCpuTargetPipeline(manager, cpuOptions(options));
          },
      .checkMapped =
          [](OpPassManager &manager) {
            manager.addPass(cpu::createCheckMappedContractPass());
          },
      .checkTarget =
          [](OpPassManager &manager) {
            manager.addPass(createCheckContractPass());
          },
      .checkMappedFor = nullptr,
      .remark = nullptr,
      .simt = nullptr,
      .features = featuresOf,
      .imageArch = nullptr,
      .loops = cpuLoopTree,
      .emissions = emissions,
  };
  return machine;
}
