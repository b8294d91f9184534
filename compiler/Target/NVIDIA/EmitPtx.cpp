//===- EmitPtx.cpp - Target IR to LLVM IR and PTX -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Target/ListenToLLVM.h"
#include "compiler/Target/Math/ExpandMath.h"
#include "compiler/Target/NVIDIA/InlinePtx.h"
#include "compiler/Target/NVIDIA/MachineOps.h"
#include "compiler/Target/NVIDIA/NVIDIA.h"
#include "compiler/Target/NVIDIA/Passes.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/ConvertToLLVM/ToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <mutex>

namespace tessera::target {
#define GEN_PASS_DEF_KERNELTONVVMPASS
#include "compiler/Target/NVIDIA/Passes.h.inc"
} // namespace tessera::target

using namespace mlir;
using namespace tessera;
using namespace tessera::target;

// LLVM's NVPTX back end; llvm-c's headers declare only the native target's.
extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

//===----------------------------------------------------------------------===//
// The machine
//===----------------------------------------------------------------------===//

llvm::FailureOr<NvidiaOptions>
tessera::target::parseNvidiaTarget(StringRef target) {
  std::optional<nvidia::Arch> arch = nvidia::parseArch(target);
  if (!arch)
    return failure();
  NvidiaOptions options;
  options.arch = nvidia::promoted(*arch);
  options.chip = options.arch.name();
  return options;
}

static std::unique_ptr<llvm::TargetMachine>
createMachine(const NvidiaOptions &options) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  std::string error;
  llvm::Triple triple("nvptx64-nvidia-cuda");
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  llvm::TargetOptions flags;
  flags.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, options.chip,
      "+ptx" + std::to_string(nvidia::ptxEmitted(options.arch)), flags,
      std::nullopt, std::nullopt,
      options.optLevel >= 2   ? llvm::CodeGenOptLevel::Aggressive
      : options.optLevel == 1 ? llvm::CodeGenOptLevel::Less
                              : llvm::CodeGenOptLevel::None));
}

//===----------------------------------------------------------------------===//
// Kernels as LLVM functions
//===----------------------------------------------------------------------===//

/// 2^x by the machine's own instruction, whose error NVIDIA states as 2 ULP
/// (exp2f in the CUDA C++ Programming Guide); subnormal results are kept. e^x
/// is 2^k 2^f with k = x log2(e) rounded and limited to [-126, 126], |f| <= 1/2
/// between; beyond, f takes what is left, up to infinity or 0:
///
///     t = x log2(e) / 252 + 1/2, limited to [0, 1]     (NaN: 0, but f is NaN)
///     s = 252 t + 1 + 1.5 2^23                        low bits: k + 127
///     k = s - (127 + 1.5 2^23)
///     f = x log2(e) - k                               log2(e) as two floats
static Operation *exponential(OpBuilder &builder, Location loc, Value x,
                              bool natural) {
  StringRef text = natural ? "{\n\t.reg .b32 t, k, f;\n\t"
                             "fma.rn.sat.f32 t, $1, 0f3BBB989E, 0f3F000000;\n\t"
                             "fma.rn.f32 t, t, 0f437C0000, 0f4B400001;\n\t"
                             "sub.rn.f32 k, 0f4B40007F, t;\n\t"
                             "fma.rn.f32 f, $1, 0f3FB8AA3B, k;\n\t"
                             "fma.rn.f32 f, $1, 0f32A57060, f;\n\t"
                             "ex2.approx.ftz.f32 f, f;\n\t"
                             "shl.b32 t, t, 23;\n\tmul.rn.f32 $0, f, t;\n\t}"
                           : "ex2.approx.f32 $0, $1;";
  return createInlinePtx(builder, loc, x.getType(), x, text, "=f,f",
                         /*hasSideEffects=*/false);
}

