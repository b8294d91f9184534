//===- TargetIRIntegration.cpp - Compiling from C++ -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Api/TargetIRIntegration.h"

#include "compiler/Compiler.h"
#include "compiler/Dialects.h"
#include "compiler/Plan/IR/Plan.h"
#include "compiler/Target/CPU/CPU.h"
#include "compiler/Target/NVIDIA/NVIDIA.h"
#include "compiler/Tile/IR/Tile.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "mlir/Parser/Parser.h"

#include <chrono>

using namespace mlir;

namespace tessera::target {

static void loadDialects(MLIRContext *context) {
  DialectRegistry registry;
  registerDialects(registry);
  registerMachineDialects(registry);
  context->appendDialectRegistry(registry);
  context->loadAllAvailableDialects();
}

OwningOpRef<ModuleOp> parseModule(const std::string &text,
                                  MLIRContext *context) {
  loadDialects(context);
  return parseSourceString<ModuleOp>(text, context);
}

TesseraTargetIRIntegration::TesseraTargetIRIntegration(MLIRContext *context)
    : context(context) {
  loadDialects(context);
}

/// "cpu:avx2", "sm_80": how the rest of the compiler calls it.
static FailureOr<std::string> targetName(const TargetLoweringOptions &options,
                                         std::string &error) {
  const std::string &arch = options.targetArchitecture;
  std::string names;
  for (const Machine *machine : machines()) {
    if (!machine->findEmission("llvm"))
      continue; // no kernel code that this interface could return as text
    names += (names.empty() ? "" : " and ") + machine->platform.str();
    if (machine->platform != options.targetPlatform)
      continue;
    std::string target = machine->targetOf(arch);
    if (!machine->has(target)) {
      error = "no architecture of " + machine->platform.str() +
              " in this version is called '" + arch + "'; targets are " +
              targetNames();
      return failure();
    }
    if (machine->imageArch && !options.enableTensorCores) {
      error = "not yet: GPU kernels without tensor cores";
      return failure();
    }
    return target;
  }
  error = "no platform is called '" + options.targetPlatform + "'; there are " +
          names;
  return failure();
}

/// As lines of a C string.
static std::string quoted(StringRef text) {
  std::string result;
  SmallVector<StringRef> lines;
  text.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines) {
    result += "    \"";
    for (char c : line) {
      if (c == '\t')
        result += "\\t";
      else if (c == '"' || c == '\\')
        result += std::string("\\") + c;
      else
        result += c;
    }
    result += "\\n\"\n";
  }
  return result;
}

/// A C function that launches the plan, with everything it needs but the
/// kernels and the runtime.
static std::string writeLauncher(plan::FuncOp func, StringRef plan) {
  std::string name = func.getName().str();
  llvm::SetVector<StringRef> kernels;
  func.walk([&](plan::LaunchOp launch) { kernels.insert(launch.getKernel()); });
  std::string text =
      "/* Launches " + name +
      "; written by Tessera. C11; link the kernels and the runtime. */\n"
      "#include \"tessera-c/runtime.h\"\n\n";
  for (StringRef kernel : kernels)
    text += "int32_t " + kernel.str() +
            "(void *const *pointers, const int64_t *integers, int64_t begin,\n"
            "    int64_t end, void *scratch);\n";
  std::string signature = "tsr_status tessera_launch_" + name +
                          "(const tsr_tensor *tensors,\n"
                          "    int32_t num_tensors, const int64_t *scalars, "
                          "int32_t num_scalars)";
  text += "\nstatic const char plan[] =\n" + quoted(plan) +
          ";\n\n/* The tensors in the order of the plan's arguments, then its "
          "results. */\n" +
          signature + ";\n" + signature +
          " {\n"
          "  static const tsr_symbol symbols[] = {";
  for (StringRef kernel : kernels)
    text += ("{\"" + kernel + "\", " + kernel + "}, ").str();
  text += "};\n"
          "  static const tsr_version version = {plan, sizeof plan - 1, "
          "symbols, " +
          std::to_string(kernels.size()) +
          ", 0, 0};\n"
          "  static tsr_executable *executable;\n"
          "  tsr_function function = {sizeof function, \"" +
          name +
          "\", &version, 1, &executable, 0, TSR_GUARD_FORMAT};\n"
          "  tsr_call call = {sizeof call, tensors, scalars, num_tensors, "
          "num_scalars, 0, 0, 0, 0, 0};\n"
          "  return tsr_function_run(&function, &call);\n"
          "}\n";
  return text;
}

