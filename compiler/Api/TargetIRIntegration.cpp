//===- TargetIRIntegration.cpp - Compiling from C++ -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Api/TargetIRIntegration.h"

#include "compiler/Compiler.h"
#include "compiler/Dialects.h"
#include "compiler/Target/CPU/CPU.h"
#include "compiler/Target/NVIDIA/NVIDIA.h"
#include "compiler/Tile/IR/Tile.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "mlir/Parser/Parser.h"

#include <chrono>

using namespace mlir;

namespace tessera::target {

static void loadDialects(MLIRContext *context) {
  DialectRegistry registry;
  registerDialects(registry);
  registerGpuDialects(registry);
  registerCpuTranslations(registry);
  registerNvidiaTranslations(registry);
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
  const std::string &machine = options.targetArchitecture;
  if (options.targetPlatform == "cpu")
    return machine.empty() ? "cpu" : "cpu:" + machine;
  if (options.targetPlatform != "cuda") {
    error = "no platform is called '" + options.targetPlatform +
            "'; there are cpu and cuda";
    return failure();
  }
  if (machineOf(machine) != Machine::Nvidia) {
    error = "no CUDA architecture of this version is called '" + machine +
            "'; targets are " + targetNames();
    return failure();
  }
  if (!options.enableTensorCores) {
    error = "not yet: CUDA kernels without tensor cores";
    return failure();
  }
  return machine;
}

/// A C function that launches the plan, with everything it needs but the
/// kernels and the runtime.
static std::string writeLauncher(StringRef plan) {
  std::string name = "kernel";
  SmallVector<StringRef> lines;
  plan.split(lines, '\n', -1, /*KeepEmpty=*/false);
  std::vector<std::string> kernels;
  std::string quoted;
  for (StringRef line : lines) {
    StringRef word = line.trim();
    if (word.consume_front("function "))
      name = word.trim().str();
    if (word.consume_front("launch @")) {
      std::string kernel = word.substr(0, word.find('(')).str();
      if (!llvm::is_contained(kernels, kernel))
        kernels.push_back(kernel);
    }
    quoted += "    \"";
    for (char c : line)
      quoted +=
          c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    quoted += "\\n\"\n";
  }
  std::string text =
      "/* Launches " + name +
      "; written by Tessera. C11; link the kernels and the runtime. */\n"
      "#include \"tessera-c/runtime.h\"\n\n";
  for (const std::string &kernel : kernels)
    text += "int32_t " + kernel +
            "(void *const *pointers, const int64_t *integers, int64_t begin,\n"
            "    int64_t end, void *scratch);\n";
  text += "\nstatic const char plan[] =\n" + quoted +
          ";\n\n/* The tensors in the order of the plan's arguments, then its "
          "results. */\n"
          "tsr_status tessera_launch_" +
          name +
          "(const tsr_tensor *tensors,\n"
          "    int32_t num_tensors, const int64_t *scalars, int32_t "
          "num_scalars);\n"
          "tsr_status tessera_launch_" +
          name +
          "(const tsr_tensor *tensors,\n"
          "    int32_t num_tensors, const int64_t *scalars, int32_t "
          "num_scalars) {\n"
          "  static const tsr_symbol symbols[] = {";
  for (const std::string &kernel : kernels)
    text += "{\"" + kernel + "\", " + kernel + "}, ";
  text += "};\n"
          "  static const tsr_version version = {plan, sizeof plan - 1, "
          "symbols, " +
          std::to_string(kernels.size()) +
          ", 0, 0};\n"
          "  static tsr_executable *executable;\n"
          "  tsr_function function = {sizeof function, \"" +
          name +
          "\", &version, 1, &executable, 0};\n"
          "  tsr_call call = {sizeof call, tensors, scalars, num_tensors, "
          "num_scalars, 0, 0, 0, 0, 0};\n"
          "  return tsr_function_run(&function, &call);\n"
          "}\n";
  return text;
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
    bool cpu = machineOf(options.target) == Machine::Cpu;
    FailureOr<std::string> code =
        cpu ? emitLLVMIR(*module, cpuOptions(options))
            : emitPtx(*module, nvidiaOptions(options));
    if (failed(code))
      return failure();
    result.kernel_code = *code;
    if (!cpu)
      return success();
    FailureOr<std::string> plan = writePlan(*module, options);
    if (failed(plan))
      return failure();
    result.host_code = writeLauncher(*plan);
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
                    "kernel run time     not measured\n",
                    options.target, elapsed.count(), result.kernel_code.size())
          .str();
  if (wanted.enableProfiling)
    for (const PassTime &time : times)
      result.performance_report += llvm::formatv("pass {0,-44} {1:f2} ms\n",
                                                 time.pass, time.milliseconds)
                                       .str();
  return result;
}

} // namespace tessera::target
