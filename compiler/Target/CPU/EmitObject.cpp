//===- EmitObject.cpp - Target IR to LLVM IR and object code --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/CPU/CPU.h"
#include "compiler/Target/CPU/Passes.h"
#include "compiler/Target/ListenToLLVM.h"
#include "compiler/Target/Math/ExpandMath.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/ConvertToLLVM/ToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/AMX/AMXDialect.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Target/LLVMIR/Export.h"

#include <mutex>

using namespace mlir;
using namespace tessera;
using namespace tessera::target;

//===----------------------------------------------------------------------===//
// The machine
//===----------------------------------------------------------------------===//

static const llvm::Target *nativeTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  std::string error;
  return llvm::TargetRegistry::lookupTarget(
      llvm::Triple(llvm::sys::getProcessTriple()), error);
}

CpuOptions CpuOptions::resolved() const {
  CpuOptions result = *this;
  if (result.cpu.empty())
    result.cpu = llvm::sys::getHostCPUName().str();
  if (!result.features.empty())
    return result;
  bool isHost = cpu.empty();
  if (isHost) {
    llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
    std::vector<std::string> names;
    for (auto &feature : host)
      names.push_back((feature.second ? "+" : "-") + feature.first().str());
    llvm::sort(names);
    result.features = llvm::join(names, ",");
  }
  return result;
}

static std::unique_ptr<llvm::TargetMachine>
createMachine(const CpuOptions &options) {
  const llvm::Target *target = nativeTarget();
  if (!target)
    return nullptr;
  llvm::TargetOptions flags;
  flags.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  // x86_amx values crash the fast instruction selector; 1 is the least.
  auto level = options.optLevel >= 3   ? llvm::CodeGenOptLevel::Aggressive
               : options.optLevel == 2 ? llvm::CodeGenOptLevel::Default
                                       : llvm::CodeGenOptLevel::Less;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      llvm::Triple(llvm::sys::getProcessTriple()), options.cpu,
      options.features, flags, llvm::Reloc::PIC_, std::nullopt, level));
}

bool CpuOptions::has(llvm::StringRef feature) const {
  const llvm::Target *target = nativeTarget();
  if (!target)
    return false;
  std::unique_ptr<llvm::MCSubtargetInfo> info(target->createMCSubtargetInfo(
      llvm::Triple(llvm::sys::getProcessTriple()), cpu, features));
  return info && info->checkFeatures(("+" + feature).str());
}

int64_t CpuOptions::vectorBytes() const { return has("avx512f") ? 64 : 32; }

llvm::FailureOr<CpuOptions> tessera::target::parseCpuTarget(StringRef target) {
  CpuOptions options;
  if (target == "cpu")
    return options;
  if (!target.consume_front("cpu:"))
    return failure();
  if (target == "avx2")
    options.cpu = "x86-64-v3";
  else if (target == "avx512")
    options.cpu = "x86-64-v4";
  else
    options.cpu = target.str();
  return options;
}

//===----------------------------------------------------------------------===//
// To LLVM
//===----------------------------------------------------------------------===//

void tessera::target::registerCpuTranslations(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  registerConvertMathToLLVMInterface(registry);
  ub::registerConvertUBToLLVMInterface(registry);
  vector::registerConvertVectorToLLVMInterface(registry);
}

/// A copy of the module with only the kernel `name`, or with all.
static OwningOpRef<ModuleOp> copyOf(ModuleOp given, StringRef name) {
  if (name.empty())
    return given.clone();
  OwningOpRef<ModuleOp> copy = ModuleOp::create(given.getLoc());
  (*copy)->setAttrs(given->getAttrDictionary());
  for (Operation &op : given.getOps())
    if (SymbolTable::getSymbolName(&op) == name && isa<KernelOp>(op))
      copy->push_back(op.clone());
  return copy;
}