/// The same for a GPU: the kernels are in it, as PTX that the driver compiles.
static std::string writeDeviceLauncher(plan::FuncOp func, StringRef plan,
                                       StringRef image, StringRef arch) {
  std::string name = func.getName().str();
  std::string signature =
      "tsr_status tessera_launch_" + name +
      "(tsr_device *device, void *stream,\n"
      "    const tsr_tensor *tensors, int32_t num_tensors,\n"
      "    const int64_t *scalars, int32_t num_scalars)";
  return "/* Launches " + name +
         "; written by Tessera. C11; link the runtime. */\n"
         "#include \"tessera-c/device.h\"\n\n"
         "static const char plan[] =\n" +
         quoted(plan) + ";\n\nstatic const char ptx[] =\n" + quoted(image) +
         ";\n\n/* The tensors, in the GPU's memory, in the order of the plan's "
         "arguments, then its\n * results. Returns when the work is in the "
         "stream. */\n" +
         signature + ";\n" + signature +
         " {\n"
         "  static const tsr_image images[] = {{\"" +
         arch.str() +
         "\", ptx, sizeof ptx - 1}};\n"
         "  static const tsr_image_list list = {images, 1};\n"
         "  static const tsr_version version = {plan, sizeof plan - 1, 0, 0, "
         "0, 0};\n"
         "  static tsr_executable *executable;\n"
         "  tsr_function function = {sizeof function, \"" +
         name +
         "\", &version, 1, &executable, &list, TSR_GUARD_FORMAT};\n"
         "  tsr_call call = {sizeof call, tensors, scalars, num_tensors, "
         "num_scalars, 0, 0, device, stream, 0};\n"
         "  return tsr_function_run(&function, &call);\n"
         "}\n";
}

CompilationResult
TesseraTargetIRIntegration::compileModule(ModuleOp given,
                                          const TargetLoweringOptions &wanted) {
  CompilationResult result;
  if (!given) {
    result.error_message = "there is no module";
    return result;
  }
  FailureOr<std::string> name = targetName(wanted, result.error_message);
  if (failed(name))
    return result;
  CompileOptions options;
  options.target = *name;
  options.optLevel = wanted.optimizationLevel;
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      result.error_message += diagnostic.str() + "\n";
    return success();
  });
  auto start = std::chrono::steady_clock::now();
  OwningOpRef<ModuleOp> module = given.clone();
  std::vector<PassTime> times;
  auto compile = [&]() -> LogicalResult {
    if (failed(lowerTo(*module, "target", options, &times)))
      return failure();
    const Machine &machine = *findMachine(options.target);
    // What ships, if it is text.
    auto text = llvm::find_if(llvm::reverse(machine.emissions),
                              [](const Emission &e) { return e.isText; });
    FailureOr<std::string> code = emit(*module, text->name, options);
    if (failed(code))
      return failure();
    result.kernel_code = *code;
    // Kernels that somebody wrote in Target IR have no plan.
    if (machine.imageArch && module->getOps<plan::FuncOp>().empty())
      return success();
    FailureOr<std::string> plan = writePlan(*module, options);
    if (failed(plan))
      return failure();
    plan::FuncOp func = *module->getOps<plan::FuncOp>().begin();
    result.host_code =
        machine.imageArch
            ? writeDeviceLauncher(func, *plan, *code,
                                  machine.imageArch(options.target))
            : writeLauncher(func, *plan);
    return success();
  };
  result.success = succeeded(compile());
  if (!result.success) {
    if (result.error_message.empty())
      result.error_message = "the module could not be compiled";
    return result;
  }
  std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start;
  result.performance_report =
      llvm::formatv("target              {0}\n"
                    "compile time        {1:f2} ms\n"
                    "kernel code         {2} bytes\n"
                    "kernel run time     not measured: nothing was run\n",
                    options.target, elapsed.count(), result.kernel_code.size())
          .str();
  // Of GPU kernels what is known before an assembler has seen them.
  for (KernelOp kernel : module->getOps<KernelOp>()) {
    if (!kernel.isForGpu() || !kernel.getConfig())
      continue;
    int64_t threads = 1;
    for (int64_t size : kernel.getConfig()->getBlock())
      threads *= size;
    result.performance_report +=
        llvm::formatv("{0}: {1} threads, {2} bytes of shared memory; "
                      "registers not measured: no assembler was run\n",
                      kernel.getSymName(), threads,
                      kernel.getConfig()->getShared())
            .str();
  }
  if (wanted.enableProfiling)
    for (const PassTime &time : times)
      result.performance_report += llvm::formatv("pass {0,-44} {1:f2} ms\n",
                                                 time.pass, time.milliseconds)
                                       .str();
  return result;
}

} // namespace tessera::target