namespace {
struct KernelToNvvmPass
    : tessera::target::impl::KernelToNvvmPassBase<KernelToNvvmPass> {
  void lower(KernelOp kernel, gpu::GPUModuleOp module) {
    OpBuilder builder(&getContext());
    builder.setInsertionPointToEnd(module.getBody());
    auto config = *kernel.getConfig();
    Location loc = kernel.getLoc();
    LLVM::GlobalOp shared;
    if (config.getShared()) {
      bool isStatic = config.getShared() <= nvidia::staticSharedLimit;
      auto type = LLVM::LLVMArrayType::get(builder.getI8Type(),
                                           isStatic ? config.getShared() : 0);
      shared = LLVM::GlobalOp::create(
          builder, loc, type, /*isConstant=*/false,
          isStatic ? LLVM::Linkage::Internal : LLVM::Linkage::External,
          (kernel.getSymName() + "_shared").str(), Attribute(),
          /*alignment=*/128, /*addrSpace=*/3);
    }
    auto type = LLVM::LLVMFunctionType::get(
        LLVM::LLVMVoidType::get(&getContext()), kernel.getArgumentTypes());
    auto func =
        LLVM::LLVMFuncOp::create(builder, loc, kernel.getSymName(), type);
    func->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                  builder.getUnitAttr());
    SmallVector<int32_t> block(config.getBlock());
    block.resize(3, 1);
    func->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                  builder.getDenseI32ArrayAttr(block));
    if (config.getRegs())
      func->setAttr(NVVM::NVVMDialect::getMaxnregAttrName(),
                    builder.getI32IntegerAttr(int32_t(config.getRegs())));
    if (auto cluster = kernel->getAttrOfType<DenseI64ArrayAttr>("cluster")) {
      SmallVector<int32_t> blocks(cluster.asArrayRef());
      blocks.resize(3, 1);
      func->setAttr(NVVM::NVVMDialect::getClusterDimAttrName(),
                    builder.getDenseI32ArrayAttr(blocks));
    }
    func.getBody().takeBody(kernel.getBody());
    func.walk([&](Operation *op) {
      builder.setInsertionPoint(op);
      if (isa<target::ReturnOp>(op)) {
        LLVM::ReturnOp::create(builder, op->getLoc(), ValueRange());
        op->erase();
      } else if (auto allocate = dyn_cast<AllocateOp>(op)) {
        allocate.replaceAllUsesWith(
            LLVM::AddressOfOp::create(builder, op->getLoc(), shared)
                .getResult());
        op->erase();
      } else if (auto check = dyn_cast<AssertOp>(op)) {
        lower(check, module, builder);
      } else if (isa<math::ExpOp, math::Exp2Op>(op) &&
                 op->getResult(0).getType().isF32()) {
        op->replaceAllUsesWith(exponential(
            builder, op->getLoc(), op->getOperand(0), isa<math::ExpOp>(op)));
        op->erase();
      } else if (isa<arith::MaximumFOp, arith::MinimumFOp>(op)) {
        // One instruction (max.NaN) where the machine has it.
        Value a = op->getOperand(0), b = op->getOperand(1), made;
        if (isa<arith::MaximumFOp>(op))
          made = LLVM::MaximumOp::create(builder, op->getLoc(), a, b);
        else
          made = LLVM::MinimumOp::create(builder, op->getLoc(), a, b);
        op->getResult(0).replaceAllUsesWith(made);
        op->erase();
      }
    });
    kernel.erase();
  }

  /// The driver's own report of a failed assertion: message, file, line.
  void lower(AssertOp check, gpu::GPUModuleOp module, OpBuilder &builder) {
    Location loc = check.getLoc();
    auto generic = LLVM::LLVMPointerType::get(&getContext());
    StringRef callee = "__assertfail";
    auto type =
        LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(&getContext()),
                                    {generic, generic, builder.getI32Type(),
                                     generic, builder.getI64Type()});
    OpBuilder outside = OpBuilder::atBlockBegin(module.getBody());
    if (!module.lookupSymbol(callee))
      LLVM::LLVMFuncOp::create(outside, loc, callee, type);
    auto text = [&](StringRef given) -> Value {
      std::string bytes = (given + Twine('\0')).str(), name;
      for (int n = 0; name.empty() || module.lookupSymbol(name); ++n)
        name = "assert_text_" + std::to_string(n);
      auto global = LLVM::GlobalOp::create(
          outside, loc,
          LLVM::LLVMArrayType::get(builder.getI8Type(), bytes.size()),
          /*isConstant=*/true, LLVM::Linkage::Internal, name,
          builder.getStringAttr(bytes), /*alignment=*/1, /*addrSpace=*/1);
      return LLVM::AddrSpaceCastOp::create(
          builder, loc, generic,
          LLVM::AddressOfOp::create(builder, loc, global));
    };
    auto place = loc->findInstanceOf<FileLineColLoc>();
    Value truth =
        arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
    Value fails =
        arith::XOrIOp::create(builder, loc, check.getCondition(), truth);
    auto branch = scf::IfOp::create(builder, loc, fails, false);
    builder.setInsertionPointToStart(branch.thenBlock());
    Value line = arith::ConstantOp::create(
        builder, loc, builder.getI32IntegerAttr(place ? place.getLine() : 0));
    Value one =
        arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(1));
    Value file = text(place ? place.getFilename().getValue() : "");
    LLVM::CallOp::create(
        builder, loc, type, callee,
        ValueRange{text(check.getMessage()), file, line, text(""), one});
    check.erase();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    auto device = gpu::GPUModuleOp::create(builder, module.getLoc(), "kernels");
    for (KernelOp kernel :
         llvm::make_early_inc_range(module.getOps<KernelOp>()))
      lower(kernel, device);
    for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
      if (op.getName().getStringRef() == "plan.func")
        op.erase();
  }
};
} // namespace

void tessera::target::registerNvidiaTranslations(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  registerConvertMathToLLVMInterface(registry);
  registerConvertNVVMToLLVMInterface(registry);
  ub::registerConvertUBToLLVMInterface(registry);
}

