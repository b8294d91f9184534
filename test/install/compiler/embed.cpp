// The program of the usage guide: compiles a module from C++ and writes what
// comes out. Arguments: module.mlir, platform, architecture, output folder.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Tessera/Target/TesseraTargetIRIntegration.h"

#include <fstream>
#include <iostream>
#include <sstream>

int main(int argc, char **argv) {
  if (argc != 5)
    return 2;
  MLIRContext context;
  context.loadDialect<tessera::graph::TesseraGraphDialect>();
  context.loadDialect<tessera::target::TesseraTargetDialect>();

  TargetLoweringOptions options;
  options.targetPlatform = argv[2];
  options.targetArchitecture = argv[3];
  options.optimizationLevel = 3;
  options.enableTensorCores = true;
  options.enableProfiling = true;

  TesseraTargetIRIntegration target_ir(&context);
  std::ifstream file(argv[1]);
  std::stringstream mlir_source;
  mlir_source << file.rdbuf();
  auto module = parseModule(mlir_source.str(), &context);
  auto result = target_ir.compileModule(module, options);
  if (!result.success) {
    std::cerr << "Compilation failed: " << result.error_message << std::endl;
    return 1;
  }
  std::string folder = argv[4];
  std::ofstream(folder + "/kernel") << result.kernel_code;
  std::ofstream(folder + "/host.c") << result.host_code;
  std::cout << result.performance_report;
  return 0;
}