static std::unique_ptr<llvm::Module>
toLLVM(ModuleOp given, const CpuOptions &options, llvm::LLVMContext &context,
       llvm::TargetMachine &machine, PreparePasses prepare,
       StringRef kernel = "") {
  MLIRContext *mlir = given.getContext();
  DialectRegistry registry;
  registerCpuTranslations(registry);
  mlir->appendDialectRegistry(registry);
  OwningOpRef<ModuleOp> module = copyOf(given, kernel);
  PassManager manager(mlir, ModuleOp::getOperationName());
  manager.enableVerifier(false);
  if (prepare)
    prepare(manager);
  manager.addPass(createKernelToLLVMPass());
  CpuOptions resolved = options.resolved();
  if (!resolved.has("avx512bf16"))
    manager.addPass(createCarryBf16AsBitsPass());
  ExpandMathOptions math;
  math.branchOnLargeArguments = true;
  math.avx512 = resolved.vectorBytes() == 64 && resolved.has("avx512dq");
  manager.addPass(createExpandMathPass(math));
  manager.addPass(arith::createArithExpandOpsPass());
  manager.addPass(createSCFToControlFlowPass());
  manager.addPass(createConvertToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
  if (failed(manager.run(*module)))
    return nullptr;
  std::unique_ptr<llvm::Module> result =
      translateModuleToLLVMIR(*module, context, "tessera");
  if (!result)
    return nullptr;
  result->setTargetTriple(machine.getTargetTriple());
  result->setDataLayout(machine.createDataLayout());
  for (llvm::Function &function : *result) {
    if (function.isDeclaration())
      continue;
    if (!function.hasLocalLinkage())
      function.setName(options.symbolPrefix + function.getName());
    function.addFnAttr("target-cpu", options.cpu);
    if (!options.features.empty())
      function.addFnAttr("target-features", options.features);
    // zmm registers are the point of the vector width chosen.
    if (options.vectorBytes() == 64)
      function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr(llvm::Attribute::NoUnwind);
    for (llvm::Argument &argument : function.args())
      if (argument.getType()->isPointerTy())
        argument.addAttr(llvm::Attribute::NoAlias);
  }
  return result;
}

static void optimise(llvm::Module &module, llvm::TargetMachine &machine,
                     int level) {
  llvm::PassBuilder builder(&machine);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  // Loops are vectorised, unrolled and blocked by us, nothing is called, and
  // no memory waits to become registers: what is left is tidying up. That one
  // turn of instcombine may leave work to the next is no reason to abort; a
  // second turn of it and of licm took a sixth of the time of a first call and
  // changed no kernel's time.
  StringRef tidy =
      level >= 2
          ? "function(simplifycfg,early-cse<memssa>,instcombine<no-verify-"
            "fixpoint>,loop-mssa(loop-rotate,licm),early-cse<memssa>,"
            "simplifycfg,dce)"
          : "function(early-cse,instcombine<no-verify-fixpoint>,simplifycfg)";
  llvm::ModulePassManager passes;
  if (llvm::Error error = builder.parsePassPipeline(passes, tidy))
    llvm::report_fatal_error(std::move(error));
  passes.run(module, modules);
}

/// Adds the passes of the code generator without loop strength reduction: our
/// loops step by the unit their addresses need, and x86 adds the rest for free.
/// It took a fifth of the time of the code generator and changed the time of
/// kernels by at most 1 % (gemm in bf16 is 5 % faster without). LLVM has no
/// other switch for it than this option, which is read when passes are added.
static bool addCodeGenerator(llvm::TargetMachine &machine,
                             llvm::legacy::PassManager &passes,
                             llvm::raw_pwrite_stream &stream,
                             llvm::CodeGenFileType kind) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  auto &known = llvm::cl::getRegisteredOptions();
  auto found = known.find("disable-lsr");
  auto *option = found == known.end()
                     ? nullptr
                     : static_cast<llvm::cl::opt<bool> *>(found->second);
  bool before = option && option->getValue();
  if (option)
    option->setValue(true);
  bool failed = machine.addPassesToEmitFile(passes, stream, nullptr, kind);
  if (option)
    option->setValue(before);
  return !failed;
}

static FailureOr<SmallVector<char>>
emit(ModuleOp module, const CpuOptions &given, llvm::CodeGenFileType kind,
     PreparePasses prepare = {}, StringRef kernel = "") {
  CpuOptions options = given.resolved();
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(options);
  if (!machine) {
    module.emitError() << "LLVM has no target for this machine";
    return failure();
  }
  llvm::LLVMContext context;
  ListenToLLVM problems(context, module);
  auto lowered = toLLVM(module, options, context, *machine, prepare, kernel);
  if (!lowered)
    return failure();
  optimise(*lowered, *machine, options.optLevel);
  if (options.verifyEach && failed(verifyLLVM(*lowered, module)))
    return failure();
  SmallVector<char> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (!addCodeGenerator(*machine, passes, stream, kind)) {
    module.emitError() << "LLVM cannot emit code for " << options.cpu;
    return failure();
  }
  passes.run(*lowered);
  if (problems.any())
    return failure();
  return bytes;
}

FailureOr<SmallVector<char>>
tessera::target::emitCpuObject(ModuleOp module, const CpuOptions &options,
                               StringRef kernel, PreparePasses prepare) {
  return emit(module, options, llvm::CodeGenFileType::ObjectFile, prepare,
              kernel);
}

FailureOr<std::string>
tessera::target::emitCpuAssembly(ModuleOp module, const CpuOptions &options) {
  auto text = emit(module, options, llvm::CodeGenFileType::AssemblyFile);
  if (failed(text))
    return failure();
  return std::string(text->begin(), text->end());
}

FailureOr<std::string> tessera::target::emitLLVMIR(ModuleOp module,
                                                   const CpuOptions &given,
                                                   PreparePasses prepare) {
  CpuOptions options = given.resolved();
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(options);
  if (!machine) {
    module.emitError() << "LLVM has no target for this machine";
    return failure();
  }
  llvm::LLVMContext context;
  ListenToLLVM problems(context, module);
  auto lowered = toLLVM(module, options, context, *machine, prepare);
  if (!lowered)
    return failure();
  optimise(*lowered, *machine, options.optLevel);
  if (options.verifyEach && failed(verifyLLVM(*lowered, module)))
    return failure();
  std::string text;
  llvm::raw_string_ostream(text) << *lowered;
  return text;
}
