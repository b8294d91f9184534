//===- NvidiaMachine.cpp - NVIDIA's row in the list of machines -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/NVIDIA/NVIDIA.h"
#include "compiler/Target/NVIDIA/Passes.h"
#include "compiler/Target/NVIDIA/SimtMachine.h"
#include "compiler/Target/SIMT/Lowering/Passes.h"
#include "compiler/Target/SIMT/Mapping/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::target;

NvidiaOptions tessera::target::nvidiaOptions(const CompileOptions &options) {
  FailureOr<NvidiaOptions> found = parseNvidiaTarget(options.target);
  NvidiaOptions result = succeeded(found) ? *found : NvidiaOptions();
  result.optLevel = options.optLevel;
  result.verifyEach = options.verifyEach;
  // Mutants are run without it, to see whether it was right to refuse them.
  result.proveBarriers = options.mistake != "unproved";
  return result;
}

/// Copies and instructions of mapped Tile IR are one architecture's.
static LogicalResult checkMappedFor(ModuleOp module,
                                    const CompileOptions &options) {
  const simt::Machine &machine =
      *simt::findMachine(nvidiaOptions(options).chip);
  bool good = true;
  for (auto func : module.getOps<tile::FuncOp>()) {
    if (func.getArch() && *func.getArch() != machine.name)
      return func.emitError()
             << "this Tile IR was mapped for " << *func.getArch()
             << ", not for " << machine.name
             << ": its copies and instructions are that machine's";
    func.walk([&](tile::MmaOp mma) {
      tile::InstructionAttr given = mma.getInstructionAttr();
      if (!given || given.getForm() == tile::MmaForm::Fma)
        return;
      good &= succeeded(machine.chooseInstruction(mma));
      tile::InstructionAttr known = mma.getInstructionAttr();
      if (good && known != given) {
        mma.emitError() << "instruction = " << given << " is not the product "
                        << "of these types on " << machine.name << "; that is "
                        << known;
        good = false;
      }
    });
  }
  return success(good);
}

static std::string remarkOn(StringRef target) {
  nvidia::Arch given = *nvidia::parseArch(target),
               used = nvidia::promoted(given);
  if (used == given)
    return "";
  return "target " + given.name() + " is compiled as " + used.name() +
         ": wgmma exists only there";
}

const Machine &tessera::target::nvidiaMachine() {
  static constexpr Emission emissions[] = {
      {"llvm", "LLVM IR", "target", ".ll", /*isText=*/true,
       [](ModuleOp module, const EmitRequest &request) {
         return emitNvidiaLLVMIR(module, nvidiaOptions(request.options),
                                 request.prepare);
       }},
      {"ptx", "PTX", "target", ".ptx", /*isText=*/true,
       [](ModuleOp module, const EmitRequest &request) {
         return emitPtx(module, nvidiaOptions(request.options),
                        request.prepare);
       }},
  };
  static const Machine machine = {
      .name = "nvidia",
      .platform = "cuda",
      .example = "sm_80",
      .schedules = schedule::Model::SharedMemory,
      .versionPerHead = true,
      .has = [](StringRef t) { return nvidia::parseArch(t).has_value(); },
      .targetNames = nvidia::archNames,
      .targetOf = [](StringRef architecture) { return architecture.str(); },
      .portable = nullptr,
      .registerDialects =
          [](DialectRegistry &registry) {
            registry.insert<gpu::GPUDialect, NVVM::NVVMDialect>();
            registerNvidiaTranslations(registry);
          },
      .registerPasses = registerNvidiaPasses,
      .buildMapped =
          [](OpPassManager &manager, const CompileOptions &options) {
            buildNvidiaMappedPipeline(manager, nvidiaOptions(options));
          },
      .buildTarget =
          [](OpPassManager &manager, const CompileOptions &options) {
            buildNvidiaTargetPipeline(manager, nvidiaOptions(options));
          },
      .checkMapped =
          [](OpPassManager &manager) {
            manager.addPass(simt::createCheckMappedContractPass());
          },
      .checkTarget =
          [](OpPassManager &manager) {
            manager.addPass(createCheckNvidiaContractPass());
          },
      .checkMappedFor = checkMappedFor,
      .remark = remarkOn,
      .simt = nvidiaFamily,
      .features = nullptr,
      .imageArch =
          [](StringRef target) {
            return nvidia::promoted(*nvidia::parseArch(target)).name();
          },
      .emissions = emissions,
  };
  return machine;
}