static std::unique_ptr<llvm::Module>
toLLVM(ModuleOp given, llvm::LLVMContext &context, llvm::TargetMachine &machine,
       const nvidia::Arch &arch, PreparePasses prepare) {
  MLIRContext *mlir = given.getContext();
  DialectRegistry registry;
  registerNvidiaTranslations(registry);
  mlir->appendDialectRegistry(registry);
  OwningOpRef<ModuleOp> module = given.clone();
  if (failed(lowerMachineOps(*module, arch)))
    return nullptr;
  // Of several places (the user's line, and the stage's text that somebody
  // edited) the first: LLVM would write line 0.
  module->walk([](Operation *op) {
    if (auto place = op->getLoc()->findInstanceOf<FileLineColLoc>())
      op->setLoc(place);
  });
  PassManager manager(mlir, ModuleOp::getOperationName());
  manager.enableVerifier(false);
  if (prepare)
    prepare(manager);
  manager.addPass(createKernelToNvvmPass());
  OpPassManager &device = manager.nest<gpu::GPUModuleOp>();
  device.addPass(createExpandMathPass(
      {/*branchOnLargeArguments=*/true, /*expandDoubles=*/true}));
  device.addPass(arith::createArithExpandOpsPass());
  device.addPass(createSCFToControlFlowPass());
  device.addPass(createConvertToLLVMPass());
  device.addPass(createReconcileUnrealizedCastsPass());
  // `.loc` directives: the simulator and profilers name the user's lines.
  LLVM::DIScopeForLLVMFuncOpPassOptions scope;
  scope.emissionKind = LLVM::DIEmissionKind::DebugDirectivesOnly;
  manager.addPass(LLVM::createDIScopeForLLVMFuncOpPass(scope));
  if (failed(manager.run(*module)))
    return nullptr;
  auto kernels = *module->getOps<gpu::GPUModuleOp>().begin();
  std::unique_ptr<llvm::Module> result =
      translateModuleToLLVMIR(kernels, context, "tessera");
  if (!result)
    return nullptr;
  result->setTargetTriple(machine.getTargetTriple());
  result->setDataLayout(machine.createDataLayout());
  return result;
}

static void optimise(llvm::Module &module, llvm::TargetMachine &machine) {
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
  // Loops are laid out and unrolled by us; what is left is tidying up.
  StringRef tidy =
      "function(simplifycfg,early-cse<memssa>,instcombine<no-verify-fixpoint>,"
      "loop-mssa(loop-rotate,licm),early-cse<memssa>,"
      "instcombine<no-verify-fixpoint>,loop-mssa(licm),simplifycfg,dce)";
  llvm::ModulePassManager passes;
  if (llvm::Error error = builder.parsePassPipeline(passes, tidy))
    llvm::report_fatal_error(std::move(error));
  passes.run(module, modules);
}

template <typename Use>
static FailureOr<std::string> withLLVM(ModuleOp module, NvidiaOptions options,
                                       PreparePasses prepare, Use use) {
  options.optLevel = debugLevel(module, options.optLevel);
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(options);
  if (!machine) {
    module.emitError() << "this LLVM has no NVPTX back end";
    return failure();
  }
  llvm::LLVMContext context;
  ListenToLLVM problems(context, module);
  std::unique_ptr<llvm::Module> lowered =
      toLLVM(module, context, *machine, options.arch, prepare);
  if (!lowered)
    return failure();
  if (options.optLevel > 0)
    optimise(*lowered, *machine);
  if (options.verifyEach && failed(verifyLLVM(*lowered, module)))
    return failure();
  FailureOr<std::string> made = use(*lowered, *machine);
  return problems.any() ? FailureOr<std::string>(failure()) : made;
}

FailureOr<std::string> tessera::target::emitPtx(ModuleOp module,
                                                const NvidiaOptions &options,
                                                PreparePasses prepare) {
  return withLLVM(
      module, options, prepare,
      [&](llvm::Module &lowered,
          llvm::TargetMachine &machine) -> FailureOr<std::string> {
        SmallVector<char> bytes;
        llvm::raw_svector_ostream stream(bytes);
        llvm::legacy::PassManager passes;
        if (machine.addPassesToEmitFile(passes, stream, nullptr,
                                        llvm::CodeGenFileType::AssemblyFile)) {
          module.emitError() << "LLVM cannot emit code for " << options.chip;
          return failure();
        }
        passes.run(lowered);
        return std::string(bytes.begin(), bytes.end());
      });
}

FailureOr<std::string>
tessera::target::emitNvidiaLLVMIR(ModuleOp module, const NvidiaOptions &options,
                                  PreparePasses prepare) {
  return withLLVM(module, options, prepare,
                  [](llvm::Module &lowered,
                     llvm::TargetMachine &) -> FailureOr<std::string> {
                    std::string text;
                    llvm::raw_string_ostream(text) << lowered;
                    return text;
                  });
}
